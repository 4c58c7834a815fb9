//! The hub as its owner has it. Nothing here waits: threads are told what to do, and what they report is taken.

#[cfg(unix)]
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::answers::Answers;
use super::around::Common;
use super::bounds::WAIT;
#[cfg(unix)]
use super::codex;
use super::door::{self, Door};
use super::home::Home;
#[cfg(unix)]
use super::machine::Link;
use super::project::{Projects, mount_of, project_of};
use super::queue::{Bell, Queue};
use super::root::Order;
use super::roots::Roots;
use todo_write::wire::program as pipe;
#[cfg(unix)]
use todo_write::wire::program::{Connection, ConnectionState, Message, SessionId, Settings};

/// Maximum number of folders of Codex whose questions are passed on.
#[cfg(unix)]
const CODEX: usize = 4;

/// What the owner wants. Nothing waits while this is locked.
#[derive(Debug, Default)]
struct Table {
    settings: Arc<Settings>,
    homes: HashMap<PathBuf, Arc<Home>>,
    /// The root of each session on this machine. It keeps that, since homes come and go.
    sessions: HashMap<SessionId, PathBuf>,
    /// The machines to which this hub was connected, by their names.
    #[cfg(unix)]
    machines: BTreeMap<String, Arc<Link>>,
    /// Ends the thread that looks after the others.
    looker: Option<Sender<()>>,
}

impl Table {
    /// The root in which a file is: the innermost home, or else the file system.
    fn root_of(&self, path: &Path) -> PathBuf {
        let homes = self.homes.keys().filter(|home| path.starts_with(home));
        let home = homes.max_by_key(|home| home.as_os_str().len());
        home.map_or_else(|| mount_of(path), PathBuf::clone)
    }
}

/// What the owner and the thread that looks after the others share.
#[derive(Debug)]
struct Inner {
    common: Arc<Common>,
    roots: Roots,
    table: Mutex<Table>,
}

impl Inner {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, table: &Table, root: &Path, order: Order) {
        self.roots.tell(root, &table.settings, table.homes.get(root), order);
    }

    /// Reports roots that do not answer, answers without them, and ends connections to silent machines.
    fn look(&self) {
        self.roots.look();
        #[cfg(unix)]
        let machines: Vec<Arc<Link>> = self.table().machines.values().cloned().collect();
        #[cfg(unix)]
        machines.iter().for_each(|link| link.look());
        let table = self.table();
        self.common.answers.give_up(|home| self.roots.is_barred(&table.root_of(home)));
    }
}

/// Reads and watches sessions.
#[derive(Debug)]
pub struct Hub {
    inner: Arc<Inner>,
    door: Option<Door>,
}

impl Hub {
    /// Starts a hub.
    pub fn new(settings: Settings, bell: Bell) -> Hub {
        let queue = Arc::new(Queue::new(bell));
        let answers = Answers::new(Arc::clone(&queue));
        let common = Arc::new(Common { queue, answers, projects: Projects::default() });
        let (looker, over) = channel();
        let table = Table { settings: Arc::new(settings), looker: Some(looker), ..Table::default() };
        let roots = Roots::new(Arc::clone(&common));
        let inner = Arc::new(Inner { common, roots, table: Mutex::new(table) });
        let own = Arc::clone(&inner);
        let look = move || {
            while over.recv_timeout(WAIT) == Err(RecvTimeoutError::Timeout) {
                own.look();
            }
        };
        // Without this thread, what hangs is not said.
        let _ = thread::Builder::new().name("todo-write-looker".into()).spawn(look);
        Hub { inner, door: None }
    }

    /// Changes the options. Reads that are under way end with the old ones.
    pub fn set(&self, change: impl FnOnce(&mut Settings)) {
        let mut table = self.inner.table();
        let mut settings = (*table.settings).clone();
        change(&mut settings);
        table.settings = Arc::new(settings);
        self.inner.roots.tell_all(|| Order::Set(Arc::clone(&table.settings)));
        #[cfg(unix)]
        {
            let command = pipe::Command::Set((*table.settings).clone());
            table.machines.values().for_each(|link| link.tell(&command));
        }
    }

    /// Tells a machine something; returns false if it is not connected.
    pub fn tell_machine(&self, machine: &str, command: &pipe::Command) -> bool {
        #[cfg(unix)]
        if let Some(link) = self.inner.table().machines.get(machine).filter(|link| !link.is_over()) {
            link.tell(command);
            return true;
        }
        #[cfg(not(unix))]
        let _ = (machine, command);
        false
    }

    /// Follows the session in `path` from its beginning, by a number that no other one has. `is_asked`: the user
    /// asked for it, so that it is reported also without a list.
    pub fn follow(&self, id: SessionId, path: &Path, is_asked: bool) {
        let mut table = self.inner.table();
        let root = table.root_of(path);
        self.inner.tell(&table, &root, Order::Follow(id, path.to_owned(), is_asked));
        table.sessions.insert(id, root);
    }

    /// Ends following a session. Messages about it may still come.
    pub fn stop(&self, id: SessionId) {
        let mut table = self.inner.table();
        if let Some(root) = table.sessions.remove(&id) {
            self.inner.tell(&table, &root, Order::Stop(id));
        }
        #[cfg(unix)]
        let _ = table.machines.values().any(|link| link.stop(id));
    }

    /// Reports [`Message::Ready`] once all that the session's files and those of processes have now was
    /// read.
    pub fn check(&self, id: SessionId) {
        let table = self.inner.table();
        if let Some(root) = table.sessions.get(&id) {
            self.inner.tell(&table, root, Order::Check(id));
        }
        #[cfg(unix)]
        if let Some(link) = table.machines.values().find(|link| link.has(id)) {
            link.tell(&pipe::Command::Check(id));
        }
    }

    /// Sets the folders of agents. Those that are searched are so now and when they change.
    pub fn set_homes(&self, homes: Vec<Home>) {
        let mut table = self.inner.table();
        let new = homes.into_iter().map(|home| (home.folder.clone(), Arc::new(home))).collect();
        let old = std::mem::replace(&mut table.homes, new);
        for folder in old.into_keys().filter(|folder| !table.homes.contains_key(folder)) {
            self.inner.common.answers.expect(&folder, false);
            self.inner.tell(&table, &folder, Order::Home(None));
        }
        // All are awaited before the first one answers.
        for home in table.homes.values() {
            self.inner.common.answers.expect(&home.folder, home.is_searched);
        }
        for (folder, home) in &table.homes {
            self.inner.tell(&table, folder, Order::Home(Some(Arc::clone(home))));
        }
    }

    /// Searches again.
    pub fn search(&self) {
        let table = self.inner.table();
        self.inner.common.answers.report_if_none();
        for home in table.homes.keys() {
            self.inner.tell(&table, home, Order::Search);
        }
        #[cfg(unix)]
        table.machines.values().for_each(|link| link.tell(&pipe::Command::Search));
    }

    /// Describes the newest sessions in `homes`, and whether they are of the project with these names; see
    /// [`Message::Choices`].
    pub fn choose(&self, round: u64, homes: Vec<Home>, project: &[PathBuf]) {
        let table = self.inner.table();
        self.inner.common.answers.begin(round, homes.iter().map(|home| home.folder.clone()));
        for home in homes {
            let root = table.root_of(&home.folder);
            self.inner.tell(&table, &root, Order::Choose(round, home, project.to_vec()));
        }
    }

    /// The root of the project of a folder. `None` if it has none, or does not answer in time.
    #[cfg(unix)]
    pub(super) fn project_of(&self, folder: &Path) -> Option<PathBuf> {
        self.inner.common.projects.of(folder)
    }

    /// Opens the socket for agents' programs, in place of one that is open.
    ///
    /// # Errors
    /// As [`Door::open`].
    pub fn open_door(&mut self, settings: door::Settings) -> Result<(), String> {
        self.close_door();
        let queue = Arc::downgrade(&self.inner.common.queue);
        let bell = move || queue.upgrade().into_iter().for_each(|queue| queue.ring());
        let common = Arc::downgrade(&self.inner.common);
        // There is no answer if the folder's file system does not answer.
        let finder = move |folder: &Path, found: door::Found| {
            let Some(common) = common.upgrade() else { return found(None) };
            let asked = folder.to_owned();
            let find = move || found(asked.is_dir().then(|| project_of(&asked).unwrap_or(asked)));
            common.projects.ask(folder, Box::new(find));
        };
        #[cfg(unix)]
        let folders = settings.codex.clone();
        let door = Door::open(settings, Box::new(finder), Box::new(bell))?;
        #[cfg(unix)]
        folders.iter().take(CODEX).for_each(|folder| codex::start(folder, door.entrance()));
        self.door = Some(door);
        Ok(())
    }

    /// Closes the socket and all its connections.
    pub fn close_door(&mut self) {
        self.door = None;
    }

    /// The socket, if it was opened.
    pub fn door(&self) -> Option<&Door> {
        self.door.as_ref()
    }

    /// The next message: what happened at sockets before what was read.
    pub fn take(&self) -> Option<Message> {
        let queue = &self.inner.common.queue;
        let here = self.door.as_ref().and_then(Door::take).map(Message::Door);
        let call = here.or_else(|| queue.take_call().map(|(name, event)| Message::DoorThere(name, event)));
        call.or_else(|| queue.take())
    }

    /// Ends the threads. The bell rings no more; threads that a file system holds end with it.
    pub fn close(&self) {
        let mut table = self.inner.table();
        table.looker = None;
        #[cfg(unix)]
        std::mem::take(&mut table.machines).values().for_each(|link| drop(link.leave()));
        self.inner.common.queue.close();
        self.inner.roots.close();
    }

    /// About how many bytes wait to be taken.
    pub fn waiting_bytes(&self) -> usize {
        self.inner.common.queue.bytes()
    }

    /// Whether any of the threads is left.
    pub fn is_alive(&self) -> bool {
        Arc::strong_count(&self.inner) > 1 || self.inner.roots.is_alive()
    }
}

#[cfg(unix)]
impl Hub {
    /// Connects to a machine, unless it is connected, and tells it again what is wanted. Sessions that
    /// were followed there before are followed again. [`Message::Connection`] says what became of it.
    pub fn connect(&self, to: Connection) {
        let mut table = self.inner.table();
        let name = to.machine.name.clone();
        let mut sessions = super::machine::Sessions::new();
        if let Some(link) = table.machines.get(&name) {
            if !link.is_over() && link.machine == to.machine {
                link.tell(&pipe::Command::Homes(to.homes, true));
                link.tell(&pipe::Command::Door(to.door));
                return;
            }
            // The agents there may end until the next one tells of them.
            link.replace();
            sessions = link.leave();
        }
        match Link::start(&self.inner.common, &table.settings, to, sessions) {
            Ok(link) => drop(table.machines.insert(name, link)),
            Err(error) => {
                let lost = ConnectionState::Lost { reason: error.to_string(), is_missing: false };
                self.inner.common.queue.push(Message::Connection(name, lost));
            }
        }
    }

    /// Ends the connection to a machine, and following its sessions.
    pub fn disconnect(&self, machine: &str) {
        if let Some(link) = self.inner.table().machines.remove(machine) {
            link.leave();
            self.inner.common.answers.expect(Path::new(machine), false);
        }
    }

    /// Follows the session in `path`, a file's name in Emacs, on a machine to which this hub was
    /// connected. It is unreadable if the machine has too many or is not known.
    pub fn follow_there(&self, id: SessionId, machine: &str, path: &Path, is_asked: bool) {
        let table = self.inner.table();
        let link = table.machines.get(machine).filter(|link| link.has_room());
        match link.and_then(|link| Some((link, link.path_there(path)?))) {
            Some((link, path)) => link.follow(id, path, is_asked),
            None => {
                let reason =
                    format!("{machine} is not connected, or has too many sessions that are followed");
                self.inner.common.queue.push(Message::Unreadable(id, reason));
            }
        }
    }

    /// Describes the newest sessions on a machine, none if it is not connected; see [`Message::Choices`].
    pub fn choose_there(&self, round: u64, machine: &str, project: Vec<PathBuf>) {
        // Awaited before it is asked, and given up if it ends meanwhile.
        self.inner.common.answers.begin(round, std::iter::once(machine.into()));
        if !self.tell_machine(machine, &pipe::Command::Choose(round, project)) {
            self.inner.common.answers.chosen(round, Path::new(machine), Vec::new());
        }
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
    use todo_write::wire::event::Agent;

    fn folder() -> Folder {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.path()).unwrap_or_default();
        folder
    }

    /// Waits for a message that `find` accepts.
    fn wait_for<T>(hub: &Hub, find: impl Fn(&Message) -> Option<T>) -> T {
        wait("a message", || hub.take().as_ref().and_then(&find))
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
        let hub = Hub::new(Settings::default(), Box::new(|| {}));
        let bad = folder.path().join("panics.jsonl");
        std::fs::write(&bad, "{}\n").unwrap_or_default();
        let panics = 1;
        hub.follow(panics, &bad, true);
        wait_for(&hub, |message| matches!(message, Message::Failed(id) if *id == panics).then_some(()));
        let other = 2;
        hub.follow(other, &good, true);
        wait_until_ready(&hub, other);
    }

    #[test]
    fn a_root_that_hangs_is_said_and_nothing_waits_for_it() {
        let (hanging, other) = (folder(), folder());
        let (bad, good) = (hanging.path().join("hangs.jsonl"), other.path().join("good.jsonl"));
        [&bad, &good].into_iter().for_each(|file| std::fs::write(file, "{}\n").unwrap_or_default());
        let hub = Hub::new(Settings::default(), Box::new(|| {}));
        let homes = || {
            let home = |folder: &Folder| Home {
                agent: Agent::Claude,
                folder: folder.path().to_owned(),
                is_searched: true,
            };
            [&hanging, &other].map(home).to_vec()
        };
        hub.set_homes(homes());
        wait_for(&hub, |message| matches!(message, Message::Found(..)).then_some(()));
        let id = 3;
        hub.follow(id, &bad, true);
        let said = |is_stuck: bool| {
            wait_for(&hub, |message| {
                matches!(message, Message::Stuck(root, is) if root == hanging.path() && *is == is_stuck)
                    .then_some(())
            });
        };
        said(true);
        let round = 6;
        hub.choose(round, homes(), &[]);
        wait_for(&hub, |message| matches!(message, Message::Choices(one, _) if *one == round).then_some(()));
        let file = 4;
        hub.follow(file, &good, true);
        wait_until_ready(&hub, file);
        std::fs::remove_file(&bad).unwrap_or_default();
        said(false);
        hub.stop(id);
    }

    #[test]
    fn a_root_that_fails_begins_again_once() {
        let folder = folder();
        let file = folder.path().join("s.jsonl");
        let line = json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Dig"}});
        std::fs::write(&file, format!("{line}\n")).unwrap_or_default();
        let hub = Hub::new(Settings::default(), Box::new(|| {}));
        let home = |is_searched| Home { agent: Agent::Claude, folder: folder.path().to_owned(), is_searched };
        hub.set_homes(vec![home(false)]);
        let id = 5;
        hub.follow(id, &file, true);
        wait_until_ready(&hub, id);
        let fail = |files: &[&str]| {
            let files = files.iter().map(|file| folder.path().join(file));
            files.for_each(|file| std::fs::write(file, "").unwrap_or_default());
            hub.check(id);
        };
        fail(&["fails"]);
        wait_for(&hub, |message| {
            matches!(message, Message::Events(one, piece) if *one == id && piece.is_restart).then_some(())
        });
        fail(&["fails"]);
        wait_for(&hub, |message| {
            matches!(message, Message::Broken(root) if root == folder.path()).then_some(())
        });
        wait_for(&hub, |message| matches!(message, Message::Failed(one) if *one == id).then_some(()));
        // A thread that breaks at once lets nothing wait for it.
        fail(&["fails", "fails-again"]);
        hub.set_homes(vec![home(true)]);
        wait_for(&hub, |message| matches!(message, Message::Broken(_)).then_some(()));
        wait_for(&hub, |message| matches!(message, Message::Found(..)).then_some(()));
    }
}
