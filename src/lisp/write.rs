//! Converts Rust data to Lisp objects: plists with keyword keys, vectors, strings.
//!
//! Each call creates new objects, which callers may modify, except the items of changes and of summaries and the
//! strings of fixed words such as a status: successive calls share them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use emacs::{Env, GlobalRef, IntoLisp, OnceGlobalRef, Result, Value};
use once_cell::sync::OnceCell;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{now, ser};
use crate::events::Millis;
use crate::events::observation::{Observation, Payload};
use crate::events::payload::Derived;
use crate::list::change::{Change, ChangeKind, Entry};
use crate::list::item::{Author, Body, Item};
use crate::list::untyped::UntypedItem;
use crate::thread::activity::{Activity, Ending};
use crate::thread::clock::Times;
use crate::thread::revision::{Revision, Stamp};
use crate::thread::{Outcome, State, Thread};

emacs::use_functions! {
    list vector intern gethash puthash clrhash
    make_hash_table => "make-hash-table"
    plist_get => "plist-get"
}

emacs::use_symbols! {
    nil t
    k_null => ":null" k_false => ":false"
    k_ok => ":ok" k_revision => ":revision" k_result => ":result" k_changes => ":changes"
    k_notices => ":notices" k_errors => ":errors" k_forced => ":forced"
    k_state => ":state" k_resumed => ":resumed" k_warnings => ":warnings"
    k_timestamp => ":timestamp" k_added => ":added" k_modified => ":modified" k_removed => ":removed"
    k_status_changed => ":statusChanged" k_reordered => ":reordered"
    k_type => ":type" k_item_id => ":itemId" k_item => ":item" k_previous_item => ":previousItem"
    k_cancelled => ":cancelled" k_fields => ":fields" k_position => ":position"
    k_previous_position => ":previousPosition" k_previous_status => ":previousStatus"
    k_id => ":id" k_content => ":content" k_status => ":status" k_active_form => ":activeForm"
    k_added_by => ":addedBy" k_told => ":told" k_untold => ":untold" k_count => ":count" k_yours => ":yours" k_priority => ":priority" k_blocked_by => ":blockedBy" k_owner => ":owner"
    k_thread_id => ":threadId" k_trace_id => ":traceId" k_parent_id => ":parentId"
    k_title => ":title" k_metadata => ":metadata" k_todo_list => ":todoList"
    k_summary => ":summary" k_total => ":total" k_current => ":current" k_reason => ":reason" k_unsaved => ":unsaved"
    k_ending => ":ending" k_refused => ":refused" k_mended => ":mended"
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
        self.values.extend([key.bind(self.env), value.into_lisp(self.env)?]);
        Ok(self)
    }

    /// Adds a key and its value, unless that is nil: the same to `plist-get`, and no garbage.
    pub(super) fn set_some(mut self, key: &'e OnceGlobalRef, value: impl IntoLisp<'e>) -> Result<Plist<'e>> {
        let value = value.into_lisp(self.env)?;
        if value.is_not_nil() {
            self.values.extend([key.bind(self.env), value]);
        }
        Ok(self)
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

/// A string that is one object in all values: the name of a status, of a type or the like.
pub(super) fn word<'e>(env: &'e Env, word: &'static str) -> Result<Value<'e>> {
    thread_local! {
        static WORDS: RefCell<HashMap<&'static str, &'static GlobalRef>> = RefCell::default();
    }
    if let Some(known) = WORDS.with_borrow(|words| words.get(word).copied()) {
        return Ok(known.bind(env));
    }
    let known: &GlobalRef = Box::leak(Box::new(text(env, word)?.make_global_ref()));
    WORDS.with_borrow_mut(|words| words.insert(word, known));
    Ok(known.bind(env))
}

/// The keyword of a name.
pub(super) fn keyword<'e>(env: &'e Env, name: &'static str) -> Result<Value<'e>> {
    thread_local! {
        static KEYWORDS: RefCell<HashMap<&'static str, &'static GlobalRef>> = RefCell::default();
    }
    if let Some(known) = KEYWORDS.with_borrow(|keywords| keywords.get(name).copied()) {
        return Ok(known.bind(env));
    }
    let known: &GlobalRef = Box::leak(Box::new(symbol(env, &format!(":{name}"))?.make_global_ref()));
    KEYWORDS.with_borrow_mut(|keywords| keywords.insert(name, known));
    Ok(known.bind(env))
}

/// Maximum number of items that are kept as Lisp objects.
const KEPT: usize = 1_024;

/// The plist of an item of an outcome, which is one object in successive outcomes: most writes change the status
/// of a few items, so this halves what they allocate. Callers must not modify it.
fn kept_item<'e>(env: &'e Env, item: &Item) -> Result<Value<'e>> {
    let body = &item.body;
    // Bodies are aligned, so the numbers after an address are free.
    let address = Arc::as_ptr(body) as usize;
    kept(env, address + 1 + item.status as usize, || {
        let rest = kept(env, address, || {
            let is_full = KEPT_BODIES.with_borrow(|bodies| bodies.len() >= KEPT);
            if is_full {
                KEPT_BODIES.with_borrow_mut(Vec::clear);
                env.call(clrhash, [kept_items(env)?])?;
            }
            KEPT_BODIES.with_borrow_mut(|bodies| bodies.push(Arc::clone(body)));
            rest_of_item(env, item)
        })?;
        item_with(env, item, rest)
    })
}

thread_local! {
    /// The bodies whose addresses are keys of [`kept_items`], so that no other body has these.
    static KEPT_BODIES: RefCell<Vec<Arc<Body>>> = RefCell::default();
}

/// A hash table with the plists of items.
fn kept_items(env: &Env) -> Result<Value<'_>> {
    static ITEMS: OnceCell<GlobalRef> = OnceCell::new();
    let table = || Ok::<_, emacs::Error>(env.call(make_hash_table, &[] as &[Value<'_>])?.make_global_ref());
    Ok(ITEMS.get_or_try_init(table)?.bind(env))
}

/// The object of a key, made unless it is kept.
fn kept<'e>(env: &'e Env, key: usize, make: impl FnOnce() -> Result<Value<'e>>) -> Result<Value<'e>> {
    let (key, table) = (i64::try_from(key)?.into_lisp(env)?, kept_items(env)?);
    let found = env.call(gethash, [key, table])?;
    if found.is_not_nil() {
        return Ok(found);
    }
    let value = make()?;
    env.call(puthash, [key, value, table])
}

/// `(:status :id :content :activeForm)`. Some items also have `:priority`, `:addedBy`, `:untold`, `:blockedBy`,
/// a list of ids, and `:owner`.
impl<'e> IntoLisp<'e> for &Item {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        item_with(env, self, rest_of_item(env, self)?)
    }
}

/// The plist of an item; `rest` follows the status.
fn item_with<'e>(env: &'e Env, item: &Item, rest: Value<'e>) -> Result<Value<'e>> {
    env.cons(k_status.bind(env), env.cons(word(env, item.status.as_str())?, rest)?)
}

/// The plist of an item without its status.
fn rest_of_item<'e>(env: &'e Env, item: &Item) -> Result<Value<'e>> {
    let blocked_by = Some(&item.blocked_by).filter(|ids| !ids.is_empty());
    let is_users = item.added_by != Author::default();
    Plist::new(env)
        .set(k_id, text(env, &item.id)?)?
        .set(k_content, text(env, &item.content)?)?
        .set(k_active_form, text(env, &item.active_form)?)?
        .set_some(k_priority, item.priority.map(|level| word(env, level.as_str())).transpose()?)?
        .set_some(k_added_by, is_users.then(|| word(env, item.added_by.as_str())).transpose()?)?
        .set_some(k_untold, !item.told)?
        .set_some(k_blocked_by, blocked_by.map(|ids| texts(env, ids)).transpose()?)?
        .set_some(k_owner, item.owner.as_deref().map(|owner| text(env, owner)).transpose()?)?
        .finish()
}

impl<'e> IntoLisp<'e> for &UntypedItem {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        untyped(env, self.fields())
    }
}

/// An item of a change.
pub(super) trait ChangedItem: Entry {
    /// The item, which callers must not modify.
    fn shared<'e>(&self, env: &'e Env) -> Result<Value<'e>>;
    /// Its id.
    fn shared_id<'e>(&self, env: &'e Env) -> Result<Value<'e>>;
}

impl ChangedItem for Arc<Item> {
    fn shared<'e>(&self, env: &'e Env) -> Result<Value<'e>> {
        kept_item(env, self)
    }

    fn shared_id<'e>(&self, env: &'e Env) -> Result<Value<'e>> {
        env.call(plist_get, [kept_item(env, self)?, k_id.bind(env)])
    }
}

impl ChangedItem for UntypedItem {
    fn shared<'e>(&self, env: &'e Env) -> Result<Value<'e>> {
        self.into_lisp(env)
    }

    fn shared_id<'e>(&self, env: &'e Env) -> Result<Value<'e>> {
        text(env, self.id())
    }
}

/// The plist of a change.
pub(super) fn change<'e, T: ChangedItem>(
    env: &'e Env,
    change: &Change<T>,
    timestamp: Millis,
) -> Result<Plist<'e>> {
    let item = |one: &Option<T>| one.as_ref().map(|item| item.shared(env)).transpose();
    let id = match change.item.as_ref().or(change.previous_item.as_ref()) {
        Some(item) => item.shared_id(env)?,
        None => text(env, &change.item_id)?,
    };
    let fields = || vector_of(env, &change.fields, |field| text(env, field));
    Plist::new(env)
        .set(k_item_id, id)?
        .set_some(k_item, item(&change.item)?)?
        .set_some(k_previous_item, item(&change.previous_item)?)?
        .set_some(k_cancelled, change.cancelled)?
        .set_some(k_fields, (change.kind == ChangeKind::Modified).then(fields).transpose()?)?
        .set_some(k_position, change.position)?
        .set_some(k_previous_position, change.previous_position)?
        .set(k_type, word(env, change.kind.as_str())?)?
        .set(k_timestamp, timestamp)
}

/// The plist of a set of changes, as of an outcome.
pub(super) fn changes<'e, T: ChangedItem>(
    env: &'e Env,
    all: &[Change<T>],
    timestamp: Millis,
) -> Result<Plist<'e>> {
    Plist::new(env)
        .set(k_timestamp, timestamp)?
        .set(k_changes, vector_of(env, all, |one| change(env, one, timestamp)?.finish())?)
}

/// The plist of a set of changes, with the vectors by kind, which share their elements with `:changes`.
pub(super) fn changes_by_kind<'e, T: ChangedItem>(
    env: &'e Env,
    all: &[Change<T>],
    timestamp: Millis,
) -> Result<Value<'e>> {
    let values = all.iter().map(|one| change(env, one, timestamp)?.finish()).collect::<Result<Vec<_>>>()?;
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
    summary: Summary,
    warnings: &[String],
) -> Result<Value<'e>> {
    let changes = || changes(env, &outcome.changes, outcome.timestamp)?.finish();
    Plist::new(env)
        .set_some(k_ok, outcome.ok)?
        .set(k_revision, outcome.revision)?
        .set(k_result, text(env, &outcome.result)?)?
        .set_some(k_changes, (!outcome.changes.is_empty()).then(changes).transpose()?)?
        .set_some(k_notices, texts(env, &outcome.notices)?)?
        .set_some(k_errors, ser::to_lisp(env, &outcome.errors)?)?
        .set_some(k_forced, texts(env, &outcome.forced)?)?
        .set(k_state, summary.state)?
        .set_some(k_resumed, outcome.resumed)?
        .set_some(k_told, outcome.told)?
        .set_some(k_mended, outcome.mended)?
        .set_some(k_warnings, texts(env, warnings)?)?
        .set(k_summary, summary)?
        .finish()
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
}

/// `(:revision :completed :yours :count :current :state :total :title :reason :unsaved :ending :refused)`.
impl<'e> IntoLisp<'e> for Summary {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        let text = |text: &Option<String>| text.as_deref().map(|words| self::text(env, words)).transpose();
        let count = match self.yours {
            0 => format!("{}/{}", self.completed, self.total),
            yours => format!("{}/{} + {yours} yours", self.completed, self.total),
        };
        Plist::new(env)
            .set(k_revision, self.revision)?
            .set(k_completed, self.completed)?
            .set(k_yours, self.yours)?
            .set(k_count, self::text(env, &count)?)?
            .set_some(k_current, self.current.as_ref().map(|item| kept_item(env, item)).transpose()?)?
            .set(k_state, self.state)?
            .set(k_total, self.total)?
            .set_some(k_title, text(&self.title)?)?
            .set_some(k_reason, text(&self.reason)?)?
            .set_some(k_unsaved, self.is_unsaved)?
            .set_some(k_ending, self.ending)?
            .set_some(k_refused, text(&self.refused)?)?
            .finish()
    }
}

/// `(:revision :timestamp :author :source :operation :restores :replaces)`. The last two are absent
/// unless it restores another one, or is one of `starts`, which begin a list.
pub(super) fn revision<'e>(env: &'e Env, revision: &Revision, starts: &HashSet<u64>) -> Result<Value<'e>> {
    #[derive(Serialize)]
    struct Shown<'r> {
        revision: u64,
        #[serde(flatten)]
        stamp: &'r Stamp,
        #[serde(skip_serializing_if = "Option::is_none")]
        replaces: Option<bool>,
    }
    let replaces = starts.contains(&revision.number).then_some(true);
    ser::to_lisp(env, &Shown { revision: revision.number, stamp: &revision.stamp, replaces })
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
        Payload::PlanUpdate(Derived::Of(update)) => Plist::new(env)
            .set(k_revision, update.revision)?
            .set(k_todo_list, vector_of(env, &update.todo_list, |item| Ok(&**item))?)?
            .set(k_changes, changes_by_kind(env, &update.changes, observation.timestamp)?)?
            .finish()?,
        Payload::ItemStatusChange(Derived::Of(change)) => Plist::new(env)
            .set(k_item, &*change.item)?
            .set(k_status, change.item.status.as_str())?
            .set(k_previous_status, change.previous_status.map(|status| status.as_str()))?
            .finish()?,
        reported => ser::json(env, &reported.content())?,
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
        .set(k_metadata, ser::to_lisp(env, &observation.metadata)?)?
        .finish()
}

/// The plist of an untyped item, with nil in place of JSON null.
fn untyped<'e>(env: &'e Env, fields: &Map<String, Json>) -> Result<Value<'e>> {
    let mut values = Vec::with_capacity(fields.len() * 2);
    for (key, value) in fields {
        values.push(symbol(env, &format!(":{key}"))?);
        values.push(if value.is_null() { nil.bind(env) } else { ser::json(env, value)? });
    }
    env.call(list, &values)
}
