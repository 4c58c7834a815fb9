//! The list of a call: read, recognized, compared and merged. Plain functions on plain data.

pub mod change;
pub mod identity;
pub mod input;
pub mod item;
pub mod merge;
pub mod raw;
pub mod report;
pub mod similarity;
pub mod untyped;
