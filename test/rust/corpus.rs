//! Sessions, call by call: after each call, the list has the tasks that the agent sent.
//!
//! The sessions of `test/fixtures/corpus` are invented in the forms that agents send. Recorded
//! sessions are replayed too if they are available; the repository does not include them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use crate::common::laws::change::wire;
use crate::common::{corpus_or_skip, root, thread};
use serde_json::Value;
use todo_write::error::Problem;
use todo_write::list::change::{Change, apply};
use todo_write::list::input::{Options, Plan, read_text};
use todo_write::list::item::Item;
use todo_write::list::untyped;
use todo_write::text::one_line;
use todo_write::thread::WriteOptions;

/// The inputs of each session's calls, in order.
fn sessions() -> Vec<Vec<Value>> {
    let mut text = fs::read_to_string(root().join("test/fixtures/corpus/sessions.jsonl")).unwrap();
    if let Some(recorded) = corpus_or_skip("corpus/sequences.jsonl") {
        text += &fs::read_to_string(recorded).unwrap();
    }
    let inputs = |line: &str| {
        let session: Value = serde_json::from_str(line).unwrap();
        session["calls"].as_array().unwrap().iter().map(|call| call["input"].clone()).collect()
    };
    text.lines().map(inputs).collect()
}

/// The meaning of a call, determined without the reader under test.
enum Meaning {
    /// The tasks of a valid call, and whether it needs repairs.
    List { tasks: Vec<(String, String)>, repaired: bool },
    /// An invalid call, with the path of one problem.
    Wrong { path: String },
}

fn meaning(input: &Value) -> Meaning {
    let todos = &input["todos"];
    let decoded = match todos.as_str() {
        // The first value; the rest of the text is ignored.
        Some(text) => {
            serde_json::Deserializer::from_str(text).into_iter::<Value>().next().and_then(Result::ok)
        }
        None => Some(todos.clone()),
    };
    let Some(Value::Array(entries)) = decoded else { return Meaning::Wrong { path: "todos".into() } };
    let mut repaired = todos.is_string();
    let mut tasks = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if !entry.is_object() {
            return Meaning::Wrong { path: format!("todos[{place}]") };
        }
        let said = ["content", "step", "text", "subject", "title", "description"]
            .iter()
            .find_map(|key| entry[*key].as_str());
        let Some(content) = said.filter(|text| !text.trim().is_empty()) else {
            return Meaning::Wrong { path: format!("todos[{place}].content") };
        };
        let status = match entry["status"].as_str().unwrap_or_default() {
            exact @ ("pending" | "in_progress" | "completed") => exact,
            "done" | "complete" | "finished" => "completed",
            "doing" | "active" | "in-progress" | "inProgress" | "in progress" => "in_progress",
            "todo" | "open" | "not_started" | "not started" => "pending",
            _ => return Meaning::Wrong { path: format!("todos[{place}].status") },
        };
        let form = entry["activeForm"].as_str().unwrap_or_default();
        repaired |= status != entry["status"] || entry["content"].is_null() || form.trim().is_empty();
        tasks.push((one_line(content).0.into_owned(), status.to_owned()));
    }
    repaired |= tasks.iter().filter(|(_, status)| status == "in_progress").count() > 1;
    Meaning::List { tasks, repaired }
}

fn read(input: &Value) -> Result<Plan, Vec<Problem>> {
    read_text(&input.to_string(), &Options::default())
}

fn tasks(list: &[Arc<Item>]) -> Vec<(String, String)> {
    list.iter().map(|item| (item.content.clone(), item.status.to_string())).collect()
}

#[test]
fn every_recorded_call_is_read_as_meant() {
    let sessions = sessions();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count = |what| *counts.entry(what).or_default() += 1;
    for (number, session) in sessions.iter().enumerate() {
        let mut thread = thread();
        let mut chain: Vec<Vec<Change<Arc<Item>>>> = Vec::new();
        for (call, input) in session.iter().enumerate() {
            let place = format!("session {number}, call {call}");
            count("calls");
            if input["todos"].is_string() {
                count("calls with todos as a string");
            }
            let before = thread.list().clone();
            match (meaning(input), read(input)) {
                (Meaning::List { tasks: meant, repaired }, Ok(plan)) => {
                    assert_eq!(!plan.notices.is_empty(), repaired, "{place}: {:?}", plan.notices);
                    count(if repaired { "accepted with a notice" } else { "accepted silently" });
                    let outcome = thread.write(plan, WriteOptions::default(), call as u64);
                    assert!(outcome.ok, "{place}");
                    assert_eq!(tasks(thread.list()), meant, "{place}");
                    assert_eq!(&apply(&before, &outcome.changes), thread.list(), "{place}");
                    chain.push(outcome.changes);
                }
                (Meaning::Wrong { path }, Err(problems)) => {
                    count("refused");
                    assert!(problems.iter().any(|problem| problem.path == path), "{place}: {problems:?}");
                    assert!(!thread.refuse(problems, call as u64).ok, "{place}");
                    assert_eq!(thread.list(), &before, "{place}");
                }
                (Meaning::List { .. }, Err(problems)) => panic!("{place} was refused: {problems:?}"),
                (Meaning::Wrong { path }, Ok(_)) => panic!("{place} was accepted in spite of {path}"),
            }
        }
        let end = chain.iter().fold(Vec::new(), |list, changes| apply(&list, changes));
        assert_eq!(&end, thread.list(), "session {number}");
    }
    println!("{} sessions: {counts:?}", sessions.len());
}

/// Changes a call to another shape with the same meaning.
type Reshape = fn(&mut Value);

fn each_entry(input: &mut Value, change: impl Fn(&mut serde_json::Map<String, Value>)) {
    input["todos"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(|entry| change(entry.as_object_mut().unwrap()));
}

const RESHAPED: [(&str, Reshape); 6] = [
    ("todos as a string", |input| input["todos"] = input["todos"].to_string().into()),
    ("todos as a string with markup behind it", |input| {
        input["todos"] = format!("{}\n</invoke>", input["todos"]).into();
    }),
    ("the bare array", |input| *input = input["todos"].take()),
    ("description for content", |input| {
        each_entry(input, |entry| {
            drop(entry.remove("content").map(|text| entry.insert("description".into(), text)))
        });
    }),
    ("active_form for activeForm", |input| {
        each_entry(input, |entry| {
            drop(entry.remove("activeForm").map(|text| entry.insert("active_form".into(), text)))
        });
    }),
    ("synonyms for the statuses", |input| {
        each_entry(input, |entry| {
            let synonym = match entry["status"].as_str() {
                Some("pending") => "Not started",
                Some("in_progress") => "doing",
                Some("completed") => "done",
                _ => return,
            };
            entry["status"] = synonym.into();
        });
    }),
];

#[test]
fn every_list_reads_the_same_in_all_shapes_that_models_send() {
    let sessions = sessions();
    let mut reshaped = 0;
    for input in
        sessions.iter().flatten().filter(|input| input["todos"].as_array().is_some_and(|l| !l.is_empty()))
    {
        let Ok(plan) = read(input) else { continue };
        for (shape, reshape) in RESHAPED {
            let mut other = input.clone();
            reshape(&mut other);
            let read = read(&other).unwrap_or_else(|problems| panic!("{shape}: {problems:?}"));
            assert_eq!(read.drafts, plan.drafts, "{shape}");
            assert!(
                other == *input || read.notices.len() > plan.notices.len(),
                "{shape}: {:?}",
                read.notices
            );
            reshaped += 1;
        }
    }
    println!("{reshaped} lists in {} other shapes", RESHAPED.len());
}

#[test]
fn the_pure_diff_leads_from_each_list_to_the_next() {
    let sessions = sessions();
    let mut compared = 0;
    for (number, session) in sessions.iter().enumerate() {
        let lists: Vec<&Value> = session
            .iter()
            .map(|input| &input["todos"])
            .filter(|todos| todos.as_array().is_some_and(|list| list.iter().all(Value::is_object)))
            .collect();
        for pair in lists.windows(2) {
            let [previous, current] = [pair[0], pair[1]];
            let changes = untyped::diff(previous, current).unwrap().0;
            let after = untyped::apply(previous, &wire(&changes)).unwrap();
            let after: Value = after.iter().map(|entry| Value::Object(entry.fields().clone())).collect();
            assert_eq!(&after, current, "session {number}");
            compared += 1;
        }
    }
    println!("{compared} pairs of lists");
    assert!(compared > 150);
}
