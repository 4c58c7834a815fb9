//! The socket: the only way by which agents' programs reach Emacs.
//!
//! One thread accepts connections, checks and frames what they send, and writes the answers, as
//! `doc/protocol.md` describes. The owner of a [`Door`] takes whole messages from it and gives whole
//! answers, and waits for no program.
//!
//! What programs can make the owner keep is bounded. At most one message of a connection waits to be taken;
//! nothing more is read of it until then, nor while a call of it has no answer, unless that is a question
//! to the user.

#[cfg(unix)]
mod connection;
#[cfg(unix)]
pub(super) mod place;
#[cfg(unix)]
mod serve;

use std::collections::{BTreeSet, VecDeque};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::events::millis_of;
use crate::protocol::{Answer, Call, Message, Role, Welcome};
use crate::told;

#[cfg(unix)]
pub use place::{is_private_folder, is_private_socket, usual};

/// Maximum number of connections.
pub(crate) const CONNECTIONS: usize = 200;
/// Maximum number of open questions to the user.
pub(crate) const QUESTIONS: usize = 20;
/// Maximum number of those of one connection. An agent may serve several sessions by one.
pub(crate) const QUESTIONS_OF_ONE: usize = 8;

/// The usual time in which a daemon of Codex accepts a connection.
pub const JOINING: Duration = Duration::from_secs(2);

/// The number of a connection, which no other connection to a door of this process has.
pub type ConnectionId = u64;

/// Called when something waits for [`Door::take`]. It must return at once.
pub type Bell = Box<dyn Fn() + Send + Sync>;

/// Finds the root of the project of a folder, and calls the function with it, from any thread. It must
/// return at once.
pub type Finder = Box<dyn Fn(&Path, Found) + Send>;

/// Takes the root of a project; `None` if there is no such folder.
pub type Found = Box<dyn FnOnce(Option<PathBuf>) + Send>;

/// How a door is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The socket's file.
    pub socket: PathBuf,
    /// What programs are told of Emacs.
    pub welcome: Welcome,
    /// The time that a connection has for its first line, and after which an Emacs that refused this one is
    /// asked again.
    pub patience: Duration,
    /// How long a program's project is looked for, whose file system may not answer.
    pub finding: Duration,
    /// The folders of Codex whose questions come in by this door, too.
    pub codex: Vec<PathBuf>,
    /// How long a daemon of Codex may take to accept a connection, and to send what a session waits for.
    pub joining: Duration,
    /// How long it may take to say that a question is answered.
    pub answering: Duration,
}

impl Settings {
    /// The usual settings for a socket.
    pub fn new(socket: &Path, welcome: Welcome) -> Settings {
        Settings {
            socket: socket.to_owned(),
            welcome,
            patience: Duration::from_secs(10),
            finding: Duration::from_secs(1),
            codex: Vec::new(),
            joining: JOINING,
            answering: Duration::from_secs(2),
        }
    }
}

/// What happened at a door.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// A program said something; first `hello`. Times in it are by this machine's clock.
    Message(ConnectionId, Message),
    /// A connection that began with `hello` has closed. Its open calls are taken back.
    Closed(ConnectionId),
    /// Programs are of another version, and must be set up again. This is said once.
    Outdated,
    /// The state of the door changed by itself.
    State(State),
}

/// Who programs reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// They reach this door.
    Open,
    /// They reach another Emacs, of that process id, if it is known. This door takes over when that ends.
    Client(Option<u32>),
    /// They reach none, for that reason. This door tries again after a while.
    Failed(String),
}

/// A socket for programs.
#[derive(Debug)]
pub struct Door {
    shared: Arc<Shared>,
    settings: Settings,
    #[cfg(unix)]
    waker: Arc<super::quiet::Waker>,
}

/// A way in for a thread of this process.
#[cfg(unix)]
pub(super) struct Entrance {
    shared: Arc<Shared>,
    pub(super) settings: Settings,
    waker: Arc<super::quiet::Waker>,
}

#[cfg(unix)]
impl Entrance {
    /// A connection to the door; `None` unless programs reach it.
    pub(super) fn enter(&self) -> Option<UnixStream> {
        let (own, guest) = UnixStream::pair().ok()?;
        own.set_nonblocking(true).ok()?;
        let mut inner = self.shared.lock();
        if inner.is_closed || inner.state != State::Open {
            return None;
        }
        inner.guests.push(guest);
        drop(inner);
        self.waker.wake();
        Some(own)
    }

    /// Whether programs reach the door.
    pub(super) fn is_open(&self) -> bool {
        self.shared.lock().state == State::Open
    }

    /// Whether the door was closed for good.
    pub(super) fn is_closed(&self) -> bool {
        self.shared.lock().is_closed
    }
}

/// What the owner and the thread share.
struct Shared {
    inner: Mutex<Inner>,
    bell: Bell,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("inner", &self.inner).finish()
    }
}

#[derive(Debug)]
struct Inner {
    /// What the owner has not taken yet.
    inbox: VecDeque<(Event, usize)>,
    /// The size of the lines in it, which stands beside each event.
    bytes: usize,
    /// What the thread has not done yet.
    orders: Vec<Order>,
    /// Connections of this process that begin.
    #[cfg(unix)]
    guests: Vec<UnixStream>,
    /// The connections that can take an answer.
    live: BTreeSet<ConnectionId>,
    state: State,
    /// The device and number of the socket that this door made.
    made: Option<(u64, u64)>,
    is_closed: bool,
}

/// What the owner wants of the thread.
#[derive(Debug)]
enum Order {
    Answer(ConnectionId, Answer),
    /// Its message was taken; the call of that number needs no answer.
    Taken(ConnectionId, Option<u64>),
    /// The root of its project was looked for.
    Found(ConnectionId, Option<PathBuf>),
    /// There is something to tell the agent of a session.
    Ring(String),
}

impl Shared {
    /// A poisoned lock is safe: nothing that may panic runs while it is held.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event from a line of that size, and rings if the owner waits for one.
    fn push(&self, event: Event, size: usize) {
        let mut inner = self.lock();
        let was_empty = inner.inbox.is_empty();
        inner.bytes += size;
        inner.inbox.push_back((event, size));
        drop(inner);
        if was_empty {
            (self.bell)();
        }
    }

    /// Ends a connection: at once, it does not live, and its call that was not taken yet is gone. Returns
    /// whether there was one.
    fn end(&self, id: ConnectionId) -> bool {
        let mut inner = self.lock();
        inner.live.remove(&id);
        let is_it = |event: &Event| matches!(event, Event::Message(of, Message::Call(_)) if *of == id);
        let Some(place) = inner.inbox.iter().position(|(event, _)| is_it(event)) else { return false };
        inner.bytes -= inner.inbox.remove(place).map_or(0, |(_, size)| size);
        true
    }

    fn set_state(&self, state: State) {
        self.lock().state = state.clone();
        self.push(Event::State(state), 0);
    }
}

impl Door {
    /// Opens a socket, or becomes a client of the Emacs that has it, and takes over when that ends.
    ///
    /// # Errors
    /// A sentence that says why this cannot be done safely.
    #[cfg(unix)]
    pub fn open(settings: Settings, finder: Finder, bell: Bell) -> Result<Door, String> {
        let inner = Inner {
            inbox: VecDeque::new(),
            bytes: 0,
            orders: Vec::new(),
            guests: Vec::new(),
            live: BTreeSet::new(),
            state: State::Client(None),
            made: None,
            is_closed: false,
        };
        let shared = Arc::new(Shared { inner: inner.into(), bell });
        let waker = serve::start(Arc::clone(&shared), settings.clone(), finder)?;
        Ok(Door { shared, settings, waker })
    }

    /// A way in for a thread of this process, which connects as a program does.
    #[cfg(unix)]
    pub(super) fn entrance(&self) -> Entrance {
        Entrance {
            shared: Arc::clone(&self.shared),
            settings: self.settings.clone(),
            waker: Arc::clone(&self.waker),
        }
    }

    /// Opens no socket: this system has none.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn open(_settings: Settings, _finder: Finder, _bell: Bell) -> Result<Door, String> {
        Err("This system has no Unix sockets".into())
    }

    /// Who programs reach.
    pub fn state(&self) -> State {
        self.shared.lock().state.clone()
    }

    /// Whether something waits to be taken.
    pub fn has_news(&self) -> bool {
        !self.shared.lock().inbox.is_empty()
    }

    /// Takes what happened next. A call that its program does not wait for any more is dropped.
    pub fn take(&self) -> Option<Event> {
        loop {
            let mut inner = self.shared.lock();
            let (event, size) = inner.inbox.pop_front()?;
            inner.bytes -= size;
            let Event::Message(id, message) = &event else { return Some(event) };
            let late = match message {
                Message::Call(call) if is_late(call) => Some(call.call),
                _ => None,
            };
            inner.orders.push(Order::Taken(*id, late));
            drop(inner);
            // Most connections are read on only after the answer.
            let waits = matches!(message, Message::Call(call) if call.role != Some(Role::Permission));
            if late.is_some() || !waits {
                self.wake();
            }
            if late.is_none() {
                return Some(event);
            }
        }
    }

    /// Answers a call; returns false if its connection has closed.
    pub fn answer(&self, id: ConnectionId, answer: Answer) -> bool {
        let mut inner = self.shared.lock();
        let is_live = inner.live.contains(&id);
        inner.orders.push(Order::Answer(id, answer));
        drop(inner);
        self.wake();
        is_live
    }

    /// Whether a connection can take an answer.
    pub fn is_live(&self, id: ConnectionId) -> bool {
        self.shared.lock().live.contains(&id)
    }

    /// Makes or deletes the file that lets the hook `note` of a session ask.
    pub fn tell(&self, session: &str, has_news: bool) {
        if self.state() == State::Open {
            told::set(&self.settings.socket, session, has_news);
        }
    }

    /// Tells the programs that report sessions that there is something to say to the agent of this one.
    pub fn ring(&self, session: &str) {
        self.shared.lock().orders.push(Order::Ring(session.to_owned()));
        self.wake();
    }

    fn wake(&self) {
        #[cfg(unix)]
        self.waker.wake();
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        inner.is_closed = true;
        inner.live.clear();
        let made = inner.made.take();
        drop(inner);
        self.wake();
        #[cfg(unix)]
        if let Some(made) = made {
            place::leave(&self.settings.socket, made);
        }
        #[cfg(not(unix))]
        let _ = made;
    }
}

/// Whether the program of a call no longer waits for the answer.
fn is_late(call: &Call) -> bool {
    let now = millis_of(SystemTime::now()).unwrap_or_default();
    call.until.is_some_and(|until| until < now)
}
