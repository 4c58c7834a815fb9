//! What the hub tells, as `todo-write-dyn--hub-take' returns it.

use std::path::Path;
use std::time::SystemTime;

use emacs::{Env, Result, Value};
use serde::Serialize;

use super::hub::Report;
use super::items::ShownItem;
use super::reports::Changed;
use super::ser::{self, Sparse, Symbol};
use super::shown::{self, ShownChanges, ShownOutcome, ShownSummary};
use super::threads::summary_of;
use super::transcripts::ShownDescription;
use crate::agents::claude::process_files::Process;
use crate::agents::recorder::ThreadUpdate;
use crate::hub::{Choice, ConnectionState, Found, Message, SessionId};

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
    Door {},
}

/// The update of a thread.
#[derive(Serialize)]
struct ShownUpdate<'u> {
    thread: &'u str,
    outcome: Option<Sparse<ShownOutcome<'u, ShownChanges<'u, ShownItem<'u>>, ShownSummary>>>,
}

/// A transcript of a main agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownFound {
    file: String,
    time: f64,
    of_project: bool,
    has_processes: bool,
    begun: Option<u64>,
}

/// A session to choose.
#[derive(Serialize)]
struct ShownChoice {
    #[serde(flatten)]
    found: ShownFound,
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

/// The plist of a report.
pub(super) fn to_lisp(env: &Env, report: Report) -> Result<Value<'_>> {
    let updates;
    let news = match report {
        Report::Read(session, applied, warnings, changes) => {
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
        Report::Progress(session, thread, percent) => News::Progress { session, thread, percent },
        Report::Processes(live, changes) => {
            News::Processes { changes, processes: live.into_iter().map(ShownProcess::from).collect() }
        }
        Report::Other(message, changes) => of_message(message, changes),
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
        Message::Found(found, skipped) => News::Found {
            files: found.iter().map(ShownFound::from).collect(),
            skipped: skipped.iter().map(|path| name(path)).collect(),
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
        Message::Door(_) | Message::DoorThere(..) => News::Door {},
        // These are applied and noted before.
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
        ShownFound {
            file: name(&found.path),
            time: seconds(found.modified),
            of_project: found.is_of_project,
            has_processes: found.has_processes,
            begun: found.begun,
        }
    }
}

impl From<Choice> for ShownChoice {
    fn from(choice: Choice) -> ShownChoice {
        ShownChoice { found: (&choice.found).into(), description: choice.description.into() }
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
