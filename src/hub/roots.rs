//! The roots, and which of their tasks runs next.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::SessionId;
use super::processes::ProcessesTask;
use super::search::{ChooseTask, SearchTask};
use super::session::SessionTask;
use super::watch::Watches;

/// How long a read may take before it bars its root, and before it is reported.
pub(super) const BARRED: Duration = Duration::from_secs(1);
const SAID: Duration = Duration::from_secs(10);
/// The time between reads of the same files, and between rings for lines; after a silence, neither waits.
pub(super) const PACE: Duration = Duration::from_millis(100);

/// What a task does. A root has each of them once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Session(SessionId),
    Processes,
    Search,
    Choose(u64, PathBuf),
    Project(PathBuf),
    Job(u64),
}

#[derive(Debug)]
pub(super) enum Work {
    Session(Box<SessionTask>),
    Processes(Box<ProcessesTask>),
    Search(Box<SearchTask>),
    Choose(Box<ChooseTask>),
    Project(PathBuf),
    Job(Job),
}

/// Work that waits for files and is done once.
pub(super) struct Job(pub(super) Option<Box<dyn FnOnce() + Send>>);

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job")
    }
}

/// What follows a task that ran.
pub(super) enum Next {
    /// It runs again at this time, or earlier if something changes.
    At(Instant),
    /// It is over.
    Over,
}

/// What becomes of a task that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It runs again, or was removed meanwhile.
    Settled,
    /// It is over, and to be removed.
    Over,
    /// It panicked.
    Failed,
}

/// What a task needs to run.
pub(super) struct Begun {
    pub(super) work: Work,
    /// The watches of its root, if there are any yet.
    pub(super) watches: Option<Watches>,
    /// The tasks that are left in the root, if some were removed.
    pub(super) left: Option<BTreeSet<Key>>,
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
    /// Whether a task has read for longer than this, and does not wait for anything else.
    fn is_busy_for(&self, time: Duration) -> bool {
        !self.is_waiting && self.busy.is_some_and(|since| since.elapsed() > time)
    }

    fn is_unused(&self) -> bool {
        self.tasks.is_empty() && self.busy.is_none()
    }
}

/// The roots that have tasks, or a worker.
#[derive(Debug, Default)]
pub(super) struct Roots(HashMap<PathBuf, Root>);

impl Roots {
    /// Adds a task, which is due now.
    pub(super) fn add(&mut self, root: PathBuf, key: Key, work: Work) {
        let task = Task { due: Some(Instant::now()), ran: None, work: Some(work) };
        self.0.entry(root).or_default().tasks.insert(key, task);
    }

    pub(super) fn has(&self, root: &Path, key: &Key) -> bool {
        self.0.get(root).is_some_and(|root| root.tasks.contains_key(key))
    }

    fn task(&mut self, root: &Path, key: &Key) -> Option<&mut Task> {
        self.0.get_mut(root)?.tasks.get_mut(key)
    }

    /// Lets a task run as soon as may be after something changed.
    pub(super) fn mark(&mut self, root: &Path, key: &Key) {
        if let Some(task) = self.task(root, key) {
            let now = Instant::now();
            let at = task.ran.map_or(now, |ran| now.max(ran + PACE));
            task.due = Some(task.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Lets a task run next, even if it has just run.
    pub(super) fn hurry(&mut self, root: &Path, key: &Key) {
        if let Some(task) = self.task(root, key) {
            task.due = Some(Instant::now());
        }
    }

    /// Lets all tasks run next that do not run.
    pub(super) fn hurry_all(&mut self) {
        let now = Instant::now();
        let tasks = self.0.values_mut().flat_map(|root| root.tasks.values_mut());
        tasks.filter(|task| task.work.is_some()).for_each(|task| task.due = Some(now));
    }

    pub(super) fn remove(&mut self, path: &Path, key: &Key) {
        let Some(root) = self.0.get_mut(path) else { return };
        root.tasks.remove(key);
        root.has_removed = true;
        if root.is_unused() {
            self.0.remove(path);
        }
    }

    /// Whether a read there takes so long that nothing else waits for the root.
    pub(super) fn is_barred(&self, root: &Path) -> bool {
        self.0.get(root).is_some_and(|root| root.is_busy_for(BARRED))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has_barred(&self) -> bool {
        self.0.values().any(|root| root.is_busy_for(BARRED))
    }

    /// The roots that are stuck since the last call.
    pub(super) fn take_stuck(&mut self) -> Vec<PathBuf> {
        let new = self.0.iter_mut().filter(|(_, root)| root.is_busy_for(SAID) && !root.is_said);
        let said = new.map(|(path, root)| {
            root.is_said = true;
            path.clone()
        });
        said.collect()
    }

    /// Says whether the worker of a root waits for something else, which takes no time of the root's.
    pub(super) fn set_waiting(&mut self, root: &Path, is_waiting: bool) {
        if let Some(root) = self.0.get_mut(root) {
            root.is_waiting = is_waiting;
            root.busy = root.busy.map(|_| Instant::now());
        }
    }

    /// The task that is due first, or the time at which one will be.
    pub(super) fn next(&self, now: Instant) -> Result<(PathBuf, Key), Option<Instant>> {
        let free = self.0.iter().filter(|(_, root)| root.busy.is_none());
        let tasks = free.flat_map(|(path, root)| root.tasks.iter().map(move |(key, task)| (path, key, task)));
        let due = tasks.filter_map(|(path, key, task)| task.due.map(|due| (due, key, path)));
        match due.min() {
            Some((due, key, path)) if due <= now => Ok((path.clone(), key.clone())),
            other => Err(other.map(|(due, ..)| due)),
        }
    }

    /// Marks a task as running; `None` if it runs already.
    pub(super) fn begin(&mut self, path: &Path, key: &Key, now: Instant) -> Option<Begun> {
        let root = self.0.get_mut(path)?;
        let task = root.tasks.get_mut(key)?;
        task.due = None;
        task.ran = Some(now);
        let work = task.work.take()?;
        root.busy = Some(now);
        let has_removed = std::mem::take(&mut root.has_removed);
        let left = has_removed.then(|| root.tasks.keys().cloned().collect());
        Some(Begun { work, watches: root.watches.take(), left })
    }

    /// Marks a task as one that ran: what it did and what follows, or `None` if it panicked. Also returns
    /// whether its root was said to be stuck.
    pub(super) fn end(
        &mut self,
        path: &Path,
        key: &Key,
        done: Option<(Work, Next)>,
        watches: Watches,
    ) -> (Fate, bool) {
        let Some(root) = self.0.get_mut(path) else { return (Fate::Settled, false) };
        root.busy = None;
        root.watches = Some(watches);
        let is_said = std::mem::take(&mut root.is_said);
        // It may have been removed meanwhile, or added again with work of its own.
        let task = root.tasks.get_mut(key).filter(|task| task.work.is_none());
        let fate = match (done, task) {
            (_, None) => Fate::Settled,
            (Some((work, Next::At(at))), Some(task)) => {
                task.work = Some(work);
                task.due = Some(task.due.map_or(at, |due| due.min(at)));
                Fate::Settled
            }
            // It was asked for again while it ran.
            (Some((work, Next::Over)), Some(task)) if task.due.is_some() => {
                task.work = Some(work);
                Fate::Settled
            }
            (Some((_, Next::Over)), Some(_)) => Fate::Over,
            (None, Some(_)) => Fate::Failed,
        };
        if root.is_unused() {
            self.0.remove(path);
        }
        (fate, is_said)
    }
}
