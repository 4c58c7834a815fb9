//! The hub behind two streams: commands come in, and reports go out. `todo-write-mcp serve` is this function,
//! for the Emacs whose child it is and, over ssh, for one on another machine.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use todo_write::wire::event::Agent;
use todo_write::wire::program::{self, Command, Message, Opening, Report, Settings};

use super::bell::Bell;
use super::bounds::LINE;
use super::door::{self, Door};
use super::handle::Hub;
use super::home::Home;
use super::lines::{Line, Lines};

/// The machine that is served.
#[derive(Debug)]
pub struct Machine {
    /// The version of the program.
    pub version: String,
    /// The usual folders of agents.
    pub homes: Vec<(Agent, PathBuf)>,
    /// The usual socket for agents' programs.
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
    News,
    /// The end of the input, with a sentence if that is an error.
    End(Option<String>),
}

/// Serves a hub that reads commands from `input` and writes reports to `output` until either ends. `bell` rings
/// for the Emacs that reads them; another program reads by itself.
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
    bell: Option<Arc<Bell>>,
    admit: impl FnOnce(&str, &str) -> Result<Option<String>, String>,
) -> Result<(), String> {
    let mut output = Output { to: output, bell: bell.clone(), last: Instant::now() };
    if bell.is_none() {
        // The line feed ends what a login shell printed without one.
        output.line(format!("\n{}", program::greeting()).as_bytes(), false)?;
    }
    // It takes what comes, since Emacs bounds what it sends: a reader that waited for the loop would not read
    // that Emacs has read, for which the loop may wait.
    let (sender, receiver) = channel();
    let news = sender.clone();
    let reader = thread::Builder::new().name("todo-write-input".into());
    reader.spawn(move || read(input, &sender, bell)).map_err(|error| error.to_string())?;
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
    let hub = Hub::new(Settings::default(), Box::new(move || drop(news.send(Input::News))));
    let served = Served { hub, machine, homes: None, opening: None };
    served.run(&receiver, &mut output)
}

/// Reads commands until the end of the input.
fn read(input: impl Read, sender: &Sender<Input>, bell: Option<Arc<Bell>>) {
    let mut lines = Lines::new(input, LINE);
    let end = loop {
        match lines.next_line() {
            Ok(Some(Line::Whole(line))) => match (serde_json::from_slice(&line), &bell) {
                (Ok(Command::Ack { bytes, more }), Some(bell)) => bell.acknowledge(bytes, more),
                (Ok(command), _) => {
                    if sender.send(Input::Command(command)).is_err() {
                        return;
                    }
                }
                // A later version of Emacs may know more commands.
                (Err(_), _) => {}
            },
            Ok(Some(Line::TooLong)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    let _ = sender.send(Input::End(end));
}

/// Where reports are written.
struct Output<W> {
    to: W,
    bell: Option<Arc<Bell>>,
    last: Instant,
}

impl<W: Write> Output<W> {
    fn line(&mut self, line: &[u8], is_urgent: bool) -> Result<(), String> {
        if let Some(bell) = &self.bell {
            bell.announce(line.len() + 1, is_urgent);
        }
        let mut write = || {
            self.to.write_all(line)?;
            self.to.write_all(b"\n")?;
            self.to.flush()
        };
        self.last = Instant::now();
        write().map_err(|error: io::Error| error.to_string())
    }

    /// Writes a report. All of them are short, since pieces are cut where they are read and tables are bounded; a
    /// name that is not text cannot be sent.
    fn report(&mut self, report: Report) -> Result<(), String> {
        let is_urgent = !matches!(report, Report::Hub(Message::Events(..)) | Report::Pulse);
        match serde_json::to_vec(&report) {
            Ok(line) if line.len() <= LINE => self.line(&line, is_urgent),
            _ => Ok(()),
        }
    }
}

/// What is served.
struct Served {
    hub: Hub,
    machine: Machine,
    /// The folders in place of the usual ones.
    homes: Option<Vec<(Agent, PathBuf)>>,
    /// How the socket was opened.
    opening: Option<Opening>,
}

impl Served {
    fn run(mut self, input: &Receiver<Input>, output: &mut Output<impl Write>) -> Result<(), String> {
        let mut has_more = true;
        loop {
            let left = program::PULSE.saturating_sub(output.last.elapsed());
            match input.recv_timeout(if has_more { Duration::ZERO } else { left }) {
                Ok(Input::Command(command)) => {
                    if let Some(state) = self.obey(command) {
                        output.report(Report::Hub(Message::Door(door::Event::State(state))))?;
                    }
                    has_more = true;
                    continue;
                }
                Ok(Input::News) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Input::End(None)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(Input::End(Some(error))) => return Err(error),
            }
            let message = self.hub.take();
            has_more = message.is_some();
            if let Some(message) = message {
                output.report(Report::Hub(message))?;
            } else if output.last.elapsed() >= program::PULSE {
                output.report(Report::Pulse)?;
            }
        }
    }

    /// Obeys a command; returns whom programs reach if it opened the socket.
    fn obey(&mut self, command: Command) -> Option<door::State> {
        let hub = &mut self.hub;
        match command {
            Command::Hello { .. } | Command::Ack { .. } => {}
            Command::Set(settings) => hub.set(|own| *own = settings),
            Command::Homes(homes, is_searched) => {
                let at_home = |folder: PathBuf| match folder.strip_prefix("~") {
                    Ok(rest) => self.machine.home.join(rest),
                    Err(_) => folder,
                };
                let at_home = |(agent, folder)| (agent, at_home(folder));
                self.homes = homes.map(|homes| homes.into_iter().map(at_home).collect());
                let homes = self.homes(is_searched);
                self.hub.set_homes(homes);
            }
            Command::Follow { session, file, is_asked } => hub.follow(session, &file, is_asked),
            Command::Stop(session) => hub.stop(session),
            Command::Check(session) => hub.check(session),
            Command::Search => hub.search(),
            Command::Choose(round, mut project) => {
                // Emacs does not know the roots of projects on another machine.
                let roots: Vec<PathBuf> = project.iter().filter_map(|one| hub.project_of(one)).collect();
                project.extend(roots);
                self.hub.choose(round, self.homes(false), &project);
            }
            Command::Door(opening) => return self.open(opening),
            Command::Answer(connection, answer) => {
                hub.door().map(|door| door.answer(connection, answer));
            }
            Command::Tell(session, has_news) => {
                hub.door().into_iter().for_each(|door| door.tell(&session, has_news));
            }
            Command::Ring(session) => hub.door().into_iter().for_each(|door| door.ring(&session)),
            Command::There(machine, command) => match *command {
                Command::Follow { session, file, is_asked } => {
                    hub.follow_there(session, &machine, &file, is_asked);
                }
                Command::Choose(round, project) => hub.choose_there(round, &machine, project),
                command => drop(hub.tell_machine(&machine, &command)),
            },
            Command::Connect(to) => hub.connect(*to),
            Command::Disconnect(machine) => hub.disconnect(&machine),
        }
        None
    }

    /// Opens the socket, or closes it; returns whom programs reach then.
    fn open(&mut self, opening: Option<Opening>) -> Option<door::State> {
        let Some(opening) = opening else {
            self.hub.close_door();
            return None;
        };
        // It is told again whenever something else is wanted. Programs stay connected then.
        if self.opening.as_ref() == Some(&opening) && self.hub.door().is_some() {
            return None;
        }
        let usual = || {
            let codex = self.homes(false).into_iter().filter(|home| home.agent == Agent::Codex);
            codex.map(|home| home.folder).collect()
        };
        let socket = opening.socket.as_ref().unwrap_or(&self.machine.socket);
        let settings = door::Settings {
            codex: opening.codex.clone().unwrap_or_else(usual),
            joining: self.machine.joining,
            ..door::Settings::new(socket, opening.welcome.clone())
        };
        self.opening = Some(opening);
        Some(match self.hub.open_door(settings) {
            Ok(()) => self.hub.door().map_or(door::State::Client(None), Door::state),
            Err(reason) => door::State::Failed(reason),
        })
    }

    fn homes(&self, is_searched: bool) -> Vec<Home> {
        let home = |(agent, folder): &(Agent, PathBuf)| {
            let folder = folder.components().collect();
            Home { agent: *agent, folder, is_searched }
        };
        self.homes.as_ref().unwrap_or(&self.machine.homes).iter().map(home).collect()
    }
}
