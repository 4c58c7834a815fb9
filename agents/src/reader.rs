//! The reader of a transcript, by the program that wrote it.

use std::sync::Arc;

use crate::claude::ClaudeReader;
use crate::codex::subagent::Sent;
use crate::codex::{self, CodexReader};
use crate::events::Events;
use todo_write::list::input::Options;
use todo_write::wire::event::{Event, Source};

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

    /// Its events that were not taken yet, and how lines are read.
    pub(crate) fn events(&mut self) -> &mut Events {
        match self {
            Reader::Claude(reader) => &mut reader.events,
            Reader::Codex(reader) => &mut reader.events,
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

    pub(crate) fn session(&self) -> Option<&Arc<Source>> {
        match self {
            Reader::Claude(reader) => reader.session(),
            Reader::Codex(reader) => reader.session(),
        }
    }

    /// The events since the last call, oldest first.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        match self {
            Reader::Claude(reader) => reader.take_events(),
            Reader::Codex(reader) => reader.events.take(),
        }
    }
}
