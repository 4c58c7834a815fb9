//! What transcripts tell of a session as a whole: the user's goal, how full the context is, and what it
//! cost. The lines are those of Claude Code 2.1.331 and Codex 0.169.

use crate::common::record;
use crate::transcript_law::read_all;
use serde_json::{Value, json};
use todo_write::events::observation::Type;
use todo_write::events::session::{Context, Goal, GoalState};
use todo_write::thread::activity::{Ending, Turn};
use todo_write_mcp::field::millis;

use super::claude::Session;
use super::codex::Rollout;
use super::followed::Followed;

const CLAUDE: &str = "claude:s";
const CODEX: &str = "codex:r";
/// A minute after the first lines.
const SOON: [(&str, &str); 2] = [(CLAUDE, "2026-03-01T08:01:00.000Z"), (CODEX, "2026-04-01T08:01:00.000Z")];

/// The goal of a thread: its text, its state, its reason and its tries.
type Shown = Option<(String, GoalState, Option<String>, u64)>;

fn shown(goal: Option<&Goal>) -> Shown {
    goal.map(|goal| (goal.text.clone(), goal.state, goal.reason.clone(), goal.tries))
}

fn goal(followed: &mut Followed, thread: &str) -> Shown {
    shown(followed.store.get(thread).unwrap().unwrap().session().goal())
}

fn expected(state: GoalState, reason: Option<&str>, tries: u64) -> Shown {
    Some(("Plan the garden".to_owned(), state, reason.map(str::to_owned), tries))
}

/// Follows these lines, soon after they were written: returns whether the agent works after them, and how
/// its turn ended.
fn read(followed: &mut Followed, thread: &str, lines: &[Value]) -> (Option<bool>, Option<Ending>) {
    lines.iter().for_each(|line| followed.line(line));
    let news = read_all(&mut followed.follower).unwrap();
    let now = SOON.iter().find(|(name, _)| *name == thread).and_then(|(_, time)| millis(time)).unwrap();
    let updates = record(&mut followed.recorder, &mut followed.store, &news.events, now);
    let tells = updates.iter().any(|update| update.changed.is_some());
    let turn = tells.then(|| followed.turn(thread) == Turn::Runs(None));
    (turn, followed.store.get(thread).unwrap().unwrap().ending())
}

// Claude Code

fn status(session: &mut Session, fields: Value) {
    let mut attachment = json!({"type": "goal_status", "condition": "Plan the garden"});
    attachment.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    session.line("attachment", json!({"attachment": attachment}));
}

fn says(session: &mut Session, text: &str, stop: Option<&str>) {
    let id = format!("said {text}");
    let content = json!([{"type": "text", "text": text}]);
    session.line("assistant", json!({"message": {"id": id, "stop_reason": stop, "content": content}}));
}

/// A session that has wanted to end once, and one that has met its goal after that.
fn with_goal() -> (Session, usize) {
    let mut session = Session::new("sdk-cli");
    status(&mut session, json!({"met": false, "sentinel": true}));
    session.prompt("<command-name>/goal</command-name>\n<command-args>Plan the garden</command-args>");
    session.create(1, "Rake").update(1, "in_progress");
    says(&mut session, "The first beds are done.", Some("end_turn"));
    let ended = session.lines.len();
    status(&mut session, json!({"met": false, "reason": "2 beds are left"}));
    says(&mut session, "All beds are done.", Some("end_turn"));
    status(
        &mut session,
        json!({"met": true, "reason": "all are raked", "iterations": 2, "durationMs": 6767, "tokens": 120}),
    );
    (session, ended)
}

#[test]
fn a_goal_of_claude_code_is_active_until_it_is_met() {
    let (session, ended) = with_goal();
    let mut followed = Followed::new();
    read(&mut followed, CLAUDE, &session.lines[..ended]);
    assert_eq!(goal(&mut followed, CLAUDE), expected(GoalState::Active, None, 0));
    read(&mut followed, CLAUDE, &session.lines[ended..=ended]);
    assert_eq!(goal(&mut followed, CLAUDE), expected(GoalState::Active, Some("2 beds are left"), 1));
    read(&mut followed, CLAUDE, &session.lines[ended + 1..]);
    let met = expected(GoalState::Met, Some("all are raked"), 2);
    assert_eq!(goal(&mut followed, CLAUDE), met);
    let said = followed.observed(CLAUDE, Type::StateUpdate);
    let said: Vec<&str> = said.iter().map(|content| content["text"].as_str().unwrap()).collect();
    assert_eq!(said, ["Goal: Plan the garden", "Goal not met: 2 beds are left", "Goal met: all are raked"]);
    followed.restart();
    assert_eq!(goal(&mut followed, CLAUDE), met, "the journal has it");
}

#[test]
fn between_the_turns_of_an_active_goal_claude_code_works() {
    let (session, ended) = with_goal();
    let mut followed = Followed::new();
    assert_eq!(read(&mut followed, CLAUDE, &session.lines[..ended]), (Some(true), None));
    let last = session.lines.len() - 1;
    assert_eq!(read(&mut followed, CLAUDE, &session.lines[ended..last]).1, None);
    let met = read(&mut followed, CLAUDE, &session.lines[last..]);
    assert_eq!(met, (Some(false), Some(Ending::EndOfTurn)));
}

#[test]
fn a_goal_of_claude_code_can_fail_and_be_taken_back() {
    for (fields, after) in [
        (
            json!({"met": false, "failed": true, "reason": "no garden", "iterations": 1}),
            expected(GoalState::Failed, Some("no garden"), 1),
        ),
        (json!({"met": true, "sentinel": true}), None),
    ] {
        let (mut session, ended) = with_goal();
        session.lines.truncate(ended);
        status(&mut session, fields);
        let mut followed = Followed::new();
        assert_eq!(read(&mut followed, CLAUDE, &session.lines).1, Some(Ending::EndOfTurn));
        assert_eq!(goal(&mut followed, CLAUDE), after);
    }
}

#[test]
fn a_turn_within_a_goal_that_the_user_stops_or_that_fails_has_ended() {
    let ended = |add: fn(&mut Session)| {
        let (mut session, ended) = with_goal();
        session.lines.truncate(ended);
        add(&mut session);
        read(&mut Followed::new(), CLAUDE, &session.lines)
    };
    let stop = |session: &mut Session| {
        session.prompt("[Request interrupted by user]");
    };
    assert_eq!(ended(stop), (Some(false), Some(Ending::EndOfTurn)));
    let fail = |session: &mut Session| {
        let content = json!([{"type": "text", "text": "API error"}]);
        session.line("assistant", json!({"isApiErrorMessage": true, "message": {"content": content}}));
    };
    assert_eq!(ended(fail), (Some(false), Some(Ending::Error)));
}

#[test]
fn no_other_attachment_is_a_goal() {
    let mut session = Session::new("cli");
    session.create(1, "Rake");
    for attachment in [
        json!({"type": "goal_status", "condition": 7, "met": false}),
        json!({"type": "goal_status", "condition": "Plan"}),
        json!({"type": "file", "condition": "goal_status", "met": false}),
        json!("goal_status"),
        json!({"type": "goal_status", "condition": "x".repeat(100_000), "met": false}),
    ] {
        session.line("attachment", json!({"attachment": attachment}));
    }
    assert_eq!(goal(&mut session.followed(), CLAUDE), None);
}

#[test]
fn the_context_of_claude_code_is_what_the_last_response_was_given() {
    let mut session = Session::new("cli");
    let usage = |input, read, write| {
        json!({"input_tokens": input, "cache_read_input_tokens": read,
               "cache_creation_input_tokens": write, "output_tokens": 9})
    };
    for (id, usage) in [("a", usage(5, 1_000, 200)), ("b", usage(7, 1_200, 300)), ("c", usage(0, 0, 0))] {
        let content = json!([{"type": "text", "text": id}]);
        session.line("assistant", json!({"message": {"id": id, "content": content, "usage": usage}}));
    }
    let side = json!({"isSidechain": true, "message": {"id": "d", "content": [], "usage": usage(9, 9, 9)}});
    session.line("assistant", side);
    let mut followed = session.followed();
    let context = |followed: &mut Followed| followed.store.get(CLAUDE).unwrap().unwrap().session().context;
    let full = Some(Context { tokens: 1_507, limit: None });
    assert_eq!(context(&mut followed), full);
    followed.restart();
    assert_eq!(context(&mut followed), full);
}

#[test]
fn the_cost_of_claude_code_is_the_one_that_it_says() {
    let mut session = Session::new("cli");
    session.create(1, "Rake");
    for cost in [json!(0.0132), json!(0.0264), json!("much"), json!(-1)] {
        session.lines.push(json!({"type": "cost-state", "sessionId": "s", "totalCostUSD": cost}));
    }
    let mut followed = session.followed();
    let cost = followed.store.get(CLAUDE).unwrap().unwrap().session().cost.clone().unwrap();
    assert!((cost.amount - 0.0264).abs() < 1e-9 && cost.currency == "USD");
}

// Codex

fn updated(rollout: &mut Rollout, status: &str) {
    let goal =
        json!({"objective": "Plan the garden", "status": status, "tokensUsed": 0, "timeUsedSeconds": 0});
    rollout.event("thread_goal_updated", json!({"threadId": "r", "goal": goal}));
}

/// A rollout with an active goal whose first turn has ended.
fn at_goal() -> Rollout {
    let mut rollout = Rollout::new();
    updated(&mut rollout, "active");
    rollout.update(&[("Rake", "in_progress")], "Plan updated");
    rollout.event("task_complete", json!({"turn_id": "1", "last_agent_message": "So far."}));
    rollout
}

#[test]
fn between_the_turns_of_an_active_goal_codex_works() {
    let mut rollout = at_goal();
    let mut followed = Followed::new();
    assert_eq!(read(&mut followed, CODEX, &rollout.0), (Some(true), None));
    assert_eq!(goal(&mut followed, CODEX), expected(GoalState::Active, None, 0));
    let read_until = rollout.0.len();
    rollout.event("task_started", json!({"turn_id": "2"}));
    let arguments = json!({"status": "complete"}).to_string();
    rollout.item("function_call", json!({"name": "update_goal", "arguments": arguments, "call_id": "g"}));
    let output = json!({"goal": {"objective": "Plan the garden", "status": "complete"}}).to_string();
    rollout.item("function_call_output", json!({"call_id": "g", "output": output}));
    rollout.event("task_complete", json!({"turn_id": "2", "last_agent_message": "All."}));
    let met = read(&mut followed, CODEX, &rollout.0[read_until..]);
    assert_eq!(met, (Some(false), Some(Ending::EndOfTurn)));
    assert_eq!(goal(&mut followed, CODEX), expected(GoalState::Met, None, 0));
}

#[test]
fn a_goal_of_codex_is_paused_and_taken_back_as_its_log_says() {
    let cleared = |rollout: &mut Rollout| {
        let text = "<codex_internal_context source=\"user_goal\">\nUser cleared the goal.\n</codex_internal_context>";
        let content = json!([{"type": "input_text", "text": text}]);
        rollout.item("message", json!({"role": "user", "content": content}));
    };
    let of = |end: &dyn Fn(&mut Rollout)| {
        let mut rollout = at_goal();
        end(&mut rollout);
        let mut followed = Followed::new();
        let (_, ending) = read(&mut followed, CODEX, &rollout.0);
        (goal(&mut followed, CODEX), ending)
    };
    let ended = Some(Ending::EndOfTurn);
    assert_eq!(of(&cleared), (None, ended));
    let paused = |status: &'static str| move |rollout: &mut Rollout| updated(rollout, status);
    assert_eq!(of(&paused("paused")), (expected(GoalState::Paused, None, 0), ended));
    let limit = expected(GoalState::Paused, Some("the usage limit is reached"), 0);
    assert_eq!(of(&paused("usageLimited")), (limit, ended));
    let blocked = expected(GoalState::Failed, Some("the agent is blocked"), 0);
    assert_eq!(of(&paused("blocked")), (blocked, ended));
    assert_eq!(of(&paused("unheard-of")), (expected(GoalState::Active, None, 0), None));
}

#[test]
fn the_context_of_codex_is_full_in_percent_of_what_it_says_it_can_hold() {
    let mut rollout = Rollout::new();
    let counts = |input: u64, output: u64| json!({"input_tokens": input, "output_tokens": output});
    rollout.update(&[("Rake", "in_progress")], "Plan updated");
    rollout.event(
        "token_count",
        json!({"info": {"total_token_usage": counts(500_000, 9_000),
                        "last_token_usage": counts(120_000, 9_200), "model_context_window": 258_400}}),
    );
    let mut followed = rollout.followed();
    let context = followed.store.get(CODEX).unwrap().unwrap().session().context.unwrap();
    assert_eq!((context.tokens, context.percent()), (129_200, Some(50)));
    let mut newer = Rollout::new();
    newer.event("task_started", json!({"turn_id": "2", "model_context_window": 1_000}));
    newer
        .line("token_usage_record", json!({"usage": counts(700, 20), "thread_token_usage": counts(900, 50)}));
    let mut followed = newer.followed();
    let context = followed.store.get(CODEX).unwrap().unwrap().session().context.unwrap();
    assert_eq!((context.tokens, context.percent()), (720, Some(72)));
}
