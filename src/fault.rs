//! Panics on purpose, for tests: at the border, and where a panic would leave a thread half changed.
//! Without the feature `panic-injection`, [`may_panic_here`] does nothing.

#[cfg(feature = "panic-injection")]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "panic-injection")]
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Makes the NUMBERth call of [`may_panic_here`] from now on panic, once; 0 cancels that. Returns how
/// many calls were left: 0 after the panic.
#[cfg(feature = "panic-injection")]
pub fn panic_at(number: usize) -> usize {
    LEFT.swap(number, Ordering::SeqCst)
}

/// Panics if [`panic_at`] asked for it.
#[inline]
#[track_caller]
pub fn may_panic_here() {
    #[cfg(feature = "panic-injection")]
    if LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) == Ok(1) {
        panic!("a panic on purpose");
    }
}
