//! Claude Code's transcripts.
//!
//! A session is a file of JSON lines. A tool call is a line of the assistant, its result a line of
//! the user. Lists come from `TodoWrite`, which passes a whole list, and from `TaskCreate` and
//! `TaskUpdate` of later versions, which build one. Lines of subagents are marked as a side chain.
//!
//! A call takes effect when its result comes, which is within milliseconds, and none if the result
//! is an error. Hooks of the user may delay or refuse a call, so no clock decides: a call without
//! a result takes effect when the same agent goes on with its next message.

pub mod line;
mod prefilter;
mod sources;
pub mod tasks;

use std::collections::VecDeque;
use std::sync::Arc;

use super::events::Events;
use super::field::{millis, shortened};
use super::{Event, EventKind, Source};
use crate::clock::Millis;
use crate::input::{self, Options, Plan, Problem, SeveralInProgress};
use crate::raw::Raw;
use crate::text::excerpt;
use line::{Block, Line};
use prefilter::{Relevance, relevance};
use sources::Sources;
use tasks::TaskUpdate;

/// Calls of either kind that wait for their result, at most.
const PENDING: usize = 512;

/// The sessions in a file and their subagents, as far as it was read.
#[derive(Debug)]
pub struct ClaudeReader {
    options: Options,
    sources: Sources,
    /// Calls without a result that will change a list.
    lists: VecDeque<PendingCall>,
    /// Those that will not.
    others: VecDeque<PendingCall>,
    /// Calls whose subagents came back, and when.
    ended: VecDeque<(String, Option<Millis>)>,
    /// The time of the last line of a main agent.
    time: Option<Millis>,
    /// A session's title that stands before its first line.
    early_title: Option<(String, String)>,
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

/// What a call will do.
#[derive(Debug)]
enum Effect {
    List(Result<Plan<'static>, Vec<Problem>>),
    Create(TaskUpdate),
    Update(TaskUpdate),
    Agent,
    Other,
}

/// Where a line comes from; part of each of its events.
struct Place<'l> {
    source: Arc<Source>,
    uuid: &'l str,
    time: Option<Millis>,
}

impl ClaudeReader {
    /// Nothing read yet. The user's limits apply; what a model may be taught to do better is
    /// taken as it is, since nobody here can tell it. The newest `history` events are kept
    /// until they are taken.
    pub fn new(options: Options, history: usize) -> ClaudeReader {
        let options = Options { strict: false, several_in_progress: SeveralInProgress::Allow, ..options };
        ClaudeReader {
            options,
            sources: Sources::default(),
            lists: VecDeque::new(),
            others: VecDeque::new(),
            ended: VecDeque::new(),
            time: None,
            early_title: None,
            events: Events::new(history),
        }
    }

    /// The session that the last line of a main agent belongs to.
    pub fn session(&self) -> Option<&Arc<Source>> {
        self.sources.last()
    }

    /// The events since the last time, oldest first.
    ///
    /// The ends of subagents come last: the file of a subagent is read after the one that tells
    /// of its end.
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut events = self.events.take();
        for (call, time) in std::mem::take(&mut self.ended) {
            if let Some(source) = self.sources.come_back(&call) {
                events.push(Event { source, uuid: String::new(), time, kind: EventKind::Ended });
            }
        }
        events
    }

    /// Takes one line in, without its line feed.
    pub fn line(&mut self, bytes: &[u8]) {
        let Some(line) = Line::parse(bytes) else { return };
        let time = self.date(&line);
        let uuid = line.uuid.unwrap_or_default();
        self.title(&line, time);
        let by_person = match line.kind {
            Some("user") => true,
            Some("assistant") => false,
            _ => return,
        };
        let Some(source) = self.sources.of(&line) else { return };
        let place = Place { source, uuid, time };
        if let Some((_, title)) = self.early_title.take_if(|(session, _)| *session == place.source.session) {
            self.emit(&place, EventKind::Title(title));
        }
        let Some(message) = line.message else { return };
        if by_person {
            let is_prompt = line.is_meta != Some(true) && line.is_compact_summary != Some(true);
            message.content.0.into_iter().for_each(|block| self.user_block(&place, block, is_prompt));
        } else {
            let id = message.id.unwrap_or_default();
            self.settle_before(&place, id);
            message.content.0.into_iter().for_each(|block| self.assistant_block(&place, id, block));
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
        let Some(title) = line.custom_title.as_ref().or(line.ai_title.as_ref()) else { return };
        let title = excerpt(&title.0, 100);
        match self.sources.main(session) {
            Some(source) => self.emit(&Place { source, uuid: "", time }, EventKind::Title(title)),
            None => self.early_title = Some((session.to_owned(), title)),
        }
    }

    /// Takes a line far from the end of a large file: lists come out as from
    /// [`ClaudeReader::line`], other events may not.
    pub fn old_line(&mut self, bytes: &[u8]) {
        // A result, or the first prompt, can be any line.
        if !self.lists.is_empty() || !self.sources.have_titles() {
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

    fn user_block(&mut self, place: &Place<'_>, block: Block<'_>, is_prompt: bool) {
        match (block.kind, block.tool_use_id, block.text) {
            (Some("tool_result"), Some(id), _) => {
                let content = block.content.map(|content| content.0).unwrap_or_default();
                self.result(place, id, content, block.is_error == Some(true));
            }
            (Some("text"), _, Some(text)) if text.0.starts_with("[Request interrupted by user") => {
                self.emit(place, EventKind::Interrupted);
            }
            (Some("text"), _, Some(text)) if is_prompt => {
                if let Some(prompt) = prompt(&text.0) {
                    if self.sources.entitle(&place.source) {
                        self.emit(place, EventKind::Title(excerpt(&prompt, 80)));
                    }
                    self.emit(place, EventKind::Prompt(prompt));
                }
            }
            _ => {}
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
            (Some("tool_use"), Some(id), Some(name)) => {
                let input = block.input.unwrap_or(Raw::Null);
                self.call(place, message, (id, name), &input);
            }
            _ => {}
        }
    }

    fn call(&mut self, place: &Place<'_>, message: &str, (id, name): (&str, &str), input: &Raw<'_>) {
        let effect = match name {
            "TodoWrite" => Effect::List(input::read(input, &self.options).map(Plan::into_owned)),
            "TaskCreate" => Effect::Create(TaskUpdate::read(input)),
            "TaskUpdate" => Effect::Update(TaskUpdate::read(input)),
            "Task" | "Agent" => {
                self.sources.start(&place.source, id, input);
                Effect::Agent
            }
            _ => Effect::Other,
        };
        let (id, name) = (excerpt(id, 200), excerpt(name, 200));
        let text = (!matches!(effect, Effect::List(_))).then(|| shortened(input).to_string());
        self.emit(place, EventKind::Call { id: id.clone(), name: name.clone(), input: text });
        let (source, time) = (place.source.clone(), place.time);
        let queue = match effect {
            Effect::Agent | Effect::Other => &mut self.others,
            _ => &mut self.lists,
        };
        if queue.len() == PENDING {
            queue.pop_front();
        }
        queue.push_back(PendingCall { id, name, source, message: message.to_owned(), time, effect });
    }

    fn result(&mut self, place: &Place<'_>, id: &str, content: String, is_error: bool) {
        let call = [&mut self.lists, &mut self.others]
            .into_iter()
            .find_map(|queue| queue.remove(queue.iter().rposition(|call| call.id == id)?));
        let (name, time) = call.as_ref().map_or((String::new(), None), |call| (call.name.clone(), call.time));
        match call.map(|call| call.effect) {
            // A subagent in the background has only begun.
            Some(Effect::Agent) if is_error || !content.starts_with("Async agent launched") => {
                if self.ended.len() == PENDING {
                    self.ended.pop_front();
                }
                self.ended.push_back((id.to_owned(), place.time));
            }
            Some(effect) if !is_error => self.settle(place, effect, &content),
            _ => {}
        }
        let duration = place.time.zip(time).map(|(end, start)| end.saturating_sub(start));
        let id = excerpt(id, 200);
        self.emit(place, EventKind::Result { id, name, content, is_error, duration });
    }

    /// Lets take effect what a call asked for.
    fn settle(&mut self, place: &Place<'_>, effect: Effect, answer: &str) {
        let list = match effect {
            Effect::List(list) => return self.emit(place, EventKind::List(list)),
            Effect::Create(says) => self.sources.tasks(&place.source).map(|tasks| tasks.create(says, answer)),
            Effect::Update(says) => self.sources.tasks(&place.source).map(|tasks| tasks.update(says)),
            Effect::Agent | Effect::Other => None,
        };
        // Subagents work on the tasks of their session: there is one list for all of them.
        if list.is_some()
            && let Some(source) = self.sources.main(&place.source.session)
            && let Some(tasks) = self.sources.tasks(&source)
        {
            let list = tasks.plan(&self.options);
            self.emit(&Place { source, ..*place }, EventKind::List(list));
        }
    }

    /// Lets the calls of earlier messages take effect whose answer never came.
    fn settle_before(&mut self, place: &Place<'_>, message: &str) {
        if message.is_empty() {
            return;
        }
        let is_due = |call: &PendingCall| call.source == place.source && call.message != message;
        while let Some(at) = self.lists.iter().position(is_due) {
            if let Some(call) = self.lists.remove(at) {
                self.settle(place, call.effect, "");
            }
        }
    }
}

/// What a person wrote, without the markup that Claude Code puts around its own commands; none
/// where nobody asked for anything.
pub fn prompt(text: &str) -> Option<String> {
    let inside = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
    };
    if let Some(command) = inside("command-name") {
        return Some(format!("{command} {}", inside("command-args").unwrap_or_default()).trim().to_owned());
    }
    let text = text.trim();
    let own = ["<local-command", "<bash-", "<system-reminder", "<task-notification", "Caveat: "];
    (!text.is_empty() && !own.iter().any(|start| text.starts_with(start))).then(|| text.to_owned())
}
