//! Reads a session that is followed.

use std::iter::Peekable;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::queue::event_weight;
use super::roots::{Key, Next};
use super::search::begun;
use super::watch::Watches;
use super::workers::Shared;
use super::{Message, Piece, SessionId};
use crate::agents::describe::describe;
use crate::agents::follower::{Appended, Follower};
use crate::agents::tail::TailChange;
use crate::agents::{Agent, Event};
use crate::file::{self, Slice};

/// The numbers of events and, about, of bytes from which on a piece ends with the next line.
const EVENTS: usize = 16;
const BYTES: usize = 64 * 1024;
/// The time after which a session that grew is looked at again.
const SOON: Duration = Duration::from_millis(200);
/// The silence after which it is unknown whether Codex still works.
const SILENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct SessionTask {
    id: SessionId,
    path: PathBuf,
    follower: Option<Follower>,
    is_found: bool,
    is_caught_up: bool,
    project: Option<Option<String>>,
    grew: SystemTime,
    is_quiet: bool,
    /// Whether the silence of Codex was said, and where the session moved.
    is_silent: bool,
    moved: Option<PathBuf>,
    watched: Vec<PathBuf>,
}

impl SessionTask {
    pub(super) fn new(id: SessionId, path: PathBuf) -> SessionTask {
        SessionTask {
            id,
            path,
            follower: None,
            is_found: false,
            is_caught_up: false,
            project: None,
            grew: SystemTime::now(),
            is_quiet: false,
            is_silent: false,
            moved: None,
            watched: Vec::new(),
        }
    }

    pub(super) fn run(
        &mut self,
        shared: &Arc<Shared>,
        root: &std::path::Path,
        watches: &mut Watches,
    ) -> Next {
        let mut state = shared.lock();
        let settings = Arc::clone(&state.settings);
        // Asked before the files are read.
        let is_checked = state.checks.remove(&self.id);
        drop(state);
        self.watch(watches);
        let path = &self.path;
        #[cfg(test)]
        assert!(!path.ends_with("panics.jsonl"), "a reader that fails");
        let follower = self.follower.get_or_insert_with(|| Follower::new(path.clone(), settings.input));
        follower.policy.clone_from(&settings.policy);
        if !self.is_found {
            self.grew = file::modified(path).unwrap_or(self.grew);
        }
        let appended = match follower.read(&Slice::of(Duration::from_millis(2))) {
            Ok(appended) if appended.change == TailChange::Missing && !self.is_found => {
                return self.give_up(shared, "there is no such file".to_owned());
            }
            Ok(appended) => appended,
            Err(error) => return self.give_up(shared, error.to_string()),
        };
        self.is_found = true;
        if appended.change == TailChange::Missing {
            self.go_along(shared, root);
        }
        let (is_partial, has_grown) = (appended.is_partial, appended.bytes > 0);
        if has_grown && self.is_caught_up {
            (self.grew, self.is_quiet, self.is_silent) = (SystemTime::now(), false, false);
        }
        if !self.send(shared, root, appended) {
            return Next::Over;
        }
        if is_partial {
            if is_checked {
                shared.lock().checks.insert(self.id);
            }
            return Next::At(Instant::now());
        }
        let silence = self.grew.elapsed().unwrap_or_default();
        if settings.quiet.is_some_and(|quiet| silence > quiet) && !std::mem::replace(&mut self.is_quiet, true)
        {
            shared.send(root, self.id, Message::Quiet(self.id, self.grew), false);
        }
        if self.is_of_codex() && silence > SILENCE && !std::mem::replace(&mut self.is_silent, true) {
            shared.send(root, self.id, Message::Silent(self.id), false);
        }
        let is_checked = is_checked | !std::mem::replace(&mut self.is_caught_up, true);
        if is_checked {
            self.catch_up(shared, root);
        }
        // The files beside the transcript are read once it grows no more.
        let soon = if has_grown { SOON } else { settings.interval };
        Next::At(Instant::now() + soon.min(settings.interval))
    }

    fn is_of_codex(&self) -> bool {
        let source = self.follower.as_ref().and_then(Follower::session);
        source.is_some_and(|source| source.agent == Agent::Codex)
    }

    /// Says to which file a session moved that is gone from its own.
    fn go_along(&mut self, shared: &Shared, root: &std::path::Path) {
        let state = shared.lock();
        let (home, live) = (state.homes.get(root).cloned(), state.live.get(root).cloned());
        drop(state);
        let Some(home) = home else { return };
        let files = live.iter().flatten().filter_map(|process| Some(begun(&home, process)?.0));
        let is_it = |file: &PathBuf| {
            *file != self.path && file.file_name() == self.path.file_name() && file.is_file()
        };
        if let Some(file) = files.filter(|file| Some(file) != self.moved.as_ref()).find(is_it) {
            self.moved = Some(file.clone());
            shared.send(root, self.id, Message::Moved(self.id, file), false);
        }
    }

    fn give_up(&self, shared: &Shared, reason: String) -> Next {
        let mut state = shared.lock();
        if state.sessions.contains_key(&self.id) {
            state.queue.push(Message::Unreadable(self.id, reason), false);
            state.forget(self.id);
        }
        Next::Over
    }

    /// Watches the folders of the session's file and of its subagents' files.
    fn watch(&mut self, watches: &mut Watches) {
        if self.watched.len() == 2 {
            return;
        }
        let beside = self.path.with_extension("").join("subagents");
        let folder = self.path.parent().filter(|folder| folder.is_dir()).map(ToOwned::to_owned);
        let wanted: Vec<PathBuf> =
            folder.into_iter().chain(Some(beside).filter(|folder| folder.is_dir())).collect();
        if wanted != self.watched {
            watches.set(&Key::Session(self.id), &wanted);
            self.watched = wanted;
        }
    }

    /// Sends what was read in pieces. Returns false if the session is no longer followed.
    fn send(&mut self, shared: &Arc<Shared>, root: &std::path::Path, appended: Appended) -> bool {
        let is_first_end = !appended.is_partial && !self.is_caught_up;
        if appended.is_empty() && !is_first_end {
            return true;
        }
        let source = self.follower.as_ref().and_then(Follower::session).cloned();
        if let Some(source) = source.as_ref().filter(|_| self.project.is_none()) {
            shared
                .lock()
                .sessions
                .entry(self.id)
                .and_modify(|one| one.session = Some(source.session.clone()));
            // It may have moved from the folder in which it began.
            let described = describe(&self.path).and_then(|head| head.folder);
            let folder = described.unwrap_or_else(|| source.folder.clone());
            let folder = std::path::Path::new(&folder);
            let found = if folder.is_absolute() { shared.project_of(root, folder) } else { None };
            self.project = Some(found.and_then(|found| found.to_str().map(str::to_owned)));
        }
        let size = if self.is_caught_up { None } else { self.path.metadata().ok() };
        let Appended { change, bytes, skipped, is_partial, events } = appended;
        let mut piece = Piece {
            bytes,
            skipped,
            size: size.map_or(0, |file| file.len()),
            grew: Some(self.grew),
            warning: self.follower.as_mut().and_then(Follower::take_warning),
            is_restart: change == TailChange::Replaced,
            thread: source.map(|source| source.key()),
            project: self.project.clone().flatten(),
            ..Piece::default()
        };
        let mut left = events.into_iter().peekable();
        loop {
            piece.events = next_events(&mut left);
            let is_end = left.peek().is_none();
            piece.is_last = is_end && !is_partial;
            let (thread, project) = (piece.thread.clone(), piece.project.clone());
            if !shared.send(root, self.id, Message::Events(self.id, piece), !self.is_caught_up) {
                return false;
            }
            if is_end {
                return true;
            }
            piece = Piece { thread, project, ..Piece::default() };
        }
    }

    /// Whether a process of the session has a file while it lives.
    fn has_processes(&self) -> bool {
        let folder = self.path.ancestors().nth(3).map(|home| home.join("sessions"));
        folder.is_some_and(|folder| folder.is_dir())
            && describe(&self.path).is_some_and(|head| head.has_processes)
    }

    /// Has the processes of the home read, after which the session is ready.
    fn catch_up(&self, shared: &Shared, root: &std::path::Path) {
        let has_processes = self.has_processes();
        let mut state = shared.lock();
        state.sessions.entry(self.id).and_modify(|one| one.has_processes = has_processes);
        if state.roots.has(root, &Key::Processes) {
            state.caught_up.push(self.id);
            state.roots.hurry(root, &Key::Processes);
        } else {
            state.report_ready(self.id);
        }
    }
}

/// The events of a piece, which ends with a line.
fn next_events(left: &mut Peekable<impl Iterator<Item = Event>>) -> Vec<Event> {
    let mut weight = 0;
    let mut events: Vec<Event> = Vec::new();
    while let Some(event) = left.next_if(|next| {
        // The journal's position tells lines, so that a line that is recorded in part would lose its rest.
        events.len() < EVENTS && weight < BYTES || events.last().is_some_and(|last| next.is_of_line_of(last))
    }) {
        weight += event_weight(&event);
        events.push(event);
    }
    events
}
