//! The threads of one journal folder, in memory or only on disk.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use super::file::{self as journal_file, Durability, OpenedJournal};
use super::folder::{self, Availability, Journals};
use super::line::decode;
use super::saved::SavedThread;
use super::search::{Match, Query, Search};
use super::snapshot::Snapshot;
use crate::error::Error;
use crate::events::Millis;
use crate::events::observation::Observation;
use crate::events::work::{Part, belongs};
use crate::file;
use crate::thread::activity::Ending;
use crate::thread::record::{FORMAT, Record};
use crate::thread::{Thread, parent_in};

/// The number of journals kept open, since systems limit the open files of a process.
const MANY_OPEN: usize = 64;

/// The number of threads kept in memory if they are at rest, since each may have megabytes of observations.
const MANY_AT_REST: usize = 64;

/// The number of threads on disk that are kept as they were read.
const MANY_SNAPSHOTS: usize = 16;

/// The user's options for saving threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// The journal folder. Without it, threads are not saved.
    pub folder: Option<PathBuf>,
    /// When a record counts as saved.
    pub durability: Durability,
    /// The number of observations of each thread that stay in memory.
    pub history_limit: usize,
}

/// The threads of one journal folder.
#[derive(Debug, Default)]
pub struct Store {
    storage: Storage,
    threads: HashMap<String, SavedThread>,
    /// Threads of this process that left memory. The next change loads them.
    resting: HashMap<String, Resting>,
    /// The number of uses of threads so far, by which the latest are known.
    uses: u64,
    current: Option<String>,
    warnings: Vec<String>,
    /// Threads on disk that were read without loading them, by key.
    snapshots: HashMap<String, Snapshot>,
    /// Whether the user was warned that the folder cannot be used.
    is_warned: bool,
}

/// What no journal has of a thread that left memory, and what its parent needs of it.
#[derive(Debug)]
struct Resting {
    about: Map<String, Value>,
    last: Millis,
    called: Millis,
}

/// A thread that has a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptThread {
    /// See [`Thread::key`].
    pub key: String,
    /// See [`Thread::about`].
    pub about: Map<String, Value>,
    /// The time of its last record.
    pub modified: Millis,
}

impl Store {
    /// Creates a store, which reads journals on demand.
    ///
    /// # Examples
    /// ```
    /// use todo_write::list::input::{Options, read_text};
    /// use todo_write::journal::store::{Storage, Store};
    /// use todo_write::thread::WriteOptions;
    ///
    /// let mut store = Store::new(Storage { folder: None, history_limit: 100, ..Storage::default() });
    /// let call = r#"{"todos": [{"content": "Ship it", "status": "pending", "activeForm": "Shipping"}]}"#;
    /// let plan = read_text(call, &Options::default()).unwrap();
    /// let outcome = store
    ///     .open("agent", Default::default(), 1)
    ///     .change(|thread| thread.write(plan, WriteOptions::default(), 2));
    /// assert_eq!(outcome.result, "0/1 task completed.");
    /// assert_eq!(store.get("agent").unwrap().unwrap().list()[0].id, "t1");
    /// ```
    pub fn new(storage: Storage) -> Store {
        Store { storage, ..Store::default() }
    }

    /// Changes the options. The folder must stay the same.
    pub fn set_storage(&mut self, storage: Storage) {
        self.threads.values_mut().for_each(|thread| thread.set_durability(storage.durability));
        self.storage = storage;
    }

    /// The key of the thread written last.
    pub fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    /// The thread to show first, of those in the innermost project that contains `folder`: the one written
    /// last whose agent has not ended, else the one written last. Subagents do not count.
    pub(crate) fn current_in(&self, folder: Option<&str>) -> Option<&str> {
        let depth = |thread: &Thread| {
            let Some(folder) = folder else { return Some(0) };
            let project = thread.about().get("project")?.as_str()?.trim_end_matches('/');
            let inside = folder.strip_prefix(project)?;
            (inside.is_empty() || inside.starts_with('/')).then_some(project.len())
        };
        let rank = |thread: &Thread| {
            let lives = !matches!(thread.ending(), Some(Ending::Killed | Ending::SessionEnded));
            let written = thread.revisions().iter().next_back()?.stamp.timestamp;
            let is_current = self.current() == Some(thread.key());
            thread.parent().is_none().then_some((depth(thread)?, lives, is_current, written))
        };
        let ranked = self.threads.values().filter_map(|thread| Some((rank(thread)?, thread.key())));
        ranked.max().map(|(_, key)| key)
    }

    /// Sets the key of the thread written last.
    pub fn set_current(&mut self, key: &str) {
        self.current = Some(key.to_owned());
    }

    /// Removes and returns the warnings for the user.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.warnings.extend(self.threads.values_mut().filter_map(SavedThread::take_warning));
        std::mem::take(&mut self.warnings)
    }

    /// A thread to write to: the one in memory, one restored from its journal, or a new one with
    /// `about`.
    pub fn open(&mut self, key: &str, about: Map<String, Value>, now: Millis) -> &mut SavedThread {
        self.close_journals_if_many(key);
        self.rest_if_many(key);
        let in_memory_only = self.storage.folder.is_none();
        if !self.get_mut(key).is_some_and(|thread| in_memory_only || thread.reopen_journal()) {
            self.load(key, &about, now);
        }
        let limit = self.storage.history_limit;
        let thread = self
            .threads
            .entry(key.to_owned())
            .or_insert_with(|| SavedThread::new(Thread::new(key, about, limit)));
        self.uses += 1;
        thread.last_use = self.uses;
        if !in_memory_only && !thread.has_journal() {
            thread.mark_unsaved();
        }
        thread
    }

    /// Lets go of threads at rest if there are many, the least used first, and of none with the key `key`.
    /// Reading one reads its journal, and changing it loads it again.
    fn rest_if_many(&mut self, key: &str) {
        if self.threads.len() <= MANY_AT_REST || self.threads.contains_key(key) {
            return;
        }
        let current = self.current.as_deref();
        let at_rest =
            self.threads.values().filter(|thread| thread.is_at_rest() && Some(thread.key()) != current);
        let mut keys: Vec<(u64, String)> =
            at_rest.map(|thread| (thread.last_use, thread.key().to_owned())).collect();
        keys.sort();
        for (_, key) in &keys[..keys.len().saturating_sub(MANY_AT_REST / 2)] {
            if let Some(thread) = self.threads.remove(key) {
                let (about, last, called) = (thread.about().clone(), thread.last_time(), thread.called());
                self.resting.insert(key.clone(), Resting { about, last, called });
            }
        }
    }

    /// Tries again to save the threads that could not be saved. Returns the keys of those that still are
    /// not.
    pub(crate) fn save_again(&mut self, now: Millis) -> Vec<String> {
        let keys: Vec<String> = self.unsaved().map(str::to_owned).collect();
        for key in keys {
            self.open(&key, Map::new(), now).save();
        }
        self.unsaved().map(str::to_owned).collect()
    }

    /// The keys of the threads that could not be saved.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = &str> {
        self.threads.values().filter(|thread| thread.is_unsaved()).map(|thread| thread.key())
    }

    /// An existing thread to write to, as with [`Store::open`]. None if it exists nowhere or another
    /// process holds it.
    pub fn open_existing(&mut self, key: &str, now: Millis) -> Option<&mut SavedThread> {
        if !self.threads.contains_key(key) {
            let journals = Journals::of(self.storage.folder.as_deref()?, key);
            (journals.availability() == Availability::Free).then_some(())?;
        }
        Some(self.open(key, Map::new(), now))
    }

    /// A thread in memory, to change what a thread on disk lacks: an agent at work and observations that are
    /// not delivered.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut SavedThread> {
        if let Some(Resting { about, last, .. }) = self.resting.get(key) {
            let (about, last) = (about.clone(), *last);
            self.load(key, &about, last);
        }
        self.threads.get_mut(key)
    }

    /// Restores the threads that a panic left half changed.
    pub(crate) fn recover(&mut self) {
        self.threads.values_mut().for_each(SavedThread::recover);
    }

    /// A thread to read: the one in memory, or a snapshot of what its newest journal has. None if it
    /// exists nowhere. Reading locks and changes no journal.
    ///
    /// # Errors
    /// [`Error::Journal`] if that cannot be read.
    pub fn get(&mut self, key: &str) -> Result<Option<&Thread>, Error> {
        if self.threads.contains_key(key) {
            return Ok(self.threads.get(key).map(|thread| &**thread));
        }
        let Some(folder) = self.storage.folder.as_deref() else { return Ok(None) };
        if !self.snapshots.contains_key(key) && self.snapshots.len() >= MANY_SNAPSHOTS {
            self.snapshots.clear();
        }
        let snapshot = self.snapshots.entry(key.to_owned()).or_default();
        snapshot.refresh(folder, key);
        snapshot.thread(key, self.storage.history_limit)
    }

    /// The observations of work in a part of a thread, oldest first: those in memory, and before them
    /// those that only the journal still has.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub(crate) fn work_observations(
        &mut self,
        key: &str,
        part: Part<'_>,
    ) -> Result<Vec<Arc<Observation>>, Error> {
        let Some(thread) = self.get(key)? else { return Ok(Vec::new()) };
        let first = thread.observations().first_kept();
        let kept: Vec<_> = thread.observations().reported().cloned().collect();
        let records = if first > 1 { self.saved_records(key)? } else { Vec::new() };
        let saved = records.into_iter().filter_map(|record| match record {
            Record::Observation(observation) if observation.number < first => Some(observation),
            _ => None,
        });
        Ok(saved.chain(kept).filter(|observation| belongs(observation, part)).collect())
    }

    /// The newest places of a thread that have all the words, newest first. The thread is not loaded.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn search(&self, key: &str, query: Query, limit: usize) -> Result<Vec<Match>, Error> {
        let mut search = Search::new(query);
        let records = self.saved_records(key)?;
        records.iter().for_each(|record| search.add_record(record));
        // One that is not saved is in memory only.
        if let Some(thread) = self.threads.get(key).filter(|_| records.is_empty()) {
            thread.list().iter().for_each(|item| search.add_item(item, thread.last_time()));
            thread.observations().reported().for_each(|one| search.add_observation(one));
        }
        Ok(search.finish(limit))
    }

    /// The records of a thread on disk: in its own journal if it is in memory, since another process may
    /// have a newer one; else in the newest.
    fn saved_records(&self, key: &str) -> Result<Vec<Record>, Error> {
        if let Some(file) = self.threads.get(key).and_then(SavedThread::file) {
            return folder::read_file(file);
        }
        let folder = self.storage.folder.as_deref();
        folder.map_or(Ok(Vec::new()), |folder| Journals::of(folder, key).read_newest())
    }

    /// Closes all journals if too many are open and that of the thread `key` is not.
    fn close_journals_if_many(&mut self, key: &str) {
        let is_open = |thread: &&SavedThread| thread.open_file().is_some();
        let is_known = self.threads.get(key).filter(is_open).is_some();
        if !is_known && self.threads.values().filter(is_open).count() > MANY_OPEN {
            self.close_journals();
        }
    }

    /// Closes all journals until their next write.
    pub fn close_journals(&mut self) {
        self.threads.values_mut().for_each(SavedThread::close_journal);
    }

    /// Restores a thread from its journal, or saves one that was in memory only. If the journal cannot
    /// be opened, the user is warned and the thread stays in memory.
    fn load(&mut self, key: &str, about: &Map<String, Value>, now: Millis) {
        let Storage { folder, durability, history_limit: limit } = self.storage.clone();
        let Some(folder) = folder else { return };
        let opened = journal_file::open(&folder, key, about, now, durability);
        self.snapshots.remove(key);
        let (in_memory, resting) = (self.threads.remove(key), self.resting.remove(key));
        let thread = match (opened, in_memory) {
            (Ok(opened), Some(thread)) => Some(self.save(thread, opened, now)),
            (Ok(opened), None) => {
                self.warnings.extend(opened.warnings);
                let called = resting.map(|thread| thread.called);
                Some(SavedThread::restore(key, &opened.records, Some(opened.journal), limit, called))
            }
            (Err(source), in_memory) => {
                self.warn(source);
                in_memory.or_else(|| {
                    let records = Journals::of(&folder, key).read_newest();
                    let records = records.unwrap_or_else(|error| {
                        self.warnings.push(error.to_string());
                        Vec::new()
                    });
                    (!records.is_empty()).then(|| SavedThread::restore(key, &records, None, limit, None))
                })
            }
        };
        if let Some(thread) = thread {
            self.threads.insert(key.to_owned(), thread);
        }
    }

    /// Saves a thread that was in memory only: to this journal, or to another if this one has another
    /// process's history.
    fn save(&mut self, mut thread: SavedThread, opened: OpenedJournal, now: Millis) -> SavedThread {
        self.warnings.extend(opened.warnings);
        let path = opened.journal.path().to_owned();
        if thread.attach(opened.journal, &opened.records, now) {
            return thread;
        }
        let (key, about) = (thread.key().to_owned(), thread.about().clone());
        let header = Record::Thread { format: FORMAT, thread: key, timestamp: now, about };
        let beside = path.parent().unwrap_or(Path::new(""));
        match journal_file::begin(beside, thread.key(), &header, self.storage.durability) {
            Ok(journal) => {
                self.warnings.push(format!(
                    "another Emacs has written to {}; this one continues in {}",
                    path.display(),
                    journal.path().display()
                ));
                thread.attach(journal, &[header], now);
            }
            Err(source) => self.warn(source),
        }
        thread
    }

    /// Warns the user once that the folder cannot be used.
    fn warn(&mut self, source: std::io::Error) {
        if !std::mem::replace(&mut self.is_warned, true) {
            let folder = self.storage.folder.as_deref().unwrap_or(Path::new(""));
            let why = match source.to_string() {
                _ if folder.exists() && !folder.is_dir() => {
                    "this is a file, but `todo-write-directory' must name a folder".to_owned()
                }
                words => words.split(" (os error").next().unwrap_or_default().to_owned(),
            };
            self.warnings.push(format!(
                "{}: {why}; lists are kept in memory only until this is fixed",
                folder.display()
            ));
        }
    }

    /// The threads in memory.
    pub fn loaded(&self) -> impl Iterator<Item = &Thread> {
        self.threads.values().map(|thread| &**thread)
    }

    /// Whether a thread is in memory or has a journal. Of the folder, only its own journals are looked at.
    pub fn contains(&self, key: &str) -> bool {
        let is_saved = |path: PathBuf| saved_thread(&path).is_some_and(|saved| saved.key == key);
        let has_journal = |path: &Path| folder::existing(path, key).any(is_saved);
        self.threads.contains_key(key) || self.storage.folder.as_deref().is_some_and(has_journal)
    }

    /// The threads that have a journal in the folder, newest first.
    pub fn saved_threads(&self) -> Vec<KeptThread> {
        let mut kept: Vec<KeptThread> =
            self.files().into_iter().filter_map(|path| saved_thread(&path)).collect();
        kept.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.key.cmp(&b.key)));
        let mut seen = HashSet::new();
        kept.retain(|kept| seen.insert(kept.key.clone()));
        kept
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = self.storage.folder.as_deref().map(fs::read_dir);
        let Some(Ok(entries)) = entries else { return Vec::new() };
        let is_journal = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_journal);
        paths.filter(|path| folder::is_plain(path)).collect()
    }

    /// The keys of the subagents' threads under this one, and the items they work on.
    pub fn children(&self, parent: &str) -> Vec<(String, Option<String>)> {
        let in_memory = self.threads.values().map(|thread| (thread.key(), thread.about()));
        let resting = self.resting.iter().map(|(key, thread)| (key.as_str(), &thread.about));
        let child = |(key, about): (&str, &Map<String, Value>)| {
            let (_, item) = parent_in(about).filter(|(key, _)| *key == parent)?;
            Some((key.to_owned(), item.map(str::to_owned)))
        };
        let mut children: Vec<_> = in_memory.chain(resting).filter_map(child).collect();
        children.sort();
        children
    }

    /// Deletes a thread: its list, its history and its journals.
    ///
    /// # Errors
    /// [`Error::Journal`] if a journal cannot be deleted; the thread then stays, in memory and in its own
    /// or newest journal. If another process holds one, nothing is deleted.
    pub fn forget(&mut self, key: &str) -> Result<(), Error> {
        let mut files: Vec<PathBuf> = match self.storage.folder.as_deref() {
            Some(folder) => folder::existing(folder, key).collect(),
            None => Vec::new(),
        };
        let own = self.threads.get(key).and_then(SavedThread::file);
        // After an error, the journal that matters is still there.
        files.sort_by_key(|path| (own == Some(path), file::modified(path)));
        let open = self.threads.get(key).and_then(SavedThread::open_file);
        if let Some(path) = files.iter().find(|path| open != Some(path) && folder::is_held(path)) {
            return Err(held(path));
        }
        for path in &files {
            if open == Some(path) {
                folder::remove(path).map_err(|source| failed(path, source))?;
            } else if !delete(path)? {
                return Err(held(path));
            }
        }
        self.threads.remove(key);
        self.resting.remove(key);
        self.snapshots.remove(key);
        if self.current.as_deref() == Some(key) {
            self.current = None;
        }
        Ok(())
    }

    /// Deletes journals of threads that are not in memory: those older than `age`, and all but the
    /// newest `count`. Returns the number deleted.
    ///
    /// # Errors
    /// [`Error::Journal`] if a file cannot be deleted.
    pub fn prune(&mut self, age: Option<Duration>, count: Option<usize>) -> Result<usize, Error> {
        let mut files: Vec<(SystemTime, PathBuf)> = self
            .files()
            .into_iter()
            .filter(|path| saved_thread(path).is_some_and(|kept| !self.threads.contains_key(&kept.key)))
            .filter_map(|path| Some((file::modified(&path)?, path)))
            .collect();
        files.sort_by_key(|(modified, _)| std::cmp::Reverse(*modified));
        let now = SystemTime::now();
        let mut deleted = 0;
        for (place, (modified, path)) in files.iter().enumerate() {
            let old = age.is_some_and(|age| now.duration_since(*modified).is_ok_and(|past| past > age));
            let is_excess = old || count.is_some_and(|count| place >= count);
            // Deleting would wait for each journal that is held.
            if is_excess && !folder::is_held(path) && delete(path)? {
                deleted += 1;
            }
        }
        Ok(deleted)
    }
}

fn delete(path: &Path) -> Result<bool, Error> {
    folder::delete(path).map_err(|source| failed(path, source))
}

fn held(path: &Path) -> Error {
    failed(path, std::io::Error::new(std::io::ErrorKind::WouldBlock, "another Emacs has it open"))
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Journal { file: path.display().to_string(), reason: source }
}

/// Reads the thread of a journal from its header, and its time from its last record: a file may be
/// younger than what it records.
fn saved_thread(path: &Path) -> Option<KeptThread> {
    let mut file = BufReader::new(fs::File::open(path).ok()?);
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line).ok()?;
    let Record::Thread { thread, about, timestamp, .. } = decode(&line)? else { return None };
    let modified = folder::last_time(file.get_mut()).unwrap_or(timestamp);
    Some(KeptThread { key: thread, about, modified })
}
