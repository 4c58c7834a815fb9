//! The errors of this crate, which `crate::lisp` maps to Lisp errors, and problems of input.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A failure of a call. A refused write is not one: it is an outcome.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The messages describe them.
pub enum Error {
    #[error("no item {id} in the list of thread {thread}")]
    NoItem { thread: String, id: String },
    #[error("no revision {revision} in thread {thread}; it has 0 to {last}")]
    NoRevision { thread: String, revision: u64, last: u64 },
    #[error("nothing to undo in thread {thread}")]
    NothingToUndo { thread: String },
    #[error("{}: received {}, expected {}", .0.path, .0.received, .0.expected)]
    Argument(Problem),
    #[error("{which} list: id \"{id}\" comes twice; ids must be unique within a list")]
    DuplicateId { which: &'static str, id: String },
    #[error("{0}")]
    Door(String),
    #[error("journal {file}: {reason}")]
    Journal { file: String, reason: std::io::Error },
}

/// A part of a call or of an argument that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{path}: received {received}; expected {expected}")]
pub struct Problem {
    /// The place: `todos[2].status`, or `previous[2].content`.
    pub path: String,
    /// What is there.
    pub received: String,
    /// What is allowed there.
    pub expected: String,
}

impl Problem {
    /// A problem from its parts.
    pub fn new(path: impl Into<String>, received: impl Into<String>, expected: impl Into<String>) -> Problem {
        Problem { path: path.into(), received: received.into(), expected: expected.into() }
    }
}
