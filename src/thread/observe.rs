//! Observations of a thread: those derived from revisions, and those reported by the host.

use std::sync::Arc;

use super::{Moment, Thread};
use crate::events::Millis;
use crate::events::observation::{
    Details, Filter, Kept, Metadata, Observation, Payload, Phase, RevisionObservations, Type,
};
use crate::events::payload::{Derived, PlanUpdate, StatusChange, Text};
use crate::events::policy::{Hidden, Policy, abridge};
use crate::events::work::is_work;
use crate::list::change::{Change, ChangeKind};
use crate::list::item::{Item, List, Status};
use crate::thread::record::Record;

/// Maximum number of calls that start subagents.
const MANY_MOMENTS: usize = 4_096;

impl Thread {
    /// Records an observation and returns it.
    pub fn observe(&mut self, payload: Payload, details: Details, now: Millis) -> Arc<Observation> {
        let list = details.line.and_then(|time| self.list_at_line(time));
        let list = list.as_ref().unwrap_or(self.list());
        let observation = self.observation(payload, details, list, now);
        self.make(Record::Observation(Arc::clone(&observation)));
        observation
    }

    /// Records an observation without what the user does not want recorded.
    pub fn observe_allowed(
        &mut self,
        policy: &Policy,
        mut payload: Payload,
        mut details: Details,
        now: Millis,
    ) -> Arc<Observation> {
        let metadata = &mut details.metadata;
        let known = || self.observations.hidden(metadata.call_id.as_deref()?);
        let name = metadata.hidden.map(|_| metadata.excluded.as_deref()).or_else(known);
        let hidden = name.map(|name| Hidden { name: name.map(str::to_owned), keeps_input: true });
        policy.hide(self.project(), hidden, &mut payload, metadata);
        if self.journal_bytes > policy.most_bytes {
            self.note_abridged(now);
            abridge(&mut payload, &mut details.metadata);
        }
        self.observe(payload, details, now)
    }

    /// Records once that the journal is full and contents are abridged from now on.
    fn note_abridged(&mut self, now: Millis) {
        if !self.is_abridged {
            let text = "This plan's journal is full: patches are no longer recorded, and texts only in part";
            let metadata = Metadata { abridged: Some(true), ..Metadata::default() };
            let details = Details { metadata, ..Details::default() };
            self.observe(Payload::StateUpdate(Text::of(text)), details, now);
        }
    }

    /// Records why the agent's last list was refused, or that the next one was accepted.
    pub(super) fn note_refusal(&mut self, reason: Option<String>, now: Millis) {
        let text = match &reason {
            Some(reason) => format!("The list was refused: {reason}"),
            None => "The next list was accepted".to_owned(),
        };
        let metadata = Metadata { refused_list: Some(reason.into()), ..Metadata::default() };
        let details = Details { metadata, ..Details::default() };
        self.observe(Payload::StateUpdate(Text::of(text)), details, now);
    }

    /// Keeps an observation, and adds its work to the sums.
    pub(super) fn keep_observation(&mut self, observation: Arc<Observation>) {
        if let Some(reason) = &observation.metadata.refused_list {
            self.refused = reason.as_str().map(str::to_owned);
        }
        self.is_abridged |= observation.metadata.abridged.is_some();
        self.session.note(&observation.metadata);
        let is_prompt = observation.kind() == Type::Intent;
        let in_progress = if is_prompt { self.in_progress() } else { Vec::new() };
        let turn = self.turns.add(&observation, in_progress);
        self.work.add(&observation, turn);
        self.review.add(&observation, turn);
        self.comments.note(&observation);
        let Metadata { call_id, items, .. } = &observation.metadata;
        if let (Type::ToolCall, Some(call), Some(items)) = (observation.kind(), call_id, items) {
            if self.moments.len() == MANY_MOMENTS {
                self.moments.clear();
            }
            let moment = Moment { items: items.clone(), number: observation.number };
            self.moments.insert(call.clone(), moment);
        }
        self.observations.push(observation);
    }

    /// The observations in memory that the filter admits, newest last.
    pub fn observed(&self, filter: &Filter) -> Vec<Arc<Observation>> {
        self.observations.select(filter, &self.turns, |revision| self.derived(revision))
    }

    /// Marks all observations as delivered, and returns those that were not, oldest first.
    pub fn take_observations(&mut self) -> Vec<Arc<Observation>> {
        let new = self.observations.take_new();
        let observations = new.into_iter().map(|kept| match kept {
            Kept::Reported(observation) => vec![observation],
            Kept::Revision(revision) => self.derived(&revision),
        });
        observations.flatten().collect()
    }

    /// Marks all observations as delivered.
    pub fn skip_observations(&mut self) {
        self.observations.skip_new();
    }

    /// The ids of the items in progress.
    pub fn in_progress(&self) -> Vec<String> {
        in_progress(self.list())
    }

    /// The ids of the items in progress at a line of that time after the last one that was read.
    pub(crate) fn in_progress_at_line(&mut self, time: Millis) -> Vec<String> {
        self.list_at_line(time).map_or_else(|| self.in_progress(), |list| in_progress(&list))
    }

    /// Creates an observation with the phase and step of a list.
    fn observation(&self, payload: Payload, details: Details, list: &List, now: Millis) -> Arc<Observation> {
        let Details { title, trace_id, parent_id, phase, line: _, mut metadata } = details;
        let phase = phase.unwrap_or_else(|| Some(Phase::of(list)));
        let step = match &parent_id {
            Some(id) => list.iter().find(|item| item.id == *id),
            None if phase == Some(Phase::Execution) => list.iter().find(|item| is_in_progress(item)),
            None => None,
        };
        if is_work(payload.kind(), &metadata) && metadata.items.is_none() {
            metadata.items = Some(in_progress(list));
        }
        let number = self.observations.next_number();
        let observation = observation(number, payload, phase, step, metadata, now);
        Arc::new(Observation {
            title: title.unwrap_or(observation.title),
            parent_id: parent_id.or(observation.parent_id),
            trace_id,
            ..observation
        })
    }

    /// Counts the observations of a new revision.
    pub(super) fn observe_revision(
        &mut self,
        revision: u64,
        changes: &[Change<Arc<Item>>],
        is_write: bool,
        timestamp: Millis,
    ) {
        let phase = Phase::of(self.list());
        self.turns.add_changes(changes, is_write, self.observations.next_number(), timestamp);
        self.observations.push_revision(RevisionObservations {
            first: self.observations.next_number(),
            count: 1 + changes.iter().filter_map(status_change).count(),
            revision,
            step: self.current().filter(|_| phase == Phase::Execution).cloned(),
            phase,
            timestamp,
        });
    }

    /// The observations of a revision.
    fn derived(&self, made: &RevisionObservations) -> Vec<Arc<Observation>> {
        let (Some(revision), Some(todo_list)) =
            (self.revisions.get(made.revision), self.revisions.list(made.revision))
        else {
            return Vec::new();
        };
        let changes = revision.changes();
        let statuses: Vec<StatusChange> = changes.iter().filter_map(status_change).collect();
        let update = PlanUpdate { revision: made.revision, todo_list, changes };
        let update = (Payload::PlanUpdate(Derived::Of(update)), made.step.clone());
        let statuses = statuses.into_iter().map(|change| {
            let item = Arc::clone(&change.item);
            (Payload::ItemStatusChange(Derived::Of(change)), Some(item))
        });
        let observation = |(number, (payload, step)): (u64, (Payload, Option<Arc<Item>>))| {
            let metadata = Metadata::default();
            Arc::new(observation(number, payload, Some(made.phase), step.as_ref(), metadata, made.timestamp))
        };
        (made.first..).zip([update].into_iter().chain(statuses)).map(observation).collect()
    }
}

fn is_in_progress(item: &Item) -> bool {
    item.status == Status::InProgress
}

/// The ids of the items in progress of a list.
fn in_progress(list: &List) -> Vec<String> {
    list.iter().filter(|item| is_in_progress(item)).map(|item| item.id.clone()).collect()
}

/// An observation with the default title and parent.
fn observation(
    number: u64,
    payload: Payload,
    phase: Option<Phase>,
    step: Option<&Arc<Item>>,
    metadata: Metadata,
    timestamp: Millis,
) -> Observation {
    let shown = step.filter(|_| phase == Some(Phase::Execution));
    Observation {
        number,
        title: payload.kind().as_str().to_lowercase().replace('_', " "),
        payload,
        timestamp,
        trace_id: None,
        parent_id: step.map(|item| item.id.clone()),
        metadata: Metadata {
            phase: metadata.phase.or(phase),
            step_id: metadata.step_id.or_else(|| shown.map(|item| item.id.clone())),
            step_description: metadata.step_description.or_else(|| shown.map(|item| item.content.clone())),
            ..metadata
        },
    }
}

/// The change of a status; none for a new item.
fn status_change(change: &Change<Arc<Item>>) -> Option<StatusChange> {
    let (item, previous) = (change.item.as_ref()?, change.previous_item.as_ref().map(|item| item.status));
    (change.kind != ChangeKind::Added && previous != Some(item.status))
        .then(|| StatusChange { item: Arc::clone(item), previous_status: previous })
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn that_a_journal_is_full_is_recorded_once_also_if_it_is_read_again() {
        let policy = Policy { most_bytes: 100, ..Policy::default() };
        let say = |thread: &mut Thread| {
            thread.set_journal_bytes(101);
            thread.observe_allowed(&policy, Payload::Message(Text::of("a message")), Details::default(), 1);
        };
        let kinds = |thread: &Thread| -> Vec<Type> {
            thread.observed(&Filter::default()).iter().map(|one| one.kind()).collect()
        };
        let mut thread = Thread::new("a thread", Map::new(), 10);
        thread.keep_records();
        say(&mut thread);
        say(&mut thread);
        let expected = [Type::StateUpdate, Type::Message, Type::Message, Type::Message];
        assert_eq!(kinds(&thread), expected[..3]);
        let (mut again, _) = Thread::replayed("a thread", &thread.take_records(), 10);
        say(&mut again);
        assert_eq!(kinds(&again), expected);
    }
}
