//! What the sessions and searches of a root have in common.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::answers::Answers;
use super::home::{Home, escape};
use super::project::Projects;
use super::pulse::Pulse;
use super::queue::Queue;
use super::watch::Watches;
use todo_write::wire::program::Process;
use todo_write::wire::program::{Message, Settings};

/// What all roots have in common.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) queue: Arc<Queue>,
    pub(super) answers: Answers,
    pub(super) projects: Projects,
}

#[derive(Debug)]
pub(super) struct Around {
    pub(super) common: Arc<Common>,
    pub(super) settings: Arc<Settings>,
    /// The home, if the root is one.
    pub(super) home: Option<Arc<Home>>,
    /// The live processes of the home, as they were told last.
    pub(super) live: Vec<Process>,
    /// The sessions of processes in containers that share the home.
    pub(super) elsewhere: HashSet<String>,
    pub(super) watches: Watches,
    pub(super) pulse: Arc<Pulse>,
}

impl Around {
    /// Does what waits for something else than this root.
    fn aside<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.pulse.end();
        let done = wait();
        self.pulse.begin();
        done
    }

    /// Waits until messages can be sent; returns false if the hub is closed.
    pub(super) fn wait_for_room(&self) -> bool {
        self.aside(|| self.common.queue.wait_for_room())
    }

    /// Sends a message once there is room.
    pub(super) fn send(&self, message: Message) {
        self.wait_for_room();
        self.common.queue.push(message);
    }

    /// As [`Projects::of`].
    pub(super) fn project_of(&self, folder: &Path) -> Option<PathBuf> {
        self.aside(|| self.common.projects.of(folder))
    }

    /// Whether a session whose agent runs in `folder` is one of the project with these names. The name of the
    /// transcript's own folder does not tell: it is the same for `/a_b` and `/a-b`, and begins with that of `/a`.
    pub(super) fn is_of_project(&self, project: &[PathBuf], folder: Option<&str>) -> bool {
        let Some(folder) = folder.map(Path::new).filter(|folder| folder.is_absolute()) else { return false };
        project.iter().filter(|project| folder.starts_with(project)).any(|project| {
            // A worktree or another repository below the root is a project of its own.
            self.project_of(folder).is_none_or(|found| project.starts_with(found))
        })
    }

    /// The transcript of a live process of the home. It may not be written yet.
    pub(super) fn transcript(&self, process: &Process) -> Option<PathBuf> {
        let session = process.session.as_ref().filter(|session| !session.contains('/'))?;
        let folder = escape(process.folder.as_ref()?);
        Some(self.home.as_ref()?.folder.join("projects").join(folder).join(format!("{session}.jsonl")))
    }
}
