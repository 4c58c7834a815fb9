//! The task list of a coding agent: validated, compared, merged with the user's edits, and kept.
//!
//! Agents plan with one tool, `todo_write`, which takes their *whole* list on every call, without
//! ids. This crate reads such calls ([`list::input`]), finds the old item of each new one ([`list::identity`]),
//! computes the changes ([`list::change`]), merges the user's edits ([`list::merge`]), and keeps all lists
//! ([`thread`], [`journal`]) and events ([`events`]). What
//! the transcripts of agents that do not call it tell, it records ([`recorder`]).
//!
//! A call goes through plain functions on plain data:
//!
//! ```text
//! text → Plan of Drafts → Items (recognize) → List (merge) → Changes (diff)
//!      → Record (make) → Revision + Observations (apply) → Outcome → Record on disk (journal)
//! ```
//!
//! # Examples
//! ```
//! use serde_json::Map;
//! use todo_write::list::input::{Options, read_text};
//! use todo_write::list::item::Status;
//! use todo_write::thread::{Edit, Thread, WriteOptions};
//!
//! let mut thread = Thread::new("a conversation", Map::new(), 1_000);
//! let first = r#"{"todos": [
//!     {"content": "Read the code", "status": "in_progress", "activeForm": "Reading the code"},
//!     {"content": "Fix the login bug", "status": "pending", "activeForm": "Fixing the login bug"}]}"#;
//! thread.write(read_text(first, &Options::default()).unwrap(), WriteOptions::default(), 0);
//!
//! // The user adds a task. The agent's next call, 90 seconds after its first, does not include it.
//! thread.edit(Edit::Add { content: "Update the docs".into(), position: None }, 1_000).unwrap();
//! let second = r#"{"todos": [
//!     {"content": "Read the code", "status": "completed", "activeForm": "Reading the code"},
//!     {"content": "Fix the bug in login", "status": "in_progress", "activeForm": "Fixing the bug"}]}"#;
//! let outcome = thread.write(read_text(second, &Options::default()).unwrap(), WriteOptions::default(), 90_000);
//!
//! assert_eq!(
//!     outcome.result,
//!     "1/3 tasks completed. Current: Fixing the bug.\nThe user added \"Update the docs\" (pending)."
//! );
//! // The reworded task is still item t2, and t1 has the time it was in progress.
//! assert_eq!(thread.list()[1].id, "t2");
//! assert_eq!(thread.times("t1").unwrap().spent(90_000), 90_000);
//! assert_eq!(thread.list()[2].status, Status::Pending);
//! ```
//!
//! Only the module `lisp` depends on Emacs. Without the feature `module`, the crate is a plain Rust library.

// The macros of the crate `emacs` generate unsafe code. A lint denies it elsewhere.
#![cfg_attr(not(feature = "module"), forbid(unsafe_code))]
// Without Lisp, what only Lisp calls is not used.
#![cfg_attr(not(feature = "module"), allow(dead_code))]

pub mod channel;
pub mod error;
pub mod events;
mod fault;
pub mod file;
mod followed;
pub mod journal;
#[cfg(feature = "module")]
mod lisp;
pub mod list;
mod named;
pub mod pid;
pub mod program;
pub mod recorder;
pub mod request;
pub mod review;
pub mod text;
pub mod thread;
pub mod wire;
