//! The projects in which agents run, and the file systems on which these are.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::bounds::{ENTRIES, WAIT};
use super::pulse::Pulse;

/// The names of files and folders at the root of a project.
const MARKERS: [&str; 9] = [".git", ".jj", ".hg", ".sl", ".svn", ".bzr", "_darcs", ".pijul", ".fslckout"];

/// The root of the project in which a folder is, by names and kinds of files alone.
pub(super) fn project_of(folder: &Path) -> Option<PathBuf> {
    let is_marker = |path: &Path| {
        let kind = fs::symlink_metadata(path).map(|data| data.file_type());
        kind.is_ok_and(|kind| kind.is_dir() || kind.is_file() || kind.is_symlink()) && path.exists()
    };
    let is_root = |folder: &&Path| MARKERS.iter().any(|marker| is_marker(&folder.join(marker)));
    folder.ancestors().find(is_root).map(Path::to_owned)
}

/// The folder at which the file system of a file is mounted, by names alone: asking for the file may
/// hang. A file system hangs as a whole. Where the system has no table of mounts, that is the first folder of the name.
pub(super) fn mount_of(path: &Path) -> PathBuf {
    mount_in(&String::from_utf8_lossy(&fs::read("/proc/self/mountinfo").unwrap_or_default()), path)
}

fn mount_in(table: &str, path: &Path) -> PathBuf {
    let unescape = |name: &str| {
        name.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
    };
    let points =
        table.lines().filter_map(|line| line.split(' ').nth(4)).map(|name| PathBuf::from(unescape(name)));
    let point = points.filter(|point| path.starts_with(point)).max_by_key(|point| point.as_os_str().len());
    point.unwrap_or_else(|| path.iter().take(2).collect())
}

/// What a mount's thread does.
type Job = Box<dyn FnOnce() + Send>;

/// The thread of a mount, which only looks for projects.
#[derive(Debug)]
struct Mount {
    jobs: Sender<Job>,
    pulse: Arc<Pulse>,
}

/// Finds projects whose file systems may not answer.
#[derive(Debug, Default)]
pub(super) struct Projects {
    mounts: Mutex<HashMap<PathBuf, Mount>>,
    /// The projects that were found, by the folders of sessions.
    known: Mutex<HashMap<PathBuf, Option<PathBuf>>>,
}

impl Projects {
    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, Option<PathBuf>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the thread of the mount of a folder do something; it is dropped if that does not answer.
    pub(super) fn ask(&self, folder: &Path, job: Job) {
        let mount = mount_of(folder);
        let mut mounts = self.mounts.lock().unwrap_or_else(PoisonError::into_inner);
        if !mounts.contains_key(&mount) {
            let (jobs, receiver) = channel();
            let pulse = Arc::new(Pulse::new());
            let own = Arc::clone(&pulse);
            let thread = thread::Builder::new().name("todo-write-mount".into());
            if thread.spawn(move || work(&receiver, &own)).is_err() {
                return;
            }
            mounts.insert(mount.clone(), Mount { jobs, pulse });
        }
        if let Some(mount) = mounts.get(&mount).filter(|mount| !mount.pulse.is_over(WAIT)) {
            let _ = mount.jobs.send(job);
        }
    }

    /// The root of the project of a folder. `None` if it has no project, or if its file system does not answer in
    /// time.
    pub(super) fn of(&self, folder: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known().get(folder) {
            return known.clone();
        }
        let (sender, receiver) = channel();
        let asked = folder.to_owned();
        self.ask(folder, Box::new(move || drop(sender.send(project_of(&asked)))));
        let found = receiver.recv_timeout(WAIT).ok()?;
        let mut known = self.known();
        if known.len() >= ENTRIES {
            known.clear();
        }
        known.insert(folder.to_owned(), found.clone());
        found
    }
}

fn work(jobs: &Receiver<Job>, pulse: &Pulse) {
    for job in jobs {
        pulse.begin();
        // What it owned is dropped if it fails, which its caller notices.
        let _ = catch_unwind(AssertUnwindSafe(job));
        pulse.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_a_file_may_have_a_space_in_its_name() {
        let table = "21 1 8:1 / / rw - ext4 /dev/a rw\n22 21 0:5 / /mnt/my\\040disk rw - nfs a:/b rw\n";
        assert_eq!(mount_in(table, Path::new("/mnt/my disk/garden")), Path::new("/mnt/my disk"));
        assert_eq!(mount_in(table, Path::new("/mnt/my")), Path::new("/"));
        assert_eq!(mount_in("", Path::new("/mnt/my/garden")), Path::new("/mnt"));
    }
}
