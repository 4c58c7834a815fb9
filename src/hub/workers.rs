//! The workers of a hub, which run the tasks of its roots.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::project::{mount_of, project_of};
use super::roots::{BARRED, Fate, Job, Key, Next, Work};
use super::state::State;
use super::watch::Watches;
use super::{Bell, Message, SessionId, Settings};

/// Maximum number of workers.
const WORKERS: usize = 16;
/// The number of workers that wait for something to do and stay: one for what comes next, one for what is
/// due after it.
const SPARE: usize = 2;

/// The state of a hub, for its workers and its owner.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Something may be due.
    pub(super) work: Condvar,
    /// Messages were taken, or a project was found.
    pub(super) room: Condvar,
}

impl Shared {
    pub(super) fn start(settings: Settings, bell: Bell) -> Arc<Shared> {
        let state = State::new(settings, bell);
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
        if state.roots.is_empty() {
            // Who waits while there is nothing to do does not look at the time.
            self.work.notify_all();
        } else {
            self.work.notify_one();
        }
        state.roots.add(root, key, work);
    }

    /// Wakes a worker if something is due before the first of them wakes by itself.
    pub(super) fn wake(&self, state: &State) {
        let is_early = match state.roots.next(Instant::now()) {
            Ok(_) => true,
            Err(due) => due.is_some_and(|due| state.alarm.is_none_or(|alarm| due < alarm)),
        };
        if is_early {
            self.work.notify_one();
        }
    }

    /// Adds a task, or lets the one of this key run again.
    pub(super) fn add_or_look(&self, state: &mut State, root: &Path, key: Key, work: impl FnOnce() -> Work) {
        if state.roots.has(root, &key) {
            state.roots.hurry(root, &key);
            self.work.notify_one();
        } else {
            self.add(state, root.to_owned(), key, work());
        }
    }

    pub(super) fn look_at_task(&self, state: &mut State, root: &Path, key: &Key) {
        state.roots.hurry(root, key);
        self.work.notify_one();
    }

    pub(super) fn look_at_all(&self, state: &mut State) {
        state.roots.hurry_all();
        self.work.notify_all();
    }

    /// Sends a message from a worker in `root`, once there is room. Returns false if its session is no
    /// longer followed, or the hub is closed.
    pub(super) fn send(&self, root: &Path, id: SessionId, message: Message, is_history: bool) -> bool {
        let mut state = self.lock();
        state.roots.set_waiting(root, true);
        while state.queue.is_full() && !state.is_closed && state.sessions.contains_key(&id) {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.roots.set_waiting(root, false);
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
            let found = project_of(folder);
            self.lock().remember_project(folder, found.clone());
            return found;
        }
        let key = Key::Project(folder.to_owned());
        self.add_or_look(&mut state, &mount, key, || Work::Project(folder.to_owned()));
        self.employ_if_needed(&mut state);
        state.roots.set_waiting(root, true);
        let end = Instant::now() + BARRED;
        while !state.projects.contains_key(folder) && !state.is_closed && !state.roots.is_barred(&mount) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.room.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.roots.set_waiting(root, false);
        state.projects.get(folder).and_then(Clone::clone)
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
            state.report_stuck();
            let now = Instant::now();
            let ring = state.queue.ring_if_due(now);
            match state.roots.next(now) {
                Ok((root, key)) => {
                    self.employ_if_needed(&mut state);
                    let Some(begun) = state.roots.begin(&root, &key, now) else { continue };
                    drop(state);
                    let mut watches = begun.watches.unwrap_or_else(|| Watches::new(&root, &self));
                    if let Some(left) = begun.left {
                        watches.keep(|key| left.contains(key));
                    }
                    let done = self.run(&root, begun.work, &mut watches);
                    state = self.lock();
                    self.end(&mut state, &root, &key, done, watches);
                }
                Err(due) => {
                    let is_over;
                    (state, is_over) = self.wait(state, due.into_iter().chain(ring).min());
                    if is_over {
                        break;
                    }
                }
            }
        }
        state.workers -= 1;
    }

    /// Waits for something to do, at `due` at the latest if no other worker wakes before. Returns whether
    /// enough others wait.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        due: Option<Instant>,
    ) -> (MutexGuard<'a, State>, bool) {
        // That all waited for the same moment would wake all of them for one task. One that does not
        // look at the time sees every second whether the one that does was kept by a task.
        let own = due.filter(|due| state.alarm.is_none_or(|alarm| *due < alarm));
        state.alarm = own.or(state.alarm);
        let most = if state.roots.is_empty() { Duration::from_secs(3_600) } else { BARRED };
        let left = own.map_or(most, |own| own.saturating_duration_since(Instant::now()).min(most));
        state.idle += 1;
        let (mut state, waited) = self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        if own.is_some() && state.alarm == own {
            state.alarm = None;
        }
        let is_over = own.is_none() && waited.timed_out() && state.idle >= SPARE;
        (state, is_over)
    }

    /// Runs a task; None if it panicked.
    fn run(self: &Arc<Self>, root: &Path, mut work: Work, watches: &mut Watches) -> Option<(Work, Next)> {
        let next = catch_unwind(AssertUnwindSafe(|| match &mut work {
            Work::Session(task) => task.run(self, root, watches),
            Work::Processes(task) => task.run(self, watches),
            Work::Search(task) => task.run(self, root, watches),
            Work::Choose(task) => task.run(self, root),
            Work::Job(Job(job)) => {
                if let Some(job) = job.take() {
                    job();
                }
                Next::Over
            }
            Work::Project(folder) => {
                let found = project_of(folder);
                self.lock().remember_project(folder, found);
                self.room.notify_all();
                Next::Over
            }
        }));
        next.ok().map(|next| (work, next))
    }

    fn end(&self, state: &mut State, root: &Path, key: &Key, done: Option<(Work, Next)>, watches: Watches) {
        let (fate, was_stuck) = state.roots.end(root, key, done, watches);
        match fate {
            Fate::Settled => {}
            Fate::Over => state.remove(root, key),
            Fate::Failed => state.fail(root, key),
        }
        if was_stuck {
            state.queue.push(Message::Stuck(root.to_owned(), false), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::PathBuf;

    use super::*;

    fn state(shared: &Shared) -> MutexGuard<'_, State> {
        let mut state = shared.lock();
        // No worker runs what a test adds.
        state.is_closed = true;
        state
    }

    #[test]
    fn nothing_waits_for_a_task_that_panicked() {
        let shared = Shared::start(Settings::default(), Box::new(|| {}));
        let mut state = state(&shared);
        let home = PathBuf::from("/home");
        state.found.insert(home.clone(), None);
        state.rounds.insert(1, (HashMap::from([(home.clone(), false)]), Vec::new()));
        for key in [Key::Search, Key::Choose(1, home.clone())] {
            let work = Work::Project(home.clone());
            shared.add(&mut state, home.clone(), key.clone(), work);
            state.roots.begin(&home, &key, Instant::now());
            let watches = Watches::new(&home, &shared);
            shared.end(&mut state, &home, &key, None, watches);
            assert!(!state.roots.has(&home, &key));
            let answer = state.queue.take();
            let is_answer = match key {
                Key::Search => matches!(answer, Some(Message::Found(..))),
                _ => matches!(answer, Some(Message::Choices(1, _))),
            };
            assert!(is_answer, "{answer:?}");
            assert!(matches!(state.queue.take(), Some(Message::Broken(root)) if root == home));
        }
    }
}
