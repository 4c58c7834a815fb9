//! Lisp functions that read files which agents name, when the user asks to see them. As with any file that the user
//! visits, Emacs waits for the file system.

use std::path::PathBuf;

use super::function::lisp;
use crate::file;

lisp! { env =>
    /// Return the first LIMIT bytes of FILE, or nil if it is no regular file that can be read.
    ///
    /// The value is a string with a character for each byte.  Emacs waits for the file.
    fn file_bytes(file: PathBuf, limit: u64) -> Option<String> {
        file::read_start(&file, limit).ok().map(|bytes| bytes.into_iter().map(char::from).collect())
    }
}
