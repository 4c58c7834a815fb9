//! Lisp functions that read transcripts of coding agents.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use emacs::{Env, FromLisp, Result, Value, defun};

use super::read::{self, wrong};
use super::threads::with_thread;
use super::{Module, Settings, border, now, with_module, write};
use crate::error::Error;
use crate::thread::Activity;
use crate::transcript::describe::describe;
use crate::transcript::follower::Follower;
use crate::transcript::recorder::ThreadUpdate;

emacs::use_symbols! {
    k_thread => ":thread" k_bytes => ":bytes" k_updates => ":updates"
    k_outcome => ":outcome" k_state => ":state" k_warnings => ":warnings"
    k_session => ":session" k_folder => ":folder" k_title => ":title" k_begun => ":begun"
    k_agent => ":agent" k_host => ":host" k_activity => ":activity" k_why => ":why"
}

/// Return a handle that reads the transcript FILE, a string, from its beginning.
#[defun]
fn transcript_open<'e>(env: &'e Env, file: Value<'e>) -> Result<Mutex<Follower>> {
    border(env, || {
        let path = PathBuf::from(read::text("transcript", file)?);
        Ok(Mutex::new(with_module(|module| {
            let Settings { input, storage, .. } = &module.settings;
            Follower::new(path, *input, storage.history_limit)
        })))
    })
}

/// Calls `work` with the follower of a handle. A poisoned lock is safe: a panic at worst leaves lines
/// unread.
fn with_follower<T>(handle: Value<'_>, work: impl FnOnce(&mut Follower) -> T) -> Result<T> {
    let Ok(follower) = <&Mutex<Follower>>::from_lisp(handle) else {
        return Err(wrong("transcript", handle, "what `todo-write-dyn--transcript-open' returned"));
    };
    Ok(work(&mut follower.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Read what was appended to the transcript of HANDLE, and record it in its threads.
///
/// The value is a plist: `:thread', the key of the session's thread or nil; `:bytes', the number
/// of bytes read; `:updates', a list of plists `:thread :outcome :state :activity :why', one for
/// each thread with new events; `:warnings', strings for the user.  `:outcome' and `:state' are nil
/// if the list or the state did not change.  `:activity' is `working', `idle', or `failed' with the
/// error in `:why'; it is absent if the events do not show it.
#[defun]
fn transcript_read<'e>(env: &'e Env, handle: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (appended, thread, updates, warnings) = with_follower(handle, |follower| {
            let appended = follower.read()?;
            let (updates, warnings) = with_module(|module| {
                let Module { settings, store, .. } = module;
                let updates =
                    follower.recorder.record(store, &appended.events, settings.keep_completed, now());
                (updates, store.take_warnings())
            });
            Ok((appended, follower.thread(), updates, warnings))
        })?
        .map_err(unreadable)?;
        write::Plist::new(env)
            .set(k_thread, thread)?
            .set(k_bytes, appended.bytes as i64)?
            .set(k_updates, write::list_of(env, &updates, |update| thread_update(env, update))?)?
            .set(k_warnings, write::texts(env, &warnings)?)?
            .finish()
    })
}

fn unreadable(error: std::io::Error) -> Error {
    let received = format!("one that cannot be read ({error})");
    Error::Argument { path: "transcript".into(), received, expected: "a file of yours".into() }
}

fn thread_update<'e>(env: &'e Env, update: &ThreadUpdate) -> Result<Value<'e>> {
    let summary = with_thread(&update.thread, write::Summary::of);
    let outcome =
        update.outcome.as_ref().map(|outcome| write::outcome(env, outcome, &summary, &[])).transpose()?;
    let state = update.state.map(|state| write::symbol(env, state.as_str())).transpose()?;
    let activity = match (&update.activity, &update.error) {
        (Some(_), Some(_)) => Some("failed"),
        (activity, _) => activity.map(Activity::as_str),
    };
    let activity = activity.map(|name| write::symbol(env, name)).transpose()?;
    write::Plist::new(env)
        .set(k_thread, &update.thread)?
        .set(k_outcome, outcome)?
        .set(k_state, state)?
        .set_some(k_activity, activity)?
        .set_some(k_why, update.error.as_ref())?
        .finish()
}

/// Pause the threads of the transcript of HANDLE for REASON, a string.
///
/// Their time stops at their last event.  The value is a list like the `:updates' of
/// `todo-write-dyn--transcript-read'.
#[defun]
fn transcript_pause<'e>(env: &'e Env, handle: Value<'e>, reason: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let reason = read::text("reason", reason)?;
        let updates = with_follower(handle, |follower| {
            with_module(|module| follower.recorder.pause(&mut module.store, &reason, now()))
        })?;
        write::list_of(env, &updates, |update| thread_update(env, update))
    })
}

/// Describe the transcript FILE from its beginning and end; return nil for another file.
///
/// The value is a plist: `:host', "claude" or "codex"; `:session', its id; `:folder', the working
/// directory; `:title', a string; `:begun', milliseconds since the epoch; `:agent', t for a
/// subagent's or a reviewer's session.  All but the first two may be nil.
#[defun]
fn transcript_describe<'e>(env: &'e Env, file: Value<'e>) -> Result<Option<Value<'e>>> {
    border(env, || {
        let Some(description) = describe(Path::new(&read::text("transcript", file)?)) else {
            return Ok(None);
        };
        let plist = write::Plist::new(env)
            .set(k_host, description.agent.as_str())?
            .set(k_session, &description.session)?
            .set(k_folder, description.folder)?
            .set(k_title, description.title)?
            .set(k_begun, description.begun.map(|begun| begun as i64))?
            .set(k_agent, description.is_subagent)?
            .finish()?;
        Ok(Some(plist))
    })
}
