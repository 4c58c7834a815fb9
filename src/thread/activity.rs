//! What an agent does, decided by [`Facts::decide`] from three facts: an open request, its process and the
//! last event of its turn. A thread follows that by [`Thread::follow`], which stops and starts the time of its
//! items.
//!
//! Nothing here asks a file, a process or a clock.

use std::collections::HashMap;
use std::mem;

use serde::{Deserialize, Serialize};

use super::record::Record;
use super::{State, Thread};
use crate::events::Millis;
pub use crate::events::turns::Ending;
use crate::named::wire_names;

/// Why a plan is paused if the Emacs that wrote it has ended.
pub(crate) const PROCESS_ENDED: &str = "the session that wrote this list has ended";

/// Why a plan is paused while a signal stops its agent's process.
const SUSPENDED: &str = "suspended";

/// Who tells a fact; later ones know more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// It was not told.
    #[default]
    Unset,
    /// The program that serves the agent, by its connection, calls and questions.
    Program,
    /// The lines of its transcript.
    Lines,
    /// The file of its process, or that it has none.
    File,
    /// Its host in this Emacs.
    Host,
}

/// What was told last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported<T> {
    /// That.
    pub what: T,
    /// By whom.
    pub by: By,
    /// When it was told or happened. A turn happened when it began.
    pub at: Millis,
    /// Since when it is so, as far as that is known: at most `at`.
    pub since: Millis,
}

impl<T> Reported<T> {
    /// What is so since it was told.
    pub fn new(what: T, by: By, at: Millis) -> Reported<T> {
        Reported { what, by, at, since: at }
    }
}

/// A fact that is told of an agent.
#[derive(Clone, Debug)]
pub enum Fact {
    /// What is asked by its oldest open request, in a line, and the process on this machine that asks.
    Request(Option<Reported<(String, Option<u32>)>>),
    /// What its process does.
    Process(Reported<Process>),
    /// The last event of its turn.
    Turn(Reported<Turn>),
    /// The id on this machine of its own process, or of its program.
    Pid(By, Option<u32>),
}

/// What an agent's process does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Process {
    /// It is not known.
    #[default]
    Unknown,
    /// It works.
    Busy,
    /// It waits for the user, for this. The user may have opened a dialog between two turns, unless the process was
    /// busy before: [`Facts::tell`] finds that out.
    #[allow(missing_docs)]
    Waiting { why: Option<String>, in_turn: bool },
    /// It does nothing, or only runs commands in its background.
    #[allow(missing_docs)]
    Idle { has_commands: bool },
    /// A signal such as SIGSTOP stopped it.
    Stopped,
    /// It has ended, or the user left the session for another one.
    Gone(End),
    /// The connection to it is lost. The plan is paused if there is a reason.
    Lost(Option<String>),
}

impl Process {
    /// Whether it is of a turn that runs.
    fn is_in_turn(&self) -> bool {
        matches!(self, Process::Busy | Process::Waiting { in_turn: true, .. } | Process::Stopped)
    }
}

/// The last event of an agent's turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// Nothing is known of turns, or nothing was heard of one for long.
    #[default]
    Unknown,
    /// A turn runs, of which the host says this.
    Runs(Option<String>),
    /// A turn runs, and waits for the user, for this.
    Waits(Option<String>),
    /// No turn runs, by the host, which has not ended one.
    Idle,
    /// The same, since it failed for this.
    Failed(Option<String>),
    /// The turn ended.
    Over(End),
    /// The host guesses this, for that reason.
    Guess(Doing, Option<String>),
}

/// How a turn or a session ended.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub ending: Option<Ending>,
    /// Why, a phrase for the user.
    pub reason: Option<String>,
    /// Whether the agent failed, so that it needs the user.
    pub has_failed: bool,
    /// Whether only a trace of an ended process tells of it, which may be older than a turn that ended well.
    pub is_trace: bool,
    pub is_left: bool,
    pub background: Background,
}

impl End {
    /// The end of a turn or a session, for this reason.
    pub fn new(ending: impl Into<Option<Ending>>, reason: Option<String>) -> End {
        End { ending: ending.into(), reason, ..End::default() }
    }

    /// How exact this end is: the most exact one of a turn says how it ended.
    fn rank(&self) -> u8 {
        match self.ending {
            None => 0,
            Some(_) if self.is_trace => 1,
            Some(Ending::SessionEnded) => 2,
            Some(Ending::EndOfTurn) => 3,
            Some(Ending::Killed) => 4,
            Some(Ending::Denied | Ending::Error) => 5,
        }
    }

    /// Whether another end is more exact than this one of a process. If that lived until then, what ended an
    /// earlier process does not count.
    fn is_less_than(&self, end: &End) -> bool {
        let exact = |end: &End| (end.rank(), end.reason.is_some());
        exact(self) < exact(end) && (self.is_trace || end.is_of_turn())
    }

    /// Whether it says how a turn ended, of an agent whose process lives.
    fn is_of_turn(&self) -> bool {
        matches!(self.ending, Some(Ending::EndOfTurn | Ending::Denied | Ending::Error))
    }
}

/// What an agent at rest left running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// The number of commands.
    pub commands: u32,
    /// The number of subagents. Its process says that it works while there are any.
    pub subagents: u32,
}

wire_names! {
    /// What an agent does.
    #[allow(missing_docs)]
    #[derive(Default)]
    #[serde(rename = "Symbol")]
    pub enum Doing {
        Working = "working",
        Waiting = "waiting",
        Failed = "failed",
        Idle = "idle",
        Suspended = "suspended",
        #[default]
        Unknown = "unknown",
    }
}

/// What the facts come to.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub doing: Doing,
    /// What it waits for, why it failed, or a line about an agent at rest.
    pub reason: Option<String>,
    pub since: Millis,
    /// How many commands and subagents still run in its background, if it is at rest.
    pub background: u32,
    /// How its turn or session ended, if it did and that is known.
    pub ending: Option<Ending>,
    /// Why the plan is paused, if it is for this.
    pub pause: Option<String>,
    pub is_guess: bool,
    /// Whether the time of items stops although what the agent does is not known.
    pub is_lost: bool,
    /// Whether the user left the session for another one.
    pub is_left: bool,
}

impl Decision {
    /// An agent that does this, since a time.
    pub fn new(doing: Doing, since: Millis) -> Decision {
        Decision { doing, since, ..Decision::default() }
    }

    fn because(self, reason: &Option<String>) -> Decision {
        Decision { reason: reason.clone(), ..self }
    }

    /// An agent whose turn or session ended.
    pub fn rest(end: &End, since: Millis, background: Background) -> Decision {
        let doing = if end.has_failed { Doing::Failed } else { Doing::Idle };
        let background = background.commands.saturating_add(background.subagents);
        let in_background = (background > 0).then(|| format!("{background} in background"));
        Decision {
            reason: if end.has_failed { end.reason.clone() } else { in_background },
            background,
            ending: end.ending,
            pause: Some(end.reason.clone().unwrap_or_else(|| "end of turn".to_owned())),
            is_left: end.is_left,
            ..Decision::new(doing, since)
        }
    }

    /// Whether it is known that no turn runs.
    pub(crate) fn is_rest(&self) -> bool {
        matches!(self.doing, Doing::Idle | Doing::Failed) && !self.is_guess
    }
}

/// What is known of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    request: Option<Reported<(String, Option<u32>)>>,
    /// What was told of the process last.
    pub process: Reported<Process>,
    /// What was told of the turn last.
    pub turn: Reported<Turn>,
    /// See [`Fact::Pid`].
    own_pid: Option<u32>,
    program_pid: Option<u32>,
    /// When the process was last told to work on no turn.
    rested: Millis,
}

impl Facts {
    /// What the agent does. The manual has this as a table.
    pub fn decide(&self) -> Decision {
        use Process::{Busy, Gone, Lost, Stopped, Unknown, Waiting};
        let (process, turn) = (&self.process, &self.turn);
        let by_process = |doing| Decision::new(doing, process.since);
        let by_turn = |doing| Decision::new(doing, turn.since);
        let rest = |end: &End, since| Decision::rest(end, since, self.background());
        let end_of_turn = End::new(Ending::EndOfTurn, None);
        // A turn that began before its process rested is over, however it ended.
        let event = if self.is_outdated() { &Turn::Unknown } else { &turn.what };
        match (&self.request, &process.what, event) {
            (Some(Reported { what: (title, _), at, .. }), _, _) => {
                Decision::new(Doing::Waiting, *at).because(&Some(title.clone()))
            }
            (_, Stopped, _) => Decision { pause: Some(SUSPENDED.to_owned()), ..by_process(Doing::Suspended) },
            (_, Waiting { why, in_turn: true }, _)
            | (_, Waiting { why, .. }, Turn::Runs(_) | Turn::Waits(_)) => {
                by_process(Doing::Waiting).because(why)
            }
            // It waits for its subagents.
            (_, Busy, Turn::Over(end)) if end.background.subagents > 0 => rest(end, turn.since),
            (_, Busy, Turn::Runs(why)) => by_process(Doing::Working).because(why),
            (_, Busy, _) => by_process(Doing::Working),
            (_, _, Turn::Failed(why)) => by_turn(Doing::Failed).because(why),
            (_, Waiting { .. } | Process::Idle { .. }, Turn::Over(end)) if end.is_of_turn() => {
                rest(end, turn.since)
            }
            (_, Waiting { .. } | Process::Idle { .. }, _) => rest(&end_of_turn, process.since),
            // Also in a session that goes on in another process.
            (_, _, Turn::Runs(why)) => by_turn(Doing::Working).because(why),
            (_, _, Turn::Waits(why)) => by_turn(Doing::Waiting).because(why),
            (_, Gone(gone), Turn::Over(end)) if gone.is_less_than(end) => {
                Decision { is_left: gone.is_left, ..rest(end, turn.since) }
            }
            (_, Gone(gone), _) => rest(gone, process.since),
            (_, _, Turn::Over(end)) => rest(end, turn.since),
            (_, _, Turn::Idle) => by_turn(Doing::Idle),
            (_, Lost(reason), _) => {
                Decision { is_lost: true, pause: reason.clone(), ..by_process(Doing::Unknown) }
            }
            (_, Unknown, Turn::Guess(doing, reason)) => {
                Decision { is_guess: true, ..by_turn(*doing).because(reason) }
            }
            (_, Unknown, Turn::Unknown) => Decision::new(Doing::Unknown, turn.since.max(process.since)),
        }
    }

    /// What runs in the background of an agent at rest. Its lines count that; its process says whether any
    /// command still runs, but not how many.
    fn background(&self) -> Background {
        let told = match &self.turn.what {
            Turn::Over(end) => end.background,
            _ => Background::default(),
        };
        match self.process.what {
            Process::Busy | Process::Waiting { .. } => told,
            Process::Idle { has_commands: true } => Background { commands: told.commands.max(1), ..told },
            Process::Idle { .. } => Background { commands: 0, ..told },
            _ => Background::default(),
        }
    }

    /// Whether a turn runs by its last event, but began before its process rested. A host knows better.
    fn is_outdated(&self) -> bool {
        let Reported { what, by, at, .. } = &self.turn;
        matches!(what, Turn::Runs(_) | Turn::Waits(_)) && *by != By::Host && *at <= self.rested
    }

    /// The id of the agent's process on this machine, or that of another one of it.
    pub fn pid(&self) -> Option<u32> {
        self.own_pid.or(self.program_pid).or(self.request.as_ref().and_then(|asked| asked.what.1))
    }

    /// Takes a fact in place of the last one of its kind, unless that one counts more.
    pub fn tell(&mut self, fact: Fact) {
        let is_end = match fact {
            Fact::Process(told) => self.tell_process(told),
            Fact::Turn(told) => self.tell_turn(told),
            Fact::Request(request) => return self.request = request,
            Fact::Pid(By::File, pid) => return self.own_pid = pid,
            Fact::Pid(_, pid) => return self.program_pid = pid,
        };
        // The end of a turn closes its request. A process that goes on may be a subagent's that asks.
        if is_end && !self.process.what.is_in_turn() {
            let request = self.request.take();
            if !self.decide().is_rest() {
                self.request = request;
            }
        }
    }

    /// Returns whether it is an end.
    fn tell_process(&mut self, mut told: Reported<Process>) -> bool {
        use Process::{Gone, Idle, Lost, Unknown, Waiting};
        let last = &self.process;
        let is_less = match (&last.what, &told.what) {
            _ if told.by == last.by => false,
            (Unknown | Lost(_), _) => false,
            (_, Unknown | Lost(_)) => true,
            (_, Gone(end)) if end.is_left => false,
            // The file of a live process counts more than a connection.
            (was, is) => told.by < last.by && (!matches!(was, Gone(_)) || matches!(is, Gone(_))),
        };
        if let Waiting { in_turn, .. } = &mut told.what {
            *in_turn |= last.what.is_in_turn();
        }
        if is_less {
            return false;
        }
        // The turn of an idle process has ended, however the process ends.
        if let (Idle { .. }, Gone(end)) = (&last.what, &mut told.what)
            && end.ending == Some(Ending::SessionEnded)
        {
            (end.ending, end.reason) = (Some(Ending::EndOfTurn), None);
        }
        let is_same = told.what == last.what;
        if is_same && told.by <= last.by {
            return false;
        }
        let is_end = matches!(told.what, Idle { .. } | Gone(_));
        if is_end || told.by == By::File && matches!(told.what, Unknown | Lost(_)) {
            self.rested = told.at;
        }
        self.process = told;
        is_end && !is_same
    }

    /// Returns whether it is an end.
    fn tell_turn(&mut self, told: Reported<Turn>) -> bool {
        use Turn::{Failed, Guess, Idle, Over, Runs, Unknown, Waits};
        let Reported { by, at, .. } = self.turn;
        let is_later = told.at >= at;
        let replaces = match (&self.turn.what, &told.what) {
            (was, is) if was == is && !self.is_outdated() => {
                self.turn.by = told.by.max(by);
                // Another turn may have ended meanwhile.
                by == By::Unset || matches!(told.what, Over(_)) && told.at > at && told.by >= by
            }
            (Unknown | Guess(..), _) => true,
            (_, Guess(..)) => by == By::Host,
            (Runs(_) | Waits(_), Unknown) => told.by >= by && is_later,
            (Runs(_) | Waits(_), Runs(_) | Waits(_)) => told.by >= by && (told.by == By::Host || is_later),
            // A host ends its turn itself.
            (Runs(_) | Waits(_), Over(_) | Idle | Failed(_)) => {
                is_later && (told.by == By::Host || by != By::Host && (told.at > at || told.by == by))
            }
            (Over(_) | Idle | Failed(_), Runs(_) | Waits(_)) => is_later || told.by == By::Host,
            // The first end counts, unless a later one is more exact.
            (Over(last), Over(end)) => (end.rank(), told.by) >= (last.rank(), by),
            (Over(end), Idle) => end.has_failed,
            (Failed(_), Idle) | (_, Over(_) | Failed(_)) => true,
            (_, Unknown | Idle) => false,
        };
        if replaces {
            self.turn = told;
        }
        replaces && matches!(self.turn.what, Over(_) | Idle | Failed(_))
    }
}

/// What is known of all agents, by the keys of their threads, as long as this Emacs lives.
#[derive(Debug, Default)]
pub struct Agents(HashMap<String, Agent>);

/// What is known of an agent, and what it came to.
#[derive(Debug, Default)]
struct Agent {
    facts: Facts,
    /// What was decided last.
    decision: Option<Decision>,
    /// Whether the thread has changed since.
    is_stale: bool,
}

impl Agents {
    /// Takes a fact of the agent of a thread.
    pub fn tell(&mut self, key: &str, fact: Fact) {
        let agent = self.0.entry(key.to_owned()).or_default();
        agent.facts.tell(fact);
    }

    /// Decides what the agent of a thread does; returns whether it does something else than before, or for
    /// another reason, and the decision if the thread is to follow it.
    pub fn decide(&mut self, key: &str, now: Millis) -> (bool, Option<Decision>) {
        let Some(agent) = self.0.get_mut(key) else { return (false, None) };
        let mut decision = (agent.facts != Facts::default()).then(|| agent.facts.decide());
        let before = agent.decision.as_ref();
        let is_transition = match (before, &mut decision) {
            (Some(before), Some(after)) if (before.doing, &before.reason) == (after.doing, &after.reason) => {
                after.since = before.since;
                (before.is_guess, before.is_left) != (after.is_guess, after.is_left)
            }
            (before, after) => before.is_some() || after.is_some(),
        };
        let is_due = mem::take(&mut agent.is_stale) || before != decision.as_ref();
        agent.decision.clone_from(&decision);
        // Where nothing is known any more, the thread goes on as it is.
        let gone = Decision::new(Doing::Unknown, now);
        (is_transition, is_due.then_some(decision.unwrap_or(gone)))
    }

    /// Notes that lines, a write or the user have changed a thread, which is to follow its agent again.
    pub fn touch(&mut self, key: &str) {
        if let Some(agent) = self.0.get_mut(key) {
            agent.is_stale = true;
        }
    }

    /// Notes that the agent of a thread goes on, since it wrote its list or the user resumed it: it has not
    /// failed. The thread follows what is told next. Returns whether it had failed.
    pub fn go_on(&mut self, key: &str) -> bool {
        let Some(agent) = self.0.get_mut(key) else { return false };
        let had_failed = match &mut agent.facts.turn.what {
            Turn::Over(end) => mem::take(&mut end.has_failed),
            turn @ Turn::Failed(_) => {
                *turn = Turn::Idle;
                true
            }
            _ => false,
        };
        if had_failed {
            agent.decision = Some(agent.facts.decide());
        }
        agent.is_stale |= agent.decision.as_ref().is_some_and(Decision::is_rest);
        had_failed
    }

    /// What is known of the agent of a thread.
    pub fn facts(&self, key: &str) -> Option<&Facts> {
        Some(&self.0.get(key)?.facts)
    }

    /// What was decided last of the agent of a thread.
    pub fn decision(&self, key: &str) -> Option<&Decision> {
        self.0.get(key)?.decision.as_ref()
    }

    /// The keys of the threads of whose agents something was decided.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, agent)| agent.decision.is_some()).map(|(key, _)| key.as_str())
    }

    /// Forgets what was told of the agent of a thread; returns whether anything was decided of it.
    pub fn forget(&mut self, key: &str) -> bool {
        self.0.remove(key).is_some_and(|agent| agent.decision.is_some())
    }
}

wire_names! {
    /// What the agent does. The time of items runs only while it works.
    #[allow(missing_docs)]
    #[derive(Default)]
    pub enum Activity {
        /// It works, or its host does not report its activity.
        #[default]
        Working = "working",
        Waiting = "waiting",
        Idle = "idle",
    }
}

/// The agent's activity, and a pause of its plan, as journals have them. Its fields are keys of the record
/// `state`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentActivity {
    /// The reason of the pause, a phrase for the user, if the plan is paused.
    pub paused: Option<String>,
    /// How the agent's turn or session ended; none while it works or waits, or if its host does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// What the agent does; `working` if a journal does not say.
    #[serde(default)]
    pub activity: Activity,
}

impl AgentActivity {
    /// Whether the time of items runs.
    pub(crate) fn runs(&self) -> bool {
        self.paused.is_none() && self.activity == Activity::Working
    }

    /// Whether the user paused the plan, not what its agent did.
    fn is_users_pause(&self) -> bool {
        let is_agents = self.ending.is_some() || self.activity == Activity::Idle;
        !is_agents && self.paused.as_deref() != Some(SUSPENDED)
    }
}

impl Thread {
    /// Follows what the agent does, from the time `now` on: its time runs or stops, and its plan is paused
    /// if a turn ended with open items.
    pub fn follow(&mut self, agent: &Decision, now: Millis) {
        self.change_activity(self.following(agent), now);
    }

    /// The activity that [`Thread::follow`] would make. A pause of the user stays until the agent works again.
    pub(crate) fn following(&self, agent: &Decision) -> AgentActivity {
        let AgentActivity { ref paused, ending, activity } = self.activity;
        let users = || paused.clone().filter(|_| self.activity.is_users_pause());
        let without_stop = || paused.clone().filter(|why| why != SUSPENDED);
        let has_open_items = matches!(self.state(), State::Active | State::Paused);
        let pause = agent.pause.clone().filter(|_| has_open_items || agent.doing == Doing::Suspended);
        let doing = if agent.is_guess { Doing::Unknown } else { agent.doing };
        let (paused, ending, activity) = match doing {
            Doing::Working => (None, None, Activity::Working),
            Doing::Waiting => (users(), None, Activity::Waiting),
            Doing::Suspended => (users().or(pause), None, activity),
            Doing::Idle | Doing::Failed if agent.pause.is_some() => {
                (users().or(pause), agent.ending, Activity::Idle)
            }
            Doing::Idle | Doing::Failed => (without_stop(), ending, Activity::Idle),
            Doing::Unknown if agent.is_lost => (without_stop().or(pause), ending, Activity::Idle),
            // It goes on as it is, but waits for nothing that is over.
            Doing::Unknown if activity == Activity::Waiting => (without_stop(), ending, Activity::Working),
            Doing::Unknown => (without_stop(), ending, activity),
        };
        AgentActivity { paused, ending, activity }
    }

    /// Pauses the thread if there is a reason, else resumes it, so that its agent has not ended.
    pub fn set_paused(&mut self, reason: Option<String>, now: Millis) {
        let AgentActivity { paused, ending, activity } = self.activity.clone();
        let paused = if reason.is_some() { paused.or(reason) } else { None };
        let ending = ending.filter(|_| paused.is_some());
        self.change_activity(AgentActivity { paused, ending, activity }, now);
    }

    /// Resumes for a write, which shows that the agent works. It may still wait for the user, since it
    /// can ask and write at the same time.
    pub(super) fn resume_for_write(&mut self, now: Millis) {
        let waits = self.activity.activity == Activity::Waiting;
        let activity = if waits { Activity::Waiting } else { Activity::Working };
        self.change_activity(AgentActivity { paused: None, ending: None, activity }, now);
    }

    /// What the agent does and how it ended, as last recorded.
    pub fn agent_activity(&self) -> &AgentActivity {
        &self.activity
    }

    /// Sets what the agent does, how it ended and whether the thread is paused, and records it if that is
    /// another one.
    pub(super) fn change_activity(&mut self, activity: AgentActivity, now: Millis) {
        if activity != self.activity {
            self.make(Record::State { timestamp: now, activity });
        }
    }

    /// Records what the agent does as it is known here, which no journal has.
    pub(crate) fn record_activity(&mut self, now: Millis) {
        self.make(Record::State { timestamp: now, activity: self.activity.clone() });
    }

    pub(super) fn apply_activity(&mut self, activity: &AgentActivity, now: Millis) {
        if activity.runs() {
            self.clock.resume(self.revisions.current(), now);
        } else {
            self.clock.pause(now);
        }
        self.turns.set_ending(activity.ending, now);
        self.activity.clone_from(activity);
    }
}
