//! How much of a piece of work is done.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How much of a piece of work is done, in percent. One thread notes it, others read it.
#[derive(Debug, Default)]
pub struct Percent(AtomicUsize);

impl Percent {
    /// Notes that `done` of `all` parts are done. At most 99 percent are: what comes of them takes time, too.
    pub fn set(&self, done: usize, all: usize) {
        let percent = done.saturating_mul(100) / all.max(1);
        self.0.store(percent.min(99), Ordering::Relaxed);
    }

    /// The percentage, or `None` as long as nothing is done.
    pub fn get(&self) -> Option<usize> {
        Some(self.0.load(Ordering::Relaxed)).filter(|percent| *percent > 0)
    }
}
