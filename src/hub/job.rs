//! Jobs: work in a root that is done once, such as reading a journal.

use std::fmt;
use std::path::Path;

use super::roots::{Key, Work};
use super::{Hub, next_number};

/// Work that waits for files. It is called until it returns false. Between two calls, other tasks of the
/// root may run.
pub(super) struct Job(Box<dyn FnMut() -> bool + Send>);

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Job")
    }
}

impl Job {
    /// Work that is done by one call.
    pub(super) fn once(work: impl FnOnce() + Send + 'static) -> Job {
        let mut work = Some(work);
        Job(Box::new(move || {
            if let Some(work) = work.take() {
                work();
            }
            false
        }))
    }

    /// Does a part of the work; returns whether any is left.
    pub(super) fn run(&mut self) -> bool {
        (self.0)()
    }
}

impl Hub {
    /// Calls `work` on a thread of the hub until it returns false, after the tasks of `root` that are
    /// due. A panic ends it, which drops what it owns: a sender, say, whose receiver is waited for.
    ///
    /// Where no thread can be started, the work is done before this returns.
    pub fn run(&self, root: &Path, work: impl FnMut() -> bool + Send + 'static) {
        self.run_job(root, Job(Box::new(work)));
    }

    fn run_job(&self, root: &Path, mut job: Job) {
        let mut state = self.shared.lock();
        if state.workers == 0 {
            self.shared.employ(&mut state);
        }
        if state.workers > 0 {
            return self.shared.add(&mut state, root.to_owned(), Key::Job(next_number()), Work::Job(job));
        }
        drop(state);
        while job.run() {}
    }

    /// Calls `work` once on a thread of the hub, as [`Hub::run`].
    pub fn run_once(&self, root: &Path, work: impl FnOnce() + Send + 'static) {
        self.run_job(root, Job::once(work));
    }

    /// Whether a task in `root` has waited for its file system for so long that this is reported.
    pub fn is_stuck(&self, root: &Path) -> bool {
        self.shared.lock().roots.is_stuck(root)
    }
}
