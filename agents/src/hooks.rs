//! The hooks of Claude Code.

pub mod note;
pub mod permission;

use std::io::{Read, stdin};

use serde_json::Value;

/// Maximum size of a hook's input in bytes, which must fit into a message.
const LARGEST: u64 = 1 << 20;

/// The hook's input, an object on stdin; none if it is not complete or too large.
pub fn input() -> Option<Value> {
    let mut text = Vec::new();
    stdin().take(LARGEST + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > LARGEST {
        return None;
    }
    serde_json::from_slice(&text).ok().filter(Value::is_object)
}
