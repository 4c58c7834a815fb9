//! Reads the lines appended to a file, each once.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use memchr::memmem;
use serde::de::IgnoredAny;

use todo_write::file;
use todo_write::text::fnv1a;
use todo_write::wire::bounds::LINE;
use todo_write::wire::event::{Place, Transcript};
use todo_write::wire::lines::{Framer, Line};

/// Number of bytes before the offset that identify the file.
const KNOWN: usize = 256;
/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// How the file changed since it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailChange {
    /// Nothing was appended.
    Unchanged,
    /// Something was appended.
    Grown,
    /// The file was truncated or replaced; reading starts again at its beginning.
    Replaced,
    /// The file does not exist.
    Missing,
}

/// A position in a growing transcript.
#[derive(Debug)]
pub(crate) struct Tail {
    pub path: PathBuf,
    /// The subagent whose file it is; `None` for the session's own file.
    pub subagent: Option<String>,
    /// What identifies it, once its first line was read.
    transcript: Option<Arc<Transcript>>,
    /// Bytes read so far.
    pub offset: u64,
    /// The length of the file when it was last checked, up to which it is read.
    length: u64,
    modified: Option<SystemTime>,
    /// The last bytes before the offset, which identify the file.
    known: Vec<u8>,
    lines: Framer,
    /// Bytes skipped because lines were too long, at least.
    pub skipped: u64,
    /// The file as it was checked, until it is read.
    opened: Option<File>,
}

impl Default for Tail {
    fn default() -> Tail {
        Tail::new(PathBuf::new(), None)
    }
}

impl Tail {
    pub(crate) fn new(path: PathBuf, subagent: Option<String>) -> Tail {
        Tail {
            path,
            subagent,
            transcript: None,
            offset: 0,
            length: 0,
            modified: None,
            known: Vec::new(),
            lines: Framer::new(LINE),
            skipped: 0,
            opened: None,
        }
    }

    /// Checks how the file changed. If it was replaced, goes back to its beginning.
    pub(crate) fn check(&mut self) -> io::Result<TailChange> {
        let data = match file::metadata(&self.path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TailChange::Missing),
            Err(error) => return Err(error),
        };
        self.opened = None;
        let modified = data.modified().ok();
        if data.len() == self.offset && modified == self.modified {
            return Ok(TailChange::Unchanged);
        }
        self.modified = modified;
        self.length = data.len();
        if data.len() >= self.offset && self.is_known()? {
            if data.len() > self.offset {
                return Ok(TailChange::Grown);
            }
            self.opened = None;
            return Ok(TailChange::Unchanged);
        }
        let (path, subagent) = (std::mem::take(&mut self.path), self.subagent.take());
        *self = Tail { modified, length: data.len(), ..Tail::new(path, subagent) };
        Ok(TailChange::Replaced)
    }

    fn is_known(&mut self) -> io::Result<bool> {
        if self.known.is_empty() {
            return Ok(true);
        }
        let file = self.opened.insert(file::open(&self.path)?);
        file.seek(SeekFrom::Start(self.offset - self.known.len() as u64))?;
        let mut bytes = vec![0; self.known.len()];
        match file.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes == self.known),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads a piece of what was appended before the last check. Calls `each` with every line, without its line
    /// feed, and with its place, the end of which is also without it. Where objects follow each other in a line, as after
    /// a crash of the program, each counts as a line. The last one is passed on if it is complete; otherwise it
    /// waits for its rest. So the ends are the same whenever the file is read. Blank lines are left out. Returns
    /// whether all was read; if not, the next call continues.
    /// Lines passed on before an error are not passed on again.
    pub(crate) fn read(&mut self, mut each: impl FnMut(Place, &[u8])) -> io::Result<bool> {
        let mut file = match self.opened.take() {
            Some(file) => file,
            None => file::open(&self.path)?,
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let left = usize::try_from(self.length - self.offset).unwrap_or(CHUNK);
        let count = self.lines.read(&mut file, left.min(CHUNK))?;
        self.offset += count as u64;
        self.known.extend_from_slice(self.lines.last(count.min(KNOWN)));
        self.known.drain(..self.known.len().saturating_sub(KNOWN));
        let mut each = |end, line: &[u8]| {
            let transcript = self.transcript.get_or_insert_with(|| {
                Arc::new(Transcript { subagent: self.subagent.clone(), first: fnv1a(line) })
            });
            each(Place { transcript: Arc::clone(transcript), end }, line);
        };
        while let Some(line) = self.lines.next_line() {
            match line {
                Line::Whole(line) => {
                    let end = self.offset - self.lines.incomplete().len() as u64 - 1;
                    pass(end, self.lines.get(line), &mut each);
                }
                Line::TooLong => self.skipped += LINE as u64,
            }
        }
        if self.offset < self.length && count > 0 {
            return Ok(false);
        }
        if is_complete(self.lines.incomplete()) {
            let line = std::mem::replace(&mut self.lines, Framer::new(LINE));
            pass(self.offset, line.incomplete(), &mut each);
        }
        self.lines.shrink();
        Ok(true)
    }
}

/// Passes on the objects in a line that ends at `end`, or all of a line that is not JSON.
fn pass(end: u64, mut line: &[u8], each: &mut impl FnMut(u64, &[u8])) {
    while let Some(object) = first_object(line) {
        let rest = &line[object.len()..];
        each(end - rest.len() as u64, object);
        line = rest;
    }
    if !line.trim_ascii().is_empty() {
        each(end, line);
    }
}

/// The first object in a line if another one follows it.
fn first_object(line: &[u8]) -> Option<&[u8]> {
    // Few lines have this, and most of those in a text.
    memmem::find(line, b"}{")?;
    let mut objects = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
    objects.next()?.ok()?;
    let (object, rest) = line.split_at(objects.byte_offset());
    rest.starts_with(b"{").then_some(object)
}

/// Whether a line without its line feed is complete: objects, and nothing else.
fn is_complete(line: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
    line.ends_with(b"}") && values.all(|value| value.is_ok())
}
