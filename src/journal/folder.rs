//! The files of journals: names, locks, and whether another process holds them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::line::{Lines, decode, format_of};
use super::percent::Percent;
use crate::error::Error;
use crate::events::Millis;
use crate::file::{is_certain, modified};
use crate::text::fnv1a;
use crate::thread::record::{FORMAT, Record};

/// The paths of a thread's journals: the first, and those of other Emacs processes.
pub fn files_of(folder: &Path, thread: &str) -> impl Iterator<Item = PathBuf> {
    let folder = folder.to_owned();
    let stem = file_stem(thread);
    (1..=99)
        .map(move |n| folder.join(if n == 1 { format!("{stem}.jsonl") } else { format!("{stem}+{n}.jsonl") }))
}

/// The number of successive missing files after which the search ends. A process takes the first free
/// name, so a longer gap arises only if that many journals were pruned before a newer one.
const GAP: usize = 8;

/// The paths that exist and are plain files. A link would lead out of the folder, and a pipe would
/// block.
pub(crate) fn existing(folder: &Path, thread: &str) -> impl Iterator<Item = PathBuf> {
    let mut missing = 0;
    let looked_at = files_of(folder, thread).map_while(move |path| {
        let is_plain = is_plain(&path);
        missing = if is_plain { 0 } else { missing + 1 };
        (missing <= GAP).then_some((path, is_plain))
    });
    looked_at.filter_map(|(path, is_plain)| is_plain.then_some(path))
}

/// Whether this is a regular file, not a link to one.
pub(crate) fn is_plain(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
}

/// A readable name and a hash of the key. The key itself never becomes a path.
fn file_stem(thread: &str) -> String {
    let mut name: String = thread
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    name = name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let tail: String = name.chars().skip(name.chars().count().saturating_sub(40)).collect();
    let hash = fnv1a(thread.as_bytes());
    if tail.is_empty() { format!("{hash:016x}") } else { format!("{}-{hash:016x}", tail.trim_matches('-')) }
}

/// The file for the damaged records of a journal.
pub fn bad_file(journal: &Path) -> PathBuf {
    journal.with_extension("bad")
}

/// Whether this process can open a thread's journals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    /// The thread has no journal.
    Missing,
    /// Other processes hold every journal of it.
    Held,
    /// At least one can be opened.
    Free,
}

/// The state of a thread's journals on disk, read at one moment.
#[derive(Debug, Default)]
pub struct Journals {
    files: Vec<FileState>,
    /// The folder's modification time: when a journal was last created or deleted. None if it is so
    /// recent that another change may have the same time.
    folder_modified: Option<SystemTime>,
}

/// The state of a journal file. Writing, replacing, opening or closing the journal changes it.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    modified: Option<SystemTime>,
    length: u64,
    is_held: bool,
}

impl Journals {
    /// Reads the state of a thread's journals.
    pub fn of(folder: &Path, thread: &str) -> Journals {
        // The time is read first, so that a journal created meanwhile shows as a change.
        let folder_modified = modified(folder).filter(|time| is_certain(*time));
        let files = existing(folder, thread).filter_map(|path| FileState::of(&path)).collect();
        Journals { files, folder_modified }
    }

    /// Reads the state again. Returns whether it changed.
    pub(crate) fn refresh(&mut self, folder: &Path, thread: &str) -> bool {
        // Fast path: no journal was created, so the other names need no look.
        let names_are_known = self.folder_modified.is_some() && self.folder_modified == modified(folder);
        let is_unchanged = |file: &FileState| FileState::of(&file.path).as_ref() == Some(file);
        if names_are_known && self.files.iter().all(is_unchanged) {
            return false;
        }
        let before = std::mem::replace(self, Journals::of(folder, thread));
        before.files != self.files
    }

    /// Whether this process can open one.
    pub(crate) fn availability(&self) -> Availability {
        match self.files.as_slice() {
            [] => Availability::Missing,
            files if files.iter().all(|file| file.is_held) => Availability::Held,
            _ => Availability::Free,
        }
    }

    /// Reads the newest journal without locking or repairing it. Those of other versions are read only
    /// if there is no other.
    ///
    /// # Errors
    /// As [`read_file`].
    pub(super) fn read_newest(&self, done: &Percent) -> Result<Vec<Record>, Error> {
        let newest = self.files.iter().max_by_key(|file| (!is_of_other_version(&file.path), file.modified));
        newest.map_or(Ok(Vec::new()), |file| read_file(&file.path, done))
    }
}

/// Reads a journal without locking or repairing it. One that was deleted has no records. `done` is noted
/// meanwhile.
///
/// # Errors
/// [`Error::Journal`] if it cannot be read, or is one of another version.
pub(super) fn read_file(path: &Path, done: &Percent) -> Result<Vec<Record>, Error> {
    let failed = |reason| Error::Journal { file: path.display().to_string(), reason };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    if has_other_format(&bytes) {
        return Err(failed(io::Error::other("another version of todo-write wrote it")));
    }
    Ok(Lines::of(&bytes, done).into_records())
}

/// The time of the last record of a journal that has one. Only the end of the file is read: a few
/// thousand bytes, and more if the last record is longer.
pub(super) fn last_time(file: &mut File) -> Option<Millis> {
    let length = file.metadata().ok()?.len();
    let mut size = 8 * 1024;
    loop {
        let mut end = Vec::new();
        file.seek(SeekFrom::Start(length.saturating_sub(size))).ok()?;
        file.take(size).read_to_end(&mut end).ok()?;
        let mut lines = end.split_inclusive(|byte| *byte == b'\n').rev();
        let found = lines.find_map(|line| decode(line)?.timestamp());
        if found.is_some() || size >= length.min(LONGEST_END) {
            return found;
        }
        size *= 16;
    }
}

/// The number of bytes at the end of a journal that are searched for its last record.
const LONGEST_END: u64 = 8 * 1024 * 1024;

/// Whether a journal has another format than this version's.
pub(super) fn is_of_other_version(path: &Path) -> bool {
    let mut line = Vec::new();
    let read = File::open(path).and_then(|file| BufReader::new(file).read_until(b'\n', &mut line));
    read.is_ok() && has_other_format(&line)
}

/// Whether a journal that begins with these bytes has another format than this version's.
fn has_other_format(bytes: &[u8]) -> bool {
    let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    format_of(line).is_some_and(|format| format != u64::from(FORMAT))
}

impl FileState {
    fn of(path: &Path) -> Option<FileState> {
        let data = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(FileState {
            path: path.to_owned(),
            modified: data.modified().ok(),
            length: data.len(),
            is_held: is_held(path),
        })
    }
}

/// Whether a process holds this journal.
pub fn is_held(path: &Path) -> bool {
    // A shared lock, so that processes which only look do not take each other for the holder.
    let Ok(file) = File::open(path) else { return false };
    match file.try_lock_shared() {
        Err(error) => matches!(error, TryLockError::WouldBlock),
        Ok(()) => {
            drop(Locked(file));
            false
        }
    }
}

/// Deletes a journal and its file of damaged records, unless a process holds it. Returns whether it
/// did.
///
/// # Errors
/// The I/O error.
pub fn delete(path: &Path) -> io::Result<bool> {
    // A process that waits for this lock finds the file deleted and creates another.
    let _locked = match lock(OpenOptions::new().read(true), path, PATIENTLY) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
        locked => locked?,
    };
    remove(path)?;
    Ok(true)
}

/// Deletes a journal that this process holds, and its file of damaged records.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    let _ = fs::remove_file(bad_file(path));
    Ok(())
}

pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Waits until the disk has the names in the folder of a file. Without that, a file that was created or
/// renamed may be lost in a power failure although its contents are on the disk.
pub(super) fn sync_names(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        sync(&File::open(folder)?)?;
    }
    Ok(())
}

/// Waits until the disk has the contents of a file.
pub(super) fn sync(file: &File) -> io::Result<()> {
    #[cfg(test)]
    SYNCED.with_borrow_mut(|count| *count += 1);
    file.sync_data()
}

#[cfg(test)]
thread_local! {
    /// The number of calls of [`sync`] by this thread.
    pub(super) static SYNCED: std::cell::RefCell<usize> = const { std::cell::RefCell::new(0) };
    /// A file at which another process looks until the first attempt of this thread to lock it failed.
    static LOOK: std::cell::Cell<Option<File>> = const { std::cell::Cell::new(None) };
}

/// A file that is locked until the value is dropped. Closing it would not suffice: a program that this
/// process is starting has the file, too, until it runs.
#[derive(Debug)]
pub(super) struct Locked(pub(super) File);

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

/// How often to try to lock a file that is needed: another process may only look whether it is held.
pub(super) const PATIENTLY: u32 = 10;

/// Opens a file and locks it. Tries so many times, a millisecond apart.
pub(super) fn lock(options: &OpenOptions, path: &Path, mut tries: u32) -> io::Result<Locked> {
    loop {
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if tries > 1 => {
                tries -= 1;
                #[cfg(test)]
                drop(LOOK.take());
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The process that held the lock may have replaced or deleted the file.
        let file = Locked(file);
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |data: fs::Metadata| (data.dev(), data.ino());
    file.metadata().map(place).ok() == fs::metadata(path).map(place).ok()
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::journal::store::{Storage, Store};

    const KEY: &str = "a thread";

    /// Whether a new store does something with a journal at which another process looks for a moment.
    fn does_despite_a_look(name: &str, does: impl FnOnce(&mut Store) -> bool) -> bool {
        let folder = std::env::temp_dir().join(format!("todo-write-look-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let storage = Storage { folder: Some(folder.clone()), history_limit: 10, ..Storage::default() };
        Store::new(storage.clone()).open(KEY, Map::new(), 1);
        let look = File::open(files_of(&folder, KEY).next().unwrap()).unwrap();
        look.lock_shared().unwrap();
        LOOK.set(Some(look));
        let is_done = does(&mut Store::new(storage));
        assert!(LOOK.take().is_none(), "nothing was locked");
        fs::remove_dir_all(folder).unwrap();
        is_done
    }

    #[test]
    fn a_file_is_free_once_it_is_dropped_although_a_program_that_starts_still_has_it() {
        let path = std::env::temp_dir().join(format!("todo-write-locked-{}", std::process::id()));
        let options = OpenOptions::new().create(true).append(true).clone();
        let locked = lock(&options, &path, 1).unwrap();
        // As between fork and exec.
        let _of_a_program = locked.try_clone().unwrap();
        assert_eq!(lock(&options, &path, 1).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(locked);
        assert!(lock(&options, &path, 1).is_ok());
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_journal_that_another_process_only_looks_at_is_opened() {
        assert!(does_despite_a_look("open", |store| {
            store.open(KEY, Map::new(), 2);
            store.take_warnings().is_empty()
        }));
    }

    #[test]
    fn a_thread_at_which_another_process_only_looks_is_forgotten() {
        assert!(does_despite_a_look("forget", |store| store.forget(KEY).is_ok()));
    }
}
