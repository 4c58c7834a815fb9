//! Writes the events of a transcript to threads of the store.
//!
//! Everything is recorded with the time in the transcript, so a session that is followed late shows
//! the same times as one followed live.
//!
//! A session may be followed again, by this Emacs or another. The metadata of each observation has
//! the id of its line, so the thread itself records how far the transcript was read.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{Event, EventKind, Source, SubagentCall};
use crate::change::diff;
use crate::clock::Millis;
use crate::identity::THRESHOLDS;
use crate::item::{List, Status};
use crate::observation::{Content, Details, Filter, Type};
use crate::report;
use crate::similarity::{Rarity, Words, similarity};
use crate::store::Store;
use crate::thread::{Activity, Outcome, State, Thread};

/// The changes of a thread by a batch of events.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadUpdate {
    /// The thread's key.
    pub thread: String,
    /// The outcome of the last write, with the changes of all of them; `None` if the list is equal.
    pub outcome: Option<Outcome>,
    /// The state, if the thread was paused or resumed.
    pub state: Option<State>,
    /// The agent's activity, if the events show it.
    pub activity: Option<Activity>,
    /// The error that ended the turn.
    pub error: Option<String>,
}

/// Milliseconds of silence after which a turn counts as over.
const RECENT: Millis = 600_000;

/// Writes events to a store.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The threads written to, with the times of their last events.
    threads: HashMap<String, Millis>,
}

/// The update of a thread while a batch of events is recorded.
struct PendingUpdate {
    thread: String,
    /// The list and the state before the batch.
    list: List,
    state: State,
    /// How far the events were recorded when the session was followed before.
    cursor: Option<Cursor>,
    outcome: Option<Outcome>,
    activity: Option<Activity>,
    error: Option<String>,
    /// Whether an event was recorded.
    is_changed: bool,
}

/// How far the events of a thread were recorded before.
#[derive(Clone, Copy)]
enum Cursor {
    /// Up to this index among the events.
    Place(usize),
    /// Up to this time, except the last list, whose index this is: the file's last list counts.
    Time(Millis, Option<usize>),
}

impl Recorder {
    /// Forgets how far threads were recorded, after their file was replaced.
    pub fn restart(&mut self) {
        self.threads.clear();
    }

    /// Records events. The updates are ordered by the threads' first events, subagents first.
    pub fn record(
        &mut self,
        store: &mut Store,
        events: &[Event],
        keep_completed: bool,
        now: Millis,
    ) -> Vec<ThreadUpdate> {
        let mut touched: Vec<PendingUpdate> = Vec::new();
        for (place, event) in events.iter().enumerate() {
            let key = event.source.key();
            // The subagent's last list is too old to be among the events.
            if event.kind == EventKind::SubagentEnded && !self.threads.contains_key(&key) {
                continue;
            }
            let at = match touched.iter().position(|pending| pending.thread == key) {
                Some(at) => at,
                None => {
                    touched.push(self.begin(store, key, events, place, now));
                    touched.len() - 1
                }
            };
            let pending = &mut touched[at];
            if pending.cursor.is_some_and(|cursor| cursor.covers(place, event)) {
                continue;
            }
            if event.source.subagent.is_none() && matches!(event.kind, EventKind::List(Ok(_))) {
                store.set_current(&pending.thread);
            }
            pending.is_changed = true;
            let thread = store.open(&pending.thread, Map::new(), now);
            let last = self.threads.get(&pending.thread).copied();
            let time = time_in(thread, event.time.or(last), now);
            if let Some(activity) = activity(event, time, now) {
                pending.activity = Some(activity);
                pending.error = error(event).filter(|_| is_recent(time, now)).map(str::to_owned);
            }
            self.threads.insert(pending.thread.clone(), time);
            pending.outcome = record_event(thread, event, keep_completed, time).or(pending.outcome.take());
        }
        touched.retain(|pending| pending.is_changed);
        touched.sort_by_key(|pending| !pending.thread.contains('/'));
        touched.into_iter().map(|pending| update(store, pending, now)).collect()
    }

    fn begin(
        &mut self,
        store: &mut Store,
        key: String,
        events: &[Event],
        place: usize,
        now: Millis,
    ) -> PendingUpdate {
        let source = &events[place].source;
        let about = about(store, source, now);
        let thread = store.open(&key, about, now);
        let (list, state) = (thread.list().clone(), thread.state());
        let cursor = if self.threads.contains_key(&key) { None } else { cursor(thread, source, events) };
        PendingUpdate {
            thread: key,
            list,
            state,
            cursor,
            outcome: None,
            activity: None,
            error: None,
            is_changed: false,
        }
    }

    /// Pauses the active threads, each at the time of its last event.
    pub fn pause(&self, store: &mut Store, reason: &str, now: Millis) -> Vec<ThreadUpdate> {
        let paused = self.threads.iter().filter_map(|(key, time)| {
            let thread = store.get_mut(key, now).filter(|thread| thread.state() == State::Active)?;
            thread.set_paused(Some(reason.to_owned()), (*time).max(last_time(thread)).min(now));
            let (thread, state) = (key.clone(), Some(thread.state()));
            Some(ThreadUpdate { thread, outcome: None, state, activity: Some(Activity::Idle), error: None })
        });
        paused.collect()
    }
}

fn update(store: &mut Store, pending: PendingUpdate, now: Millis) -> ThreadUpdate {
    let (mut outcome, mut state) = (pending.outcome, None);
    if let Some(thread) = store.get(&pending.thread, now) {
        let changes = diff(&pending.list, thread.list());
        outcome = outcome.filter(|_| !changes.is_empty()).map(|outcome| Outcome { changes, ..outcome });
        let is_paused = thread.state() == State::Paused;
        state = (is_paused != (pending.state == State::Paused)).then(|| thread.state());
    }
    ThreadUpdate { thread: pending.thread, outcome, state, activity: pending.activity, error: pending.error }
}

/// The description of a new thread.
fn about(store: &mut Store, source: &Source, now: Millis) -> Map<String, Value> {
    let mut about = Map::new();
    if !source.folder.is_empty() {
        about.insert("project".into(), format!("{}/", source.folder.trim_end_matches('/')).into());
    }
    if source.subagent.is_some() {
        let from = source.call.as_ref().map(|call| call.from.clone());
        let item = source.call.as_ref().and_then(|call| item_of(store, call, now));
        about.insert("parent".into(), from.unwrap_or_else(|| source.session_key()).into());
        about.extend(item.map(|item| ("parentItem".to_owned(), item.into())));
    }
    about
}

/// The item that a subagent works on: the open item most similar to the call's description, or
/// else the item in progress at the time of the call.
fn item_of(store: &mut Store, call: &SubagentCall, now: Millis) -> Option<String> {
    let parent = store.get(&call.from, now)?;
    let rarity = Rarity::of([parent.list().iter().map(|item| item.content.as_str())]);
    let words = Words::of(&call.description, &rarity);
    let open = parent.list().iter().filter(|item| item.status != Status::Completed);
    let scored = open.map(|item| (similarity(&Words::of(&item.content, &rarity), &words), item));
    if let Some((_, item)) =
        scored.filter(|(score, _)| *score >= THRESHOLDS.replaced).max_by(|a, b| a.0.total_cmp(&b.0))
    {
        return Some(item.id.clone());
    }
    let calls = parent.observations().select(&Filter { kind: Some(Type::ToolCall), ..Filter::default() });
    let is_call = |content: &Content| match content {
        Content::Json(content) => content.get("id").and_then(Value::as_str) == Some(&call.id),
        _ => false,
    };
    calls.iter().rev().find(|call| is_call(&call.content))?.parent_id.clone()
}

/// How far the thread was recorded before, by its newest observation from a line.
fn cursor(thread: &Thread, source: &Source, events: &[Event]) -> Option<Cursor> {
    let is_ours = |event: &Event| *event.source == *source;
    let last_list =
        || events.iter().rposition(|event| is_ours(event) && matches!(event.kind, EventKind::List(_)));
    let observations = thread.observations().select(&Filter::default());
    let mark = observations.iter().rev().find_map(|observation| {
        let time = observation.metadata.get("timestamp").and_then(Value::as_u64);
        Some((observation.metadata_str("uuid")?, time))
    });
    let Some((uuid, time)) = mark else {
        let revision = thread.revisions().iter().next_back()?;
        // An ACP client shows the lists of the same session.
        let lists = [source.agent.as_str(), "acp"];
        let is_ours = revision.stamp.source.as_deref().is_some_and(|source| lists.contains(&source));
        return is_ours.then(|| Cursor::Time(revision.stamp.timestamp, last_list()));
    };
    let place = events.iter().rposition(|event| is_ours(event) && event.uuid == uuid && event.time == time);
    place.map(Cursor::Place).or_else(|| time.map(|time| Cursor::Time(time, last_list())))
}

impl Cursor {
    fn covers(self, place: usize, event: &Event) -> bool {
        match self {
            Cursor::Place(last) => place <= last,
            Cursor::Time(last, list) => list != Some(place) && event.time.is_some_and(|time| time <= last),
        }
    }
}

/// The time of an event in its thread: neither before the thread's last time nor in the future.
fn time_in(thread: &Thread, time: Option<Millis>, now: Millis) -> Millis {
    time.unwrap_or(now).max(last_time(thread)).min(now)
}

fn last_time(thread: &Thread) -> Millis {
    let revision = thread.revisions().iter().next_back().map_or(0, |revision| revision.stamp.timestamp);
    let newest = thread.observations().select(&Filter { limit: Some(1), ..Filter::default() });
    newest.first().map_or(revision, |observation| revision.max(observation.timestamp))
}

/// Records an event; returns the outcome of a write that changed the list.
fn record_event(thread: &mut Thread, event: &Event, keep_completed: bool, time: Millis) -> Option<Outcome> {
    if activity(event, time, time) == Some(Activity::Working) {
        thread.set_activity(Activity::Working, time);
    }
    let (kind, content) = match &event.kind {
        EventKind::List(Ok(plan)) => {
            let outcome =
                thread.write(plan.clone(), Some(event.source.agent.as_str().into()), keep_completed, time);
            return Some(outcome).filter(|outcome| !outcome.changes.is_empty());
        }
        EventKind::Unread(why) => (Type::Error, (*why).into()),
        EventKind::List(Err(problems)) => (Type::Error, report::refused(problems).into()),
        EventKind::Title(title) if thread.title() == Some(title) => return None,
        EventKind::Title(title) => (Type::Title, title.as_str().into()),
        EventKind::Prompt(text) => (Type::Intent, text.as_str().into()),
        EventKind::Thoughts(text) => (Type::Thoughts, json!({ "text": text })),
        EventKind::Call { id, name, input: Some(input) } => {
            (Type::ToolCall, json!({ "id": id, "name": name, "input": input }))
        }
        EventKind::Call { id, name, input: None } => (Type::ToolCall, json!({ "id": id, "name": name })),
        EventKind::Result { id, name, content, is_error, .. } => {
            (Type::ToolExecution, json!({ "id": id, "name": name, "content": content, "isError": is_error }))
        }
        EventKind::Interrupted => {
            thread.end_turn("interrupted by the user".into(), time);
            (Type::AgentSuspended, "interrupted by the user".into())
        }
        EventKind::SubagentEnded => {
            thread.end_turn("the subagent returned".into(), time);
            return None;
        }
        EventKind::TurnBegun => return None,
        EventKind::TurnEnded { error: None } => {
            thread.end_turn("end of turn".into(), time);
            return None;
        }
        EventKind::TurnEnded { error: Some(error) } => {
            thread.end_turn(error.clone(), time);
            (Type::Error, error.as_str().into())
        }
    };
    thread.observe(kind, content, details(event), time);
    None
}

/// The agent's activity after an event at `time`, if the event shows it.
fn activity(event: &Event, time: Millis, now: Millis) -> Option<Activity> {
    match &event.kind {
        EventKind::Title(_) => None,
        EventKind::Interrupted | EventKind::SubagentEnded | EventKind::TurnEnded { .. } => {
            Some(Activity::Idle)
        }
        _ => Some(if is_recent(time, now) { Activity::Working } else { Activity::Idle }),
    }
}

fn error(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::TurnEnded { error } => error.as_deref(),
        _ => None,
    }
}

fn is_recent(time: Millis, now: Millis) -> bool {
    now.saturating_sub(time) <= RECENT
}

fn details(event: &Event) -> Details {
    let mut metadata = Map::new();
    if !event.uuid.is_empty() {
        metadata.insert("uuid".into(), event.uuid.as_str().into());
    }
    metadata.extend(event.time.map(|time| ("timestamp".to_owned(), time.into())));
    let title = match &event.kind {
        EventKind::Call { name, .. } => Some(name.clone()),
        EventKind::Result { name, is_error, duration, .. } => {
            metadata.extend(duration.map(|duration| ("durationMs".to_owned(), duration.into())));
            Some(if *is_error { format!("{name} failed") } else { name.clone() })
        }
        _ => None,
    };
    Details { title: title.filter(|title| !title.is_empty()), metadata, ..Details::default() }
}
