//! The final lists of a Claude Code transcript, computed from the raw JSON alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use todo_write::list::item::Status;
use todo_write_mcp::field::millis;

/// The list of each thread.
type Lists = BTreeMap<String, Vec<(String, Status)>>;
/// The subject and the status of each task, by number.
type Tasks = BTreeMap<u64, (String, Status)>;

/// The last list of each thread.
pub fn expected(text: &str) -> Lists {
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut state = State::default();
    for line in lines.iter().filter(|line| line["sessionId"].is_string()) {
        let field = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let root = state.roots.get(&field("parentUuid")).cloned().unwrap_or_else(|| field("uuid"));
        state.roots.insert(field("uuid"), root.clone());
        let session = format!("claude:{}", field("sessionId"));
        let thread = if line["isSidechain"] == true { format!("{session}/{root}") } else { session.clone() };
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_use" {
                state.calls.insert(block["id"].as_str().unwrap().to_owned(), (thread.clone(), block.clone()));
            } else if block["type"] == "tool_result" {
                state.result(&session, line, block);
            }
        }
    }
    state.lists
}

#[derive(Default)]
struct State {
    roots: BTreeMap<String, String>,
    calls: BTreeMap<String, (String, Value)>,
    answered: BTreeSet<String>,
    tasks: BTreeMap<String, Tasks>,
    done: BTreeMap<String, u64>,
    lists: Lists,
}

impl State {
    fn result(&mut self, session: &str, line: &Value, block: &Value) {
        let id = block["tool_use_id"].as_str().unwrap();
        let Some((thread, call)) = self.calls.get(id).cloned() else { return };
        let is_missing = block["content"] == "Task not found";
        let is_failure = block["is_error"] == true || line["toolUseResult"]["success"] == false;
        let is_refused = is_failure && !is_missing;
        if is_refused || !self.answered.insert(id.to_owned()) {
            return;
        }
        if call["name"] == "TodoWrite" {
            self.lists.insert(thread, rows(&call["input"]["todos"]));
            return;
        }
        let time = millis(line["timestamp"].as_str().unwrap()).unwrap();
        let is_terminal = line["entrypoint"].as_str().is_none_or(|entrypoint| entrypoint == "cli");
        let tasks = self.tasks.entry(session.to_owned()).or_default();
        let is_cleared = is_terminal && self.done.get(session).is_some_and(|done| done + 5_000 <= time);
        if call["name"] == "TaskCreate" && is_cleared {
            tasks.clear();
        }
        if apply(tasks, &call, line, block) {
            self.lists.insert(session.to_owned(), tasks.values().cloned().collect());
            if tasks.is_empty() || tasks.values().any(|task| task.1.is_open()) {
                self.done.remove(session);
            } else {
                self.done.entry(session.to_owned()).or_insert(time);
            }
        }
    }
}

/// Applies a call if it concerns tasks.
fn apply(tasks: &mut Tasks, call: &Value, line: &Value, block: &Value) -> bool {
    let input = &call["input"];
    let subject = input["subject"].as_str().map(str::to_owned);
    let updated = || input["taskId"].as_str().unwrap().parse::<u64>().unwrap();
    match call["name"].as_str().unwrap() {
        "TaskCreate" => {
            let number = block["content"].as_str().unwrap().split(['#', ' ']).nth(2).unwrap();
            tasks.insert(number.parse().unwrap(), (subject.unwrap(), Status::Pending));
        }
        "TaskUpdate" if input["status"] == "deleted" || block["content"] == "Task not found" => {
            tasks.remove(&updated());
        }
        "TaskUpdate" => {
            let task = tasks.get_mut(&updated()).unwrap();
            task.0 = subject.unwrap_or_else(|| task.0.clone());
            task.1 = input["status"].as_str().and_then(Status::parse).unwrap_or(task.1);
        }
        "TaskList" => {
            let Some(list) = line["toolUseResult"]["tasks"].as_array() else { return false };
            let id = |task: &Value| task["id"].as_str().unwrap().parse::<u64>().unwrap();
            *tasks = list.iter().map(|task| (id(task), row(task, "subject"))).collect();
        }
        _ => return false,
    }
    true
}

fn row(entry: &Value, text: &str) -> (String, Status) {
    let status = Status::parse(entry["status"].as_str().unwrap()).unwrap();
    (entry[text].as_str().unwrap().to_owned(), status)
}

fn rows(todos: &Value) -> Vec<(String, Status)> {
    todos.as_array().unwrap().iter().map(|entry| row(entry, "content")).collect()
}
