//! Reads a session that is followed.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use super::around::Around;
use crate::describe::describe;
use crate::follower::{Appended, Follower};
use crate::lines::size;
use crate::tail::TailChange;
use todo_write::file;
use todo_write::wire::bounds::LINE;
use todo_write::wire::event::Event;
use todo_write::wire::program::{Message, Piece, SessionId};

/// The numbers of events and of bytes from which on a piece ends with the next line.
const EVENTS: usize = 16;
const BYTES: usize = 64 * 1024;
/// The number of bytes of events that a piece can have: what else is in its line is short.
const MOST: usize = LINE - BYTES;

/// What a read did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// The files have more.
    Partly,
    /// All that they had is read. It has grown, and is to be looked at again soon: the files beside the transcript
    /// are read once it grows no more.
    Grown,
    /// All that they had is read.
    Whole,
    /// The session is no longer followed.
    Over,
}

#[derive(Debug)]
pub(super) struct Session {
    id: SessionId,
    path: PathBuf,
    follower: Option<Follower>,
    /// Whether it is to be read, and whether that it is read is to be said.
    pub(super) is_due: bool,
    pub(super) is_checked: bool,
    /// Whether it was read, which is said once the process files are.
    pub(super) is_read: bool,
    /// Whether it is to be read before what processes say is told, so that processes have the last word.
    pub(super) is_owed: bool,
    /// When it is read again unless it grows meanwhile.
    pub(super) settles: Option<Instant>,
    /// When it changed last, as far as that is known.
    pub(super) changed: SystemTime,
    /// Whether nothing of it was sent: its events begin then, also if it was followed before.
    is_new: bool,
    /// Whether its events are sent although no user looks at it: the user asked for it, or it has a list.
    is_wanted: bool,
    is_found: bool,
    /// Whether all that its files had was read once.
    is_caught_up: bool,
    project: Option<Option<String>>,
    grew: SystemTime,
    is_quiet: bool,
}

impl Session {
    pub(super) fn new(id: SessionId, path: PathBuf, is_asked: bool) -> Session {
        let changed = file::modified(&path).unwrap_or_else(SystemTime::now);
        Session {
            id,
            path,
            follower: None,
            is_due: true,
            is_checked: true,
            is_read: false,
            is_owed: false,
            settles: None,
            changed,
            is_new: true,
            is_wanted: is_asked,
            is_found: false,
            is_caught_up: false,
            project: None,
            grew: changed,
            is_quiet: false,
        }
    }

    /// The same as if nothing of it was read.
    pub(super) fn restart(self) -> (SessionId, Session) {
        (self.id, Session::new(self.id, self.path, self.is_wanted))
    }

    /// The ids by which processes may name it.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let stem = self.path.file_stem().and_then(|stem| stem.to_str());
        let session = self.follower.as_ref().and_then(Follower::session);
        session.map(|source| source.session.as_str()).into_iter().chain(stem)
    }

    /// Whether a file is its own or one of its subagents'.
    pub(super) fn has(&self, file: &Path) -> bool {
        file == self.path
            || file.starts_with(self.path.with_extension(""))
            || self.follower.as_ref().is_some_and(|follower| follower.has(file))
    }

    /// The folders of the session's file and of its subagents' files.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let beside = self.path.with_extension("").join("subagents");
        self.path.parent().map(Path::to_owned).into_iter().chain([beside])
    }

    /// Reads a part of what its files have, and sends it.
    pub(super) fn read(&mut self, around: &mut Around) -> Done {
        self.folders().for_each(|folder| around.watches.add(&folder));
        #[cfg(test)]
        assert!(!self.path.ends_with("panics.jsonl"), "a reader that fails");
        #[cfg(test)]
        while self.path.ends_with("hangs.jsonl") && self.path.exists() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let settings = &around.settings;
        let follower = self.follower.get_or_insert_with(|| Follower::new(self.path.clone(), settings.input));
        follower.policy.clone_from(&settings.policy);
        let appended = match follower.read() {
            Ok(appended) if appended.change == TailChange::Missing && !self.is_found => {
                return self.give_up(around, "there is no such file".to_owned());
            }
            Ok(appended) => appended,
            Err(error) => return self.give_up(around, error.to_string()),
        };
        self.is_found = true;
        if appended.change == TailChange::Missing {
            self.go_along(around);
        }
        let (is_partial, has_grown) = (appended.is_partial, appended.bytes > 0);
        if has_grown && self.is_caught_up {
            (self.grew, self.is_quiet) = (SystemTime::now(), false);
            self.changed = self.grew;
        }
        let is_silent = self.is_silent_session();
        if is_silent && appended.events.iter().any(Event::has_list) {
            // It is read again, and sent this time.
            (self.is_wanted, self.follower) = (true, None);
            return Done::Partly;
        }
        let events = if is_silent { Vec::new() } else { appended.events };
        self.send(around, Appended { events, ..appended });
        if is_partial {
            return Done::Partly;
        }
        self.is_caught_up = true;
        let silence = self.grew.elapsed().unwrap_or_default();
        if around.settings.quiet.is_some_and(|quiet| silence > quiet)
            && !std::mem::replace(&mut self.is_quiet, true)
        {
            around.send(Message::Quiet(self.id));
        }
        if has_grown { Done::Grown } else { Done::Whole }
    }

    /// Whether nothing of it is sent, since no user looks at it.
    fn is_silent_session(&self) -> bool {
        let source = self.follower.as_ref().and_then(Follower::session);
        !self.is_wanted && source.is_some_and(|source| source.is_unattended)
    }

    /// Says to which file a session moved that is gone from its own.
    fn go_along(&self, around: &Around) {
        let mut files = around.live().iter().filter_map(|process| around.transcript(process));
        let is_it = |file: &PathBuf| {
            *file != self.path && file.file_name() == self.path.file_name() && file.is_file()
        };
        if let Some(file) = files.find(is_it) {
            around.send(Message::Moved(self.id, file));
        }
    }

    fn give_up(&self, around: &Around, reason: String) -> Done {
        around.send(Message::Unreadable(self.id, reason));
        Done::Over
    }

    /// Sends what was read in pieces.
    fn send(&mut self, around: &Around, appended: Appended) {
        let Appended { change, bytes, skipped, is_partial, events } = appended;
        let is_replaced = change == TailChange::Replaced;
        let is_news = is_replaced || is_partial || bytes + skipped > 0 || !events.is_empty();
        if self.is_caught_up && !is_news {
            return;
        }
        if is_replaced {
            self.project = None;
        }
        let source = self.follower.as_ref().and_then(Follower::session).cloned();
        if let Some(source) = source.as_ref().filter(|_| self.project.is_none()) {
            // It may have moved from the folder in which it began.
            let described = describe(&self.path).and_then(|head| head.folder);
            let folder = described.unwrap_or_else(|| source.folder.clone());
            let folder = Path::new(&folder);
            let find = || around.common.projects.of(folder);
            let found = if folder.is_absolute() { around.aside(find) } else { None };
            self.project = Some(found.and_then(|found| found.to_str().map(str::to_owned)));
        }
        let is_silent = self.is_silent_session();
        let length = if self.is_caught_up { None } else { self.path.metadata().ok() };
        let (pieces, left_out) = pieces(events);
        let warning = self.follower.as_mut().and_then(Follower::take_warning);
        let mut first = Piece {
            bytes,
            skipped,
            size: length.map_or(0, |file| file.len()),
            grew: Some(self.grew),
            warning: warning.or_else(|| left_out.then(|| "an entry is too large and was left out".into())),
            is_restart: is_replaced || std::mem::take(&mut self.is_new),
            ..Piece::default()
        };
        let mut left = pieces.into_iter().peekable();
        while let Some(events) = left.next() {
            let piece = Piece {
                events,
                is_last: left.peek().is_none() && !is_partial,
                thread: source.as_ref().filter(|_| !is_silent).map(|source| source.key()),
                project: self.project.clone().flatten(),
                ..std::mem::take(&mut first)
            };
            around.send(Message::Events(self.id, piece));
        }
    }

    /// Whether a process of the session has a file while it lives.
    pub(super) fn has_processes(&self, around: &Around) -> bool {
        let folder = self.path.ancestors().nth(3).map(|home| home.join("sessions"));
        folder.is_some_and(|folder| folder.is_dir())
            && describe(&self.path).is_some_and(|head| head.has_processes)
            && !around.processes.as_ref().is_some_and(|all| self.ids().any(|id| all.is_elsewhere(id)))
    }
}

/// Cuts events into pieces that end with a line of the transcript: the journal's position tells lines, so that one
/// that is recorded in part would lose its rest. An event that fits into no piece with its line is left out; the last
/// value tells whether there is any.
fn pieces(events: Vec<Event>) -> (Vec<Vec<Event>>, bool) {
    let (mut pieces, mut piece, mut sum) = (Vec::new(), Vec::new(), 0);
    let mut left_out = None;
    for event in events {
        let bytes = size(&event) + 1;
        let last = left_out.as_ref().filter(|out| event.is_of_line_of(out)).or(piece.last());
        let is_same_line = last.is_some_and(|last| event.is_of_line_of(last));
        let is_full = piece.len() >= EVENTS || sum + bytes > BYTES;
        if is_full && !is_same_line && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
            sum = 0;
        }
        if sum + bytes > MOST {
            left_out = Some(event);
        } else {
            sum += bytes;
            piece.push(event);
        }
    }
    pieces.push(piece);
    (pieces, left_out.is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use todo_write::wire::event::{Agent, EventKind, Place, Source, Transcript};

    /// An event of a line that ends at `end`, with so many bytes.
    fn event(end: u64, bytes: usize) -> Event {
        let transcript = Arc::new(Transcript { subagent: None, first: 0 });
        Event {
            source: Arc::new(Source {
                agent: Agent::Claude,
                session: "s".into(),
                subagent: None,
                folder: "/garden".into(),
                is_unattended: false,
                call: None,
            }),
            uuid: String::new(),
            time: None,
            place: Some(Place { transcript, end }),
            kind: EventKind::Message("x".repeat(bytes)),
        }
    }

    #[test]
    fn a_piece_ends_with_a_line_and_fits_into_one_of_the_wire() {
        let check = |events: &[(u64, usize)], lengths: &[usize], is_left_out| {
            let (pieces, left_out) = pieces(events.iter().map(|(end, bytes)| event(*end, *bytes)).collect());
            assert!(pieces.iter().all(|events| size(events) <= MOST + 2));
            assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), lengths);
            assert_eq!(left_out, is_left_out);
        };
        check(&[], &[0], false);
        check(&[(1, 9), (2, 9)], &[2], false);
        check(&[(1, BYTES), (2, 9)], &[1, 1], false);
        check(&[(1, BYTES), (1, 9), (2, 9)], &[2, 1], false);
        // What is too large loses only itself.
        check(&[(1, 9), (2, 9), (2, LINE), (2, 9), (3, 9)], &[4], true);
        check(&[(1, 9), (2, LINE / 2), (2, LINE / 2), (2, 9), (3, 9)], &[1, 2, 1], true);
    }
}
