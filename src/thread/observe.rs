//! Observations of a thread: those derived from revisions, and those reported by the host.

use std::sync::Arc;

use serde_json::Value;

use super::{Moment, Thread};
use crate::events::Millis;
use crate::events::observation::{
    Details, Filter, Kept, Observation, Payload, Phase, RevisionObservations, Type,
};
use crate::events::payload::{Fields, PlanUpdate, StatusChange, Update};
use crate::events::policy::{Hidden, Policy};
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
        details: Details,
        now: Millis,
    ) -> Arc<Observation> {
        let name = payload.call().and_then(|call| {
            let known = || self.observations.hidden(call.call_id.as_deref()?);
            call.hidden.map(|_| call.excluded.as_deref()).or_else(known)
        });
        let hidden = name.map(|name| Hidden { name: name.map(str::to_owned), keeps_input: true });
        policy.hide(self.project(), hidden, &mut payload);
        if self.journal_bytes > policy.most_bytes {
            self.note_abridged(now);
            payload.abridge();
        }
        self.observe(payload, details, now)
    }

    /// Records once that the journal is full and contents are abridged from now on.
    fn note_abridged(&mut self, now: Millis) {
        if !self.is_abridged {
            let text = "This plan's journal is full: patches are no longer recorded, and texts only in part";
            self.observe(Payload::update(Update::Abridged(true), text), Details::default(), now);
        }
    }

    /// Records why the agent's last list was refused, or that the next one was accepted.
    pub(super) fn note_refusal(&mut self, reason: Option<String>, now: Millis) {
        let text = match &reason {
            Some(reason) => format!("The list was refused: {reason}"),
            None => "The next list was accepted".to_owned(),
        };
        self.observe(Payload::update(Update::RefusedList(reason), &text), Details::default(), now);
    }

    /// Keeps an observation, and adds its work to the sums.
    pub(super) fn keep_observation(&mut self, observation: Arc<Observation>) {
        let Payload { fields, metadata, .. } = &observation.payload;
        match fields {
            Fields::StateUpdate(Some(Update::RefusedList(reason))) => self.refused.clone_from(reason),
            Fields::StateUpdate(Some(Update::Abridged(_))) => self.is_abridged = true,
            _ => {}
        }
        self.session.note(&observation.payload);
        let is_prompt = observation.kind() == Type::Intent;
        let in_progress = if is_prompt { self.in_progress() } else { Vec::new() };
        let turn = self.turns.add(&observation, in_progress);
        self.work.add(&observation, turn);
        self.review.add(&observation, turn);
        self.comments.note(&observation);
        if let (Fields::ToolCall(call), Some(items)) = (fields, &metadata.items)
            && let Some(call) = &call.call_id
        {
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
    fn observation(
        &self,
        mut payload: Payload,
        details: Details,
        list: &List,
        now: Millis,
    ) -> Arc<Observation> {
        let Details { title, trace_id, parent_id, phase, line: _ } = details;
        let phase = phase.unwrap_or_else(|| Some(Phase::of(list)));
        let step = match &parent_id {
            Some(id) => list.iter().find(|item| item.id == *id),
            None if phase == Some(Phase::Execution) => list.iter().find(|item| is_in_progress(item)),
            None => None,
        };
        if payload.fields.is_work() {
            payload.metadata.items.get_or_insert_with(|| in_progress(list));
        }
        let number = self.observations.next_number();
        let observation = observation(number, payload, phase, step, now);
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
        let update = (Fields::PlanUpdate(update), made.step.clone());
        let statuses = statuses.into_iter().map(|change| {
            let item = Arc::clone(&change.item);
            (Fields::ItemStatusChange(change), Some(item))
        });
        let observation = |(number, (fields, step)): (u64, (Fields, Option<Arc<Item>>))| {
            let payload = Payload::with(fields, Value::Null);
            Arc::new(observation(number, payload, Some(made.phase), step.as_ref(), made.timestamp))
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
    mut payload: Payload,
    phase: Option<Phase>,
    step: Option<&Arc<Item>>,
    timestamp: Millis,
) -> Observation {
    let metadata = &mut payload.metadata;
    metadata.phase = metadata.phase.or(phase);
    if let Some(step) = step.filter(|_| phase == Some(Phase::Execution)) {
        metadata.step_id.get_or_insert_with(|| step.id.clone());
        metadata.step_description.get_or_insert_with(|| step.content.clone());
    }
    Observation {
        number,
        title: payload.kind().as_str().to_lowercase().replace('_', " "),
        payload,
        timestamp,
        trace_id: None,
        parent_id: step.map(|item| item.id.clone()),
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
            thread.observe_allowed(
                &policy,
                Payload::new(Type::Message, "a message".into()),
                Details::default(),
                1,
            );
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
