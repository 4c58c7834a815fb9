//! What comes from outside: threads that find, watch and read the sessions of agents.
//!
//! The owner of a [`Hub`] gives it commands and takes [`Message`]s from it, and never waits for a file.
//! The bell rings when there is something to take. The queue is bounded: when it is full, readers wait.
//!
//! A *root* is an agent's folder, or a file system on which a project or another file is. At most one worker reads in a
//! root at a time, so that a file system that hangs holds one worker and nothing else. A worker that
//! reads for over a second bars its root: no other reader waits for that root until it answers.
//!
//! The hub knows nothing of Emacs, and nothing of threads and journals: `apply` brings events into
//! them on the owner's side.

pub mod apply;
#[cfg(unix)]
mod bound;
#[cfg(unix)]
mod codex;
pub mod door;
mod home;
#[cfg(unix)]
mod limits;
#[cfg(unix)]
mod machine;
pub mod pipe;
mod processes;
mod project;
mod queue;
#[cfg(unix)]
mod quiet;
mod roots;
mod search;
#[cfg(unix)]
pub mod serve;
mod session;
mod state;
mod watch;
mod workers;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::agents::claude::process_files::Process;
use crate::agents::{Agent, Event};
use crate::events::policy::Policy;
use crate::list::input::Options;

use door::Door;
pub use home::{Home, Scope};
#[cfg(unix)]
pub use machine::Connection;
pub use project::mount_of;
pub use search::{Choice, Found};

use processes::ProcessesTask;
use project::project_of;
use roots::{Job, Key, Work};
use search::{ChooseTask, SearchTask};
use session::SessionTask;
use state::Followed;
use workers::Shared;

/// The number of a session that is followed.
pub type SessionId = u64;

/// Called whenever messages wait for [`Hub::take`]. It must return at once.
pub type Bell = Box<dyn FnMut() + Send>;

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
pub struct Piece {
    /// The events.
    pub events: Vec<Event>,
    /// Whether all that the files had is read with it.
    pub is_last: bool,
    /// Whether the file was replaced, so that the events begin again.
    pub is_restart: bool,
    /// The number of bytes read in all files.
    pub bytes: u64,
    /// The number of bytes skipped, because a line or a file was too long.
    pub skipped: u64,
    /// The size of the session's file while what it has is read for the first time, else 0.
    #[serde(default)]
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

/// What the hub reports.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// Something happened at the socket.
    Door(door::Event),
    /// A session's file has new lines.
    Events(SessionId, Piece),
    /// The files of a session and of the processes in its home were read once.
    Ready {
        /// The session.
        session: SessionId,
        /// Whether its process keeps a file while it lives.
        has_processes: bool,
    },
    /// A session's file had its last line at this time, and is quiet since.
    Quiet(SessionId, SystemTime),
    /// No line tells for two minutes whether the session's agent, Codex, still works.
    Silent(SessionId),
    /// A session's file is gone, and its process goes on in this one.
    Moved(SessionId, PathBuf),
    /// A session's file cannot be read, with the reason. It is no longer followed.
    Unreadable(SessionId, String),
    /// The reader of a session failed, which is a defect. It is no longer followed.
    Failed(SessionId),
    /// The processes whose files are in a home: the live ones, and the sessions and ids of those that
    /// were killed.
    Processes {
        /// The folder of the home.
        home: PathBuf,
        /// The machine, `None` for this one.
        machine: Option<String>,
        /// The live processes.
        live: Vec<Process>,
        /// The sessions that are followed of which a killed process left its file.
        killed: Vec<(String, u32)>,
    },
    /// The sessions in the homes that are searched, newest first, and those whose names are no text.
    Found(Vec<Found>, Vec<PathBuf>),
    /// The answer to [`Hub::choose`].
    Choices(u64, Vec<Choice>),
    /// A root has not answered for ten seconds, or answers again.
    Stuck(PathBuf, bool),
    /// What read a root failed, which is a defect. Its sessions are read on.
    Broken(PathBuf),
    /// Something happened at the socket of a machine.
    DoorThere(String, door::Event),
    /// The connection to a machine was made or lost.
    Connection(String, ConnectionState),
}

impl Message {
    /// The session that it is about; `None` if it is about others, too.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Message::Events(id, _)
            | Message::Ready { session: id, .. }
            | Message::Quiet(id, _)
            | Message::Silent(id)
            | Message::Moved(id, _)
            | Message::Unreadable(id, _)
            | Message::Failed(id) => Some(*id),
            _ => None,
        }
    }
}

/// Maximum number of folders of Codex whose questions are passed on.
#[cfg(unix)]
const CODEX: usize = 4;

/// The number that was given last. No other hub gives it again, so that a message of a hub that ended
/// is never taken for one of the next.
static LAST: AtomicU64 = AtomicU64::new(0);

fn next_number() -> u64 {
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// What became of the connection to a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionState {
    /// It serves this hub.
    Connected {
        /// The version of its program.
        version: String,
        /// A sentence for the user about what does not work there.
        note: Option<String>,
    },
    /// It ended.
    Lost {
        /// A phrase for the user, with the last lines of the process.
        reason: String,
        /// Whether the program was not found there.
        is_missing: bool,
    },
}

/// Reads and watches sessions.
#[derive(Debug)]
pub struct Hub {
    shared: Arc<Shared>,
    door: Option<Door>,
    /// The threads that pass on questions of Codex by the door.
    #[cfg(unix)]
    codex: Vec<codex::Codex>,
    /// Whether calls of machines go before those of this one.
    is_turn_of_machines: AtomicBool,
}

impl Hub {
    /// Starts a hub.
    pub fn new(settings: Settings, bell: Bell) -> Hub {
        Hub {
            shared: Shared::start(settings, bell),
            door: None,
            #[cfg(unix)]
            codex: Vec::new(),
            is_turn_of_machines: AtomicBool::new(false),
        }
    }

    /// Changes the options. Reads that are under way end with the old ones.
    pub fn set(&self, change: impl FnOnce(&mut Settings)) {
        let mut state = self.shared.lock();
        let mut settings = (*state.settings).clone();
        change(&mut settings);
        state.settings = Arc::new(settings);
        #[cfg(unix)]
        state.tell_machines(&pipe::Command::Set((*state.settings).clone()));
        self.shared.look_at_all(&mut state);
    }

    /// Tells a machine something; returns false if it is not connected.
    pub fn tell_machine(&self, machine: &str, command: &pipe::Command) -> bool {
        #[cfg(unix)]
        return self.shared.lock().tell_machine(machine, command);
        #[cfg(not(unix))]
        false
    }

    /// Follows the session in `path` from its beginning.
    pub fn follow(&self, path: &Path) -> SessionId {
        let id = next_number();
        self.follow_as(id, path);
        id
    }

    /// Follows the session in `path` by a number that its owner chose, which is not that of another one.
    pub fn follow_as(&self, id: SessionId, path: &Path) {
        let task = SessionTask::new(id, path.to_owned());
        let mut state = self.shared.lock();
        let root = state.root_of(path);
        state.files.entry(path.to_owned()).or_default().push(id);
        state.sessions.insert(
            id,
            Followed { root: root.clone(), path: path.to_owned(), session: None, has_processes: false },
        );
        self.shared.add(&mut state, root, Key::Session(id), Work::Session(Box::new(task)));
    }

    /// Ends following a session. Messages about it that were not taken yet are dropped.
    pub fn stop(&self, id: SessionId) {
        let mut state = self.shared.lock();
        state.forget(id);
        state.queue.drop_session(id);
        self.shared.room.notify_all();
    }

    /// Reports [`Message::Ready`] once all that the session's files and those of processes have now was
    /// read.
    pub fn check(&self, id: SessionId) {
        let mut state = self.shared.lock();
        let Some(root) = state.sessions.get(&id).map(|one| one.root.clone()) else { return };
        #[cfg(unix)]
        if let Some(connected) = state.machine_of(id) {
            return connected.tell(&pipe::Command::Check(id));
        }
        state.checks.insert(id);
        self.shared.look_at_task(&mut state, &root, &Key::Session(id));
    }

    /// Sets the folders of agents. Those with a scope are searched for sessions, now and when they change.
    pub fn set_homes(&self, homes: Vec<Home>) {
        let mut state = self.shared.lock();
        let gone: Vec<PathBuf> = state
            .homes
            .keys()
            .filter(|folder| !homes.iter().any(|home| home.folder == **folder))
            .cloned()
            .collect();
        for folder in gone {
            state.homes.remove(&folder);
            state.live.remove(&folder);
            state.elsewhere.remove(&folder);
            let (home, live, killed) = (folder.clone(), Vec::new(), Vec::new());
            let message = Message::Processes { home, machine: None, live, killed };
            state.queue.push(message, false);
            state.remove(&folder, &Key::Processes);
            state.remove(&folder, &Key::Search);
            state.found.remove(&folder);
        }
        // What was found before may be elsewhere.
        state.queue.drop_found();
        for home in homes {
            let folder = home.folder.clone();
            let home = Arc::new(home);
            let known = state.homes.insert(folder.clone(), Arc::clone(&home));
            if known.is_none() && home.agent == Agent::Claude {
                let task = Work::Processes(Box::new(ProcessesTask::new(folder.clone())));
                self.shared.add(&mut state, folder.clone(), Key::Processes, task);
            }
            if home.scope.is_some() {
                if known.is_none_or(|known| known.scope != home.scope) {
                    state.found.insert(folder.clone(), None);
                }
                let task = || Work::Search(Box::new(SearchTask::new(folder.clone())));
                self.shared.add_or_look(&mut state, &folder, Key::Search, task);
            } else {
                state.remove(&folder, &Key::Search);
                state.found.remove(&folder);
            }
            self.shared.look_at_task(&mut state, &folder, &Key::Processes);
        }
    }

    /// Searches again.
    pub fn search(&self) {
        let mut state = self.shared.lock();
        let searched: Vec<PathBuf> = state.found.keys().cloned().collect();
        if searched.is_empty() {
            state.report_found();
        }
        for folder in searched {
            self.shared.look_at_task(&mut state, &folder, &Key::Search);
        }
        #[cfg(unix)]
        state.tell_machines(&pipe::Command::Search);
    }

    /// Describes the newest sessions in `homes`, each by its own scope; see [`Message::Choices`].
    pub fn choose(&self, homes: Vec<Home>) -> u64 {
        let round = next_number();
        self.choose_as(round, homes);
        round
    }

    /// Describes the newest sessions in `homes` in a round whose number its owner chose.
    pub fn choose_as(&self, round: u64, homes: Vec<Home>) {
        let mut state = self.shared.lock();
        let roots: HashMap<PathBuf, bool> = homes.iter().map(|home| (home.folder.clone(), false)).collect();
        state.rounds.insert(round, (roots, Vec::new()));
        for home in homes {
            let (root, key) = (state.root_of(&home.folder), Key::Choose(round, home.folder.clone()));
            let task = Work::Choose(Box::new(ChooseTask::new(round, home)));
            self.shared.add(&mut state, root, key, task);
        }
        state.end_rounds();
    }

    /// Opens the socket for agents' programs, in place of one that is open.
    ///
    /// # Errors
    /// As [`Door::open`].
    pub fn open_door(&mut self, settings: door::Settings) -> Result<(), String> {
        self.close_door();
        let shared = Arc::downgrade(&self.shared);
        let bell = move || {
            if let Some(shared) = shared.upgrade() {
                shared.lock().queue.ring();
            }
        };
        let shared = Arc::downgrade(&self.shared);
        // There is no answer if the folder's file system does not answer.
        let finder = move |folder: &Path, found: door::Found| {
            let Some(shared) = shared.upgrade() else { return found(None) };
            let (folder, mount) = (folder.to_owned(), mount_of(folder));
            let mut state = shared.lock();
            if !state.roots.is_barred(&mount) {
                let find = move || found(folder.is_dir().then(|| project_of(&folder).unwrap_or(folder)));
                let job = Work::Job(Job(Some(Box::new(find))));
                shared.add(&mut state, mount, Key::Job(next_number()), job);
            }
        };
        #[cfg(unix)]
        let folders = settings.codex.clone();
        let door = Door::open(settings, Box::new(finder), Box::new(bell))?;
        #[cfg(unix)]
        self.codex.extend(
            folders.iter().take(CODEX).filter_map(|folder| codex::Codex::start(folder, door.entrance())),
        );
        self.door = Some(door);
        Ok(())
    }

    /// Closes the socket and all its connections.
    pub fn close_door(&mut self) {
        self.door = None;
        #[cfg(unix)]
        self.codex.clear();
    }

    /// The socket, if it was opened.
    pub fn door(&self) -> Option<&Door> {
        self.door.as_ref()
    }

    /// The next message. What happened at sockets comes first. The caller rings by [`Hub::ring_again`] if
    /// it leaves some.
    pub fn take(&self) -> Option<Message> {
        let call = self.take_call(false).map(|(machine, event)| match machine {
            None => Message::Door(event),
            Some(machine) => Message::DoorThere(machine, event),
        });
        call.or_else(|| self.take_read())
    }

    /// What happened next at the socket, or at that of a machine, with the machine's name. They take turns,
    /// unless only the socket `is_here` is wanted.
    pub fn take_call(&self, is_here: bool) -> Option<(Option<String>, door::Event)> {
        let here = || self.door.as_ref().and_then(Door::take).map(|event| (None, event));
        if is_here {
            return here();
        }
        let there = || {
            let taken = self.shared.lock().queue.take_there()?;
            self.shared.room.notify_all();
            Some((Some(taken.0), taken.1))
        };
        if self.is_turn_of_machines.fetch_xor(true, Ordering::Relaxed) {
            there().or_else(here)
        } else {
            here().or_else(there)
        }
    }

    /// The next message of what was read. The caller takes calls by [`Hub::take_call`].
    pub fn take_read(&self) -> Option<Message> {
        let mut state = self.shared.lock();
        let message = state.queue.take();
        if message.is_some() {
            self.shared.room.notify_all();
        }
        message
    }

    /// Rings the bell.
    pub fn ring(&self) {
        self.shared.lock().queue.ring();
    }

    /// Rings the bell if messages wait.
    pub fn ring_again(&self) {
        if self.door.as_ref().is_some_and(Door::has_news) {
            self.ring();
        } else {
            self.shared.lock().queue.ring_again();
        }
    }

    /// Ends the threads. The bell rings no more; threads that a file system holds end with it.
    pub fn close(&self) {
        let mut state = self.shared.lock();
        state.close();
        self.shared.work.notify_all();
        self.shared.room.notify_all();
    }

    /// About how many bytes wait to be taken.
    pub fn waiting_bytes(&self) -> usize {
        self.shared.lock().queue.weight()
    }

    /// Whether any worker is left.
    pub fn is_alive(&self) -> bool {
        self.shared.lock().workers > 0
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait_until;

    /// Waits for a message that `find` accepts.
    fn wait(hub: &Hub, find: impl Fn(&Message) -> bool) {
        wait_until("a message", || hub.take().as_ref().is_some_and(&find));
    }

    #[test]
    fn a_panic_in_a_reader_ends_that_session_only() {
        let folder = std::env::temp_dir().join(format!("todo-write-hub-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap_or_default();
        let good = folder.join("good.jsonl");
        std::fs::write(&good, "{}\n").unwrap_or_default();
        let hub = Hub::new(Settings::default(), Box::new(|| {}));
        let panics = hub.follow(&folder.join("panics.jsonl"));
        wait(&hub, |message| matches!(message, Message::Failed(id) if *id == panics));
        let other = hub.follow(&good);
        wait(&hub, |message| matches!(message, Message::Ready { session, .. } if *session == other));
        std::fs::remove_dir_all(&folder).unwrap_or_default();
    }

    #[test]
    fn a_session_that_waits_for_processes_is_ready_once_nobody_reads_them() {
        let hub = Hub::new(Settings::default(), Box::new(|| {}));
        let mut state = hub.shared.lock();
        let (root, path) = (PathBuf::from("/home"), PathBuf::from("/home/s.jsonl"));
        let followed = Followed { root: root.clone(), path, session: None, has_processes: false };
        state.sessions.insert(1, followed);
        state.caught_up.push(1);
        state.remove(&root, &Key::Processes);
        assert!(matches!(state.queue.take(), Some(Message::Ready { session: 1, .. })));
    }
}
