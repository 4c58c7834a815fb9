//! Lisp functions of the connections to machines.

use std::path::PathBuf;

use emacs::{Env, Result, Value, defun};
use serde::Deserialize;

use super::hub::with_hub;
use super::read::{self, wrong};
use super::{border, write};
use crate::agents::Agent;
use crate::agents::recorder::Machine;
use crate::hub::{Connection, ConnectionState, Scope, pipe};
use crate::protocol::Welcome;

/// A machine as Lisp describes it.
#[derive(Deserialize)]
struct Given {
    name: String,
    prefix: String,
    command: Vec<String>,
    id: String,
    who: String,
    homes: Option<Vec<(Agent, PathBuf)>>,
    project: Option<Vec<PathBuf>>,
    door: Option<Welcome>,
}

impl From<Given> for Connection {
    fn from(given: Given) -> Connection {
        Connection {
            machine: Machine { name: given.name, prefix: given.prefix },
            command: given.command,
            id: given.id,
            name: given.who,
            silence: pipe::SILENCE,
            homes: given.homes.unwrap_or_default(),
            scope: Scope { project: given.project.unwrap_or_default(), is_all: true },
            door: given.door,
        }
    }
}

/// Connect to MACHINE, unless it is connected, and tell it what is wanted of it.
///
/// MACHINE is a plist: `:name', which the keys of its threads begin with, and `:prefix', which the
/// names of its files begin with; `:command', a list of the program and its arguments; `:id', a string
/// that no other Emacs has, and `:who', this Emacs for a person; `:homes', a list of (AGENT FOLDER) in
/// place of the usual folders there, or nil; `:project', the names there of the root of a project, or
/// nil; `:door', nil or what programs there are told of this Emacs, a plist `:version :emacs :process'.
/// Return nil if that is done, else the reason, a string.
#[defun]
fn hub_connect<'e>(env: &'e Env, machine: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        const EXPECTED: &str = "a plist that describes a machine";
        let given: Given = serde_json::from_value(read::json("machine", machine)?)
            .map_err(|error| wrong("machine", machine, &format!("{EXPECTED} ({error})")))?;
        let connected = with_hub(|hub| hub.connect(given.into()));
        Ok(connected.and_then(|connected| connected.err()).map(|error| error.to_string()))
    })
}

/// End the connection to the machine NAME, and following its sessions.
#[defun]
fn hub_disconnect<'e>(env: &'e Env, name: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let name = read::text("machine", name)?;
        with_hub(|hub| hub.disconnect(&name));
        Ok(())
    })
}

/// Describe the newest sessions on the machine NAME.
///
/// PROJECT is a list of the names there of a project's root.  Return the `:round' of the answer.
#[defun]
fn hub_choose_there<'e>(env: &'e Env, name: Value<'e>, project: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let name = read::text("machine", name)?;
        let project = read::texts("project", project)?.into_iter().map(PathBuf::from).collect();
        let scope = Scope { project, is_all: false };
        Ok(with_hub(|hub| hub.choose_there(&name, scope)).and_then(|round| i64::try_from(round).ok()))
    })
}

/// The plist of what became of a connection.
pub(super) fn state<'e>(
    plist: write::Plist<'e>,
    machine: String,
    state: ConnectionState,
) -> Result<Value<'e>> {
    let plist = plist.set("machine", machine)?;
    match state {
        ConnectionState::Connected { version, note } => {
            plist.set("version", version)?.set("note", note)?.finish()
        }
        ConnectionState::Lost { reason, is_missing } => {
            plist.set("reason", reason)?.set("missing", is_missing)?.finish()
        }
    }
}
