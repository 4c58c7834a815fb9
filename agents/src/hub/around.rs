//! What the sessions and searches of a root have in common.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::home::{Home, escape};
use super::lines::size;
use super::project::Projects;
use super::pulse::Pulse;
use super::queue::Queue;
use super::watch::Watches;
use todo_write::wire::program::{Message, Process, Settings};

/// What all threads of the hub have in common.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) queue: Queue,
    pub(super) projects: Projects,
}

#[derive(Debug)]
pub(super) struct Around {
    pub(super) common: Arc<Common>,
    pub(super) settings: Arc<Settings>,
    /// The home, if the root is one.
    pub(super) home: Option<Home>,
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

    /// Sends a message once there is room.
    pub(super) fn send(&self, message: Message) {
        let bytes = size(&message);
        self.send_sized(message, bytes);
    }

    /// As `send`, for a message of about that size.
    pub(super) fn send_sized(&self, message: Message, bytes: usize) {
        if self.aside(|| self.common.queue.wait_for_room(&message)) {
            self.common.queue.push_sized(message, bytes);
        }
    }

    /// As [`Projects::of`].
    pub(super) fn project_of(&self, folder: &Path) -> Option<PathBuf> {
        self.aside(|| self.common.projects.of(folder))
    }

    /// The transcript of a live process of the home. It may not be written yet.
    pub(super) fn transcript(&self, process: &Process) -> Option<PathBuf> {
        let session = process.session.as_ref().filter(|session| !session.contains('/'))?;
        let folder = escape(process.folder.as_ref()?);
        Some(self.home.as_ref()?.folder.join("projects").join(folder).join(format!("{session}.jsonl")))
    }
}
