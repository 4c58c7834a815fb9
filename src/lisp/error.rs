//! Errors of the Lisp functions, and their Lisp error symbols.

use thiserror::Error;

use crate::error::Error;

/// An error of the border itself.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The messages describe them.
pub enum BorderError {
    /// A bug: a panic was caught at the border.
    #[error(
        "internal error of todo-write: {0}. The list is as before or as after the call; please report this"
    )]
    Panic(String),
}

/// The Lisp error symbol for an error of this crate; none for a signal or throw of Lisp.
pub fn symbol(error: &emacs::Error) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref() {
        return Some(match error {
            BorderError::Panic(_) => "todo-write-panic",
        });
    }
    Some(match error.downcast_ref()? {
        Error::Journal { .. } => "todo-write-journal-error",
        Error::NothingToUndo { .. } => "todo-write-error",
        Error::Argument { .. }
        | Error::NoItem { .. }
        | Error::NoRevision { .. }
        | Error::DuplicateId { .. } => "todo-write-input-error",
    })
}
