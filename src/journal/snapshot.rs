//! A thread that is read without loading it.

use std::io;
use std::path::Path;

use super::folder::{Availability, Journals};
use super::percent::Percent;
use crate::error::Error;
use crate::thread::Thread;

/// A thread as its newest journal has it, cached until the journals change.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    journals: Journals,
    seen: Seen,
}

#[derive(Debug, Default)]
enum Seen {
    /// There is no journal, or none was read.
    #[default]
    Nothing,
    Thread(Box<Thread>),
    /// The journal that cannot be read, and why.
    Failed(String, String),
}

impl Snapshot {
    /// Reads the newest journal, unless that was read and all are as they were. `done` is noted
    /// meanwhile.
    pub(super) fn read(&mut self, folder: &Path, key: &str, history_limit: usize, done: &Percent) {
        if self.journals.refresh(folder, key) || !matches!(self.seen, Seen::Thread(_)) {
            // What was read before is dropped first.
            self.seen = Seen::Nothing;
            self.seen = self.newest(key, history_limit, done);
        }
    }

    fn newest(&self, key: &str, history_limit: usize, done: &Percent) -> Seen {
        let availability = self.journals.availability();
        if availability == Availability::Missing {
            return Seen::Nothing;
        }
        let records = match self.journals.read_newest(done) {
            Ok(records) => records,
            Err(Error::Journal { file, reason }) => return Seen::Failed(file, reason.to_string()),
            Err(other) => return Seen::Failed(String::new(), other.to_string()),
        };
        let (mut thread, last) = Thread::replayed(key, &records, history_limit);
        // The agent of a journal that is held may be working in the other process.
        if availability == Availability::Free {
            thread.end_process(last);
        }
        Seen::Thread(Box::new(thread))
    }

    /// The thread that was read, or `None` if it has no journal.
    ///
    /// # Errors
    /// [`Error::Journal`] if its newest journal could not be read.
    pub(super) fn thread(&self) -> Result<Option<&Thread>, Error> {
        match &self.seen {
            Seen::Nothing => Ok(None),
            Seen::Thread(thread) => Ok(Some(thread)),
            Seen::Failed(file, reason) => {
                Err(Error::Journal { file: file.clone(), reason: io::Error::other(reason.clone()) })
            }
        }
    }
}
