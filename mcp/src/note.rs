//! The hooks `PostToolUse` and `Stop` of Claude Code: the agent hears what the user did in Emacs.
//!
//! Emacs leaves an empty file in the folder `told` beside its socket while it has something to say to a
//! session. Without that file, this program exits at once, since it runs after each tool call. Through a
//! tunnel, that folder cannot be seen, and Emacs is asked each time.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::door::Door;
use crate::emacs::Emacs;
use crate::hook;
use crate::session::CLAUDE;

/// Time limit, so that the agent does not notice this program.
const LIMIT: Duration = Duration::from_millis(200);
/// The same through a tunnel, which takes three round trips.
const REMOTE_LIMIT: Duration = Duration::from_millis(500);

/// Prints what Emacs has to say to the session that the hook's input names.
pub async fn run(door: Option<Door>) {
    let Some(input) = hook::input().await else { return };
    let event = input["hook_event_name"].as_str().unwrap_or_default();
    if let Ok(Some(text)) = timeout(REMOTE_LIMIT, text(door, &input)).await
        && let Some(output) = output(event, &text)
    {
        let _ = writeln!(std::io::stdout(), "{output}");
    }
}

async fn text(door: Option<Door>, input: &Value) -> Option<String> {
    // A Stop hook that blocks is called again at the next end.
    if input["stop_hook_active"] == true || input["agent_id"].is_string() {
        return None;
    }
    let session = input["session_id"].as_str()?;
    let emacs = Emacs::new(door, "note", false);
    let limit = patience(&emacs.doors(), &file_name(session))?;
    emacs.introduce(json!({"client": CLAUDE, "project": input["cwd"]}));
    let call = json!({
        "session": session,
        "arguments": {
            "event": input["hook_event_name"],
            "tool_name": input["tool_name"],
            "tool_input": input["tool_input"],
        },
    });
    let answer = emacs.ask_user(call, limit, limit).await?;
    answer["text"].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// How long to wait for an Emacs at DOORS; none if it has nothing to say to the session whose file is NAME.
fn patience(doors: &[Door], name: &str) -> Option<Duration> {
    let news: Vec<_> = doors.iter().map(|door| door.has_news(name)).collect();
    if news.contains(&Some(true)) {
        return Some(LIMIT);
    }
    news.contains(&None).then_some(REMOTE_LIMIT)
}

/// The name of the file for SESSION, as in Emacs.
fn file_name(session: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    session.chars().take(100).map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_session_names_a_file_elsewhere() {
        assert_eq!(file_name("5e55-a000"), "5e55-a000");
        assert_eq!(file_name("../../x.y\0/ü"), "______x_y___");
        assert_eq!(file_name(&"x".repeat(1000)).len(), 100);
    }
}
