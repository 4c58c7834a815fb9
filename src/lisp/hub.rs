//! Lisp functions of the hub, which follows sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use emacs::{Env, Result, Value, defun};

use super::read::{self, Key, wrong};
use super::reports::Changed;
use super::sessions::Followup;
use super::{Module, border, guarded, news, now, serialized, with_module};
use crate::agents::Agent;
use crate::agents::claude::process_files::Process;
use crate::agents::recorder::{Machine, Recorder};
use crate::error::{Error, Problem};
use crate::file::Slice;
use crate::hub::apply::{Applied, Applier};
use crate::hub::{Bell, Home, Hub, Message, Piece, Scope, SessionId, Settings};

/// The longest time for which messages are taken at once.
const TAKE: Duration = Duration::from_millis(5);
/// Maximum number of messages that are taken at once: to tell Lisp of one may take longer than to take it.
const MOST_TAKEN: usize = 100;

/// What the module keeps of the hub.
#[derive(Default)]
pub(super) struct Followed {
    pub(super) hub: Option<Hub>,
    pub(super) appliers: HashMap<SessionId, Applier>,
    /// The session whose events are being applied.
    pub(super) applying: Option<SessionId>,
    /// The live processes by their homes, and those killed, as (MACHINE SESSION PID).
    pub(super) live: BTreeMap<PathBuf, Vec<Process>>,
    pub(super) killed: BTreeMap<PathBuf, BTreeSet<(Option<String>, String, u32)>>,
    /// What is known of sessions beside their lines.
    pub(super) followups: HashMap<SessionId, Followup>,
    /// The machines that do not tell of their processes.
    pub(super) silent: BTreeSet<String>,
}

/// What Lisp is told.
pub(super) enum Report {
    Read(SessionId, Applied, Vec<String>, Vec<Changed>),
    Progress(SessionId, Option<String>, Option<u64>),
    Processes(Vec<Process>, Vec<Changed>),
    Other(Message, Vec<Changed>),
}

#[cfg(unix)]
fn bell(env: &Env, process: Value<'_>) -> Result<Bell> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
    use std::any::Any;
    use std::io::{PipeWriter, Write};

    let channel = env.open_channel(process).map_err(|_| wrong("process", process, "a pipe process"))?;
    let channel: Box<dyn Any> = Box::new(channel);
    let mut writer = *channel.downcast::<PipeWriter>().map_err(|_| unavailable())?;
    // Emacs' own flags would let subprocesses inherit the pipe, and writing to a full one wait.
    fcntl_setfd(&writer, fcntl_getfd(&writer)? | FdFlags::CLOEXEC)?;
    fcntl_setfl(&writer, fcntl_getfl(&writer)? | OFlags::NONBLOCK)?;
    // A full pipe has rung already.
    Ok(Box::new(move || drop(writer.write(b"!"))))
}

#[cfg(not(unix))]
fn bell(_env: &Env, _process: Value<'_>) -> Result<Bell> {
    Err(unavailable().into())
}

fn unavailable() -> Error {
    Error::Argument(Problem::new(
        "system",
        "one without channels for modules",
        "one where sessions can be followed",
    ))
}

/// Start the threads that follow sessions, which write to PROCESS, a pipe process, when there is
/// something for `todo-write-dyn--hub-take'.
///
/// INTERVAL and QUIET, in seconds, are as for `todo-write-dyn--hub-set'.
#[defun]
fn hub_begin<'e>(
    env: &'e Env,
    process: Value<'e>,
    interval: Value<'e>,
    quiet: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let bell = bell(env, process)?;
        let (interval, quiet) = times(interval, quiet)?;
        with_module(|module| {
            let options = &module.settings;
            let settings = Settings { interval, quiet, policy: options.policy.clone(), input: options.input };
            module.followed = Followed { hub: Some(Hub::new(settings, bell)), ..Followed::default() };
        });
        Ok(())
    })
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

/// Stop following all sessions.  Nothing is written to the pipe process any more.
#[defun]
fn hub_end(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        with_module(|module| module.followed = Followed::default());
        Ok(())
    })
}

/// Return non-nil if the threads that follow sessions run.
#[defun]
fn hub_live_p(env: &Env) -> Result<Value<'_>> {
    border(env, || Ok(with_module(|module| module.followed.hub.as_ref().is_some_and(Hub::is_alive))))
}

/// Set the INTERVAL between looks at files, and after how long a silence sessions are QUIET, nil for never.
///
/// Both are in seconds.
#[defun]
fn hub_set<'e>(env: &'e Env, interval: Value<'e>, quiet: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (interval, quiet) = times(interval, quiet)?;
        Ok(with_hub(|hub| hub.set(|settings| (settings.interval, settings.quiet) = (interval, quiet))))
    })
}

/// Runs `work` on the hub, if there is one.
pub(super) fn with_hub<T>(work: impl FnOnce(&mut Hub) -> T) -> Option<T> {
    with_module(|module| module.followed.hub.as_mut().map(work))
}

/// Follow the session whose transcript is FILE, a string; return its number.
///
/// MACHINE is a list (NAME PREFIX) if FILE is on another machine, else nil: FILE begins with PREFIX, as the
/// project will, and keys begin with NAME and a slash.  Return nil if the machine is not known to the hub or
/// has too many sessions that are followed.
#[defun]
fn hub_follow<'e>(env: &'e Env, file: Value<'e>, machine: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = PathBuf::from(read::text("transcript", file)?);
        let machine = match read::texts("machine", machine)?.as_slice() {
            [] => None,
            [name, prefix] => Some(Machine { name: name.clone(), prefix: prefix.clone() }),
            _ => return Err(wrong("machine", machine, "(NAME PREFIX)")),
        };
        Ok(with_module(|module| {
            let followed = &mut module.followed;
            let hub = followed.hub.as_mut()?;
            let id = match &machine {
                #[cfg(unix)]
                Some(machine) => hub.follow_there(&machine.name, &path)?,
                #[cfg(not(unix))]
                Some(_) => return None,
                None => hub.follow(&path),
            };
            followed.appliers.insert(id, Applier::new(Recorder::new(None, machine)));
            i64::try_from(id).ok()
        }))
    })
}

/// Stop following the session of number SESSION.
///
/// MOVED non-nil means that it is followed on in another file.  The value is like the `:changes' of
/// `todo-write-dyn--hub-take'.
#[defun]
fn hub_stop<'e>(env: &'e Env, session: Value<'e>, moved: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let id = read::whole_number("session", session)?;
        let is_moved = moved.is_not_nil();
        Ok(with_module(|module| {
            if is_moved {
                module.followed.stop(id);
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

/// Set the folders of agents whose processes are read and which are searched for sessions.
///
/// HOMES is a list of lists of strings (AGENT FOLDER SCOPE NAME...).  SCOPE is "none", "project" or "all";
/// NAMEs are those of the project's root.
#[defun]
fn hub_set_homes<'e>(env: &'e Env, homes: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let homes = homes_of(homes)?;
        Ok(with_hub(|hub| hub.set_homes(homes)))
    })
}

fn homes_of(homes: Value<'_>) -> Result<Vec<Home>> {
    read::elements("homes", homes)?.into_iter().map(home_of).collect()
}

fn home_of(element: Value<'_>) -> Result<Home> {
    const EXPECTED: &str = "(AGENT FOLDER SCOPE NAME...)";
    let words = read::texts("home", element)?;
    let [agent, folder, scope, names @ ..] = words.as_slice() else {
        return Err(wrong("home", element, EXPECTED));
    };
    let agent = Agent::parse(agent).ok_or_else(|| wrong("home", element, EXPECTED))?;
    let project = names.iter().map(PathBuf::from).collect();
    let scope = (scope != "none").then(|| Scope { project, is_all: scope == "all" });
    // The components of a path have no slash at their end.
    let folder = Path::new(folder).components().collect();
    Ok(Home { agent, folder, scope })
}

/// Say `ready' of the session of number SESSION once all that its files and those of processes have now
/// was read.
#[defun]
fn hub_check<'e>(env: &'e Env, session: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let id = read::whole_number("session", session)?;
        Ok(with_hub(|hub| hub.check(id)))
    })
}

/// Search for sessions.
#[defun]
fn hub_search(env: &Env) -> Result<Value<'_>> {
    border(env, || Ok(with_hub(|hub| hub.search())))
}

/// Describe the newest sessions in HOMES, which are as for `todo-write-dyn--hub-set-homes'.
///
/// Return the `:round' of the answer.
#[defun]
fn hub_choose<'e>(env: &'e Env, homes: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let homes = homes_of(homes)?;
        Ok(with_hub(|hub| hub.choose(homes)).and_then(|round| i64::try_from(round).ok()))
    })
}

/// Return what happened since the last call, at most what can be recorded in 5 ms.
///
/// The value is a list of plists, oldest first.  `:kind' is one of
/// - `read': the transcript of `:session' was read up to its end.  `:thread' is the key of its thread or
///   nil; `:grew' when its file grew, in seconds; `:skipped' the number of bytes skipped because a line or a
///   file was too long; `:updates' a list of plists `:thread :outcome', one for each thread with new events, whose `:outcome' is nil if its list did not change;
///   `:warnings' strings for the user.
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
/// - `found': `:files' are the sessions in the searched folders, newest first, plists `:file :time
///   :ofProject :hasProcesses :begun'; `:skipped' are the names of files that are not text.
/// - `choices': `:choices' are plists `:file :time :ofProject :description' of round `:round', newest
///   first; see `todo-write-transcript-describe'.
/// - `connection': that to `:machine' was made, to a program of `:version' with a `:note' for the user or
///   nil, or it was lost for `:reason', a string; `:missing' if the program was not found there.
/// - `stuck': the folder `:root' has not answered for ten seconds, or does again if `:over'.
/// - `broken': what read the folder `:root' failed, which is a defect; `:root' is "" if a message was
///   lost.
///
/// The `:changes' of `read', `processes', `ready', `quiet', `silent' and `connection' are what became of that, a list of
/// plists as from `todo-write-dyn--set-activity'.
#[defun]
fn hub_take(env: &Env) -> Result<Value<'_>> {
    border(env, || {
        let slice = Slice::of(TAKE);
        let reports = with_module(|module| module.take(&slice));
        let told = reports.into_iter().map(|report| {
            let session = report.session();
            // The others are told all the same.
            guarded(env, || news::to_lisp(env, report)).or_else(|_| {
                let changes = session.map(|id| with_module(|module| module.stop(id)));
                news::to_lisp(env, Report::failed(session, changes.unwrap_or_default()))
            })
        });
        env.list(&told.collect::<Result<Vec<_>>>()?)
    })
}

/// Ring again if something is left for `todo-write-dyn--hub-take', or if ALWAYS is non-nil.
#[defun]
fn hub_ring<'e>(env: &'e Env, always: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let is_certain = always.is_not_nil();
        with_module(|module| {
            let is_due = module.followed.applying.is_some();
            if let Some(hub) = &module.followed.hub {
                if is_certain || is_due { hub.ring() } else { hub.ring_again() }
            }
        });
        Ok(())
    })
}

impl Report {
    fn session(&self) -> Option<SessionId> {
        match self {
            Report::Read(id, ..) | Report::Progress(id, ..) => Some(*id),
            Report::Processes(..) => None,
            Report::Other(message, _) => message.session(),
        }
    }

    /// Says that what was to be told of a session, or of something else, is lost by a defect.
    fn failed(session: Option<SessionId>, changes: Vec<Changed>) -> Report {
        let message = session.map_or_else(|| Message::Broken(PathBuf::new()), Message::Failed);
        Report::Other(message, changes)
    }
}

/// Adds a report. All live processes are told once.
fn add(reports: &mut Vec<Report>, report: Report) {
    if let Report::Processes(_, changes) = report {
        let known = reports.iter_mut().find_map(|known| match known {
            Report::Processes(_, known) => Some(known),
            _ => None,
        });
        match known {
            Some(known) => known.extend(changes),
            None => reports.push(Report::Processes(Vec::new(), changes)),
        }
    } else {
        reports.push(report);
    }
}

impl Followed {
    fn stop(&mut self, id: SessionId) {
        self.appliers.remove(&id);
        self.followups.remove(&id);
        if let Some(hub) = &self.hub {
            hub.stop(id);
        }
    }
}

impl Module {
    /// Notes what a message says of processes and agents; returns what Lisp is told.
    pub(super) fn note(&mut self, message: Message) -> Report {
        if let Message::Processes { home, machine, live, killed } = &message {
            let killed = killed.iter().map(|(session, pid)| (machine.clone(), session.clone(), *pid));
            self.followed.killed.insert(home.clone(), killed.collect());
            self.followed.live.insert(home.clone(), live.clone());
        }
        let mut changes = self.hear(&message);
        changes.retain(|changed| !changed.is_empty());
        match message {
            Message::Processes { .. } => Report::Processes(Vec::new(), changes),
            message => Report::Other(message, changes),
        }
    }

    /// Takes messages and applies them until the slice is over.
    fn take(&mut self, slice: &Slice) -> Vec<Report> {
        let mut reports = Vec::new();
        let mut partly = BTreeSet::new();
        loop {
            let (id, piece) = match self.followed.applying {
                Some(id) => (id, None),
                None => match self.followed.hub.as_ref().and_then(Hub::take_read) {
                    Some(Message::Events(id, piece)) => (id, Some(piece)),
                    Some(message) => {
                        let session = message.session();
                        let noted = catch_unwind(AssertUnwindSafe(|| self.note(message)));
                        let report = noted.unwrap_or_else(|_| self.fail(session));
                        add(&mut reports, report);
                        if slice.is_over() || reports.len() >= MOST_TAKEN { break } else { continue }
                    }
                    None => break,
                },
            };
            // A panic ends that session only.
            let applied = catch_unwind(AssertUnwindSafe(|| self.apply(id, piece, slice)));
            if let Some(report) = applied.unwrap_or_else(|_| Some(self.fail(Some(id)))) {
                partly.remove(&id);
                reports.push(report);
            } else {
                partly.insert(id);
            }
            if slice.is_over() || reports.len() >= MOST_TAKEN {
                break;
            }
        }
        for report in &mut reports {
            if let Report::Processes(live, _) = report {
                live.extend(self.followed.live.values().flatten().cloned());
            }
        }
        let progress = partly.into_iter().filter_map(|id| {
            let applied = self.followed.appliers.get(&id)?.progress();
            Some(Report::Progress(id, applied.thread.clone(), applied.percent()))
        });
        reports.extend(progress.collect::<Vec<_>>());
        reports
    }

    /// Stops following a session, and reports that.
    fn stop(&mut self, id: SessionId) -> Vec<Changed> {
        let changes = self.report_stop(id);
        self.followed.stop(id);
        changes
    }

    /// Ends the session of what made the module panic, if it is one's.
    fn fail(&mut self, session: Option<SessionId>) -> Report {
        self.recover();
        self.followed.applying = None;
        let changes = session.map(|id| self.stop(id)).unwrap_or_default();
        Report::failed(session, changes)
    }

    /// Applies what was taken of a session, with its next piece if there is one.
    fn apply(&mut self, id: SessionId, piece: Option<Piece>, slice: &Slice) -> Option<Report> {
        let Module { followed, store, settings, .. } = self;
        let Some(applier) = followed.appliers.get_mut(&id) else {
            followed.applying = None;
            return None;
        };
        if let Some(piece) = piece {
            applier.add(piece);
        }
        applier.recorder.policy.clone_from(&settings.policy);
        let applied = applier.step(store, settings.keep_completed, now(), slice);
        followed.applying = applier.is_due().then_some(id);
        let mut applied = applied?;
        let warnings =
            store.take_warnings().into_iter().chain(std::mem::take(&mut applied.warnings)).collect();
        let changes = self.report_lines(&mut applied.updates);
        self.look_for_process(id);
        Some(Report::Read(id, applied, warnings, changes))
    }
}
