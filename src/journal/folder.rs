//! The folder of a plan: its name, its files, and the lock for changes.

use std::fs::{self, File, FileType, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::line::decode_as;
use crate::text::fnv1a;

/// How often a change tries to lock a plan, a millisecond apart. Then it is kept in memory.
const PATIENTLY: u32 = 50;

/// The folder of a plan in the folder of all journals: a readable name and a hash of the key. The key itself
/// never becomes a path.
pub fn folder_of(root: &Path, key: &str) -> PathBuf {
    root.join(stem(key))
}

fn stem(key: &str) -> String {
    let mut name: String =
        key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    name = name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let tail: String = name.chars().skip(name.chars().count().saturating_sub(40)).collect();
    let hash = fnv1a(key.as_bytes());
    if tail.is_empty() { format!("{hash:016x}") } else { format!("{}-{hash:016x}", tail.trim_matches('-')) }
}

/// The file of a segment, which are numbered from 1.
pub fn segment(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.jsonl"))
}

/// The journal beside the folder that version 0.3 wrote: the first segment, with the number 0.
pub(super) fn of_earlier_version(folder: &Path) -> Option<PathBuf> {
    let mut name = folder.file_name()?.to_owned();
    name.push(".jsonl");
    Some(folder.with_file_name(name)).filter(|path| is_plain(path))
}

/// The segments of a folder, oldest first, with their numbers.
pub(super) fn segments(folder: &Path) -> Vec<(u64, PathBuf)> {
    let number = |path: &Path| path.file_name()?.to_str()?.strip_suffix(".jsonl")?.parse::<u64>().ok();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let numbered = entries.filter_map(|path| Some((number(&path).filter(|number| *number > 0)?, path)));
    let mut segments: Vec<(u64, PathBuf)> = numbered.filter(|(_, path)| is_plain(path)).collect();
    segments.extend(of_earlier_version(folder).map(|path| (0, path)));
    segments.sort();
    segments
}

/// The folder of the plan to which an entry of the folder of all journals belongs: itself, or that beside a journal
/// of version 0.3.
pub(super) fn of_entry(path: &Path, kind: FileType) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    if kind.is_dir() {
        // One that is being deleted has an extension.
        return (!name.contains('.')).then(|| path.to_owned());
    }
    Some(path.with_file_name(name.strip_suffix(".jsonl").filter(|_| kind.is_file())?))
}

/// The key of the plan of a folder, as the first good line of its segments names it.
pub(super) fn key_of(folder: &Path) -> Option<String> {
    let first_line = |path: &Path| {
        let mut line = Vec::new();
        BufReader::new(crate::file::open(path).ok()?).read_until(b'\n', &mut line).ok()?;
        let header = decode_as::<Value>(&line)?;
        let key = header.get("key").or_else(|| header.get("thread"))?.as_str()?;
        (folder_of(folder.parent()?, key) == *folder).then(|| key.to_owned())
    };
    segments(folder).iter().rev().find_map(|(_, path)| first_line(path))
}

/// Whether this is a regular file, not a link to one: a link would lead out of the folder, and a pipe would block.
pub(super) fn is_plain(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
}

/// Creates a folder for the user alone.
pub(super) fn create(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// How files of journals are opened: for the user alone, and only at their end.
pub(super) fn for_appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces a file: writes it under the same name with another extension, perhaps to the disk, then renames it. If
/// that fails, what stood there stays.
pub(super) fn replace(path: &Path, new: &str, parts: [&[u8]; 2], syncs: bool) -> io::Result<()> {
    let new = path.with_extension(new);
    let _ = fs::remove_file(&new);
    let written = for_appending().create_new(true).open(&new).and_then(|mut file| {
        parts.into_iter().try_for_each(|part| file.write_all(part))?;
        if syncs {
            sync(&file)?;
        }
        fs::rename(&new, path)
    });
    written.inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Deletes a plan: its folder, which is renamed first so that nothing of it counts any more, and what version 0.3
/// wrote.
///
/// # Errors
/// The I/O error; `WouldBlock` if another process changes the plan for long.
pub(super) fn delete(folder: &Path) -> io::Result<()> {
    if let Some(path) = of_earlier_version(folder) {
        fs::remove_file(path)?;
    }
    if !folder.is_dir() {
        return Ok(());
    }
    let _lock = lock(folder)?;
    let gone = folder.with_extension(format!("gone-{}", std::process::id()));
    fs::rename(folder, &gone)?;
    fs::remove_dir_all(gone)
}

/// The lock of a plan. It is free once the value is dropped; to close the file would not suffice, since a program
/// that this process is starting has it, too, until it runs.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Locks the plan of a folder, which must exist.
///
/// # Errors
/// `WouldBlock` if another process holds the lock for long, else the I/O error.
pub(super) fn lock(folder: &Path) -> io::Result<Lock> {
    let path = folder.join("lock");
    let mut tries = PATIENTLY;
    loop {
        let file = for_appending().create(true).open(&path)?;
        match file.try_lock() {
            Ok(()) => {
                // The process that held it may have deleted the folder.
                let lock = Lock(file);
                if is_at(&lock.0, &path) {
                    return Ok(lock);
                }
            }
            Err(TryLockError::WouldBlock) if tries > 1 => {
                tries -= 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::WouldBlock, "another Emacs is changing it"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
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

/// Waits until the disk has the names in a folder. Without that, a file that was created or renamed may be lost in
/// a power failure although its contents are on the disk.
pub(super) fn sync_names(folder: &Path) -> io::Result<()> {
    // Other systems open no folders.
    if cfg!(unix) {
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
}
