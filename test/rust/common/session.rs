//! Lines of sessions of Claude Code.

use serde_json::{Value, json};

/// A line of a session of Claude Code.
pub fn line(session: &str, kind: &str, n: usize, content: Value) -> String {
    let message = json!({"role": kind, "id": format!("m{n}"), "content": content});
    format!(
        "{}\n",
        json!({"type": kind, "uuid": format!("u{n}"), "sessionId": session, "cwd": "/garden",
               "isSidechain": false, "message": message})
    )
}

/// The lines by which the agent of a session writes a list of one task by call `n`.
pub fn list(session: &str, n: usize, task: &str) -> String {
    let todos = json!([{"content": task, "status": "pending", "activeForm": task}]);
    let call =
        json!([{"type": "tool_use", "id": format!("c{n}"), "name": "TodoWrite", "input": {"todos": todos}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": format!("c{n}"), "content": "ok"}]);
    line(session, "assistant", 2 * n, call) + &line(session, "user", 2 * n + 1, result)
}
