//! The folders that a root watches, and what changed in them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use crate::bounds::ENTRIES;
use crate::threads::lock;

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
        let is_name = matches!(
            event.kind,
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        );
        if !is_name && !matches!(event.kind, EventKind::Modify(_) | EventKind::Any | EventKind::Other) {
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

/// The watcher of a root. Only its thread uses it, since watching a folder may hang.
pub(super) struct Watches {
    pub(super) changes: Arc<Changes>,
    /// None also without a watcher in this system: the regular looks suffice.
    watcher: Option<RecommendedWatcher>,
    /// The folders, and how many want each.
    wanted: HashMap<PathBuf, usize>,
}

impl Watches {
    pub(super) fn new(changes: Arc<Changes>) -> Watches {
        Watches { changes, watcher: None, wanted: HashMap::new() }
    }

    /// Watches the folders `new` for one that wanted `old` until now.
    pub(super) fn set(&mut self, old: &mut Vec<PathBuf>, new: Vec<PathBuf>) {
        for folder in new.iter().filter(|folder| !old.contains(folder)) {
            let count = self.wanted.entry(folder.clone()).or_default();
            *count += 1;
            if *count == 1 {
                if self.watcher.is_none() {
                    let changes = Arc::clone(&self.changes);
                    self.watcher = notify::recommended_watcher(move |event| changes.note(event)).ok();
                }
                let _ = self.watcher.as_mut().map(|one| one.watch(folder, RecursiveMode::NonRecursive));
            }
        }
        for folder in old.iter().filter(|folder| !new.contains(folder)) {
            let Some(count) = self.wanted.get_mut(folder) else { continue };
            *count -= 1;
            if *count == 0 {
                self.wanted.remove(folder);
                let _ = self.watcher.as_mut().map(|one| one.unwatch(folder));
            }
        }
        // The system has few of them.
        if self.wanted.is_empty() {
            self.watcher = None;
        }
        *old = new;
    }
}
