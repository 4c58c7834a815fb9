//! Reading rollouts in the format of the Codex CLI.

use serde_json::{Map, Value, json};
use todo_write::events::observation::{Filter, Type};
use todo_write::list::item::Status;
use todo_write::thread::activity::Ending;
use todo_write::thread::{Call, State, WriteOptions};
use todo_write::wire::event::Agent;
use todo_write_mcp::describe::describe;
use todo_write_mcp::field::millis;

use super::followed::{Followed, list};
use crate::common::{Completed, InProgress, Pending, plan};

const THREAD: &str = "codex:r";

/// A rollout whose lines are a second apart.
pub(super) struct Rollout(pub(super) Vec<Value>);

impl Rollout {
    pub(super) fn new() -> Rollout {
        let mut rollout = Rollout(Vec::new());
        rollout.line("session_meta", json!({"id": "r", "cwd": "/garden", "source": "cli"}));
        rollout.event("task_started", json!({"turn_id": "1"}));
        rollout.event("user_message", json!({"message": "Plan the garden\n", "images": []}));
        rollout
    }

    pub(super) fn line(&mut self, kind: &str, payload: Value) -> &mut Rollout {
        let time = format!("2026-04-01T08:00:{:02}.000Z", self.0.len());
        self.0.push(json!({"timestamp": time, "ordinal": self.0.len(), "type": kind, "payload": payload}));
        self
    }

    pub(super) fn event(&mut self, kind: &str, fields: Value) -> &mut Rollout {
        self.typed("event_msg", kind, fields)
    }

    pub(super) fn item(&mut self, kind: &str, fields: Value) -> &mut Rollout {
        self.typed("response_item", kind, fields)
    }

    fn typed(&mut self, line: &str, kind: &str, mut fields: Value) -> &mut Rollout {
        fields["type"] = kind.into();
        self.line(line, fields)
    }

    pub(super) fn update(&mut self, steps: &[(&str, &str)], output: &str) -> &mut Rollout {
        let plan = steps.iter().map(|(step, status)| json!({"step": step, "status": status}));
        let arguments = json!({"explanation": "So far", "plan": plan.collect::<Vec<_>>()}).to_string();
        let id = format!("call_{}", self.0.len());
        self.item("function_call", json!({"name": "update_plan", "arguments": arguments, "call_id": id}));
        self.item("function_call_output", json!({"call_id": id, "output": output}))
    }

    pub(super) fn script(&mut self, script: &str, outcome: &str) -> &mut Rollout {
        let id = format!("call_{}", self.0.len());
        self.item("custom_tool_call", json!({"name": "exec", "input": script, "call_id": id}));
        let output = json!([{"type": "input_text", "text": format!("{outcome}\nWall time 0.1 seconds\n")},
                            {"type": "input_text", "text": "{}"}]);
        self.item("custom_tool_call_output", json!({"call_id": id, "output": output}))
    }

    pub(super) fn followed(&self) -> Followed {
        Followed::having(&self.0)
    }

    fn rows(&self) -> Vec<(String, Status)> {
        self.followed().rows(THREAD)
    }
}

#[test]
fn a_list_that_codex_accepts_and_the_store_refuses_is_reported() {
    let mut rollout = Rollout::new();
    rollout.update(&[("Rake", "in_progress")], "Plan updated");
    rollout.update(&[("Rake", "completed"), (" ", "pending")], "Plan updated");
    let arguments = json!({"todos": [{"content": "Rake", "status": "blocked"}]}).to_string();
    rollout
        .item("function_call", json!({"name": "mcp__e__todo_write", "arguments": arguments, "call_id": "m"}));
    rollout.item("function_call_output", json!({"call_id": "m", "output": "Emacs does not answer"}));
    assert_eq!(rollout.rows(), list(&[("Rake", InProgress)]));
    let errors = rollout.followed().observed(THREAD, Type::Error);
    assert_eq!(errors.len(), 2);
    assert!(errors[0].as_str().unwrap().contains("todos[1].content"), "{errors:?}");
    assert!(errors[1].as_str().unwrap().contains("todos[0].status"), "{errors:?}");
}

#[test]
fn arguments_that_are_not_json_are_recorded_as_text() {
    let mut rollout = Rollout::new();
    rollout.item("function_call", json!({"name": "shell", "arguments": "{\"cmd\": ls", "call_id": "s"}));
    let calls = rollout.followed().observed(THREAD, Type::ToolCall);
    assert!(calls[0]["input"].as_str().unwrap().contains("cmd"), "{calls:?}");
}

#[test]
fn what_prints_an_excluded_file_is_hidden_wherever_it_is_named() {
    let mut rollout = Rollout::new();
    let long = format!("{} cat .env", "make; ".repeat(100));
    let arguments = json!({ "cmd": long }).to_string();
    rollout.item("function_call", json!({"name": "shell", "arguments": arguments, "call_id": "a"}));
    rollout.item("function_call_output", json!({"call_id": "a", "output": "KEY=1"}));
    rollout.item("function_call", json!({"name": "shell", "arguments": &arguments[1..], "call_id": "b"}));
    rollout.item("function_call_output", json!({"call_id": "b", "output": "KEY=1"}));
    rollout.script(&format!("await tools.exec_command({{cmd: '{long}'}})"), "KEY=1");
    rollout.script(&format!("tools.todo_write({{todos: []}}); exec_command({{cmd: '{long}'}})"), "KEY=1");
    let item = json!({"type": "CommandExecution", "id": "c", "status": "completed", "exit_code": 0,
                      "command": ["bash", "-lc", long], "aggregated_output": "KEY=1"});
    rollout.event("item_completed", json!({ "item": item }));
    let mut followed = Followed::new();
    followed.exclude(&[".env"]);
    rollout.0.iter().for_each(|line| followed.line(line));
    followed.read();
    let results = followed.observed(THREAD, Type::ToolExecution);
    assert_eq!(results.len(), 5);
    assert!(results.iter().all(|result| result["content"].is_null()), "{results:?}");
}

#[test]
fn a_plan_counts_when_codex_accepts_it() {
    let mut rollout = Rollout::new();
    rollout.update(&[("Rake", "in_progress"), ("Water", "pending")], "Plan updated");
    rollout.update(&[("Rake", "completed")], "failed to parse function arguments: missing field `status`");
    let expected = list(&[("Rake", InProgress), ("Water", Pending)]);
    assert_eq!(rollout.rows(), expected);
    let mut followed = rollout.followed();
    let results = followed.observed(THREAD, Type::ToolExecution);
    assert_eq!([&results[0]["isError"], &results[1]["isError"]], [&json!(false), &json!(true)]);
    let thread = followed.store.get(THREAD).unwrap().unwrap();
    assert_eq!(thread.about()["project"], "/garden/");
    assert_eq!(thread.title(), Some("Plan the garden"));
    assert_eq!(Some(thread.times("t1").unwrap().created), millis("2026-04-01T08:00:04.000Z"));
    assert_eq!(thread.revisions().iter().next().unwrap().stamp.source.as_deref(), Some("codex"));
}

#[test]
fn a_plan_in_a_script_is_not_read_which_is_reported_once() {
    let mut rollout = Rollout::new();
    rollout.update(&[("Rake", "in_progress")], "Plan updated");
    let script = "await tools.update_plan({plan: [{step: 'Rake', status: 'completed'}]});";
    rollout.script(script, "Script completed").script(script, "Script completed");
    let mut followed = rollout.followed();
    assert_eq!(followed.rows(THREAD), list(&[("Rake", InProgress)]));
    assert_eq!(followed.observed(THREAD, Type::Error).len(), 1);
}

#[test]
fn the_list_that_a_script_sends_to_emacs_stands_at_its_line() {
    let mut rollout = Rollout::new();
    let mut followed = Followed::new();
    for (tasks, text) in [
        ([("Rake", InProgress), ("Water", Pending)], "I rake."),
        ([("Rake", Completed), ("Water", InProgress)], "I water."),
    ] {
        rollout.script("text(await tools.mcp__plans__todo_write({todos}))", "Script completed");
        rollout.event("agent_message", json!({ "message": text }));
        // Emacs gets the call before its output is written.
        let output = millis(rollout.0[rollout.0.len() - 2]["timestamp"].as_str().unwrap()).unwrap();
        let thread = followed.store.open(THREAD, Map::new(), output - 500);
        let options = WriteOptions { call: Some(Call::default()), ..WriteOptions::default() };
        thread.change(|thread| thread.write(plan(&tasks), options, output - 500));
    }
    rollout.0.iter().for_each(|line| followed.line(line));
    followed.read();
    let thread = followed.store.get(THREAD).unwrap().unwrap();
    let said = thread.observed(&Filter { kind: Some(Type::Message), ..Filter::default() });
    let tasks: Vec<_> = said.iter().map(|one| one.parent_id.as_deref()).collect();
    assert_eq!(tasks, [Some("t1"), Some("t2")]);
}

#[test]
fn turns_determine_the_activity() {
    let mut rollout = Rollout::new();
    rollout.update(&[("Rake", "in_progress")], "Plan updated");
    let state = |rollout: &Rollout| {
        let mut followed = rollout.followed();
        let thread = followed.store.get(THREAD).unwrap().unwrap();
        (thread.state(), thread.pause_reason().map(str::to_owned))
    };
    let paused = |why: &str| (State::Paused, Some(why.to_owned()));
    assert_eq!(state(&rollout), paused("the session ended"));
    rollout.event("turn_aborted", json!({"turn_id": "1", "reason": "interrupted"}));
    assert_eq!(state(&rollout), paused("interrupted by the user"));
    rollout.event("task_started", json!({"turn_id": "2"}));
    assert_eq!(state(&rollout), paused("the session ended"));
    rollout.event("error", json!({"message": "The model is out of reach"}));
    rollout.event("task_complete", json!({"turn_id": "2", "last_agent_message": null}));
    assert_eq!(state(&rollout), paused("The model is out of reach"));
    rollout.event("task_started", json!({"turn_id": "3"}));
    rollout.event("task_complete", json!({"turn_id": "3", "last_agent_message": "Raked."}));
    assert_eq!(state(&rollout), paused("end of turn"));
    rollout.event("task_started", json!({"turn_id": "4"}));
    rollout.event("error", json!({"message": "The model is out of reach"}));
    rollout.event("turn_aborted", json!({"turn_id": "4", "reason": "replaced"}));
    assert_eq!(state(&rollout), paused("end of turn"));
    rollout.event("task_started", json!({"turn_id": "5"}));
    rollout.event("task_complete", json!({"turn_id": "5", "last_agent_message": null}));
    assert_eq!(state(&rollout), paused("end of turn"), "the error was of the turn before");
}

#[test]
fn a_turn_ends_as_denied_if_its_last_call_was() {
    let call = |rollout: &mut Rollout, output: &str| {
        let id = format!("call_{}", rollout.0.len());
        let arguments = json!({"cmd": "rake"}).to_string();
        rollout.item("function_call", json!({"name": "exec_command", "arguments": arguments, "call_id": id}));
        rollout.item("function_call_output", json!({"call_id": id, "output": output}));
    };
    let complete = json!({"turn_id": "1", "last_agent_message": "I may not."});
    let interrupted = json!({"turn_id": "1", "reason": "interrupted"});
    let rejected = "exec_command failed: Rejected(\"rejected by user\")";
    let never = "approval policy is Never; reject command — you cannot ask for escalated permissions";
    let aborted = "Wall time: 1.5 seconds\naborted by user";
    let raked = "Process exited with code 0\nOutput:\nRejected(\"the weeds\")";
    for (outputs, kind, end, why, ending) in [
        (&[rejected][..], "task_complete", &complete, "permission denied", Ending::Denied),
        (&[never], "task_complete", &complete, "permission denied", Ending::Denied),
        (&[rejected], "turn_aborted", &interrupted, "permission denied", Ending::Denied),
        (&[rejected, raked], "task_complete", &complete, "end of turn", Ending::EndOfTurn),
        // In a terminal, a denial is written like an interruption.
        (&[aborted], "turn_aborted", &interrupted, "interrupted by the user", Ending::EndOfTurn),
    ] {
        let mut rollout = Rollout::new();
        rollout.update(&[("Rake", "in_progress")], "Plan updated");
        outputs.iter().for_each(|output| call(&mut rollout, output));
        rollout.event(kind, end.clone());
        let mut followed = rollout.followed();
        let thread = followed.store.get(THREAD).unwrap().unwrap();
        assert_eq!((thread.pause_reason(), thread.ending()), (Some(why), Some(ending)), "{outputs:?}");
    }
    let mut rollout = Rollout::new();
    rollout.update(&[("Rake", "in_progress")], "Plan updated");
    let item = json!({"type": "CommandExecution", "id": "c", "status": "declined"});
    rollout.event("item_completed", json!({ "item": item }));
    rollout.event("turn_aborted", interrupted);
    let mut followed = rollout.followed();
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().ending(), Some(Ending::Denied));
}

#[test]
fn thoughts_calls_and_prompts_are_recorded_once() {
    let mut rollout = Rollout::new();
    let item = json!({"type": "UserMessage", "content": [{"type": "text", "text": "Plan the garden"}]});
    rollout.event("item_completed", json!({ "item": item }));
    rollout.item("reasoning", json!({"summary": [{"type": "summary_text", "text": "Leaves first."}]}));
    rollout.item("reasoning", json!({"summary": [], "encrypted_content": "x"}));
    let arguments = json!({"cmd": "ls beds"}).to_string();
    rollout.item("function_call", json!({"name": "exec_command", "arguments": arguments, "call_id": "c"}));
    rollout.item("function_call_output", json!({"call_id": "c", "output": "roses"}));
    let mut followed = rollout.followed();
    assert_eq!(followed.observed(THREAD, Type::Intent), ["Plan the garden"]);
    assert_eq!(followed.observed(THREAD, Type::Thoughts), [json!({"text": "Leaves first."})]);
    let calls = followed.observed(THREAD, Type::ToolCall);
    assert_eq!(
        (&calls[0]["name"], &calls[0]["input"]),
        (&json!("exec_command"), &json!("{\"cmd\":\"ls beds\"}"))
    );
    assert_eq!(followed.observed(THREAD, Type::ToolExecution)[0]["content"], "roses");
    followed.restart();
    followed.read();
    assert_eq!(followed.observed(THREAD, Type::ToolCall).len(), 1, "following again repeats nothing");
}

#[test]
fn a_fork_is_a_separate_session_that_counts_repeated_lines_once() {
    let mut rollout = Rollout::new();
    rollout.update(&[("Rake", "in_progress")], "Plan updated");
    let copies = rollout.0.clone();
    let mut fork = Rollout(Vec::new());
    fork.line("session_meta", json!({"id": "f", "forked_from_id": "r", "cwd": "/garden"}));
    fork.0.extend(copies.clone());
    fork.0.extend(copies);
    fork.update(&[("Rake", "completed")], "Plan updated");
    let mut followed = fork.followed();
    assert_eq!(followed.rows("codex:f"), list(&[("Rake", Completed)]));
    assert_eq!(followed.revisions("codex:f"), 2);
    assert_eq!(followed.observed("codex:f", Type::ToolCall).len(), 2);
    assert_eq!(followed.rows(THREAD), []);
}

#[test]
fn lists_sent_to_another_emacs_or_none_are_read_unless_refused() {
    let mut rollout = Rollout::new();
    let arguments =
        json!({"todos": [{"content": "Rake", "status": "pending", "activeForm": "Raking"}]}).to_string();
    let call = |rollout: &mut Rollout, id: &str, result: &str| {
        let output = json!([{"type": "input_text", "text": "Wall time: 0.1 seconds\nOutput:"},
                            {"type": "input_text", "text": result}]);
        let call =
            json!({"name": "todo_write", "namespace": "mcp__plans", "arguments": arguments, "call_id": id});
        rollout.item("function_call", call);
        rollout.item("function_call_output", json!({"call_id": id, "output": output}));
    };
    call(&mut rollout, "a", "Refused; the task list is unchanged.\ntodos[0].status: received null.");
    assert_eq!(rollout.rows(), []);
    call(&mut rollout, "b", "Emacs does not answer; go on without the list.");
    assert_eq!(rollout.rows(), list(&[("Rake", Pending)]));
}

#[test]
fn a_reviewers_rollout_is_described_as_a_subagents() {
    let followed = Rollout::new().followed();
    let head = describe(&followed.file()).unwrap();
    assert_eq!((head.agent, head.session.as_str(), head.is_subagent), (Agent::Codex, "r", false));
    assert_eq!((head.folder.as_deref(), head.title.as_deref()), (Some("/garden"), Some("Plan the garden")));
    for meta in
        [json!({"id": "v", "parent_thread_id": "r"}), json!({"id": "v", "source": {"subagent": "review"}})]
    {
        let mut rollout = Rollout(Vec::new());
        rollout.line("session_meta", meta);
        assert!(describe(&rollout.followed().file()).unwrap().is_subagent);
    }
}
