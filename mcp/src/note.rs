//! The hooks `PostToolUse` and `Stop` of Claude Code: the agent hears what the user did in Emacs.
//!
//! Emacs leaves an empty file in the folder `told` beside its socket while it has something to say to a
//! session. Without that file, this program exits at once, since it runs after each tool call.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use todo_write::protocol::{Call, Role};
use todo_write::told::has_news;
use tokio::time::timeout;

use crate::emacs::Emacs;
use crate::hook;
use crate::session::CLAUDE;

/// Time limit, so that the agent does not notice this program.
const LIMIT: Duration = Duration::from_millis(200);

/// Prints what Emacs has to say to the session that the hook's input names.
pub async fn run(door: Option<PathBuf>) {
    let Some(input) = hook::input().await else { return };
    let end = Instant::now() + LIMIT;
    let event = input["hook_event_name"].as_str().unwrap_or_default();
    if let Ok(Some(text)) = timeout(LIMIT, text(door, &input, end)).await
        && let Some(output) = output(event, &text)
    {
        let _ = writeln!(std::io::stdout(), "{output}");
    }
}

async fn text(door: Option<PathBuf>, input: &Value, end: Instant) -> Option<String> {
    // A Stop hook that blocks is called again at the next end.
    if input["stop_hook_active"] == true || input["agent_id"].is_string() {
        return None;
    }
    let session = input["session_id"].as_str()?;
    let emacs = Emacs::new(door, Role::Note);
    if emacs.doors().iter().all(|door| has_news(door, session) == Some(false)) {
        return None;
    }
    emacs.introduce(|hello| {
        hello.client = Some(CLAUDE.to_owned());
        hello.project = input["cwd"].as_str().map(str::to_owned);
    });
    let arguments = json!({
        "event": input["hook_event_name"],
        "tool_name": input["tool_name"],
        "tool_input": input["tool_input"],
    });
    let arguments = to_raw_value(&arguments).ok();
    let call = Call { session: Some(session.to_owned()), arguments, ..Call::default() };
    let left = end.saturating_duration_since(Instant::now());
    let answer = emacs.ask_user(call, left, left).await?;
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
