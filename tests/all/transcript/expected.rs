//! What a transcript comes to, worked out from the raw JSON alone.

use std::collections::BTreeMap;

use serde_json::Value;
use todo_write::item::Status;

/// A list by thread.
type Lists = BTreeMap<String, Vec<(String, Status)>>;
/// The number, the subject and the status of a task.
type Task = (String, String, Status);

/// The last list of each thread in a transcript.
pub fn expected(text: &str) -> Lists {
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let answers = answers(&lines);
    let (mut roots, mut lists, mut tasks) = (BTreeMap::new(), Lists::new(), BTreeMap::new());
    for line in lines.iter().filter(|line| line["sessionId"].is_string()) {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let root = roots.get(&text("parentUuid")).cloned().unwrap_or_else(|| text("uuid"));
        roots.insert(text("uuid"), root.clone());
        let session = format!("claude:{}", text("sessionId"));
        let speaker = if line["isSidechain"] == true { format!("{session}/{root}") } else { session.clone() };
        for block in blocks(line).filter(|block| block["type"] == "tool_use") {
            let Some(answer) = answers.get(block["id"].as_str().unwrap()) else { continue };
            if block["name"] == "TodoWrite" {
                lists.insert(speaker.clone(), rows(&block["input"]["todos"]));
            } else {
                let tasks: &mut Vec<Task> = tasks.entry(session.clone()).or_default();
                if fold(tasks, block, answer) {
                    let rows = tasks.iter().map(|(_, subject, status)| (subject.clone(), *status));
                    lists.insert(session.clone(), rows.collect());
                }
            }
        }
    }
    lists
}

fn blocks(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["content"].as_array().into_iter().flatten()
}

/// The answers to calls that were not refused.
fn answers(lines: &[Value]) -> BTreeMap<&str, &str> {
    let results = lines.iter().flat_map(blocks).filter(|block| block["type"] == "tool_result");
    let accepted = results.filter(|block| block["is_error"] != true);
    accepted
        .map(|block| (block["tool_use_id"].as_str().unwrap(), block["content"].as_str().unwrap_or("")))
        .collect()
}

/// Takes a call over, if it is about tasks.
fn fold(tasks: &mut Vec<Task>, call: &Value, answer: &str) -> bool {
    let input = &call["input"];
    let subject = input["subject"].as_str().map(str::to_owned);
    match call["name"].as_str().unwrap() {
        "TaskCreate" => {
            let number = answer.split(['#', ' ']).nth(2).unwrap().to_owned();
            tasks.push((number, subject.unwrap(), Status::Pending));
        }
        "TaskUpdate" if input["status"] == "deleted" => tasks.retain(|task| task.0 != input["taskId"]),
        "TaskUpdate" => {
            let task = tasks.iter_mut().find(|task| task.0 == input["taskId"]).unwrap();
            task.1 = subject.unwrap_or_else(|| task.1.clone());
            task.2 = input["status"].as_str().and_then(Status::parse).unwrap_or(task.2);
        }
        _ => return false,
    }
    true
}

fn rows(todos: &Value) -> Vec<(String, Status)> {
    let row = |entry: &Value| {
        let status = Status::parse(entry["status"].as_str().unwrap()).unwrap();
        (entry["content"].as_str().unwrap().to_owned(), status)
    };
    todos.as_array().unwrap().iter().map(row).collect()
}
