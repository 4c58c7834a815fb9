//! Claude Code's transcripts.
//!
//! A session is a file of JSON lines. A tool call is a line of the assistant, its result a line of
//! the user. Lists come from `TodoWrite`, which passes a whole list, and from `TaskCreate` and
//! `TaskUpdate` of later versions, which build one. Lines of subagents are marked as a side chain.
//!
//! - A call takes effect when its result comes, which is within milliseconds, and none if the
//!   result is a refusal. Hooks of the user may delay or refuse a call, so no clock decides: a call
//!   without a result takes effect when the same agent goes on with its next message.
//! - Subagents' files repeat lines of their session: a line and a call count once.

pub mod files;
pub mod line;
mod prefilter;
pub mod prompt;
mod sources;
pub mod tasks;

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::describe::title;
use super::events::Events;
use super::field::{millis, shortened};
use super::recent::Recent;
use super::{Event, EventKind, NO_EMACS, Source};
use crate::clock::Millis;
use crate::input::{self, Options, Plan, Problem, SeveralInProgress};
use crate::raw::Raw;
use crate::text::excerpt;
use line::{Block, Line, Message, ToolUseResult};
use prefilter::{Relevance, relevance};
use prompt::{inside, prompt};
use sources::{Sources, Title};
use tasks::{Task, TaskResult, TaskUpdate};

/// Calls of either kind that wait for their result, at most.
const PENDING: usize = 512;

/// The sessions in a file and their subagents, as far as it was read.
#[derive(Debug)]
pub struct ClaudeReader {
    options: Options,
    sources: Sources,
    /// Lines, calls and results that were read.
    seen: Recent,
    /// Calls without a result that will change a list.
    lists: VecDeque<PendingCall>,
    /// Those that will not.
    others: VecDeque<PendingCall>,
    /// Subagents that came back, or the calls that started them, and when.
    came_back: VecDeque<(String, Option<Millis>)>,
    /// The time of the last line of a main agent.
    time: Option<Millis>,
    /// Whether the main agent's turn ended.
    is_idle: bool,
    /// A session's title that stands before its first line.
    early_title: Option<(String, Title, String)>,
    events: Events,
}

/// A call without a result.
#[derive(Debug)]
struct PendingCall {
    id: String,
    name: String,
    source: Arc<Source>,
    /// The message of the model that it is part of.
    message: String,
    time: Option<Millis>,
    effect: Effect,
}

type List = Result<Plan, Vec<Problem>>;

/// What a call will do.
#[derive(Debug)]
enum Effect {
    List(List),
    /// A list for the Emacs that answers; if it does, it has the list already.
    EmacsList(List),
    Create(TaskUpdate),
    Update(TaskUpdate),
    ReadTasks,
    Subagent,
    Other,
}

/// Where a line comes from; part of each of its events.
struct Place<'l> {
    source: Arc<Source>,
    uuid: &'l str,
    time: Option<Millis>,
    /// Whether the session clears a list of tasks that are all completed: the terminal interface
    /// does, print mode does not.
    clears: bool,
}

/// A tool's result.
struct ToolResult<'l> {
    id: &'l str,
    content: String,
    is_error: bool,
    fields: Option<&'l RawValue>,
}

impl ClaudeReader {
    /// A reader for a file of which nothing was read yet. The user's limits apply, but not what
    /// only teaches the model: it cannot be told. The newest `history` events are kept until they
    /// are taken.
    pub fn new(options: Options, history: usize) -> ClaudeReader {
        let options = Options { strict: false, several_in_progress: SeveralInProgress::Allow, ..options };
        ClaudeReader {
            options,
            sources: Sources::default(),
            seen: Recent::default(),
            lists: VecDeque::new(),
            others: VecDeque::new(),
            came_back: VecDeque::new(),
            time: None,
            is_idle: false,
            early_title: None,
            events: Events::new(history),
        }
    }

    /// The session of the last line of a main agent.
    pub fn session(&self) -> Option<&Arc<Source>> {
        self.sources.last()
    }

    /// The events since the last call, oldest first.
    ///
    /// Subagents that came back are last: the file of a subagent is read after the one that tells
    /// of its end.
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut events = self.events.take();
        for (id, time) in std::mem::take(&mut self.came_back) {
            if let Some(source) = self.sources.come_back(&id) {
                events.push(Event { source, uuid: String::new(), time, kind: EventKind::CameBack });
            }
        }
        events
    }

    /// Takes a line without its line feed.
    pub fn line(&mut self, bytes: &[u8]) {
        let Some(line) = Line::parse(bytes) else { return };
        let time = self.date(&line);
        self.title(&line, time);
        if !matches!(line.kind, Some("user" | "assistant" | "system" | "result")) {
            return;
        }
        let Some(source) = self.sources.of(&line) else { return };
        let uuid = line.uuid.unwrap_or_default();
        if !uuid.is_empty() && !self.seen.insert(&source.session, "line", uuid) {
            return;
        }
        let clears = !line.entrypoint.is_some_and(|entrypoint| entrypoint.starts_with("sdk"));
        let place = Place { source, uuid, time, clears };
        if let Some((_, kind, title)) =
            self.early_title.take_if(|(session, ..)| *session == place.source.session)
        {
            self.entitle(&place, kind, title);
        }
        match (line.kind, line.message) {
            (Some("system"), _) if line.subtype == Some("turn_duration") => self.end_turn(&place, None),
            (Some("result"), _) => {
                let error = line.result.filter(|_| line.is_error == Some(true));
                self.end_turn(&place, error.map(|error| excerpt(&error.0, 200)));
            }
            (Some("user"), Some(message)) => {
                let is_prompt = line.is_meta != Some(true) && line.is_compact_summary != Some(true);
                self.user_message(&place, &message, line.tool_use_result, is_prompt);
            }
            (Some("assistant"), Some(message)) if line.is_api_error_message == Some(true) => {
                let text = message.blocks().into_iter().find_map(|block| block.text);
                self.end_turn(&place, text.map(|text| excerpt(&text.0, 200)));
            }
            (Some("assistant"), Some(message)) => self.assistant_message(&place, &message),
            _ => {}
        }
    }

    /// The time of a line. One without a timestamp, such as a title, has the time of the line
    /// before it; at the head of the file, of the next one.
    fn date(&mut self, line: &Line<'_>) -> Option<Millis> {
        let Some(time) = line.timestamp.and_then(millis) else { return self.time };
        if line.is_sidechain != Some(true) && self.time.replace(time).is_none() {
            self.events.date(time);
        }
        Some(time)
    }

    fn title(&mut self, line: &Line<'_>, time: Option<Millis>) {
        let Some(session) = line.session_id else { return };
        let (kind, title) = match (&line.custom_title, &line.ai_title) {
            (Some(title), _) => (Title::Custom, excerpt(&title.0, 100)),
            (None, Some(title)) => (Title::Own, excerpt(&title.0, 100)),
            (None, None) => return,
        };
        match self.sources.main(session) {
            Some(source) => self.entitle(&Place { source, uuid: "", time, clears: false }, kind, title),
            None => self.early_title = Some((session.to_owned(), kind, title)),
        }
    }

    fn entitle(&mut self, place: &Place<'_>, kind: Title, title: String) {
        if self.sources.entitle(&place.source, kind) {
            self.emit(place, EventKind::Title(title));
        }
    }

    /// Takes the title that the user gave the session, from a file beside the transcript.
    pub fn set_custom_title(&mut self, title: &str) {
        if let Some(source) = self.session().cloned() {
            let place = Place { source, uuid: "", time: self.time, clears: false };
            self.entitle(&place, Title::Custom, excerpt(title, 100));
        }
    }

    /// Takes the session's tasks from their files, the newest of which changed at `time`.
    pub fn set_tasks(&mut self, files: Vec<Task>, time: Option<Millis>) {
        let Some(source) = self.session().cloned() else { return };
        let Some(tasks) = self.sources.tasks(&source) else { return };
        // A list that is done is cleared, but stays visible here until the next one begins.
        if files.iter().all(Task::is_internal) && tasks.are_done() {
            return;
        }
        let time = time.max(self.time);
        if tasks.reset(files, time) {
            let list = tasks.plan(&self.options);
            self.emit(&Place { source, uuid: "", time, clears: false }, EventKind::List(list));
        }
    }

    /// Notes which call started a subagent.
    pub fn set_call(&mut self, subagent: &str, call: &str) {
        self.sources.set_call(subagent, call);
    }

    /// Notes that a subagent, or the one that a call started, came back.
    pub fn set_back(&mut self, id: &str, time: Option<Millis>) {
        if self.came_back.len() == PENDING {
            self.came_back.pop_front();
        }
        self.came_back.push_back((id.to_owned(), time));
    }

    /// Takes a line far from the end of a large file: lists come out as from
    /// [`ClaudeReader::line`], other events may not.
    pub fn old_line(&mut self, bytes: &[u8]) {
        // A result, the first prompt or the beginning of a turn can be any line.
        if !self.lists.is_empty() || !self.sources.have_titles() || self.is_idle {
            return self.line(bytes);
        }
        match relevance(bytes) {
            Relevance::Parse => self.line(bytes),
            Relevance::Link { uuid, parent } => drop(self.sources.link(uuid, Some(parent))),
            Relevance::Nothing => {}
        }
    }

    fn emit(&mut self, place: &Place<'_>, kind: EventKind) {
        let event =
            Event { source: place.source.clone(), uuid: place.uuid.to_owned(), time: place.time, kind };
        match event.source.subagent {
            None => self.events.push(event),
            Some(_) => self.sources.hold(event, &mut self.events),
        }
    }

    fn end_turn(&mut self, place: &Place<'_>, error: Option<String>) {
        self.is_idle |= place.source.subagent.is_none();
        self.emit(place, EventKind::TurnEnded { error });
    }

    fn user_message(
        &mut self,
        place: &Place<'_>,
        message: &Message<'_>,
        fields: Option<&RawValue>,
        is_prompt: bool,
    ) {
        let blocks = message.blocks();
        let results = blocks.iter().filter(|block| block.tool_use_id.is_some()).count();
        let fields = fields.filter(|_| results == 1);
        for block in blocks {
            match (block.kind, block.tool_use_id, block.text) {
                (Some("tool_result"), Some(id), _) => {
                    let content = block.content.map(|content| content.0).unwrap_or_default();
                    let is_error = block.is_error == Some(true);
                    self.result(place, ToolResult { id, content, is_error, fields });
                }
                (Some("text"), _, Some(text)) => self.user_text(place, &text.0, is_prompt),
                _ => {}
            }
        }
    }

    fn user_text(&mut self, place: &Place<'_>, text: &str, is_prompt: bool) {
        if text.starts_with("[Request interrupted by user") {
            self.is_idle |= place.source.subagent.is_none();
            return self.emit(place, EventKind::Interrupted);
        }
        if text.starts_with("<task-notification>") && inside(text, "status").is_some() {
            let names = ["tool-use-id", "task-id"].into_iter().filter_map(|tag| inside(text, tag));
            names.for_each(|name| self.set_back(name, place.time));
        }
        if let Some(prompt) = prompt(text).filter(|_| is_prompt) {
            self.is_idle &= place.source.subagent.is_some();
            match title(&prompt) {
                Some(title) => self.entitle(place, Title::Prompt, title),
                None => drop(self.sources.entitle(&place.source, Title::Command)),
            }
            self.emit(place, EventKind::Prompt(prompt));
        }
    }

    fn assistant_message(&mut self, place: &Place<'_>, message: &Message<'_>) {
        let id = message.id.unwrap_or_default();
        let is_end = message.stop_reason == Some("end_turn");
        if self.is_idle && place.source.subagent.is_none() && !is_end {
            self.is_idle = false;
            self.emit(place, EventKind::TurnBegun);
        }
        self.settle_before(place, id);
        message.blocks().into_iter().for_each(|block| self.assistant_block(place, id, block));
        if is_end {
            self.end_turn(place, None);
        }
    }

    fn assistant_block(&mut self, place: &Place<'_>, message: &str, block: Block<'_>) {
        match (block.kind, block.id, block.name) {
            (Some("thinking"), ..) => {
                let text = block.thinking.map(|thinking| thinking.0).unwrap_or_default();
                if !text.trim().is_empty() {
                    self.emit(place, EventKind::Thoughts(text));
                }
            }
            (Some("tool_use"), Some(id), Some(name))
                if self.seen.insert(&place.source.session, "call", id) =>
            {
                self.call(place, message, (id, name), &block.input.unwrap_or(Raw::Null));
            }
            _ => {}
        }
    }

    fn call(&mut self, place: &Place<'_>, message: &str, (id, name): (&str, &str), input: &Raw<'_>) {
        let list = || input::read(input, &self.options);
        let effect = match name {
            "TodoWrite" => Effect::List(list()),
            "TaskCreate" => Effect::Create(TaskUpdate::read(input)),
            "TaskUpdate" => Effect::Update(TaskUpdate::read(input)),
            "TaskList" => Effect::ReadTasks,
            "Task" | "Agent" => {
                self.sources.start(&place.source, id, input);
                Effect::Subagent
            }
            _ if name.starts_with("mcp__") && name.ends_with("__todo_write") => Effect::EmacsList(list()),
            _ => Effect::Other,
        };
        let (id, name) = (excerpt(id, 200), excerpt(name, 200));
        let is_list = matches!(effect, Effect::List(_) | Effect::EmacsList(_));
        let text = (!is_list).then(|| shortened(input).to_string());
        self.emit(place, EventKind::Call { id: id.clone(), name: name.clone(), input: text });
        let (source, time) = (place.source.clone(), place.time);
        let queue = match effect {
            Effect::Subagent | Effect::Other => &mut self.others,
            _ => &mut self.lists,
        };
        if queue.len() == PENDING {
            queue.pop_front();
        }
        queue.push_back(PendingCall { id, name, source, message: message.to_owned(), time, effect });
    }

    fn result(&mut self, place: &Place<'_>, result: ToolResult<'_>) {
        if !self.seen.insert(&place.source.session, "result", result.id) {
            return;
        }
        let call = [&mut self.lists, &mut self.others]
            .into_iter()
            .find_map(|queue| queue.remove(queue.iter().rposition(|call| call.id == result.id)?));
        let (name, time) = call.as_ref().map_or((String::new(), None), |call| (call.name.clone(), call.time));
        let fields = call.as_ref().and(result.fields).map(ToolUseResult::read).unwrap_or_default();
        let details = TaskResult { text: &result.content, fields: &fields, time: place.time };
        let is_error = result.is_error || call.is_some() && details.is_refusal();
        match call.map(|call| call.effect) {
            // A subagent in the background has only begun.
            Some(Effect::Subagent) if is_error || !result.content.starts_with("Async agent launched") => {
                self.set_back(result.id, place.time);
            }
            Some(Effect::EmacsList(list)) if NO_EMACS.iter().any(|text| result.content.starts_with(text)) => {
                self.emit(place, EventKind::List(list));
            }
            Some(Effect::EmacsList(_)) => {}
            Some(effect) if !is_error || details.is_not_found() => self.settle(place, effect, details),
            _ => {}
        }
        let duration = place.time.zip(time).map(|(end, start)| end.saturating_sub(start));
        let (id, content) = (excerpt(result.id, 200), result.content);
        self.emit(place, EventKind::Result { id, name, content, is_error, duration });
    }

    /// Lets a call take effect.
    fn settle(&mut self, place: &Place<'_>, effect: Effect, result: TaskResult<'_>) {
        if let Effect::List(list) = effect {
            // A hook may have changed the list.
            let list = match &result.fields.new_todos {
                Some(todos @ Raw::List(_)) => input::read(todos, &self.options),
                _ => return self.emit(place, EventKind::List(list)),
            };
            return self.emit(place, EventKind::List(list));
        }
        // Subagents work on the tasks of their session: there is one list for all of them.
        let Some(source) = self.sources.main(&place.source.session) else { return };
        let Some(tasks) = self.sources.tasks(&source) else { return };
        let is_changed = match effect {
            Effect::Create(update) => {
                tasks.create(update, result, place.clears);
                true
            }
            Effect::Update(update) => {
                tasks.update(update, result);
                true
            }
            Effect::ReadTasks => tasks.list(result),
            Effect::List(_) | Effect::EmacsList(_) | Effect::Subagent | Effect::Other => false,
        };
        if is_changed {
            let list = tasks.plan(&self.options);
            self.emit(&Place { source, ..*place }, EventKind::List(list));
        }
    }

    /// Lets the calls of earlier messages take effect whose result never came.
    fn settle_before(&mut self, place: &Place<'_>, message: &str) {
        if message.is_empty() {
            return;
        }
        let is_due = |call: &PendingCall| call.source == place.source && call.message != message;
        while let Some(at) = self.lists.iter().position(is_due) {
            if let Some(call) = self.lists.remove(at) {
                let result = TaskResult { text: "", fields: &ToolUseResult::default(), time: place.time };
                self.settle(place, call.effect, result);
            }
        }
    }
}
