//! The segments of a plan's journal.
//!
//! A segment is a file of lines. The first is a head, the state of the thread when the segment was begun; the
//! others are the records since. So the newest segment suffices to open a plan, and an older one is read only for
//! what happened in its time. Lines are only appended, under the lock of the plan, and a new segment is begun when
//! the newest one is long.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::folder::{self, Lock, for_appending};
use super::line::{Lines, decode_as, encode};
use crate::events::Millis;
use crate::fault::may_panic_here;
use crate::file;
use crate::named::wire_names;
use crate::thread::Thread;
use crate::thread::record::{FORMAT, Record};
use crate::thread::revision::Revision;

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

/// The length from which on a segment ends, and how many times as long as its head it is then at least.
pub const SEGMENT: u64 = 4 * 1024 * 1024;
const HEADS: u64 = 8;

/// The format of the journals of version 0.3, which have no heads.
const WITHOUT_HEADS: u64 = 2;

/// A segment among others: where it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    pub number: u64,
    /// The number of its first observation.
    pub observation: u64,
    /// The number of its first revision.
    pub revision: u64,
    /// The last time before it.
    pub time: Millis,
    /// The length in bytes of its lines that were read or written.
    pub length: u64,
}

impl Segment {
    /// A segment that begins with a thread as it is.
    fn at(number: u64, thread: &Thread) -> Segment {
        let observation = thread.observations().next_number();
        let revision = thread.revisions().last() + 1;
        Segment { number, observation, revision, time: thread.last_time(), length: 0 }
    }
}

/// A part of what happened in a plan, of which both ends are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The revisions with these numbers, and their lists.
    Revisions(u64, u64),
    /// The observations with these numbers.
    Observations(u64, u64),
    /// As many of the observations from this number on as a thread keeps in memory.
    Newest(u64),
    /// The revisions and observations from a time on.
    Since(Millis),
}

impl Span {
    /// All that happened.
    pub const WHOLE: Span = Span::Revisions(0, u64::MAX);

    /// The newest observations, as many as a thread keeps in memory.
    pub fn newest(thread: &Thread) -> Span {
        let observations = thread.observations();
        Span::Newest(observations.next_number().saturating_sub(observations.limit as u64).max(1))
    }

    /// The part of it that a thread has.
    pub(crate) fn within(self, thread: &Thread) -> Span {
        let (revision, observation) = (thread.revisions().last(), thread.observations().next_number() - 1);
        match self {
            Span::Revisions(first, last) => Span::Revisions(first.min(revision), last.min(revision)),
            Span::Observations(first, last) => Span::Observations(first, last.min(observation)),
            other => other,
        }
    }

    /// The same, and all that happened afterwards.
    pub(crate) fn to_the_end(self) -> Span {
        match self {
            Span::Revisions(first, _) => Span::Revisions(first, u64::MAX),
            Span::Observations(first, _) => Span::Observations(first, u64::MAX),
            other => other,
        }
    }

    /// Whether the segment has the beginning, or one before it has nothing of it.
    fn is_begun_before(&self, segment: &Segment) -> bool {
        match *self {
            Span::Revisions(first, _) => segment.revision <= first.saturating_add(1),
            Span::Observations(first, _) | Span::Newest(first) => segment.observation <= first,
            Span::Since(time) => segment.time < time,
        }
    }

    /// Whether the segment begins after the end.
    fn ends_before(&self, segment: &Segment) -> bool {
        match *self {
            Span::Revisions(_, last) => segment.revision > last,
            Span::Observations(_, last) => segment.observation > last,
            Span::Newest(_) | Span::Since(_) => false,
        }
    }

    /// Whether a thread in memory has all of it.
    pub(crate) fn is_in(&self, thread: &Thread) -> bool {
        let (revisions, observations) = (thread.revisions(), thread.observations());
        match *self {
            Span::Revisions(first, last) => first >= revisions.first() && last <= revisions.last(),
            Span::Observations(first, last) => {
                first >= observations.first_kept() && last < observations.next_number()
            }
            Span::Newest(first) => observations.seen_from <= first,
            Span::Since(time) => {
                let is_earlier = |revision: &Revision| revision.stamp.timestamp < time;
                let has_revisions = revisions.first() == 0 || revisions.iter().next().is_some_and(is_earlier);
                has_revisions && (observations.first_kept() <= 1 || observations.first_time() < time)
            }
        }
    }
}

/// The first line of a segment, without the thread.
#[derive(Serialize, Deserialize)]
struct Head<T> {
    /// [`FORMAT`].
    format: u64,
    key: String,
    /// The segments before this one, oldest first.
    older: Vec<Segment>,
    thread: T,
}

/// The journal of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    folder: PathBuf,
    key: String,
    /// The number of observations that a thread keeps in memory.
    history_limit: usize,
    older: Vec<Segment>,
    /// None before the first change.
    newest: Option<Segment>,
    /// The length of the first line of that one.
    head: u64,
    /// Whether something of the newest segments is damaged, so that the next one is due.
    is_damaged: bool,
    /// What is wrong with it, in sentences for the user.
    pub(super) warnings: Vec<String>,
}

/// The beginning of a segment.
#[derive(Debug)]
pub(super) struct Beginning {
    segment: Segment,
    /// Its first line.
    line: Vec<u8>,
}

/// A plan as its journal has it.
#[derive(Debug)]
pub(super) struct OpenedThread {
    pub thread: Thread,
    /// The time of the newest record.
    pub last: Millis,
}

/// What others did since the journal was read last.
#[derive(Debug)]
pub(super) enum Appended {
    /// They appended records, or none.
    Records(Vec<Record>),
    /// They began a segment or a new journal, or it was read for the first time.
    Opened(Box<OpenedThread>),
}

impl Journal {
    /// The journal of a plan, which is yet to be read.
    pub(crate) fn new(root: &Path, key: &str, history_limit: usize) -> Journal {
        let (folder, key) = (folder::folder_of(root, key), key.to_owned());
        Journal { folder, key, history_limit, ..Journal::default() }
    }

    /// The file of the newest segment.
    pub(crate) fn file(&self) -> PathBuf {
        self.path(self.newest.as_ref().map_or(1, |newest| newest.number))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of the newest segment, and the length of what was read or written of it.
    pub(crate) fn place(&self) -> Option<(u64, u64)> {
        self.newest.as_ref().map(|newest| (newest.number, newest.length))
    }

    /// The segments as they are now, oldest first, each with its length.
    fn segments(&self) -> impl DoubleEndedIterator<Item = Segment> {
        self.older.iter().copied().chain(self.newest)
    }

    fn path(&self, number: u64) -> PathBuf {
        match number {
            0 => folder::of_earlier_version(&self.folder).unwrap_or_default(),
            _ => folder::segment(&self.folder, number),
        }
    }

    /// Reads the plan from the newest segment, without changing any file. None if there is no journal.
    ///
    /// If the first line of a segment is damaged, the segment before is read first.
    ///
    /// # Errors
    /// The I/O error; `Other` if another version wrote it, or it is that of another plan.
    pub(crate) fn open(&mut self) -> io::Result<Option<OpenedThread>> {
        let segments = folder::segments(&self.folder);
        self.open_from(&segments, segments.len().saturating_sub(1))
    }

    /// Reads the plan from one of its oldest `segments` on.
    fn open_from(&mut self, segments: &[(u64, PathBuf)], first: usize) -> io::Result<Option<OpenedThread>> {
        for first in (0..=first).rev() {
            if let Some(opened) = self.replay(&segments[first..], first == 0)? {
                return Ok(Some(opened));
            }
        }
        Ok(None)
    }

    /// The plan as the segments of a span have it: from the beginning of the first one on, with all that happened
    /// until the end of the last.
    pub(crate) fn of_span(&self, span: &Span) -> io::Result<Option<Thread>> {
        let mut journal = self.clone();
        if matches!(span, Span::Observations(..)) {
            journal.history_limit = usize::MAX;
        }
        let (segments, first) = self.segments_of(span);
        let opened = journal.open_from(&segments, first)?;
        Ok(opened.map(|opened| opened.thread))
    }

    /// The oldest segments, up to the last one of a span, and the place of its first one.
    fn segments_of(&self, span: &Span) -> (Vec<(u64, PathBuf)>, usize) {
        let first = self.segments().rev().find(|segment| span.is_begun_before(segment));
        let first = first.map_or(0, |segment| segment.number);
        let end = self.segments().find(|segment| segment.number > first && span.ends_before(segment));
        let mut segments = folder::segments(&self.folder);
        segments.retain(|(number, _)| end.is_none_or(|end| *number < end.number));
        let first =
            segments.partition_point(|(number, _)| *number < first).min(segments.len().saturating_sub(1));
        (segments, first)
    }

    /// The plan as some successive segments have it; none if the first line of the first is damaged, unless it is
    /// `the_oldest`.
    fn replay(&mut self, segments: &[(u64, PathBuf)], the_oldest: bool) -> io::Result<Option<OpenedThread>> {
        (self.newest, self.older) = (None, Vec::new());
        let mut thread: Option<Thread> = None;
        let mut last = 0;
        for (number, path) in segments {
            let bytes = read_from(path, 0)?;
            let head = self.head(path, first_line(&bytes))?;
            let begun = if head.is_some() { first_line(&bytes).len() } else { 0 };
            self.is_damaged |= head.is_none() && *number > 0;
            let thread = match (&mut thread, head) {
                (Some(thread), _) => thread,
                (none, Some(head)) => {
                    (self.older, last) = (head.older, head.thread.last_time());
                    none.insert(head.thread)
                }
                (none, None) if the_oldest => {
                    none.insert(Thread::new(&self.key, Map::new(), self.history_limit))
                }
                (_, None) => return Ok(None),
            };
            self.older = self.segments().collect();
            let lines = Lines::of(&bytes[begun..]);
            if lines.damaged > 0 {
                self.is_damaged = true;
                let are = if lines.damaged == 1 { "record is" } else { "records are" };
                let (path, count) = (path.display(), lines.damaged);
                self.warnings.push(format!("{path}: {count} damaged {are} left out; the others are kept"));
            }
            let length = (begun + lines.length) as u64;
            let segment = Segment { length, ..Segment::at(*number, thread) };
            (self.newest, self.head) = (Some(segment), begun as u64);
            for record in &lines.records {
                last = record.timestamp().unwrap_or(last);
                thread.apply(record);
            }
        }
        Ok(thread.map(|mut thread| {
            // Subscribers receive only new observations.
            drop(thread.take_observations());
            OpenedThread { thread, last }
        }))
    }

    /// The head of a segment, with its thread; none if it is damaged, or version 0.3 wrote the file.
    ///
    /// # Errors
    /// `Other` if a later version wrote it, or it is that of another plan.
    fn head(&self, path: &Path, line: &[u8]) -> io::Result<Option<Head<Thread>>> {
        let other = |what: String| io::Error::other(format!("{} {what}", path.display()));
        let Some(head) = decode_as::<Value>(line) else { return Ok(None) };
        let key = head.get("key").or_else(|| head.get("thread")).and_then(Value::as_str);
        match head.get("format").and_then(Value::as_u64) {
            Some(FORMAT | WITHOUT_HEADS) if key.is_some_and(|key| key != self.key) => {
                Err(other(format!("belongs to thread {}", key.unwrap_or_default())))
            }
            Some(FORMAT) => Ok(serde_json::from_value::<Head<Thread>>(head).ok().and_then(|head| {
                let thread = head.thread.restored(&self.key, self.history_limit);
                thread.has_sane_counters().then_some(Head { thread, ..head })
            })),
            Some(WITHOUT_HEADS) | None => Ok(None),
            Some(_) => Err(other("was written by another version of todo-write".to_owned())),
        }
    }

    /// Locks the plan for a change; its folder is created if it is missing.
    ///
    /// # Errors
    /// The I/O error; `WouldBlock` if another process changes the plan for long.
    pub(super) fn lock(&self) -> io::Result<Lock> {
        if let Some(root) = self.folder.parent().filter(|root| root.exists() && !root.is_dir()) {
            let what = format!("{} is a file, but `todo-write-directory' must name a folder", root.display());
            return Err(io::Error::other(what));
        }
        folder::create(&self.folder)?;
        folder::lock(&self.folder)
    }

    /// Reads what others did since the last call.
    pub(crate) fn appended(&mut self) -> io::Result<Appended> {
        let Some((number, known)) = self.place() else { return self.read_again() };
        let length = match fs::metadata(self.path(number)) {
            Ok(data) => data.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.read_again(),
            Err(error) => return Err(error),
        };
        if length < known || self.path(number + 1).exists() {
            return self.read_again();
        }
        if length == known {
            return Ok(Appended::Records(Vec::new()));
        }
        let lines = Lines::of(&read_from(&self.path(number), known)?);
        if let Some(newest) = &mut self.newest {
            newest.length += lines.length as u64;
        }
        Ok(Appended::Records(lines.records))
    }

    /// Reads the plan again from its newest segment. If its journal is gone, the next change begins one with all of the thread.
    fn read_again(&mut self) -> io::Result<Appended> {
        (self.newest, self.older) = (None, Vec::new());
        Ok(self.open()?.map_or(Appended::Records(Vec::new()), |opened| Appended::Opened(Box::new(opened))))
    }

    /// Whether the newest segment is so long that a new one is to begin. Its head then takes little of all.
    pub(crate) fn is_long(&self, segment: u64) -> bool {
        self.newest.as_ref().is_some_and(|newest| {
            let (head, length) = (self.head, newest.length);
            let least = if segment == 0 { 0 } else { segment.max(HEADS * head) };
            self.is_damaged || length > head && length >= least
        })
    }

    /// The beginning of a new segment with a thread as it is.
    pub(crate) fn beginning(&self, thread: &Thread) -> io::Result<Beginning> {
        let older = self.segments().collect();
        let line = encode(&Head { format: FORMAT, key: self.key.clone(), older, thread })?;
        Ok(Beginning { segment: Segment::at(self.next_number(), thread), line })
    }

    /// The thread as the beginning of a segment has it.
    pub(crate) fn begun(&self, beginning: &Beginning) -> Option<Thread> {
        Some(self.head(&self.file(), &beginning.line).ok()??.thread)
    }

    fn next_number(&self) -> u64 {
        let oldest = || folder::of_earlier_version(&self.folder).map(|_| 0);
        let last = self.newest.as_ref().map(|newest| newest.number).or_else(oldest);
        last.map_or(1, |last| last + 1)
    }

    /// Appends lines to the newest segment in one write. The plan must be locked.
    ///
    /// # Errors
    /// The I/O error. Nothing of the lines counts then.
    pub(crate) fn append(&mut self, lines: &[u8], durability: Durability) -> io::Result<()> {
        let path = self.file();
        let newest = self.newest.as_mut().ok_or(io::ErrorKind::NotFound)?;
        may_panic_here();
        let mut file = for_appending().open(&path)?;
        // Half a line of a process that was killed would damage the next one.
        let torn = file.metadata()?.len().saturating_sub(newest.length);
        if torn > 0 {
            file.set_len(newest.length)?;
            let path = path.display();
            let what = format!("{path}: the last record was truncated ({torn} bytes) and is dropped");
            self.warnings.push(what);
        }
        let result = file.write_all(lines).and_then(|()| match durability {
            Durability::Process => Ok(()),
            Durability::Disk => folder::sync(&file),
        });
        match result {
            Ok(()) => newest.length += lines.len() as u64,
            // The next change removes what this cannot.
            Err(_) => drop(file.set_len(newest.length)),
        }
        result
    }

    /// Begins a segment, with further lines. The plan must be locked. The segment before stays.
    ///
    /// # Errors
    /// The I/O error. The newest segment goes on then.
    pub(crate) fn begin(
        &mut self,
        Beginning { segment, line: head }: &Beginning,
        lines: &[u8],
        durability: Durability,
    ) -> io::Result<()> {
        let syncs = durability == Durability::Disk;
        folder::replace(&folder::segment(&self.folder, segment.number), "new", [head, lines], syncs)?;
        if syncs {
            folder::sync_names(&self.folder)?;
        }
        self.older = self.segments().collect();
        let segment = Segment { length: (head.len() + lines.len()) as u64, ..*segment };
        (self.newest, self.head) = (Some(segment), head.len() as u64);
        self.is_damaged = false;
        Ok(())
    }
}

pub(crate) fn records_of(path: &Path) -> io::Result<Vec<Record>> {
    // The head is no record.
    Ok(Lines::of(&read_from(path, 0)?).records)
}

fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = file::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first line with its line feed; nothing if it was not completely written.
fn first_line(bytes: &[u8]) -> &[u8] {
    let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\n").map_or(&[], |_| line)
}
