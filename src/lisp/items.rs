//! The items of lists as Lisp has them, and the one object of each that successive outcomes share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emacs::{Env, GlobalRef, IntoLisp, Result, Value};
use once_cell::sync::OnceCell;
use serde::Serialize;

use super::names::{keyword, word};
use super::ser::{self, Sparse};
use crate::list::item::{Author, Body, Item, Priority, Status};

emacs::use_functions! {
    gethash puthash clrhash
    make_hash_table => "make-hash-table"
    plist_get => "plist-get"
}

/// An item as Lisp has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownItem<'i> {
    status: Option<Status>,
    id: &'i str,
    content: &'i str,
    active_form: &'i str,
    priority: Option<Priority>,
    added_by: Option<Author>,
    untold: bool,
    blocked_by: &'i [String],
    owner: Option<&'i str>,
}

impl ShownItem<'_> {
    fn without_status(body: &Body) -> ShownItem<'_> {
        ShownItem {
            status: None,
            id: &body.id,
            content: &body.content,
            active_form: &body.active_form,
            priority: body.priority,
            added_by: Some(body.added_by).filter(|author| *author != Author::default()),
            untold: !body.told,
            blocked_by: &body.blocked_by,
            owner: body.owner.as_deref(),
        }
    }
}

impl<'i> From<&'i Item> for ShownItem<'i> {
    fn from(item: &'i Item) -> ShownItem<'i> {
        ShownItem { status: Some(item.status), ..ShownItem::without_status(&item.body) }
    }
}

/// Items as Lisp has them.
pub(super) fn shown(items: &[Arc<Item>]) -> Sparse<Vec<ShownItem<'_>>> {
    Sparse(items.iter().map(|item| ShownItem::from(&**item)).collect())
}

/// Maximum number of bodies that are kept as Lisp objects.
const KEPT: usize = 1_024;

/// The bodies whose addresses are keys of [`table`], so that no other body has these. Threads of Lisp share
/// the table and end, so this is of no thread.
static BODIES: Mutex<Vec<Arc<Body>>> = Mutex::new(Vec::new());

fn bodies() -> MutexGuard<'static, Vec<Arc<Body>>> {
    BODIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many calls of [`kept`] run. A collection of garbage within one may run a hook that leads to another.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A running call of [`kept`].
struct Running;

impl Running {
    /// Begins a call; returns whether no other one runs, too.
    fn begin() -> (Running, bool) {
        (Running, RUNNING.fetch_add(1, Ordering::Relaxed) == 0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The plist of an item, which is one object in successive outcomes: most writes change the status of a few
/// items, so this halves what they allocate. Callers must not modify it.
pub(super) fn kept<'e>(env: &'e Env, item: &Item) -> Result<Value<'e>> {
    let (_running, is_only) = Running::begin();
    let body = &item.body;
    // An outer call has yet to add its keys, whose body must stay. If clearing is interrupted, all do.
    if is_only && bodies().len() >= KEPT {
        env.call(clrhash, [table(env)?])?;
        bodies().clear();
    }
    // Bodies are aligned, so the numbers after an address are free.
    let address = Arc::as_ptr(body) as usize;
    kept_as(env, address + 1 + item.status as usize, || {
        let rest = kept_as(env, address, || {
            bodies().push(Arc::clone(body));
            ser::to_lisp(env, &Sparse(ShownItem::without_status(body)))
        })?;
        env.cons(keyword(env, "status")?, env.cons(word(env, item.status.as_str())?, rest)?)
    })
}

/// The id in the plist of an item.
pub(super) fn kept_id<'e>(env: &'e Env, item: &Item) -> Result<Value<'e>> {
    env.call(plist_get, [kept(env, item)?, keyword(env, "id")?])
}

/// A hash table with the plists of items.
fn table(env: &Env) -> Result<Value<'_>> {
    static ITEMS: OnceCell<GlobalRef> = OnceCell::new();
    let table = || Ok::<_, emacs::Error>(env.call(make_hash_table, &[] as &[Value<'_>])?.make_global_ref());
    Ok(ITEMS.get_or_try_init(table)?.bind(env))
}

/// The object of a key, made unless it is kept.
fn kept_as<'e>(env: &'e Env, key: usize, make: impl FnOnce() -> Result<Value<'e>>) -> Result<Value<'e>> {
    let (key, table) = (i64::try_from(key)?.into_lisp(env)?, table(env)?);
    let found = env.call(gethash, [key, table])?;
    if found.is_not_nil() {
        return Ok(found);
    }
    let value = make()?;
    env.call(puthash, [key, value, table])
}
