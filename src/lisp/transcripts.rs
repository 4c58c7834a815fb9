//! Lisp functions about transcripts of coding agents that are not followed.

use std::path::PathBuf;

use emacs::{Env, Result, Value, defun};
use serde::Serialize;

use super::files::ask_of;
use super::{border, read, serialized};
use crate::agents::Agent;
use crate::agents::describe::{Description, describe};
use crate::agents::listing::transcript_of;
use crate::events::Millis;

/// See `todo-write-transcript-describe'.
#[defun]
fn transcript_describe<'e>(env: &'e Env, file: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let file = PathBuf::from(read::text("transcript", file)?);
        Ok(ask_of(env, file, None, describe)?.map(ShownDescription::from))
    })
}

/// Return the folder in which the session ID of Claude Code began, as its transcript in HOME says, or nil.
#[defun]
fn session_began_in<'e>(env: &'e Env, home: Value<'e>, id: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (home, id) = (PathBuf::from(read::text("home", home)?), read::text("id", id)?);
        ask_of(env, home, None, move |home| describe(&transcript_of(home, &id)?)?.folder)
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
