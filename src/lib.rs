//! The todo list of a coding agent, as the agent cannot keep it itself.
//!
//! Agents plan with one tool, `todo_write`: on every call they pass their *whole* task list, with
//! no ids. This crate reads such calls however they arrive ([`input`]), recognises which task is
//! which ([`identity`]), says what changed ([`change`]), merges what the user edited in between
//! ([`merge`]), and keeps every list ([`revision`], [`thread`], [`store`], [`journal`]) and every
//! event ([`observation`]).
//!
//! The way of one call is a straight line of functions on plain data:
//!
//! ```text
//! text → Plan of Drafts → Items (recognise) → List (merge) → Changes (diff)
//!      → Record (journal) → Revision + Observations (commit) → Outcome
//! ```
//!
//! Only [`lisp`] knows Emacs; without the feature `module` the rest is a plain Rust library.

// The macros of the crate `emacs` make unsafe code of their own; of ours, the lint denies any.
#![cfg_attr(not(feature = "module"), forbid(unsafe_code))]

pub mod change;
pub mod clock;
pub mod error;
pub mod fault;
pub mod identity;
pub mod input;
pub mod item;
pub mod journal;
#[cfg(feature = "module")]
pub mod lisp;
pub mod merge;
pub mod observation;
pub mod raw;
pub mod report;
pub mod revision;
pub mod similarity;
pub mod store;
pub mod stream;
pub mod text;
pub mod thread;
pub mod transcript;
pub mod untyped;
mod wire;
