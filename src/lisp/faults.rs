//! A Lisp function that injects panics, for test builds.

use emacs::{Env, Result, Value, defun};

use super::{border, read};
use crate::fault;

/// Make the next panic point number NUMBER panic; see `crate::fault'.
///
/// Return the number of points left from the previous call.
#[defun]
fn panic_at<'e>(env: &'e Env, number: Value<'e>) -> Result<i64> {
    border(env, || Ok(fault::panic_at(read::whole_number("number", number)?) as i64))
}
