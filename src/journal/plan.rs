//! A plan: a thread in memory with its journal.

use std::io;
use std::ops::Deref;
use std::sync::Arc;

use super::folder::Lock;
use super::line::encode;
use super::segments::{Appended, Beginning, Journal, OpenedThread, SEGMENT, Span};
use super::store::Storage;
use super::summary;
use crate::error::Error;
use crate::events::Millis;
use crate::fault::may_panic_here;
use crate::thread::rebase::Common;
use crate::thread::record::{PositionRecord, Record};
use crate::thread::{EMACS, Thread};

/// The largest number of bytes of records that wait for a disk that refuses them.
const MOST_UNSAVED: usize = 8 * 1024 * 1024;

/// A thread whose changes are saved. It is read as a [`Thread`], and changed by [`Plan::change`].
///
/// Several Emacsen may change one plan. A change locks it, takes what others did since, is made, appended, and
/// unlocks it.
#[derive(Debug, Default)]
pub struct Plan {
    thread: Thread,
    /// None without a folder.
    journal: Option<Journal>,
    /// The user's options.
    pub(super) storage: Arc<Storage>,
    /// What the journal lacks.
    unsaved: Option<Unsaved>,
    /// Whether the user was warned that changes could not be saved.
    is_warned: bool,
    /// Whether a change began and did not end; see [`Plan::recover`].
    is_half_made: bool,
    /// The lock of a batch, if it could be had. Its changes are appended at its end.
    batch: Option<Option<Lock>>,
    /// The number of its last use among all of the store.
    pub(super) last_use: u64,
    /// For which place of the journal its summary stands.
    summarized: Option<(u64, u64)>,
    writer: Writer,
}

/// What is known of the Emacs that wrote a plan.
#[derive(Debug, Default)]
enum Writer {
    /// It is this one, or lives.
    #[default]
    Lives,
    /// It is another one, with this name, which may live. The last record is of this time.
    Unknown(String, Millis),
    /// It has ended after a record of this time.
    Ended(Millis),
}

/// Changes that are not saved.
#[derive(Debug)]
struct Unsaved {
    /// The beginning of a segment, if they need one.
    beginning: Option<Beginning>,
    records: Vec<Record>,
    /// The records as lines.
    lines: Vec<u8>,
    /// Whether the beginning has changes, too.
    is_whole: bool,
    /// What was before them.
    common: Common,
}

impl Unsaved {
    /// No changes of a thread yet.
    fn of(thread: &Thread, beginning: Option<Beginning>) -> Unsaved {
        let (records, lines, common) = (Vec::new(), Vec::new(), Common::of(thread));
        Unsaved { beginning, records, lines, is_whole: false, common }
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && !self.is_whole
    }

    /// Adds records. One that cannot be encoded is not saved.
    fn extend(&mut self, records: impl IntoIterator<Item = Record>) {
        for record in records {
            self.lines.extend(encode(&record).unwrap_or_default());
            self.records.push(record);
        }
    }
}

impl Deref for Plan {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        &self.thread
    }
}

impl Plan {
    /// A new plan, which has no journal yet.
    pub(super) fn new(thread: Thread, storage: &Arc<Storage>) -> Plan {
        let limit = storage.history_limit;
        let journal = storage.folder.as_deref().map(|root| Journal::new(root, thread.key(), limit));
        Plan::with(thread, journal, storage)
    }

    fn with(thread: Thread, journal: Option<Journal>, storage: &Arc<Storage>) -> Plan {
        Plan { thread, journal, storage: Arc::clone(storage), ..Plan::default() }
    }

    /// Reads a plan from its journal; none if it has none. No file is changed.
    pub(super) fn open(key: &str, storage: &Arc<Storage>) -> Result<Option<Plan>, Error> {
        let Some(root) = &storage.folder else { return Ok(None) };
        let mut journal = Journal::new(root, key, storage.history_limit);
        let opened = journal.open().map_err(|reason| failed(&journal, reason))?;
        Ok(opened.map(|OpenedThread { thread, last }| {
            let mut plan = Plan::with(thread, Some(journal), storage);
            match plan.emacs() {
                Some(emacs) if Some(emacs) == storage.emacs.as_deref() => {}
                Some(emacs) => plan.writer = Writer::Unknown(emacs.to_owned(), last),
                None => plan.end_process(last),
            }
            plan
        }))
    }

    /// The name of the Emacs that wrote the plan, as its description has it.
    fn emacs(&self) -> Option<&str> {
        self.thread.about().get(EMACS)?.as_str()
    }

    /// The name of another Emacs of which it is not known whether it lives.
    pub(super) fn unsettled(&self) -> Option<&str> {
        match &self.writer {
            Writer::Unknown(emacs, _) => Some(emacs),
            _ => None,
        }
    }

    /// Says whether that Emacs lives.
    pub(super) fn settle(&mut self, lives: bool) {
        if let Writer::Unknown(_, last) = std::mem::replace(&mut self.writer, Writer::Lives)
            && !lives
        {
            self.end_process(last);
        }
    }

    /// Forgets whether the Emacs lives that wrote the plan, if it is not this one.
    pub(super) fn doubt(&mut self) {
        if let Some(emacs) = self.emacs().filter(|emacs| Some(*emacs) != self.storage.emacs.as_deref())
            && matches!(self.writer, Writer::Lives)
        {
            self.writer = Writer::Unknown(emacs.to_owned(), self.thread.last_time());
        }
    }

    /// Pauses the plan, since the Emacs that wrote it has ended. The next change records it.
    fn end_process(&mut self, last: Millis) {
        self.writer = Writer::Ended(last);
        self.thread.end_process(last);
    }

    /// Records that the Emacs that wrote the plan has ended, and which one writes it from now on.
    fn adopt(&mut self) {
        if let Writer::Ended(last) = self.writer {
            self.writer = Writer::Lives;
            self.thread.record_activity(last);
            if let Some(emacs) = &self.storage.emacs {
                self.thread.describe(EMACS, emacs.as_str().into(), last);
            }
        }
    }

    /// Changes the thread, and appends the records of the changes to its journal in one write. If that
    /// fails, the thread goes on in memory, and they are written with the next ones.
    pub fn change<T>(&mut self, work: impl FnOnce(&mut Thread) -> T) -> T {
        if self.batch.is_some() {
            return work(&mut self.thread);
        }
        let lock = self.begin();
        let value = work(&mut self.thread);
        self.end(lock, Vec::new());
        value
    }

    /// Changes what no journal has, such as which observations were delivered.
    pub(crate) fn change_in_memory<T>(&mut self, work: impl FnOnce(&mut Thread) -> T) -> T {
        work(&mut self.thread)
    }

    /// Begins a batch: until its end, the plan stays locked, and changes are not appended.
    pub(crate) fn begin_batch(&mut self) {
        if self.batch.is_none() {
            self.batch = Some(self.begin());
        }
    }

    /// Ends a batch: appends the positions up to which transcripts are recorded with it, and the records of
    /// the changes, in one write.
    pub(crate) fn end_batch(&mut self, positions: Vec<PositionRecord>) {
        if let Some(lock) = self.batch.take() {
            self.end(lock, positions);
        }
    }

    /// Begins a change: takes what others did.
    fn begin(&mut self) -> Option<Lock> {
        self.is_half_made = true;
        let journal = self.journal.as_mut()?;
        let locked = journal.lock().and_then(|lock| Ok((lock, journal.appended()?)));
        let lock = match locked {
            Ok((lock, appended)) => {
                self.take(appended);
                Some(lock)
            }
            Err(error) => {
                self.warn(&error);
                None
            }
        };
        if self.unsaved.is_none() {
            let journal = self.journal.as_ref()?;
            let is_new = journal.place().is_none_or(|(number, _)| number == 0);
            let beginning = if is_new { journal.beginning(&self.thread).ok() } else { None };
            self.unsaved = Some(Unsaved::of(&self.thread, beginning));
        }
        self.thread.keep_records();
        self.adopt();
        lock
    }

    /// Ends a change: appends its records, and those that could not be saved before.
    fn end(&mut self, lock: Option<Lock>, mut positions: Vec<PositionRecord>) {
        let made = self.thread.take_records();
        let count = positions.len() + made.len();
        for (place, position) in positions.iter_mut().enumerate() {
            position.records = (count - place - 1) as u64;
        }
        let positions = positions.into_iter().map(Record::Position);
        let positions: Vec<Record> = positions.inspect(|position| self.thread.apply(position)).collect();
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.extend(positions.into_iter().chain(made));
        }
        // A plan without any change needs no journal.
        if self.unsaved.as_ref().is_some_and(Unsaved::is_empty) {
            self.unsaved = None;
        } else if lock.is_some() {
            self.save();
        }
        self.bound_unsaved();
        may_panic_here();
        self.is_half_made = false;
        if self.unsaved.is_none() && lock.is_some() {
            self.begin_segment_if_long();
            if self.thread.is_quiet() {
                self.summarize();
            }
        }
    }

    /// Writes what the journal lacks. The plan must be locked.
    fn save(&mut self) {
        let (Some(journal), Some(unsaved)) = (&mut self.journal, &mut self.unsaved) else { return };
        let saved = match &unsaved.beginning {
            Some(beginning) => journal.begin(beginning, &unsaved.lines, self.storage.durability),
            None => journal.append(&unsaved.lines, self.storage.durability),
        };
        match saved {
            Ok(()) => (self.unsaved, self.is_warned) = (None, false),
            Err(error) => self.warn(&error),
        }
    }

    /// Keeps what waits for a full disk small: beyond a limit, the whole state replaces the changes.
    fn bound_unsaved(&mut self) {
        let (Some(journal), Some(unsaved)) = (&self.journal, &mut self.unsaved) else { return };
        if unsaved.lines.len() > MOST_UNSAVED
            && let Ok(beginning) = journal.beginning(&self.thread)
        {
            (unsaved.beginning, unsaved.is_whole) = (Some(beginning), true);
            (unsaved.records, unsaved.lines) = (Vec::new(), Vec::new());
        }
    }

    /// Begins a new segment if the newest one is long. If that fails, that one goes on.
    fn begin_segment_if_long(&mut self) {
        let Storage { segment, durability, .. } = *self.storage;
        let least = segment.unwrap_or(SEGMENT);
        let Some(journal) = self.journal.as_mut().filter(|journal| journal.is_long(least)) else { return };
        let begun = journal.beginning(&self.thread).and_then(|new| journal.begin(&new, &[], durability));
        if begun.is_ok() {
            self.thread.forget_old();
        }
    }

    /// Takes what others did.
    fn take(&mut self, appended: Appended) {
        let opened = match appended {
            Appended::Records(records) if self.unsaved.is_none() || records.is_empty() => {
                return records.iter().for_each(|record| self.thread.apply(record));
            }
            // The unsaved changes come after those of others.
            Appended::Records(_) => match self.journal.as_mut().map(Journal::open) {
                Some(Ok(Some(opened))) => opened,
                _ => return,
            },
            Appended::Opened(opened) => *opened,
        };
        let mut mine = std::mem::replace(&mut self.thread, opened.thread);
        self.thread.continue_stream_of(&mut mine);
        if let Some(unsaved) = self.unsaved.take() {
            let mut again = Unsaved::of(&self.thread, None);
            self.thread.keep_records();
            self.thread.change_again(&mine, unsaved.records, &unsaved.common);
            again.extend(self.thread.take_records());
            self.unsaved = Some(again);
        }
    }

    /// Replaces the summary of the plan, unless it stands for the journal as it is. Without it, the journal is read.
    pub(super) fn summarize(&mut self) {
        let place = self.journal.as_ref().and_then(Journal::place).filter(|_| !self.is_unsaved());
        if let (Some(journal), Some(place)) = (&self.journal, place.filter(|_| self.summarized != place)) {
            summary::write(journal.folder(), &self.thread, place);
            self.summarized = Some(place);
        }
    }

    /// Takes what others did to a plan that this process does not change now.
    pub(crate) fn refresh(&mut self) {
        if let Some(Ok(appended)) = self.journal.as_mut().map(Journal::appended) {
            self.take(appended);
        }
    }

    /// Tries again to save the changes that could not be saved.
    pub(super) fn save_again(&mut self) {
        if self.is_unsaved() {
            self.change(|_| ());
        }
    }

    /// Warns the user once that changes cannot be saved.
    fn warn(&mut self, error: &io::Error) {
        let is_new = !std::mem::replace(&mut self.is_warned, true);
        if let Some(journal) = self.journal.as_mut().filter(|_| is_new) {
            let file = journal.file();
            let warning = format!(
                "the journal {} cannot be written ({error}); the list goes on in memory",
                file.display()
            );
            journal.warnings.push(warning);
        }
    }

    /// Restores the thread from its journal if a panic interrupted a change: it is then as before the
    /// change, or as after it if its records were appended.
    pub(super) fn recover(&mut self) {
        if !std::mem::take(&mut self.is_half_made) {
            return;
        }
        self.batch = None;
        self.thread.take_records();
        let Some(journal) = &mut self.journal else { return };
        let restored = match self.unsaved.as_ref().and_then(|unsaved| unsaved.beginning.as_ref()) {
            // No file may have it.
            Some(beginning) => journal.begun(beginning),
            None => journal.open().ok().flatten().map(|opened| opened.thread),
        };
        let Some(mut thread) = restored else { return };
        thread.continue_stream_of(&mut self.thread);
        self.thread = thread;
        if let Some(unsaved) = &self.unsaved {
            unsaved.records.iter().for_each(|record| self.thread.apply(record));
        }
    }

    /// A thread that has all of a span, which may be read from older segments. `older` keeps that for the next call.
    pub(super) fn spanning<'t>(
        &'t self,
        span: Span,
        older: &'t mut Option<OlderThread>,
    ) -> Result<&'t Thread, Error> {
        let version = (self.thread.revisions().last(), self.thread.observations().next_number());
        let mut span = span.within(&self.thread);
        let Some(journal) = self.journal.as_ref().filter(|_| !span.is_in(&self.thread)) else {
            return Ok(&self.thread);
        };
        let is_kept = |kept: &OlderThread| {
            kept.key == self.key() && kept.version == version && span.is_in(&kept.thread)
        };
        if !older.as_ref().is_some_and(is_kept) {
            if self.is_unsaved() {
                span = span.to_the_end();
            }
            let mut read = journal.of_span(&span).map_err(|reason| failed(journal, reason))?;
            for record in self.unsaved_records() {
                read.iter_mut().for_each(|thread| thread.apply(record));
            }
            *older = read.map(|thread| OlderThread { key: self.key().to_owned(), version, thread });
        }
        Ok(older.as_ref().map_or(&self.thread, |older| &older.thread))
    }

    /// The records that are not saved, oldest first.
    pub(super) fn unsaved_records(&self) -> impl Iterator<Item = &Record> {
        self.unsaved.iter().flat_map(|unsaved| &unsaved.records)
    }

    /// Whether the thread may leave memory, since its journal has all of it.
    pub(super) fn is_at_rest(&self) -> bool {
        self.journal.is_some() && !self.is_unsaved() && !self.is_half_made && self.thread.is_at_rest()
    }

    pub(super) fn take_warnings(&mut self) -> Vec<String> {
        self.journal.as_mut().map(|journal| std::mem::take(&mut journal.warnings)).unwrap_or_default()
    }

    /// Whether the list is kept in memory only because its journal cannot be written.
    pub fn is_unsaved(&self) -> bool {
        self.unsaved.as_ref().is_some_and(|unsaved| !unsaved.is_empty())
    }

    pub(super) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }
}

/// A thread as older segments have it.
#[derive(Debug)]
pub(super) struct OlderThread {
    key: String,
    /// The newest revision, and the next observation, of the thread at that time.
    version: (u64, u64),
    thread: Thread,
}

fn failed(journal: &Journal, reason: io::Error) -> Error {
    Error::Journal { file: journal.file().display().to_string(), reason }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use serde_json::Map;

    use super::*;
    use crate::events::observation::{Details, Payload, Type};
    use crate::journal::folder::{self, SYNCED};
    use crate::journal::segments::Durability;
    use crate::journal::store::Store;
    use crate::thread::Edit;

    /// A store in a new folder, which the caller deletes.
    fn store(durability: Durability) -> (PathBuf, Store) {
        let name = format!("todo-write-saved-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        let storage = Storage { folder: Some(folder.clone()), durability, ..Storage::default() };
        (folder, Store::new(storage))
    }

    fn open(store: &mut Store) -> &mut Plan {
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
        say(&mut store, "a message and a pause");
        assert_eq!(synced(), 2, "its first segment and the name of that");
        say(&mut store, "a message");
        assert_eq!(synced(), 1);
        let mut again = Store::new(Storage { folder: Some(folder.clone()), ..Storage::default() });
        assert_eq!(
            open(&mut again).observations().next_number(),
            open(&mut store).observations().next_number()
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_durability_of_plans_in_memory_follows_the_option() {
        let (folder, mut store) = store(Durability::Process);
        say(&mut store, "one");
        assert_eq!(synced(), 0);
        store.set_storage(Storage {
            folder: Some(folder.clone()),
            durability: Durability::Disk,
            ..Storage::default()
        });
        say(&mut store, "two");
        assert_eq!(synced(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_waits_for_a_full_disk_is_bounded_and_nothing_of_the_list_is_lost() {
        let (folder, mut store) = store(Durability::Process);
        say(&mut store, "one");
        // A folder in the place of the segment refuses to be written.
        let plan = folder::folder_of(&folder, "a thread");
        let away = plan.with_extension("away");
        fs::rename(&plan, &away).unwrap();
        fs::write(&plan, "").unwrap();
        let position =
            PositionRecord { session: "s".into(), first: 1, offset: 99, ..PositionRecord::default() };
        open(&mut store).begin_batch();
        open(&mut store).end_batch(vec![position.clone()]);
        for n in 0..40 {
            say(&mut store, &format!("{n} {}", "x".repeat(1 << 20)));
            let waiting = &open(&mut store).unsaved.as_ref().unwrap().records;
            assert!(waiting.len() < 20, "{} records", waiting.len());
        }
        assert_eq!(store.take_warnings().len(), 1);
        fs::remove_file(&plan).unwrap();
        fs::rename(&away, &plan).unwrap();
        assert!(store.save_again().is_empty());
        let next = open(&mut store).observations().next_number();
        let mut again =
            Store::new(Storage { folder: Some(folder.clone()), history_limit: 10, ..Storage::default() });
        let thread = open(&mut again);
        assert_eq!((thread.observations().next_number(), thread.pause_reason()), (next, None));
        assert_eq!(thread.recorded_until(&position), 99);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_batch_that_could_not_be_saved_is_whole_after_what_others_saved() {
        let (folder, mut store) = store(Durability::Process);
        say(&mut store, "one");
        let mut other = Store::new(Storage { folder: Some(folder.clone()), ..Storage::default() });
        let lock = fs::File::open(folder::folder_of(&folder, "a thread").join("lock")).unwrap();
        lock.lock().unwrap();
        open(&mut store).begin_batch();
        say(&mut store, "of the batch");
        for content in ["Dig", "Rake"] {
            let add = Edit::Add { content: content.into(), position: None };
            open(&mut store).change(|thread| thread.edit(add, 3)).unwrap();
        }
        let position = PositionRecord { session: "s".into(), offset: 99, ..PositionRecord::default() };
        open(&mut store).end_batch(vec![position.clone()]);
        drop(lock);
        say(&mut other, "of the other");
        assert_eq!((store.save_again().len(), store.take_warnings().len()), (0, 1));
        let mut again =
            Store::new(Storage { folder: Some(folder.clone()), history_limit: 10, ..Storage::default() });
        let thread = open(&mut again);
        let said: Vec<&str> = thread.observations().reported().filter_map(|one| one.payload.text()).collect();
        assert_eq!((thread.list().len(), thread.recorded_until(&position)), (2, 99));
        assert!(said.ends_with(&["of the other", "of the batch"]), "{said:?}");
        assert_eq!(again.take_warnings(), [""; 0]);
        fs::remove_dir_all(folder).unwrap();
    }
}
