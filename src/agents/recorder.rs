//! Writes the events of a transcript to threads of the store.
//!
//! Everything is recorded with the time in the transcript, so a session that is followed late shows
//! the same times as one followed live.
//!
//! A session may be followed again, by this Emacs or another, from a file that was moved or copied. What a
//! thread's journal has of a transcript ends at a position that it names, and only later events are
//! recorded.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::reports::{self, Report, Rest, Weight, What, after};
use super::{Event, EventKind, Place, Source, SubagentCall, Transcript};
use crate::events::Millis;
use crate::events::observation::{Details, Metadata, Observation, Payload, Type};
use crate::events::payload::{AgentsWork, Content, FileEntry, Text, ToolCall, ToolResult};
use crate::events::policy::Policy;
use crate::journal::store::Store;
use crate::list::change::diff;
use crate::list::identity::THRESHOLDS;
use crate::list::item::{List, Status};
use crate::list::report;
use crate::list::similarity::{Rarity, Words, similarity};
use crate::thread::activity::{Activity, Ending};
use crate::thread::record::PositionRecord;
use crate::thread::{Outcome, State, Thread, WriteOptions};

/// The changes of a thread by a batch of events.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadUpdate {
    /// The thread's key.
    pub thread: String,
    /// The outcome of the last write, with the changes of all of them; `None` if the list is equal.
    pub outcome: Option<Outcome>,
    /// The state, if the thread was paused or resumed, if another ending replaced that of its turn, or if
    /// its project is another one.
    pub state: Option<State>,
    /// What the events say of the agent's turn.
    pub turn: Option<Report>,
}

/// Parts of the description of a thread: its project, and that no user looks at its agent.
const PROJECT: &str = "project";
const UNATTENDED: &str = "unattended";

/// Reasons of pauses: what the user did, and that a file ends in mid-turn.
const INTERRUPTED: &str = "interrupted by the user";
const DENIED: &str = "permission denied";
const SESSION_ENDED: &str = "the session ended";

/// Milliseconds without an event after which a turn counts as over.
const RECENT: Millis = 600_000;

/// A machine other than this one, on which sessions run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name, with which the keys of its threads begin.
    pub name: String,
    /// The beginning of its files' names in Emacs, such as `/ssh:build:`.
    pub prefix: String,
}

impl Machine {
    /// The name by which Emacs opens a folder that a session names; `None` if it is not absolute or
    /// has control characters. It never is the name of a file on another machine.
    pub fn folder(&self, folder: &str) -> Option<String> {
        let rest = folder.strip_prefix('/').filter(|rest| !rest.contains(char::is_control))?;
        let first = rest.split('/').next().unwrap_or_default();
        // Emacs would read a method, or begin again at `//` and `/~`.
        let is_special = first.contains(':') || folder.contains("//") || folder.contains("/~");
        Some(format!("{}{}{folder}", self.prefix, if is_special { "/:" } else { "" }))
    }
}

/// Writes events to a store.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The root of the project, if it is not the folder in which the session began.
    project: Option<String>,
    /// The machine of the session; `None` for this one.
    machine: Option<Machine>,
    /// The threads written to, with the times of their last events.
    threads: HashMap<String, Millis>,
    /// The titles of threads, which the user may forget while their sessions go on.
    titles: HashMap<String, String>,
    /// Whether the last list of a thread came from the agent's own tools.
    has_own_lists: HashMap<String, bool>,
    /// The threads and transcripts of which it is known how far they were recorded before.
    met: HashSet<(String, Arc<Transcript>)>,
    /// What may be recorded. Reading hides calls by it, too.
    pub policy: Policy,
}

/// The update of a thread while a batch of events is recorded.
struct PendingUpdate {
    thread: String,
    is_subagent: bool,
    /// The list, the state and the ending before the batch.
    list: List,
    state: State,
    ending: Option<Ending>,
    /// How far the transcripts of its events were recorded before.
    before: Vec<(Arc<Transcript>, Before)>,
    /// How far they are recorded now, where that changed.
    positions: Vec<PositionRecord>,
    outcome: Option<Outcome>,
    turn: Option<Report>,
    /// Whether an event was recorded.
    is_changed: bool,
    /// Whether the session moved to another project.
    is_moved: bool,
}

/// The threads that a batch of events has changed so far.
#[derive(Default)]
pub(crate) struct Touched(Vec<PendingUpdate>);

impl Touched {
    /// Forgets how far threads were recorded, after their file was replaced. What changed is still told.
    pub(crate) fn restart(&mut self) {
        self.0.iter_mut().for_each(|pending| pending.before.clear());
    }
}

impl std::fmt::Debug for Touched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|pending| &pending.thread)).finish()
    }
}

/// How far a transcript was recorded in a thread before.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// The number of bytes.
    offset: u64,
    /// The index of an event that counts although it is not after these bytes.
    but: Option<usize>,
}

impl Recorder {
    /// Forgets how far threads were recorded, after their file was replaced.
    pub fn restart(&mut self) {
        let policy = std::mem::take(&mut self.policy);
        *self = Recorder { policy, ..Recorder::new(self.project.take(), self.machine.take()) };
    }

    /// The time of the last event of a thread, if this recorder has written to it.
    pub(crate) fn last_time(&self, key: &str) -> Option<Millis> {
        self.threads.get(key).copied()
    }

    /// The threads that this recorder has written to, with the times of their last events.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (&str, Millis)> {
        self.threads.iter().map(|(key, time)| (key.as_str(), *time))
    }

    /// The name of the session's machine; `None` for this one.
    pub(crate) fn machine(&self) -> Option<&str> {
        self.machine.as_ref().map(|machine| machine.name.as_str())
    }

    /// The keys of the threads that an event may change, or be about.
    pub(crate) fn threads_of(&self, source: &Source) -> Vec<String> {
        let caller = source.call.as_ref().map_or_else(|| source.session_key(), |call| call.from.clone());
        let caller = source.subagent.is_some().then_some(caller);
        caller.into_iter().chain([source.key()]).map(|bare| self.key(bare)).collect()
    }

    /// A recorder for a session in this project; `None` stands for the session's folder.
    pub fn new(project: Option<String>, machine: Option<Machine>) -> Recorder {
        Recorder { project, machine, ..Recorder::default() }
    }

    /// Sets the root of the project; `None` stands for the session's folder.
    pub fn set_project(&mut self, project: Option<String>) {
        self.project = project;
    }

    /// The key of the thread that has the key `bare` on its machine.
    pub fn key(&self, bare: String) -> String {
        self.machine.as_ref().map_or(bare.clone(), |machine| format!("{}/{bare}", machine.name))
    }

    /// Records events. The updates are ordered by the threads' first events, subagents first.
    pub fn record(
        &mut self,
        store: &mut Store,
        events: &[Event],
        keep_completed: bool,
        now: Millis,
    ) -> Vec<ThreadUpdate> {
        let mut touched = Touched::default();
        for number in 0..events.len() {
            self.record_at(store, &mut touched, events, number, keep_completed, now);
        }
        self.save(store, &mut touched);
        self.finish(store, touched, now)
    }

    /// Whether all events of a file with `event` are needed to find out how far it was recorded before, since
    /// the journal of its thread has no position of it.
    pub(crate) fn needs_all(&self, store: &mut Store, event: &Event) -> bool {
        let key = self.key(event.source.key());
        // Its journal may not be loaded yet.
        let Some(thread) = store.get(&key).ok().flatten().filter(|_| !self.threads.contains_key(&key)) else {
            return false;
        };
        let known = event.place.as_ref().and_then(|place| thread.recorded_until(&position(event, place)));
        thread.last_time() > 0 && known.is_none()
    }

    /// Records the event `number` of `events`, unless it was recorded before. What it changes is saved by
    /// [`Recorder::save`].
    pub(crate) fn record_at(
        &mut self,
        store: &mut Store,
        Touched(touched): &mut Touched,
        events: &[Event],
        number: usize,
        keep_completed: bool,
        now: Millis,
    ) {
        let event = &events[number];
        let key = self.key(event.source.key());
        // The subagent's last list is too old to be among the events.
        if event.kind == EventKind::SubagentEnded && !self.threads.contains_key(&key) {
            return;
        }
        let at = match touched.iter().position(|pending| pending.thread == key) {
            Some(at) => at,
            None => {
                touched.push(self.begin(store, key.clone(), &event.source, now));
                touched.len() - 1
            }
        };
        let pending = &mut touched[at];
        if let EventKind::Title(title) = &event.kind {
            self.titles.insert(pending.thread.clone(), title.clone());
        }
        let switch = self.switch(&pending.thread, event);
        if self.is_recorded(store, pending, events, number) {
            return;
        }
        let thread = store.open(&pending.thread, Map::new(), now);
        thread.begin_batch();
        if let Some(words) = switch {
            let payload = Payload::new(Type::StateUpdate, words.into());
            let time = time_in(thread, event.time, now);
            thread.change(|thread| {
                thread.observe(payload, details(event), time);
            });
        }
        if is_superseded(thread, event) {
            return;
        }
        if event.source.subagent.is_none()
            && matches!(event.kind, EventKind::List(Ok(_)) | EventKind::EmacsList(Ok(_), _))
        {
            store.set_current(&pending.thread);
        }
        pending.is_changed = true;
        pending.is_moved |= matches!(event.kind, EventKind::Moved(_));
        let thread = store.open(&pending.thread, Map::new(), now);
        let last = self.threads.get(&pending.thread).copied();
        let time = time_in(thread, event.time.or(last), now);
        if let Some(turn) = turn(&event.kind, time, now) {
            pending.turn = Some(after(pending.turn.as_ref(), turn, reports::Source::Transcript));
        }
        self.threads.insert(pending.thread.clone(), time);
        let outcome = thread.change(|thread| self.record_event(thread, event, keep_completed, time));
        pending.outcome = outcome.or(pending.outcome.take());
    }

    /// Appends what was recorded since the last call to the journals, with the positions up to which it
    /// goes: the events of the last line must all be among it.
    pub(crate) fn save(&self, store: &mut Store, Touched(touched): &mut Touched) {
        for pending in touched {
            if let Some(thread) = store.get_mut(&pending.thread) {
                if !pending.positions.is_empty() {
                    // A truncated file has a position, although nothing of it is recorded.
                    thread.begin_batch();
                }
                thread.end_batch(std::mem::take(&mut pending.positions));
            }
        }
    }

    /// Ends a batch of events; returns the updates of its threads.
    pub(crate) fn finish(
        &self,
        store: &mut Store,
        Touched(mut touched): Touched,
        now: Millis,
    ) -> Vec<ThreadUpdate> {
        touched.retain(|pending| pending.is_changed);
        self.end_if_old(store, &touched, now);
        touched.sort_by_key(|pending| !pending.is_subagent);
        touched.into_iter().map(|pending| update(store, pending)).collect()
    }

    /// Whether an event was recorded before. If not, notes that its line is recorded with this batch.
    fn is_recorded(
        &mut self,
        store: &mut Store,
        pending: &mut PendingUpdate,
        events: &[Event],
        number: usize,
    ) -> bool {
        // What no line tells, such as a title beside the file, changes nothing if it is known.
        let Some(place) = &events[number].place else { return false };
        let position = position(&events[number], place);
        let known = pending.before.iter().find(|(transcript, _)| *transcript == place.transcript);
        let before = match known {
            Some((_, before)) => *before,
            None => {
                let before = self.before(store, pending, events, &position, &place.transcript);
                pending.before.push((Arc::clone(&place.transcript), before));
                before
            }
        };
        let is_recorded = place.end <= before.offset && before.but != Some(number);
        if !is_recorded {
            set_position(&mut pending.positions, position);
        }
        is_recorded
    }

    /// How far a transcript was recorded in a thread before this batch.
    fn before(
        &mut self,
        store: &mut Store,
        pending: &mut PendingUpdate,
        events: &[Event],
        position: &PositionRecord,
        transcript: &Arc<Transcript>,
    ) -> Before {
        let is_new = self.met.insert((pending.thread.clone(), Arc::clone(transcript)));
        let Some(thread) = store.get_mut(&pending.thread) else { return Before::default() };
        match thread.recorded_until(position) {
            Some(offset) if is_new && transcript.length < offset => {
                // The file was truncated. What is left is recorded, and what is appended is new.
                let offset = transcript.length;
                set_position(&mut pending.positions, PositionRecord { offset, ..position.clone() });
                Before { offset, but: None }
            }
            Some(offset) => Before { offset, but: None },
            None if is_new => {
                let is_of_file =
                    |event: &Event| event.place.as_ref().is_some_and(|place| place.transcript == *transcript);
                let is_ours =
                    |event: &Event| is_of_file(event) && self.key(event.source.key()) == pending.thread;
                let events = events.iter().enumerate();
                before_positions(
                    thread,
                    position,
                    &events.filter(|(_, event)| is_ours(event)).collect::<Vec<_>>(),
                )
            }
            None => Before::default(),
        }
    }

    /// Ends the threads just read of a session whose newest line is old, each at its last event. Its time
    /// must not run until the moment of reading.
    fn end_if_old(&self, store: &mut Store, touched: &[PendingUpdate], now: Millis) {
        if self.threads.values().any(|time| is_recent(*time, now)) {
            return;
        }
        for pending in touched {
            let last = self.threads.get(&pending.thread).copied();
            let active = store.get_mut(&pending.thread).filter(|thread| thread.state() == State::Active);
            if let (Some(last), Some(thread)) = (last, active) {
                let time = last.max(thread.last_time()).min(now);
                thread.change(|thread| thread.end_turn(SESSION_ENDED.into(), Ending::SessionEnded, time));
            }
        }
    }

    /// The root of the project of a session that began in a folder.
    fn project_of(&self, folder: &str) -> Option<String> {
        let project = self.project.as_deref().unwrap_or(folder);
        let project = match &self.machine {
            Some(machine) => machine.folder(project),
            None => Some(project.to_owned()),
        };
        let project = project.filter(|project| !project.is_empty())?;
        Some(format!("{}/", project.trim_end_matches('/')))
    }

    /// The root of the project of a session that moved to a folder. That of this recorder may be the old one.
    fn project_moved_to(&self, folder: &str) -> Option<String> {
        let is_inside = |root: &String| Path::new(folder).starts_with(root);
        let known = self.project.as_ref().filter(|root| is_inside(root)).is_some();
        if known {
            return self.project_of(folder);
        }
        let project = Some(folder.to_owned()).filter(|folder| folder.starts_with('/'))?;
        let project = self.machine.as_ref().map_or(Some(project), |machine| machine.folder(folder))?;
        Some(format!("{}/", project.trim_end_matches('/')))
    }

    /// The description of a new thread.
    fn about(&self, store: &mut Store, source: &Source) -> Map<String, Value> {
        let mut about = Map::new();
        if let Some(project) = self.project_of(&source.folder) {
            about.insert(PROJECT.into(), project.into());
        }
        if source.is_unattended {
            about.insert(UNATTENDED.into(), true.into());
        }
        if source.subagent.is_some() {
            let from = source.call.as_ref().map_or_else(|| source.session_key(), |call| call.from.clone());
            let parent = self.key(from);
            let item = source.call.as_ref().and_then(|call| item_of(store, &parent, call));
            about.insert("parent".into(), parent.into());
            about.extend(item.map(|item| ("parentItem".to_owned(), item.into())));
        }
        about
    }

    /// A sentence if the list of a thread now comes from another tool.
    fn switch(&mut self, key: &str, event: &Event) -> Option<&'static str> {
        let is_own = match &event.kind {
            EventKind::List(_) => true,
            EventKind::EmacsList(..) => false,
            _ => return None,
        };
        let before = self.has_own_lists.insert(key.to_owned(), is_own)?;
        (before != is_own).then_some(if is_own {
            "The plan now comes from the agent's own tasks, which it used after todo_write."
        } else {
            "The plan now comes from todo_write, which the agent used after its own tasks."
        })
    }

    /// Begins a batch of a thread.
    fn begin(&mut self, store: &mut Store, key: String, source: &Source, now: Millis) -> PendingUpdate {
        let about = self.about(store, source);
        let thread = store.open(&key, about, now);
        thread.begin_batch();
        // The program of its tool may have begun the thread.
        if source.is_unattended {
            thread.change(|thread| thread.describe(UNATTENDED, true.into(), now));
        }
        if let Some(title) = self.titles.get(&key).filter(|_| thread.title().is_none()) {
            thread.change(|thread| {
                thread.observe(Payload::Title(title.as_str().into()), Details::default(), now);
            });
        }
        PendingUpdate {
            is_subagent: source.subagent.is_some(),
            list: thread.list().clone(),
            state: thread.state(),
            ending: thread.ending(),
            thread: key,
            before: Vec::new(),
            positions: Vec::new(),
            outcome: None,
            turn: None,
            is_changed: false,
            is_moved: false,
        }
    }
}

fn update(store: &mut Store, pending: PendingUpdate) -> ThreadUpdate {
    let (mut outcome, mut state) = (pending.outcome, None);
    if let Some(thread) = store.get_mut(&pending.thread) {
        let changes = diff(&pending.list, thread.list());
        outcome = outcome.filter(|_| !changes.is_empty()).map(|outcome| Outcome { changes, ..outcome });
        let is_paused = thread.state() == State::Paused;
        let is_other = if outcome.is_none() {
            thread.state() != pending.state
        } else {
            is_paused != (pending.state == State::Paused)
        };
        let is_told = Ending::is_replaced(pending.ending, thread.ending()) || pending.is_moved;
        state = (is_other || is_told).then(|| thread.state());
    }
    ThreadUpdate { thread: pending.thread, outcome, state, turn: pending.turn }
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

/// The item that a subagent works on: the one like the call's description, or else the item in
/// progress at the time of the call.
fn item_of(store: &mut Store, from: &str, call: &SubagentCall) -> Option<String> {
    // A journal that cannot be read is an error where its own plan is read or written.
    let parent = store.get(from).ok()??;
    if let Some(item) = open_item_like(parent.list(), &call.description) {
        return Some(item);
    }
    let mut calls = parent.observations().reported().rev().filter(|one| one.kind() == Type::ToolCall);
    calls.find(|one| one.payload.call().0 == Some(&call.id))?.parent_id.clone()
}

/// The position of the line of an event in the journal of its thread.
fn position(event: &Event, place: &Place) -> PositionRecord {
    PositionRecord {
        subagent: place.transcript.subagent.clone(),
        session: event.source.session.clone(),
        first: place.transcript.first,
        offset: place.end,
        records: 0,
    }
}

/// Sets the position of a file among others, unless it is behind.
fn set_position(positions: &mut Vec<PositionRecord>, new: PositionRecord) {
    match positions.iter_mut().find(|known| known.is_of_file(&new)) {
        Some(known) => known.offset = known.offset.max(new.offset),
        None => positions.push(new),
    }
}

/// The end of the line of an event.
fn end_of(event: &Event) -> u64 {
    event.place.as_ref().map_or(0, |place| place.end)
}

/// How far a transcript with the events `ours` was recorded in a thread that knows no position of it: by
/// todo-write 0.2, from another file with the same lines, or by an ACP client that shows the lists of the
/// same session. The last recorded line tells.
fn before_positions(thread: &Thread, position: &PositionRecord, ours: &[(usize, &Event)]) -> Before {
    // Figures of a response that grew later have the place of the last ones.
    let is_usage = |kind: &EventKind| match kind {
        EventKind::OfSubagent { kind, .. } => matches!(**kind, EventKind::Usage { .. }),
        kind => matches!(kind, EventKind::Usage { .. }),
    };
    let lines = ours.iter().filter(|(_, event)| !event.uuid.is_empty() && !is_usage(&event.kind));
    let ends: HashMap<(&str, Option<Millis>), u64> =
        lines.map(|(_, event)| ((event.uuid.as_str(), event.time), end_of(event))).collect();
    let recorded = || thread.observations().reported().rev();
    let line =
        |one: &Arc<Observation>| ends.get(&(one.metadata.uuid.as_deref()?, one.metadata.timestamp)).copied();
    if let Some(offset) = recorded().find_map(line) {
        return Before { offset, but: None };
    }
    let is_of_caller = |event: &Event| position.subagent.is_some() && event.source.subagent.is_none();
    if ours.iter().any(|(_, event)| is_of_caller(event)) {
        return Before::default();
    }
    let mut own = recorded().filter(|one| one.metadata.agent.is_none() && one.metadata.uuid.is_some());
    let newest = thread.revisions().iter().next_back().map(|revision| &revision.stamp);
    let repeated = newest.filter(|stamp| stamp.source.as_deref().is_some_and(|one| REPEATED.contains(&one)));
    let time = match own.next() {
        Some(observation) => observation.metadata.timestamp,
        None => repeated.map(|stamp| stamp.timestamp),
    };
    let Some(time) = time else { return Before::default() };
    let until = ours.iter().take_while(|(_, event)| event.time.is_none_or(|of_event| of_event <= time));
    let is_list = |event: &Event| matches!(event.kind, EventKind::List(_) | EventKind::EmacsList(..));
    Before {
        offset: until.map(|(_, event)| end_of(event)).max().unwrap_or_default(),
        but: ours.iter().rev().find(|(_, event)| is_list(event)).map(|(number, _)| *number),
    }
}

/// The sources of lists that repeat what an agent said elsewhere.
const REPEATED: [&str; 3] = ["claude", "codex", "acp"];

/// Whether an event is a list that the agent sent to this Emacs, or replaced by a list that it sent.
fn is_superseded(thread: &Thread, event: &Event) -> bool {
    let time = match &event.kind {
        EventKind::List(_) => event.time,
        EventKind::EmacsList(_, called) => *called,
        _ => return false,
    };
    let last = thread.last_call(&REPEATED);
    last > 0 && time.is_none_or(|time| time <= last)
}

/// The time of an event in its thread: neither before the thread's last time nor in the future.
fn time_in(thread: &Thread, time: Option<Millis>, now: Millis) -> Millis {
    time.unwrap_or(now).max(thread.last_time()).min(now)
}

impl Recorder {
    /// Records an event; returns the outcome of a write that changed the list.
    fn record_event(
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
            details.metadata.items = call.as_ref().and_then(|call| thread.items_at_call(call).cloned());
            kind = inner;
        }
        if let EventKind::Moved(folder) = kind {
            let project = self.project_moved_to(folder)?;
            thread.describe(PROJECT, project.into(), time);
            return None;
        }
        if let EventKind::Call { name, .. } = kind
            && matches!(name.as_str(), "Task" | "Agent")
        {
            details.metadata.items = Some(thread.in_progress());
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
        record_event(thread, event, kind, details, &self.policy, keep_completed, time)
    }
}

/// Records an event of this kind; returns the outcome of a write that changed the list.
fn record_event(
    thread: &mut Thread,
    event: &Event,
    kind: &EventKind,
    details: Details,
    policy: &Policy,
    keep_completed: bool,
    time: Millis,
) -> Option<Outcome> {
    // A session that seemed to have ended goes on with any event.
    let is_aside = matches!(kind, EventKind::Title(_) | EventKind::Moved(_));
    let goes_on = thread.pause_reason() == Some(SESSION_ENDED) && !is_aside;
    if goes_on || is_of_turn(&event.kind) {
        thread.set_activity(Activity::Working, time);
    }
    if let Some((ending, reason)) = end(kind) {
        thread.end_turn(reason.to_owned(), ending, time);
    }
    let payload = match kind {
        EventKind::List(Ok(plan)) | EventKind::EmacsList(Ok(plan), _) => {
            let source = Some(event.source.agent.as_str().to_owned());
            let options = WriteOptions { source, keep_completed, is_unanswered: true };
            let outcome = thread.write(plan.clone(), options, time);
            return Some(outcome).filter(|outcome| !outcome.changes.is_empty());
        }
        EventKind::Unread(reason) => Payload::Error(reason.as_ref().into()),
        EventKind::List(Err(problems)) | EventKind::EmacsList(Err(problems), _) => {
            Payload::Error(report::refused(problems).into())
        }
        EventKind::Title(title) if thread.title() == Some(title) => return None,
        EventKind::Title(title) => Payload::Title(title.as_str().into()),
        EventKind::Prompt(text) => Payload::Intent(text.as_str().into()),
        EventKind::Message(text) => Payload::Message(Text::of(text)),
        EventKind::Usage { usage, .. } => Payload::Usage(Content::Fields(usage.into())),
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
        EventKind::TurnEnded { error: Some(error) } => Payload::Error(error.as_str().into()),
        EventKind::SubagentEnded | EventKind::TurnBegun | EventKind::TurnEnded { error: None } => {
            return None;
        }
    };
    thread.observe_allowed(policy, payload, details, time);
    None
}

/// How an event of this kind ends a turn, and the reason, if it does.
fn end(kind: &EventKind) -> Option<(Ending, &str)> {
    match kind {
        EventKind::Interrupted => Some((Ending::EndOfTurn, INTERRUPTED)),
        EventKind::Denied => Some((Ending::Denied, DENIED)),
        EventKind::SubagentEnded => Some((Ending::EndOfTurn, "the subagent returned")),
        EventKind::TurnEnded { error: None } => Some((Ending::EndOfTurn, "end of turn")),
        EventKind::TurnEnded { error: Some(error) } => Some((Ending::Error, error)),
        _ => None,
    }
}

/// Whether an event of this kind is of a turn that goes on.
fn is_of_turn(kind: &EventKind) -> bool {
    !matches!(kind, EventKind::Title(_) | EventKind::Moved(_)) && end(kind).is_none()
}

/// What an event of this kind at `time` says of the turn. One that is old says that it is over.
fn turn(kind: &EventKind, time: Millis, now: Millis) -> Option<Report> {
    let (what, reason) = match end(kind) {
        Some((ending, reason)) => {
            let has_failed = ending == Ending::Error && is_recent(time, now);
            (What::Rest(Rest { has_failed, ..Rest::end(Some(ending)) }), Some(reason))
        }
        None if !is_of_turn(kind) => return None,
        None if is_recent(time, now) => (What::Working, None),
        None => (What::Rest(Rest::end(Some(Ending::SessionEnded))), Some(SESSION_ENDED)),
    };
    Some(Report::new(what, Weight::Event, time).because(reason.map(str::to_owned)))
}

fn is_recent(time: Millis, now: Millis) -> bool {
    now.saturating_sub(time) <= RECENT
}

fn details(event: &Event) -> Details {
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
        EventKind::Usage { response, .. } => {
            metadata.response = Some(response.clone());
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
    Details { title: title.filter(|title| !title.is_empty()), metadata, ..Details::default() }
}
