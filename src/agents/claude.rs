//! Claude Code's transcripts.
//!
//! A session is a file of JSON lines. An assistant line holds a tool call, a user line its result.
//! `TodoWrite` passes a whole list; `TaskCreate` and `TaskUpdate` of later versions build one. Lines
//! of subagents are marked as a side chain.
//!
//! - A call takes effect with its result, unless the result is a refusal. Hooks may refuse a
//!   call or delay it for any time, so a call without a result takes effect with the next message.
//! - The files of subagents repeat lines of their session. Each line and each call counts once.

mod commands;
pub mod edits;
pub mod files;
pub mod line;
pub mod process_files;
pub mod prompts;
mod refusals;
mod sources;
pub mod tasks;

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::calls::{PendingCalls, result};
use super::events::{Events, RecentNames, push_bounded};
use super::field::{millis, readable_part, shortened};
use super::{Effect, Event, EventKind, Place, PlanResult, Source, lenient};
use crate::events::Millis;
use crate::events::payload::RefusedBy;
use crate::events::policy::Policy;
use crate::events::work::{CallOutcome, Tokens, Usage};
use crate::list::input::{self, Options};
use crate::list::raw::Raw;
use crate::text::excerpt;
use commands::Command;
use edits::FileEdit;
use line::{Block, Message, ToolUseResult, TranscriptLine, tagged};
use prompts::SlashCommand;
use sources::{Sources, TitleSource};
use tasks::{Task, TaskResult, TaskUpdate};

/// Maximum number of responses whose tokens may still grow.
const RESPONSES: usize = 256;
/// Maximum number of subagents that returned.
const ENDED: usize = 512;

/// The version from which on subagents have their files in a folder of their session.
const SUBAGENTS_APART: [u32; 3] = [2, 1, 2];

/// The end of a result of `todo-write-mcp` that did not reach an Emacs.
const NO_EMACS: &str = "[todo-write:no-emacs]";

/// Reads the transcript of a session and those of its subagents.
#[derive(Debug)]
pub struct ClaudeReader {
    options: Options,
    /// What may be recorded.
    pub(super) policy: Policy,
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
    /// Whether the last line said that the next one is a command that no model reads, such as `/clear`.
    is_command_local: bool,
    /// The user's last command, which is a prompt if the model answers before the next one.
    command: Option<SlashCommand>,
    /// Whether the last call of the main agent was denied.
    is_denied: bool,
    /// Whether a version wrote lines whose subagents have their files beside the transcript.
    has_subagents_beside: bool,
    /// The number of lines that could not be read in full.
    pub(super) unreadable: u64,
    /// The newest responses with their tokens.
    responses: VecDeque<(String, Usage)>,
    /// Sums of the work of subagents, by the subagents' ids.
    sums: VecDeque<(String, Event)>,
    /// The title of a session whose first line was not read yet.
    early_title: Option<(String, TitleSource, String)>,
    pub(super) events: Events,
}

/// A call, and where it was made.
#[derive(Debug)]
struct ToolCall {
    source: Arc<Source>,
    /// The id of the message with the call.
    message: String,
    /// Whether a fork copied it. Only the line of a call says that, not the line of its result.
    is_copied: bool,
    tool: Tool,
}

/// The tools whose calls matter, with their arguments.
#[derive(Debug)]
enum Tool {
    List(PlanResult),
    /// A list sent to an Emacs.
    EmacsList(PlanResult),
    Create(TaskUpdate),
    Update(TaskUpdate),
    ReadTasks,
    Subagent,
    Edit(FileEdit),
    Shell(Command),
    Other,
}

impl ToolCall {
    fn changes_list(&self) -> bool {
        !matches!(self.tool, Tool::Subagent | Tool::Edit(_) | Tool::Shell(_) | Tool::Other)
    }
}

/// The origin of a line and of its events.
struct Origin<'l> {
    source: Arc<Source>,
    uuid: &'l str,
    time: Option<Millis>,
    /// Whether the session clears a completed list: only the terminal interface does.
    clears: bool,
    /// Whether a fork copied the line. A fork begins without the tasks of its session.
    is_copied: bool,
    /// Whether the version is 2 or later.
    is_modern: bool,
    /// Who denied the call of which the line has the result.
    refused_by: Option<RefusedBy>,
}

impl Origin<'_> {
    /// The origin of an event that no line has.
    fn beside(source: Arc<Source>, time: Option<Millis>) -> Origin<'static> {
        Origin { source, uuid: "", time, clears: false, is_copied: false, is_modern: true, refused_by: None }
    }
}

/// A tool's result.
struct ToolResult<'l> {
    id: &'l str,
    content: String,
    is_error: bool,
    fields: Option<&'l RawValue>,
}

impl ClaudeReader {
    /// A reader of a session's lines.
    pub fn new(options: Options) -> ClaudeReader {
        ClaudeReader {
            options: lenient(options),
            policy: Policy::default(),
            sources: Sources::default(),
            seen: RecentNames::default(),
            calls: PendingCalls::default(),
            ended_subagents: VecDeque::new(),
            time: None,
            is_idle: false,
            is_command_local: false,
            command: None,
            is_denied: false,
            has_subagents_beside: false,
            unreadable: 0,
            responses: VecDeque::new(),
            sums: VecDeque::new(),
            early_title: None,
            events: Events::default(),
        }
    }

    /// The session of the last line of a main agent.
    pub fn session(&self) -> Option<&Arc<Source>> {
        self.sources.last()
    }

    /// Whether files of subagents may be beside the transcript.
    pub(crate) fn has_subagents_beside(&self) -> bool {
        self.has_subagents_beside
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

    /// The events since the last call without the ends of subagents, whose files are not read yet.
    pub(super) fn take_first_events(&mut self) -> Vec<Event> {
        self.events.take()
    }

    /// Reads a line, without its line feed.
    pub fn read_line(&mut self, bytes: &[u8]) {
        if let Some(line) = TranscriptLine::parse(bytes) {
            return self.line(line);
        }
        if !bytes.trim_ascii().is_empty() {
            self.unreadable += 1;
        }
        let part = readable_part(bytes, |part| TranscriptLine::parse(part).is_some());
        if let Some(line) = part.as_deref().and_then(TranscriptLine::parse) {
            self.line(line);
        }
    }

    fn line(&mut self, line: TranscriptLine<'_>) {
        let time = self.date(&line);
        self.title(&line, time);
        if let (Some(folder), Some(session)) = (&line.relocated_cwd, line.session_id)
            && let Some(source) = self.sources.main(session)
        {
            self.emit(&Origin::beside(source, time), EventKind::Moved(folder.0.clone()));
        }
        if !matches!(line.kind, Some("user" | "assistant" | "system" | "result")) {
            return;
        }
        let Some(source) = self.sources.of(&line) else { return };
        let uuid = line.uuid.unwrap_or_default();
        if !uuid.is_empty() && !self.seen.insert(&source.session, "line", uuid) {
            return;
        }
        let clears = !line.entrypoint.is_some_and(|entrypoint| entrypoint.starts_with("sdk"));
        let is_copied = line.request_session_id.is_some_and(|session| session != source.session);
        let version = line.version.as_ref().map(|version| version_of(&version.0));
        let is_modern = version.is_none_or(|[major, ..]| major != 1);
        self.has_subagents_beside |= version.is_none_or(|version| version < SUBAGENTS_APART);
        let refused_by = line.tool_denial_kind.as_ref().and_then(|kind| refusals::refused_by(&kind.0));
        let origin = Origin { source, uuid, time, clears, is_copied, is_modern, refused_by };
        if let Some((_, kind, title)) =
            self.early_title.take_if(|(session, ..)| *session == origin.source.session)
        {
            self.set_title(&origin, kind, title);
        }
        let is_of_user = line.is_of_user();
        match (line.kind, line.message) {
            (Some("system"), _) if line.subtype == Some("turn_duration") => self.end_turn(&origin, None),
            (Some("result"), _) => {
                let error = line.result.filter(|_| line.is_error == Some(true));
                self.end_turn(&origin, error.map(|error| excerpt(&error.0, 200)));
            }
            (Some("user"), Some(message)) => {
                if origin.source.subagent.is_none() && line.tool_denial_kind.is_some() {
                    self.is_denied = true;
                }
                self.user_message(&origin, message, line.tool_use_result, is_of_user);
            }
            (Some("assistant"), Some(message)) if line.is_api_error_message == Some(true) => {
                let text = message.content.0.into_iter().find_map(|block| block.text);
                self.end_turn(&origin, text.map(|text| excerpt(&text.0, 200)));
            }
            (Some("assistant"), Some(message)) => {
                self.answer_command(&origin, &message);
                self.usage(&origin, &message, line.request_id.as_ref().map_or("", |id| &id.0));
                self.assistant_message(&origin, message);
            }
            _ => {}
        }
    }

    /// The time of a line. A line without a timestamp, such as a title, has the time of the line
    /// before it or, at the head of the file, of the line after it.
    fn date(&mut self, line: &TranscriptLine<'_>) -> Option<Millis> {
        let Some(time) = line.timestamp.and_then(millis) else { return self.time };
        if line.is_sidechain != Some(true) && self.time.replace(time).is_none() {
            self.events.date(time);
        }
        Some(time)
    }

    fn title(&mut self, line: &TranscriptLine<'_>, time: Option<Millis>) {
        let Some(session) = line.session_id else { return };
        let (kind, title) = match (&line.custom_title, &line.ai_title) {
            (Some(title), _) => (TitleSource::Custom, excerpt(&title.0, 100)),
            (None, Some(title)) => (TitleSource::Own, excerpt(&title.0, 100)),
            (None, None) => return,
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
        if files.iter().all(Task::is_internal) && tasks.are_done() {
            return;
        }
        let time = time.max(self.time);
        if tasks.reset(files, time) && is_shown {
            let list = tasks.plan(&self.options);
            self.emit(&Origin::beside(source, time), EventKind::List(list));
        }
    }

    /// Records the call that started a subagent.
    pub(crate) fn set_call(&mut self, subagent: &str, call: &str) {
        self.sources.set_call(subagent, call);
    }

    /// Records the end of a subagent, given by its id or by that of the call that started it.
    pub(crate) fn end_subagent(&mut self, id: &str, time: Option<Millis>) {
        let place = self.events.place.clone();
        push_bounded(&mut self.ended_subagents, ENDED, (id.to_owned(), time, place));
    }

    fn emit(&mut self, origin: &Origin<'_>, kind: EventKind) {
        let event = Event {
            source: origin.source.clone(),
            uuid: origin.uuid.to_owned(),
            time: origin.time,
            place: None,
            kind,
        };
        match event.source.subagent {
            None => self.events.push(event),
            Some(_) => self.sources.hold(event, &mut self.events),
        }
    }

    fn end_turn(&mut self, origin: &Origin<'_>, error: Option<String>) {
        let is_denied = self.go_idle(origin) && error.is_none();
        self.emit(origin, if is_denied { EventKind::Denied } else { EventKind::TurnEnded { error } });
    }

    /// Ends the turn of a main agent; returns whether its last call was denied.
    fn go_idle(&mut self, origin: &Origin<'_>) -> bool {
        let is_main = origin.source.subagent.is_none();
        self.is_idle |= is_main;
        is_main && std::mem::take(&mut self.is_denied)
    }

    fn user_message(
        &mut self,
        origin: &Origin<'_>,
        message: Message<'_>,
        fields: Option<&RawValue>,
        is_of_user: bool,
    ) {
        let text = message.text();
        let blocks = message.content.0;
        let results = blocks.iter().filter(|block| block.tool_use_id.is_some()).count();
        let fields = fields.filter(|_| results == 1);
        for block in blocks {
            match (block.kind, block.tool_use_id, block.text) {
                (Some("tool_result"), Some(id), _) => {
                    let content = block.content.map(|content| content.0).unwrap_or_default();
                    let is_error = block.is_error == Some(true);
                    self.result(origin, ToolResult { id, content, is_error, fields });
                }
                (Some("text"), _, Some(text)) => self.notice(origin, &text.0),
                _ => {}
            }
        }
        self.said(origin, &text, is_of_user);
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
        }
    }

    fn assistant_message(&mut self, origin: &Origin<'_>, message: Message<'_>) {
        let id = message.id.unwrap_or_default();
        let is_end = message.stop_reason == Some("end_turn");
        if self.is_idle && origin.source.subagent.is_none() && !is_end {
            self.is_idle = false;
            self.emit(origin, EventKind::TurnBegun);
        }
        self.apply_unanswered(origin, id);
        message.content.0.into_iter().for_each(|block| self.assistant_block(origin, id, block));
        if is_end {
            self.end_turn(origin, None);
        }
    }

    fn assistant_block(&mut self, origin: &Origin<'_>, message: &str, block: Block<'_>) {
        match (block.kind, block.id, block.name) {
            (Some("text"), ..) => {
                let text = block.text.map(|text| text.0).unwrap_or_default();
                if !text.trim().is_empty() {
                    self.emit(origin, EventKind::Message(text.trim().to_owned()));
                }
            }
            (Some("thinking"), ..) => {
                let text = block.thinking.map(|thinking| thinking.0).unwrap_or_default();
                if !text.trim().is_empty() {
                    self.emit(origin, EventKind::Thoughts(text));
                }
            }
            (Some("tool_use"), Some(id), Some(name))
                if self.seen.insert(&origin.source.session, "call", id) =>
            {
                self.call(origin, message, (id, name), &block.input.unwrap_or(Raw::Null));
            }
            _ => {}
        }
    }

    fn call(&mut self, origin: &Origin<'_>, message: &str, (id, name): (&str, &str), input: &Raw<'_>) {
        self.is_denied &= origin.source.subagent.is_some();
        let list = || input::read(input, &self.options);
        let tool = match name {
            "TodoWrite" => Tool::List(list()),
            "TaskCreate" | "TaskUpdate" | "TaskList" if origin.is_copied => Tool::Other,
            "TaskCreate" => Tool::Create(TaskUpdate::read(input)),
            "TaskUpdate" => Tool::Update(TaskUpdate::read(input)),
            "TaskList" => Tool::ReadTasks,
            "Task" | "Agent" => {
                self.sources.start(&origin.source, id, input);
                Tool::Subagent
            }
            _ if name.starts_with("mcp__") && name.ends_with("__todo_write") => Tool::EmacsList(list()),
            "Bash" | "PowerShell" => Tool::Shell(Command::read(input)),
            _ => FileEdit::read(name, input).map_or(Tool::Other, Tool::Edit),
        };
        let is_list = matches!(tool, Tool::List(_) | Tool::EmacsList(_));
        let text = (!is_list).then(|| shortened(input).to_string());
        let hidden = self.policy.hidden(&origin.source.folder, input).filter(|_| !is_list);
        let (source, message, is_copied) = (origin.source.clone(), message.to_owned(), origin.is_copied);
        let call = ToolCall { source, message, is_copied, tool };
        let event = self.calls.begin((id, name), (text, hidden), origin.time, call);
        self.emit(origin, event);
    }

    fn result(&mut self, origin: &Origin<'_>, answer: ToolResult<'_>) {
        let ToolResult { id, content, .. } = answer;
        if !self.seen.insert(&origin.source.session, "result", id) {
            return;
        }
        let call = self.calls.end(id);
        let fields = call.as_ref().and(answer.fields);
        let mut spare = Vec::new();
        let fields = fields.map(|fields| ToolUseResult::read(fields, &mut spare)).unwrap_or_default();
        let details = TaskResult { text: &content, fields: &fields, time: origin.time };
        let is_error = answer.is_error || call.is_some() && details.is_refusal();
        let mut effect =
            Effect { outcome: Some(outcome(&content, &fields, is_error, origin)), ..Effect::default() };
        if is_error && origin.refused_by.is_some() {
            effect.outcome = Some(CallOutcome::Refused);
        }
        if let Some(Tool::Shell(command)) = call.as_ref().map(|call| &call.effect.tool) {
            effect.exit_code = exit_code(&content, &fields, effect.outcome);
            if effect.outcome == Some(CallOutcome::Ok) {
                command.add_to(&mut effect, &fields, &content);
            }
        } else if origin.refused_by.is_some() {
            // It stays refused, whatever the text says.
        } else if effect.outcome == Some(CallOutcome::Refused) && !is_refusal(&content) {
            effect.outcome = Some(CallOutcome::Failed);
        }
        if effect.outcome == Some(CallOutcome::Refused) {
            effect.refusal = refusals::refusal(&content, origin.refused_by);
        }
        let counts = !call.as_ref().is_some_and(|call| call.effect.is_copied);
        if !counts {
            effect = Effect::default();
        }
        if let Some(agent) = fields.agent_id.as_deref().filter(|_| call.is_some()) {
            self.sources.set_call(agent, id);
            self.sums(origin, agent, id, &fields);
        }
        let mut event = result(call.as_ref(), id, content.clone(), is_error, origin.time, effect);
        let (called, call_id) = call.as_ref().map(|call| (call.time, call.id.clone())).unwrap_or_default();
        match call.map(|call| call.effect.tool) {
            Some(Tool::Edit(edit)) if !is_error && counts => {
                if let EventKind::Result { effect, .. } = &mut event {
                    effect.files.push(edit.result(&fields, &content));
                }
            }
            // This result only says that a subagent runs in the background.
            Some(Tool::Subagent) if is_error || !content.starts_with("Async agent launched") => {
                self.end_subagent(id, origin.time);
            }
            Some(Tool::EmacsList(list)) => {
                // Without an Emacs, the list is the agent's plan all the same.
                let counts = !is_error || content.trim_end().ends_with(NO_EMACS);
                if counts {
                    self.sources.use_own_tasks(&origin.source, false);
                }
                let list = counts.then_some(list);
                self.emit(origin, EventKind::EmacsCall { id: call_id, called, list });
            }
            Some(tool) if !is_error || details.is_not_found() => self.apply(origin, tool, details),
            _ => {}
        }
        match &event {
            EventKind::Result { effect, name, .. } if !effect.files.is_empty() || is_shell(name) => {
                self.emit_work(origin, event);
            }
            _ => self.emit(origin, event),
        }
    }

    /// Keeps the sums of a subagent's work until it is known whether the subagent has a file.
    fn sums(&mut self, origin: &Origin<'_>, subagent: &str, call: &str, fields: &ToolUseResult<'_>) {
        let Some(stats) = fields.tool_stats else { return };
        let kind = EventKind::SubagentSums {
            added: stats.lines_added,
            removed: stats.lines_removed,
            edits: stats.edit_file_count,
        };
        let kind = EventKind::OfSubagent {
            subagent: subagent.to_owned(),
            call: Some(call.to_owned()),
            kind: Box::new(kind),
        };
        if stats.edit_file_count > 0 && !self.sources.has_subagent(subagent) {
            let (source, uuid) = (origin.source.clone(), origin.uuid.to_owned());
            let place = self.events.place.clone();
            let event = Event { source, uuid, time: origin.time, place, kind };
            push_bounded(&mut self.sums, ENDED, (subagent.to_owned(), event));
        }
    }

    /// Adds the sums of subagents that have no file.
    pub(crate) fn take_sums(&mut self, has_file: impl Fn(&str) -> bool) {
        for (subagent, event) in std::mem::take(&mut self.sums) {
            if !has_file(&subagent) && !self.sources.has_subagent(&subagent) {
                self.events.push_at(event.place.clone(), event);
            }
        }
    }

    /// Counts the tokens of a message. Its lines repeat them with growing numbers.
    fn usage(&mut self, origin: &Origin<'_>, message: &Message<'_>, request: &str) {
        // A fork begins with copies of its session's lines, whose work is counted there.
        let is_counted = !origin.is_copied && message.is_of_model();
        let Some(usage) = message.usage.filter(|_| is_counted) else { return };
        let model = message.model.as_ref().map(|model| model.0.clone());
        let response = format!("{} {request}", message.id.unwrap_or_default());
        let place = self.responses.iter().rposition(|(known, _)| *known == response);
        let mut best = place
            .and_then(|place| self.responses.remove(place))
            .map_or_else(|| Usage { at_least: true, ..Usage::default() }, |(_, known)| known);
        let before = place.map(|_| best.clone());
        let tokens = Tokens::from(usage);
        if tokens.sum() > best.tokens.sum() {
            best.tokens = tokens;
        }
        best.model = best.model.or(model);
        best.at_least &= message.stop_reason.is_none();
        push_bounded(&mut self.responses, RESPONSES, (response.clone(), best.clone()));
        if before.as_ref() != Some(&best) {
            self.emit_work(origin, EventKind::Usage { response, usage: best });
        }
    }

    /// Emits work, also for the main agent if it is a subagent's.
    fn emit_work(&mut self, origin: &Origin<'_>, kind: EventKind) {
        let event = |source: Arc<Source>, kind: EventKind| Event {
            source,
            uuid: origin.uuid.to_owned(),
            time: origin.time,
            place: None,
            kind,
        };
        let source = &origin.source;
        if let Some(subagent) = source.subagent.clone() {
            if let Some(main) = self.sources.main(&source.session) {
                let call = self.sources.root_call(source);
                let kind = EventKind::OfSubagent { subagent, call, kind: Box::new(kind.clone()) };
                self.events.push_work(event(main, kind));
            }
            return self.sources.hold(event(source.clone(), kind), &mut self.events);
        }
        self.events.push_work(event(source.clone(), kind));
    }

    /// Applies an accepted call.
    fn apply(&mut self, origin: &Origin<'_>, tool: Tool, result: TaskResult<'_>) {
        if let Tool::List(list) = tool {
            // A hook may have changed the list.
            let list = match &result.fields.new_todos {
                Some(todos @ Raw::List(_)) => input::read(todos, &self.options),
                _ => list,
            };
            return self.emit(origin, EventKind::List(list));
        }
        // Subagents share the tasks of their session.
        let Some(source) = self.sources.main(&origin.source.session) else { return };
        if matches!(tool, Tool::Create(_) | Tool::Update(_)) {
            self.sources.use_own_tasks(&source, true);
        }
        let is_shown = self.sources.uses_own_tasks(&source);
        let Some(tasks) = self.sources.tasks(&source) else { return };
        let is_changed = match tool {
            Tool::Create(update) => {
                tasks.create(update, result, origin.clears);
                true
            }
            Tool::Update(update) => {
                tasks.update(update, result);
                true
            }
            Tool::ReadTasks => tasks.apply_list(result),
            Tool::List(_)
            | Tool::EmacsList(_)
            | Tool::Subagent
            | Tool::Edit(_)
            | Tool::Shell(_)
            | Tool::Other => false,
        };
        // Reading the tasks does not make them the plan again.
        if is_changed && is_shown {
            let list = tasks.plan(&self.options);
            self.emit(&Origin { source, ..*origin }, EventKind::List(list));
        }
    }

    /// Applies the calls of earlier messages that got no result.
    fn apply_unanswered(&mut self, origin: &Origin<'_>, message: &str) {
        if message.is_empty() {
            return;
        }
        let is_due =
            |call: &ToolCall| call.changes_list() && call.source == origin.source && call.message != message;
        while let Some(call) = self.calls.end_due(is_due) {
            if let Tool::EmacsList(_) = call.effect.tool {
                // Emacs may have stored it.
                let kind = EventKind::EmacsCall { id: call.id, called: call.time, list: None };
                self.emit(origin, kind);
                continue;
            }
            let result = TaskResult { text: "", fields: &ToolUseResult::default(), time: origin.time };
            self.apply(origin, call.effect.tool, result);
        }
    }
}

/// The three numbers of a version.
fn version_of(text: &str) -> [u32; 3] {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

/// Whether a tool runs commands.
fn is_shell(name: &str) -> bool {
    matches!(name, "Bash" | "PowerShell")
}

/// Whether a result says that the call never ran.
fn is_refusal(content: &str) -> bool {
    let texts = ["The user doesn't want to", "<tool_use_error>", "Permission"];
    texts.iter().any(|text| content.starts_with(text))
}

/// How a call ended.
fn outcome(content: &str, fields: &ToolUseResult<'_>, is_error: bool, origin: &Origin<'_>) -> CallOutcome {
    let interrupted = fields.interrupted == Some(true);
    match is_error {
        false if fields.background_task_id.is_some() => CallOutcome::Background,
        false if interrupted => CallOutcome::Failed,
        false => CallOutcome::Ok,
        true if interrupted || code_in(content).is_some() => CallOutcome::Failed,
        true if is_refusal(content) => CallOutcome::Refused,
        // What the user says in place of an answer stands alone since version 2.
        true if origin.is_modern => CallOutcome::Refused,
        true => CallOutcome::Failed,
    }
}

/// The number in `Exit code N` at the beginning of a text.
fn code_in(content: &str) -> Option<i64> {
    let rest = content.strip_prefix("Exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The exit code of a command.
fn exit_code(content: &str, fields: &ToolUseResult<'_>, outcome: Option<CallOutcome>) -> Option<i64> {
    match outcome {
        Some(CallOutcome::Ok) if fields.return_code_interpretation.is_none() => Some(0),
        Some(CallOutcome::Failed) => code_in(content),
        _ => None,
    }
}
