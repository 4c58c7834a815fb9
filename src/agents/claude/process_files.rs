//! The files in which Claude Code's processes say what they do: `sessions/PID.json`.
//!
//! A process does not rewrite its file during a turn, so the file's age proves nothing. It counts
//! while the process that wrote it lives.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use serde::{Deserialize, Serialize};

use crate::file::{self, FileStamp};
use crate::process::{self, ProcessState};

/// Maximum size of a file in bytes.
const LARGEST: u64 = 64 * 1024;
/// Maximum number of files in a folder, and of those of dead processes that one call reads.
const MOST_PROCESS_FILES: usize = 100_000;
const MOST_DEAD: usize = 100;
/// Maximum number of known dead processes that one call checks.
const MOST_LOOKS: usize = 500;

/// A folder `sessions`.
#[derive(Clone, Debug, Default)]
pub struct ProcessFolder {
    /// Its path.
    pub path: PathBuf,
    /// The machine whose folder this is a copy of; `None` for this machine.
    pub machine: Option<MachineProcesses>,
}

/// Which processes live on another machine.
#[derive(Clone, Debug, Default)]
pub struct MachineProcesses {
    /// The machine's name.
    pub name: String,
    /// The live processes that have files: whether a signal stopped them, and when they started, as in
    /// field 22 of their `stat`, if that machine tells.
    pub live: HashMap<u32, (bool, Option<String>)>,
}

impl MachineProcesses {
    /// Reads lines `ID STATE START`: the state is a letter as in `stat`, the start a number or `-`.
    pub fn new(name: String, lines: &str) -> MachineProcesses {
        let live = lines.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let (id, state, start) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
            Some((id, (matches!(state, "T" | "t"), Some(start.to_owned()).filter(|start| start != "-"))))
        });
        MachineProcesses { name, live: live.collect() }
    }
}

impl ProcessFolder {
    fn state(&self, pid: u32, start: Option<&str>) -> ProcessState {
        let Some(machine) = &self.machine else { return process::state(pid, start) };
        match machine.live.get(&pid) {
            None => ProcessState::Dead,
            Some((_, Some(began))) if start.is_some_and(|start| start != began) => ProcessState::Dead,
            Some((true, _)) => ProcessState::Suspended,
            Some(_) => ProcessState::Alive,
        }
    }

    fn exists(&self, pid: u32) -> bool {
        self.machine.as_ref().map_or_else(|| process::exists(pid), |machine| machine.live.contains_key(&pid))
    }

    fn machine(&self) -> Option<&str> {
        self.machine.as_ref().map(|machine| machine.name.as_str())
    }
}

/// A live process, in the words of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The machine on which it runs; `None` for this one.
    pub machine: Option<String>,
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
    /// When it started, which tells it from a later process with its id.
    pub start: Option<String>,
}

/// The process files of some folders.
#[derive(Debug, Default)]
pub struct Processes {
    folders: HashMap<PathBuf, Folder>,
    live: Vec<Process>,
    /// The number of processes that were looked at, for tests.
    pub looks: usize,
}

#[derive(Debug, Default)]
struct Folder {
    place: ProcessFolder,
    /// When the files were last listed.
    stamp: Option<FileStamp>,
    files: HashMap<u32, ProcessFile>,
    /// The live processes.
    alive: Vec<u32>,
    /// The others. Some of them are looked at in turn: another process may get the number.
    dead: VecDeque<u32>,
    /// The files of dead processes that were not read yet.
    unread: Vec<u32>,
}

/// A file as it was last read. That of a dead process is read once.
#[derive(Debug, Default)]
struct ProcessFile {
    stamp: Option<FileStamp>,
    process: Option<Process>,
    is_alive: bool,
}

impl Processes {
    /// Reads the files in `folders` that changed. Returns the live processes by id, or `None` if they
    /// are as after the last call.
    pub fn read(&mut self, folders: Vec<ProcessFolder>) -> Option<&[Process]> {
        self.folders.retain(|path, _| folders.iter().any(|folder| folder.path == *path));
        let mut live: Vec<Process> = Vec::new();
        for place in folders {
            let folder = self.folders.entry(place.path.clone()).or_default();
            folder.place = place;
            self.looks += folder.read(&mut live);
        }
        live.sort_by(|a, b| (&a.machine, a.pid).cmp(&(&b.machine, b.pid)));
        if live == self.live {
            return None;
        }
        self.live = live;
        Some(&self.live)
    }

    /// The sessions among `sessions` of which a dead process left its file behind, with the ids of those
    /// processes: it was killed, since Claude Code deletes its file when it exits.
    pub fn left_behind(&mut self, sessions: &HashSet<String>) -> Vec<(String, u32)> {
        let is_wanted =
            |process: &&Process| process.session.as_ref().is_some_and(|session| sessions.contains(session));
        let is_dead = |folder: &Folder, process: &Process| {
            folder.place.state(process.pid, process.start.as_deref()) == ProcessState::Dead
                && process.file.exists()
        };
        let mut left: Vec<(String, u32)> = Vec::new();
        for folder in self.folders.values() {
            let dead =
                folder.files.values().filter_map(|file| file.process.as_ref().filter(|_| !file.is_alive));
            let dead = dead.filter(is_wanted).filter(|process| is_dead(folder, process));
            left.extend(dead.filter_map(|process| Some((process.session.clone()?, process.pid))));
        }
        left.sort();
        left
    }

    /// The live processes as they were last read.
    pub fn live(&self) -> &[Process] {
        &self.live
    }
}

impl Folder {
    /// Adds the live processes; returns the number of those looked at.
    fn read(&mut self, live: &mut Vec<Process>) -> usize {
        let stamp = FileStamp::of(&self.place.path);
        if stamp != self.stamp || stamp.is_some_and(|stamp| !stamp.is_certain()) {
            self.stamp = stamp;
            self.list();
        }
        let turn = self.dead.len().min(MOST_LOOKS);
        let mut pids = std::mem::take(&mut self.alive);
        pids.extend(self.dead.drain(..turn));
        let looks = pids.len();
        for pid in pids {
            let Some(file) = self.files.get_mut(&pid) else { continue };
            file.look(pid, &self.place);
            if let Some(process) = file.process.as_ref().filter(|_| file.is_alive) {
                live.push(process.clone());
                self.alive.push(pid);
            } else {
                self.dead.push_back(pid);
            }
        }
        for pid in self.unread.split_off(self.unread.len().saturating_sub(MOST_DEAD)) {
            if let Some(file) = self.files.get_mut(&pid).filter(|file| file.stamp.is_none()) {
                file.read(pid, &self.place);
            }
        }
        looks
    }

    /// Lists the files. New ones come first; what is known of the others stays.
    fn list(&mut self) {
        let mut found = HashSet::with_capacity(self.files.len());
        for entry in fs::read_dir(&self.place.path).into_iter().flatten().flatten().take(MOST_PROCESS_FILES) {
            let Some(pid) = entry.file_name().to_str().and_then(pid_of) else { continue };
            found.insert(pid);
            self.files.entry(pid).or_insert_with(|| {
                self.unread.push(pid);
                self.alive.push(pid);
                ProcessFile::default()
            });
        }
        if found.len() < self.files.len() {
            self.files.retain(|pid, _| found.contains(pid));
            self.dead.retain(|pid| found.contains(pid));
        }
    }
}

impl ProcessFile {
    /// Finds out whether the process lives, and reads its file then. One that just died may have begun
    /// another session before.
    fn look(&mut self, pid: u32, folder: &ProcessFolder) {
        let was_alive = self.is_alive;
        self.is_alive = folder.exists(pid) && self.read_live(pid, folder);
        if was_alive && !self.is_alive {
            self.read(pid, folder);
        }
    }

    /// Reads the file if it changed. One that cannot be read is remembered until it changes; what a
    /// process said before a half-written file still counts.
    fn read(&mut self, pid: u32, folder: &ProcessFolder) {
        let path = folder.path.join(format!("{pid}.json"));
        let stamp = FileStamp::of(&path);
        if stamp.is_some() && self.stamp == stamp {
            return;
        }
        let read = file::read(&path, LARGEST)
            .ok()
            .and_then(|bytes| Process::parse(pid, &path, folder.machine(), &bytes));
        self.stamp = stamp.filter(|stamp| read.is_some() || stamp.is_certain());
        self.process = read.or(self.process.take());
    }

    /// Reads the file of a process that exists. Returns whether it is the one that wrote the file,
    /// since another process may have got the id.
    fn read_live(&mut self, pid: u32, folder: &ProcessFolder) -> bool {
        self.read(pid, folder);
        let Some(process) = &mut self.process else { return false };
        let state = folder.state(pid, process.start.as_deref());
        process.is_suspended = state == ProcessState::Suspended;
        state != ProcessState::Dead
    }
}

impl Process {
    /// Parses a file. That of a process in a container, whose id means another process here, has none.
    fn parse(pid: u32, path: &Path, machine: Option<&str>, bytes: &[u8]) -> Option<Process> {
        let file: Value = serde_json::from_slice(bytes).ok()?;
        let text = |key: &str| file.get(key).and_then(Value::as_str).map(str::to_owned);
        let is_elsewhere = |domain: String| machine.is_none() && process::is_elsewhere(&domain);
        if !file.is_object() || text("pidDomain").is_some_and(is_elsewhere) {
            return None;
        }
        Some(Process {
            pid,
            machine: machine.map(str::to_owned),
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
