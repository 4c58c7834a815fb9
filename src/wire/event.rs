//! What the lines of a transcript tell: the events that readers make, and the recorder writes to threads.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Problem;
use crate::events::Millis;
use crate::events::git::GitOperation;
use crate::events::payload::{FileEntry, Refusal};
use crate::events::session::{Context, Cost, Goal};
use crate::events::work::{CallOutcome, Usage};
use crate::list::input::{Options, Plan, SeveralInProgress};
use crate::named::wire_names;
use crate::thread::activity::Background;

wire_names! {
    /// The agents whose transcripts are read. Thread keys begin with these names.
    pub enum Agent {
        /// Claude Code.
        Claude = "claude",
        /// The Codex CLI.
        Codex = "codex",
    }
}

/// The origin of events: a session's main agent or one of its subagents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Source {
    pub agent: Agent,
    pub session: String,
    pub subagent: Option<String>,
    /// The working directory in which it began.
    pub folder: String,
    /// Whether no user looks at it: it prints its answer, and ends.
    pub is_unattended: bool,
    /// The call that started the subagent, if known.
    pub call: Option<SubagentCall>,
}

/// A call that started a subagent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SubagentCall {
    pub id: String,
    /// The subagent's task, in a few words.
    pub description: String,
    /// The key of the caller's thread.
    pub from: String,
}

impl Source {
    /// A session's main agent.
    pub fn main(agent: Agent, session: &str, folder: String) -> Source {
        let session = session.to_owned();
        Source { agent, session, subagent: None, folder, is_unattended: false, call: None }
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

/// A transcript file, however it is named: files are moved and copied.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transcript {
    /// The subagent whose file it is, by the file's name; `None` for the session's own file.
    pub subagent: Option<String>,
    /// The hash of its first line.
    pub first: u64,
}

/// A place in a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Place {
    pub transcript: Arc<Transcript>,
    /// The end of a line in bytes from the file's beginning, without its line feed.
    pub end: u64,
}

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Event {
    pub source: Arc<Source>,
    /// The name of the line, or an empty string.
    pub uuid: String,
    /// The time in the transcript.
    pub time: Option<Millis>,
    /// The line after which it was known, which may be later than its own; `None` if no line tells it.
    /// Reading a file again, from its beginning, yields the same events at the same places.
    pub place: Option<Place>,
    pub kind: EventKind,
}

impl Event {
    /// Whether it is a list that the agent wrote.
    pub fn has_list(&self) -> bool {
        matches!(self.kind, EventKind::List(_) | EventKind::EmacsCall { list: Some(_), .. })
    }

    /// Whether the same line tells this event and `other`.
    pub fn is_of_line_of(&self, other: &Event) -> bool {
        self.place.is_some() && self.place == other.place
    }
}

/// What a call did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Effect {
    pub outcome: Option<CallOutcome>,
    pub exit_code: Option<i64>,
    /// Whether it ran a command, if the tool's name does not tell.
    pub is_command: Option<bool>,
    /// The files that it changed.
    pub files: Vec<FileEntry>,
    /// Whether it changed more files, of which nothing else is known.
    pub more_files: bool,
    /// Whether others wrote files while it ran.
    pub others_wrote: bool,
    /// What it did in Git.
    pub git: Vec<GitOperation>,
    pub refusal: Option<Refusal>,
}

/// A list as an agent sent it, or the reasons to refuse it.
pub type PlanResult = Result<Plan, Vec<Problem>>;

/// See [`Event::kind`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // Fields as in the transcript.
pub enum EventKind {
    /// The session's title.
    Title(String),
    /// The session goes on in this folder.
    Moved(String),
    /// A user's prompt.
    Prompt(String),
    /// A block of thinking.
    Thoughts(String),
    /// A tool call. The arguments are shortened JSON; `None` for a list, which has its own event. `excluded`
    /// is the name in its whole arguments of a file that the user excludes.
    Call { id: String, name: String, input: Option<String>, excluded: Option<String> },
    /// The result of a tool call, of which the same is hidden as of the call.
    Result {
        id: String,
        name: String,
        content: String,
        excluded: Option<String>,
        is_error: bool,
        duration: Option<Millis>,
        effect: Effect,
    },
    /// What the agent says between its calls.
    Message(String),
    /// The tokens of a response, by its name, and how full the context was then. A later event of the same
    /// response replaces them.
    Usage { response: String, usage: Usage, context: Option<Context> },
    /// What became of the goal that the user gave the session.
    Goal(Goal),
    /// What the session cost so far.
    Cost(Cost),
    /// Work of a subagent, which counts for its caller at the moment of the call.
    OfSubagent { subagent: String, call: Option<String>, kind: Box<EventKind> },
    /// The sums of a subagent's work if it has no file.
    SubagentSums { added: u64, removed: u64, edits: u64 },
    /// Something that cannot be read, with the reason.
    Unread(Cow<'static, str>),
    /// The whole list, by the agent's own tools.
    List(PlanResult),
    /// A call of `todo_write` over MCP. An Emacs has most likely answered it, perhaps this one.
    EmacsCall {
        id: String,
        /// When it was made, if its line says.
        called: Option<Millis>,
        /// The whole list; none if the call had no effect, as far as its result says.
        list: Option<PlanResult>,
    },
    /// A turn began or continues.
    TurnBegun,
    /// A turn ended, perhaps with an error. It is told again if less is left of it in the background.
    TurnEnded { error: Option<String>, background: Background },
    /// The user stopped the agent.
    Interrupted,
    /// The turn ended since a permission was denied.
    Denied,
    /// A subagent returned.
    SubagentEnded,
}

impl EventKind {
    /// The end of a turn with nothing in the background.
    pub fn turn_ended(error: Option<String>) -> EventKind {
        EventKind::TurnEnded { error, background: Background::default() }
    }
}

/// The user's options for a reader, which cannot answer the model: only the limits apply.
pub fn lenient(options: Options) -> Options {
    Options { strict: false, several_in_progress: SeveralInProgress::Allow, ..options }
}
