//! Plans on disk: a folder for each, with segments of one JSON record a line.
//!
//! [`segments`] reads and appends lines, `line` encodes them, and `folder` names and locks the files. A line is
//! a record only if it ends in a line feed and its checksum is right, so a record is on disk completely
//! or not at all. [`plan`] is a thread with its journal, [`store`] has all plans of a folder, and [`summary`] what
//! lists of plans show. All of it is done at once, on the caller's thread.

mod folder;
mod line;
pub mod plan;
pub mod search;
pub mod segments;
pub mod store;
pub mod summary;

pub use folder::{folder_of, segment};
pub use line::decode;
pub use segments::Durability;
