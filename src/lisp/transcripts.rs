//! Lisp functions that read transcripts of coding agents.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use emacs::{Env, FromLisp, IntoLisp, Result, Value, defun};

use super::read::{self, wrong};
use super::threads::summary_of;
use super::{Module, Settings, border, enter, guarded, now, with_module, write};
use crate::agents::claude::processes::{MachineProcesses, Process, ProcessFolder};
use crate::agents::describe::describe;
use crate::agents::follower::Follower;
use crate::agents::listing::{Listing, Wanted};
use crate::agents::recorder::{Machine, Recorder, ThreadUpdate};
use crate::error::{Error, Problem};
use crate::events::work::Part;
use crate::file::{self, Slice};
use crate::journal::store::Store;
use crate::thread::activity::{Activity, Ending};

emacs::use_symbols! {
    k_thread => ":thread" k_last => ":last" k_bytes => ":bytes" k_updates => ":updates"
    k_outcome => ":outcome" k_state => ":state" k_warnings => ":warnings"
    k_session => ":session" k_folder => ":folder" k_title => ":title" k_begun => ":begun"
    k_agent => ":agent" k_host => ":host" k_activity => ":activity" k_reason => ":reason"
    k_processes => ":processes"
    k_more => ":more" k_skipped => ":skipped" k_files => ":files"
    k_pid => ":pid" k_machine => ":machine" k_session_id => ":sessionId" k_status => ":status" k_waiting_for => ":waitingFor"
    k_proc_start => ":procStart" k_started_at => ":startedAt" k_file => ":file" k_cwd => ":cwd" k_name => ":name" k_entrypoint => ":entrypoint"
}

/// Return a handle that reads the transcript FILE, a string, from its beginning.
///
/// PROJECT is the root of the session's project, a string; nil stands for the session's folder.
/// MACHINE is a list (NAME PREFIX) if FILE is the copy of one on another machine, else nil: keys begin
/// with NAME and a slash, projects with PREFIX.
#[defun]
fn transcript_open<'e>(
    env: &'e Env,
    file: Value<'e>,
    project: Value<'e>,
    machine: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let path = PathBuf::from(read::text("transcript", file)?);
        let project = read::optional("project", project, read::text)?;
        let machine = match read::texts("machine", machine)?.as_slice() {
            [] => None,
            [name, prefix] => Some(Machine { name: name.clone(), prefix: prefix.clone() }),
            _ => return Err(wrong("machine", machine, "(NAME PREFIX)")),
        };
        Ok(Mutex::new(with_module(|module| {
            let Settings { input, storage, .. } = &module.settings;
            let mut follower = Follower::new(path, *input, storage.history_limit);
            follower.recorder = Recorder::new(project, machine);
            follower.beside = Arc::clone(&module.beside);
            follower
        })))
    })
}

/// The value of `transcript_open`.
struct Handle<'e>(&'e Mutex<Follower>);

impl<'e> FromLisp<'e> for Handle<'e> {
    fn from_lisp(value: Value<'e>) -> Result<Handle<'e>> {
        const EXPECTED: &str = "what `todo-write-dyn--transcript-open' returned";
        guarded(value.env, || value.into_rust().map(Handle).map_err(|_| wrong("transcript", value, EXPECTED)))
    }
}

impl Handle<'_> {
    /// Calls `work` with the follower.
    fn with<T>(&self, work: impl FnOnce(&mut Follower) -> T) -> T {
        work(&mut enter(self.0))
    }
}

/// Read what was appended to the transcript of HANDLE, and record it in its threads.
///
/// Return soon after MILLISECONDS, with `:more' if there is more to read; nothing is recorded before
/// all is read.  Nil means no limit.
///
/// The value is nil if there is nothing new, else a plist: `:thread', the key of the session's thread
/// or nil; `:last', the time of its last event in milliseconds or nil; `:bytes', the number of bytes
/// read, and `:skipped', that of those skipped because a line or a file was too long; `:updates', a
/// list of plists `:thread :outcome :state :activity :reason', one for each thread with new events;
/// `:warnings', strings for the user.  `:outcome' and `:state' are nil if the list or the state did
/// not change.  `:activity' is `working', `idle', or `failed' with the error in `:reason'; it is absent
/// if the events do not show it.
#[defun]
fn transcript_read<'e>(env: &'e Env, handle: Handle<'e>, milliseconds: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let slice = read::optional("milliseconds", milliseconds, read::whole_number)?
            .map_or(Slice::WHOLE, |length| Slice::of(Duration::from_millis(length)));
        let read = handle.with(|follower| {
            with_module(|module| follower.recorder.recording.clone_from(&module.settings.recording));
            let appended = follower.read_slice(&slice).map_err(unreadable)?;
            if appended.is_empty() {
                return Ok(None);
            }
            let (updates, warnings) = with_module(|module| {
                let Module { settings, store, .. } = module;
                let session = follower.thread().filter(|_| appended.since.is_some());
                let is_new = |store: &mut Store, key: &str| {
                    store.get_mut(key).is_none_or(|thread| thread.work(Part::Whole).is_none())
                };
                let session = session.filter(|key| is_new(store, key));
                let updates =
                    follower.recorder.record(store, &appended.events, settings.keep_completed, now());
                let session = session.and_then(|key| store.get_mut(&key));
                if let (Some(thread), Some(since)) = (session, appended.since) {
                    thread.change(|thread| thread.note_work_since(since));
                }
                (
                    updates,
                    store.take_warnings().into_iter().chain(follower.take_warning()).collect::<Vec<_>>(),
                )
            });
            let thread = follower.thread();
            let last = thread.as_deref().and_then(|key| follower.recorder.last_time(key));
            Ok::<_, Error>(Some((appended, thread, last, updates, warnings)))
        })?;
        let Some((appended, thread, last, updates, warnings)) = read else { return Ok(None) };
        let plist = write::Plist::new(env)
            .set(k_thread, thread)?
            .set(k_last, last)?
            .set(k_bytes, appended.bytes)?
            .set(k_skipped, appended.skipped)?
            .set(k_more, appended.is_partial)?
            .set(k_updates, write::list_of(env, &updates, Ok)?)?
            .set(k_warnings, write::texts(env, &warnings)?)?
            .finish()?;
        Ok(Some(plist))
    })
}

fn unreadable(error: std::io::Error) -> Error {
    let received = format!("one that cannot be read ({error})");
    Error::Argument(Problem::new("transcript", received, "a file of yours"))
}

impl<'e> IntoLisp<'e> for &ThreadUpdate {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        let summary = summary_of(&self.thread)?;
        let outcome = self.outcome.as_ref().map(|outcome| write::outcome(env, outcome, summary, &[]));
        let activity = match (&self.activity, &self.error) {
            (Some(_), Some(_)) => Some("failed"),
            (activity, _) => activity.map(Activity::as_str),
        };
        write::Plist::new(env)
            .set(k_thread, &self.thread)?
            .set(k_outcome, outcome.transpose()?)?
            .set(k_state, self.state)?
            .set_some(k_activity, activity.map(|name| write::symbol(env, name)).transpose()?)?
            .set_some(k_reason, self.error.as_ref())?
            .finish()
    }
}

/// Pause the threads of the transcript of HANDLE for REASON, a string.
///
/// ENDING is how their agent ended, see `todo-write-dyn--end-turn', or nil if that is unknown.
/// Their time stops at their last event.  The value is a list like the `:updates' of
/// `todo-write-dyn--transcript-read'.
#[defun]
fn transcript_pause<'e>(
    env: &'e Env,
    handle: Handle<'e>,
    reason: Value<'e>,
    ending: Option<Ending>,
) -> Result<Value<'e>> {
    border(env, || {
        let reason = read::text("reason", reason)?;
        let updates = handle.with(|follower| {
            let session = follower.thread();
            with_module(|module| {
                follower.recorder.pause(&mut module.store, session.as_deref(), &reason, ending, now())
            })
        });
        write::list_of(env, &updates, Ok)
    })
}

/// See `todo-write-transcript-describe'.
#[defun]
fn transcript_describe<'e>(env: &'e Env, file: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let Some(description) = describe(Path::new(&read::text("transcript", file)?)) else {
            return Ok(None);
        };
        let plist = write::Plist::new(env)
            .set(k_host, description.agent.as_str())?
            .set(k_session, &description.session)?
            .set(k_folder, description.folder)?
            .set(k_title, description.title)?
            .set(k_begun, description.begun)?
            .set(k_agent, description.is_subagent)?
            .set(k_processes, description.has_processes)?
            .finish()?;
        Ok(Some(plist))
    })
}

/// List the transcripts of main agents in FOLDERS, local ones, newest first.
///
/// The value is a plist: `:files', a list of (TIME . FILE), TIME in seconds; `:skipped', the names of
/// files that Emacs cannot name, since they are not text.  SINCE, in seconds, leaves out files that
/// were not modified since then, unless one of SESSIONS, a list of ids, wrote them.  LIMIT is the
/// maximum number of files.  Nil for the last three means no restriction.
#[defun]
fn transcripts_in<'e>(
    env: &'e Env,
    folders: Value<'e>,
    since: Value<'e>,
    sessions: Value<'e>,
    limit: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let wanted = wanted(since, sessions, limit)?;
        listing(env, wanted.list(&paths(folders)?))
    })
}

/// List transcripts like `todo-write-dyn--transcripts-in', again and again.
///
/// FOLDERS, SINCE, SESSIONS and LIMIT are the same.  Each call checks new files and some of the
/// others in turn, so the time of an older file may be that of an earlier call.
#[defun]
fn transcripts_again<'e>(
    env: &'e Env,
    folders: Value<'e>,
    since: Value<'e>,
    sessions: Value<'e>,
    limit: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let (wanted, folders) = (wanted(since, sessions, limit)?, paths(folders)?);
        listing(env, with_module(|module| module.listings.list(&wanted, &folders)))
    })
}

fn wanted(since: Value<'_>, sessions: Value<'_>, limit: Value<'_>) -> Result<Wanted> {
    Ok(Wanted {
        since: read::optional("since", since, read::whole_number)?
            .and_then(|since| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(since))),
        sessions: read::texts("sessions", sessions)?.into_iter().collect(),
        limit: read::optional("limit", limit, read::whole_number)?,
    })
}

fn listing(env: &Env, Listing { files, unreadable }: Listing) -> Result<Value<'_>> {
    let skipped: Vec<String> = unreadable.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let time = |time: &SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    write::Plist::new(env)
        .set(
            k_files,
            write::list_of(env, &files, |(modified, path)| {
                env.cons(time(modified).as_secs_f64(), path.to_string_lossy().as_ref())
            })?,
        )?
        .set(k_skipped, write::texts(env, &skipped)?)?
        .finish()
}

/// Return the modification times of FOLDERS, a list of strings, in seconds; nil for a missing one.
#[defun]
fn modification_times<'e>(env: &'e Env, folders: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let since_epoch = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok();
        write::list_of(env, paths(folders)?, |folder| {
            Ok(file::modified(&folder).and_then(since_epoch).map(|time| time.as_secs_f64()))
        })
    })
}

fn paths(folders: Value<'_>) -> Result<Vec<PathBuf>> {
    Ok(read::texts("folders", folders)?.into_iter().map(PathBuf::from).collect())
}

/// Read what the live processes of Claude Code say in FOLDERS, their folders `sessions'.
///
/// An element of FOLDERS is a string, or (FOLDER MACHINE LINES) for the copy of one on another machine:
/// LINES has a line "ID STATE START" for each live process, START "-" if that is unknown.
///
/// The value is a list of plists `:pid :machine :state :sessionId :status :waitingFor :cwd :name
/// :entrypoint :procStart :file :startedAt', or t if nothing changed since the last call.  `:state' is
/// `alive' or `suspended', `:file' the name of the process's file, `:machine' nil for this one; the
/// others but the first are as in that file, or nil.
#[defun]
fn processes<'e>(env: &'e Env, folders: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let folders = read::elements("folders", folders)?;
        let folders = folders.into_iter().map(process_folder).collect::<Result<_>>()?;
        let live = with_module(|module| module.processes.read(folders).map(<[Process]>::to_vec));
        let Some(live) = live else { return true.into_lisp(env) };
        write::list_of(env, &live, |process| {
            write::Plist::new(env)
                .set(k_pid, process.pid)?
                .set(k_machine, process.machine.as_ref())?
                .set(k_state, write::symbol(env, if process.is_suspended { "suspended" } else { "alive" })?)?
                .set(k_session_id, process.session.as_ref())?
                .set(k_status, process.status.as_ref())?
                .set(k_waiting_for, process.waiting_for.as_ref())?
                .set(k_cwd, process.folder.as_ref())?
                .set(k_name, process.name.as_ref())?
                .set(k_entrypoint, process.entrypoint.as_ref())?
                .set(k_proc_start, process.start.as_ref())?
                .set(k_file, process.file.to_string_lossy().as_ref())?
                .set(k_started_at, process.started_at.and_then(|time| i64::try_from(time).ok()))?
                .finish()
        })
    })
}

fn process_folder(element: Value<'_>) -> Result<ProcessFolder> {
    if let Ok(path) = read::text("folder", element) {
        return Ok(ProcessFolder { path: path.into(), machine: None });
    }
    match read::texts("folder", element)?.as_slice() {
        [path, name, lines] => {
            let machine = Some(MachineProcesses::new(name.clone(), lines));
            Ok(ProcessFolder { path: path.into(), machine })
        }
        _ => Err(wrong("folder", element, "a string or (FOLDER MACHINE LINES)")),
    }
}

/// Return non-nil if a process of SESSION, an id, was killed, so that it left its file behind.
///
/// MACHINE is the name of the machine on which it ran, nil for this one.  PID is the number of its
/// last process, if that is known, else nil.
/// See `todo-write-dyn--processes', which reads the files.
#[defun]
fn process_killed_p<'e>(
    env: &'e Env,
    machine: Value<'e>,
    session: Value<'e>,
    pid: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let machine = read::optional("machine", machine, read::text)?;
        let session = read::text("session", session)?;
        let pid: Option<u32> = read::optional("process", pid, read::whole_number)?;
        Ok(with_module(|module| module.processes.is_killed(machine.as_deref(), &session, pid)))
    })
}

/// Return the first LIMIT bytes of FILE, or nil if it is no regular file that can be read.
///
/// The value is a string with a character for each byte.
#[defun]
fn file_bytes<'e>(env: &'e Env, file: Value<'e>, limit: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = PathBuf::from(read::text("file", file)?);
        let bytes = file::read_start(&path, read::whole_number("limit", limit)?).ok();
        let text = bytes.map(|bytes| bytes.into_iter().map(char::from).collect::<String>());
        text.map(|text| text.into_lisp(env)).transpose()
    })
}
