//! The sessions that the program outside follows, and what it tells of them, as facts about their agents.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::path::PathBuf;

use crate::channel::Channel;
use crate::events::{Millis, millis_of};
use crate::journal::store::{Changed, Store};
use crate::program::Identity;
use crate::recorder::Recorder;
use crate::text::one_line;
use crate::thread::activity::{By, Decision, End, Ending, Fact, Facts, Process, Reported, Turn};
use crate::wire::program::{
    Command, DoorEvent, DoorState, Message, Process as LiveProcess, SessionId, Settings,
};

/// What is kept of the program and of the sessions that it follows.
#[derive(Default)]
pub(crate) struct Followed {
    pub channel: Option<Channel>,
    pub sessions: HashMap<SessionId, FollowedSession>,
    /// The live processes by their homes, and those killed, as (MACHINE SESSION PID).
    pub live: BTreeMap<PathBuf, Vec<LiveProcess>>,
    killed: BTreeMap<PathBuf, BTreeSet<(Option<String>, String, u32)>>,
    /// Whom agents' programs reach, if the socket is open.
    pub door: Option<DoorState>,
    /// What the program is told of looking at files; the rest follows from the user's options.
    pub settings: Settings,
}

/// A session that is followed, and what is known of it beside its lines.
#[derive(Debug, Default)]
pub(crate) struct FollowedSession {
    pub recorder: Recorder,
    /// Whether its files and those of processes were read once.
    is_ready: bool,
    /// Whether it was silent for long while it was not ready.
    is_quiet: bool,
    pid: Option<u32>,
    /// Whether its process was looked for since something was asked in its lines.
    is_looked_for: bool,
    /// Whether its process has a file while it lives.
    has_processes: bool,
}

/// A session's thread.
struct Session {
    /// The key of its thread, and of the threads of the same transcript with the times of their last lines.
    key: String,
    threads: Vec<(String, Millis)>,
    machine: Option<String>,
    /// When the agent is known to have worked last: at its last line, or before if its file is older.
    last: Option<Millis>,
    /// When the file grew, while the session is not ready: its agent may have been idle for hours.
    grew: Option<Millis>,
}

impl Session {
    /// Its id, if it is one of Claude Code, whose processes have files.
    fn claude_id(&self) -> Option<&str> {
        let Identity { program, session, .. } = Identity::of(&self.key);
        session.filter(|_| program == Some("claude"))
    }
}

impl Followed {
    /// Tells the program something; returns whether something of that is to be flushed.
    pub(crate) fn tell(&mut self, command: &Command) -> bool {
        self.channel.as_mut().is_some_and(|channel| channel.send(command))
    }

    /// Tells the program of the machine on which a session is followed something about that.
    pub(crate) fn tell_of(&mut self, id: SessionId, command: impl Fn(SessionId) -> Command) {
        let machine = self.sessions.get(&id).and_then(|one| one.recorder.machine());
        let machine = machine.map(str::to_owned);
        self.tell(&command(id).at(machine));
    }

    pub(crate) fn forget(&mut self, id: SessionId) {
        self.tell_of(id, Command::Stop);
        self.sessions.remove(&id);
    }

    fn session(&self, id: SessionId) -> Option<Session> {
        let FollowedSession { recorder, is_ready, .. } = self.sessions.get(&id)?;
        let key = recorder.progress().thread.clone()?;
        let grew = recorder.progress().grew.and_then(millis_of).filter(|_| !is_ready);
        let threads: Vec<_> = recorder.threads().map(|(key, time)| (key.to_owned(), time)).collect();
        let last = threads.iter().find(|(thread, _)| *thread == key).map(|(_, time)| *time);
        let last = last.into_iter().chain(grew).min();
        let machine = recorder.machine().map(str::to_owned);
        Some(Session { key, threads, machine, last, grew })
    }

    /// The live process of a session.
    fn process(&self, session: &Session) -> Option<&LiveProcess> {
        let id = session.claude_id()?;
        let mut live = self.live.values().flatten();
        live.find(|process| process.machine == session.machine && process.session.as_deref() == Some(id))
    }

    /// How the agent of a session ended, of which no process lives. It was killed if it left its file.
    fn end_of(&self, session: &Session, pid: Option<u32>) -> End {
        let id = session.claude_id();
        let is_killed = self.killed.values().flatten().any(|(machine, killed, number)| {
            *machine == session.machine && Some(killed.as_str()) == id && pid.is_none_or(|pid| pid == *number)
        });
        let mut live = self.live.values().flatten();
        let end = |ending, reason: &str| End::new(ending, Some(reason.to_owned()));
        // Claude Code changes the session by its commands /clear and /resume.
        if live.any(|process| process.machine == session.machine && Some(process.pid) == pid) {
            End { is_left: true, ..end(Ending::SessionEnded, "another session began") }
        } else if is_killed {
            end(Ending::Killed, "killed")
        } else {
            end(Ending::SessionEnded, "agent exited")
        }
    }
}

/// What the file of a live process says.
fn word(process: &LiveProcess) -> Process {
    match process.status.as_deref() {
        _ if process.is_suspended => Process::Stopped,
        Some("busy") => Process::Busy,
        Some("idle") => Process::Idle { has_commands: false },
        // A server that runs for days must not keep its agent working.
        Some("shell") => Process::Idle { has_commands: true },
        Some("waiting") => {
            let reason = process.waiting_for.as_deref();
            let line = process.needs.as_deref().or(reason);
            waiting(reason, line.map(|line| one_line(line).0.into_owned()))
        }
        _ => Process::Unknown,
    }
}

/// What a process does that waits for a reason, of which a line says more. Claude Code waits for "dialog open"
/// also if the user opened that between two turns, such as the one of /model.
pub(crate) fn waiting(reason: Option<&str>, why: Option<String>) -> Process {
    Process::Waiting { why, in_turn: reason != Some("dialog open") }
}

/// What the program tells is said of the agents in the store.
pub(crate) struct Listener<'m> {
    pub followed: &'m mut Followed,
    pub store: &'m mut Store,
    pub now: Millis,
}

impl Listener<'_> {
    /// Reports what a message of the program tells of agents, before Lisp is told of it.
    pub(crate) fn hear(&mut self, message: &Message) -> Vec<Changed> {
        match message {
            Message::Processes { home, machine, live, killed } => {
                let killed = killed.iter().map(|(session, pid)| (machine.clone(), session.clone(), *pid));
                self.followed.killed.insert(home.clone(), killed.collect());
                self.followed.live.insert(home.clone(), live.clone());
                let ready = self.followed.sessions.iter().filter(|(_, one)| one.is_ready);
                let ids: Vec<SessionId> = ready.map(|(id, _)| *id).collect();
                ids.into_iter().filter_map(|id| self.report_process(id)).collect()
            }
            Message::Ready { session, has_processes } => self.report_ready(*session, *has_processes),
            Message::Quiet(id) => {
                if let Some(followed) = self.followed.sessions.get_mut(id).filter(|one| !one.is_ready) {
                    followed.is_quiet = true;
                    return Vec::new();
                }
                self.report_quiet(*id)
            }
            Message::Door(DoorEvent::State(state)) => {
                self.followed.door = Some(state.clone());
                Vec::new()
            }
            Message::Connection(machine, Some(_)) => self.report_machine(machine),
            _ => Vec::new(),
        }
    }

    /// Has the process of a session looked for in whose lines something was asked since that was last done: it
    /// may have ended before the lines were read.
    pub(crate) fn look_for_process(&mut self, id: SessionId) {
        let is_due = self.followed.sessions.get(&id).is_some_and(|one| one.is_ready && !one.is_looked_for);
        if let Some(session) = is_due.then(|| self.followed.session(id)).flatten()
            && self.store.is_used(&session.key)
            && self.followed.process(&session).is_none()
        {
            self.followed.tell_of(id, Command::Check);
        }
    }

    /// Reports what the process of a session does, unless nothing was asked in it, as after /clear.
    fn report_process(&mut self, id: SessionId) -> Option<Changed> {
        let session = self.followed.session(id)?;
        let has_thread = self.store.is_used(&session.key);
        let live = self.followed.process(&session).map(|process| (process.pid, word(process)));
        let followed = self.followed.sessions.get_mut(&id)?;
        let last_pid = followed.pid;
        let has_processes = followed.has_processes || last_pid.is_some();
        let is_first = has_thread && !mem::replace(&mut followed.is_looked_for, true);
        let (what, since) = if let Some((pid, what)) = live {
            followed.pid = Some(pid);
            let here = session.machine.is_none().then_some(pid);
            self.store.agents.tell(&session.key, Fact::Pid(By::File, here));
            let is_idle = matches!(what, Process::Idle { .. });
            (what, if is_idle { session.last } else { session.grew })
        } else {
            // Only a trace tells of one that was not live before: that it has no file, or left one.
            let is_trace = !self.is_live(&session.key);
            let end = End { is_trace, ..self.followed.end_of(&session, last_pid) };
            let is_told = has_processes || end.ending == Some(Ending::Killed);
            if is_trace && !(is_first && is_told) {
                return None;
            }
            self.store.agents.tell(&session.key, Fact::Pid(By::File, None));
            (Process::Gone(end), session.last)
        };
        // A process may work for a moment, as on /resume, in a session in which nothing was asked.
        if !has_thread && matches!(what, Process::Idle { .. } | Process::Gone(_)) {
            let is_transition = self.store.agents.forget(&session.key);
            return Some(Changed { thread: session.key, is_transition, ..Changed::default() });
        }
        Some(self.report(&session.key, what, since))
    }

    /// Tells what the process of an agent does by its file.
    fn report(&mut self, key: &str, what: Process, since: Option<Millis>) -> Changed {
        let at = self.now;
        let since = since.unwrap_or(at).min(at);
        self.store.tell(key, [Fact::Process(Reported { what, by: By::File, at, since })], at)
    }

    /// Whether a live process was told of last.
    fn is_live(&self, key: &str) -> bool {
        let process =
            self.store.agents.facts(key).map(|facts| &facts.process).filter(|told| told.by == By::File);
        process.is_some_and(|told| !matches!(told.what, Process::Gone(_) | Process::Lost(_)))
    }

    /// Reports what is known of a session whose files and those of processes were read.
    fn report_ready(&mut self, id: SessionId, has_processes: bool) -> Vec<Changed> {
        let Some(followed) = self.followed.sessions.get_mut(&id) else { return Vec::new() };
        let (is_first, is_quiet) = (!followed.is_ready, mem::take(&mut followed.is_quiet));
        followed.has_processes = has_processes;
        followed.is_looked_for &= !is_first;
        if is_first && let Some(session) = self.followed.session(id) {
            self.report_journal(&session);
        }
        let mut changes: Vec<Changed> = self.report_process(id).into_iter().collect();
        // Before that, the session is as old as its file.
        if let Some(followed) = self.followed.sessions.get_mut(&id) {
            followed.is_ready = true;
        }
        if is_quiet {
            changes.extend(self.report_quiet(id));
        }
        changes
    }

    /// Takes the ending in the journal of a thread for that of its transcript, if no line tells another.
    fn report_journal(&mut self, session: &Session) {
        let is_told = |facts: &Facts| facts.turn.what != Turn::Unknown;
        if !self.store.agents.facts(&session.key).is_some_and(is_told)
            && let Some((end, last)) = self.store.end_of(&session.key)
        {
            let turn = Reported::new(Turn::Over(end), By::Lines, last);
            self.store.agents.tell(&session.key, Fact::Turn(turn));
        }
    }

    /// Reports of the threads of a session in which a turn seemed to run that it is over, for this reason.
    fn report_over(&mut self, session: &Session, reason: &str) -> Vec<Changed> {
        let seems_to_run = |facts: &Facts| {
            facts.turn.by == By::Lines && matches!(facts.turn.what, Turn::Runs(_) | Turn::Unknown)
        };
        let threads = session.threads.iter();
        let running = threads.filter(|(key, _)| self.store.agents.facts(key).is_some_and(seems_to_run));
        let running: Vec<_> = running.collect();
        let over = Turn::Over(End::new(None, Some(reason.to_owned())));
        let over = |at: &Millis| Fact::Turn(Reported::new(over.clone(), By::Lines, *at));
        running.into_iter().map(|(key, last)| self.store.tell(key, [over(last)], self.now)).collect()
    }

    fn report_quiet(&mut self, id: SessionId) -> Vec<Changed> {
        let Some(session) = self.followed.session(id) else { return Vec::new() };
        self.report_over(&session, "quiet for long")
    }

    /// Stops following a session, and reports that. What a live process does then is unknown.
    pub(crate) fn stop(&mut self, id: SessionId) -> Vec<Changed> {
        let changes = match self.followed.session(id) {
            None => Vec::new(),
            Some(session) if self.is_live(&session.key) => vec![self.report_lost(&session.key)],
            Some(session) => self.report_over(&session, "no longer followed"),
        };
        self.followed.forget(id);
        changes
    }

    /// Reports that a machine is no longer connected.
    fn report_machine(&mut self, machine: &str) -> Vec<Changed> {
        let sessions = self.followed.sessions.iter_mut();
        let of_machine = sessions.filter(|(_, one)| one.recorder.machine() == Some(machine));
        // Agents may end meanwhile.
        let lost = of_machine.map(|(id, one)| {
            one.is_ready = false;
            *id
        });
        let lost: Vec<SessionId> = lost.collect();
        let lost: Vec<Session> = lost.into_iter().filter_map(|id| self.followed.session(id)).collect();
        lost.iter().map(|session| self.report_lost(&session.key)).collect()
    }

    /// Reports that it is unknown what the agents do that were at work by the program.
    pub(crate) fn report_program_lost(&mut self) -> Vec<Changed> {
        let agents = &self.store.agents;
        let is_of_program = |facts: &Facts| facts.process.by == By::File || facts.turn.by == By::Lines;
        let at_work = agents.keys().filter(|key| {
            agents.facts(key).is_some_and(is_of_program)
                && !agents.decision(key).is_some_and(Decision::is_rest)
        });
        let at_work: Vec<String> = at_work.map(str::to_owned).collect();
        at_work.iter().map(|key| self.report_lost(key)).collect()
    }

    fn report_lost(&mut self, key: &str) -> Changed {
        self.report(key, Process::Lost(None), None)
    }
}
