//! Lisp functions of the connections to machines.

use std::collections::HashSet;
use std::path::PathBuf;

use emacs::{Env, Result, Value, defun};
use serde::Deserialize;

use super::border;
use super::hub::with_hub;
use super::read::{self, wrong};
use crate::agents::Agent;
use crate::agents::recorder::Machine;
use crate::hub::{Connection, Scope, pipe};
use crate::protocol::Welcome;

/// A machine as Lisp describes it.
#[derive(Deserialize)]
struct Given {
    name: String,
    prefix: String,
    command: Vec<String>,
    environment: Option<Vec<String>>,
    id: String,
    who: String,
    homes: Option<Vec<(Agent, PathBuf)>>,
    project: Option<Vec<PathBuf>>,
    door: Option<Welcome>,
}

/// The variables of `NAME=VALUE`, of which the first counts; a name without a value takes that variable away.
fn variables(given: Vec<String>) -> Vec<(String, String)> {
    let mut known = HashSet::new();
    let all = given.iter().map(|entry| {
        entry.split_once('=').map_or((entry.as_str(), None), |(name, value)| (name, Some(value)))
    });
    let first = all.filter(|(name, _)| known.insert(name.to_owned()));
    first.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect()
}

impl From<Given> for Connection {
    fn from(given: Given) -> Connection {
        Connection {
            machine: Machine { name: given.name, prefix: given.prefix },
            command: given.command,
            environment: variables(given.environment.unwrap_or_default()),
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
/// names of its files begin with; `:command', a list of the program, an absolute name, and its arguments;
/// `:environment', a list like `process-environment', with all that the program gets; `:id', a string
/// that no other Emacs has, and `:who', this Emacs for a person; `:homes', a list of vectors [AGENT
/// FOLDER] in place of the usual folders there, or nil; `:project', the names there of the root of a project, or
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
        Ok(with_hub(|hub| hub.disconnect(&name)))
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
