//! Lisp functions about transcripts of coding agents that are not followed.

use std::path::{Path, PathBuf};

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::{border, read, write};
use crate::agents::describe::{Description, describe};
use crate::file;

/// See `todo-write-transcript-describe'.
#[defun]
fn transcript_describe<'e>(env: &'e Env, file: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let Some(found) = describe(Path::new(&read::text("transcript", file)?)) else {
            return Ok(None);
        };
        description(env, &found).map(Some)
    })
}

/// What is said of a session, as a plist.
pub(super) fn description<'e>(env: &'e Env, found: &Description) -> Result<Value<'e>> {
    write::Plist::new(env)
        .set("host", found.agent.as_str())?
        .set("session", &found.session)?
        .set("folder", found.folder.as_ref())?
        .set("title", found.title.as_ref())?
        .set("begun", found.begun)?
        .set("agent", found.is_subagent)?
        .set("processes", found.has_processes)?
        .finish()
}

/// Return the first LIMIT bytes of FILE, or nil if it is no regular file that can be read.
///
/// The value is a string with a character for each byte.
#[defun]
fn file_bytes<'e>(env: &'e Env, file: Value<'e>, limit: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = PathBuf::from(read::text("file", file)?);
        let bytes = file::read_start(&path, read::whole_number("limit", limit)?).ok();
        let text = bytes.map(|bytes| bytes.into_iter().map(char::from).collect::<String>());
        text.map(|text| text.into_lisp(env)).transpose()
    })
}
