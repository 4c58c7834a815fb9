//! Threads as Lisp and JSON have them: outcomes, changes, revisions, times, observations.
//!
//! A type is the shape of a documented plist. Those that `todo-write-to-json` takes are read from Lisp, too.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use emacs::{Env, Result, Value};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use super::function::Object;
use super::now;
use super::ser::{self, Json, Sparse, Vector};
use crate::events::Millis;
use crate::events::observation::{Observation, Type, id_of};
use crate::events::payload::{Derived, Metadata};
use crate::list::change::{Change, ChangeKind, FieldNames};
use crate::list::item::{Author, Item, Status};
use crate::thread::clock::Times;
use crate::thread::revision::{Revision, Stamp};
use crate::thread::summary::Summary;
use crate::thread::{Outcome, State};

/// An outcome, with the summary of the thread after the call and the store's warnings.
#[derive(Serialize, Deserialize)]
pub(super) struct ShownOutcome<Changes, Summary> {
    #[serde(flatten)]
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Changes>,
    state: State,
    #[serde(default)]
    warnings: Vec<String>,
    summary: Summary,
}

/// The outcome of a write or edit as Lisp has it.
pub(super) type PlanOutcome = Sparse<ShownOutcome<ShownChanges<ShownItem>, ShownSummary>>;

/// An outcome as Lisp has it.
pub(super) fn outcome(outcome: Outcome, summary: ShownSummary, warnings: Vec<String>) -> PlanOutcome {
    let all = outcome.changes.as_slice();
    let changes = (!all.is_empty()).then(|| ShownChanges::of(all, outcome.timestamp, false));
    Sparse(ShownOutcome { outcome, changes, state: summary.others.state, warnings, summary })
}

/// A summary of a thread as Lisp has it.
#[derive(PartialEq, Serialize)]
pub(super) struct ShownSummary {
    #[serde(flatten)]
    others: Summary,
    count: String,
    current: Option<ShownItem>,
    unsaved: bool,
}

impl ShownSummary {
    pub(super) fn of(summary: Summary, unsaved: bool) -> ShownSummary {
        let Summary { completed, total, yours, .. } = summary;
        let count = match yours {
            0 => format!("{completed}/{total}"),
            yours => format!("{completed}/{total} + {yours} yours"),
        };
        let current = summary.current.as_ref().map(ShownItem::from);
        ShownSummary { others: Summary { current: None, ..summary }, count, current, unsaved }
    }
}

/// An item as Lisp has it: the journal names its fields otherwise.
#[derive(PartialEq)]
pub(super) struct ShownItem(Arc<Item>);

impl From<&Arc<Item>> for ShownItem {
    fn from(item: &Arc<Item>) -> ShownItem {
        ShownItem(item.clone())
    }
}

impl Serialize for ShownItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let ShownItem(item) = self;
        let mut fields = serializer.serialize_struct("Item", 9)?;
        fields.serialize_field("status", &item.status)?;
        fields.serialize_field("id", &item.id)?;
        fields.serialize_field("content", &item.content)?;
        fields.serialize_field("activeForm", &item.active_form)?;
        fields.serialize_field("priority", &item.priority)?;
        fields.serialize_field("addedBy", &Some(item.added_by).filter(|author| *author != Author::Agent))?;
        fields.serialize_field("untold", &!item.told)?;
        fields.serialize_field("blockedBy", &item.blocked_by)?;
        fields.serialize_field("owner", &item.owner)?;
        fields.end()
    }
}

/// Items as Lisp has them.
pub(super) fn items(items: &[Arc<Item>]) -> Sparse<Vec<ShownItem>> {
    Sparse(items.iter().map(ShownItem::from).collect())
}

/// A change, with its items as `I`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownChange<I> {
    item_id: String,
    item: Option<I>,
    previous_item: Option<I>,
    cancelled: bool,
    fields: Option<Vector<FieldNames>>,
    position: Option<usize>,
    previous_position: Option<usize>,
    r#type: ChangeKind,
    timestamp: Millis,
}

impl<I> ShownChange<I> {
    pub(super) fn of<'c, T>(change: &'c Change<T>, timestamp: Millis) -> ShownChange<I>
    where
        I: From<&'c T>,
    {
        ShownChange {
            item_id: change.item_id.clone(),
            item: change.item.as_ref().map(I::from),
            previous_item: change.previous_item.as_ref().map(I::from),
            cancelled: change.cancelled,
            fields: (change.kind == ChangeKind::Modified).then(|| Vector(change.fields.clone())),
            position: change.position,
            previous_position: change.previous_position,
            r#type: change.kind,
            timestamp,
        }
    }
}

/// A set of changes; for some readers also by kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownChanges<I> {
    timestamp: Millis,
    changes: Vector<Vec<ShownChange<I>>>,
    added: Option<Vector<Vec<ShownChange<I>>>>,
    modified: Option<Vector<Vec<ShownChange<I>>>>,
    removed: Option<Vector<Vec<ShownChange<I>>>>,
    status_changed: Option<Vector<Vec<ShownChange<I>>>>,
    reordered: Option<Vector<Vec<ShownChange<I>>>>,
}

impl<I> ShownChanges<I> {
    fn of<'c, T>(all: &'c [Change<T>], timestamp: Millis, is_by_kind: bool) -> ShownChanges<I>
    where
        I: From<&'c T>,
    {
        let shown = |change| ShownChange::of(change, timestamp);
        let of_kind = |kind| {
            let chosen = all.iter().filter(|change| change.kind == kind);
            is_by_kind.then(|| Vector(chosen.map(shown).collect()))
        };
        ShownChanges {
            timestamp,
            changes: Vector(all.iter().map(shown).collect()),
            added: of_kind(ChangeKind::Added),
            modified: of_kind(ChangeKind::Modified),
            removed: of_kind(ChangeKind::Removed),
            status_changed: of_kind(ChangeKind::StatusChanged),
            reordered: of_kind(ChangeKind::Reordered),
        }
    }
}

/// The plist of a set of changes, with warnings about them. By kind, it has the same objects.
pub(super) fn changes_by_kind<'e, 'c, T, I: From<&'c T> + Serialize>(
    env: &'e Env,
    all: &'c [Change<T>],
    warnings: &[String],
    timestamp: Millis,
) -> Result<Object<'e>> {
    let shown = all.iter().map(|change| ser::to_lisp(env, &Sparse(ShownChange::<I>::of(change, timestamp))));
    let shown = shown.collect::<Result<Vec<_>>>()?;
    let mut fields = vec![
        ser::keyword(env, "timestamp")?,
        ser::to_lisp(env, &timestamp)?,
        ser::keyword(env, "changes")?,
        env.vector(&shown)?,
    ];
    for (kind, name) in [
        (ChangeKind::Added, "added"),
        (ChangeKind::Modified, "modified"),
        (ChangeKind::Removed, "removed"),
        (ChangeKind::StatusChanged, "statusChanged"),
        (ChangeKind::Reordered, "reordered"),
    ] {
        let chosen = all.iter().zip(&shown).filter(|(change, _)| change.kind == kind);
        let chosen: Vec<Value<'_>> = chosen.map(|(_, object)| *object).collect();
        fields.extend([ser::keyword(env, name)?, env.vector(&chosen)?]);
    }
    if !warnings.is_empty() {
        fields.extend([ser::keyword(env, "warnings")?, ser::to_lisp(env, warnings)?]);
    }
    env.list(&fields).map(Object)
}

/// A revision. `replaces` is t if it begins a list in place of another one.
#[derive(Serialize)]
pub(super) struct ShownRevision {
    revision: u64,
    #[serde(flatten)]
    stamp: Stamp,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replaces: bool,
}

impl ShownRevision {
    /// A revision; those of the numbers `starts` begin a list.
    pub(super) fn of(revision: &Revision, starts: &HashSet<u64>) -> ShownRevision {
        let Revision { number, stamp, .. } = revision;
        ShownRevision { revision: *number, stamp: stamp.clone(), replaces: starts.contains(number) }
    }
}

/// The times of an item, and how long it is in progress until now.
#[derive(Serialize)]
pub(super) struct ShownTimes {
    created: Millis,
    started: Option<Millis>,
    completed: Option<Millis>,
    spent: Millis,
    running: Option<Millis>,
    intervals: Vec<(Millis, Millis)>,
}

impl From<&Times> for ShownTimes {
    fn from(times: &Times) -> ShownTimes {
        ShownTimes {
            created: times.created,
            started: times.started,
            completed: times.completed,
            spent: times.spent(now()),
            running: times.running_since,
            intervals: times.intervals.clone(),
        }
    }
}

/// An observation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownObservation<'o, Content, Metadata> {
    id: String,
    r#type: Type,
    thread_id: Cow<'o, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<Cow<'o, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<Cow<'o, str>>,
    timestamp: Millis,
    title: Cow<'o, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content>,
    #[serde(default)]
    metadata: Metadata,
}

/// The content of an observation in Lisp.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ShownContent<'o> {
    #[serde(rename_all = "camelCase")]
    Plan {
        revision: u64,
        todo_list: Vector<Sparse<Vec<ShownItem>>>,
        changes: Sparse<ShownChanges<ShownItem>>,
    },
    #[serde(rename_all = "camelCase")]
    Status {
        item: Sparse<ShownItem>,
        status: Status,
        previous_status: Option<Status>,
    },
    Reported(Json<&'o serde_json::Value>),
}

/// An observation of a thread.
pub(super) fn observation<'o>(
    thread: &'o str,
    observation: &'o Observation,
) -> ShownObservation<'o, ShownContent<'o>, Json<&'o Metadata>> {
    let content = match &observation.payload.derived {
        Some(Derived::Plan { revision, todo_list, changes }) => ShownContent::Plan {
            revision: *revision,
            todo_list: Vector(items(todo_list)),
            changes: Sparse(ShownChanges::of(changes, observation.timestamp, true)),
        },
        Some(Derived::Status { item, previous_status }) => ShownContent::Status {
            item: Sparse(ShownItem::from(item)),
            status: item.status,
            previous_status: *previous_status,
        },
        None => ShownContent::Reported(Json(&observation.payload.content)),
    };
    ShownObservation {
        id: id_of(observation.number),
        r#type: observation.kind(),
        thread_id: thread.into(),
        trace_id: observation.trace_id.as_deref().map(Cow::Borrowed),
        parent_id: observation.parent_id.as_deref().map(Cow::Borrowed),
        timestamp: observation.timestamp,
        title: observation.title.as_str().into(),
        content: Some(content),
        metadata: Json(&observation.payload.metadata),
    }
}
