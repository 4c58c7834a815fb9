//! The journals of a folder: which threads have one, and deleting them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Map, Value};

use super::folder::{self, Locked};
use super::line::decode;
use crate::error::Error;
use crate::events::Millis;
use crate::file;
use crate::thread::record::Record;

/// A thread that has a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptThread {
    /// See [`crate::thread::Thread::key`].
    pub key: String,
    /// See [`crate::thread::Thread::about`].
    pub about: Map<String, Value>,
    /// The time of its last record.
    pub modified: Millis,
}

/// The threads that have a journal in the folder, newest first.
pub(crate) fn saved_threads(folder: &Path) -> Vec<KeptThread> {
    let mut kept: Vec<KeptThread> = files(folder).iter().filter_map(|path| saved_thread(path)).collect();
    kept.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.key.cmp(&b.key)));
    let mut seen = HashSet::new();
    kept.retain(|kept| seen.insert(kept.key.clone()));
    kept
}

/// Whether a thread has a journal. Only its own journals are looked at.
pub(crate) fn has_journal(folder: &Path, key: &str) -> bool {
    folder::existing(folder, key).any(|path| saved_thread(&path).is_some_and(|saved| saved.key == key))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_journal);
    paths.filter(|path| folder::is_plain(path)).collect()
}

/// Reads the thread of a journal from its header, and its time from its last record: a file may be
/// younger than what it records.
fn saved_thread(path: &Path) -> Option<KeptThread> {
    let mut file = BufReader::new(File::open(path).ok()?);
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line).ok()?;
    let Record::Thread { thread, about, timestamp, .. } = decode(&line)? else { return None };
    let modified = folder::last_time(file.get_mut()).unwrap_or(timestamp);
    Some(KeptThread { key: thread, about, modified })
}

/// The deletion of a thread's journals.
#[derive(Debug)]
pub struct Deletion {
    pub(super) key: String,
    pub(super) folder: Option<PathBuf>,
    /// The journal of the thread in memory.
    pub(super) own: Option<PathBuf>,
    /// Its file, which is locked, if it was open.
    pub(super) lock: Option<Locked>,
}

impl Deletion {
    /// Deletes the journals.
    ///
    /// # Errors
    /// As [`super::store::Store::forget`].
    pub fn run(self) -> Result<(), Error> {
        let Deletion { key, folder, own, lock } = self;
        let mut files: Vec<PathBuf> =
            folder.map_or_else(Vec::new, |folder| folder::existing(&folder, &key).collect());
        // After an error, the journal that matters is still there.
        files.sort_by_key(|path| (own.as_ref() == Some(path), file::modified(path)));
        let is_open = |path: &PathBuf| lock.is_some() && own.as_ref() == Some(path);
        if let Some(path) = files.iter().find(|path| !is_open(path) && folder::is_held(path)) {
            return Err(held(path));
        }
        for path in &files {
            if is_open(path) {
                folder::remove(path).map_err(|source| failed(path, source))?;
            } else if !delete(path)? {
                return Err(held(path));
            }
        }
        Ok(())
    }
}

/// Deletes journals of threads that are not among `in_memory`: those older than `age`, and all but the
/// newest `count`. Returns the number deleted.
///
/// # Errors
/// [`Error::Journal`] if a file cannot be deleted.
pub(crate) fn prune(
    folder: &Path,
    age: Option<Duration>,
    count: Option<usize>,
    in_memory: &HashSet<String>,
) -> Result<usize, Error> {
    let mut files: Vec<(SystemTime, PathBuf)> = files(folder)
        .into_iter()
        .filter(|path| saved_thread(path).is_some_and(|kept| !in_memory.contains(&kept.key)))
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

fn delete(path: &Path) -> Result<bool, Error> {
    folder::delete(path).map_err(|source| failed(path, source))
}

fn held(path: &Path) -> Error {
    failed(path, std::io::Error::new(std::io::ErrorKind::WouldBlock, "another Emacs has it open"))
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Journal { file: path.display().to_string(), reason: source }
}
