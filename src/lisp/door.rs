//! Lisp functions for the socket that agents' programs connect to.

use std::path::{Path, PathBuf};

use emacs::{Env, Result, Value, defun};
use serde::Serialize;

use super::hub::with_hub;
use super::ser::{Sparse, Symbol};
use super::{border, read, serialized};
use crate::error::{Error, Problem};
use crate::hub::door::{ConnectionId, Door, Event, Settings, State};
use crate::hub::pipe::Command;
use crate::pid;
use crate::protocol::{Answer, Bye, Call, Cancel, Decision, Hello, Message, SessionActivity, Welcome};

/// Open the socket FILE for agents' programs, which are told of EMACS and PROCESS.
///
/// FILE and EMACS, a version, are strings, PROCESS is a process id.  The hub must run.  If another Emacs
/// has the socket, this one takes over when that ends.  CODEX is a list of the folders of Codex whose
/// questions come in by it, too.  Signal `todo-write-error' if the socket cannot be
/// opened safely.
#[defun]
fn door_open<'e>(
    env: &'e Env,
    file: Value<'e>,
    emacs: Value<'e>,
    process: Value<'e>,
    codex: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let file = read::text("file", file)?;
        let welcome = Welcome {
            version: env!("CARGO_PKG_VERSION").into(),
            emacs: Some(read::text("version", emacs)?),
            process: Some(read::whole_number("process", process)?),
            ..Welcome::default()
        };
        let folders = read::texts("codex", codex)?.into_iter().map(PathBuf::from).collect();
        let settings = Settings { codex: folders, ..Settings::new(Path::new(&file), welcome) };
        let opened = with_hub(|hub| hub.open_door(settings));
        Ok(opened.unwrap_or(Ok(())).map_err(Error::Door)?)
    })
}

/// Close the socket and its connections.
#[defun]
fn door_close(env: &Env) -> Result<Value<'_>> {
    border(env, || Ok(with_hub(|hub| hub.close_door())))
}

/// Return whom agents' programs reach, a plist, or nil if the socket is closed.
///
/// `:state' is `open' for this Emacs, `client' for another one, whose process id is `:process' or nil, or
/// `failed', for the reason `:text'.
#[defun]
fn door_state(env: &Env) -> Result<Value<'_>> {
    serialized(env, || Ok(with_door(Door::state).map(|state| Sparse(ShownState::from(state)))))
}

/// Return what happened next at the socket, a plist, or nil.
///
/// HERE non-nil leaves out what happened at those of other machines, which take turns with this one.
///
/// `:type' is one of
/// - `hello', `call', `cancel', `activity' and `bye': the program of `:connection', a number, said that.
///   The other keys are the fields of doc/protocol.md.  `:arguments' is JSON text, `:roles' a list of
///   strings, everything else a string, a number or t.  In place of `:pidDomain', `:elsewhere' is t if the
///   process id is that of another container.
/// - `closed': that connection has closed.
/// - `outdated': a program is of another version, and must be set up again.
/// - `state': it changed by itself; `:state', `:process' and `:text' are as for `todo-write-dyn--door-state'.
///
/// `:machine' is the name of the machine where it happened, absent for this one; connections are numbered on
/// each machine.  Each call must be answered by `todo-write-dyn--door-answer', unless it is cancelled or its
/// connection closes.
#[defun]
fn door_take<'e>(env: &'e Env, here: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let is_here = here.is_not_nil();
        let taken = with_hub(|hub| hub.take_call(is_here)).flatten();
        Ok(taken.map(|(machine, event)| Sparse(ShownEvent::of(machine, event))))
    })
}

/// Answer CALL, a number, of CONNECTION on MACHINE with TEXT; return nil if nobody waits for that.
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
        let told = match machine {
            None => with_door(|door| door.answer(id, answer)),
            Some(machine) => with_hub(|hub| hub.tell_machine(&machine, &Command::Answer(id, answer))),
        };
        Ok(told.unwrap_or(false))
    })
}

/// Return non-nil if CONNECTION, of this machine, is open.
#[defun]
fn door_live_p<'e>(env: &'e Env, connection: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let id = read::whole_number("connection", connection)?;
        Ok(with_door(|door| door.is_live(id)).unwrap_or(false))
    })
}

/// Let the hook of SESSION on MACHINE ask this Emacs if ON is non-nil; else do not.
///
/// SESSION is an id, and MACHINE nil for this one.  An empty file beside the socket tells the hook.
#[defun]
fn door_tell<'e>(env: &'e Env, machine: Value<'e>, session: Value<'e>, on: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let machine = read::optional("machine", machine, read::text)?;
        let (session, on) = (read::text("session", session)?, on.is_not_nil());
        match machine {
            None => with_door(|door| door.tell(&session, on)),
            Some(machine) => {
                with_hub(|hub| hub.tell_machine(&machine, &Command::Tell(session, on))).map(|_| ())
            }
        };
        Ok(())
    })
}

/// Tell the programs on MACHINE that report sessions that there is something to say to the agent of SESSION.
///
/// SESSION is an id, and MACHINE nil for this one.
#[defun]
fn door_ring<'e>(env: &'e Env, machine: Value<'e>, session: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let machine = read::optional("machine", machine, read::text)?;
        let session = read::text("session", session)?;
        match machine {
            None => with_door(|door| door.ring(&session)),
            Some(machine) => with_hub(|hub| hub.tell_machine(&machine, &Command::Ring(session))).map(|_| ()),
        };
        Ok(())
    })
}

/// Runs `work` on the door, if it is open.
fn with_door<T>(work: impl FnOnce(&Door) -> T) -> Option<T> {
    with_hub(|hub| hub.door().map(work)).flatten()
}

fn decision_of(what: &str, value: Value<'_>) -> Result<Decision> {
    let text = read::text(what, value)?;
    let invalid = |error: serde_json::Error| Problem::new(what, error.to_string(), "a decision");
    Ok(serde_json::from_str(&text).map_err(invalid).map_err(Error::Argument)?)
}

/// What happened at a socket.
#[derive(Serialize)]
struct ShownEvent {
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
    fn of(machine: Option<String>, event: Event) -> ShownEvent {
        let (r#type, connection, fields) = match event {
            Event::Message(connection, message) => {
                let (r#type, fields) = said(message);
                (r#type, Some(connection), fields)
            }
            Event::Closed(connection) => ("closed", Some(connection), None),
            Event::Outdated => ("outdated", None, None),
            Event::State(state) => ("state", None, Some(Fields::State(state.into()))),
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

impl From<State> for ShownState {
    fn from(state: State) -> ShownState {
        match state {
            State::Open => ShownState { state: Symbol("open"), process: None, text: None },
            State::Client(process) => ShownState { state: Symbol("client"), process, text: None },
            State::Failed(text) => ShownState { state: Symbol("failed"), process: None, text: Some(text) },
        }
    }
}
