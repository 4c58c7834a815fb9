//! Lisp functions of what agents do: hosts report it, and threads and Lisp follow what the reports come to.

use emacs::{Env, Result, Value, defun};
use serde::Serialize;

use super::read::{self, Key, wrong};
use super::ser::Symbol;
use super::threads::{wake, with_thread};
use super::{Module, now, serialized, with_module};
use crate::events::Millis;
use crate::reports::{Decision, Doing, Report, Rest, Source, Weight, What};
use crate::thread::activity::Ending;
use crate::thread::{State, Thread};

/// What reports changed of a thread, for its listeners.
#[derive(Default, Serialize)]
pub(super) struct Changed {
    pub(super) thread: String,
    /// The state, if it changed or another ending replaced that of the turn.
    pub(super) state: Symbol<Option<State>>,
    /// Whether its agent does something else.
    #[serde(rename = "transition")]
    pub(super) is_transition: bool,
    warnings: Vec<String>,
}

impl Changed {
    /// Whether nobody needs to hear of it.
    pub(super) fn is_empty(&self) -> bool {
        self.state.0.is_none() && !self.is_transition && self.warnings.is_empty()
    }
}

impl Module {
    /// Takes what a source says of the agent of a thread, and lets the thread follow what all of them say.
    pub(super) fn report(&mut self, key: &str, source: Source, report: Option<Report>) -> Changed {
        self.reports.report(key, source, report);
        self.follow_reports(key)
    }

    /// Lets a thread follow what was reported of its agent.
    pub(super) fn follow_reports(&mut self, key: &str) -> Changed {
        let mut changed = Changed { thread: key.to_owned(), ..Changed::default() };
        let Some(step) = self.reports.step(key) else { return changed };
        changed.is_transition = step.is_transition;
        let is_work = step.decision.as_ref().is_some_and(Decision::is_work);
        // The agent of a thread that this Emacs does not use has stopped.
        if let Some(thread) = self.store.get_mut(key) {
            let before = (thread.state(), thread.ending());
            let has_open_items = matches!(before.0, State::Active | State::Paused);
            let activity = step.applied(thread.agent_activity(), has_open_items);
            let time = step.decision.filter(|_| !is_work).map(|decision| decision.since);
            let time = ended_at(thread, time);
            thread.change(|thread| thread.change_activity(activity, time));
            let after = (thread.state(), thread.ending());
            let is_told = before.0 != after.0 || Ending::is_replaced(before.1, after.1);
            changed.state = Symbol(is_told.then_some(after.0));
        }
        changed.warnings = self.store.take_warnings();
        changed
    }
}

/// When work on `thread` ended that was last known at `time`: not before what the thread knows, nor in
/// the future. Without a time, it ended now.
fn ended_at(thread: &Thread, time: Option<Millis>) -> Millis {
    time.map_or_else(now, |time| time.max(thread.last_time()).min(now()))
}

/// Report the activity of THREAD's agent for its host: `working', `waiting', `failed' or nil.
///
/// REASON is a string or nil.  INFERRED non-nil means that it is a guess.  TIME is when it began, in
/// milliseconds since the epoch, by default now.  The value is a plist: `:thread'; `:state', the state of
/// THREAD if that changed or its ending was replaced, else nil; `:transition', t if its agent does
/// something else than before; `:warnings', strings for the user.
#[defun]
fn set_activity<'e>(
    env: &'e Env,
    thread: Key,
    activity: Value<'e>,
    reason: Value<'e>,
    inferred: Value<'e>,
    time: Value<'e>,
) -> Result<Value<'e>> {
    serialized(env, || {
        let reason = read::optional("reason", reason, read::text)?;
        let time = read::optional("time", time, read::whole_number)?.unwrap_or_else(now);
        let is_inferred = inferred.is_not_nil();
        let (what, weight) = match read::name("activity", activity)?.as_deref() {
            Some("working") => (What::Working, Weight::State),
            Some("waiting") => (What::Waiting, Weight::State),
            Some("failed") => (What::Rest(Rest { has_failed: true, ..Rest::default() }), Weight::Event),
            None if is_inferred => (What::Unknown, Weight::Guess),
            None => (What::Rest(Rest::default()), Weight::Event),
            _ => return Err(wrong("activity", activity, "working, waiting, failed or nil")),
        };
        let weight = if is_inferred { Weight::Guess } else { weight };
        // The agent of a thread on disk has stopped, so only work needs to load it.
        if what == What::Working && !is_inferred {
            wake(env, &thread)?;
        }
        let report = Report::new(what, weight, time).because(reason);
        Ok(with_module(|module| module.report(&thread, Source::Host, Some(report))))
    })
}

/// Report for its host that the turn of THREAD's agent ended.
///
/// REASON is a string or nil.  FAILED non-nil means that it is an error.  ENDING is how it ended:
/// `end-of-turn', `session-ended', `killed', `denied', `error', or nil if that follows from FAILED.  The
/// value is as from `todo-write-dyn--set-activity'.
#[defun]
fn end_turn<'e>(
    env: &'e Env,
    thread: Key,
    reason: Value<'e>,
    failed: Value<'e>,
    ending: Option<Ending>,
) -> Result<Value<'e>> {
    serialized(env, || {
        let reason = read::optional("reason", reason, read::text)?;
        let has_failed = failed.is_not_nil();
        let ending = ending.unwrap_or(if has_failed { Ending::Error } else { Ending::EndOfTurn });
        let rest = Rest { has_failed, ..Rest::end(Some(ending)) };
        let report = Report::new(What::Rest(rest), Weight::Event, now()).because(reason);
        Ok(with_module(|module| module.report(&thread, Source::Host, Some(report))))
    })
}

/// Report what the program that serves THREAD's agent says of it, or that nothing is heard of that program.
///
/// WORD is a string:
/// - "call": the agent called the tool, so that it works.
/// - "working", "waiting" for REASON, "suspended" or "idle": the program says so until it says
///   something else.
/// - "failed": the turn ended by an error, REASON.
/// - "unknown": nobody can tell.
/// - "lost": the connection is lost, and the time of THREAD stops; with REASON, it is paused.
/// - "ended": the session ended for REASON, by ENDING, as for `todo-write-dyn--end-turn'.
/// - "left": the user left the session for another one, for REASON.
///
/// PROCESS is the id of that program on this machine, or nil.  The value is as from `todo-write-dyn--set-activity'.
#[defun]
fn report_program<'e>(
    env: &'e Env,
    thread: Key,
    word: Value<'e>,
    reason: Value<'e>,
    ending: Option<Ending>,
    process: Value<'e>,
) -> Result<Value<'e>> {
    serialized(env, || {
        let reason = read::optional("reason", reason, read::text)?;
        let process = read::optional("process", process, read::whole_number)?;
        let left = Rest { is_left: true, ..Rest::end(Some(Ending::SessionEnded)) };
        let (what, weight) = match read::text("word", word)?.as_str() {
            "call" => (What::Working, Weight::Event),
            "working" => (What::Working, Weight::State),
            "waiting" => (waiting(reason.as_deref()), Weight::State),
            "suspended" => (What::Suspended, Weight::State),
            "idle" => (What::Rest(Rest::end(Some(Ending::EndOfTurn))), Weight::State),
            "failed" => {
                (What::Rest(Rest { has_failed: true, ..Rest::end(Some(Ending::Error)) }), Weight::State)
            }
            "unknown" => (What::Unknown, Weight::Guess),
            "lost" => (What::Lost, Weight::Guess),
            "ended" => (What::Rest(Rest::end(ending)), Weight::Event),
            "left" => (What::Rest(left), Weight::Event),
            _ => return Err(wrong("word", word, "one that is documented")),
        };
        if what == What::Working {
            wake(env, &thread)?;
        }
        let report = Report::new(what, weight, now()).because(reason).of_process(process);
        Ok(with_module(|module| module.report(&thread, Source::Bridge, Some(report))))
    })
}

/// What a process says that waits for this. Claude Code waits for "dialog open" also if the user opened
/// that between two turns, such as the one of /model.
pub(super) fn waiting(reason: Option<&str>) -> What {
    if reason == Some("dialog open") { What::Dialog { rested: None } } else { What::Waiting }
}

/// Report that THREAD's agent waits for a request of this TITLE, or for none if that is nil.
///
/// TURN non-nil means that its host asks, so that a turn runs.  PROCESS is the id of the process on this
/// machine that asks, or nil.  The value is as from `todo-write-dyn--set-activity'.
#[defun]
fn report_request<'e>(
    env: &'e Env,
    thread: Key,
    title: Value<'e>,
    turn: Value<'e>,
    process: Value<'e>,
) -> Result<Value<'e>> {
    serialized(env, || {
        let title = read::optional("title", title, read::text)?;
        let process = read::optional("process", process, read::whole_number)?;
        let waits = Report::new(What::Waiting, Weight::State, now()).of_process(process);
        let asked = title.map(|title| waits.because(Some(title)));
        let is_of_host = turn.is_not_nil();
        Ok(with_module(|module| {
            let host = module.reports.last(&thread, Source::Host);
            if is_of_host && !host.is_some_and(Report::is_of_turn) {
                let works = Report::new(What::Working, Weight::Event, now());
                module.reports.report(&thread, Source::Host, Some(works));
            }
            module.report(&thread, Source::Request, asked)
        }))
    })
}

/// Note that THREAD's agent, which failed, has written its list.
///
/// The value is as from `todo-write-dyn--set-activity'.
#[defun]
fn clear_failure(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        Ok(with_module(|module| {
            module.reports.clear_failure(&thread);
            // The write has resumed the thread.
            let step = module.reports.step(&thread);
            let is_transition = step.is_some_and(|step| step.is_transition);
            Changed { thread: thread.to_string(), is_transition, ..Changed::default() }
        }))
    })
}

/// What an agent does.
#[derive(Serialize)]
struct ShownActivity {
    activity: Symbol<Option<&'static str>>,
    reason: Option<String>,
    inferred: bool,
    since: Millis,
    left: bool,
    process: Option<u32>,
    background: u32,
}

/// Return what the agent of THREAD does, a plist, or nil if nothing was reported.
///
/// Its keys are
/// - `:activity': `working', `waiting', `failed', `suspended', or nil for an idle one and one of which
///   nobody can tell
/// - `:reason': what it waits for, why it failed, or a line about an idle one, or nil
/// - `:inferred': t if that is a guess
/// - `:since': when it began, in milliseconds since the epoch
/// - `:left': t if the user left the session for another one
/// - `:process': the id of its process on this machine, or of one that it started, or nil
/// - `:background': how many commands and subagents still run in the background of an idle one.
#[defun]
fn activity(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        let (decision, process) = with_module(|Module { reports, .. }| {
            (reports.decision(&thread).cloned(), reports.process(&thread))
        });
        let Some(decision) = decision else { return Ok(None) };
        let name = match decision.doing {
            Doing::Working => Some("working"),
            Doing::Waiting => Some("waiting"),
            Doing::Failed => Some("failed"),
            Doing::Suspended => Some("suspended"),
            Doing::Idle | Doing::Unknown => None,
        };
        let Decision { reason, is_inferred, since, is_left, background, .. } = decision;
        let (activity, inferred, left) = (Symbol(name), is_inferred, is_left);
        Ok(Some(ShownActivity { activity, reason, inferred, since, left, process, background }))
    })
}

/// Return the word for what the agent of THREAD does that users read.
///
/// It is `working', `waiting', `failed', `suspended', `rest' or `unknown'.  A guess that it waits or
/// failed is unknown.
#[defun]
fn agent_activity(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        let state = with_thread(env, &thread, Thread::state)?;
        with_module(|module| {
            let decision = module.reports.decision(&thread);
            Ok(Symbol(match decision.map(|one| (one.doing, one.is_inferred)) {
                Some((Doing::Working, _)) => "working",
                Some((_, true)) => "unknown",
                Some((Doing::Waiting, _)) => "waiting",
                Some((Doing::Failed, _)) => "failed",
                Some((Doing::Suspended, _)) => "suspended",
                Some((Doing::Idle, _)) => "rest",
                // Its host says nothing of turns.
                None if matches!(state, State::Done | State::Paused) => "rest",
                _ => "unknown",
            }))
        })
    })
}

/// Return the keys of the threads whose agents reported what they do, in no order.
#[defun]
fn reported(env: &Env) -> Result<Value<'_>> {
    serialized(env, || Ok(with_module(|module| module.reports.keys().map(str::to_owned).collect::<Vec<_>>())))
}
