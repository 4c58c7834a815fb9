//! Writes the events of a transcript to threads of the store.
//!
//! Everything is recorded with the time in the transcript, so a session that is followed late shows
//! the same times as one followed live.
//!
//! A session may be followed again, by this Emacs or another, from a file that was moved or copied. What a
//! thread has of a transcript ends at a position that it names, and only the events of later lines are recorded.

mod event;
mod project;

use std::collections::HashMap;
use std::time::SystemTime;

use serde_json::Map;

use crate::events::Millis;
use crate::events::policy::Policy;
use crate::journal::store::{Changed, Store};
use crate::list::change::diff;
use crate::list::identity::THRESHOLDS;
use crate::list::item::{List, Status};
use crate::list::similarity::{Rarity, Words, similarity};
use crate::thread::activity::{By, End, Ending, Fact, Facts, Reported, Turn};
use crate::thread::record::PositionRecord;
use crate::thread::{Outcome, Thread};
use crate::wire::event::{Event, EventKind, Source};
use crate::wire::program::{Machine, Piece};
use event::{is_recent, turn};

/// The changes of a thread by a batch of events.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadUpdate {
    /// The thread's key.
    pub thread: String,
    /// The outcome of the last write, with the changes of all of them; `None` if the list is equal.
    pub outcome: Option<Outcome>,
    /// What became of the agent, if the events tell of its turn.
    pub changed: Option<Changed>,
}

/// What the pieces up to a last one did.
#[derive(Debug, Default)]
pub struct Applied {
    /// The number of bytes read and skipped.
    bytes: u64,
    /// The number of bytes skipped, because a line was too long.
    pub skipped: u64,
    /// The size of the session's file, while it is read for the first time.
    size: u64,
    /// The key of the session's thread, once the file has named it.
    pub thread: Option<String>,
    /// When the session's file grew.
    pub grew: Option<SystemTime>,
    /// Sentences for the user about what could not be read.
    pub warnings: Vec<String>,
    /// The changes of threads.
    pub updates: Vec<ThreadUpdate>,
}

impl Applied {
    /// How much of the session's file is read, in percent, while it is read for the first time.
    pub fn percent(&self) -> Option<u64> {
        // There may be other files beside it.
        self.bytes.saturating_mul(100).checked_div(self.size).map(|percent| percent.min(99))
    }
}

/// Parts of the description of a thread: its project, the folder in which its session began if that is another
/// one, and that no user looks at its agent.
const PROJECT: &str = "project";
const FOLDER: &str = "folder";
const UNATTENDED: &str = "unattended";

/// Reasons of pauses: what the user did, and that a file ends in mid-turn.
const INTERRUPTED: &str = "interrupted by the user";
const DENIED: &str = "permission denied";
const SESSION_ENDED: &str = "the session ended";

/// Milliseconds without an event after which a turn counts as over.
const RECENT: Millis = 600_000;

/// Writes events to a store.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The root of the project, if it is not the folder in which the session began.
    pub project: Option<String>,
    /// The machine of the session; `None` for this one.
    machine: Option<Machine>,
    /// What was recorded of threads.
    threads: HashMap<String, RecordedThread>,
    /// The threads that the events since the last [`Recorder::finish`] belong to.
    touched: Vec<PendingUpdate>,
    /// What the pieces since the last one of a batch did.
    applied: Applied,
    /// What may be recorded. Reading hides calls by it, too.
    pub policy: Policy,
}

/// What was recorded of a thread.
#[derive(Debug, Default)]
struct RecordedThread {
    /// The time of the last event, 0 before the first.
    last: Millis,
    /// What the events tell of the agent: its turn.
    facts: Facts,
}

/// The update of a thread while a batch of events is recorded.
#[derive(Debug, Default)]
struct PendingUpdate {
    thread: String,
    is_subagent: bool,
    /// The list before the batch.
    list: List,
    /// How far the transcripts of its events are recorded, where that changed.
    positions: Vec<PositionRecord>,
    outcome: Option<Outcome>,
    /// Whether an event told of the agent's turn.
    has_turn: bool,
    /// Whether an event was recorded.
    is_changed: bool,
}

impl Recorder {
    /// Forgets what was said of threads, after their file was replaced.
    pub fn restart(&mut self) {
        self.threads.clear();
    }

    /// The threads that this recorder has written to, with the times of their last events.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (&str, Millis)> {
        let times = self.threads.iter().map(|(key, recorded)| (key.as_str(), recorded.last));
        times.filter(|(_, last)| *last > 0)
    }

    /// The name of the session's machine; `None` for this one.
    pub(crate) fn machine(&self) -> Option<&str> {
        self.machine.as_ref().map(|machine| machine.name.as_str())
    }

    /// A recorder for a session in this project; `None` stands for the session's folder.
    pub fn new(project: Option<String>, machine: Option<Machine>) -> Recorder {
        Recorder { project, machine, ..Recorder::default() }
    }

    /// The key of the thread that has the key `bare` on its machine.
    pub fn key(&self, bare: String) -> String {
        self.machine.as_ref().map_or(bare.clone(), |machine| format!("{}/{bare}", machine.name))
    }

    /// What was read and applied so far, before the last piece.
    pub fn progress(&self) -> &Applied {
        &self.applied
    }

    /// Records the events of a piece; returns what all pieces did if it is a last one.
    pub fn apply(
        &mut self,
        piece: Piece,
        store: &mut Store,
        keep_completed: bool,
        now: Millis,
    ) -> Option<Applied> {
        if piece.is_restart {
            self.restart();
            self.applied.thread = None;
        }
        if self.applied.thread.is_none() {
            self.project = piece.project;
        }
        self.applied.grew = piece.grew.or(self.applied.grew);
        self.applied.warnings.extend(piece.warning);
        self.applied.bytes = self.applied.bytes.saturating_add(piece.bytes);
        self.applied.skipped = self.applied.skipped.saturating_add(piece.skipped);
        self.applied.size = self.applied.size.max(piece.size);
        self.applied.thread = piece.thread.map(|bare| self.key(bare));
        for event in &piece.events {
            self.record(store, event, keep_completed, now);
        }
        // A piece ends with a line, so the journal's position is true after each.
        self.save(store);
        if !piece.is_last {
            return None;
        }
        let updates = self.finish(store, now);
        let mut applied = std::mem::take(&mut self.applied);
        // The next pieces are of the same session.
        self.applied.thread.clone_from(&applied.thread);
        self.applied.grew = applied.grew;
        applied.updates = updates;
        Some(applied)
    }

    /// Records an event, unless it was recorded before. What it changes is saved by [`Recorder::save`].
    pub fn record(&mut self, store: &mut Store, event: &Event, keep_completed: bool, now: Millis) {
        let key = self.key(event.source.key());
        // The subagent's last list is too old to be among the events.
        if event.kind == EventKind::SubagentEnded && !matches!(store.get(&key), Ok(Some(_))) {
            return;
        }
        let at = self.touched.iter().position(|pending| pending.thread == key).unwrap_or_else(|| {
            let begun = self.begin(store, key.clone(), &event.source, now);
            self.touched.push(begun);
            self.touched.len() - 1
        });
        let recorded = self.threads.entry(key.clone()).or_default();
        let thread = store.open(&key, Map::new(), now);
        if is_recorded(thread, &mut self.touched[at], event) {
            return;
        }
        thread.begin_batch();
        if is_superseded(thread, event) {
            return;
        }
        let last = Some(recorded.last).filter(|last| *last > 0);
        recorded.last = time_in(thread, event.time.or(last), now);
        let time = recorded.last;
        self.touched[at].is_changed = true;
        if let Some(turn) = turn(&event.kind, time, now) {
            self.touched[at].has_turn = true;
            recorded.facts.tell(Fact::Turn(Reported::new(turn, By::Lines, time)));
            let agent = recorded.facts.decide();
            thread.change(|thread| thread.follow(&agent, time));
        }
        let outcome = thread.change(|thread| self.record_event(thread, event, keep_completed, time));
        if outcome.is_some() {
            self.touched[at].outcome = outcome;
        }
    }

    /// Appends what was recorded since the last call to the journals, with the positions up to which it
    /// goes: the events of the last line must all be among it.
    pub fn save(&mut self, store: &mut Store) {
        for pending in &mut self.touched {
            if let Some(thread) = store.get_mut(&pending.thread) {
                thread.end_batch(std::mem::take(&mut pending.positions));
            }
        }
    }

    /// Ends a batch of events; returns the updates of its threads, ordered by their first events, subagents first.
    pub fn finish(&mut self, store: &mut Store, now: Millis) -> Vec<ThreadUpdate> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|pending| pending.is_changed);
        touched.sort_by_key(|pending| !pending.is_subagent);
        touched.into_iter().map(|pending| self.update(store, pending, now)).collect()
    }

    /// The update of a thread. A turn whose last line is old is over: its time must not run until the moment of
    /// reading.
    fn update(&mut self, store: &mut Store, pending: PendingUpdate, now: Millis) -> ThreadUpdate {
        let PendingUpdate { thread: key, list, mut outcome, .. } = pending;
        let recorded = self.threads.get_mut(&key).filter(|_| pending.has_turn);
        let changed = recorded.map(|RecordedThread { last, facts, .. }| {
            if facts.turn.what == Turn::Runs(None) && !is_recent(*last, now) {
                let end = End::new(Ending::SessionEnded, Some(SESSION_ENDED.to_owned()));
                facts.tell(Fact::Turn(Reported::new(Turn::Over(end), By::Lines, *last)));
            }
            store.agents.touch(&key);
            store.tell(&key, [Fact::Turn(facts.turn.clone())], now)
        });
        if let Some(thread) = store.get_mut(&key) {
            let changes = diff(&list, thread.list());
            outcome = outcome.filter(|_| !changes.is_empty()).map(|outcome| Outcome { changes, ..outcome });
        }
        ThreadUpdate { thread: key, outcome, changed }
    }

    /// Begins a batch of a thread.
    fn begin(&self, store: &mut Store, key: String, source: &Source, now: Millis) -> PendingUpdate {
        let about = self.about(store, source);
        let thread = store.open(&key, about, now);
        thread.begin_batch();
        // The program of its tool may have begun the thread.
        if source.is_unattended {
            thread.change(|thread| thread.describe(UNATTENDED, true.into(), now));
        }
        if let Some(folder) = self.folder_apart(source) {
            thread.change(|thread| thread.describe(FOLDER, folder.into(), now));
        }
        PendingUpdate {
            is_subagent: source.subagent.is_some(),
            list: thread.list().clone(),
            thread: key,
            ..PendingUpdate::default()
        }
    }
}

/// Whether the line of an event was recorded before. If not, notes that it is recorded with this batch. The
/// position alone decides, so nothing is recorded of an older copy of the file, which is shorter.
fn is_recorded(thread: &Thread, pending: &mut PendingUpdate, event: &Event) -> bool {
    // What no line tells, such as a title beside the file, changes nothing if it is known.
    let Some(place) = &event.place else { return false };
    let position = PositionRecord {
        subagent: place.transcript.subagent.clone(),
        session: event.source.session.clone(),
        first: place.transcript.first,
        offset: place.end,
        ..PositionRecord::default()
    };
    let is_recorded = place.end <= thread.recorded_until(&position);
    match pending.positions.iter_mut().find(|known| known.is_of_file(&position)) {
        _ if is_recorded => {}
        Some(known) => known.offset = known.offset.max(position.offset),
        None => pending.positions.push(position),
    }
    is_recorded
}

/// Whether an event is a list that changes nothing: the thread has its call, the agent sent it before another
/// one that the thread has, or the call had no effect.
fn is_superseded(thread: &Thread, event: &Event) -> bool {
    match &event.kind {
        EventKind::List(_) => thread.has_call(None, event.time),
        EventKind::EmacsCall { id, called, list } => list.is_none() || thread.has_call(Some(id), *called),
        _ => false,
    }
}

/// The open item that is most similar to `description`, if any is.
pub(crate) fn open_item_like(list: &List, description: &str) -> Option<String> {
    let rarity = Rarity::of([list.iter().map(|item| item.content.as_str())]);
    let words = Words::of(description, &rarity);
    let open = list.iter().filter(|item| item.status != Status::Completed);
    let scored = open.map(|item| (similarity(&Words::of(&item.content, &rarity), &words), item));
    let similar = scored.filter(|(score, _)| *score >= THRESHOLDS.replaced);
    Some(similar.max_by(|a, b| a.0.total_cmp(&b.0))?.1.id.clone())
}

/// The time of an event in its thread: neither before the thread's last time nor in the future.
fn time_in(thread: &Thread, time: Option<Millis>, now: Millis) -> Millis {
    time.unwrap_or(now).max(thread.last_time()).min(now)
}
