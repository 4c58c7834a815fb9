//! The projects in which agents run, and the file systems on which these are.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use crate::threads::{self, lock};
use todo_write::text::path::is_special;
use todo_write::wire::bounds::WAIT;

/// The names of files and folders at the root of a project.
const MARKERS: [&str; 9] = [".git", ".jj", ".hg", ".sl", ".svn", ".bzr", "_darcs", ".pijul", ".fslckout"];

/// The root of the project in which a folder is, by names and kinds of files alone.
fn project_of(folder: &Path) -> Option<PathBuf> {
    let is_marker = |path: PathBuf| fs::metadata(path).is_ok_and(|data| data.is_dir() || data.is_file());
    let is_root = |folder: &&Path| MARKERS.iter().any(|marker| is_marker(folder.join(marker)));
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

/// Finds projects. These are the mounts of file systems that do not answer.
#[derive(Debug, Default)]
pub(super) struct Projects(Arc<Mutex<HashSet<PathBuf>>>);

impl Projects {
    /// Has a thread look whether there is a folder, and for the root of its project; `None` if its file system does not
    /// answer in time.
    fn find(&self, folder: &Path) -> Option<(bool, Option<PathBuf>)> {
        let mount = mount_of(folder);
        if lock(&self.0).contains(&mount) {
            return None;
        }
        let (sender, found) = channel();
        let (hanging, own, of) = (Arc::clone(&self.0), mount.clone(), folder.to_owned());
        let look = move || {
            let found = (of.is_dir(), project_of(&of));
            let mut hanging = lock(&hanging);
            let _ = sender.send(found);
            hanging.remove(&own);
        };
        threads::start("mount", look).ok()?;
        found.recv_timeout(WAIT).ok().or_else(|| {
            let mut hanging = lock(&self.0);
            // It may answer just now.
            found.try_recv().inspect_err(|_| _ = hanging.insert(mount)).ok()
        })
    }

    /// The root of the project of a folder. `None` if it has none, or if its file system does not answer in time.
    pub(super) fn of(&self, folder: &Path) -> Option<PathBuf> {
        self.find(folder)?.1
    }

    /// The root of the project of a folder that exists: the folder itself if it is in none, or if its file system does
    /// not answer, unless Emacs could take the name for something else.
    pub(super) fn root_of(&self, folder: &Path) -> Option<PathBuf> {
        match self.find(folder) {
            Some((is_there, root)) => is_there.then(|| root.unwrap_or_else(|| folder.to_owned())),
            None => {
                let name = folder.to_str()?;
                let is_plain = !is_special(name) && !name.contains(char::is_control);
                is_plain.then(|| folder.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_does_not_answer_stands_for_its_project_if_it_can_be_taken_for_nothing_else() {
        let projects = Projects::default();
        let root = |name: &str| {
            let folder = Path::new(name);
            lock(&projects.0).insert(mount_of(folder));
            projects.root_of(folder)
        };
        assert_eq!(root("/hangs"), Some("/hangs".into()));
        assert_eq!(root("/ssh:hangs:/x"), None);
        assert_eq!(root("/a\nb"), None);
    }

    #[test]
    fn the_mount_of_a_file_may_have_a_space_in_its_name() {
        let table = "21 1 8:1 / / rw - ext4 /dev/a rw\n22 21 0:5 / /mnt/my\\040disk rw - nfs a:/b rw\n";
        assert_eq!(mount_in(table, Path::new("/mnt/my disk/garden")), Path::new("/mnt/my disk"));
        assert_eq!(mount_in(table, Path::new("/mnt/my")), Path::new("/"));
        assert_eq!(mount_in("", Path::new("/mnt/my/garden")), Path::new("/mnt"));
    }
}
