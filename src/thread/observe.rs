//! Observations of a thread: those derived from revisions, and those reported by the host.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Thread;
use crate::events::Millis;
use crate::events::observation::{Content, Details, HIDDEN, ITEMS, Observation, Phase, Type};
use crate::events::policy::{ABRIDGED, Recording, abridge};
use crate::events::work::{WORK_SINCE, is_work};
use crate::list::change::{Change, ChangeKind};
use crate::list::item::{Item, Status};
use crate::thread::record::Record;

/// The metadata key of why a list was refused; null once a list was accepted.
const REFUSED_LIST: &str = "refusedList";

impl Thread {
    /// Records an observation and returns it.
    pub fn observe(&mut self, kind: Type, content: Value, details: Details, now: Millis) -> Arc<Observation> {
        let observation = self.observation(kind, Content::Json(content), details, now);
        self.make(Record::Observation(Arc::clone(&observation)));
        observation
    }

    /// Records an observation without what the user does not want recorded.
    pub fn observe_allowed(
        &mut self,
        recording: &Recording,
        kind: Type,
        mut content: Value,
        mut details: Details,
        now: Millis,
    ) -> Arc<Observation> {
        let call = details.metadata.get("callId").and_then(Value::as_str);
        let was_hidden = details.metadata.contains_key(HIDDEN)
            || call.is_some_and(|call| self.observations.is_hidden(call));
        recording.hide(self.project(), kind, was_hidden, &mut content, &mut details.metadata);
        if self.journal_bytes > recording.most_bytes {
            self.note_abridged(now);
            abridge(&mut content, &mut details.metadata);
        }
        self.observe(kind, content, details, now)
    }

    /// Records once that the journal is full and contents are abridged from now on.
    fn note_abridged(&mut self, now: Millis) {
        if !self.is_abridged {
            let text = "This plan's journal is full: patches are no longer recorded, and texts only in part";
            let metadata = Map::from_iter([(ABRIDGED.to_owned(), true.into())]);
            let details = Details { metadata, ..Details::default() };
            self.observe(Type::StateUpdate, json!({ "text": text }), details, now);
        }
    }

    /// Records that the work before this time is not known.
    pub fn note_work_since(&mut self, since: Millis) {
        let metadata = Map::from_iter([(WORK_SINCE.to_owned(), since.into())]);
        let details = Details { metadata, ..Details::default() };
        let text = "The transcript is so long that the work before this was not read";
        self.observe(Type::StateUpdate, json!({ "text": text }), details, self.last_time().max(since));
    }

    /// Records why the agent's last list was refused, or that the next one was accepted.
    pub(super) fn note_refusal(&mut self, reason: Option<String>, now: Millis) {
        let text = match &reason {
            Some(reason) => format!("The list was refused: {reason}"),
            None => "The next list was accepted".to_owned(),
        };
        let metadata = Map::from_iter([(REFUSED_LIST.to_owned(), reason.into())]);
        let details = Details { metadata, ..Details::default() };
        self.observe(Type::StateUpdate, json!({ "text": text }), details, now);
    }

    /// Keeps an observation, and adds its work to the sums.
    pub(super) fn keep_observation(&mut self, observation: Arc<Observation>) {
        if let Some(reason) = observation.metadata.get(REFUSED_LIST) {
            self.refused = reason.as_str().map(str::to_owned);
        }
        self.is_abridged |= observation.metadata.contains_key(ABRIDGED);
        self.work.add(&observation);
        self.observations.push(observation);
    }

    /// The ids of the items in progress.
    pub fn in_progress(&self) -> Vec<String> {
        let items = self.list().iter().filter(|item| item.status == Status::InProgress);
        items.map(|item| item.id.clone()).collect()
    }

    /// Creates an observation with the phase and step of the list.
    fn observation(&self, kind: Type, content: Content, details: Details, now: Millis) -> Arc<Observation> {
        let phase = details.phase.unwrap_or_else(|| Some(Phase::of(self.list())));
        let step = match &details.parent_id {
            Some(id) => self.list().iter().find(|item| item.id == *id),
            None if phase == Some(Phase::Execution) => self.current(),
            None => None,
        };
        let mut metadata = Map::new();
        metadata.extend(phase.map(|phase| ("phase".to_owned(), phase.as_str().into())));
        if let Some(step) = step.filter(|_| phase == Some(Phase::Execution)) {
            metadata.insert("stepId".into(), step.id.clone().into());
            metadata.insert("stepDescription".into(), step.content.clone().into());
        }
        metadata.extend(details.metadata);
        if is_work(kind, &metadata) && !metadata.contains_key(ITEMS) {
            metadata.insert(ITEMS.into(), self.in_progress().into());
        }
        Arc::new(Observation {
            number: self.observations.next_number(),
            kind,
            timestamp: now,
            title: details.title.unwrap_or_else(|| kind.as_str().to_lowercase().replace('_', " ")),
            trace_id: details.trace_id,
            parent_id: details.parent_id.or_else(|| step.map(|item| item.id.clone())),
            content,
            metadata,
        })
    }

    /// Records the observations of a new revision.
    pub(super) fn observe_revision(&mut self, number: u64, changes: &[Change<Arc<Item>>], now: Millis) {
        let update = self.observation(Type::PlanUpdate, Content::Revision(number), Details::default(), now);
        self.observations.push(update);
        for change in changes {
            self.observe_status(change, now);
        }
    }

    fn observe_status(&mut self, change: &Change<Arc<Item>>, now: Millis) {
        let Some(item) = change.item.clone() else { return };
        let previous = change.previous_item.as_ref().map(|item| item.status);
        if change.kind == ChangeKind::Added || previous == Some(item.status) {
            return;
        }
        let details = Details { parent_id: Some(item.id.clone()), ..Details::default() };
        let observation =
            self.observation(Type::ItemStatusChange, Content::Status { item, previous }, details, now);
        self.observations.push(observation);
    }
}
