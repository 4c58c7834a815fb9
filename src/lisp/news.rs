//! What the program tells, as `todo-write-dyn--feed' returns it.

use std::path::Path;
use std::time::SystemTime;

use emacs::{Env, Result, Value};
use serde::Serialize;

use super::door::ShownEvent;
use super::feed::Told;
use super::items::ShownItem;
use super::reports::Changed;
use super::ser::{self, Sparse, Symbol};
use super::shown::{self, ShownChanges, ShownOutcome, ShownSummary};
use super::threads::summary_of;
use crate::recorder::ThreadUpdate;
use crate::wire::event::Agent;
use crate::wire::program::{Choice, ConnectionState, Description, Found, Message, Process, SessionId};

/// News, by kind.
#[derive(Serialize)]
#[serde(rename = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum News<'n> {
    Read {
        session: SessionId,
        thread: Option<String>,
        skipped: u64,
        grew: Option<f64>,
        updates: Vec<ShownUpdate<'n>>,
        changes: Vec<Changed>,
        warnings: Vec<String>,
    },
    Progress {
        session: SessionId,
        thread: Option<String>,
        percent: Option<u64>,
    },
    Processes {
        changes: Vec<Changed>,
        processes: Vec<ShownProcess>,
    },
    Ready {
        session: SessionId,
        changes: Vec<Changed>,
    },
    Quiet {
        session: SessionId,
        changes: Vec<Changed>,
    },
    Silent {
        session: SessionId,
        changes: Vec<Changed>,
    },
    Failed {
        session: SessionId,
        changes: Vec<Changed>,
    },
    Unreadable {
        session: SessionId,
        reason: String,
    },
    Moved {
        session: SessionId,
        file: String,
    },
    Found {
        home: String,
        files: Vec<ShownFound>,
        skipped: Vec<String>,
    },
    Choices {
        round: u64,
        choices: Vec<ShownChoice>,
    },
    Stuck {
        root: String,
        over: bool,
    },
    Broken {
        root: String,
    },
    Connection {
        machine: String,
        version: Option<String>,
        note: Option<String>,
        reason: Option<String>,
        missing: bool,
        changes: Vec<Changed>,
    },
    Refused {
        reason: String,
    },
}

/// The update of a thread.
#[derive(Serialize)]
struct ShownUpdate<'u> {
    thread: &'u str,
    outcome: Option<Sparse<ShownOutcome<'u, ShownChanges<'u, ShownItem<'u>>, ShownSummary>>>,
}

/// A transcript of a main agent.
#[derive(Serialize)]
struct ShownFound {
    file: String,
    time: f64,
    begun: Option<u64>,
}

/// A session to choose.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownChoice {
    file: String,
    time: f64,
    of_project: bool,
    description: ShownDescription,
}

/// A process of an agent, in the words of its file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownProcess {
    pid: u32,
    machine: Option<String>,
    state: Symbol<&'static str>,
    session_id: Option<String>,
    status: Option<String>,
    waiting_for: Option<String>,
}

/// The plist of what is told.
pub(super) fn to_lisp(env: &Env, told: Told) -> Result<Value<'_>> {
    let updates;
    let news = match told {
        Told::Other(Message::Door(event), _) => {
            return ser::to_lisp(env, &Sparse(ShownEvent::of(None, event)));
        }
        Told::Other(Message::DoorThere(machine, event), _) => {
            return ser::to_lisp(env, &Sparse(ShownEvent::of(Some(machine), event)));
        }
        Told::Refused(reason) => News::Refused { reason },
        Told::Read(session, applied, warnings, changes) => {
            updates = applied.updates;
            News::Read {
                session,
                updates: updates.iter().map(|update| shown_update(env, update)).collect::<Result<_>>()?,
                thread: applied.thread,
                skipped: applied.skipped,
                grew: applied.grew.map(seconds),
                changes,
                warnings,
            }
        }
        Told::Progress(session, thread, percent) => News::Progress { session, thread, percent },
        Told::Processes(live, changes) => {
            News::Processes { changes, processes: live.into_iter().map(ShownProcess::from).collect() }
        }
        Told::Other(message, changes) => of_message(message, changes),
    };
    ser::to_lisp(env, &news)
}

fn of_message(message: Message, changes: Vec<Changed>) -> News<'static> {
    match message {
        Message::Ready { session, .. } => News::Ready { session, changes },
        Message::Quiet(session, _) => News::Quiet { session, changes },
        Message::Silent(session) => News::Silent { session, changes },
        Message::Failed(session) => News::Failed { session, changes },
        Message::Unreadable(session, reason) => News::Unreadable { session, reason },
        Message::Moved(session, file) => News::Moved { session, file: name(&file) },
        Message::Found { home, sessions, unnamed } => News::Found {
            home: name(&home),
            files: sessions.iter().map(ShownFound::from).collect(),
            skipped: unnamed.iter().map(|path| name(path)).collect(),
        },
        Message::Choices(round, choices) => {
            News::Choices { round, choices: choices.into_iter().map(ShownChoice::from).collect() }
        }
        Message::Stuck(root, is_stuck) => News::Stuck { root: name(&root), over: !is_stuck },
        Message::Broken(root) => News::Broken { root: name(&root) },
        Message::Connection(machine, ConnectionState::Connected { version, note }) => {
            News::Connection { machine, version: Some(version), note, reason: None, missing: false, changes }
        }
        Message::Connection(machine, ConnectionState::Lost { reason, is_missing }) => News::Connection {
            machine,
            version: None,
            note: None,
            reason: Some(reason),
            missing: is_missing,
            changes,
        },
        // These are applied and noted before, and sockets have news of their own.
        Message::Door(_) | Message::DoorThere(..) => News::Broken { root: String::new() },
        Message::Events(session, _) => News::Progress { session, thread: None, percent: None },
        Message::Processes { .. } => News::Processes { changes, processes: Vec::new() },
    }
}

/// A path as text; Emacs can open it only if it is text.
fn name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A time in seconds since the epoch.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn shown_update<'u>(env: &Env, update: &'u ThreadUpdate) -> Result<ShownUpdate<'u>> {
    let summary = summary_of(env, &update.thread)?;
    let outcome = update.outcome.as_ref().map(|outcome| shown::outcome(outcome, summary, &[]));
    Ok(ShownUpdate { thread: &update.thread, outcome })
}

impl From<&Found> for ShownFound {
    fn from(found: &Found) -> ShownFound {
        ShownFound { file: name(&found.path), time: seconds(found.modified), begun: found.begun }
    }
}

impl From<Choice> for ShownChoice {
    fn from(choice: Choice) -> ShownChoice {
        ShownChoice {
            file: name(&choice.path),
            time: seconds(choice.modified),
            of_project: choice.is_of_project,
            description: choice.description.into(),
        }
    }
}

impl From<Process> for ShownProcess {
    fn from(process: Process) -> ShownProcess {
        ShownProcess {
            pid: process.pid,
            machine: process.machine,
            state: Symbol(if process.is_suspended { "suspended" } else { "alive" }),
            session_id: process.session,
            status: process.status,
            waiting_for: process.needs.or(process.waiting_for),
        }
    }
}

/// What is said of a session.
#[derive(Serialize)]
struct ShownDescription {
    host: Agent,
    folder: Option<String>,
    title: Option<String>,
}

impl From<Description> for ShownDescription {
    fn from(found: Description) -> ShownDescription {
        ShownDescription { host: found.agent, folder: found.folder, title: found.title }
    }
}
