//! Lisp functions on threads: write, edit, look.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use emacs::{Env, IntoLisp, Result, Value, defun};
use serde_json::{Map, Value as Json};

use super::items::{self, Form};
use super::read::{self, Text, WholeNumber, elements, wrong};
use super::{border, now, with_world, write};
use crate::input;
use crate::item::{Item, Status};
use crate::raw::Raw;
use crate::store::Store;
use crate::text::{is_blank, one_line};
use crate::thread::{Activity, Edit, State, Thread};

emacs::use_functions! { set nthcdr symbol_value => "symbol-value" }

emacs::use_symbols! {
    string
    last_summary => "todo-write-dyn--last-summary"
    k_key => ":key" k_about => ":about" k_modified => ":modified"
    k_state => ":state" k_total => ":total" k_completed => ":completed" k_current => ":current"
    k_title => ":title" k_revision => ":revision" k_reason => ":reason"
    k_created => ":created" k_started => ":started" k_spent => ":spent" k_running => ":running"
    k_intervals => ":intervals"
}

/// Works on a thread that is written to.
fn with_open<T>(key: &str, work: impl FnOnce(&mut Thread) -> T) -> T {
    with_world(|world| work(world.store.open(key, Map::new(), now())))
}

/// Looks at a thread; an unknown one reads as an empty one.
pub(super) fn with_thread<T>(key: &str, work: impl FnOnce(&Thread) -> T) -> T {
    with_world(|world| match world.store.get(key, now()) {
        Some(thread) => work(thread),
        None => work(&Thread::new(key, Map::new(), 1)),
    })
}

/// The state of THREAD if it is loaded, so that nothing need be said about it, or nil.
#[defun]
fn loaded_state<'e>(env: &'e Env, thread: Value<'e>) -> Result<Option<Value<'e>>> {
    border(env, || {
        let key = read::thread(thread)?;
        let loaded = with_world(|world| world.store.is_loaded(&key));
        Ok(loaded.then(|| write::state(env, with_thread(&key, Thread::state))))
    })
}

/// Load or begin THREAD, which is about the plist ABOUT if it is new.
#[defun]
fn open<'e>(env: &'e Env, thread: Value<'e>, about: Value<'e>) -> Result<()> {
    border(env, || {
        let key = read::thread(thread)?;
        let about = match read::raw(about)?.to_json() {
            Json::Object(fields) => fields,
            _ => Map::new(),
        };
        with_world(|world| {
            world.store.open(&key, about, now());
        });
        Ok(())
    })
}

/// See `todo-write'.
#[defun]
fn write<'e>(env: &'e Env, thread: Value<'e>, input: Value<'e>, source: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let source = read::name("source", source)?;
        let input = read::raw(input)?;
        let outcome = with_world(|world| {
            let plan = match &input {
                Raw::Text(text) => input::read_text(text, &world.input),
                decoded => input::read(decoded, &world.input),
            };
            let keep_completed = world.keep_completed;
            let store = &mut world.store;
            let thread = store.open(&key, Map::new(), now());
            let outcome = match plan {
                Ok(plan) => thread.write(plan, source, keep_completed, now()),
                Err(problems) => thread.refuse(problems, now()),
            };
            if outcome.ok {
                store.set_current(&key);
            }
            outcome
        });
        write::outcome(env, &outcome)
    })
}

/// See `todo-write-edit'; ARGUMENTS is the list of the operation's arguments.
#[defun]
fn edit<'e>(
    env: &'e Env,
    thread: Value<'e>,
    operation: Value<'e>,
    arguments: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let edit = read_edit(operation, &elements("arguments", arguments)?)?;
        write::outcome(env, &with_open(&key, |thread| thread.edit(edit, now()))?)
    })
}

fn read_edit(operation: Value<'_>, arguments: &[Value<'_>]) -> Result<Edit> {
    let id = |value: &Value<'_>| Text::read("id", *value).map(|text| text.0);
    match (read::name("operation", operation)?.as_deref(), arguments) {
        (Some("add"), [text]) => Ok(Edit::Add { content: content(*text)?, position: None }),
        (Some("add"), [text, place]) => Ok(Edit::Add {
            content: content(*text)?,
            position: WholeNumber::read_optional("position", *place)?,
        }),
        (Some("rename"), [item, text]) => Ok(Edit::Rename { id: id(item)?, content: content(*text)? }),
        (Some("status"), [item, to]) => Ok(Edit::Status { id: id(item)?, status: status(*to)? }),
        (Some("move"), [item, place]) => {
            Ok(Edit::Move { id: id(item)?, position: WholeNumber::read("position", *place)? })
        }
        (Some("delete"), [item]) => Ok(Edit::Delete { id: id(item)? }),
        _ => Err(wrong(
            "operation",
            operation,
            "add CONTENT [POSITION], rename ID CONTENT, status ID STATUS, move ID POSITION, or delete ID",
        )),
    }
}

fn content(value: Value<'_>) -> Result<String> {
    let text = Text::read("content", value)?.0;
    let (line, _) = one_line(&text);
    let limit = with_world(|world| world.input.max_length);
    if is_blank(&line) {
        return Err(wrong("content", value, "text that is not blank"));
    }
    if line.chars().count() > limit {
        return Err(wrong("content", value, &format!("at most {limit} characters")));
    }
    Ok(line.into_owned())
}

fn status(value: Value<'_>) -> Result<Status> {
    let name = read::name("status", value)?;
    let status = name.as_deref().and_then(Status::parse);
    status.ok_or_else(|| wrong("status", value, "pending, in_progress or completed"))
}

/// See `todo-write-undo'.
#[defun]
fn undo<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        write::outcome(env, &with_open(&key, |thread| thread.undo(now()))?)
    })
}

/// Pause THREAD for REASON, or resume it when REASON is nil; return its state.
#[defun]
fn pause<'e>(env: &'e Env, thread: Value<'e>, reason: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let reason = if reason.is_not_nil() { Some(Text::read("reason", reason)?.0) } else { None };
        with_world(|world| {
            // Opening a thread that does not exist would begin its journal.
            if let Some(thread) = world.store.get_mut(&key, now()) {
                thread.set_paused(reason, now());
            }
        });
        Ok(write::state(env, with_thread(&key, Thread::state)))
    })
}

/// Say that the agent of THREAD does ACTIVITY: `working', `waiting' or `idle'.
///
/// The time in progress runs only while it works.  Work resumes a paused THREAD.
#[defun]
fn set_activity<'e>(env: &'e Env, thread: Value<'e>, activity: Value<'e>) -> Result<()> {
    border(env, || {
        let key = read::thread(thread)?;
        let name = read::name("activity", activity)?;
        let Some(activity) = name.as_deref().and_then(Activity::parse) else {
            return Err(wrong("activity", activity, "working, waiting or idle"));
        };
        with_world(|world| {
            // A thread that is only on disk is paused when it is loaded.
            let store = &mut world.store;
            let thread = match activity {
                Activity::Working => store.get_mut(&key, now()),
                _ => store.loaded_mut(&key),
            };
            thread.map(|thread| thread.set_activity(activity, now()))
        });
        Ok(())
    })
}

/// End the turn of THREAD's agent; pause THREAD for REASON, a string, if something is open.
#[defun]
fn end_turn<'e>(env: &'e Env, thread: Value<'e>, reason: Value<'e>) -> Result<()> {
    border(env, || {
        let (key, reason) = (read::thread(thread)?, Text::read("reason", reason)?.0);
        with_world(|world| world.store.loaded_mut(&key).map(|thread| thread.end_turn(reason, now())));
        Ok(())
    })
}

/// See `todo-write-state'.
#[defun]
fn state<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || Ok(write::state(env, with_thread(&read::thread(thread)?, Thread::state))))
}

/// See `todo-write-items'.
#[defun]
fn items<'e>(env: &'e Env, thread: Value<'e>, revision: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let revision: Option<u64> = WholeNumber::read_optional("revision", revision)?;
        let list = with_thread(&key, |thread| match revision {
            Some(revision) => thread.list_at(revision),
            None => Ok(thread.list().clone()),
        })?;
        write::vector_of(env, &list, |item| items::item(env, item))
    })
}

/// See `todo-write-item'.
#[defun]
fn item<'e>(env: &'e Env, thread: Value<'e>, id: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (key, id) = (read::thread(thread)?, Text::read("id", id)?.0);
        let item = with_thread(&key, |thread| thread.list().iter().find(|item| item.id == id).cloned());
        item.map(|item| items::item(env, &item)).transpose()?.into_lisp(env)
    })
}

/// See `todo-write-previous-id'.
#[defun]
fn previous_id<'e>(env: &'e Env, thread: Value<'e>, id: Value<'e>) -> Result<Option<String>> {
    border(env, || {
        let (key, id) = (read::thread(thread)?, Text::read("id", id)?.0);
        Ok(with_thread(&key, |thread| {
            let place = thread.list().iter().position(|item| item.id == id)?;
            Some(thread.list().get(place.checked_sub(1)?)?.id.clone())
        }))
    })
}

/// See `todo-write-times'.
#[defun]
fn times<'e>(env: &'e Env, thread: Value<'e>, id: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (key, id) = (read::thread(thread)?, Text::read("id", id)?.0);
        let Some(times) = with_thread(&key, |thread| thread.times(&id).cloned()) else {
            return ().into_lisp(env);
        };
        let intervals =
            write::list_of(env, &times.intervals, |(from, to)| env.cons(*from as i64, *to as i64))?;
        write::Plist::new(env)
            .set(k_created, times.created as i64)?
            .set(k_started, times.started.map(|at| at as i64))?
            .set(k_completed, times.completed.map(|at| at as i64))?
            .set(k_spent, times.spent(now()) as i64)?
            .set(k_running, times.running_since.is_some())?
            .set(k_intervals, intervals)?
            .finish()
    })
}

/// Milliseconds that item ID of THREAD was in progress until now, or nil if there is no such item.
#[defun]
fn spent<'e>(env: &'e Env, thread: Value<'e>, id: Value<'e>) -> Result<Option<i64>> {
    border(env, || {
        let (key, id) = (read::thread(thread)?, Text::read("id", id)?.0);
        Ok(with_thread(&key, |thread| thread.times(&id).map(|times| times.spent(now()) as i64)))
    })
}

/// See `todo-write-summary'.
#[defun]
fn summary<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let summary = with_thread(&read::thread(thread)?, Summary::of);
        // All that show a plan ask for it after each change: they share one object. It is fetched
        // before it is known to fit, since each crossing may collect garbage, and so run hooks
        // that ask for another one.
        let last = env.call(symbol_value, [last_summary.bind(env)])?;
        let like = match LAST_SUMMARY.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(known) if *known == summary => return Ok(last),
            Some(known) if known.plan() == summary.plan() => Some(last),
            _ => None,
        };
        let made = summary.to_lisp(env, like)?;
        env.call(set, [last_summary.bind(env), made])?;
        *LAST_SUMMARY.lock().unwrap_or_else(PoisonError::into_inner) = Some(summary);
        Ok(made)
    })
}

/// What the Lisp variable of that name has in Lisp.
static LAST_SUMMARY: Mutex<Option<Summary>> = Mutex::new(None);

/// Return what `todo-write-summary' returns, without loading THREAD.
#[defun]
fn snapshot<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let summary = with_world(|world| world.store.snapshot(&key).map(Summary::of));
        summary.unwrap_or_else(|| Summary::of(&Thread::new(&key, Map::new(), 1))).to_lisp(env, None)
    })
}

/// What `todo-write-summary' returns.
#[derive(PartialEq)]
struct Summary {
    state: State,
    total: usize,
    completed: usize,
    current: Option<Arc<Item>>,
    title: Option<String>,
    revision: u64,
    reason: Option<String>,
}

impl Summary {
    fn of(thread: &Thread) -> Summary {
        Summary {
            state: thread.state(),
            total: thread.list().len(),
            completed: thread.list().iter().filter(|item| !item.status.is_open()).count(),
            current: thread.current().cloned(),
            title: thread.title().map(str::to_owned),
            revision: thread.revisions().last(),
            reason: thread.pause_reason().map(str::to_owned),
        }
    }

    /// What most writes leave as it is: the end of the plist.
    fn plan(&self) -> (State, usize, Option<&str>, Option<&str>) {
        (self.state, self.total, self.title.as_deref(), self.reason.as_deref())
    }

    /// The plist, with the end of a `like` one if there is one.
    fn to_lisp<'e>(&self, env: &'e Env, like: Option<Value<'e>>) -> Result<Value<'e>> {
        let text = |text: &Option<String>| text.as_ref().map(|text| write::text(env, text)).transpose();
        let plan = match like {
            Some(like) => env.call(nthcdr, (6, like))?,
            None => write::Plist::new(env)
                .set(k_state, write::state(env, self.state))?
                .set(k_total, self.total as i64)?
                .set(k_title, text(&self.title)?)?
                .set(k_reason, text(&self.reason)?)?
                .finish()?,
        };
        let current = self.current.as_ref().map(|item| Form::of(env, item)).transpose()?;
        write::Plist::new(env)
            .set(k_revision, self.revision as i64)?
            .set(k_completed, self.completed as i64)?
            .set(k_current, current.map(|form| form.plist))?
            .finish_before(plan)
    }
}

/// See `todo-write-revisions'.
#[defun]
fn revisions<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let revisions: Vec<_> = with_thread(&key, |thread| thread.revisions().iter().cloned().collect());
        write::list_of(env, &revisions, |revision| write::revision(env, revision))
    })
}

/// See `todo-write-changes-between'.
#[defun]
fn changes_between<'e>(env: &'e Env, thread: Value<'e>, a: Value<'e>, b: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let (a, b) = (WholeNumber::read("revision", a)?, WholeNumber::read("revision", b)?);
        let changes = with_thread(&key, |thread| thread.changes_between(a, b))?;
        write::changes(env, &changes, now())
    })
}

/// Keys of the loaded threads, in no order.
#[defun]
fn loaded<'e>(env: &'e Env) -> Result<Value<'e>> {
    border(env, || {
        let keys: Vec<String> =
            with_world(|world| world.store.loaded().map(|thread| thread.key().to_owned()).collect());
        write::list_of(env, &keys, |key| key.into_lisp(env))
    })
}

/// The threads that have a journal, newest first: plists `:key :about :modified'.
#[defun]
fn kept<'e>(env: &'e Env) -> Result<Value<'e>> {
    border(env, || {
        let kept = with_world(|world| world.store.kept());
        write::list_of(env, &kept, |kept| {
            write::Plist::new(env)
                .set(k_key, &kept.key)?
                .set(k_about, write::json(env, &Json::Object(kept.about.clone()))?)?
                .set(k_modified, kept.modified as i64)?
                .finish()
        })
    })
}

/// See `todo-write-children'.
#[defun]
fn children<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let children = with_world(|world| world.store.children(&key));
        write::list_of(env, &children, |(key, item)| env.cons(key, item.as_deref()))
    })
}

/// What the host said of THREAD when it began, as a plist.
#[defun]
fn about<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let about = with_thread(&read::thread(thread)?, |thread| thread.about().clone());
        write::json(env, &Json::Object(about))
    })
}

/// The key and the item that THREAD works for, as a cons, or nil for no subagent's thread.
#[defun]
fn parent<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let parent = with_thread(&read::thread(thread)?, |thread| {
            thread.parent().map(|(key, item)| (key.to_owned(), item.map(str::to_owned)))
        });
        parent.map(|(key, item)| env.cons(key, item)).transpose()?.into_lisp(env)
    })
}

/// The key of the thread written last, or nil.
#[defun]
fn current(env: &Env) -> Result<Option<String>> {
    border(env, || Ok(with_world(|world| world.store.current().map(str::to_owned))))
}

/// See `todo-write-forget'.
#[defun]
fn forget<'e>(env: &'e Env, thread: Value<'e>) -> Result<()> {
    border(env, || {
        let key = read::thread(thread)?;
        Ok(with_world(|world| world.store.forget(&key))?)
    })
}

/// Delete journals older than DAYS, and the oldest beyond COUNT; nil is no limit.
#[defun]
fn prune<'e>(env: &'e Env, days: Value<'e>, count: Value<'e>) -> Result<i64> {
    border(env, || {
        let days: Option<u32> = WholeNumber::read_optional("days", days)?;
        let count: Option<usize> = WholeNumber::read_optional("count", count)?;
        let age = days.map(|days| Duration::from_secs(u64::from(days) * 86_400));
        Ok(with_world(|world| world.store.prune(age, count))? as i64)
    })
}

/// What the user should hear of the journals, as a list of strings; each is given once.
#[defun]
fn warnings<'e>(env: &'e Env) -> Result<Value<'e>> {
    border(env, || {
        let warnings = with_world(|world| Store::take_warnings(&mut world.store));
        write::list_of(env, &warnings, |warning| warning.into_lisp(env))
    })
}
