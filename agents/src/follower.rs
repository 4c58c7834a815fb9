//! Follows a session: reads its transcript and those of its subagents.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::claude::ClaudeReader;
use crate::claude::files::{self, SubagentMeta, subagent_of};
use crate::codex::subagent::Sent;
use crate::codex::{self, CodexReader};
use crate::describe::describe;
use crate::events::Events;
use crate::tail::{Tail, TailChange};
use todo_write::events::policy::Policy;
use todo_write::file::{self, modified};
use todo_write::list::input::Options;
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::event::{Event, EventKind, Source};

/// Maximum number of a session's subagents whose files are read when it is opened, the newest.
const SUBAGENT_FILES: usize = 64;
/// How long the rollout of a subagent is looked for.
const SEARCH: Duration = Duration::from_secs(60);

/// Follows a session.
#[derive(Debug, Default)]
pub struct Follower {
    /// What may be recorded.
    pub policy: Policy,
    file: Tail,
    /// The number of lines that could not be read in full, until it is told.
    unreadable: u64,
    /// Whether that was told.
    is_told: bool,
    /// Whether the file was read to its end once.
    is_read: bool,
    /// Whether the transcript grew since the files beside it were last read.
    are_side_files_due: bool,
    subagents: Vec<SubagentFile>,
    /// The files of subagents found so far.
    seen: HashSet<PathBuf>,
    /// Those of them that name no session yet.
    unnamed: Vec<PathBuf>,
    /// Folders of subagents' files and their modification times, if these were certain when the folders
    /// were listed.
    folders: [(PathBuf, Option<SystemTime>); 2],
    /// Subagents of Codex, and those whose rollouts were not found yet, with the time until which they are looked for.
    rollouts: Vec<Rollout>,
    sent: Vec<(Sent, Instant)>,
    lines: SessionReader,
}

#[derive(Debug)]
struct Rollout {
    sent: Sent,
    file: Tail,
    lines: SessionReader,
}

/// The transcript of a subagent, `agent-ID.jsonl`.
#[derive(Debug)]
struct SubagentFile {
    id: String,
    file: Tail,
    /// The modification time of its [`SubagentMeta`].
    meta: Option<SystemTime>,
    is_finished: bool,
}

/// The result of [`Follower::read`].
#[derive(Debug)]
pub struct Appended {
    /// How the session's own file changed.
    pub change: TailChange,
    /// The number of bytes read in all files.
    pub bytes: u64,
    /// The number of bytes skipped, because a line was too long.
    pub skipped: u64,
    /// Whether there is more to read.
    pub is_partial: bool,
    /// The events in them.
    pub events: Vec<Event>,
}

/// Reads the lines of a session. The first line selects the reader.
#[derive(Debug, Default)]
struct SessionReader {
    reader: Option<Reader>,
    options: Options,
}

impl Follower {
    /// Follows the session in `path` from its beginning.
    pub fn new(path: PathBuf, options: Options) -> Follower {
        let beside = path.parent().map(Path::to_owned).unwrap_or_default();
        let folders = [(path.with_extension("").join("subagents"), None), (beside, None)];
        let lines = SessionReader { reader: None, options };
        Follower { file: Tail::new(path, None), folders, lines, ..Follower::default() }
    }

    /// The session, if the file has named it.
    pub(crate) fn session(&self) -> Option<&Arc<Source>> {
        self.lines.reader.as_ref()?.session()
    }

    /// Reads a part of what was appended to the session's file and to those of its subagents.
    ///
    /// # Errors
    /// The session's own file cannot be read.
    pub fn read(&mut self) -> io::Result<Appended> {
        let change = self.file.check()?;
        if change == TailChange::Replaced {
            self.restart();
        }
        let mut appended = Appended { change, bytes: 0, skipped: 0, is_partial: false, events: Vec::new() };
        if matches!(change, TailChange::Grown | TailChange::Replaced) {
            self.lines.read(&mut self.file, &self.policy, &mut appended)?;
            self.are_side_files_due = true;
        }
        self.find_subagents();
        for subagent in &mut self.subagents {
            if appended.is_partial {
                break;
            }
            subagent.read(&mut self.lines, &self.policy, &mut appended);
        }
        self.lines.leave();
        let is_whole = !appended.is_partial;
        // While the transcript grows, the files may be ahead of it.
        if is_whole {
            let is_first = !std::mem::replace(&mut self.is_read, self.file.offset > 0);
            if self.are_side_files_due && (is_first || appended.bytes == 0) {
                self.are_side_files_due = false;
                self.read_side_files();
            }
        }
        self.unreadable += self.lines.take_unreadable();
        // The ends of subagents come once their files are read.
        let take = |reader: &mut Reader| if is_whole { reader.take_events() } else { reader.events().take() };
        appended.events = self.lines.reader.as_mut().map(take).unwrap_or_default();
        appended.events.retain(|event| self.counts(event));
        if is_whole {
            self.read_rollouts(&mut appended);
        }
        Ok(appended)
    }

    /// Whether a file is that of a subagent whose events are read.
    pub(crate) fn has(&self, file: &Path) -> bool {
        let others =
            self.rollouts.iter().map(|one| &one.file).chain(self.subagents.iter().map(|one| &one.file));
        others.into_iter().any(|one| one.path == file)
    }

    /// Whether an event counts: the sums of a subagent do only if its file is not read.
    fn counts(&self, event: &Event) -> bool {
        let EventKind::OfSubagent { subagent, kind, .. } = &event.kind else { return true };
        let is_read = self.subagents.iter().any(|one| one.id == *subagent)
            || self.unnamed.iter().any(|path| subagent_of(path) == Some(subagent));
        !is_read || !matches!(**kind, EventKind::SubagentSums { .. })
    }

    /// A sentence for the user, once, if lines could not be read in full.
    pub fn take_warning(&mut self) -> Option<String> {
        if self.unreadable == 0 || std::mem::replace(&mut self.is_told, true) {
            return None;
        }
        let (count, lines) = (self.unreadable, if self.unreadable == 1 { "line" } else { "lines" });
        let file = self.file.path.display();
        Some(format!("{count} {lines} of {file} cannot be read in full; what can be read is shown"))
    }

    /// Begins again after the file was replaced.
    fn restart(&mut self) {
        let (policy, file) = (std::mem::take(&mut self.policy), std::mem::take(&mut self.file));
        let new = Follower::new(file.path.clone(), self.lines.options);
        *self = Follower { policy, file, unreadable: self.unreadable, is_told: self.is_told, ..new };
    }

    /// Finds new rollouts of subagents of Codex, and reads what was appended to them: the newest ones when a
    /// session is opened.
    fn read_rollouts(&mut self, appended: &mut Appended) {
        let readers = self.rollouts.iter_mut().map(|rollout| &mut rollout.lines).chain([&mut self.lines]);
        let sent = readers.filter_map(|lines| lines.reader.as_mut()).flat_map(Reader::take_sent);
        let until = Instant::now() + SEARCH;
        self.sent.extend(sent.map(|sent| (sent, until)));
        let first = self.sent.len().saturating_sub(SUBAGENT_FILES);
        self.sent.drain(..first);
        let (beside, options) = (&self.file.path, self.lines.options);
        let rollouts = &mut self.rollouts;
        self.sent.retain(|(sent, until)| {
            let Some(file) = sent.file(beside) else { return Instant::now() < *until };
            // Agents that name each other, or themselves, are read once.
            let is_known = file == *beside || rollouts.iter().any(|one| one.file.path == file);
            if !is_known && rollouts.len() < ENTRIES {
                rollouts.push(Rollout::new(sent.clone(), file, options));
            }
            false
        });
        for rollout in &mut self.rollouts {
            if appended.is_partial {
                break;
            }
            rollout.read(&self.policy, appended);
            self.unreadable += rollout.lines.take_unreadable();
        }
    }

    fn read_side_files(&mut self) {
        let Some(reader) = self.lines.claude() else { return };
        if let Some(title) = files::custom_title(&self.file.path) {
            reader.set_custom_title(&title);
        }
        if let Some((tasks, time)) = files::tasks(&self.file.path) {
            reader.set_tasks(tasks, time);
        }
    }

    /// Finds new files of subagents: `SESSION/subagents/agent-*.jsonl` or, before version 2.1.2,
    /// `agent-*.jsonl` beside the session's file.
    fn find_subagents(&mut self) {
        let Some(reader) = self.lines.claude() else { return };
        let Some(session) = reader.session().map(|source| source.session.clone()) else { return };
        let mut found: Vec<(Option<SystemTime>, PathBuf)> = Vec::new();
        // A folder that many sessions share is not listed for each of them.
        let wanted = if reader.has_subagents_beside { 2 } else { 1 };
        for (folder, last) in &mut self.folders[..wanted] {
            let Some(changed) = modified(folder).filter(|changed| Some(*changed) != *last) else { continue };
            *last = Some(changed).filter(|changed| file::is_certain(*changed));
            for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                if subagent_of(&path).is_some() && self.seen.insert(path.clone()) {
                    found.push((modified(&path), path));
                }
            }
        }
        found.sort();
        self.unnamed.extend(newest(&mut found, ENTRIES).map(|(_, path)| path));
        let mut own = Vec::new();
        self.unnamed.retain_mut(|path| match describe(path) {
            Some(head) if head.session == session => {
                own.push(std::mem::take(path));
                false
            }
            Some(_) => false,
            // Its first line is not complete yet.
            None => true,
        });
        self.subagents.extend(newest(&mut own, SUBAGENT_FILES).filter_map(SubagentFile::of));
        self.unnamed = newest(&mut self.unnamed, SUBAGENT_FILES).collect();
    }
}

/// The last ones of so many elements.
fn newest<T>(list: &mut Vec<T>, most: usize) -> std::vec::Drain<'_, T> {
    list.drain(list.len().saturating_sub(most)..)
}

impl Rollout {
    fn new(sent: Sent, file: PathBuf, options: Options) -> Rollout {
        let lines = SessionReader { reader: Some(Reader::Codex(Box::new(sent.reader(options)))), options };
        let file = Tail::new(file, Some(sent.id().to_owned()));
        Rollout { sent, file, lines }
    }

    /// Reads what was appended. Errors are ignored, since the file may disappear at any time.
    fn read(&mut self, policy: &Policy, appended: &mut Appended) {
        let change = self.file.check();
        if matches!(change, Ok(TailChange::Replaced)) {
            self.lines.reader = Some(Reader::Codex(Box::new(self.sent.reader(self.lines.options))));
        }
        if let Ok(TailChange::Grown | TailChange::Replaced) = change {
            let _ = self.lines.read(&mut self.file, policy, appended);
            let events = self.lines.reader.as_mut().map(Reader::take_events).unwrap_or_default();
            appended.events.extend(events);
        }
    }
}

impl SubagentFile {
    fn of(path: PathBuf) -> Option<SubagentFile> {
        let id = subagent_of(&path)?.to_owned();
        let file = Tail::new(path, Some(id.clone()));
        Some(SubagentFile { id, file, meta: None, is_finished: false })
    }

    /// Reads what was appended. Errors are ignored, since the file may disappear at any time.
    fn read(&mut self, lines: &mut SessionReader, policy: &Policy, appended: &mut Appended) {
        let path = &self.file.path;
        let meta = if self.is_finished { self.meta } else { modified(&SubagentMeta::path(path)) };
        let described = (meta != self.meta).then(|| SubagentMeta::read(path)).flatten();
        let described = described.unwrap_or_default();
        if let (Some(reader), Some(call)) = (lines.claude(), &described.tool_use_id) {
            reader.set_call(&self.id, call);
        }
        if let Ok(TailChange::Grown | TailChange::Replaced) = self.file.check() {
            let _ = lines.read(&mut self.file, policy, appended);
            self.is_finished = false;
        }
        if appended.is_partial {
            return;
        }
        self.meta = meta;
        lines.leave();
        if let Some(reader) = lines.claude().filter(|_| described.finished) {
            self.is_finished = true;
            reader.end_subagent(&self.id, None);
        }
    }
}

impl SessionReader {
    /// Reads the lines appended to a file.
    fn read(&mut self, file: &mut Tail, policy: &Policy, appended: &mut Appended) -> io::Result<()> {
        let before = file.offset;
        // The user's options may have changed since the last read.
        let mut changed = Some(policy);
        let is_whole = file.read(|place, line| {
            let reader = self.reader.get_or_insert_with(|| Reader::of(line, self.options));
            if let Some(policy) = changed.take() {
                reader.events().policy.clone_from(policy);
            }
            reader.events().place = Some(place);
            reader.read_line(line);
        })?;
        appended.bytes += file.offset - before;
        appended.skipped += std::mem::take(&mut file.skipped);
        appended.is_partial |= !is_whole;
        Ok(())
    }

    /// Ends the reading of lines: what follows is known from elsewhere.
    fn leave(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.events().place = None;
        }
    }

    fn take_unreadable(&mut self) -> u64 {
        self.reader.as_mut().map_or(0, |reader| std::mem::take(&mut reader.events().unreadable))
    }

    fn claude(&mut self) -> Option<&mut ClaudeReader> {
        match self.reader.as_mut()? {
            Reader::Claude(reader) => Some(reader),
            Reader::Codex(_) => None,
        }
    }
}

/// The reader of a transcript, by the program that wrote it.
#[derive(Debug)]
enum Reader {
    Claude(Box<ClaudeReader>),
    Codex(Box<CodexReader>),
}

impl Reader {
    /// A reader for the transcript whose first line is `line`.
    fn of(line: &[u8], options: Options) -> Reader {
        if codex::line::is_first(line) {
            return Reader::Codex(Box::new(CodexReader::new(options)));
        }
        Reader::Claude(Box::new(ClaudeReader::new(options)))
    }

    /// Its events that were not taken yet, and how lines are read.
    fn events(&mut self) -> &mut Events {
        match self {
            Reader::Claude(reader) => &mut reader.events,
            Reader::Codex(reader) => &mut reader.events,
        }
    }

    /// Reads a line, without its line feed.
    fn read_line(&mut self, bytes: &[u8]) {
        match self {
            Reader::Claude(reader) => reader.read_line(bytes),
            Reader::Codex(reader) => reader.read_line(bytes),
        }
    }

    /// The subagents of Codex of which the lines read since the last call told.
    fn take_sent(&mut self) -> Vec<Sent> {
        match self {
            Reader::Claude(_) => Vec::new(),
            Reader::Codex(reader) => reader.take_sent(),
        }
    }

    fn session(&self) -> Option<&Arc<Source>> {
        match self {
            Reader::Claude(reader) => reader.session(),
            Reader::Codex(reader) => reader.session(),
        }
    }

    /// The events since the last call, oldest first.
    fn take_events(&mut self) -> Vec<Event> {
        match self {
            Reader::Claude(reader) => reader.take_events(),
            Reader::Codex(reader) => reader.events.take(),
        }
    }
}
