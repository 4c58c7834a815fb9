//! Threads, and what they share.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Starts a thread, with a name that `ps` shows.
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(format!("todo-write-{name}")).spawn(work)
}

/// Locks what threads share, for a moment. What a panic leaves half done concerns one thing, which ends or begins
/// again, so a poisoned lock is no failure.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
