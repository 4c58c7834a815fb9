//! The projects in which agents run, and the file systems on which these are.

use std::fs;
use std::path::{Path, PathBuf};

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
/// hang. A file system hangs as a whole: with a root for each project, a few of them would hold all
/// workers. Where the system has no table of mounts, that is the first folder of the name.
pub fn mount_of(path: &Path) -> PathBuf {
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
