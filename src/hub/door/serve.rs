//! The thread of a door.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection::{Connection, Next, STALL};
use super::place::{self, Entered, enter};
use super::{
    CONNECTIONS, ConnectionId, Event, Finder, Order, QUESTIONS, QUESTIONS_OF_ONE, Settings, Shared, State,
};
use crate::events::millis_of;
use crate::hub::quiet::{self, Waker, Wakes, send_quietly};
use crate::protocol::{self, Answer, Hello, Message, PROTOCOL, Refused, Reply, Role, Tell, Welcome};
use crate::text::path::is_special;

/// Maximum size in bytes of all incomplete lines, and of the messages that wait to be taken.
const INCOMPLETE: usize = 16 << 20;
/// The size of a line up to which it counts for nothing.
const SMALL: usize = INCOMPLETE / 100;
/// Maximum number of connections that are accepted at once.
const ACCEPTED: usize = 64;
/// How long nothing is accepted after the system refused to.
const PAUSE: Duration = Duration::from_millis(100);
/// The number of the last connection.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Within which time the clients of an Emacs that ended take over, each at its own time.
const TAKE_OVER: Duration = Duration::from_millis(200);

/// Opens the socket, and starts the thread.
pub(super) fn start(shared: Arc<Shared>, settings: Settings, finder: Finder) -> Result<Arc<Waker>, String> {
    let failed = |error: std::io::Error| format!("The socket cannot be served: {error}");
    let (waker, wakes) = quiet::waker().map_err(failed)?;
    let entered = enter(&settings.socket)?;
    let waker = Arc::new(waker);
    let mut server = Server {
        shared,
        settings,
        finder,
        waker: Arc::clone(&waker),
        wakes,
        place: Place::Waiting(Instant::now()),
        is_paused_until: None,
        connections: BTreeMap::new(),
        is_said_outdated: false,
    };
    server.settle(entered, false);
    let work = move || {
        let shared = Arc::clone(&server.shared);
        if catch_unwind(AssertUnwindSafe(move || server.run())).is_err() {
            shared.lock().live.clear();
            shared.set_state(State::Failed("The thread of the socket failed, which is a defect".into()));
        }
    };
    thread::Builder::new().name("todo-write-door".into()).spawn(work).map_err(failed)?;
    Ok(waker)
}

struct Server {
    shared: Arc<Shared>,
    settings: Settings,
    finder: Finder,
    waker: Arc<Waker>,
    wakes: Wakes,
    place: Place,
    is_paused_until: Option<Instant>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// What was said about programs.
    is_said_outdated: bool,
}

/// What this process does at the socket.
enum Place {
    Open(UnixListener),
    /// The connection to the Emacs that has it, and the beginning of its first line.
    Client(UnixStream, Vec<u8>),
    /// It tries to open it at that time.
    Waiting(Instant),
}

impl Server {
    fn run(&mut self) {
        while !self.shared.lock().is_closed {
            let ready = self.wait();
            // Whether a connection is busy depends on the orders.
            self.obey();
            self.look_at_place();
            ready.into_iter().for_each(|(id, flags)| self.look_at(id, flags));
            self.keep_time();
        }
    }

    /// Waits until something can be done; returns the connections that can be read or written.
    fn wait(&self) -> Vec<(ConnectionId, PollFlags)> {
        let mut fds = vec![PollFd::new(&self.wakes, PollFlags::IN)];
        match &self.place {
            Place::Open(listener) if self.is_paused_until.is_none() => {
                fds.push(PollFd::new(listener, PollFlags::IN));
            }
            Place::Client(stream, _) => fds.push(PollFd::new(stream, PollFlags::IN)),
            _ => {}
        }
        let first = fds.len();
        let is_full = self.shared.lock().bytes > INCOMPLETE;
        let live = self.connections.iter().filter(|(_, connection)| !connection.is_gone);
        fds.extend(live.clone().map(|(_, connection)| {
            let waits = connection.is_busy() || (is_full && connection.incomplete() > SMALL);
            let mut flags = if waits { PollFlags::empty() } else { PollFlags::IN };
            flags.set(PollFlags::OUT, connection.has_output());
            PollFd::new(&connection.stream, flags)
        }));
        let left = self.next_time().map(|time| time.saturating_duration_since(Instant::now()));
        // One more millisecond, so that the time is over when this returns.
        let left = left.and_then(|left| Timespec::try_from(left + Duration::from_millis(1)).ok());
        if poll(&mut fds, left.as_ref()).is_err() {
            return Vec::new();
        }
        let happened = live.zip(&fds[first..]).map(|((id, _), fd)| (*id, fd.revents()));
        happened.filter(|(_, flags)| !flags.is_empty()).collect()
    }

    /// When something is to be done next that no program causes.
    fn next_time(&self) -> Option<Instant> {
        let place = match &self.place {
            Place::Waiting(time) => Some(*time),
            _ => self.is_paused_until,
        };
        let times = self.connections.values().flat_map(|connection| {
            let hello = connection.roles.is_none() && !connection.is_closing;
            let hello = hello.then(|| connection.begun + self.settings.patience);
            let greeting = connection.greeting.as_ref().map(|(.., until)| *until);
            [hello, greeting, connection.stalled.map(|since| since + STALL)]
        });
        times.flatten().chain(place).min()
    }

    /// Does what has become due.
    fn keep_time(&mut self) {
        let now = Instant::now();
        if self.is_paused_until.is_some_and(|time| time <= now) {
            self.is_paused_until = None;
        }
        if matches!(self.place, Place::Waiting(time) if time <= now) {
            match enter(&self.settings.socket) {
                Ok(entered) => self.settle(entered, true),
                Err(reason) => {
                    self.place = Place::Waiting(now + self.settings.patience);
                    let state = State::Failed(reason);
                    let is_news = self.shared.lock().state != state;
                    if is_news {
                        self.shared.set_state(state);
                    }
                }
            }
        }
        let ids: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in ids {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            let is_mute = connection.roles.is_none() && now >= connection.begun + self.settings.patience;
            if is_mute && !connection.is_closing {
                connection.refuse("The connection began without a hello.");
            }
            if connection.greeting.as_ref().is_some_and(|(.., until)| *until <= now) {
                let folder = connection.greeting.as_ref().and_then(|(hello, ..)| hello.project.as_deref());
                let folder = folder.filter(|folder| is_plain(folder)).map(PathBuf::from);
                self.greeted(id, folder);
                self.advance(id);
                continue;
            }
            let is_over = connection.is_closing && (!connection.has_output() || connection.is_gone);
            if is_over || connection.is_stalled(now) {
                self.close(id);
            }
        }
    }
}

/// The place, and connections that begin.
impl Server {
    /// Takes a place at the socket; `is_news` if the owner does not wait for that.
    fn settle(&mut self, entered: Entered, is_news: bool) {
        let state = match entered {
            Entered::Open(listener, made) => {
                let mut inner = self.shared.lock();
                if inner.is_closed {
                    drop(inner);
                    return place::leave(&self.settings.socket, made);
                }
                inner.made = Some(made);
                self.place = Place::Open(listener);
                State::Open
            }
            Entered::Client(stream) => {
                self.greet(&stream);
                self.place = Place::Client(stream, Vec::new());
                State::Client(None)
            }
            Entered::Busy => {
                self.place = Place::Waiting(Instant::now() + self.settings.patience);
                State::Client(None)
            }
        };
        if is_news && state == State::Open {
            self.shared.set_state(state);
        } else {
            self.shared.lock().state = state;
        }
    }

    /// Says hello to the Emacs that has the socket.
    fn greet(&self, stream: &UnixStream) {
        let Welcome { version, process, .. } = self.settings.welcome.clone();
        let hello = Hello {
            protocol: PROTOCOL,
            roles: vec![Role::Check],
            id: format!("emacs-{}", process.unwrap_or_default()),
            version: Some(version),
            process,
            ..Hello::default()
        };
        if let Ok(line) = protocol::line(&Message::Hello(Box::new(hello))) {
            // If it does not fit, that Emacs closes the connection after a while.
            let _ = send_quietly(stream, &line);
        }
    }

    fn look_at_place(&mut self) {
        match &mut self.place {
            Place::Open(_) if self.is_paused_until.is_none() => self.accept(),
            Place::Client(stream, line) => {
                let mut piece = [0; 4_096];
                match stream.read(&mut piece) {
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                    Ok(count) if count > 0 => {
                        // Only its first line tells something.
                        if line.len() < piece.len() {
                            line.extend(&piece[..count]);
                            self.read_welcome();
                        }
                    }
                    _ => self.take_over_later(),
                }
            }
            _ => {}
        }
    }

    /// Learns the process id of the Emacs that has the socket.
    fn read_welcome(&mut self) {
        let Place::Client(_, line) = &self.place else { return };
        let Some(end) = memchr::memchr(b'\n', line) else { return };
        if self.shared.lock().state == State::Client(None)
            && let Ok(Reply::Welcome(welcome)) = serde_json::from_slice(&line[..end])
        {
            self.shared.set_state(State::Client(welcome.process));
        }
    }

    /// Tries to open the socket after the connection to the Emacs that had it closed. One that refused this
    /// one still has it.
    fn take_over_later(&mut self) {
        let mut inner = self.shared.lock();
        let was_refused = inner.state == State::Client(None);
        inner.state = State::Client(None);
        drop(inner);
        let nanos =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let some = TAKE_OVER.mul_f64(f64::from(nanos % 1_000) / 1_000.0);
        self.place = Place::Waiting(Instant::now() + if was_refused { self.settings.patience } else { some });
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTED {
            let Place::Open(listener) = &self.place else { return };
            match listener.accept() {
                Ok((stream, _)) => self.begin(stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.is_paused_until = Some(Instant::now() + PAUSE);
                    return;
                }
            }
        }
    }

    fn begin(&mut self, stream: UnixStream) {
        if self.connections.len() >= CONNECTIONS {
            let text = "Too many programs are connected to this Emacs.".into();
            if stream.set_nonblocking(true).is_ok()
                && let Ok(line) = protocol::line(&Reply::Refused(Refused { text }))
            {
                let _ = send_quietly(&stream, &line);
            }
            return;
        }
        if let Ok(connection) = Connection::new(stream) {
            self.connections.insert(LAST.fetch_add(1, Ordering::Relaxed) + 1, connection);
        }
    }
}

/// Connections.
impl Server {
    /// Does what the owner wants.
    fn obey(&mut self) {
        // An order that comes after this wakes the thread again.
        self.wakes.take();
        let mut inner = self.shared.lock();
        let (orders, guests) = (std::mem::take(&mut inner.orders), std::mem::take(&mut inner.guests));
        drop(inner);
        guests.into_iter().for_each(|guest| self.begin(guest));
        for order in orders {
            let id = match order {
                Order::Ring(session) => {
                    self.ring(&session);
                    continue;
                }
                Order::Found(id, root) => {
                    self.greeted(id, root);
                    id
                }
                Order::Taken(id, late) => {
                    if let Some(connection) = self.connections.get_mut(&id) {
                        connection.is_untaken = false;
                        connection.calls.retain(|(call, _)| Some(*call) != late);
                    }
                    id
                }
                Order::Answer(id, answer) => {
                    if let Some(connection) = self.connections.get_mut(&id) {
                        let count = connection.calls.len();
                        connection.calls.retain(|(call, _)| *call != answer.call);
                        if connection.calls.len() < count {
                            connection.send(&Reply::Answer(answer));
                        }
                    }
                    id
                }
            };
            self.advance(id);
        }
    }

    /// Tells the programs that report sessions that the agent of this one is to be told something.
    fn ring(&mut self, session: &str) {
        for connection in self.connections.values_mut() {
            if connection.roles.as_ref().is_some_and(|roles| roles.contains(&Role::Plan)) {
                connection.send(&Reply::Tell(Tell { session: session.to_owned() }));
            }
        }
    }

    fn look_at(&mut self, id: ConnectionId, flags: PollFlags) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if flags.contains(PollFlags::OUT) {
            connection.flush();
        }
        if connection.is_busy() {
            if flags.intersects(PollFlags::HUP | PollFlags::ERR) {
                self.lose(id);
            }
        } else {
            connection.read();
        }
        self.advance(id);
    }

    /// Notes that the program of a connection has closed it, so that no answer is wanted.
    fn lose(&mut self, id: ConnectionId) {
        let was_untaken = self.shared.end(id);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.is_gone = true;
            connection.is_untaken &= !was_untaken;
            connection.calls.clear();
        }
    }

    /// Handles the lines of a connection as far as that may be now.
    fn advance(&mut self, id: ConnectionId) {
        while let Some(connection) = self.connections.get_mut(&id) {
            if connection.is_busy() {
                return;
            }
            match connection.next() {
                Next::Line(line) => self.handle(id, &line),
                Next::TooLong => connection.refuse("The line is longer than 1 MiB."),
                Next::Nothing if connection.is_ended => self.close(id),
                Next::Nothing if connection.is_gone => connection.read(),
                Next::Nothing => return self.limit(id),
            }
        }
    }

    /// Ends a connection that has a large part of too many incomplete lines.
    fn limit(&mut self, id: ConnectionId) {
        let sum: usize = self.connections.values().map(Connection::incomplete).sum();
        if let Some(connection) = self.connections.get_mut(&id)
            && connection.incomplete() > SMALL
            && sum > INCOMPLETE
        {
            connection.refuse("Too much is sent to this Emacs at once.");
        }
    }

    fn close(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.shared.end(id);
        // The owner knows no connection whose greeting it has not got.
        if connection.roles.is_some() && connection.greeting.is_none() {
            self.shared.push(Event::Closed(id), 0);
        }
    }

    fn handle(&mut self, id: ConnectionId, line: &[u8]) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let text = match str::from_utf8(line) {
            Ok(text) => text,
            Err(error) => return connection.refuse(&format!("This line is no message: {error}")),
        };
        let message = match Message::parse(text) {
            Ok(message) => message,
            Err(error) => return connection.refuse(&format!("This line is no message: {error}")),
        };
        match (message, connection.roles.is_some()) {
            (Message::Hello(hello), false) => self.welcome(id, *hello, line.len()),
            (_, false) => connection.refuse("The first line must be a hello."),
            (Message::Hello(_) | Message::Unknown, true) => {}
            (Message::Call(call), true) => self.handle_call(id, call, line.len()),
            (message, true) => {
                if let Message::Cancel(cancel) = &message {
                    connection.calls.retain(|(call, _)| *call != cancel.call);
                }
                self.pass(id, message, line.len());
            }
        }
    }

    fn welcome(&mut self, id: ConnectionId, mut hello: Hello, size: usize) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if hello.protocol != PROTOCOL {
            connection.refuse(
                "This todo-write-mcp is not of the same version as todo-write; tell the user to run \
                 M-x todo-write-mcp-setup in Emacs again.",
            );
            return self.say_outdated();
        }
        if hello.roles.is_empty() || hello.roles.contains(&Role::Unknown) {
            return connection.refuse("This Emacs does not know that role.");
        }
        let now = millis_of(SystemTime::now()).unwrap_or_default();
        connection.skew = hello.now.map_or(0, |time| now.cast_signed().saturating_sub(time.cast_signed()));
        hello.lost = hello.lost.map(|time| time.saturating_add_signed(connection.skew));
        connection.roles = Some(hello.roles.clone());
        let welcome = Welcome { protocol: PROTOCOL, ..self.settings.welcome.clone() };
        connection.send(&Reply::Welcome(welcome));
        self.shared.lock().live.insert(id);
        if hello.version.as_deref() != Some(self.settings.welcome.version.as_str()) {
            self.say_outdated();
        }
        hello.root = None;
        self.find(id, Box::new(hello), size);
    }

    /// Has the root of a program's project looked for, for a while, and hands on its greeting.
    fn find(&mut self, id: ConnectionId, hello: Box<Hello>, size: usize) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let folder = hello.project.as_ref().map(PathBuf::from).filter(|folder| folder.is_absolute());
        connection.greeting = Some((hello, size, Instant::now() + self.settings.finding));
        let Some(folder) = folder else { return self.greeted(id, None) };
        let (shared, waker) = (Arc::downgrade(&self.shared), Arc::clone(&self.waker));
        let found = move |root| {
            if let Some(shared) = shared.upgrade() {
                shared.lock().orders.push(Order::Found(id, root));
                waker.wake();
            }
        };
        (self.finder)(&folder, Box::new(found));
    }

    /// Hands on the greeting of a program that waits for the root of its project, if it still does.
    fn greeted(&mut self, id: ConnectionId, root: Option<PathBuf>) {
        let greeting = self.connections.get_mut(&id).and_then(|connection| connection.greeting.take());
        let Some((mut hello, size, _)) = greeting else { return };
        hello.root = root.and_then(|root| root.to_str().map(str::to_owned));
        self.pass(id, Message::Hello(hello), size);
    }

    fn say_outdated(&mut self) {
        if !std::mem::replace(&mut self.is_said_outdated, true) {
            self.shared.push(Event::Outdated, 0);
        }
    }

    fn handle_call(&mut self, id: ConnectionId, mut call: protocol::Call, size: usize) {
        let questions: usize = self.connections.values().map(questions_of).sum();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        // No program waits for its answer, and the one that came after it may have called since.
        if connection.is_gone {
            return;
        }
        let roles = connection.roles.as_deref().unwrap_or_default();
        let role = match (call.role, roles) {
            (None, [role]) => *role,
            (Some(role), roles) if roles.contains(&role) => role,
            _ => return connection.refuse("The call names no role of this program."),
        };
        let is_full = questions_of(connection) >= QUESTIONS_OF_ONE;
        if role == Role::Permission && (is_full || questions >= QUESTIONS) {
            let text = if is_full {
                "Its earlier questions are still open."
            } else {
                "Too many questions are open in Emacs."
            };
            let answer = Answer { call: call.call, text: text.into(), ..Answer::default() };
            return connection.send(&Reply::Answer(answer));
        }
        connection.calls.push((call.call, role));
        call.role = Some(role);
        call.until = call.until.map(|time| time.saturating_add_signed(connection.skew));
        self.pass(id, Message::Call(call), size);
    }

    /// Hands a message from a line of that size to the owner.
    fn pass(&mut self, id: ConnectionId, message: Message, size: usize) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.is_untaken = true;
            self.shared.push(Event::Message(id, message), size);
        }
    }
}

/// Whether Emacs takes the name of a folder for nothing else. There may be no such folder.
fn is_plain(folder: &str) -> bool {
    folder.starts_with('/') && !is_special(folder) && !folder.contains(char::is_control)
}

/// The number of the open questions of a connection.
fn questions_of(connection: &Connection) -> usize {
    connection.calls.iter().filter(|(_, role)| *role == Role::Permission).count()
}
