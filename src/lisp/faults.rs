//! A Lisp function that injects panics, for test builds.

use super::function::lisp;
use crate::fault;

lisp! { env =>
    /// Make the NUMBER-th panic point from now panic; 0 cancels that.
    ///
    /// Return the number of panic points that the previous call had left; see `crate::fault'.
    fn panic_at(number: usize) -> usize {
        fault::panic_at(number)
    }
}
