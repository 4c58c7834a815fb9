//! Where journals are, and whose they are at the moment.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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

/// The records of a thread whose journal can only be read: it is in a folder of somebody else, or
/// another process writes it. Nothing is mended there.
pub fn peek(folder: &Path, thread: &str) -> Vec<Record> {
    let newest = existing(folder, thread).max_by_key(|path| modified(path));
    let bytes = newest.and_then(|path| fs::read(path).ok()).unwrap_or_default();
    decode_all(&bytes[..whole_lines(&bytes)])
}

/// When a file was written last.
pub fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// Where damaged records of a journal are set aside.
pub fn bad_file(journal: &Path) -> PathBuf {
    journal.with_extension("bad")
}

/// How a thread's journals are to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// There is none.
    Missing,
    /// Other processes hold all there are.
    Held,
    /// One can be opened.
    Free,
}

/// Whether a thread has a journal in this folder that can be opened.
pub fn presence(folder: &Path, thread: &str) -> Presence {
    let files: Vec<PathBuf> = existing(folder, thread).collect();
    match files.as_slice() {
        [] => Presence::Missing,
        files if files.iter().all(|path| is_held(path)) => Presence::Held,
        _ => Presence::Free,
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
