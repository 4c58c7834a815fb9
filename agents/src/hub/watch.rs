//! The folders that a root watches, and what changed in them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::threads::lock;
use todo_write::wire::bounds::ENTRIES;

/// The files that changed since they were taken. The root itself stands for all of them.
pub(super) struct Changes {
    root: PathBuf,
    paths: Mutex<BTreeSet<PathBuf>>,
    /// Called after the first of them.
    ring: Box<dyn Fn() + Send + Sync>,
}

impl Changes {
    pub(super) fn new(root: &Path, ring: Box<dyn Fn() + Send + Sync>) -> Changes {
        Changes { root: root.to_owned(), paths: Mutex::default(), ring }
    }

    pub(super) fn take(&self) -> BTreeSet<PathBuf> {
        std::mem::take(&mut lock(&self.paths))
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.paths).is_empty()
    }

    fn note(&self, event: notify::Result<Event>) {
        let Ok(event) = event else { return };
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let mut paths = lock(&self.paths);
        let was_empty = paths.is_empty();
        if event.need_rescan() || paths.len() >= ENTRIES {
            *paths = BTreeSet::from([self.root.clone()]);
        }
        paths.extend(event.paths);
        let is_first = was_empty && !paths.is_empty();
        drop(paths);
        if is_first {
            (self.ring)();
        }
    }
}

/// A folder, whatever its name is.
type Identity = (u64, u64, Option<SystemTime>);

/// The watcher of a root. Only its thread uses it, since watching a folder may hang.
pub(super) struct Watches {
    pub(super) changes: Arc<Changes>,
    /// None also without a watcher in this system: the regular looks suffice.
    watcher: Option<RecommendedWatcher>,
    /// The folders, and which they were: one that is deleted is watched no more, whatever has its name.
    watched: HashMap<PathBuf, Identity>,
}

impl Watches {
    pub(super) fn new(changes: Arc<Changes>) -> Watches {
        Watches { changes, watcher: None, watched: HashMap::new() }
    }

    /// Watches a folder, if there is one.
    pub(super) fn add(&mut self, folder: &Path) {
        let Some(data) = fs::metadata(folder).ok().filter(Metadata::is_dir) else { return };
        // Its number may be that of an earlier one.
        let identity = (data.dev(), data.ino(), data.created().ok());
        let before = self.watched.insert(folder.to_owned(), identity);
        if before == Some(identity) {
            return;
        }
        if self.watcher.is_none() {
            let changes = Arc::clone(&self.changes);
            self.watcher = notify::recommended_watcher(move |event| changes.note(event)).ok();
        }
        if let Some(watcher) = &mut self.watcher {
            let _ = before.map(|_| watcher.unwatch(folder));
            let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
        }
    }

    /// Ends watching all other folders.
    pub(super) fn keep(&mut self, wanted: &HashSet<PathBuf>) {
        for (folder, _) in self.watched.extract_if(|folder, _| !wanted.contains(folder)) {
            let _ = self.watcher.as_mut().map(|one| one.unwatch(&folder));
        }
        // The system has few of them.
        if self.watched.is_empty() {
            self.watcher = None;
        }
    }
}
