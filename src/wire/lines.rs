//! How bytes become lines. This is the only place.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

/// A line of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<T> {
    /// A line without its line feed, or its place in what was read.
    Whole(T),
    /// A line that is too long. This is said once, as soon as it is known; the next line is the one behind it.
    TooLong,
}

/// Cuts bytes into lines, none of which takes more memory than the bound.
#[derive(Debug)]
pub struct Framer {
    /// Maximum number of bytes of a line.
    most: usize,
    /// What was read. The next line begins at `start`, and no line feed is before `searched`.
    bytes: Vec<u8>,
    start: usize,
    searched: usize,
    /// Whether the rest of a line is skipped.
    is_skipping: bool,
}

impl Framer {
    /// Cuts lines of at most `most` bytes each.
    pub fn new(most: usize) -> Framer {
        Framer { most, bytes: Vec::new(), start: 0, searched: 0, is_skipping: false }
    }

    /// What was read of a line whose end has not come. At the end of the stream, that is no line.
    pub fn incomplete(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// The place of the next line in what was read, until more is read; `None` if its end has not come.
    pub fn next_line(&mut self) -> Option<Line<Range<usize>>> {
        while let Some(end) = memchr::memchr(b'\n', &self.bytes[self.searched..]) {
            let line = self.start..self.searched + end;
            (self.start, self.searched) = (line.end + 1, line.end + 1);
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            let is_short = line.len() <= self.most;
            return Some(if is_short { Line::Whole(line) } else { Line::TooLong });
        }
        self.bytes.drain(..self.start);
        self.start = 0;
        let was_skipping = self.is_skipping;
        self.is_skipping |= self.bytes.len() > self.most;
        if self.is_skipping {
            self.bytes.clear();
        }
        self.searched = self.bytes.len();
        (self.is_skipping && !was_skipping).then_some(Line::TooLong)
    }

    /// The line at a place.
    pub fn get(&self, line: Range<usize>) -> &[u8] {
        &self.bytes[line]
    }

    /// Reads at most `chunk` bytes; returns their number, 0 at the end.
    ///
    /// # Errors
    /// An error of the stream.
    pub fn read(&mut self, from: &mut impl Read, chunk: usize) -> io::Result<usize> {
        let length = self.bytes.len();
        self.bytes.resize(length + chunk, 0);
        let read = loop {
            match from.read(&mut self.bytes[length..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.bytes.truncate(length + read.as_ref().map_or(0, |count| *count));
        read
    }

    /// The last bytes that were read, at most so many.
    pub fn last(&self, count: usize) -> &[u8] {
        &self.bytes[self.bytes.len().saturating_sub(count)..]
    }

    /// Gives back the memory that a line does not need until the rest of it comes.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }
}
