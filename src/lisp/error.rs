//! What a Lisp function can fail with, and which Lisp error that becomes.

use thiserror::Error;

use crate::error::Error;

/// A failure at the border itself.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The words say it.
pub enum BorderError {
    /// A function was called with an argument it cannot take.
    #[error("{what}: received {received}, expected {expected}")]
    Argument { what: &'static str, received: String, expected: String },
    /// A bug: Rust code panicked and was caught at the border.
    #[error(
        "todo-write failed inside: {0}. The list is as it was before the call or as the call made it; please report this"
    )]
    Panic(String),
}

/// The Lisp error that stands for one of ours; none for what Lisp itself signalled or threw.
pub fn symbol(error: &emacs::Error) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref() {
        return Some(match error {
            BorderError::Argument { .. } => "todo-write-input-error",
            BorderError::Panic(_) => "todo-write-panic",
        });
    }
    Some(match error.downcast_ref()? {
        Error::Journal { .. } => "todo-write-journal-error",
        Error::NothingToUndo { .. } => "todo-write-error",
        Error::NotAList { .. }
        | Error::NoItem { .. }
        | Error::NoRevision { .. }
        | Error::DuplicateId { .. } => "todo-write-input-error",
    })
}
