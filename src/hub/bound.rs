//! Binds what a machine says to that machine.
//!
//! It is bound by the pipe through which it comes: sessions that the machine was not asked for, names that are no keys
//! and lists that no call could have sent are dropped, and the names of files get the machine's prefix.

use std::path::{Path, PathBuf};

use super::door;
use super::{Choice, Found, Message, Piece, SessionId};
use crate::agents::claude::process_files::Process;
use crate::agents::recorder::Machine;
use crate::agents::{Event, EventKind, PlanResult, Source};
use crate::list::input::Options;
use crate::list::item::Draft;
use crate::protocol::{self, Call, Hello, SessionActivity};
use crate::text::{excerpt, is_blank};

/// Maximum number of homes of a machine, and of sessions, processes and names in one message.
pub(super) const HOMES: usize = 32;
pub(super) const MOST_ENTRIES: usize = 500;
/// Maximum number of characters of an id, and of a line for the user.
const ID: usize = 200;
const LINE: usize = 1_000;
/// Maximum number of roles of a program.
const ROLES: usize = 8;
/// Maximum number of bytes of a file's name.
const NAME: usize = 4_096;

/// The message as this hub reports it; `None` for one that the machine may not send. `is_followed` tells
/// which sessions were asked for.
pub(super) fn bound(
    machine: &Machine,
    options: &Options,
    is_followed: impl Fn(SessionId) -> bool,
    message: Message,
) -> Option<Message> {
    let file = |path: PathBuf| Some(PathBuf::from(folder(machine, path.to_str()?)?));
    let followed = |id: SessionId| Some(id).filter(|id| is_followed(*id));
    Some(match message {
        Message::Events(id, piece) => Message::Events(followed(id)?, piece_of(options, piece)),
        Message::Ready { session, has_processes } => {
            Message::Ready { session: followed(session)?, has_processes }
        }
        Message::Quiet(id, since) => Message::Quiet(followed(id)?, since),
        Message::Silent(id) => Message::Silent(followed(id)?),
        Message::Moved(id, path) => Message::Moved(followed(id)?, file(path)?),
        Message::Unreadable(id, reason) => Message::Unreadable(followed(id)?, line(&reason)),
        Message::Failed(id) => Message::Failed(followed(id)?),
        Message::Processes { home, live, killed, .. } => Message::Processes {
            home: file(home)?,
            machine: Some(machine.name.clone()),
            live: live
                .into_iter()
                .take(MOST_ENTRIES)
                .filter_map(|process| process_of(machine, process))
                .collect(),
            killed: killed.into_iter().take(MOST_ENTRIES).filter(|(session, _)| is_id(session)).collect(),
        },
        Message::Found(found, unnamed) => Message::Found(
            found.into_iter().take(MOST_ENTRIES).filter_map(|one| found_of(machine, one)).collect(),
            unnamed.into_iter().take(MOST_ENTRIES).filter_map(file).collect(),
        ),
        Message::Choices(round, choices) => Message::Choices(
            round,
            choices.into_iter().take(MOST_ENTRIES).filter_map(|choice| choice_of(machine, choice)).collect(),
        ),
        Message::Stuck(root, is_stuck) => Message::Stuck(file(root)?, is_stuck),
        Message::Broken(root) => Message::Broken(file(root)?),
        Message::Door(event) => Message::DoorThere(machine.name.clone(), event_of(machine, event)),
        Message::DoorThere(..) | Message::Connection(..) => return None,
    })
}

/// A text for the user.
pub(super) fn line(text: &str) -> String {
    excerpt(text, LINE).to_string()
}

/// The name that a file or folder of the machine has here.
fn folder(machine: &Machine, name: &str) -> Option<String> {
    machine.folder(name).filter(|name| name.len() <= NAME)
}

/// Whether a text can be the id of a session or of a subagent.
pub(super) fn is_id(id: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !id.is_empty() && id.len() <= ID && id.chars().all(is_allowed)
}

/// Whether a text is the key that the thread of an agent has on its machine.
fn is_key(key: &str) -> bool {
    key.split_once(':').is_some_and(|(agent, rest)| {
        let ids: Vec<&str> = rest.splitn(3, '/').collect();
        crate::agents::Agent::parse(agent).is_some() && ids.len() < 3 && ids.into_iter().all(is_id)
    })
}

fn piece_of(options: &Options, mut piece: Piece) -> Piece {
    piece.events.retain(|event| is_possible(options, event));
    piece.thread = piece.thread.filter(|key| is_key(key));
    piece.project = piece.project.filter(|root| root.starts_with('/') && root.len() <= NAME);
    piece.warning = piece.warning.as_deref().map(line);
    piece
}

/// Whether the reader of a transcript could have made an event.
fn is_possible(options: &Options, event: &Event) -> bool {
    let Source { session, subagent, call, .. } = &*event.source;
    let is_place_of = |name: &Option<String>| name.as_ref().is_none_or(|name| is_id(name));
    is_id(session)
        && is_place_of(subagent)
        && call.as_ref().is_none_or(|call| is_key(&call.from))
        && event.place.as_ref().is_none_or(|place| is_place_of(&place.transcript.subagent))
        && match &event.kind {
            EventKind::List(list) => is_list(options, list),
            EventKind::EmacsCall { id, list, .. } => {
                id.len() <= LINE && list.iter().all(|list| is_list(options, list))
            }
            EventKind::OfSubagent { subagent, kind, .. } => {
                is_id(subagent) && !matches!(**kind, EventKind::OfSubagent { .. })
            }
            _ => true,
        }
}

/// Whether reading the input of a call could have made a list.
fn is_list(options: &Options, list: &PlanResult) -> bool {
    let is_line = |text: &String| {
        let length = text.chars().take(options.max_length + 1).count();
        !is_blank(text) && length <= options.max_length && !text.contains(char::is_control)
    };
    let is_short = |text: &String| text.len() <= LINE;
    let is_draft = |draft: &Draft| {
        is_line(&draft.content)
            && is_line(&draft.active_form)
            && draft.hint.iter().chain(&draft.owner).chain(&draft.blocked_by).all(is_short)
            && draft.blocked_by.len() <= options.max_items
    };
    list.as_ref().is_ok_and(|plan| {
        plan.drafts.len() <= options.max_items
            && plan.cancelled.len() <= options.max_items
            && plan.notices.len() <= options.max_items
            && plan.drafts.iter().chain(&plan.cancelled).all(is_draft)
    }) || list.as_ref().is_err_and(|problems| problems.len() <= MOST_ENTRIES)
}

/// What happened at the socket there. Process ids mean nothing here.
fn event_of(machine: &Machine, event: door::Event) -> door::Event {
    match event {
        door::Event::Message(id, message) => door::Event::Message(id, said(machine, message)),
        door::Event::State(door::State::Failed(reason)) => {
            door::Event::State(door::State::Failed(line(&reason)))
        }
        event => event,
    }
}

fn said(machine: &Machine, message: protocol::Message) -> protocol::Message {
    let id = |id: Option<String>| id.filter(|id| is_id(id));
    let line = |text: Option<String>| text.as_deref().map(line);
    match message {
        protocol::Message::Hello(hello) => protocol::Message::Hello(Box::new(Hello {
            roles: hello.roles.into_iter().take(ROLES).collect(),
            id: excerpt(&hello.id, ID).to_string(),
            version: line(hello.version),
            client: line(hello.client),
            client_version: line(hello.client_version),
            project: hello.project.and_then(|project| folder(machine, &project)),
            process: None,
            parent: None,
            pid_domain: None,
            root: None,
            claude_folder: None,
            codex_folder: None,
            ..*hello
        })),
        protocol::Message::Call(call) => protocol::Message::Call(Call {
            session: id(call.session),
            subagent: id(call.subagent),
            source: line(call.source),
            id: line(call.id),
            task: line(call.task),
            ..call
        }),
        protocol::Message::Activity(told)
            if !is_id(&told.session) || !told.subagent.as_deref().is_none_or(is_id) =>
        {
            protocol::Message::Unknown
        }
        protocol::Message::Activity(told) => protocol::Message::Activity(SessionActivity {
            reason: line(told.reason),
            title: line(told.title),
            ..told
        }),
        message => message,
    }
}

fn process_of(machine: &Machine, process: Process) -> Option<Process> {
    let line = |text: Option<String>| text.as_deref().map(line);
    let file = |path: &Path| folder(machine, path.to_str()?);
    Some(Process {
        machine: Some(machine.name.clone()),
        file: file(&process.file)?.into(),
        session: process.session.filter(|session| is_id(session)),
        status: line(process.status),
        waiting_for: line(process.waiting_for),
        needs: line(process.needs),
        folder: process.folder.and_then(|name| folder(machine, &name)),
        start: line(process.start),
        ..process
    })
}

fn found_of(machine: &Machine, found: Found) -> Option<Found> {
    let path = folder(machine, found.path.to_str()?)?.into();
    Some(Found { path, ..found })
}

fn choice_of(machine: &Machine, Choice { found, mut description }: Choice) -> Option<Choice> {
    description.title = description.title.as_deref().map(line);
    description.folder = description.folder.and_then(|name| folder(machine, &name));
    Some(Choice { found: found_of(machine, found)?, description })
        .filter(|choice| is_id(&choice.description.session))
}
