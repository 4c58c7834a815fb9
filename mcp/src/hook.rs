//! What the hooks of Claude Code and of Gemini CLI have in common.

use serde_json::Value;
use tokio::io::AsyncReadExt;

/// Maximum size of a hook's input in bytes, which must fit into a message.
pub const LARGEST: u64 = 1 << 20;

/// The hook's input, an object on stdin of at most MOST bytes; none if it is not complete or larger.
pub async fn input(most: u64) -> Option<Value> {
    let mut text = Vec::new();
    tokio::io::stdin().take(most + 1).read_to_end(&mut text).await.ok()?;
    if text.len() as u64 > most {
        return None;
    }
    serde_json::from_slice(&text).ok().filter(Value::is_object)
}
