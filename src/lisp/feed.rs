//! Lisp functions of the program outside: what it sent, and what it is told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use emacs::{Env, Result, Value, defun};

use super::read::{self, Key, wrong};
use super::reports::Changed;
use super::sessions::Followup;
use super::{Module, border, guarded, news, now, serialized, with_module};
use crate::channel::{Channel, Sent};
use crate::error::Error;
use crate::file::Slice;
use crate::recorder::Recorder;
use crate::recorder::apply::{Applied, Applier};
use crate::wire::event::Agent;
use crate::wire::program::{
    Command, DoorEvent, DoorState, Machine, Message, Piece, Process, Report, SessionId, Settings,
};
use crate::wire::socket::{Answer, Message as Said};

emacs::use_symbols! {
    flush_soon => "todo-write-hub--flush-soon"
}

/// The time between looks at files until Lisp says another.
const INTERVAL: Duration = Duration::from_secs(2);
/// The longest time for which lines are applied at once.
const FEED: Duration = Duration::from_millis(8);

/// The number that was given last to a session or a round of choices. No other one has it, so that a message of a
/// program that ended is never taken for one of the next.
static LAST: AtomicU64 = AtomicU64::new(0);

fn next_number() -> u64 {
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// What the module keeps of the program and of the sessions that it follows.
#[derive(Default)]
pub(super) struct Followed {
    channel: Option<Channel>,
    pub(super) appliers: HashMap<SessionId, Applier>,
    /// The live processes by their homes, and those killed, as (MACHINE SESSION PID).
    pub(super) live: BTreeMap<PathBuf, Vec<Process>>,
    pub(super) killed: BTreeMap<PathBuf, BTreeSet<(Option<String>, String, u32)>>,
    /// What is known of sessions beside their lines.
    pub(super) followups: HashMap<SessionId, Followup>,
    /// The machines that do not tell of their processes.
    pub(super) silent: BTreeSet<String>,
    /// Whom agents' programs reach, if the socket is open.
    pub(super) door: Option<DoorState>,
    interval: Duration,
    quiet: Option<Duration>,
}

/// What Lisp is told.
pub(super) enum Told {
    Read(SessionId, Applied, Vec<String>, Vec<Changed>),
    Progress(SessionId, Option<String>, Option<u64>),
    Processes(Vec<Process>, Vec<Changed>),
    /// The program cannot serve this Emacs, for that reason.
    Refused(String),
    Other(Message, Vec<Changed>),
}

/// Keep commands for a program that is about to connect; forget the sessions that an earlier one followed.
#[defun]
fn channel_begin(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        with_module(|module| {
            let channel = Some(Channel::default());
            module.followed = Followed { channel, interval: INTERVAL, ..Followed::default() };
            let emacs = module.settings.storage.emacs.clone().unwrap_or_default();
            module.tell(&Command::Hello { id: emacs.clone(), name: emacs });
            module.tell(&Command::Set(module.settings_there()));
        });
        Ok(())
    })
}

/// Connect to the program that listens at SOCKET, a file, and send it the commands that were kept.
#[defun]
fn channel_connect<'e>(env: &'e Env, socket: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let socket = PathBuf::from(read::text("socket", socket)?);
        let connect = |module: &mut Module| module.followed.channel.as_mut().map(|one| one.connect(&socket));
        Ok(with_module(connect).transpose().map_err(|error| Error::Door(error.to_string()))?)
    })
}

/// Leave the program, which ends then, and stop following all sessions.
#[defun]
fn channel_end(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        with_module(|module| module.followed = Followed::default());
        Ok(())
    })
}

/// Send the commands that were kept; return non-nil if some still are.
#[defun]
fn channel_flush(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        let flushed = with_module(|module| module.followed.channel.as_mut().map(Channel::flush));
        Ok(flushed == Some(Sent::Kept))
    })
}

/// Tells the program something. What it does not take at once is flushed by a timer of Lisp.
pub(super) fn tell(env: &Env, command: Command) -> Result<()> {
    if with_module(|module| module.tell(&command)) == Sent::Kept {
        env.call(flush_soon, [])?;
    }
    Ok(())
}

/// As [`tell`], for a machine if there is one.
pub(super) fn tell_machine(env: &Env, machine: Option<String>, command: Command) -> Result<()> {
    tell(env, at(machine, command))
}

/// The command for a machine, or for this one.
fn at(machine: Option<String>, command: Command) -> Command {
    match machine {
        Some(machine) => Command::There(machine, Box::new(command)),
        None => command,
    }
}

/// Reads a number of seconds, at least `least`.
fn seconds(what: &str, value: Value<'_>, least: f64) -> Result<Duration> {
    let number = value.into_rust::<f64>().or_else(|_| value.into_rust::<i64>().map(|whole| whole as f64));
    let number = number.ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| wrong(what, value, "a number of seconds"))?;
    Ok(Duration::from_secs_f64(number.clamp(least, 1e9)))
}

fn times(interval: Value<'_>, quiet: Value<'_>) -> Result<(Duration, Option<Duration>)> {
    let interval = seconds("interval", interval, 0.01)?;
    Ok((interval, read::optional("quiet", quiet, |what, value| seconds(what, value, 0.0))?))
}

/// Set the INTERVAL between looks at files, and after how long a silence sessions are QUIET, nil for never.
///
/// Both are in seconds.
#[defun]
fn hub_set<'e>(env: &'e Env, interval: Value<'e>, quiet: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (interval, quiet) = times(interval, quiet)?;
        let settings = with_module(|module| {
            (module.followed.interval, module.followed.quiet) = (interval, quiet);
            module.settings_there()
        });
        tell(env, Command::Set(settings))
    })
}

/// Follow the session whose transcript is FILE, a string; return its number.
///
/// MACHINE is a list (NAME PREFIX) if FILE is on another machine, else nil: FILE begins with PREFIX, as the
/// project will, and keys begin with NAME and a slash.  ASKED is non-nil if the user asked for it: else one that
/// no user looks at, as of `claude -p', is followed only once it has a list.
#[defun]
fn hub_follow<'e>(env: &'e Env, file: Value<'e>, machine: Value<'e>, asked: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let file = PathBuf::from(read::text("transcript", file)?);
        let is_asked = asked.is_not_nil();
        let machine = match read::texts("machine", machine)?.as_slice() {
            [] => None,
            [name, prefix] => Some(Machine { name: name.clone(), prefix: prefix.clone() }),
            _ => return Err(wrong("machine", machine, "(NAME PREFIX)")),
        };
        let (session, name) = (next_number(), machine.as_ref().map(|machine| machine.name.clone()));
        with_module(|module| {
            module.followed.appliers.insert(session, Applier::new(Recorder::new(None, machine)));
        });
        tell_machine(env, name, Command::Follow { session, file, is_asked })?;
        Ok(i64::try_from(session).ok())
    })
}

/// Stop following the session of number SESSION.
///
/// MOVED non-nil means that it is followed on in another file.  The value is like the `:changes' of
/// `todo-write-dyn--feed'.
#[defun]
fn hub_stop<'e>(env: &'e Env, session: Value<'e>, moved: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let id = read::whole_number("session", session)?;
        let is_moved = moved.is_not_nil();
        Ok(with_module(|module| {
            if is_moved {
                module.forget(id);
                return Vec::new();
            }
            module.stop(id)
        }))
    })
}

/// Return non-nil if the transcript of the session of THREAD is followed, and has named it.
#[defun]
fn hub_follows_p(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        Ok(with_module(|Module { followed, .. }| {
            followed.appliers.values().any(|applier| applier.progress().thread.as_deref() == Some(&*thread))
        }))
    })
}

/// Set the folders of agents whose processes are read.
///
/// HOMES is a list of lists (AGENT FOLDER) of strings.  They are searched for live sessions if SEARCHED is non-nil.
#[defun]
fn hub_set_homes<'e>(env: &'e Env, homes: Value<'e>, searched: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let homes = read::elements("homes", homes)?.into_iter().map(home_of).collect::<Result<_>>()?;
        tell(env, Command::Homes(Some(homes), searched.is_not_nil()))
    })
}

fn home_of(element: Value<'_>) -> Result<(Agent, PathBuf)> {
    match read::texts("home", element)?.as_slice() {
        [agent, folder] if Agent::parse(agent).is_some() => {
            Ok((Agent::parse(agent).unwrap_or(Agent::Claude), folder.into()))
        }
        _ => Err(wrong("home", element, "(AGENT FOLDER)")),
    }
}

/// Say `ready' of the session of number SESSION once all that its files and those of processes have now
/// was read.
#[defun]
fn hub_check<'e>(env: &'e Env, session: Value<'e>) -> Result<Value<'e>> {
    border(env, || tell(env, Command::Check(read::whole_number("session", session)?)))
}

/// Search for sessions.
#[defun]
fn hub_search(env: &Env) -> Result<Value<'_>> {
    border(env, || tell(env, Command::Search))
}

/// Describe the newest sessions in the homes, or on MACHINE if that is non-nil.
///
/// PROJECT is a list of the names of a project's root.  Return the `:round' of the answer.
#[defun]
fn hub_choose<'e>(env: &'e Env, machine: Value<'e>, project: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let machine = read::optional("machine", machine, read::text)?;
        let project = read::texts("project", project)?.into_iter().map(PathBuf::from).collect();
        let round = next_number();
        tell_machine(env, machine, Command::Choose(round, project))?;
        Ok(i64::try_from(round).ok())
    })
}

/// Read and apply what the program sent, for at most 8 ms; return the news.  It rings again for the rest.
///
/// The value is a list of plists, oldest first.  What happened at a socket has a `:type', see below.  Else,
/// `:kind' is one of
/// - `read': the transcript of `:session' was read up to its end.  `:thread' is the key of its thread or
///   nil; `:grew' when its file grew, in seconds; `:skipped' the number of bytes skipped because a line or a
///   file was too long; `:updates' a list of plists `:thread :outcome', one for each thread with new events,
///   whose `:outcome' is nil if its list did not change; `:warnings' strings for the user.
/// - `progress': a part of it was read, `:percent' of its file, or nil if that is unknown; `:thread' is as
///   above.
/// - `ready': it and the process files of its home were read.
/// - `quiet': nothing was written for long.
/// - `silent': no line tells for two minutes whether its agent, Codex, still works.
/// - `moved': its process says that it goes on in `:file', as after /cd.
/// - `unreadable', `failed': it is no longer followed, for `:reason' or because of a defect.
/// - `processes': `:processes' are the live ones, plists `:pid :machine :state :sessionId :status
///   :waitingFor'.  `:state' is `alive' or `suspended', `:machine' nil for this one; the others but the
///   first are as in the process's file, or nil.
/// - `found': `:files' are the sessions in the searched folder `:home', newest first, plists `:file :time
///   :begun'; `:skipped' are the names of files that are not text.
/// - `choices': `:choices' are plists `:file :time :ofProject :description' of round `:round', newest
///   first.  `:description' is a plist `:host :folder :title', the last two strings or nil.
/// - `connection': that to `:machine' was made, to a program of `:version' with a `:note' for the user or
///   nil, or it was lost for `:reason', a string; `:missing' if the program was not found there.
/// - `stuck': the folder `:root' has not answered for ten seconds, or does again if `:over'.
/// - `broken': what read the folder `:root' failed, which is a defect; `:root' is "" if a message was
///   lost.
/// - `refused': the program cannot serve this Emacs, for `:reason'.
///
/// The `:changes' of `read', `processes', `ready', `quiet', `silent' and `connection' are what became of
/// that, a list of plists as from `todo-write-dyn--set-activity'.
///
/// `:type' is one of
/// - `hello', `call', `cancel', `activity' and `bye': the program of `:connection', a number, said that.
///   The other keys are the fields of doc/protocol.md.  `:arguments' is JSON text, `:roles' a list of
///   strings, everything else a string, a number or t.  In place of `:pidDomain', `:elsewhere' is t if the
///   process id is that of another container.
/// - `closed': that connection has closed.
/// - `outdated': a program is of another version, and must be set up again.
/// - `state': it changed by itself; `:state', `:process' and `:text' are as for `todo-write-dyn--door-state'.
///
/// `:machine' is the name of the machine where it happened, absent for this one; connections are numbered on
/// each machine.  Each call must be answered by `todo-write-dyn--door-answer', unless it is cancelled or its
/// connection closes.
#[defun]
fn feed(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        let slice = Slice::of(FEED);
        let told = with_module(|module| module.feed(&slice));
        let news = told.into_iter().map(|told| {
            let session = told.session();
            // The others are told all the same.
            guarded(env, || news::to_lisp(env, told)).or_else(|_| {
                let changes = session.map(|id| with_module(|module| module.stop(id)));
                news::to_lisp(env, Told::failed(session, changes.unwrap_or_default()))
            })
        });
        env.list(&news.collect::<Result<Vec<_>>>()?)
    })
}

impl Told {
    fn session(&self) -> Option<SessionId> {
        match self {
            Told::Read(id, ..) | Told::Progress(id, ..) => Some(*id),
            Told::Processes(..) | Told::Refused(_) => None,
            Told::Other(message, _) => message.session(),
        }
    }

    /// Says that what was to be told of a session, or of something else, is lost by a defect.
    fn failed(session: Option<SessionId>, changes: Vec<Changed>) -> Told {
        let message = session.map_or_else(|| Message::Broken(PathBuf::new()), Message::Failed);
        Told::Other(message, changes)
    }
}

impl Module {
    /// Tells the program something.
    pub(super) fn tell(&mut self, command: &Command) -> Sent {
        self.followed.channel.as_mut().map_or(Sent::Lost, |channel| channel.send(command))
    }

    /// The options for the program.
    pub(super) fn settings_there(&self) -> Settings {
        Settings {
            interval: self.followed.interval,
            quiet: self.followed.quiet,
            policy: self.settings.policy.clone(),
            input: self.settings.input,
        }
    }

    /// Applies lines until the slice is over, at least one; returns what Lisp is told.
    fn feed(&mut self, slice: &Slice) -> Vec<Told> {
        let mut all = Vec::new();
        let mut partly = BTreeSet::new();
        let has_more = loop {
            let Some(channel) = &mut self.followed.channel else { break false };
            let Some(line) = channel.next_line() else { break false };
            let report = serde_json::from_slice(line);
            let told = match report {
                Ok(Report::Hub(message)) => {
                    let session = message.session();
                    // A panic ends that session only.
                    let taken = catch_unwind(AssertUnwindSafe(|| self.take(message)));
                    taken.unwrap_or_else(|_| Some(self.fail(session)))
                }
                Ok(Report::Refused(reason)) => Some(Told::Refused(reason)),
                Ok(Report::Welcome { .. } | Report::Pulse) => None,
                // The program is of the same version, so this is a defect.
                Err(_) => Some(Told::failed(None, Vec::new())),
            };
            match told {
                Some(Told::Progress(id, ..)) => drop(partly.insert(id)),
                Some(told) => {
                    if let Told::Read(id, ..) = &told {
                        partly.remove(id);
                    }
                    add(&mut all, told);
                }
                None => {}
            }
            if slice.is_over() {
                break self.followed.channel.as_ref().is_some_and(Channel::has_more);
            }
        };
        for told in &mut all {
            if let Told::Processes(live, _) = told {
                live.extend(self.followed.live.values().flatten().cloned());
            }
        }
        let progress = partly.into_iter().filter_map(|id| {
            let applied = self.followed.appliers.get(&id)?.progress();
            Some(Told::Progress(id, applied.thread.clone(), applied.percent()))
        });
        all.extend(progress.collect::<Vec<_>>());
        self.followed.channel.as_mut().map(|channel| channel.acknowledge(has_more));
        all
    }

    fn take(&mut self, message: Message) -> Option<Told> {
        match message {
            Message::Events(id, piece) => self.apply(id, piece),
            Message::Door(event) => self.pass_on(None, event),
            Message::DoorThere(machine, event) => self.pass_on(Some(machine), event),
            message => Some(self.note(message)),
        }
    }

    /// Passes on what happened at a socket, unless it is a call whose agent has an error already: its program goes
    /// on after any answer.
    fn pass_on(&mut self, machine: Option<String>, event: DoorEvent) -> Option<Told> {
        if let DoorEvent::Message(id, Said::Call(call)) = &event
            && call.until.is_some_and(|until| until < now())
        {
            self.tell(&at(machine, Command::Answer(*id, Answer { call: call.call, ..Answer::default() })));
            return None;
        }
        Some(self.note(match machine {
            Some(machine) => Message::DoorThere(machine, event),
            None => Message::Door(event),
        }))
    }

    /// Notes what a message says of processes and agents; returns what Lisp is told.
    fn note(&mut self, message: Message) -> Told {
        match &message {
            Message::Processes { home, machine, live, killed } => {
                let killed = killed.iter().map(|(session, pid)| (machine.clone(), session.clone(), *pid));
                self.followed.killed.insert(home.clone(), killed.collect());
                self.followed.live.insert(home.clone(), live.clone());
            }
            Message::Door(DoorEvent::State(state)) => self.followed.door = Some(state.clone()),
            _ => {}
        }
        let mut changes = self.hear(&message);
        changes.retain(|changed| !changed.is_empty());
        match message {
            Message::Processes { .. } => Told::Processes(Vec::new(), changes),
            message => Told::Other(message, changes),
        }
    }

    /// Stops following a session, and reports that.
    fn stop(&mut self, id: SessionId) -> Vec<Changed> {
        let changes = self.report_stop(id);
        self.forget(id);
        changes
    }

    fn forget(&mut self, id: SessionId) {
        self.followed.appliers.remove(&id);
        self.followed.followups.remove(&id);
        self.tell(&Command::Stop(id));
    }

    /// Ends the session of what made the module panic, if it is one's.
    fn fail(&mut self, session: Option<SessionId>) -> Told {
        self.recover();
        let changes = session.map(|id| self.stop(id)).unwrap_or_default();
        Told::failed(session, changes)
    }

    /// Applies a piece of a session.
    fn apply(&mut self, id: SessionId, piece: Piece) -> Option<Told> {
        let Module { followed, store, settings, .. } = self;
        // One that was stopped meanwhile has none.
        let applier = followed.appliers.get_mut(&id)?;
        applier.recorder.policy.clone_from(&settings.policy);
        let Some(mut applied) = applier.apply(piece, store, settings.keep_completed, now()) else {
            return Some(Told::Progress(id, None, None));
        };
        let warnings =
            store.take_warnings().into_iter().chain(std::mem::take(&mut applied.warnings)).collect();
        let changes = self.report_lines(&mut applied.updates);
        self.look_for_process(id);
        Some(Told::Read(id, applied, warnings, changes))
    }
}

/// Adds what Lisp is told. All live processes are told once.
fn add(all: &mut Vec<Told>, told: Told) {
    if let Told::Processes(_, changes) = told {
        let known = all.iter_mut().find_map(|known| match known {
            Told::Processes(_, known) => Some(known),
            _ => None,
        });
        match known {
            Some(known) => known.extend(changes),
            None => all.push(Told::Processes(Vec::new(), changes)),
        }
    } else {
        all.push(told);
    }
}
