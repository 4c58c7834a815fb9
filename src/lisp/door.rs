//! Lisp functions for the socket that agents' programs connect to.

use std::path::PathBuf;

use emacs::{Env, Result, Value, defun};
use serde::Serialize;

use super::feed::{tell, tell_machine};
use super::ser::{Sparse, Symbol};
use super::{border, read, serialized, with_module};
use crate::error::{Error, Problem};
use crate::pid;
use crate::wire::program::{Command, ConnectionId, DoorEvent, DoorState, Opening};
use crate::wire::socket::{Answer, Bye, Call, Cancel, Decision, Hello, Message, SessionActivity, Welcome};

/// Open the socket FILE for agents' programs, which are told of EMACS and PROCESS.
///
/// FILE is nil for the usual one.  EMACS is a version, a string, and PROCESS a process id.  If another Emacs has
/// the socket, this one takes over when that ends.  CODEX is a list of the folders of Codex whose questions come in by it,
/// too.  A message of type `state' says what became of it.
#[defun]
fn door_open<'e>(
    env: &'e Env,
    file: Value<'e>,
    emacs: Value<'e>,
    process: Value<'e>,
    codex: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let welcome = Welcome {
            version: env!("CARGO_PKG_VERSION").into(),
            emacs: Some(read::text("version", emacs)?),
            process: Some(read::whole_number("process", process)?),
            ..Welcome::default()
        };
        let socket = read::optional("file", file, read::text)?.map(PathBuf::from);
        let codex = Some(read::texts("codex", codex)?.into_iter().map(PathBuf::from).collect());
        tell(env, Command::Door(Some(Opening { welcome, socket, codex })))
    })
}

/// Close the socket and its connections.
#[defun]
fn door_close(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        with_module(|module| module.followed.door = None);
        tell(env, Command::Door(None))
    })
}

/// Return whom agents' programs reach, a plist, or nil if the socket is closed or about to be opened.
///
/// `:state' is `open' for this Emacs, `client' for another one, whose process id is `:process' or nil, or
/// `failed', for the reason `:text'.
#[defun]
fn door_state(env: &Env) -> Result<Value<'_>> {
    serialized(env, || {
        let state = with_module(|module| module.followed.door.clone());
        Ok(state.map(|state| Sparse(ShownState::from(state))))
    })
}

/// Answer CALL, a number, of CONNECTION on MACHINE with TEXT.
///
/// MACHINE is nil for this one.  OK is nil for an error.  DECISION is a decision of doc/protocol.md as
/// JSON text, or nil.
#[defun]
fn door_answer<'e>(
    env: &'e Env,
    machine: Value<'e>,
    connection: Value<'e>,
    call: Value<'e>,
    ok: Value<'e>,
    text: Value<'e>,
    decision: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let machine = read::optional("machine", machine, read::text)?;
        let id = read::whole_number("connection", connection)?;
        let answer = Answer {
            call: read::whole_number("call", call)?,
            ok: ok.is_not_nil(),
            text: read::text("text", text)?,
            decision: read::optional("decision", decision, decision_of)?,
        };
        tell_machine(env, machine, Command::Answer(id, answer))
    })
}

/// Say whether there is something to tell the agent of SESSION on MACHINE.
///
/// SESSION is an id, and MACHINE nil for this one.  While ON is non-nil, this Emacs gets the calls of the
/// session's hook; else the socket answers them by itself.
#[defun]
fn door_tell<'e>(env: &'e Env, machine: Value<'e>, session: Value<'e>, on: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let machine = read::optional("machine", machine, read::text)?;
        tell_machine(env, machine, Command::Tell(read::text("session", session)?, on.is_not_nil()))
    })
}

/// Tell the programs on MACHINE that report sessions that there is something to say to the agent of SESSION.
///
/// SESSION is an id, and MACHINE nil for this one.
#[defun]
fn door_ring<'e>(env: &'e Env, machine: Value<'e>, session: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let machine = read::optional("machine", machine, read::text)?;
        tell_machine(env, machine, Command::Ring(read::text("session", session)?))
    })
}

fn decision_of(what: &str, value: Value<'_>) -> Result<Decision> {
    let text = read::text(what, value)?;
    let invalid = |error: serde_json::Error| Problem::new(what, error.to_string(), "a decision");
    Ok(serde_json::from_str(&text).map_err(invalid).map_err(Error::Argument)?)
}

/// What happened at a socket.
#[derive(Serialize)]
pub(super) struct ShownEvent {
    r#type: Symbol<&'static str>,
    machine: Option<String>,
    connection: Option<ConnectionId>,
    #[serde(flatten)]
    fields: Option<Fields>,
}

/// What is said beside the type.
#[derive(Serialize)]
#[serde(untagged)]
enum Fields {
    Hello {
        elsewhere: bool,
        #[serde(flatten)]
        hello: Box<Hello>,
    },
    Call {
        #[serde(flatten)]
        call: Call,
        arguments: Option<String>,
    },
    Cancel(Cancel),
    Activity(SessionActivity),
    Bye(Bye),
    State(ShownState),
}

impl ShownEvent {
    pub(super) fn of(machine: Option<String>, event: DoorEvent) -> ShownEvent {
        let (r#type, connection, fields) = match event {
            DoorEvent::Message(connection, message) => {
                let (r#type, fields) = said(message);
                (r#type, Some(connection), fields)
            }
            DoorEvent::Closed(connection) => ("closed", Some(connection), None),
            DoorEvent::Outdated => ("outdated", None, None),
            DoorEvent::State(state) => ("state", None, Some(Fields::State(state.into()))),
        };
        ShownEvent { r#type: Symbol(r#type), machine, connection, fields }
    }
}

fn said(message: Message) -> (&'static str, Option<Fields>) {
    match message {
        Message::Hello(mut hello) => {
            let elsewhere = hello.pid_domain.take().as_deref().is_some_and(pid::is_elsewhere);
            ("hello", Some(Fields::Hello { elsewhere, hello }))
        }
        Message::Call(mut call) => {
            // As JSON text, not as what it says.
            let arguments = call.arguments.take().map(|arguments| arguments.get().to_owned());
            ("call", Some(Fields::Call { call, arguments }))
        }
        Message::Cancel(cancel) => ("cancel", Some(Fields::Cancel(cancel))),
        Message::Activity(activity) => ("activity", Some(Fields::Activity(activity))),
        Message::Bye(bye) => ("bye", Some(Fields::Bye(bye))),
        // The door passes none on.
        Message::Unknown => ("unknown", None),
    }
}

/// Whom programs reach.
#[derive(Serialize)]
struct ShownState {
    state: Symbol<&'static str>,
    process: Option<u32>,
    text: Option<String>,
}

impl From<DoorState> for ShownState {
    fn from(state: DoorState) -> ShownState {
        match state {
            DoorState::Open => ShownState { state: Symbol("open"), process: None, text: None },
            DoorState::Client(process) => ShownState { state: Symbol("client"), process, text: None },
            DoorState::Failed(text) => {
                ShownState { state: Symbol("failed"), process: None, text: Some(text) }
            }
        }
    }
}
