//! The connection to a machine: a process whose standard input and output are those of `todo-write-mcp
//! serve` there.
//!
//! One thread a connection starts the process, writes commands, reads reports and drains standard error,
//! and waits for all of them at once. The process has a group of its own, so that `C-g` in a terminal, which signals
//! the group of Emacs, does not end it.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::bound::{bound, line};
use super::limits::Limits;
use super::pipe::{self, Command, Report};
use super::quiet::{Waker, Wakes, send_quietly, waker};
use super::state::{Followed, State};
use super::workers::Shared;
use super::{ConnectionState, Hub, Message, Scope, SessionId, next_number};
use crate::agents::Agent;
use crate::agents::recorder::Machine;
use crate::protocol::Welcome;

/// Maximum number of bytes of commands that wait to be written.
const COMMANDS: usize = 4 * 1024 * 1024;
/// The number of bytes kept of standard error.
const ERRORS: usize = 4 * 1024;
/// The statuses by which shells and container programs say that there is no such program.
const MISSING: [i32; 2] = [126, 127];

/// A machine to which this hub was connected.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) machine: Machine,
    /// None if the connection was lost.
    outbox: Option<Arc<Outbox>>,
    sessions: BTreeMap<SessionId, Remote>,
    /// What this connection has said.
    limits: Limits,
}

/// A session on a machine.
#[derive(Debug)]
struct Remote {
    /// Its file, as on the machine.
    path: PathBuf,
    /// Whether its next piece is the first of this connection.
    is_first: bool,
    /// Whether it is yet to be ready in this connection, so that its pieces are history.
    is_history: bool,
}

/// The commands of a connection that were not written yet.
#[derive(Debug)]
struct Outbox {
    bytes: Mutex<Vec<u8>>,
    waker: Waker,
    is_over: AtomicBool,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command. A machine that takes no more of them is given up.
    fn add(&self, command: &Command) {
        let mut bytes = self.lock();
        // A file whose name is no text was not named by this machine.
        if serde_json::to_writer(&mut *bytes, command).is_ok() {
            bytes.push(b'\n');
        }
        let is_full = bytes.len() > COMMANDS;
        drop(bytes);
        if is_full { self.close() } else { self.waker.wake() }
    }

    fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        self.waker.wake();
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        if let Some(outbox) = &self.outbox {
            outbox.close();
        }
    }
}

impl Connected {
    /// The name of `path`, a file in Emacs, on the machine.
    fn path_there(&self, path: &Path) -> Option<PathBuf> {
        let path = path.to_str()?.strip_prefix(&self.machine.prefix)?;
        Some(path.strip_prefix("/:").unwrap_or(path).into())
    }

    pub(super) fn tell(&self, command: &Command) {
        if let Some(outbox) = &self.outbox {
            outbox.add(command);
        }
    }

    /// Follows a session there; returns false if there are too many, or if the file is not the machine's.
    pub(super) fn follow(&mut self, id: SessionId, path: &Path) -> bool {
        let Some(path) = self.path_there(path).filter(|_| self.sessions.len() < pipe::SESSIONS) else {
            return false;
        };
        self.tell(&Command::Follow(id, path.clone()));
        self.sessions.insert(id, Remote { path, is_first: true, is_history: true });
        true
    }

    /// Ends following a session if it is on this machine.
    pub(super) fn stop(&mut self, id: SessionId) {
        if self.sessions.remove(&id).is_some() {
            self.tell(&Command::Stop(id));
        }
    }

    pub(super) fn has(&self, id: SessionId) -> bool {
        self.sessions.contains_key(&id)
    }

    pub(super) fn is_connected(&self) -> bool {
        self.outbox.is_some()
    }
}

/// How a machine is reached.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The machine.
    pub machine: Machine,
    /// The program, an absolute name, and its arguments.
    pub command: Vec<String>,
    /// The variables that it gets, and no others.
    pub environment: Vec<(String, String)>,
    /// A name that no other Emacs has.
    pub id: String,
    /// The user, host and process of this Emacs.
    pub name: String,
    /// The silence after which the machine counts as lost, [`pipe::SILENCE`] but in tests.
    pub silence: Duration,
    /// The folders of agents there in place of the usual ones, if there are any.
    pub homes: Vec<(Agent, PathBuf)>,
    /// Which of the sessions there are searched.
    pub scope: Scope,
    /// What agents' programs there are told of this Emacs; `None` if it takes no calls.
    pub door: Option<Welcome>,
}

impl Hub {
    /// Connects to a machine, unless it is connected, and tells it again what is searched. Sessions that
    /// were followed there before are followed again. [`Message::Connection`] says what became of it.
    ///
    /// # Errors
    /// If this system gives no pipe or no thread.
    pub fn connect(&self, to: Connection) -> io::Result<()> {
        let mut state = self.shared.lock();
        let known = state.connections.get(&to.machine.name);
        if let Some(known) = known.filter(|known| known.is_connected() && known.machine == to.machine) {
            known.tell(&Command::Homes(to.homes, to.scope));
            known.tell(&Command::Door(to.door));
            return Ok(());
        }
        let (waker, wakes) = waker()?;
        let outbox = Arc::new(Outbox { bytes: Mutex::default(), waker, is_over: AtomicBool::new(false) });
        let name = to.machine.name.clone();
        let talk = Talk {
            shared: Arc::clone(&self.shared),
            name: name.as_str().into(),
            outbox: Arc::clone(&outbox),
            wakes,
            silence: to.silence,
            is_welcomed: false,
        };
        let (command, environment) = (to.command, to.environment);
        let run = move || talk.run(&command, environment);
        thread::Builder::new().name("todo-write-machine".into()).spawn(run)?;
        if state.connections.get(&name).is_some_and(Connected::is_connected) {
            // Its machine has another prefix. The agents there may end until the next one tells of them.
            state.lose(&name, "it is reached in another way now".to_owned().into());
        }
        state.forget_processes(&name);
        let known = state.connections.remove(&name);
        let mut sessions = known.map(|mut known| std::mem::take(&mut known.sessions)).unwrap_or_default();
        let first = [
            Command::Hello { id: to.id, name: to.name },
            Command::Set((*state.settings).clone()),
            Command::Homes(to.homes, to.scope),
            // It also passes on what Codex asks in those folders.
            Command::Door(to.door),
            Command::Search,
        ];
        first.iter().for_each(|command| outbox.add(command));
        for (id, session) in &mut sessions {
            (session.is_first, session.is_history) = (true, true);
            outbox.add(&Command::Follow(*id, session.path.clone()));
        }
        let limits = Limits::default();
        let connected = Connected { machine: to.machine, outbox: Some(outbox), sessions, limits };
        state.connections.insert(name, connected);
        Ok(())
    }

    /// Ends the connection to a machine, and following its sessions.
    pub fn disconnect(&self, machine: &str) {
        let mut state = self.shared.lock();
        state.forget_processes(machine);
        state.end_connection(machine);
        let Some(connected) = state.connections.remove(machine) else { return };
        state.found.remove(Path::new(machine));
        for id in connected.sessions.keys() {
            state.sessions.remove(id);
            state.queue.drop_session(*id);
        }
        self.shared.room.notify_all();
    }

    /// Follows the session in `path`, a file's name in Emacs, on a machine to which this hub was
    /// connected. `None` if it has too many or is not known.
    pub fn follow_there(&self, machine: &str, path: &Path) -> Option<SessionId> {
        let id = next_number();
        let mut state = self.shared.lock();
        if !state.connections.get_mut(machine)?.follow(id, path) {
            return None;
        }
        let followed =
            Followed { root: PathBuf::new(), path: path.to_owned(), session: None, has_processes: false };
        state.sessions.insert(id, followed);
        Some(id)
    }

    /// Describes the newest sessions on a machine, none if it is not connected; see [`Message::Choices`].
    pub fn choose_there(&self, machine: &str, scope: Scope) -> u64 {
        let round = next_number();
        let mut state = self.shared.lock();
        let is_asked = state.tell_machine(machine, &Command::Choose(round, scope));
        let homes = HashMap::from([(PathBuf::from(machine), !is_asked)]);
        state.rounds.insert(round, (homes, Vec::new()));
        state.end_rounds();
        round
    }
}

fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    Ok(fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?)
}

/// Why a connection ended.
struct Lost {
    reason: String,
    is_missing: bool,
}

impl From<String> for Lost {
    fn from(reason: String) -> Lost {
        Lost { reason, is_missing: false }
    }
}

/// What the thread of a connection has.
struct Talk {
    shared: Arc<Shared>,
    name: Arc<str>,
    outbox: Arc<Outbox>,
    wakes: Wakes,
    silence: Duration,
    /// Whether the program has said that it serves this Emacs.
    is_welcomed: bool,
}

impl Talk {
    fn run(mut self, command: &[String], environment: Vec<(String, String)>) {
        let lost = match start(command, environment) {
            Ok((mut child, input)) => {
                let mut streams = Streams::default();
                let talk = AssertUnwindSafe(|| self.talk(&mut child, input, &mut streams));
                let failed = |_| Err("the reader of its messages failed, which is a defect".to_owned());
                let refused = catch_unwind(talk).unwrap_or_else(failed).err();
                let status = end(&mut child, refused.is_none());
                if let Some(mut errors) = child.stderr.take() {
                    // What the process said at its end.
                    let _ = streams.read_errors(&mut errors);
                }
                streams.lost(refused, status)
            }
            Err(error) => {
                let program = command.first().map_or("nothing", String::as_str);
                format!("{program} does not start here: {error}").into()
            }
        };
        let mut state = self.shared.lock();
        if self.is_current(&state) {
            state.lose(&self.name, lost);
        }
    }

    /// Whether this is the connection of its machine, which may have been disconnected or connected
    /// again meanwhile.
    fn is_current(&self, state: &State) -> bool {
        let outbox = state.connections.get(&*self.name).and_then(|known| known.outbox.as_ref());
        outbox.is_some_and(|outbox| Arc::ptr_eq(outbox, &self.outbox))
    }

    /// Writes and reads until the process ends its output, which is `Ok`, or is given up, with the reason.
    fn talk(&mut self, child: &mut Child, input: UnixStream, streams: &mut Streams) -> Result<(), String> {
        let words = |error: io::Error| error.to_string();
        let (Some(mut output), Some(mut errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("the process has no pipes".to_owned());
        };
        for fd in [input.as_fd(), output.as_fd(), errors.as_fd()] {
            set_nonblocking(fd).map_err(words)?;
        }
        let mut pending: Vec<u8> = Vec::new();
        let mut heard = Instant::now();
        let mut has_errors = true;
        loop {
            if self.outbox.is_over() {
                return Err("it takes no more commands".to_owned());
            }
            if pending.is_empty() && streams.is_greeted {
                pending = std::mem::take(&mut *self.outbox.lock());
            }
            let silent = heard.elapsed();
            if silent > self.silence {
                return Err(format!("it has said nothing for {} seconds", silent.as_secs()));
            }
            let mut fds = vec![PollFd::new(&output, PollFlags::IN), PollFd::new(&self.wakes, PollFlags::IN)];
            if has_errors {
                fds.push(PollFd::new(&errors, PollFlags::IN));
            }
            if !pending.is_empty() {
                fds.push(PollFd::new(&input, PollFlags::OUT));
            }
            let most = self.silence.saturating_sub(silent) + Duration::from_millis(10);
            match poll(&mut fds, Timespec::try_from(most).ok().as_ref()) {
                Err(error) if error != rustix::io::Errno::INTR => return Err(words(error.into())),
                _ => {}
            }
            // None of these waits.
            self.wakes.take();
            if !pending.is_empty() {
                match send_quietly(&input, &pending) {
                    Ok(count) => drop(pending.drain(..count)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // Its output and its errors tell why.
                    Err(_) => pending.clear(),
                }
            }
            has_errors = has_errors && streams.read_errors(&mut errors).map_err(words)?;
            match read_some(&mut output, &mut streams.output).map_err(words)? {
                Some(0) => continue,
                Some(_) => heard = Instant::now(),
                None => {
                    child.stderr = Some(errors);
                    return Ok(());
                }
            }
            while let Some(line) = streams.next_line()? {
                self.receive(&line)?;
                heard = Instant::now();
            }
        }
    }

    fn receive(&mut self, text: &[u8]) -> Result<(), String> {
        let report = serde_json::from_slice(text)
            .map_err(|error| format!("it sent a line that this version does not read: {error}"))?;
        match report {
            Report::Pulse => {}
            Report::Refused(reason) => return Err(reason),
            Report::Welcome { version, note } => {
                if std::mem::replace(&mut self.is_welcomed, true) {
                    return Err("it began twice".to_owned());
                }
                let state =
                    ConnectionState::Connected { version: line(&version), note: note.as_deref().map(line) };
                let mut hub = self.shared.lock();
                if self.is_current(&hub) {
                    hub.queue.push(Message::Connection(self.name.to_string(), state), false);
                }
            }
            Report::Hub(message) => self.pass(message, text.len())?,
        }
        Ok(())
    }

    /// Reports what the machine's hub does in a line of that size, once there is room.
    fn pass(&self, message: Message, size: usize) -> Result<(), String> {
        let mut state = self.shared.lock();
        while state.queue.is_full_of(&self.name) && self.is_current(&state) && !self.outbox.is_over() {
            let most = Duration::from_secs(1);
            state = self.shared.room.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0;
        }
        if !self.is_current(&state) {
            return Ok(());
        }
        let options = state.settings.input;
        let Some(connected) = state.connections.get_mut(&*self.name) else { return Ok(()) };
        let is_followed = |id| connected.sessions.contains_key(&id);
        let Some(mut message) = bound(&connected.machine, &options, is_followed, message) else {
            return Ok(());
        };
        if !connected.limits.count(&mut message)? {
            return Ok(());
        }
        let mut is_history = false;
        match &mut message {
            Message::Events(id, piece) => {
                let session = connected.sessions.get_mut(id);
                piece.is_restart |= session.as_ref().is_some_and(|session| session.is_first);
                is_history = session.as_ref().is_some_and(|session| session.is_history);
                session.into_iter().for_each(|session| session.is_first = false);
            }
            Message::Ready { session, .. } => {
                connected.sessions.entry(*session).and_modify(|session| session.is_history = false);
            }
            Message::Unreadable(id, _) | Message::Failed(id) => {
                connected.sessions.remove(id);
                state.sessions.remove(id);
            }
            _ => {}
        }
        match message {
            Message::Found(found, unnamed) => {
                state.found.insert(PathBuf::from(&*self.name), Some((found, unnamed)));
                state.report_found();
            }
            Message::Choices(round, mut choices) => {
                if let Some((homes, known)) = state.rounds.get_mut(&round)
                    && let Some(is_done) = homes.get_mut(Path::new(&*self.name))
                    && !std::mem::replace(is_done, true)
                {
                    known.append(&mut choices);
                }
                state.end_rounds();
            }
            message => state.queue.push_of(&self.name, message, is_history, size),
        }
        Ok(())
    }
}

impl State {
    /// The machine on which a session is.
    pub(super) fn machine_of(&self, id: SessionId) -> Option<&Connected> {
        self.connections.values().find(|connected| connected.has(id))
    }

    /// Tells all machines.
    pub(super) fn tell_machines(&self, command: &Command) {
        self.connections.values().for_each(|connected| connected.tell(command));
    }

    /// Tells a machine; returns false if it is not connected.
    pub(super) fn tell_machine(&mut self, machine: &str, command: &Command) -> bool {
        let connected = self.connections.get_mut(machine).filter(|connected| connected.is_connected());
        let Some(connected) = connected else { return false };
        if let Command::Answer(id, answer) = command {
            connected.limits.answered(*id, answer.call);
        }
        connected.tell(command);
        true
    }

    /// Reports that the connection to a machine is lost.
    fn lose(&mut self, name: &str, Lost { reason, is_missing }: Lost) {
        self.end_connection(name);
        let lost = ConnectionState::Lost { reason: line(&reason), is_missing };
        self.queue.push(Message::Connection(name.to_owned(), lost), false);
    }

    /// Ends the connection to a machine, and the choices that wait for it.
    fn end_connection(&mut self, name: &str) {
        if let Some(outbox) = self.connections.get_mut(name).and_then(|connected| connected.outbox.take()) {
            outbox.close();
        }
        for (homes, _) in self.rounds.values_mut() {
            homes.entry(PathBuf::from(name)).and_modify(|is_done| *is_done = true);
        }
        self.end_rounds();
    }

    /// Takes back what the connection to a machine told of processes: the next one may name other homes, or end
    /// before it names any.
    fn forget_processes(&mut self, name: &str) {
        let homes = self.connections.get(name).into_iter().flat_map(|connected| connected.limits.homes());
        for home in homes.cloned() {
            let machine = Some(name.to_owned());
            let message = Message::Processes { home, machine, live: Vec::new(), killed: Vec::new() };
            self.queue.push(message, false);
        }
    }
}

/// Starts a process; returns it, and what to write to it.
fn start(command: &[String], environment: Vec<(String, String)>) -> io::Result<(Child, UnixStream)> {
    let [program, arguments @ ..] = command else { return Err(io::ErrorKind::NotFound.into()) };
    let (input, theirs) = UnixStream::pair()?;
    let child = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/")
        .process_group(0)
        .spawn()?;
    Ok((child, input))
}

/// Ends the process and its group; one that ended its output has a second to exit.
fn end(child: &mut Child, is_ending: bool) -> Option<ExitStatus> {
    let deadline = Instant::now() + Duration::from_secs(1);
    while is_ending && Instant::now() < deadline {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
    let group = rustix::process::Pid::from_child(child);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let _ = child.wait();
    None
}

/// What came from a process.
#[derive(Default)]
struct Streams {
    /// The bytes of its output that are no whole line yet, and the place up to which no line ends.
    output: Vec<u8>,
    searched: usize,
    /// What was skipped before the greeting.
    banner: Vec<u8>,
    is_greeted: bool,
    errors: Vec<u8>,
}

impl Streams {
    /// Reads what is there; returns false at the end.
    fn read_errors(&mut self, errors: &mut impl Read) -> io::Result<bool> {
        let is_more = read_some(errors, &mut self.errors)?.is_some();
        let excess = self.errors.len().saturating_sub(ERRORS);
        self.errors.drain(..excess);
        Ok(is_more)
    }

    /// The next line after the greeting, if all of it came.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.output[self.searched..]) else {
                self.searched = self.output.len();
                if !self.is_greeted && self.banner.len() + self.output.len() > pipe::BANNER {
                    return Err(format!("it said too much before the line \"{}\"", pipe::greeting()));
                }
                if self.output.len() > pipe::LARGEST {
                    return Err(format!("it sent a line of over {} bytes", pipe::LARGEST));
                }
                return Ok(None);
            };
            let end = self.searched + end;
            let line: Vec<u8> = self.output.drain(..=end).take(end).collect();
            self.searched = 0;
            if self.is_greeted {
                return Ok(Some(line));
            }
            self.greet(line)?;
        }
    }

    fn greet(&mut self, mut line: Vec<u8>) -> Result<(), String> {
        let text = String::from_utf8_lossy(&line);
        let version =
            text.trim_end().strip_prefix(pipe::WORD).and_then(|rest| rest.trim().parse::<u32>().ok());
        match version {
            Some(pipe::PROTOCOL) => self.is_greeted = true,
            Some(other) => {
                return Err(format!(
                    "its todo-write-mcp speaks version {other} of the protocol, and this Emacs {}; \
                     use the same version of todo-write on both",
                    pipe::PROTOCOL
                ));
            }
            None => {
                self.banner.append(&mut line);
                self.banner.push(b'\n');
            }
        }
        Ok(())
    }

    /// Why the connection ended, with what the process said.
    fn lost(&self, refused: Option<String>, status: Option<ExitStatus>) -> Lost {
        if self.is_greeted
            && let Some(reason) = refused
        {
            return reason.into();
        }
        let code = status.and_then(|status| status.code());
        let is_missing = !self.is_greeted && code.is_some_and(|code| MISSING.contains(&code));
        let said = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            lines[lines.len().saturating_sub(3)..].join("; ")
        };
        let words = [
            refused.unwrap_or_default(),
            said(&self.errors),
            if self.is_greeted { String::new() } else { said(&self.banner) },
        ];
        let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
        let reason = match (words.is_empty(), status) {
            (false, _) => words.join("; "),
            (true, Some(status)) => format!("it ended ({status})"),
            (true, None) => "it ended".to_owned(),
        };
        Lost { reason, is_missing }
    }
}

/// Appends what can be read now; returns the number of bytes, or `None` at the end.
fn read_some(from: &mut impl Read, to: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let mut bytes = [0; 64 * 1024];
    match from.read(&mut bytes) {
        Ok(0) => Ok(None),
        Ok(count) => {
            to.extend_from_slice(&bytes[..count]);
            Ok(Some(count))
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(Some(0))
        }
        Err(error) => Err(error),
    }
}
