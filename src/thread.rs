//! The list of one agent conversation and its history. State changes only here.
//!
//! Each change computes the new list as plain data, writes a record of it to the journal, and commits
//! it in one step that cannot fail. If the record cannot be written, the list is kept in memory. After
//! a panic between record and commit, the thread is replayed from the journal.

mod activity;
mod edit;
mod observing;
mod replay;
mod saving;
mod streaming;
mod writing;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::change::{Change, ChangeKind, apply, diff, mark_cancelled};
use crate::clock::{Clock, Millis, Times};
use crate::error::Error;
use crate::input::Problem;
use crate::item::{Item, List, Status};
use crate::journal::Record;
use crate::observation::Observations;
use crate::report;
use crate::revision::{Revisions, Stamp};
use crate::wire::wire_names;
pub use activity::Activity;
use activity::RunState;
pub use edit::Edit;
use saving::Saving;
pub use streaming::StreamEvent;
use streaming::Streaming;

/// The outcome of a write or an edit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether it was accepted.
    pub ok: bool,
    /// The number of the newest revision, which is the same as before if nothing changed.
    pub revision: u64,
    /// The text for the model.
    pub result: String,
    /// The time of the call.
    pub timestamp: Millis,
    /// The changes from the previous revision.
    pub changes: Vec<Change<Arc<Item>>>,
    /// What was repaired.
    pub notices: Vec<String>,
    /// The reasons for refusing it.
    pub errors: Vec<Problem>,
    /// The ids of items that the agent sent open and that stayed completed.
    pub forced: Vec<String>,
    /// Whether the write ended a pause.
    pub resumed: bool,
}

wire_names! {
    /// The state of a thread; see [`Thread::state`].
    #[allow(missing_docs)]
    pub enum State {
        Active = "active",
        Done = "done",
        Paused = "paused",
        Empty = "empty",
    }
}

/// A thread and its history.
#[derive(Debug)]
pub struct Thread {
    key: String,
    about: Map<String, Value>,
    revisions: Revisions,
    /// The number of the next item id.
    next_id: u64,
    agent: AgentView,
    /// Undo restores the revision before this one: the newest, or after undo the restored one.
    undo_from: u64,
    clock: Clock,
    progress: RunState,
    observations: Observations,
    streaming: Streaming,
    saving: Saving,
}

/// The list that the agent knows.
#[derive(Debug, Default)]
struct AgentView {
    /// The number of its revision.
    known: u64,
    /// The list itself, if the user has edited it since.
    base: Option<List>,
}

/// A revision that is not committed yet.
struct NextRevision {
    list: List,
    stamp: Stamp,
    next_id: u64,
    known_to_agent: bool,
}

impl Thread {
    /// Creates an empty thread in memory.
    pub fn new(key: &str, about: Map<String, Value>, history_limit: usize) -> Thread {
        Thread {
            key: key.to_owned(),
            about,
            revisions: Revisions::default(),
            next_id: 1,
            agent: AgentView::default(),
            undo_from: 0,
            clock: Clock::default(),
            progress: RunState::default(),
            observations: Observations::new(history_limit),
            streaming: Streaming::default(),
            saving: Saving::default(),
        }
    }

    /// The key, chosen by the host.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The host's description of the new thread: `project`, `parent`, `parentItem`, ….
    pub fn about(&self) -> &Map<String, Value> {
        &self.about
    }

    /// The parent thread of a subagent's thread, and the id of the item it works on, if known.
    pub fn parent(&self) -> Option<(&str, Option<&str>)> {
        let text = |key: &str| self.about.get(key)?.as_str();
        Some((text("parent")?, text("parentItem")))
    }

    /// The current list.
    pub fn list(&self) -> &List {
        self.revisions.current()
    }

    /// All revisions.
    pub fn revisions(&self) -> &Revisions {
        &self.revisions
    }

    /// The list of a revision.
    ///
    /// # Errors
    /// [`Error::NoRevision`].
    pub fn list_at(&self, revision: u64) -> Result<List, Error> {
        self.revisions.list(revision).ok_or_else(|| Error::NoRevision {
            thread: self.key.clone(),
            revision,
            last: self.revisions.last(),
        })
    }

    /// The changes from the list of revision `a` to that of `b`.
    ///
    /// # Errors
    /// [`Error::NoRevision`].
    pub fn changes_between(&self, a: u64, b: u64) -> Result<Vec<Change<Arc<Item>>>, Error> {
        let mut changes = diff(&self.list_at(a)?, &self.list_at(b)?);
        let between = self.revisions.iter().filter(|revision| a < revision.number && revision.number <= b);
        let removals =
            between.flat_map(|revision| &revision.changes).filter(|one| one.kind == ChangeKind::Removed);
        let last: HashMap<&str, bool> = removals.map(|one| (one.item_id.as_str(), one.cancelled)).collect();
        mark_cancelled(&mut changes, |id| last.get(id) == Some(&true));
        Ok(changes)
    }

    /// The times of a current or former item.
    pub fn times(&self, id: &str) -> Option<&Times> {
        self.clock.get(id)
    }

    /// The state, derived from the list and the pause.
    pub fn state(&self) -> State {
        match (self.list().as_slice(), &self.progress.paused) {
            ([], _) => State::Empty,
            (list, _) if list.iter().all(|item| !item.status.is_open()) => State::Done,
            (_, Some(_)) => State::Paused,
            (_, None) => State::Active,
        }
    }

    /// The reason of the pause.
    pub fn pause_reason(&self) -> Option<&str> {
        self.progress.paused.as_deref().filter(|_| self.state() == State::Paused)
    }

    /// The first item in progress.
    pub fn current(&self) -> Option<&Arc<Item>> {
        self.list().iter().find(|item| item.status == Status::InProgress)
    }

    /// The title of the agent's session.
    pub fn title(&self) -> Option<&str> {
        self.observations.title()
    }

    /// The observations in memory.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// The observations in memory, for taking new ones.
    pub fn observations_mut(&mut self) -> &mut Observations {
        &mut self.observations
    }

    /// The outcome of a write that [`crate::input`] refused.
    pub fn refuse(&self, problems: Vec<Problem>, now: Millis) -> Outcome {
        Outcome {
            revision: self.revisions.last(),
            result: report::refused(&problems),
            timestamp: now,
            errors: problems,
            ..Outcome::default()
        }
    }

    /// Journals and commits a revision if it changes the list. The agent cancelled the items with the
    /// ids in `cancelled`.
    fn revise(&mut self, next: NextRevision, cancelled: &HashSet<String>) -> Outcome {
        let timestamp = next.stamp.timestamp;
        let mut changes = diff(self.list(), &next.list);
        mark_cancelled(&mut changes, |id| cancelled.contains(id));
        if next.known_to_agent && changes.is_empty() {
            self.agent = AgentView { known: self.revisions.last(), base: None };
        }
        let mut outcome = Outcome { ok: true, timestamp, changes, ..Outcome::default() };
        if !outcome.changes.is_empty() {
            // The journal has only the changes, so applying them must lead to the same list.
            debug_assert_eq!(next.list, apply(self.list(), &outcome.changes));
            let number = self.revisions.last() + 1;
            let known = if next.known_to_agent { number } else { self.agent.known };
            let record = Record::revision(number, &next.stamp, &outcome.changes, next.next_id, known);
            let changes = &outcome.changes;
            self.record_then(&record, |thread| thread.commit(next, changes));
            self.record_full_if_due(timestamp);
        }
        outcome.revision = self.revisions.last();
        outcome
    }

    /// Makes a revision the current one. This must not fail.
    fn commit(&mut self, next: NextRevision, changes: &[Change<Arc<Item>>]) {
        let NextRevision { list, stamp, next_id, known_to_agent } = next;
        let now = stamp.timestamp;
        let number = self.revisions.last() + 1;
        if known_to_agent {
            self.agent = AgentView { known: number, base: None };
        } else if self.agent.base.is_none() {
            self.agent.base = Some(self.list().clone());
        }
        self.next_id = next_id;
        self.undo_from = stamp.restores.unwrap_or(number);
        self.clock.apply(changes, now);
        if !self.progress.runs() {
            self.clock.pause(now);
        }
        self.revisions.push(number, list, changes.to_vec(), stamp);
        self.observe_revision(number, changes, now);
    }
}
