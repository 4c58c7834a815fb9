//! Binds what a machine says to that machine, and bounds what it can make us keep.
//!
//! A line is bound by the pipe through which it comes: sessions that the machine was not asked for, names that are no
//! keys and lists that no call could have sent are dropped, and the names of files get the machine's prefix. What
//! goes beyond a bound ends the connection, with the reason; a program that keeps to `doc/protocol.md` never does.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use super::door::{self, ConnectionId};
use crate::field::is_id;
use todo_write::list::input::Options;
use todo_write::list::item::Draft;
use todo_write::text::{excerpt, is_blank};
use todo_write::wire::bounds::{CALL, ENTRIES};
use todo_write::wire::event::{Agent, Event, EventKind, PlanResult, Source};
use todo_write::wire::program::{Machine, Message, Piece, Process, SessionId};
use todo_write::wire::socket::{self as protocol, Role};

/// Maximum number of characters of an id, and of a line for the user.
const ID: usize = 200;
const TEXT: usize = 1_000;
/// Maximum number of bytes of a file's name.
const NAME: usize = 4_096;

/// A text for the user.
pub(super) fn line(text: &str) -> String {
    excerpt(text, TEXT)
}

/// Whether a text is the key that the thread of an agent has on its machine.
fn is_key(key: &str) -> bool {
    key.split_once(':').is_some_and(|(agent, rest)| {
        let ids: Vec<&str> = rest.splitn(3, '/').collect();
        Agent::parse(agent).is_some() && ids.len() < 3 && ids.into_iter().all(is_id)
    })
}

fn cut(text: &mut Option<String>) {
    if let Some(text) = text {
        *text = line(text);
    }
}

fn drop_unless_id(id: &mut Option<String>) {
    id.take_if(|id| !is_id(id));
}

/// The message as this hub reports it; `None` for one that the machine may not send. `is_followed` tells
/// which sessions were asked for.
pub(super) fn bound(
    machine: &Machine,
    options: &Options,
    is_followed: impl Fn(SessionId) -> bool,
    mut message: Message,
) -> Option<Message> {
    if message.session().is_some_and(|id| !is_followed(id)) {
        return None;
    }
    let bind = |path: &mut PathBuf| {
        *path = folder(machine, path.to_str()?)?.into();
        Some(())
    };
    match &mut message {
        Message::Events(_, piece) => bind_piece(options, piece),
        Message::Moved(_, path) | Message::Stuck(path, _) | Message::Broken(path) => bind(path)?,
        Message::Unreadable(_, reason) => *reason = line(reason),
        Message::Processes { home, machine: name, live, killed } => {
            bind(home)?;
            *name = Some(machine.name.clone());
            live.retain_mut(|process| {
                bind_process(machine, process);
                bind(&mut process.file).is_some()
            });
            killed.truncate(ENTRIES);
            killed.retain(|(session, _)| is_id(session));
        }
        Message::Found { home, sessions } => {
            bind(home)?;
            sessions.truncate(ENTRIES);
            sessions.retain_mut(|path| bind(path).is_some());
        }
        Message::Choices(_, choices) => {
            choices.truncate(ENTRIES);
            choices.retain_mut(|choice| {
                cut(&mut choice.description.title);
                bind_folder(machine, &mut choice.description.folder);
                bind(&mut choice.path).is_some() && is_id(&choice.description.session)
            });
        }
        Message::Door(door::Event::Message(_, said)) => bind_said(machine, said),
        Message::Door(door::Event::State(door::State::Failed(reason))) => *reason = line(reason),
        Message::Welcome { .. }
        | Message::Refused(_)
        | Message::Pulse
        | Message::DoorThere(..)
        | Message::Connection(..) => return None,
        Message::Door(_) | Message::Ready { .. } | Message::Quiet(..) => {}
    }
    Some(match message {
        Message::Door(event) => Message::DoorThere(machine.name.clone(), event),
        message => message,
    })
}

/// The name that a folder or file of the machine has here.
fn folder(machine: &Machine, name: &str) -> Option<String> {
    machine.folder(name).filter(|name| name.len() <= NAME)
}

fn bind_folder(machine: &Machine, name: &mut Option<String>) {
    *name = name.take().and_then(|name| folder(machine, &name));
}

fn bind_piece(options: &Options, piece: &mut Piece) {
    piece.events.retain(|event| is_possible(options, event));
    piece.thread.take_if(|key| !is_key(key));
    piece.project.take_if(|root| !root.starts_with('/') || root.len() > NAME);
    cut(&mut piece.warning);
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
                // The only ones that readers make; a list in there would be written unchecked.
                use EventKind::{Result, SubagentSums, Usage};
                is_id(subagent) && matches!(**kind, Result { .. } | Usage { .. } | SubagentSums { .. })
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
    let is_short = |text: &String| text.len() <= TEXT;
    let is_draft = |draft: &Draft| {
        let mut others = draft.hint.iter().chain(&draft.owner).chain(&draft.blocked_by);
        is_line(&draft.content)
            && is_line(&draft.active_form)
            && others.all(is_short)
            && draft.blocked_by.len() <= options.max_items
    };
    [plan.drafts.len(), plan.cancelled.len()].iter().all(|count| *count <= options.max_items)
        && plan.notices.len() <= ENTRIES
        && plan.notices.iter().all(is_short)
        && plan.drafts.iter().chain(&plan.cancelled).all(is_draft)
}

/// What a program said at the socket there. Process ids mean nothing here.
fn bind_said(machine: &Machine, message: &mut protocol::Message) {
    match message {
        // As at a socket here.
        protocol::Message::Hello(hello) if hello.roles.contains(&Role::Unknown) => {
            *message = protocol::Message::Unknown;
        }
        protocol::Message::Hello(hello) => {
            hello.id = excerpt(&hello.id, ID);
            [&mut hello.version, &mut hello.client].into_iter().for_each(cut);
            bind_folder(machine, &mut hello.project);
            (hello.process, hello.pid_domain, hello.root) = (None, None, None);
        }
        protocol::Message::Call(call) => {
            // The socket there has judged it, by the clock there.
            call.until = None;
            [&mut call.session, &mut call.subagent].into_iter().for_each(drop_unless_id);
            [&mut call.source, &mut call.id, &mut call.task].into_iter().for_each(cut);
        }
        protocol::Message::Activity(told) => {
            [&mut told.reason, &mut told.title].into_iter().for_each(cut);
            if !is_id(&told.session) || !told.subagent.as_deref().is_none_or(is_id) {
                *message = protocol::Message::Unknown;
            }
        }
        _ => {}
    }
}

fn bind_process(machine: &Machine, process: &mut Process) {
    process.machine = Some(machine.name.clone());
    drop_unless_id(&mut process.session);
    bind_folder(machine, &mut process.folder);
    [&mut process.status, &mut process.waiting_for, &mut process.needs, &mut process.start]
        .into_iter()
        .for_each(cut);
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
    /// Its questions to the user that have no answer.
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
            // The questions of one that greets again stay open.
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
                let is_large = call.arguments.as_ref().is_some_and(|text| text.get().len() > CALL);
                // Other calls are answered at once.
                let may_wait = !matches!(call.role, Some(Role::Tool | Role::Plan | Role::Note));
                if is_large || may_wait && open >= door::CONNECTIONS {
                    return Err("it sends calls that its socket would not take".to_owned());
                }
                if may_wait {
                    program.calls.insert(call.call);
                }
                let thread = program.thread(call.session.as_deref(), call.subagent.as_deref());
                self.count_plan(thread)?;
            }
            protocol::Message::Activity(told) => {
                let thread = program.thread(Some(&told.session), told.subagent.as_deref());
                self.count_plan(thread)?;
            }
            protocol::Message::Cancel { call } => drop(program.calls.remove(call)),
            _ => {}
        }
        Ok(true)
    }
}
