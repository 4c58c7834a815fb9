//! Lisp functions that read and change threads.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use emacs::{Env, Result, Value, defun};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::items::{self, ShownItem};
use super::read::{self, Id, Key, elements, wrong};
use super::ser::{self, Sparse, Symbol, Vector};
use super::shown::{self, ShownRevision, ShownSummary, ShownTimes};
use super::{Module, border, now, serialized, with_module};
use crate::events::Millis;
use crate::journal::segments::Span;
use crate::journal::summary::KeptPlan;
use crate::list::input;
use crate::list::item::Item;
use crate::list::raw::Raw;
use crate::program::Identity;
use crate::recorder::open_item_like;
use crate::text::{is_blank, one_line};
use crate::thread::clock::Times;
use crate::thread::summary::Summary;
use crate::thread::{Call, EMACS, Edit, HOST, Outcome, State, Thread, WriteOptions};

emacs::use_symbols! {
    project => "todo-write--project"
    emacs_lives => "todo-write--emacs-lives-p"
}

const UNSEEN: &str = "unseen";
const REFUSED: &str = "refused";

/// Finds out whether the Emacs lives that wrote a thread which was read just now.
///
/// # Errors
/// Its journal cannot be read.
fn settle(env: &Env, key: &str) -> Result<()> {
    if let Some(emacs) = with_module(|module| module.store.unsettled(key))? {
        let lives = env.call(emacs_lives, (emacs,))?.is_not_nil();
        with_module(|module| module.store.settle(key, lives));
    }
    Ok(())
}

/// Calls `work` with a thread, which is empty if it does not exist.
///
/// # Errors
/// Its journal cannot be read.
pub(super) fn with_thread<T>(env: &Env, key: &str, work: impl FnOnce(&Thread) -> T) -> Result<T> {
    settle(env, key)?;
    with_module(|module| match module.store.get(key)? {
        Some(thread) => Ok(work(thread)),
        None => Ok(work(&Thread::new(key, Map::new(), 1))),
    })
}

/// As [`with_thread`], with a thread that has all that its journal has of a span.
pub(super) fn with_span<T>(
    env: &Env,
    key: &str,
    span: impl FnOnce(&Thread) -> Span,
    work: impl FnOnce(&Thread) -> T,
) -> Result<T> {
    let span = with_thread(env, key, span)?;
    let mut work = Some(work);
    let found = with_module(|module| {
        module.store.with_span(key, span, |thread| work.take().map(|work| work(thread)))
    })?;
    Ok(match (found.flatten(), work) {
        (Some(value), _) => value,
        (None, Some(work)) => work(&Thread::new(key, Map::new(), 1)),
        (None, None) => unreachable!("it has a value"),
    })
}

/// The summary of a thread, which is empty if it does not exist.
pub(super) fn summary_of(env: &Env, key: &str) -> Result<ShownSummary> {
    let is_unsaved = with_module(|module| module.store.unsaved().any(|unsaved| unsaved == key));
    with_thread(env, key, |thread| ShownSummary::of(Summary::of(thread), is_unsaved))
}

/// Loads or creates a thread that is not in memory. Lisp determines the project of a new one.
pub(super) fn load(env: &Env, key: &str, mut about: Map<String, Json>) -> Result<()> {
    settle(env, key)?;
    let is_new = with_module(|module| !module.store.exists(key));
    if is_new && !about.contains_key("project") {
        let root = read::text("project", env.call(project, [])?)?;
        about.insert("project".into(), root.into());
    }
    with_module(|module| {
        module.store.open(key, about, now());
    });
    Ok(())
}

/// Loads a thread that has a journal.
pub(super) fn wake(env: &Env, key: &str) -> Result<()> {
    if with_module(|module| module.store.exists(key)) { load(env, key, Map::new()) } else { Ok(()) }
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
        let summary = ShownSummary::of(Summary::of(thread), thread.is_unsaved());
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
        let call = read::optional("call", call, read_call)?;
        change(env, &thread, |module| {
            if let Some(outcome) = call.as_ref().and_then(|call| module.open(&thread).answered(call, now())) {
                return Ok(outcome);
            }
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

/// Note that CALL of THREAD, a plist as for `todo-write-plan-write', was answered with TEXT.
#[defun]
fn note_answer<'e>(env: &'e Env, thread: Key, call: Value<'e>, text: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (call, text) = (read_call("call", call)?, read::text("text", text)?);
        with_module(|module| {
            module.open(&thread).change(|thread| thread.note_call(call, &text, now()));
        });
        Ok(())
    })
}

/// Reads a call, a plist or t.
fn read_call(what: &str, value: Value<'_>) -> Result<Call> {
    match read::json(what, value)? {
        Json::Bool(true) => Ok(Call::default()),
        fields => Ok(serde_json::from_value(fields).map_err(|_| wrong(what, value, "a plist"))?),
    }
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
        if reason.is_none() {
            wake(env, &thread)?;
        }
        let before = with_thread(env, &thread, Thread::state)?;
        let (after, warnings) = with_module(|module| {
            if reason.is_none() {
                module.reports.note_write(&thread);
            }
            if let Some(thread) = module.store.get_mut(&thread) {
                thread.change(|thread| thread.set_paused(reason, now()));
            }
            Ok::<_, emacs::Error>((module.state(&thread)?, module.store.take_warnings()))
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
        let span = |thread: &Thread| {
            let revision = revision.unwrap_or(thread.revisions().last());
            Span::Revisions(revision, revision)
        };
        let list = with_span(env, &thread, span, |thread| match revision {
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
        wake(env, &thread)?;
        Ok(with_module(|module| Some(module.store.get_mut(&thread)?.change(Thread::take_untold))))
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

/// Keep in the journal of THREAD what its user has not seen of its agent.
///
/// UNSEEN is non-nil for its result, and REFUSED is the number of its refused calls.
#[defun]
fn keep_unseen<'e>(env: &'e Env, thread: Key, unseen: Value<'e>, refused: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let unseen = if unseen.is_not_nil() { true.into() } else { Json::Null };
        let refused: usize = read::whole_number("refused", refused)?;
        let refused = if refused > 0 { refused.into() } else { Json::Null };
        with_module(|module| {
            if let Some(plan) = module.store.get_mut(&thread) {
                plan.change(|thread| {
                    thread.describe(UNSEEN, unseen, now());
                    thread.describe(REFUSED, refused, now());
                });
            }
        });
        Ok(())
    })
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
        let unsaved = with_module(|module| module.store.save_again());
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
    thread.revisions().lists().iter().skip(1).map(|(first, _)| *first).collect()
}

/// See `todo-write-revisions'.
#[defun]
fn revisions(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        let (revisions, starts): (Vec<_>, _) = with_span(
            env,
            &thread,
            |_| Span::WHOLE,
            |thread| (thread.revisions().iter().cloned().collect(), replacements(thread)),
        )?;
        let shown = revisions.iter().map(|revision| ShownRevision::of(revision, &starts));
        ser::to_lisp(env, &shown.collect::<Vec<_>>())
    })
}

/// See `todo-write-changes-between'.
#[defun]
fn changes_between<'e>(env: &'e Env, thread: Key, a: Value<'e>, b: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let [a, b]: [u64; 2] = [read::whole_number("revision", a)?, read::whole_number("revision", b)?];
        let span = |_: &Thread| Span::Revisions(a.min(b), a.max(b));
        let changes = with_span(env, &thread, span, |thread| thread.changes_between(a, b))??;
        shown::changes_by_kind::<_, ShownItem<'_>>(env, &changes, &[], now())
    })
}

/// Return t if THREAD is in memory or has a journal.
#[defun]
fn exists(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || Ok(with_module(|module| module.store.exists(&thread)).then_some(true)))
}

/// Take what other Emacsen changed of THREAD.
#[defun]
fn refresh(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        with_module(|module| module.store.refresh(&thread));
        Ok(())
    })
}

/// Return t if this Emacs uses THREAD.
#[defun]
fn loaded_p(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || Ok(with_module(|module| module.store.is_used(&thread)).then_some(true)))
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

/// A plan that has a journal.
#[derive(Serialize)]
struct ShownKept {
    key: String,
    about: Map<String, Json>,
    modified: Millis,
    name: Option<String>,
    new: usize,
    plan: Sparse<ShownSummary>,
}

/// Return the plans that have a journal, newest first, as for `todo-write-threads-kept'.
///
/// The value is a cons.  Its cdr is the number of those of which an old state is shown, since at most MOST
/// journals are read; the others tell in a small file what is shown of them.
#[defun]
fn kept<'e>(env: &'e Env, most: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let most = read::whole_number("most", most)?;
        let (mut kept, old) = with_module(|module| module.store.kept(most));
        let own = with_module(|module| module.settings.storage.emacs.clone());
        let mut lives: HashMap<Option<String>, bool> = HashMap::from([(None, false), (own, true)]);
        for plan in kept.iter_mut().filter(|plan| plan.summary.state == State::Active) {
            let emacs = plan.about.get(EMACS).and_then(Json::as_str).map(str::to_owned);
            if let (Some(name), None) = (&emacs, lives.get(&emacs)) {
                let one_lives = env.call(emacs_lives, (name,))?.is_not_nil();
                lives.insert(emacs.clone(), one_lives);
            }
            if lives.get(&emacs) == Some(&false) {
                plan.summary.end_process();
            }
        }
        let shown =
            kept.into_iter().map(|KeptPlan { key, about, modified, mut summary, new, .. }| ShownKept {
                name: summary.prompt.take(),
                new,
                plan: Sparse(ShownSummary::of(summary, false)),
                key,
                about,
                modified,
            });
        Ok((shown.collect::<Vec<_>>(), old))
    })
}

/// Write what lists show of plans to small files, so that they need no journals.
#[defun]
fn summarize(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        with_module(|module| module.store.summarize());
        Ok(())
    })
}

/// See `todo-write-children'.
#[defun]
fn children(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || Ok(with_module(|module| module.store.children(&thread))))
}

/// See `todo-write-about'.
#[defun]
fn about(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        with_thread(env, &thread, |known| {
            let mut about = known.about().clone();
            let Identity { machine, program, session, subagent, .. } = Identity::of(&thread);
            let said =
                [("machine", machine), ("program", program), ("session", session), ("subagent", subagent)];
            about.extend(said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))));
            about
        })
    })
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
        with_module(|module| {
            module.store.forget(&thread)?;
            module.reports.forget(&thread);
            Ok(())
        })
    })
}

/// Delete journals older than DAYS, and all but the newest COUNT; return the number deleted.
///
/// Nil is no limit.  Journals of threads in memory stay.
#[defun]
fn prune<'e>(env: &'e Env, days: Value<'e>, count: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let days: Option<u32> = read::optional("days", days, read::whole_number)?;
        let count: Option<usize> = read::optional("count", count, read::whole_number)?;
        let age = days.map(|days| Duration::from_secs(u64::from(days) * 86_400));
        Ok(with_module(|module| module.store.prune(age, count))?)
    })
}
