//! Converts Rust data to Lisp objects: plists with keyword keys, vectors, strings.
//!
//! Each call creates new objects, which callers may modify, except the items of changes and of summaries and the
//! strings of fixed words such as a status: successive calls share them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread::LocalKey;

use emacs::{Env, GlobalRef, IntoLisp, Result, Value};
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
    nil t k_null => ":null" k_false => ":false"
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

    pub(super) fn env(&self) -> &'e Env {
        self.env
    }

    /// Adds the keyword of a name, and its value.
    pub(super) fn set(mut self, name: &'static str, value: impl IntoLisp<'e>) -> Result<Plist<'e>> {
        self.values.extend([keyword(self.env, name)?, value.into_lisp(self.env)?]);
        Ok(self)
    }

    /// As [`Plist::set`], unless the value is nil: the same to `plist-get`, and no garbage.
    pub(super) fn set_some(self, name: &'static str, value: impl IntoLisp<'e>) -> Result<Plist<'e>> {
        let value = value.into_lisp(self.env)?;
        if value.is_not_nil() { self.set(name, value) } else { Ok(self) }
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
    thread_local! { static WORDS: Interned = RefCell::default(); }
    interned(env, &WORDS, word, || text(env, word))
}

/// The keyword of a name.
pub(super) fn keyword<'e>(env: &'e Env, name: &'static str) -> Result<Value<'e>> {
    thread_local! { static KEYWORDS: Interned = RefCell::default(); }
    interned(env, &KEYWORDS, name, || symbol(env, &format!(":{name}")))
}

type Interned = RefCell<HashMap<&'static str, &'static GlobalRef>>;

/// The object of a name, made once.
fn interned<'e>(
    env: &'e Env,
    all: &'static LocalKey<Interned>,
    name: &'static str,
    make: impl FnOnce() -> Result<Value<'e>>,
) -> Result<Value<'e>> {
    if let Some(known) = all.with_borrow(|all| all.get(name).copied()) {
        return Ok(known.bind(env));
    }
    let new: &GlobalRef = Box::leak(Box::new(make()?.make_global_ref()));
    all.with_borrow_mut(|all| all.insert(name, new));
    Ok(new.bind(env))
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
    env.cons(keyword(env, "status")?, env.cons(word(env, item.status.as_str())?, rest)?)
}

/// The plist of an item without its status.
fn rest_of_item<'e>(env: &'e Env, item: &Item) -> Result<Value<'e>> {
    let blocked_by = Some(&item.blocked_by).filter(|ids| !ids.is_empty());
    let is_users = item.added_by != Author::default();
    Plist::new(env)
        .set("id", text(env, &item.id)?)?
        .set("content", text(env, &item.content)?)?
        .set("activeForm", text(env, &item.active_form)?)?
        .set_some("priority", item.priority.map(|level| word(env, level.as_str())).transpose()?)?
        .set_some("addedBy", is_users.then(|| word(env, item.added_by.as_str())).transpose()?)?
        .set_some("untold", !item.told)?
        .set_some("blockedBy", blocked_by.map(|ids| texts(env, ids)).transpose()?)?
        .set_some("owner", item.owner.as_deref().map(|owner| text(env, owner)).transpose()?)?
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
        env.call(plist_get, [kept_item(env, self)?, keyword(env, "id")?])
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
        .set("itemId", id)?
        .set_some("item", item(&change.item)?)?
        .set_some("previousItem", item(&change.previous_item)?)?
        .set_some("cancelled", change.cancelled)?
        .set_some("fields", (change.kind == ChangeKind::Modified).then(fields).transpose()?)?
        .set_some("position", change.position)?
        .set_some("previousPosition", change.previous_position)?
        .set("type", word(env, change.kind.as_str())?)?
        .set("timestamp", timestamp)
}

/// The plist of a set of changes, as of an outcome.
pub(super) fn changes<'e, T: ChangedItem>(
    env: &'e Env,
    all: &[Change<T>],
    timestamp: Millis,
) -> Result<Plist<'e>> {
    Plist::new(env)
        .set("timestamp", timestamp)?
        .set("changes", vector_of(env, all, |one| change(env, one, timestamp)?.finish())?)
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
        .set("timestamp", timestamp)?
        .set("changes", env.call(vector, &values)?)?
        .set("added", of_kind(ChangeKind::Added)?)?
        .set("modified", of_kind(ChangeKind::Modified)?)?
        .set("removed", of_kind(ChangeKind::Removed)?)?
        .set("statusChanged", of_kind(ChangeKind::StatusChanged)?)?
        .set("reordered", of_kind(ChangeKind::Reordered)?)?
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
        .set_some("ok", outcome.ok)?
        .set("revision", outcome.revision)?
        .set("result", text(env, &outcome.result)?)?
        .set_some("changes", (!outcome.changes.is_empty()).then(changes).transpose()?)?
        .set_some("notices", texts(env, &outcome.notices)?)?
        .set_some("errors", ser::to_lisp(env, &outcome.errors)?)?
        .set_some("forced", texts(env, &outcome.forced)?)?
        .set("state", summary.state)?
        .set_some("resumed", outcome.resumed)?
        .set_some("told", outcome.told)?
        .set_some("mended", outcome.mended)?
        .set_some("warnings", texts(env, warnings)?)?
        .set("summary", summary)?
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
            .set("revision", self.revision)?
            .set("completed", self.completed)?
            .set("yours", self.yours)?
            .set("count", self::text(env, &count)?)?
            .set_some("current", self.current.as_ref().map(|item| kept_item(env, item)).transpose()?)?
            .set("state", self.state)?
            .set("total", self.total)?
            .set_some("title", text(&self.title)?)?
            .set_some("reason", text(&self.reason)?)?
            .set_some("unsaved", self.is_unsaved)?
            .set_some("ending", self.ending)?
            .set_some("refused", text(&self.refused)?)?
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
            .set("created", self.created)?
            .set("started", self.started)?
            .set("completed", self.completed)?
            .set("spent", self.spent(now()))?
            .set("running", self.running_since.is_some())?
            .set("intervals", list_of(env, &self.intervals, |(from, to)| env.cons(*from, *to))?)?
            .finish()
    }
}

/// The plist of an observation.
pub(super) fn observation<'e>(env: &'e Env, thread: &str, observation: &Observation) -> Result<Value<'e>> {
    let content = match &observation.payload {
        Payload::PlanUpdate(Derived::Of(update)) => Plist::new(env)
            .set("revision", update.revision)?
            .set("todoList", vector_of(env, &update.todo_list, |item| Ok(&**item))?)?
            .set("changes", changes_by_kind(env, &update.changes, observation.timestamp)?)?
            .finish()?,
        Payload::ItemStatusChange(Derived::Of(change)) => Plist::new(env)
            .set("item", &*change.item)?
            .set("status", change.item.status.as_str())?
            .set("previousStatus", change.previous_status.map(|status| status.as_str()))?
            .finish()?,
        reported => ser::json(env, &reported.content())?,
    };
    Plist::new(env)
        .set("id", format!("o{}", observation.number))?
        .set("type", observation.kind().as_str())?
        .set("threadId", thread)?
        .set_some("traceId", observation.trace_id.as_deref())?
        .set_some("parentId", observation.parent_id.as_deref())?
        .set("timestamp", observation.timestamp)?
        .set("title", &observation.title)?
        .set("content", content)?
        .set("metadata", ser::to_lisp(env, &observation.metadata)?)?
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
