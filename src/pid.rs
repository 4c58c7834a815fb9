//! The processes of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::file;

/// The environment variable that keeps tests apart from this machine: only processes with the same value
/// are seen. It names a folder, in which the usual socket lies.
const SANDBOX: &str = "TODO_WRITE_SANDBOX";

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

/// The environment variables among `names` that name an existing folder in this user's processes, with
/// their values. Only processes whose [`SANDBOX`] is `sandbox` count. Nothing else is kept of their
/// environments.
pub(crate) fn folders_named_by(names: &[String], sandbox: Option<&str>) -> BTreeSet<(String, PathBuf)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = processes.filter(|entry| entry.file_name().to_str().is_some_and(is_number));
    // The system refuses to show the environments of other users' processes, except to root.
    let environments =
        numbered.filter(is_ours).filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    let folders = environments.flat_map(|environment| {
        let variables =
            environment.split(|byte| *byte == 0).filter_map(|variable| str::from_utf8(variable).ok());
        let named: Vec<_> = variables.filter_map(|variable| variable.split_once('=')).collect();
        let own = named.iter().find(|(name, _)| *name == SANDBOX).map(|(_, value)| *value);
        let is_wanted = |name: &str| own == sandbox && names.iter().any(|wanted| wanted == name);
        let wanted = named.iter().filter(|(name, _)| is_wanted(name));
        wanted.map(|(name, value)| ((*name).to_owned(), PathBuf::from(value))).collect::<Vec<_>>()
    });
    folders.filter(|(_, folder)| folder.is_absolute() && folder.is_dir()).collect()
}

#[cfg(unix)]
fn is_ours(process: &fs::DirEntry) -> bool {
    use std::os::unix::fs::MetadataExt;
    process.metadata().is_ok_and(|data| data.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn is_ours(_process: &fs::DirEntry) -> bool {
    false
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
