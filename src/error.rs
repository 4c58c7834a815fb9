//! What can go wrong, as data. The words are in `Display` only; `crate::lisp` turns each kind into
//! its Lisp error.

use thiserror::Error;

/// A failure that a caller must hear of. A refused write is none: it is an outcome.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The words say it.
pub enum Error {
    #[error("no item {id} in the list of thread {thread}")]
    NoItem { thread: String, id: String },
    #[error("no revision {revision} in thread {thread}; it has 0 to {last}")]
    NoRevision { thread: String, revision: u64, last: u64 },
    #[error("nothing to undo in thread {thread}")]
    NothingToUndo { thread: String },
    /// Something that should be a list of items, or changes to one, is neither.
    #[error("{which}: received {received}, expected {expected}")]
    NotAList { which: &'static str, received: String, expected: String },
    #[error("{which} list: id \"{id}\" comes twice; ids must be unique within a list")]
    DuplicateId { which: &'static str, id: String },
    #[error("journal {file}: {source}")]
    Journal { file: String, source: std::io::Error },
}
