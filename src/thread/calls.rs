//! Where the agent's calls stand among the lines of its transcript.
//!
//! A call is stored when it comes. The lines before its own may be read earlier or later, and belong to the
//! list before it all the same. So a thread knows which calls have lines that are yet to be read, and which
//! list stands where the transcript was read to.
//!
//! The user's edits are in no transcript. They count for the lines of a later time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Thread;
use super::record::Record;
use super::revision::{Revision, Revisions};
use crate::events::Millis;
use crate::list::input::Plan;
use crate::list::item::{Author, List};
use crate::text::{excerpt, fnv1a};

/// Maximum number of calls whose lines are yet to be read. Most sessions with more are not followed.
const MANY_AHEAD: usize = 256;
/// Maximum number of characters of a call's name.
const NAME: usize = 200;

/// A call of the agent's tool that reached this Emacs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCall {
    /// Its name, by which its line is recognized: see [`CallName`].
    pub call: String,
    /// The number of the revision that it made, or that it did not change.
    pub revision: u64,
    /// When it came.
    pub timestamp: Millis,
}

/// The name of a call: its id in the transcript or, if the host does not tell that, a hash of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallName {
    /// The id.
    Id(String),
    /// That the host does not tell the id.
    Unknown,
}

impl CallName {
    /// The name of a call with this list.
    pub(crate) fn of(&self, plan: &Plan) -> String {
        match self {
            CallName::Id(id) => excerpt(id, NAME),
            CallName::Unknown => name_of(plan),
        }
    }
}

/// The name of a call with this list and no known id.
fn name_of(plan: &Plan) -> String {
    let mut text = String::new();
    for (kind, drafts) in [("task", &plan.drafts), ("cancelled", &plan.cancelled)] {
        for draft in drafts {
            text.extend([kind, "\n", &draft.content, "\n", draft.status.as_str(), "\n"]);
        }
    }
    format!("list {:016x}", fnv1a(text.as_bytes()))
}

/// How far the transcript of a thread was read, among the calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// The newest revision whose line was read.
    revision: u64,
    /// The calls whose lines are yet to be read, oldest first.
    ahead: VecDeque<StoredCall>,
    /// When the last call came, or 0.
    last_call: Millis,
    /// The last list that was looked up, and its revision.
    looked_up: Option<(u64, List)>,
}

impl Reading {
    /// When the last call came, or 0.
    pub(super) fn last_call(&self) -> Millis {
        self.last_call
    }

    /// The calls whose lines are yet to be read, oldest first.
    pub(super) fn ahead(&self) -> &VecDeque<StoredCall> {
        &self.ahead
    }

    /// The newest revision whose line was read.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Sets what a record of the whole state has.
    pub(super) fn restore(&mut self, revision: u64, ahead: &[StoredCall]) {
        (self.revision, self.ahead) = (revision, VecDeque::new());
        ahead.iter().for_each(|call| self.push(call.clone()));
    }

    /// Adds a call, whose line is yet to be read.
    pub(super) fn push(&mut self, call: StoredCall) {
        self.last_call = self.last_call.max(call.timestamp);
        self.ahead.push_back(call);
        self.leave(MANY_AHEAD);
    }

    /// Notes that the lines of the calls but the newest `count` were read.
    pub(super) fn leave(&mut self, count: usize) {
        for call in self.ahead.drain(..self.ahead.len().saturating_sub(count)) {
            self.revision = self.revision.max(call.revision);
        }
    }

    /// Notes that the line of a revision was read.
    pub(super) fn pass(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    /// The revision whose list stands at a line of that time after the last one that was read.
    fn revision_at(&self, revisions: &Revisions, time: Millis) -> u64 {
        let is_ahead =
            |revision: &Revision| revision.number > self.revision && revision.stamp.author == Author::Agent;
        let made =
            self.ahead.iter().find_map(|call| revisions.get(call.revision).filter(|one| is_ahead(one)));
        let limit = made.map_or(u64::MAX, |made| made.number);
        let stands = |revision: &&Revision| {
            revision.number <= self.revision || revision.number < limit && revision.stamp.timestamp <= time
        };
        revisions.iter().rev().find(stands).map_or(0, |revision| revision.number)
    }
}

impl Thread {
    /// Notes that a call with this list, or without an effect, has a line here; returns whether it is known,
    /// so that the lines that follow belong to its list.
    pub(crate) fn pass_call(&mut self, id: &str, plan: Option<&Plan>) -> bool {
        let place = |name: &str| self.reading.ahead.iter().position(|call| call.call == name);
        let place = place(id).or_else(|| place(&name_of(plan?)));
        if let Some(place) = place {
            self.reading.leave(self.reading.ahead.len() - place - 1);
        }
        place.is_some()
    }

    /// Notes that the line of the current list was read, and that no earlier call has one any more.
    pub(crate) fn pass_list(&mut self) {
        self.reading.leave(0);
        self.reading.pass(self.revisions.last());
    }

    /// How far the transcript was read: the number of calls whose lines are yet to be read, and the newest
    /// revision whose line was.
    pub(crate) fn read_until(&self) -> (u64, u64) {
        (self.reading.ahead.len() as u64, self.reading.revision)
    }

    /// Notes that the calls before this time have no line any more that is yet to be read.
    pub(crate) fn pass_calls_before(&mut self, time: Millis) {
        let later = self.reading.ahead.iter().rev().take_while(|call| call.timestamp >= time).count();
        self.reading.leave(later);
    }

    /// Records a call that made the current revision, or did not change it.
    pub(super) fn note_call(&mut self, call: String, timestamp: Millis) {
        self.make(Record::Call(StoredCall { call, revision: self.revisions.last(), timestamp }));
    }

    /// The list at a line of that time after the last one that was read; `None` for the current list.
    pub(crate) fn list_at_line(&mut self, time: Millis) -> Option<List> {
        let number = self.reading.revision_at(&self.revisions, time);
        if number == self.revisions.last() {
            return None;
        }
        let known = self.reading.looked_up.take().filter(|(known, _)| *known == number);
        let (_, list) = known.or_else(|| Some((number, self.revisions.list(number)?)))?;
        self.reading.looked_up = Some((number, list.clone()));
        Some(list)
    }
}
