//! What agents do, decided from what several sources report of each.
//!
//! A [`Source`] says what it knows of an agent, and its last [`Report`] counts until it says something
//! else. [`decide`] turns the reports of an agent into one [`Decision`], whatever the order in which they
//! came. A [`Table`] keeps the reports of all agents as long as its owner lives; what outlives it is the
//! last activity in a thread's journal.
//!
//! Nothing here asks a file, a process or a clock.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::events::Millis;
use crate::thread::activity::{Activity, AgentActivity, Ending};

/// Who reports. An earlier one has precedence over later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// An open request to the user.
    Request,
    /// The file of the agent's process, and whether that process lives.
    Process,
    /// The connection of the program that serves the agent.
    Bridge,
    /// The events of the host in this Emacs.
    Host,
    /// The lines of the session's transcript.
    Transcript,
}

/// All sources, by precedence.
pub const SOURCES: [Source; 5] =
    [Source::Request, Source::Process, Source::Bridge, Source::Host, Source::Transcript];

/// How far a report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A state that lasts until its source says something else. The first source that has one decides.
    State,
    /// Something that happened. The newest event decides where no source has a state.
    Event,
    /// A guess, or that the source heard nothing for long. It counts where no source has a fact.
    Guess,
}

/// What a source says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A turn runs.
    Working,
    /// A turn runs, and the agent waits for the user.
    Waiting,
    /// A dialog is open. Between two turns, the user has opened it. `rested` is when the source last said
    /// that no turn runs, `None` if it said since that one does.
    Dialog {
        /// See there.
        rested: Option<Millis>,
    },
    /// A signal such as SIGSTOP stopped its process.
    Suspended,
    /// No turn runs.
    Rest(Rest),
    /// The source cannot tell.
    Unknown,
    /// The source has lost the agent. Its time stops, and its plan is paused if there is a reason.
    Lost,
}

/// How a turn or a session ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Whether a turn or the session ended. Otherwise the agent is only idle, and its plan goes on.
    pub is_end: bool,
    /// The ending, if the source knows it.
    pub ending: Option<Ending>,
    /// Whether the agent failed, so that it needs the user.
    pub has_failed: bool,
    /// Whether only a trace tells of it, which may be older than a turn that ended well.
    pub is_trace: bool,
    /// Whether the user left the session for another one.
    pub is_left: bool,
}

impl Rest {
    /// The end of a turn or session.
    pub fn end(ending: Option<Ending>) -> Rest {
        Rest { is_end: true, ending, ..Rest::default() }
    }

    /// How exact this end is. The most exact one of a turn says how it ended.
    fn rank(self) -> u8 {
        match self.ending {
            _ if !self.is_end => 0,
            None => 1,
            Some(_) if self.is_trace => 2,
            Some(Ending::SessionEnded) => 3,
            Some(Ending::EndOfTurn) => 4,
            Some(Ending::Killed) => 5,
            Some(Ending::Denied | Ending::Error) => 6,
        }
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

impl Background {
    fn count(self) -> u32 {
        self.commands.saturating_add(self.subagents)
    }
}

/// What a source says of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What it says.
    pub what: What,
    /// How far that counts.
    pub weight: Weight,
    /// Why, in a line: what the agent waits for, how its turn ended, why it failed.
    pub reason: Option<String>,
    /// What still runs in the background of an agent at rest. Its process does not count the commands.
    pub background: Background,
    /// When it was said or happened. The turn of a transcript happened when it began.
    pub at: Millis,
    /// Since when it is so, as far as that is known: at most `at`.
    pub since: Millis,
    /// The process on this machine that the source knows of the agent: its own or one that it started.
    pub process: Option<u32>,
}

impl Report {
    /// A report about the time `at`.
    pub fn new(what: What, weight: Weight, at: Millis) -> Report {
        Report { what, weight, reason: None, background: Background::default(), at, since: at, process: None }
    }

    /// The same of an agent with this process.
    pub fn of_process(self, process: Option<u32>) -> Report {
        Report { process, ..self }
    }

    /// The same with a reason.
    pub fn because(self, reason: Option<String>) -> Report {
        Report { reason, ..self }
    }

    /// The same since a time that is known to be earlier.
    pub fn since(self, since: Option<Millis>) -> Report {
        let since = since.unwrap_or(self.at).min(self.at);
        Report { since, ..self }
    }

    fn rest(&self) -> Option<Rest> {
        match self.what {
            What::Rest(rest) => Some(rest),
            _ => None,
        }
    }

    /// Whether a turn runs by it.
    pub fn is_of_turn(&self) -> bool {
        matches!(self.what, What::Working | What::Waiting | What::Dialog { rested: None } | What::Suspended)
    }

    pub(crate) fn is_same(&self, other: &Report) -> bool {
        (&self.what, self.weight, &self.reason, self.background)
            == (&other.what, other.weight, &other.reason, other.background)
    }
}

/// What an agent does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doing {
    /// A turn runs.
    Working,
    /// It waits for the user.
    Waiting,
    /// Its turn ended with an error.
    Failed,
    /// No turn runs.
    Idle,
    /// Its process was stopped.
    Suspended,
    /// Nobody can tell.
    #[default]
    Unknown,
}

/// What the reports of an agent come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// What it does.
    pub doing: Doing,
    /// What it waits for, why it failed, or a line about an agent at rest.
    pub reason: Option<String>,
    /// How many commands and subagents still run in its background, if it is at rest.
    pub background: u32,
    /// Whether that is a guess.
    pub is_inferred: bool,
    /// Since when.
    pub since: Millis,
    /// How its turn or session ended, if it did and that is known.
    pub ending: Option<Ending>,
    /// Why the plan is paused, if it is for this.
    pub pause: Option<String>,
    /// Whether the time of items stops although what the agent does is not known.
    pub is_lost: bool,
    /// Whether the user left the session for another one.
    pub is_left: bool,
}

impl Decision {
    fn new(doing: Doing, report: &Report) -> Decision {
        Decision { doing, reason: report.reason.clone(), since: report.since, ..Decision::default() }
    }

    /// Whether it is known that the agent works.
    pub fn is_work(&self) -> bool {
        self.doing == Doing::Working && !self.is_inferred
    }

    /// Whether it is known that no turn runs.
    fn is_rest(&self) -> bool {
        matches!(self.doing, Doing::Idle | Doing::Failed) && !self.is_inferred
    }

    fn applied(
        &self,
        before: Option<&Decision>,
        current: &AgentActivity,
        has_open_items: bool,
    ) -> AgentActivity {
        // The pause is the user's unless an ending or an earlier decision made it.
        let is_ours = current.ending.is_some()
            || before.is_some_and(|before| before.pause.is_some() && before.pause == current.paused);
        let paused = current.paused.clone().filter(|_| !is_ours);
        let pause = paused.clone().or_else(|| self.pause.clone().filter(|_| has_open_items));
        let AgentActivity { ending, activity, .. } = current.clone();
        match self.doing {
            Doing::Working if self.is_inferred => goes_on(before, current),
            Doing::Working => AgentActivity::default(),
            Doing::Waiting if self.is_inferred => goes_on(before, current),
            Doing::Waiting => AgentActivity { paused, ending: None, activity: Activity::Waiting },
            Doing::Suspended => {
                AgentActivity { paused: paused.or_else(|| self.pause.clone()), ending: None, activity }
            }
            Doing::Unknown if !self.is_lost => goes_on(before, current),
            Doing::Unknown if self.pause.is_some() => {
                AgentActivity { paused: pause, ending, activity: Activity::Idle }
            }
            Doing::Failed | Doing::Idle if self.pause.is_some() => {
                AgentActivity { paused: pause, ending: self.ending, activity: Activity::Idle }
            }
            _ => AgentActivity { activity: Activity::Idle, ..without_stop(before, current) },
        }
    }
}

impl Step {
    /// The activity and the pause of a thread after this step. A pause of the user stays until the agent
    /// works again.
    pub fn applied(&self, current: &AgentActivity, has_open_items: bool) -> AgentActivity {
        let before = self.before.as_ref();
        match &self.decision {
            Some(decision) => decision.applied(before, current, has_open_items),
            None => goes_on(before, current),
        }
    }
}

/// A thread of which nothing is known any more: it goes on as it is, but waits for nothing that is over.
fn goes_on(before: Option<&Decision>, current: &AgentActivity) -> AgentActivity {
    let current = without_stop(before, current);
    let activity = match current.activity {
        Activity::Waiting => Activity::Working,
        activity => activity,
    };
    AgentActivity { activity, ..current }
}

/// A thread whose process goes on, if it was stopped before.
fn without_stop(before: Option<&Decision>, current: &AgentActivity) -> AgentActivity {
    let is_stop = before.is_some_and(|before| before.doing == Doing::Suspended);
    let paused = current.paused.clone();
    let paused = paused.filter(|_| !(is_stop && before.is_some_and(|one| one.pause == current.paused)));
    AgentActivity { paused, ..current.clone() }
}

/// The last report of each source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports([Option<Report>; SOURCES.len()]);

impl Reports {
    /// The last report of a source.
    pub fn get(&self, source: Source) -> Option<&Report> {
        self.0[source as usize].as_ref()
    }

    /// Takes what a source says, in place of its last report; `None` if it has nothing to say any more.
    pub fn set(&mut self, source: Source, report: Option<Report>) {
        self.0[source as usize] = report.map(|report| after(self.get(source), report, source));
    }

    fn of(&self, weight: Weight) -> impl Iterator<Item = &Report> {
        self.0.iter().flatten().filter(move |report| report.weight == weight)
    }

    /// The newest event; of simultaneous ones, that of the first source.
    fn newest(&self) -> Option<&Report> {
        self.of(Weight::Event).reduce(|newest, event| if event.at > newest.at { event } else { newest })
    }

    /// What `top` comes to, by which no turn runs: the most exact report of the end of the same turn says
    /// how it ended.
    fn at_rest(&self, top: &Report, rest: Rest) -> Decision {
        let began = self.of(Weight::Event).filter(|event| event.is_of_turn()).map(|event| event.at).max();
        let ended = self.of(Weight::Event).filter(|event| began.is_none_or(|began| event.at >= began));
        let ended: Vec<(&Report, Rest)> = ended.filter_map(|event| Some((event, event.rest()?))).collect();
        let is_left = rest.is_left || ended.iter().any(|(_, rest)| rest.is_left);
        let rank = |report: &Report, rest: Rest| (rest.rank(), report.reason.is_some());
        let (last, rest) = ended.into_iter().fold((top, rest), |(best, found), (event, rest)| {
            if rank(event, rest) > rank(best, found) { (event, rest) } else { (best, found) }
        });
        let pause = || last.reason.clone().unwrap_or_else(|| "end of turn".to_owned());
        let background = self.background(top).count();
        let in_background = (background > 0).then(|| format!("{background} in background"));
        Decision {
            doing: if rest.has_failed { Doing::Failed } else { Doing::Idle },
            reason: if rest.has_failed { last.reason.clone() } else { in_background },
            background,
            since: last.since,
            ending: rest.ending,
            pause: rest.is_end.then(pause),
            is_left,
            ..Decision::default()
        }
    }

    /// What runs in the background of an agent at rest by `top`. Its lines count the commands, and its process
    /// says whether any still runs.
    fn background(&self, top: &Report) -> Background {
        let told = match self.get(Source::Transcript) {
            Some(lines) if top.weight == Weight::State && lines.rest().is_some() => lines.background,
            _ => Background::default(),
        };
        match top.background.commands {
            // It does not say while subagents run.
            0 if top.rest().is_none() => told,
            0 => Background { commands: 0, ..told },
            some => Background { commands: told.commands.max(some), ..told },
        }
    }

    /// Whether an agent that works by its process has ended its turn, and only waits for its subagents.
    fn awaits_subagents(&self, report: &Report) -> bool {
        let is_process = self.get(Source::Process).is_some_and(|process| process == report);
        let lines = self.get(Source::Transcript).filter(|lines| lines.rest().is_some());
        is_process && lines.is_some_and(|lines| lines.background.subagents > 0)
    }

    /// Whether a dialog, between two turns by its own source, is of a turn that a transcript tells of.
    fn is_in_turn(&self, rested: Millis) -> bool {
        let lines = self.get(Source::Transcript).filter(|lines| lines.weight == Weight::Event);
        lines.is_some_and(|lines| lines.is_of_turn() && lines.at > rested)
    }

    fn fact(&self, report: &Report) -> Decision {
        match report.what {
            What::Working if self.awaits_subagents(report) => {
                self.at_rest(report, Rest::end(Some(Ending::EndOfTurn)))
            }
            What::Working => Decision::new(Doing::Working, report),
            What::Waiting => Decision::new(Doing::Waiting, report),
            What::Dialog { rested } if rested.is_none_or(|rested| self.is_in_turn(rested)) => {
                Decision::new(Doing::Waiting, report)
            }
            What::Dialog { .. } => {
                let closed = Report { reason: None, ..report.clone() };
                self.at_rest(&closed, Rest::end(Some(Ending::EndOfTurn)))
            }
            What::Suspended => {
                Decision { pause: Some("suspended".to_owned()), ..Decision::new(Doing::Suspended, report) }
            }
            What::Rest(rest) => self.at_rest(report, rest),
            What::Unknown | What::Lost => {
                let ended = self.newest().and_then(|event| Some((event, event.rest()?)));
                ended.map_or_else(|| unknown(report), |(event, rest)| self.at_rest(event, rest))
            }
        }
    }
}

/// A source's report after its last one. What it says again is so since then.
pub(crate) fn after(last: Option<&Report>, report: Report, source: Source) -> Report {
    let mut report = report;
    if let What::Dialog { rested } = &mut report.what {
        *rested = match last {
            None => Some(0),
            Some(Report { what: What::Dialog { rested }, .. }) => *rested,
            Some(last) => (!last.is_of_turn()).then_some(last.since),
        };
    }
    // The first end of a turn counts, unless a later one is more exact.
    if let Some((last, ended)) = last.and_then(|last| Some((last, last.rest()?)))
        && let Some(rest) = report.rest().filter(|_| report.weight == Weight::Event)
        && rest.is_end
        && rest.rank() < ended.rank()
    {
        let what = What::Rest(Rest { is_left: rest.is_left | ended.is_left, ..ended });
        let (at, process) = (report.at.max(last.at), report.process);
        report = Report { what, at, process, weight: Weight::Event, ..last.clone() };
    }
    let Some(last) = last.filter(|last| last.is_same(&report)) else { return report };
    match (source, report.weight, report.is_of_turn()) {
        // The turn of a transcript happened when it began.
        (Source::Transcript, _, true) => Report { at: last.at, since: last.since, ..report },
        // Another turn may have ended meanwhile.
        (_, Weight::Event, false) => report,
        _ => Report { at: last.at.max(report.at), since: last.since, ..report },
    }
}

fn unknown(report: &Report) -> Decision {
    let is_lost = report.what == What::Lost;
    let pause = report.reason.clone().filter(|_| is_lost);
    Decision { is_inferred: true, is_lost, pause, reason: None, ..Decision::new(Doing::Unknown, report) }
}

fn guess(report: &Report) -> Decision {
    let doing = match report.what {
        What::Working => Doing::Working,
        What::Waiting | What::Dialog { .. } => Doing::Waiting,
        What::Rest(rest) if rest.has_failed => Doing::Failed,
        _ => return unknown(report),
    };
    Decision { is_inferred: true, ..Decision::new(doing, report) }
}

/// What an agent does, by the reports of all sources; `None` if none says anything.
pub fn decide(reports: &Reports) -> Option<Decision> {
    let fact = reports.of(Weight::State).next().or_else(|| reports.newest());
    let decision = fact.map(|fact| reports.fact(fact));
    decision.or_else(|| reports.of(Weight::Guess).next().map(guess))
}

/// The reports of agents, by the keys of their threads.
#[derive(Debug, Default)]
pub struct Table(HashMap<String, Entry>);

#[derive(Debug, Default)]
struct Entry {
    reports: Reports,
    /// What was decided last.
    decision: Option<Decision>,
    /// Whether the thread has changed since without a report.
    is_stale: bool,
}

/// What is to be done after reports.
#[derive(Debug)]
pub struct Step {
    /// The decision before.
    pub before: Option<Decision>,
    /// The new one, or the same for a thread that has changed since.
    pub decision: Option<Decision>,
    /// Whether the agent does something else, or for another reason.
    pub is_transition: bool,
}

impl Table {
    /// Takes what a source says of the agent of a thread; `None` if it has nothing to say any more. The end
    /// of a turn is the end of its requests.
    pub fn report(&mut self, key: &str, source: Source, report: Option<Report>) {
        let entry = match (self.0.get_mut(key), &report) {
            (Some(entry), _) => entry,
            (None, None) => return,
            (None, Some(_)) => self.0.entry(key.to_owned()).or_default(),
        };
        let last = entry.reports.get(source).cloned();
        entry.reports.set(source, report);
        let is_news = match (&last, entry.reports.get(source)) {
            (Some(last), Some(report)) => !report.is_same(last),
            (last, report) => last.is_some() != report.is_some(),
        };
        let is_end = entry.reports.get(source).is_some_and(|report| report.rest().is_some());
        if is_news && is_end && source != Source::Request {
            let mut others = entry.reports.clone();
            others.set(Source::Request, None);
            // A subagent may ask although the turn has ended.
            let is_busy = others.get(Source::Process).is_some_and(Report::is_of_turn);
            if !is_busy && decide(&others).is_some_and(|decision| decision.is_rest()) {
                entry.reports = others;
            }
        }
    }

    /// What is to be done since the last step of a thread, if anything is.
    pub fn step(&mut self, key: &str) -> Option<Step> {
        let entry = self.0.get_mut(key)?;
        let mut decision = decide(&entry.reports);
        let before = entry.decision.clone();
        let mut is_transition = before.is_some() != decision.is_some();
        if let (Some(before), Some(decision)) = (&before, &mut decision) {
            if (before.doing, &before.reason) == (decision.doing, &decision.reason) {
                decision.since = before.since;
                is_transition =
                    (before.is_inferred, before.is_left) != (decision.is_inferred, decision.is_left);
            } else {
                is_transition = true;
            }
        }
        let is_due = std::mem::take(&mut entry.is_stale) || before != decision;
        entry.decision.clone_from(&decision);
        is_due.then_some(Step { before, decision, is_transition })
    }

    /// Notes that lines or a write have changed the thread of an agent, so that the next step applies again
    /// what was decided.
    pub fn touch(&mut self, key: &str) {
        if let Some(entry) = self.0.get_mut(key) {
            entry.is_stale = true;
        }
    }

    /// Notes that the agent of a thread works, without a report: it wrote its list.
    pub fn note_write(&mut self, key: &str) {
        if self.decision(key).is_some_and(Decision::is_rest) {
            self.touch(key);
        }
    }

    /// Notes that an agent that has failed goes on, by its host.
    pub fn clear_failure(&mut self, key: &str) {
        let Some(entry) = self.0.get_mut(key) else { return };
        for report in entry.reports.0.iter_mut().flatten() {
            if let What::Rest(rest) = &mut report.what {
                *rest = Rest { has_failed: false, ..*rest };
            }
        }
    }

    /// What was decided last of the agent of a thread.
    pub fn decision(&self, key: &str) -> Option<&Decision> {
        self.0.get(key)?.decision.as_ref()
    }

    /// The last report of a source about the agent of a thread.
    pub fn last(&self, key: &str, source: Source) -> Option<&Report> {
        self.0.get(key)?.reports.get(source)
    }

    /// The process of the agent of a thread on this machine, its own if that is known.
    pub fn process(&self, key: &str) -> Option<u32> {
        let reports = &self.0.get(key)?.reports;
        let by = [Source::Process, Source::Bridge, Source::Request];
        by.into_iter().find_map(|source| reports.get(source)?.process)
    }

    /// The keys of the threads with a decision.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, entry)| entry.decision.is_some()).map(|(key, _)| key.as_str())
    }

    /// Forgets what was reported of the agent of a thread.
    pub fn forget(&mut self, key: &str) {
        self.0.remove(key);
    }
}
