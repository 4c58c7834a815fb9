//! Entries of lists that a caller vouches for: any fields, with or without ids.
//!
//! This is what the pure functions `todo-write-diff` and `todo-write-apply-changes` work on. The
//! store's own lists are stricter ([`crate::item`]).

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::change::{Change, Entry, Fields, apply, diff};
use crate::error::Error;
use crate::identity::{Seen, recognise};
use crate::item::Status;
use crate::raw::Raw;

/// An entry under the key by which it is told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Loose {
    key: String,
    fields: Arc<Map<String, Value>>,
}

impl Loose {
    /// The entry as it came.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

impl Entry for Loose {
    fn id(&self) -> &str {
        &self.key
    }

    fn differing_fields(&self, other: &Self) -> Fields {
        let mine = self.fields.keys();
        let theirs = other.fields.keys().filter(|key| !self.fields.contains_key(*key));
        mine.chain(theirs)
            .filter(|key| *key != "id" && !is_timestamp(key))
            .filter(|key| value(&self.fields, key) != value(&other.fields, key))
            .map(|key| Cow::Owned(key.clone()))
            .collect()
    }

    fn is_same_object(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.fields, &other.fields)
    }
}

/// A field that is null is a field that is not there.
fn value<'m>(fields: &'m Map<String, Value>, key: &str) -> Option<&'m Value> {
    fields.get(key).filter(|value| !value.is_null())
}

/// Timestamps are no part of an item: they are expected to change.
fn is_timestamp(key: &str) -> bool {
    matches!(key, "timestamp" | "createdAt" | "updatedAt" | "startedAt" | "completedAt")
        || key.ends_with("Timestamp")
        || key.ends_with("_timestamp")
}

/// What differs between two lists, of which nothing stands for an empty one.
///
/// Where every entry of both has an id, the ids are the identity, whatever they look like;
/// otherwise [`recognise`] decides.
///
/// # Errors
/// [`Error::NotAList`] for what is no list of objects, [`Error::DuplicateId`] before anything is
/// computed.
pub fn compare(previous: &Raw<'_>, current: &Raw<'_>) -> Result<Vec<Change<Loose>>, Error> {
    let (previous, current) = (read("previous", previous)?, read("current", current)?);
    let by_id = has_ids(&previous) && has_ids(&current);
    let previous = keyed(previous);
    if by_id {
        return Ok(diff(&previous, &keyed(current)));
    }
    let old: Vec<Seen<'_>> = previous.iter().map(|entry| seen(&entry.fields)).collect();
    let new: Vec<Seen<'_>> = current.iter().map(seen).collect();
    let old_of = recognise(&old, &new);
    let taken: HashSet<&str> = previous.iter().map(|entry| entry.key.as_str()).collect();
    let mut fresh =
        (previous.len() + 1..).map(|n| format!("t{n}")).filter(|key| !taken.contains(key.as_str()));
    let keys: Vec<String> = old_of
        .iter()
        .map(|old| old.map_or_else(|| fresh.next().unwrap_or_default(), |old| previous[old].key.clone()))
        .collect();
    let current: Vec<Loose> =
        current.into_iter().zip(keys).map(|(fields, key)| Loose { key, fields: Arc::new(fields) }).collect();
    Ok(diff(&previous, &current))
}

/// The entries of `list` after `changes`, which came from [`compare`] with `list` as the first
/// argument.
///
/// # Errors
/// [`Error::NotAList`] for what is no list or no changes, [`Error::DuplicateId`].
pub fn change(list: &Raw<'_>, changes: &Raw<'_>) -> Result<Vec<Loose>, Error> {
    let list = keyed(read("list", list)?);
    let changes = changes.get("changes").unwrap_or(changes);
    let changes: Vec<Change<Map<String, Value>>> = match changes {
        Raw::Null => Vec::new(),
        other => serde_json::from_value(other.to_json())
            .map_err(|error| wrong("changes", other, format!("what todo-write-diff returned ({error})")))?,
    };
    let keyed =
        |key: &str, fields: Map<String, Value>| Loose { key: key.to_owned(), fields: Arc::new(fields) };
    let changes: Vec<Change<Loose>> = changes
        .into_iter()
        .map(|change| Change {
            item: change.item.map(|fields| keyed(&change.item_id, fields)),
            previous_item: change.previous_item.map(|fields| keyed(&change.item_id, fields)),
            kind: change.kind,
            fields: change.fields,
            cancelled: change.cancelled,
            position: change.position,
            previous_position: change.previous_position,
            item_id: change.item_id,
        })
        .collect();
    Ok(apply(&list, &changes))
}

/// The fields of each entry; no id comes twice, whether all entries have one or only some.
fn read(what: &'static str, raw: &Raw<'_>) -> Result<Vec<Map<String, Value>>, Error> {
    let Raw::List(entries) = raw else {
        return match raw {
            Raw::Null => Ok(Vec::new()),
            other => Err(wrong(what, other, "a list of items".into())),
        };
    };
    let list: Vec<Map<String, Value>> = entries
        .iter()
        .map(|entry| match (entry, entry.to_json()) {
            (Raw::Object(_), Value::Object(fields)) => Ok(fields),
            _ => Err(wrong(what, entry, "items that are objects".into())),
        })
        .collect::<Result<_, _>>()?;
    let mut seen = HashSet::new();
    match list.iter().filter_map(id).find(|id| !seen.insert(id.clone())) {
        Some(id) => Err(Error::DuplicateId { which: what, id: id.into_owned() }),
        None => Ok(list),
    }
}

fn wrong(which: &'static str, raw: &Raw<'_>, expected: String) -> Error {
    Error::NotAList { which, received: raw.describe(), expected }
}

fn id(fields: &Map<String, Value>) -> Option<Cow<'_, str>> {
    match fields.get("id")? {
        Value::String(id) => Some(Cow::Borrowed(id)),
        Value::Number(id) => Some(Cow::Owned(id.to_string())),
        _ => None,
    }
}

fn has_ids(list: &[Map<String, Value>]) -> bool {
    list.iter().all(|fields| id(fields).is_some())
}

/// Entries under their ids, or under `t1`, `t2`, … where not all have one.
fn keyed(list: Vec<Map<String, Value>>) -> Vec<Loose> {
    let by_id = has_ids(&list);
    list.into_iter()
        .enumerate()
        .map(|(place, fields)| {
            let key =
                id(&fields).filter(|_| by_id).map_or_else(|| format!("t{}", place + 1), Cow::into_owned);
            Loose { key, fields: Arc::new(fields) }
        })
        .collect()
}

fn seen(fields: &Map<String, Value>) -> Seen<'_> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    Seen {
        content: ["content", "description", "title", "step"].into_iter().find_map(text).unwrap_or_default(),
        active_form: text("activeForm").unwrap_or_default(),
        status: text("status").and_then(Status::parse),
        hint: text("id"),
    }
}
