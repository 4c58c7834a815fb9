//! A thread that is only read: another process writes it, or it is not needed in memory.

use std::path::Path;

use crate::journal::{Availability, Journals};
use crate::thread::Thread;

/// A thread as its newest journal has it. The journal is replayed when the thread is first asked
/// for, and again only after the journals changed.
#[derive(Debug, Default)]
pub struct Snapshot {
    journals: Journals,
    thread: Option<Thread>,
}

impl Snapshot {
    /// Drops the thread if its journals changed on disk.
    pub fn refresh(&mut self, folder: &Path, key: &str) {
        if self.journals.refresh(folder, key) {
            self.thread = None;
        }
    }

    /// Who can open the journals.
    pub fn availability(&self) -> Availability {
        self.journals.availability()
    }

    /// The thread, or none where it has no journal.
    pub fn thread(&mut self, key: &str, history_limit: usize) -> Option<&Thread> {
        let availability = self.availability();
        if availability == Availability::Missing {
            return None;
        }
        let journals = &self.journals;
        Some(self.thread.get_or_insert_with(|| {
            let records = journals.read_newest();
            match availability {
                // Its host may be at work in the other process.
                Availability::Held => Thread::replayed(key, records, history_limit).0,
                _ => Thread::restore(key, records, None, history_limit),
            }
        }))
    }
}
