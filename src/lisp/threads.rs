//! Lisp functions that read and change threads.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use emacs::{Env, Result, Value, defun};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::items::{self, ShownItem};
use super::read::{self, Id, Key, elements, wrong};
use super::ser::{self, Sparse, Symbol, Vector};
use super::shown::{self, ShownRevision, ShownTimes, Summary};
use super::{Module, border, elsewhere, now, serialized, with_module};
use crate::agents::recorder::open_item_like;
use crate::journal::kept;
use crate::list::input;
use crate::list::item::Item;
use crate::list::raw::Raw;
use crate::text::{is_blank, one_line};
use crate::thread::clock::Times;
use crate::thread::{CallName, Edit, HOST, Outcome, State, Thread, WriteOptions};

emacs::use_symbols! {
    project => "todo-write--project"
}

/// Calls `work` with a thread, which is empty if it does not exist.
///
/// # Errors
/// Its journal cannot be read.
pub(super) fn with_thread<T>(env: &Env, key: &str, work: impl FnOnce(&Thread) -> T) -> Result<T> {
    elsewhere::read(env, key)?;
    with_module(|module| match module.store.seen(key)? {
        Some(thread) => Ok(work(thread)),
        None => Ok(work(&Thread::new(key, Map::new(), 1))),
    })
}

/// The summary of a thread, which is empty if it does not exist.
pub(super) fn summary_of(env: &Env, key: &str) -> Result<Summary> {
    let is_unsaved = with_module(|module| module.store.unsaved().any(|unsaved| unsaved == key));
    with_thread(env, key, |thread| Summary::of(thread, is_unsaved))
}

/// Loads or creates a thread that is not in memory. Lisp determines the project of a new one.
pub(super) fn load(env: &Env, key: &str, mut about: Map<String, Json>) -> Result<()> {
    elsewhere::open(env, key, &about)?;
    if with_module(|module| module.store.is_loaded(key)) {
        return Ok(());
    }
    if !about.contains_key("project") {
        let root = read::text("project", env.call(project, [])?)?;
        about.insert("project".into(), root.into());
    }
    with_module(|module| {
        module.store.open(key, about, now());
    });
    Ok(())
}

/// Load THREAD from its journal, or create it, unless it is in memory.
///
/// ABOUT is a plist of strings, the properties of a new thread; `:project' defaults to the current
/// project.  One that exists gets `:host' alone.  The value is a list of strings, warnings for the user.
#[defun]
fn open<'e>(env: &'e Env, thread: Key, about: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let about = read_about(about)?;
        let host = about.get(HOST).cloned();
        load(env, &thread, about)?;
        if let Some(host) = host {
            with_module(|module| {
                module.open(&thread).change(|thread| thread.describe(HOST, host, now()));
            });
        }
        Ok(with_module(|module| module.store.take_warnings()))
    })
}

fn read_about(value: Value<'_>) -> Result<Map<String, Json>> {
    let about = match read::json("about", value)? {
        Json::Null => Map::new(),
        Json::Object(fields) if fields.values().all(Json::is_string) => fields,
        _ => return Err(wrong("about", value, "a plist of strings")),
    };
    Ok(about)
}

/// Changes a thread and returns the outcome, a plist.
fn change<'e>(
    env: &'e Env,
    key: &str,
    work: impl FnOnce(&mut Module) -> Result<Outcome>,
) -> Result<Value<'e>> {
    load(env, key, Map::new())?;
    let (outcome, summary, warnings) = with_module(|module| {
        let outcome = work(module)?;
        let thread = module.open(key);
        let summary = Summary::of(thread, thread.is_unsaved());
        Ok::<_, emacs::Error>((outcome, summary, module.store.take_warnings()))
    })?;
    ser::to_lisp(env, &shown::outcome(&outcome, summary, &warnings))
}

/// See `todo-write-plan-write'.
#[defun]
fn write<'e>(
    env: &'e Env,
    thread: Key,
    input: Raw<'static>,
    source: Value<'e>,
    unanswered: Value<'e>,
    call: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let source = read::name("source", source)?;
        let is_unanswered = unanswered.is_not_nil();
        let call = read::optional("call", call, call_name)?;
        change(env, &thread, |module| {
            let options = &module.settings.input;
            let plan = match &input {
                Raw::Text(text) => input::read_text(text, options),
                decoded => input::read(decoded, options),
            };
            let plan = match plan {
                Ok(plan) => plan,
                Err(problems) => {
                    return Ok(module.open(&thread).change(|thread| thread.refuse(problems, now())));
                }
            };
            module.store.set_current(&thread);
            module.reports.note_write(&thread);
            let keep_completed = module.settings.keep_completed;
            let options = WriteOptions { source, keep_completed, is_unanswered, call };
            Ok(module.open(&thread).change(|thread| thread.write(plan, options, now())))
        })
    })
}

/// The name of a call: a string, its id, or another value if no one told that.
fn call_name(_: &str, value: Value<'_>) -> Result<CallName> {
    Ok(value.into_rust().map_or(CallName::Unknown, CallName::Id))
}

/// See `todo-write-edit'.
#[defun]
fn edit<'e>(env: &'e Env, thread: Key, operation: Value<'e>, arguments: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let edit = read_edit(operation, &elements("arguments", arguments)?)?;
        change(env, &thread, |module| Ok(module.open(&thread).change(|thread| thread.edit(edit, now()))?))
    })
}

fn read_edit(operation: Value<'_>, arguments: &[Value<'_>]) -> Result<Edit> {
    let id = |value: &Value<'_>| value.into_rust().map(|Id(id)| id);
    match (read::name("operation", operation)?.as_deref(), arguments) {
        (Some("add"), [text]) => Ok(Edit::Add { content: content(*text)?, position: None }),
        (Some("add"), [text, place]) => Ok(Edit::Add {
            content: content(*text)?,
            position: read::optional("position", *place, read::whole_number)?,
        }),
        (Some("rename"), [item, text]) => Ok(Edit::Rename { id: id(item)?, content: content(*text)? }),
        (Some("status"), [item, to]) => Ok(Edit::Status { id: id(item)?, status: to.into_rust()? }),
        (Some("move"), [item, place]) => {
            Ok(Edit::Move { id: id(item)?, position: read::whole_number("position", *place)? })
        }
        (Some("delete"), [item]) => Ok(Edit::Delete { id: id(item)? }),
        (Some("restore"), [item]) => Ok(Edit::Restore { id: id(item)? }),
        _ => Err(wrong(
            "operation",
            operation,
            "add CONTENT [POSITION], rename ID CONTENT, status ID STATUS, move ID POSITION, delete ID, or restore ID",
        )),
    }
}

fn content(value: Value<'_>) -> Result<String> {
    let text = read::text("content", value)?;
    let (line, _) = one_line(&text);
    let limit = with_module(|module| module.settings.input.max_length);
    if is_blank(&line) {
        return Err(wrong("content", value, "text that is not blank"));
    }
    if line.chars().count() > limit {
        return Err(wrong("content", value, &format!("at most {limit} characters")));
    }
    Ok(line.into_owned())
}

/// See `todo-write-undo'.
#[defun]
fn undo(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        change(env, &thread, |module| Ok(module.open(&thread).change(|thread| thread.undo(now()))?))
    })
}

/// What became of a thread that was paused or resumed.
#[derive(Serialize)]
struct Paused {
    state: Symbol<State>,
    changed: bool,
    warnings: Vec<String>,
}

/// Pause THREAD for REASON, a string, or resume it when REASON is nil.
///
/// The value is a plist: `:state', a symbol; `:changed', t if the state changed; `:warnings', strings for
/// the user.
#[defun]
fn pause<'e>(env: &'e Env, thread: Key, reason: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let reason = read::optional("reason", reason, read::text)?;
        if reason.is_some() {
            elsewhere::wake(env, &thread)?;
        } else {
            elsewhere::open(env, &thread, &Map::new())?;
        }
        elsewhere::read(env, &thread)?;
        let (before, after, warnings) = with_module(|module| {
            let before = module.state(&thread)?;
            let found = if reason.is_some() {
                module.store.get_mut(&thread)
            } else {
                module.reports.note_write(&thread);
                module.store.open_loaded(&thread, now())
            };
            if let Some(thread) = found {
                thread.change(|thread| thread.set_paused(reason, now()));
            }
            Ok::<_, emacs::Error>((before, module.state(&thread)?, module.store.take_warnings()))
        })?;
        Ok(Paused { state: Symbol(after), changed: before != after, warnings })
    })
}

/// See `todo-write-state'.
#[defun]
fn state(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || with_thread(env, &thread, Thread::state).map(Symbol))
}

/// See `todo-write-items'.
#[defun]
fn items<'e>(env: &'e Env, thread: Key, revision: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let revision: Option<u64> = read::optional("revision", revision, read::whole_number)?;
        let list = with_thread(env, &thread, |thread| match revision {
            Some(revision) => thread.list_at(revision),
            None => Ok(thread.list().clone()),
        })??;
        ser::to_lisp(env, &Vector(items::shown(&list)))
    })
}

/// See `todo-write-item'.
#[defun]
fn item(env: &Env, thread: Key, id: Id) -> Result<Value<'_>> {
    border(env, || {
        let item =
            with_thread(env, &thread, |thread| thread.list().iter().find(|item| item.id == id.0).cloned())?;
        ser::to_lisp(env, &item.as_ref().map(|item| Sparse(ShownItem::from(item))))
    })
}

/// Return the id of THREAD's open item that is most similar to TEXT, or nil.
#[defun]
fn item_like<'e>(env: &'e Env, thread: Key, text: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let text = read::text("text", text)?;
        with_thread(env, &thread, |thread| open_item_like(thread.list(), &text))
    })
}

/// Return t if the results of its writes reach the agent of THREAD, as that of the last one did.
#[defun]
fn answered_p(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || Ok(with_thread(env, &thread, |thread| thread.is_answered())?.then_some(true)))
}

/// Return the user's edits that the agent of THREAD was not told of, a list of sentences.
///
/// It is nil if the agent is told by the results of its writes.
#[defun]
fn untold_edits(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || with_thread(env, &thread, |thread| thread.untold_edits()))
}

/// Return what `untold-edits' does, of which the agent of THREAD is told now.
#[defun]
fn take_untold(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        elsewhere::open(env, &thread, &Map::new())?;
        Ok(with_module(|module| Some(module.store.open_loaded(&thread, now())?.change(Thread::take_untold))))
    })
}

/// See `todo-write-plan-previous-id'.
#[defun]
fn previous_id(env: &Env, thread: Key, id: Id) -> Result<Value<'_>> {
    border(env, || {
        with_thread(env, &thread, |thread| {
            let place = thread.list().iter().position(|item| item.id == id.0)?;
            Some(thread.list().get(place.checked_sub(1)?)?.id.clone())
        })
    })
}

/// See `todo-write-times'.
#[defun]
fn times(env: &Env, thread: Key, id: Option<Id>) -> Result<Value<'_>> {
    border(env, || {
        if let Some(Id(id)) = id {
            let times = with_thread(env, &thread, |thread| thread.times(&id).cloned())?;
            return ser::to_lisp(env, &times.as_ref().map(ShownTimes::from));
        }
        let all: Vec<(String, Times)> = with_thread(env, &thread, |thread| {
            let times_of = |item: &Arc<Item>| Some((item.id.clone(), thread.times(&item.id)?.clone()));
            thread.list().iter().filter_map(times_of).collect()
        })?;
        let shown = all.iter().map(|(id, times)| (id, ShownTimes::from(times)));
        ser::to_lisp(env, &shown.collect::<Vec<_>>())
    })
}

/// See `todo-write-plan-spent'.
#[defun]
fn spent(env: &Env, thread: Key, id: Id) -> Result<Value<'_>> {
    border(env, || with_thread(env, &thread, |thread| thread.times(&id.0).map(|times| times.spent(now()))))
}

/// Try again to save the threads that could not be saved.
///
/// The value is a cons of two lists of keys: of the threads that are saved now, and of those that still
/// are not.
#[defun]
fn save_again(env: &Env) -> Result<Value<'_>> {
    serialized(env, || {
        let mut saved: Vec<String> =
            with_module(|module| module.store.unsaved().map(str::to_owned).collect());
        for key in &saved {
            elsewhere::open(env, key, &Map::new())?;
        }
        let unsaved = with_module(|module| module.store.save_again(now()));
        saved.retain(|key| !unsaved.contains(key));
        Ok((saved, unsaved))
    })
}

/// See `todo-write-summary'.
#[defun]
fn summary(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || summary_of(env, &thread).map(Sparse))
}

/// The revisions that begin a list in place of another one.
pub(super) fn replacements(thread: &Thread) -> HashSet<u64> {
    thread.list_starts().into_iter().skip(1).collect()
}

/// See `todo-write-revisions'.
#[defun]
fn revisions(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        let (revisions, starts): (Vec<_>, _) = with_thread(env, &thread, |thread| {
            (thread.revisions().iter().cloned().collect(), replacements(thread))
        })?;
        let shown = revisions.iter().map(|revision| ShownRevision::of(revision, &starts));
        ser::to_lisp(env, &shown.collect::<Vec<_>>())
    })
}

/// See `todo-write-changes-between'.
#[defun]
fn changes_between<'e>(env: &'e Env, thread: Key, a: Value<'e>, b: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (a, b) = (read::whole_number("revision", a)?, read::whole_number("revision", b)?);
        let changes = with_thread(env, &thread, |thread| thread.changes_between(a, b))??;
        shown::changes_by_kind::<_, ShownItem<'_>>(env, &changes, &[], now())
    })
}

/// Return t if THREAD is in memory or has a journal.
#[defun]
fn exists(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        let is_loaded = with_module(|module| module.store.is_loaded(&thread));
        let key = thread.to_string();
        let has_journal =
            move |folder: Option<&Path>| folder.is_some_and(|folder| kept::has_journal(folder, &key));
        Ok((is_loaded || elsewhere::ask(env, has_journal)?).then_some(true))
    })
}

/// Return t if THREAD is in memory.
#[defun]
fn loaded_p(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || Ok(with_module(|module| module.store.is_loaded(&thread)).then_some(true)))
}

/// See `todo-write-threads-loaded'.
#[defun]
fn loaded(env: &Env) -> Result<Value<'_>> {
    serialized(env, || {
        Ok(with_module(|module| {
            module.store.loaded().map(|thread| thread.key().to_owned()).collect::<Vec<_>>()
        }))
    })
}

/// See `todo-write-threads-kept'.
#[defun]
fn kept(env: &Env) -> Result<Value<'_>> {
    serialized(env, || elsewhere::ask(env, |folder| folder.map(kept::saved_threads).unwrap_or_default()))
}

/// See `todo-write-children'.
#[defun]
fn children(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || Ok(with_module(|module| module.store.children(&thread))))
}

/// See `todo-write-about'.
#[defun]
fn about(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || with_thread(env, &thread, |thread| thread.about().clone()))
}

/// See `todo-write-parent'.
#[defun]
fn parent(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        with_thread(env, &thread, |thread| {
            thread.parent().map(|(key, item)| (key.to_owned(), item.map(str::to_owned)))
        })
    })
}

/// See `todo-write-current-thread'.
#[defun]
fn current<'e>(env: &'e Env, folder: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let folder = read::optional("folder", folder, read::text)?;
        Ok(with_module(|module| {
            let store = &module.store;
            let here = folder.and_then(|folder| store.current_in(Some(&folder)));
            here.or_else(|| store.current_in(None)).or_else(|| store.current()).map(str::to_owned)
        }))
    })
}

/// See `todo-write-forget'.
#[defun]
fn forget(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        elsewhere::wake(env, &thread)?;
        let deletion = with_module(|module| module.store.deletion(&thread));
        elsewhere::ask(env, |_| deletion.run())??;
        with_module(|module| {
            module.reports.forget(&thread);
            module.store.remove(&thread);
        });
        Ok(())
    })
}

/// Delete journals older than DAYS, and all but the newest COUNT; return the number deleted.
///
/// Nil is no limit.  Journals of threads in memory stay.  If LATER is non-nil, return nil at once, and
/// delete them soon.
#[defun]
fn prune<'e>(env: &'e Env, days: Value<'e>, count: Value<'e>, later: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let days: Option<u32> = read::optional("days", days, read::whole_number)?;
        let count: Option<usize> = read::optional("count", count, read::whole_number)?;
        let age = days.map(|days| Duration::from_secs(u64::from(days) * 86_400));
        let in_memory = with_module(|module| module.store.keys());
        if later.is_not_nil() {
            // A file that cannot be deleted now is an error of `todo-write-prune'.
            elsewhere::begin(move |folder| drop(kept::prune(folder, age, count, &in_memory)));
            return Ok(None);
        }
        let deleted = elsewhere::ask(env, move |folder| {
            folder.map_or(Ok(0), |folder| kept::prune(folder, age, count, &in_memory))
        })??;
        Ok(Some(deleted))
    })
}
