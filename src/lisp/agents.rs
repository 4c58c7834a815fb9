//! Lisp functions of agents, their programs and processes: hosts and programs tell facts of agents, and Lisp asks
//! what they do.

use std::collections::BTreeSet;

use emacs::{Env, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::function::lisp;
use super::read::Key;
use super::ser::Sparse;
use super::shown::ShownSummary;
use super::threads::{summary_of, wake, with_thread};
use super::{now, with_module};
use crate::error::{Error, Problem};
use crate::events::Millis;
use crate::followed::waiting;
use crate::journal::store::Changed;
use crate::pid::{self, ProcessState};
use crate::program::{Identity, Program};
use crate::thread::activity::{By, Decision, Doing, End, Ending, Fact, Facts, Process, Reported, Turn};
use crate::thread::{State, Thread};

/// Tells what happened in the turn of an agent by its host. The agent of a thread on disk has stopped, so only work
/// needs to load that.
fn tell_turn(env: &Env, key: &str, what: Turn) -> Result<Changed> {
    if matches!(what, Turn::Runs(_)) {
        wake(env, key)?;
    }
    let fact = Fact::Turn(Reported::new(what, By::Host, now()));
    Ok(with_module(|module| module.store.tell(key, [fact], now())))
}

fn failed(ending: Option<Ending>, reason: Option<String>) -> Turn {
    Turn::Over(End { has_failed: true, ..End::new(ending.unwrap_or(Ending::Error), reason) })
}

/// What a program says of its agent.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Call,
    Working,
    Waiting,
    Suspended,
    Idle,
    Failed,
    Unknown,
    Lost,
    Ended,
    Left,
}

/// What an agent does.
#[derive(PartialEq, Serialize)]
struct ShownActivity {
    activity: Option<Doing>,
    reason: Option<String>,
    inferred: bool,
    since: Millis,
    left: bool,
    process: Option<u32>,
    background: u32,
}

impl ShownActivity {
    fn of(decision: Decision, process: Option<u32>) -> ShownActivity {
        let Decision { doing, reason, since, is_left: left, background, is_guess, .. } = decision;
        let activity = Some(doing).filter(|doing| !matches!(doing, Doing::Idle | Doing::Unknown));
        let inferred = is_guess || doing == Doing::Unknown;
        ShownActivity { activity, reason, inferred, since, left, process, background }
    }

    /// What the reports come to, if there are any.
    fn reported(key: &str) -> Option<ShownActivity> {
        with_module(|module| {
            let agents = &module.store.agents;
            let process = agents.facts(key).and_then(Facts::pid);
            Some(ShownActivity::of(agents.decision(key)?.clone(), process))
        })
    }
}

/// What an agent is told with of the description of its thread. It is asked for after each change.
const ABOUT: [&str; 5] = ["agent", "project", "unattended", "unseen", "refused"];

/// An agent.
#[derive(PartialEq, Serialize)]
pub(super) struct ShownAgent {
    does: ShownActivity,
    about: Map<String, Json>,
    plan: Sparse<ShownSummary>,
    new: usize,
    refused: usize,
}

impl ShownAgent {
    /// The agent of a thread, if it has one and is no subagent.
    fn of(env: &Env, thread: &str, seen: Millis) -> Result<Option<ShownAgent>> {
        let reported = ShownActivity::reported(thread);
        let (state, about, new, refused, last) = with_thread(env, thread, |thread| {
            let is_told = |(key, _): &(&String, &Json)| ABOUT.contains(&key.as_str());
            let told = thread.about().iter().filter(is_told).map(|(key, value)| (key.clone(), value.clone()));
            let about = thread.parent().is_none().then(|| told.collect::<Map<_, _>>());
            let (new, refused) = (thread.review.unseen_files(), thread.refused_after(seen));
            (thread.state(), about, new, refused, thread.last_time())
        })?;
        // A process may work for a moment in a session in which nothing was asked.
        let is_one =
            |about: &Map<_, _>| reported.is_some() || about.contains_key("agent") || state != State::Empty;
        let Some(about) = about.filter(is_one) else { return Ok(None) };
        let mut does = reported.unwrap_or_else(|| {
            // Its host says nothing of turns.
            let is_at_rest = matches!(state, State::Done | State::Paused);
            let doing = if is_at_rest { Doing::Idle } else { Doing::Unknown };
            ShownActivity::of(Decision::new(doing, last), None)
        });
        if does.inferred && does.activity != Some(Doing::Working) {
            does.activity = Some(Doing::Unknown);
        }
        let plan = Sparse(summary_of(env, thread)?);
        Ok(Some(ShownAgent { does, about, plan, new, refused }))
    }
}

lisp! { env =>
    /// Report the ACTIVITY of THREAD's agent for its host: `working', `waiting', `failed' or nil.
    ///
    /// REASON is a string or nil.  INFERRED non-nil means that it is a guess.  The value is a plist: `:thread'; `:changed', t if the state of
    /// THREAD changed or its ending was replaced; `:transition', t if its agent does something else than before;
    /// `:warnings', strings for the user.
    fn set_activity(
        thread: Key,
        activity: Option<Doing>,
        reason: Option<String>,
        inferred: bool,
    ) -> Changed {
        let what = match activity {
            None if inferred => Turn::Unknown,
            None => Turn::Idle,
            Some(doing @ (Doing::Working | Doing::Waiting | Doing::Failed)) if inferred => {
                Turn::Guess(doing, reason)
            }
            Some(Doing::Working) => Turn::Runs(reason),
            Some(Doing::Waiting) => Turn::Waits(reason),
            Some(Doing::Failed) => Turn::Failed(reason),
            Some(other) => {
                let problem = Problem::new("activity", other.as_str(), "working, waiting, failed or nil");
                return Err(Error::Argument(problem).into());
            }
        };
        tell_turn(env, &thread, what)?
    }

    /// Report for its host that the turn of THREAD's agent ended.
    ///
    /// REASON is a string or nil.  ERROR non-nil means that it failed.  ENDING is how it ended: `end-of-turn',
    /// `session-ended', `killed', `denied', `error', or nil if that follows from ERROR.  The value is as from
    /// `todo-write-dyn--set-activity'.
    fn end_turn(thread: Key, reason: Option<String>, error: bool, ending: Option<Ending>) -> Changed {
        let over = if error {
            failed(ending, reason)
        } else {
            Turn::Over(End::new(ending.unwrap_or(Ending::EndOfTurn), reason))
        };
        tell_turn(env, &thread, over)?
    }

    /// Report what the program that serves THREAD's agent says of it, or that nothing is heard of that program.
    ///
    /// WORD is a string:
    /// - "call": the agent called the tool, so that it works; what its program said before counts no more.
    /// - "working", as REASON says, "waiting" for REASON, "suspended" or "idle": the program says so until it says
    ///   something else.
    /// - "failed": the turn ended by an error, REASON.
    /// - "unknown": it is not known what the agent does.
    /// - "lost": the connection is lost, and the time of THREAD stops; with REASON, it is paused.
    /// - "ended": the session ended for REASON, by ENDING, as for `todo-write-dyn--end-turn'; or the turn did.
    /// - "left": the user left the session for another one, for REASON.
    ///
    /// PROCESS is the id of that program on this machine, or nil.  The value is as from `todo-write-dyn--set-activity'.
    fn report_program(
        thread: Key,
        word: Word,
        reason: Option<String>,
        ending: Option<Ending>,
        process: Option<u32>,
    ) -> Changed {
        let idle = Process::Idle { has_commands: false };
        let end = End::new(ending.unwrap_or(Ending::SessionEnded), reason.clone());
        let (does, turn) = match word {
            Word::Call => (Some(Process::Unknown), Some(Turn::Runs(None))),
            Word::Working => (Some(Process::Busy), Some(Turn::Runs(reason))),
            Word::Waiting => (Some(waiting(reason.as_deref(), reason.clone())), None),
            Word::Suspended => (Some(Process::Stopped), None),
            Word::Idle => (Some(idle), None),
            Word::Failed => (Some(idle), Some(failed(None, reason))),
            Word::Unknown => (Some(Process::Unknown), Some(Turn::Unknown)),
            Word::Lost => (Some(Process::Lost(reason)), Some(Turn::Unknown)),
            Word::Ended if ending == Some(Ending::EndOfTurn) => (None, Some(Turn::Over(end))),
            Word::Ended => (Some(Process::Gone(end)), None),
            Word::Left => (Some(Process::Gone(End { is_left: true, ..end })), None),
        };
        if does == Some(Process::Busy) || turn == Some(Turn::Runs(None)) {
            wake(env, &thread)?;
        }
        let does = does.map(|what| Fact::Process(Reported::new(what, By::Program, now())));
        let turn = turn.map(|what| Fact::Turn(Reported::new(what, By::Program, now())));
        let facts = [Fact::Pid(By::Program, process)].into_iter().chain(does).chain(turn);
        with_module(|module| module.store.tell(&thread, facts, now()))
    }

    /// Report that THREAD's agent waits for a request of this TITLE, or for none if that is nil.
    ///
    /// TURN non-nil means that its host asks, so that a turn runs.  PROCESS is the id of the process on this
    /// machine that asks, or nil.  The value is as from `todo-write-dyn--set-activity'.
    fn report_request(thread: Key, title: Option<String>, turn: bool, process: Option<u32>) -> Changed {
        let runs = turn.then(|| Fact::Turn(Reported::new(Turn::Runs(None), By::Program, now())));
        let asked = Fact::Request(title.map(|title| Reported::new((title, process), By::Program, now())));
        with_module(|module| module.store.tell(&thread, runs.into_iter().chain([asked]), now()))
    }

    /// Return what the agent of THREAD does, a plist, or nil if nothing was reported.
    ///
    /// Its keys are
    /// - `:activity': `working', `waiting', `failed', `suspended', or nil for an idle one and if it is not known
    /// - `:reason': what it waits for, why it failed, or a line about an idle one, or nil
    /// - `:inferred': t if that is a guess
    /// - `:since': when it began, in milliseconds since the epoch
    /// - `:left': t if the user left the session for another one
    /// - `:process': the id of its process on this machine, or of one that it started, or nil
    /// - `:background': how many commands and subagents still run in the background of an idle one.
    fn activity(thread: Key) -> Option<ShownActivity> {
        ShownActivity::reported(&thread)
    }

    /// Return the agent of THREAD, a plist, or nil if there is none or it is a subagent.
    ///
    /// SEEN is a time in milliseconds.  The keys are
    /// - `:does': as from `todo-write-dyn--activity', but its `:activity' is `unknown' where that is not known, or only
    ///   guessed that it waits or failed; without a report, its `:since' is the time of the last write
    /// - `:about', some keys of `todo-write-about': `:agent', `:project', `:unattended', `:unseen' and `:refused'
    /// - `:plan', as from `todo-write-summary'
    /// - `:new': the number of files that were not reviewed
    /// - `:refused': the number of calls that were refused after SEEN.
    fn agent(thread: Key, seen: Millis) -> Option<ShownAgent> {
        ShownAgent::of(env, &thread, seen)?
    }

    /// Return t if there is no agent of THREAD, or if it or SEEN is another one than at the last call.
    ///
    /// Asking for it after each event would make a plist each time, and most events change nothing of it.
    fn agent_changed_p(thread: Key, seen: Millis) -> bool {
        let agent = ShownAgent::of(env, &thread, seen)?.map(|agent| (seen, agent));
        with_module(|module| {
            let shown = module.shown_agents.entry(thread.to_string()).or_default();
            let is_changed = agent.is_none() || *shown != agent;
            *shown = agent;
            is_changed
        })
    }

    /// Return the keys of the threads that may have agents: those in memory, and those whose agents are known.
    fn agent_keys() -> BTreeSet<String> {
        with_module(|module| {
            let loaded = module.store.loaded().map(Thread::key);
            loaded.chain(module.store.agents.keys()).map(str::to_owned).collect()
        })
    }

    /// Return the program with NAME, or that calls itself NAME as an MCP client, or nil.
    ///
    /// It is a plist: `:name', what threads and transcripts call it, `:label', what users read, `:client', what it
    /// calls itself, and `:resume', the argument before the id of a session that it takes up again, or nil.
    /// Programs without that are not followed.
    fn program(name: String) -> Option<Program> {
        Program::find(&name)
    }

    /// Return whose the thread with KEY is, as that says, a plist.
    ///
    /// `:machine' is the name of the machine, or nil for this one, `:program' that of the program or host,
    /// `:session' the id of the session, `:subagent' that of the subagent, or nil, and `:resume' is as in
    /// `todo-write-dyn--program'.  The program and the session are nil for a key of another form.
    fn identity(key: String) -> Identity {
        Identity::of(&key)
    }

    /// Return the state of the process ID: `alive', `suspended', `dead', or nil if it exists and this system
    /// does not tell more.  Any number can be asked for.  START, a string, is field 22 of the process's stat;
    /// another process is `dead'.  Without START, any process of that number counts.
    fn process_state(id: u64, start: Option<String>) -> Option<ProcessState> {
        // No process has a number that is too large.
        let state = u32::try_from(id).map_or(ProcessState::Dead, |id| pid::state(id, start.as_deref()));
        Some(state).filter(|state| *state != ProcessState::Unknown)
    }
}
