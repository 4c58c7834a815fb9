//! The hooks of Claude Code.

pub mod note;
pub mod permission;

use std::io::{Read, stdin};

use serde_json::Value;
use todo_write::wire::bounds::CALL;

/// The hook's input, an object on stdin; none if it is not complete or too large for a message.
pub fn input() -> Option<Value> {
    let mut text = Vec::new();
    stdin().take(CALL as u64 + 1).read_to_end(&mut text).ok()?;
    if text.len() > CALL {
        return None;
    }
    serde_json::from_slice(&text).ok().filter(Value::is_object)
}
