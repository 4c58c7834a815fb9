//! The hook `Notification` of Gemini CLI: Emacs hears that the terminal asks for a permission.
//!
//! Gemini CLI waits for its hook before it shows the dialog, and runs none when the user has answered. So
//! the hook starts this program once more, beside the dialog, and ends. That process tells Emacs, and
//! leaves when the dialog must have ended: the session's transcript goes on, which it does after the tool
//! has run or was refused; a process begun by Gemini CLI stays for a second, so that the tool runs; or
//! Gemini CLI has ended. When the connection closes, Emacs withdraws the question.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use todo_write::protocol::{Call, Role};
use tokio::time::sleep;

use crate::door::Door;
use crate::emacs::Emacs;
use crate::hook;
use crate::session::Stat;

/// The name by which Gemini CLI calls itself.
const GEMINI: &str = "gemini-cli-mcp-client";
/// Time limit to reach Emacs.
const REACH: Duration = Duration::from_secs(2);
/// How long a dialog may stand.
const LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
const PAUSE: Duration = Duration::from_millis(200);
/// Processes that begin before this are other hooks.
const SETTLED: Duration = Duration::from_millis(600);
/// How long a process must live to be that of a tool.
const LASTING: Duration = Duration::from_secs(1);
/// Maximum size of the hook's input in bytes. It has the whole file before and after an edit.
const LARGEST_INPUT: u64 = 16 << 20;
/// Maximum size of the details that are told, and of each of them if they are larger, in bytes.
const DETAILS: usize = 900 << 10;
const DETAIL: usize = 64 << 10;
/// The parts of a dialog that Emacs shows.
const SHOWN: [&str; 8] =
    ["type", "title", "command", "fileName", "filePath", "fileDiff", "serverName", "toolName"];

/// Runs the hook, or with STAYS the process that it started with the same input.
pub async fn run(door: Option<Door>, stays: bool) {
    let Some(input) = hook::input(LARGEST_INPUT).await else { return };
    if stays {
        stay(door, &input).await;
    } else if input["notification_type"] == "ToolPermission" {
        let _ = start(door, &input);
    }
}

/// Starts this program once more, with INPUT and the process of the agent.
fn start(door: Option<Door>, input: &Value) -> Option<()> {
    let mut input = told(input);
    input["agent"] = agent().into();
    let mut arguments = vec![OsString::from("waiting"), "--stay".into()];
    if let Some(Door(file)) = door {
        arguments.extend(["--socket".into(), file.into_os_string()]);
    }
    let mut command = Command::new(std::env::current_exe().ok()?);
    // Gemini CLI waits until no process has the hook's output open.
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn().ok()?;
    child.stdin.take()?.write_all(input.to_string().as_bytes()).ok()
}

/// What Emacs needs of INPUT. Of details that are too large for a message, the larger ones are left out.
fn told(input: &Value) -> Value {
    let mut details: Map<String, Value> = SHOWN
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), input["details"].get(name)?.clone())))
        .collect();
    let size = |value: &Value| value.to_string().len();
    let is_too_large = details.values().map(size).sum::<usize>() > DETAILS;
    if is_too_large {
        details.retain(|_, value| size(value) <= DETAIL);
    }
    json!({
        "session_id": input["session_id"],
        "transcript_path": input["transcript_path"],
        "cwd": input["cwd"],
        "message": input["message"].as_str().map(|text| text.chars().take(1000).collect::<String>()),
        "details": details,
        "isTooLarge": is_too_large,
    })
}

/// The process of Gemini CLI: the nearest one above this that is no shell.
fn agent() -> u32 {
    let mut id = std::os::unix::process::parent_id();
    for _ in 0..3 {
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        match Stat::of(id) {
            Some(stat) if name.trim_end().ends_with("sh") && stat.parent > 1 => id = stat.parent,
            _ => break,
        }
    }
    id
}

/// Tells Emacs what INPUT says until the dialog has ended.
async fn stay(door: Option<Door>, input: &Value) {
    let Some(agent) = input["agent"].as_u64().and_then(|id| u32::try_from(id).ok()) else { return };
    let emacs = Emacs::new(door, Role::Permission, false);
    emacs.introduce(|hello| {
        hello.client = Some(GEMINI.to_owned());
        hello.project = input["cwd"].as_str().map(str::to_owned);
        // It is the one that waits, in a terminal.
        hello.process = Some(agent);
    });
    let arguments = json!({
        "hook_event_name": "Notification",
        "message": input["message"],
        "details": input["details"],
        "isTooLarge": input["isTooLarge"],
        "server": server(agent),
    });
    let call = Call {
        session: input["session_id"].as_str().map(str::to_owned),
        // This program finds out when the terminal has answered.
        source: Some("process".to_owned()),
        arguments: to_raw_value(&arguments).ok(),
        ..Call::default()
    };
    let transcript = input["transcript_path"].as_str().map(Path::new);
    tokio::select! {
        _ = emacs.ask_user(call, REACH, LIMIT) => {}
        _ = settled(agent, transcript) => {}
    }
}

/// The process of this program that serves AGENT as an MCP server. Emacs knows the agent's plan by that.
fn server(agent: u32) -> Option<u32> {
    let own = std::env::current_exe().ok()?;
    let runs_this = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let name = words.next().and_then(|program| std::str::from_utf8(program).ok()).map(Path::new);
        name.and_then(Path::file_name) == own.file_name() && words.next() != Some(b"waiting")
    };
    children(agent).into_iter().find(runs_this)
}

/// The processes that the process ID has begun.
fn children(id: u32) -> BTreeSet<u32> {
    let text = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Waits until the dialog of the process AGENT, whose session is recorded in TRANSCRIPT, has ended.
async fn settled(agent: u32, transcript: Option<&Path>) {
    let size = || transcript.and_then(|file| std::fs::symlink_metadata(file).ok()).map(|data| data.len());
    let start = |id| Stat::of(id).map(|stat| stat.start);
    let (began, before, started) = (Instant::now(), size(), start(agent));
    let mut known = children(agent);
    // A process that is not known yet, and since when.
    let mut new: Option<(u32, Instant)> = None;
    loop {
        sleep(PAUSE).await;
        if size() != before || (started.is_some() && start(agent) != started) {
            return;
        }
        let now = children(agent);
        if began.elapsed() < SETTLED {
            known.extend(now);
            continue;
        }
        new = match new {
            Some((id, since)) if now.contains(&id) && since.elapsed() >= LASTING => return,
            Some((id, since)) if now.contains(&id) => Some((id, since)),
            _ => now.difference(&known).next().map(|id| (*id, Instant::now())),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_for_a_message_is_told_without_the_change() {
        let input = |size: usize| {
            let details = json!({"type": "edit", "filePath": "/a", "fileDiff": "+".repeat(size),
                                 "newContent": "x".repeat(2 << 20)});
            json!({"session_id": "s", "message": "\n".repeat(1 << 20), "details": details, "other": 1})
        };
        let small = told(&input(500 << 10));
        assert_eq!(
            small["details"],
            json!({"type": "edit", "filePath": "/a", "fileDiff": "+".repeat(500 << 10)})
        );
        assert_eq!(small["isTooLarge"], false);
        let large = told(&input(2 << 20));
        assert_eq!(large["details"], json!({"type": "edit", "filePath": "/a"}));
        assert_eq!(large["isTooLarge"], true);
        assert_eq!((&large["session_id"], &large["other"]), (&json!("s"), &Value::Null));
        for told in [small, large, told(&json!({"details": 7}))] {
            assert!((told.to_string().len() as u64) < hook::LARGEST - (64 << 10));
        }
    }
}
