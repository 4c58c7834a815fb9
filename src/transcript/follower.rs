//! Follows a session: its own file and those of its subagents.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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
    subagents: Vec<Tail>,
    /// Files in the folders that were looked at.
    seen: HashSet<PathBuf>,
    /// Folders of subagents' files, and when each last changed.
    folders: [(PathBuf, Option<SystemTime>); 2],
    lines: Lines,
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
        let mut bytes = 0;
        if matches!(step, Step::Grown | Step::Replaced) {
            bytes += self.lines.read(&mut self.file)?;
        }
        self.look_for_subagents();
        for file in &mut self.subagents {
            // A subagent's file may go at any time; the session goes on without it.
            if let Ok(Step::Grown | Step::Replaced) = file.look() {
                bytes += self.lines.read(file).unwrap_or(0);
            }
        }
        let events = self.lines.reader.as_mut().map(Reader::take_events).unwrap_or_default();
        Ok(News { step, bytes, events })
    }

    /// Finds new files of subagents: `SESSION/subagents/agent-*.jsonl`, and before version 2.1.2
    /// `agent-*.jsonl` beside the session's own file.
    fn look_for_subagents(&mut self) {
        let Some(Reader::Claude(reader)) = &self.lines.reader else { return };
        let Some(session) = reader.session().map(|source| source.session.clone()) else { return };
        let mut found: Vec<(Option<SystemTime>, PathBuf)> = Vec::new();
        for (folder, last) in &mut self.folders {
            let modified = fs::metadata(&*folder).and_then(|data| data.modified()).ok();
            if modified.is_none() || modified == *last {
                continue;
            }
            *last = modified;
            let Ok(entries) = fs::read_dir(&*folder) else { continue };
            for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
                if is_subagent(&path) && self.seen.insert(path.clone()) {
                    found.push((fs::metadata(&path).and_then(|data| data.modified()).ok(), path));
                }
            }
        }
        found.sort();
        let first = found.len().saturating_sub(SUBAGENT_FILES);
        for (_, path) in found.drain(first..) {
            match describe(&path) {
                Some(head) if head.session == session => self.subagents.push(Tail::new(path)),
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
}

fn is_subagent(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with("agent-") && name.ends_with(".jsonl"))
}
