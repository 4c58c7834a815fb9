//! All threads of one journal folder.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use crate::clock::Millis;
use crate::error::Error;
use crate::journal::{self, Durability, FORMAT, Opened, Presence, Record};
use crate::thread::Thread;

/// How threads are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// The journal folder; without one, threads live in memory only.
    pub folder: Option<PathBuf>,
    /// When a record counts as written.
    pub durability: Durability,
    /// Observations kept in memory for each thread.
    pub history_limit: usize,
}

/// The threads, and what the user should hear of their journals.
#[derive(Debug, Default)]
pub struct Store {
    keeping: Keeping,
    threads: HashMap<String, Thread>,
    current: Option<String>,
    warnings: Vec<String>,
    /// A thread that another process writes, as it was when it was last looked at.
    glimpse: Option<Thread>,
    /// Set once the user was told that the folder cannot be used.
    warned: bool,
}

/// A thread that has a journal, loaded or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The key.
    pub key: String,
    /// As in [`Thread::about`].
    pub about: Map<String, Value>,
    /// When its journal was last written.
    pub modified: Millis,
}

impl Store {
    /// An empty store; journals are read when their thread is asked for.
    pub fn new(keeping: Keeping) -> Store {
        Store { keeping, ..Store::default() }
    }

    /// Changes everything but the folder.
    pub fn set_keeping(&mut self, keeping: Keeping) {
        self.keeping = keeping;
    }

    /// The thread written last.
    pub fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    /// Marks the thread written last.
    pub fn set_current(&mut self, key: &str) {
        if self.current.as_deref() != Some(key) {
            self.current = Some(key.to_owned());
        }
    }

    /// What the user should hear, once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// A thread to write to: loaded, restored from its journal, or new, about what the host says.
    pub fn open(&mut self, key: &str, about: Map<String, Value>, now: Millis) -> &mut Thread {
        self.rest_if_many();
        let in_memory_only = self.keeping.folder.is_none();
        if !self.loaded_mut(key).is_some_and(|thread| in_memory_only || thread.wake()) {
            self.load(key, about, now);
        }
        self.threads.entry(key.to_owned()).or_default()
    }

    /// A thread to read: loaded or restored; none where there is neither list nor journal.
    ///
    /// A thread that another process writes is read anew each time, and not taken from it.
    pub fn get(&mut self, key: &str, now: Millis) -> Option<&mut Thread> {
        if let Some(folder) = self.keeping.folder.as_deref().filter(|_| !self.threads.contains_key(key)) {
            match journal::presence(folder, key) {
                Presence::Missing => return None,
                Presence::Held => {
                    let records = journal::peek(folder, key);
                    let (thread, _) = Thread::replayed(key, records, self.keeping.history_limit);
                    return Some(self.glimpse.insert(thread));
                }
                Presence::Free => {
                    self.rest_if_many();
                    self.load(key, Map::new(), now);
                }
            }
        }
        self.loaded_mut(key)
    }

    /// A thread that is in memory.
    pub fn loaded_mut(&mut self, key: &str) -> Option<&mut Thread> {
        let thread = self.threads.get_mut(key)?;
        thread.settle();
        Some(thread)
    }

    /// Closes journals where too many are open; each is opened again when it is written.
    fn rest_if_many(&mut self) {
        if journal::too_many_open() {
            self.rest();
        }
    }

    /// Closes all journals until they are written.
    pub fn rest(&mut self) {
        self.threads.values_mut().for_each(Thread::rest);
    }

    fn load(&mut self, key: &str, about: Map<String, Value>, now: Millis) {
        let Keeping { folder, durability, history_limit: limit } = self.keeping.clone();
        let opened = folder.as_deref().map(|folder| journal::open(folder, key, &about, now, durability));
        let in_memory = self.threads.remove(key);
        let thread = match (opened, in_memory) {
            (Some(Ok(opened)), Some(thread)) => Some(self.keep(thread, opened, now)),
            (Some(Ok(opened)), None) => {
                self.warnings.extend(opened.warnings);
                Some(Thread::restore(key, opened.records, opened.journal, limit))
            }
            (Some(Err(source)), in_memory) => {
                self.warn(source);
                in_memory.or_else(|| {
                    let kept = journal::peek(folder.as_deref()?, key);
                    (!kept.is_empty()).then(|| Thread::restore(key, kept, None, limit))
                })
            }
            (None, in_memory) => in_memory,
        };
        let thread = thread.unwrap_or_else(|| Thread::new(key, about, None, limit));
        self.threads.insert(key.to_owned(), thread);
    }

    /// A thread that was in memory only, written down: in this journal, unless another process
    /// has written another history there, or else in one beside it.
    fn keep(&mut self, mut thread: Thread, opened: Opened, now: Millis) -> Thread {
        self.warnings.extend(opened.warnings);
        let path = opened.journal.path().to_owned();
        if thread.attach(opened.journal, opened.records, now) {
            return thread;
        }
        let (key, about) = (thread.key().to_owned(), thread.about().clone());
        let header = Record::Thread { format: FORMAT, thread: key, timestamp: now, about };
        let folder = path.parent().unwrap_or(Path::new(""));
        match journal::begin(folder, thread.key(), &header, self.keeping.durability) {
            Ok(journal) => {
                self.warnings.push(format!(
                    "another Emacs has written {}; this one goes on in {}",
                    path.display(),
                    journal.path().display()
                ));
                thread.attach(journal, vec![header], now);
            }
            Err(source) => self.warn(source),
        }
        thread
    }

    /// Says once that the folder cannot be used.
    fn warn(&mut self, source: std::io::Error) {
        if !std::mem::replace(&mut self.warned, true) {
            let file = self.keeping.folder.as_deref().unwrap_or(Path::new("")).display().to_string();
            let error = Error::Journal { file, source };
            self.warnings.push(format!("{error}; lists live in memory only until this is mended"));
        }
    }

    /// Whether a thread is in memory.
    pub fn is_loaded(&self, key: &str) -> bool {
        self.threads.contains_key(key)
    }

    /// The threads in memory.
    pub fn loaded(&self) -> impl Iterator<Item = &Thread> {
        self.threads.values()
    }

    /// The threads that have a journal in the folder, the newest first.
    pub fn kept(&self) -> Vec<Kept> {
        let mut kept: Vec<Kept> = self.files().into_iter().filter_map(|path| describe(&path)).collect();
        kept.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.key.cmp(&b.key)));
        let mut seen = HashSet::new();
        kept.retain(|kept| seen.insert(kept.key.clone()));
        kept
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = self.keeping.folder.as_deref().map(fs::read_dir);
        let Some(Ok(entries)) = entries else { return Vec::new() };
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.extension().is_some_and(|extension| extension == "jsonl") && journal::is_plain(path)
            })
            .collect()
    }

    /// A thread that is not loaded, as its newest journal has it: only read, so that no other
    /// process is kept from writing it.
    pub fn glance(&self, key: &str) -> Option<Thread> {
        let folder = self.keeping.folder.as_deref()?;
        let records = journal::peek(folder, key);
        match journal::presence(folder, key) {
            Presence::Missing => None,
            // It is at work in another process.
            Presence::Held => Some(Thread::replayed(key, records, 1).0),
            Presence::Free => Some(Thread::restore(key, records, None, 1)),
        }
    }

    /// The threads that were begun under this one, by key, with the item they belong to.
    pub fn children(&self, parent: &str) -> Vec<(String, Option<String>)> {
        let of_parent = |thread: &Thread| {
            let (key, item) = thread.parent()?;
            (key == parent).then(|| (thread.key().to_owned(), item.map(str::to_owned)))
        };
        let mut children: Vec<_> = self.threads.values().filter_map(of_parent).collect();
        children.sort();
        children
    }

    /// Forgets a thread: its list, its history and its journals.
    ///
    /// # Errors
    /// [`Error::Journal`] when one cannot be deleted, as when another process has it open: then
    /// nothing is forgotten.
    pub fn forget(&mut self, key: &str) -> Result<(), Error> {
        let files: Vec<PathBuf> = match self.keeping.folder.as_deref() {
            Some(folder) => journal::existing(folder, key).collect(),
            None => Vec::new(),
        };
        let own = self.threads.get(key).and_then(Thread::open_file);
        if let Some(held) = files.iter().find(|path| own != Some(path) && journal::is_held(path)) {
            let source = std::io::Error::new(std::io::ErrorKind::WouldBlock, "another Emacs has it open");
            return Err(Error::Journal { file: held.display().to_string(), source });
        }
        self.threads.remove(key);
        if self.current.as_deref() == Some(key) {
            self.current = None;
        }
        files.iter().try_for_each(|path| delete(path).map(drop))
    }

    /// Deletes journals of threads that are not loaded: those older than `age`, and the oldest
    /// beyond `count`. Returns how many went.
    ///
    /// # Errors
    /// [`Error::Journal`] when a file cannot be deleted.
    pub fn prune(&mut self, age: Option<Duration>, count: Option<usize>) -> Result<usize, Error> {
        let mut files: Vec<(SystemTime, PathBuf)> = self
            .files()
            .into_iter()
            .filter(|path| describe(path).is_some_and(|kept| !self.threads.contains_key(&kept.key)))
            .filter_map(|path| Some((journal::modified(&path)?, path)))
            .collect();
        files.sort_by_key(|(modified, _)| std::cmp::Reverse(*modified));
        let now = SystemTime::now();
        let mut gone = 0;
        for (place, (modified, path)) in files.iter().enumerate() {
            let old = age.is_some_and(|age| now.duration_since(*modified).is_ok_and(|past| past > age));
            if (old || count.is_some_and(|count| place >= count)) && delete(path)? {
                gone += 1;
            }
        }
        Ok(gone)
    }
}

fn delete(path: &Path) -> Result<bool, Error> {
    journal::delete(path).map_err(|source| Error::Journal { file: path.display().to_string(), source })
}

/// Reads only the first line of a journal.
fn describe(path: &Path) -> Option<Kept> {
    let file = fs::File::open(path).ok()?;
    let modified = file.metadata().ok()?.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let mut line = Vec::new();
    BufReader::new(file).read_until(b'\n', &mut line).ok()?;
    match journal::decode(&line)? {
        Record::Thread { thread, about, .. } => {
            Some(Kept { key: thread, about, modified: u64::try_from(modified.as_millis()).ok()? })
        }
        _ => None,
    }
}
