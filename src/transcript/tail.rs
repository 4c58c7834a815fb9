//! A file that grows by lines: reads what was appended, and nothing twice.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::de::IgnoredAny;

/// A line longer than this is skipped: it is held in memory until its line feed comes.
const LONGEST_LINE: usize = 64 * 1024 * 1024;
/// Bytes before the place read up to that must still be there.
const KNOWN: usize = 256;
/// Bytes read at a time.
const CHUNK: usize = 1024 * 1024;

/// What became of the file since it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing was appended.
    Same,
    /// Lines were read.
    Grown,
    /// It is another file, or shorter than before, and is read from its start.
    Replaced,
    /// It is not there.
    Missing,
}

/// The place in a file up to which it was read.
#[derive(Debug, Default)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
    modified: Option<SystemTime>,
    /// The end of what was read, by which the file is known again.
    known: Vec<u8>,
    /// A line whose line feed has not come yet.
    partial: Vec<u8>,
    /// Whether that line was taken: it is whole JSON.
    is_taken: bool,
    /// Inside a line that is too long.
    skipping: bool,
}

impl Tail {
    /// The beginning of a file.
    pub fn new(path: PathBuf) -> Tail {
        Tail { path, ..Tail::default() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Looks what became of the file, and where it was replaced, goes back to its beginning.
    ///
    /// The caller forgets what it knew when this returns [`Step::Replaced`], and reads in any case
    /// but [`Step::Same`] and [`Step::Missing`].
    ///
    /// # Errors
    /// What the system said.
    pub fn look(&mut self) -> io::Result<Step> {
        let data = match fs::metadata(&self.path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Step::Missing),
            Err(error) => return Err(error),
        };
        let modified = data.modified().ok();
        if data.len() == self.offset && modified == self.modified {
            return Ok(Step::Same);
        }
        self.modified = modified;
        if data.len() >= self.offset && self.is_known()? {
            return Ok(if data.len() == self.offset { Step::Same } else { Step::Grown });
        }
        let path = std::mem::take(&mut self.path);
        *self = Tail { modified, ..Tail::new(path) };
        Ok(Step::Replaced)
    }

    fn is_known(&self) -> io::Result<bool> {
        if self.known.is_empty() {
            return Ok(true);
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset - self.known.len() as u64))?;
        let mut bytes = vec![0; self.known.len()];
        match file.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes == self.known),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Calls `each` with every line that was appended, without its line feed. The last line counts
    /// if it is whole JSON; otherwise it is kept until the rest comes.
    ///
    /// # Errors
    /// What the system said; what was read before counts as read.
    pub fn read(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.offset += count as u64;
            self.remember(&chunk[..count]);
            self.take(&chunk[..count], &mut each);
        }
        if !self.is_taken && is_whole(&self.partial) {
            self.is_taken = true;
            each(&self.partial);
        }
        Ok(())
    }

    fn remember(&mut self, bytes: &[u8]) {
        let kept = KNOWN.saturating_sub(bytes.len()).min(self.known.len());
        self.known.drain(..self.known.len() - kept);
        self.known.extend_from_slice(&bytes[bytes.len().saturating_sub(KNOWN)..]);
    }

    fn take(&mut self, bytes: &[u8], each: &mut impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(end) = line_feed(rest) {
            let (line, behind) = (&rest[..end], &rest[end + 1..]);
            let is_read = std::mem::take(&mut self.is_taken) | std::mem::take(&mut self.skipping);
            if !is_read {
                if self.partial.is_empty() {
                    each(line);
                } else {
                    self.partial.extend_from_slice(line);
                    each(&self.partial);
                }
            }
            self.partial.clear();
            rest = behind;
        }
        if self.partial.len() + rest.len() > LONGEST_LINE {
            self.skipping = true;
        }
        if self.skipping {
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(rest);
        }
    }
}

/// Whether a line without its line feed is whole JSON.
fn is_whole(line: &[u8]) -> bool {
    line.ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// The first line feed; `read_until` has the fastest search of the standard library.
fn line_feed(bytes: &[u8]) -> Option<usize> {
    io::BufRead::skip_until(&mut &*bytes, b'\n')
        .ok()
        .filter(|end| *end > 0 && bytes[*end - 1] == b'\n')
        .map(|end| end - 1)
}
