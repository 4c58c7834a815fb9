//! Lisp functions about transcripts of coding agents that are not followed.

use std::path::{Path, PathBuf};

use emacs::{Env, IntoLisp, Result, Value, defun};
use serde::Serialize;

use super::{border, read, ser};
use crate::agents::Agent;
use crate::agents::describe::{Description, describe};
use crate::events::Millis;
use crate::file;

/// See `todo-write-transcript-describe'.
#[defun]
fn transcript_describe<'e>(env: &'e Env, file: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let Some(found) = describe(Path::new(&read::text("transcript", file)?)) else {
            return Ok(None);
        };
        ser::to_lisp(env, &ShownDescription::from(found)).map(Some)
    })
}

/// What is said of a session.
#[derive(Serialize)]
pub(super) struct ShownDescription {
    host: Agent,
    session: String,
    folder: Option<String>,
    title: Option<String>,
    begun: Option<Millis>,
    agent: bool,
    processes: bool,
}

impl From<Description> for ShownDescription {
    fn from(found: Description) -> ShownDescription {
        ShownDescription {
            host: found.agent,
            session: found.session,
            folder: found.folder,
            title: found.title,
            begun: found.begun,
            agent: found.is_subagent,
            processes: found.has_processes,
        }
    }
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
