//! The hub as its owner has it. Nothing here waits: threads are told what to do, and what they report is taken.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::around::{Around, Common, Pulse};
use super::codex;
use super::door::{self, Door};
use super::home::Home;
use super::machine::{Link, lost};
use super::project::mount_of;
use super::root::{self, Order};
use super::search::choose;
use super::watch::{Changes, Watches};
use crate::threads::{self, lock};
use todo_write::wire::bounds::WAIT;
use todo_write::wire::event::Agent;
use todo_write::wire::program::{Command, Connection, Message, Opening, SessionId, Settings};

/// The time for which a root may not answer before that is said.
const STUCK: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
/// Maximum number of folders of Codex whose questions are passed on.
const CODEX: usize = 4;

/// What the program knows of the user and the machine that it runs for.
#[derive(Clone, Debug)]
pub struct Local {
    /// The user's home, for folders that begin with `~/`.
    pub home: PathBuf,
    /// The usual folders of agents.
    pub homes: Vec<(Agent, PathBuf)>,
    /// The usual socket for agents' programs.
    pub socket: PathBuf,
    /// The silence after which a machine counts as lost.
    pub silence: Duration,
    /// How long a daemon of Codex may take to accept a connection and to send what a session waits for, and to say
    /// that a question is answered.
    pub codex: Duration,
}

/// What the owner wants. It is locked for moments only.
struct Table {
    settings: Arc<Settings>,
    homes: Vec<Home>,
    roots: HashMap<PathBuf, Thread>,
    /// The root of each session on this machine. It keeps that, since homes come and go.
    sessions: HashMap<SessionId, PathBuf>,
    /// The machines to which this hub was connected, by their names.
    machines: BTreeMap<String, Arc<Link>>,
    door: Option<(Opening, Door)>,
    /// When it was last looked after threads that hang.
    looked: Instant,
}

/// The thread of a root.
#[derive(Debug)]
struct Thread {
    orders: Sender<Order>,
    pulse: Arc<Pulse>,
    is_stuck: bool,
}

/// Reads and watches sessions, and serves agents' programs.
pub struct Hub {
    local: Local,
    common: Arc<Common>,
    table: Mutex<Table>,
}

impl Hub {
    /// A hub that does nothing yet.
    pub fn new(local: Local) -> Hub {
        let table = Table {
            settings: Arc::default(),
            homes: homes(&local, None, false),
            roots: HashMap::new(),
            sessions: HashMap::new(),
            machines: BTreeMap::new(),
            door: None,
            looked: Instant::now(),
        };
        Hub { local, common: Arc::default(), table: Mutex::new(table) }
    }

    /// Does what Emacs says, or has it done. The results are messages.
    pub fn obey(&self, command: Command) {
        let mut table = lock(&self.table);
        if self.common.queue.is_closed() {
            return;
        }
        match command {
            Command::Hello { .. } | Command::Ack { .. } => {}
            Command::Set(settings) => {
                table.settings = Arc::new(settings.clone());
                let order = || Order::Set(Arc::clone(&table.settings));
                table.roots.values().for_each(|thread| drop(thread.orders.send(order())));
                let command = Command::Set(settings);
                table.machines.values().for_each(|link| _ = link.tell(&command));
            }
            Command::Homes(homes, is_searched) => self.set_homes(&mut table, homes, is_searched),
            Command::Follow { session, file, is_asked } => {
                let root = table.root_of(&file);
                self.tell(&mut table, &root, Order::Follow(session, file, is_asked));
                table.sessions.insert(session, root);
            }
            Command::Stop(id) => {
                if let Some(root) = table.sessions.remove(&id) {
                    self.tell(&mut table, &root, Order::Stop(id));
                }
            }
            Command::Check(id) => {
                if let Some(root) = table.sessions.get(&id).cloned() {
                    self.tell(&mut table, &root, Order::Check(id));
                }
            }
            Command::Search => {
                self.search(&mut table);
                table.machines.values().for_each(|link| _ = link.tell(&Command::Search));
            }
            Command::Choose(round, project) => choose(&self.common, round, table.homes.clone(), project),
            Command::Door(opening) => self.open(&mut table, opening),
            Command::Answer(connection, answer) => {
                table.door.as_ref().map(|(_, door)| door.answer(connection, answer));
            }
            Command::Tell(session, has_news) => {
                table.door.iter().for_each(|(_, door)| door.tell(&session, has_news));
            }
            Command::Ring(session) => table.door.iter().for_each(|(_, door)| door.ring(&session)),
            Command::There(machine, command) => self.obey_there(&table, &machine, *command),
            Command::Connect(to) => self.connect(&mut table, *to),
            Command::Disconnect(machine) => {
                table.machines.remove(&machine).into_iter().for_each(|link| drop(link.leave()));
            }
        }
    }

    /// The next message, calls first, for which this waits so long at most. `None` also for one that is of
    /// no use any more, and at once if the hub is closed.
    pub fn take(&self, time: Duration) -> Option<Message> {
        let mut table = lock(&self.table);
        if table.looked.elapsed() >= WAIT {
            table.looked = Instant::now();
            for (root, thread) in &mut table.roots {
                let is_stuck = thread.pulse.is_over(STUCK);
                if std::mem::replace(&mut thread.is_stuck, is_stuck) != is_stuck {
                    self.common.queue.push(Message::Stuck(root.clone(), is_stuck));
                }
            }
            table.machines.values().for_each(|link| link.look(self.local.silence));
        }
        drop(table);
        self.common.queue.take(time.min(WAIT)).filter(|message| match message {
            // Without a door, what one left is of no use.
            Message::Door(event) => lock(&self.table).door.as_ref().is_some_and(|(_, door)| door.take(event)),
            _ => true,
        })
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.common.queue.is_closed()
    }

    /// Ends the threads. One that a file system holds ends with that.
    pub fn close(&self) {
        self.common.queue.close();
        let mut table = lock(&self.table);
        table.door = None;
        std::mem::take(&mut table.machines).values().for_each(|link| drop(link.leave()));
        table.roots.drain().for_each(|(_, thread)| drop(thread.orders.send(Order::Close)));
    }

    /// About how many bytes wait to be taken.
    pub fn waiting_bytes(&self) -> usize {
        self.common.queue.bytes()
    }

    /// Whether any of its threads is left.
    pub fn is_alive(&self) -> bool {
        Arc::strong_count(&self.common) > 1
    }

    fn set_homes(&self, table: &mut Table, named: Option<Vec<(Agent, PathBuf)>>, is_searched: bool) {
        let new = homes(&self.local, named, is_searched);
        for old in std::mem::replace(&mut table.homes, new) {
            if table.homes.iter().all(|home| home.folder != old.folder) {
                self.tell(table, &old.folder, Order::Home(None));
            }
        }
        self.search(table);
    }

    fn search(&self, table: &mut Table) {
        for home in table.homes.clone() {
            let folder = home.folder.clone();
            self.tell(table, &folder, Order::Home(Some(home)));
        }
    }

    /// Tells a root something, which may be a home. Its thread begins when there is something to do, also after it
    /// broke.
    fn tell(&self, table: &mut Table, root: &Path, order: Order) {
        let order = match table.roots.get(root).map(|thread| &thread.orders) {
            Some(orders) => match orders.send(order) {
                Ok(()) => return,
                Err(unsent) => unsent.0,
            },
            None => order,
        };
        if !matches!(order, Order::Follow(..) | Order::Home(Some(_))) {
            return;
        }
        let (orders, receiver) = channel();
        let bell = orders.clone();
        let pulse = Arc::<Pulse>::default();
        let changes = Changes::new(root, Box::new(move || drop(bell.send(Order::Look))));
        let around = Around {
            root: root.to_owned(),
            common: Arc::clone(&self.common),
            settings: Arc::clone(&table.settings),
            home: None,
            processes: None,
            watches: Watches::new(Arc::new(changes)),
            pulse: Arc::clone(&pulse),
        };
        let home = table.homes.iter().find(|home| home.folder == root).cloned();
        let _ = orders.send(order);
        let run = move || root::run(around, home, &receiver);
        match threads::start("root", run) {
            Ok(_) => drop(table.roots.insert(root.to_owned(), Thread { orders, pulse, is_stuck: false })),
            Err(_) => self.common.queue.push(Message::Broken(root.to_owned())),
        }
    }

    /// Opens the socket for agents' programs, or closes it.
    fn open(&self, table: &mut Table, opening: Option<Opening>) {
        // It is told again whenever something else is wanted. Programs stay connected then.
        if opening.is_some() && table.door.as_ref().map(|(opening, _)| opening) == opening.as_ref() {
            return;
        }
        table.door = None;
        let Some(opening) = opening else { return };
        let socket = opening.socket.clone().unwrap_or_else(|| self.local.socket.clone());
        let settings = door::Settings { socket, welcome: opening.welcome.clone(), patience: 10 * WAIT };
        let (finds, reports) = (Arc::clone(&self.common), Arc::clone(&self.common));
        let finder = move |folder: &Path| finds.projects.root_of(folder);
        let out = move |event| {
            let message = Message::Door(event);
            // So programs that come, call and go fill no memory: there are threads for so many of them only.
            if matches!(message, Message::Door(door::Event::Message(..))) {
                reports.queue.wait_for_room(&message);
            }
            reports.queue.push(message);
        };
        let door = Door::open(settings, Box::new(finder), Box::new(out));
        let usual = || {
            let codex = table.homes.iter().filter(|home| home.agent == Agent::Codex);
            codex.map(|home| home.folder.clone()).collect()
        };
        let folders = opening.codex.clone().unwrap_or_else(usual);
        for folder in folders.into_iter().take(CODEX) {
            codex::start(folder, Arc::clone(&door), self.local.codex);
        }
        table.door = Some((opening, door));
    }

    /// Connects to a machine, unless it is connected, and tells it again what is wanted. Sessions that
    /// were followed there before are followed again. [`Message::Connection`] says what became of it.
    fn connect(&self, table: &mut Table, to: Connection) {
        let name = to.machine.name.clone();
        let mut sessions = BTreeMap::new();
        if let Some(link) = table.machines.get(&name) {
            if !link.is_over() && link.machine == to.machine {
                link.tell(&Command::Homes(to.homes, true));
                link.tell(&Command::Door(to.door));
                return;
            }
            // The agents there may end until the next one tells of them.
            link.end(Some(lost("it is reached in another way now", false)));
            sessions = link.leave();
        }
        match Link::start(&self.common, &table.settings, to, sessions) {
            Ok(link) => drop(table.machines.insert(name, link)),
            Err(error) => {
                let lost = lost(&error.to_string(), false);
                self.common.queue.push(Message::Connection(name, Some(lost)));
            }
        }
    }

    /// Passes a command on to a machine. Files are named as in Emacs.
    fn obey_there(&self, table: &Table, machine: &str, mut command: Command) {
        let is_told = table.machines.get(machine).is_some_and(|link| {
            if let Command::Follow { file, .. } = &mut command {
                let Some(there) = link.path_there(file) else { return false };
                *file = there;
            }
            link.tell(&command)
        });
        if is_told {
            return;
        }
        if let Command::Follow { session, .. } = command {
            let reason = "is not connected, or has too many sessions that are followed";
            self.common.queue.push(Message::Unreadable(session, format!("{machine} {reason}")));
        }
    }
}

/// The folders of agents, the usual ones if none are named.
fn homes(local: &Local, named: Option<Vec<(Agent, PathBuf)>>, is_searched: bool) -> Vec<Home> {
    let home = |(agent, folder): (Agent, PathBuf)| {
        let folder = folder.strip_prefix("~").map(|rest| local.home.join(rest)).unwrap_or(folder);
        Home { agent, folder: folder.components().collect(), is_searched }
    };
    let mut homes: Vec<Home> = Vec::new();
    for home in named.unwrap_or_else(|| local.homes.clone()).into_iter().map(home) {
        // The same folder may have several names.
        homes.retain(|known| known.folder != home.folder);
        homes.push(home);
    }
    homes
}

impl Table {
    /// The root in which a file is: the innermost home, or else the file system.
    fn root_of(&self, path: &Path) -> PathBuf {
        let homes = self.homes.iter().map(|home| &home.folder).filter(|home| path.starts_with(home));
        let home = homes.max_by_key(|home| home.as_os_str().len());
        home.map_or_else(|| mount_of(path), PathBuf::clone)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::folder::Folder;
    use crate::wait::wait;
    use todo_write::wire::program::SILENCE;

    fn folder() -> Folder {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.path()).unwrap_or_default();
        folder
    }

    fn hub() -> Hub {
        Hub::new(Local {
            home: PathBuf::new(),
            homes: Vec::new(),
            socket: PathBuf::new(),
            silence: SILENCE,
            codex: codex::USUAL,
        })
    }

    fn set_homes(hub: &Hub, homes: &[&Folder], is_searched: bool) {
        let homes = homes.iter().map(|home| (Agent::Claude, home.path().to_owned())).collect();
        hub.obey(Command::Homes(Some(homes), is_searched));
    }

    fn follow(hub: &Hub, session: SessionId, file: &Path) {
        hub.obey(Command::Follow { session, file: file.to_owned(), is_asked: true });
    }

    /// Waits for a message that `find` accepts.
    fn wait_for<T>(hub: &Hub, find: impl Fn(&Message) -> Option<T>) -> T {
        wait("a message", || hub.take(Duration::ZERO).as_ref().and_then(&find))
    }

    fn wait_until_ready(hub: &Hub, id: SessionId) {
        wait_for(hub, |message| {
            matches!(message, Message::Ready { session, .. } if *session == id).then_some(())
        });
    }

    #[test]
    fn a_panic_in_a_reader_ends_that_session_only() {
        let folder = folder();
        let good = folder.path().join("good.jsonl");
        std::fs::write(&good, "{}\n").unwrap_or_default();
        let hub = hub();
        let bad = folder.path().join("panics.jsonl");
        std::fs::write(&bad, "{}\n").unwrap_or_default();
        let panics = 1;
        follow(&hub, panics, &bad);
        wait_for(&hub, |message| {
            matches!(message, Message::Unreadable(id, _) if *id == panics).then_some(())
        });
        let other = 2;
        follow(&hub, other, &good);
        wait_until_ready(&hub, other);
    }

    #[test]
    fn a_root_that_hangs_is_said_and_nothing_waits_for_it() {
        let (hanging, other) = (folder(), folder());
        let (bad, good) = (hanging.path().join("hangs.jsonl"), other.path().join("good.jsonl"));
        [&bad, &good].into_iter().for_each(|file| std::fs::write(file, "{}\n").unwrap_or_default());
        let hub = hub();
        set_homes(&hub, &[&hanging, &other], true);
        wait_for(&hub, |message| matches!(message, Message::Found { .. }).then_some(()));
        let id = 3;
        follow(&hub, id, &bad);
        let said = |is_stuck: bool| {
            wait_for(&hub, |message| {
                matches!(message, Message::Stuck(root, is) if root == hanging.path() && *is == is_stuck)
                    .then_some(())
            });
        };
        said(true);
        let round = 6;
        hub.obey(Command::Choose(round, Vec::new()));
        wait_for(&hub, |message| matches!(message, Message::Choices(one, _) if *one == round).then_some(()));
        let file = 4;
        follow(&hub, file, &good);
        wait_until_ready(&hub, file);
        std::fs::remove_file(&bad).unwrap_or_default();
        said(false);
        hub.obey(Command::Stop(id));
    }

    #[test]
    fn a_root_that_fails_begins_again_once() {
        let folder = folder();
        let file = folder.path().join("s.jsonl");
        let line = json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Dig"}});
        std::fs::write(&file, format!("{line}\n")).unwrap_or_default();
        let hub = hub();
        set_homes(&hub, &[&folder], false);
        let id = 5;
        follow(&hub, id, &file);
        wait_until_ready(&hub, id);
        let fail = |files: &[&str]| {
            let files = files.iter().map(|file| folder.path().join(file));
            files.for_each(|file| std::fs::write(file, "").unwrap_or_default());
            hub.obey(Command::Check(id));
        };
        fail(&["fails"]);
        wait_for(&hub, |message| {
            matches!(message, Message::Events(one, piece) if *one == id && piece.is_restart).then_some(())
        });
        fail(&["fails"]);
        wait_for(&hub, |message| {
            matches!(message, Message::Broken(root) if root == folder.path()).then_some(())
        });
        wait_for(&hub, |message| matches!(message, Message::Unreadable(one, _) if *one == id).then_some(()));
        // It begins again when there is something to do.
        set_homes(&hub, &[&folder], true);
        wait_for(&hub, |message| matches!(message, Message::Found { .. }).then_some(()));
    }
}
