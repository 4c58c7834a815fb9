//! Injected panics for tests. Without the feature `panic-injection`, [`may_panic_here`] does nothing.

#[cfg(feature = "panic-injection")]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "panic-injection")]
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Makes the next call number `number` of [`may_panic_here`] panic; 0 cancels it. Returns the calls
/// that were left, 0 after the panic.
#[cfg(feature = "panic-injection")]
pub fn panic_at(number: usize) -> usize {
    LEFT.swap(number, Ordering::SeqCst)
}

/// Panics if `panic_at` requested it. It stands where a panic would leave a change half made.
#[inline]
#[track_caller]
pub fn may_panic_here() {
    #[cfg(feature = "panic-injection")]
    if LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) == Ok(1) {
        panic!("an injected panic");
    }
}
