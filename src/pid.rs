//! The processes of this machine.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::file;

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename = "Symbol", rename_all = "lowercase")]
pub enum ProcessState {
    /// It runs or sleeps.
    Alive,
    /// A signal such as SIGSTOP stopped it.
    Suspended,
    /// It ended, perhaps without its parent having noticed.
    Dead,
    /// It could not be asked, or this system has no `/proc` that tells more of a process that exists.
    Unknown,
}

/// What Linux tells of a process.
#[derive(Debug)]
pub struct Stat {
    state: char,
    /// The id of its parent.
    pub parent: u32,
    /// When it started: field 22 of its `stat`.
    pub start: String,
}

impl Stat {
    /// That of the process `id`, if there is one.
    pub fn of(id: u32) -> Option<Stat> {
        let stat = file::read_start(Path::new(&format!("/proc/{id}/stat")), 4_096).ok()?;
        // The second field, a name in parentheses, may hold any bytes.
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        Some(Stat { state, parent: fields.next()?.parse().ok()?, start: fields.nth(17)?.to_owned() })
    }
}

/// The state of the process `id` that started at `start`. It is dead if another
/// process has this id now. Without `start`, any process with the id counts.
pub fn state(id: u32, start: Option<&str>) -> ProcessState {
    // If no file can be opened, it could not be asked. So only the absence of the process itself counts.
    match Stat::of(id) {
        None if exists(id) => ProcessState::Unknown,
        None => ProcessState::Dead,
        Some(stat) if start.is_some_and(|start| start != stat.start) => ProcessState::Dead,
        Some(Stat { state: 'T' | 't', .. }) => ProcessState::Suspended,
        Some(Stat { state: 'Z' | 'X', .. }) => ProcessState::Dead,
        Some(_) => ProcessState::Alive,
    }
}

/// Whether `domain`, which ends in the name of a namespace of process ids, names another one than this
/// process's, as in a container. The same id then means another process. Only Linux has such names.
pub fn is_elsewhere(domain: &str) -> bool {
    let here = fs::read_link("/proc/self/ns/pid").ok();
    let here = here.as_deref().and_then(Path::to_str);
    domain.contains("pid:[") && here.is_none_or(|here| !domain.ends_with(here))
}

/// Whether this user has a process with this id, as far as the system tells.
#[cfg(unix)]
pub fn exists(id: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Whether this user has a process with this id, as far as the system tells.
#[cfg(not(unix))]
pub(crate) fn exists(_id: u32) -> bool {
    true
}
