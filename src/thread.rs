//! One agent conversation's list: the only place where state changes.
//!
//! Each entry point goes the same way: work out the new list as plain data, journal it, then
//! commit it in one step that cannot fail. A full disk in between costs nothing; after a panic in
//! between, what the journal says holds.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::change::{Change, Kind, apply, diff, mark_cancelled};
use crate::clock::{Clock, Millis, Times};
use crate::error::Error;
use crate::input::Problem;
use crate::item::{Item, List, Status};
use crate::journal::{Journal, Record};
use crate::observation::{Observation, Observations, Type};
use crate::report;
use crate::revision::{Author, Revisions, Stamp};
use crate::stream::Stream;
use crate::wire::wire_names;

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
}

wire_names! {
    /// What a thread is at.
    pub enum State {
        /// Something is open.
        Active = "active",
        /// All is completed.
        Done = "done",
        /// Interrupted: nothing runs, nothing is lost.
        Paused = "paused",
        /// There is no list.
        Empty = "empty",
    }
}

/// A thread and its history.
#[derive(Debug, Default)]
pub struct Thread {
    key: String,
    about: Map<String, Value>,
    revisions: Revisions,
    /// The newest revision the agent knows, and its list while the user's edits are newer.
    known: u64,
    base: Option<List>,
    next_id: u64,
    /// The revision whose list the current one is, which differs from the newest after undo.
    at: u64,
    clock: Clock,
    paused: Option<String>,
    title: Option<String>,
    observations: Observations,
    stream: Stream,
    /// The revision at which the last stream event came, if that was a token.
    last_token_at: Option<u64>,
    history_limit: usize,
    journal: Option<Journal>,
    /// Set once the user was told that the journal cannot be written.
    warned: bool,
    /// Set between a record and what it says; see [`Thread::settle`].
    unsettled: bool,
}

/// A revision that is worked out and not yet made.
struct Proposal {
    list: List,
    /// Ids of the items that the agent dropped by cancelling them.
    cancelled: HashSet<String>,
    stamp: Stamp,
    next_id: u64,
    known_to_agent: bool,
}

impl Thread {
    /// An empty thread; `journal` is where it is kept, if anywhere.
    pub fn new(
        key: &str,
        about: Map<String, Value>,
        journal: Option<Journal>,
        history_limit: usize,
    ) -> Thread {
        Thread { key: key.to_owned(), about, journal, history_limit, next_id: 1, ..Thread::default() }
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What the host said of the thread when it began: `project`, `parent`, `parentItem`, ….
    pub fn about(&self) -> &Map<String, Value> {
        &self.about
    }

    /// The key of the thread that a subagent's works for, and the id of the item, if that is known.
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
        let removals = between.flat_map(|revision| &revision.changes).filter(|one| one.kind == Kind::Removed);
        let last: HashMap<&str, bool> = removals.map(|one| (one.item_id.as_str(), one.cancelled)).collect();
        mark_cancelled(&mut changes, |id| last.get(id) == Some(&true));
        Ok(changes)
    }

    /// The times of an item that is or was in the list.
    pub fn times(&self, id: &str) -> Option<&Times> {
        self.clock.get(id)
    }

    /// Paused, or what follows from the list.
    pub fn state(&self) -> State {
        match (self.list().as_slice(), &self.paused) {
            ([], _) => State::Empty,
            (list, _) if list.iter().all(|item| !item.status.is_open()) => State::Done,
            (_, Some(_)) => State::Paused,
            (_, None) => State::Active,
        }
    }

    /// Why it is paused.
    pub fn pause_reason(&self) -> Option<&str> {
        self.paused.as_deref().filter(|_| self.state() == State::Paused)
    }

    /// What the agent works on, in a few words.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
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

    /// Pauses with a reason, or resumes with none; says what went wrong with the journal.
    pub fn set_paused(&mut self, reason: Option<String>, now: Millis) -> Option<String> {
        if self.paused.is_some() == reason.is_some() {
            return None;
        }
        let record = Record::State { timestamp: now, paused: reason.clone() };
        self.record_then(&record, |thread| thread.apply_paused(reason, now))
    }

    fn apply_paused(&mut self, reason: Option<String>, now: Millis) {
        match reason {
            Some(_) => self.clock.pause(now),
            None => self.clock.resume(self.revisions.current(), now),
        }
        self.paused = reason;
    }

    /// The item in progress, the first of several.
    pub fn current(&self) -> Option<&Arc<Item>> {
        self.list().iter().find(|item| item.status == Status::InProgress)
    }

    /// Journals and commits a proposal; where nothing differs, no revision is made.
    fn propose(&mut self, proposal: Proposal) -> Outcome {
        let timestamp = proposal.stamp.timestamp;
        let mut changes = diff(self.list(), &proposal.list);
        mark_cancelled(&mut changes, |id| proposal.cancelled.contains(id));
        if proposal.known_to_agent && changes.is_empty() {
            (self.known, self.base) = (self.revisions.last(), None);
        }
        let mut outcome = Outcome { ok: true, timestamp, changes, ..Outcome::default() };
        if !outcome.changes.is_empty() {
            // It is what the journal will say.
            debug_assert_eq!(proposal.list, apply(self.list(), &outcome.changes));
            let number = self.revisions.last() + 1;
            let known = if proposal.known_to_agent { number } else { self.known };
            let record = Record::Revision {
                number,
                stamp: proposal.stamp.clone(),
                changes: outcome.changes.iter().cloned().map(without_previous).collect(),
                next_id: proposal.next_id,
                known,
            };
            let changes = &outcome.changes;
            outcome.notices.extend(self.record_then(&record, |thread| thread.commit(proposal, changes)));
            outcome.notices.extend(self.record_full(timestamp));
        }
        outcome.revision = self.revisions.last();
        outcome
    }

    /// Takes a revision over; from here on it is the truth. Nothing in here can fail.
    fn commit(&mut self, proposal: Proposal, changes: &[Change<Arc<Item>>]) {
        let Proposal { list, stamp, next_id, known_to_agent, .. } = proposal;
        let now = stamp.timestamp;
        let number = self.revisions.last() + 1;
        if known_to_agent {
            (self.known, self.base) = (number, None);
        } else if self.base.is_none() {
            self.base = Some(self.list().clone());
        }
        self.next_id = next_id;
        self.at = stamp.restores.unwrap_or(number);
        self.clock.follow(changes, now);
        if self.paused.is_some() {
            self.clock.pause(now);
        }
        self.revisions.push(number, list, changes.to_vec(), stamp);
        self.observe_revision(number, changes, now);
    }
}

/// In the journal the previous state of an item is what the lines before say.
fn without_previous(change: Change<Arc<Item>>) -> Change<Arc<Item>> {
    Change { previous_item: None, previous_position: None, ..change }
}

mod edit;
mod keeping;
mod observing;
mod replay;
mod streaming;
mod writing;

pub use edit::Edit;
pub use streaming::Event;
