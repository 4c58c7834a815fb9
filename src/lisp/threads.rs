//! Lisp functions that read and change threads.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use emacs::{Env, Result};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::function::{Object, lisp};
use super::read::{Input, Key};
use super::ser::{Sparse, Vector};
use super::shown::{self, PlanOutcome, ShownItem, ShownRevision, ShownSummary, ShownTimes};
use super::{Module, de, now, with_module};
use crate::events::Millis;
use crate::journal::segments::Span;
use crate::journal::store::Changed;
use crate::journal::summary::KeptPlan;
use crate::list::input;
use crate::list::raw::Raw;
use crate::named::Name;
use crate::program::Identity;
use crate::recorder::open_item_like;
use crate::thread::summary::Summary;
use crate::thread::{Call, EMACS, Edit, Outcome, State, Thread, WriteOptions};

emacs::use_symbols! {
    project => "todo-write--project"
    emacs_lives => "todo-write--emacs-lives-p"
}

const UNSEEN: &str = "unseen";
const REFUSED: &str = "refused";

/// Finds out whether the Emacs lives that wrote a thread which was read just now.
fn settle(env: &Env, key: &str) -> Result<()> {
    if let Some(emacs) = with_module(|module| module.store.unsettled(key))? {
        let lives = env.call(emacs_lives, (emacs,))?.is_not_nil();
        with_module(|module| module.store.settle(key, lives));
    }
    Ok(())
}

/// Calls `work` with a thread, which is empty if it does not exist.
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
    with_module(|module| match module.store.spanning(key, span)? {
        Some(thread) => Ok(work(thread)),
        None => Ok(work(&Thread::new(key, Map::new(), 1))),
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
        let root: String = de::from_lisp("project", env.call(project, [])?)?;
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

/// Changes a thread and returns the outcome.
fn change(env: &Env, key: &str, work: impl FnOnce(&mut Module) -> Result<Outcome>) -> Result<PlanOutcome> {
    load(env, key, Map::new())?;
    with_module(|module| {
        let outcome = work(module)?;
        let thread = module.open(key);
        let summary = ShownSummary::of(Summary::of(thread), thread.is_unsaved());
        Ok(shown::outcome(outcome, summary, module.store.take_warnings()))
    })
}

/// The revisions that begin a list in place of another one.
pub(super) fn replacements(thread: &Thread) -> HashSet<u64> {
    thread.revisions().lists().iter().skip(1).map(|(first, _)| *first).collect()
}

/// What is asked of the item `id` of a thread, or of each of its list, after the ids of those that have it.
pub(super) fn of_items<T>(
    thread: &Thread,
    id: Option<String>,
    ask: impl Fn(&str) -> Option<T>,
) -> Vec<(String, T)> {
    let listed = || thread.list().iter().map(|item| item.id.clone()).collect();
    let ids: Vec<String> = id.map_or_else(listed, |id| vec![id]);
    ids.into_iter().filter_map(|id| Some((id.clone(), ask(&id)?))).collect()
}

/// A plan that has a journal.
#[derive(Serialize)]
struct ShownKept {
    key: String,
    about: Map<String, Json>,
    modified: Millis,
    new: usize,
    plan: Sparse<ShownSummary>,
}

lisp! { env =>
    /// Load THREAD from its journal, or create it, unless it is in memory.
    ///
    /// ABOUT is a plist of strings, the properties of a new thread; `:project' defaults to the current
    /// project.  The value is a list of strings, warnings for the user.
    fn open(thread: Key, about: Option<HashMap<String, String>>) -> Vec<String> {
        let about: Map<_, _> =
            about.unwrap_or_default().into_iter().map(|(key, text)| (key, text.into())).collect();
        load(env, &thread, about)?;
        with_module(|module| module.store.take_warnings())
    }

    /// See `todo-write-plan-write'.
    fn write(
        thread: Key,
        input: Input,
        source: Option<Name>,
        unanswered: bool,
        call: Option<Call>,
    ) -> PlanOutcome {
        change(env, &thread, |module| {
            if let Some(outcome) = call.as_ref().and_then(|call| module.open(&thread).answered(call, now())) {
                return Ok(outcome);
            }
            let options = &module.settings.input;
            let plan = match &input.0 {
                Raw::Text(text) => input::read_text(text, options),
                decoded => input::read(decoded, options),
            };
            let plan = match plan {
                Ok(plan) => plan,
                Err(problems) => {
                    return Ok(module.open(&thread).change(|thread| thread.refuse(problems, now())));
                }
            };
            module.store.agents.go_on(&thread);
            let options = WriteOptions {
                source: source.map(|Name(source)| source),
                keep_completed: module.settings.keep_completed,
                is_unanswered: unanswered,
                call,
                beside: None,
            };
            Ok(module.open(&thread).change(|thread| thread.write(plan, options, now())))
        })?
    }

    /// Note that CALL of THREAD, a plist as for `todo-write-plan-write', was answered with TEXT.
    fn note_answer(thread: Key, call: Call, text: String) {
        with_module(|module| {
            module.open(&thread).change(|thread| thread.note_call(call, &text, now()));
        })
    }

    /// See `todo-write-edit'.  OPERATION is a list (OPERATION . ARGS) of its arguments.
    fn edit(thread: Key, operation: Edit) -> PlanOutcome {
        let edit = operation.normalized(with_module(|module| module.settings.input.max_length))?;
        change(env, &thread, |module| Ok(module.open(&thread).change(|thread| thread.edit(edit, now()))?))?
    }

    /// See `todo-write-undo'.
    fn undo(thread: Key) -> PlanOutcome {
        change(env, &thread, |module| Ok(module.open(&thread).change(|thread| thread.undo(now()))?))?
    }

    /// Pause THREAD for REASON, a string, or resume it when REASON is nil.
    ///
    /// The value is as from `todo-write-dyn--set-activity'.
    fn pause(thread: Key, reason: Option<String>) -> Changed {
        if reason.is_none() {
            wake(env, &thread)?;
        }
        let before = with_thread(env, &thread, Thread::state)?;
        let had_failed = with_module(|module| {
            let had_failed = reason.is_none() && module.store.agents.go_on(&thread);
            if let Some(plan) = module.store.get_mut(&thread) {
                plan.change(|thread| thread.set_paused(reason, now()));
            }
            had_failed
        });
        let is_changed = with_thread(env, &thread, Thread::state)? != before || had_failed;
        let warnings = with_module(|module| module.store.take_warnings());
        Changed { thread: thread.to_string(), is_changed, warnings, ..Changed::default() }
    }

    /// See `todo-write-state'.
    fn state(thread: Key) -> State {
        with_thread(env, &thread, Thread::state)?
    }

    /// See `todo-write-items'.
    fn items(thread: Key, revision: Option<u64>) -> Vector<Sparse<Vec<ShownItem>>> {
        let span = |thread: &Thread| {
            let revision = revision.unwrap_or(thread.revisions().last());
            Span::Revisions(revision, revision)
        };
        let list = with_span(env, &thread, span, |thread| match revision {
            Some(revision) => thread.list_at(revision),
            None => Ok(thread.list().clone()),
        })??;
        Vector(shown::items(&list))
    }

    /// See `todo-write-item'.
    fn item(thread: Key, id: String) -> Option<Sparse<ShownItem>> {
        with_thread(env, &thread, |thread| {
            let item = thread.list().iter().find(|item| item.id == id);
            item.map(|item| Sparse(ShownItem::from(item)))
        })?
    }

    /// Return the id of THREAD's open item that is most similar to TEXT, or nil.
    fn item_like(thread: Key, text: String) -> Option<String> {
        with_thread(env, &thread, |thread| open_item_like(thread.list(), &text))?
    }

    /// Return t if the results of its writes reach the agent of THREAD, as that of the last one did.
    fn answered_p(thread: Key) -> bool {
        with_thread(env, &thread, |thread| thread.is_answered())?
    }

    /// Return the user's edits that the agent of THREAD was not told of, a list of sentences.
    ///
    /// It is nil if the agent is told by the results of its writes.
    fn untold_edits(thread: Key) -> Vec<String> {
        with_thread(env, &thread, |thread| thread.untold_edits())?
    }

    /// Return what `untold-edits' does, of which the agent of THREAD is told now.
    fn take_untold(thread: Key) -> Option<Vec<String>> {
        wake(env, &thread)?;
        with_module(|module| Some(module.store.get_mut(&thread)?.change(Thread::take_untold)))
    }

    /// See `todo-write-times'.  The value is an alist, also for one ID.
    fn times(thread: Key, id: Option<String>) -> Vec<(String, ShownTimes)> {
        with_thread(env, &thread, |thread| {
            of_items(thread, id, |id| thread.times(id).map(ShownTimes::from))
        })?
    }

    /// Return the `:spent' of `todo-write-times' for item ID of THREAD, or nil.
    fn spent(thread: Key, id: String) -> Option<Millis> {
        with_thread(env, &thread, |thread| thread.times(&id).map(|times| times.spent(now())))?
    }

    /// Keep in the journal of THREAD what its user has not seen of its agent.
    ///
    /// UNSEEN is non-nil for its result, and REFUSED is the number of its refused calls.
    fn keep_unseen(thread: Key, unseen: bool, refused: usize) {
        let unseen = if unseen { true.into() } else { Json::Null };
        let refused = if refused > 0 { refused.into() } else { Json::Null };
        with_module(|module| {
            if let Some(plan) = module.store.get_mut(&thread) {
                plan.change(|thread| {
                    thread.describe(UNSEEN, unseen, now());
                    thread.describe(REFUSED, refused, now());
                });
            }
        })
    }

    /// Try again to save the threads that could not be saved.
    ///
    /// The value is a cons of two lists of keys: of the threads that are saved now, and of those that still
    /// are not.
    fn save_again() -> (Vec<String>, Vec<String>) {
        with_module(|module| {
            let mut saved: Vec<String> = module.store.unsaved().map(str::to_owned).collect();
            let unsaved = module.store.save_again();
            saved.retain(|key| !unsaved.contains(key));
            (saved, unsaved)
        })
    }

    /// See `todo-write-summary'.
    fn summary(thread: Key) -> Sparse<ShownSummary> {
        summary_of(env, &thread).map(Sparse)?
    }

    /// See `todo-write-revisions'.
    fn revisions(thread: Key) -> Vec<ShownRevision> {
        with_span(env, &thread, |_| Span::WHOLE, |thread| {
            let starts = replacements(thread);
            thread.revisions().iter().map(|revision| ShownRevision::of(revision, &starts)).collect()
        })?
    }

    /// See `todo-write-changes-between'.
    fn changes_between(thread: Key, a: u64, b: u64) -> Object<'_> {
        let span = |_: &Thread| Span::Revisions(a.min(b), a.max(b));
        let changes = with_span(env, &thread, span, |thread| thread.changes_between(a, b))??;
        shown::changes_by_kind::<_, ShownItem>(env, &changes, &[], now())?
    }

    /// Return t if THREAD is in memory or has a journal.
    fn exists(thread: Key) -> bool {
        with_module(|module| module.store.exists(&thread))
    }

    /// Take what other Emacsen changed of THREAD.
    fn refresh(thread: Key) {
        with_module(|module| module.store.refresh(&thread))
    }

    /// Return t if this Emacs uses THREAD.
    fn loaded_p(thread: Key) -> bool {
        with_module(|module| module.store.is_used(&thread))
    }

    /// See `todo-write-threads-loaded'.
    fn loaded() -> Vec<String> {
        with_module(|module| module.store.loaded().map(|thread| thread.key().to_owned()).collect())
    }

    /// Return the plans that have a journal, newest first, as for `todo-write-threads-kept'.
    ///
    /// The value is a cons.  Its cdr is the number of those of which an old state is shown, since at most MOST
    /// journals are read; the others tell in a small file what is shown of them.
    fn kept(most: usize) -> (Vec<ShownKept>, usize) {
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
            kept.into_iter().map(|KeptPlan { key, about, modified, summary, new, .. }| ShownKept {
                new,
                plan: Sparse(ShownSummary::of(summary, false)),
                key,
                about,
                modified,
            });
        (shown.collect(), old)
    }

    /// Write what lists show of plans to small files, so that they need no journals.
    fn summarize() {
        with_module(|module| module.store.summarize())
    }

    /// See `todo-write-children'.
    fn children(thread: Key) -> Vec<(String, Option<String>)> {
        with_module(|module| module.store.children(&thread))
    }

    /// See `todo-write-about'.
    fn about(thread: Key) -> Map<String, Json> {
        let mut about = with_thread(env, &thread, |thread| thread.about().clone())?;
        let Identity { machine, program, session, subagent, .. } = Identity::of(&thread);
        let said =
            [("machine", machine), ("program", program), ("session", session), ("subagent", subagent)];
        about.extend(said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))));
        about
    }

    /// See `todo-write-parent'.
    fn parent(thread: Key) -> Option<(String, Option<String>)> {
        with_thread(env, &thread, |thread| {
            thread.parent().map(|(key, item)| (key.to_owned(), item.map(str::to_owned)))
        })?
    }

    /// See `todo-write-current-thread'.
    fn current(folder: Option<String>) -> Option<String> {
        with_module(|module| {
            let here = folder.and_then(|folder| module.store.current(Some(&folder)));
            here.or_else(|| module.store.current(None)).map(str::to_owned)
        })
    }

    /// See `todo-write-forget'.
    fn forget(thread: Key) {
        with_module(|module| module.store.forget(&thread))?
    }

    /// Delete journals older than DAYS, or none if it is nil; return the number deleted.
    ///
    /// Journals of threads in memory stay.
    fn prune(days: Option<u32>) -> usize {
        let age = days.map(|days| Duration::from_secs(u64::from(days) * 86_400));
        with_module(|module| age.map_or(Ok(0), |age| module.store.prune(age)))?
    }
}
