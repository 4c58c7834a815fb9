//! The file behind a thread: append-only, one JSON record a line, each with a checksum.
//!
//! Only bytes and records here; what a record means is the business of [`crate::thread`]. A
//! record is complete on disk, or it is not there: a line counts only if it ends in a line feed
//! and its checksum is right.

mod files;
mod record;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::clock::Millis;
use crate::fault::may_panic_here;
pub use files::{Availability, Journals, bad_file, delete, existing, files_of, is_held, is_plain, modified};
use files::{create_folder, lock};
pub(crate) use record::TOO_MANY;
use record::encode;
pub use record::{FORMAT, FullRecord, Record, decode, decode_all};

/// When a record counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// Handed to the system: survives a crash of Emacs.
    #[default]
    Process,
    /// On the disk: survives a power cut.
    Disk,
}

/// A journal, locked against other processes while it is open.
#[derive(Debug)]
pub struct Journal {
    /// None while the journal rests.
    file: Option<File>,
    path: PathBuf,
    durability: Durability,
    /// Bytes of whole records; what lies behind is the rest of a failed write.
    good: u64,
    /// Set while that rest could not be removed.
    torn: bool,
    /// Records that could not be written yet.
    pending: Vec<u8>,
    /// Bytes written since the last full record.
    since_full: u64,
    /// Bytes of the last full record.
    full: u64,
}

/// What opening a journal found.
#[derive(Debug)]
pub struct OpenedJournal {
    /// The journal, ready for more.
    pub journal: Journal,
    /// Its records, oldest first.
    pub records: Vec<Record>,
    /// What was dropped or set aside, a line each, for the user.
    pub warnings: Vec<String>,
}

/// Opens a thread's journal, or begins it.
///
/// Of several files (another Emacs had the thread open at the same time once) the newest that no
/// process holds is taken; where all are held, this process gets one of its own.
///
/// # Errors
/// What the system said.
pub fn open(
    folder: &Path,
    thread: &str,
    about: &Map<String, Value>,
    now: Millis,
    durability: Durability,
) -> io::Result<OpenedJournal> {
    create_folder(folder)?;
    let mut by_age: Vec<PathBuf> = existing(folder, thread).collect();
    // Of two written within one tick of the system's clock, the one begun later comes first.
    by_age.reverse();
    by_age.sort_by_key(|path| std::cmp::Reverse(modified(path)));
    let mut warnings = Vec::new();
    let header =
        Record::Thread { format: FORMAT, thread: thread.to_owned(), timestamp: now, about: about.clone() };
    for path in by_age {
        match Journal::at(&path, durability) {
            Ok(journal) => return journal.read(warnings)?.of_thread(thread, header),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => warnings.push(format!(
                "another Emacs has the journal {} open; this one writes its own",
                path.display()
            )),
            Err(error) => return Err(error),
        }
    }
    let journal = begin(folder, thread, &header, durability)?;
    Ok(OpenedJournal { journal, records: vec![header], warnings })
}

/// Begins another journal of a thread, beside those that are there.
///
/// # Errors
/// What the system said.
pub fn begin(folder: &Path, thread: &str, header: &Record, durability: Durability) -> io::Result<Journal> {
    // One in the middle may be free: old journals are deleted one by one.
    let free = files_of(folder, thread).find(|path| fs::symlink_metadata(path).is_err());
    let path = free.ok_or_else(|| io::Error::other("99 processes hold this thread's journals"))?;
    let mut journal = Journal::at(&path, durability)?;
    journal.append(header)?;
    Ok(journal)
}

impl OpenedJournal {
    /// Begins the journal with its header, unless it has one; a header of another thread means
    /// that two keys have the same hash.
    fn of_thread(mut self, thread: &str, header: Record) -> io::Result<OpenedJournal> {
        match self.records.first() {
            Some(Record::Thread { thread: other, .. }) if other != thread => {
                let what = format!("{} belongs to thread {other}", self.journal.path.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
            }
            Some(Record::Thread { .. }) => {}
            // The header was damaged, or the process that made the file died before it wrote one.
            // Without it nothing tells whose journal it is.
            _ => {
                self.records.insert(0, header);
                self.journal.rewrite(&self.records)?;
            }
        }
        Ok(self)
    }
}

/// The length of what ends in a line feed: behind it is a record that was cut off.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)
}

/// How journals are opened.
fn for_appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether a journal that rested is another's by now, or gone.
pub fn is_lost(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotFound)
}

impl Journal {
    /// The journal in a file, of which nothing was read yet.
    fn at(path: &Path, durability: Durability) -> io::Result<Journal> {
        Ok(Journal {
            file: Some(lock(for_appending().create(true), path)?),
            path: path.to_owned(),
            durability,
            good: 0,
            torn: false,
            pending: Vec::new(),
            since_full: 0,
            full: 0,
        })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether records wait for a disk that takes them.
    pub fn is_behind(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether the records since the last full one outweigh it, so that another is due: the cost
    /// of full records stays in proportion to what is written anyway.
    pub fn wants_full(&self) -> bool {
        self.since_full > self.full.max(16 * 1024)
    }

    /// Adds a record, and with it all that could not be written before.
    ///
    /// # Errors
    /// What the system said. The record is kept, and written with the next one.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        let line = encode(record)?;
        self.count(record, line.len() as u64);
        self.pending.extend_from_slice(&line);
        may_panic_here();
        self.flush()
    }

    /// Closes the file until it is written again. Another process may take it over meanwhile, or
    /// delete it; see [`Journal::reopen`].
    pub fn close(&mut self) {
        if !self.torn {
            self.file = None;
        }
    }

    /// Whether this process has the file open.
    pub fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Opens the file again if it rests; whether it is still this one's.
    pub fn reopen(&mut self) -> bool {
        !self.file().is_err_and(|error| is_lost(&error))
    }

    /// The file, opened again if it rests.
    fn file(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = lock(&for_appending(), &self.path)?;
                if file.metadata()?.len() != self.good {
                    return Err(io::Error::new(io::ErrorKind::WouldBlock, "another Emacs went on with it"));
                }
                file
            }
        };
        Ok(self.file.insert(file))
    }

    /// Tries again to write what waits.
    ///
    /// # Errors
    /// What the system said.
    pub fn flush(&mut self) -> io::Result<()> {
        // Half a record must not stay: the next one would be lost with it.
        let (good, torn, durability) = (self.good, self.torn, self.durability);
        let pending = std::mem::take(&mut self.pending);
        let file = match self.file() {
            Ok(file) => file,
            Err(error) => {
                self.pending = pending;
                return Err(error);
            }
        };
        let result = if torn { file.set_len(good) } else { Ok(()) }
            .and_then(|()| file.write_all(&pending))
            .and_then(|()| match durability {
                Durability::Process => Ok(()),
                Durability::Disk => file.sync_data(),
            });
        match result {
            Ok(()) => (self.good, self.torn) = (good + pending.len() as u64, false),
            Err(_) => (self.torn, self.pending) = (file.set_len(good).is_err(), pending),
        }
        result
    }

    /// The records, those that wait to be written too.
    ///
    /// # Errors
    /// What the system said.
    pub fn records(&mut self) -> io::Result<Vec<Record>> {
        let mut bytes = self.bytes()?;
        bytes.truncate(usize::try_from(self.good).unwrap_or(usize::MAX));
        bytes.extend_from_slice(&self.pending);
        Ok(decode_all(&bytes))
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = self.file()?;
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read(mut self, mut warnings: Vec<String>) -> io::Result<OpenedJournal> {
        let bytes = self.bytes()?;
        let end = whole_lines(&bytes);
        if end < bytes.len() {
            warnings.push(format!(
                "{}: the last record was cut off ({} bytes) and is dropped",
                self.path.display(),
                bytes.len() - end
            ));
            self.file()?.set_len(end as u64)?;
        }
        let mut records = Vec::new();
        let mut bad: Vec<&[u8]> = Vec::new();
        for line in bytes[..end].split_inclusive(|byte| *byte == b'\n') {
            match decode(line) {
                Some(record) => {
                    self.count(&record, line.len() as u64);
                    records.push(record);
                }
                None => bad.push(line),
            }
        }
        self.good = end as u64;
        if !bad.is_empty() {
            warnings.push(self.set_aside(&bad)?);
            self.rewrite(&records)?;
        }
        Ok(OpenedJournal { journal: self, records, warnings })
    }

    fn count(&mut self, record: &Record, length: u64) {
        if matches!(record, Record::Full { .. }) {
            (self.full, self.since_full) = (length, 0);
        } else {
            self.since_full += length;
        }
    }

    /// Copies damaged records beside the journal; what they say may still be of use to a person.
    fn set_aside(&self, bad: &[&[u8]]) -> io::Result<String> {
        let path = bad_file(&self.path);
        if !is_plain(&path) {
            let _ = fs::remove_file(&path);
        }
        let mut file = for_appending().create(true).open(&path)?;
        bad.iter().try_for_each(|line| file.write_all(line))?;
        Ok(format!(
            "{}: {} damaged record{} set aside in {}; all else is kept",
            self.path.display(),
            bad.len(),
            if bad.len() == 1 { "" } else { "s" },
            path.display()
        ))
    }

    /// The journal without its damaged records, swapped in whole: at no moment is there less.
    fn rewrite(&mut self, records: &[Record]) -> io::Result<()> {
        let path = self.path.with_extension("new");
        let _ = fs::remove_file(&path);
        let mut new = Journal::at(&path, self.durability)?;
        for record in records {
            new.pending.extend_from_slice(&encode(record)?);
        }
        new.flush()?;
        fs::rename(&path, &self.path)?;
        (self.file, self.good, self.torn) = (new.file, new.good, false);
        Ok(())
    }
}
