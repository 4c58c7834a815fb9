//! The connection to a machine: a process whose standard input and output are those of `todo-write-mcp serve` there.
//!
//! One thread reads its lines, one writes commands to it, and one keeps the last bytes of its standard error; each
//! waits for its own pipe only. The process has a group of its own, so that `C-g` in a terminal, which signals the
//! group of Emacs, does not end it. No signal goes to a process whose end was taken note of: its number may be
//! another one's by then.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::around::{Common, Pulse, no_processes};
use super::bound::{Kept, bound};
use crate::lines::{Line, Lines, Outbox, Unsent};
use crate::threads::{self, lock};
use todo_write::list::input::Options;
use todo_write::text::excerpt;
use todo_write::wire::bounds::{ENTRIES, LINE, SMALL_FILE, WAIT};
use todo_write::wire::program::{
    self as pipe, Command, Connection, Lost, Machine, Message, SessionId, Settings,
};
use todo_write::wire::socket;

/// The statuses by which shells and container programs say that there is no such program.
const MISSING: [i32; 2] = [126, 127];

/// A connection, which may be over.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) machine: Machine,
    common: Arc<Common>,
    /// Held only for a moment.
    state: Mutex<State>,
    /// Since when its output is awaited.
    pulse: Pulse,
}

#[derive(Debug, Default)]
struct State {
    /// The commands, None once the connection is over.
    outbox: Option<Outbox>,
    /// None before it begins, and once its end was awaited.
    child: Option<Child>,
    /// The commands that followed the sessions which are followed there.
    sessions: BTreeMap<SessionId, Command>,
    kept: Kept,
    /// How its lists are read.
    input: Options,
    is_welcomed: bool,
}

/// The end of a connection, for this reason.
pub(super) fn lost(reason: &str, is_missing: bool) -> Lost {
    Lost { reason: excerpt(reason, 1_000), is_missing }
}

impl Link {
    /// Connects to a machine, and follows sessions there by these commands. [`Message::Connection`] says what became of it.
    pub(super) fn start(
        common: &Arc<Common>,
        settings: &Settings,
        to: Connection,
        sessions: BTreeMap<SessionId, Command>,
    ) -> io::Result<Arc<Link>> {
        let (outbox, unsent) = Outbox::new();
        let state = State { outbox: Some(outbox), input: settings.input, ..State::default() };
        let link = Arc::new(Link {
            machine: to.machine,
            common: Arc::clone(common),
            state: Mutex::new(state),
            pulse: Pulse::default(),
        });
        let first = [
            Command::Hello { id: to.id, name: to.name },
            Command::Set(settings.clone()),
            Command::Homes(to.homes, true),
            // It also passes on what Codex asks in those folders.
            Command::Door(to.door),
        ];
        for command in first.iter().chain(sessions.values()) {
            link.tell(command);
        }
        let (own, command, environment) = (Arc::clone(&link), to.command, to.environment);
        let run = move || own.run(&command, environment, unsent);
        threads::start("machine", run)?;
        Ok(link)
    }

    pub(super) fn is_over(&self) -> bool {
        lock(&self.state).outbox.is_none()
    }

    /// Sends a command, and notes what is followed; returns false if there is no room for a session. A machine that takes no more commands is given up.
    pub(super) fn tell(&self, command: &Command) -> bool {
        // A file whose name is no text was not named by this machine.
        let Ok(text) = socket::line(command) else { return false };
        let mut state = lock(&self.state);
        // Noted first: the machine may answer at once, and what was not asked for is dropped.
        match command {
            Command::Follow { .. } if state.sessions.len() >= ENTRIES => return false,
            Command::Follow { session, .. } => drop(state.sessions.insert(*session, command.clone())),
            Command::Stop(id) => drop(state.sessions.remove(id)),
            Command::Answer(id, answer) => state.kept.answered(*id, answer.call),
            Command::Set(settings) => state.input = settings.input,
            _ => {}
        }
        let is_full = state.outbox.as_ref().is_some_and(|outbox| !outbox.send(text));
        drop(state);
        if is_full {
            self.end(Some(lost("it takes no more commands", false)));
        }
        true
    }

    /// The name of `path`, a file in Emacs, on the machine.
    pub(super) fn path_there(&self, path: &Path) -> Option<PathBuf> {
        let path = path.to_str()?.strip_prefix(&self.machine.prefix)?;
        Some(path.strip_prefix("/:").unwrap_or(path).into())
    }

    /// Ends the connection if its process says nothing for so long.
    pub(super) fn look(&self, silence: Duration) {
        if self.pulse.is_over(silence) {
            let reason = format!("it has said nothing for {} seconds", silence.as_secs());
            self.end(Some(lost(&reason, false)));
        }
    }

    /// Ends the connection, and takes back what it told of processes: the next one may name other homes, or end before
    /// it names any. Returns the commands that followed the sessions.
    pub(super) fn leave(&self) -> BTreeMap<SessionId, Command> {
        self.end(None);
        let mut state = lock(&self.state);
        for home in state.kept.take_homes() {
            self.common.queue.push(no_processes(home, Some(self.machine.name.clone())));
        }
        std::mem::take(&mut state.sessions)
    }

    /// Ends the connection if it is not over, and says why.
    pub(super) fn end(&self, lost: Option<Lost>) {
        let mut state = lock(&self.state);
        if state.outbox.take().is_none() {
            return;
        }
        state.child.as_ref().into_iter().for_each(kill);
        if lost.is_some() {
            self.common.queue.push(Message::Connection(self.machine.name.clone(), lost));
        }
    }

    fn run(&self, command: &[String], environment: Vec<(String, String)>, unsent: Unsent) {
        let end = match start(command, environment) {
            Ok((child, (input, output, errors))) => {
                let mut state = lock(&self.state);
                if state.outbox.is_none() {
                    kill(&child);
                }
                state.child = Some(child);
                drop(state);
                let said = Arc::new(Mutex::new(Vec::new()));
                let (kept, (over, ended)) = (Arc::clone(&said), channel::<()>());
                let keep = move || {
                    keep_last(errors, &kept);
                    drop(over);
                };
                let _ = threads::start("errors", keep);
                let mut banner = Some(Vec::new());
                let talk = AssertUnwindSafe(|| self.talk(output, input, unsent, &mut banner));
                let failed = |_| Err("the reader of its messages failed, which is a defect".to_owned());
                let refused = catch_unwind(talk).unwrap_or_else(failed).err();
                self.pulse.end();
                let child = lock(&self.state).child.take();
                let status = child.and_then(|mut child| end(&mut child, refused.is_none()));
                // Something else may still have its standard error.
                let _ = ended.recv_timeout(WAIT);
                let said = std::mem::take(&mut *lock(&said));
                why(refused, status, &said, banner)
            }
            Err(error) => {
                let program = command.first().map_or("nothing", String::as_str);
                lost(&format!("{program} does not start here: {error}"), false)
            }
        };
        self.end(Some(end));
    }

    /// Reads until the process ends its output, which is `Ok`, or is given up, with the reason. What it says before
    /// the greeting is kept in `banner`, and no longer once that has come.
    fn talk(
        &self,
        output: ChildStdout,
        input: ChildStdin,
        unsent: Unsent,
        banner: &mut Option<Vec<u8>>,
    ) -> Result<(), String> {
        // A login shell may have printed something before the first line.
        let mut lines = Lines::new(Heard(output, &self.pulse), LINE);
        while let Some(said) = banner {
            let line = lines.next_line().map_err(|error| error.to_string())?;
            match line {
                Some(Line::Whole(line)) if is_greeting(line)? => *banner = None,
                Some(Line::Whole(line)) if said.len() + line.len() < SMALL_FILE => {
                    said.extend(line);
                    said.push(b'\n');
                }
                None => {
                    said.extend(lines.incomplete());
                    return Ok(());
                }
                Some(_) => return Err(format!("it said too much before the line \"{}\"", pipe::greeting())),
            }
        }
        threads::start("commands", move || unsent.write(input)).map_err(|error| error.to_string())?;
        while let Some(line) = lines.next_line().map_err(|error| error.to_string())? {
            let Line::Whole(line) = line else { return Err(format!("it sent a line of over {LINE} bytes")) };
            self.receive(line)?;
        }
        Ok(())
    }

    /// Takes a line, and reports what the machine's hub does once there is room.
    fn receive(&self, text: &[u8]) -> Result<(), String> {
        let message: Message = serde_json::from_slice(text)
            .map_err(|error| format!("it sent a line that this version does not read: {error}"))?;
        if let Message::Refused(reason) = message {
            return Err(reason);
        }
        self.common.queue.wait_for_room(&message);
        let mut state = lock(&self.state);
        let State { outbox, sessions, kept, input, is_welcomed, .. } = &mut *state;
        if outbox.is_none() || message.session().is_some_and(|id| !sessions.contains_key(&id)) {
            return Ok(());
        }
        if let Message::Welcome { .. } = message {
            if std::mem::replace(is_welcomed, true) {
                return Err("it began twice".to_owned());
            }
            self.common.queue.push(Message::Connection(self.machine.name.clone(), None));
            return Ok(());
        }
        let Some(message) = bound(&self.machine, input, message) else { return Ok(()) };
        if let Message::Unreadable(id, _) = &message {
            sessions.remove(id);
        }
        if kept.count(&message)? {
            self.common.queue.push(message);
        }
        Ok(())
    }
}

/// The output of a process, which is awaited only while it is read.
struct Heard<'a>(ChildStdout, &'a Pulse);

impl Read for Heard<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.1.begin();
        let read = self.0.read(to);
        self.1.end();
        read
    }
}

/// Keeps the last bytes of standard error.
fn keep_last(mut errors: ChildStderr, last: &Mutex<Vec<u8>>) {
    let mut bytes = [0; SMALL_FILE];
    while let Ok(count @ 1..) = errors.read(&mut bytes) {
        let mut last = lock(last);
        last.extend_from_slice(&bytes[..count]);
        let over = last.len().saturating_sub(SMALL_FILE);
        last.drain(..over);
    }
}

/// Whether a line is the greeting.
fn is_greeting(line: &[u8]) -> Result<bool, String> {
    let text = String::from_utf8_lossy(line);
    match text.trim_end().strip_prefix(pipe::WORD).and_then(|rest| rest.trim().parse::<u32>().ok()) {
        Some(pipe::PROTOCOL) => Ok(true),
        Some(other) => Err(format!(
            "its todo-write-mcp speaks version {other} of the protocol, and this Emacs {}; \
             use the same version of todo-write on both",
            pipe::PROTOCOL
        )),
        None => Ok(false),
    }
}

/// Why a connection ended, with what the process said: `banner` is None if the program has begun.
fn why(refused: Option<String>, status: Option<ExitStatus>, errors: &[u8], banner: Option<Vec<u8>>) -> Lost {
    if let (Some(reason), None) = (&refused, &banner) {
        return lost(reason, false);
    }
    let code = status.and_then(|status| status.code()).filter(|_| banner.is_some());
    let said = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join("; ")
    };
    let mut words = vec![refused.unwrap_or_default(), said(errors), said(&banner.unwrap_or_default())];
    words.retain(|words| !words.is_empty());
    let reason = match (words.is_empty(), status) {
        (false, _) => words.join("; "),
        (true, Some(status)) => format!("it ended ({status})"),
        (true, None) => "it ended".to_owned(),
    };
    lost(&reason, code.is_some_and(|code| MISSING.contains(&code)))
}

type Pipes = (ChildStdin, ChildStdout, ChildStderr);

/// Starts a process in a group of its own.
fn start(command: &[String], environment: Vec<(String, String)>) -> io::Result<(Child, Pipes)> {
    let [program, arguments @ ..] = command else { return Err(io::ErrorKind::NotFound.into()) };
    let mut child = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/")
        .process_group(0)
        .spawn()?;
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(input), Some(output), Some(errors)) => Ok((child, (input, output, errors))),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Ends a process and its group; one that ended its output has a while to exit.
fn end(child: &mut Child, is_ending: bool) -> Option<ExitStatus> {
    let deadline = Instant::now() + WAIT;
    while is_ending && Instant::now() < deadline {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
    kill(child);
    let _ = child.wait();
    None
}

/// Signals the group of a process whose end was not awaited yet.
fn kill(child: &Child) {
    let group = rustix::process::Pid::from_child(child);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
}
