//! What an event becomes in its thread: a write, an observation, or a change of what the agent does.

use serde_json::Value;

use super::{DENIED, INTERRUPTED, PROJECT, RECENT, Recorder, SESSION_ENDED};
use crate::agents::reports::{Background, Report, Rest, Weight, What};
use crate::agents::{Event, EventKind};
use crate::events::Millis;
use crate::events::observation::{Details, Metadata, Payload};
use crate::events::payload::{AgentsWork, Content, FileEntry, Text, ToolCall, ToolResult};
use crate::events::session::Cost;
use crate::list::report;
use crate::thread::activity::{Activity, Ending};
use crate::thread::{Outcome, Thread, WriteOptions};

impl Recorder {
    /// Records an event; returns the outcome of a write that changed the list.
    pub(super) fn record_event(
        &self,
        thread: &mut Thread,
        event: &Event,
        keep_completed: bool,
        time: Millis,
    ) -> Option<Outcome> {
        let (mut details, mut kind) = (details(event), &event.kind);
        if let EventKind::OfSubagent { subagent, call, kind: inner } = kind {
            details = self::details(&Event { kind: (**inner).clone(), ..event.clone() });
            details.metadata.agent = Some(subagent.clone());
            if let Some(moment) = call.as_ref().and_then(|call| thread.moment_of_call(call)) {
                details.metadata.items = Some(moment.items.clone());
                let is_earlier = !thread.is_of_current_turn(moment.number);
                details.metadata.of_call = is_earlier.then_some(moment.number);
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
            details.metadata.items = Some(thread.in_progress_at_line(line_time(event)));
        }
        if let EventKind::Result { effect, .. } = kind {
            let files = effect.files.iter().map(|file| self.policy.entry(file, thread.project()));
            let files: Vec<FileEntry> = files.collect();
            details.metadata.files = Some(files).filter(|files| !files.is_empty());
            details.metadata.more_files = effect.more_files.then_some(true);
            details.metadata.others_wrote = effect.others_wrote.then_some(true);
            details.metadata.git = Some(effect.git.clone()).filter(|git| !git.is_empty());
            details.metadata.refusal.clone_from(&effect.refusal);
        }
        // A session that seemed to have ended goes on with any event.
        let goes_on = thread.pause_reason() == Some(SESSION_ENDED) && !is_aside(kind);
        if goes_on || is_of_turn(&event.kind) {
            thread.set_activity(Activity::Working, time);
        }
        if let (Some(time), true) = (event.time, end(kind).is_some() || matches!(kind, EventKind::Prompt(_)))
        {
            // A call within a turn has its line there, or has none.
            thread.pass_calls_before(time);
        }
        if let Some((ending, reason)) = end(kind) {
            thread.end_turn(reason.to_owned(), ending, time);
        }
        let payload = match kind {
            EventKind::List(Ok(plan)) | EventKind::EmacsCall { list: Some(Ok(plan)), .. } => {
                let source = Some(event.source.agent.as_str().to_owned());
                let options = WriteOptions { source, keep_completed, is_unanswered: true, call: None };
                let outcome = thread.write(plan.clone(), options, time);
                thread.pass_list();
                return Some(outcome).filter(|outcome| !outcome.changes.is_empty());
            }
            EventKind::Unread(reason) => Payload::Error(reason.as_ref().into()),
            EventKind::List(Err(problems)) | EventKind::EmacsCall { list: Some(Err(problems)), .. } => {
                Payload::Error(report::refused(problems).into())
            }
            EventKind::Title(title) if thread.title() == Some(title) => return None,
            EventKind::Title(title) => Payload::Title(title.as_str().into()),
            EventKind::Prompt(text) => Payload::Intent(text.as_str().into()),
            EventKind::Message(text) => Payload::Message(Text::of(text)),
            EventKind::Usage { usage, .. } => Payload::Usage(Content::Fields(usage.into())),
            EventKind::Goal(goal) => Payload::StateUpdate(Text::of(goal.bounded().line())),
            EventKind::Cost(_) => Payload::StateUpdate(Content::Fields(Text::default())),
            EventKind::SubagentSums { .. } => Payload::ToolExecution(Content::Fields(ToolResult::default())),
            EventKind::OfSubagent { .. } | EventKind::Moved(_) => return None,
            EventKind::Thoughts(text) => Payload::Thoughts(Text::of(text)),
            EventKind::Call { id, name, input, .. } => Payload::ToolCall(Content::Fields(ToolCall {
                id: Some(id.clone()),
                name: Some(name.clone()),
                input: input.as_deref().map(Value::from),
                ..ToolCall::default()
            })),
            EventKind::Result { id, name, content, is_error, .. } => {
                Payload::ToolExecution(Content::Fields(ToolResult {
                    id: Some(id.clone()),
                    name: Some(name.clone()),
                    content: Some(content.as_str().into()),
                    is_error: Some(*is_error),
                    ..ToolResult::default()
                }))
            }
            EventKind::Interrupted => Payload::AgentSuspended(INTERRUPTED.into()),
            EventKind::Denied => Payload::AgentSuspended(DENIED.into()),
            EventKind::TurnEnded { error: Some(error), .. } => Payload::Error(error.as_str().into()),
            EventKind::EmacsCall { list: None, .. }
            | EventKind::SubagentEnded
            | EventKind::TurnBegun
            | EventKind::TurnEnded { error: None, .. } => return None,
        };
        thread.observe_allowed(&self.policy, payload, details, time);
        None
    }
}

/// How an event of this kind ends a turn, and the reason, if it does.
fn end(kind: &EventKind) -> Option<(Ending, &str)> {
    match kind {
        EventKind::Interrupted => Some((Ending::EndOfTurn, INTERRUPTED)),
        EventKind::Denied => Some((Ending::Denied, DENIED)),
        EventKind::SubagentEnded => Some((Ending::EndOfTurn, "the subagent returned")),
        EventKind::TurnEnded { error: None, .. } => Some((Ending::EndOfTurn, "end of turn")),
        EventKind::TurnEnded { error: Some(error), .. } => Some((Ending::Error, error)),
        _ => None,
    }
}

/// Whether an event of this kind is of a turn that goes on.
fn is_of_turn(kind: &EventKind) -> bool {
    !is_aside(kind) && end(kind).is_none()
}

/// Whether an event of this kind says nothing of turns. Subagents may work when the turn has ended.
fn is_aside(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Title(_)
            | EventKind::Moved(_)
            | EventKind::Goal(_)
            | EventKind::Cost(_)
            | EventKind::OfSubagent { .. }
    )
}

/// What an event of this kind at `time` says of the turn. One that is old says that it is over.
pub(super) fn turn(kind: &EventKind, time: Millis, now: Millis) -> Option<Report> {
    let (what, reason) = match end(kind) {
        Some((ending, reason)) => {
            let has_failed = ending == Ending::Error && is_recent(time, now);
            (What::Rest(Rest { has_failed, ..Rest::end(Some(ending)) }), Some(reason))
        }
        None if !is_of_turn(kind) => return None,
        None if is_recent(time, now) => (What::Working, None),
        None => (What::Rest(Rest::end(Some(Ending::SessionEnded))), Some(SESSION_ENDED)),
    };
    let background = match kind {
        EventKind::TurnEnded { background, .. } => *background,
        _ => Background::default(),
    };
    let report = Report { background, ..Report::new(what, Weight::Event, time) };
    Some(report.because(reason.map(str::to_owned)))
}

pub(super) fn is_recent(time: Millis, now: Millis) -> bool {
    now.saturating_sub(time) <= RECENT
}

pub(super) fn details(event: &Event) -> Details {
    let mut metadata = Metadata {
        uuid: Some(event.uuid.clone()).filter(|uuid| !uuid.is_empty()),
        timestamp: event.time,
        ..Metadata::default()
    };
    if let EventKind::Call { excluded: Some(name), .. } | EventKind::Result { excluded: Some(name), .. } =
        &event.kind
    {
        (metadata.hidden, metadata.excluded) = (Some(true), Some(name.clone()));
    }
    let title = match &event.kind {
        EventKind::Call { id, name, .. } => {
            metadata.call_id = Some(id.clone());
            Some(name.clone())
        }
        EventKind::Usage { response, context, .. } => {
            (metadata.response, metadata.context) = (Some(response.clone()), *context);
            None
        }
        EventKind::Goal(goal) => {
            metadata.goal = Some(goal.bounded());
            None
        }
        EventKind::Cost(cost) => {
            metadata.cost = Cost::new(cost.amount, &cost.currency);
            None
        }
        EventKind::SubagentSums { added, removed, edits } => {
            metadata.by_agents = Some(AgentsWork { added: *added, removed: *removed, edits: *edits });
            metadata.call_id = Some(format!("sums {}", event.uuid));
            None
        }
        EventKind::Result { id, name, is_error, duration, effect, .. } => {
            metadata.call_id = Some(id.clone());
            metadata.outcome = effect.outcome;
            metadata.exit_code = effect.exit_code;
            metadata.command = effect.is_command;
            metadata.duration = *duration;
            Some(if *is_error { format!("{name} failed") } else { name.clone() })
        }
        _ => None,
    };
    Details {
        title: title.filter(|title| !title.is_empty()),
        line: Some(line_time(event)),
        metadata,
        ..Details::default()
    }
}

/// The time of the line of an event. One without a time is later than all known ones.
fn line_time(event: &Event) -> Millis {
    event.time.unwrap_or(Millis::MAX)
}
