//! The journal file of a thread.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::folder::{
    Locked, PATIENTLY, bad_file, create_folder, existing, files_of, is_of_other_version, is_plain, lock,
    sync, sync_names,
};
use super::line::{Lines, encode};
use super::percent::Percent;
use crate::events::Millis;
use crate::fault::may_panic_here;
use crate::file::modified;
use crate::thread::record::{FORMAT, Record};
use crate::wire::wire_names;

wire_names! {
    /// When a record counts as saved.
    #[derive(Default)]
    pub enum Durability {
        /// When the system has it: it survives a crash of Emacs.
        #[default]
        Process = "process",
        /// When the disk has it: it survives a power failure.
        Disk = "disk",
    }
}

/// Maximum number of bytes of records that wait for a disk that refuses them.
const MOST_PENDING: usize = 8 * 1024 * 1024;

/// A journal file, locked against other processes while it is open.
#[derive(Debug)]
pub struct Journal {
    /// None while the journal is closed.
    file: Option<Locked>,
    path: PathBuf,
    durability: Durability,
    /// The length of the valid records; any bytes after them come from a failed write.
    valid: u64,
    /// Whether such bytes could not be removed.
    torn: bool,
    /// Encoded records that could not be written yet.
    pending: Vec<u8>,
    /// The bytes written since the last full record.
    since_full: u64,
    /// The length of the last full record.
    full: u64,
}

/// A journal whose file was closed.
#[derive(Debug)]
pub(super) struct Closed {
    path: PathBuf,
    /// The length that the file had.
    length: u64,
}

impl Closed {
    /// Opens the file again.
    ///
    /// # Errors
    /// The I/O error; see [`is_lost`] for one that another process opened or deleted.
    pub(super) fn open(&self) -> io::Result<Locked> {
        let file = lock(&for_appending(), &self.path, PATIENTLY)?;
        if file.metadata()?.len() != self.length {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "another Emacs has written to it"));
        }
        Ok(file)
    }
}

/// A journal that was just opened.
#[derive(Debug)]
pub struct OpenedJournal {
    /// The journal, ready for appending.
    pub journal: Journal,
    /// Its records, oldest first.
    pub records: Vec<Record>,
    /// Warnings for the user about damaged records and other processes.
    pub warnings: Vec<String>,
}

/// Opens the journal of a thread, or creates it.
///
/// A thread has several journals if two processes had it open at the same time. This opens the
/// newest that no process holds, or creates another if all are held or of other versions.
///
/// # Errors
/// `AlreadyExists` if the journal is that of another thread, whose key has the same hash; those of
/// [`begin`]; else the I/O error. A journal that cannot be opened is only a warning, since another one is
/// created.
pub fn open(
    folder: &Path,
    thread: &str,
    about: &Map<String, Value>,
    now: Millis,
    durability: Durability,
) -> io::Result<OpenedJournal> {
    create_folder(folder)?;
    let header = header(thread, about, now);
    let mut warnings = Vec::new();
    if let Some(opened) = open_free(folder, thread, &header, durability, &mut warnings, &Percent::default())?
    {
        return Ok(opened);
    }
    let journal = begin(folder, thread, &header, durability)?;
    Ok(OpenedJournal { journal, records: vec![header], warnings })
}

/// Opens the newest journal of a thread that no process holds; `None` if there is none. `done` is noted
/// meanwhile.
///
/// # Errors
/// The I/O error.
pub(super) fn open_existing(
    folder: &Path,
    thread: &str,
    about: &Map<String, Value>,
    now: Millis,
    durability: Durability,
    done: &Percent,
) -> io::Result<Option<OpenedJournal>> {
    // `open` finds the same journals, and warns of them.
    open_free(folder, thread, &header(thread, about, now), durability, &mut Vec::new(), done)
}

fn header(thread: &str, about: &Map<String, Value>, now: Millis) -> Record {
    Record::Thread { format: FORMAT, thread: thread.to_owned(), timestamp: now, about: about.clone() }
}

fn open_free(
    folder: &Path,
    thread: &str,
    header: &Record,
    durability: Durability,
    warnings: &mut Vec<String>,
    done: &Percent,
) -> io::Result<Option<OpenedJournal>> {
    let mut by_age: Vec<PathBuf> = existing(folder, thread).collect();
    // The later file wins if two have the same time.
    by_age.reverse();
    by_age.sort_by_key(|path| std::cmp::Reverse(modified(path)));
    for path in by_age {
        match Journal::at(&path, durability) {
            Ok(_) if is_of_other_version(&path) => warnings.push(format!(
                "another version of todo-write wrote the journal {}; this Emacs writes its own",
                path.display()
            )),
            Ok(journal) => {
                let opened = journal.read(std::mem::take(warnings), done)?;
                return opened.of_thread(thread, header).map(Some);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => warnings.push(format!(
                "another Emacs has the journal {} open; this one writes its own",
                path.display()
            )),
            Err(error) => warnings.push(format!(
                "the journal {} cannot be opened ({error}); this Emacs writes its own",
                path.display()
            )),
        }
    }
    Ok(None)
}

/// Creates another journal for a thread.
///
/// # Errors
/// `Other` if the thread has 99 journals already; else the I/O error.
pub fn begin(folder: &Path, thread: &str, header: &Record, durability: Durability) -> io::Result<Journal> {
    // Pruning deletes single journals, so a name in the middle may be free.
    let free = files_of(folder, thread).find(|path| fs::symlink_metadata(path).is_err());
    let path = free.ok_or_else(|| io::Error::other("99 processes hold this thread's journals"))?;
    let mut journal = Journal::at(&path, durability)?;
    journal.append(std::slice::from_ref(header))?;
    if durability == Durability::Disk {
        sync_names(&path)?;
    }
    Ok(journal)
}

impl OpenedJournal {
    /// Ensures that the journal begins with its header. It fails if the header names another thread,
    /// whose key then has the same hash.
    fn of_thread(mut self, thread: &str, header: &Record) -> io::Result<OpenedJournal> {
        match self.records.first() {
            Some(Record::Thread { thread: other, .. }) if other != thread => {
                let what = format!("{} belongs to thread {other}", self.journal.path.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
            }
            Some(Record::Thread { .. }) => {}
            // The header is damaged, or the process died before it wrote one.
            _ => {
                self.records.insert(0, header.clone());
                self.journal.rewrite(&mut self.records)?;
            }
        }
        Ok(self)
    }
}

fn for_appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether an error of writing to a journal that was closed between two writes means that another process
/// has it or has changed it (`WouldBlock`), or deleted it (`NotFound`).
pub(crate) fn is_lost(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotFound)
}

impl Journal {
    /// Opens or creates a file, without reading it.
    fn at(path: &Path, durability: Durability) -> io::Result<Journal> {
        Ok(Journal {
            file: Some(lock(for_appending().create(true), path, PATIENTLY)?),
            path: path.to_owned(),
            durability,
            valid: 0,
            torn: false,
            pending: Vec::new(),
            since_full: 0,
            full: 0,
        })
    }

    /// The number of bytes of all records.
    pub fn size(&self) -> u64 {
        self.valid + self.pending.len() as u64
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a full record is due: the records since the last one are longer than it was. Full
    /// records then take at most half of the file.
    pub(crate) fn wants_full(&self) -> bool {
        self.pending.is_empty() && self.since_full > self.full.max(16 * 1024)
    }

    /// Appends records, and those that could not be written before, in one write.
    ///
    /// # Errors
    /// The I/O error. The records are written with the next ones.
    pub fn append(&mut self, records: &[Record]) -> io::Result<()> {
        for record in records {
            let line = encode(record)?;
            self.count(record, line.len() as u64);
            self.pending.extend_from_slice(&line);
        }
        may_panic_here();
        self.flush()
    }

    /// Sets when a record counts as saved, from the next one on.
    pub(super) fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
    }

    /// Whether the records that could not be written are so many that one of the whole state must replace
    /// them.
    pub(super) fn is_overfull(&self) -> bool {
        self.pending.len() > MOST_PENDING
    }

    /// Replaces the records that could not be written by one of the whole state.
    ///
    /// # Errors
    /// None but that the record cannot be encoded.
    pub(super) fn replace_pending(&mut self, full: &Record) -> io::Result<()> {
        self.pending = encode(full)?;
        self.count(full, self.pending.len() as u64);
        Ok(())
    }

    /// Writes to another file from now on.
    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: fs::File) {
        self.file = Some(Locked(file));
    }

    /// Closes the file until the next write, which notices if another process opened or deleted it
    /// meanwhile.
    pub fn close(&mut self) {
        if !self.torn {
            self.file = None;
        }
    }

    /// As [`Journal::close`]; returns the file, which stays locked until it is dropped.
    pub(super) fn take_file(&mut self) -> Option<Locked> {
        self.file.take()
    }

    /// Whether this process has the file open.
    pub fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Opens the file if it is closed. Returns false if another process opened or deleted it.
    pub(crate) fn reopen(&mut self) -> bool {
        !self.file().is_err_and(|error| is_lost(&error))
    }

    /// The file, opened if it is closed.
    fn file(&mut self) -> io::Result<&mut Locked> {
        let file = match self.closed() {
            Some(closed) => Some(closed.open()?),
            None => self.file.take(),
        };
        file.map(|file| self.file.insert(file)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// What opens the file again, on any thread of the process, if it is closed.
    pub(super) fn closed(&self) -> Option<Closed> {
        self.file.is_none().then(|| Closed { path: self.path.clone(), length: self.valid })
    }

    /// Takes a file that was opened again, unless it was opened otherwise meanwhile.
    pub(super) fn put_file(&mut self, file: Locked) {
        self.file.get_or_insert(file);
    }

    /// Writes the pending records.
    ///
    /// # Errors
    /// The I/O error.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        // Half a record would damage the next one.
        let (valid, torn, durability) = (self.valid, self.torn, self.durability);
        let pending = std::mem::take(&mut self.pending);
        let file = match self.file() {
            Ok(file) => file,
            Err(error) => {
                self.pending = pending;
                return Err(error);
            }
        };
        let result = if torn { file.set_len(valid) } else { Ok(()) }
            .and_then(|()| file.write_all(&pending))
            .and_then(|()| match durability {
                Durability::Process => Ok(()),
                Durability::Disk => sync(file),
            });
        match result {
            Ok(()) => (self.valid, self.torn) = (valid + pending.len() as u64, false),
            Err(_) => (self.torn, self.pending) = (file.set_len(valid).is_err(), pending),
        }
        result
    }

    /// All records, the pending ones included.
    ///
    /// # Errors
    /// The I/O error.
    pub fn records(&mut self) -> io::Result<Vec<Record>> {
        let mut bytes = self.bytes()?;
        bytes.truncate(usize::try_from(self.valid).unwrap_or(usize::MAX));
        bytes.extend_from_slice(&self.pending);
        Ok(Lines::of(&bytes, &Percent::default()).into_records())
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = self.file()?;
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read(mut self, mut warnings: Vec<String>, done: &Percent) -> io::Result<OpenedJournal> {
        let bytes = self.bytes()?;
        let lines = Lines::of(&bytes, done);
        if lines.length < bytes.len() {
            warnings.push(format!(
                "{}: the last record was truncated ({} bytes) and is dropped",
                self.path.display(),
                bytes.len() - lines.length
            ));
            self.file()?.set_len(lines.length as u64)?;
        }
        self.valid = lines.length as u64;
        lines.records.iter().for_each(|(record, length)| self.count(record, *length as u64));
        let damage = if lines.bad.is_empty() { None } else { Some(self.set_aside(&lines.bad)?) };
        let mut records = lines.into_records();
        if let Some(damage) = damage {
            warnings.push(damage);
            self.rewrite(&mut records)?;
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

    /// Copies damaged records to a file beside the journal, where a person may still read them.
    fn set_aside(&self, bad: &[&[u8]]) -> io::Result<String> {
        let path = bad_file(&self.path);
        if !is_plain(&path) {
            let _ = fs::remove_file(&path);
        }
        let mut file = for_appending().create(true).open(&path)?;
        bad.iter().try_for_each(|line| file.write_all(line))?;
        Ok(format!(
            "{}: {} damaged record{} moved to {}; the others are kept",
            self.path.display(),
            bad.len(),
            if bad.len() == 1 { "" } else { "s" },
            path.display()
        ))
    }

    /// Replaces the file atomically by one with these records. All of them count.
    fn rewrite(&mut self, records: &mut [Record]) -> io::Result<()> {
        let path = self.path.with_extension("new");
        let _ = fs::remove_file(&path);
        let mut new = Journal::at(&path, self.durability)?;
        for record in records {
            // Damaged records that follow a position must not count as missing.
            if let Record::Position(position) = record {
                position.records = 0;
            }
            new.pending.extend_from_slice(&encode(record)?);
        }
        new.flush()?;
        if self.durability == Durability::Process {
            // The only copy is replaced.
            sync(new.file()?)?;
        }
        fs::rename(&path, &self.path)?;
        if self.durability == Durability::Disk {
            sync_names(&self.path)?;
        }
        (self.file, self.valid, self.torn) = (new.file, new.valid, false);
        Ok(())
    }
}
