//! The files in which Claude Code's processes say what they do: `sessions/PID.json`.
//!
//! A process does not rewrite its file during a turn, so the file's age proves nothing. It counts
//! while the process that wrote it lives.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::files::json;
use crate::field::is_id;
use todo_write::pid::{self, ProcessState};
use todo_write::text::excerpt;
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::program::Process;

/// The process files of a folder `sessions`.
#[derive(Debug, Default)]
pub struct Processes {
    folder: PathBuf,
    files: BTreeMap<u32, ProcessFile>,
    /// Whether the files are to be read, and when they were last.
    pub(crate) is_due: bool,
    pub(crate) looked: Option<Instant>,
    told: Option<Fact>,
    /// What is to be told once the sessions of which it changes something are read.
    next: Option<Fact>,
}

/// The live processes, and the sessions and ids of those that were killed.
type Fact = (Vec<Process>, Vec<(String, u32)>);

/// A file as it was last read.
#[derive(Debug, Default)]
struct ProcessFile {
    process: Option<Process>,
    /// The job of a session in the background.
    job: Option<String>,
    /// The session of a process in a container, whose id means another process here.
    elsewhere: Option<String>,
    is_alive: bool,
    /// Whether another process has had its session since it died.
    is_resumed: bool,
}

impl Processes {
    /// Those of `folder`, which are not read yet.
    pub fn new(folder: PathBuf) -> Processes {
        Processes { folder, is_due: true, ..Processes::default() }
    }

    /// Reads the files, of which the killed processes of `sessions` concern us; returns the sessions of which
    /// something changed since the last time.
    pub(crate) fn look(&mut self, sessions: &HashSet<String>) -> HashSet<String> {
        (self.is_due, self.looked) = (false, Some(Instant::now()));
        let fact = (self.read(), self.left_behind(sessions));
        let before = self.next.as_ref().or(self.told.as_ref());
        let before: &[Process] = before.map_or(&[], |(before, _)| before);
        let new = fact.0.iter().filter(|process| !before.contains(process));
        let gone = before.iter().filter(|process| !fact.0.contains(process));
        let changed = new.chain(gone).filter_map(|process| process.session.clone()).collect();
        self.next = Some(fact).filter(|fact| self.told.as_ref() != Some(fact));
        changed
    }

    /// What is to be told now, if anything is new.
    pub(crate) fn take(&mut self) -> Option<Fact> {
        let next = self.next.take()?;
        self.told = Some(next.clone());
        Some(next)
    }

    /// The live processes, as they were told last.
    pub(crate) fn live(&self) -> &[Process] {
        self.told.as_ref().map_or(&[], |(live, _)| live)
    }

    /// The folder in which they change, or appear.
    pub(crate) fn watched(&self) -> PathBuf {
        let above = self.folder.parent().unwrap_or(&self.folder);
        if self.folder.is_dir() { &self.folder } else { above }.to_owned()
    }

    /// Reads the files; returns the live processes, by id.
    pub fn read(&mut self) -> Vec<Process> {
        self.list();
        self.files.iter_mut().for_each(|(pid, file)| file.read(*pid, &self.folder));
        let live = self.files.values().filter(|file| file.is_alive);
        let live: Vec<Process> = live.filter_map(|file| file.process.clone()).collect();
        let sessions: HashSet<&String> = live.iter().filter_map(|process| process.session.as_ref()).collect();
        for file in self.files.values_mut() {
            let has_successor = file.session().is_some_and(|session| sessions.contains(session));
            file.is_resumed = !file.is_alive && (file.is_resumed || has_successor);
        }
        live
    }

    fn list(&mut self) {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // It could not be asked, as if no file descriptor is left.
            Err(_) => return,
        };
        let entries = entries.into_iter().flatten().flatten();
        let found = entries.take(ENTRIES).filter_map(|entry| pid_of(entry.file_name().to_str()?));
        let found: HashSet<u32> = found.collect();
        self.files.retain(|pid, _| found.contains(pid));
        for pid in found {
            self.files.entry(pid).or_default();
        }
    }

    /// The sessions among `sessions` of which a dead process left its file behind, with the ids of those
    /// processes: it was killed, since Claude Code deletes its file when it exits. One that was resumed since
    /// ends as its next process ends.
    pub fn left_behind(&self, sessions: &HashSet<String>) -> Vec<(String, u32)> {
        let dead = self.files.values().filter(|file| !file.is_alive && !file.is_resumed);
        let of_these = dead.filter(|file| file.session().is_some_and(|session| sessions.contains(session)));
        let left = of_these.filter_map(|file| file.process.as_ref()).filter(|process| process.file.exists());
        let left = left.filter_map(|process| Some((process.session.clone()?, process.pid)));
        let left: BTreeSet<(String, u32)> = left.collect();
        left.into_iter().collect()
    }

    /// Whether a process in a container has a session. It is unknown whether it lives.
    pub fn is_elsewhere(&self, session: &str) -> bool {
        self.files.values().any(|file| file.elsewhere.as_deref() == Some(session))
    }
}

impl ProcessFile {
    fn session(&self) -> Option<&String> {
        self.process.as_ref()?.session.as_ref()
    }

    /// Reads the file, and notes whether the process that wrote it lives, since another one may have got the id. What a
    /// process said before a half-written file still counts.
    fn read(&mut self, pid: u32, folder: &Path) {
        let path = folder.join(format!("{pid}.json"));
        if let Some(file) = json::<Value>(&path) {
            self.take(pid, path, &file);
        }
        self.is_alive = self.process.as_mut().is_some_and(|process| {
            let state = pid::state(pid, process.start.as_deref());
            process.is_suspended = state == ProcessState::Suspended;
            let job = self.job.as_deref().filter(|_| process.status.as_deref() == Some("waiting"));
            process.needs = job.and_then(|job| needs(folder, job));
            state != ProcessState::Dead
        });
    }

    /// Takes what a file says, unless the process has no session yet.
    fn take(&mut self, pid: u32, path: PathBuf, file: &Value) {
        let text = |key: &str| file[key].as_str().map(str::to_owned);
        let session = text("sessionId");
        if !file.is_object() || file["spare"] == true {
            return;
        }
        if text("pidDomain").is_some_and(|domain| pid::is_elsewhere(&domain)) {
            if session.is_some() {
                *self = ProcessFile { elsewhere: session, ..ProcessFile::default() };
            }
            return;
        }
        let process = Process {
            pid,
            file: path,
            session,
            status: text("status"),
            waiting_for: text("waitingFor"),
            folder: text("cwd"),
            start: text("procStart"),
            ..Process::default()
        };
        (self.process, self.job, self.elsewhere) = (Some(process), text("jobId"), None);
    }
}

/// What a job in the background needs of the user, as its own file says, beside the `folder` of processes.
fn needs(folder: &Path, job: &str) -> Option<String> {
    let file = folder.parent().filter(|_| is_id(job))?.join("jobs").join(job).join("state.json");
    let state: Value = json(&file)?;
    let needs = state["needs"].as_str().filter(|_| state["tempo"] == "blocked")?;
    Some(excerpt(needs, 1_000)).filter(|needs| !needs.trim().is_empty())
}

fn pid_of(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".json")?;
    digits.parse().ok().filter(|pid: &u32| pid.to_string() == digits)
}
