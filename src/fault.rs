//! Injected panics for tests. Without the feature `panic-injection`, [`may_panic_here`] does nothing.

#[cfg(feature = "panic-injection")]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "panic-injection")]
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Makes [`may_panic_here`] panic in its call `number` from now; 0 cancels that. Returns the number of
/// calls that remained, which is 0 after the panic.
#[cfg(feature = "panic-injection")]
pub(crate) fn panic_at(number: usize) -> usize {
    LEFT.swap(number, Ordering::SeqCst)
}

/// Panics if `panic_at` requested it. Called where a panic would leave a change incomplete.
#[inline]
#[track_caller]
pub(crate) fn may_panic_here() {
    #[cfg(feature = "panic-injection")]
    if LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) == Ok(1) {
        panic!("an injected panic");
    }
}
