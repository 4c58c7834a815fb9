//! The processes of this machine.

use std::fs;
use std::path::Path;

use crate::file;

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// It runs or sleeps.
    Alive,
    /// A signal such as SIGSTOP stopped it.
    Suspended,
    /// It ended, perhaps without its parent having noticed.
    Dead,
    /// It could not be asked, or this system has no `/proc` that tells more of a process that exists.
    Unknown,
}

/// The state of the process `id` that started at `start`, field 22 of its `stat`. It is dead if another
/// process has this id now. Without `start`, any process with the id counts.
pub(crate) fn state(id: u32, start: Option<&str>) -> ProcessState {
    // If no file can be opened, it could not be asked. So only the absence of the process itself counts.
    let Ok(stat) = file::read_start(Path::new(&format!("/proc/{id}/stat")), 4_096) else {
        return if exists(id) { ProcessState::Unknown } else { ProcessState::Dead };
    };
    // The second field, a name in parentheses, may hold any bytes.
    let stat = String::from_utf8_lossy(&stat);
    let Some((_, rest)) = stat.rsplit_once(')') else { return ProcessState::Dead };
    let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
    match (fields.first(), fields.get(19)) {
        (_, began) if start.is_some() && start != began.copied() => ProcessState::Dead,
        (Some(&("T" | "t")), _) => ProcessState::Suspended,
        (None | Some(&("Z" | "X")), _) => ProcessState::Dead,
        _ => ProcessState::Alive,
    }
}

/// Whether `domain`, which ends in the name of a namespace of process ids, names another one than this
/// process's, as in a container. The same id then means another process. Only Linux has such names.
pub(crate) fn is_elsewhere(domain: &str) -> bool {
    let here = fs::read_link("/proc/self/ns/pid").ok();
    let here = here.as_deref().and_then(Path::to_str);
    domain.contains("pid:[") && here.is_none_or(|here| !domain.ends_with(here))
}

/// Whether this user has a process with this id, as far as the system tells.
#[cfg(unix)]
pub(crate) fn exists(id: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Whether this user has a process with this id, as far as the system tells.
#[cfg(not(unix))]
pub(crate) fn exists(_id: u32) -> bool {
    true
}
