//! Lisp functions for the socket of Emacs.

use std::path::Path;

use emacs::{Env, Result, Value, defun};

use super::write::Plist;
use super::{border, read, write};
use crate::error::{Error, Problem};
use crate::process;
use crate::protocol::{Call, Hello, Message, SessionActivity, parse};
use crate::told;

emacs::use_symbols! {
    k_type => ":type" k_protocol => ":protocol" k_role => ":role" k_id => ":id"
    k_version => ":version" k_client => ":client" k_client_version => ":clientVersion"
    k_project => ":project" k_process => ":process" k_elsewhere => ":elsewhere" k_started => ":started" k_now => ":now"
    k_lost => ":lost" k_outdated => ":outdated" k_claude_folder => ":claudeFolder"
    k_codex_folder => ":codexFolder" k_call => ":call" k_until => ":until"
    k_session => ":session" k_source => ":source" k_subagent => ":subagent"
    k_arguments => ":arguments" k_activity => ":activity" k_reason => ":reason" k_task => ":task" k_killed => ":killed"
    k_nonce => ":nonce" k_proof => ":proof"
    hello call cancel activity bye unknown
}

/// Parse LINE, a message of a program that connected to the socket, in UTF-8.
///
/// The value is a plist: `:type', one of `hello', `call', `cancel', `activity', `bye' and
/// `unknown', and the fields of that type that LINE has; see doc/protocol.md.  `:arguments' is JSON
/// text, everything else a string, a number or t.  In place of `pidDomain', `:elsewhere' is t if the
/// process id is that of another container.  Signal `todo-write-input-error' for a line that
/// is no message.
#[defun]
fn socket_parse<'e>(env: &'e Env, line: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let text = read::text("line", line)?;
        let plist = Plist::new(env);
        match parse(&text).map_err(invalid)? {
            Message::Hello(message) => fields_of_hello(plist.set(k_type, hello)?, &message),
            Message::Call(message) => fields_of_call(plist.set(k_type, call)?, env, &message),
            Message::Cancel(message) => plist.set(k_type, cancel)?.set(k_call, message.call)?.finish(),
            Message::Activity(message) => fields_of_activity(plist.set(k_type, activity)?, &message),
            Message::Bye(message) => {
                plist.set(k_type, bye)?.set_some(k_killed, message.killed.then_some(true))?.finish()
            }
            Message::Unknown(name) => plist.set(k_type, unknown)?.set(k_id, name)?.finish(),
        }
    })
}

/// Make the folder "told" in FOLDER, that of the socket, if ON is non-nil; else delete it.
///
/// An empty file in it lets the hook of a session ask Emacs.  Of these, all are deleted, and of other
/// files none.  Return nil if the system refuses, or FOLDER is not the user's alone.
#[defun]
fn told_folder<'e>(env: &'e Env, folder: Value<'e>, on: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let folder = read::text("folder", folder)?;
        let work = if on.is_not_nil() { told::make } else { told::remove };
        Ok(work(Path::new(&folder)).is_ok().then_some(true))
    })
}

/// Make the file NAME in the folder "told" in FOLDER if ON is non-nil; else delete it.
///
/// Return nil as `todo-write-dyn--told-folder' does.
#[defun]
fn told_file<'e>(env: &'e Env, folder: Value<'e>, name: Value<'e>, on: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (folder, name) = (read::text("folder", folder)?, read::text("name", name)?);
        Ok(told::set(Path::new(&folder), &name, on.is_not_nil()).is_ok().then_some(true))
    })
}

fn invalid(error: serde_json::Error) -> Error {
    Error::Argument(Problem::new("line", error.to_string(), "a message"))
}

fn fields_of_hello<'e>(plist: Plist<'e>, message: &Hello) -> Result<Value<'e>> {
    let is_elsewhere = message.pid_domain.as_deref().is_some_and(process::is_elsewhere);
    plist
        .set(k_protocol, message.protocol)?
        .set(k_role, &message.role)?
        .set(k_id, &message.id)?
        .set_some(k_version, message.version.as_ref())?
        .set_some(k_client, message.client.as_ref())?
        .set_some(k_client_version, message.client_version.as_ref())?
        .set_some(k_project, message.project.as_ref())?
        .set_some(k_process, message.process)?
        .set_some(k_elsewhere, is_elsewhere.then_some(true))?
        .set_some(k_started, message.started)?
        .set_some(k_now, message.now)?
        .set_some(k_lost, message.lost)?
        .set_some(k_outdated, message.outdated.then_some(true))?
        .set_some(k_claude_folder, message.claude_folder.as_ref())?
        .set_some(k_codex_folder, message.codex_folder.as_ref())?
        .set_some(k_nonce, message.nonce.as_ref())?
        .set_some(k_proof, message.proof.as_ref())?
        .finish()
}

fn fields_of_call<'e>(plist: Plist<'e>, env: &'e Env, message: &Call<'_>) -> Result<Value<'e>> {
    let arguments = message.arguments.map(|arguments| write::text(env, arguments.get())).transpose()?;
    plist
        .set(k_call, message.call)?
        .set_some(k_until, message.until)?
        .set_some(k_session, message.session.as_ref())?
        .set_some(k_source, message.source.as_ref())?
        .set_some(k_subagent, message.subagent.as_ref())?
        .set_some(k_task, message.task.as_ref())?
        .set_some(k_arguments, arguments)?
        .finish()
}

fn fields_of_activity<'e>(plist: Plist<'e>, message: &SessionActivity) -> Result<Value<'e>> {
    plist
        .set(k_session, &message.session)?
        .set_some(k_subagent, message.subagent.as_ref())?
        .set(k_activity, &message.activity)?
        .set_some(k_reason, message.reason.as_ref())?
        .finish()
}
