//! A Lisp function that injects panics, for test builds.

use emacs::{Env, Result, Value, defun};

use super::{border, read};
use crate::fault;

/// Make the NUMBER-th panic point from now panic; 0 cancels that.
///
/// Return the number of panic points that the previous call had left; see `crate::fault'.
#[defun]
fn panic_at<'e>(env: &'e Env, number: Value<'e>) -> Result<Value<'e>> {
    border(env, || Ok(fault::panic_at(read::whole_number("number", number)?)))
}
