//! The way to the program outside: its lines come in, commands go out, and nothing waits.
//!
//! The program rings on its standard output when there is something to read. Its socket is the only queue: what
//! Emacs does not read makes the program wait. Commands that the socket does not take at once are kept.

use std::io::{self, ErrorKind};
// Emacs has no sockets in the file system of other systems; this keeps the types whole.
#[cfg(not(unix))]
use std::net::TcpStream as UnixStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::wire::bounds::{LINE, SMALL_FILE};
use crate::wire::lines::{Framer, Line};
use crate::wire::program::Command;
use crate::wire::socket::line;

/// The connection to a program.
#[derive(Debug)]
pub struct Channel {
    /// `None` before it is connected, and once it is given up.
    stream: Option<UnixStream>,
    lines: Framer,
    /// The number of bytes read since the beginning.
    read: u64,
    /// Whether the program has closed its side, or is given up.
    is_ended: bool,
    /// The commands that it has not taken.
    output: Vec<u8>,
}

impl Default for Channel {
    fn default() -> Channel {
        Channel { stream: None, lines: Framer::new(LINE), read: 0, is_ended: false, output: Vec::new() }
    }
}

impl Channel {
    /// Connects to the program's socket, and sends what is kept.
    ///
    /// # Errors
    /// An error of the system.
    pub fn connect(&mut self, socket: &Path) -> io::Result<()> {
        #[cfg(unix)]
        let stream = UnixStream::connect(socket)?;
        #[cfg(not(unix))]
        let stream: UnixStream = Err(io::Error::new(ErrorKind::Unsupported, socket.display().to_string()))?;
        stream.set_nonblocking(true)?;
        self.stream = Some(stream);
        self.flush();
        Ok(())
    }

    /// Sends a command, or keeps it; returns whether some are kept. A program that takes none for so long that they
    /// have more bytes than a line is given up: it ends with its socket.
    pub fn send(&mut self, command: &Command) -> bool {
        if self.is_ended {
            return false;
        }
        // A file whose name is no text cannot be named.
        self.output.extend(line(command).unwrap_or_default());
        self.flush();
        if self.output.len() > LINE {
            (self.stream, self.is_ended, self.output) = (None, true, Vec::new());
        }
        !self.output.is_empty()
    }

    /// Sends what is kept; returns whether some still is.
    pub fn flush(&mut self) -> bool {
        let mut sent = 0;
        while let Some(stream) = &self.stream
            && sent < self.output.len()
        {
            match send_quietly(stream, &self.output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // What it wrote before it left can still be read.
                Err(_) => sent = self.output.len(),
            }
        }
        self.output.drain(..sent);
        !self.output.is_empty()
    }

    /// The next whole line, without its line feed, if all of it came. A line that is too long is left out.
    pub fn next_line(&mut self) -> Option<&[u8]> {
        loop {
            match self.lines.next_line() {
                Some(Line::Whole(line)) => return Some(self.lines.get(line)),
                Some(Line::TooLong) => {}
                None if self.fill() => {}
                None => return None,
            }
        }
    }

    /// Reads a piece; returns whether anything came.
    fn fill(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        match self.lines.read(stream, SMALL_FILE) {
            Ok(0) => self.is_ended = true,
            Err(error) => self.is_ended |= error.kind() != ErrorKind::WouldBlock,
            Ok(count) => {
                self.read += count as u64;
                return true;
            }
        }
        false
    }

    /// Whether lines, or parts of them, were read and not returned yet.
    pub fn has_more(&self) -> bool {
        !self.lines.incomplete().is_empty()
    }

    /// Tells the program how much was read, so that it rings for the rest.
    pub fn acknowledge(&mut self, has_more: bool) -> bool {
        self.send(&Command::Ack { bytes: self.read, more: has_more })
    }
}

/// Sends bytes; returns how many. A reader that is gone is an error, and no signal: in batch Emacs, that would be
/// fatal.
#[cfg(unix)]
fn send_quietly(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    use rustix::net::{SendFlags, send};
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    // The standard library has set the option for this there.
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    Ok(send(stream, bytes, flags)?)
}

#[cfg(not(unix))]
fn send_quietly(mut stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    io::Write::write(&mut stream, bytes)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};

    use super::*;

    fn channel() -> (Channel, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Channel { stream: Some(ours), ..Channel::default() }, theirs)
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let (mut channel, mut program) = channel();
        for (piece, lines) in [("a", vec![]), ("b\nc\nd", vec!["ab", "c"]), ("\n\n", vec!["d", ""])] {
            program.write_all(piece.as_bytes()).unwrap();
            let mut came = Vec::new();
            while let Some(line) = channel.next_line() {
                came.push(String::from_utf8(line.to_vec()).unwrap());
            }
            assert_eq!(came, lines);
        }
        assert_eq!((channel.read, channel.has_more(), channel.is_ended), (8, false, false));
        drop(program);
        assert!(channel.next_line().is_none() && channel.is_ended);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out() {
        let (mut channel, mut program) = channel();
        let writer = std::thread::spawn(move || {
            program.write_all(&vec![b'x'; LINE + 10 * SMALL_FILE]).unwrap();
            program.write_all(b"\nnext\n").unwrap();
        });
        let line = loop {
            if let Some(line) = channel.next_line() {
                break line.to_vec();
            }
        };
        assert_eq!(line, b"next");
        writer.join().unwrap();
    }

    #[test]
    fn commands_are_kept_until_the_program_takes_them_and_lost_when_it_left() {
        let mut early = Channel::default();
        assert!(early.send(&Command::Search));
        let (mut channel, program) = channel();
        let mut count = 1;
        while !channel.send(&Command::Tell("x".repeat(1_000), true)) {
            count += 1;
        }
        channel.acknowledge(false);
        let mut lines = BufReader::new(&program).lines();
        while channel.flush() {
            lines.next().unwrap().unwrap();
            count -= 1;
        }
        let last = lines.by_ref().nth(count).unwrap().unwrap();
        assert_eq!(last, r#"{"ack":{"bytes":0,"more":false}}"#);
        drop(lines);
        drop(program);
        assert!(!channel.send(&Command::Search));
    }

    #[test]
    fn a_program_that_takes_no_commands_is_given_up() {
        let (mut channel, mut program) = channel();
        while channel.stream.is_some() {
            channel.send(&Command::Tell("x".repeat(SMALL_FILE), true));
        }
        // It ends with its socket, after what it was sent.
        program.read_to_end(&mut Vec::new()).unwrap();
        assert!(channel.next_line().is_none() && !channel.send(&Command::Search));
    }
}
