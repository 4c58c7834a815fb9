//! Binds what a machine says to that machine, and bounds what it can make us keep.
//!
//! A line is bound by the pipe through which it comes: sessions that the machine was not asked for, names that are no
//! keys and lists that no call could have sent are dropped, and the names of files get the machine's prefix. What
//! goes beyond a bound ends the connection, with the reason; a program that keeps to `doc/protocol.md` never does.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::bounds::ENTRIES;
use super::door::{self, ConnectionId};
use todo_write::list::input::Options;
use todo_write::list::item::Draft;
use todo_write::text::{excerpt, is_blank};
use todo_write::wire::event::{Agent, Event, EventKind, PlanResult, Source};
use todo_write::wire::program::Machine;
use todo_write::wire::program::Process;
use todo_write::wire::program::{Choice, Found, Message, Piece, SessionId};
use todo_write::wire::socket::{self as protocol, Call, Hello, Role, SessionActivity};

/// Maximum number of characters of an id, and of a line for the user.
const ID: usize = 200;
const TEXT: usize = 1_000;
/// Maximum number of bytes of a file's name.
const NAME: usize = 4_096;

/// A text for the user.
pub(super) fn line(text: &str) -> String {
    excerpt(text, TEXT).to_string()
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
        Agent::parse(agent).is_some() && ids.len() < 3 && ids.into_iter().all(is_id)
    })
}

fn lines(text: Option<String>) -> Option<String> {
    text.as_deref().map(line)
}

/// The message as this hub reports it; `None` for one that the machine may not send. `is_followed` tells
/// which sessions were asked for.
pub(super) fn bound(
    machine: &Machine,
    options: &Options,
    is_followed: impl Fn(SessionId) -> bool,
    message: Message,
) -> Option<Message> {
    if message.session().is_some_and(|id| !is_followed(id)) {
        return None;
    }
    let own = |path: PathBuf| file(machine, &path);
    Some(match message {
        Message::Events(id, piece) => Message::Events(id, piece_of(options, piece)),
        Message::Moved(id, path) => Message::Moved(id, own(path)?),
        Message::Unreadable(id, reason) => Message::Unreadable(id, line(&reason)),
        Message::Processes { home, live, killed, .. } => Message::Processes {
            home: own(home)?,
            machine: Some(machine.name.clone()),
            live: live.into_iter().filter_map(|process| process_of(machine, process)).collect(),
            killed: killed.into_iter().take(ENTRIES).filter(|(session, _)| is_id(session)).collect(),
        },
        Message::Found { home, sessions, unnamed } => Message::Found {
            home: own(home)?,
            sessions: sessions
                .into_iter()
                .take(ENTRIES)
                .filter_map(|one| Some(Found { path: own(one.path)?, ..one }))
                .collect(),
            unnamed: unnamed.into_iter().take(ENTRIES).filter_map(own).collect(),
        },
        Message::Choices(round, choices) => Message::Choices(
            round,
            choices.into_iter().take(ENTRIES).filter_map(|choice| choice_of(machine, choice)).collect(),
        ),
        Message::Stuck(root, is_stuck) => Message::Stuck(own(root)?, is_stuck),
        Message::Broken(root) => Message::Broken(own(root)?),
        Message::Door(event) => Message::DoorThere(machine.name.clone(), event_of(machine, event)),
        Message::DoorThere(..) | Message::Connection(..) => return None,
        Message::Ready { .. } | Message::Quiet(..) | Message::Silent(_) | Message::Failed(_) => message,
    })
}

/// The name that a file of the machine has here.
fn file(machine: &Machine, path: &Path) -> Option<PathBuf> {
    folder(machine, path.to_str()?).map(PathBuf::from)
}

fn folder(machine: &Machine, name: &str) -> Option<String> {
    machine.folder(name).filter(|name| name.len() <= NAME)
}

fn piece_of(options: &Options, mut piece: Piece) -> Piece {
    piece.events.retain(|event| is_possible(options, event));
    piece.thread = piece.thread.filter(|key| is_key(key));
    piece.project = piece.project.filter(|root| root.starts_with('/') && root.len() <= NAME);
    piece.warning = lines(piece.warning);
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
            EventKind::EmacsCall { list, .. } => list.iter().all(|list| is_list(options, list)),
            EventKind::OfSubagent { subagent, kind, .. } => {
                is_id(subagent) && !matches!(**kind, EventKind::OfSubagent { .. })
            }
            _ => true,
        }
}

/// Whether reading the input of a call could have made a list.
fn is_list(options: &Options, list: &PlanResult) -> bool {
    let Ok(plan) = list else { return true };
    let is_line = |text: &String| {
        let length = text.chars().take(options.max_length + 1).count();
        !is_blank(text) && length <= options.max_length && !text.contains(char::is_control)
    };
    let is_draft = |draft: &Draft| {
        let mut others = draft.hint.iter().chain(&draft.owner).chain(&draft.blocked_by);
        is_line(&draft.content) && is_line(&draft.active_form) && others.all(|text| text.len() <= TEXT)
    };
    plan.drafts.len().max(plan.cancelled.len()) <= options.max_items
        && plan.drafts.iter().chain(&plan.cancelled).all(is_draft)
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
    match message {
        protocol::Message::Hello(hello) => protocol::Message::Hello(Box::new(Hello {
            id: excerpt(&hello.id, ID).to_string(),
            version: lines(hello.version),
            client: lines(hello.client),
            client_version: lines(hello.client_version),
            project: hello.project.and_then(|project| folder(machine, &project)),
            process: None,
            pid_domain: None,
            root: None,
            claude_folder: None,
            codex_folder: None,
            ..*hello
        })),
        protocol::Message::Call(call) => protocol::Message::Call(Call {
            session: id(call.session),
            subagent: id(call.subagent),
            source: lines(call.source),
            id: lines(call.id),
            task: lines(call.task),
            ..call
        }),
        protocol::Message::Activity(told) => {
            if !is_id(&told.session) || !told.subagent.as_deref().is_none_or(is_id) {
                return protocol::Message::Unknown;
            }
            let (reason, title) = (lines(told.reason), lines(told.title));
            protocol::Message::Activity(SessionActivity { reason, title, ..told })
        }
        message => message,
    }
}

fn process_of(machine: &Machine, process: Process) -> Option<Process> {
    Some(Process {
        machine: Some(machine.name.clone()),
        file: file(machine, &process.file)?,
        session: process.session.filter(|session| is_id(session)),
        status: lines(process.status),
        waiting_for: lines(process.waiting_for),
        needs: lines(process.needs),
        folder: process.folder.and_then(|name| folder(machine, &name)),
        start: lines(process.start),
        ..process
    })
}

fn choice_of(machine: &Machine, mut choice: Choice) -> Option<Choice> {
    let description = &mut choice.description;
    description.title = lines(description.title.take());
    description.folder = description.folder.take().and_then(|name| folder(machine, &name));
    choice.path = file(machine, &choice.path)?;
    Some(choice).filter(|choice| is_id(&choice.description.session))
}

/// What a machine made us keep in one connection.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The threads that it wrote to.
    plans: HashSet<String>,
    /// The number of live processes in each home.
    homes: BTreeMap<PathBuf, usize>,
    programs: BTreeMap<ConnectionId, Program>,
}

/// A program that is connected to the socket there.
#[derive(Debug)]
struct Program {
    client: Option<String>,
    started: Option<u64>,
    /// Its calls that have no answer.
    calls: HashSet<u64>,
}

impl Program {
    /// A name of the thread of a session, or of the program's own.
    fn thread(&self, session: Option<&str>, subagent: Option<&str>) -> String {
        let own = session.map_or_else(|| format!("{:?}", self.started), str::to_owned);
        format!("{}:{own}/{}", self.client.as_deref().unwrap_or_default(), subagent.unwrap_or_default())
    }
}

impl Kept {
    /// Counts a message; returns false for one that is not passed on.
    ///
    /// # Errors
    /// A phrase that says which bound was passed.
    pub(super) fn count(&mut self, message: &Message) -> Result<bool, String> {
        match message {
            Message::Events(_, piece) => {
                piece.events.iter().try_for_each(|event| self.count_plan(event.source.key()))?;
            }
            Message::Processes { home, live, .. } => {
                self.homes.insert(home.clone(), live.len());
                if self.homes.values().map(|count| count + 1).sum::<usize>() > ENTRIES {
                    return Err(format!("it told of more than {ENTRIES} processes and homes"));
                }
            }
            Message::DoorThere(_, door::Event::Message(id, message)) => return self.count_said(*id, message),
            Message::DoorThere(_, door::Event::Closed(id)) => return Ok(self.programs.remove(id).is_some()),
            _ => {}
        }
        Ok(true)
    }

    /// The homes whose processes it told.
    pub(super) fn take_homes(&mut self) -> impl Iterator<Item = PathBuf> + use<> {
        std::mem::take(&mut self.homes).into_keys()
    }

    /// Notes that a call at the machine's socket was answered.
    pub(super) fn answered(&mut self, id: ConnectionId, call: u64) {
        self.programs.get_mut(&id).map(|program| program.calls.remove(&call));
    }

    fn count_plan(&mut self, key: String) -> Result<(), String> {
        self.plans.insert(key);
        if self.plans.len() > ENTRIES {
            return Err(format!("it wrote more than {ENTRIES} plans"));
        }
        Ok(())
    }

    fn count_said(&mut self, id: ConnectionId, message: &protocol::Message) -> Result<bool, String> {
        if let protocol::Message::Hello(hello) = message {
            // The calls of one that greets again stay open.
            if self.programs.contains_key(&id) {
                return Ok(false);
            }
            if self.programs.len() >= door::CONNECTIONS {
                return Err(format!("more than {} programs are connected there", door::CONNECTIONS));
            }
            let (client, started) = (hello.client.clone(), hello.started);
            self.programs.insert(id, Program { client, started, calls: HashSet::new() });
            return Ok(true);
        }
        let open: usize = self.programs.values().map(|program| program.calls.len()).sum();
        // One that this Emacs closed may have said something before.
        let Some(program) = self.programs.get_mut(&id) else { return Ok(false) };
        match message {
            protocol::Message::Call(call) => {
                let is_large =
                    call.arguments.as_ref().is_some_and(|text| text.get().len() > protocol::LARGEST);
                if is_large || open >= door::CONNECTIONS {
                    return Err("it sends calls that its socket would not take".to_owned());
                }
                program.calls.insert(call.call);
                let has_own = !matches!(call.role, Some(Role::Permission | Role::Note | Role::Check));
                if call.session.is_some() || has_own {
                    let thread = program.thread(call.session.as_deref(), call.subagent.as_deref());
                    self.count_plan(thread)?;
                }
            }
            protocol::Message::Activity(told) => {
                let thread = program.thread(Some(&told.session), told.subagent.as_deref());
                self.count_plan(thread)?;
            }
            protocol::Message::Cancel(cancel) => drop(program.calls.remove(&cancel.call)),
            _ => {}
        }
        Ok(true)
    }
}
