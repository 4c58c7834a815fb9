//! What Claude Code's transcripts tell of the state of a session. The lines are those of version 2.1.331.

use crate::common::{ended, record};
use crate::transcript_law::read_all;
use serde_json::json;
use todo_write::recorder::ThreadUpdate;
use todo_write::thread::activity::{Background, Ending, Turn};
use todo_write_mcp::describe::describe;
use todo_write_mcp::field::millis;

use super::claude::Session;
use super::followed::Followed;

const THREAD: &str = "claude:s";
/// A minute after the first line of a session.
const SOON: &str = "2026-03-01T08:01:00.000Z";

/// Follows the lines of `session` from `index` on, soon after they were written.
fn read(followed: &mut Followed, session: &Session, index: usize) -> Vec<ThreadUpdate> {
    followed.append(session.text_after(index).as_bytes());
    let news = read_all(&mut followed.follower).unwrap();
    record(&mut followed.recorder, &mut followed.store, &news.events, millis(SOON).unwrap())
}

/// The lines of a command that the user gave to the terminal, not to the model.
fn local_command(session: &mut Session, name: &str) {
    let caveat =
        "<local-command-caveat>The command below was run directly in Claude Code.</local-command-caveat>";
    let command = format!(
        "<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n<command-args></command-args>"
    );
    session.line("user", json!({"isMeta": true, "message": {"role": "user", "content": caveat}}));
    session.prompt(&command);
    session.line(
        "system",
        json!({"subtype": "local_command", "content": "<local-command-stdout></local-command-stdout>"}),
    );
}

#[test]
fn a_denial_replaces_the_end_that_the_process_told_first_and_is_told() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread").create(1, "Sift").update(1, "in_progress");
    let mut followed = Followed::new();
    read(&mut followed, &session, 0);
    let thread = followed.store.get_mut(THREAD).unwrap();
    let time = millis(SOON).unwrap();
    thread.change(|thread| thread.follow(&ended(Ending::EndOfTurn, "end of turn"), time));
    let before = session.lines.len();
    let content =
        json!([{"type": "tool_result", "tool_use_id": "t", "content": "rejected", "is_error": true}]);
    session.line("user", json!({"toolDenialKind": "user-rejected", "message": {"content": content}}));
    session.prompt("[Request interrupted by user for tool use]");
    let updates = read(&mut followed, &session, before);
    assert_eq!(updates.last().unwrap().thread, THREAD, "listeners hear of it");
    let thread = followed.store.get(THREAD).unwrap().unwrap();
    assert_eq!((thread.pause_reason(), thread.ending()), (Some("permission denied"), Some(Ending::Denied)));
}

#[test]
fn what_claude_code_itself_answers_after_a_resume_is_no_turn() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread");
    session.line("system", json!({"subtype": "turn_duration"}));
    let mut followed = Followed::new();
    read(&mut followed, &session, 0);
    let before = session.lines.len();
    let text = json!([{"type": "text", "text": "No response requested."}]);
    let message = json!({"id": "n", "model": "<synthetic>", "role": "assistant", "stop_reason": "stop_sequence",
        "content": text});
    session.line("assistant", json!({"message": message, "isApiErrorMessage": false}));
    let updates = read(&mut followed, &session, before);
    assert!(updates.iter().all(|update| update.changed.is_none()), "{updates:?}");
    session.prompt("Bake a cake");
    read(&mut followed, &session, before + 1);
    assert_eq!(followed.turn(THREAD), Turn::Runs(None));
}

#[test]
fn a_command_to_the_terminal_is_no_turn() {
    let mut session = Session::new("cli");
    local_command(&mut session, "clear");
    session.line("cost-state", json!({"totalCostUSD": 0, "totalDuration": 465}));
    let mut followed = session.followed();
    assert!(followed.store.get(THREAD).unwrap().is_none(), "nothing was asked");
    session.prompt("Bake bread");
    session.line("system", json!({"subtype": "turn_duration"}));
    let mut followed = Followed::new();
    read(&mut followed, &session, 0);
    let before = session.lines.len();
    local_command(&mut session, "model");
    read(&mut followed, &session, before);
    assert!(matches!(followed.turn(THREAD), Turn::Over(_)));
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().ending(), Some(Ending::EndOfTurn));
    let before = session.lines.len();
    // A command that a model reads is a prompt.
    session.prompt("<command-name>/review</command-name>\n<command-args></command-args>");
    read(&mut followed, &session, before);
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().ending(), None);
}

#[test]
fn a_session_that_moves_to_another_folder_belongs_to_that_project() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread").create(1, "Sift");
    let mut followed = session.followed();
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().project(), "/p/");
    let before = session.lines.len();
    session.lines.push(json!({"type": "relocated", "sessionId": "s", "relocatedCwd": "/mill"}));
    assert_eq!(read(&mut followed, &session, before).last().unwrap().thread, THREAD, "listeners hear of it");
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().project(), "/mill/");
    assert_eq!(describe(&followed.file()).unwrap().folder.as_deref(), Some("/mill"));
    let before = session.lines.len();
    session.lines.push(json!({"type": "relocated", "sessionId": "s", "relocatedCwd": "../no root"}));
    read(&mut followed, &session, before);
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().project(), "/mill/");
}

#[test]
fn a_session_in_print_mode_has_no_user_who_looks_at_it() {
    for (entrypoint, is_unattended) in [("cli", false), ("sdk-ts", false), ("sdk-cli", true)] {
        let mut session = Session::new(entrypoint);
        session.prompt("Bake bread");
        let mut followed = session.followed();
        let about = followed.store.get(THREAD).unwrap().unwrap().about();
        assert_eq!(about.contains_key("unattended"), is_unattended, "{entrypoint}");
    }
}

#[test]
fn what_runs_in_the_background_is_counted_when_a_turn_ends_and_when_less_of_it_is_left() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread");
    for name in ["b1", "b2"] {
        let input = json!({"command": "serve", "run_in_background": true});
        session.call("Bash", input, "Command running in background", json!({"backgroundTaskId": name}));
    }
    session.line("system", json!({"subtype": "turn_duration", "pendingBackgroundAgentCount": 1}));
    let mut followed = Followed::new();
    let mut left = |session: &Session, index| {
        read(&mut followed, session, index);
        match followed.turn(THREAD) {
            Turn::Over(end) => Some(end.background),
            _ => None,
        }
    };
    assert_eq!(left(&session, 0), Some(Background { commands: 2, subagents: 1 }));
    for (name, commands, subagents) in [("b1", 1, 1), ("a7", 1, 0), ("b2", 0, 0)] {
        let index = session.lines.len();
        session.prompt(&format!(
            "<task-notification>\n<task-id>{name}</task-id>\n<status>completed</status>\n</task-notification>"
        ));
        assert_eq!(left(&session, index), Some(Background { commands, subagents }), "{name}");
    }
}
