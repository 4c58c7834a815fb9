//! What can go wrong, as data. The words are in `Display` only; `crate::lisp` turns each kind into
//! its Lisp error.

use thiserror::Error;

/// A failure that a caller must hear of. A refused write is none: it is an outcome.
#[derive(Debug, Error)]
pub enum Error {
    /// An id that no item of the thread's list has.
    #[error("no item {id} in the list of thread {thread}")]
    NoItem {
        /// The thread's key.
        thread: String,
        /// The id.
        id: String,
    },
    /// A revision that the thread does not have.
    #[error("no revision {revision} in thread {thread}; it has 0 to {last}")]
    NoRevision {
        /// The thread's key.
        thread: String,
        /// What was asked for.
        revision: u64,
        /// The newest one.
        last: u64,
    },
    /// Undo at the beginning.
    #[error("nothing to undo in thread {thread}")]
    NothingToUndo {
        /// The thread's key.
        thread: String,
    },
    /// Something that should be a list of items, or changes to one, is neither.
    #[error("{which}: received {received}, expected {expected}")]
    NotAList {
        /// `previous`, `current`, `list` or `changes`.
        which: &'static str,
        /// What came.
        received: String,
        /// What it takes.
        expected: String,
    },
    /// Two entries of one list share an id, so no diff by id is possible.
    #[error("{which} list: id \"{id}\" comes twice; ids must be unique within a list")]
    DuplicateId {
        /// `previous` or `current`.
        which: &'static str,
        /// The id.
        id: String,
    },
    /// The journal of a thread cannot be used.
    #[error("journal {file}: {source}")]
    Journal {
        /// Path of the file or folder.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
}
