//! The revisions of a thread: all lists it had, stored as changes.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::record::Changes;
use crate::events::Millis;
use crate::list::change::{ChangeKind, apply, diff, mark_cancelled};
use crate::list::item::{Author, Item, List, Status};
use crate::named::{is_default, wire_names};

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
    /// When the bridge of the call received it, or a file beside the transcript got it, by the clock of the agent's
    /// machine; none for anything else.
    #[serde(default, rename = "agentTime", skip_serializing_if = "Option::is_none")]
    pub agent_time: Option<Millis>,
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
        Stamp { timestamp, agent_time: None, author, source: None, operation, restores: None }
    }

    /// Whether the list stands at a line of that time, which is read now. A list of the transcript itself stands
    /// at all lines after its own. The user's edits are in no transcript; they count for the lines of a later
    /// time.
    pub(crate) fn stands_at(&self, time: Millis) -> bool {
        let since = self.agent_time.or((self.author == Author::User).then_some(self.timestamp));
        since.is_none_or(|since| since <= time)
    }
}

/// One accepted write or edit.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The number, from 1. Numbers may be missing after damage to a journal.
    pub number: u64,
    pub stamp: Stamp,
    pub changes: Changes,
}

/// The largest number of removed items, and of lists, that are known.
const MANY_REMOVED: usize = 1_000;
const MANY_LISTS: usize = 4_096;

/// How many lists before the current one the head of a segment has, for undo.
pub(crate) const KEPT_LISTS: usize = 50;

/// An item that left the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Removed {
    pub item: Arc<Item>,
    pub revision: u64,
    /// The id of the item before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether the agent left it out, and did not cancel it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: bool,
}

/// The items that left the list and are not back, oldest removal first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Removals(Vec<Removed>);

impl Removals {
    /// Adds a revision of the list `before`.
    pub(crate) fn note(&mut self, revision: &Revision, before: &[Arc<Item>]) {
        let is_write = revision.stamp.author == Author::Agent;
        for change in &revision.changes {
            if matches!(change.kind, ChangeKind::Added | ChangeKind::Removed) {
                self.0.retain(|removed| removed.item.id != change.item_id);
            }
            if let (ChangeKind::Removed, Some(item)) = (change.kind, &change.previous_item) {
                let place = before.iter().position(|item| item.id == change.item_id).unwrap_or(0);
                let after = before[..place].last().map(|item| item.id.clone());
                let left_out = is_write && !change.cancelled;
                self.0.push(Removed { item: Arc::clone(item), revision: revision.number, after, left_out });
            }
        }
        self.0.drain(..self.0.len().saturating_sub(MANY_REMOVED));
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Removed> {
        self.0.iter()
    }

    /// The items of a status that the agent left out after a revision.
    pub(crate) fn left_out(&self, after: u64, is_wanted: impl Fn(Status) -> bool) -> List {
        let left_out = self.0.iter().filter(|removed| removed.left_out && removed.revision > after);
        left_out.map(|removed| &removed.item).filter(|item| is_wanted(item.status)).cloned().collect()
    }
}

/// The newest revisions of a thread, and what is known of all. Revision 0 is the empty list.
#[derive(Clone, Debug, Default)]
pub struct Revisions {
    /// Revisions sorted by number, up to the newest.
    log: Vec<Revision>,
    /// The number and the list before them.
    before: (u64, List),
    /// The lists of some of them, sorted by number.
    full: Vec<(u64, List)>,
    current: List,
    changes_since_full: usize,
    removals: Removals,
    /// The lists without any item of the agent's previous one: the first revision of each, and its last one
    /// that was not empty, or 0.
    lists: Vec<(u64, u64)>,
}

impl Revisions {
    /// The newest list.
    pub fn current(&self) -> &List {
        &self.current
    }

    /// The number of the newest revision, or 0.
    pub fn last(&self) -> u64 {
        self.log.last().map_or(self.before.0, |revision| revision.number)
    }

    /// The number of the oldest revision whose list is in memory.
    pub(crate) fn first(&self) -> u64 {
        self.before.0
    }

    /// The revisions, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Revision> {
        self.log.iter()
    }

    /// Adds a revision with a higher number, whose `changes` lead from the current list to `list`.
    ///
    /// A full list is stored when the changes since the last one outnumber its items. That bounds both
    /// the memory and the time to rebuild any list by the number of changes.
    pub fn push(&mut self, number: u64, list: List, changes: Changes, mut stamp: Stamp) {
        self.changes_since_full += changes.len() + 1;
        // A long history keeps the name of its host once.
        if let Some(last) = self.log.last().filter(|last| last.stamp.source == stamp.source) {
            stamp.source.clone_from(&last.stamp.source);
        }
        let revision = Revision { number, stamp, changes };
        self.note(&revision, &list);
        self.log.push(revision);
        if self.changes_since_full > list.len().max(64) {
            self.full.push((number, list.clone()));
            self.changes_since_full = 0;
        }
        self.current = list;
    }

    /// Notes what is known of all revisions; `list` is that of the new one.
    fn note(&mut self, revision: &Revision, list: &[Arc<Item>]) {
        self.removals.note(revision, &self.current);
        // A write begins a list if it has items of the agent, and none of the one before.
        let is_agents = |item: &&Arc<Item>| item.added_by == Author::Agent;
        let added = revision.changes.iter().filter(|change| change.kind == ChangeKind::Added);
        let added = added.filter_map(|change| change.item.as_ref()).filter(is_agents).count();
        let is_new = added > 0 && added == list.iter().filter(is_agents).count();
        if is_new && revision.stamp.author == Author::Agent {
            self.lists.push((revision.number, 0));
            self.lists.drain(..self.lists.len().saturating_sub(MANY_LISTS));
        }
        if let Some((_, last)) = self.lists.last_mut().filter(|_| !list.is_empty()) {
            *last = revision.number;
        }
    }

    /// The newest list, for updates that make no revision; see [`Item::is_unchanged_from`].
    pub(crate) fn current_mut(&mut self) -> &mut List {
        &mut self.current
    }

    /// The items that left the list.
    pub(crate) fn removals(&self) -> &Removals {
        &self.removals
    }

    /// The lists without any item of the agent's previous one, oldest first: the first revision of each, and
    /// its last one that was not empty, or 0.
    pub(crate) fn lists(&self) -> &[(u64, u64)] {
        &self.lists
    }

    /// The list of a revision in memory, up to [`Revisions::last`]. A missing number means the
    /// one before it.
    pub fn list(&self, number: u64) -> Option<List> {
        if number >= self.last() {
            return (number == self.last()).then(|| self.current.clone());
        }
        let known = self.full[..self.full.partition_point(|(full, _)| *full <= number)].last();
        let (from, list) = known.or(Some(&self.before).filter(|(before, _)| *before <= number))?;
        let (from, mut list) = (*from, list.clone());
        let place = |number| self.log.partition_point(|revision| revision.number <= number);
        for revision in &self.log[place(from)..place(number)] {
            list = apply(&list, &revision.changes);
        }
        Some(list)
    }

    /// Forgets the revisions but the newest [`KEPT_LISTS`], which the journal has.
    pub(crate) fn forget_old(&mut self) {
        if let Some(before) = self.before_kept() {
            self.log.retain(|revision| revision.number > before.0);
            self.full.retain(|(number, _)| *number > before.0);
            self.before = before;
        }
    }

    /// The number and the list before the newest [`KEPT_LISTS`], if there are more.
    fn before_kept(&self) -> Option<(u64, List)> {
        let number = self.log.iter().rev().nth(KEPT_LISTS)?.number;
        Some((number, self.list(number)?))
    }
}

/// Revisions as the head of a segment has them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptRevisions {
    /// As in [`Revisions`].
    before: (u64, List),
    /// The newest revisions: their numbers, stamps and changes.
    log: Vec<(u64, Stamp, Changes)>,
    /// As in [`Revisions`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lists: Vec<(u64, u64)>,
    /// As in [`Revisions`].
    #[serde(default)]
    removals: Removals,
    /// As in [`Revisions`], also with what makes no revision.
    current: List,
}

impl Serialize for Revisions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let before = self.before_kept().unwrap_or_else(|| self.before.clone());
        let kept = self.log.iter().filter(|revision| revision.number > before.0);
        let log = kept.map(|one| (one.number, one.stamp.clone(), one.changes.clone())).collect();
        let (lists, removals, current) = (self.lists.clone(), self.removals.clone(), self.current.clone());
        KeptRevisions { before, log, lists, removals, current }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Revisions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Revisions, D::Error> {
        let KeptRevisions { before, log, lists, removals, current } =
            KeptRevisions::deserialize(deserializer)?;
        let mut revisions = Revisions { current: before.1.clone(), before, ..Revisions::default() };
        for (number, stamp, kept) in log {
            let list = apply(&revisions.current, &kept);
            let changes = diff_like(&revisions.current, &list, &kept);
            revisions.push(number, list, changes, stamp);
        }
        Ok(Revisions { lists, removals, current, ..revisions })
    }
}

/// The changes between two lists, with the cancelled ones marked as in `kept`: a journal has no previous items
/// and positions, and a damaged one too many changes.
pub(super) fn diff_like(old: &[Arc<Item>], new: &[Arc<Item>], kept: &Changes) -> Changes {
    let mut changes = diff(old, new);
    let cancelled = kept.iter().filter(|change| change.cancelled);
    let cancelled: HashSet<&str> = cancelled.map(|change| change.item_id.as_str()).collect();
    mark_cancelled(&mut changes, |id| cancelled.contains(id));
    changes
}
