//! Errors as data. Only `Display` has words; `crate::lisp` maps each variant to a Lisp error.

use std::fmt::Display;

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
    /// The path names an argument, or a part of one: `previous[2].content`.
    #[error("{path}: received {received}, expected {expected}")]
    Argument { path: String, received: String, expected: String },
    #[error("{which} list: id \"{id}\" comes twice; ids must be unique within a list")]
    DuplicateId { which: &'static str, id: String },
    #[error("journal {file}: {source}")]
    Journal { file: String, source: std::io::Error },
}

impl Error {
    /// Puts `place` in front of the path of a wrong argument.
    pub fn inside(self, place: impl Display) -> Error {
        match self {
            Error::Argument { path, received, expected } => {
                Error::Argument { path: format!("{place}{path}"), received, expected }
            }
            other => other,
        }
    }
}
