//! The threads of one journal folder, in memory or only on disk.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde_json::{Map, Value};

use super::file::{self as journal_file, Durability, OpenedJournal};
use super::history::History;
use super::kept::{self, Deletion, KeptThread};
use super::opening::{Found, Opened, Opening};
use super::percent::Percent;
use super::saved::SavedThread;
use super::search::{Match, Query, WideSearch};
use super::snapshot::Snapshot;
use crate::error::Error;
use crate::events::Millis;
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
    /// The threads that are being opened elsewhere, by key.
    opening: HashMap<String, Elsewhere<Opened>>,
    /// The snapshots that are being read elsewhere, by key.
    reading: HashMap<String, Elsewhere<Snapshot>>,
    /// Whether the user was warned that the folder cannot be used.
    is_warned: bool,
}

/// What no journal has of a thread that left memory, and what is asked of it without reading that.
#[derive(Debug)]
struct Resting {
    about: Map<String, Value>,
    last: Millis,
    ending: Option<Ending>,
    pause: Option<String>,
}

/// Work on a journal that another thread of this process does.
#[derive(Debug)]
struct Elsewhere<T> {
    value: Receiver<T>,
    done: Arc<Percent>,
}

/// Work on the files of a folder, for another thread of this process.
pub type Work = Box<dyn FnOnce() + Send>;

/// Whether work on another thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has, or nothing is to be done.
    Done,
    /// It has not.
    UnderWay,
    /// It panicked.
    Failed,
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
        self.await_opening(key);
        self.close_journals_if_many(key);
        self.rest_if_many(key);
        let in_memory_only = self.storage.folder.is_none();
        if !self.get_mut(key).is_some_and(|thread| in_memory_only || thread.reopen_journal()) {
            self.load(key, about.clone(), now);
        }
        let limit = self.storage.history_limit;
        let thread = self
            .threads
            .entry(key.to_owned())
            .or_insert_with(|| SavedThread::new(Thread::new(key, about, limit).begun_at(now)));
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
                let (about, last) = (thread.about().clone(), thread.last_time());
                let (ending, pause) = (thread.ending(), thread.pause_reason().map(str::to_owned));
                self.resting.insert(key.clone(), Resting { about, last, ending, pause });
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

    /// A thread in memory to write to, as with [`Store::open`].
    pub(crate) fn open_loaded(&mut self, key: &str, now: Millis) -> Option<&mut SavedThread> {
        self.is_loaded(key).then(|| self.open(key, Map::new(), now))
    }

    /// A thread in memory, to change what a thread on disk lacks: an agent at work and observations that are
    /// not delivered.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut SavedThread> {
        self.await_opening(key);
        if let Some(Resting { about, last, .. }) = self.resting.get(key) {
            let (about, last) = (about.clone(), *last);
            self.load(key, about, last);
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
        self.await_opening(key);
        if !self.threads.contains_key(key)
            && let Some(folder) = self.storage.folder.clone()
        {
            let mut snapshot = self.snapshots.remove(key).unwrap_or_default();
            snapshot.read(&folder, key, self.storage.history_limit, &Percent::default());
            self.keep(key, snapshot);
        }
        self.seen(key)
    }

    /// The thread in memory, or what was last read of its journal; see [`Store::read`].
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn seen(&self, key: &str) -> Result<Option<&Thread>, Error> {
        match self.threads.get(key) {
            Some(thread) => Ok(Some(thread)),
            None => self.snapshots.get(key).map_or(Ok(None), Snapshot::thread),
        }
    }

    fn keep(&mut self, key: &str, snapshot: Snapshot) {
        if self.snapshots.len() >= MANY_SNAPSHOTS {
            self.snapshots.clear();
        }
        self.snapshots.insert(key.to_owned(), snapshot);
    }

    /// What is recorded of a thread, in memory and on disk.
    pub(crate) fn history(&self, key: &str) -> History {
        let thread = self.threads.get(key);
        // Another process may have a newer journal than ours.
        let own = thread.and_then(SavedThread::file).map(Path::to_owned);
        let seen = self.seen(key).ok().flatten();
        History::new(key, self.storage.folder.clone(), own, thread.map(|thread| &**thread), seen)
    }

    /// The newest places of a thread that have all the words, newest first. The thread is not loaded.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn search(&self, key: &str, query: Query, limit: usize) -> Result<Vec<Match>, Error> {
        Ok(self.history(key).search(query)?.finish(limit))
    }

    /// A search of all threads for the newest places that have all the words.
    pub fn wide_search(&self, query: Query, limit: usize) -> WideSearch {
        let loaded = self.threads.keys().map(|key| self.history(key)).collect();
        WideSearch::new(query, limit, self.storage.folder.clone(), loaded)
    }

    /// Closes half of the journals, the least used first, if too many are open and that of the thread `key`
    /// is not.
    fn close_journals_if_many(&mut self, key: &str) {
        if self.threads.get(key).is_some_and(|thread| thread.open_file().is_some()) {
            return;
        }
        let mut open: Vec<&mut SavedThread> =
            self.threads.values_mut().filter(|thread| thread.open_file().is_some()).collect();
        if open.len() > MANY_OPEN {
            open.sort_by_key(|thread| thread.last_use);
            open.into_iter().take(MANY_OPEN / 2).for_each(SavedThread::close_journal);
        }
    }

    /// Closes all journals until their next write.
    pub fn close_journals(&mut self) {
        self.threads.values_mut().for_each(SavedThread::close_journal);
    }

    /// Restores a thread from its journal, or saves one that was in memory only. If the journal cannot
    /// be opened, the user is warned and the thread stays in memory.
    fn load(&mut self, key: &str, about: Map<String, Value>, now: Millis) {
        let opened = self.opening_of(key, about, now).run_or_create();
        self.put(opened);
    }

    fn opening_of(&mut self, key: &str, about: Map<String, Value>, now: Millis) -> Opening {
        Opening {
            key: key.to_owned(),
            storage: self.storage.clone(),
            about,
            now,
            was_here: self.resting.contains_key(key),
            is_in_memory: self.threads.contains_key(key),
            done: Arc::default(),
            snapshot: self.snapshots.remove(key),
        }
    }

    /// Puts a thread in memory that was opened.
    fn put(&mut self, Opened { key, now, found }: Opened) {
        if !matches!(found, Found::Nothing(_)) {
            self.resting.remove(&key);
            self.close_journals_if_many(&key);
            self.rest_if_many(&key);
        }
        match found {
            Found::Nothing(None) => {}
            Found::Nothing(Some(snapshot)) => self.keep(&key, snapshot),
            Found::Thread(thread, warnings) => {
                self.warnings.extend(warnings);
                self.threads.insert(key, *thread);
            }
            Found::Journal(opened) => {
                if let Some(thread) = self.threads.remove(&key) {
                    let thread = self.save(thread, opened, now);
                    self.threads.insert(key, thread);
                }
            }
            Found::File(file) => {
                if let Some(thread) = self.threads.get_mut(&key) {
                    thread.put_file(file);
                }
            }
            Found::Failed(error, thread, warning) => {
                self.warn(error);
                self.warnings.extend(warning);
                if let Some(thread) = thread {
                    self.threads.insert(key, *thread);
                }
            }
        }
    }

    /// Readies a thread for changes, which then need no file but its open journal. `elsewhere` gets the work
    /// of opening its journal in the folder, and of replaying it, if there is any, and this waits for that for
    /// `patience`; call it again while it is under way. A thread without a journal is then yet to be
    /// created, by [`Store::open`]; [`Store::seen`] has what other processes wrote of it. A journal without
    /// a description gets `about`.
    pub fn ready(
        &mut self,
        key: &str,
        about: &Map<String, Value>,
        now: Millis,
        patience: Duration,
        mut elsewhere: impl FnMut(&Path, Work),
    ) -> Progress {
        if !self.opening.contains_key(key) {
            let Some(folder) = self.storage.folder.clone() else { return Progress::Done };
            if self.is_writable(key) {
                return Progress::Done;
            }
            let (sender, value) = sync_channel(1);
            let mut done = Arc::default();
            // If nobody waits any more, the journal is closed again.
            let work: Work = match self.threads.get(key).and_then(SavedThread::closed) {
                Some(closed) => {
                    let key = key.to_owned();
                    let reopen = move || Opened { key, now, found: Found::File(closed.open()) };
                    Box::new(move || drop(sender.send(reopen())))
                }
                None => {
                    let opening = self.opening_of(key, about.clone(), now);
                    done = Arc::clone(&opening.done);
                    Box::new(move || drop(sender.send(opening.run())))
                }
            };
            self.opening.insert(key.to_owned(), Elsewhere { value, done });
            elsewhere(&folder, work);
        }
        let opened = self.opening.get(key).map(|opened| opened.value.recv_timeout(patience));
        let progress = progress(&opened);
        if progress != Progress::UnderWay {
            self.opening.remove(key);
        }
        if let Some(Ok(opened)) = opened {
            let was_closed = matches!(opened.found, Found::File(_));
            self.put(opened);
            // Another process may have opened or deleted the journal meanwhile.
            if was_closed && self.threads.get(key).is_some_and(|thread| !thread.has_journal()) {
                return self.ready(key, about, now, patience, elsewhere);
            }
        }
        progress
    }

    /// Brings [`Store::seen`] up to date with the files. `elsewhere` gets the work of reading the newest
    /// journal, unless the thread is in memory, and this waits for that for `patience`; call it again while
    /// it is under way.
    pub fn read(
        &mut self,
        key: &str,
        patience: Duration,
        mut elsewhere: impl FnMut(&Path, Work),
    ) -> Progress {
        if self.opening.contains_key(key) {
            return self.ready(key, &Map::new(), 0, patience, elsewhere);
        }
        if self.threads.contains_key(key) {
            return Progress::Done;
        }
        if !self.reading.contains_key(key) {
            let Some(folder) = self.storage.folder.clone() else { return Progress::Done };
            let (key, limit) = (key.to_owned(), self.storage.history_limit);
            let mut snapshot = self.snapshots.remove(&key).unwrap_or_default();
            let (sender, value) = sync_channel(1);
            let done = Arc::<Percent>::default();
            self.reading.insert(key.clone(), Elsewhere { value, done: Arc::clone(&done) });
            let root = folder.clone();
            let work = move || {
                snapshot.read(&folder, &key, limit, &done);
                drop(sender.send(snapshot));
            };
            elsewhere(&root, Box::new(work));
        }
        let read = self.reading.get(key).map(|read| read.value.recv_timeout(patience));
        let progress = progress(&read);
        if progress != Progress::UnderWay {
            self.reading.remove(key);
        }
        if let Some(Ok(snapshot)) = read {
            self.keep(key, snapshot);
        }
        progress
    }

    /// How much of the journal of a thread is read, in percent, while that is under way elsewhere.
    pub fn percent(&self, key: &str) -> Option<usize> {
        let opening = self.opening.get(key).map(|opening| &opening.done);
        opening.or_else(|| self.reading.get(key).map(|reading| &reading.done))?.get()
    }

    /// Waits for a thread that is being opened elsewhere: nothing else may lock its journal.
    fn await_opening(&mut self, key: &str) {
        if let Some(opened) = self.opening.remove(key).and_then(|opened| opened.value.recv().ok()) {
            self.put(opened);
        }
    }

    /// How the agent of a thread of this process ended, why the thread is paused, and when it last changed.
    /// This waits for no file.
    pub(crate) fn end_of(&self, key: &str) -> Option<(Ending, Option<&str>, Millis)> {
        if let Some(thread) = self.threads.get(key) {
            return Some((thread.ending()?, thread.pause_reason(), thread.last_time()));
        }
        let Resting { ending, pause, last, .. } = self.resting.get(key)?;
        Some(((*ending)?, pause.as_deref(), *last))
    }

    /// Whether the thread left memory, so that any change loads it.
    pub(crate) fn is_resting(&self, key: &str) -> bool {
        self.resting.contains_key(key) || self.opening.contains_key(key)
    }

    /// Whether the thread is in memory, and a change of it needs no file to be opened.
    pub(crate) fn is_writable(&self, key: &str) -> bool {
        let is_open = |thread: &SavedThread| thread.open_file().is_some();
        self.threads.get(key).is_some_and(|thread| self.storage.folder.is_none() || is_open(thread))
    }

    /// Whether the thread left memory, or its journal is closed until its next change.
    pub(crate) fn is_closed(&self, key: &str) -> bool {
        self.is_resting(key) || self.threads.get(key).is_some_and(|thread| thread.closed().is_some())
    }

    /// Whether the thread is in memory.
    pub(crate) fn is_loaded(&self, key: &str) -> bool {
        self.threads.contains_key(key)
    }

    /// The journal folder.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.storage.folder.as_deref()
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

    /// The threads that have a journal in the folder, newest first.
    pub fn saved_threads(&self) -> Vec<KeptThread> {
        self.folder().map(kept::saved_threads).unwrap_or_default()
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
        self.deletion(key).run()?;
        self.remove(key);
        Ok(())
    }

    /// The work of deleting the journals of a thread; see [`Store::forget`].
    pub fn deletion(&mut self, key: &str) -> Deletion {
        self.await_opening(key);
        let thread = self.threads.get_mut(key);
        let own = thread.as_ref().and_then(|thread| thread.file()).map(Path::to_owned);
        // If the thread stays, its next write finds out whether the file does, too.
        let lock = thread.and_then(SavedThread::take_journal_file);
        Deletion { key: key.to_owned(), folder: self.storage.folder.clone(), own, lock }
    }

    /// Removes a thread from memory.
    pub(crate) fn remove(&mut self, key: &str) {
        self.threads.remove(key);
        self.resting.remove(key);
        self.snapshots.remove(key);
        if self.current.as_deref() == Some(key) {
            self.current = None;
        }
    }

    /// Deletes journals of threads that are not in memory: those older than `age`, and all but the
    /// newest `count`. Returns the number deleted.
    ///
    /// # Errors
    /// [`Error::Journal`] if a file cannot be deleted.
    pub fn prune(&mut self, age: Option<Duration>, count: Option<usize>) -> Result<usize, Error> {
        let Some(folder) = self.folder() else { return Ok(0) };
        kept::prune(folder, age, count, &self.keys())
    }

    /// The keys of the threads in memory.
    pub(crate) fn keys(&self) -> HashSet<String> {
        self.threads.keys().chain(self.opening.keys()).cloned().collect()
    }
}

fn progress<T>(received: &Option<Result<T, RecvTimeoutError>>) -> Progress {
    match received {
        None | Some(Ok(_)) => Progress::Done,
        Some(Err(RecvTimeoutError::Timeout)) => Progress::UnderWay,
        Some(Err(RecvTimeoutError::Disconnected)) => Progress::Failed,
    }
}
