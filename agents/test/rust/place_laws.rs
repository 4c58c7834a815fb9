//! Laws of calls by the socket beside the lines of a transcript: what each task took depends on the places of
//! lines, not on when they are read.

use std::fs;

use crate::transcript_law::read_all;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use todo_write::events::observation::{Filter, Type};
use todo_write::events::work::Part;
use todo_write::journal::store::{Storage, Store};
use todo_write::list::input::Options;
use todo_write::list::item::Status;
use todo_write::recorder::Recorder;
use todo_write::thread::{Call, Edit, WriteOptions};
use todo_write_mcp::follower::Follower;

use crate::common::{Completed, Folder, InProgress, Pending, plan, record};

const TASKS: [&str; 3] = ["Mix the dough", "Heat the oven", "Bake the bread"];
const SESSION: &str = "claude:s";
const NOW: u64 = 4_000_000_000_000;
const BEGIN: u64 = 1_767_225_600_000;

#[derive(Clone, Debug)]
enum Act {
    /// The agent calls the tool, which has a line unless it was lost.
    Call {
        statuses: [Status; 3],
        is_lost: bool,
    },
    /// The user sets the status of a task.
    Set(Index, Status),
    Edit(usize),
    Command,
    Say,
    /// The turn ends and another one begins.
    Turn,
}

fn act() -> impl Strategy<Value = Act> {
    let status = || select(vec![Pending, InProgress, Completed]);
    let statuses = || [status(), status(), status()];
    prop_oneof![
        5 => statuses().prop_map(|statuses| Act::Call { statuses, is_lost: false }),
        1 => statuses().prop_map(|statuses| Act::Call { statuses, is_lost: true }),
        1 => (any::<Index>(), status()).prop_map(|(item, status)| Act::Set(item, status)),
        3 => (1..4usize).prop_map(Act::Edit),
        2 => Just(Act::Command),
        1 => Just(Act::Say),
        1 => Just(Act::Turn),
    ]
}

/// Something that Emacs is told apart from the transcript.
enum Told {
    Call(String, [Status; 3]),
    Set(Index, Status),
}

/// What happens in a session: lines, and what Emacs is told, each with its time.
#[derive(Default)]
struct Session {
    lines: Vec<(u64, String)>,
    told: Vec<(u64, Told)>,
}

impl Session {
    fn of(acts: &[Act]) -> Session {
        let mut session = Session::default();
        for (number, act) in acts.iter().enumerate() {
            let time = BEGIN + 10_000 * number as u64;
            let id = format!("c{number}");
            match act {
                Act::Call { statuses, is_lost } => {
                    let todos = TASKS.into_iter().zip(statuses).map(|(task, status)| {
                        json!({"content": task, "status": status.as_str(), "activeForm": task})
                    });
                    let input = json!({ "todos": todos.collect::<Vec<_>>() });
                    session.told.push((time + 3_000, Told::Call(id.clone(), *statuses)));
                    if !is_lost {
                        session.call(time, &id, "mcp__todo-write__todo_write", &input, Value::Null);
                    }
                }
                Act::Set(item, status) => session.told.push((time + 3_000, Told::Set(*item, *status))),
                Act::Edit(lines) => {
                    let added: Vec<String> = (0..*lines).map(|line| format!("+{line}")).collect();
                    let hunk = json!({"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": lines,
                                      "lines": added});
                    let new: String = (0..*lines).map(|line| format!("{line}\n")).collect();
                    let input = json!({"file_path": "/p/a", "old_string": "", "new_string": new});
                    let result = json!({"filePath": "/p/a", "oldString": "", "newString": new,
                                        "originalFile": "", "structuredPatch": [hunk]});
                    session.call(time, &id, "Edit", &input, result);
                }
                Act::Command => session.call(time, &id, "Bash", &json!({"command": "make"}), json!({})),
                Act::Say => session.line(time, "assistant", &json!({"type": "text", "text": "So far."})),
                Act::Turn => {
                    session.line(time, "assistant", &json!({"type": "text", "text": "Done."}));
                    session.line(time + 5_000, "user", &json!({"type": "text", "text": "Go on"}));
                }
            }
        }
        session
    }

    fn call(&mut self, time: u64, id: &str, name: &str, input: &Value, result: Value) {
        self.line(time, "assistant", &json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        let answer = json!({"type": "tool_result", "tool_use_id": id, "content": "done"});
        self.line(time + 5_000, "user", &answer);
        let (_, last) = self.lines.last_mut().unwrap();
        let mut line: Value = serde_json::from_str(last).unwrap();
        line["toolUseResult"] = result;
        *last = line.to_string();
    }

    fn line(&mut self, time: u64, kind: &str, content: &Value) {
        let number = self.lines.len();
        let is_end = content["text"] == "Done.";
        let time_of = jiff::Timestamp::from_millisecond(time.cast_signed()).unwrap();
        let line = json!({
            "type": kind, "uuid": format!("u{number}"), "sessionId": "s", "isSidechain": false, "cwd": "/p",
            "version": "2.1.200", "timestamp": time_of.to_string(),
            "message": {"id": format!("m{number}"), "role": kind, "content": [content],
                        "stop_reason": if is_end { "end_turn" } else { "tool_use" },
                        "usage": {"input_tokens": number + 1, "output_tokens": 3}}});
        self.lines.push((time, line.to_string()));
    }
}

/// An Emacs that hears of a session.
struct Emacs<'s> {
    folder: Folder,
    session: &'s Session,
    names_calls: bool,
    store: Store,
    follower: Follower,
    recorder: Recorder,
    /// The numbers of lines that were read, and of what was told.
    read: usize,
    told: usize,
}

impl<'s> Emacs<'s> {
    fn start(session: &'s Session, names_calls: bool) -> Emacs<'s> {
        let folder = Folder::new();
        fs::create_dir_all(folder.path()).unwrap();
        let (store, follower) = Emacs::begin(&folder);
        let recorder = Recorder::default();
        Emacs { folder, session, names_calls, store, follower, recorder, read: 0, told: 0 }
    }

    fn begin(folder: &Folder) -> (Store, Follower) {
        let journals = Some(folder.path().join("journals"));
        let storage = Storage { folder: journals, history_limit: 1_000, ..Storage::default() };
        (Store::new(storage), Follower::new(folder.path().join("session.jsonl"), Options::default()))
    }

    fn restart(&mut self) {
        self.store = Store::default();
        (self.store, self.follower) = Emacs::begin(&self.folder);
        self.recorder = Recorder::default();
    }

    /// Tells what happened next; returns false if nothing is left.
    fn tell(&mut self) -> bool {
        let Some((time, told)) = self.session.told.get(self.told) else { return false };
        self.told += 1;
        // A thread without any list would not be there after a restart.
        let has_list = self.store.get(SESSION).unwrap().is_some_and(|thread| !thread.list().is_empty());
        if matches!(told, Told::Set(..)) && !has_list {
            return true;
        }
        let thread = self.store.open(SESSION, Default::default(), *time);
        match told {
            Told::Call(id, statuses) => {
                let tasks: Vec<_> = TASKS.into_iter().zip(*statuses).collect();
                let call = Some(Call { id: self.names_calls.then(|| id.clone()), ..Call::default() });
                let options = WriteOptions { source: Some("Claude Code".into()), call, ..Default::default() };
                thread.change(|thread| thread.write(plan(&tasks), options, *time));
            }
            Told::Set(item, status) => {
                let edit = Edit::Status { id: item.get(thread.list()).id.clone(), status: *status };
                thread.change(|thread| thread.edit(edit, *time)).unwrap();
            }
        }
        true
    }

    /// Reads the next lines, at most `count`, that were written before what is told next; returns false if
    /// there is none.
    fn read(&mut self, count: usize) -> bool {
        let next = self.session.told.get(self.told).map_or(u64::MAX, |(time, _)| *time);
        let lines = self.session.lines[self.read..].iter().take_while(|(time, _)| *time < next).take(count);
        let lines: Vec<&str> = lines.map(|(_, line)| line.as_str()).collect();
        let file = self.folder.path().join("session.jsonl");
        let before = fs::read_to_string(&file).unwrap_or_default();
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        fs::write(&file, before + &text).unwrap();
        let appended = read_all(&mut self.follower).unwrap();
        record(&mut self.recorder, &mut self.store, &appended.events, NOW);
        self.read += lines.len();
        !lines.is_empty()
    }

    /// What each task took, and to which tasks messages and calls belong.
    fn figures(mut self) -> Vec<String> {
        while self.read(usize::MAX) || self.tell() {}
        self.read(usize::MAX);
        assert_eq!(self.read, self.session.lines.len());
        let Some(thread) = self.store.get(SESSION).unwrap() else { return Vec::new() };
        let parts = ["t1", "t2", "t3"].map(Part::Item).into_iter().chain([Part::Whole, Part::Outside]);
        let sums = parts.map(|part| format!("{:?}", thread.work(part)));
        let kinds = [Type::Message, Type::ToolCall, Type::ToolExecution];
        let observed = kinds
            .into_iter()
            .flat_map(|kind| thread.observed(&Filter { kind: Some(kind), ..Filter::default() }));
        let steps = observed.map(|one| format!("{:?} {:?}", one.payload.metadata.uuid, one.parent_id));
        sums.chain(steps).collect()
    }
}

fn live(session: &Session, names_calls: bool) -> Vec<String> {
    let mut emacs = Emacs::start(session, names_calls);
    while emacs.read(1) || emacs.tell() {}
    emacs.figures()
}

#[test]
fn a_call_begins_its_task_at_its_line() {
    let list = |statuses| Act::Call { statuses, is_lost: false };
    let acts = [
        list([InProgress, Pending, Pending]),
        Act::Edit(1),
        list([Completed, InProgress, Pending]),
        Act::Edit(2),
        Act::Command,
        list([Completed, Completed, InProgress]),
        Act::Edit(3),
        list([Completed; 3]),
        Act::Command,
    ];
    let session = Session::of(&acts);
    let mut emacs = Emacs::start(&session, true);
    while emacs.tell() {}
    emacs.read(usize::MAX);
    let thread = emacs.store.get(SESSION).unwrap().unwrap();
    let figures = |part| thread.work(part).map(|work| (work.added, work.commands.run)).unwrap_or_default();
    let parts = ["t1", "t2", "t3"].map(Part::Item).into_iter().chain([Part::Outside]);
    assert_eq!(parts.map(figures).collect::<Vec<_>>(), [(1, 0), (2, 1), (3, 0), (0, 1)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn work_belongs_to_tasks_by_the_places_of_lines_in_any_order_of_arrival(
        acts in prop::collection::vec(act(), 1..24),
        steps in prop::collection::vec((any::<bool>(), 0..6usize, prop::bool::weighted(0.2)), 0..30),
        names_calls in any::<bool>(),
    ) {
        let session = Session::of(&acts);
        let expected = live(&session, names_calls);
        let mut calls_first = Emacs::start(&session, names_calls);
        while calls_first.tell() {}
        prop_assert_eq!(&calls_first.figures(), &expected);
        let mut mixed = Emacs::start(&session, names_calls);
        for (tells, count, restarts) in steps {
            if restarts {
                mixed.restart();
            }
            if tells { mixed.tell() } else { mixed.read(count) };
        }
        prop_assert_eq!(&mixed.figures(), &expected);
    }
}
