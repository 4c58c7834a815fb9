//! A thread that is read without loading it.

use std::path::Path;

use super::folder::{Availability, Journals};
use crate::error::Error;
use crate::thread::Thread;

/// A thread as its newest journal has it, cached until the journals change.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    journals: Journals,
    thread: Option<Thread>,
}

impl Snapshot {
    /// Drops the thread if its journals changed on disk.
    pub(crate) fn refresh(&mut self, folder: &Path, key: &str) {
        if self.journals.refresh(folder, key) {
            self.thread = None;
        }
    }

    /// Whether this process can open the journals.
    pub(crate) fn availability(&self) -> Availability {
        self.journals.availability()
    }

    /// The thread, or none if it has no journal.
    ///
    /// # Errors
    /// [`Error::Journal`] if its newest journal cannot be read; the next call tries again.
    pub(super) fn thread(&mut self, key: &str, history_limit: usize) -> Result<Option<&Thread>, Error> {
        let availability = self.availability();
        if availability == Availability::Missing {
            return Ok(None);
        }
        if self.thread.is_none() {
            let (mut thread, last) = Thread::replayed(key, &self.journals.read_newest()?, history_limit);
            // The agent of a journal that is held may be working in the other process.
            if availability == Availability::Free {
                thread.end_process(last);
            }
            self.thread = Some(thread);
        }
        Ok(self.thread.as_ref())
    }
}
