//! Items of lists that a caller passes in: any fields, with or without ids.
//!
//! The functions `todo-write-diff` and `todo-write-apply-changes` work on these. The items of the
//! store ([`crate::list::item`]) are stricter.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::error::{Error, Problem};
use crate::list::change::{self, Change, ChangeKind, Entry, FieldNames};
use crate::list::identity::{Features, recognize};
use crate::list::item::Status;
use crate::list::raw::Raw;
use crate::text::excerpt;

/// An item with any fields, and the key that identifies it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct UntypedItem {
    #[serde(skip)]
    key: String,
    #[serde(flatten)]
    fields: Arc<Map<String, Value>>,
}

impl UntypedItem {
    fn new(key: String, fields: Map<String, Value>) -> UntypedItem {
        UntypedItem { key, fields: Arc::new(fields) }
    }

    /// The fields as the caller passed them.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

/// The fields as the caller passed them. Null is a unit struct, which Lisp has as nil.
impl Serialize for UntypedItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Nil;
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (key, value) in &*self.fields {
            if value.is_null() { map.serialize_entry(key, &Nil) } else { map.serialize_entry(key, value) }?;
        }
        map.end()
    }
}

impl Entry for UntypedItem {
    fn id(&self) -> &str {
        &self.key
    }

    fn differing_fields(&self, other: &Self) -> FieldNames {
        let mine = self.fields.keys();
        let theirs = other.fields.keys().filter(|key| !self.fields.contains_key(*key));
        mine.chain(theirs)
            .filter(|key| !matches!(key.as_str(), "id" | "addedBy" | "told" | "untold" | "updatedTimestamp"))
            .filter(|key| value(&self.fields, key) != value(&other.fields, key))
            .map(|key| Cow::Owned(key.clone()))
            .collect()
    }
}

/// The value of a field; null counts as missing.
fn value<'m>(fields: &'m Map<String, Value>, key: &str) -> Option<&'m Value> {
    fields.get(key).filter(|value| !value.is_null())
}

/// The changes between two lists, and a line about each item whose `dependencies` name an item that is gone; null is
/// an empty list.
///
/// If every item of both lists has an id, the ids identify the items. Otherwise [`recognize`]
/// does.
///
/// # Errors
/// [`Error::Argument`] if an argument is not a list of objects, [`Error::DuplicateId`] if a list has
/// an id twice.
///
/// # Examples
/// ```
/// use serde_json::json;
/// use todo_write::list::untyped;
///
/// let before = json!([{"id": 1, "title": "Ship it"}]);
/// let after = json!([{"id": 1, "title": "Ship it", "done": true}]);
/// let (changes, _) = untyped::diff(&before, &after)?;
/// assert_eq!(changes[0].fields, ["done"]);
/// # Ok::<(), todo_write::error::Error>(())
/// ```
pub fn diff(previous: &Value, current: &Value) -> Result<(Vec<Change<UntypedItem>>, Vec<String>), Error> {
    let (previous, current) = (read("previous", previous)?, read("current", current)?);
    let warnings = warnings(&previous, &current);
    Ok((changes(previous, current), warnings))
}

fn changes(previous: Vec<Map<String, Value>>, current: Vec<Map<String, Value>>) -> Vec<Change<UntypedItem>> {
    let by_id = has_ids(&previous) && has_ids(&current);
    let previous = keyed(previous);
    if by_id {
        return change::diff(&previous, &keyed(current));
    }
    let old: Vec<Features<'_>> = previous.iter().map(|item| features(&item.fields)).collect();
    let new: Vec<Features<'_>> = current.iter().map(features).collect();
    let taken: HashSet<&str> = previous.iter().map(Entry::id).collect();
    let mut free = (previous.len() + 1..).map(|n| format!("t{n}")).filter(|key| !taken.contains(&**key));
    let key_of = |old: Option<usize>| match old {
        Some(old) => previous[old].key.clone(),
        None => free.next().unwrap_or_default(),
    };
    let keys: Vec<String> = recognize(&old, &new).into_iter().map(key_of).collect();
    let current = keys.into_iter().zip(current).map(|(key, fields)| UntypedItem::new(key, fields));
    change::diff(&previous, &current.collect::<Vec<_>>())
}

fn warnings(previous: &[Map<String, Value>], current: &[Map<String, Value>]) -> Vec<String> {
    let kept: HashSet<Cow<'_, str>> = current.iter().filter_map(id).collect();
    let gone: HashSet<Cow<'_, str>> =
        previous.iter().filter_map(id).filter(|id| !kept.contains(id)).collect();
    let dependencies = current.iter().flat_map(|item| {
        let ids = item.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        ids.filter_map(id_text).map(move |id| (item, id))
    });
    let line = |(item, gone): (&Map<String, Value>, Cow<'_, str>)| {
        let item = id(item).unwrap_or_else(|| features(item).content.into());
        format!("\"{}\" depends on \"{}\", which is gone", excerpt(&item, 80), excerpt(&gone, 80))
    };
    dependencies.filter(|(_, id)| gone.contains(id)).map(line).collect()
}

/// The list after `changes`, which [`diff`] returned for `list` and another list.
///
/// # Errors
/// [`Error::Argument`] if an argument is not a list of items or not changes of `list`,
/// [`Error::DuplicateId`].
pub fn apply(list: &Value, changes: &Value) -> Result<Vec<UntypedItem>, Error> {
    let list = keyed(read("list", list)?);
    let mut changes: Vec<Change<UntypedItem>> = match changes.get("changes").unwrap_or(changes) {
        Value::Null => Vec::new(),
        other => Deserialize::deserialize(other)
            .map_err(|error| wrong("changes", other, format!("what todo-write-diff returned ({error})")))?,
    };
    fit(&changes, &list)?;
    for change in &mut changes {
        if let Some(item) = &mut change.item {
            item.key.clone_from(&change.item_id);
        }
    }
    Ok(change::apply(&list, &changes))
}

/// Checks that changes start at this list.
fn fit(changes: &[Change<UntypedItem>], list: &[UntypedItem]) -> Result<(), Error> {
    let known: HashSet<&str> = list.iter().map(Entry::id).collect();
    let is_new = |change: &Change<_>| change.kind == ChangeKind::Added;
    let is_wrong = |change: &Change<_>| is_new(change) == known.contains(change.item_id.as_str());
    let Some((place, change)) = changes.iter().enumerate().find(|(_, change)| is_wrong(change)) else {
        return Ok(());
    };
    let expected = if is_new(change) { "the id of a new item" } else { "the id of an item in the list" };
    let id = Value::from(change.item_id.as_str());
    Err(wrong(format!("changes[{place}].itemId"), &id, expected.into()))
}

/// Reads a list of objects and rejects duplicate ids.
fn read(which: &'static str, list: &Value) -> Result<Vec<Map<String, Value>>, Error> {
    let fields = |(place, item): (usize, &Value)| match item {
        Value::Object(fields) => Ok(fields.clone()),
        other => Err(wrong(format!("{which}[{place}]"), other, "an item, an object".into())),
    };
    let list: Vec<Map<String, Value>> = match list {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().enumerate().map(fields).collect::<Result<_, _>>()?,
        other => return Err(wrong(which, other, "a list of items".into())),
    };
    let mut seen = HashSet::new();
    match list.iter().filter_map(id).find(|id| !seen.insert(id.clone())) {
        Some(id) => Err(Error::DuplicateId { which, id: id.into_owned() }),
        None => Ok(list),
    }
}

fn wrong(path: impl Into<String>, value: &Value, expected: String) -> Error {
    let received = Raw::deserialize(value).map(|raw| raw.describe());
    Error::Argument(Problem::new(path, received.unwrap_or_default(), expected))
}

fn id(fields: &Map<String, Value>) -> Option<Cow<'_, str>> {
    fields.get("id").and_then(id_text)
}

fn id_text(id: &Value) -> Option<Cow<'_, str>> {
    match id {
        Value::String(id) => Some(Cow::Borrowed(id)),
        Value::Number(id) => Some(Cow::Owned(id.to_string())),
        _ => None,
    }
}

fn has_ids(list: &[Map<String, Value>]) -> bool {
    list.iter().all(|fields| id(fields).is_some())
}

/// Keys the items by their ids, or by `t1`, `t2`, … if an item has no id.
fn keyed(list: Vec<Map<String, Value>>) -> Vec<UntypedItem> {
    let by_id = has_ids(&list);
    let key_of = |(place, fields): (usize, Map<String, Value>)| {
        let id = id(&fields).filter(|_| by_id).map(Cow::into_owned);
        UntypedItem::new(id.unwrap_or_else(|| format!("t{}", place + 1)), fields)
    };
    list.into_iter().enumerate().map(key_of).collect()
}

fn features(fields: &Map<String, Value>) -> Features<'_> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    Features {
        content: ["content", "description", "title", "step"].into_iter().find_map(text).unwrap_or_default(),
        active_form: text("activeForm").unwrap_or_default(),
        status: text("status").and_then(Status::parse),
        hint: text("id"),
    }
}
