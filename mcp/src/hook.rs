//! What the hooks of Claude Code have in common.

use serde_json::Value;
use tokio::io::AsyncReadExt;

/// Maximum size of a hook's input in bytes, which must fit into a message.
const LARGEST: u64 = 1 << 20;

/// The hook's input, an object on stdin; none if it is not complete or too large.
pub async fn input() -> Option<Value> {
    let mut text = Vec::new();
    tokio::io::stdin().take(LARGEST + 1).read_to_end(&mut text).await.ok()?;
    if text.len() as u64 > LARGEST {
        return None;
    }
    serde_json::from_slice(&text).ok().filter(Value::is_object)
}
