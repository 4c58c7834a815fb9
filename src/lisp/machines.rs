//! Lisp functions of the connections to machines.

use std::collections::HashSet;
use std::path::PathBuf;

use emacs::{Env, Result, Value, defun};
use serde::Deserialize;

use super::feed::tell;
use super::read::{self, wrong};
use super::{border, with_module};
use crate::wire::event::Agent;
use crate::wire::program::{Command, Connection, Machine, Opening, SILENCE};
use crate::wire::socket::Welcome;

/// A machine as Lisp describes it.
#[derive(Deserialize)]
struct Given {
    name: String,
    prefix: String,
    command: Vec<String>,
    environment: Option<Vec<String>>,
    who: String,
    homes: Option<Vec<(Agent, PathBuf)>>,
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

impl Given {
    fn connection(self) -> Connection {
        Connection {
            machine: Machine { name: self.name, prefix: self.prefix },
            command: self.command,
            environment: variables(self.environment.unwrap_or_default()),
            id: with_module(|module| module.settings.storage.emacs.clone()).unwrap_or_default(),
            name: self.who,
            silence: SILENCE,
            homes: self.homes,
            door: self.door.map(|welcome| Opening { welcome, ..Opening::default() }),
        }
    }
}

/// Connect to MACHINE, unless it is connected, and tell it what is wanted of it.
///
/// MACHINE is a plist: `:name', which the keys of its threads begin with, and `:prefix', which the
/// names of its files begin with; `:command', a list of the program, an absolute name, and its arguments;
/// `:environment', a list like `process-environment', with all that the program gets; `:who',
/// this Emacs for a person; `:homes', a list of vectors [AGENT FOLDER] in place of the usual folders there, or nil; `:door', nil or what programs there are told of this
/// Emacs, a plist `:version :emacs :process'.
#[defun]
fn hub_connect<'e>(env: &'e Env, machine: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        const EXPECTED: &str = "a plist that describes a machine";
        let given: Given = serde_json::from_value(read::json("machine", machine)?)
            .map_err(|error| wrong("machine", machine, &format!("{EXPECTED} ({error})")))?;
        tell(env, Command::Connect(Box::new(given.connection())))
    })
}

/// End the connection to the machine NAME, and following its sessions.
#[defun]
fn hub_disconnect<'e>(env: &'e Env, name: Value<'e>) -> Result<Value<'e>> {
    border(env, || tell(env, Command::Disconnect(read::text("machine", name)?)))
}
