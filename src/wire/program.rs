//! What Emacs and the program `todo-write-mcp serve` say to each other, a line of JSON each.
//!
//! `doc/protocol.md` lists the messages. The program that another machine runs says the same, and the program
//! of this machine passes it on.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::event::{Agent, Event};
use super::socket::{self, Answer, Welcome};
use crate::events::Millis;
use crate::events::policy::Policy;
use crate::list::input::Options;
use crate::text::path::is_special;

/// The version of these messages.
pub const PROTOCOL: u32 = 2;
/// The word before it in the first line of a program on another machine.
pub const WORD: &str = "todo-write-serve";
/// The time after which a program says that it lives if it has nothing else to say.
pub const PULSE: Duration = Duration::from_secs(5);
/// The silence after which a program counts as dead, and a machine as lost.
pub const SILENCE: Duration = Duration::from_secs(20);

/// The first line of a program on another machine.
pub fn greeting() -> String {
    format!("{WORD} {PROTOCOL}")
}

/// The number of a session that is followed, which Emacs chose.
pub type SessionId = u64;

/// The number of a connection, which no other connection to a door of this process has.
pub type ConnectionId = u64;

/// What Emacs tells the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Which Emacs it is. The first command.
    Hello {
        /// A name that no other Emacs has, the same in each connection.
        id: String,
        /// The user, host and process of the Emacs, for a person.
        name: String,
    },
    /// How much of what the program sent Emacs has read.
    Ack {
        /// The number of bytes since the beginning.
        bytes: u64,
        /// Whether Emacs stopped before it had applied all of them.
        more: bool,
    },
    /// The options.
    Set(Settings),
    /// The folders of agents, `None` for the usual ones, and whether they are searched for live sessions.
    Homes(Option<Vec<(Agent, PathBuf)>>, bool),
    /// Follows the session in a file, from its beginning. One that no user looks at, as of `claude -p`, and that the
    /// user has not asked for is silent until it has a list.
    #[allow(missing_docs)]
    Follow { session: SessionId, file: PathBuf, is_asked: bool },
    /// Ends that.
    Stop(SessionId),
    /// Wants [`Message::Ready`] of a session.
    Check(SessionId),
    /// Searches for sessions.
    Search,
    /// Wants the [`Message::Choices`] of this round: the newest sessions in each folder. The names of a project's root
    /// on the machine, as given and without links, tell which of them are the project's.
    Choose(u64, Vec<PathBuf>),
    /// Opens the socket for agents' programs, or closes it.
    Door(Option<Opening>),
    /// Answers a call that came through the socket.
    Answer(ConnectionId, Answer),
    /// Says whether there is something to tell the agent of a session, so that the hook `note` may ask.
    Tell(String, bool),
    /// Tells the programs that report sessions that there is something to say to the agent of this one.
    Ring(String),
    /// A command for a machine. Files are named as in Emacs.
    There(String, Box<Command>),
    /// Connects to a machine, unless it is connected, and tells it what is wanted of it.
    Connect(Box<Connection>),
    /// Ends the connection to a machine, and following its sessions.
    Disconnect(String),
}

impl Command {
    /// The command for a machine, or for this one.
    pub fn at(self, machine: Option<String>) -> Command {
        match machine {
            Some(machine) => Command::There(machine, Box::new(self)),
            None => self,
        }
    }
}

/// How the socket for agents' programs is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// What programs are told of Emacs.
    pub welcome: Welcome,
    /// Its file; `None` for the usual one.
    pub socket: Option<PathBuf>,
    /// The folders of Codex whose questions come in by it, too; `None` for the usual ones.
    pub codex: Option<Vec<PathBuf>>,
}

/// The options of a hub.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The time between looks at each file that is followed.
    pub interval: Duration,
    /// The silence after which a session is said to be quiet.
    pub quiet: Option<Duration>,
    /// What may be recorded.
    pub policy: Policy,
    /// How lists are read.
    pub input: Options,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            interval: Duration::from_secs(2),
            quiet: None,
            policy: Policy::default(),
            input: Options::default(),
        }
    }
}

/// Events of a session, in the order of its files.
#[derive(Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Piece {
    pub events: Vec<Event>,
    /// Whether all that the files had is read with it.
    pub is_last: bool,
    /// Whether the file was replaced, so that the events begin again.
    pub is_restart: bool,
    /// The number of bytes read in all files.
    pub bytes: u64,
    /// The number of bytes skipped, because a line was too long.
    pub skipped: u64,
    /// The size of the session's file while what it has is read for the first time, else 0.
    pub size: u64,
    /// The bare key of the session's thread, once the file has named it.
    pub thread: Option<String>,
    /// The root of its project, if that was found.
    pub project: Option<String>,
    /// A sentence for the user about lines that could not be read as a whole.
    pub warning: Option<String>,
    /// When the session's file grew.
    pub grew: Option<SystemTime>,
}

/// What the program tells Emacs: that it is there, and what was found, read and asked. Numbers of sessions and rounds
/// are those of the commands, and files are named as on the program's machine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The answer to [`Command::Hello`].
    #[allow(missing_docs)]
    Welcome { version: String },
    /// The Emacs is not served, with the reason. The program ends.
    Refused(String),
    /// It lives.
    Pulse,
    /// Something happened at the socket.
    Door(DoorEvent),
    /// A session's file has new lines.
    Events(SessionId, Piece),
    /// The files of a session and of the processes in its home were read once.
    Ready {
        #[allow(missing_docs)]
        session: SessionId,
        /// Whether its process keeps a file while it lives.
        has_processes: bool,
    },
    /// A session's file has had no line for long.
    Quiet(SessionId),
    /// A session's file is gone, and its process goes on in this one.
    Moved(SessionId, PathBuf),
    /// A session's file cannot be read, with the reason. It is no longer followed.
    Unreadable(SessionId, String),
    /// The processes whose files are in a home, on a machine, `None` for this one: the live ones, and the followed
    /// sessions and ids of those that were killed, which left their files.
    #[allow(missing_docs)]
    Processes { home: PathBuf, machine: Option<String>, live: Vec<Process>, killed: Vec<(String, u32)> },
    /// The transcripts of the main agents of the live sessions in a home that is searched, newest first.
    #[allow(missing_docs)]
    Found { home: PathBuf, sessions: Vec<PathBuf> },
    /// The answer to [`Command::Choose`].
    Choices(u64, Vec<Choice>),
    /// A root has not answered for ten seconds, or answers again.
    Stuck(PathBuf, bool),
    /// What read a root failed, which is a defect. Its sessions are read on.
    Broken(PathBuf),
    /// Something happened at the socket of a machine.
    DoorThere(String, DoorEvent),
    /// The connection to a machine was made, or was lost.
    Connection(String, Option<Lost>),
}

impl Message {
    /// The reader of a session failed, which is a defect. It is no longer followed.
    pub fn failed(id: SessionId) -> Message {
        Message::Unreadable(id, "its reader failed; please report this".into())
    }

    /// The session that it is about; `None` if it is about others, too.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Message::Events(id, _)
            | Message::Ready { session: id, .. }
            | Message::Quiet(id)
            | Message::Moved(id, _)
            | Message::Unreadable(id, _) => Some(*id),
            _ => None,
        }
    }
}

/// How a connection to a machine was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// A phrase for the user, with the last lines of the process.
    pub reason: String,
    /// Whether the program was not found there.
    pub is_missing: bool,
}

/// What happened at a socket for agents' programs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoorEvent {
    /// A program said something; first `hello`. The times of a call are by the clock of the program's machine.
    Message(ConnectionId, socket::Message),
    /// A connection that began with `hello` has closed. Its open calls are taken back.
    Closed(ConnectionId),
    /// Programs are of another version, and must be set up again. This is said once.
    Outdated,
    /// The state of the door changed by itself.
    State(DoorState),
}

/// Whom programs reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoorState {
    /// They reach this door.
    Open,
    /// They reach another Emacs, of that process id, if it is known. This door takes over when that ends.
    Client(Option<u32>),
    /// They reach none, for that reason. This door tries again after a while.
    Failed(String),
}

/// A live process, in the words of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Process {
    pub pid: u32,
    /// The machine on which it runs; `None` for this one.
    pub machine: Option<String>,
    /// Whether a signal such as SIGSTOP stopped it.
    pub is_suspended: bool,
    pub file: PathBuf,
    pub session: Option<String>,
    /// What it does: `idle`, `busy`, `shell` or `waiting`.
    pub status: Option<String>,
    pub waiting_for: Option<String>,
    /// What its job in the background needs, such as `approve Bash: npm test`.
    pub needs: Option<String>,
    pub folder: Option<String>,
    /// When it started, which tells it from a later process with its id.
    pub start: Option<String>,
}

/// A session to choose.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Choice {
    /// When its file was modified.
    pub modified: Millis,
    pub path: PathBuf,
    pub is_of_project: bool,
    pub description: Description,
}

/// The description of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Description {
    pub agent: Agent,
    pub session: String,
    pub folder: Option<String>,
    /// The title, or the first prompt.
    pub title: Option<String>,
    /// Whether the session is a subagent's or a reviewer's.
    pub is_subagent: bool,
    /// Whether this version of Claude Code has files of its processes: those that name the interface
    /// in their lines do.
    pub has_processes: bool,
}

/// How a machine is reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Connection {
    pub machine: Machine,
    /// The program, an absolute name, and its arguments.
    pub command: Vec<String>,
    /// The variables that it gets, and no others.
    pub environment: Vec<(String, String)>,
    /// A name that no other Emacs has.
    pub id: String,
    /// The user, host and process of this Emacs.
    pub name: String,
    /// The folders of agents there in place of the usual ones, if there are any.
    pub homes: Option<Vec<(Agent, PathBuf)>>,
    /// What agents' programs there are told of this Emacs; `None` if it takes no calls.
    pub door: Option<Opening>,
}

/// A machine other than this one, on which sessions run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name, with which the keys of its threads begin.
    pub name: String,
    /// The beginning of its files' names in Emacs, such as `/ssh:build:`.
    pub prefix: String,
}

impl Machine {
    /// The name by which Emacs opens a folder that a session names; `None` if it is not absolute or
    /// has control characters. It never is the name of a file on another machine.
    pub fn folder(&self, folder: &str) -> Option<String> {
        let is_possible = folder.starts_with('/') && !folder.contains(char::is_control);
        let quote = if is_special(folder) { "/:" } else { "" };
        is_possible.then(|| format!("{}{quote}{folder}", self.prefix))
    }
}
