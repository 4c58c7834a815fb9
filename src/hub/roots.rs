//! The roots, the tasks in them, and the workers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::home::Home;
use super::job::Job;
#[cfg(unix)]
use super::machine::Connected;
use super::processes::ProcessesTask;
use super::queue::Queue;
use super::search::{Choice, ChooseTask, Found, HomesTask, SearchTask};
use super::session::SessionTask;
use super::watch::Watches;
use super::{Bell, Message, SessionId, Settings};
use crate::agents::claude::process_files::Process;

/// Maximum number of workers.
const WORKERS: usize = 16;
/// How long a read may take before it bars its root, and before it is reported.
const BARRED: Duration = Duration::from_secs(1);
const SAID: Duration = Duration::from_secs(10);
/// The time between reads of the same files, which are read at once after a silence.
const PACE: Duration = Duration::from_millis(100);
/// Maximum number of folders whose projects are remembered.
const PROJECTS: usize = 4_096;

/// What a task does. A root has each of them once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Session(SessionId),
    Processes,
    Search,
    Choose(u64, PathBuf),
    Project(PathBuf),
    Homes,
    Job(u64),
}

#[derive(Debug)]
pub(super) enum Work {
    Session(Box<SessionTask>),
    Processes(Box<ProcessesTask>),
    Search(Box<SearchTask>),
    Choose(Box<ChooseTask>),
    Project(PathBuf),
    Homes(Box<HomesTask>),
    Job(Job),
}

/// What follows a task that ran.
pub(super) enum Next {
    /// It runs again at this time, or earlier if something changes.
    At(Instant),
    /// It is over.
    Over,
}

#[derive(Debug)]
struct Task {
    /// None while it runs and nothing asked for it since.
    due: Option<Instant>,
    ran: Option<Instant>,
    /// None while it runs.
    work: Option<Work>,
}

#[derive(Debug, Default)]
struct Root {
    tasks: BTreeMap<Key, Task>,
    /// Since when a worker reads here.
    busy: Option<Instant>,
    /// Whether the worker waits for room in the queue, or for another root.
    is_waiting: bool,
    is_said: bool,
    /// Whether tasks were removed, whose folders need not be watched any more.
    has_removed: bool,
    /// None while a worker has them.
    watches: Option<Watches>,
}

impl Root {
    fn is_barred(&self) -> bool {
        self.is_busy_for(BARRED)
    }

    /// Whether a task has read for longer than this, and does not wait for anything else.
    fn is_busy_for(&self, time: Duration) -> bool {
        !self.is_waiting && self.busy.is_some_and(|since| since.elapsed() > time)
    }
}

/// A session that is followed.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) root: PathBuf,
    pub(super) path: PathBuf,
    /// The id in its lines, once one was read.
    pub(super) session: Option<String>,
    /// Whether its process keeps a file while it lives.
    pub(super) has_processes: bool,
}

/// The sessions in a home, and the files whose names are no text.
type Listed = (Vec<Found>, Vec<PathBuf>);

/// The projects that were found, by the folders of sessions; without one if none was found in time.
type Projects = HashMap<PathBuf, Option<PathBuf>>;

#[derive(Debug)]
pub(super) struct State {
    pub(super) settings: Arc<Settings>,
    pub(super) queue: Queue,
    pub(super) homes: HashMap<PathBuf, Arc<Home>>,
    /// The machines to which this hub was connected, by their names.
    #[cfg(unix)]
    pub(super) connections: BTreeMap<String, Connected>,
    /// The live processes, by the homes.
    pub(super) live: HashMap<PathBuf, Vec<Process>>,
    /// What the searched homes have, once they answered.
    pub(super) found: HashMap<PathBuf, Option<Listed>>,
    /// The homes of each round of choices and whether they answered, and what they have.
    pub(super) rounds: HashMap<u64, (HashMap<PathBuf, bool>, Vec<Choice>)>,
    pub(super) sessions: HashMap<SessionId, Followed>,
    /// The sessions by their files.
    pub(super) files: HashMap<PathBuf, Vec<SessionId>>,
    /// Sessions that were read, and wait for their processes to be read.
    pub(super) caught_up: Vec<SessionId>,
    /// Sessions that are to be said to be ready when they are read next.
    pub(super) checks: HashSet<SessionId>,
    projects: Projects,
    roots: HashMap<PathBuf, Root>,
    pub(super) workers: usize,
    idle: usize,
    is_closed: bool,
}

/// The state of a hub, for its workers and its owner.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Something may be due.
    pub(super) work: Condvar,
    /// Messages were taken, or a project was found.
    pub(super) room: Condvar,
}

impl State {
    /// The home in which a file is, the innermost one.
    pub(super) fn home_of(&self, path: &Path) -> Option<&Path> {
        let homes = self.homes.keys().filter(|home| path.starts_with(home));
        homes.max_by_key(|home| home.as_os_str().len()).map(PathBuf::as_path)
    }

    /// The root in which a file is: the home, or else the file system. What is followed keeps its root,
    /// since homes come and go.
    pub(super) fn root_of(&self, path: &Path) -> PathBuf {
        self.home_of(path).map_or_else(|| mount_of(path), Path::to_owned)
    }

    /// Lets a session be read next.
    pub(super) fn hurry_session(&mut self, id: SessionId) {
        if let Some(root) = self.sessions.get(&id).map(|one| one.root.clone()) {
            self.hurry(&root, &Key::Session(id));
        }
    }

    fn mark(&mut self, root: &Path, key: &Key, at: Instant) {
        if let Some(task) = self.roots.get_mut(root).and_then(|root| root.tasks.get_mut(key)) {
            let at = task.ran.map_or(at, |ran| at.max(ran + PACE));
            task.due = Some(task.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Lets a task run as soon as may be after something changed.
    pub(super) fn mark_now(&mut self, root: &Path, key: &Key) {
        self.mark(root, key, Instant::now());
    }

    /// Lets a task run next, even if it has just run.
    pub(super) fn hurry(&mut self, root: &Path, key: &Key) {
        if let Some(task) = self.roots.get_mut(root).and_then(|root| root.tasks.get_mut(key)) {
            task.due = Some(Instant::now());
        }
    }

    /// Marks the sessions of a transcript.
    pub(super) fn look_at(&mut self, file: &Path) -> bool {
        let ids = self.files.get(file).cloned().unwrap_or_default();
        for id in &ids {
            if let Some(followed) = self.sessions.get(id).cloned() {
                self.mark_now(&followed.root, &Key::Session(*id));
            }
        }
        !ids.is_empty()
    }

    pub(super) fn remove(&mut self, root: &Path, key: &Key) {
        if *key == Key::Processes {
            // Nothing more is read of them.
            self.report_caught_up(root);
        }
        let Some(tasks) = self.roots.get_mut(root) else { return };
        tasks.tasks.remove(key);
        tasks.has_removed = true;
        if tasks.tasks.is_empty() && tasks.busy.is_none() {
            self.roots.remove(root);
        }
    }

    pub(super) fn has(&self, root: &Path, key: &Key) -> bool {
        self.roots.get(root).is_some_and(|root| root.tasks.contains_key(key))
    }

    pub(super) fn forget(&mut self, id: SessionId) {
        #[cfg(unix)]
        self.connections.values_mut().for_each(|connected| connected.stop(id));
        let Some(Followed { root, path: file, .. }) = self.sessions.remove(&id) else { return };
        self.caught_up.retain(|other| *other != id);
        self.checks.remove(&id);
        if let Some(ids) = self.files.get_mut(&file) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.files.remove(&file);
            }
        }
        self.remove(&root, &Key::Session(id));
    }

    /// Ends a task that panicked, so that nothing waits for it.
    fn fail(&mut self, root: &Path, key: &Key) {
        match key {
            Key::Session(id) => {
                self.queue.push(Message::Failed(*id), false);
                self.forget(*id);
                return;
            }
            Key::Search => self.give_up_search(root),
            Key::Choose(round, home) => {
                if let Some((homes, _)) = self.rounds.get_mut(round) {
                    homes.insert(home.clone(), true);
                }
                self.end_rounds();
            }
            Key::Homes => self.queue.push(Message::Homes(Vec::new()), false),
            Key::Project(folder) => remember(&mut self.projects, folder, None),
            Key::Processes => {}
            // What it owned is dropped, which its caller notices.
            Key::Job(_) => return self.remove(root, key),
        }
        self.queue.push(Message::Broken(root.to_owned()), false);
        self.remove(root, key);
    }

    /// Reports what the other homes have. This one tells more when it answers.
    fn give_up_search(&mut self, home: &Path) {
        if let Some(found) = self.found.get_mut(home) {
            found.get_or_insert_with(Default::default);
            self.report_found();
        }
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.queue.close();
        #[cfg(unix)]
        self.connections.clear();
    }

    fn is_barred(&self, root: &Path) -> bool {
        self.roots.get(root).is_some_and(Root::is_barred)
    }

    pub(super) fn is_stuck(&self, root: &Path) -> bool {
        self.roots.get(root).is_some_and(|root| root.is_busy_for(SAID))
    }

    /// Reports that a session and the processes in its home were read.
    pub(super) fn report_ready(&mut self, id: SessionId) {
        if let Some(followed) = self.sessions.get(&id) {
            let message = Message::Ready { session: id, has_processes: followed.has_processes };
            self.queue.push(message, false);
        }
    }

    /// Reports those sessions of a root that waited for its processes to be read.
    pub(super) fn report_caught_up(&mut self, root: &Path) {
        for id in std::mem::take(&mut self.caught_up) {
            if self.sessions.get(&id).is_some_and(|one| one.root == root) {
                self.report_ready(id);
            } else {
                self.caught_up.push(id);
            }
        }
    }

    /// Reports what the searched homes have, unless some are yet to answer.
    pub(super) fn report_found(&mut self) {
        let is_awaited = |(home, found): (&PathBuf, &Option<_>)| found.is_none() && !self.is_barred(home);
        if self.found.iter().any(is_awaited) {
            return;
        }
        let known = self.found.values().flatten();
        let mut all: Vec<Found> = known.clone().flat_map(|(found, _)| found.clone()).collect();
        let unnamed = known.flat_map(|(_, unnamed)| unnamed.clone()).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.modified));
        self.queue.push(Message::Found(all, unnamed), false);
    }

    /// Answers the choices for which no home is awaited any more.
    pub(super) fn end_rounds(&mut self) {
        let roots: HashMap<PathBuf, PathBuf> = self
            .rounds
            .values()
            .flat_map(|(homes, _)| homes.keys())
            .map(|home| (home.clone(), self.root_of(home)))
            .collect();
        let is_awaited = |(home, done): (&PathBuf, &bool)| {
            !done && !roots.get(home).is_some_and(|root| self.is_barred(root))
        };
        let over: Vec<u64> = self
            .rounds
            .iter()
            .filter(|(_, (homes, _))| !homes.iter().any(is_awaited))
            .map(|(id, _)| *id)
            .collect();
        for id in over {
            if let Some((_, mut choices)) = self.rounds.remove(&id) {
                choices.sort_by_key(|one| std::cmp::Reverse(one.found.modified));
                self.queue.push(Message::Choices(id, choices), false);
            }
        }
    }

    /// Notes roots that do not answer; returns whether there are any that are read.
    fn note_stuck(&mut self) -> bool {
        let (mut is_any, mut news, mut is_barred) = (false, Vec::new(), false);
        for (path, root) in &mut self.roots {
            is_any |= root.busy.is_some();
            is_barred |= root.is_barred();
            if root.is_busy_for(SAID) && !root.is_said {
                root.is_said = true;
                news.push(path.clone());
            }
        }
        for path in news {
            self.queue.push(Message::Stuck(path, true), false);
        }
        if is_barred {
            self.end_rounds();
            let barred: Vec<PathBuf> = self
                .found
                .iter()
                .filter(|(home, found)| found.is_none() && self.is_barred(home))
                .map(|(home, _)| home.clone())
                .collect();
            barred.iter().for_each(|home| self.give_up_search(home));
        }
        is_any
    }

    /// The task that is due first, or the time at which one will be.
    fn next(&self, now: Instant) -> Result<(PathBuf, Key), Option<Instant>> {
        let free = self.roots.iter().filter(|(_, root)| root.busy.is_none());
        let tasks = free.flat_map(|(path, root)| root.tasks.iter().map(move |(key, task)| (path, key, task)));
        let due = tasks.filter_map(|(path, key, task)| task.due.map(|due| (due, key, path)));
        match due.min() {
            Some((due, key, path)) if due <= now => Ok((path.clone(), key.clone())),
            other => Err(other.map(|(due, ..)| due)),
        }
    }
}

impl Shared {
    pub(super) fn start(settings: Settings, bell: Bell) -> Arc<Shared> {
        let state = State {
            settings: Arc::new(settings),
            queue: Queue::new(bell),
            homes: HashMap::new(),
            #[cfg(unix)]
            connections: BTreeMap::new(),
            live: HashMap::new(),
            found: HashMap::new(),
            rounds: HashMap::new(),
            sessions: HashMap::new(),
            files: HashMap::new(),
            caught_up: Vec::new(),
            checks: HashSet::new(),
            projects: HashMap::new(),
            roots: HashMap::new(),
            workers: 0,
            idle: 0,
            is_closed: false,
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() });
        shared.employ(&mut shared.lock());
        shared
    }

    /// A poisoned lock is safe: nothing that may panic runs while it is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task, which is due now.
    pub(super) fn add(&self, state: &mut State, root: PathBuf, key: Key, work: Work) {
        let root = state.roots.entry(root).or_default();
        root.tasks.insert(key, Task { due: Some(Instant::now()), ran: None, work: Some(work) });
        self.work.notify_one();
    }

    /// Adds a task, or lets the one of this key run again.
    pub(super) fn add_or_look(&self, state: &mut State, root: &Path, key: Key, work: impl FnOnce() -> Work) {
        if state.has(root, &key) {
            state.hurry(root, &key);
            self.work.notify_one();
        } else {
            self.add(state, root.to_owned(), key, work());
        }
    }

    pub(super) fn look_at_task(&self, state: &mut State, root: &Path, key: &Key) {
        state.hurry(root, key);
        self.work.notify_one();
    }

    pub(super) fn look_at_all(&self, state: &mut State) {
        let now = Instant::now();
        let tasks = state.roots.values_mut().flat_map(|root| root.tasks.values_mut());
        tasks.filter(|task| task.work.is_some()).for_each(|task| task.due = Some(now));
        self.work.notify_all();
    }

    /// Sends a message from a worker in `root`, once there is room. Returns false if its session is no
    /// longer followed, or the hub is closed.
    pub(super) fn send(&self, root: &Path, id: SessionId, message: Message, is_history: bool) -> bool {
        let mut state = self.lock();
        set_waiting(&mut state, root, true);
        while state.queue.is_full() && !state.is_closed && state.sessions.contains_key(&id) {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        set_waiting(&mut state, root, false);
        let is_wanted = !state.is_closed && state.sessions.contains_key(&id);
        if is_wanted {
            state.queue.push(message, is_history);
        }
        is_wanted
    }

    /// The root of the project of a local folder, for a worker in `root`. `None` if it has no
    /// project, or if the file system does not answer in time.
    pub(super) fn project_of(self: &Arc<Self>, root: &Path, folder: &Path) -> Option<PathBuf> {
        let mut state = self.lock();
        if let Some(known) = state.projects.get(folder) {
            return known.clone();
        }
        let mount = mount_of(folder);
        if mount == root {
            drop(state);
            let found = super::home::project_of(folder);
            remember(&mut self.lock().projects, folder, found.clone());
            return found;
        }
        let key = Key::Project(folder.to_owned());
        self.add_or_look(&mut state, &mount, key, || Work::Project(folder.to_owned()));
        self.employ_if_needed(&mut state);
        set_waiting(&mut state, root, true);
        let end = Instant::now() + BARRED;
        while !state.projects.contains_key(folder) && !state.is_closed && !state.is_barred(&mount) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.room.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        set_waiting(&mut state, root, false);
        state.projects.get(folder).cloned().flatten()
    }

    fn employ_if_needed(self: &Arc<Self>, state: &mut State) {
        if state.idle == 0 && state.workers < WORKERS {
            self.employ(state);
        }
    }

    pub(super) fn employ(self: &Arc<Self>, state: &mut State) {
        let shared = Arc::clone(self);
        let worker = thread::Builder::new().name("todo-write-hub".into());
        if worker.spawn(move || shared.serve()).is_ok() {
            state.workers += 1;
        }
    }

    /// Runs tasks until the hub is closed.
    fn serve(self: Arc<Self>) {
        let mut state = self.lock();
        while !state.is_closed {
            let is_any_busy = state.note_stuck();
            let now = Instant::now();
            match state.next(now) {
                Ok((root, key)) => {
                    self.employ_if_needed(&mut state);
                    let Some(work) = begin(&mut state, &root, &key, now) else { continue };
                    let (watches, kept) = watches(&mut state, &root);
                    drop(state);
                    let mut watches = watches.unwrap_or_else(|| Watches::new(&root, &self));
                    if let Some(kept) = kept {
                        watches.keep(|key| kept.contains(key));
                    }
                    let done = self.run(&root, work, &mut watches);
                    state = self.lock();
                    self.end(&mut state, &root, key, done, watches);
                }
                Err(due) => {
                    let most = Duration::from_secs(if is_any_busy { 1 } else { 3_600 });
                    let left = due.map_or(most, |due| due.saturating_duration_since(now).min(most));
                    state.idle += 1;
                    state = self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                    state.idle -= 1;
                }
            }
        }
        state.workers -= 1;
    }

    /// Runs a task; None if it panicked.
    fn run(self: &Arc<Self>, root: &Path, mut work: Work, watches: &mut Watches) -> Option<(Work, Next)> {
        let next = catch_unwind(AssertUnwindSafe(|| match &mut work {
            Work::Session(task) => task.run(self, root, watches),
            Work::Processes(task) => task.run(self, watches),
            Work::Search(task) => task.run(self, root, watches),
            Work::Choose(task) => task.run(self, root),
            Work::Homes(task) => task.run(self),
            Work::Job(job) => {
                if job.run() {
                    Next::At(Instant::now())
                } else {
                    Next::Over
                }
            }
            Work::Project(folder) => {
                let found = super::home::project_of(folder);
                remember(&mut self.lock().projects, folder, found);
                self.room.notify_all();
                Next::Over
            }
        }));
        next.ok().map(|next| (work, next))
    }

    fn end(&self, state: &mut State, path: &Path, key: Key, done: Option<(Work, Next)>, watches: Watches) {
        let Some(root) = state.roots.get_mut(path) else { return };
        root.busy = None;
        root.watches = Some(watches);
        let is_answer = std::mem::take(&mut root.is_said);
        // It may have been removed meanwhile, or added again with work of its own.
        let task = root.tasks.get_mut(&key).filter(|task| task.work.is_none());
        match (done, task) {
            (_, None) => {}
            (Some((work, Next::At(at))), Some(task)) => {
                task.work = Some(work);
                task.due = Some(task.due.map_or(at, |due| due.min(at)));
            }
            // It was asked for again while it ran.
            (Some((work, Next::Over)), Some(task)) if task.due.is_some() => task.work = Some(work),
            (Some((_, Next::Over)), Some(_)) => state.remove(path, &key),
            (None, Some(_)) => state.fail(path, &key),
        }
        if is_answer {
            state.queue.push(Message::Stuck(path.to_owned(), false), false);
        }
        let is_unused =
            state.roots.get(path).is_some_and(|root| root.tasks.is_empty() && root.busy.is_none());
        if is_unused {
            state.roots.remove(path);
        }
        // Other tasks of this root may be due.
        self.work.notify_one();
    }
}

/// Marks a task as running; returns its work.
fn begin(state: &mut State, path: &Path, key: &Key, now: Instant) -> Option<Work> {
    let root = state.roots.get_mut(path)?;
    let task = root.tasks.get_mut(key)?;
    task.due = None;
    task.ran = Some(now);
    let work = task.work.take()?;
    root.busy = Some(now);
    Some(work)
}

/// The watches of a root and, if tasks were removed there, those that are left.
fn watches(state: &mut State, root: &Path) -> (Option<Watches>, Option<BTreeSet<Key>>) {
    let Some(root) = state.roots.get_mut(root) else { return (None, None) };
    let has_removed = std::mem::take(&mut root.has_removed);
    (root.watches.take(), has_removed.then(|| root.tasks.keys().cloned().collect()))
}

fn set_waiting(state: &mut State, root: &Path, is_waiting: bool) {
    if let Some(root) = state.roots.get_mut(root) {
        root.is_waiting = is_waiting;
        root.busy = root.busy.map(|_| Instant::now());
    }
}

fn remember(projects: &mut Projects, folder: &Path, found: Option<PathBuf>) {
    if projects.len() >= PROJECTS {
        projects.clear();
    }
    projects.insert(folder.to_owned(), found);
}

/// The folder at which the file system of a file is mounted, by names alone: asking for the file may
/// hang. A file system hangs as a whole: with a root for each project, a few of them would hold all
/// workers. Where the system has no table of mounts, that is the first folder of the name.
fn mount_of(path: &Path) -> PathBuf {
    mount_in(&String::from_utf8_lossy(&fs::read("/proc/self/mountinfo").unwrap_or_default()), path)
}

fn mount_in(table: &str, path: &Path) -> PathBuf {
    let unescape = |name: &str| {
        name.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
    };
    let points =
        table.lines().filter_map(|line| line.split(' ').nth(4)).map(|name| PathBuf::from(unescape(name)));
    let point = points.filter(|point| path.starts_with(point)).max_by_key(|point| point.as_os_str().len());
    point.unwrap_or_else(|| path.iter().take(2).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(shared: &Shared) -> MutexGuard<'_, State> {
        let mut state = shared.lock();
        // No worker runs what a test adds.
        state.is_closed = true;
        state
    }

    #[test]
    fn the_mount_of_a_file_may_have_a_space_in_its_name() {
        let table = "21 1 8:1 / / rw - ext4 /dev/a rw\n22 21 0:5 / /mnt/my\\040disk rw - nfs a:/b rw\n";
        assert_eq!(mount_in(table, Path::new("/mnt/my disk/garden")), Path::new("/mnt/my disk"));
        assert_eq!(mount_in(table, Path::new("/mnt/my")), Path::new("/"));
        assert_eq!(mount_in("", Path::new("/mnt/my/garden")), Path::new("/mnt"));
    }

    #[test]
    fn nothing_waits_for_a_task_that_panicked() {
        let shared = Shared::start(Settings::default(), Box::new(|| {}));
        let mut state = state(&shared);
        let home = PathBuf::from("/home");
        state.found.insert(home.clone(), None);
        state.rounds.insert(1, (HashMap::from([(home.clone(), false)]), Vec::new()));
        for key in [Key::Homes, Key::Search, Key::Choose(1, home.clone())] {
            let work = Work::Homes(Box::new(HomesTask { sandbox: None }));
            shared.add(&mut state, home.clone(), key.clone(), work);
            begin(&mut state, &home, &key, Instant::now());
            let watches = Watches::new(&home, &shared);
            shared.end(&mut state, &home, key.clone(), None, watches);
            assert!(!state.has(&home, &key));
            let answer = state.queue.take();
            let is_answer = match key {
                Key::Homes => matches!(answer, Some(Message::Homes(_))),
                Key::Search => matches!(answer, Some(Message::Found(..))),
                _ => matches!(answer, Some(Message::Choices(1, _))),
            };
            assert!(is_answer, "{answer:?}");
            assert!(matches!(state.queue.take(), Some(Message::Broken(root)) if root == home));
        }
    }
}
