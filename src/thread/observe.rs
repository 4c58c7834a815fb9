//! Observations of a thread: those derived from revisions, and those reported by the host.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Moment, Thread};
use crate::events::observation::{Derived, Details, Filter, Metadata, Observation, Payload, Phase, Type};
use crate::events::payload::said;
use crate::events::policy::{Hidden, Policy};
use crate::events::{Millis, push_bounded};
use crate::list::change::{Change, ChangeKind};
use crate::list::item::{Item, List, Status};
use crate::thread::record::Record;

/// Maximum number of calls that start subagents.
const MOST_MOMENTS: usize = 256;

impl Thread {
    /// Records an observation and returns it.
    pub fn observe(&mut self, payload: Payload, details: Details, now: Millis) -> Arc<Observation> {
        let list = details.line.map_or(Cow::Borrowed(self.list()), |time| self.list_at_line(time));
        let observation = self.observation(payload, details, &list, now);
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
        self.observe(payload, details, now)
    }

    /// Records why the agent's last list was refused, or that the next one was accepted.
    pub(super) fn note_refusal(&mut self, reason: Option<String>, now: Millis) {
        let text = match &reason {
            Some(reason) => format!("The list was refused: {reason}"),
            None => "The next list was accepted".to_owned(),
        };
        let refused = Metadata { refused_list: Some(reason), ..Metadata::default() };
        let payload = Payload { metadata: refused, ..Payload::new(Type::StateUpdate, said(text)) };
        self.observe(payload, Details::default(), now);
    }

    /// Keeps an observation, and adds its work to the sums.
    pub(super) fn keep_observation(&mut self, observation: Arc<Observation>) {
        let Payload { kind, metadata, .. } = &observation.payload;
        if *kind == Type::StateUpdate {
            metadata.refused_list.iter().for_each(|reason| self.refused.clone_from(reason));
        }
        self.session.note(&observation.payload);
        let in_progress = if *kind == Type::Intent { self.in_progress() } else { Vec::new() };
        let turn = self.turns.add(&observation, in_progress);
        self.work.add(&observation, turn);
        self.review.add(&observation, turn);
        self.comments.note(&observation);
        if let (Type::ToolCall, Some(items), Some(call)) = (kind, &metadata.items, &metadata.call_id) {
            let moment = Moment { items: items.clone(), number: observation.number };
            push_bounded(&mut self.moments, MOST_MOMENTS, (call.clone(), moment));
        }
        self.observations.push(observation);
    }

    /// The observations in memory that the filter admits, newest last.
    pub fn observed(&self, filter: &Filter) -> Vec<Arc<Observation>> {
        self.observations.select(filter, &self.turns)
    }

    /// Marks all observations as delivered, and returns those that were not, oldest first.
    pub fn take_observations(&mut self) -> Vec<Arc<Observation>> {
        self.observations.take_new()
    }

    /// The ids of the items in progress.
    pub fn in_progress(&self) -> Vec<String> {
        in_progress(self.list())
    }

    /// The ids of the items in progress at a line of that time.
    pub(crate) fn in_progress_at_line(&self, time: Millis) -> Vec<String> {
        in_progress(&self.list_at_line(time))
    }

    /// Creates an observation with the phase and step of a list.
    fn observation(
        &self,
        mut payload: Payload,
        details: Details,
        list: &List,
        now: Millis,
    ) -> Arc<Observation> {
        let phase = details.phase.unwrap_or_else(|| Some(Phase::of(list)));
        let step = match &details.parent_id {
            Some(id) => list.iter().find(|item| item.id == *id),
            None if phase == Some(Phase::Execution) => list.iter().find(|item| is_in_progress(item)),
            None => None,
        };
        if payload.is_work() {
            payload.metadata.items.get_or_insert_with(|| in_progress(list));
        }
        observation(self.observations.next_number(), payload, details, phase, step, now)
    }

    /// Makes the observations of a new revision: a PLAN_UPDATE, and a change of each status.
    pub(super) fn observe_revision(
        &mut self,
        revision: u64,
        changes: Vec<Change<Arc<Item>>>,
        is_write: bool,
        timestamp: Millis,
    ) {
        let first = self.observations.next_number();
        self.turns.add_changes(&changes, is_write, first, timestamp);
        let phase = Phase::of(self.list());
        let step = self.current().filter(|_| phase == Phase::Execution).cloned();
        let statuses: Vec<_> = changes.iter().filter_map(status_change).collect();
        let update = Derived::Plan { revision, todo_list: self.list().clone(), changes };
        let all = (first..).zip([(update, step)].into_iter().chain(statuses));
        let all = all.map(|(number, (derived, step))| {
            let payload = Payload::derived(derived);
            observation(number, payload, Details::default(), Some(phase), step.as_ref(), timestamp)
        });
        self.observations.push_all(all.collect());
    }
}

fn is_in_progress(item: &Item) -> bool {
    item.status == Status::InProgress
}

/// The ids of the items in progress of a list.
fn in_progress(list: &List) -> Vec<String> {
    list.iter().filter(|item| is_in_progress(item)).map(|item| item.id.clone()).collect()
}

/// An observation; by default, its title is its type in words, and its parent the step.
fn observation(
    number: u64,
    mut payload: Payload,
    details: Details,
    phase: Option<Phase>,
    step: Option<&Arc<Item>>,
    timestamp: Millis,
) -> Arc<Observation> {
    let metadata = &mut payload.metadata;
    metadata.phase = metadata.phase.or(phase);
    if let Some(step) = step.filter(|_| phase == Some(Phase::Execution)) {
        metadata.step_id.get_or_insert_with(|| step.id.clone());
        metadata.step_description.get_or_insert_with(|| step.content.clone());
    }
    let Details { title, trace_id, parent_id, .. } = details;
    let title = title.unwrap_or_else(|| payload.kind.as_str().to_lowercase().replace('_', " "));
    let parent_id = parent_id.or_else(|| step.map(|item| item.id.clone()));
    Arc::new(Observation { number, payload, timestamp, title, trace_id, parent_id })
}

/// The change of a status and its item; none for a new one.
fn status_change(change: &Change<Arc<Item>>) -> Option<(Derived, Option<Arc<Item>>)> {
    let (item, previous_status) =
        (change.item.clone()?, change.previous_item.as_ref().map(|item| item.status));
    let is_change = change.kind != ChangeKind::Added && previous_status != Some(item.status);
    is_change.then(|| (Derived::Status { item: Arc::clone(&item), previous_status }, Some(item)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fmt::Debug;

    use proptest::prelude::*;
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::events::marks::Scope;
    use crate::list::input::{Options, read_text};
    use crate::thread::WriteOptions;
    use crate::thread::activity::{Decision, Doing};

    const ITEMS: [&str; 5] = ["Dig", "Rake", "Sow", "Water", "Weed"];

    /// Writes the list, of which the task `current` is in progress and those before it are completed.
    fn write(thread: &mut Thread, list: usize, current: usize, now: Millis) {
        let todos = ITEMS.iter().enumerate().map(|(place, name)| {
            let status = ["completed", "in_progress", "pending"]
                [1 + usize::from(place > current) - usize::from(place < current)];
            json!({"content": format!("{name} {list}"), "status": status, "activeForm": "Working"})
        });
        let list = json!({"todos": todos.collect::<Vec<_>>()}).to_string();
        thread.write(read_text(&list, &Options::default()).unwrap(), WriteOptions::default(), now);
    }

    fn report(thread: &mut Thread, kind: Type, content: Value, metadata: Value, now: Millis) {
        let Value::Object(metadata) = metadata else { unreachable!("it is an object") };
        thread.observe(Payload::read(kind, content, metadata), Details::default(), now);
    }

    /// Serializes a part of a thread, which must come back the same.
    fn serialized<T: Serialize + DeserializeOwned + PartialEq + Debug>(part: &T) -> usize {
        let text = serde_json::to_string(part).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *part);
        text.len()
    }

    /// The number of bytes that each part takes in a journal.
    fn sizes(thread: &Thread) -> [(&'static str, usize); 8] {
        [
            ("work", serialized(&thread.work)),
            ("turns", serialized(&thread.turns)),
            ("review", serialized(&thread.review)),
            ("comments", serialized(&thread.comments)),
            ("session", serialized(&thread.session)),
            ("clock", serialized(&thread.clock)),
            ("moments", serialized(&thread.moments)),
            ("noted", serde_json::to_string(&thread.observations).unwrap().len()),
        ]
    }

    /// One of the things that happen to a thread.
    fn act(thread: &mut Thread, act: u8, number: u64) {
        let mut say = |kind, content, metadata| report(thread, kind, content, metadata, number);
        let files = json!([{"path": format!("/{}", number % 3), "added": number, "created": true}]);
        match act {
            0 => say(Type::Intent, json!("Go on"), json!({})),
            1 => say(Type::Intent, json!("x".repeat(9_000)), json!({"uuid": "u"})),
            2 => say(Type::Message, json!({"text": "I go on"}), json!({"comment": {"text": "Why?"}})),
            3 => say(Type::ToolExecution, json!({}), json!({"files": files, "ofCall": number / 2})),
            4 => say(Type::ToolExecution, json!({}), json!({"command": true, "exitCode": number % 2})),
            5 => say(
                Type::Usage,
                json!({"output": number % 4, "model": "m"}),
                json!({"response": format!("r{}", number % 3)}),
            ),
            6 => say(Type::Usage, json!({"input": 7}), json!({"ofSession": true})),
            7 => say(
                Type::ToolCall,
                json!({"id": "c"}),
                json!({"callId": "c", "items": ["t1"], "hidden": true, "excluded": "/e"}),
            ),
            8 => say(
                Type::StateUpdate,
                json!({}),
                json!({
                    "goal": {"text": "A garden", "state": "active"},
                    "context": {"tokens": 1}, "cost": {"amount": 0.5, "currency": "EUR"},
                    "toldComments": [number / 2], "git": [{"kind": "commit", "id": "a1", "title": "Dig"}],
                }),
            ),
            9 => say(Type::Title, json!("The garden"), json!({})),
            10 => thread.follow(&Decision::new(Doing::Idle, 0), number),
            11 => drop(thread.mark(Scope::WHOLE, number.is_multiple_of(2), number)),
            _ => write(thread, 0, usize::from(act) - 12, number),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn each_part_of_a_thread_is_the_same_after_it_was_saved(
            acts in prop::collection::vec(0..18_u8, 0..60),
        ) {
            let mut thread = Thread::new("a thread", Map::new(), 10);
            (0..).zip(acts).for_each(|(number, one)| act(&mut thread, one, number));
            sizes(&thread);
        }
    }

    /// A turn of a session in which the list, its files and the model change.
    fn work_on(thread: &mut Thread, turn: usize) {
        let now = 1_000_000_000_000 + turn as Millis * 60_000;
        let mut say = |kind, content, metadata| report(thread, kind, content, metadata, now);
        say(Type::Intent, json!(format!("{turn} {}", "x".repeat(500))), json!({"uuid": format!("u{turn}")}));
        for file in 0..5 {
            let path = format!("/home/user/project/src/folder/file{}.rs", (turn * 5 + file) % 10_000);
            let files = json!([{"path": path, "added": 12, "removed": 3}]);
            say(Type::ToolExecution, json!({"name": "Edit"}), json!({"outcome": "ok", "files": files}));
        }
        for command in 0..3 {
            say(Type::ToolExecution, json!({"name": "Bash"}), json!({"exitCode": command / 2}));
        }
        let tokens = json!({"input": 1_000, "output": 500, "cacheRead": 90_000, "model": format!("m{turn}")});
        say(Type::Usage, tokens, json!({"response": format!("r{turn}")}));
        let commit = json!([{"kind": "commit", "id": "0123456", "title": "Change the files"}]);
        say(Type::ToolExecution, json!({"name": "Bash"}), json!({"exitCode": 0, "git": commit}));
        say(Type::ToolCall, json!({"id": "c"}), json!({"callId": format!("c{turn}"), "items": ["t1"]}));
        write(thread, turn / 5, turn % 5, now);
        thread.follow(&Decision::new(Doing::Idle, 0), now + 30_000);
    }

    #[test]
    fn a_session_of_a_thousand_turns_takes_a_few_kilobytes_a_turn() {
        let mut thread = Thread::new("a thread", Map::new(), 1_000);
        (0..1_000).for_each(|turn| work_on(&mut thread, turn));
        let all = sizes(&thread);
        assert!(all.iter().map(|(_, size)| size).sum::<usize>() < 4_000_000, "{all:?}");
    }
}
