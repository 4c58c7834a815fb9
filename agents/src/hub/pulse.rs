//! Since when a thread waits for something that may not answer. Others look at it without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Pulse {
    base: Instant,
    /// Milliseconds since `base`, 0 while the thread waits for nothing.
    since: AtomicU64,
}

impl Pulse {
    pub(super) fn new() -> Pulse {
        Pulse { base: Instant::now(), since: AtomicU64::new(0) }
    }

    pub(super) fn begin(&self) {
        let since = u64::try_from(self.base.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(since.max(1), Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.since.store(0, Ordering::Relaxed);
    }

    /// Whether it waits for longer than this.
    pub(super) fn is_over(&self, time: Duration) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        since > 0 && self.base.elapsed().saturating_sub(Duration::from_millis(since)) > time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::{NEVER, wait_until};

    #[test]
    fn only_what_has_begun_takes_time() {
        let pulse = Pulse::new();
        assert!(!pulse.is_over(Duration::ZERO));
        pulse.begin();
        wait_until("some time", || pulse.is_over(Duration::from_millis(1)));
        assert!(!pulse.is_over(NEVER));
        pulse.end();
        assert!(!pulse.is_over(Duration::ZERO));
    }
}
