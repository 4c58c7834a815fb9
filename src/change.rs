//! What differs between two lists: the diff, its inverse, and folding.
//!
//! Everything here works by id, on any entries that have one; [`crate::identity`] gives ids where
//! there are none.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::item::Item;
use crate::wire::wire_names;

/// The name of a field, as on the wire.
pub type Field = Cow<'static, str>;

/// Names of fields; those of items are constants, so that a change of one takes no memory for them.
pub type Fields = Cow<'static, [Field]>;

/// What the diff needs to know of an entry.
pub trait Entry: Clone {
    /// Unique within a list.
    fn id(&self) -> &str;
    /// The names of the fields that differ, timestamps left out.
    fn differing_fields(&self, other: &Self) -> Fields;
    /// Whether the two are known to be one object, which settles that nothing differs.
    fn is_same_object(&self, _other: &Self) -> bool {
        false
    }
}

impl Entry for Arc<Item> {
    fn id(&self) -> &str {
        &self.id
    }

    fn differing_fields(&self, other: &Self) -> Fields {
        static NAMES: [Field; 4] = [
            Cow::Borrowed("content"),
            Cow::Borrowed("status"),
            Cow::Borrowed("activeForm"),
            Cow::Borrowed("priority"),
        ];
        let differs = [
            self.content != other.content,
            self.status != other.status,
            self.active_form != other.active_form,
            self.priority != other.priority,
        ];
        let first = differs.iter().position(|differs| *differs).unwrap_or(NAMES.len());
        let end = first + differs[first..].iter().take_while(|differs| **differs).count();
        if differs[end..].contains(&true) {
            NAMES.iter().zip(differs).filter(|(_, differs)| *differs).map(|(name, _)| name.clone()).collect()
        } else {
            Cow::Borrowed(&NAMES[first..end])
        }
    }

    fn is_same_object(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other)
    }
}

wire_names! {
    /// The kinds of change.
    pub enum Kind {
        /// The item is new.
        Added = "added",
        /// Same item; a field other than the status differs.
        Modified = "modified",
        /// Same item; only the status differs.
        StatusChanged = "status_changed",
        /// Same item, moved against the others.
        Reordered = "reordered",
        /// The item is gone.
        Removed = "removed",
    }
}

/// One difference between two lists. Which fields are there follows from the kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change<T> {
    /// The kind.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The item it is about.
    pub item_id: String,
    /// After the change: added, modified, status changed.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub item: Option<T>,
    /// Before the change: modified, status changed, removed.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub previous_item: Option<T>,
    /// Modified: the names of the fields that differ.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub fields: Fields,
    /// Removed: whether the agent itself said so, by a status of "cancelled".
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// 0-based, in the new list: all but removed.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// 0-based, in the old list: removed, reordered.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub previous_position: Option<usize>,
}

impl<T> Change<T> {
    fn new(kind: Kind, item_id: &str) -> Change<T> {
        Change {
            kind,
            item_id: item_id.to_owned(),
            item: None,
            previous_item: None,
            fields: Fields::default(),
            cancelled: false,
            position: None,
            previous_position: None,
        }
    }
}

impl<T: Entry> Change<T> {
    fn added(item: &T, position: usize) -> Change<T> {
        Change { item: Some(item.clone()), position: Some(position), ..Change::new(Kind::Added, item.id()) }
    }

    fn reordered(item: &T, previous: usize, position: usize) -> Change<T> {
        Change {
            position: Some(position),
            previous_position: Some(previous),
            ..Change::new(Kind::Reordered, item.id())
        }
    }

    fn removed(item: &T, previous: usize) -> Change<T> {
        Change {
            previous_item: Some(item.clone()),
            previous_position: Some(previous),
            ..Change::new(Kind::Removed, item.id())
        }
    }
}

fn none<T>() -> Option<T> {
    None
}

fn is_empty(fields: &Fields) -> bool {
    fields.is_empty()
}

/// The changes that lead from `previous` to `current`, in the order of `current`, removals last.
///
/// Ids must be unique within each list. The moves are the fewest possible: what keeps its order
/// is a longest increasing subsequence. Linear in both lists, but for a logarithm in the number
/// of items that moved.
pub fn diff<T: Entry>(previous: &[T], current: &[T]) -> Vec<Change<T>> {
    let mut changes = Vec::new();
    let start = compare_in_place(previous, current, &mut changes);
    let (previous_rest, current_rest) = (&previous[start..], &current[start..]);
    let old_of = Pairs {
        previous: previous_rest,
        current: current_rest,
        start,
        old_of: vec![None; current_rest.len()],
        changes: &mut changes,
    }
    .find();
    let moved = moved(&old_of);
    let mut kept = vec![false; previous_rest.len()];
    for (place, (item, old)) in current_rest.iter().zip(old_of).enumerate() {
        let Some(old) = old else {
            changes.push(Change::added(item, start + place));
            continue;
        };
        kept[old] = true;
        if moved.as_ref().is_some_and(|moved| moved[place]) {
            changes.push(Change::reordered(item, start + old, start + place));
        }
    }
    // They came as they were found. What an entry has become stays before where it went.
    if !changes.is_sorted_by_key(|change| change.position) {
        changes.sort_by_key(|change| change.position);
    }
    let gone = (start..).zip(previous_rest).zip(kept).filter(|(_, kept)| !kept);
    changes.extend(gone.map(|((old, item), _)| Change::removed(item, old)));
    changes
}

/// Compares what stands where it stood, up to the first that does not, and returns its place.
/// That much needs neither table nor places.
fn compare_in_place<T: Entry>(previous: &[T], current: &[T], changes: &mut Vec<Change<T>>) -> usize {
    let mut start = 0;
    for (old, new) in previous.iter().zip(current) {
        if !is_same(old, new) {
            break;
        }
        changes.extend(compare(old, new, start));
        start += 1;
    }
    start
}

fn is_same<T: Entry>(previous: &T, current: &T) -> bool {
    previous.is_same_object(current) || previous.id() == current.id()
}

fn compare<T: Entry>(previous: &T, current: &T, position: usize) -> Option<Change<T>> {
    if previous.is_same_object(current) {
        return None;
    }
    let fields = previous.differing_fields(current);
    let kind = match fields.as_ref() {
        [] => return None,
        [only] if only == "status" => Kind::StatusChanged,
        _ => Kind::Modified,
    };
    Some(Change {
        item: Some(current.clone()),
        previous_item: Some(previous.clone()),
        position: Some(position),
        fields: if kind == Kind::Modified { fields } else { Fields::default() },
        ..Change::new(kind, current.id())
    })
}

/// Marks the removals of items that the agent cancelled.
pub fn mark_cancelled<T>(changes: &mut [Change<T>], is_cancelled: impl Fn(&str) -> bool) {
    for change in changes.iter_mut().filter(|change| change.kind == Kind::Removed) {
        change.cancelled = is_cancelled(&change.item_id);
    }
}

/// How far ahead an entry is looked for, before it is left to the table.
const AHEAD: usize = 8;
/// After so many entries in a row that were not found, the rest is left to the table: the order is
/// another one.
const LOST: usize = 64;

/// Which entries of two lists are the same.
struct Pairs<'a, T> {
    previous: &'a [T],
    current: &'a [T],
    /// The position of the first entry.
    start: usize,
    /// For each current entry its place in `previous`.
    old_of: Vec<Option<usize>>,
    /// Gets the changes of those that differ.
    changes: &'a mut Vec<Change<T>>,
}

impl<T: Entry> Pairs<'_, T> {
    /// Returns `old_of`: those in between are found in one walk along both lists, and what that
    /// passes over by a table; those at the end by their place.
    fn find(mut self) -> Vec<Option<usize>> {
        let (previous, current) = (self.previous, self.current);
        let end =
            previous.iter().rev().zip(current.iter().rev()).take_while(|(a, b)| is_same(*a, *b)).count();
        let (olds, news) = (previous.len() - end, current.len() - end);
        let (old_left, new_left) = self.walk(olds, news);
        if !old_left.is_empty() && !new_left.is_empty() {
            let table: HashMap<&str, usize> =
                old_left.into_iter().map(|old| (previous[old].id(), old)).collect();
            for new in new_left {
                if let Some(old) = table.get(current[new].id()) {
                    self.pair(*old, new);
                }
            }
        }
        (olds..previous.len()).zip(news..).for_each(|(old, new)| self.pair(old, new));
        self.old_of
    }

    /// Two that are the same are compared at once: a long list does not fit the cache.
    fn pair(&mut self, old: usize, new: usize) {
        self.old_of[new] = Some(old);
        self.changes.extend(compare(&self.previous[old], &self.current[new], self.start + new));
    }

    /// Pairs what stands in the same order, up to these places, and returns what is left.
    fn walk(&mut self, olds: usize, news: usize) -> (Vec<usize>, Vec<usize>) {
        let (previous, current) = (self.previous, self.current);
        let (mut old_left, mut new_left) = (Vec::new(), Vec::new());
        let (mut old, mut new, mut lost) = (0, 0, 0);
        while old < olds && new < news && lost < LOST {
            if is_same(&previous[old], &current[new]) {
                self.pair(old, new);
                (old, new, lost) = (old + 1, new + 1, 0);
            } else if let Some(found) =
                previous[old..olds].iter().take(AHEAD).position(|old| is_same(old, &current[new]))
            {
                old_left.extend(old..old + found);
                old += found;
            } else if let Some(found) =
                current[new..news].iter().take(AHEAD).position(|new| is_same(&previous[old], new))
            {
                new_left.extend(new..new + found);
                new += found;
            } else {
                old_left.push(old);
                new_left.push(new);
                (old, new, lost) = (old + 1, new + 1, lost + 1);
            }
        }
        old_left.extend(old..olds);
        new_left.extend(new..news);
        (old_left, new_left)
    }
}

/// Which current entries moved against the others, or `None` when none did.
fn moved(old_of: &[Option<usize>]) -> Option<Vec<bool>> {
    if old_of.iter().flatten().is_sorted() {
        return None;
    }
    // Patience: `tails[k]` is the place of the smallest last element of an increasing
    // subsequence of length k + 1; `before` chains each element to the one it follows.
    let mut tails: Vec<(usize, usize)> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; old_of.len()];
    for (place, old) in old_of.iter().enumerate().filter_map(|(place, old)| old.map(|old| (place, old))) {
        let length = tails.partition_point(|(tail, _)| *tail < old);
        before[place] = length.checked_sub(1).map(|last| tails[last].1);
        match tails.get_mut(length) {
            Some(tail) => *tail = (old, place),
            None => tails.push((old, place)),
        }
    }
    let mut moved: Vec<bool> = old_of.iter().map(Option::is_some).collect();
    let mut place = tails.last().map(|(_, place)| *place);
    while let Some(stays) = place {
        moved[stays] = false;
        place = before[stays];
    }
    Some(moved)
}

/// The list after `changes`, which must come from a [`diff`] with `list` as its first argument.
///
/// Lenient about anything else, so that a journal with a damaged record still opens: what is not
/// there cannot be removed or moved, and what should be there and is not comes at its place, or
/// at the end. No id comes twice where none does in `list`.
pub fn apply<T: Entry>(list: &[T], changes: &[Change<T>]) -> Vec<T> {
    let mut newest: HashMap<&str, &T> = HashMap::new();
    let mut leaving: HashMap<&str, Option<usize>> = HashMap::new();
    for change in changes {
        match change.kind {
            Kind::Removed => drop(leaving.insert(&change.item_id, None)),
            Kind::Reordered => drop(leaving.insert(&change.item_id, change.position)),
            Kind::Added | Kind::Modified | Kind::StatusChanged => {
                let item = change.item.as_ref().filter(|item| item.id() == change.item_id);
                newest.extend(item.map(|item| (change.item_id.as_str(), item)));
            }
        }
    }
    let mut placed: Vec<(usize, &T)> = Vec::new();
    let mut staying: Vec<&T> = Vec::with_capacity(list.len());
    for item in list {
        let item = newest.remove(item.id()).unwrap_or(item);
        match leaving.get(item.id()) {
            None => staying.push(item),
            Some(position) => placed.extend(position.map(|position| (position, item))),
        }
    }
    placed.extend(changes.iter().filter(|change| change.kind != Kind::Reordered).filter_map(|change| {
        let item = newest.remove(change.item_id.as_str())?;
        let position = leaving.get(change.item_id.as_str()).copied().flatten().or(change.position);
        Some((position.unwrap_or(usize::MAX), item))
    }));
    placed.sort_by_key(|(position, _)| *position);
    let mut staying = staying.into_iter();
    let mut result: Vec<T> = Vec::with_capacity(list.len() + placed.len());
    for (position, item) in placed {
        let missing = position.saturating_sub(result.len());
        result.extend(staying.by_ref().take(missing).cloned());
        result.push(item.clone());
    }
    result.extend(staying.cloned());
    result
}

/// Folds a chain of changes, the first of which starts at `list`, into one set: what differs
/// between the two ends, whatever happened in between.
pub fn fold<T: Entry>(list: &[T], chain: &[Vec<Change<T>>]) -> Vec<Change<T>> {
    let mut end = list.to_vec();
    for changes in chain {
        end = apply(&end, changes);
    }
    diff(list, &end)
}
