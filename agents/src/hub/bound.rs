//! Binds what a machine says to that machine, and bounds what it can make us keep.
//!
//! A line is bound by the pipe through which it comes: names that are no keys and lists that no call could have sent
//! are dropped, and the names of files get the machine's prefix. What goes beyond a bound ends the connection, with
//! the reason; a program that keeps to `doc/protocol.md` never does.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use super::door::{self, ConnectionId};
use crate::field::is_id;
use todo_write::list::input::{Options, Plan};
use todo_write::list::item::Draft;
use todo_write::text::is_blank;
use todo_write::wire::bounds::{CALL, ENTRIES};
use todo_write::wire::event::{Agent, Event, EventKind};
use todo_write::wire::program::{Machine, Message};
use todo_write::wire::socket::{Message as Said, Role};

/// Whether a text is the key that the thread of an agent has on its machine.
fn is_key(key: &str) -> bool {
    key.split_once(':').is_some_and(|(agent, rest)| {
        let ids: Vec<&str> = rest.splitn(3, '/').collect();
        Agent::parse(agent).is_some() && ids.len() < 3 && ids.into_iter().all(is_id)
    })
}

/// The message as this hub reports it; `None` for one that the machine may not send.
pub(super) fn bound(machine: &Machine, options: &Options, mut message: Message) -> Option<Message> {
    let bind = |path: &mut PathBuf| {
        *path = machine.folder(path.to_str()?)?.into();
        Some(())
    };
    let bind_folder = |name: &mut Option<String>| *name = name.take().and_then(|name| machine.folder(&name));
    match &mut message {
        Message::Events(_, piece) => {
            piece.events.retain(|event| is_possible(options, event));
            piece.thread.take_if(|key| !is_key(key));
            piece.project.take_if(|root| !root.starts_with('/'));
        }
        Message::Moved(_, path) | Message::Stuck(path, _) | Message::Broken(path) => bind(path)?,
        Message::Processes { home, machine: name, live, .. } => {
            bind(home)?;
            *name = Some(machine.name.clone());
            live.retain_mut(|process| {
                process.machine = Some(machine.name.clone());
                process.session.take_if(|id| !is_id(id));
                bind_folder(&mut process.folder);
                bind(&mut process.file).is_some()
            });
        }
        Message::Found { home, sessions } => {
            bind(home)?;
            sessions.retain_mut(|path| bind(path).is_some());
        }
        Message::Choices(_, choices) => choices.retain_mut(|choice| {
            bind_folder(&mut choice.description.folder);
            bind(&mut choice.path).is_some()
        }),
        Message::Door(door::Event::Message(_, said)) => match said {
            // As at a socket here.
            Said::Hello(hello) if hello.roles.contains(&Role::Unknown) => return None,
            Said::Hello(hello) => {
                bind_folder(&mut hello.project);
                // Process ids mean nothing here.
                (hello.process, hello.pid_domain, hello.root) = (None, None, None);
            }
            Said::Call(call) => {
                // The socket there has judged it, by the clock there.
                call.until = None;
                call.session.take_if(|id| !is_id(id));
                call.subagent.take_if(|id| !is_id(id));
            }
            _ => {}
        },
        Message::Welcome { .. }
        | Message::Refused(_)
        | Message::Pulse
        | Message::DoorThere(..)
        | Message::Connection(..) => return None,
        Message::Door(_) | Message::Ready { .. } | Message::Quiet(..) | Message::Unreadable(..) => {}
    }
    Some(match message {
        Message::Door(event) => Message::DoorThere(machine.name.clone(), event),
        message => message,
    })
}

/// Whether the reader of a transcript could have made an event.
fn is_possible(options: &Options, event: &Event) -> bool {
    is_key(&event.source.key())
        && match &event.kind {
            EventKind::List(Ok(plan)) | EventKind::EmacsCall { list: Some(Ok(plan)), .. } => {
                is_plan(options, plan)
            }
            EventKind::OfSubagent { kind, .. } => {
                // The only ones that readers make; a list in there would be written unchecked.
                use EventKind::{Result, SubagentSums, Usage};
                matches!(**kind, Result { .. } | Usage { .. } | SubagentSums { .. })
            }
            _ => true,
        }
}

/// Whether reading the input of a call could have made a list.
fn is_plan(options: &Options, Plan { drafts, cancelled, notices, .. }: &Plan) -> bool {
    let is_line = |text: &String| {
        let length = text.chars().take(options.max_length + 1).count();
        !is_blank(text) && length <= options.max_length && !text.contains(char::is_control)
    };
    let is_draft = |draft: &Draft| {
        is_line(&draft.content) && is_line(&draft.active_form) && draft.blocked_by.len() <= options.max_items
    };
    drafts.len().max(cancelled.len()) <= options.max_items
        && notices.len() <= ENTRIES
        && drafts.iter().chain(cancelled).all(is_draft)
}

/// What a machine made us keep in one connection: at most [`ENTRIES`] things.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The threads that it wrote to.
    plans: HashSet<String>,
    /// The number of processes in each home.
    homes: BTreeMap<PathBuf, usize>,
    programs: BTreeMap<ConnectionId, Program>,
}

/// A program that is connected to the socket there.
#[derive(Debug)]
struct Program {
    client: String,
    started: Option<u64>,
    /// Its questions to the user that have no answer.
    questions: HashSet<u64>,
}

impl Kept {
    /// Counts a message; returns false for one that is not passed on.
    /// The error says which bound was passed.
    pub(super) fn count(&mut self, message: &Message) -> Result<bool, String> {
        match message {
            Message::Events(_, piece) => {
                self.plans.extend(piece.events.iter().map(|event| event.source.key()));
            }
            Message::Processes { home, live, killed, .. } => {
                self.homes.insert(home.clone(), live.len() + killed.len());
            }
            Message::DoorThere(_, door::Event::Message(id, Said::Hello(hello))) => {
                // The questions of one that greets again stay open.
                let Entry::Vacant(new) = self.programs.entry(*id) else { return Ok(false) };
                let client = hello.client.clone().unwrap_or_default();
                new.insert(Program { client, started: hello.started, questions: HashSet::new() });
            }
            Message::DoorThere(_, door::Event::Message(id, said)) => {
                // One that this Emacs closed may have said something before.
                let Some(program) = self.programs.get_mut(id) else { return Ok(false) };
                let (session, subagent) = match said {
                    Said::Call(call) => {
                        if call.arguments.as_ref().is_some_and(|text| text.get().len() > CALL) {
                            return Err("it sends calls that its socket would not take".to_owned());
                        }
                        // Other calls are answered at once.
                        if !matches!(call.role, Some(Role::Tool | Role::Plan | Role::Note)) {
                            program.questions.insert(call.call);
                        }
                        (call.session.clone(), &call.subagent)
                    }
                    Said::Activity(told) => (Some(told.session.clone()), &told.subagent),
                    Said::Cancel { call } => {
                        program.questions.remove(call);
                        return Ok(true);
                    }
                    _ => return Ok(true),
                };
                // Without a session, it is the program's own.
                let session = session.unwrap_or_else(|| format!("{:?}", program.started));
                self.plans.insert(format!("{}:{session}/{subagent:?}", program.client));
            }
            Message::DoorThere(_, door::Event::Closed(id)) => return Ok(self.programs.remove(id).is_some()),
            _ => return Ok(true),
        }
        let processes = self.homes.values().map(|count| count + 1);
        let programs = self.programs.values().map(|program| program.questions.len() + 1);
        if self.plans.len() + processes.chain(programs).sum::<usize>() > ENTRIES {
            return Err(format!("it told of more than {ENTRIES} plans, processes, programs and questions"));
        }
        Ok(true)
    }

    /// The homes whose processes it told.
    pub(super) fn take_homes(&mut self) -> impl Iterator<Item = PathBuf> + use<> {
        std::mem::take(&mut self.homes).into_keys()
    }

    /// Notes that a call at the machine's socket was answered.
    pub(super) fn answered(&mut self, id: ConnectionId, call: u64) {
        self.programs.get_mut(&id).map(|program| program.questions.remove(&call));
    }
}
