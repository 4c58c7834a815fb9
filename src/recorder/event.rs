//! What an event becomes in its thread: a write, an observation, or a change of what the agent does.

use serde_json::json;

use super::{DENIED, INTERRUPTED, PROJECT, RECENT, Recorder};
use crate::events::Millis;
use crate::events::observation::{Details, Metadata, Payload, Type};
use crate::events::payload::{AgentsWork, said};
use crate::events::session::Cost;
use crate::list::report;
use crate::thread::activity::{End, Ending, Turn};
use crate::thread::{Outcome, Thread, WriteOptions};
use crate::wire::event::{Event, EventKind};

impl Recorder {
    /// Records an event; returns the outcome of a write that changed the list.
    pub(super) fn record_event(
        &self,
        thread: &mut Thread,
        event: &Event,
        keep_completed: bool,
        time: Millis,
    ) -> Option<Outcome> {
        let (mut metadata, mut kind) = (metadata(event), &event.kind);
        if let EventKind::OfSubagent { subagent, call, kind: inner } = kind {
            metadata.agent = Some(subagent.clone());
            if let Some(moment) = call.as_ref().and_then(|call| thread.moment_of_call(call)) {
                metadata.items = Some(moment.items.clone());
                let is_earlier = thread.turns().last().is_some_and(|turn| moment.number < turn.first);
                metadata.of_call = is_earlier.then_some(moment.number);
            }
            kind = inner;
        }
        if let EventKind::Moved(folder) = kind {
            let project = self.project_moved_to(folder)?;
            thread.describe(PROJECT, project.into(), time);
            return None;
        }
        if let EventKind::Call { name, .. } = kind
            && matches!(name.as_str(), "Task" | "Agent" | "spawn_agent")
        {
            metadata.items = Some(thread.in_progress_at_line(line_time(event)));
        }
        let mut title = None;
        let payload = match kind {
            EventKind::List(Ok(plan)) | EventKind::EmacsCall { list: Some(Ok(plan)), .. } => {
                let source = Some(event.source.agent.as_str().to_owned());
                // What a line says has its id.
                let beside = event.time.filter(|_| event.uuid.is_empty());
                let options =
                    WriteOptions { source, keep_completed, is_unanswered: true, beside, call: None };
                let outcome = thread.write(plan.clone(), options, time);
                return Some(outcome).filter(|outcome| !outcome.changes.is_empty());
            }
            EventKind::Unread(reason) => Payload::new(Type::Error, reason.as_ref().into()),
            EventKind::List(Err(problems)) | EventKind::EmacsCall { list: Some(Err(problems)), .. } => {
                Payload::new(Type::Error, report::refused(problems).into())
            }
            EventKind::Title(title) if thread.title() == Some(title) => return None,
            EventKind::Title(title) => Payload::new(Type::Title, title.as_str().into()),
            EventKind::Prompt(text) => Payload::new(Type::Intent, text.as_str().into()),
            EventKind::Message(text) => Payload::new(Type::Message, said(text)),
            EventKind::Thoughts(text) => Payload::new(Type::Thoughts, said(text)),
            EventKind::Usage { response, usage, context } => {
                (metadata.response, metadata.context) = (Some(response.clone()), *context);
                Payload::new(Type::Usage, json!(usage))
            }
            EventKind::Goal(goal) => {
                let goal = goal.bounded();
                let line = said(goal.line());
                metadata.goal = Some(goal);
                Payload::new(Type::StateUpdate, line)
            }
            EventKind::Cost(cost) => {
                metadata.cost = Cost::new(cost.amount, &cost.currency);
                Payload::new(Type::StateUpdate, json!({}))
            }
            EventKind::SubagentSums { added, removed, edits } => {
                let work = AgentsWork { added: *added, removed: *removed, edits: *edits };
                metadata.call_id = Some(format!("sums {}", event.uuid));
                metadata.by_agents = Some(work);
                Payload::new(Type::ToolExecution, json!({}))
            }
            EventKind::Call { id, name, input, excluded } => {
                title = Some(name.clone());
                let mut content = json!({ "id": id, "name": name });
                if let Some(input) = input {
                    content["input"] = input.as_str().into();
                }
                metadata = of_call(metadata, id, excluded);
                Payload::new(Type::ToolCall, content)
            }
            EventKind::Result { id, name, content, excluded, is_error, duration, effect } => {
                title = Some(if *is_error { format!("{name} failed") } else { name.clone() });
                let files = effect.files.iter().map(|file| self.policy.entry(file, thread.project()));
                metadata = Metadata {
                    outcome: effect.outcome,
                    exit_code: effect.exit_code,
                    command: effect.is_command,
                    duration: *duration,
                    files: (!effect.files.is_empty()).then(|| files.collect()),
                    more_files: effect.more_files.then_some(true),
                    others_wrote: effect.others_wrote.then_some(true),
                    git: (!effect.git.is_empty()).then(|| effect.git.clone()),
                    refusal: effect.refusal.clone(),
                    ..of_call(metadata, id, excluded)
                };
                let content = json!({ "id": id, "name": name, "content": content, "isError": is_error });
                Payload::new(Type::ToolExecution, content)
            }
            EventKind::Interrupted => Payload::new(Type::AgentSuspended, INTERRUPTED.into()),
            EventKind::Denied => Payload::new(Type::AgentSuspended, DENIED.into()),
            EventKind::TurnEnded { error: Some(error), .. } => {
                Payload::new(Type::Error, error.as_str().into())
            }
            EventKind::OfSubagent { .. }
            | EventKind::Moved(_)
            | EventKind::EmacsCall { list: None, .. }
            | EventKind::SubagentEnded
            | EventKind::TurnBegun
            | EventKind::TurnEnded { error: None, .. } => return None,
        };
        let title = title.filter(|title| !title.is_empty());
        let details = Details { title, line: Some(line_time(event)), ..Details::default() };
        thread.observe_allowed(&self.policy, Payload { metadata, ..payload }, details, time);
        None
    }
}

/// What an event tells of a call by itself.
fn of_call(metadata: Metadata, id: &str, excluded: &Option<String>) -> Metadata {
    let (call_id, hidden) = (Some(id.to_owned()), excluded.is_some().then_some(true));
    Metadata { call_id, hidden, excluded: excluded.clone(), ..metadata }
}

/// What an event of this kind tells of the agent's turn, if it does. Subagents may work when the turn has ended.
pub(super) fn turn(kind: &EventKind, time: Millis, now: Millis) -> Option<Turn> {
    let over = |ending, reason: &str| End::new(ending, Some(reason.to_owned()));
    let end = match kind {
        EventKind::Interrupted => over(Ending::EndOfTurn, INTERRUPTED),
        EventKind::Denied => over(Ending::Denied, DENIED),
        EventKind::SubagentEnded => over(Ending::EndOfTurn, "the subagent returned"),
        EventKind::TurnEnded { error: None, background } => {
            End { background: *background, ..over(Ending::EndOfTurn, "end of turn") }
        }
        EventKind::TurnEnded { error: Some(error), background } => {
            let has_failed = is_recent(time, now);
            End { has_failed, background: *background, ..over(Ending::Error, error) }
        }
        EventKind::Title(_)
        | EventKind::Moved(_)
        | EventKind::Goal(_)
        | EventKind::Cost(_)
        | EventKind::OfSubagent { .. } => return None,
        _ => return Some(Turn::Runs(None)),
    };
    Some(Turn::Over(end))
}

pub(super) fn is_recent(time: Millis, now: Millis) -> bool {
    now.saturating_sub(time) <= RECENT
}

/// The metadata of all that an event tells.
fn metadata(event: &Event) -> Metadata {
    let uuid = Some(event.uuid.clone()).filter(|uuid| !uuid.is_empty());
    Metadata { uuid, timestamp: event.time, ..Metadata::default() }
}

/// The time of the line of an event. One without a time is later than all known ones.
fn line_time(event: &Event) -> Millis {
    event.time.unwrap_or(Millis::MAX)
}
