//! Panics on purpose, where a bug could panic. A build without the feature `panic-injection` has
//! none: there, [`may_panic_here`] is nothing.

#[cfg(feature = "panic-injection")]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "panic-injection")]
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Makes the NUMBERth place that is passed from now on panic, once; 0 takes that back. Returns how
/// many places were still to be passed: 0 after the panic.
#[cfg(feature = "panic-injection")]
pub fn panic_at(number: usize) -> usize {
    LEFT.swap(number, Ordering::SeqCst)
}

/// A place where a panic may be asked for.
#[inline]
#[track_caller]
pub fn may_panic_here() {
    #[cfg(feature = "panic-injection")]
    if LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) == Ok(1) {
        panic!("a panic on purpose");
    }
}
