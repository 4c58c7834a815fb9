//! The hooks of Claude Code: what they read, and those by which the agent hears what the user did in Emacs.
//!
//! `PostToolUse` runs after each tool call. Without a socket, this program exits at once; the door answers at once
//! unless Emacs has something to say to the session.

pub mod permission;

use std::io::{Read, Write, stdin};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use todo_write::wire::bounds::CALL;
use todo_write::wire::socket::{Call, Role};

use crate::mcp::emacs::Emacs;
use crate::mcp::session::CLAUDE;

/// Time limit of asking what to tell the agent, which does not notice this program.
const LIMIT: Duration = Duration::from_millis(200);

/// The hook's input, an object on stdin; none if it is not complete or too large for a message.
pub fn input() -> Option<Value> {
    let mut text = Vec::new();
    stdin().take(CALL as u64 + 1).read_to_end(&mut text).ok()?;
    if text.len() > CALL {
        return None;
    }
    serde_json::from_slice(&text).ok().filter(Value::is_object)
}

/// Prints what Emacs has to say to the session that the hook's input names.
pub fn note(door: Option<PathBuf>) {
    if let Some(input) = input()
        && let Some(text) = text(door, &input)
        && let Some(output) = output(input["hook_event_name"].as_str().unwrap_or_default(), &text)
    {
        let _ = writeln!(std::io::stdout(), "{output}");
    }
}

fn text(door: Option<PathBuf>, input: &Value) -> Option<String> {
    // A Stop hook that blocks is called again at the next end.
    if input["stop_hook_active"] == true || input["agent_id"].is_string() {
        return None;
    }
    let session = input["session_id"].as_str()?;
    let mut emacs = Emacs::new(door, Role::Note);
    if !emacs.door().exists() {
        return None;
    }
    emacs.hello.client = Some(CLAUDE.to_owned());
    emacs.hello.project = input["cwd"].as_str().map(str::to_owned);
    let arguments = json!({
        "event": input["hook_event_name"],
        "tool_name": input["tool_name"],
        "tool_input": input["tool_input"],
    });
    let arguments = to_raw_value(&arguments).ok();
    let call = Call { session: Some(session.to_owned()), arguments, ..Call::default() };
    let answer = emacs.ask_user(call, LIMIT, LIMIT)?;
    Some(answer.text).filter(|text| !text.is_empty())
}

/// What Claude Code takes as a hook's words to the agent after EVENT.
fn output(event: &str, text: &str) -> Option<Value> {
    match event {
        "PostToolUse" => Some(json!({
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}
        })),
        "Stop" => Some(json!({"decision": "block", "reason": text})),
        _ => None,
    }
}
