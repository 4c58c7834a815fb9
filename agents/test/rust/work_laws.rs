//! Laws of the sums of work: they add up, and neither a restart, the way a transcript is read nor a
//! crash changes them.

use std::fs::{self, OpenOptions};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};
use todo_write::events::observation::{Details, Metadata, Payload, Type};
use todo_write::events::policy::Policy;
use todo_write::events::turns::Turn;
use todo_write::events::work::{CallOutcome, Part, Work};
use todo_write::journal::store::{Storage, Store};
use todo_write::list::item::Status;
use todo_write::thread::Thread;

use crate::common::{Completed, Folder, InProgress, KEY, Pending, newest_segments, open, store, write};
use crate::transcript::recorded::{Emacs, append};

/// The tasks of all lists.
const TASKS: [&str; 3] = ["Mix the dough", "Heat the oven", "Bake the bread"];
const SESSION: &str = "claude:s";
const NOW: u64 = 4_000_000_000_000;

#[derive(Clone, Debug)]
enum Act {
    List([Status; 3]),
    Edit {
        file: usize,
        removed: usize,
        added: usize,
    },
    Command {
        is_ok: bool,
    },
    Say,
    Prompt,
    /// The agent sends a subagent out.
    SendOut,
    /// The subagent sent out last works.
    Help {
        added: usize,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let status = || select(vec![Pending, InProgress, Completed]);
    prop_oneof![
        2 => [status(), status(), status()].prop_map(Act::List),
        3 => (0..3usize, 0..4usize, 1..4usize)
            .prop_map(|(file, removed, added)| Act::Edit { file, removed, added }),
        2 => any::<bool>().prop_map(|is_ok| Act::Command { is_ok }),
        1 => Just(Act::Say),
        2 => Just(Act::Prompt),
        1 => Just(Act::SendOut),
        2 => (1..4usize).prop_map(|added| Act::Help { added }),
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 1..40)
}

/// Leaves at most one task in progress.
fn alone(acts: Vec<Act>) -> Vec<Act> {
    let one = |act| match act {
        Act::List(mut statuses) => {
            let first = statuses.iter().position(|status| *status == InProgress);
            for (place, status) in statuses.iter_mut().enumerate() {
                if *status == InProgress && Some(place) != first {
                    *status = Pending;
                }
            }
            Act::List(statuses)
        }
        other => other,
    };
    acts.into_iter().map(one).collect()
}

fn text(name: char, lines: usize) -> String {
    (0..lines).map(|line| format!("\t{name}{line}\n")).collect()
}

// A host.

/// Reports the acts of a host, of which every one takes some tokens.
fn report(thread: &mut Thread, policy: &Policy, acts: &[Act]) {
    for (number, act) in acts.iter().enumerate() {
        let now = 10 + number as u64;
        let response = Map::from_iter([("response".to_owned(), json!(format!("r{number}")))]);
        let usage = json!({"input": number, "output": 3, "cacheRead": 5, "cacheWrite": 1});
        let usage = Payload::read(Type::Usage, usage, response);
        thread.observe_allowed(policy, usage, Details::default(), now);
        let mut call = Metadata { call_id: Some(format!("c{number}")), ..Metadata::default() };
        let name = match act {
            Act::List(statuses) => {
                let tasks: Vec<_> = TASKS.into_iter().zip(*statuses).collect();
                write(thread, &tasks, now);
                continue;
            }
            Act::Edit { file, removed, added } => {
                let (old, new) = (text('a', *removed), text('b', *added));
                let file = json!({"path": format!("/p/{file}"), "oldText": old, "newText": new});
                call.files = Some(policy.read_files("/p", &[file]));
                "Edit"
            }
            Act::Command { is_ok } => {
                call.outcome = Some(if *is_ok { CallOutcome::Ok } else { CallOutcome::Failed });
                "Bash"
            }
            Act::Prompt => {
                thread.observe(Payload::new(Type::Intent, number.into()), Details::default(), now);
                continue;
            }
            Act::Help { added } => {
                let metadata = Metadata { of_session: Some(true), ..Metadata::default() };
                let usage = Payload { metadata, ..Payload::new(Type::Usage, json!({"input": added})) };
                thread.observe(usage, Details::default(), now);
                continue;
            }
            Act::Say | Act::SendOut => continue,
        };
        let content = json!({"name": name, "content": text('x', 80)});
        let payload = Payload { metadata: call, ..Payload::new(Type::ToolExecution, content) };
        thread.observe_allowed(policy, payload, Details::default(), now);
    }
}

type AllFigures = (Vec<Option<Work>>, Vec<(Turn, Vec<Option<Work>>)>);

/// The figures of all parts, and the turns with their parts.
fn all_figures(store: &mut Store, key: &str) -> AllFigures {
    let parts = figures(store, key);
    let Some(thread) = store.get(key).unwrap() else { return (parts, Vec::new()) };
    let ids: Vec<String> = (1..=200).map(|number| format!("t{number}")).collect();
    let named = [Part::Whole, Part::Outside].into_iter().chain(ids.iter().map(|id| Part::Item(id)));
    let named: Vec<Part<'_>> = named.collect();
    let of_turn = |turn| named.iter().map(|part| thread.work_in_turn(turn, *part).cloned()).collect();
    let turns = thread.turns().iter().cloned().enumerate().map(|(place, turn)| (turn, of_turn(place)));
    (parts, turns.collect())
}

/// The sums of some works.
fn added<'w>(works: impl IntoIterator<Item = &'w Option<Work>>) -> [u64; 9] {
    works.into_iter().flatten().fold([0; 9], |mut all, work| {
        all.iter_mut().zip(sums(work)).for_each(|(sum, more)| *sum += more);
        all
    })
}

/// The figures of all parts: the whole, what is outside any task, and each task ever.
fn figures(store: &mut Store, key: &str) -> Vec<Option<Work>> {
    let Some(thread) = store.get(key).unwrap() else { return Vec::new() };
    let ids = (1..=200).map(|number| format!("t{number}"));
    let parts = ids.map(|id| thread.work(Part::Item(&id)).cloned());
    [thread.work(Part::Whole).cloned(), thread.work(Part::Outside).cloned()]
        .into_iter()
        .chain(parts)
        .collect()
}

/// Figures that can be added up.
fn sums(work: &Work) -> [u64; 9] {
    let (commands, tokens) = (&work.commands, &work.tokens);
    [
        work.added,
        work.removed,
        work.edits,
        commands.run,
        commands.failed,
        work.responses,
        tokens.input,
        tokens.output,
        tokens.cache_read + tokens.cache_write,
    ]
}

// A transcript of Claude Code. A result has the time of its call, so that time alone cannot tell what a
// crash left out.

fn line(number: usize, kind: &str, content: Value) -> Map<String, Value> {
    let time = format!("2026-01-01T00:{:02}:{:02}.000Z", number / 60, number % 60);
    let line = json!({
        "type": kind, "uuid": format!("u{number}-{kind}"), "sessionId": "s", "isSidechain": false, "cwd": "/p",
        "version": "2.1.200", "timestamp": time,
        "message": {"id": format!("m{number}"), "role": kind, "content": [content]}});
    line.as_object().unwrap().clone()
}

/// A line as one of a subagent.
fn of_subagent(mut line: Map<String, Value>, subagent: &str) -> Value {
    line["uuid"] = format!("{}-{subagent}", line["uuid"].as_str().unwrap()).into();
    line["isSidechain"] = true.into();
    line.insert("agentId".into(), subagent.into());
    Value::Object(line)
}

fn transcript(acts: &[Act]) -> Vec<u8> {
    let mut all = String::new();
    let mut subagent = None;
    for (number, act) in acts.iter().enumerate() {
        let id = format!("c{number}");
        let (name, input, result, is_error) = match act {
            Act::List(statuses) => {
                let todo = |(task, status): (&str, Status)| json!({"content": task, "status": status.as_str(), "activeForm": task});
                let todos: Vec<Value> = TASKS.into_iter().zip(*statuses).map(todo).collect();
                ("TodoWrite", json!({ "todos": todos }), json!({}), false)
            }
            Act::Edit { file, removed, added } => {
                let (old, new) = (text('a', *removed), text('b', *added));
                let path = format!("/p/{file}");
                let signed = |sign: char, lines: &str| {
                    lines.lines().map(|line| format!("{sign}{line}")).collect::<Vec<_>>()
                };
                let lines = [signed('-', &old), signed('+', &new)].concat();
                let hunk = json!({"oldStart": 1, "oldLines": removed, "newStart": 1, "newLines": added,
                                  "lines": lines});
                let result = json!({"filePath": path, "oldString": old, "newString": new,
                                    "originalFile": old, "structuredPatch": [hunk]});
                ("Edit", json!({"file_path": path, "old_string": old, "new_string": new}), result, false)
            }
            Act::Command { is_ok } => ("Bash", json!({"command": "make"}), json!({}), !is_ok),
            Act::Prompt => {
                let prompt = json!({"type": "text", "text": format!("Prompt {number}")});
                all.push_str(&format!("{}\n", Value::Object(line(number, "user", prompt))));
                continue;
            }
            Act::SendOut => {
                let input = json!({"prompt": format!("Help {number}"), "description": "Help"});
                let sent = json!({"type": "tool_use", "id": id, "name": "Agent", "input": input});
                let asked = json!({"type": "text", "text": format!("Help {number}")});
                subagent = Some(format!("a{number}"));
                let asked = of_subagent(line(number, "user", asked), &format!("a{number}"));
                let sent = Value::Object(line(number, "assistant", sent));
                all.push_str(&format!("{sent}\n{asked}\n"));
                continue;
            }
            Act::Help { added } => {
                let Some(subagent) = &subagent else { continue };
                let input = json!({"file_path": "/p/help", "content": text('c', *added)});
                let call = json!({"type": "tool_use", "id": id, "name": "Write", "input": input});
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": "done"});
                let mut call = line(number, "assistant", call);
                call["message"]["usage"] = json!({"input_tokens": number, "output_tokens": 1});
                let [call, result] =
                    [call, line(number, "user", result)].map(|line| of_subagent(line, subagent));
                all.push_str(&format!("{call}\n{result}\n"));
                continue;
            }
            Act::Say => {
                let mut said = line(number, "assistant", json!({"type": "text", "text": "So far."}));
                said["message"]["usage"] = json!({"input_tokens": number, "output_tokens": 2});
                all.push_str(&format!("{}\n", Value::Object(said)));
                continue;
            }
        };
        let mut call =
            line(number, "assistant", json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        call["message"]["usage"] =
            json!({"input_tokens": number, "output_tokens": 3, "cache_read_input_tokens": 7});
        call["message"]["stop_reason"] = "tool_use".into();
        let words = if is_error { "Exit code 2\nno" } else { "done" };
        let answer =
            json!({"type": "tool_result", "tool_use_id": id, "content": words, "is_error": is_error});
        let mut answer = line(number, "user", answer);
        answer.insert("toolUseResult".into(), if is_error { json!("Error") } else { result });
        all.push_str(&format!("{}\n{}\n", Value::Object(call), Value::Object(answer)));
    }
    all.into_bytes()
}

/// The figures of a transcript that is read in pieces, after those that the folder has already.
fn read_in_pieces(folder: &Folder, pieces: &[&[u8]]) -> AllFigures {
    fs::create_dir_all(folder.path()).unwrap();
    let file = folder.path().join("session.jsonl");
    let mut emacs = Emacs::with_limit(30, &folder.path().join("journals"), &file);
    for piece in [&[] as &[u8]].iter().chain(pieces) {
        append(&file, piece);
        emacs.read();
    }
    all_figures(&mut emacs.store, SESSION)
}

/// Cuts bytes at some places.
fn cut<'b>(bytes: &'b [u8], places: &[Index]) -> Vec<&'b [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_parts_add_up_where_no_work_is_shared(acts in acts().prop_map(alone)) {
        // What the host reports of a whole session belongs to no part.
        let acts: Vec<Act> = acts.into_iter().filter(|act| !matches!(act, Act::Help { .. })).collect();
        let folder = Folder::new();
        let mut store = store(folder.path());
        open(&mut store).change(|thread| report(thread, &Policy::default(), &acts));
        let all = figures(&mut store, KEY);
        let whole = all[0].as_ref().map_or([0; 9], sums);
        let mut parts = [0; 9];
        for part in all[1..].iter().flatten() {
            prop_assert_eq!(part.sharers, 0);
            parts.iter_mut().zip(sums(part)).for_each(|(sum, more)| *sum += more);
        }
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn the_turns_add_up_to_the_work_of_the_thread(acts in acts(), is_followed in any::<bool>()) {
        let folder = Folder::new();
        let (parts, turns) = if is_followed {
            read_in_pieces(&folder, &[&transcript(&acts)])
        } else {
            let mut store = store(folder.path());
            open(&mut store).change(|thread| report(thread, &Policy::default(), &acts));
            all_figures(&mut store, KEY)
        };
        for (place, part) in parts.iter().enumerate() {
            prop_assert_eq!(added(turns.iter().map(|(_, parts)| &parts[place])), added([part]));
        }
        let prompts = turns.iter().filter(|(turn, _)| turn.prompt.is_some()).count();
        prop_assert_eq!(prompts, acts.iter().filter(|act| matches!(act, Act::Prompt)).count());
        prop_assert!(turns.iter().skip(1).all(|(turn, _)| turn.prompt.is_some()));
    }

    #[test]
    fn a_restart_changes_no_figure(acts in acts(), limit in 1..50usize) {
        let folder = Folder::new();
        let storage = Storage {
            folder: Some(folder.path().to_owned()), history_limit: limit, ..Storage::default()
        };
        let mut first = Store::new(storage.clone());
        open(&mut first).change(|thread| report(thread, &Policy::default(), &acts));
        let before = all_figures(&mut first, KEY);
        drop(first);
        prop_assert_eq!(before, all_figures(&mut Store::new(storage), KEY));
    }

    #[test]
    fn a_crash_at_any_moment_changes_no_figure(
        acts in acts(),
        places in prop::collection::vec(any::<Index>(), 0..6),
        crash in any::<Index>(),
    ) {
        // That a session seems to have ended stands in no line, so a crash may forget it.
        let without_endings = |(parts, mut turns): AllFigures| {
            turns.iter_mut().for_each(|(turn, _)| turn.ending = None);
            (parts, turns)
        };
        let bytes = transcript(&acts);
        let whole = without_endings(read_in_pieces(&Folder::new(), &[&bytes]));
        let folder = Folder::new();
        let pieces = cut(&bytes, &places);
        read_in_pieces(&folder, &pieces[..pieces.len() / 2 + 1]);
        // The system keeps what was written before, to any byte.
        for journal in newest_segments(&folder.path().join("journals")) {
            let journal = OpenOptions::new().write(true).open(journal).unwrap();
            let length = journal.metadata().unwrap().len();
            journal.set_len(crash.index(length as usize + 1) as u64).unwrap();
        }
        let after = read_in_pieces(&folder, &pieces[pieces.len() / 2 + 1..]);
        prop_assert_eq!(without_endings(after), whole);
    }
}

#[test]
fn the_models_that_work_names_are_bounded() {
    let mut thread = Thread::new(KEY, Map::new(), 10);
    for number in 0..1_000 {
        let usage = json!({"output": 1, "model": format!("model {number}")});
        thread.observe(Payload::new(Type::Usage, usage), Details::default(), NOW);
    }
    let work = thread.work(Part::Whole).unwrap();
    assert_eq!((work.models.len(), work.responses), (100, 1_000));
}
