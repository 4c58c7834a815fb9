//! The reader of a transcript, by the program that wrote it.

use std::sync::Arc;

use crate::claude::ClaudeReader;
use crate::codex::subagent::Sent;
use crate::codex::{self, CodexReader};
use todo_write::events::policy::Policy;
use todo_write::list::input::Options;
use todo_write::wire::event::{Event, Place, Source};

#[derive(Debug)]
pub(crate) enum Reader {
    Claude(Box<ClaudeReader>),
    Codex(Box<CodexReader>),
}

impl Reader {
    /// A reader for the transcript whose first line is `line`.
    pub(crate) fn of(line: &[u8], options: Options) -> Reader {
        if codex::line::RolloutLine::is_first(line) {
            return Reader::Codex(Box::new(CodexReader::new(options)));
        }
        Reader::Claude(Box::new(ClaudeReader::new(options)))
    }

    /// Sets what may be recorded of the calls in the next lines.
    pub(crate) fn set_policy(&mut self, policy: &Policy) {
        match self {
            Reader::Claude(reader) => reader.policy.clone_from(policy),
            Reader::Codex(reader) => reader.policy.clone_from(policy),
        }
    }

    /// Sets the line that is read next; `None` before events that no line tells.
    pub(crate) fn set_place(&mut self, place: Option<Place>) {
        match self {
            Reader::Claude(reader) => reader.events.place = place,
            Reader::Codex(reader) => reader.events.place = place,
        }
    }

    /// Reads a line, without its line feed.
    pub(crate) fn read_line(&mut self, bytes: &[u8]) {
        match self {
            Reader::Claude(reader) => reader.read_line(bytes),
            Reader::Codex(reader) => reader.read_line(bytes),
        }
    }

    /// The subagents of Codex of which the lines read since the last call told.
    pub(super) fn take_sent(&mut self) -> Vec<Sent> {
        match self {
            Reader::Claude(_) => Vec::new(),
            Reader::Codex(reader) => reader.take_sent(),
        }
    }

    /// The number of lines since the last call that could not be read in full.
    pub(crate) fn take_unreadable(&mut self) -> u64 {
        std::mem::take(match self {
            Reader::Claude(reader) => &mut reader.unreadable,
            Reader::Codex(reader) => &mut reader.unreadable,
        })
    }

    pub(crate) fn session(&self) -> Option<&Arc<Source>> {
        match self {
            Reader::Claude(reader) => reader.session(),
            Reader::Codex(reader) => reader.session(),
        }
    }

    /// The events of the lines read since the last call, while the rest of the file is yet to be read. The
    /// ends of subagents, whose files are not read yet, are not among them.
    pub(crate) fn take_first_events(&mut self) -> Vec<Event> {
        match self {
            Reader::Claude(reader) => reader.events.take(),
            Reader::Codex(reader) => reader.take_events(),
        }
    }

    /// The events since the last call, oldest first.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        match self {
            Reader::Claude(reader) => reader.take_events(),
            Reader::Codex(reader) => reader.take_events(),
        }
    }
}
