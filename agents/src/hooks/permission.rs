//! The hook `PermissionRequest` of Claude Code, by which the user may answer a dialog in Emacs.
//!
//! Claude Code 2.1 shows its dialog while this program runs, and the first answer counts. So whatever
//! goes wrong, this program prints nothing and exits with 0: the dialog stays. It passes the hook's
//! input to Emacs, waits for the answer on the same connection, and leaves when the terminal has
//! answered, which Claude Code tells no hook: its process file is no longer `waiting` then, or its
//! status has changed since this program began. When this program leaves, the connection closes, and
//! Emacs withdraws the request.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::exit;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use todo_write::events::{Millis, millis_of};
use todo_write::wire::socket::{Behavior, Call, Decision, Role};

use todo_write_mcp::threads;

use crate::hooks as hook;
use crate::mcp::emacs::Emacs;
use crate::mcp::session::{Agent, CLAUDE};

const REACH: Duration = Duration::from_secs(2);
/// How long the user may take. Claude Code kills hooks after the time in its settings, 570 s.
const LIMIT: Duration = Duration::from_secs(540);
/// How long the user may take for a subagent's request: Claude Code shows its dialog only afterwards.
const SUBAGENT_LIMIT: Duration = Duration::from_secs(10);
/// What may follow a plan: edits are asked for, accepted, or checked by Claude Code itself.
const MODES: [&str; 3] = ["default", "acceptEdits", "auto"];
const PAUSE: Duration = Duration::from_millis(100);

/// Asks the user of Emacs what the hook's input asks, and prints the answer.
pub fn run(door: Option<PathBuf>) {
    let began = millis_of(SystemTime::now());
    if let Some(input) = hook::input()
        && let Some(output) = answer(door, &input, began)
    {
        let _ = writeln!(std::io::stdout(), "{}", json!({"hookSpecificOutput": output}));
    }
}

fn answer(door: Option<PathBuf>, input: &Value, began: Option<Millis>) -> Option<Value> {
    if input["hook_event_name"] != "PermissionRequest" {
        return None;
    }
    let session = input["session_id"].as_str();
    let mut emacs = Emacs::new(door, Role::Permission);
    let agent = Agent::find();
    // In its file, and in the environment.
    let entrypoints = [
        agent.as_ref().and_then(|agent| Some(agent.read()["entrypoint"].as_str()?.to_owned())),
        std::env::var("CLAUDE_CODE_ENTRYPOINT").ok(),
    ];
    if !shows_dialogs(&input["permission_mode"], &entrypoints.into_iter().flatten().collect::<Vec<_>>()) {
        return None;
    }
    emacs.hello.client = Some(CLAUDE.to_owned());
    emacs.hello.project = input["cwd"].as_str().map(str::to_owned);
    let subagent = input["agent_id"].as_str();
    let is_awaited = subagent.is_some();
    let limit = if is_awaited { SUBAGENT_LIMIT } else { LIMIT };
    let call = Call {
        session: session.map(str::to_owned),
        // Without the process file, Emacs asks the other hooks when the terminal has answered.
        source: Some(if agent.is_some() { "process" } else { "environment" }.to_owned()),
        subagent: subagent.map(str::to_owned),
        arguments: to_raw_value(input).ok(),
        ..Call::default()
    };
    // What comes first ends the process: the answer, or that of the terminal.
    let watcher = threads::start("terminal", move || {
        settled(agent, is_awaited, began);
        exit(0)
    });
    watcher.ok()?;
    let decision = decision(input, emacs.ask_user(call, REACH, limit)?.decision.as_ref()?)?;
    Some(json!({"hookEventName": "PermissionRequest", "decision": decision}))
}

/// Returns whether an agent in MODE shows dialogs, so that it does not wait for this program alone. ENTRYPOINTS are
/// those in its process file and in the environment. Print mode, and programs that use the SDK, show none; a session in
/// the background does, also while it is not attached.
fn shows_dialogs(mode: &Value, entrypoints: &[String]) -> bool {
    mode != "dontAsk" && !entrypoints.iter().any(|name| name.starts_with("sdk"))
}

/// Waits until the terminal has answered a dialog of this program, which began at `began`, or Claude
/// Code has ended.
fn settled(agent: Option<Agent>, is_awaited: bool, began: Option<Millis>) {
    let parent = std::os::unix::process::parent_id();
    let mut was_waiting = false;
    loop {
        sleep(PAUSE);
        if std::os::unix::process::parent_id() != parent {
            return;
        }
        let Some(agent) = &agent else { continue };
        if agent.is_gone() {
            return;
        }
        // The dialogs of the main agent say nothing about the request of a subagent.
        if is_awaited {
            continue;
        }
        let file = agent.read();
        match file["status"].as_str() {
            Some("waiting") => was_waiting = true,
            // The dialog may have come and gone since the last look.
            Some(_) if was_waiting || file["statusUpdatedAt"].as_u64() > began => return,
            // Half written, or the dialog is not there yet.
            _ => {}
        }
    }
}

/// What Claude Code takes as the answer that CHOICE of the user of Emacs means; none if that is no answer
/// to INPUT. Claude Code ignores an allowed question or plan without its input.
fn decision(input: &Value, choice: &Decision) -> Option<Value> {
    let given = &input["tool_input"];
    match choice.behavior {
        // Without words, the agent stops, as after No in the terminal.
        Behavior::Deny => Some(match &choice.message {
            Some(message) => json!({"behavior": "deny", "message": message}),
            None => json!({"behavior": "deny", "message": "The user said no.", "interrupt": true}),
        }),
        Behavior::Allow => match input["tool_name"].as_str()? {
            "AskUserQuestion" => {
                let told = choice.answers.as_ref()?;
                let answers = given["questions"].as_array()?.iter().map(|question| {
                    let text = question["question"].as_str()?;
                    Some((text, told.get(text)?.join(", ")))
                });
                let answers = answers.collect::<Option<BTreeMap<_, _>>>()?;
                let input = json!({"questions": given["questions"], "answers": answers});
                Some(json!({"behavior": "allow", "updatedInput": input}))
            }
            "ExitPlanMode" => {
                let text = given["plan"].as_str()?;
                let edited = choice.plan.as_deref().filter(|plan| !plan.trim().is_empty());
                let plan = json!({"plan": edited.unwrap_or(text)});
                // Without one, Claude Code goes back to the mode before the plan, perhaps to auto.
                let mode = choice.mode.as_deref().filter(|mode| MODES.contains(mode))?;
                let change = json!({"type": "setMode", "mode": mode, "destination": "session"});
                Some(json!({"behavior": "allow", "updatedInput": plan, "updatedPermissions": [change]}))
            }
            _ => match choice.suggestion {
                None => Some(json!({"behavior": "allow"})),
                Some(number) => {
                    let suggestion = input["permission_suggestions"].as_array()?.get(number)?;
                    Some(json!({"behavior": "allow", "updatedPermissions": [suggestion]}))
                }
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Claude Code takes as the choice that Emacs sends.
    fn decision(input: &Value, choice: &Value) -> Option<Value> {
        super::decision(input, &serde_json::from_value(choice.clone()).ok()?)
    }

    fn command() -> Value {
        serde_json::from_str(
            r#"{"tool_name":"Bash","tool_input":{"command":"npm test"},"permission_suggestions":
               [{"type":"addRules","rules":[{"ruleContent":"npm test *","toolName":"Bash","new":[1,{"b":2,"a":1}]}],
                 "behavior":"allow","destination":"localSettings"},{"type":"setMode","mode":"acceptEdits"}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_session_in_the_background_shows_dialogs_and_print_mode_does_not() {
        let cases: [(&str, &[&str], bool); 5] = [
            ("default", &["cli", "cli"], true),
            // Versions without process files, perhaps in the background.
            ("default", &["cli"], true),
            ("dontAsk", &["cli", "cli"], false),
            ("default", &["sdk-cli", "sdk-cli"], false),
            ("default", &["sdk-ts"], false),
        ];
        for (mode, entrypoints, expected) in cases {
            let entrypoints: Vec<String> = entrypoints.iter().map(ToString::to_string).collect();
            assert_eq!(shows_dialogs(&json!(mode), &entrypoints), expected, "{mode} {entrypoints:?}");
        }
    }

    #[test]
    fn yes_allows_once_no_stops_the_turn_and_always_passes_the_chosen_suggestion_verbatim() {
        let decided = |choice| decision(&command(), &choice).unwrap().to_string();
        assert_eq!(decided(json!({"behavior": "allow"})), r#"{"behavior":"allow"}"#);
        assert_eq!(
            decided(json!({"behavior": "deny", "interrupt": true})),
            r#"{"behavior":"deny","message":"The user said no.","interrupt":true}"#
        );
        assert_eq!(
            decided(json!({"behavior": "allow", "suggestion": 0})),
            r#"{"behavior":"allow","updatedPermissions":[{"type":"addRules","rules":[{"ruleContent":"npm test *","toolName":"Bash","new":[1,{"b":2,"a":1}]}],"behavior":"allow","destination":"localSettings"}]}"#
        );
    }

    #[test]
    fn a_question_is_answered_with_its_questions_as_given() {
        let questions = json!([{"question": "Which?", "options": [{"label": "Blue"}], "multiSelect": false}]);
        let input = json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": questions}});
        let choice = json!({"behavior": "allow", "answers": {"Which?": ["Blue", "Red"]}});
        let updated = json!({"questions": questions, "answers": {"Which?": "Blue, Red"}});
        assert_eq!(decision(&input, &choice), Some(json!({"behavior": "allow", "updatedInput": updated})));
        for wrong in [json!({}), json!({"Other?": ["Blue"]}), json!({"Which?": 1}), Value::Null] {
            assert_eq!(decision(&input, &json!({"behavior": "allow", "answers": wrong})), None);
        }
    }

    fn plan() -> Value {
        json!({"tool_name": "ExitPlanMode", "tool_input": {"plan": "# Plan", "planFilePath": "/p"}})
    }

    #[test]
    fn a_plan_is_approved_as_the_user_edited_it_with_the_mode_that_follows() {
        for (mode, edited, approved) in [
            ("default", None, "# Plan"),
            ("acceptEdits", Some("# Mine\n"), "# Mine\n"),
            ("auto", Some(" \n"), "# Plan"),
        ] {
            let choice = json!({"behavior": "allow", "mode": mode, "plan": edited});
            let change = json!([{"type": "setMode", "mode": mode, "destination": "session"}]);
            let expected = json!({"behavior": "allow", "updatedInput": {"plan": approved}, "updatedPermissions": change});
            assert_eq!(decision(&plan(), &choice), Some(expected));
        }
    }

    #[test]
    fn what_is_no_answer_decides_nothing() {
        let allow = json!({"behavior": "allow"});
        for (input, choice) in [
            (command(), Value::Null),
            (command(), json!({"behavior": "Allow"})),
            (command(), json!({"behavior": "allow", "suggestion": 2})),
            (command(), json!({"behavior": "allow", "suggestion": "0"})),
            (json!({"tool_input": {}}), allow.clone()),
            (
                json!({"tool_name": "ExitPlanMode", "tool_input": {}}),
                json!({"behavior": "allow", "mode": "auto"}),
            ),
            (plan(), json!({"behavior": "allow", "mode": "bypassPermissions"})),
            (plan(), json!({"behavior": "allow", "plan": "# Mine"})),
            (plan(), allow),
        ] {
            assert_eq!(decision(&input, &choice), None, "{input} {choice}");
        }
    }
}
