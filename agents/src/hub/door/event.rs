//! What the owner of a door gives it, and gets from it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::hub::bounds::WAIT;
pub use todo_write::wire::program::{ConnectionId, DoorEvent as Event, DoorState as State};
use todo_write::wire::socket::Welcome;

/// Maximum number of connections.
pub(crate) const CONNECTIONS: usize = 200;
/// Maximum number of open questions to the user.
pub(crate) const QUESTIONS: usize = 20;
/// Maximum number of those of one connection. An agent may serve several sessions by one.
pub(crate) const QUESTIONS_OF_ONE: usize = 8;
/// The usual time in which a daemon of Codex accepts a connection.
pub const JOINING: Duration = Duration::from_secs(2);

/// Called when something waits to be taken. It must return at once.
pub type Bell = Box<dyn Fn() + Send + Sync>;

/// Finds the root of the project of a folder, and calls the function with it, from any thread. It must
/// return at once.
pub type Finder = Box<dyn Fn(&Path, Found) + Send + Sync>;

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
            patience: 10 * WAIT,
            finding: WAIT,
            codex: Vec::new(),
            joining: JOINING,
            answering: Duration::from_secs(2),
        }
    }
}
