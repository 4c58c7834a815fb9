//! The revisions of a thread: every list it ever had, at the cost of what changed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::change::{Change, apply};
use crate::clock::Millis;
use crate::item::{Item, List};
use crate::wire::wire_names;

wire_names! {
    /// Who made a revision.
    #[allow(missing_docs)]
    pub enum Author {
        Agent = "agent",
        User = "user",
    }
}

/// Who made a revision, when and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// When it was made.
    pub timestamp: Millis,
    /// Who made it.
    pub author: Author,
    /// The name of the host, if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// `write`, `add`, `rename`, `status`, `move`, `delete`, `undo`; `lost` where records were damaged.
    pub operation: String,
    /// For undo, the revision whose list was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<u64>,
}

impl Stamp {
    /// A stamp without a source, of a revision that restores none.
    pub fn new(author: Author, operation: &str, timestamp: Millis) -> Stamp {
        Stamp { timestamp, author, source: None, operation: operation.to_owned(), restores: None }
    }
}

/// One accepted write or edit.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// 1 for the first. Numbers are missing where records of a journal were damaged.
    pub number: u64,
    /// Who, when, what.
    pub stamp: Stamp,
    /// What differs from the revision before.
    pub changes: Vec<Change<Arc<Item>>>,
}

/// All revisions of a thread. Revision 0 is the empty list.
#[derive(Clone, Debug, Default)]
pub struct Revisions {
    /// By number.
    log: Vec<Revision>,
    /// The lists of some revisions, by number.
    full: Vec<(u64, List)>,
    current: List,
    changes_since_full: usize,
}

impl Revisions {
    /// The newest list.
    pub fn current(&self) -> &List {
        &self.current
    }

    /// The number of the newest revision; 0 before the first.
    pub fn last(&self) -> u64 {
        self.log.last().map_or(0, |revision| revision.number)
    }

    /// The revisions, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Revision> {
        self.log.iter()
    }

    /// One revision.
    pub fn get(&self, number: u64) -> Option<&Revision> {
        let place = self.log.binary_search_by_key(&number, |revision| revision.number).ok()?;
        Some(&self.log[place])
    }

    /// Adds a revision with a number beyond the last, which leads from the current list to `list`
    /// by `changes`.
    ///
    /// A full list is kept whenever the changes since the last one outweigh it, so that memory
    /// follows the changes, and so does the time to rebuild any list.
    pub fn push(&mut self, number: u64, list: List, changes: Vec<Change<Arc<Item>>>, stamp: Stamp) {
        self.changes_since_full += changes.len() + 1;
        self.log.push(Revision { number, stamp, changes });
        if self.changes_since_full > list.len().max(64) {
            self.full.push((number, list.clone()));
            self.changes_since_full = 0;
        }
        self.current = list;
    }

    /// Replaces the list of the newest revision by that of a full record, which is right even where
    /// the changes before it were damaged.
    pub fn correct(&mut self, list: List) {
        let number = self.last();
        self.full.retain(|(full, _)| *full < number);
        self.full.push((number, list.clone()));
        self.current = list;
        self.changes_since_full = 0;
    }

    /// The list of any revision up to [`Revisions::last`]. A missing number stands for the revision
    /// before it.
    pub fn list(&self, number: u64) -> Option<List> {
        if number >= self.last() {
            return (number == self.last()).then(|| self.current.clone());
        }
        let known = self.full[..self.full.partition_point(|(full, _)| *full <= number)].last();
        let (from, mut list) = known.map_or((0, List::new()), |(full, list)| (*full, list.clone()));
        let place = |number| self.log.partition_point(|revision| revision.number <= number);
        for revision in &self.log[place(from)..place(number)] {
            list = apply(&list, &revision.changes);
        }
        Some(list)
    }
}
