//! Lisp functions for the socket of Emacs.

use std::path::Path;

use emacs::{Env, Result, Value, defun};

use super::lines::{Call, Hello, Message, SessionActivity, parse};
use super::write::Plist;
use super::{border, read, write};
use crate::error::{Error, Problem};
use crate::process;
use crate::told;

emacs::use_symbols! {
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
            Message::Hello(message) => fields_of_hello(plist.set("type", hello)?, &message),
            Message::Call(message) => fields_of_call(plist.set("type", call)?, env, &message),
            Message::Cancel(message) => plist.set("type", cancel)?.set("call", message.call)?.finish(),
            Message::Activity(message) => fields_of_activity(plist.set("type", activity)?, &message),
            Message::Bye(message) => {
                plist.set("type", bye)?.set_some("killed", message.killed.then_some(true))?.finish()
            }
            Message::Unknown(name) => plist.set("type", unknown)?.set("id", name)?.finish(),
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
        .set("protocol", message.protocol)?
        .set("role", &message.role)?
        .set("id", &message.id)?
        .set_some("version", message.version.as_ref())?
        .set_some("client", message.client.as_ref())?
        .set_some("clientVersion", message.client_version.as_ref())?
        .set_some("project", message.project.as_ref())?
        .set_some("process", message.process)?
        .set_some("elsewhere", is_elsewhere.then_some(true))?
        .set_some("started", message.started)?
        .set_some("now", message.now)?
        .set_some("lost", message.lost)?
        .set_some("outdated", message.outdated.then_some(true))?
        .set_some("claudeFolder", message.claude_folder.as_ref())?
        .set_some("codexFolder", message.codex_folder.as_ref())?
        .set_some("nonce", message.nonce.as_ref())?
        .set_some("proof", message.proof.as_ref())?
        .finish()
}

fn fields_of_call<'e>(plist: Plist<'e>, env: &'e Env, message: &Call<'_>) -> Result<Value<'e>> {
    let arguments = message.arguments.map(|arguments| write::text(env, arguments.get())).transpose()?;
    plist
        .set("call", message.call)?
        .set_some("until", message.until)?
        .set_some("session", message.session.as_ref())?
        .set_some("source", message.source.as_ref())?
        .set_some("subagent", message.subagent.as_ref())?
        .set_some("task", message.task.as_ref())?
        .set_some("arguments", arguments)?
        .finish()
}

fn fields_of_activity<'e>(plist: Plist<'e>, message: &SessionActivity) -> Result<Value<'e>> {
    plist
        .set("session", &message.session)?
        .set_some("subagent", message.subagent.as_ref())?
        .set("activity", &message.activity)?
        .set_some("reason", message.reason.as_ref())?
        .finish()
}
