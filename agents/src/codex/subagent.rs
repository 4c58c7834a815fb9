//! Subagents of Codex. Each has a rollout of its own, which may begin with lines of the agent that sent it out.
//!
//! The lines of that agent name its subagents. A subagent's work counts for the main agent at the call that led to
//! it, and its other events only if it has a plan, which few subagents have.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CodexReader, SPAWN};
use crate::events::push_recent;
use crate::field::{is_id, text};
use todo_write::events::work::is_shell;
use todo_write::list::input::Options;
use todo_write::list::raw::Raw;
use todo_write::text::{excerpt, one_line};
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::event::{Agent, Event, EventKind, Source, SubagentCall};

const DAY: i64 = 86_400_000;

/// A subagent of which a line told, as far as its own lines do not.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(super) source: Arc<Source>,
    /// The main agent, and its call that led to the subagent, perhaps by other subagents.
    main: Arc<Source>,
    call: String,
}

#[derive(Debug, Default)]
pub(super) struct Subagents {
    /// Calls that sent out one, with what it is for, while their ends are awaited.
    calls: VecDeque<(String, String)>,
    /// The ids of those that were told.
    told: VecDeque<String>,
    sent: Vec<Sent>,
}

impl Sent {
    pub(crate) fn id(&self) -> &str {
        self.source.subagent.as_deref().unwrap_or_default()
    }

    pub(crate) fn reader(&self, options: Options) -> CodexReader {
        CodexReader { subagent: Some(self.clone()), has_title: true, ..CodexReader::new(options) }
    }

    /// Its rollout, if it is there: in the folder of the day on which it began, on this machine's calendar.
    /// `beside` is the rollout of a session of the same home.
    pub(crate) fn file(&self, beside: &Path) -> Option<PathBuf> {
        let end = format!("-{}.jsonl", self.id());
        let is_it =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&end));
        let find = |folder: PathBuf| {
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).find(is_it)
        };
        find(beside.parent()?.to_owned()).or_else(|| {
            let sessions = beside.ancestors().nth(4)?;
            let began = began(self.id())?;
            let days = [began, began - DAY, began + DAY].into_iter().filter_map(day);
            days.map(|day| sessions.join(day)).find_map(find)
        })
    }
}

/// When the session with this id began, in milliseconds: the first 48 bits of the id say it.
fn began(id: &str) -> Option<i64> {
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    i64::from_str_radix(&digits, 16).ok()
}

fn day(time: i64) -> Option<String> {
    Some(jiff::Timestamp::from_millisecond(time).ok()?.strftime("%Y/%m/%d").to_string())
}

impl CodexReader {
    /// Passes on an event, of a subagent only if there is a list. A subagent's work counts for the main agent, too.
    pub(super) fn pass(&mut self, event: Event) {
        let Some(subagent) = &self.subagent else { return self.events.push(event) };
        let is_work = match &event.kind {
            EventKind::Result { effect, name, .. } => {
                !effect.files.is_empty() || effect.is_command == Some(true) || is_shell(name)
            }
            EventKind::Usage { .. } => true,
            _ => false,
        };
        if is_work {
            let kind = EventKind::OfSubagent {
                subagent: subagent.id().to_owned(),
                call: Some(subagent.call.clone()),
                kind: Box::new(event.kind.clone()),
            };
            self.events.push(Event { source: subagent.main.clone(), kind, ..event.clone() });
        }
        self.held.pass(event, &mut self.events);
    }

    /// The subagents of which the lines read since the last call told.
    pub(crate) fn take_sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.subagents.sent)
    }

    /// Notes a call that sends out a subagent: `task_name` is what it is for or, in older versions, `message`.
    pub(super) fn note_spawn(&mut self, id: &str, arguments: &Raw<'_>) {
        let named = ["task_name", "message"].into_iter().find_map(|key| arguments.get(key)?.as_str());
        let what = named.unwrap_or_default().replace('_', " ");
        push_recent(&mut self.subagents.calls, (excerpt(id, 200), excerpt(&one_line(&what).0, 200)));
    }

    /// Notes the subagents that an item of the newer log names.
    pub(super) fn note_sent(&mut self, item: &Raw<'_>) {
        let ids = match text(item, "type") {
            "SubAgentActivity" if text(item, "kind") == "started" => item.get("agent_thread_id"),
            "CollabAgentToolCall" if text(item, "tool") == SPAWN => item.get("receiver_thread_ids"),
            _ => None,
        };
        let ids = match ids {
            Some(Raw::List(ids)) => &ids[..],
            ids => ids.map(std::slice::from_ref).unwrap_or_default(),
        };
        // The path has the names of the agents above it, too.
        let name = text(item, "agent_path").rsplit('/').next().unwrap_or_default().replace('_', " ");
        let ids = ids.iter().take(ENTRIES).filter_map(Raw::as_str);
        ids.for_each(|id| self.send(id, text(item, "id"), &name));
    }

    /// Notes the subagent that the output of the call `id` names, in versions whose log has no item for it.
    pub(super) fn note_output(&mut self, id: &str, content: &str) {
        let output: Option<serde_json::Value> = serde_json::from_str(content).ok();
        if let Some(subagent) = output.as_ref().and_then(|output| output.get("agent_id")?.as_str()) {
            self.send(subagent, id, "");
        }
    }

    fn send(&mut self, id: &str, call: &str, name: &str) {
        let Some(by) = self.session.clone().filter(|_| self.is_own) else { return };
        if !is_id(id) || self.subagents.told.iter().any(|told| told == id) {
            return;
        }
        push_recent(&mut self.subagents.told, id.to_owned());
        let known = self.subagents.calls.iter().rev().find(|(known, _)| known == call);
        let description = known.map(|(_, what)| what.clone()).filter(|what| !what.is_empty());
        let description = description.unwrap_or_else(|| excerpt(name, 200));
        // Its parent is that of the MCP server, which knows no other.
        let parent = by.subagent.clone().unwrap_or_else(|| by.session.clone());
        let source = Source {
            subagent: Some(id.to_owned()),
            call: Some(SubagentCall { id: excerpt(call, 200), description, from: by.key() }),
            ..Source::main(Agent::Codex, &parent, by.folder.clone())
        };
        let (main, root) = match &self.subagent {
            Some(subagent) => (subagent.main.clone(), subagent.call.clone()),
            None => (by, excerpt(call, 200)),
        };
        self.subagents.sent.push(Sent { source: Arc::new(source), main, call: root });
    }
}
