//! The revisions of a thread: every list it ever had, at the cost of what changed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::change::{Change, apply};
use crate::clock::Millis;
use crate::item::{Item, List};

/// Who made a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// A write.
    Agent,
    /// An edit.
    User,
}

/// What a revision is about, besides its list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// When it was made.
    pub timestamp: Millis,
    /// Who made it.
    pub author: Author,
    /// The host's name, where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// `write`, `add`, `rename`, `status`, `move`, `delete`, `undo`.
    pub operation: String,
    /// Undo only: the revision whose list this one has again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<u64>,
}

/// One accepted write or edit.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// 1 for the first.
    pub number: u64,
    /// Who, when, what.
    pub stamp: Stamp,
    /// What differs from the revision before.
    pub changes: Vec<Change<Arc<Item>>>,
}

/// All revisions of a thread. Revision 0 is the empty list.
#[derive(Clone, Debug)]
pub struct Revisions {
    log: Vec<Revision>,
    /// The number of the revision before `log[0]`, and its list first among the full lists.
    full: Vec<(u64, List)>,
    current: List,
    changes_since_full: usize,
}

impl Default for Revisions {
    fn default() -> Self {
        Revisions::starting_at(0, List::new())
    }
}

impl Revisions {
    /// A history whose beginning is unknown: it starts with the list of revision `number`.
    pub fn starting_at(number: u64, list: List) -> Revisions {
        Revisions {
            log: Vec::new(),
            full: vec![(number, list.clone())],
            current: list,
            changes_since_full: 0,
        }
    }

    /// The newest list.
    pub fn current(&self) -> &List {
        &self.current
    }

    /// The number of the newest revision; 0 before the first.
    pub fn last(&self) -> u64 {
        self.first_known() + self.log.len() as u64
    }

    /// The oldest revision whose list is known.
    pub fn first_known(&self) -> u64 {
        self.full.first().map_or(0, |(number, _)| *number)
    }

    /// The revisions, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Revision> {
        self.log.iter()
    }

    /// One revision.
    pub fn get(&self, number: u64) -> Option<&Revision> {
        let index = number.checked_sub(self.first_known() + 1)?;
        self.log.get(usize::try_from(index).ok()?)
    }

    /// Adds a revision that leads from the current list to `list` by `changes`.
    ///
    /// A full list is kept whenever the changes since the last one outweigh it, so that memory
    /// follows the changes, and so does the time to rebuild any list.
    pub fn push(&mut self, list: List, changes: Vec<Change<Arc<Item>>>, stamp: Stamp) -> &Revision {
        self.changes_since_full += changes.len() + 1;
        let number = self.last() + 1;
        self.log.push(Revision { number, stamp, changes });
        if self.changes_since_full > list.len().max(64) {
            self.full.push((number, list.clone()));
            self.changes_since_full = 0;
        }
        self.current = list;
        &self.log[self.log.len() - 1]
    }

    /// Takes the list of the newest revision from a full record, which is right where the
    /// changes before it were damaged.
    pub fn correct(&mut self, list: List) {
        let number = self.last();
        self.full.retain(|(full, _)| *full < number);
        self.full.push((number, list.clone()));
        self.current = list;
        self.changes_since_full = 0;
    }

    /// The list of any revision from [`Revisions::first_known`] to [`Revisions::last`].
    pub fn list(&self, number: u64) -> Option<List> {
        if number == self.last() {
            return Some(self.current.clone());
        }
        let after = self.full.partition_point(|(full, _)| *full <= number);
        let (full, list) = self.full.get(after.checked_sub(1)?)?;
        let mut list = list.clone();
        for step in full + 1..=number {
            list = apply(&list, &self.get(step)?.changes);
        }
        Some(list)
    }
}
