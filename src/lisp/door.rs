//! Lisp functions for the socket that agents' programs connect to.

use serde::Serialize;

use super::function::lisp;
use super::ser::{Sparse, Symbol};
use super::with_module;
use crate::pid;
use crate::wire::program::{ConnectionId, DoorEvent, DoorState};
use crate::wire::socket::{Bye, Call, Cancel, Hello, Message, SessionActivity};

lisp! { env =>
    /// Return whom agents' programs reach, a plist, or nil if the socket is closed or about to be opened.
    ///
    /// `:state' is `open' for this Emacs, `client' for another one, whose process id is `:process' or nil, or
    /// `failed', for the reason `:text'.
    fn door_state() -> Option<Sparse<ShownState>> {
        let state = with_module(|module| module.followed.door.clone());
        state.map(|state| Sparse(ShownState::from(state)))
    }
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
