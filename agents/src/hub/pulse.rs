//! Since when a thread waits for something that may not answer, at which others look.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::threads::lock;

/// None while the thread waits for nothing.
#[derive(Debug, Default)]
pub(super) struct Pulse(Mutex<Option<Instant>>);

impl Pulse {
    pub(super) fn begin(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    pub(super) fn end(&self) {
        *lock(&self.0) = None;
    }

    /// Whether it waits for longer than this.
    pub(super) fn is_over(&self, time: Duration) -> bool {
        lock(&self.0).is_some_and(|since| since.elapsed() > time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::{NEVER, wait_until};

    #[test]
    fn only_what_has_begun_takes_time() {
        let pulse = Pulse::default();
        assert!(!pulse.is_over(Duration::ZERO));
        pulse.begin();
        wait_until("some time", || pulse.is_over(Duration::from_millis(1)));
        assert!(!pulse.is_over(NEVER));
        pulse.end();
        assert!(!pulse.is_over(Duration::ZERO));
    }
}
