//! The lines that a peer says, and those that it is told.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde::Serialize;

use todo_write::wire::bounds::{CALL, SMALL_FILE};
use todo_write::wire::lines::Framer;
pub use todo_write::wire::lines::Line;

/// The lines of a stream.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    framer: Framer,
}

impl<R: Read> Lines<R> {
    /// The lines of `from` with at most `most` bytes each.
    pub fn new(from: R, most: usize) -> Lines<R> {
        Lines { from, framer: Framer::new(most) }
    }

    /// What was read of a line whose end has not come. At the end of the stream, that is no line.
    pub(crate) fn incomplete(&self) -> &[u8] {
        self.framer.incomplete()
    }

    /// Waits for the next line; `None` at the end of the stream.
    ///
    /// # Errors
    /// An error of the stream. After [`io::ErrorKind::WouldBlock`] and [`io::ErrorKind::TimedOut`], the next call goes on.
    pub fn next_line(&mut self) -> io::Result<Option<Line<&[u8]>>> {
        loop {
            match self.framer.next_line() {
                Some(Line::Whole(line)) => return Ok(Some(Line::Whole(self.framer.get(line)))),
                Some(Line::TooLong) => return Ok(Some(Line::TooLong)),
                None => {}
            }
            if self.framer.read(&mut self.from, SMALL_FILE)? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Lines for a peer, which a thread writes.
#[derive(Debug)]
pub(crate) struct Outbox {
    lines: Sender<Vec<u8>>,
    unsent: Arc<AtomicUsize>,
}

/// The end of an [`Outbox`] that writes.
#[derive(Debug)]
pub(crate) struct Unsent {
    lines: Receiver<Vec<u8>>,
    unsent: Arc<AtomicUsize>,
}

impl Outbox {
    pub(crate) fn new() -> (Outbox, Unsent) {
        let ((sender, lines), unsent) = (channel(), Arc::default());
        (Outbox { lines: sender, unsent: Arc::clone(&unsent) }, Unsent { lines, unsent })
    }

    /// Adds a line without waiting; returns false if the peer does not take the earlier ones.
    pub(crate) fn send(&self, line: Vec<u8>) -> bool {
        if self.unsent.fetch_add(line.len(), Ordering::Relaxed) > CALL {
            return false;
        }
        // A thread that has ended needs no line.
        let _ = self.lines.send(line);
        true
    }
}

impl Unsent {
    /// Writes lines until there will be no more, or the peer does not take one.
    pub(crate) fn write(self, mut to: impl Write) {
        for line in self.lines {
            if to.write_all(&line).is_err() {
                return;
            }
            self.unsent.fetch_sub(line.len(), Ordering::Relaxed);
        }
    }
}

/// The number of bytes of a line for `value`, which is not made: events may have megabytes.
pub(crate) fn size(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A name that is no text ends it, whose message is small.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one piece a read; an empty one stands for a read that timed out.
    struct Pieces(Vec<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            match self.0.remove(0) {
                b"" => Err(io::ErrorKind::WouldBlock.into()),
                piece => {
                    to[..piece.len()].copy_from_slice(piece);
                    Ok(piece.len())
                }
            }
        }
    }

    /// The lines that come, `!` for one that is too long and `?` for a time-out, and what is left over.
    fn read(pieces: &[&'static [u8]], most: usize) -> (Vec<String>, String) {
        let mut lines = Lines::new(Pieces(pieces.to_vec()), most);
        let mut all = Vec::new();
        loop {
            match lines.next_line() {
                Ok(Some(Line::Whole(line))) => all.push(String::from_utf8_lossy(line).into_owned()),
                Ok(Some(Line::TooLong)) => all.push("!".into()),
                Ok(None) => return (all, String::from_utf8_lossy(lines.incomplete()).into_owned()),
                Err(_) => all.push("?".into()),
            }
        }
    }

    #[test]
    fn lines_come_whole_however_the_stream_is_cut() {
        let check = |pieces: &[&'static [u8]], lines: &[&str], left: &str| {
            assert_eq!(read(pieces, 9), (lines.iter().map(ToString::to_string).collect(), left.into()));
        };
        check(&[b"one\ntwo\n"], &["one", "two"], "");
        check(&[b"on", b"e\nt", b"wo\n\n"], &["one", "two", ""], "");
        check(&[b"one\ntw"], &["one"], "tw");
        check(&[b"on", b"", b"e\n"], &["?", "one"], "");
    }

    #[test]
    fn a_line_that_is_too_long_is_said_once_and_only_that_is_skipped() {
        let check = |pieces: &[&'static [u8]], lines: &[&str]| {
            assert_eq!(read(pieces, 4), (lines.iter().map(ToString::to_string).collect(), String::new()));
        };
        check(&[b"1234\n12345\n1\n"], &["1234", "!", "1"]);
        check(&[b"123", b"45", b"", b"678", b"9\n1\n"], &["!", "?", "1"]);
        check(&[b"12345", b"6789"], &["!"]);
        check(&[b"12345", b"\n12345\n1\n"], &["!", "!", "1"]);
    }
}
