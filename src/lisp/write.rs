//! Converts Rust data to Lisp objects: plists with keyword keys, vectors, strings. Each call creates
//! new objects, which callers may modify; an outcome's changes share items, and items their ends.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use emacs::{Env, IntoLisp, OnceGlobalRef, Result, Value};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::now;
use crate::error::Problem;
use crate::events::Millis;
use crate::events::observation::{Observation, Payload};
use crate::events::payload::Derived;
use crate::list::change::{Change, ChangeKind, Entry};
use crate::list::item::Item;
use crate::list::untyped::UntypedItem;
use crate::thread::activity::{Activity, Ending};
use crate::thread::clock::Times;
use crate::thread::revision::Revision;
use crate::thread::{Outcome, State, Thread};

emacs::use_functions! { list vector intern }

emacs::use_symbols! {
    nil t
    k_null => ":null" k_false => ":false"
    k_ok => ":ok" k_revision => ":revision" k_result => ":result" k_changes => ":changes"
    k_notices => ":notices" k_errors => ":errors" k_forced => ":forced"
    k_state => ":state" k_resumed => ":resumed" k_warnings => ":warnings"
    k_path => ":path" k_received => ":received" k_expected => ":expected"
    k_timestamp => ":timestamp" k_added => ":added" k_modified => ":modified" k_removed => ":removed"
    k_status_changed => ":statusChanged" k_reordered => ":reordered"
    k_type => ":type" k_item_id => ":itemId" k_item => ":item" k_previous_item => ":previousItem"
    k_cancelled => ":cancelled" k_fields => ":fields" k_position => ":position"
    k_previous_position => ":previousPosition" k_previous_status => ":previousStatus"
    k_id => ":id" k_content => ":content" k_status => ":status" k_active_form => ":activeForm"
    k_added_by => ":addedBy" k_told => ":told" k_yours => ":yours" k_priority => ":priority" k_blocked_by => ":blockedBy" k_owner => ":owner"
    k_author => ":author" k_source => ":source" k_operation => ":operation" k_restores => ":restores"
    k_thread_id => ":threadId" k_trace_id => ":traceId" k_parent_id => ":parentId"
    k_title => ":title" k_metadata => ":metadata" k_todo_list => ":todoList"
    k_summary => ":summary" k_total => ":total" k_current => ":current" k_reason => ":reason" k_unsaved => ":unsaved"
    k_ending => ":ending" k_refused => ":refused" k_mended => ":mended" k_replaces => ":replaces"
    k_created => ":created" k_started => ":started" k_completed => ":completed" k_spent => ":spent"
    k_running => ":running" k_intervals => ":intervals"
}

/// A plist under construction.
pub(super) struct Plist<'e> {
    env: &'e Env,
    values: Vec<Value<'e>>,
}

impl<'e> Plist<'e> {
    /// An empty plist.
    pub(super) fn new(env: &'e Env) -> Plist<'e> {
        Plist { env, values: Vec::with_capacity(12) }
    }

    /// Adds a key and its value.
    pub(super) fn set(mut self, key: &'e OnceGlobalRef, value: impl IntoLisp<'e>) -> Result<Plist<'e>> {
        self.values.push(key.bind(self.env));
        self.values.push(value.into_lisp(self.env)?);
        Ok(self)
    }

    /// Adds a key if there is a value.
    pub(super) fn set_some(
        self,
        key: &'e OnceGlobalRef,
        value: Option<impl IntoLisp<'e>>,
    ) -> Result<Plist<'e>> {
        match value {
            Some(value) => self.set(key, value),
            None => Ok(self),
        }
    }

    /// The Lisp list.
    pub(super) fn finish(self) -> Result<Value<'e>> {
        self.env.call(list, &self.values)
    }
}

/// A Lisp vector of the converted things.
pub(super) fn vector_of<'e, T, V: IntoLisp<'e>>(
    env: &'e Env,
    things: impl IntoIterator<Item = T>,
    convert: impl Fn(T) -> Result<V>,
) -> Result<Value<'e>> {
    let values = things.into_iter().map(|thing| convert(thing)?.into_lisp(env));
    env.call(vector, &values.collect::<Result<Vec<_>>>()?)
}

/// A Lisp list of the converted things.
pub(super) fn list_of<'e, T, V: IntoLisp<'e>>(
    env: &'e Env,
    things: impl IntoIterator<Item = T>,
    convert: impl Fn(T) -> Result<V>,
) -> Result<Value<'e>> {
    let values = things.into_iter().map(|thing| convert(thing)?.into_lisp(env));
    env.call(list, &values.collect::<Result<Vec<_>>>()?)
}

/// A symbol.
pub(super) fn symbol<'e>(env: &'e Env, name: &str) -> Result<Value<'e>> {
    // `Env::intern` allocates no string, but takes only ASCII without a NUL.
    if name.is_ascii() && !name.contains('\0') { env.intern(name) } else { env.call(intern, (name,)) }
}

/// Types with names on the wire that are symbols in Lisp.
macro_rules! symbols {
    ($($type:ty)+) => { $(
        impl<'e> IntoLisp<'e> for $type {
            fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
                symbol(env, self.as_str())
            }
        }
    )+ };
}

symbols! { Activity Ending State }

/// A string. Emacs allocates a multibyte string twice, so ASCII, which is most text, becomes a
/// unibyte string; the two are `equal` in Lisp.
pub(super) fn text<'e>(env: &'e Env, text: &str) -> Result<Value<'e>> {
    if text.is_ascii() { text.as_bytes().into_lisp(env) } else { text.into_lisp(env) }
}

/// A list of strings.
pub(super) fn texts<'e>(env: &'e Env, texts: &[String]) -> Result<Value<'e>> {
    list_of(env, texts, |one| text(env, one))
}

/// A cache for the conversion of one value: equal strings and items in it become one object, and so
/// does what items have in common that differ in status. A change names its task three times, so the
/// cache halves the allocations of a write.
pub(super) struct Shared<'e, 't> {
    env: &'e Env,
    strings: RefCell<HashMap<&'t str, Value<'e>>>,
    items: RefCell<HashMap<*const Item, Value<'e>>>,
    /// The last item, and its plist without the status.
    last: Cell<Option<(&'t Item, Value<'e>)>>,
}

impl<'e, 't> Shared<'e, 't> {
    /// An empty cache.
    pub(super) fn new(env: &'e Env) -> Shared<'e, 't> {
        Shared { env, strings: RefCell::default(), items: RefCell::default(), last: Cell::default() }
    }

    fn text(&self, contents: &'t str) -> Result<Value<'e>> {
        if let Some(value) = self.strings.borrow().get(contents) {
            return Ok(*value);
        }
        let value = text(self.env, contents)?;
        self.strings.borrow_mut().insert(contents, value);
        Ok(value)
    }

    /// An item, with the cache.
    pub(super) fn item(&self, item: &'t Arc<Item>) -> Result<Value<'e>> {
        if let Some(value) = self.items.borrow().get(&Arc::as_ptr(item)) {
            return Ok(*value);
        }
        let text = |contents| self.text(contents);
        let rest = match self.last.get() {
            Some((last, rest)) if last.body == item.body => rest,
            _ => rest_of_item(self.env, item, text)?,
        };
        let value = item_with(self.env, item, rest, text)?;
        self.last.set(Some((item, rest)));
        self.items.borrow_mut().insert(Arc::as_ptr(item), value);
        Ok(value)
    }
}

/// `(:status :id :content :activeForm :addedBy :told)`. Some items also have `:priority`, `:blockedBy`,
/// a list of ids, and `:owner`.
impl<'e> IntoLisp<'e> for &Item {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        let text = |contents| text(env, contents);
        item_with(env, self, rest_of_item(env, self, text)?, text)
    }
}

/// The plist of an item; `rest` follows the status.
fn item_with<'e, 't>(
    env: &'e Env,
    item: &'t Item,
    rest: Value<'e>,
    text: impl Fn(&'t str) -> Result<Value<'e>>,
) -> Result<Value<'e>> {
    env.cons(k_status.bind(env), env.cons(text(item.status.as_str())?, rest)?)
}

/// The plist of an item without its status.
fn rest_of_item<'e, 't>(
    env: &'e Env,
    item: &'t Item,
    text: impl Fn(&'t str) -> Result<Value<'e>>,
) -> Result<Value<'e>> {
    let blocked_by = Some(&item.blocked_by).filter(|ids| !ids.is_empty());
    let blocked_by = blocked_by.map(|ids| list_of(env, ids, |id| text(id))).transpose()?;
    Plist::new(env)
        .set(k_id, text(&item.id)?)?
        .set(k_content, text(&item.content)?)?
        .set(k_active_form, text(&item.active_form)?)?
        .set_some(k_priority, item.priority.map(|level| text(level.as_str())).transpose()?)?
        .set(k_added_by, text(item.added_by.as_str())?)?
        .set(k_told, item.told)?
        .set_some(k_blocked_by, blocked_by)?
        .set_some(k_owner, item.owner.as_deref().map(text).transpose()?)?
        .finish()
}

impl<'e> IntoLisp<'e> for &UntypedItem {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        // JSON null becomes nil, as in the plists of the store's items.
        object(env, self.fields(), nil.bind(env))
    }
}

/// The plist of a change; `entry` converts its items.
pub(super) fn change<'e, 't, T: Entry>(
    shared: &Shared<'e, 't>,
    change: &'t Change<T>,
    timestamp: Millis,
    entry: impl Fn(&'t T) -> Result<Value<'e>>,
) -> Result<Value<'e>> {
    let env = shared.env;
    let entry = |one: &'t Option<T>| one.as_ref().map(&entry).transpose();
    let fields = || vector_of(env, change.fields.iter(), |field| shared.text(field));
    Plist::new(env)
        .set(k_item_id, shared.text(&change.item_id)?)?
        .set_some(k_item, entry(&change.item)?)?
        .set_some(k_previous_item, entry(&change.previous_item)?)?
        .set_some(k_cancelled, change.cancelled.then_some(true))?
        .set_some(k_fields, (change.kind == ChangeKind::Modified).then(fields).transpose()?)?
        .set_some(k_position, change.position)?
        .set_some(k_previous_position, change.previous_position)?
        .set(k_type, shared.text(change.kind.as_str())?)?
        .set(k_timestamp, timestamp)?
        .finish()
}

/// The plist of a set of changes. The vectors by kind share their elements with `:changes`.
pub(super) fn changes<'e, 't, T: Entry>(
    shared: &Shared<'e, 't>,
    all: &'t [Change<T>],
    timestamp: Millis,
    entry: impl Fn(&'t T) -> Result<Value<'e>>,
) -> Result<Value<'e>> {
    let env = shared.env;
    let values =
        all.iter().map(|one| change(shared, one, timestamp, &entry)).collect::<Result<Vec<Value<'_>>>>()?;
    let of_kind = |kind: ChangeKind| {
        let chosen = all.iter().zip(&values).filter(|(one, _)| one.kind == kind);
        env.call(vector, &chosen.map(|(_, value)| *value).collect::<Vec<_>>())
    };
    Plist::new(env)
        .set(k_timestamp, timestamp)?
        .set(k_changes, env.call(vector, &values)?)?
        .set(k_added, of_kind(ChangeKind::Added)?)?
        .set(k_modified, of_kind(ChangeKind::Modified)?)?
        .set(k_removed, of_kind(ChangeKind::Removed)?)?
        .set(k_status_changed, of_kind(ChangeKind::StatusChanged)?)?
        .set(k_reordered, of_kind(ChangeKind::Reordered)?)?
        .finish()
}

/// The plist of an outcome, with the summary of the thread after the call and the store's warnings.
pub(super) fn outcome<'e>(
    env: &'e Env,
    outcome: &Outcome,
    summary: &Summary,
    warnings: &[String],
) -> Result<Value<'e>> {
    let Outcome { changes: all, timestamp, .. } = outcome;
    let shared = Shared::new(env);
    let changes = || changes(&shared, all, *timestamp, |one| shared.item(one));
    Plist::new(env)
        .set(k_ok, outcome.ok)?
        .set(k_revision, outcome.revision)?
        .set(k_result, text(env, &outcome.result)?)?
        .set(k_changes, (!all.is_empty()).then(changes).transpose()?)?
        .set(k_notices, texts(env, &outcome.notices)?)?
        .set(k_errors, list_of(env, &outcome.errors, Ok)?)?
        .set(k_forced, texts(env, &outcome.forced)?)?
        .set(k_state, summary.state)?
        .set(k_resumed, outcome.resumed)?
        .set(k_told, outcome.told)?
        .set_some(k_mended, outcome.mended.then_some(true))?
        .set(k_warnings, texts(env, warnings)?)?
        .set(k_summary, summary.to_lisp(&shared)?)?
        .finish()
}

/// `(:path :received :expected)`.
impl<'e> IntoLisp<'e> for &Problem {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        Plist::new(env)
            .set(k_path, &self.path)?
            .set(k_received, &self.received)?
            .set(k_expected, &self.expected)?
            .finish()
    }
}

/// A summary of a thread, without its list.
pub(super) struct Summary {
    revision: u64,
    completed: usize,
    yours: usize,
    current: Option<Arc<Item>>,
    state: State,
    total: usize,
    title: Option<String>,
    reason: Option<String>,
    is_unsaved: bool,
    ending: Option<Ending>,
    refused: Option<String>,
}

impl Summary {
    /// The current summary of a thread.
    pub(super) fn of(thread: &Thread, is_unsaved: bool) -> Summary {
        let yours = thread.untold();
        Summary {
            revision: thread.revisions().last(),
            completed: thread.list().iter().filter(|item| !item.status.is_open()).count(),
            yours,
            current: thread.current().cloned(),
            state: thread.state(),
            total: thread.list().len() - yours,
            title: thread.title().map(str::to_owned),
            reason: thread.pause_reason().map(str::to_owned),
            is_unsaved,
            ending: thread.ending(),
            refused: thread.refused().map(str::to_owned),
        }
    }

    /// `(:revision :completed :yours :current :state :total)`, and `:title`, `:reason`, `:unsaved`,
    /// `:ending` and `:refused` if there are any.
    fn to_lisp<'e, 't>(&'t self, shared: &Shared<'e, 't>) -> Result<Value<'e>> {
        let env = shared.env;
        let text = |text: &'t Option<String>| text.as_deref().map(|text| shared.text(text)).transpose();
        Plist::new(env)
            .set(k_revision, self.revision)?
            .set(k_completed, self.completed)?
            .set(k_yours, self.yours)?
            .set(k_current, self.current.as_ref().map(|item| shared.item(item)).transpose()?)?
            .set(k_state, self.state)?
            .set(k_total, self.total)?
            .set_some(k_title, text(&self.title)?)?
            .set_some(k_reason, text(&self.reason)?)?
            .set_some(k_unsaved, self.is_unsaved.then_some(true))?
            .set_some(k_ending, self.ending)?
            .set_some(k_refused, text(&self.refused)?)?
            .finish()
    }
}

impl<'e> IntoLisp<'e> for Summary {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        self.to_lisp(&Shared::new(env))
    }
}

/// `(:revision :timestamp :author :source :operation :restores :replaces)`. The last two are absent
/// unless it restores another one, or is one of `starts`, which begin a list.
pub(super) fn revision<'e>(env: &'e Env, revision: &Revision, starts: &HashSet<u64>) -> Result<Value<'e>> {
    let stamp = &revision.stamp;
    Plist::new(env)
        .set(k_revision, revision.number)?
        .set(k_timestamp, stamp.timestamp)?
        .set(k_author, stamp.author.as_str())?
        .set(k_source, stamp.source.as_deref())?
        .set(k_operation, stamp.operation.as_str())?
        .set_some(k_restores, stamp.restores)?
        .set_some(k_replaces, starts.contains(&revision.number).then_some(true))?
        .finish()
}

/// `(:created :started :completed :spent :running :intervals)`.
impl<'e> IntoLisp<'e> for &Times {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        Plist::new(env)
            .set(k_created, self.created)?
            .set(k_started, self.started)?
            .set(k_completed, self.completed)?
            .set(k_spent, self.spent(now()))?
            .set(k_running, self.running_since.is_some())?
            .set(k_intervals, list_of(env, &self.intervals, |(from, to)| env.cons(*from, *to))?)?
            .finish()
    }
}

/// The plist of an observation.
pub(super) fn observation<'e>(env: &'e Env, thread: &str, observation: &Observation) -> Result<Value<'e>> {
    let content = match &observation.payload {
        Payload::PlanUpdate(Derived::Of(update)) => {
            let shared = Shared::new(env);
            let changed = &update.changes;
            Plist::new(env)
                .set(k_revision, update.revision)?
                .set(k_todo_list, vector_of(env, &update.todo_list, |subject| shared.item(subject))?)?
                .set(k_changes, changes(&shared, changed, observation.timestamp, |one| shared.item(one))?)?
                .finish()?
        }
        Payload::ItemStatusChange(Derived::Of(change)) => Plist::new(env)
            .set(k_item, &*change.item)?
            .set(k_status, change.item.status.as_str())?
            .set(k_previous_status, change.previous_status.map(|status| status.as_str()))?
            .finish()?,
        reported => json(env, &to_json(reported)["content"])?,
    };
    Plist::new(env)
        .set(k_id, format!("o{}", observation.number))?
        .set(k_type, observation.kind().as_str())?
        .set(k_thread_id, thread)?
        .set_some(k_trace_id, observation.trace_id.as_deref())?
        .set_some(k_parent_id, observation.parent_id.as_deref())?
        .set(k_timestamp, observation.timestamp)?
        .set(k_title, &observation.title)?
        .set(k_content, content)?
        .set(k_metadata, json(env, &to_json(&observation.metadata))?)?
        .finish()
}

fn to_json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// Any JSON value, as Emacs' own parser returns it with plists for objects.
pub(super) fn json<'e>(env: &'e Env, value: &Json) -> Result<Value<'e>> {
    match value {
        Json::Null => Ok(k_null.bind(env)),
        Json::Bool(true) => Ok(t.bind(env)),
        Json::Bool(false) => Ok(k_false.bind(env)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into_lisp(env),
            (None, Some(number)) => number.into_lisp(env),
            (None, None) => Ok(k_null.bind(env)),
        },
        Json::String(text) => text.into_lisp(env),
        Json::Array(values) => vector_of(env, values, |value| json(env, value)),
        Json::Object(fields) => object(env, fields, k_null.bind(env)),
    }
}

/// The plist of a JSON object, with `null` in place of JSON null.
fn object<'e>(env: &'e Env, fields: &Map<String, Json>, null: Value<'e>) -> Result<Value<'e>> {
    let mut values = Vec::with_capacity(fields.len() * 2);
    for (key, value) in fields {
        values.push(symbol(env, &format!(":{key}"))?);
        values.push(if value.is_null() { null } else { json(env, value)? });
    }
    env.call(list, &values)
}
