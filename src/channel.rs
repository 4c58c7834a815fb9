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

use serde::Serialize;

use crate::wire::program::{Command, LARGEST};
use crate::wire::socket::read_more;

/// The number of bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// Maximum number of bytes of commands that are kept. A program that takes none for so long is ended.
const KEPT: usize = 8 * 1024 * 1024;

/// The state of the commands after one was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The program has them.
    Sent,
    /// Some are kept, and are to be flushed again.
    Kept,
    /// Nothing takes them: the program has left, or takes none.
    Lost,
}

/// The connection to a program.
#[derive(Debug, Default)]
pub struct Channel {
    /// `None` before it is connected, and after the program has left.
    stream: Option<UnixStream>,
    input: Vec<u8>,
    /// The beginning of the next line in `input`, and the place up to which no line ends.
    next: usize,
    searched: usize,
    /// The number of bytes read since the beginning.
    read: u64,
    /// Whether the program has closed its side.
    is_ended: bool,
    /// Whether the current line is too long, so that the rest of it is left out.
    is_skipping: bool,
    output: Vec<u8>,
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

    /// Sends a command, or keeps it.
    pub fn send(&mut self, command: &Command) -> Sent {
        if self.is_ended || self.output.len() > KEPT {
            return Sent::Lost;
        }
        write(&mut self.output, command);
        self.flush()
    }

    /// Sends what is kept.
    pub fn flush(&mut self) -> Sent {
        let Some(stream) = &self.stream else {
            return if self.is_ended { Sent::Lost } else { Sent::Kept };
        };
        let mut sent = 0;
        while sent < self.output.len() {
            match send_quietly(stream, &self.output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // What it wrote before it left can still be read.
                Err(_) => {
                    self.output.clear();
                    return Sent::Lost;
                }
            }
        }
        self.output.drain(..sent);
        if self.output.is_empty() { Sent::Sent } else { Sent::Kept }
    }

    /// The next whole line, without its line feed, if all of it came. A line that is too long is left out.
    pub fn next_line(&mut self) -> Option<&[u8]> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.input[self.searched..]) {
                let line = self.next..self.searched + end;
                self.next = line.end + 1;
                self.searched = self.next;
                if !std::mem::take(&mut self.is_skipping) {
                    return Some(&self.input[line]);
                }
                continue;
            }
            self.input.drain(..self.next);
            (self.next, self.searched) = (0, self.input.len());
            if self.input.len() > LARGEST {
                self.is_skipping = true;
            }
            if self.is_skipping {
                self.input.clear();
                self.searched = 0;
            }
            if !self.fill() {
                return None;
            }
        }
    }

    /// Reads a piece; returns whether anything came.
    fn fill(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        match read_more(stream, &mut self.input, PIECE) {
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
        self.next < self.input.len()
    }

    /// Tells the program how much was read, so that it rings for the rest.
    pub fn acknowledge(&mut self, has_more: bool) -> Sent {
        // It is not refused for want of room: without it, the program would never ring again.
        write(&mut self.output, &Command::Ack { bytes: self.read, more: has_more });
        self.flush()
    }
}

fn write(output: &mut Vec<u8>, command: &impl Serialize) {
    let length = output.len();
    // A file whose name is no text cannot be named.
    match serde_json::to_writer(&mut *output, command) {
        Ok(()) => output.push(b'\n'),
        Err(_) => output.truncate(length),
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
    use std::io::{BufRead, BufReader, Write};

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
            program.write_all(&vec![b'x'; LARGEST + 10 * PIECE]).unwrap();
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
        assert_eq!(early.send(&Command::Search), Sent::Kept);
        let (mut channel, program) = channel();
        let mut count = 1;
        while channel.send(&Command::Tell("x".repeat(1_000), true)) == Sent::Sent {
            count += 1;
        }
        channel.acknowledge(false);
        let mut lines = BufReader::new(&program).lines();
        while channel.flush() == Sent::Kept {
            lines.next().unwrap().unwrap();
            count -= 1;
        }
        let last = lines.by_ref().nth(count).unwrap().unwrap();
        assert_eq!(last, r#"{"ack":{"bytes":0,"more":false}}"#);
        drop(lines);
        drop(program);
        assert_eq!(channel.send(&Command::Search), Sent::Lost);
    }
}
