//! One agent conversation's list: the only place where state changes.
//!
//! Each entry point takes the same steps: compute the new list as plain data, journal it, then
//! commit it in one step that cannot fail. If the disk refuses the record, the list goes on in
//! memory; after a panic between record and commit, the journal decides.

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

/// What came of a write or an edit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Accepted, or refused with `errors`.
    pub ok: bool,
    /// The newest revision; as it was before, when nothing changed.
    pub revision: u64,
    /// Text for the model.
    pub result: String,
    /// When.
    pub timestamp: Millis,
    /// What differs from the revision before.
    pub changes: Vec<Change<Arc<Item>>>,
    /// What was repaired, and what went wrong with the journal.
    pub notices: Vec<String>,
    /// Why it was refused.
    pub errors: Vec<Problem>,
    /// Ids of completed items that the agent sent back open and that stayed completed.
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
    /// The number in the next item's id.
    next_id: u64,
    agent: AgentView,
    /// Undo goes to the revision before this one. It is the newest, or after undo the one restored.
    undo_from: u64,
    clock: Clock,
    progress: RunState,
    observations: Observations,
    streaming: Streaming,
    saving: Saving,
}

/// The list as the agent last knew it.
#[derive(Debug, Default)]
struct AgentView {
    /// The newest revision that the agent knows.
    known: u64,
    /// The list of that revision, while the user's edits are newer.
    base: Option<List>,
}

/// A revision that is computed and not yet committed.
struct NextRevision {
    list: List,
    stamp: Stamp,
    next_id: u64,
    known_to_agent: bool,
}

impl Thread {
    /// An empty thread, in memory only.
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

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What the host said of the thread when it began: `project`, `parent`, `parentItem`, ….
    pub fn about(&self) -> &Map<String, Value> {
        &self.about
    }

    /// For a subagent's thread, the key of its parent thread, and the id of the item it works on if
    /// that is known.
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

    /// The changes that lead from the list of revision `a` to that of `b`.
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

    /// The times of an item that is or was in the list.
    pub fn times(&self, id: &str) -> Option<&Times> {
        self.clock.get(id)
    }

    /// The state, which follows from the list unless the thread is paused.
    pub fn state(&self) -> State {
        match (self.list().as_slice(), &self.progress.paused) {
            ([], _) => State::Empty,
            (list, _) if list.iter().all(|item| !item.status.is_open()) => State::Done,
            (_, Some(_)) => State::Paused,
            (_, None) => State::Active,
        }
    }

    /// Why it is paused.
    pub fn pause_reason(&self) -> Option<&str> {
        self.progress.paused.as_deref().filter(|_| self.state() == State::Paused)
    }

    /// The item in progress, the first of several.
    pub fn current(&self) -> Option<&Arc<Item>> {
        self.list().iter().find(|item| item.status == Status::InProgress)
    }

    /// What the agent works on, in a few words.
    pub fn title(&self) -> Option<&str> {
        self.observations.title()
    }

    /// The recorded events.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// The same, to take the new ones from.
    pub fn observations_mut(&mut self) -> &mut Observations {
        &mut self.observations
    }

    /// Answers a write that [`crate::input`] refused; nothing changes.
    pub fn refuse(&self, problems: Vec<Problem>, now: Millis) -> Outcome {
        Outcome {
            revision: self.revisions.last(),
            result: report::refused(&problems),
            timestamp: now,
            errors: problems,
            ..Outcome::default()
        }
    }

    /// Journals and commits a revision; without a change, no revision is made. The agent dropped the
    /// items with `cancelled` ids knowingly.
    fn revise(&mut self, next: NextRevision, cancelled: &HashSet<String>) -> Outcome {
        let timestamp = next.stamp.timestamp;
        let mut changes = diff(self.list(), &next.list);
        mark_cancelled(&mut changes, |id| cancelled.contains(id));
        if next.known_to_agent && changes.is_empty() {
            self.agent = AgentView { known: self.revisions.last(), base: None };
        }
        let mut outcome = Outcome { ok: true, timestamp, changes, ..Outcome::default() };
        if !outcome.changes.is_empty() {
            // A replay applies the recorded changes: that must lead to the same list.
            debug_assert_eq!(next.list, apply(self.list(), &outcome.changes));
            let number = self.revisions.last() + 1;
            let known = if next.known_to_agent { number } else { self.agent.known };
            let record = Record::revision(number, &next.stamp, &outcome.changes, next.next_id, known);
            let changes = &outcome.changes;
            outcome.notices.extend(self.record_then(&record, |thread| thread.commit(next, changes)));
            outcome.notices.extend(self.record_full_if_due(timestamp));
        }
        outcome.revision = self.revisions.last();
        outcome
    }

    /// Makes a revision the current one. Nothing in here can fail.
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
