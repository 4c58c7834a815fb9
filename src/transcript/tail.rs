//! Reads the lines appended to a file, each once.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::de::IgnoredAny;

/// Longer lines are skipped, since a line is held in memory until its line feed arrives.
const LONGEST_LINE: usize = 64 * 1024 * 1024;
/// Number of bytes before the offset that identify the file.
const KNOWN: usize = 256;
/// Bytes read at a time.
const CHUNK: usize = 1024 * 1024;

/// How the file changed since it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// Nothing was appended.
    Unchanged,
    /// Something was appended.
    Grown,
    /// The file was truncated or replaced; reading starts again at its beginning.
    Replaced,
    /// The file does not exist.
    Missing,
}

/// A position in a growing file.
#[derive(Debug, Default)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
    modified: Option<SystemTime>,
    /// The last bytes before the offset, which identify the file.
    known: Vec<u8>,
    /// A line without its line feed yet.
    partial: Vec<u8>,
    /// Whether the partial line was passed on, being complete JSON.
    is_passed: bool,
    /// Whether the current line is too long.
    skipping: bool,
}

impl Tail {
    /// A position at the beginning of a file.
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

    /// Checks how the file changed. If it was replaced, goes back to its beginning.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn check(&mut self) -> io::Result<FileChange> {
        let data = match fs::metadata(&self.path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileChange::Missing),
            Err(error) => return Err(error),
        };
        let modified = data.modified().ok();
        if data.len() == self.offset && modified == self.modified {
            return Ok(FileChange::Unchanged);
        }
        self.modified = modified;
        if data.len() >= self.offset && self.is_known()? {
            return Ok(if data.len() == self.offset { FileChange::Unchanged } else { FileChange::Grown });
        }
        let path = std::mem::take(&mut self.path);
        *self = Tail { modified, ..Tail::new(path) };
        Ok(FileChange::Replaced)
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

    /// Calls `each` with every appended line, without its line feed. The last line is passed on if it
    /// is complete JSON; otherwise it waits for its rest.
    ///
    /// # Errors
    /// An error of the file system. Lines passed on before it are not passed on again.
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
            self.split(&chunk[..count], &mut each);
        }
        if !self.is_passed && is_complete(&self.partial) {
            self.is_passed = true;
            each(&self.partial);
        }
        Ok(())
    }

    fn remember(&mut self, bytes: &[u8]) {
        let kept = KNOWN.saturating_sub(bytes.len()).min(self.known.len());
        self.known.drain(..self.known.len() - kept);
        self.known.extend_from_slice(&bytes[bytes.len().saturating_sub(KNOWN)..]);
    }

    fn split(&mut self, bytes: &[u8], each: &mut impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(end) = line_feed(rest) {
            let (line, behind) = (&rest[..end], &rest[end + 1..]);
            let is_done = std::mem::take(&mut self.is_passed) | std::mem::take(&mut self.skipping);
            if !is_done {
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

/// Whether a line without its line feed is complete JSON.
fn is_complete(line: &[u8]) -> bool {
    line.ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// The position of the first line feed. `skip_until` is the standard library's fastest search.
fn line_feed(bytes: &[u8]) -> Option<usize> {
    io::BufRead::skip_until(&mut &*bytes, b'\n')
        .ok()
        .filter(|end| *end > 0 && bytes[*end - 1] == b'\n')
        .map(|end| end - 1)
}
