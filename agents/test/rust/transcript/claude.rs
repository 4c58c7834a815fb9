//! Reading lists from transcripts in the format of Claude Code.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use crate::transcript_law::read_all;
use serde_json::{Value, json};
use todo_write::events::observation::Type;
use todo_write::events::work::Part;
use todo_write::journal::store::{Storage, Store};
use todo_write::list::input::Options;
use todo_write::list::item::Status;
use todo_write::recorder::Recorder;
use todo_write::thread::activity::{End, Turn};
use todo_write::thread::{Call, State, WriteOptions};
use todo_write_mcp::describe::describe;
use todo_write_mcp::field::millis;
use todo_write_mcp::follower::Follower;

use super::followed::{Followed, NOW, list, rows};
use crate::common::{Completed, Folder, InProgress, Pending, record};

const THREAD: &str = "claude:s";

/// A session in the terminal or in print mode. Its lines are a second apart.
pub(super) struct Session {
    pub(super) lines: Vec<Value>,
    seconds: u32,
    entrypoint: &'static str,
}

impl Session {
    pub(super) fn new(entrypoint: &'static str) -> Session {
        Session { lines: Vec::new(), seconds: 0, entrypoint }
    }

    pub(super) fn line(&mut self, kind: &str, fields: Value) -> &mut Session {
        self.seconds += 1;
        let (minute, second) = (self.seconds / 60, self.seconds % 60);
        let mut line = json!({"type": kind, "uuid": format!("u{}", self.lines.len()), "sessionId": "s",
            "timestamp": format!("2026-03-01T08:{minute:02}:{second:02}.000Z"), "isSidechain": false,
            "cwd": "/p", "entrypoint": self.entrypoint});
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.lines.push(line);
        self
    }

    pub(super) fn prompt(&mut self, text: &str) -> &mut Session {
        self.line("user", json!({"message": {"role": "user", "content": text}}))
    }

    pub(super) fn call(&mut self, name: &str, input: Value, result: &str, fields: Value) -> &mut Session {
        let id = format!("toolu_{}", self.lines.len());
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        self.line("assistant", json!({"message": {"id": format!("m{id}"), "content": [call]}}));
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": result});
        self.line("user", json!({"message": {"content": [result]}, "toolUseResult": fields}))
    }

    pub(super) fn create(&mut self, number: u32, subject: &str) -> &mut Session {
        let (text, id) = (format!("Task #{number} created successfully: {subject}"), number.to_string());
        let input = json!({"subject": subject, "description": "-"});
        self.call("TaskCreate", input, &text, json!({"task": {"id": id, "subject": subject}}))
    }

    pub(super) fn update(&mut self, number: u32, status: &str) -> &mut Session {
        let input = json!({"taskId": number.to_string(), "status": status});
        let fields = json!({"success": true, "taskId": number.to_string(), "updatedFields": ["status"]});
        self.call("TaskUpdate", input, &format!("Updated task #{number} status"), fields)
    }

    fn wait(&mut self, seconds: u32) -> &mut Session {
        self.seconds += seconds;
        self
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The lines from this index on.
    pub(super) fn text_after(&self, index: usize) -> String {
        self.lines[index..].iter().map(|line| format!("{line}\n")).collect()
    }

    pub(super) fn followed(&self) -> Followed {
        Followed::having(&self.lines)
    }

    fn rows(&self) -> Vec<(String, Status)> {
        self.followed().rows(THREAD)
    }
}

#[test]
fn in_the_terminal_a_new_task_replaces_a_list_completed_five_seconds_ago() {
    let mut session = Session::new("cli");
    session.create(1, "Sift").create(2, "Knead").update(1, "completed").update(2, "completed");
    assert_eq!(session.rows(), list(&[("Sift", Completed), ("Knead", Completed)]), "done, and still visible");
    session.wait(10).create(3, "Bake");
    let mut followed = session.followed();
    assert_eq!(followed.rows(THREAD), list(&[("Bake", Pending)]));
    let thread = followed.store.get(THREAD).unwrap().unwrap();
    assert_eq!(thread.list_at(thread.revisions().last() - 1).unwrap().len(), 2, "the first round is history");
}

#[test]
fn a_task_created_within_five_seconds_joins_the_completed_list() {
    let mut session = Session::new("cli");
    session.create(1, "Sift").update(1, "completed").create(2, "Knead");
    assert_eq!(session.rows(), list(&[("Sift", Completed), ("Knead", Pending)]));
}

#[test]
fn in_print_mode_a_completed_list_continues() {
    let mut session = Session::new("sdk-cli");
    session.create(1, "Sift").update(1, "completed").wait(60).create(2, "Knead");
    assert_eq!(session.rows(), list(&[("Sift", Completed), ("Knead", Pending)]));
}

#[test]
fn a_repeated_number_begins_a_new_list() {
    let mut session = Session::new("sdk-cli");
    session.create(1, "Sift").create(2, "Knead").create(1, "Clean the oven");
    assert_eq!(session.rows(), list(&[("Clean the oven", Pending)]));
}

#[test]
fn a_task_list_replaces_the_list() {
    let mut session = Session::new("cli");
    session.create(1, "Sift").create(2, "Knead");
    let tasks = json!({"tasks": [{"id": "2", "subject": "Knead", "status": "in_progress", "blockedBy": []},
                                 {"id": "5", "subject": "Proof", "status": "pending", "blockedBy": []}]});
    session.call("TaskList", json!({}), "#2 [in_progress] Knead\n#5 [pending] Proof", tasks);
    assert_eq!(session.rows(), list(&[("Knead", InProgress), ("Proof", Pending)]));
    session.update(5, "completed");
    assert_eq!(session.rows(), list(&[("Knead", InProgress), ("Proof", Completed)]));
    session.call("TaskList", json!({}), "No tasks found", json!({"tasks": []}));
    assert_eq!(session.rows(), []);
}

#[test]
fn a_task_list_without_fields_is_read_from_its_text() {
    let mut session = Session::new("cli");
    session.create(1, "Sift");
    session.call(
        "TaskList",
        json!({}),
        "#2 [pending] Knead [blocked by #1]\n#7 [completed] Proof",
        Value::Null,
    );
    assert_eq!(session.rows(), list(&[("Knead", Pending), ("Proof", Completed)]));
    session.call("TaskList", json!({}), "No tasks found", Value::Null);
    assert_eq!(session.rows(), []);
}

#[test]
fn a_task_first_seen_in_an_update_is_inserted_by_its_number() {
    let mut session = Session::new("cli");
    session.create(3, "Knead").update(2, "in_progress");
    assert_eq!(session.rows(), list(&[("Task #2", InProgress), ("Knead", Pending)]));
}

#[test]
fn an_update_that_did_not_succeed_changes_nothing() {
    let mut session = Session::new("cli");
    session.create(1, "Sift");
    let input = json!({"taskId": "1", "status": "completed"});
    let fields = json!({"success": false, "taskId": "1", "updatedFields": [], "error": "Hook refused"});
    session.call("TaskUpdate", input.clone(), "Hook refused", fields);
    session.call("TaskUpdate", json!({"taskId": "9", "status": "completed"}), "Task not found", Value::Null);
    assert_eq!(session.rows(), list(&[("Sift", Pending)]));
    let results = session.followed().observed(THREAD, Type::ToolExecution);
    assert_eq!([&results[1]["isError"], &results[2]["isError"]], [&json!(true), &json!(true)]);
}

#[test]
fn half_a_surrogate_pair_beside_the_text_of_a_result_does_no_harm() {
    let mut session = Session::new("cli");
    let result = json!([{"type": "text", "text": "roses", "cut": "HALF"}]);
    session.line("user", json!({"message": {"content": "Look"}}));
    session.call("Read", json!({"file_path": "a"}), "RESULT", Value::Null);
    let text = session.text().replace("\"RESULT\"", &result.to_string()).replace("HALF", r"\ud83d");
    let mut followed = Followed::new();
    followed.append(text.as_bytes());
    followed.read();
    assert_eq!(followed.observed(THREAD, Type::ToolExecution)[0]["content"], "roses");
}

#[test]
fn a_task_that_claude_code_does_not_find_is_removed() {
    let mut session = Session::new("cli");
    session.create(1, "Sift").create(2, "Knead");
    let fields = json!({"success": false, "taskId": "2", "updatedFields": [], "error": "Task not found"});
    let input = json!({"taskId": "2", "status": "completed"});
    session.call("TaskUpdate", input, "Task not found", fields);
    assert_eq!(session.rows(), list(&[("Sift", Pending)]));
}

#[test]
fn a_hooks_changes_to_a_list_count() {
    let mut session = Session::new("cli");
    let entry = |content: &str| json!([{"content": content, "status": "pending", "activeForm": content}]);
    let fields = json!({"oldTodos": [], "newTodos": entry("Knead twice")});
    session.call("TodoWrite", json!({"todos": entry("Knead")}), "Todos have been modified", fields);
    assert_eq!(session.rows(), list(&[("Knead twice", Pending)]));
}

#[test]
fn blockers_and_owner_are_fields_of_the_item() {
    let mut session = Session::new("cli");
    session.create(1, "Sift").create(2, "Knead").create(3, "Bake");
    let fields = json!({"success": true, "taskId": "3", "updatedFields": ["blockedBy", "owner"]});
    let input = json!({"taskId": "3", "addBlockedBy": ["1", "2", "9"], "owner": "tester"});
    session.call("TaskUpdate", input, "Updated task #3 blockedBy, owner", fields);
    session.call(
        "TaskUpdate",
        json!({"taskId": "1", "addBlocks": ["2"]}),
        "Updated task #1 blocks",
        Value::Null,
    );
    session.update(1, "completed");
    let tasks = json!({"tasks": [
        {"id": "1", "subject": "Sift", "status": "completed", "blockedBy": []},
        {"id": "2", "subject": "Knead", "status": "pending", "blockedBy": []},
        {"id": "3", "subject": "Bake", "status": "pending", "owner": "tester", "blockedBy": ["2"]}]});
    session.call("TaskList", json!({}), "-", tasks);
    let mut followed = session.followed();
    let check = |followed: &mut Followed| {
        let list = followed.store.get(THREAD).unwrap().unwrap().list().clone();
        let blocked: Vec<_> = list.iter().map(|item| item.blocked_by.join(" ")).collect();
        assert_eq!(blocked, ["", "t1", "t1 t2"], "what is completed stays, what is not in the list does not");
        assert_eq!((list[2].owner.as_deref(), &list[1].owner), (Some("tester"), &None));
    };
    check(&mut followed);
    let thread = followed.store.get(THREAD).unwrap().unwrap();
    let changes = thread.revisions().iter().flat_map(|revision| &revision.changes);
    let fields: Vec<_> = changes.flat_map(|change| &change.fields).collect();
    assert_eq!(fields, ["blockedBy", "owner", "blockedBy"]);
    followed.restart();
    check(&mut followed);
}

#[test]
fn internal_tasks_are_not_shown() {
    let mut session = Session::new("cli");
    let input = json!({"subject": "Watch", "metadata": {"_internal": true}});
    session.call("TaskCreate", input, "Task #1 created successfully: Watch", Value::Null);
    session.create(2, "Sift").update(1, "in_progress").update(2, "completed");
    assert_eq!(session.rows(), list(&[("Sift", Completed)]));
    assert_eq!(session.followed().store.get(THREAD).unwrap().unwrap().state(), State::Done);
}

#[test]
fn repeated_lines_and_calls_count_once() {
    let mut session = Session::new("sdk-cli");
    session.create(1, "Sift").update(1, "in_progress").update(1, "completed");
    let mut copies = session.lines.clone();
    let again = copies[3]["message"].clone();
    session.line("assistant", json!({ "message": again }));
    for copy in &mut copies {
        copy["isSidechain"] = true.into();
        copy["agentId"] = "aside_question-1".into();
    }
    session.lines.extend(copies);
    let mut followed = session.followed();
    assert_eq!(followed.rows(THREAD), list(&[("Sift", Completed)]));
    assert_eq!(followed.revisions(THREAD), 3);
    assert_eq!(followed.observed(THREAD, Type::ToolCall).len(), 3);
    assert_eq!(followed.store.children(THREAD), []);
}

/// The last event of the session's turn if it is read `seconds` after its last line.
fn turn_after(session: &Session, seconds: u64) -> Turn {
    let mut followed = Followed::new();
    fs::write(followed.folder.path().join("session.jsonl"), session.text()).unwrap();
    let last = millis(session.lines.last().unwrap()["timestamp"].as_str().unwrap()).unwrap();
    let events = read_all(&mut followed.follower).unwrap().events;
    record(&mut followed.recorder, &mut followed.store, &events, last + seconds * 1_000);
    followed.turn(THREAD)
}

fn is_at_rest(turn: &Turn) -> bool {
    matches!(turn, Turn::Over(_))
}

/// Why the turn failed, if it did.
fn failure(turn: Turn) -> Option<String> {
    match turn {
        Turn::Over(End { has_failed: true, reason, .. }) => reason,
        _ => None,
    }
}

#[test]
fn the_end_of_a_turn_stops_the_clock_and_the_next_prompt_starts_it() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread").create(1, "Sift").update(1, "in_progress");
    assert_eq!(turn_after(&session, 1), Turn::Runs(None));
    session.wait(10).line("system", json!({"subtype": "turn_duration", "durationMs": 15_000}));
    assert!(is_at_rest(&turn_after(&session, 1)));
    let mut followed = session.followed();
    let thread = followed.store.get(THREAD).unwrap().unwrap();
    assert_eq!((thread.state(), thread.pause_reason()), (State::Paused, Some("end of turn")));
    session.wait(1_000).prompt("Go on").wait(2).update(1, "completed");
    let mut followed = session.followed();
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().times("t1").unwrap().spent(NOW), 11_000 + 4_000);
}

#[test]
fn an_agent_is_idle_after_its_turn_or_a_long_silence() {
    let mut session = Session::new("sdk-cli");
    session.prompt("Bake bread").create(1, "Sift");
    assert!(is_at_rest(&turn_after(&session, 3_600)));
    let text = json!({"type": "text", "text": "That was all."});
    session.line("assistant", json!({"message": {"id": "m", "stop_reason": "end_turn", "content": [text]}}));
    assert!(is_at_rest(&turn_after(&session, 1)));
    session.line("assistant", json!({"message": {"id": "n", "stop_reason": null, "content": [text]}}));
    assert_eq!(turn_after(&session, 1), Turn::Runs(None));
}

#[test]
fn a_failed_turn_gives_its_reason() {
    let mut session = Session::new("sdk-cli");
    session.prompt("Bake bread").create(1, "Sift");
    session.line("result", json!({"subtype": "error", "is_error": true, "result": "Out of flour"}));
    let turn = turn_after(&session, 1);
    assert_eq!(failure(turn).as_deref(), Some("Out of flour"));
    let mut followed = session.followed();
    assert_eq!(followed.store.get(THREAD).unwrap().unwrap().pause_reason(), Some("Out of flour"));
}

#[test]
fn a_failed_request_ends_the_turn() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread").create(1, "Sift");
    let text = json!({"type": "text", "text": "API Error: 529 The oven is full"});
    let message =
        json!({"id": "e", "model": "<synthetic>", "stop_reason": "stop_sequence", "content": [text]});
    session.line("assistant", json!({"message": message, "isApiErrorMessage": true}));
    let turn = turn_after(&session, 1);
    assert_eq!(failure(turn).as_deref(), Some("API Error: 529 The oven is full"));
    session.prompt("Try again").create(2, "Knead");
    assert_eq!(turn_after(&session, 1), Turn::Runs(None));
}

/// A home folder of Claude Code with a session, and the session's follower.
struct Home {
    folder: Folder,
    store: Store,
    follower: Follower,
    recorder: Recorder,
}

impl Home {
    fn new() -> Home {
        let folder = Folder::new();
        for name in ["projects/p/s/subagents", "tasks/s"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let follower = Follower::new(folder.path().join("projects/p/s.jsonl"), Options::default());
        let store = Store::new(Storage { history_limit: 100, ..Storage::default() });
        Home { folder, store, follower, recorder: Recorder::default() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn task(&self, number: u32, fields: Value) {
        let mut task = json!({"id": number.to_string(), "status": "pending", "blocks": [], "blockedBy": []});
        task.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.write(&format!("tasks/s/{number}.json"), &task.to_string());
    }

    fn read(&mut self) -> Vec<(String, Status)> {
        let events = read_all(&mut self.follower).unwrap().events;
        record(&mut self.recorder, &mut self.store, &events, NOW);
        rows(&mut self.store, THREAD)
    }
}

#[test]
fn task_files_count_when_a_session_is_opened_and_when_it_falls_silent() {
    let mut home = Home::new();
    let mut session = Session::new("cli");
    session.create(1, "Sift").create(2, "Knead");
    home.write("projects/p/s.jsonl", &session.text());
    home.task(2, json!({"subject": "Knead well", "status": "in_progress"}));
    home.task(10, json!({"subject": "Proof"}));
    home.task(11, json!({"subject": "Watch", "metadata": {"_internal": true}}));
    home.write("tasks/s/.lock", "");
    home.write("tasks/s/12.json", "{\"id\": \"12\", \"sub");
    assert_eq!(home.read(), list(&[("Knead well", InProgress), ("Proof", Pending)]));
    session.update(2, "completed");
    home.write("projects/p/s.jsonl", &session.text());
    home.task(2, json!({"subject": "Knead well", "status": "completed"}));
    home.task(10, json!({"subject": "Proof", "status": "completed"}));
    assert_eq!(home.read(), list(&[("Knead well", Completed), ("Proof", Pending)]), "lines may still come");
    assert_eq!(home.read(), list(&[("Knead well", Completed), ("Proof", Completed)]));
    for number in [2, 10] {
        fs::remove_file(home.folder.path().join(format!("tasks/s/{number}.json"))).unwrap();
    }
    home.write("tasks/s/.highwatermark", "11");
    session.update(10, "completed");
    home.write("projects/p/s.jsonl", &session.text());
    home.read();
    assert_eq!(home.read(), list(&[("Knead well", Completed), ("Proof", Completed)]), "done stays visible");
}

#[test]
fn an_empty_task_folder_clears_the_list_only_if_it_records_earlier_tasks() {
    let mut session = Session::new("cli");
    session.create(1, "Sift");
    let mut home = Home::new();
    home.write("projects/p/s.jsonl", &session.text());
    assert_eq!(home.read(), list(&[("Sift", Pending)]));
    let mut home = Home::new();
    home.write("projects/p/s.jsonl", &session.text());
    home.write("tasks/s/.highwatermark", "1");
    assert_eq!(home.read(), []);
}

#[test]
fn a_task_whose_file_precedes_its_line_is_one_task() {
    let mut home = Home::new();
    let mut session = Session::new("cli");
    session.create(1, "Sift");
    home.write("projects/p/s.jsonl", &session.text());
    home.task(1, json!({"subject": "Sift"}));
    home.task(2, json!({"subject": "Knead"}));
    assert_eq!(home.read(), list(&[("Sift", Pending), ("Knead", Pending)]));
    session.create(2, "Knead");
    home.write("projects/p/s.jsonl", &session.text());
    assert_eq!(home.read(), list(&[("Sift", Pending), ("Knead", Pending)]));
}

#[test]
fn a_line_from_before_a_task_file_is_work_of_the_list_before() {
    let mut home = Home::new();
    let mut session = Session::new("cli");
    session.create(1, "Sift");
    home.write("projects/p/s.jsonl", &session.text());
    home.task(1, json!({"subject": "Sift", "status": "in_progress"}));
    let task = fs::File::options().write(true).open(home.folder.path().join("tasks/s/1.json")).unwrap();
    let changed = millis("2026-03-01T08:00:30.000Z").unwrap();
    task.set_modified(UNIX_EPOCH + Duration::from_millis(changed)).unwrap();
    assert_eq!(home.read(), list(&[("Sift", InProgress)]));
    for _ in 0..2 {
        session.call("Bash", json!({"command": "make"}), "made", Value::Null);
        home.write("projects/p/s.jsonl", &session.text());
        home.read();
        session.wait(60);
    }
    let thread = home.store.get(THREAD).unwrap().unwrap();
    let run = |part| thread.work(part).map_or(0, |work| work.commands.run);
    assert_eq!((run(Part::Outside), run(Part::Item("t1"))), (1, 1));
}

#[test]
fn a_subagents_file_names_its_call_and_its_end() {
    let mut home = Home::new();
    let mut session = Session::new("cli");
    session.create(1, "Sift").create(2, "Knead").update(2, "in_progress");
    let input = json!({"description": "Something else", "prompt": "Look after the dough"});
    session.call("Agent", input, "Async agent launched successfully.", Value::Null);
    let call = session.lines[6]["message"]["content"][0]["id"].clone();
    home.write("projects/p/s.jsonl", &session.text());
    let entry = json!([{"content": "Fold", "status": "in_progress", "activeForm": "Folding"}]);
    let mut subagent = Session::new("cli");
    subagent.prompt("Look after the dough, changed by a hook");
    subagent.call("TodoWrite", json!({ "todos": entry }), "Todos have been modified", Value::Null);
    for (number, line) in subagent.lines.iter_mut().enumerate() {
        line["uuid"] = format!("v{number}").into();
        line["isSidechain"] = true.into();
        line["agentId"] = "a7".into();
    }
    home.write("projects/p/s/subagents/agent-a7.jsonl", &subagent.text());
    let meta = "projects/p/s/subagents/agent-a7.meta.json";
    home.write(meta, &json!({"agentType": "cook", "toolUseId": call}).to_string());
    home.read();
    assert_eq!(home.store.children(THREAD), [("claude:s/a7".to_owned(), Some("t2".to_owned()))]);
    assert_eq!(home.store.get("claude:s/a7").unwrap().unwrap().pause_reason(), Some("the session ended"));
    home.write(meta, &json!({"agentType": "cook", "toolUseId": call, "finished": true}).to_string());
    home.read();
    let thread = home.store.get("claude:s/a7").unwrap().unwrap();
    assert_eq!((thread.state(), thread.pause_reason()), (State::Paused, Some("the subagent returned")));
    let last = millis(subagent.lines[2]["timestamp"].as_str().unwrap()).unwrap();
    assert!(
        thread.times("t1").unwrap().spent(NOW) <= NOW - last
            && thread.times("t1").unwrap().running_since.is_none()
    );
}

#[test]
fn a_notification_ends_a_subagent_in_the_background() {
    let mut session = Session::new("cli");
    let input = json!({"description": "Fold", "prompt": "Fold the dough"});
    session.call("Agent", input, "Async agent launched successfully.", Value::Null);
    let entry = json!([{"content": "Fold", "status": "in_progress", "activeForm": "Folding"}]);
    let first = session.lines.len();
    session.prompt("Fold the dough");
    session.call("TodoWrite", json!({ "todos": entry }), "Todos have been modified", Value::Null);
    for line in &mut session.lines[first..] {
        line["isSidechain"] = true.into();
        line["agentId"] = "a7".into();
    }
    let reason = |session: &Session| {
        let mut followed = session.followed();
        followed.store.get("claude:s/a7").unwrap().unwrap().pause_reason().map(str::to_owned)
    };
    assert_eq!(reason(&session).as_deref(), Some("the session ended"));
    session.prompt(
        "<task-notification>\n<task-id>a7</task-id>\n<event>Still there</event>\n</task-notification>",
    );
    assert_eq!(reason(&session).as_deref(), Some("the session ended"));
    let begun = session.lines.clone();
    for name in ["<tool-use-id>toolu_0</tool-use-id>", "<task-id>a7</task-id>\n<tool-use-id>b</tool-use-id>"]
    {
        session.lines.clone_from(&begun);
        session.prompt(&format!(
            "<task-notification>\n{name}\n<status>completed</status>\n</task-notification>"
        ));
        assert_eq!(reason(&session).as_deref(), Some("the subagent returned"), "{name}");
    }
    assert_eq!(
        session.followed().observed(THREAD, Type::Intent),
        Vec::<Value>::new(),
        "no prompt of the user"
    );
}

#[test]
fn a_complete_last_line_counts_without_its_line_feed() {
    let mut session = Session::new("cli");
    session.create(1, "Sift");
    let text = session.text();
    let mut followed = Followed::new();
    followed.append(&text.as_bytes()[..text.len() - 5]);
    followed.read();
    assert_eq!(followed.rows(THREAD), []);
    followed.append(&text.as_bytes()[text.len() - 5..text.len() - 1]);
    followed.read();
    assert_eq!(followed.rows(THREAD), list(&[("Sift", Pending)]));
    session.update(1, "completed");
    followed.append(&session.text().as_bytes()[text.len() - 1..]);
    followed.read();
    assert_eq!(followed.rows(THREAD), list(&[("Sift", Completed)]));
    assert_eq!(followed.observed(THREAD, Type::ToolCall).len(), 2);
}

impl Session {
    /// A list by `todo_write` over MCP. The call is a second before its result.
    fn todo_write(&mut self, rows: &[(&str, &str)], result: &str) -> &mut Session {
        let todo = |(content, status): &(&str, &str)| json!({"content": content, "status": status, "activeForm": content});
        let todos: Vec<Value> = rows.iter().map(todo).collect();
        self.call(
            "mcp__plugin_todo-write_todo-write__todo_write",
            json!({ "todos": todos }),
            result,
            Value::Null,
        )
    }
}

#[test]
fn a_list_that_another_emacs_or_none_answered_counts_and_a_refused_one_does_not() {
    for (result, is_error, rows) in [
        // Another Emacs answered.
        ("0/1 tasks completed.", false, list(&[("Sift", Pending)])),
        ("Any words. [todo-write:no-emacs]", false, list(&[("Sift", Pending)])),
        ("Any words. [todo-write:no-emacs]", true, list(&[("Sift", Pending)])),
        ("Any words. [todo-write:no-emacs]\n", true, list(&[("Sift", Pending)])),
        ("Refused; the task list is unchanged.", true, list(&[])),
        ("Refused; not a status: \"[todo-write:no-emacs]\".", true, list(&[])),
        ("Emacs does not answer; go on without the list.", true, list(&[])),
    ] {
        let mut session = Session::new("cli");
        session.prompt("Bake bread").todo_write(&[("Sift", "pending")], result);
        let last = session.lines.last_mut().unwrap();
        if is_error {
            last["message"]["content"][0]["is_error"] = true.into();
        }
        assert_eq!(session.rows(), rows, "{result}");
    }
}

#[test]
fn lists_that_the_agent_sent_to_this_emacs_are_left_to_it() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread").todo_write(&[("Sift", "pending")], "0/1 tasks completed.");
    let called = session.lines.iter().find(|line| line["type"] == "assistant").unwrap();
    let called = millis(called["timestamp"].as_str().unwrap()).unwrap();
    let followed_after = |now| {
        let mut followed = Followed::new();
        let thread = followed.store.open(THREAD, Default::default(), 1);
        let sent =
            json!({"todos": [{"content": "Later", "status": "pending", "activeForm": "Later"}]}).to_string();
        let plan = todo_write::list::input::read_text(&sent, &Options::default()).unwrap();
        let options = WriteOptions { call: Some(Call::default()), ..WriteOptions::default() };
        thread.change(|thread| thread.write(plan, options, now));
        followed.append(session.text().as_bytes());
        followed.read();
        followed
    };
    for (now, rows) in [(called - 1, ("Sift", Pending)), (called, ("Later", Pending))] {
        assert_eq!(followed_after(now).rows(THREAD), list(&[rows]), "{}", now - called);
    }
    let mut followed = followed_after(called + 500);
    assert_eq!(followed.rows(THREAD), list(&[("Later", Pending)]));
    // Emacs was gone, and the agent went on.
    let before = session.text().len();
    session.todo_write(&[("Sift", "completed")], "Any words. [todo-write:no-emacs]");
    followed.append(&session.text().as_bytes()[before..]);
    followed.read();
    assert_eq!(followed.rows(THREAD), list(&[("Sift", Completed)]));
}

#[test]
fn the_tool_used_last_has_the_plan() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread").create(1, "Old").todo_write(&[("Sift", "pending")], "0/1 tasks completed.");
    assert_eq!(session.rows(), list(&[("Sift", Pending)]));
    let tasks = json!({"tasks": [{"id": "1", "subject": "Old", "status": "pending", "blockedBy": []}]});
    session.call("TaskList", json!({}), "#1 [pending] Old", tasks);
    assert_eq!(session.rows(), list(&[("Sift", Pending)]));
    session.update(1, "in_progress");
    assert_eq!(session.rows(), list(&[("Old", InProgress)]));
}

#[test]
fn a_fork_begins_without_the_tasks_of_its_session() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread").create(1, "Sift");
    for line in session.lines.iter_mut().filter(|line| line["type"] == "assistant") {
        line["requestSessionId"] = "origin".into();
    }
    assert_eq!(session.rows(), []);
    session.create(1, "Mill");
    assert_eq!(session.rows(), list(&[("Mill", Pending)]));
}

#[test]
fn a_forgotten_thread_whose_session_goes_on_has_its_list_again() {
    let mut session = Session::new("cli");
    session.prompt("Bake bread").create(1, "Sift");
    let mut followed = session.followed();
    followed.store.forget(THREAD).unwrap();
    let before = session.text().len();
    session.create(2, "Knead");
    followed.append(&session.text().as_bytes()[before..]);
    followed.read();
    assert_eq!(followed.rows(THREAD), list(&[("Sift", Pending), ("Knead", Pending)]));
}

#[test]
fn the_title_is_the_users_or_the_agents_or_the_first_meaningful_prompt() {
    let title = |session: &Session| {
        let mut followed = session.followed();
        let shown = followed.store.get(THREAD).unwrap().unwrap().title().map(str::to_owned);
        assert_eq!(describe(&followed.file()).unwrap().title, shown);
        shown
    };
    let mut session = Session::new("cli");
    session.prompt("<command-name>/init</command-name>\n<command-args></command-args>");
    assert_eq!(title(&session), None);
    session.prompt(
        "Implement the following plan:\n\n# Plan: Open a second shop\n\n## Context\nTwo streets away",
    );
    session.prompt("Hurry");
    assert_eq!(title(&session).as_deref(), Some("Open a second shop"));
    session.line("ai-title", json!({"aiTitle": "Second shop"}));
    assert_eq!(title(&session).as_deref(), Some("Second shop"));
    session.line("custom-title", json!({"customTitle": "Mill Lane"}));
    session.line("ai-title", json!({"aiTitle": "Third shop"}));
    assert_eq!(title(&session).as_deref(), Some("Mill Lane"));
    session.line("api-request", json!({"text": "x".repeat(40_000)}));
    assert_eq!(title(&session).as_deref(), Some("Mill Lane"), "far from the end");
}

#[test]
fn the_users_title_is_read_from_its_own_file() {
    let mut home = Home::new();
    let mut session = Session::new("cli");
    session.prompt("Bake bread").create(1, "Sift");
    let path = home.write("projects/p/s.jsonl", &session.text());
    home.write("projects/p/s/custom-title.json", "{\"customTitle\": \"Mill Lane\"}");
    home.read();
    assert_eq!(home.store.get(THREAD).unwrap().unwrap().title(), Some("Mill Lane"));
    assert_eq!(describe(&path).unwrap().title.as_deref(), Some("Mill Lane"));
}
