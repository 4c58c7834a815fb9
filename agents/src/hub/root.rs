//! The thread of a root: an agent's home, or the mount of a file outside of all homes.
//!
//! It alone reads the files there and owns all that is known of them. Each round begins with the process files and
//! ends with the search; between them are the sessions, a part of one file at a time and the newest change first.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use super::around::{Around, no_processes};
use super::home::Home;
use super::search::Search;
use super::session::{Done, Session};
use crate::claude::process_files::Processes;
use todo_write::wire::event::Agent;
use todo_write::wire::program::{Message, SessionId, Settings};

/// The time between rounds for files that keep changing.
const PACE: Duration = Duration::from_millis(100);
/// How long a session does not grow before the files beside its transcript count: its agent writes them first.
const SETTLES: Duration = Duration::from_secs(1);

/// What the thread is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Follows the session in a file, for which the user has asked or not.
    Follow(SessionId, PathBuf, bool),
    Stop(SessionId),
    /// Wants [`Message::Ready`].
    Check(SessionId),
    Set(Arc<Settings>),
    /// The root is this home, which is to be searched, or none any more.
    Home(Option<Home>),
    /// A file changed.
    Look,
    Close,
}

/// Serves a root until it is told to close. After a panic it begins again, once.
pub(super) fn run(around: Around, home: Option<Home>, orders: &Receiver<Order>) {
    let mut root = Root::new(around, home, BTreeMap::new());
    for _ in 0..2 {
        let served = catch_unwind(AssertUnwindSafe(|| root.serve(orders)));
        root.around.pulse.end();
        if served.is_ok() {
            return;
        }
        // Nothing stays of what the panic left half done.
        let Root { around, sessions, .. } = root;
        let (sessions, home) = (sessions.into_values().map(Session::restart).collect(), around.home.clone());
        root = Root::new(around.restart(), home, sessions);
    }
    root.around.common.queue.push(Message::Broken(root.around.root.clone()));
    root.sessions.into_keys().for_each(|id| root.around.common.queue.push(Message::failed(id)));
}

struct Root {
    around: Around,
    sessions: BTreeMap<SessionId, Session>,
    search: Option<Search>,
    /// When the round began, and when all files were looked at.
    begun: Instant,
    looked: Instant,
}

impl Root {
    fn new(around: Around, home: Option<Home>, sessions: BTreeMap<SessionId, Session>) -> Root {
        let now = Instant::now();
        let mut root = Root { around, sessions, search: None, begun: now, looked: now };
        root.set_home(home);
        root
    }

    fn serve(&mut self, orders: &Receiver<Order>) {
        loop {
            let round = self.next_round();
            let until = |at: Instant| at.saturating_duration_since(Instant::now());
            let left = if self.has_work() { Some(Duration::ZERO) } else { round.map(until) };
            let order = match left {
                Some(left) => orders.recv_timeout(left),
                None => orders.recv().map_err(RecvTimeoutError::from),
            };
            match order {
                Ok(Order::Close) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(order) => self.obey(order),
                Err(RecvTimeoutError::Timeout) => {
                    self.around.pulse.begin();
                    if round.is_some_and(|at| at <= Instant::now()) {
                        self.begin_round();
                    }
                    self.step();
                }
            }
            self.around.pulse.end();
        }
    }

    fn has_work(&self) -> bool {
        self.around.processes.as_ref().is_some_and(|processes| processes.is_due)
            || self.sessions.values().any(|session| session.is_due)
            || self.search.as_ref().is_some_and(|search| search.is_due)
    }

    /// When the next round begins if no order comes before.
    fn next_round(&self) -> Option<Instant> {
        let interval = self.around.settings.interval;
        let has_files = !self.sessions.is_empty() || self.around.home.is_some();
        let has_changed = !self.around.watches.changes.is_empty();
        let soon = has_changed.then(|| self.begun + PACE.min(interval));
        let settled = self.sessions.values().filter_map(|session| session.settles);
        settled.chain(soon).chain(has_files.then(|| self.looked + interval)).min()
    }

    fn obey(&mut self, order: Order) {
        self.around.pulse.begin();
        match order {
            Order::Follow(id, path, is_asked) => {
                self.sessions.insert(id, Session::new(id, path, is_asked));
            }
            Order::Stop(id) => self.forget(id),
            Order::Check(id) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    (session.is_due, session.is_checked) = (true, true);
                }
            }
            Order::Set(settings) => {
                self.around.settings = settings;
                self.look_at_all();
            }
            Order::Home(home) => self.set_home(home),
            Order::Look | Order::Close => {}
        }
    }

    fn set_home(&mut self, home: Option<Home>) {
        if home.as_ref().is_some_and(|home| home.agent == Agent::Claude) {
            self.around
                .processes
                .get_or_insert_with(|| Processes::new(self.around.root.join("sessions")))
                .is_due = true;
        } else if self.around.processes.take().is_some() {
            self.around.common.queue.push(no_processes(self.around.root.clone(), None));
            self.say_ready();
        }
        let is_searched = home.as_ref().is_some_and(|home| home.is_searched);
        self.search = is_searched.then(|| self.search.take().unwrap_or_default());
        self.search.iter_mut().for_each(|search| search.is_due = true);
        self.around.home = home;
        self.keep_watches();
    }

    /// Watches no folder that nothing here wants any more.
    fn keep_watches(&mut self) {
        let sessions = self.sessions.values().flat_map(Session::folders);
        let searched = self.search.iter().flat_map(|search| search.watched.iter().cloned());
        let wanted = sessions.chain(searched).chain(self.around.processes.as_ref().map(Processes::watched));
        self.around.watches.keep(&wanted.collect());
    }

    fn mark_processes(&mut self) {
        self.around.processes.iter_mut().for_each(|processes| processes.is_due = true);
    }

    fn forget(&mut self, id: SessionId) {
        self.sessions.remove(&id);
        self.keep_watches();
        // Others may have waited for it.
        self.tell();
    }

    fn look_at_all(&mut self) {
        self.looked = Instant::now();
        self.keep_watches();
        self.sessions.values_mut().for_each(|session| session.is_due = true);
        self.mark_processes();
        self.search
            .iter_mut()
            .for_each(|search| search.is_due |= search.next.is_none_or(|next| self.looked >= next));
    }

    /// Notes what is to be looked at: what changed, or all of it.
    fn begin_round(&mut self) {
        self.begun = Instant::now();
        let changes = self.around.watches.changes.take();
        let is_all = changes.contains(&self.around.root);
        if is_all {
            self.search.iter_mut().for_each(|search| search.is_due = true);
        }
        if is_all || self.looked + self.around.settings.interval <= self.begun {
            self.look_at_all();
        }
        for session in self.sessions.values_mut() {
            session.is_due |= session.settles.take_if(|settles| *settles <= self.begun).is_some();
        }
        for file in &changes {
            let mut is_known = false;
            for session in self.sessions.values_mut().filter(|session| session.has(file)) {
                (session.is_due, session.changed) = (true, SystemTime::now());
                is_known = true;
            }
            let extension = file.extension();
            if extension.is_some_and(|extension| extension == "json") {
                self.mark_processes();
            } else if !is_known && extension.is_none_or(|extension| extension == "jsonl") {
                // A transcript that is not followed, or a folder.
                self.search.iter_mut().for_each(|search| search.notice(file));
            }
        }
    }

    /// Does a part of what the round has left.
    fn step(&mut self) {
        self.read_processes();
        let due = self.sessions.iter().filter(|(_, session)| session.is_due);
        let next = due.max_by_key(|(_, session)| (session.is_owed, session.changed));
        if let Some(id) = next.map(|(id, _)| *id) {
            return self.read_session(id);
        }
        let search = self.search.as_mut().filter(|search| search.is_due);
        if let (Some(search), Some(home)) = (search, self.around.home.clone()) {
            search.run(&home, &mut self.around);
        }
    }

    /// Reads the process files if they are due: once for many sessions that are read now. What they say is told once
    /// the sessions are read of which it changes something.
    fn read_processes(&mut self) {
        let is_busy = self.sessions.values().any(|session| session.is_due);
        let is_now = |processes: &&mut Processes| {
            processes.is_due && !(is_busy && processes.looked.is_some_and(|looked| looked.elapsed() < PACE))
        };
        if let Some(processes) = self.around.processes.as_mut().filter(is_now) {
            #[cfg(test)]
            assert!(std::fs::remove_file(self.around.root.join("fails")).is_err(), "a root that fails");
            let ids = self.sessions.values().flat_map(Session::ids).map(str::to_owned).collect();
            self.around.watches.add(&processes.watched());
            let changed = processes.look(&ids);
            for session in self.sessions.values_mut() {
                if session.ids().any(|session| changed.contains(session)) {
                    (session.is_due, session.is_owed) = (true, true);
                }
            }
        }
        self.tell();
    }

    /// Tells what processes say, and who is ready.
    fn tell(&mut self) {
        let is_owed = self.sessions.values().any(|session| session.is_owed);
        if is_owed || self.around.processes.as_ref().is_some_and(|processes| processes.is_due) {
            return;
        }
        if let Some((live, killed)) = self.around.processes.as_mut().and_then(Processes::take) {
            let home = self.around.root.clone();
            self.around.send(Message::Processes { home, machine: None, live, killed });
            self.search.iter_mut().for_each(|search| search.is_due = true);
        }
        self.say_ready();
    }

    fn say_ready(&mut self) {
        for (id, session) in &mut self.sessions {
            if std::mem::take(&mut session.is_read) {
                let has_processes = session.has_processes(&self.around);
                self.around.send(Message::Ready { session: *id, has_processes });
            }
        }
    }

    fn read_session(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let read = || session.read(&mut self.around);
        let done = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
            self.around.send(Message::failed(id));
            Done::Over
        });
        if done == Done::Partly {
            return;
        }
        session.is_owed = false;
        if done == Done::Over {
            return self.forget(id);
        }
        session.is_due = false;
        session.settles =
            (done == Done::Grown).then(|| Instant::now() + SETTLES.min(self.around.settings.interval));
        if std::mem::take(&mut session.is_checked) {
            // It is ready once the processes are read after it.
            session.is_read = true;
            self.mark_processes();
        }
        self.tell();
    }
}
