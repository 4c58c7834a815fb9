//! Claude Code's transcripts.
//!
//! A session is a file of JSON lines. An assistant line holds a tool call, a user line its result.
//! `TodoWrite` passes a whole list; `TaskCreate` and `TaskUpdate` of later versions build one. Lines
//! of subagents are marked as a side chain.
//!
//! - A call takes effect with its result, unless the result is a refusal.
//! - The files of subagents repeat lines of their session. Each line and each call counts once.

pub(crate) mod edits;
mod figures;
pub mod files;
pub(crate) mod line;
mod outcomes;
pub mod process_files;
mod prompts;
mod sources;
pub(crate) mod tasks;
mod tools;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::events::{Events, Goals, PendingCalls, RecentNames, push_recent};
use crate::field::{LONGEST, LONGEST_OUTPUT, folder, is_true, millis, number, text, texts};
use line::{
    all_text, blocks, goal, is_known, is_of_model, is_of_user, kind, message, parse, tagged, text_of,
};
use outcomes::refused_by;
use prompts::SlashCommand;
use sources::{Sources, TitleSource};
use tasks::Task;
use todo_write::events::Millis;
use todo_write::events::payload::RefusedBy;
use todo_write::events::session::Cost;
use todo_write::events::work::Usage;
use todo_write::list::input::Options;
use todo_write::list::raw::Raw;
use todo_write::text::excerpt;
use todo_write::thread::activity::Background;
use todo_write::wire::event::{Event, EventKind, Place, Source, lenient};
use tools::ToolCall;

/// The version from which on subagents have their files in a folder of their session.
const SUBAGENTS_APART: [u32; 3] = [2, 1, 2];

/// Reads the transcript of a session and those of its subagents.
#[derive(Debug, Default)]
pub struct ClaudeReader {
    options: Options,
    sources: Sources,
    /// The lines, calls and results read so far.
    seen: RecentNames,
    calls: PendingCalls<ToolCall>,
    /// The ids of subagents that returned, or of the calls that started them, with the times and places.
    ended_subagents: VecDeque<(String, Option<Millis>, Option<Place>)>,
    /// The time of the last line of a main agent.
    time: Option<Millis>,
    /// Whether the main agent's turn ended.
    is_idle: bool,
    /// The names of commands of the main agent that run in the background, and how many subagents do.
    commands: VecDeque<String>,
    subagents: u32,
    /// Whether the last event of the main agent's turn is that it ended well.
    has_ended_well: bool,
    /// Whether the last line said that the next one is a command that no model reads, such as `/clear`.
    is_command_local: bool,
    /// The user's last command, which is a prompt if the model answers before the next one.
    command: Option<SlashCommand>,
    /// Whether the last call of the main agent was denied.
    is_denied: bool,
    /// Whether a version wrote lines whose subagents have their files beside the transcript.
    pub(super) has_subagents_beside: bool,
    /// The responses whose tokens may still grow.
    responses: VecDeque<(String, Usage)>,
    goals: Goals,
    /// The title of a session whose first line was not read yet.
    early_title: Option<(String, TitleSource, String)>,
    pub(super) events: Events,
}

struct Origin<'l> {
    source: Arc<Source>,
    uuid: &'l str,
    time: Option<Millis>,
    /// Whether the session clears a completed list: only the terminal interface does.
    clears: bool,
    /// Whether a fork copied the line. A fork begins without the tasks of its session.
    is_copied: bool,
    /// The version of Claude Code that wrote the line, if that says so.
    version: Option<[u32; 3]>,
    refused_by: Option<RefusedBy>,
}

impl Origin<'_> {
    /// The origin of an event that no line has.
    fn beside(source: Arc<Source>, time: Option<Millis>) -> Origin<'static> {
        Origin { source, uuid: "", time, clears: false, is_copied: false, version: None, refused_by: None }
    }

    fn event(&self, source: Arc<Source>, kind: EventKind) -> Event {
        Event { source, uuid: self.uuid.to_owned(), time: self.time, place: None, kind }
    }
}

impl ClaudeReader {
    /// A reader of a session's lines.
    pub fn new(options: Options) -> ClaudeReader {
        ClaudeReader { options: lenient(options), ..ClaudeReader::default() }
    }

    /// The session of the last line of a main agent.
    pub fn session(&self) -> Option<&Arc<Source>> {
        self.sources.last()
    }

    /// The events since the last call, oldest first.
    ///
    /// The ends of subagents come last, because a subagent's file is read after the session's file,
    /// which reports the end.
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut events = self.events.take();
        for (id, time, place) in std::mem::take(&mut self.ended_subagents) {
            if let Some(source) = self.sources.end_subagent(&id) {
                let (uuid, kind) = (String::new(), EventKind::SubagentEnded);
                events.push(Event { source, uuid, time, place, kind });
            }
        }
        events
    }

    /// Reads a line, without its line feed.
    pub fn read_line(&mut self, bytes: &[u8]) {
        let mut whole = Vec::new();
        let line = parse(bytes, &mut whole);
        self.events.unreadable += u64::from(!line.as_ref().is_some_and(is_known));
        if let Some(line) = &line {
            self.line(line);
        }
    }

    fn line(&mut self, line: &Raw<'_>) {
        let time = self.date(line);
        self.title(line, time);
        if let Some(source) = self.sources.main(text(line, "sessionId")) {
            let folder = folder(line, "relocatedCwd");
            if !folder.is_empty() {
                self.emit(&Origin::beside(source.clone(), time), EventKind::Moved(folder));
            }
            let cost = line.get("totalCostUSD").and_then(|cost| cost.to_json().as_f64());
            // A session in which nothing was asked has cost nothing.
            if let Some(cost) = cost.filter(|cost| *cost > 0.0).and_then(|cost| Cost::new(cost, "USD")) {
                self.emit(&Origin::beside(source, time), EventKind::Cost(cost));
            }
        }
        let goal = line.get("attachment").and_then(|told| goal(told, self.goals.goal.as_ref()));
        let kind = text(line, "type");
        if goal.is_none() && !matches!(kind, "user" | "assistant" | "system" | "result") {
            return;
        }
        let Some(source) = self.sources.of(line) else { return };
        let uuid = text(line, "uuid");
        if !uuid.is_empty() && !self.seen.insert(&source.session, "line", uuid) {
            return;
        }
        let clears = !text(line, "entrypoint").starts_with("sdk");
        // In the lines that a fork copies, that is the session from which it was forked.
        let asked_by = text(line, "requestSessionId");
        let is_copied = !asked_by.is_empty() && asked_by != source.session;
        let version = line.get("version").and_then(Raw::as_str).map(version_of);
        self.has_subagents_beside |= version.is_none_or(|version| version < SUBAGENTS_APART);
        let denial = text(line, "toolDenialKind");
        let refused_by = refused_by(denial);
        let origin = Origin { source, uuid, time, clears, is_copied, version, refused_by };
        if let Some((_, kind, title)) =
            self.early_title.take_if(|(session, ..)| *session == origin.source.session)
        {
            self.set_title(&origin, kind, title);
        }
        if let Some(goal) = goal.filter(|_| origin.source.subagent.is_none()) {
            let told = self.goals.set(goal, self.turn_ended(None));
            return told.for_each(|kind| self.emit(&origin, kind));
        }
        let message = message(line);
        match kind {
            "system" if text(line, "subtype") == "turn_duration" => {
                if origin.source.subagent.is_none() {
                    let count = number(line, "pendingBackgroundAgentCount");
                    self.subagents = count.and_then(|count| count.try_into().ok()).unwrap_or_default();
                }
                self.end_turn(&origin, None);
            }
            "result" => {
                let error =
                    Some(text(line, "result")).filter(|error| is_true(line, "is_error") && !error.is_empty());
                self.end_turn(&origin, error.map(|error| excerpt(error, 200)));
            }
            _ if *message == Raw::Null => {}
            "user" => {
                if origin.source.subagent.is_none() && !denial.is_empty() {
                    self.is_denied = true;
                }
                self.user_message(&origin, message, line.get("toolUseResult"), is_of_user(line));
            }
            "assistant" if is_true(line, "isApiErrorMessage") => {
                let text = blocks(message).iter().map(text_of).find(|text| !text.is_empty());
                self.end_turn(&origin, text.map(|text| excerpt(&text, 200)));
            }
            // What Claude Code itself answers, as when a session is resumed, is of no turn.
            "assistant" if is_of_model(message) => {
                self.answer_command(&origin);
                self.usage(&origin, message, text(line, "requestId"));
                self.assistant_message(&origin, message);
            }
            _ => {}
        }
    }

    /// The time of a line. A line without a timestamp, such as a title, has the time of the line
    /// before it or, at the head of the file, of the line after it.
    fn date(&mut self, line: &Raw<'_>) -> Option<Millis> {
        let Some(time) = millis(text(line, "timestamp")) else { return self.time };
        if !is_true(line, "isSidechain") && self.time.replace(time).is_none() {
            self.events.date(time);
        }
        Some(time)
    }

    fn title(&mut self, line: &Raw<'_>, time: Option<Millis>) {
        let session = text(line, "sessionId");
        let (kind, title) = match (text(line, "customTitle"), text(line, "aiTitle")) {
            ("", "") => return,
            ("", title) => (TitleSource::Own, excerpt(title, 100)),
            (title, _) => (TitleSource::Custom, excerpt(title, 100)),
        };
        match self.sources.main(session) {
            Some(source) => self.set_title(&Origin::beside(source, time), kind, title),
            None => self.early_title = Some((session.to_owned(), kind, title)),
        }
    }

    fn set_title(&mut self, origin: &Origin<'_>, kind: TitleSource, title: String) {
        if self.sources.set_title(&origin.source, kind) {
            self.emit(origin, EventKind::Title(title));
        }
    }

    /// Sets the title that the user gave the session, from the file beside the transcript.
    pub(crate) fn set_custom_title(&mut self, title: &str) {
        if let Some(source) = self.session().cloned() {
            let origin = Origin::beside(source, self.time);
            self.set_title(&origin, TitleSource::Custom, excerpt(title, 100));
        }
    }

    /// Sets the session's tasks from their files, the newest of which changed at `time`.
    pub(crate) fn set_tasks(&mut self, files: Vec<Task>, time: Option<Millis>) {
        let Some(source) = self.session().cloned() else { return };
        let is_shown = self.sources.uses_own_tasks(&source);
        let Some(tasks) = self.sources.tasks(&source) else { return };
        // Claude Code clears a completed list, which stays visible here until the next one begins.
        if files.iter().all(|task| task.is_internal) && tasks.are_done() {
            return;
        }
        let time = time.max(self.time);
        if tasks.reset(files, time) && is_shown {
            let list = tasks.plan(&self.options);
            self.emit(&Origin::beside(source, time), EventKind::List(list));
        }
    }

    pub(crate) fn set_call(&mut self, subagent: &str, call: &str) {
        self.sources.set_call(subagent, call);
    }

    /// Records the end of a subagent, given by its id or by that of the call that started it.
    pub(crate) fn end_subagent(&mut self, id: &str, time: Option<Millis>) {
        let place = self.events.place.clone();
        push_recent(&mut self.ended_subagents, (id.to_owned(), time, place));
    }

    fn emit(&mut self, origin: &Origin<'_>, kind: EventKind) {
        let event = origin.event(origin.source.clone(), kind);
        match event.source.subagent {
            None => self.events.push(event),
            Some(_) => self.sources.hold(event, &mut self.events),
        }
    }

    fn end_turn(&mut self, origin: &Origin<'_>, error: Option<String>) {
        let is_denied = self.go_idle(origin) && error.is_none();
        let is_main = origin.source.subagent.is_none();
        if is_main && !is_denied && error.is_none() && self.goals.hold_end() {
            return;
        }
        self.has_ended_well |= is_main && !is_denied && error.is_none();
        let end = self.turn_ended(error);
        self.emit(origin, if is_denied { EventKind::Denied } else { end });
    }

    fn turn_ended(&self, error: Option<String>) -> EventKind {
        let commands = u32::try_from(self.commands.len()).unwrap_or(u32::MAX);
        EventKind::TurnEnded { error, background: Background { commands, subagents: self.subagents } }
    }

    /// Notes that a command or subagent in the background ended, by its name. The agent may go on later.
    fn end_in_background(&mut self, origin: &Origin<'_>, name: &str) {
        let before = self.commands.len();
        self.commands.retain(|command| command != name);
        if self.commands.len() == before {
            self.subagents = self.subagents.saturating_sub(1);
        }
        if self.has_ended_well && origin.source.subagent.is_none() {
            self.emit(origin, self.turn_ended(None));
        }
    }

    /// Ends the turn of a main agent; returns whether its last call was denied.
    fn go_idle(&mut self, origin: &Origin<'_>) -> bool {
        let is_main = origin.source.subagent.is_none();
        if is_main {
            self.goals.forget_end();
            self.has_ended_well = false;
        }
        self.is_idle |= is_main;
        is_main && std::mem::take(&mut self.is_denied)
    }

    fn user_message(
        &mut self,
        origin: &Origin<'_>,
        message: &Raw<'_>,
        fields: Option<&Raw<'_>>,
        is_of_user: bool,
    ) {
        let blocks = blocks(message);
        let results = blocks.iter().filter(|block| !text(block, "tool_use_id").is_empty()).count();
        let fields = fields.filter(|_| results == 1).unwrap_or(&Raw::Null);
        for block in blocks {
            match (kind(block), text(block, "tool_use_id")) {
                ("tool_result", id) if !id.is_empty() => {
                    let content = texts(block.get("content"), LONGEST_OUTPUT);
                    self.result(origin, id, content, is_true(block, "is_error"), fields);
                }
                ("text", _) => self.notice(origin, &text_of(block)),
                _ => {}
            }
        }
        self.said(origin, &all_text(message), is_of_user);
    }

    /// Reads what Claude Code itself says in a message of the user.
    fn notice(&mut self, origin: &Origin<'_>, text: &str) {
        if text.starts_with("[Request interrupted by user") {
            let is_denied = self.go_idle(origin);
            return self.emit(origin, if is_denied { EventKind::Denied } else { EventKind::Interrupted });
        }
        if text.starts_with("<task-notification>") && tagged(text, "status").is_some() {
            let names = ["tool-use-id", "task-id"].into_iter().filter_map(|tag| tagged(text, tag));
            names.for_each(|name| self.end_subagent(name, origin.time));
            if let Some(name) = tagged(text, "task-id") {
                self.end_in_background(origin, name);
            }
        }
    }

    fn assistant_message(&mut self, origin: &Origin<'_>, message: &Raw<'_>) {
        let is_end = text(message, "stop_reason") == "end_turn";
        if origin.source.subagent.is_none() {
            self.goals.forget_end();
            self.has_ended_well = false;
        }
        if self.is_idle && origin.source.subagent.is_none() && !is_end {
            self.is_idle = false;
            self.emit(origin, EventKind::TurnBegun);
        }
        blocks(message).iter().for_each(|block| self.assistant_block(origin, block));
        if is_end {
            self.end_turn(origin, None);
        }
    }

    fn assistant_block(&mut self, origin: &Origin<'_>, block: &Raw<'_>) {
        match (kind(block), text(block, "id"), text(block, "name")) {
            ("text", ..) => {
                let text = text_of(block);
                if !text.trim().is_empty() {
                    self.emit(origin, EventKind::Message(text.trim().to_owned()));
                }
            }
            ("thinking", ..) => {
                let text = texts(block.get("thinking"), LONGEST);
                if !text.trim().is_empty() {
                    self.emit(origin, EventKind::Thoughts(text));
                }
            }
            (_, "", _) | (.., "") => {}
            ("tool_use", id, name) if self.seen.insert(&origin.source.session, "call", id) => {
                self.call(origin, (id, name), block.get("input").unwrap_or(&Raw::Null));
            }
            _ => {}
        }
    }
}

fn version_of(text: &str) -> [u32; 3] {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}
