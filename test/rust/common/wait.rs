//! Waiting for a condition. Nothing else in the tests depends on time.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// How long a test waits. Its only purpose is to end a hang.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A time-out of the library that must not be over while a test runs.
pub const NEVER: Duration = Duration::from_secs(86_400);

/// Looks for a value until it is there.
pub fn wait<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < end, "still waiting for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Looks until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait(what, || is_so().then_some(()));
}

/// Receives what another thread sends.
pub fn receive<T>(what: &str, from: &Receiver<T>) -> T {
    from.recv_timeout(DEADLINE).unwrap_or_else(|error| panic!("still waiting for {what}: {error}"))
}
