//! The hub of a machine, with two streams in place of the queue of Emacs. `todo-write-mcp serve` is this
//! function.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::bound::{HOMES, MOST_ENTRIES};
use super::door::{self, Door};
use super::pipe::{self, Command, Report};
use super::project::project_of;
use super::{Home, Hub, Message, Scope, Settings};
use crate::agents::Agent;
use crate::protocol::Welcome;

/// The number of commands that wait to be obeyed.
const COMMANDS: usize = 256;

/// The machine that is served.
#[derive(Debug)]
pub struct Machine {
    /// The version of the program.
    pub version: String,
    /// The usual folders of agents.
    pub homes: Vec<(Agent, PathBuf)>,
    /// The socket for agents' programs.
    pub socket: PathBuf,
    /// See [`door::Settings::joining`].
    pub joining: Duration,
    /// The user's home, for folders that begin with `~/`.
    pub home: PathBuf,
}

/// What the loop waits for.
enum Input {
    Command(Command),
    /// The hub has messages.
    Bell,
    /// The end of the input, with a sentence if that is an error.
    End(Option<String>),
}

/// Serves a hub that writes commands to `input` and reads reports from `output` until either ends.
///
/// `admit` decides by the name of the Emacs, which no other has, and its name for a person whether it is
/// served: the note for the user, or the reason why not.
///
/// # Errors
/// A sentence if the other side is not one that can be served, or an error of `output`.
pub fn serve(
    machine: Machine,
    input: impl Read + Send + 'static,
    output: impl Write,
    admit: impl FnOnce(&str, &str) -> Result<Option<String>, String>,
) -> Result<(), String> {
    let mut output = Output { to: output, last: Instant::now() };
    // The line feed ends what a login shell printed without one.
    output.line(format!("\n{}", pipe::greeting()).as_bytes())?;
    let (sender, receiver) = sync_channel(COMMANDS);
    let bell = sender.clone();
    let reader = thread::Builder::new().name("todo-write-input".into());
    reader.spawn(move || read(input, &sender)).map_err(|error| error.to_string())?;
    let Ok(Input::Command(Command::Hello { id, name })) = receiver.recv() else {
        return Err("the first line is no greeting of Emacs".to_owned());
    };
    let note = match admit(&id, &name) {
        Ok(note) => note,
        Err(reason) => {
            output.report(Report::Refused(reason.clone()))?;
            return Err(reason);
        }
    };
    output.report(Report::Welcome { version: machine.version.clone(), note })?;
    let bell = Box::new(move || {
        // If there is no room, the loop runs already.
        let _ = bell.try_send(Input::Bell);
    });
    let hub = Hub::new(Settings::default(), bell);
    let served = Served { hub, machine, given: Vec::new(), scope: None, welcome: None };
    served.run(&receiver, &mut output)
}

/// Reads commands until the end of the input.
fn read(input: impl Read, sender: &SyncSender<Input>) {
    let mut input = BufReader::new(input);
    let end = loop {
        let mut line = Vec::new();
        match (&mut input).take(pipe::LARGEST as u64).read_until(b'\n', &mut line) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(error) => break Some(error.to_string()),
        }
        match serde_json::from_slice(&line) {
            Ok(command) => {
                if sender.send(Input::Command(command)).is_err() {
                    return;
                }
            }
            // A later version of Emacs may know more commands.
            Err(_) if line.ends_with(b"\n") => {}
            Err(_) => break None,
        }
    };
    let _ = sender.send(Input::End(end));
}

/// Where reports are written.
struct Output<W> {
    to: W,
    last: Instant,
}

impl<W: Write> Output<W> {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let mut write = || {
            self.to.write_all(line)?;
            self.to.write_all(b"\n")?;
            self.to.flush()
        };
        self.last = Instant::now();
        write().map_err(|error: io::Error| error.to_string())
    }

    /// Writes a report. One whose events are too large is written without them, and says so.
    fn report(&mut self, report: Report) -> Result<(), String> {
        let line = serde_json::to_vec(&report).map_err(|error| error.to_string())?;
        if line.len() < pipe::LARGEST {
            return self.line(&line);
        }
        let Report::Hub(Message::Events(session, mut piece)) = report else { return Ok(()) };
        piece.events.clear();
        piece.warning = Some(format!(
            "an entry of {} MiB is too large to come from another machine, and was left out",
            line.len() >> 20
        ));
        self.report(Report::Hub(Message::Events(session, piece)))
    }
}

/// The scope with the roots of the projects in which its folders are: Emacs does not know them.
fn with_roots(mut scope: Scope) -> Scope {
    let roots: Vec<PathBuf> = scope.project.iter().filter_map(|folder| project_of(folder)).collect();
    scope.project.extend(roots);
    scope
}

/// What is served.
struct Served {
    hub: Hub,
    machine: Machine,
    /// The folders in place of the usual ones.
    given: Vec<(Agent, PathBuf)>,
    scope: Option<Scope>,
    /// What programs were told of the Emacs when the socket was opened.
    welcome: Option<Welcome>,
}

impl Served {
    fn run(mut self, input: &Receiver<Input>, output: &mut Output<impl Write>) -> Result<(), String> {
        let mut has_more = true;
        loop {
            let left = pipe::PULSE.saturating_sub(output.last.elapsed());
            match input.recv_timeout(if has_more { Duration::ZERO } else { left }) {
                Ok(Input::Command(command)) => {
                    self.obey_and_say(command, output)?;
                    has_more = true;
                    continue;
                }
                Ok(Input::Bell) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Input::End(None)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(Input::End(Some(error))) => return Err(error),
            }
            let message = self.hub.take();
            has_more = message.is_some();
            if let Some(message) = message {
                self.pass(message, output)?;
            } else if output.last.elapsed() >= pipe::PULSE {
                output.report(Report::Pulse)?;
            }
        }
    }

    fn obey_and_say(&mut self, command: Command, output: &mut Output<impl Write>) -> Result<(), String> {
        match self.obey(command) {
            Some(state) => output.report(Report::Hub(Message::Door(door::Event::State(state)))),
            None => Ok(()),
        }
    }

    /// Opens the socket, or closes it; returns what programs reach then.
    fn open(&mut self, welcome: Option<Welcome>) -> Option<door::State> {
        let Some(welcome) = welcome else {
            self.hub.close_door();
            return None;
        };
        // It is told again whenever something else is wanted. Programs stay connected then.
        if self.welcome.as_ref() == Some(&welcome) && self.hub.door().is_some() {
            return None;
        }
        let codex = self.homes(None).into_iter().filter(|home| home.agent == Agent::Codex);
        let settings = door::Settings {
            codex: codex.map(|home| home.folder).collect(),
            joining: self.machine.joining,
            ..door::Settings::new(&self.machine.socket, welcome.clone())
        };
        self.welcome = Some(welcome);
        Some(match self.hub.open_door(settings) {
            Ok(()) => self.hub.door().map_or(door::State::Client(None), Door::state),
            Err(reason) => door::State::Failed(reason),
        })
    }

    /// Obeys a command; returns what programs reach if it opened the socket.
    fn obey(&mut self, command: Command) -> Option<door::State> {
        match command {
            Command::Hello { .. } => {}
            Command::Set(settings) => self.hub.set(|own| *own = settings),
            Command::Homes(given, scope) => {
                let at_home = |folder: PathBuf| match folder.strip_prefix("~") {
                    Ok(rest) => self.machine.home.join(rest),
                    Err(_) => folder,
                };
                self.given = given.into_iter().map(|(agent, folder)| (agent, at_home(folder))).collect();
                self.scope = Some(with_roots(scope));
                self.hub.set_homes(self.homes(self.scope.clone()));
            }
            Command::Follow(session, file) => self.hub.follow_as(session, &file),
            Command::Stop(session) => self.hub.stop(session),
            Command::Check(session) => self.hub.check(session),
            Command::Search => self.hub.search(),
            Command::Door(welcome) => return self.open(welcome),
            Command::Answer(connection, answer) => {
                self.hub.door().map(|door| door.answer(connection, answer));
            }
            Command::Tell(session, has_news) => {
                self.hub.door().into_iter().for_each(|door| door.tell(&session, has_news))
            }
            Command::Ring(session) => self.hub.door().into_iter().for_each(|door| door.ring(&session)),
            Command::Choose(round, scope) => self.hub.choose_as(round, self.homes(Some(with_roots(scope)))),
        }
        None
    }

    fn homes(&self, scope: Option<Scope>) -> Vec<Home> {
        let usual = if self.given.is_empty() { &self.machine.homes } else { &self.given };
        let home = |(agent, folder): &(Agent, PathBuf)| {
            let folder = folder.components().collect();
            Home { agent: *agent, folder, scope: scope.clone() }
        };
        usual.iter().take(HOMES).map(home).collect()
    }

    fn pass(&mut self, message: Message, output: &mut Output<impl Write>) -> Result<(), String> {
        let message = match message {
            // Names that are no text are shown as nearly as they can be.
            Message::Found(mut found, unnamed) => {
                let is_text = |path: &Path| path.to_str().is_some();
                let mut unnamed: Vec<PathBuf> =
                    unnamed.iter().map(|path| path.to_string_lossy().into_owned().into()).collect();
                found.retain(|one| is_text(&one.path));
                found.truncate(MOST_ENTRIES);
                unnamed.truncate(MOST_ENTRIES);
                Message::Found(found, unnamed)
            }
            Message::Choices(round, mut choices) => {
                choices.retain(|choice| choice.found.path.to_str().is_some());
                Message::Choices(round, choices)
            }
            // A folder or file whose name is no text was not asked for.
            message => message,
        };
        output.report(Report::Hub(message))
    }
}
