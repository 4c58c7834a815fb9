//! A thread that is read without loading it.

use std::path::Path;

use super::folder::{Availability, Journals};
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
    pub(super) fn thread(&mut self, key: &str, history_limit: usize) -> Option<&Thread> {
        let availability = self.availability();
        if availability == Availability::Missing {
            return None;
        }
        let journals = &self.journals;
        Some(self.thread.get_or_insert_with(|| {
            let records = journals.read_newest();
            match availability {
                // Its agent may be working in the other process.
                Availability::Held => Thread::replayed(key, &records, history_limit).0,
                _ => {
                    let (mut thread, last) = Thread::replayed(key, &records, history_limit);
                    thread.end_process(last);
                    thread
                }
            }
        }))
    }
}
