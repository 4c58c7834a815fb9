//! A thread in memory with its journal.

use std::ops::Deref;
use std::path::Path;

use super::file::{Journal, is_lost};
use crate::events::Millis;
use crate::fault::may_panic_here;
use crate::thread::Thread;
use crate::thread::record::Record;

/// A thread whose changes are saved. It is read as a [`Thread`], and changed by [`SavedThread::change`].
#[derive(Debug)]
pub struct SavedThread {
    thread: Thread,
    /// None without a folder, or while the journal cannot be opened.
    journal: Option<Journal>,
    /// Whether records could not be written, of which the user was warned.
    is_unsaved: bool,
    /// That warning, until it is taken.
    warning: Option<String>,
    /// Whether a change began and did not end, because of a panic.
    is_half_made: bool,
}

impl Deref for SavedThread {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        &self.thread
    }
}

impl SavedThread {
    /// A thread that has no journal yet.
    pub(super) fn new(thread: Thread) -> SavedThread {
        SavedThread { thread, journal: None, is_unsaved: false, warning: None, is_half_made: false }
    }

    /// Restores a thread, and continues its journal if there is one. An active thread is paused, since
    /// the process that wrote the records has ended.
    pub(super) fn restore(
        key: &str,
        records: &[Record],
        journal: Option<Journal>,
        history_limit: usize,
    ) -> SavedThread {
        let (thread, last) = Thread::replayed(key, records, history_limit);
        let mut saved = SavedThread { journal, ..SavedThread::new(thread) };
        saved.change(|thread| thread.end_process(last));
        saved
    }

    /// Changes the thread, and appends the records of the changes to its journal in one write. If that
    /// fails, the thread goes on in memory, and they are written with the next ones.
    pub fn change<T>(&mut self, work: impl FnOnce(&mut Thread) -> T) -> T {
        self.recover();
        self.is_half_made = true;
        if let Some(journal) = &self.journal {
            self.thread.keep_records();
            self.thread.set_journal_bytes(journal.size());
        }
        let value = work(&mut self.thread);
        let records = self.thread.take_records();
        if !records.is_empty() {
            self.append(&records);
        }
        may_panic_here();
        self.is_half_made = false;
        if self.journal.as_ref().is_some_and(Journal::wants_full) {
            let full = self.thread.full(self.thread.last_time());
            self.append(&[full]);
        }
        value
    }

    /// Appends records. A failure is reported once.
    fn append(&mut self, records: &[Record]) {
        let Some(journal) = &mut self.journal else { return };
        match journal.append(records) {
            Ok(()) => self.is_unsaved = false,
            Err(_) if self.is_unsaved => {}
            Err(error) => {
                let file = journal.path().display().to_string();
                if is_lost(&error) {
                    // The store then opens another journal and writes the whole history to it.
                    self.journal = None;
                }
                self.is_unsaved = true;
                self.warning = Some(format!(
                    "the journal {file} cannot be written ({error}); the list goes on in memory"
                ));
            }
        }
    }

    /// Restores the thread from its journal if a panic interrupted a change: it is then as before the
    /// change, or as after it if its records were appended.
    pub(super) fn recover(&mut self) {
        if !std::mem::take(&mut self.is_half_made) {
            return;
        }
        self.thread.take_records();
        let records = self.journal.as_mut().and_then(|journal| journal.records().ok());
        if let Some(records) = records {
            let (thread, _) = Thread::replayed(self.key(), &records, self.observations().limit());
            let stale = std::mem::replace(&mut self.thread, thread);
            self.thread.continue_stream_of(stale);
        }
    }

    /// Continues a journal with these records, and appends the missing ones. Returns false, and does
    /// nothing, if they are not the beginning of this thread's history.
    pub(super) fn attach(&mut self, journal: Journal, records: &[Record], now: Millis) -> bool {
        let missing = self.thread.records_since(records, now);
        if let Some(missing) = &missing {
            self.journal = Some(journal);
            self.append(missing);
        }
        missing.is_some()
    }

    /// Removes and returns the warning that the journal cannot be written.
    pub(super) fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    /// Whether the list is kept in memory only because its journal cannot be written.
    pub fn is_unsaved(&self) -> bool {
        self.is_unsaved
    }

    /// Marks a thread whose journal cannot be opened.
    pub(super) fn mark_unsaved(&mut self) {
        self.is_unsaved = true;
    }

    /// Tries again to write the records that could not be written.
    pub(super) fn save(&mut self) {
        if let Some(journal) = &mut self.journal {
            self.is_unsaved = journal.flush().is_err();
        }
    }

    /// Closes the journal until the next write.
    pub(super) fn close_journal(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.close();
        }
    }

    /// Whether the thread has a journal.
    pub fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// The journal file.
    pub(super) fn file(&self) -> Option<&Path> {
        self.journal.as_ref().map(Journal::path)
    }

    /// The journal file that is open.
    pub(super) fn open_file(&self) -> Option<&Path> {
        self.journal.as_ref().filter(|journal| journal.is_open()).map(Journal::path)
    }

    /// Opens the journal if it is closed. Returns false if the thread has no journal, or lost it to
    /// another process.
    pub(super) fn reopen_journal(&mut self) -> bool {
        let has_journal = self.journal.as_mut().is_some_and(Journal::reopen);
        if !has_journal {
            self.journal = None;
        }
        has_journal
    }
}
