//! The transcripts that coding agents keep of their sessions: lines in, events out, events into
//! threads.
//!
//! [`tail`] reads what was appended to a file, a [`Reader`] of the agent turns its lines into
//! [`Event`]s, [`recorder`] brings these into the store, and [`follower`] joins the three for a
//! session. [`describe`] tells what a session is without reading all of it.
//!
//! A line that the reader does not know is skipped, and everything kept here is bounded: the file
//! may hold anything.

pub mod claude;
pub mod codex;
pub mod describe;
mod events;
pub mod field;
pub mod follower;
mod recent;
pub mod recorder;
pub mod tail;

use std::sync::Arc;

use crate::clock::Millis;
use crate::input::{Options, Plan, Problem};
use crate::wire::wire_names;
use claude::ClaudeReader;
use codex::CodexReader;

wire_names! {
    /// The agents whose transcripts are read; the names begin the keys of their threads.
    pub enum Agent {
        /// Claude Code.
        Claude = "claude",
        /// The Codex CLI.
        Codex = "codex",
    }
}

/// A session, or a subagent in it: where events come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The program.
    pub agent: Agent,
    /// The session's id.
    pub session: String,
    /// The subagent's id.
    pub subagent: Option<String>,
    /// The working directory.
    pub folder: String,
    /// The call that started the subagent, where it is known.
    pub call: Option<SubagentCall>,
}

/// A call that started a subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentCall {
    /// The id of the call.
    pub id: String,
    /// The subagent's task, in a few words.
    pub description: String,
    /// The key of the thread that made the call.
    pub from: String,
}

impl Source {
    /// A session's main agent.
    pub fn main(agent: Agent, session: &str, folder: String) -> Source {
        Source { agent, session: session.to_owned(), subagent: None, folder, call: None }
    }

    /// The key of its thread: `claude:SESSION` or `claude:SESSION/SUBAGENT`.
    pub fn key(&self) -> String {
        match &self.subagent {
            None => self.session_key(),
            Some(subagent) => format!("{}/{subagent}", self.session_key()),
        }
    }

    /// The key of the main agent's thread.
    pub fn session_key(&self) -> String {
        format!("{}:{}", self.agent.as_str(), self.session)
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where.
    pub source: Arc<Source>,
    /// Names the line it comes from; empty where the line has no name.
    pub uuid: String,
    /// When, by the transcript.
    pub time: Option<Millis>,
    /// What.
    pub kind: EventKind,
}

/// See [`Event::kind`].
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Fields as in the transcript.
pub enum EventKind {
    /// The session's title.
    Title(String),
    /// A user's prompt.
    Prompt(String),
    /// A block of thoughts.
    Thoughts(String),
    /// A tool call; the arguments are JSON, shortened, and absent where they are a list.
    Call { id: String, name: String, input: Option<String> },
    /// Its result.
    Result { id: String, name: String, content: String, is_error: bool, duration: Option<Millis> },
    /// Something that cannot be read, and why.
    Unread(&'static str),
    /// The whole list now, or why it cannot be taken.
    List(Result<Plan, Vec<Problem>>),
    /// A turn began, or goes on.
    TurnBegun,
    /// A turn ended, with an error if there is one.
    TurnEnded { error: Option<String> },
    /// The user stopped the agent.
    Interrupted,
    /// A subagent came back.
    CameBack,
}

/// Turns the lines of a transcript into events.
#[derive(Debug)]
pub enum Reader {
    /// Of Claude Code's.
    Claude(Box<ClaudeReader>),
    /// Of the Codex CLI's.
    Codex(Box<CodexReader>),
}

/// Results of `todo_write` by MCP where no Emacs took the list.
const NO_EMACS: [&str; 2] = ["Emacs does not answer", "This Emacs has no todo-write"];

impl Reader {
    /// A reader for the transcript that begins with `line`. The user's limits apply; the newest
    /// `history` events are kept until they are taken.
    pub fn of(line: &[u8], options: Options, history: usize) -> Reader {
        if codex::line::Line::is_first(line) {
            return Reader::Codex(Box::new(CodexReader::new(options, history)));
        }
        Reader::Claude(Box::new(ClaudeReader::new(options, history)))
    }

    /// Takes a line without its line feed.
    pub fn line(&mut self, bytes: &[u8]) {
        match self {
            Reader::Claude(reader) => reader.line(bytes),
            Reader::Codex(reader) => reader.line(bytes),
        }
    }

    /// Takes a line far from the end of a large file: only lists and titles count.
    pub fn old_line(&mut self, bytes: &[u8]) {
        match self {
            Reader::Claude(reader) => reader.old_line(bytes),
            Reader::Codex(reader) => reader.old_line(bytes),
        }
    }

    /// The session of the last line.
    pub fn session(&self) -> Option<&Arc<Source>> {
        match self {
            Reader::Claude(reader) => reader.session(),
            Reader::Codex(reader) => reader.session(),
        }
    }

    /// The events since the last call, oldest first.
    pub fn take_events(&mut self) -> Vec<Event> {
        match self {
            Reader::Claude(reader) => reader.take_events(),
            Reader::Codex(reader) => reader.take_events(),
        }
    }
}
