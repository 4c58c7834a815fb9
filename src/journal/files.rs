//! Where journals are, and whose they are at the moment.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Record, decode_all, whole_lines};
use crate::text::fnv1a;

/// The journals that belong to a thread: the first, and those of further Emacs processes.
pub fn files_of(folder: &Path, thread: &str) -> impl Iterator<Item = PathBuf> {
    let folder = folder.to_owned();
    let stem = file_stem(thread);
    (1..=99)
        .map(move |n| folder.join(if n == 1 { format!("{stem}.jsonl") } else { format!("{stem}+{n}.jsonl") }))
}

/// Those of them that are there. What is no plain file is left alone: a link would lead out of the
/// folder, a pipe would be waited for.
pub fn existing(folder: &Path, thread: &str) -> impl Iterator<Item = PathBuf> {
    files_of(folder, thread).filter(|path| is_plain(path))
}

/// Whether this is a file itself, not a link to one.
pub fn is_plain(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
}

/// A name for people, then a hash that tells keys apart: no key ever becomes a path.
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

/// When a file was written last.
pub fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// Where damaged records of a journal are set aside.
pub fn bad_file(journal: &Path) -> PathBuf {
    journal.with_extension("bad")
}

/// No file system in use has times coarser than this.
const CLOCK_TICK: Duration = Duration::from_secs(2);

/// Who can open a thread's journals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The thread has no journal.
    Missing,
    /// Other processes hold every journal of it.
    Held,
    /// At least one can be opened.
    Free,
}

/// The journals of one thread as they were on disk at one moment.
#[derive(Debug, Default)]
pub struct Journals {
    files: Vec<FileState>,
    /// When a journal was last begun or deleted in the folder. None where that is so recent that
    /// another change might have the same time.
    folder_modified: Option<SystemTime>,
}

/// What changes when a journal is written, replaced, opened or closed.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    modified: Option<SystemTime>,
    length: u64,
    is_held: bool,
}

impl Journals {
    /// The journals of a thread as they are now.
    pub fn of(folder: &Path, thread: &str) -> Journals {
        // The time comes first: a journal that is begun meanwhile then shows as a change.
        let is_certain = |time: &SystemTime| time.elapsed().is_ok_and(|age| age > CLOCK_TICK);
        let folder_modified = modified(folder).filter(is_certain);
        let files = files_of(folder, thread).filter_map(|path| FileState::of(&path)).collect();
        Journals { files, folder_modified }
    }

    /// Looks at the disk again; tells whether the journals changed.
    pub fn refresh(&mut self, folder: &Path, thread: &str) -> bool {
        // A hundred names are looked up only where one of them may be new.
        let names_are_known = self.folder_modified.is_some() && self.folder_modified == modified(folder);
        let is_unchanged = |file: &FileState| FileState::of(&file.path).as_ref() == Some(file);
        if names_are_known && self.files.iter().all(is_unchanged) {
            return false;
        }
        let before = std::mem::replace(self, Journals::of(folder, thread));
        before.files != self.files
    }

    /// Who can open them.
    pub fn availability(&self) -> Availability {
        match self.files.as_slice() {
            [] => Availability::Missing,
            files if files.iter().all(|file| file.is_held) => Availability::Held,
            _ => Availability::Free,
        }
    }

    /// Reads the newest journal without opening it for writing; nothing is repaired.
    pub fn read_newest(&self) -> Vec<Record> {
        let newest = self.files.iter().max_by_key(|file| file.modified);
        let bytes = newest.and_then(|file| fs::read(&file.path).ok()).unwrap_or_default();
        decode_all(&bytes[..whole_lines(&bytes)])
    }
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

/// Whether a process has this journal open.
pub fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Deletes a journal and what was set aside of it, unless a process has it open; tells whether it
/// did.
///
/// # Errors
/// What the system said.
pub fn delete(path: &Path) -> io::Result<bool> {
    // Locked while it goes: whoever waits for it finds it gone, and writes another.
    let _locked = match lock(OpenOptions::new().read(true), path) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
        locked => locked?,
    };
    let _ = fs::remove_file(bad_file(path));
    fs::remove_file(path)?;
    Ok(true)
}

pub fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file, and keeps other processes from it until it is closed.
pub fn lock(options: &OpenOptions, path: &Path) -> io::Result<File> {
    loop {
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever held the lock may have swapped in another file, or deleted this one.
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
