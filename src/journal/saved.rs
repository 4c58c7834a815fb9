//! A thread in memory with its journal.

use std::io;
use std::ops::Deref;
use std::path::Path;

use super::file::{Closed, Durability, Journal, is_lost};
use super::folder::Locked;
use crate::events::Millis;
use crate::fault::may_panic_here;
use crate::thread::Thread;
use crate::thread::record::{PositionRecord, Record};

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
    /// Whether a change began and did not end; see [`SavedThread::recover`].
    is_half_made: bool,
    /// Whether changes wait for the end of a batch.
    is_in_batch: bool,
    /// The number of its last use among all of the store.
    pub(super) last_use: u64,
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
        SavedThread {
            thread,
            journal: None,
            is_unsaved: false,
            warning: None,
            is_half_made: false,
            is_in_batch: false,
            last_use: 0,
        }
    }

    /// Restores a thread, and continues its journal if there is one. An active thread is paused, since
    /// the process that wrote the records has ended, unless it was in memory before.
    pub(super) fn restore(
        key: &str,
        records: &[Record],
        journal: Option<Journal>,
        history_limit: usize,
        was_here: bool,
    ) -> SavedThread {
        let (thread, last) = Thread::replayed(key, records, history_limit);
        let mut saved = SavedThread { journal, ..SavedThread::new(thread) };
        if !was_here {
            saved.change(|thread| thread.end_process(last));
        }
        saved
    }

    /// Changes the thread, and appends the records of the changes to its journal in one write. If that
    /// fails, the thread goes on in memory, and they are written with the next ones.
    pub fn change<T>(&mut self, work: impl FnOnce(&mut Thread) -> T) -> T {
        if self.is_in_batch {
            return work(&mut self.thread);
        }
        self.begin();
        let value = work(&mut self.thread);
        self.end(Vec::new());
        value
    }

    /// Begins a batch: until its end, changes are not appended.
    pub(crate) fn begin_batch(&mut self) {
        if !self.is_in_batch {
            self.begin();
            self.is_in_batch = true;
        }
    }

    /// Ends a batch: appends the positions up to which transcripts are recorded with it, and the records of
    /// the changes, in one write.
    pub(crate) fn end_batch(&mut self, positions: Vec<PositionRecord>) {
        if std::mem::take(&mut self.is_in_batch) {
            self.end(positions);
        }
    }

    fn begin(&mut self) {
        self.is_half_made = true;
        if let Some(journal) = &self.journal {
            self.thread.keep_records();
            self.thread.set_journal_bytes(journal.size());
        }
    }

    fn end(&mut self, mut positions: Vec<PositionRecord>) {
        let made = self.thread.take_records();
        let count = positions.len() + made.len();
        let (ahead, read) = self.thread.read_until();
        for (place, position) in positions.iter_mut().enumerate() {
            (position.ahead, position.read) = (ahead, read);
            position.records = (count - place - 1) as u64;
        }
        let mut records: Vec<Record> = positions.into_iter().map(Record::Position).collect();
        records.iter().for_each(|position| self.thread.apply(position));
        records.extend(made);
        if !records.is_empty() {
            self.append(&records);
        }
        may_panic_here();
        self.is_half_made = false;
        if self.journal.as_ref().is_some_and(Journal::wants_full) {
            let full = self.thread.full(self.thread.last_time());
            self.append(&[full]);
        }
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
        self.bound_pending();
    }

    /// Keeps what waits for a full disk small: beyond a limit, the whole state replaces the changes.
    fn bound_pending(&mut self) {
        if let Some(journal) = self.journal.as_mut().filter(|journal| journal.is_overfull()) {
            let full = self.thread.full(self.thread.last_time());
            // If the state cannot be encoded, the records of its changes stay.
            let _ = journal.replace_pending(&full);
        }
    }

    /// Sets when a record counts as saved.
    pub(super) fn set_durability(&mut self, durability: Durability) {
        if let Some(journal) = &mut self.journal {
            journal.set_durability(durability);
        }
    }

    /// Restores the thread from its journal if a panic interrupted a change: it is then as before the
    /// change, or as after it if its records were appended.
    pub(super) fn recover(&mut self) {
        if !std::mem::take(&mut self.is_half_made) {
            return;
        }
        self.is_in_batch = false;
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

    /// Whether the thread may leave memory, since its journal has all of it.
    pub(super) fn is_at_rest(&self) -> bool {
        self.has_journal() && !self.is_unsaved && !self.is_half_made && self.thread.is_at_rest()
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

    /// Closes the journal until the next write; returns its locked file if it was open.
    pub(super) fn take_journal_file(&mut self) -> Option<Locked> {
        self.journal.as_mut().and_then(Journal::take_file)
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

    /// What opens the journal again if it is closed.
    pub(super) fn closed(&self) -> Option<Closed> {
        self.journal.as_ref().and_then(Journal::closed)
    }

    /// Takes the file of a journal that was opened again.
    pub(super) fn put_file(&mut self, file: io::Result<Locked>) {
        match (file, &mut self.journal) {
            (Ok(file), Some(journal)) => journal.put_file(file),
            (Err(error), Some(journal)) if is_lost(&error) && !journal.is_open() => self.journal = None,
            // Appending tries again, and says why it fails.
            _ => {}
        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use serde_json::Map;

    use crate::events::observation::{Details, Payload, Type};
    use crate::journal::folder::{SYNCED, files_of};
    use crate::journal::store::{Storage, Store};
    use crate::journal::{Durability, saved::SavedThread};
    use crate::thread::record::PositionRecord;

    /// A store in a new folder, which the caller deletes.
    fn store(durability: Durability) -> (PathBuf, Store) {
        let name = format!("todo-write-saved-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        let storage = Storage { folder: Some(folder.clone()), durability, history_limit: 10 };
        (folder, Store::new(storage))
    }

    fn open(store: &mut Store) -> &mut SavedThread {
        store.open("a thread", Map::new(), 1)
    }

    fn say(store: &mut Store, text: &str) {
        open(store).change(|thread| {
            thread.observe(Payload::new(Type::Message, text.into()), Details::default(), 2);
            thread.set_paused(Some("lunch".into()), 2);
        });
    }

    fn synced() -> usize {
        SYNCED.with_borrow_mut(std::mem::take)
    }

    #[test]
    fn with_disk_a_new_journal_and_each_call_wait_for_the_disk_once() {
        let (folder, mut store) = store(Durability::Disk);
        synced();
        open(&mut store);
        assert_eq!(synced(), 2, "its header and its name");
        say(&mut store, "a message and a pause");
        assert_eq!(synced(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_durability_of_open_journals_follows_the_option() {
        let (folder, mut store) = store(Durability::Process);
        say(&mut store, "one");
        assert_eq!(synced(), 0);
        store.set_storage(Storage {
            folder: Some(folder.clone()),
            durability: Durability::Disk,
            history_limit: 10,
        });
        say(&mut store, "two");
        assert_eq!(synced(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_journal_is_on_the_disk_before_it_replaces_a_damaged_one() {
        for (durability, expected) in [(Durability::Process, 1), (Durability::Disk, 2)] {
            let (folder, mut first) = store(durability);
            say(&mut first, "one");
            drop(first);
            let path = files_of(&folder, "a thread").next().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replacen("\"format\"", "\"formal\"", 1)).unwrap();
            synced();
            let storage = Storage { folder: Some(folder.clone()), durability, history_limit: 10 };
            open(&mut Store::new(storage));
            // Damage also gives one new header, and the pause needs no record.
            assert_eq!(synced(), expected * 2, "{durability}");
            fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn what_waits_for_a_full_disk_is_bounded_and_nothing_of_the_list_is_lost() {
        let (folder, mut store) = store(Durability::Process);
        say(&mut store, "one");
        // Writing to a file that is open for reading only fails as on a full disk.
        let path = files_of(&folder, "a thread").next().unwrap();
        let thread = open(&mut store);
        thread.journal.as_mut().unwrap().replace_file(File::open(&path).unwrap());
        let position =
            PositionRecord { session: "s".into(), first: 1, offset: 99, ..PositionRecord::default() };
        open(&mut store).begin_batch();
        open(&mut store).end_batch(vec![position.clone()]);
        for n in 0..40 {
            say(&mut store, &format!("{n} {}", "x".repeat(1 << 20)));
            let waiting =
                open(&mut store).journal.as_ref().unwrap().size() - fs::metadata(&path).unwrap().len();
            assert!(waiting < 10 << 20, "{waiting} bytes");
        }
        let thread = open(&mut store);
        assert!(thread.is_unsaved());
        let writable = File::options().append(true).read(true).open(&path).unwrap();
        thread.journal.as_mut().unwrap().replace_file(writable);
        thread.save();
        assert!(!thread.is_unsaved());
        let next = thread.observations().next_number();
        drop(store);
        let storage = Storage { folder: Some(folder.clone()), history_limit: 10, ..Storage::default() };
        let mut again = Store::new(storage);
        let thread = open(&mut again);
        assert_eq!((thread.observations().next_number(), thread.pause_reason()), (next, None));
        assert_eq!(thread.recorded_until(&position), Some(99));
        fs::remove_dir_all(folder).unwrap();
    }
}
