//! The programs at a door.
//!
//! A thread for each connection brings in its messages. All change the state here under one lock, which nothing holds
//! while it waits for a program or for the owner. What can be answered without the owner is answered here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::place::Held;
use crate::threads::lock;
use todo_write::events::millis_of;
use todo_write::pid;
use todo_write::wire::bounds::ENTRIES;
pub use todo_write::wire::program::{ConnectionId, DoorEvent as Event, DoorState as State};
use todo_write::wire::socket::{Answer, Call, Hello, Message, PROTOCOL, Reply, Role, Welcome};

/// Maximum number of connections.
const CONNECTIONS: usize = 200;
/// Maximum number of open questions to the user.
pub(crate) const QUESTIONS: usize = 20;
/// Maximum number of those of one connection. An agent may serve several sessions by one.
pub(crate) const QUESTIONS_OF_ONE: usize = 8;

/// Takes what happens. It may wait for room for a message, which a thread for that alone brings.
pub type Out = Box<dyn Fn(Event) + Send + Sync>;

/// Finds the root of the project of a folder, in the thread of a connection. What it takes for one may be the folder
/// itself, if its file system does not answer.
pub type Finder = Box<dyn Fn(&Path) -> Option<PathBuf> + Send + Sync>;

/// How a door is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The socket's file.
    pub socket: PathBuf,
    /// What programs are told of Emacs.
    pub welcome: Welcome,
    /// The time that a connection has for its first line.
    pub patience: Duration,
}

/// The way back to a program, which does not wait. Dropping it closes the connection once everything is sent.
pub(super) type SendReply = Box<dyn Fn(&Reply) + Send>;

pub(super) struct Peer {
    send: SendReply,
    /// The roles of the program, none before it said hello.
    roles: Vec<Role>,
    /// The open questions to the user.
    questions: Vec<u64>,
}

impl Peer {
    fn close_question(&mut self, call: u64) {
        self.questions.retain(|open| *open != call);
    }
}

/// The last number of a connection.
static LAST: AtomicU64 = AtomicU64::new(0);

/// What the threads of a door share.
pub struct Peers {
    inner: Mutex<Inner>,
    /// The first number that a connection may have: smaller ones are of an earlier door.
    first: ConnectionId,
    /// The state is another one.
    changed: Condvar,
    out: Out,
    finder: Finder,
    pub(in crate::hub) settings: Settings,
}

#[derive(Default)]
pub(super) struct Inner {
    all: BTreeMap<ConnectionId, Peer>,
    /// The sessions whose agents are to be told something.
    untold: BTreeSet<String>,
    /// Who programs reach; `None` once the door is closed.
    pub(super) state: Option<State>,
    /// The socket, if this process has it.
    held: Option<Held>,
    is_said_outdated: bool,
}

impl Peers {
    pub(super) fn new(settings: Settings, finder: Finder, out: Out) -> Peers {
        let inner = Inner { state: Some(State::Client(None)), ..Inner::default() };
        let first = LAST.load(Ordering::Relaxed) + 1;
        Peers { inner: inner.into(), first, changed: Condvar::new(), out, finder, settings }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Whom programs reach; `None` once the door is closed.
    pub fn state(&self) -> Option<State> {
        self.lock().state.clone()
    }

    /// Sets the state, of which the owner hears, unless the door is closed.
    pub(super) fn set_state(&self, state: State) {
        let mut inner = self.lock();
        let Some(old) = inner.state.as_mut().filter(|old| **old != state) else { return };
        old.clone_from(&state);
        drop(inner);
        self.changed.notify_all();
        (self.out)(Event::State(state));
    }

    /// Notes that programs reach the door by this socket; returns false if it is closed.
    pub(super) fn open(&self, held: Held) -> bool {
        let mut inner = self.lock();
        if inner.is_closed() {
            return false;
        }
        inner.held = Some(held);
        drop(inner);
        self.set_state(State::Open);
        true
    }

    /// Whether programs reach the door.
    pub(in crate::hub) fn is_open(&self) -> bool {
        self.lock().state == Some(State::Open)
    }

    /// Waits until programs reach the door; returns false if it is closed.
    pub(in crate::hub) fn wait_until_open(&self) -> bool {
        let is_pending = |inner: &mut Inner| !matches!(inner.state, None | Some(State::Open));
        let waited = self.changed.wait_while(self.lock(), is_pending);
        !waited.unwrap_or_else(PoisonError::into_inner).is_closed()
    }

    /// Waits for some time; returns false if the door is closed.
    pub(in crate::hub) fn wait(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |inner| !inner.is_closed());
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_closed()
    }

    /// Closes the door, and all its connections.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.state = None;
        let left = (std::mem::take(&mut inner.all), inner.held.take());
        drop(inner);
        drop(left);
        self.changed.notify_all();
    }

    /// Adds a connection; `None` if there is no room.
    pub(super) fn begin(self: &Arc<Peers>, send: SendReply) -> Option<Connected> {
        let mut inner = self.lock();
        if inner.is_closed() || inner.all.len() >= CONNECTIONS {
            return None;
        }
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        inner.all.insert(id, Peer { send, roles: Vec::new(), questions: Vec::new() });
        Some(Connected { peers: Arc::clone(self), id })
    }

    /// Ends a connection, and takes its calls back. A sentence says why, if its program is to be told.
    pub(super) fn end(&self, id: ConnectionId, reason: Option<&str>) {
        let Some(peer) = self.lock().all.remove(&id) else { return };
        if let Some(reason) = reason {
            let text = reason.chars().take(300).collect();
            (peer.send)(&Reply::Refused { text });
        }
        if !peer.roles.is_empty() {
            (self.out)(Event::Closed(id));
        }
    }

    /// Welcomes a program, and tells the owner of it once the root of its project was found. That waits.
    /// The error is a sentence for a program that is not served.
    pub(super) fn greet(&self, id: ConnectionId, mut hello: Box<Hello>) -> Result<(), String> {
        let is_of_protocol = hello.protocol == PROTOCOL;
        let version = Some(self.settings.welcome.version.as_str());
        let is_outdated = !is_of_protocol || hello.version.as_deref() != version;
        if is_outdated && !std::mem::replace(&mut self.lock().is_said_outdated, true) {
            (self.out)(Event::Outdated);
        }
        if !is_of_protocol {
            return Err(
                "This todo-write-mcp is not of the same version as todo-write; tell the user to run \
                        M-x todo-write-setup in Emacs again."
                    .to_owned(),
            );
        }
        if hello.roles.is_empty() || hello.roles.contains(&Role::Unknown) {
            return Err("This Emacs does not know that role.".to_owned());
        }
        hello.elsewhere = hello.pid_domain.take().as_deref().is_some_and(pid::is_elsewhere);
        if let Some(peer) = self.lock().all.get_mut(&id) {
            peer.roles.clone_from(&hello.roles);
            let welcome = self.settings.welcome.clone();
            (peer.send)(&Reply::Welcome(Welcome { protocol: PROTOCOL, ..welcome }));
        }
        let folder = hello.project.as_deref().filter(|folder| folder.starts_with('/'));
        let root = folder.and_then(|folder| (self.finder)(Path::new(folder)));
        hello.root = root.and_then(|root| root.to_str().map(str::to_owned));
        (self.out)(Event::Message(id, Message::Hello(hello)));
        Ok(())
    }

    /// Takes a message of a program that was welcomed.
    /// The error is a sentence for a program that does not keep to the protocol.
    pub(super) fn receive(&self, id: ConnectionId, mut message: Message) -> Result<(), String> {
        match &mut message {
            Message::Hello(_) | Message::Unknown => return Ok(()),
            Message::Call(call) => {
                if self.lock().answer_at_once(id, call)? {
                    return Ok(());
                }
            }
            Message::Cancel { call } => {
                self.lock().all.get_mut(&id).into_iter().for_each(|peer| peer.close_question(*call));
            }
            Message::Activity(_) | Message::Bye { .. } => {}
        }
        (self.out)(Event::Message(id, message));
        Ok(())
    }

    /// Notes that the owner takes what happened next; returns false for what an earlier door left, and for a call for
    /// whose answer its program does not wait any more.
    pub fn take(&self, event: &Event) -> bool {
        let (Event::Message(id, _) | Event::Closed(id)) = event else { return true };
        if *id < self.first {
            return false;
        }
        // A program that has left may have said goodbye.
        let Event::Message(_, Message::Call(call)) = event else { return true };
        let mut inner = self.lock();
        let Some(peer) = inner.all.get_mut(id) else { return false };
        let now = millis_of(SystemTime::now()).unwrap_or_default();
        let is_wanted = call.until.is_none_or(|until| until >= now);
        if !is_wanted {
            peer.close_question(call.call);
        }
        is_wanted
    }

    /// Answers a call; returns false if its connection has closed.
    pub fn answer(&self, id: ConnectionId, answer: Answer) -> bool {
        let mut inner = self.lock();
        let Some(peer) = inner.all.get_mut(&id) else { return false };
        peer.close_question(answer.call);
        (peer.send)(&Reply::Answer(answer));
        true
    }

    /// Whether a connection can take an answer.
    pub fn is_live(&self, id: ConnectionId) -> bool {
        self.lock().all.get(&id).is_some_and(|peer| !peer.roles.is_empty())
    }

    /// Says whether there is something to tell the agent of a session. Only then, the owner hears of the hook's
    /// question what to tell it.
    pub fn tell(&self, session: &str, has_news: bool) {
        let untold = &mut self.lock().untold;
        if !has_news {
            untold.remove(session);
        } else if untold.len() < ENTRIES {
            untold.insert(session.to_owned());
        }
    }

    /// Tells the programs that report sessions that there is something to say to the agent of this one.
    pub fn ring(&self, session: &str) {
        let reply = Reply::Tell { session: session.to_owned() };
        let inner = self.lock();
        let all = inner.all.values().filter(|peer| peer.roles.contains(&Role::Plan));
        all.for_each(|peer| (peer.send)(&reply));
    }
}

impl Inner {
    pub(super) fn is_closed(&self) -> bool {
        self.state.is_none()
    }

    /// Completes a call, and answers one of which the owner need not hear; returns whether it did.
    fn answer_at_once(&mut self, id: ConnectionId, call: &mut Call) -> Result<bool, String> {
        let open: usize = self.all.values().map(|peer| peer.questions.len()).sum();
        let Some(peer) = self.all.get_mut(&id) else { return Ok(true) };
        let role = match (call.role, &peer.roles[..]) {
            (None, [role]) => *role,
            (Some(role), roles) if roles.contains(&role) => role,
            _ => return Err("The call names no role of this program.".to_owned()),
        };
        call.role = Some(role);
        let (ok, text) = match role {
            Role::Permission if peer.questions.len() >= QUESTIONS_OF_ONE => {
                (false, "Its earlier questions are still open.")
            }
            Role::Permission if open >= QUESTIONS => (false, "Too many questions are open in Emacs."),
            Role::Permission => {
                peer.questions.push(call.call);
                return Ok(false);
            }
            // Hooks ask after each tool call.
            Role::Note
                if !peer.roles.contains(&Role::Plan)
                    && !self.untold.contains(call.session.as_deref().unwrap_or_default()) =>
            {
                (true, "")
            }
            _ => return Ok(false),
        };
        (peer.send)(&Reply::Answer(Answer { call: call.call, ok, text: text.into(), decision: None }));
        Ok(true)
    }
}

/// Calls of threads of this process.
impl Peers {
    /// Makes a call as a program does that has said hello; `None` if there is no room. `answer` gets the
    /// answer, and must return at once.
    pub(in crate::hub) fn ask(
        self: &Arc<Peers>,
        hello: Hello,
        call: Call,
        answer: impl Fn(Answer) + Send + 'static,
    ) -> Option<Connected> {
        let send = move |reply: &Reply| {
            if let Reply::Answer(given) = reply {
                answer(given.clone());
            }
        };
        let connected = self.begin(Box::new(send))?;
        self.greet(connected.id, Box::new(hello)).ok()?;
        self.receive(connected.id, Message::Call(call)).ok()?;
        Some(connected)
    }
}

/// A connection. Dropping it ends that, also after a panic, and takes its calls back.
pub(in crate::hub) struct Connected {
    pub(super) peers: Arc<Peers>,
    pub(super) id: ConnectionId,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.peers.end(self.id, None);
    }
}
