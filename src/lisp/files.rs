//! Lisp functions that read files which agents name, when the user asks to see them. As with any file that the user
//! visits, Emacs waits for the file system.

use std::path::PathBuf;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::{border, names, read};
use crate::file;

/// Return the first LIMIT bytes of FILE, or nil if it is no regular file that can be read.
///
/// The value is a string with a character for each byte.  Emacs waits for the file.
#[defun]
fn file_bytes<'e>(env: &'e Env, file: Value<'e>, limit: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = PathBuf::from(read::text("file", file)?);
        let bytes = file::read_start(&path, read::whole_number("limit", limit)?).ok();
        let text = bytes.map(|bytes| bytes.into_iter().map(char::from).collect::<String>());
        text.map(|text| text.into_lisp(env)).transpose()
    })
}

/// Return the text of FILE, which is in PROJECT, `new' if there is no file, or nil.
///
/// FILE and PROJECT are absolute names of this machine.  The value is nil for a file that a link leads out
/// of PROJECT to, for what is no regular file of at most LIMIT bytes, and for what is not UTF-8 or has a
/// NUL.
#[defun]
fn project_file<'e>(
    env: &'e Env,
    file: Value<'e>,
    project: Value<'e>,
    limit: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let file = PathBuf::from(read::text("file", file)?);
        let project = PathBuf::from(read::text("project", project)?);
        let limit = read::whole_number("limit", limit)?;
        match file::text_below(&project, &file, limit) {
            Ok(Some(text)) => names::text(env, &text).map(Some),
            Ok(None) => names::symbol(env, "new").map(Some),
            Err(_) => Ok(None),
        }
    })
}
