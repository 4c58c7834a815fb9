//! A folder for tests, laws and benchmarks.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new folder, deleted when the value is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// A path that does not exist yet, below cargo's folder for tests or else the system's for
    /// temporary files.
    pub fn new() -> Folder {
        Folder::below(option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from))
    }

    /// The same with a short path, as the name of a socket must be.
    pub fn short() -> Folder {
        Folder::below(std::env::temp_dir())
    }

    fn below(parent: PathBuf) -> Folder {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("todo-write-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
