//! A connection to this Emacs' own door, by which a question reaches the user as that of a hook does.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags};
use serde_json::value::RawValue;

use crate::hub::door::Entrance;
use crate::hub::quiet::send_quietly;
use crate::protocol::{self, Answer, Call, Hello, LARGEST, Message, PROTOCOL, Reply, Role};

/// A question to Emacs. Dropping it withdraws the question.
#[derive(Debug)]
pub(super) struct Guest {
    stream: UnixStream,
    /// What is not sent yet.
    output: Vec<u8>,
    input: Vec<u8>,
}

/// What became of a question.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is open.
    Open,
    /// It was answered.
    Answered(Answer),
    /// It cannot be asked, or was withdrawn.
    Ended,
}

impl Guest {
    /// Asks on behalf of a session of Codex, which works in `folder`.
    pub(super) fn ask(
        entrance: &Entrance,
        session: &str,
        folder: Option<&str>,
        arguments: Box<RawValue>,
    ) -> Option<Guest> {
        let hello = Hello {
            protocol: PROTOCOL,
            roles: vec![Role::Permission],
            id: format!("codex-{session}"),
            version: Some(entrance.settings.welcome.version.clone()),
            client: Some("codex-mcp-client".to_owned()),
            project: folder.map(str::to_owned),
            ..Hello::default()
        };
        let call = Call {
            call: 1,
            session: Some(session.to_owned()),
            // The daemon tells when the terminal has answered.
            source: Some("process".to_owned()),
            arguments: Some(arguments),
            ..Call::default()
        };
        let mut output = protocol::line(&Message::Hello(Box::new(hello))).ok()?;
        output.extend(protocol::line(&Message::Call(call)).ok()?);
        let mut guest = Guest { stream: entrance.enter()?, output, input: Vec::new() };
        guest.flush();
        Some(guest)
    }

    /// What is waited for.
    pub(super) fn poll(&self) -> PollFd<'_> {
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, !self.output.is_empty());
        PollFd::new(&self.stream, flags)
    }

    /// Sends what fits. A door that has closed is noticed by reading.
    pub(super) fn flush(&mut self) {
        while !self.output.is_empty() {
            match send_quietly(&self.stream, &self.output) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.output.clear(),
            }
        }
    }

    /// Reads what became of the question.
    pub(super) fn read(&mut self) -> Outcome {
        let mut piece = [0; 4_096];
        loop {
            match (&self.stream).read(&mut piece) {
                Ok(count) if count > 0 && self.input.len() <= LARGEST => self.input.extend(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                _ => return Outcome::Ended,
            }
            while let Some(end) = memchr::memchr(b'\n', &self.input) {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                match serde_json::from_slice(&line) {
                    Ok(Reply::Welcome(_) | Reply::Unknown) => {}
                    Ok(Reply::Answer(answer)) => return Outcome::Answered(answer),
                    _ => return Outcome::Ended,
                }
            }
        }
        Outcome::Open
    }
}
