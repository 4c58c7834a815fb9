//! Lisp functions about transcripts of coding agents that are not followed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::hub::homes_of;
use super::{border, read, write};
use crate::agents::describe::{Description, describe};
use crate::agents::listing::{Listing, Wanted};
use crate::file;
use crate::hub::Home;

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

/// List the transcripts of main agents in HOMES, newest first.
///
/// HOMES is as for `todo-write-dyn--hub-set-homes'.  The value is a plist: `:files', a list of
/// (TIME . FILE), TIME in seconds; `:skipped', the names of files that Emacs cannot name, since they are
/// not text.
#[defun]
fn transcripts_in<'e>(env: &'e Env, homes: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let homes = homes_of(homes)?;
        let folders: Vec<PathBuf> = homes.iter().flat_map(Home::transcript_folders).collect();
        listing(env, Wanted::default().list(&folders))
    })
}

fn listing(env: &Env, Listing { files, unreadable }: Listing) -> Result<Value<'_>> {
    let skipped: Vec<String> = unreadable.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let time = |time: &SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    write::Plist::new(env)
        .set(
            "files",
            write::list_of(env, &files, |(modified, path)| {
                env.cons(time(modified).as_secs_f64(), path.to_string_lossy().as_ref())
            })?,
        )?
        .set("skipped", write::texts(env, &skipped)?)?
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
