//! A connection of a program: its lines, its answers, and what it may do next.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::hub::quiet::send_quietly;
use crate::protocol::{self, Hello, LARGEST, Reply, Role};

/// The time after which a program that does not read is left.
pub(super) const STALL: Duration = Duration::from_millis(50);
/// The size in bytes of answers that a program has not read, from which on it is left.
const UNREAD: usize = 4 << 20;
/// The number of bytes that are read at once.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: UnixStream,
    pub(super) begun: Instant,
    /// Its roles, once it has said hello.
    pub(super) roles: Option<Vec<Role>>,
    /// By how many milliseconds the program's clock is behind this one's.
    pub(super) skew: i64,
    /// The calls without an answer.
    pub(super) calls: Vec<(u64, Role)>,
    /// Whether a message waits to be taken.
    pub(super) is_untaken: bool,
    /// Its greeting of that size, while the root of its project is looked for, and until when that is awaited.
    pub(super) greeting: Option<(Box<Hello>, usize, Instant)>,
    /// Whether the program has closed the connection. What it sent before can still be read.
    pub(super) is_gone: bool,
    /// Whether all that it sent is read.
    pub(super) is_ended: bool,
    /// Whether the connection ends when the last answer is sent.
    pub(super) is_closing: bool,
    input: Vec<u8>,
    /// The length of the beginning of `input` that has no end of a line.
    searched: usize,
    output: Vec<u8>,
    /// Since when nothing more fits into the socket.
    pub(super) stalled: Option<Instant>,
}

/// What a connection sent.
pub(super) enum Next {
    Line(Vec<u8>),
    /// A line that is too long.
    TooLong,
    /// No whole line.
    Nothing,
}

impl Connection {
    pub(super) fn new(stream: UnixStream) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        Ok(Connection {
            stream,
            begun: Instant::now(),
            roles: None,
            skew: 0,
            calls: Vec::new(),
            is_untaken: false,
            greeting: None,
            is_gone: false,
            is_ended: false,
            is_closing: false,
            input: Vec::new(),
            searched: 0,
            output: Vec::new(),
            stalled: None,
        })
    }

    /// Whether the next line must wait.
    pub(super) fn is_busy(&self) -> bool {
        let waits = |(_, role): &(u64, Role)| *role != Role::Permission;
        self.is_untaken || self.greeting.is_some() || self.is_closing || self.calls.iter().any(waits)
    }

    /// The size of what was read and is no message yet.
    pub(super) fn incomplete(&self) -> usize {
        self.input.len()
    }

    pub(super) fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Reads a piece of what was sent.
    pub(super) fn read(&mut self) {
        let length = self.input.len();
        self.input.resize(length + PIECE, 0);
        let read = loop {
            match self.stream.read(&mut self.input[length..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.input.truncate(length + read.as_ref().map_or(0, |count| *count));
        match read {
            Ok(0) => self.is_ended = true,
            // A program that left sends nothing more.
            Err(error) => self.is_ended = self.is_gone || error.kind() != ErrorKind::WouldBlock,
            Ok(_) => {}
        }
    }

    /// The next line, without its end.
    pub(super) fn next(&mut self) -> Next {
        match memchr::memchr(b'\n', &self.input[self.searched..]) {
            Some(place) if self.searched + place > LARGEST => Next::TooLong,
            Some(place) => {
                let rest = self.input.split_off(self.searched + place + 1);
                let mut line = std::mem::replace(&mut self.input, rest);
                line.pop();
                self.searched = 0;
                Next::Line(line)
            }
            None if self.input.len() > LARGEST => Next::TooLong,
            None => {
                self.searched = self.input.len();
                Next::Nothing
            }
        }
    }

    /// Sends a message; one that does not fit is sent later.
    pub(super) fn send(&mut self, reply: &Reply) {
        if !self.is_closing
            && let Ok(line) = protocol::line(reply)
        {
            self.output.extend(line);
        }
        self.flush();
    }

    /// Sends a sentence, and nothing after it.
    pub(super) fn refuse(&mut self, text: &str) {
        let text = text.chars().take(300).collect();
        self.send(&Reply::Refused(protocol::Refused { text }));
        self.is_closing = true;
        self.input = Vec::new();
    }

    /// Sends what fits into the socket.
    pub(super) fn flush(&mut self) {
        let mut sent = 0;
        while sent < self.output.len() {
            match send_quietly(&self.stream, &self.output[sent..]) {
                Ok(count) => {
                    sent += count;
                    self.stalled = None;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stalled.get_or_insert_with(Instant::now);
                    break;
                }
                Err(_) => {
                    // What the program sent before it left may still be read.
                    self.is_gone = true;
                    sent = self.output.len();
                }
            }
        }
        self.output.drain(..sent);
        if self.output.is_empty() {
            self.output.shrink_to(PIECE);
            self.stalled = None;
        }
    }

    /// Whether the program does not read its answers.
    pub(super) fn is_stalled(&self, now: Instant) -> bool {
        self.output.len() > UNREAD || self.stalled.is_some_and(|since| now >= since + STALL)
    }
}
