//! What the sessions and searches of a root have in common.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::home::{Home, escape};
use super::project::Projects;
use super::queue::Queue;
use super::watch::Watches;
use crate::claude::process_files::Processes;
use crate::threads::lock;
use todo_write::wire::program::{Message, Process, Settings};

/// Since when a thread waits for something that may not answer, at which others look; None while it waits for nothing.
#[derive(Debug, Default)]
pub(super) struct Pulse(Mutex<Option<Instant>>);

impl Pulse {
    pub(super) fn begin(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    pub(super) fn end(&self) {
        *lock(&self.0) = None;
    }

    /// Whether it waits for longer than this.
    pub(super) fn is_over(&self, time: Duration) -> bool {
        lock(&self.0).is_some_and(|since| since.elapsed() > time)
    }
}

/// What all threads of the hub have in common.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) queue: Queue,
    pub(super) projects: Projects,
}

pub(super) struct Around {
    pub(super) root: PathBuf,
    pub(super) common: Arc<Common>,
    pub(super) settings: Arc<Settings>,
    /// The home, if the root is one.
    pub(super) home: Option<Home>,
    /// The process files of the home, if it has any.
    pub(super) processes: Option<Processes>,
    pub(super) watches: Watches,
    pub(super) pulse: Arc<Pulse>,
}

/// The message that a home has no live processes any more.
pub(super) fn no_processes(home: PathBuf, machine: Option<String>) -> Message {
    Message::Processes { home, machine, live: Vec::new(), killed: Vec::new() }
}

impl Around {
    /// The same without what is known of files.
    pub(super) fn restart(self) -> Around {
        Around { home: None, processes: None, watches: Watches::new(self.watches.changes), ..self }
    }

    /// Does what waits for something else than this root.
    pub(super) fn aside<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.pulse.end();
        let done = wait();
        self.pulse.begin();
        done
    }

    /// Sends a message once there is room.
    pub(super) fn send(&self, message: Message) {
        if self.aside(|| self.common.queue.wait_for_room(&message)) {
            self.common.queue.push(message);
        }
    }

    /// The live processes of the home, as they were told last.
    pub(super) fn live(&self) -> &[Process] {
        self.processes.as_ref().map_or(&[], Processes::live)
    }

    /// The transcript of a live process of the home. It may not be written yet.
    pub(super) fn transcript(&self, process: &Process) -> Option<PathBuf> {
        let session = process.session.as_ref().filter(|session| !session.contains('/'))?;
        let folder = escape(process.folder.as_ref()?);
        Some(self.home.as_ref()?.folder.join("projects").join(folder).join(format!("{session}.jsonl")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::{NEVER, wait_until};

    #[test]
    fn only_what_has_begun_takes_time() {
        let pulse = Pulse::default();
        assert!(!pulse.is_over(Duration::ZERO));
        pulse.begin();
        wait_until("some time", || pulse.is_over(Duration::from_millis(1)));
        assert!(!pulse.is_over(NEVER));
        pulse.end();
        assert!(!pulse.is_over(Duration::ZERO));
    }
}
