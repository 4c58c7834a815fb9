//! What a hub knows: what it follows and searches, and who waits for an answer.

#[cfg(unix)]
use std::collections::BTreeMap;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::home::Home;
#[cfg(unix)]
use super::machine::Connected;
use super::project::mount_of;
use super::queue::Queue;
use super::roots::{Key, Roots};
use super::search::{Choice, Found};
use super::{Bell, Message, SessionId, Settings};
use crate::agents::claude::process_files::Process;

/// Maximum number of folders whose projects are remembered.
const PROJECTS: usize = 4_096;

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

impl Followed {
    /// The ids by which processes may name it.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let stem = self.path.file_stem().and_then(|stem| stem.to_str());
        self.session.as_deref().into_iter().chain(stem)
    }
}

/// The sessions in a home, and the files whose names are no text.
type Listed = (Vec<Found>, Vec<PathBuf>);

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) settings: Arc<Settings>,
    pub(super) queue: Queue,
    pub(super) homes: HashMap<PathBuf, Arc<Home>>,
    /// The machines to which this hub was connected, by their names.
    #[cfg(unix)]
    pub(super) connections: BTreeMap<String, Connected>,
    /// The live processes, by the homes.
    pub(super) live: HashMap<PathBuf, Vec<Process>>,
    /// The sessions of processes in containers that share a home, by the homes.
    pub(super) elsewhere: HashMap<PathBuf, HashSet<String>>,
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
    /// The projects that were found, by the folders of sessions; without one if none was found in time.
    pub(super) projects: HashMap<PathBuf, Option<PathBuf>>,
    pub(super) roots: Roots,
    pub(super) workers: usize,
    /// The number of workers that wait for something to do.
    pub(super) idle: usize,
    /// When the first of them wakes by itself.
    pub(super) alarm: Option<Instant>,
    pub(super) is_closed: bool,
}

impl State {
    pub(super) fn new(settings: Settings, bell: Bell) -> State {
        State { settings: Arc::new(settings), queue: Queue::new(bell), ..State::default() }
    }

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

    pub(super) fn remember_project(&mut self, folder: &Path, found: Option<PathBuf>) {
        if self.projects.len() >= PROJECTS {
            self.projects.clear();
        }
        self.projects.insert(folder.to_owned(), found);
    }

    /// Lets a session be read next.
    pub(super) fn hurry_session(&mut self, id: SessionId) {
        if let Some(root) = self.sessions.get(&id).map(|one| one.root.clone()) {
            self.roots.hurry(&root, &Key::Session(id));
        }
    }

    /// Marks the sessions of a transcript.
    pub(super) fn look_at(&mut self, file: &Path) -> bool {
        let ids = self.files.get(file).cloned().unwrap_or_default();
        for id in &ids {
            if let Some(followed) = self.sessions.get(id).cloned() {
                self.roots.mark(&followed.root, &Key::Session(*id));
            }
        }
        !ids.is_empty()
    }

    /// Removes a task.
    pub(super) fn remove(&mut self, root: &Path, key: &Key) {
        if *key == Key::Processes {
            // Nothing more is read of them.
            self.report_caught_up(root);
        }
        self.roots.remove(root, key);
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
    pub(super) fn fail(&mut self, root: &Path, key: &Key) {
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
            Key::Project(folder) => self.remember_project(folder, None),
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

    /// Whether the process of a session runs in a container.
    fn is_elsewhere(&self, followed: &Followed) -> bool {
        let sessions = self.elsewhere.get(&followed.root);
        sessions.is_some_and(|sessions| followed.ids().any(|id| sessions.contains(id)))
    }

    /// Reports that a session and the processes in its home were read.
    pub(super) fn report_ready(&mut self, id: SessionId) {
        if let Some(followed) = self.sessions.get(&id) {
            let has_processes = followed.has_processes && !self.is_elsewhere(followed);
            let message = Message::Ready { session: id, has_processes };
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
        let is_awaited =
            |(home, found): (&PathBuf, &Option<_>)| found.is_none() && !self.roots.is_barred(home);
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
            !done && !roots.get(home).is_some_and(|root| self.roots.is_barred(root))
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

    /// Reports roots that do not answer, and answers without them.
    pub(super) fn report_stuck(&mut self) {
        for path in self.roots.take_stuck() {
            self.queue.push(Message::Stuck(path, true), false);
        }
        if self.roots.has_barred() {
            self.end_rounds();
            let is_barred =
                |(home, found): &(&PathBuf, &Option<Listed>)| found.is_none() && self.roots.is_barred(home);
            let barred: Vec<PathBuf> =
                self.found.iter().filter(is_barred).map(|(home, _)| home.clone()).collect();
            barred.iter().for_each(|home| self.give_up_search(home));
        }
    }
}
