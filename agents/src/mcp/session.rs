//! Which session and subagent of an agent makes a call, and what its process does.
//!
//! Claude Code keeps this program while `/clear` and `/resume` change the session. Its process file,
//! `sessions/PID.json`, always has the current one. The transcripts have the id of each tool call: those
//! in `SESSION/subagents/` are of subagents. A line may be written up to 0.3 s after its call arrives.

use std::fs::{read_dir, symlink_metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use todo_write::file;
use todo_write::pid::{self, ProcessState, Stat};
use todo_write::wire::socket::SessionActivity;
use todo_write_mcp::claude::files::{SubagentMeta, json, subagent_of};
use todo_write_mcp::field::is_id;
use todo_write_mcp::hub::home::folder;

/// The name by which Claude Code calls itself.
pub const CLAUDE: &str = "claude-code";
/// Time limit for finding a tool call in transcripts, from its arrival.
const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(10);
/// How many processes above this one may be the agent.
const GENERATIONS: usize = 6;
/// The end of a transcript in which a call is searched: longer than the longest call.
const TAIL: u64 = 3 << 19;

fn claude_folder() -> PathBuf {
    folder("CLAUDE_CONFIG_DIR", ".claude")
}

/// The process of Claude Code above this one.
pub struct Agent {
    id: u32,
    start: Option<String>,
    file: PathBuf,
}

impl Agent {
    /// The nearest process above this one that has a process file.
    pub fn find() -> Option<Agent> {
        let folder = claude_folder();
        let mut id = std::os::unix::process::parent_id();
        for _ in 0..GENERATIONS {
            let file = folder.join(format!("sessions/{id}.json"));
            let stat = Stat::of(id);
            if let Some(process) = json::<Value>(&file) {
                let start = stat.as_ref().map(|stat| stat.start.clone());
                let written_at = process["procStart"].as_str();
                // The file of an earlier process with this id does not count.
                if start.is_none() || written_at.is_none() || written_at == start.as_deref() {
                    return Some(Agent { id, start, file });
                }
            }
            id = stat.map(|stat| stat.parent).filter(|parent| *parent > 1)?;
        }
        None
    }

    /// What its file says, null if that cannot be read.
    pub fn read(&self) -> Value {
        json(&self.file).unwrap_or_default()
    }

    pub fn state(&self) -> Option<SessionActivity> {
        let process = self.read();
        let session = process["sessionId"].as_str()?.to_owned();
        let activity = match process["status"].as_str() {
            _ if pid::state(self.id, None) == ProcessState::Suspended => "suspended",
            Some("busy") => "working",
            Some("waiting") => "waiting",
            // Between two turns, only a background command runs.
            Some("idle" | "shell") => "idle",
            _ => "unknown",
        };
        let reason = process["waitingFor"].as_str().filter(|_| activity == "waiting").map(str::to_owned);
        let activity = activity.to_owned();
        Some(SessionActivity { session, activity, reason, ..SessionActivity::default() })
    }

    /// Returns whether it ended, with or without its file.
    pub fn is_gone(&self) -> bool {
        let file = symlink_metadata(&self.file);
        file.is_err_and(|error| error.kind() == ErrorKind::NotFound) || self.is_killed()
    }

    /// Returns whether it ended and left its file behind.
    pub fn is_killed(&self) -> bool {
        let state = self.start.as_ref().map(|start| pid::state(self.id, Some(start)));
        state == Some(ProcessState::Dead) && self.file.exists()
    }
}

#[derive(Clone, PartialEq)]
pub struct Subagent {
    pub id: String,
    /// Its task, in a few words.
    pub task: Option<String>,
    transcript: PathBuf,
}

impl Subagent {
    pub fn is_finished(&self) -> bool {
        SubagentMeta::read(&self.transcript).is_some_and(|meta| meta.finished)
    }
}

/// The subagent of SESSION that makes the tool call CALL; none for the main agent, or if that is unknown.
pub fn subagent(session: &str, call: &str, arrival: Instant) -> Option<Subagent> {
    if !is_id(session) || !is_id(call) {
        return None;
    }
    let projects = read_dir(claude_folder().join("projects")).ok()?.flatten().map(|entry| entry.path());
    let transcript =
        projects.map(|project| project.join(session)).find(|path| path.join("subagents").is_dir())?;
    let (main, mut main_length) = (transcript.with_extension("jsonl"), None);
    // With the lengths of their transcripts when these were last read.
    let mut others: Vec<(Subagent, Option<u64>)> = Vec::new();
    let needle = format!("\"{call}\"").into_bytes();
    loop {
        for file in read_dir(transcript.join("subagents")).into_iter().flatten().flatten() {
            let transcript = file.path();
            let is_known = others.iter().any(|(one, _)| one.transcript == transcript);
            let Some(id) = subagent_of(&transcript).filter(|_| !is_known).map(str::to_owned) else {
                continue;
            };
            let meta = SubagentMeta::read(&transcript).unwrap_or_default();
            if !meta.finished {
                others.push((Subagent { id, task: meta.description, transcript }, None));
            }
        }
        let has = |file: &Path, length: &mut _| has(file, length, &needle).unwrap_or_default();
        let found = others.iter_mut().find_map(|(one, length)| has(&one.transcript, length).then_some(one));
        if let Some(found) = found {
            return Some(found.clone());
        }
        if others.is_empty() || has(&main, &mut main_length) || arrival.elapsed() > PATIENCE {
            return None;
        }
        sleep(PAUSE);
    }
}

/// Returns whether the end of FILE contains NEEDLE, if its LENGTH has changed since the last call.
fn has(file: &Path, length: &mut Option<u64>, needle: &[u8]) -> io::Result<bool> {
    let mut file = file::open(file)?;
    let now = file.metadata()?.len();
    let mut text = Vec::new();
    if length.replace(now) != Some(now) {
        file.seek(SeekFrom::Start(now.saturating_sub(TAIL)))?;
        file.take(TAIL).read_to_end(&mut text)?;
    }
    Ok(memchr::memmem::find(&text, needle).is_some())
}
