//! The Codex CLI's transcripts, called rollouts: `sessions/Y/M/D/rollout-TIME-ID.jsonl`.
//!
//! A session begins with a line `session_meta`. Resuming repeats this line; a fork repeats all
//! lines of its session. Plans are arguments of `update_plan`, which the model calls as a function
//! or, in code mode, from a script. Events mark the beginning and the end of turns.

pub mod line;
mod script;

use std::sync::Arc;

use serde_json::json;

use super::calls::{PendingCalls, result};
use super::describe::title;
use super::events::{Events, RecentNames};
use super::field::{Excerpt, millis, shortened};
use super::{Agent, Event, EventKind, NO_EMACS, PlanResult, Source, lenient};
use crate::clock::Millis;
use crate::input::{self, Options};
use crate::item::Status;
use crate::raw::Raw;
use crate::text::excerpt;
use line::{Payload, RolloutLine};

/// Reported once in a session whose plan cannot be read.
const COMPUTED: &str = "A script computed the plan; only plans written out in the script can be read.";

/// Reads the rollout of a session.
#[derive(Debug)]
pub struct CodexReader {
    options: Options,
    session: Option<Arc<Source>>,
    /// The calls and outputs read so far.
    seen: RecentNames,
    calls: PendingCalls<Effect>,
    /// The time of the last line.
    time: Option<Millis>,
    has_title: bool,
    /// The prompt of this turn. Some versions record it twice.
    prompt: Option<String>,
    /// The last error of this turn.
    error: Option<String>,
    /// Whether [`COMPUTED`] was recorded.
    is_computed: bool,
    events: Events,
}

/// The effect of a call once its output arrives.
#[derive(Debug)]
enum Effect {
    /// A plan, if the output accepts it.
    Plan(PlanResult),
    /// A plan in a script, unless the script fails.
    Script(PlanResult),
    /// A list sent to an Emacs. It counts only if no Emacs accepted it.
    EmacsList(PlanResult),
    Other,
}

impl CodexReader {
    /// A reader that keeps the newest `history` events; see [`super::Reader::of`].
    pub fn new(options: Options, history: usize) -> CodexReader {
        CodexReader {
            options: lenient(options),
            session: None,
            seen: RecentNames::default(),
            calls: PendingCalls::default(),
            time: None,
            has_title: false,
            prompt: None,
            error: None,
            is_computed: false,
            events: Events::new(history),
        }
    }

    /// The session.
    pub fn session(&self) -> Option<&Arc<Source>> {
        self.session.as_ref()
    }

    /// The events since the last call, oldest first.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.events.take()
    }

    /// Reads a line, without its line feed.
    pub fn read_line(&mut self, bytes: &[u8]) {
        let Some(line) = RolloutLine::parse(bytes) else { return };
        if let Some(time) = line.timestamp.as_ref().and_then(|time| millis(&time.0))
            && self.time.replace(time).is_none()
        {
            self.events.date(time);
        }
        let kind = line.payload.kind.as_ref().map_or("", |kind| kind.0.as_str());
        match (line.kind.0.as_str(), kind) {
            ("session_meta", _) => self.meta(&line.payload),
            ("event_msg", kind) => self.event(kind, &line),
            ("response_item", kind) => self.item(kind, &line),
            _ => {}
        }
    }

    /// Reads a line far from the end of a large file, for plans, titles and turns only.
    pub fn read_old_line(&mut self, bytes: &[u8]) {
        const MARKS: [&str; 7] = [
            "update_plan",
            "todo_write",
            "\"session_meta\"",
            "\"task_started\"",
            "\"task_complete\"",
            "\"turn_aborted\"",
            "\"thread_name_updated\"",
        ];
        let is_due = self.calls.any(|effect| !matches!(effect, Effect::Other));
        let Ok(line) = std::str::from_utf8(bytes) else { return };
        if is_due || !self.has_title || MARKS.iter().any(|mark| line.contains(mark)) {
            self.read_line(bytes);
        }
    }

    /// The first such line names the session. Later ones repeat it or name a fork's origin.
    fn meta(&mut self, payload: &Payload<'_>) {
        let Some(id) = payload.id.as_ref().filter(|id| !id.0.is_empty()) else { return };
        if self.session.is_none() {
            let folder = payload.cwd.as_ref().map(|cwd| cwd.0.clone()).unwrap_or_default();
            self.session = Some(Arc::new(Source::main(Agent::Codex, &id.0, folder)));
        }
    }

    fn event(&mut self, kind: &str, line: &RolloutLine<'_>) {
        let payload = &line.payload;
        let text = |text: &Option<Excerpt>| text.as_ref().map(|text| text.0.clone());
        match kind {
            "task_started" => {
                (self.prompt, self.error) = (None, None);
                self.emit(line, EventKind::TurnBegun);
            }
            "task_complete" => {
                let error = self.error.take().filter(|_| payload.last_agent_message.is_none());
                self.emit(line, EventKind::TurnEnded { error });
            }
            "turn_aborted" => {
                let by_user = payload.reason.as_ref().is_none_or(|reason| reason.0 == "interrupted");
                let end = EventKind::TurnEnded { error: None };
                self.emit(line, if by_user { EventKind::Interrupted } else { end });
            }
            "error" => self.error = payload.message.as_ref().map(|message| excerpt(&message.0, 200)),
            "user_message" => self.prompt(line, text(&payload.message)),
            "thread_name_updated" => {
                if let Some(name) = text(&payload.thread_name) {
                    self.has_title = true;
                    self.emit(line, EventKind::Title(excerpt(&name, 100)));
                }
            }
            "item_completed" => {
                let item = payload.item.as_ref();
                let item = item.filter(|item| item.kind.as_ref().is_some_and(|kind| kind.0 == "UserMessage"));
                self.prompt(line, item.and_then(|item| text(&item.content)));
            }
            _ => {}
        }
    }

    fn prompt(&mut self, line: &RolloutLine<'_>, prompt: Option<String>) {
        let prompt = prompt.map(|prompt| prompt.trim().to_owned()).filter(|prompt| !prompt.is_empty());
        if prompt.is_none() || prompt == self.prompt {
            return;
        }
        self.prompt.clone_from(&prompt);
        let prompt = prompt.unwrap_or_default();
        if let Some(title) = title(&prompt).filter(|_| !std::mem::replace(&mut self.has_title, true)) {
            self.emit(line, EventKind::Title(title));
        }
        self.emit(line, EventKind::Prompt(prompt));
    }

    fn item(&mut self, kind: &str, line: &RolloutLine<'_>) {
        let payload = &line.payload;
        match (kind, &payload.call_id, &payload.name) {
            ("reasoning", ..) => {
                let thoughts = payload.summary.as_ref().map(|summary| summary.0.trim());
                if let Some(thoughts) = thoughts.filter(|thoughts| !thoughts.is_empty()) {
                    self.emit(line, EventKind::Thoughts(thoughts.to_owned()));
                }
            }
            ("function_call" | "custom_tool_call", Some(id), Some(name)) if self.is_new("call", &id.0) => {
                self.call(line, &id.0, &name.0);
            }
            ("function_call_output" | "custom_tool_call_output", Some(id), _)
                if self.is_new("output", &id.0) =>
            {
                self.output(line, &id.0);
            }
            _ => {}
        }
    }

    fn is_new(&mut self, kind: &str, id: &str) -> bool {
        let session = self.session.as_ref().map_or("", |session| session.session.as_str());
        self.seen.insert(session, kind, id)
    }

    fn call(&mut self, line: &RolloutLine<'_>, id: &str, name: &str) {
        let payload = &line.payload;
        let arguments = payload.arguments.as_deref().unwrap_or_default();
        let script = payload.input.as_deref().unwrap_or_default();
        let is_emacs = name.ends_with("todo_write")
            && (name.starts_with("mcp__")
                || payload.namespace.as_ref().is_some_and(|namespace| namespace.0.starts_with("mcp__")));
        let parsed: Raw<'_> = serde_json::from_str(arguments).unwrap_or(Raw::Null);
        let effect = match name {
            "update_plan" => plan(&parsed, &self.options).map(Effect::Plan),
            "exec" => self.script(line, script),
            _ if is_emacs => Some(Effect::EmacsList(input::read(&parsed, &self.options))),
            _ => None,
        };
        let input = match &effect {
            Some(Effect::Plan(_) | Effect::EmacsList(_)) => None,
            _ if parsed == Raw::Null => {
                let input = if script.is_empty() { arguments } else { script };
                Some(json!({ "input": Excerpt::<400>::of(input).0 }))
            }
            _ => Some(shortened(&parsed)),
        };
        let input = input.map(|input| input.to_string());
        let event = self.calls.begin((id, name), input, self.time, effect.unwrap_or(Effect::Other));
        self.emit(line, event);
    }

    fn script(&mut self, line: &RolloutLine<'_>, script: &str) -> Option<Effect> {
        let Some(arguments) = script::list(script, "update_plan", "plan") else {
            let arguments = script::list(script, "todo_write", "todos")??;
            return Some(Effect::EmacsList(input::read(&arguments, &self.options)));
        };
        match arguments {
            Some(arguments) => plan(&arguments, &self.options).map(Effect::Script),
            None => {
                if !std::mem::replace(&mut self.is_computed, true) {
                    self.emit(line, EventKind::Unread(COMPUTED));
                }
                None
            }
        }
    }

    fn output(&mut self, line: &RolloutLine<'_>, id: &str) {
        let content = line.payload.output.as_ref().map(|output| output.0.clone()).unwrap_or_default();
        let call = self.calls.end(id);
        let is_plan = call.as_ref().is_some_and(|call| call.name == "update_plan");
        let is_error = is_plan && content != "Plan updated";
        let event = result(call.as_ref(), id, content.clone(), is_error, self.time);
        let plan = match call.map(|call| call.effect) {
            Some(Effect::Plan(plan)) if !is_error => Some(plan),
            Some(Effect::Script(plan)) if content.starts_with("Script completed") => Some(plan),
            Some(Effect::EmacsList(plan)) if NO_EMACS.iter().any(|text| content.contains(text)) => Some(plan),
            _ => None,
        };
        if let Some(plan) = plan {
            self.emit(line, EventKind::List(plan));
        }
        self.emit(line, event);
    }

    fn emit(&mut self, line: &RolloutLine<'_>, kind: EventKind) {
        let Some(source) = self.session.clone() else { return };
        let payload = &line.payload;
        let name = payload.call_id.as_ref().or(payload.id.as_ref()).map(|name| name.0.clone());
        let uuid = name.or_else(|| Some(line.timestamp.as_ref()?.0.clone())).unwrap_or_default();
        self.events.push(Event { source, uuid, time: self.time, kind });
    }
}

/// Reads the arguments of `update_plan`; `None` if Codex refuses them.
fn plan(arguments: &Raw<'_>, options: &Options) -> Option<PlanResult> {
    let Some(Raw::List(steps)) = arguments.get("plan") else { return None };
    let is_valid = |step: &Raw<'_>| matches!(step.get("status"), Some(Raw::Text(status)) if Status::parse(status).is_some());
    steps.iter().all(is_valid).then(|| input::read(arguments, options))
}
