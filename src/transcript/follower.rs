//! Follows a session: reads its transcript and those of its subagents.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::claude::ClaudeReader;
use super::claude::files::{self, SubagentMeta};
use super::describe::describe;
use super::recorder::Recorder;
use super::tail::{FileChange, Tail};
use super::{Event, Reader};
use crate::input::Options;
use crate::journal::modified;

/// Maximum number of subagents' files read when a session is opened, the newest.
const SUBAGENT_FILES: usize = 64;
/// Bytes at the end of a file in which every line is parsed.
const NEAR: u64 = 8 * 1024 * 1024;

/// Follows a session.
#[derive(Debug)]
pub struct Follower {
    /// Writes the events to threads.
    pub recorder: Recorder,
    file: Tail,
    /// Whether the transcript grew since the files beside it were last read.
    are_side_files_due: bool,
    subagents: Vec<SubagentFile>,
    /// The files of subagents found so far.
    seen: HashSet<PathBuf>,
    /// Folders of subagents' files and their modification times.
    folders: [(PathBuf, Option<SystemTime>); 2],
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
    pub change: FileChange,
    /// The number of bytes read in all files.
    pub bytes: u64,
    /// The events in them.
    pub events: Vec<Event>,
}

/// Reads the lines of a session. The first line selects the reader.
#[derive(Debug)]
struct SessionReader {
    reader: Option<Reader>,
    options: Options,
    history: usize,
}

impl Follower {
    /// Follows the session in `path` from its beginning; see [`Reader::of`] for the rest.
    pub fn new(path: PathBuf, options: Options, history: usize) -> Follower {
        let beside = path.parent().map(Path::to_owned).unwrap_or_default();
        let folders = [(path.with_extension("").join("subagents"), None), (beside, None)];
        Follower {
            recorder: Recorder::default(),
            file: Tail::new(path),
            are_side_files_due: false,
            subagents: Vec::new(),
            seen: HashSet::new(),
            folders,
            lines: SessionReader { reader: None, options, history },
        }
    }

    /// The key of the session's thread, if the file has named the session.
    pub fn thread(&self) -> Option<String> {
        Some(self.lines.reader.as_ref()?.session()?.key())
    }

    /// Reads what was appended to the session's file and to those of its subagents.
    ///
    /// # Errors
    /// The session's own file cannot be read.
    pub fn read(&mut self) -> io::Result<Appended> {
        let change = self.file.check()?;
        if change == FileChange::Replaced {
            self.lines.reader = None;
            self.recorder.restart();
            self.subagents.clear();
            self.seen.clear();
            self.folders.iter_mut().for_each(|folder| folder.1 = None);
        }
        let is_first = self.file.offset() == 0;
        let mut bytes = 0;
        if matches!(change, FileChange::Grown | FileChange::Replaced) {
            bytes += self.lines.read(&mut self.file)?;
            self.are_side_files_due = true;
        }
        self.find_subagents();
        for subagent in &mut self.subagents {
            bytes += subagent.read(&mut self.lines);
        }
        // While the transcript grows, the files may be ahead of it.
        if self.are_side_files_due && (is_first || bytes == 0) {
            self.are_side_files_due = false;
            self.read_side_files();
        }
        let events = self.lines.reader.as_mut().map(Reader::take_events).unwrap_or_default();
        Ok(Appended { change, bytes, events })
    }

    fn read_side_files(&mut self) {
        let Some(reader) = self.lines.claude() else { return };
        if let Some(title) = files::custom_title(self.file.path()) {
            reader.set_custom_title(&title);
        }
        if let Some((tasks, time)) = files::tasks(self.file.path()) {
            reader.set_tasks(tasks, time);
        }
    }

    /// Finds new files of subagents: `SESSION/subagents/agent-*.jsonl` or, before version 2.1.2,
    /// `agent-*.jsonl` beside the session's file.
    fn find_subagents(&mut self) {
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
                Some(head) if head.session == session => self.subagents.extend(SubagentFile::of(path)),
                Some(_) => {}
                // Its first line is not complete yet.
                None => {
                    self.seen.remove(&path);
                    self.folders.iter_mut().for_each(|folder| folder.1 = None);
                }
            }
        }
    }
}

impl SubagentFile {
    fn of(path: PathBuf) -> Option<SubagentFile> {
        let id = subagent_of(&path)?.to_owned();
        Some(SubagentFile { id, file: Tail::new(path), meta: None, is_finished: false })
    }

    /// Reads what was appended; returns the number of bytes. Errors are ignored, since the file may
    /// disappear at any time.
    fn read(&mut self, lines: &mut SessionReader) -> u64 {
        let meta = if self.is_finished { self.meta } else { modified(&SubagentMeta::path(self.file.path())) };
        let described = (meta != self.meta).then(|| SubagentMeta::read(self.file.path())).flatten();
        self.meta = meta;
        let described = described.unwrap_or_default();
        if let (Some(reader), Some(call)) = (lines.claude(), &described.tool_use_id) {
            reader.set_call(&self.id, call);
        }
        let mut bytes = 0;
        if let Ok(FileChange::Grown | FileChange::Replaced) = self.file.check() {
            bytes = lines.read(&mut self.file).unwrap_or(0);
            self.is_finished = false;
        }
        if let Some(reader) = lines.claude().filter(|_| described.finished) {
            self.is_finished = true;
            reader.end_subagent(&self.id, None);
        }
        bytes
    }
}

impl SessionReader {
    /// Reads the lines appended to a file; returns the number of bytes.
    fn read(&mut self, file: &mut Tail) -> io::Result<u64> {
        let before = file.offset();
        let near = fs::metadata(file.path())?.len().saturating_sub(NEAR);
        let mut place = before;
        file.read(|line| {
            let reader = self.reader.get_or_insert_with(|| Reader::of(line, self.options, self.history));
            if place < near {
                reader.read_old_line(line);
            } else {
                reader.read_line(line);
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

/// The id of a subagent in the name of its transcript.
fn subagent_of(path: &Path) -> Option<&str> {
    path.file_name().and_then(OsStr::to_str)?.strip_prefix("agent-")?.strip_suffix(".jsonl")
}
