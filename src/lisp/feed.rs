//! Lisp functions of the program outside: what it sent, and what it is told.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use emacs::{Env, Result};
use serde::Serialize;

use super::function::lisp;
use super::read::Key;
use super::shown::{self, PlanOutcome, ShownSummary};
use super::{Module, now, with_module};
use crate::channel::Channel;
use crate::error::Error;
use crate::followed::{Followed, FollowedSession, Listener};
use crate::journal::store::Changed;
use crate::recorder::Recorder;
use crate::thread::summary::Summary;
use crate::wire::program::{Command, DoorEvent, DoorState, Machine, Message, Piece, SessionId, Settings};
use crate::wire::socket::{Answer, Message as Said};

emacs::use_symbols! {
    flush_soon => "todo-write-hub--flush-soon"
}

/// The longest time for which lines are applied at once.
const FEED: Duration = Duration::from_millis(8);

/// The version of the module. Only a program of the same one is read.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The number that was given last to a session. No other one has it, so that a message of a program that ended is
/// never taken for one of the next.
static LAST: AtomicU64 = AtomicU64::new(0);

/// One of the news: a message of the program, unless the module has made something else of it.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum News {
    Read {
        session: SessionId,
        thread: Option<String>,
        skipped: u64,
        warnings: Vec<String>,
        updates: Vec<Update>,
    },
    Progress(SessionId, Option<String>, Option<u64>),
    Changed(Vec<Changed>),
    Refused(String),
    #[serde(untagged)]
    Message(Message),
}

/// The update of a thread by a transcript.
#[derive(Serialize)]
struct Update {
    thread: String,
    outcome: Option<PlanOutcome>,
}

/// What Lisp is told of the lines that were applied at once.
#[derive(Default)]
struct Fed {
    news: Vec<News>,
    changed: Vec<Changed>,
    /// The sessions of which a part was read.
    partly: BTreeSet<SessionId>,
}

/// Tells the program something, or the machine if there is one. What it does not take at once is flushed by a
/// timer of Lisp.
fn send(env: &Env, machine: Option<String>, command: Command) -> Result<()> {
    let is_kept = with_module(|module| {
        if matches!((&machine, &command), (None, Command::Door(None))) {
            module.followed.door = None;
        }
        module.followed.tell(&command.at(machine))
    });
    if is_kept {
        env.call(flush_soon, [])?;
    }
    Ok(())
}

fn seconds(number: f64, least: f64) -> Duration {
    Duration::from_secs_f64(number.clamp(least, 1e9))
}

lisp! { env =>
    /// Keep commands for a program that is about to connect; forget the sessions that an earlier one followed.
    fn channel_begin() {
        with_module(|module| {
            module.followed = Followed::default();
            module.followed.channel = Some(Channel::default());
            let emacs = module.settings.storage.emacs.clone().unwrap_or_default();
            module.followed.tell(&Command::Hello { id: emacs.clone(), name: emacs });
            module.followed.tell(&Command::Set(module.settings_there()));
        })
    }

    /// Connect to the program that listens at SOCKET, a file, and send it the commands that were kept.
    fn channel_connect(socket: PathBuf) {
        let connect = |module: &mut Module| module.followed.channel.as_mut().map(|one| one.connect(&socket));
        with_module(connect).transpose().map_err(|error| Error::Door(error.to_string()))?;
    }

    /// Leave the program, which ends then, and stop following all sessions.
    fn channel_end() {
        with_module(|module| module.followed = Followed::default())
    }

    /// Report that the program is gone, so that it is unknown what the agents do of which it told last.
    ///
    /// The value is like the `:changes' of `todo-write-dyn--feed'.
    fn channel_lost() -> Vec<Changed> {
        with_module(|module| module.listener().report_program_lost())
    }

    /// Send the commands that were kept; return t if some still are.
    fn channel_flush() -> bool {
        with_module(|module| module.followed.channel.as_mut().is_some_and(Channel::flush))
    }

    /// Tell the program COMMAND, or that of MACHINE, a name, if that is non-nil.
    ///
    /// COMMAND is one of doc/protocol.md, a list of its name and its fields: `(ring SESSION)'.  What is an object
    /// there is a plist, and what is a pair is a cons.
    fn tell(machine: Option<String>, command: Command) {
        send(env, machine, command)?
    }

    /// Set the INTERVAL between looks at files, and after how long a silence sessions are QUIET, nil for never.
    ///
    /// Both are in seconds.
    fn hub_set(interval: f64, quiet: Option<f64>) {
        let settings = with_module(|module| {
            module.followed.settings.interval = seconds(interval, 0.01);
            module.followed.settings.quiet = quiet.map(|quiet| seconds(quiet, 0.0));
            module.settings_there()
        });
        send(env, None, Command::Set(settings))?
    }

    /// Follow the session whose transcript is FILE, a string; return its number.
    ///
    /// MACHINE is a plist :name :prefix if FILE is on another machine, else nil: FILE begins with the prefix, as
    /// the project will, and keys begin with the name and a slash.  ASKED is non-nil if the user asked for it:
    /// else one that no user looks at, as of `claude -p', is followed only once it has a list.
    fn hub_follow(file: PathBuf, machine: Option<Machine>, asked: bool) -> SessionId {
        let session = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let name = machine.as_ref().map(|machine| machine.name.clone());
        with_module(|module| {
            let followed = module.followed.sessions.entry(session).or_default();
            followed.recorder = Recorder::new(None, machine);
        });
        send(env, name, Command::Follow { session, file, is_asked: asked })?;
        session
    }

    /// Stop following the session of number SESSION.
    ///
    /// MOVED non-nil means that it is followed on in another file.  The value is like the `:changes' of
    /// `todo-write-dyn--feed'.
    fn hub_stop(session: SessionId, moved: bool) -> Vec<Changed> {
        with_module(|module| {
            if moved {
                module.followed.forget(session);
                return Vec::new();
            }
            module.listener().stop(session)
        })
    }

    /// Return t if the transcript of the session of THREAD is followed, and has named it.
    fn hub_follows_p(thread: Key) -> bool {
        with_module(|Module { followed, .. }| {
            followed.sessions.values().any(|one| one.recorder.progress().thread.as_deref() == Some(&*thread))
        })
    }

    /// Return whom agents' programs reach, or nil if the socket is closed or about to be opened.
    ///
    /// It is "open" for this Emacs, (client PROCESS) for another one, whose process id may be nil, or (failed TEXT),
    /// for that reason.
    fn door_state() -> Option<DoorState> {
        with_module(|module| module.followed.door.clone())
    }

    /// Read and apply what the program sent, for at most 8 ms; return the news.  It rings again for the rest.
    ///
    /// The value is a list, oldest first.  One of the news is a message of doc/protocol.md, a list of its name and its
    /// fields, or one of these:
    /// - (read :session :thread :skipped :updates :warnings): the transcript of that session was read up to its
    ///   end.  `:thread' is the key of its thread or nil; `:skipped' the number of bytes skipped because a
    ///   line was too long; `:updates' a list of plists `:thread :outcome', one for each thread with new events,
    ///   whose `:outcome' is nil if its list did not change; `:warnings' strings for the user.
    /// - (progress SESSION THREAD PERCENT): a part of it was read, or nil if it is unknown how much.
    /// - (changed CHANGES): what became of agents, a list of plists as from `todo-write-dyn--set-activity'.
    /// - (refused REASON): the program cannot be used, for that reason, a sentence; nothing more is read of it.
    /// A root "" is broken if a message was lost.
    ///
    /// In what a program said, `:arguments' is JSON text and `:roles' a list of strings.  Each call must be answered by a
    /// command `answer', unless it is cancelled or its connection closes.
    fn feed() -> Vec<News> {
        with_module(Module::feed)
    }
}

impl Module {
    fn listener(&mut self) -> Listener<'_> {
        Listener { followed: &mut self.followed, store: &mut self.store, now: now() }
    }

    /// The options for the program.
    pub(super) fn settings_there(&self) -> Settings {
        Settings {
            policy: self.settings.policy.clone(),
            input: self.settings.input,
            ..self.followed.settings
        }
    }

    /// Applies lines for a while, at least one; returns the news.
    fn feed(&mut self) -> Vec<News> {
        let (begun, mut fed) = (Instant::now(), Fed::default());
        let has_more = loop {
            let Some(channel) = &mut self.followed.channel else { break false };
            let Some(line) = channel.next_line() else { break false };
            match serde_json::from_slice(line) {
                Ok(Message::Welcome { version }) if version != VERSION => {
                    let reason = format!("It is version {version}, and Emacs has todo-write {VERSION}.");
                    break self.refuse(reason, &mut fed);
                }
                Ok(Message::Refused(reason)) => break self.refuse(reason, &mut fed),
                Ok(Message::Welcome { .. } | Message::Pulse) => {}
                Ok(message) => {
                    let session = message.session();
                    // A panic ends that session only.
                    if catch_unwind(AssertUnwindSafe(|| self.take(message, &mut fed))).is_err() {
                        self.recover();
                        fed.news.extend(self.lose(session));
                    }
                }
                // The program is of the same version, so this is a defect.
                Err(_) => fed.news.extend(self.lose(None)),
            }
            if begun.elapsed() >= FEED {
                break self.followed.channel.as_ref().is_some_and(Channel::has_more);
            }
        };
        let Fed { mut news, mut changed, partly } = fed;
        news.extend(partly.into_iter().filter_map(|id| {
            let applied = self.followed.sessions.get(&id)?.recorder.progress();
            Some(News::Progress(id, applied.thread.clone(), applied.percent()))
        }));
        changed.retain(Changed::is_news);
        if !changed.is_empty() {
            news.push(News::Changed(changed));
        }
        self.followed.channel.as_mut().map(|channel| channel.acknowledge(has_more));
        news
    }

    /// Reads no more of the program; returns that nothing is left.
    fn refuse(&mut self, reason: String, fed: &mut Fed) -> bool {
        self.followed.channel = None;
        fed.news.push(News::Refused(reason));
        false
    }

    fn take(&mut self, message: Message, fed: &mut Fed) {
        match message {
            Message::Events(id, piece) => self.apply(id, piece, fed),
            // Its agent has an error already, and its program goes on after any answer.
            Message::Door(DoorEvent::Message(id, Said::Call(call)))
                if call.until.is_some_and(|time| time < now()) =>
            {
                self.followed.tell(&Command::Answer(id, Answer { call: call.call, ..Answer::default() }));
            }
            message => {
                fed.changed.extend(self.listener().hear(&message));
                // Lisp asks for processes where it needs them.
                if !matches!(message, Message::Processes { .. }) {
                    fed.news.push(News::Message(message));
                }
            }
        }
    }

    /// Stops following a session whose news are lost by a defect, if they are one's; returns what is told of it.
    fn lose(&mut self, session: Option<SessionId>) -> Vec<News> {
        let changes = session.map(|id| self.listener().stop(id)).unwrap_or_default();
        let message = session.map_or_else(|| Message::Broken(PathBuf::new()), Message::failed);
        let changed = (!changes.is_empty()).then_some(News::Changed(changes));
        [News::Message(message)].into_iter().chain(changed).collect()
    }

    /// Applies a piece of a session.
    fn apply(&mut self, session: SessionId, piece: Piece, fed: &mut Fed) {
        let Module { followed, store, settings, .. } = self;
        // One that was stopped meanwhile has none.
        let Some(FollowedSession { recorder, .. }) = followed.sessions.get_mut(&session) else { return };
        recorder.policy.clone_from(&settings.policy);
        let Some(mut applied) = recorder.apply(piece, store, settings.keep_completed, now()) else {
            fed.partly.insert(session);
            return;
        };
        fed.partly.remove(&session);
        fed.changed.extend(applied.updates.iter_mut().filter_map(|update| update.changed.take()));
        self.listener().look_for_process(session);
        let updates = applied.updates.into_iter().map(|update| {
            let outcome = update.outcome.and_then(|outcome| {
                let plan = self.store.get_mut(&update.thread)?;
                let summary = ShownSummary::of(Summary::of(plan), plan.is_unsaved());
                Some(shown::outcome(outcome, summary, Vec::new()))
            });
            Update { thread: update.thread, outcome }
        });
        let updates = updates.collect();
        let warnings = self.store.take_warnings().into_iter().chain(applied.warnings).collect();
        let (thread, skipped) = (applied.thread, applied.skipped);
        fed.news.push(News::Read { session, thread, skipped, warnings, updates });
    }
}
