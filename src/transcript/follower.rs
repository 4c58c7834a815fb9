//! A session and its subagents, wherever their lines are: one file, or one for each.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::line::{Line, millis};
use super::record::Recorder;
use super::tail::{Step, Tail};
use super::{Event, Transcript, prompt};
use crate::clock::Millis;
use crate::input::Options;
use crate::text::excerpt;

/// Files of subagents that are read when a session is first opened, the newest ones.
const AGENT_FILES: usize = 64;

/// Follows a session.
#[derive(Debug)]
pub struct Follower {
    /// Where events go.
    pub recorder: Recorder,
    file: Tail,
    agents: Vec<Tail>,
    /// Files and folders that were looked at, and when a folder last changed.
    seen: HashSet<PathBuf>,
    folders: [(PathBuf, Option<SystemTime>); 2],
    transcript: Transcript,
    options: Options,
    history: usize,
}

/// What a look at the files brought.
#[derive(Debug)]
pub struct News {
    /// What became of the session's own file.
    pub step: Step,
    /// Bytes read, in all files.
    pub bytes: u64,
    /// What happened.
    pub events: Vec<Event>,
}

impl Follower {
    /// Follows the session in `path` from its beginning; see [`Transcript::new`].
    pub fn new(path: PathBuf, options: Options, history: usize) -> Follower {
        let beside = path.parent().map(Path::to_owned).unwrap_or_default();
        let folders = [(path.with_extension("").join("subagents"), None), (beside, None)];
        Follower {
            recorder: Recorder::default(),
            file: Tail::new(path),
            agents: Vec::new(),
            seen: HashSet::new(),
            folders,
            transcript: Transcript::new(options, history),
            options,
            history,
        }
    }

    /// The key of the session's thread, once it has said its name.
    pub fn thread(&self) -> Option<String> {
        self.transcript.session().map(|speaker| speaker.key())
    }

    /// Reads what was appended to the session's file and to those of its subagents.
    ///
    /// # Errors
    /// What the system said of the session's own file.
    pub fn read(&mut self) -> io::Result<News> {
        let step = self.file.look()?;
        if step == Step::Anew {
            self.transcript = Transcript::new(self.options, self.history);
            self.recorder.start_anew();
            self.agents.clear();
            self.seen.clear();
            self.folders.iter_mut().for_each(|folder| folder.1 = None);
        }
        let mut bytes = 0;
        if matches!(step, Step::Grown | Step::Anew) {
            bytes += read_tail(&mut self.file, &mut self.transcript)?;
        }
        self.look_for_agents();
        for agent in &mut self.agents {
            // A subagent's file may go at any time; the session goes on without it.
            if let Ok(Step::Grown | Step::Anew) = agent.look() {
                bytes += read_tail(agent, &mut self.transcript).unwrap_or(0);
            }
        }
        Ok(News { step, bytes, events: self.transcript.take_events() })
    }

    /// Finds new files of subagents: `SESSION/subagents/agent-*.jsonl`, and before version 2.1.2
    /// `agent-*.jsonl` beside the session's own file.
    fn look_for_agents(&mut self) {
        let Some(session) = self.transcript.session().map(|speaker| speaker.session.clone()) else { return };
        let mut found: Vec<(Option<SystemTime>, PathBuf)> = Vec::new();
        for (folder, last) in &mut self.folders {
            let modified = fs::metadata(&*folder).and_then(|data| data.modified()).ok();
            if modified.is_none() || modified == *last {
                continue;
            }
            *last = modified;
            let Ok(entries) = fs::read_dir(&*folder) else { continue };
            for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
                if is_agent(&path) && self.seen.insert(path.clone()) {
                    found.push((fs::metadata(&path).and_then(|data| data.modified()).ok(), path));
                }
            }
        }
        found.sort();
        let first = found.len().saturating_sub(AGENT_FILES);
        for (_, path) in found.drain(first..) {
            match describe(&path) {
                Some(head) if head.session == session => self.agents.push(Tail::new(path)),
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

/// Bytes at the end of a file that are read in full; of what is before, only lists are read.
const NEAR: u64 = 8 * 1024 * 1024;

fn read_tail(tail: &mut Tail, transcript: &mut Transcript) -> io::Result<u64> {
    let before = tail.offset();
    let near = fs::metadata(tail.path())?.len().saturating_sub(NEAR);
    let mut place = before;
    tail.read(|line| {
        if place < near {
            transcript.skim(line);
        } else {
            transcript.line(line);
        }
        place += line.len() as u64 + 1;
    })?;
    Ok(tail.offset() - before)
}

fn is_agent(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with("agent-") && name.ends_with(".jsonl"))
}

/// What can be said of a transcript without reading it all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The session's id.
    pub session: String,
    /// The folder at work.
    pub folder: Option<String>,
    /// The title, or the first thing that a person asked.
    pub title: Option<String>,
    /// When it began.
    pub begun: Option<Millis>,
    /// Whether it is a subagent's.
    pub is_agent: bool,
}

/// Bytes at the beginning, and at the end, in which a session tells what it is.
const HEAD: u64 = 256 * 1024;
const END: u64 = 16 * 1024;

/// Describes a transcript by its beginning, and by its end, where Claude Code writes titles.
pub fn describe(path: &Path) -> Option<Head> {
    let mut file = fs::File::open(path).ok()?;
    let mut head = Head::default();
    let mut reader = BufReader::new(&file).take(HEAD);
    let mut bytes = Vec::new();
    while head.title.is_none() && reader.read_until(b'\n', &mut bytes).ok()? > 0 {
        if let Some(line) = Line::parse(&bytes) {
            head.take(&line);
        }
        bytes.clear();
    }
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
    file.take(END).read_to_end(&mut bytes).ok()?;
    for line in bytes.split(|byte| *byte == b'\n').filter_map(Line::parse) {
        if let Some(title) = line.custom_title.or(line.ai_title) {
            head.title = Some(excerpt(&title.0, 100));
        }
    }
    (!head.session.is_empty()).then_some(head)
}

impl Head {
    fn take(&mut self, line: &Line<'_>) {
        if self.session.is_empty()
            && let Some(session) = line.session_id
        {
            self.session = session.to_owned();
            self.is_agent = line.is_sidechain == Some(true);
        }
        self.folder = self.folder.take().or_else(|| line.cwd.as_ref().map(|cwd| cwd.0.clone()));
        self.begun = self.begun.or_else(|| line.timestamp.and_then(millis));
        let by_person = line.kind == Some("user") && line.is_meta != Some(true);
        if let Some(message) = line.message.as_ref().filter(|_| by_person) {
            let texts = message.content.0.iter().filter_map(|block| block.text.as_ref());
            self.title = texts.filter_map(|text| prompt(&text.0)).next().map(|text| excerpt(&text, 100));
        }
    }
}
