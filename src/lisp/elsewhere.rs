//! Waits for work on the files of journals, which threads of the hub do.
//!
//! Emacs goes on meanwhile: it runs timers and filters, and `C-g` ends the wait. What a thread of the hub
//! has then begun is kept for the next call.

use std::collections::HashSet;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use emacs::{Env, Result};
use serde_json::{Map, Value as Json};

use super::{Module, now, with_module};
use crate::error::Error;
use crate::hub::{Hub, Piece, SessionId, Settings};
use crate::journal::Percent;
use crate::journal::store::{self, Work};

emacs::use_symbols! {
    wait_a_moment => "todo-write--wait-a-moment"
}

/// How long the first wait may take that nothing ends. Most journals are read in less.
const PATIENCE: Duration = Duration::from_millis(8);

/// How long a session waits for its journals before others go on.
const BRIEFLY: Duration = Duration::from_millis(1);

const FAILED: &str = "a thread that reads journals has failed";

/// The hub that works on the folders of journals. Each folder is a root.
#[derive(Default)]
pub(super) struct Readers(Option<Hub>);

impl Readers {
    fn hub(&mut self) -> &mut Hub {
        self.0.get_or_insert_with(|| Hub::new(Settings::default(), Box::new(|| {})))
    }

    /// Lets a thread do work in a folder.
    pub(super) fn run(&mut self, folder: &Path, work: Work) {
        self.hub().run_once(folder, work);
    }

    fn is_stuck(&self, folder: &Path) -> bool {
        self.0.as_ref().is_some_and(|hub| hub.is_stuck(folder))
    }
}

/// Waits until the thread `key` is in memory with its journal, or has none that this Emacs may write.
/// A journal without a description gets `about`.
pub(super) fn open(env: &Env, key: &str, about: &Map<String, Json>) -> Result<()> {
    if with_module(|module| module.store.is_writable(key)) {
        return Ok(());
    }
    wait_for(env, key, |patience| with_module(|module| done(module.ready(key, about, patience))))
}

/// As [`open`], if the thread left memory, or its journal is closed.
pub(super) fn wake(env: &Env, key: &str) -> Result<()> {
    if with_module(|module| module.store.is_closed(key)) { open(env, key, &Map::new()) } else { Ok(()) }
}

/// Waits until the thread `key` is in memory, or is read as its journal has it.
pub(super) fn read(env: &Env, key: &str) -> Result<()> {
    if with_module(|module| module.store.is_loaded(key)) {
        return Ok(());
    }
    wait_for(env, key, |patience| {
        with_module(|Module { store, readers, .. }| {
            done(store.read(key, patience, |folder, work| readers.run(folder, work)))
        })
    })
}

fn done(progress: store::Progress) -> Result<Option<()>> {
    match progress {
        store::Progress::Done => Ok(Some(())),
        store::Progress::UnderWay => Ok(None),
        store::Progress::Failed => panic!("{FAILED}"),
    }
}

/// Lets a thread call `work` with the folder of the journals, and waits for its value. Without a folder,
/// no file is waited for.
pub(super) fn ask<T: Send + 'static>(
    env: &Env,
    work: impl FnOnce(Option<&Path>) -> T + Send + 'static,
) -> Result<T> {
    let mut work = Some(work);
    ask_in_parts(env, move |folder, _| work.take().map(|work| work(folder)))
}

/// How much of a piece of work is done, in percent, and since when it is waited for.
pub(super) struct Progress {
    percent: Percent,
    begun: Instant,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress { percent: Percent::default(), begun: Instant::now() }
    }
}

impl Progress {
    /// Notes that so much of all is done.
    pub(super) fn set(&self, (done, all): (usize, usize)) {
        self.percent.set(done, all);
    }
}

/// As [`ask`], with work that is called until it has a value. Other work goes on between two calls, and it
/// ends with the wait.
pub(super) fn ask_in_parts<T: Send + 'static>(
    env: &Env,
    mut work: impl FnMut(Option<&Path>, &Progress) -> Option<T> + Send + 'static,
) -> Result<T> {
    let progress = Arc::new(Progress::default());
    let Some(folder) = folder() else {
        return loop {
            if let Some(value) = work(None, &progress) {
                break Ok(value);
            }
        };
    };
    let root = folder.clone();
    ask_at(env, &folder, &progress, move |progress| work(Some(&root), progress))
}

/// As [`ask_in_parts`], with work on files in `root`, whether there are journals or not. It ends if no one
/// has `progress` any more.
pub(super) fn ask_at<T: Send + 'static>(
    env: &Env,
    root: &Path,
    progress: &Arc<Progress>,
    mut work: impl FnMut(&Progress) -> Option<T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    let wanted = Arc::downgrade(progress);
    let part = move || {
        let Some(progress) = wanted.upgrade() else { return false };
        work(&progress).map(|value| drop(sender.send(value))).is_none()
    };
    with_module(|module| module.readers.hub().run(root, part));
    wait_at(
        env,
        Some(root),
        progress.begun,
        || progress.percent.get(),
        |patience| match receiver.recv_timeout(patience) {
            Ok(value) => Ok(Some(value)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => panic!("{FAILED}"),
        },
    )
}

/// Lets a thread call `work` with the folder of the journals some time.
pub(super) fn begin(work: impl FnOnce(&Path) + Send + 'static) {
    if let Some(folder) = folder() {
        let root = folder.clone();
        with_module(|module| module.readers.run(&folder, Box::new(move || work(&root))));
    }
}

fn folder() -> Option<PathBuf> {
    with_module(|module| module.store.folder().map(Path::to_owned))
}

/// Waits for the journal of the thread `key` as [`wait_at`].
fn wait_for<T>(env: &Env, key: &str, look: impl FnMut(Duration) -> Result<Option<T>>) -> Result<T> {
    let percent = || with_module(|module| module.store.percent(key));
    wait_at(env, None, Instant::now(), percent, look)
}

/// Calls `look` with the time for which it may wait, until it has a value. It waits for files in `root`, by
/// default the folder of the journals, since `begun`; `percent` says how much is done.
///
/// # Errors
/// A quit, or a folder that does not answer.
fn wait_at<T>(
    env: &Env,
    root: Option<&Path>,
    begun: Instant,
    percent: impl Fn() -> Option<usize>,
    mut look: impl FnMut(Duration) -> Result<Option<T>>,
) -> Result<T> {
    let mut patience = PATIENCE.saturating_sub(begun.elapsed());
    loop {
        if let Some(value) = look(patience)? {
            return Ok(value);
        }
        let folder = root.map(Path::to_owned).or_else(folder).unwrap_or_default();
        if with_module(|module| module.readers.is_stuck(&folder)) {
            let reason = std::io::Error::other("its file system has not answered for 10 s");
            return Err(Error::Journal { file: folder.display().to_string(), reason }.into());
        }
        patience = Duration::ZERO;
        env.call(wait_a_moment, (begun.elapsed().as_secs_f64(), percent()))?;
    }
}

/// Those of some threads whose journals are not open yet. When they are, the hub rings. Calls on a folder
/// that does not answer fail, so none waits for it.
pub(super) fn unready(threads: Vec<String>) -> Vec<String> {
    with_module(|module| {
        let mut threads: HashSet<String> = threads.into_iter().collect();
        let is_stuck =
            |module: &Module| module.store.folder().is_some_and(|folder| module.readers.is_stuck(folder));
        if module.are_ready(&mut threads, BRIEFLY) || is_stuck(module) {
            return Vec::new();
        }
        threads.into_iter().collect()
    })
}

/// A session that the hub holds.
pub(super) struct Waiting {
    /// The threads whose journals are being opened.
    threads: HashSet<String>,
    /// What was taken of the session and is to be applied then.
    piece: Option<Piece>,
}

impl Module {
    /// Whether a session must wait until journals of threads are open that its events need: those of
    /// `piece`, or of pieces before it. Then the hub holds what follows, and rings when they are open.
    pub(super) fn must_wait(&mut self, id: SessionId, piece: &mut Option<Piece>) -> bool {
        let Some(applier) = self.followed.appliers.get(&id) else { return false };
        let mut threads = applier.threads(&self.store, piece.as_ref());
        if self.are_ready(&mut threads, BRIEFLY) {
            return false;
        }
        self.followed.applying = None;
        self.followed.waiting.insert(id, Waiting { threads, piece: piece.take() });
        if let Some(hub) = &self.followed.hub {
            hub.hold(id);
        }
        true
    }

    /// A session whose journals are open now, and what was taken of it.
    pub(super) fn waited(&mut self) -> Option<(SessionId, Option<Piece>)> {
        let id = self.next_waited()?;
        let waiting = self.followed.waiting.remove(&id)?;
        self.followed.hub.as_ref()?.release(id);
        Some((id, waiting.piece))
    }

    /// The next session whose journals are open now.
    pub(super) fn next_waited(&mut self) -> Option<SessionId> {
        let ids: Vec<SessionId> = self.followed.waiting.keys().copied().collect();
        ids.into_iter().find(|id| {
            let Some(waiting) = self.followed.waiting.get_mut(id) else { return false };
            let mut threads = mem::take(&mut waiting.threads);
            // After a panic it waits no longer: the change that needs the journal fails.
            let look = AssertUnwindSafe(|| self.are_ready(&mut threads, Duration::ZERO));
            let is_ready = catch_unwind(look).unwrap_or_else(|_| {
                self.recover();
                true
            });
            if let Some(waiting) = self.followed.waiting.get_mut(id) {
                waiting.threads = threads;
            }
            is_ready
        })
    }

    /// Removes those threads that are ready for changes; returns whether all are. One whose journal
    /// made its reader panic counts as ready: the change that needs it fails.
    pub(super) fn are_ready(&mut self, threads: &mut HashSet<String>, patience: Duration) -> bool {
        threads.retain(|key| self.ready(key, &Map::new(), patience) == store::Progress::UnderWay);
        threads.is_empty()
    }

    /// Has the journal of a thread opened; see [`store::Store::ready`]. The hub rings when it is open, also if
    /// a function of Lisp asked for it: a session may wait for it, too.
    fn ready(&mut self, key: &str, about: &Map<String, Json>, patience: Duration) -> store::Progress {
        let Module { followed, store, readers, .. } = self;
        let elsewhere = |folder: &Path, work: Work| {
            // Made for work only: one that is dropped here would ring for nothing, again and again.
            let ringer = followed.hub.as_ref().map(Hub::ringer);
            let work = move || {
                let _ringer = ringer;
                work();
            };
            readers.run(folder, Box::new(work));
        };
        store.ready(key, about, now(), patience, elsewhere)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::journal::store::{Storage, Store};
    use crate::wait::{DEADLINE, receive};

    #[test]
    fn the_hub_rings_when_a_journal_is_open_that_a_function_asked_for() {
        let folder = std::env::temp_dir().join(format!("todo-write-elsewhere-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let storage = Storage { folder: Some(folder.clone()), history_limit: 10, ..Storage::default() };
        Store::new(storage.clone()).open("a thread", Map::new(), 1);
        let (bell, rung) = channel();
        let mut module = Module { store: Store::new(storage), ..Module::default() };
        let bell = Box::new(move || {
            let _ = bell.send(());
        });
        module.followed.hub = Some(Hub::new(Settings::default(), bell));
        assert_eq!(module.ready("a thread", &Map::new(), Duration::ZERO), store::Progress::UnderWay);
        receive("the bell", &rung);
        assert!(module.are_ready(&mut HashSet::from(["a thread".to_owned()]), DEADLINE));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
