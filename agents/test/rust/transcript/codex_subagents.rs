//! Subagents of Codex: what their rollouts add to the thread of the agent that sent them out. The lines are those of
//! version 0.169.

use serde_json::{Value, json};
use todo_write::events::observation::Type;
use todo_write::events::work::Part;

use super::codex::Rollout;
use super::followed::{Followed, list};
use crate::common::{Completed, InProgress, Pending};

const THREAD: &str = "codex:r";
const CHILD: &str = "codex:r/s";

/// An agent that has sent out the subagent `s` while it counts books. Its log is that of the newer tool or, with
/// `is_old`, of the older one.
pub(super) fn parent(is_old: bool) -> Rollout {
    let mut rollout = Rollout::new();
    rollout.update(&[("Count the books", "in_progress"), ("Sell them", "pending")], "Plan updated");
    let arguments = if is_old {
        json!({"message": "please count"})
    } else {
        json!({"task_name": "count_books", "message": "please count"})
    };
    rollout.item(
        "function_call",
        json!({"name": "spawn_agent", "arguments": arguments.to_string(), "call_id": "call_9"}),
    );
    let item = if is_old {
        json!({"type": "CollabAgentToolCall", "id": "call_9", "tool": "spawn_agent", "receiver_thread_ids": ["s"]})
    } else {
        json!({"type": "SubAgentActivity", "id": "call_9", "kind": "started", "agent_thread_id": "s",
               "agent_path": "/root/count_books"})
    };
    rollout.event("item_completed", json!({ "item": item }));
    let output = if is_old { json!({"agent_id": "s"}) } else { json!({"task_name": "/root/count_books"}) };
    rollout.item("function_call_output", json!({"call_id": "call_9", "output": output.to_string()}));
    rollout
}

/// The lines of the subagent up to its first command, with the history of `parent` if there is one.
pub(super) fn child(inherited: Option<&Rollout>) -> Rollout {
    let mut meta = json!({"id": "s", "session_id": "r", "parent_thread_id": "r", "cwd": "/garden",
                          "source": {"subagent": {"thread_spawn": {"parent_thread_id": "r"}}}});
    if inherited.is_some() {
        meta["forked_from_id"] = "r".into();
    }
    let mut rollout = Rollout(Vec::new());
    rollout.line("session_meta", meta);
    for line in inherited.into_iter().flat_map(|parent| &parent.0) {
        rollout.0.push(line.clone());
    }
    rollout.event("task_started", json!({"turn_id": "t"}));
    rollout.event("user_message", json!({"message": "please count"}));
    let item = json!({"type": "CommandExecution", "id": "exec-1", "status": "completed", "exit_code": 0});
    rollout.event("item_completed", json!({ "item": item }));
    rollout
}

pub(super) fn write(followed: &Followed, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    followed.append_to("rollout-2026-04-01T08-00-09-s.jsonl", text.as_bytes());
}

fn run(followed: &mut Followed, thread: &str) -> u64 {
    let thread = followed.store.get(thread).unwrap().unwrap();
    thread.work(Part::Item("t1")).map_or(0, |work| work.commands.run)
}

#[test]
fn the_plan_of_a_subagent_is_below_the_task_of_the_agent_that_sent_it_out() {
    for (is_old, is_inherited) in [(false, true), (false, false), (true, false)] {
        let parent = parent(is_old);
        let mut child = child(Some(&parent).filter(|_| is_inherited));
        child.update(&[("Look", "completed"), ("Add up", "in_progress")], "Plan updated");
        let mut followed = Followed::new();
        write(&followed, &child.0);
        parent.0.iter().for_each(|line| followed.line(line));
        followed.read();
        let own = list(&[("Count the books", InProgress), ("Sell them", Pending)]);
        assert_eq!(followed.rows(THREAD), own, "its plan stays");
        assert_eq!(followed.store.children(THREAD), [(CHILD.to_owned(), Some("t1".to_owned()))]);
        assert_eq!(followed.rows(CHILD), list(&[("Look", Completed), ("Add up", InProgress)]));
        let title = followed.store.get(CHILD).unwrap().unwrap().title().map(str::to_owned);
        assert_eq!(title.as_deref(), Some(if is_old { "please count" } else { "count books" }));
        assert_eq!(run(&mut followed, THREAD), 1, "the work of the subagent counts for its caller");
        assert_eq!(followed.observed(THREAD, Type::Intent).len(), 1, "no other prompt of the user");
        // What follows is read, and nothing twice.
        write(&followed, &Rollout(Vec::new()).event("task_complete", json!({"turn_id": "t"})).0);
        followed.read();
        assert_eq!(followed.store.get(CHILD).unwrap().unwrap().pause_reason(), Some("end of turn"));
        followed.restart();
        followed.read();
        assert_eq!(run(&mut followed, THREAD), 1);
    }
}

#[test]
fn a_subagent_without_a_plan_has_no_thread_and_its_work_counts() {
    let parent = parent(false);
    let mut followed = Followed::having(&parent.0);
    assert_eq!(run(&mut followed, THREAD), 0);
    write(&followed, &child(Some(&parent)).0);
    followed.read();
    assert_eq!(run(&mut followed, THREAD), 1);
    assert_eq!(followed.store.children(THREAD), []);
}

#[test]
fn a_subagent_whose_rollout_comes_late_is_found_however_often_its_agent_is_read() {
    let parent = parent(false);
    let mut followed = Followed::having(&parent.0);
    for _ in 0..20 {
        followed.read();
    }
    write(&followed, &child(None).0);
    followed.read();
    assert_eq!(run(&mut followed, THREAD), 1);
}

#[test]
fn the_work_of_a_subagent_is_no_turn_of_the_agent_that_sent_it_out() {
    let mut parent = parent(false);
    parent.event("task_complete", json!({"turn_id": "1", "last_agent_message": "It was sent out."}));
    let mut followed = Followed::having(&parent.0);
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().pause_reason(), Some("end of turn"));
    write(&followed, &child(Some(&parent)).0);
    followed.read();
    assert_eq!(run(&mut followed, THREAD), 1);
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().pause_reason(), Some("end of turn"));
}

#[test]
fn a_subagent_that_says_it_sent_itself_out_is_read_once() {
    let parent = parent(false);
    let mut child = child(Some(&parent));
    let item = json!({"type": "SubAgentActivity", "id": "call_8", "kind": "started", "agent_thread_id": "s"});
    child.event("item_completed", json!({ "item": item }));
    let mut followed = Followed::having(&parent.0);
    write(&followed, &child.0);
    for _ in 0..4 {
        followed.read();
        assert_eq!(run(&mut followed, THREAD), 1);
    }
}
