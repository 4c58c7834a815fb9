//! The changes between two lists: diff and apply.
//!
//! These compare entries by id. [`crate::list::identity`] assigns ids where there are none.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::list::item::Item;
use crate::named::wire_names;

/// The names of fields on the wire.
pub(crate) type FieldNames = Vec<Cow<'static, str>>;

/// An entry of a list that can be compared.
pub trait Entry: Clone {
    /// The id, which is unique within a list.
    fn id(&self) -> &str;
    /// The names of the fields that differ, except timestamps.
    fn differing_fields(&self, other: &Self) -> FieldNames;
}

impl Entry for Arc<Item> {
    fn id(&self) -> &str {
        &self.id
    }

    fn differing_fields(&self, other: &Self) -> FieldNames {
        Item::differing_fields(self, other).into_iter().map(Cow::Borrowed).collect()
    }
}

wire_names! {
    /// The kind of a change. An item is modified if a field other than its status differs, and
    /// reordered if it moved relative to the others.
    #[allow(missing_docs)]
    pub enum ChangeKind {
        Added = "added",
        Modified = "modified",
        StatusChanged = "status_changed",
        Reordered = "reordered",
        Removed = "removed",
    }
}

/// One difference between two lists. The kind determines which fields are set. Serialized, it has no previous item
/// and position: the list before has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Change<T> {
    #[serde(rename = "type")]
    pub kind: ChangeKind,
    pub item_id: String,
    /// The item after the change: added, modified, status changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<T>,
    /// The item before the change: modified, status changed, removed.
    #[serde(skip_serializing)]
    pub previous_item: Option<T>,
    /// The names of the fields that differ: modified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: FieldNames,
    /// Whether the agent sent the item as cancelled: removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// The 0-based position in the new list: all but removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// The 0-based position in the old list: removed, reordered.
    #[serde(skip_serializing)]
    pub previous_position: Option<usize>,
}

impl<T> Change<T> {
    pub(crate) fn new(kind: ChangeKind, item_id: &str) -> Change<T> {
        Change {
            kind,
            item_id: item_id.to_owned(),
            item: None,
            previous_item: None,
            fields: FieldNames::default(),
            cancelled: false,
            position: None,
            previous_position: None,
        }
    }
}

/// The changes from `previous` to `current`, in the order of `current`, removals last.
///
/// Ids must be unique within each list. The number of moves is minimal: a longest increasing
/// subsequence keeps its order. The cost is linear, or n log n if items moved.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use todo_write::list::change::{ChangeKind, apply, diff};
/// use todo_write::list::item::{Draft, Status};
///
/// let item = |status| {
///     let draft = Draft { content: "Ship it".into(), status, ..Draft::default() };
///     Arc::new(draft.into_item("t1".into()))
/// };
/// let (before, after) = ([item(Status::Pending)], [item(Status::Completed)]);
/// let changes = diff(&before, &after);
/// assert_eq!(changes[0].kind, ChangeKind::StatusChanged);
/// assert_eq!(apply(&before, &changes), after);
/// ```
pub fn diff<T: Entry>(previous: &[T], current: &[T]) -> Vec<Change<T>> {
    let places: HashMap<&str, usize> =
        previous.iter().enumerate().map(|(place, entry)| (entry.id(), place)).collect();
    let old_of: Vec<Option<usize>> = current.iter().map(|entry| places.get(entry.id()).copied()).collect();
    let moved = moved(&old_of);
    let mut kept = vec![false; previous.len()];
    let mut changes = Vec::new();
    for (position, (item, old)) in current.iter().zip(old_of).enumerate() {
        let change = |kind| Change { position: Some(position), ..Change::new(kind, item.id()) };
        let Some(old) = old else {
            changes.push(Change { item: Some(item.clone()), ..change(ChangeKind::Added) });
            continue;
        };
        kept[old] = true;
        changes.extend(compare(&previous[old], item, position));
        if moved[position] {
            changes.push(Change { previous_position: Some(old), ..change(ChangeKind::Reordered) });
        }
    }
    let gone = previous.iter().zip(kept).enumerate().filter(|(_, (_, kept))| !kept);
    changes.extend(gone.map(|(old, (item, _))| Change {
        previous_item: Some(item.clone()),
        previous_position: Some(old),
        ..Change::new(ChangeKind::Removed, item.id())
    }));
    changes
}

fn compare<T: Entry>(previous: &T, current: &T, position: usize) -> Option<Change<T>> {
    let fields = previous.differing_fields(current);
    let kind = match fields.as_slice() {
        [] => return None,
        [only] if only == "status" => ChangeKind::StatusChanged,
        _ => ChangeKind::Modified,
    };
    Some(Change {
        item: Some(current.clone()),
        previous_item: Some(previous.clone()),
        position: Some(position),
        fields: if kind == ChangeKind::Modified { fields } else { FieldNames::default() },
        ..Change::new(kind, current.id())
    })
}

/// Marks the removals of cancelled items.
pub(crate) fn mark_cancelled<T>(changes: &mut [Change<T>], is_cancelled: impl Fn(&str) -> bool) {
    for change in changes.iter_mut().filter(|change| change.kind == ChangeKind::Removed) {
        change.cancelled = is_cancelled(&change.item_id);
    }
}

/// Whether each current entry moved relative to the others. The number of moves is minimal.
pub fn moved(old_of: &[Option<usize>]) -> Vec<bool> {
    if old_of.iter().flatten().is_sorted() {
        return vec![false; old_of.len()];
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
    moved
}

/// The list after `changes`, which must come from a [`diff`] with `list` as its first argument.
///
/// It also accepts other changes, so that a journal with a damaged record still opens: it ignores
/// removals and moves of missing items, and adds missing items at their positions or at the end. If
/// the ids in `list` are unique, so are those in the result.
pub fn apply<T: Entry>(list: &[T], changes: &[Change<T>]) -> Vec<T> {
    let mut newest: HashMap<&str, &T> = HashMap::new();
    let mut leaving: HashMap<&str, Option<usize>> = HashMap::new();
    for change in changes {
        match change.kind {
            ChangeKind::Removed => drop(leaving.insert(&change.item_id, None)),
            ChangeKind::Reordered => drop(leaving.insert(&change.item_id, change.position)),
            ChangeKind::Added | ChangeKind::Modified | ChangeKind::StatusChanged => {
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
    placed.extend(changes.iter().filter(|change| change.kind != ChangeKind::Reordered).filter_map(
        |change| {
            let item = newest.remove(change.item_id.as_str())?;
            let position = leaving.get(change.item_id.as_str()).copied().flatten().or(change.position);
            Some((position.unwrap_or(usize::MAX), item))
        },
    ));
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
