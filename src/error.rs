//! Errors as data. Only `Display` has words; `crate::lisp` maps each variant to a Lisp error.

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
    /// An argument that should be a list of items, or changes, is something else.
    #[error("{which}: received {received}, expected {expected}")]
    NotAList { which: &'static str, received: String, expected: String },
    #[error("{which} list: id \"{id}\" comes twice; ids must be unique within a list")]
    DuplicateId { which: &'static str, id: String },
    #[error("journal {file}: {source}")]
    Journal { file: String, source: std::io::Error },
}
