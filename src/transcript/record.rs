//! From events of a transcript to threads of the store.
//!
//! Everything gets the time at which it happened, so that a session that was followed late
//! shows the same times as one that was followed live.
//!
//! A session can be followed again, by the same Emacs or the next one. Each observation has the
//! name of its line in its metadata, so the thread itself says how far it was followed: no
//! record of it can be lost or wrong.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{Errand, Event, Speaker, What};
use crate::change::diff;
use crate::clock::Millis;
use crate::identity::THRESHOLDS;
use crate::item::{List, Status};
use crate::observation::{Content, Details, Filter, Type};
use crate::report;
use crate::similarity::{Rarity, Words, similarity};
use crate::store::Store;
use crate::thread::{Outcome, State, Thread};

/// The name of this host in revisions.
pub const SOURCE: &str = "claude";

/// What a thread has to be told of, after one or many events.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The thread's key.
    pub thread: String,
    /// The last write's outcome, with the changes since before the first one; none where the
    /// list is the same.
    pub outcome: Option<Outcome>,
    /// Its state, where it was paused or resumed.
    pub state: Option<State>,
}

/// Brings events into a store.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The threads written to, and the time of the last event of each.
    threads: HashMap<String, Millis>,
}

/// A thread as it was before the first of some events.
struct Before {
    thread: String,
    list: List,
    state: State,
    /// Events up to here were recorded when the session was followed before.
    known: Option<Known>,
    outcome: Option<Outcome>,
    /// Whether anything was taken in.
    has_news: bool,
}

/// How far a thread was followed.
#[derive(Clone, Copy)]
enum Known {
    /// Up to this place among the events.
    Place(usize),
    /// Up to this time; of lists, the one at this place is still to be taken, since what the
    /// file says last is what counts.
    Time(Millis, Option<usize>),
}

impl Recorder {
    /// Forgets how far threads were followed, because their file is another one.
    pub fn start_anew(&mut self) {
        self.threads.clear();
    }

    /// Takes events in. What comes back is in the order of the threads' first events, but main
    /// agents after subagents.
    pub fn record(
        &mut self,
        store: &mut Store,
        events: &[Event],
        keep_completed: bool,
        now: Millis,
    ) -> Vec<Told> {
        let mut touched: Vec<Before> = Vec::new();
        for (place, event) in events.iter().enumerate() {
            let key = event.speaker.key();
            // The end of a subagent whose list is too long ago to be among the events.
            if event.what == What::Ended && !self.threads.contains_key(&key) {
                continue;
            }
            let at = match touched.iter().position(|before| before.thread == key) {
                Some(at) => at,
                None => {
                    touched.push(self.begin(store, key, events, place, now));
                    touched.len() - 1
                }
            };
            let before = &mut touched[at];
            if before.known.is_some_and(|known| known.covers(place, event)) {
                continue;
            }
            if event.speaker.agent.is_none() && matches!(event.what, What::List(Ok(_))) {
                store.set_current(&before.thread);
            }
            before.has_news = true;
            let thread = store.open(&before.thread, Map::new(), now);
            let time = time_in(thread, event.time, now);
            self.threads.insert(before.thread.clone(), time);
            before.outcome = take(thread, event, keep_completed, time).or(before.outcome.take());
        }
        touched.retain(|before| before.has_news);
        touched.sort_by_key(|before| !before.thread.contains('/'));
        touched.into_iter().map(|before| told(store, before, now)).collect()
    }

    fn begin(
        &mut self,
        store: &mut Store,
        key: String,
        events: &[Event],
        place: usize,
        now: Millis,
    ) -> Before {
        let speaker = &events[place].speaker;
        let about = about(store, speaker, now);
        let thread = store.open(&key, about, now);
        let (list, state) = (thread.list().clone(), thread.state());
        let known = if self.threads.contains_key(&key) { None } else { known(thread, speaker, events) };
        Before { thread: key, list, state, known, outcome: None, has_news: false }
    }

    /// Pauses the threads that are still active, each at the time of its last event.
    pub fn pause(&self, store: &mut Store, reason: &str, now: Millis) -> Vec<Told> {
        let paused = self.threads.iter().filter_map(|(key, time)| {
            let thread = store.get_mut(key, now).filter(|thread| thread.state() == State::Active)?;
            thread.set_paused(Some(reason.to_owned()), (*time).max(last_time(thread)).min(now));
            Some(Told { thread: key.clone(), outcome: None, state: Some(thread.state()) })
        });
        paused.collect()
    }
}

fn told(store: &mut Store, before: Before, now: Millis) -> Told {
    let (mut outcome, mut state) = (before.outcome, None);
    if let Some(thread) = store.get(&before.thread, now) {
        let changes = diff(&before.list, thread.list());
        outcome = outcome.filter(|_| !changes.is_empty()).map(|outcome| Outcome { changes, ..outcome });
        let is_paused = thread.state() == State::Paused;
        state = (is_paused != (before.state == State::Paused)).then(|| thread.state());
    }
    Told { thread: before.thread, outcome, state }
}

/// What is said of a thread when it begins.
fn about(store: &mut Store, speaker: &Speaker, now: Millis) -> Map<String, Value> {
    let mut about = Map::new();
    if !speaker.folder.is_empty() {
        about.insert("project".into(), format!("{}/", speaker.folder.trim_end_matches('/')).into());
    }
    let main = || Speaker { session: speaker.session.clone(), ..Speaker::default() }.key();
    if speaker.agent.is_some() {
        let from = speaker.errand.as_ref().map(|errand| errand.from.clone());
        let item = speaker.errand.as_ref().and_then(|errand| item_of(store, errand, now));
        about.insert("parent".into(), from.unwrap_or_else(main).into());
        about.extend(item.map(|item| ("parentItem".to_owned(), item.into())));
    }
    about
}

/// The item that a subagent works on: the open one that says the same as its errand, or else
/// the one that was in progress when it was sent out.
fn item_of(store: &mut Store, errand: &Errand, now: Millis) -> Option<String> {
    let parent = store.get(&errand.from, now)?;
    let rarity = Rarity::of([parent.list().iter().map(|item| item.content.as_str())]);
    let words = Words::of(&errand.description, &rarity);
    let open = parent.list().iter().filter(|item| item.status != Status::Completed);
    let scored = open.map(|item| (similarity(&Words::of(&item.content, &rarity), &words), item));
    if let Some((_, item)) =
        scored.filter(|(score, _)| *score >= THRESHOLDS.replaced).max_by(|a, b| a.0.total_cmp(&b.0))
    {
        return Some(item.id.clone());
    }
    let calls = parent.observations().select(&Filter { kind: Some(Type::ToolCall), ..Filter::default() });
    let is_call = |content: &Content| match content {
        Content::Json(content) => content.get("id").and_then(Value::as_str) == Some(&errand.call),
        _ => false,
    };
    calls.iter().rev().find(|call| is_call(&call.content))?.parent_id.clone()
}

/// How far the thread was followed before, by its newest observation that came from a line.
fn known(thread: &Thread, speaker: &Speaker, events: &[Event]) -> Option<Known> {
    let is_ours = |event: &Event| *event.speaker == *speaker;
    let last_list = || events.iter().rposition(|event| is_ours(event) && matches!(event.what, What::List(_)));
    let observations = thread.observations().select(&Filter::default());
    let mark = observations.iter().rev().find_map(|observation| {
        let time = observation.details.get("timestamp").and_then(Value::as_u64);
        Some((observation.metadata_str("uuid")?, time))
    });
    let Some((uuid, time)) = mark else {
        let revision = thread.revisions().iter().next_back()?;
        let is_ours = revision.stamp.source.as_deref() == Some(SOURCE);
        return is_ours.then(|| Known::Time(revision.stamp.timestamp, last_list()));
    };
    let place = events.iter().rposition(|event| is_ours(event) && event.uuid == uuid && event.time == time);
    place.map(Known::Place).or_else(|| time.map(|time| Known::Time(time, last_list())))
}

impl Known {
    fn covers(self, place: usize, event: &Event) -> bool {
        match self {
            Known::Place(last) => place <= last,
            Known::Time(last, list) => list != Some(place) && event.time.is_some_and(|time| time <= last),
        }
    }
}

/// The time of an event in its thread: never before what is there, never in the future.
fn time_in(thread: &Thread, time: Option<Millis>, now: Millis) -> Millis {
    time.unwrap_or(now).max(last_time(thread)).min(now)
}

fn last_time(thread: &Thread) -> Millis {
    let revision = thread.revisions().iter().next_back().map_or(0, |revision| revision.stamp.timestamp);
    let newest = thread.observations().select(&Filter { limit: Some(1), ..Filter::default() });
    newest.first().map_or(revision, |observation| revision.max(observation.timestamp))
}

/// Takes one event in; returns the outcome of a write that changed something.
fn take(thread: &mut Thread, event: &Event, keep_completed: bool, time: Millis) -> Option<Outcome> {
    if !matches!(event.what, What::Interrupted | What::Ended | What::Title(_)) {
        thread.set_paused(None, time);
    }
    let (kind, content) = match &event.what {
        What::List(Ok(plan)) => {
            let outcome = thread.write(plan.clone(), Some(SOURCE.into()), keep_completed, time);
            return Some(outcome).filter(|outcome| !outcome.changes.is_empty());
        }
        What::List(Err(problems)) => (Type::Error, report::refused(problems).into()),
        What::Title(title) if thread.title() == Some(title) => return None,
        What::Title(title) => (Type::Title, title.as_str().into()),
        What::Intent(text) => (Type::Intent, text.as_str().into()),
        What::Thoughts(text) => (Type::Thoughts, json!({ "text": text })),
        What::Call { id, name, input: Some(input) } => {
            (Type::ToolCall, json!({ "id": id, "name": name, "input": input }))
        }
        What::Call { id, name, input: None } => (Type::ToolCall, json!({ "id": id, "name": name })),
        What::Answer { id, name, content, is_error, .. } => {
            (Type::ToolExecution, json!({ "id": id, "name": name, "content": content, "isError": is_error }))
        }
        What::Interrupted => {
            thread.set_paused(Some("interrupted by the user".into()), time);
            (Type::AgentSuspended, "interrupted by the user".into())
        }
        What::Ended => {
            if thread.state() == State::Active {
                thread.set_paused(Some("the subagent has come back".into()), time);
            }
            return None;
        }
    };
    thread.observe(kind, content, details(event), time);
    None
}

fn details(event: &Event) -> Details {
    let mut metadata = Map::new();
    if !event.uuid.is_empty() {
        metadata.insert("uuid".into(), event.uuid.as_str().into());
    }
    metadata.extend(event.time.map(|time| ("timestamp".to_owned(), time.into())));
    let title = match &event.what {
        What::Call { name, .. } => Some(name.clone()),
        What::Answer { name, is_error, duration, .. } => {
            metadata.extend(duration.map(|duration| ("durationMs".to_owned(), duration.into())));
            Some(if *is_error { format!("{name} failed") } else { name.clone() })
        }
        _ => None,
    };
    Details { title: title.filter(|title| !title.is_empty()), metadata, ..Details::default() }
}
