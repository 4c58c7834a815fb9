//! The fuzzer's seeds: some inputs of each kind, and recorded sessions if they are available.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::list::input::{Options, Plan, read_text};
use todo_write::list::item::Draft;
use todo_write::thread::record::FORMAT;
use todo_write::thread::{Edit, WriteOptions};

use todo_write::journal::segment;

use super::super::{corpus, root};
use super::folder::Folder;
use super::lists;
use super::thread::{open, store};

/// Longer seeds slow down the search.
const LONGEST: usize = 16 * 1024;

/// The seeds of a law.
pub fn seeds(law: &str) -> Vec<Vec<u8>> {
    let sessions = sessions();
    let mut seeds = match law {
        "input" => inputs(&sessions),
        "change" => sessions.iter().map(|calls| lists::write(calls).into()).collect(),
        "journal" => sessions.iter().flat_map(|calls| journals(calls)).collect(),
        "transcript" => [Some(root().join("test/fixtures/transcripts")), corpus("transcripts")]
            .iter()
            .flatten()
            .flat_map(|folder| transcripts(folder))
            .collect(),
        _ => noise(),
    };
    seeds.retain(|seed| seed.len() <= LONGEST);
    seeds
}

type Calls = Vec<Vec<Draft>>;

/// The lists of the invented sessions, and of the recorded ones if they are available.
fn sessions() -> Vec<Calls> {
    let mut sessions = Vec::new();
    let files = [Some(root().join("test/fixtures/corpus/sessions.jsonl")), corpus("corpus/sequences.jsonl")];
    let text: String = files.iter().flatten().map(|file| fs::read_to_string(file).unwrap()).collect();
    for line in text.lines() {
        let session: Value = serde_json::from_str(line).unwrap();
        let calls = session["calls"].as_array().into_iter().flatten();
        let read = |call: &Value| {
            let text = call["input"].to_string();
            Some(read_text(&text, &Options::default()).ok()?.drafts)
        };
        sessions.push(calls.filter_map(read).collect());
    }
    sessions
}

/// Calls in the shapes that models send.
fn inputs(sessions: &[Calls]) -> Vec<Vec<u8>> {
    let entry = |draft: &Draft| {
        json!({"content": draft.content, "status": draft.status.as_str(), "activeForm": draft.active_form,
               "id": draft.hint})
    };
    let todos = |list: &Vec<Draft>| -> Value { list.iter().map(entry).collect() };
    let mut texts: Vec<String> = sessions
        .iter()
        .flatten()
        .map(todos)
        .flat_map(|todos| [json!({ "todos": todos }), json!({ "todos": todos.to_string() }), todos])
        .map(|input| input.to_string())
        .collect();
    texts.extend(
        [
            r#"{"todos": [{"title": "Ship it", "status": "Done", "active_form": "\u00e9\ud83d\ude00", "priority": "HIGH", "x": [1, -2.5e3]}]}"#,
            r#"{"todos": "[{\"content\": \"a\\u0007b\", \"status\": \"todo\"}] </todos>"}"#,
            r#"{"todos": [null, true, 7, "text", [], {}, {"content": null, "status": "blocked", "activeForm": 3}]}"#,
            r#"{"todos": null}"#,
            r#"{"command": "ls"}"#,
            r#"{"todos": [{"content": "a", "#,
        ]
        .map(str::to_owned),
    );
    texts.into_iter().map(|text| [&[2], text.as_bytes()].concat()).collect()
}

/// The journal of a session, with and without its checksums, and as one of a later version.
fn journals(calls: &[Vec<Draft>]) -> [Vec<u8>; 3] {
    let folder = Folder::new();
    let mut store = store(folder.path());
    let thread = open(&mut store);
    for (now, drafts) in (1_000..).zip(calls) {
        let plan = Plan { drafts: drafts.clone(), ..Plan::default() };
        let options = WriteOptions { source: Some("seed".into()), ..WriteOptions::default() };
        thread.change(|thread| thread.write(plan, options, now));
        if let Some(item) = thread.list().last().cloned() {
            let edit = match now % 4 {
                0 => Edit::Add { content: format!("Also at {now}"), position: Some(0) },
                1 => Edit::Rename { id: item.id.clone(), content: format!("{} then", item.content) },
                2 => Edit::Move { id: item.id.clone(), position: 0 },
                _ => Edit::Delete { id: item.id.clone() },
            };
            thread.change(|thread| thread.edit(edit, now)).unwrap();
        }
        let details = Details { trace_id: Some("trace".into()), ..Details::default() };
        thread.change(|thread| {
            thread.observe(Payload::new(Type::Thoughts, json!({"text": "So it is."})), details, now);
            thread.set_paused((now % 2 == 0).then(|| "a pause".to_owned()), now);
        });
    }
    let plan = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let file = segment(&plan, 1);
    let text = fs::read_to_string(file).unwrap();
    let without_sum = |line: &str| format!("{}}}\n", line.split_once(",\"sum\":").unwrap().0);
    let bare: String = text.lines().map(without_sum).collect();
    let later = bare.replacen(&format!("\"format\":{FORMAT}"), "\"format\":9", 1);
    [[&[0], text.as_bytes()].concat(), [&[1], bare.as_bytes()].concat(), [&[1], later.as_bytes()].concat()]
}

/// Transcripts in pieces of a few lines.
fn transcripts(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    let mut seeds = Vec::new();
    for text in files.iter().map(|file| fs::read_to_string(file).unwrap()) {
        let mut piece = vec![100];
        for line in text.split_inclusive('\n') {
            if piece.len() + line.len() > LONGEST / 2 {
                seeds.push(std::mem::replace(&mut piece, vec![100]));
            }
            piece.extend_from_slice(line.as_bytes());
        }
        seeds.push(piece);
    }
    seeds
}

/// Pseudorandom bytes, for laws that decode choices from them.
fn noise() -> Vec<Vec<u8>> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    [16, 64, 256, 512, 1_024]
        .iter()
        .flat_map(|length| [*length; 4])
        .map(|length| (0..length).map(|_| byte()).collect())
        .collect()
}
