//! What the processes of a home say.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::watch::Watches;
use crate::claude::process_files::Processes;
use todo_write::wire::program::Process;

/// The live processes, and the sessions and ids of those that were killed.
pub(super) type Fact = (Vec<Process>, Vec<(String, u32)>);

/// The process files of a home of Claude Code.
#[derive(Debug)]
pub(super) struct ProcessFiles {
    processes: Processes,
    /// Whether the files are to be read, and when they were last.
    pub(super) is_due: bool,
    pub(super) read: Option<Instant>,
    told: Option<Fact>,
    /// What is to be told once the sessions of which it changes something are read.
    next: Option<Fact>,
}

impl ProcessFiles {
    pub(super) fn new(home: &Path) -> ProcessFiles {
        let processes = Processes::new(home.join("sessions"));
        ProcessFiles { processes, is_due: true, read: None, told: None, next: None }
    }

    /// Reads the files, of which the killed processes of `sessions` concern us; returns the sessions of which
    /// something changed since the last time.
    pub(super) fn read(&mut self, sessions: &HashSet<String>, watches: &mut Watches) -> HashSet<String> {
        watches.add(&self.watched());
        (self.is_due, self.read) = (false, Some(Instant::now()));
        let fact = (self.processes.read(), self.processes.left_behind(sessions));
        let before = self.next.as_ref().or(self.told.as_ref());
        let before: &[Process] = before.map_or(&[], |(before, _)| before);
        let new = fact.0.iter().filter(|process| !before.contains(process));
        let gone = before.iter().filter(|process| !fact.0.contains(process));
        let changed = new.chain(gone).filter_map(|process| process.session.clone()).collect();
        self.next = Some(fact).filter(|fact| self.told.as_ref() != Some(fact));
        changed
    }

    /// What is to be told now, if anything is new.
    pub(super) fn take(&mut self) -> Option<Fact> {
        let next = self.next.take()?;
        self.told = Some(next.clone());
        Some(next)
    }

    /// The live processes, as they were told last.
    pub(super) fn live(&self) -> &[Process] {
        self.told.as_ref().map_or(&[], |(live, _)| live)
    }

    /// Whether a process in a container has a session, so that it is unknown whether it lives.
    pub(super) fn is_elsewhere(&self, session: &str) -> bool {
        self.processes.elsewhere().contains(session)
    }

    /// The folder in which they change, or appear.
    pub(super) fn watched(&self) -> PathBuf {
        let folder = &self.processes.folder;
        let above = folder.parent().unwrap_or(folder);
        if folder.is_dir() { folder } else { above }.to_owned()
    }
}
