//! The events of a thread: its own, which follow from revisions, and those its host reports.

use std::sync::Arc;

use serde_json::Value;

use super::Thread;
use crate::change::{Change, Kind};
use crate::clock::Millis;
use crate::fault::may_panic_here;
use crate::item::Item;
use crate::journal::Record;
use crate::observation::{Content, Details, Observation, Observations, Phase, Type};

/// The recorded events, and what follows from them.
#[derive(Debug)]
pub(super) struct Events {
    observations: Observations,
    /// The newest title that the host reported.
    title: Option<String>,
    limit: usize,
}

impl Events {
    /// No events yet; at most `limit` are kept in memory.
    pub fn new(limit: usize) -> Events {
        Events { observations: Observations::default(), title: None, limit }
    }

    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    pub fn observations_mut(&mut self) -> &mut Observations {
        &mut self.observations
    }

    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn add(&mut self, observation: Observation) {
        if let (Type::Title, Content::Json(Value::String(title))) = (observation.kind, &observation.content) {
            self.title = Some(title.clone());
        }
        may_panic_here();
        self.observations.push(observation, self.limit);
    }
}

impl Thread {
    /// Records an event, and returns it.
    pub fn observe(&mut self, kind: Type, content: Value, details: Details, now: Millis) -> Arc<Observation> {
        let observation = self.observation(kind, Content::Json(content.clone()), details, now);
        // An event that cannot be saved now waits with the other records.
        let _ = self.record_then(&record_of(&observation, content), |thread| {
            thread.events.add(observation.clone());
        });
        Arc::new(observation)
    }

    /// An observation with the context that follows from the list.
    fn observation(&self, kind: Type, content: Content, details: Details, now: Millis) -> Observation {
        let phase = details.phase.unwrap_or_else(|| Some(Phase::of(self.list())));
        let step = match &details.parent_id {
            Some(id) => self.list().iter().find(|item| item.id == *id),
            None if phase == Some(Phase::Execution) => self.current(),
            None => None,
        };
        Observation {
            number: self.events.observations.next_number(),
            kind,
            timestamp: now,
            own_title: details.title,
            trace_id: details.trace_id,
            parent_id: details.parent_id.or_else(|| step.map(|item| item.id.clone())),
            content,
            phase,
            step: step.filter(|_| phase == Some(Phase::Execution)).cloned(),
            details: details.metadata,
        }
    }

    /// Records what follows from a revision that was just made.
    pub(super) fn observe_revision(&mut self, number: u64, changes: &[Change<Arc<Item>>], now: Millis) {
        let update = self.observation(Type::PlanUpdate, Content::Revision(number), Details::default(), now);
        self.events.add(update);
        for change in changes {
            self.observe_status(change, now);
        }
    }

    fn observe_status(&mut self, change: &Change<Arc<Item>>, now: Millis) {
        let Some(item) = change.item.clone() else { return };
        let previous = change.previous_item.as_ref().map(|item| item.status);
        if change.kind == Kind::Added || previous == Some(item.status) {
            return;
        }
        let details = Details { parent_id: Some(item.id.clone()), ..Details::default() };
        let observation =
            self.observation(Type::ItemStatusChange, Content::Status { item, previous }, details, now);
        self.events.add(observation);
    }
}

/// An observation as it is written down, with what it carries.
pub(super) fn record_of(observation: &Observation, content: Value) -> Record {
    Record::Observation {
        number: observation.number,
        kind: observation.kind,
        timestamp: observation.timestamp,
        title: observation.title().into_owned(),
        trace_id: observation.trace_id.clone(),
        parent_id: observation.parent_id.clone(),
        content,
        metadata: observation.metadata(),
    }
}
