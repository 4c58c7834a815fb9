//! The files in which Claude Code's processes say what they do: `sessions/PID.json`.
//!
//! A process does not rewrite its file during a turn, so the file's age proves nothing. It counts
//! while the process that wrote it lives.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::file::{self, Stamp};
use crate::process::{self, ProcessState};

/// Maximum size of a file in bytes.
const LARGEST: u64 = 64 * 1024;
/// Maximum number of files in a folder, and of those of dead processes that one call reads.
const MOST: usize = 100_000;
const MOST_DEAD: usize = 200;

/// A live process, in the words of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Whether a signal such as SIGSTOP stopped it.
    pub is_suspended: bool,
    /// Its file.
    pub file: PathBuf,
    /// When it started, in milliseconds since the epoch.
    pub started_at: Option<u64>,
    /// The id of its session.
    pub session: Option<String>,
    /// What it does: `idle`, `busy`, `shell` or `waiting`.
    pub status: Option<String>,
    /// What it waits for.
    pub waiting_for: Option<String>,
    /// The working directory.
    pub folder: Option<String>,
    /// The session's name.
    pub name: Option<String>,
    /// Where it runs: `cli` for a terminal.
    pub entrypoint: Option<String>,
    /// When it started, for [`process::state`].
    pub start: Option<String>,
}

/// The process files of some folders.
#[derive(Debug, Default)]
pub struct Processes {
    folders: HashMap<PathBuf, Folder>,
    live: Vec<Process>,
}

#[derive(Debug, Default)]
struct Folder {
    /// When the files were last listed.
    stamp: Option<Stamp>,
    files: HashMap<u32, ProcessFile>,
    /// The files of dead processes that were not read yet.
    unread: Vec<u32>,
}

/// A file as it was last read. That of a dead process is read once.
#[derive(Debug, Default)]
struct ProcessFile {
    stamp: Option<Stamp>,
    process: Option<Process>,
    is_alive: bool,
}

impl Processes {
    /// Reads the files in `folders` that changed. Returns the live processes by id, or `None` if they
    /// are as after the last call.
    pub fn read(&mut self, folders: &[PathBuf]) -> Option<&[Process]> {
        self.folders.retain(|folder, _| folders.contains(folder));
        let mut live: Vec<Process> = Vec::new();
        for path in folders {
            self.folders.entry(path.clone()).or_default().read(path, &mut live);
        }
        live.sort_by_key(|process| process.pid);
        if live == self.live {
            return None;
        }
        self.live = live;
        Some(&self.live)
    }

    /// Whether a process of a session ended without deleting its file, as one does that is killed.
    /// If its number is known, an older process of that session does not count.
    pub fn is_killed(&mut self, session: &str, pid: Option<u32>) -> bool {
        for (path, folder) in &mut self.folders {
            folder
                .files
                .iter_mut()
                .filter(|(_, file)| file.is_alive)
                .for_each(|(&pid, file)| file.look(pid, path));
        }
        self.folders.values().any(|folder| {
            folder.files.values().filter_map(|file| file.process.as_ref()).any(|process| {
                process.session.as_deref() == Some(session)
                    && pid.is_none_or(|pid| pid == process.pid)
                    && process::state(process.pid, process.start.as_deref()) == ProcessState::Dead
                    && process.file.exists()
            })
        })
    }
}

impl Folder {
    fn read(&mut self, path: &Path, live: &mut Vec<Process>) {
        let stamp = Stamp::of(path);
        if stamp != self.stamp || stamp.is_some_and(|stamp| !stamp.is_certain()) {
            self.stamp = stamp;
            self.list(path);
        }
        for (&pid, file) in &mut self.files {
            // Most files are of dead processes, which need no look.
            file.look(pid, path);
            if let Some(process) = file.process.as_ref().filter(|_| file.is_alive) {
                live.push(process.clone());
            }
        }
        for pid in self.unread.split_off(self.unread.len().saturating_sub(MOST_DEAD)) {
            if let Some(file) = self.files.get_mut(&pid).filter(|file| file.stamp.is_none()) {
                file.read(pid, path);
            }
        }
    }

    fn list(&mut self, path: &Path) {
        let mut last = std::mem::take(&mut self.files);
        for entry in fs::read_dir(path).into_iter().flatten().flatten().take(MOST) {
            let Some(pid) = entry.file_name().to_str().and_then(pid_of) else { continue };
            let file = last.remove(&pid);
            if file.is_none() {
                self.unread.push(pid);
            }
            self.files.insert(pid, file.unwrap_or_default());
        }
    }
}

impl ProcessFile {
    /// Finds out whether the process lives, and reads its file then. One that just died may have begun
    /// another session before.
    fn look(&mut self, pid: u32, folder: &Path) {
        let was_alive = self.is_alive;
        self.is_alive = process::exists(pid) && self.read_live(pid, folder);
        if was_alive && !self.is_alive {
            self.read(pid, folder);
        }
    }

    /// Reads the file if it changed. One that cannot be read is remembered until it changes; what a
    /// process said before a half-written file still counts.
    fn read(&mut self, pid: u32, folder: &Path) {
        let path = folder.join(format!("{pid}.json"));
        let stamp = Stamp::of(&path);
        if stamp.is_some() && self.stamp == stamp {
            return;
        }
        let read = file::read(&path, LARGEST).ok().and_then(|bytes| Process::parse(pid, &path, &bytes));
        self.stamp = stamp.filter(|stamp| read.is_some() || stamp.is_certain());
        self.process = read.or(self.process.take());
    }

    /// Reads the file of a process that exists. Returns whether it is the one that wrote the file,
    /// since another process may have got the id.
    fn read_live(&mut self, pid: u32, folder: &Path) -> bool {
        self.read(pid, folder);
        let Some(process) = &mut self.process else { return false };
        let state = process::state(pid, process.start.as_deref());
        process.is_suspended = state == ProcessState::Suspended;
        state != ProcessState::Dead
    }
}

impl Process {
    /// Parses a file. That of a process in a container, whose id means another process here, has none.
    fn parse(pid: u32, path: &Path, bytes: &[u8]) -> Option<Process> {
        let file: Value = serde_json::from_slice(bytes).ok()?;
        let text = |key: &str| file.get(key).and_then(Value::as_str).map(str::to_owned);
        if !file.is_object() || text("pidDomain").is_some_and(|domain| process::is_elsewhere(&domain)) {
            return None;
        }
        Some(Process {
            pid,
            is_suspended: false,
            file: path.to_owned(),
            started_at: file.get("startedAt").and_then(Value::as_u64),
            session: text("sessionId"),
            status: text("status"),
            waiting_for: text("waitingFor"),
            folder: text("cwd"),
            name: text("name"),
            entrypoint: text("entrypoint"),
            start: text("procStart"),
        })
    }
}

fn pid_of(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".json")?;
    let is_number = digits.len() < 10 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}
