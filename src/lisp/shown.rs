//! Threads as Lisp and JSON have them: outcomes, changes, revisions, times, observations.
//!
//! A type is the shape of a documented plist. Those that `todo-write-to-json` takes are read from Lisp, too.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use emacs::{Env, IntoLisp, Result, Value};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::items::{self, ShownItem};
use super::now;
use super::ser::{Json, Object, Objects, Sparse, Symbol, Vector};
use crate::error::Problem;
use crate::events::Millis;
use crate::events::observation::{Metadata, Observation, Payload, Type};
use crate::events::payload::{Derived, PayloadContent};
use crate::events::session::{Cost, Goal, GoalState};
use crate::list::change::{Change, ChangeKind, Entry, FieldNames};
use crate::list::item::{Item, Status};
use crate::list::untyped::UntypedItem;
use crate::thread::activity::Ending;
use crate::thread::clock::Times;
use crate::thread::revision::{Revision, Stamp};
use crate::thread::{Outcome, State, Thread};

/// An outcome, with the summary of the thread after the call and the store's warnings.
#[derive(Serialize, Deserialize)]
pub(super) struct ShownOutcome<'o, Changes, Summary> {
    #[serde(default)]
    ok: bool,
    revision: u64,
    result: Cow<'o, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Changes>,
    #[serde(default)]
    notices: Cow<'o, [String]>,
    #[serde(default)]
    errors: Cow<'o, [Problem]>,
    #[serde(default)]
    forced: Cow<'o, [String]>,
    state: Symbol<State>,
    #[serde(default)]
    resumed: bool,
    #[serde(default)]
    told: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    mended: bool,
    #[serde(default)]
    warnings: Cow<'o, [String]>,
    summary: Summary,
}

/// The plist of an outcome.
pub(super) fn outcome<'e>(
    env: &'e Env,
    outcome: &Outcome,
    summary: Summary,
    warnings: &[String],
) -> Result<Value<'e>> {
    let mut objects = Objects::new(env);
    let changes = match outcome.changes.as_slice() {
        [] => None,
        all => Some(ShownChanges::of(&mut objects, all, outcome.timestamp)?),
    };
    let shown = ShownOutcome {
        ok: outcome.ok,
        revision: outcome.revision,
        result: outcome.result.as_str().into(),
        changes,
        notices: outcome.notices.as_slice().into(),
        errors: outcome.errors.as_slice().into(),
        forced: outcome.forced.as_slice().into(),
        state: summary.state,
        resumed: outcome.resumed,
        told: outcome.told,
        mended: outcome.mended,
        warnings: warnings.into(),
        summary: summary.shown(&mut objects)?,
    };
    objects.to_lisp(&Sparse(shown))
}

/// A summary of a thread, without its list.
#[derive(Serialize)]
pub(super) struct Summary {
    revision: u64,
    completed: usize,
    yours: usize,
    count: String,
    #[serde(skip)]
    item: Option<Arc<Item>>,
    current: Option<Object>,
    state: Symbol<State>,
    total: usize,
    title: Option<String>,
    reason: Option<String>,
    unsaved: bool,
    ending: Symbol<Option<Ending>>,
    refused: Option<String>,
    goal: Option<ShownGoal>,
    context: Option<u64>,
    #[serde(rename = "contextTokens")]
    context_tokens: Option<u64>,
    cost: Option<String>,
}

/// The user's goal.
#[derive(Serialize)]
struct ShownGoal {
    text: String,
    state: Symbol<GoalState>,
    reason: Option<String>,
    tries: u64,
}

impl From<&Goal> for ShownGoal {
    fn from(goal: &Goal) -> ShownGoal {
        let Goal { text, state, reason, tries } = goal.clone();
        ShownGoal { text, state: Symbol(state), reason, tries }
    }
}

impl Summary {
    /// The current summary of a thread.
    pub(super) fn of(thread: &Thread, is_unsaved: bool) -> Summary {
        let (list, yours) = (thread.list(), thread.untold());
        let completed = list.iter().filter(|item| !item.status.is_open()).count();
        let total = list.len() - yours;
        let context = thread.session().context();
        let count = match yours {
            0 => format!("{completed}/{total}"),
            yours => format!("{completed}/{total} + {yours} yours"),
        };
        Summary {
            revision: thread.revisions().last(),
            completed,
            yours,
            count,
            item: thread.current().cloned(),
            current: None,
            state: Symbol(thread.state()),
            total,
            title: thread.title().map(str::to_owned),
            reason: thread.pause_reason().map(str::to_owned),
            unsaved: is_unsaved,
            ending: Symbol(thread.ending()),
            refused: thread.refused().map(str::to_owned),
            goal: thread.session().goal().map(ShownGoal::from),
            context: context.and_then(|context| context.percent()),
            context_tokens: context.map(|context| context.tokens),
            cost: thread.session().cost().map(Cost::to_string),
        }
    }

    /// The summary with the object of the item in progress.
    fn shown(mut self, objects: &mut Objects<'_>) -> Result<Summary> {
        self.current = self.item.as_ref().map(|item| item.object(objects)).transpose()?;
        Ok(self)
    }
}

impl<'e> IntoLisp<'e> for Summary {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        let mut objects = Objects::new(env);
        let shown = self.shown(&mut objects)?;
        objects.to_lisp(&Sparse(shown))
    }
}

/// An item of a change.
pub(super) trait ChangedItem: Entry {
    /// The item, which callers must not modify.
    fn object(&self, objects: &mut Objects<'_>) -> Result<Object>;
    /// Its id.
    fn id_object(&self, objects: &mut Objects<'_>) -> Result<Object>;
}

impl ChangedItem for Arc<Item> {
    fn object(&self, objects: &mut Objects<'_>) -> Result<Object> {
        let object = items::kept(objects.env(), self)?;
        Ok(objects.add(object))
    }

    fn id_object(&self, objects: &mut Objects<'_>) -> Result<Object> {
        let object = items::kept_id(objects.env(), self)?;
        Ok(objects.add(object))
    }
}

impl ChangedItem for UntypedItem {
    fn object(&self, objects: &mut Objects<'_>) -> Result<Object> {
        let object = objects.to_lisp(&ShownUntyped(self))?;
        Ok(objects.add(object))
    }

    fn id_object(&self, objects: &mut Objects<'_>) -> Result<Object> {
        let object = objects.to_lisp(self.id())?;
        Ok(objects.add(object))
    }
}

/// An untyped item, with nil in place of JSON null.
pub(super) struct ShownUntyped<'u>(pub(super) &'u UntypedItem);

impl Serialize for ShownUntyped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Nil;
        let fields = self.0.fields();
        let mut map = serializer.serialize_map(Some(fields.len()))?;
        for (key, value) in fields {
            if value.is_null() { map.serialize_entry(key, &Nil) } else { map.serialize_entry(key, value) }?;
        }
        map.end()
    }
}

/// A change.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownChange<'c> {
    item_id: Object,
    item: Option<Object>,
    previous_item: Option<Object>,
    cancelled: bool,
    fields: Option<Vector<&'c FieldNames>>,
    position: Option<usize>,
    previous_position: Option<usize>,
    r#type: ChangeKind,
    timestamp: Millis,
}

/// Adds the plist of a change to the objects.
fn add_change<T: ChangedItem>(
    objects: &mut Objects<'_>,
    change: &Change<T>,
    timestamp: Millis,
) -> Result<Object> {
    let item_id = match change.item.as_ref().or(change.previous_item.as_ref()) {
        Some(item) => item.id_object(objects)?,
        None => {
            let id = objects.to_lisp(&change.item_id)?;
            objects.add(id)
        }
    };
    let mut object = |item: &Option<T>| item.as_ref().map(|item| item.object(objects)).transpose();
    let shown = ShownChange {
        item_id,
        item: object(&change.item)?,
        previous_item: object(&change.previous_item)?,
        cancelled: change.cancelled,
        fields: (change.kind == ChangeKind::Modified).then_some(Vector(&change.fields)),
        position: change.position,
        previous_position: change.previous_position,
        r#type: change.kind,
        timestamp,
    };
    let object = objects.to_lisp(&Sparse(shown))?;
    Ok(objects.add(object))
}

/// Adds the plists of changes to the objects.
fn add_changes<T: ChangedItem>(
    objects: &mut Objects<'_>,
    all: &[Change<T>],
    timestamp: Millis,
) -> Result<Vec<Object>> {
    all.iter().map(|change| add_change(objects, change, timestamp)).collect()
}

/// A set of changes; for some readers also by kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownChanges {
    timestamp: Millis,
    changes: Vector<Vec<Object>>,
    added: Option<Vector<Vec<Object>>>,
    modified: Option<Vector<Vec<Object>>>,
    removed: Option<Vector<Vec<Object>>>,
    status_changed: Option<Vector<Vec<Object>>>,
    reordered: Option<Vector<Vec<Object>>>,
    warnings: Vec<String>,
}

impl ShownChanges {
    fn of<T: ChangedItem>(
        objects: &mut Objects<'_>,
        all: &[Change<T>],
        timestamp: Millis,
    ) -> Result<ShownChanges> {
        let changes = Vector(add_changes(objects, all, timestamp)?);
        let (added, modified, removed, status_changed, reordered) = Default::default();
        let warnings = Vec::new();
        Ok(ShownChanges { timestamp, changes, added, modified, removed, status_changed, reordered, warnings })
    }

    /// The changes, and the same objects by kind.
    fn by_kind<T: ChangedItem>(
        objects: &mut Objects<'_>,
        all: &[Change<T>],
        warnings: Vec<String>,
        timestamp: Millis,
    ) -> Result<ShownChanges> {
        let shown = ShownChanges::of(objects, all, timestamp)?;
        let of_kind = |kind: ChangeKind| {
            let chosen = all.iter().zip(&shown.changes.0).filter(|(one, _)| one.kind == kind);
            Some(Vector(chosen.map(|(_, object)| *object).collect()))
        };
        Ok(ShownChanges {
            added: of_kind(ChangeKind::Added),
            modified: of_kind(ChangeKind::Modified),
            removed: of_kind(ChangeKind::Removed),
            status_changed: of_kind(ChangeKind::StatusChanged),
            reordered: of_kind(ChangeKind::Reordered),
            warnings,
            ..shown
        })
    }
}

/// The plist of a set of changes, also by kind, with warnings about them.
pub(super) fn changes_by_kind<'e, T: ChangedItem>(
    env: &'e Env,
    all: &[Change<T>],
    warnings: Vec<String>,
    timestamp: Millis,
) -> Result<Value<'e>> {
    let mut objects = Objects::new(env);
    let shown = ShownChanges::by_kind(&mut objects, all, warnings, timestamp)?;
    objects.to_lisp(&Sparse(shown))
}

/// The plists of revisions and of their changes of an item, each pair a cons.
pub(super) fn history<'e>(
    env: &'e Env,
    found: &[(Revision, Vec<Change<Arc<Item>>>)],
    starts: &HashSet<u64>,
) -> Result<Value<'e>> {
    let mut objects = Objects::new(env);
    let shown = found.iter().map(|(revision, changes)| {
        let changes = add_changes(&mut objects, changes, revision.stamp.timestamp)?;
        Ok((ShownRevision::of(revision, starts), changes))
    });
    let shown = shown.collect::<Result<Vec<_>>>()?;
    objects.to_lisp(&shown)
}

/// A revision. `replaces` is t if it begins a list in place of another one.
#[derive(Serialize)]
pub(super) struct ShownRevision<'r> {
    revision: u64,
    #[serde(flatten)]
    stamp: &'r Stamp,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replaces: bool,
}

impl ShownRevision<'_> {
    /// A revision; those of the numbers `starts` begin a list.
    pub(super) fn of<'r>(revision: &'r Revision, starts: &HashSet<u64>) -> ShownRevision<'r> {
        let Revision { number, stamp, .. } = revision;
        ShownRevision { revision: *number, stamp, replaces: starts.contains(number) }
    }
}

/// The times of an item, and how long it is in progress until now.
#[derive(Serialize)]
pub(super) struct ShownTimes<'t> {
    created: Millis,
    started: Option<Millis>,
    completed: Option<Millis>,
    spent: Millis,
    running: Option<Millis>,
    intervals: &'t [(Millis, Millis)],
}

impl<'t> From<&'t Times> for ShownTimes<'t> {
    fn from(times: &'t Times) -> ShownTimes<'t> {
        ShownTimes {
            created: times.created,
            started: times.started,
            completed: times.completed,
            spent: times.spent(now()),
            running: times.running_since,
            intervals: &times.intervals,
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
enum ShownContent<'o> {
    #[serde(rename_all = "camelCase")]
    Plan {
        revision: u64,
        todo_list: Vector<Sparse<Vec<ShownItem<'o>>>>,
        changes: Sparse<ShownChanges>,
    },
    #[serde(rename_all = "camelCase")]
    Status {
        item: Sparse<ShownItem<'o>>,
        status: Status,
        previous_status: Option<Status>,
    },
    Reported(Json<PayloadContent<'o>>),
}

/// The vector of the observations of a thread.
pub(super) fn observations<'e>(env: &'e Env, thread: &str, found: &[Arc<Observation>]) -> Result<Value<'e>> {
    let mut objects = Objects::new(env);
    let shown = found.iter().map(|observation| shown_observation(&mut objects, thread, observation));
    let shown = shown.collect::<Result<Vec<_>>>()?;
    objects.to_lisp(&Vector(shown))
}

/// The plist of an observation of a thread.
pub(super) fn observation<'e>(env: &'e Env, thread: &str, observation: &Observation) -> Result<Value<'e>> {
    let mut objects = Objects::new(env);
    let shown = shown_observation(&mut objects, thread, observation)?;
    objects.to_lisp(&shown)
}

fn shown_observation<'o>(
    objects: &mut Objects<'_>,
    thread: &'o str,
    observation: &'o Observation,
) -> Result<ShownObservation<'o, ShownContent<'o>, Json<&'o Metadata>>> {
    let content = match &observation.payload {
        Payload::PlanUpdate(Derived::Of(update)) => ShownContent::Plan {
            revision: update.revision,
            todo_list: Vector(items::shown(&update.todo_list)),
            changes: Sparse(ShownChanges::by_kind(
                objects,
                &update.changes,
                Vec::new(),
                observation.timestamp,
            )?),
        },
        Payload::ItemStatusChange(Derived::Of(change)) => ShownContent::Status {
            item: Sparse(ShownItem::from(&*change.item)),
            status: change.item.status,
            previous_status: change.previous_status,
        },
        reported => ShownContent::Reported(Json(reported.content())),
    };
    Ok(ShownObservation {
        id: format!("o{}", observation.number),
        r#type: observation.kind(),
        thread_id: thread.into(),
        trace_id: observation.trace_id.as_deref().map(Cow::Borrowed),
        parent_id: observation.parent_id.as_deref().map(Cow::Borrowed),
        timestamp: observation.timestamp,
        title: observation.title.as_str().into(),
        content: Some(content),
        metadata: Json(&observation.metadata),
    })
}
