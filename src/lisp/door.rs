//! Lisp functions for the socket that agents' programs connect to.

use std::path::Path;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::hub::with_hub;
use super::write::Plist;
use super::{border, elsewhere, read, write};
use crate::error::{Error, Problem};
use crate::hub::door::{ConnectionId, Door, Event, Settings, State};
use crate::process;
use crate::protocol::{Answer, Call, Decision, Hello, Message, SessionActivity, Welcome};

/// Open the socket FILE for agents' programs, which are told of EMACS and PROCESS.
///
/// FILE and EMACS, a version, are strings, PROCESS is a process id.  The hub must run.  If another Emacs
/// has the socket, this one takes over when that ends.  Signal `todo-write-error' if the socket cannot be
/// opened safely.
#[defun]
fn door_open<'e>(env: &'e Env, file: Value<'e>, emacs: Value<'e>, process: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let file = read::text("file", file)?;
        let welcome = Welcome {
            version: env!("CARGO_PKG_VERSION").into(),
            emacs: Some(read::text("version", emacs)?),
            process: Some(read::whole_number("process", process)?),
            ..Welcome::default()
        };
        let opened = with_hub(|hub| hub.open_door(Settings::new(Path::new(&file), welcome)));
        Ok(opened.unwrap_or(Ok(())).map_err(Error::Door)?)
    })
}

/// Close the socket and its connections.
#[defun]
fn door_close(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        with_hub(|hub| hub.close_door());
        Ok(())
    })
}

/// Return whom agents' programs reach, a plist, or nil if the socket is closed.
///
/// `:state' is `open' for this Emacs, `client' for another one, whose process id is `:process' or nil, or
/// `failed', for the reason `:text'.
#[defun]
fn door_state(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        let state = with_door(Door::state);
        state.map(|state| fields_of_state(Plist::new(env), state)?.finish()).transpose()
    })
}

/// Return what happened next at the socket, a plist, or nil.
///
/// `:type' is one of
/// - `hello', `call', `cancel', `activity' and `bye': the program of `:connection', a number, said that.
///   The other keys are the fields of doc/protocol.md.  `:arguments' is JSON text, `:roles' a list of
///   strings, everything else a string, a number or t.  In place of `:pidDomain', `:elsewhere' is t if the
///   process id is that of another container.
/// - `closed': that connection has closed.
/// - `outdated': a program must be set up again; `:text' is a phrase about it.
/// - `state': it changed by itself; `:state', `:process' and `:text' are as for `todo-write-dyn--door-state'.
///
/// `:machine' is the name of the machine where it happened, absent for this one; connections are numbered
/// on each machine.  Each call must be answered by `todo-write-dyn--door-answer', unless it is cancelled or its connection
/// closes.
#[defun]
fn door_take(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        let taken = with_hub(|hub| hub.take_call()).flatten();
        taken.map(|(machine, event)| to_lisp(env, machine, event)).transpose()
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
        Ok(match machine {
            None => with_door(|door| door.answer(id, answer)),
            #[cfg(unix)]
            Some(machine) => with_hub(|hub| hub.answer_there(&machine, id, answer)),
            #[cfg(not(unix))]
            Some(_) => None,
        }
        .unwrap_or(false))
    })
}

/// Return those of THREADS, a list of keys, whose journals must be opened before they can be changed.
///
/// That is begun, and the hub rings when it is done.  The others are in memory, have no journal, or are in a
/// folder that does not answer.
#[defun]
fn door_unready<'e>(env: &'e Env, threads: Value<'e>) -> Result<Value<'e>> {
    border(env, || write::texts(env, &elsewhere::unready(read::texts("threads", threads)?)))
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
            #[cfg(unix)]
            Some(machine) => with_hub(|hub| hub.tell_there(&machine, &session, on)),
            #[cfg(not(unix))]
            Some(_) => None,
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

fn to_lisp(env: &Env, machine: Option<String>, event: Event) -> Result<Value<'_>> {
    let plist = |kind: &str| {
        Plist::new(env).set("type", write::symbol(env, kind)?)?.set_some("machine", machine.as_ref())
    };
    let of = |kind: &str, id: ConnectionId| plist(kind)?.set("connection", id);
    match event {
        Event::Message(id, message) => match message {
            Message::Hello(hello) => fields_of_hello(of("hello", id)?, env, &hello),
            Message::Call(call) => fields_of_call(of("call", id)?, env, &call),
            Message::Cancel(cancel) => of("cancel", id)?.set("call", cancel.call),
            Message::Activity(activity) => fields_of_activity(of("activity", id)?, &activity),
            Message::Bye(bye) => of("bye", id)?.set_some("killed", bye.killed),
            // The door passes none on.
            Message::Unknown => of("unknown", id),
        },
        Event::Closed(id) => of("closed", id),
        Event::Outdated(phrase) => plist("outdated")?.set("text", phrase),
        Event::State(state) => fields_of_state(plist("state")?, state),
    }?
    .finish()
}

fn fields_of_state(plist: Plist<'_>, state: State) -> Result<Plist<'_>> {
    let env = plist.env();
    match state {
        State::Open => plist.set("state", write::symbol(env, "open")?),
        State::Client(process) => {
            plist.set("state", write::symbol(env, "client")?)?.set_some("process", process)
        }
        State::Failed(text) => plist.set("state", write::symbol(env, "failed")?)?.set("text", text),
    }
}

fn fields_of_hello<'e>(plist: Plist<'e>, env: &'e Env, message: &Hello) -> Result<Plist<'e>> {
    let is_elsewhere = message.pid_domain.as_deref().is_some_and(process::is_elsewhere);
    plist
        .set("roles", write::list_of(env, &message.roles, |role| role.as_str().into_lisp(env))?)?
        .set("id", &message.id)?
        .set_some("version", message.version.as_ref())?
        .set_some("client", message.client.as_ref())?
        .set_some("clientVersion", message.client_version.as_ref())?
        .set_some("project", message.project.as_ref())?
        .set_some("root", message.root.as_ref())?
        .set_some("process", message.process)?
        .set_some("elsewhere", is_elsewhere)?
        .set_some("started", message.started)?
        .set_some("lost", message.lost)?
        .set_some("claudeFolder", message.claude_folder.as_ref())?
        .set_some("codexFolder", message.codex_folder.as_ref())
}

fn fields_of_call<'e>(plist: Plist<'e>, env: &'e Env, message: &Call) -> Result<Plist<'e>> {
    let arguments = message.arguments.as_ref().map(|arguments| write::text(env, arguments.get()));
    plist
        .set("call", message.call)?
        .set("role", message.role.map(|role| role.as_str()))?
        .set_some("until", message.until)?
        .set_some("session", message.session.as_ref())?
        .set_some("source", message.source.as_ref())?
        .set_some("id", message.id.as_ref())?
        .set_some("subagent", message.subagent.as_ref())?
        .set_some("task", message.task.as_ref())?
        .set_some("arguments", arguments.transpose()?)
}

fn fields_of_activity<'e>(plist: Plist<'e>, message: &SessionActivity) -> Result<Plist<'e>> {
    plist
        .set("session", &message.session)?
        .set_some("subagent", message.subagent.as_ref())?
        .set("activity", &message.activity)?
        .set_some("reason", message.reason.as_ref())
}
