//! A Lisp function that asks for a panic, in a test build.

use emacs::{Env, Result, Value, defun};

use super::border;
use super::read::WholeNumber;
use crate::fault;

/// Panic at the NUMBERth place that is passed from now on; see `crate::fault`.
#[defun]
fn panic_at<'e>(env: &'e Env, number: Value<'e>) -> Result<i64> {
    border(env, || Ok(fault::panic_at(WholeNumber::read("number", number)?) as i64))
}
