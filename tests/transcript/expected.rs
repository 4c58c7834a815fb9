//! What a transcript comes to, worked out from the raw JSON alone.

use std::collections::BTreeMap;

use serde_json::Value;
use todo_write::item::Status;

/// The last list of each thread in a transcript, worked out from the raw JSON alone.
pub fn expected(text: &str) -> BTreeMap<String, Vec<(String, Status)>> {
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let blocks = |line: &Value| line["message"]["content"].as_array().cloned().unwrap_or_default();
    let mut accepted: BTreeMap<String, String> = BTreeMap::new();
    for block in lines.iter().flat_map(&blocks) {
        if block["type"] == "tool_result" && block["is_error"] != true {
            let said = block["content"].as_str().unwrap_or_default();
            accepted.insert(block["tool_use_id"].as_str().unwrap().into(), said.into());
        }
    }
    let (mut roots, mut tasks, mut lists) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for line in lines.iter().filter(|line| line["sessionId"].is_string()) {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let root = roots.get(&text("parentUuid")).cloned().unwrap_or_else(|| text("uuid"));
        roots.insert(text("uuid"), root.clone());
        let main = format!("claude:{}", text("sessionId"));
        let key = if line["isSidechain"] == true { format!("{main}/{root}") } else { main.clone() };
        for block in blocks(line).iter().filter(|block| block["type"] == "tool_use") {
            let Some(said) = accepted.get(block["id"].as_str().unwrap()) else { continue };
            let (input, of_session) = (&block["input"], tasks.entry(main.clone()).or_insert_with(Vec::new));
            match block["name"].as_str().unwrap() {
                "TodoWrite" => drop(lists.insert(key.clone(), rows_of(&input["todos"]))),
                "TaskCreate" => {
                    let number = said.split(['#', ' ']).nth(2).unwrap().to_owned();
                    of_session.push((number, input["subject"].as_str().unwrap().to_owned(), Status::Pending));
                }
                "TaskUpdate" => {
                    let at = of_session.iter().position(|task| task.0 == input["taskId"]).unwrap();
                    match input["status"].as_str() {
                        Some("deleted") => drop(of_session.remove(at)),
                        status => {
                            of_session[at].2 = status.and_then(Status::parse).unwrap_or(of_session[at].2)
                        }
                    }
                    if let (Some(subject), Some(task)) = (input["subject"].as_str(), of_session.get_mut(at)) {
                        task.1 = subject.into();
                    }
                }
                _ => continue,
            }
            if block["name"] != "TodoWrite" {
                let rows = of_session.iter().map(|(_, subject, status)| (subject.clone(), *status));
                lists.insert(main.clone(), rows.collect());
            }
        }
    }
    lists
}

fn rows_of(todos: &Value) -> Vec<(String, Status)> {
    let row = |entry: &Value| {
        (
            entry["content"].as_str().unwrap().to_owned(),
            Status::parse(entry["status"].as_str().unwrap()).unwrap(),
        )
    };
    todos.as_array().unwrap().iter().map(row).collect()
}
