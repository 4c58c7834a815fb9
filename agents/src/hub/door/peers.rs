//! The programs at a door, and what they said that the owner has not taken yet.
//!
//! A thread for each connection brings in its messages, and the owner takes them. Both change the state here
//! under one lock, which nothing holds while it waits for a program. What can be answered without the owner
//! is answered here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime};

use super::event::{
    Bell, CONNECTIONS, ConnectionId, Event, Finder, QUESTIONS, QUESTIONS_OF_ONE, Settings, State,
};
use crate::hub::bounds::IN_FLIGHT;
use todo_write::events::millis_of;
use todo_write::text::path::is_special;
use todo_write::wire::socket::{
    Answer, Call, Hello, Message, PROTOCOL, Refused, Reply, Role, SessionActivity, Welcome,
};

/// Maximum number of announced calls of an agent.
const ANNOUNCED: usize = 64;
/// The size of a message in memory, beside its line.
const MESSAGE: usize = size_of::<Message>() + size_of::<Call>();

/// The way back to a program. Dropping it closes the connection once everything is sent.
pub(super) trait Link: Send {
    /// Sends a message, without waiting.
    fn send(&self, reply: &Reply);
    /// Whether the program has closed the connection.
    fn is_gone(&self) -> bool;
}

/// A connection.
pub(super) struct Peer {
    pub(super) link: Box<dyn Link>,
    /// What the program said of itself, once it has.
    pub(super) hello: Option<About>,
    /// Whether the owner was told of it.
    is_told: bool,
    /// The size of its messages that were not taken.
    pub(super) size: usize,
    /// The call that the owner took and has to answer before it gets the next message.
    pub(super) busy: Option<u64>,
    /// The open questions to the user.
    questions: Vec<u64>,
}

/// What a program says of itself.
pub(super) struct About {
    pub(super) roles: Vec<Role>,
    /// By how many milliseconds the program's clock is behind this one's.
    skew: i64,
    /// The program's process, and the one that started it, with the namespace of their ids.
    process: Option<Process>,
    parent: Option<Process>,
}

type Process = (u32, Option<String>);

/// A call of `todo_write` that will come from another program of the same agent.
struct Announced {
    /// The connection that announced it.
    by: ConnectionId,
    session: String,
    subagent: Option<String>,
    task: Option<String>,
}

/// What the threads of a door share.
pub(super) struct Peers {
    inner: Mutex<Inner>,
    /// The owner took something, or the door is closed.
    pub(super) changed: Condvar,
    bell: Bell,
    finder: Finder,
    pub(super) settings: Settings,
}

pub(super) struct Inner {
    /// What the owner has not taken, with the size of each message.
    pub(super) inbox: VecDeque<(Event, usize)>,
    pub(super) all: BTreeMap<ConnectionId, Peer>,
    /// The announced calls of each agent, the oldest first.
    announced: BTreeMap<Process, VecDeque<Announced>>,
    /// The sessions whose agents are to be told something.
    pub(super) untold: BTreeSet<String>,
    pub(super) state: State,
    is_said_outdated: bool,
    pub(super) is_closed: bool,
}

impl std::fmt::Debug for Peers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peers").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Peers {
    pub(super) fn new(settings: Settings, finder: Finder, bell: Bell) -> Peers {
        let inner = Inner {
            inbox: VecDeque::new(),
            all: BTreeMap::new(),
            announced: BTreeMap::new(),
            untold: BTreeSet::new(),
            state: State::Client(None),
            is_said_outdated: false,
            is_closed: false,
        };
        Peers { inner: inner.into(), changed: Condvar::new(), bell, finder, settings }
    }

    /// A poisoned lock is safe: what a panic leaves half done concerns one connection.
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of the socket.
impl Peers {
    /// Sets the state; the owner is told of it if it `is_news`.
    pub(super) fn set_state(&self, state: State, is_news: bool) {
        let mut inner = self.lock();
        inner.state = state.clone();
        if is_news {
            inner.inbox.push_back((Event::State(state), 0));
            self.ring(inner);
        }
    }

    /// Waits for some time; returns false if the door is closed.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut inner = self.lock();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if inner.is_closed || left.is_zero() {
                return !inner.is_closed;
            }
            inner = self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The lives of connections.
impl Peers {
    /// Adds a connection; `None` if there is no room.
    pub(super) fn begin(&self, link: impl Link + 'static) -> Option<ConnectionId> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let mut inner = self.lock();
        if inner.is_closed || inner.all.len() >= CONNECTIONS {
            return None;
        }
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let (link, questions) = (Box::new(link), Vec::new());
        inner.all.insert(id, Peer { link, hello: None, is_told: false, size: 0, busy: None, questions });
        Some(id)
    }

    /// Ends a connection, and takes its calls back. A sentence says why, if its program is to be told.
    pub(super) fn end(&self, id: ConnectionId, reason: Option<&str>) {
        let mut inner = self.lock();
        let Some(peer) = inner.all.remove(&id) else { return };
        if let Some(reason) = reason {
            let text = reason.chars().take(300).collect();
            peer.link.send(&Reply::Refused(Refused { text }));
        }
        inner.withdraw(|one| one.by == id);
        inner.inbox.retain(|(event, _)| !matches!(event, Event::Message(of, Message::Call(_)) if *of == id));
        if peer.is_told {
            inner.inbox.push_back((Event::Closed(id), 0));
        }
        self.ring(inner);
    }

    /// Welcomes a program, and tells the owner of it once the root of its project was found. That waits.
    ///
    /// # Errors
    /// A sentence for a program that is not served.
    pub(super) fn greet(&self, id: ConnectionId, mut hello: Box<Hello>, size: usize) -> Result<(), String> {
        if hello.protocol != PROTOCOL {
            self.say_outdated();
            return Err(
                "This todo-write-mcp is not of the same version as todo-write; tell the user to run \
                        M-x todo-write-mcp-setup in Emacs again."
                    .to_owned(),
            );
        }
        if hello.roles.is_empty() || hello.roles.contains(&Role::Unknown) {
            return Err("This Emacs does not know that role.".to_owned());
        }
        let now = millis_of(SystemTime::now()).unwrap_or_default();
        let skew = hello.now.map_or(0, |time| now.cast_signed().saturating_sub(time.cast_signed()));
        hello.lost = hello.lost.map(|time| time.saturating_add_signed(skew));
        let process = |id: Option<u32>| id.map(|id| (id, hello.pid_domain.clone()));
        let about = About {
            roles: hello.roles.clone(),
            skew,
            process: process(hello.process),
            parent: process(hello.parent),
        };
        let mut inner = self.lock();
        let Some(peer) = inner.all.get_mut(&id) else { return Ok(()) };
        peer.hello = Some(about);
        let welcome = Welcome { protocol: PROTOCOL, ..self.settings.welcome.clone() };
        peer.link.send(&Reply::Welcome(welcome));
        drop(inner);
        if hello.version.as_deref() != Some(self.settings.welcome.version.as_str()) {
            self.say_outdated();
        }
        hello.root = hello.project.as_deref().and_then(|folder| self.root_of(folder));
        let mut inner = self.lock();
        if let Some(peer) = inner.all.get_mut(&id) {
            peer.is_told = true;
        }
        self.push(inner, id, Message::Hello(hello), size);
        Ok(())
    }

    /// The root of the project of a folder. If its file system does not answer, the folder stands for it, unless Emacs
    /// could take the name for something else.
    fn root_of(&self, folder: &str) -> Option<String> {
        if !folder.starts_with('/') {
            return None;
        }
        let (sender, found) = mpsc::channel();
        (self.finder)(Path::new(folder), Box::new(move |root| drop(sender.send(root))));
        let is_plain = !is_special(folder) && !folder.contains(char::is_control);
        match found.recv_timeout(self.settings.finding) {
            Ok(root) => root?.to_str().map(str::to_owned),
            Err(_) => is_plain.then(|| folder.to_owned()),
        }
    }

    fn say_outdated(&self) {
        let mut inner = self.lock();
        if !std::mem::replace(&mut inner.is_said_outdated, true) {
            inner.inbox.push_back((Event::Outdated, 0));
            self.ring(inner);
        }
    }
}

/// What programs say.
impl Peers {
    /// Takes a message from a line of that size. That waits until the owner has taken earlier ones of the program.
    ///
    /// # Errors
    /// A sentence for a program that does not keep to the protocol.
    pub(super) fn receive(&self, id: ConnectionId, mut message: Message, size: usize) -> Result<(), String> {
        let mut inner = self.lock();
        while inner.all.get(&id).is_some_and(|peer| peer.size > IN_FLIGHT) {
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        match &mut message {
            Message::Hello(_) | Message::Unknown => return Ok(()),
            Message::Call(call) => {
                if let Some(answer) = inner.receive_call(id, call)? {
                    if let Some(peer) = inner.all.get(&id) {
                        peer.link.send(&Reply::Answer(answer));
                    }
                    return Ok(());
                }
            }
            Message::Cancel(cancel) => {
                if let Some(peer) = inner.all.get_mut(&id) {
                    peer.close_question(cancel.call);
                }
            }
            Message::Activity(SessionActivity { session, subagent, activity, .. }) => {
                // What it announced before does not come any more.
                if !matches!(activity.as_str(), "working" | "waiting" | "serving") {
                    let is_of = |one: &Announced| one.session == *session && one.subagent == *subagent;
                    inner.withdraw(|one| one.by == id && is_of(one));
                }
            }
            Message::Bye(_) => {}
        }
        self.push(inner, id, message, size);
        Ok(())
    }

    /// Adds a message of a program for the owner.
    fn push(&self, mut inner: MutexGuard<'_, Inner>, id: ConnectionId, message: Message, size: usize) {
        let Some(peer) = inner.all.get_mut(&id) else { return };
        let size = size + MESSAGE;
        peer.size += size;
        inner.inbox.push_back((Event::Message(id, message), size));
        self.ring(inner);
    }

    /// Rings if something can be taken.
    pub(super) fn ring(&self, inner: MutexGuard<'_, Inner>) {
        let has_news = inner.next().is_some();
        drop(inner);
        if has_news {
            (self.bell)();
        }
    }
}

impl Inner {
    /// The place of the event that is taken next. What a program said after a call waits for the answer.
    pub(super) fn next(&self) -> Option<usize> {
        self.inbox.iter().position(|(event, _)| match event {
            Event::Message(id, _) => self.all.get(id).is_none_or(|peer| peer.busy.is_none()),
            _ => true,
        })
    }

    /// Completes a call; returns the answer to one that the owner need not hear of.
    fn receive_call(&mut self, id: ConnectionId, call: &mut Call) -> Result<Option<Answer>, String> {
        let open: usize = self.all.values().map(|peer| peer.questions.len()).sum();
        let Some(Peer { hello: Some(about), questions, .. }) = self.all.get_mut(&id) else { return Ok(None) };
        let role = match (call.role, &about.roles[..]) {
            (None, [role]) => *role,
            (Some(role), roles) if roles.contains(&role) => role,
            _ => return Err("The call names no role of this program.".to_owned()),
        };
        call.role = Some(role);
        call.by = None;
        call.until = call.until.map(|time| time.saturating_add_signed(about.skew));
        let answer = |ok, text: &str| Some(Answer { call: call.call, ok, text: text.into(), decision: None });
        match role {
            Role::Permission if questions.len() >= QUESTIONS_OF_ONE => {
                return Ok(answer(false, "Its earlier questions are still open."));
            }
            Role::Permission if open >= QUESTIONS => {
                return Ok(answer(false, "Too many questions are open in Emacs."));
            }
            Role::Permission => questions.push(call.call),
            // Hooks ask after each tool call.
            Role::Note
                if !about.roles.contains(&Role::Plan)
                    && !call.session.as_ref().is_some_and(|session| self.untold.contains(session)) =>
            {
                return Ok(answer(true, ""));
            }
            Role::Plan if call.arguments.is_none() => {
                let answer = answer(true, "");
                if let (Some(agent), Some(session)) = (about.process.clone(), call.session.take()) {
                    let calls = self.announced.entry(agent).or_default();
                    let (subagent, task) = (call.subagent.take(), call.task.take());
                    calls.push_back(Announced { by: id, session, subagent, task });
                    if calls.len() > ANNOUNCED {
                        calls.pop_front();
                    }
                }
                return Ok(answer);
            }
            Role::Tool if call.session.is_none() => {
                let calls = about.parent.as_ref().and_then(|agent| self.announced.get_mut(agent));
                if let Some(Announced { by, session, subagent, task }) = calls.and_then(VecDeque::pop_front) {
                    (call.by, call.session) = (NonZero::new(by), Some(session));
                    (call.subagent, call.task) = (subagent, task);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Withdraws announced calls.
    fn withdraw(&mut self, is_over: impl Fn(&Announced) -> bool) {
        self.announced.retain(|_, calls| {
            calls.retain(|one| !is_over(one));
            !calls.is_empty()
        });
    }
}

impl Peer {
    /// Ends a question; returns whether it was open.
    pub(super) fn close_question(&mut self, call: u64) -> bool {
        let place = self.questions.iter().position(|open| *open == call);
        place.map(|place| self.questions.remove(place)).is_some()
    }
}
