//! The revisions of a thread: all lists it had, stored as changes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::events::Millis;
use crate::list::change::{Change, ChangeKind, apply};
use crate::list::item::{Author, Body, Item, List, Status};
use crate::wire::wire_names;

wire_names! {
    /// What made a revision. `Lost` stands in for damaged records.
    #[allow(missing_docs)]
    pub enum Operation {
        Write = "write",
        Add = "add",
        Rename = "rename",
        Status = "status",
        Move = "move",
        Delete = "delete",
        Restore = "restore",
        Undo = "undo",
        Lost = "lost",
    }
}

/// The author, time and origin of a revision. On disk it is an object with these keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The time it was made. For a list in a transcript, that is the time of its line, but never before the
    /// time of the record before it.
    pub timestamp: Millis,
    /// The author: the agent for a write, the user for edits and undo.
    pub author: Author,
    /// The name that the host gave itself, such as `claude` or `mcp`; none if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Arc<str>>,
    /// What made it.
    pub operation: Operation,
    /// The number of the revision whose list an undo restored; none for anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<u64>,
}

impl Stamp {
    /// A stamp without a source that restores nothing.
    pub fn new(author: Author, operation: Operation, timestamp: Millis) -> Stamp {
        Stamp { timestamp, author, source: None, operation, restores: None }
    }
}

/// One accepted write or edit.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The number, from 1. Numbers may be missing after damage to a journal.
    pub number: u64,
    /// The author, time and origin.
    pub stamp: Stamp,
    changes: Box<[Logged]>,
}

/// A change in the log. Most are of a status only, which takes 16 bytes.
#[derive(Clone, Debug, PartialEq)]
enum Logged {
    Status { body: Arc<Body>, from: Status, to: Status, position: u32 },
    Other(Box<Change<Arc<Item>>>),
}

impl Logged {
    fn item_id(&self) -> &str {
        match self {
            Logged::Status { body, .. } => &body.id,
            Logged::Other(change) => &change.item_id,
        }
    }

    fn of(change: Change<Arc<Item>>) -> Logged {
        Logged::of_status(&change).unwrap_or_else(|| Logged::Other(Box::new(change)))
    }

    /// The short form of a change that is no more than a change of a status.
    fn of_status(change: &Change<Arc<Item>>) -> Option<Logged> {
        let (item, previous) = (change.item.as_ref()?, change.previous_item.as_ref()?);
        let position = u32::try_from(change.position?).ok()?;
        let (body, from, to) = (Arc::clone(&item.body), previous.status, item.status);
        let logged = Logged::Status { body, from, to, position };
        (logged.change() == *change).then_some(logged)
    }

    fn change(&self) -> Change<Arc<Item>> {
        match self {
            Logged::Status { body, from, to, position } => {
                let item = |status| Some(Arc::new(Item { status, body: Arc::clone(body) }));
                Change {
                    item: item(*to),
                    previous_item: item(*from),
                    position: Some(*position as usize),
                    ..Change::new(ChangeKind::StatusChanged, &body.id)
                }
            }
            Logged::Other(change) => Change::clone(change),
        }
    }
}

impl Revision {
    /// The changes from the previous revision.
    pub fn changes(&self) -> Vec<Change<Arc<Item>>> {
        self.changes.iter().map(Logged::change).collect()
    }

    /// The changes of one item.
    pub(crate) fn changes_of(&self, id: &str) -> Vec<Change<Arc<Item>>> {
        self.changes.iter().filter(|change| change.item_id() == id).map(Logged::change).collect()
    }

    /// The changes of one kind, which is not [`ChangeKind::StatusChanged`].
    pub(crate) fn of_kind(&self, kind: ChangeKind) -> impl DoubleEndedIterator<Item = &Change<Arc<Item>>> {
        self.changes.iter().filter_map(move |change| match change {
            Logged::Other(change) => Some(&**change).filter(|change| change.kind == kind),
            Logged::Status { .. } => None,
        })
    }

    /// How many of the agent's items it added and removed.
    pub(crate) fn agents_items(&self) -> (usize, usize) {
        let is_agents =
            |item: &Option<Arc<Item>>| item.as_ref().is_some_and(|item| item.added_by == Author::Agent);
        let added = self.of_kind(ChangeKind::Added).filter(|change| is_agents(&change.item)).count();
        let removed =
            self.of_kind(ChangeKind::Removed).filter(|change| is_agents(&change.previous_item)).count();
        (added, removed)
    }

    /// Whether this write begins a list without any of the `agents` items of the one before.
    pub(crate) fn begins_list(&self, agents: usize) -> bool {
        let (added, removed) = self.agents_items();
        self.stamp.author == Author::Agent && added > 0 && removed == agents
    }
}

/// All revisions of a thread. Revision 0 is the empty list.
#[derive(Clone, Debug, Default)]
pub struct Revisions {
    /// The revisions, sorted by number.
    log: Vec<Revision>,
    /// The lists of some revisions, sorted by number.
    full: Vec<(u64, List)>,
    current: List,
    changes_since_full: usize,
}

impl Revisions {
    /// The newest list.
    pub fn current(&self) -> &List {
        &self.current
    }

    /// The number of the newest revision, or 0.
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

    /// Adds a revision with a higher number, whose `changes` lead from the current list to `list`.
    ///
    /// A full list is stored when the changes since the last one outnumber its items. That bounds both
    /// the memory and the time to rebuild any list by the number of changes.
    pub fn push(&mut self, number: u64, list: List, changes: Vec<Change<Arc<Item>>>, mut stamp: Stamp) {
        self.changes_since_full += changes.len() + 1;
        let changes = changes.into_iter().map(Logged::of).collect();
        // A long history keeps the name of its host once.
        if let Some(last) = self.log.last().filter(|last| last.stamp.source == stamp.source) {
            stamp.source.clone_from(&last.stamp.source);
        }
        self.log.push(Revision { number, stamp, changes });
        if self.changes_since_full > list.len().max(64) {
            self.full.push((number, list.clone()));
            self.changes_since_full = 0;
        }
        self.current = list;
    }

    /// The newest list, for updates that make no revision; see [`Item::is_unchanged_from`].
    pub(crate) fn current_mut(&mut self) -> &mut List {
        &mut self.current
    }

    /// Replaces the newest list by that of a full record, which does not depend on earlier records.
    pub(crate) fn correct(&mut self, list: List) {
        let number = self.last();
        self.full.retain(|(full, _)| *full < number);
        self.full.push((number, list.clone()));
        self.current = list;
        self.changes_since_full = 0;
    }

    /// The revisions, oldest first, each with the length of its list.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = (&Revision, usize)> {
        let mut full = self.full.iter().peekable();
        let mut length = 0_usize;
        self.log.iter().map(move |revision| {
            while let Some((_, list)) = full.next_if(|(number, _)| *number < revision.number) {
                length = list.len();
            }
            let count = |kind| revision.of_kind(kind).count();
            length = (length + count(ChangeKind::Added)).saturating_sub(count(ChangeKind::Removed));
            if let Some((_, list)) = full.next_if(|(number, _)| *number == revision.number) {
                length = list.len();
            }
            (revision, length)
        })
    }

    /// The list of a revision up to [`Revisions::last`]. A missing number means the one before it.
    pub fn list(&self, number: u64) -> Option<List> {
        if number >= self.last() {
            return (number == self.last()).then(|| self.current.clone());
        }
        let known = self.full[..self.full.partition_point(|(full, _)| *full <= number)].last();
        let (from, mut list) = known.map_or((0, List::new()), |(full, list)| (*full, list.clone()));
        let place = |number| self.log.partition_point(|revision| revision.number <= number);
        for revision in &self.log[place(from)..place(number)] {
            list = apply(&list, &revision.changes());
        }
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::list::change::diff;
    use crate::list::item::Draft;

    fn a_list() -> impl Strategy<Value = List> {
        let status = prop::sample::select(vec![Status::Pending, Status::InProgress, Status::Completed]);
        let of = |statuses: Vec<Status>| -> List {
            let item = |(n, status)| Draft { status, ..Draft::default() }.into_item(format!("t{n}"));
            statuses.into_iter().enumerate().map(item).map(Arc::new).collect()
        };
        prop::collection::vec(status, 0..4).prop_map(of)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lengths_are_those_of_the_lists(lists in prop::collection::vec(a_list(), 0..60), corrected in 0..60_u64) {
            let mut revisions = Revisions::default();
            for (number, list) in (1..).zip(&lists) {
                let changes = diff(revisions.current(), list);
                revisions.push(number, list.clone(), changes, Stamp::new(Author::Agent, Operation::Write, number));
                if number == corrected {
                    revisions.correct(lists[0].clone());
                }
            }
            for (revision, length) in revisions.lengths() {
                prop_assert_eq!(Some(length), revisions.list(revision.number).map(|list| list.len()));
            }
            prop_assert_eq!(revisions.lengths().count(), lists.len());
        }
    }
}
