//! Opens the journal of a thread and replays it, on any thread of the process.

use std::io;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::file::{self, OpenedJournal};
use super::folder::{Journals, Locked};
use super::percent::Percent;
use super::saved::SavedThread;
use super::snapshot::Snapshot;
use super::store::Storage;
use crate::events::Millis;

/// What the store knows of a thread whose journal is to be opened.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) key: String,
    pub(super) storage: Storage,
    /// The description of a journal without one, and of a new one.
    pub(super) about: Map<String, Value>,
    pub(super) now: Millis,
    /// Whether the thread was in memory before, and left it.
    pub(super) was_here: bool,
    /// Whether the thread is in memory, so that it is not replayed.
    pub(super) is_in_memory: bool,
    /// How much of the journal is read.
    pub(super) done: Arc<Percent>,
    /// What was read before of a journal that others hold.
    pub(super) snapshot: Option<Snapshot>,
}

/// The thread of a journal that was opened, or the reason why it was not.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) key: String,
    pub(super) now: Millis,
    pub(super) found: Found,
}

#[derive(Debug)]
pub(super) enum Found {
    /// No journal that this process may write, and what those have that others hold.
    Nothing(Option<Snapshot>),
    /// The thread of the journal, and warnings.
    Thread(Box<SavedThread>, Vec<String>),
    /// A journal for the thread in memory.
    Journal(OpenedJournal),
    /// The file of its journal, which was closed, or the reason why it cannot be opened again.
    File(io::Result<Locked>),
    /// The error, the thread as far as its newest journal can be read, and a warning if it cannot.
    Failed(io::Error, Option<Box<SavedThread>>, Option<String>),
}

impl Opening {
    /// Opens the newest journal that no process holds, and replays it; else reads the newest that others
    /// hold, unless the thread is in memory.
    pub(super) fn run(self) -> Opened {
        self.with(|opening, folder| {
            let Opening { key, storage, about, now, done, .. } = opening;
            file::open_existing(folder, key, about, *now, storage.durability, done)
        })
    }

    /// Opens such a journal, or creates one.
    pub(super) fn run_or_create(self) -> Opened {
        self.with(|opening, folder| {
            let Opening { key, storage, about, now, .. } = opening;
            file::open(folder, key, about, *now, storage.durability).map(Some)
        })
    }

    fn with(
        mut self,
        open: impl FnOnce(&Opening, &std::path::Path) -> io::Result<Option<OpenedJournal>>,
    ) -> Opened {
        let found = match self.storage.folder.as_deref().map_or(Ok(None), |folder| open(&self, folder)) {
            Ok(None) => Found::Nothing(self.held()),
            Ok(Some(journal)) if self.is_in_memory => Found::Journal(journal),
            Ok(Some(OpenedJournal { journal, records, warnings })) => {
                let limit = self.storage.history_limit;
                let thread = SavedThread::restore(&self.key, &records, Some(journal), limit, self.was_here);
                Found::Thread(Box::new(thread), warnings)
            }
            Err(error) => self.read_only(error),
        };
        Opened { key: self.key, now: self.now, found }
    }

    /// What the journals have that others hold.
    fn held(&mut self) -> Option<Snapshot> {
        let folder = self.storage.folder.as_deref().filter(|_| !self.is_in_memory)?;
        let mut snapshot = self.snapshot.take().unwrap_or_default();
        snapshot.read(folder, &self.key, self.storage.history_limit, &self.done);
        Some(snapshot)
    }

    /// Reads the newest journal, since none could be opened.
    fn read_only(&self, error: io::Error) -> Found {
        let Some(folder) = self.storage.folder.as_deref().filter(|_| !self.is_in_memory) else {
            return Found::Failed(error, None, None);
        };
        match Journals::of(folder, &self.key).read_newest(&self.done) {
            Ok(records) if records.is_empty() => Found::Failed(error, None, None),
            Ok(records) => {
                let limit = self.storage.history_limit;
                let thread = SavedThread::restore(&self.key, &records, None, limit, false);
                Found::Failed(error, Some(Box::new(thread)), None)
            }
            Err(unreadable) => Found::Failed(error, None, Some(unreadable.to_string())),
        }
    }
}
