//! The folders that a root watches.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::roots::Key;
use super::state::State;
use super::workers::Shared;

/// The watcher of a root. Only the worker in that root uses it, since watching a folder may hang.
#[derive(Debug)]
pub(super) struct Watches {
    root: PathBuf,
    shared: Weak<Shared>,
    /// Whether the watcher was begun: many roots have only jobs.
    is_begun: bool,
    /// None also without a watcher in this system: the regular looks suffice.
    watcher: Option<RecommendedWatcher>,
    /// The folders, and the tasks that want them.
    wanted: HashMap<PathBuf, Vec<Key>>,
}

impl Watches {
    pub(super) fn new(root: &Path, shared: &Arc<Shared>) -> Watches {
        Watches {
            root: root.to_owned(),
            shared: Arc::downgrade(shared),
            is_begun: false,
            watcher: None,
            wanted: HashMap::new(),
        }
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.is_begun, true) {
            let (root, shared) = (self.root.clone(), Weak::clone(&self.shared));
            self.watcher = notify::recommended_watcher(move |event| changed(&root, &shared, event)).ok();
        }
    }

    /// Watches `folders` for a task, and no others.
    pub(super) fn set(&mut self, key: &Key, folders: &[PathBuf]) {
        if !folders.is_empty() {
            self.begin();
        }
        let Some(watcher) = &mut self.watcher else { return };
        let kept: HashSet<&PathBuf> = folders.iter().collect();
        self.wanted.retain(|folder, keys| {
            keys.retain(|other| other != key || kept.contains(folder));
            if keys.is_empty() {
                let _ = watcher.unwatch(folder);
            }
            !keys.is_empty()
        });
        for folder in folders {
            if let Some(keys) = self.wanted.get_mut(folder) {
                if !keys.contains(key) {
                    keys.push(key.clone());
                }
            } else if watcher.watch(folder, RecursiveMode::NonRecursive).is_ok() {
                self.wanted.insert(folder.clone(), vec![key.clone()]);
            }
        }
    }

    /// Drops the watches of tasks that are over, and of folders that are gone.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&Key) -> bool) {
        let over: Vec<Key> = self.wanted.values().flatten().filter(|key| !is_kept(key)).cloned().collect();
        over.iter().for_each(|key| self.set(key, &[]));
    }
}

/// Lets the tasks run that an event concerns.
fn changed(root: &Path, shared: &Weak<Shared>, event: notify::Result<Event>) {
    let Some(shared) = shared.upgrade() else { return };
    let Ok(event) = event else { return };
    let is_name = matches!(
        event.kind,
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
    );
    if !is_name && !matches!(event.kind, EventKind::Modify(_) | EventKind::Any | EventKind::Other) {
        return;
    }
    let mut state = shared.lock();
    let mut is_any = event.need_rescan();
    if is_any {
        state.roots.mark(root, &Key::Search);
        state.roots.mark(root, &Key::Processes);
    }
    for path in &event.paths {
        is_any |= note(&mut state, root, path);
    }
    if is_any {
        shared.wake(&state);
    }
}

/// Marks the tasks that the change of a file concerns; returns whether there are any.
fn note(state: &mut State, root: &Path, path: &Path) -> bool {
    if state.look_at(path) {
        return true;
    }
    let is_of = |name: &str| path.parent().is_some_and(|folder| folder == root.join(name));
    if is_of("sessions") && path.extension().is_some_and(|extension| extension == "json") {
        state.roots.mark(root, &Key::Processes);
        return true;
    }
    // A transcript that is not followed, or a folder.
    let is_searched = path.extension().is_none_or(|extension| extension == "jsonl");
    if is_searched {
        state.roots.mark(root, &Key::Search);
    }
    is_searched
}
