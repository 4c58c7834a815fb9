//! Follows a session: its own file and those of its subagents.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::claude::ClaudeReader;
use super::claude::files::{self, SubagentMeta, modified};
use super::describe::describe;
use super::recorder::Recorder;
use super::tail::{Step, Tail};
use super::{Event, Reader};
use crate::input::Options;

/// Files of subagents that are read when a session is opened, the newest ones.
const SUBAGENT_FILES: usize = 64;
/// Bytes at the end of a file that are read in full; before, only lists and titles are.
const NEAR: u64 = 8 * 1024 * 1024;

/// Follows a session.
#[derive(Debug)]
pub struct Follower {
    /// Where events go.
    pub recorder: Recorder,
    file: Tail,
    /// Whether the files beside the transcript were not read since it last grew.
    is_behind: bool,
    subagents: Vec<Subagent>,
    /// Files in the folders that were looked at.
    seen: HashSet<PathBuf>,
    /// Folders of subagents' files, and when each last changed.
    folders: [(PathBuf, Option<SystemTime>); 2],
    lines: Lines,
}

/// The transcript of a subagent, `agent-ID.jsonl`.
#[derive(Debug)]
struct Subagent {
    id: String,
    file: Tail,
    /// When its [`SubagentMeta`] last changed.
    meta: Option<SystemTime>,
    is_finished: bool,
}

/// The result of reading what was appended.
#[derive(Debug)]
pub struct News {
    /// How the session's own file changed.
    pub step: Step,
    /// Bytes read, in all files.
    pub bytes: u64,
    /// What happened.
    pub events: Vec<Event>,
}

/// The reader of a session's lines, which the first one selects.
#[derive(Debug)]
struct Lines {
    reader: Option<Reader>,
    options: Options,
    history: usize,
}

impl Follower {
    /// Follows the session in `path` from its beginning; see [`Reader::of`].
    pub fn new(path: PathBuf, options: Options, history: usize) -> Follower {
        let beside = path.parent().map(Path::to_owned).unwrap_or_default();
        let folders = [(path.with_extension("").join("subagents"), None), (beside, None)];
        Follower {
            recorder: Recorder::default(),
            file: Tail::new(path),
            is_behind: false,
            subagents: Vec::new(),
            seen: HashSet::new(),
            folders,
            lines: Lines { reader: None, options, history },
        }
    }

    /// The key of the session's thread, once the file has named the session.
    pub fn thread(&self) -> Option<String> {
        Some(self.lines.reader.as_ref()?.session()?.key())
    }

    /// Reads what was appended to the session's file and to those of its subagents.
    ///
    /// # Errors
    /// Why the session's own file cannot be read.
    pub fn read(&mut self) -> io::Result<News> {
        let step = self.file.look()?;
        if step == Step::Replaced {
            self.lines.reader = None;
            self.recorder.restart();
            self.subagents.clear();
            self.seen.clear();
            self.folders.iter_mut().for_each(|folder| folder.1 = None);
        }
        let is_first = self.file.offset() == 0;
        let mut bytes = 0;
        if matches!(step, Step::Grown | Step::Replaced) {
            bytes += self.lines.read(&mut self.file)?;
            self.is_behind = true;
        }
        self.look_for_subagents();
        for subagent in &mut self.subagents {
            bytes += subagent.read(&mut self.lines);
        }
        // When a session is opened and when it falls silent; before, the next lines may tell more.
        if self.is_behind && (is_first || bytes == 0) {
            self.is_behind = false;
            self.read_beside();
        }
        let events = self.lines.reader.as_mut().map(Reader::take_events).unwrap_or_default();
        Ok(News { step, bytes, events })
    }

    fn read_beside(&mut self) {
        let Some(reader) = self.lines.claude() else { return };
        if let Some(title) = files::custom_title(self.file.path()) {
            reader.set_custom_title(&title);
        }
        if let Some((tasks, time)) = files::tasks(self.file.path()) {
            reader.set_tasks(tasks, time);
        }
    }

    /// Finds new files of subagents: `SESSION/subagents/agent-*.jsonl`, and before version 2.1.2
    /// `agent-*.jsonl` beside the session's own file.
    fn look_for_subagents(&mut self) {
        let Some(reader) = self.lines.claude() else { return };
        let Some(session) = reader.session().map(|source| source.session.clone()) else { return };
        let mut found: Vec<(Option<SystemTime>, PathBuf)> = Vec::new();
        for (folder, last) in &mut self.folders {
            let changed = modified(folder);
            if changed.is_none() || changed == *last {
                continue;
            }
            *last = changed;
            let Ok(entries) = fs::read_dir(&*folder) else { continue };
            for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
                if subagent_of(&path).is_some() && self.seen.insert(path.clone()) {
                    found.push((modified(&path), path));
                }
            }
        }
        found.sort();
        let first = found.len().saturating_sub(SUBAGENT_FILES);
        for (_, path) in found.drain(first..) {
            match describe(&path) {
                Some(head) if head.session == session => self.subagents.extend(Subagent::of(path)),
                Some(_) => {}
                // Its first line is not there yet.
                None => {
                    self.seen.remove(&path);
                    self.folders.iter_mut().for_each(|folder| folder.1 = None);
                }
            }
        }
    }
}

impl Subagent {
    fn of(path: PathBuf) -> Option<Subagent> {
        let id = subagent_of(&path)?.to_owned();
        Some(Subagent { id, file: Tail::new(path), meta: None, is_finished: false })
    }

    /// Reads what was appended; returns its bytes. The file may go at any time: the session goes on
    /// without it.
    fn read(&mut self, lines: &mut Lines) -> u64 {
        let meta = if self.is_finished { self.meta } else { modified(&SubagentMeta::path(self.file.path())) };
        let described = (meta != self.meta).then(|| SubagentMeta::read(self.file.path())).flatten();
        self.meta = meta;
        let described = described.unwrap_or_default();
        if let (Some(reader), Some(call)) = (lines.claude(), &described.tool_use_id) {
            reader.set_call(&self.id, call);
        }
        let mut bytes = 0;
        if let Ok(Step::Grown | Step::Replaced) = self.file.look() {
            bytes = lines.read(&mut self.file).unwrap_or(0);
            self.is_finished = false;
        }
        if let Some(reader) = lines.claude().filter(|_| described.finished) {
            self.is_finished = true;
            reader.set_back(&self.id, None);
        }
        bytes
    }
}

impl Lines {
    /// Reads the lines that were appended to a file; returns their bytes.
    fn read(&mut self, file: &mut Tail) -> io::Result<u64> {
        let before = file.offset();
        let near = fs::metadata(file.path())?.len().saturating_sub(NEAR);
        let mut place = before;
        file.read(|line| {
            let reader = self.reader.get_or_insert_with(|| Reader::of(line, self.options, self.history));
            if place < near {
                reader.old_line(line);
            } else {
                reader.line(line);
            }
            place += line.len() as u64 + 1;
        })?;
        Ok(file.offset() - before)
    }

    fn claude(&mut self) -> Option<&mut ClaudeReader> {
        match self.reader.as_mut()? {
            Reader::Claude(reader) => Some(reader),
            Reader::Codex(_) => None,
        }
    }
}

/// The id of the subagent whose transcript a file is, by its name.
fn subagent_of(path: &Path) -> Option<&str> {
    path.file_name().and_then(OsStr::to_str)?.strip_prefix("agent-")?.strip_suffix(".jsonl")
}
