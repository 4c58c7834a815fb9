//! A transcript is recorded once, however it is read: in pieces, by one Emacs after another, after crashes, while
//! calls arrive, and from files that were moved, copied, truncated or replaced.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::transcript_law::read_all;
use serde_json::{Map, Value, json};
use todo_write::events::observation::Type;
use todo_write::events::turns::{Commit, Turn};
use todo_write::events::work::{Part, Work};
use todo_write::journal::segments::Span;
use todo_write::journal::store::{Storage, Store};
use todo_write::list::input::{Options, Plan};
use todo_write::list::item::Status;
use todo_write::recorder::Recorder;
use todo_write::thread::Thread;
use todo_write::thread::activity::Ending;
use todo_write::thread::{Call, WriteOptions};
use todo_write::wire::event::{Event, EventKind};
use todo_write_mcp::follower::Follower;
use todo_write_mcp::tail::TailChange;

use crate::common::{kept, newest_segments};

use super::claude::Session;
use super::codex::Rollout;
use super::followed::{Followed, NOW, fixture_path, list};
use super::{answer, assistant, codex_subagents, todo, transcripts};
use crate::common::{Folder, Pending, corpus_or_skip, record};

/// What is known of a thread: its list, what was said and done in the main agent's file and in those of subagents,
/// in order, and the work of each part.
#[derive(Debug, PartialEq)]
struct Known {
    list: Vec<(String, Status)>,
    revisions: u64,
    said: BTreeMap<Option<String>, Vec<String>>,
    work: Vec<Option<Work>>,
}

/// All threads of a store that have anything.
fn known(store: &mut Store) -> BTreeMap<String, Known> {
    let keys = kept(store);
    let known = keys.into_iter().map(|key| {
        let observed = |thread: &Thread| thread.observations().reported().cloned().collect::<Vec<_>>();
        let all = observed(store.spanning(&key, Span::Observations(1, u64::MAX)).unwrap().unwrap());
        let thread = store.get(&key).unwrap().unwrap();
        // When a title is told does not matter, nor when another Emacs took over.
        let is_line = |kind| !matches!(kind, Type::Title | Type::StateUpdate);
        let (mut said, mut once) = (BTreeMap::<_, Vec<String>>::new(), HashSet::new());
        for one in all.iter().filter(|one| is_line(one.kind())) {
            let call = one.payload.call().map(|call| &call.call_id);
            let metadata = &one.payload.metadata;
            let line = (&metadata.uuid, metadata.timestamp, call);
            let line = format!("{line:?} {:?} {}", one.kind(), serde_json::to_string(&one.payload).unwrap());
            assert!(metadata.uuid.is_none() || once.insert(line.clone()), "twice: {line}");
            said.entry(metadata.agent.clone()).or_default().push(line);
        }
        let ids = (1..=200).map(|number| format!("t{number}"));
        let parts = ids.map(|id| thread.work(Part::Item(&id)).cloned());
        let work = [thread.work(Part::Whole).cloned(), thread.work(Part::Outside).cloned()];
        let list = thread.list().iter().map(|item| (item.content.clone(), item.status)).collect();
        let revisions = thread.revisions().last();
        (key, Known { list, revisions, said, work: work.into_iter().chain(parts).collect() })
    });
    known.filter(|(_, known)| known.revisions > 0 || !known.said.is_empty()).collect()
}

/// An Emacs that follows a transcript.
struct Emacs {
    store: Store,
    follower: Follower,
    recorder: Recorder,
}

impl Emacs {
    fn start(journals: &Path, file: &Path) -> Emacs {
        let storage =
            Storage { folder: Some(journals.to_owned()), history_limit: usize::MAX, ..Storage::default() };
        let follower = Follower::new(file.to_owned(), Options::default());
        Emacs { store: Store::new(storage), follower, recorder: Recorder::default() }
    }

    fn read(&mut self) -> &mut Emacs {
        let appended = read_all(&mut self.follower).unwrap();
        if appended.change == TailChange::Replaced {
            self.recorder.restart();
        }
        record(&mut self.recorder, &mut self.store, &appended.events, NOW);
        self
    }

    /// Reads another transcript.
    fn read_another(&mut self, file: PathBuf) {
        (self.follower, self.recorder) = (Follower::new(file, Options::default()), Recorder::default());
        self.read();
    }
}

fn append(file: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).create(true).open(file).unwrap().write_all(bytes).unwrap();
}

/// Cuts the newest journals, like a crash of the machine at any moment.
fn crash(journals: &Path, random: u64) {
    for (number, path) in newest_segments(journals).into_iter().enumerate() {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len((random >> (number % 7)) % (length + 1)).unwrap();
    }
}

fn sessions() -> Vec<PathBuf> {
    let codex =
        corpus_or_skip("transcripts/codex").into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files = transcripts();
    files.extend(codex.map(|entry| entry.unwrap().path()));
    // The cuts are drawn by chance in this order.
    files.sort();
    files
}

/// The transcripts in `test/fixtures/transcripts`.
const FIXTURES: [&str; 4] = [
    "todo-write.jsonl",
    "tasks.jsonl",
    "5e55a000-0000-4000-8000-000000000003.jsonl",
    "rollout-2026-04-02T07-00-00-01a2c0de-0000-7000-8000-000000000001.jsonl",
];

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// What becomes known of a transcript that is read at once.
fn known_at_once(bytes: &[u8]) -> BTreeMap<String, Known> {
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    let file = folder.path().join("session.jsonl");
    append(&file, bytes);
    known(&mut Emacs::start(&folder.path().join("journals"), &file).read().store)
}

/// What becomes known of a transcript that grows in pieces, with an event at each cut: the Emacs goes on, another
/// one begins after or beside it, the machine crashes, or the file is moved or copied.
fn known_by_pieces(bytes: &[u8], random: &mut Random, happened: &mut [u32; 6]) -> BTreeMap<String, Known> {
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    let mut cuts: Vec<usize> = (0..8).map(|_| random.below(bytes.len())).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let (journals, mut file) = (folder.path().join("journals"), folder.path().join("session.jsonl"));
    append(&file, b"");
    let mut emacs = Emacs::start(&journals, &file);
    for (number, pair) in cuts.windows(2).enumerate() {
        append(&file, &bytes[pair[0]..pair[1]]);
        emacs.read();
        let event = random.below(6);
        happened[event] += 1;
        let other = folder.path().join(format!("other-{number}.jsonl"));
        match event {
            // The next Emacs begins after this one, or while this one goes on.
            1 => drop(std::mem::replace(&mut emacs, Emacs::start(&journals, &file))),
            2 => {
                let mut second = Emacs::start(&journals, &file);
                second.read();
                emacs = second;
            }
            3 => {
                emacs.store = Store::default();
                crash(&journals, random.below(usize::MAX) as u64);
                emacs = Emacs::start(&journals, &file);
            }
            4 => {
                fs::rename(&file, &other).unwrap();
                file = other;
                emacs.store = Store::default();
                emacs = Emacs::start(&journals, &file);
            }
            5 => {
                fs::copy(&file, &other).unwrap();
                file = other;
                emacs.store = Store::default();
                emacs = Emacs::start(&journals, &file);
            }
            _ => {}
        }
    }
    known(&mut emacs.read().store)
}

#[test]
fn every_recorded_session_cut_anywhere_is_recorded_once_whatever_happens_at_the_cuts() {
    let (mut random, mut happened) = (Random(20_260_101), [0; 6]);
    for path in sessions() {
        let bytes = fs::read(&path).unwrap();
        let (found, expected) = (known_by_pieces(&bytes, &mut random, &mut happened), known_at_once(&bytes));
        for (thread, expected) in &expected {
            assert_eq!(found.get(thread), Some(expected), "{thread} in {}", path.display());
        }
        assert_eq!(found.len(), expected.len(), "{}", path.display());
    }
    println!("went on, restarted, two at once, crashed, moved, copied: {happened:?}");
}

/// The prompt of a turn, the tasks of which it has something, its commits, its ending, and its work: all, and outside of tasks.
type OfTurn = (Option<String>, Vec<String>, Vec<Commit>, Option<Ending>, [Option<Work>; 2]);

fn turns(store: &mut Store, key: &str) -> Vec<OfTurn> {
    let thread = store.get(key).unwrap().unwrap();
    let of_turn = |(number, turn): (usize, &Turn)| {
        let work = [Part::Whole, Part::Outside].map(|part| thread.work_in_turn(number, part).cloned());
        (turn.prompt.clone(), turn.items(), turn.commits.clone(), turn.ending, work)
    };
    thread.turns().iter().enumerate().map(of_turn).collect()
}

/// What becomes known of a transcript if its events come in batches of at least `least` events, which end behind
/// whole lines, and Emacs crashes after each batch. The next Emacs reads the transcript from its beginning.
fn known_by_batches(
    transcript: &Path,
    mut least: impl FnMut() -> usize,
) -> BTreeMap<String, (Known, Vec<OfTurn>)> {
    let folder = Folder::new();
    let mut until = 0_usize;
    loop {
        let mut emacs = Emacs::start(folder.path(), transcript);
        let events = read_all(&mut emacs.follower).unwrap().events;
        until = events.len().min(until.saturating_add(least()));
        while until < events.len() && events[until].place == events[until - 1].place {
            until += 1;
        }
        record(&mut emacs.recorder, &mut emacs.store, &events[..until], NOW);
        if until == events.len() {
            let known = known(&mut emacs.store).into_iter();
            return known.map(|(key, known)| (key.clone(), (known, turns(&mut emacs.store, &key)))).collect();
        }
    }
}

fn assert_recorded_once(transcript: &Path, least: impl FnMut() -> usize) {
    let (found, expected) =
        (known_by_batches(transcript, least), known_by_batches(transcript, || usize::MAX));
    assert!(!expected.is_empty(), "{}", transcript.display());
    assert!(found.keys().eq(expected.keys()), "{}", transcript.display());
    for (key, (known, turns)) in &expected {
        let (found, found_turns) = &found[key];
        let context = format!("{key} in {}", transcript.display());
        assert_eq!(found.said, known.said, "{context}");
        assert_eq!((&found.list, found.revisions), (&known.list, known.revisions), "{context}");
        assert!(found.work == known.work, "{context}: {:?}", (&found.work[..3], &known.work[..3]));
        assert_eq!(found_turns, turns, "{context}");
        for part in [0, 1] {
            let of_turns = sums(turns.iter().filter_map(|(.., work)| work[part].as_ref()));
            assert_eq!(of_turns, sums(known.work[part].iter()), "{context}");
        }
    }
}

/// A line of a response in which so many tokens were put out so far.
fn respond(session: &mut Session, response: &str, output: u64, block: Value) {
    let usage = json!({"input_tokens": 3, "output_tokens": output});
    session.line("assistant", json!({"message": {"id": response, "usage": usage, "content": [block]}}));
}

/// A session of Claude Code whose responses have several lines, with a subagent that has a plan in its own file, and
/// another one of which only the sums are known.
fn session_with_subagents() -> Followed {
    let text = |text: &str| json!({"type": "text", "text": text});
    let mut session = Session::new("cli");
    session.prompt("Bake");
    respond(&mut session, "r1", 1, text("First the dough."));
    session.create(1, "Sift").create(2, "Knead").update(1, "in_progress");
    respond(&mut session, "r1", 5, text("Then the oven."));
    session.call("Agent", json!({"description": "Sift", "prompt": "Help"}), "Done.", Value::Null);
    let stats =
        json!({"agentId": "a8", "toolStats": {"linesAdded": 8, "linesRemoved": 3, "editFileCount": 2}});
    session.call("Agent", json!({"description": "Knead", "prompt": "Knead"}), "Done.", stats);
    session.prompt("Go on");
    respond(&mut session, "r2", 2, text("The bread is in the oven."));
    session.call("Bash", json!({"command": "bake"}), "warm", Value::Null);
    respond(&mut session, "r2", 9, text("It is done."));
    let mut subagent = Session::new("cli");
    subagent.prompt("Help");
    respond(&mut subagent, "r3", 2, text("I look for the sieve."));
    subagent.call("Bash", json!({"command": "ls"}), "sieve", Value::Null);
    let entry = json!([{"content": "Find", "status": "in_progress", "activeForm": "Finding"}]);
    subagent.call("TodoWrite", json!({ "todos": entry }), "Todos have been modified", Value::Null);
    respond(&mut subagent, "r3", 7, text("There it is."));
    let followed = Followed::new();
    for (number, line) in subagent.lines.iter_mut().enumerate() {
        line["uuid"] = format!("v{number}").into();
        line["isSidechain"] = true.into();
        line["agentId"] = "a7".into();
        let line = format!("{line}\n").replace("toolu_", "toolu_of_a7_");
        followed.append_to_subagent(OsStr::new("agent-a7.jsonl"), line.as_bytes());
    }
    session.lines.iter().for_each(|line| followed.line(line));
    followed
}

/// A session of Codex with the tokens of its responses, and a subagent that has a plan.
fn rollout_with_subagent() -> Followed {
    let tokens = |rollout: &mut Rollout, all: u64| {
        let usage = json!({"input_tokens": all, "output_tokens": all});
        rollout
            .event("token_count", json!({"info": {"total_token_usage": usage, "last_token_usage": usage}}));
    };
    let mut parent = codex_subagents::parent(false);
    tokens(&mut parent, 10);
    parent.script("await tools.exec_command({cmd: 'true'})", "Script completed");
    parent.update(&[("Count the books", "completed"), ("Sell them", "in_progress")], "Plan updated");
    tokens(&mut parent, 25);
    parent.event("task_complete", json!({"turn_id": "1"}));
    let mut child = codex_subagents::child(Some(&parent));
    child.update(&[("Look", "completed"), ("Add up", "in_progress")], "Plan updated");
    tokens(&mut child, 30);
    let followed = Followed::new();
    codex_subagents::write(&followed, &child.0);
    parent.0.iter().for_each(|line| followed.line(line));
    followed
}

#[test]
fn a_session_is_recorded_once_if_emacs_crashes_after_every_line() {
    let written = [session_with_subagents(), rollout_with_subagent()];
    for followed in &written {
        let threads = known_by_batches(&followed.file(), || usize::MAX);
        assert_eq!(threads.len(), 2, "the subagent has a plan: {:?}", threads.keys());
        assert_recorded_once(&followed.file(), || 1);
    }
    FIXTURES.iter().for_each(|name| assert_recorded_once(&fixture_path(name), || 1));
}

#[test]
fn every_recorded_session_is_recorded_once_if_emacs_crashes_between_lines() {
    let mut random = Random(20_260_103);
    for path in sessions() {
        let events = read_all(&mut Follower::new(path.clone(), Options::default())).unwrap().events.len();
        assert_recorded_once(&path, || 1 + random.below(1 + events / 4));
    }
}

/// A session whose agent keeps its lists with `todo_write`: its events, and its calls.
struct WithCalls {
    events: Vec<Event>,
    /// Each with the thread and the list, and with its time.
    calls: Vec<(String, Call, Plan)>,
    /// The description of the thread that an agent's program begins.
    about: Map<String, Value>,
}

impl WithCalls {
    /// Turns the calls of the agent's own tool for whole lists into calls of `todo_write`.
    fn of(path: &Path, names_calls: bool) -> WithCalls {
        let mut text = fs::read_to_string(path).unwrap();
        for tool in ["TodoWrite", "update_plan"] {
            for space in ["", " "] {
                let name = |tool: &str| format!("\"name\":{space}\"{tool}\"");
                text = text.replace(&name(tool), &name("mcp__plans__todo_write"));
            }
        }
        let folder = Folder::new();
        fs::create_dir_all(folder.path()).unwrap();
        let file = folder.path().join("session.jsonl");
        append(&file, text.as_bytes());
        let events = read_all(&mut Follower::new(file, Options::default())).unwrap().events;
        let call = |event: &Event| match &event.kind {
            EventKind::EmacsCall { id, list: Some(Ok(plan)), .. } => {
                let id = names_calls.then(|| id.clone());
                let call = Call { sent: Some(format!("p/{}", event.uuid)), id, time: event.time };
                Some((event.source.key(), call, plan.clone()))
            }
            _ => None,
        };
        let calls = events.iter().filter_map(call).collect();
        let folder = events.first().map_or("", |event| event.source.folder.trim_end_matches('/'));
        let about = Map::from_iter([("project".to_owned(), format!("{folder}/").into())]);
        WithCalls { events, calls, about }
    }

    /// What becomes known if calls and lines come in the order of their times, or calls earlier, and lines in
    /// batches, with a crash after some. `next` says how many calls come early, how many events the batch has
    /// at least, and whether Emacs crashes after it.
    fn known(&self, mut next: impl FnMut() -> (usize, usize, bool)) -> BTreeMap<String, Known> {
        let folder = Folder::new();
        let mut emacs = Emacs::start(folder.path(), Path::new(""));
        let (events, mut told, mut from, mut until) = (&self.events, 0, 0, 0);
        while until < events.len() {
            let (early, least, crashes) = next();
            until = events.len().min(until + least);
            while until < events.len() && events[until].place == events[until - 1].place {
                until += 1;
            }
            // The agent goes on when a call is answered.
            let time = events[from..until].iter().filter_map(|event| event.time).max();
            let due =
                self.calls.iter().rposition(|(_, call, _)| call.time <= time).map_or(0, |last| last + 1);
            let calls = &self.calls[told..self.calls.len().min(told.max(due) + early)];
            told += calls.len();
            let mut last = None;
            for (key, call, plan) in calls {
                let time = call.time.unwrap();
                let options = WriteOptions { call: Some(call.clone()), ..WriteOptions::default() };
                let thread = emacs.store.open(key, self.about.clone(), time);
                let outcome = thread.change(|thread| thread.write(plan.clone(), options, time));
                last = Some((key, call, outcome.result));
            }
            record(&mut emacs.recorder, &mut emacs.store, &events[from..until], NOW);
            from = until;
            if crashes {
                emacs = Emacs::start(folder.path(), Path::new(""));
                from = 0;
            }
            if let Some((key, call, result)) = last {
                let again = emacs.store.open(key, Map::new(), NOW).answered(call, NOW);
                assert_eq!(again.map(|outcome| outcome.result), Some(result));
            }
        }
        known(&mut emacs.store)
    }
}

#[test]
fn every_recorded_session_is_recorded_once_also_while_calls_arrive() {
    let (mut random, mut calls) = (Random(20_260_104), 0);
    for (path, names_calls) in sessions().iter().flat_map(|path| [(path, true), (path, false)]) {
        let session = WithCalls::of(path, names_calls);
        if session.calls.is_empty() {
            continue;
        }
        calls += session.calls.len();
        let expected = session.known(|| (0, 1, false));
        let most = 1 + session.events.len() / 8;
        for _ in 0..2 {
            let found = session.known(|| (random.below(3), 1 + random.below(most), random.below(3) == 0));
            assert_eq!(found, expected, "{}", path.display());
        }
        assert_eq!(session.known(|| (usize::MAX / 2, 1, false)), expected, "{}", path.display());
    }
    assert!(calls > 0);
}

/// A session that is forked before a line, and its fork, which then goes on in its place.
struct Forked {
    session: Vec<u8>,
    fork: Vec<u8>,
}

impl Forked {
    /// Forks a session at one of its prompts; none if it has no second one.
    fn of(bytes: &[u8], random: &mut Random) -> Option<Forked> {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let is_codex = lines[0]["type"] == "session_meta";
        let turn = |line: &Value| line["payload"]["turn_id"].as_str().map(str::to_owned);
        let begins = |line: &Value| match is_codex {
            true => line["payload"]["type"] == "task_started" && turn(line).is_some(),
            false => line["type"] == "user" && line["message"]["content"].is_string(),
        };
        let places: Vec<usize> = (1..lines.len()).filter(|at| begins(&lines[*at])).skip(1).collect();
        let at = *places.get(random.below(places.len().max(1)))?;
        let mut fork = lines.clone();
        if is_codex {
            let mut meta = lines[0].clone();
            meta["payload"]["forked_from_id"] = meta["payload"]["id"].take();
            // The ids of sessions and turns grow with the time.
            meta["payload"]["id"] = turn(&lines[at]).into();
            fork.insert(0, meta);
        } else {
            for (number, line) in fork.iter_mut().enumerate() {
                if line["type"] == "assistant" {
                    let session = if number < at { line["sessionId"].clone() } else { "fork".into() };
                    line["requestSessionId"] = session;
                }
                line["sessionId"] = "fork".into();
            }
        }
        let bytes = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>().into();
        Some(Forked { session: bytes(&lines[..at]), fork: bytes(&fork) })
    }
}

/// Commands, lines and edits, and tokens.
fn figures(work: &Work) -> [u64; 7] {
    let (commands, tokens) = (work.commands, work.tokens);
    let all = tokens.input + tokens.cache_read + tokens.cache_write;
    [commands.run, commands.failed, work.added, work.removed, work.edits, all, tokens.output]
}

fn sums<'w>(works: impl Iterator<Item = &'w Work>) -> [u64; 7] {
    works.map(figures).fold([0; 7], |sum, one| std::array::from_fn(|n| sum[n] + one[n]))
}

#[test]
fn a_fork_of_every_recorded_session_is_recorded_once_and_counts_no_work_of_that_session() {
    let (mut random, mut happened, mut forks) = (Random(20_260_102), [0; 6], 0);
    for path in sessions() {
        let whole = fs::read(&path).unwrap();
        let Some(Forked { session, fork }) = Forked::of(&whole, &mut random) else { continue };
        forks += 1;
        let folder = Folder::new();
        fs::create_dir_all(folder.path()).unwrap();
        let files = ["session.jsonl", "fork.jsonl"].map(|name| folder.path().join(name));
        let journals = folder.path().join("journals");
        append(&files[0], &session);
        append(&files[1], &fork);
        let before = known(&mut Emacs::start(&journals, &files[0]).read().store);
        let both = known(&mut Emacs::start(&journals, &files[1]).read().store);
        for (thread, before) in &before {
            assert_eq!(both.get(thread), Some(before), "{thread} in {}", path.display());
        }
        let of_fork = known_at_once(&fork);
        assert_eq!(known_by_pieces(&fork, &mut random, &mut happened), of_fork, "{}", path.display());
        assert_eq!(both.len(), before.len() + of_fork.len(), "{}", path.display());
        let sum = |known: &BTreeMap<String, Known>| {
            let main = known.iter().filter(|(key, _)| !key.contains('/'));
            sums(main.filter_map(|(_, known)| known.work[0].as_ref()))
        };
        assert_eq!(sum(&both), sum(&known_at_once(&whole)), "{}", path.display());
    }
    assert!(forks > 0);
    println!("{forks} forks: went on, restarted, two at once, crashed, moved, copied: {happened:?}");
}

/// What the journals of todo-write 0.3 in `test/fixtures/journals` have, which it made of the fixtures of
/// transcripts.
fn known_to_0_3(folder: &Folder) -> BTreeMap<String, Known> {
    fs::create_dir_all(folder.path()).unwrap();
    for entry in fs::read_dir(fixture_path("../journals")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    known(&mut Emacs::start(folder.path(), Path::new("")).store)
}

/// The number of all observations that the journals have.
fn observations(store: &mut Store) -> usize {
    let keys = kept(store);
    let count = |key: &String| store.get(key).unwrap().unwrap().observations().reported().count();
    keys.iter().map(count).sum()
}

#[test]
fn journals_of_0_3_have_the_lists_of_their_transcripts_which_add_nothing_to_them() {
    let (folder, fresh) = (Folder::new(), Folder::new());
    let old = known_to_0_3(&folder);
    let mut now = Emacs::start(fresh.path(), Path::new(""));
    FIXTURES.iter().for_each(|name| now.read_another(fixture_path(name)));
    let now = known(&mut now.store);
    assert!(!old.is_empty() && old.keys().eq(now.keys()), "{:?} {:?}", old.keys(), now.keys());
    for (key, known) in &old {
        assert_eq!((&known.list, known.revisions), (&now[key].list, now[key].revisions), "{key}");
    }
    let mut emacs = Emacs::start(folder.path(), Path::new(""));
    let before = observations(&mut emacs.store);
    FIXTURES.iter().for_each(|name| emacs.read_another(fixture_path(name)));
    assert_eq!(observations(&mut emacs.store), before);
    assert_eq!(known(&mut emacs.store), old);
}

#[test]
fn a_batch_that_was_not_completely_written_is_recorded_again_as_a_whole() {
    let folder = Folder::new();
    let (journals, file) = (folder.path().join("journals"), folder.path().join("session.jsonl"));
    fs::create_dir_all(folder.path()).unwrap();
    for line in [todo("1", "First"), answer("1", false), said("one"), said("two"), todo("2", "Second")] {
        append(&file, format!("{line}\n").as_bytes());
    }
    let expected = known(&mut Emacs::start(&journals, &file).read().store);
    let journal = newest_segments(&journals).remove(0);
    let written = fs::read(&journal).unwrap();
    let is_near =
        |length: &usize| length.is_multiple_of(5) || written[length.saturating_sub(2)..].starts_with(b"}\n");
    for length in (0..=written.len()).filter(is_near) {
        fs::remove_dir_all(journal.parent().unwrap()).unwrap();
        fs::create_dir(journal.parent().unwrap()).unwrap();
        fs::write(&journal, &written[..length]).unwrap();
        let found = known(&mut Emacs::start(&journals, &file).read().store);
        assert_eq!(found, expected, "after {length} of {} bytes", written.len());
    }
}

fn said(text: &str) -> Value {
    let mut line = assistant(&format!("m-{text}"), json!({"type": "text", "text": text}));
    line["uuid"] = format!("s-{text}").into();
    line
}

fn messages(followed: &mut Followed) -> Vec<String> {
    let found = followed.observed("claude:s", Type::Message);
    found.iter().map(|content| content["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_of_an_older_copy_of_a_transcript_is_recorded() {
    for restarts in [false, true] {
        let mut followed = Followed::having(&[said("one"), said("two"), said("three")]);
        let mut replace = |text: &str| {
            fs::write(followed.file(), text).unwrap();
            if restarts {
                followed.restart();
            }
            followed.read();
            messages(&mut followed)
        };
        let newer: String = ["one", "two", "three", "four"].map(|text| format!("{}\n", said(text))).concat();
        let older = newer.split_inclusive('\n').next().unwrap();
        assert_eq!(replace(older), ["one", "two", "three"]);
        // What others append to it belongs to no place in the recorded session.
        assert_eq!(replace(&format!("{older}{}\n", said("other"))), ["one", "two", "three"]);
        assert_eq!(replace(&newer), ["one", "two", "three", "four"], "nothing twice, nothing lost");
    }
}

#[test]
fn another_transcript_of_the_same_name_is_recorded_from_its_beginning() {
    let mut followed = Followed::having(&[todo("1", "First"), answer("1", false)]);
    let mut later = todo("2", "Other");
    later["timestamp"] = "2026-01-02T00:00:00.000Z".into();
    let mut end = answer("2", false);
    end["timestamp"] = "2026-01-02T00:00:01.000Z".into();
    fs::write(followed.file(), format!("{later}\n{end}\n")).unwrap();
    followed.restart();
    followed.read();
    assert_eq!(followed.rows("claude:s"), list(&[("Other", Pending)]));
    assert_eq!(followed.observed("claude:s", Type::ToolCall).len(), 2);
}

#[test]
fn each_object_of_a_line_is_recorded_once_wherever_the_file_ended_when_it_was_read() {
    // A program that crashed within a line goes on behind it when it is started again.
    let claude = format!("{}{}\n{}\n", said("one }{"), said("two"), said("three"));
    let message = |text: &str| {
        json!({"timestamp": format!("2026-04-01T08:00:00.{}Z", text.len()), "type": "response_item",
               "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}})
    };
    let mut rollout = Rollout::new();
    let start = rollout.0.iter().map(|line| format!("{line}\n")).collect::<String>();
    rollout.0.clear();
    let codex = start + &format!("{}{}\n{}\n", message("one }{"), message("two"), message("three"));
    for (text, thread) in [(claude, "claude:s"), (codex, "codex:r")] {
        let ends = (0..=text.len()).filter(|end| {
            let near = &text[end.saturating_sub(3)..text.len().min(end + 3)];
            end % 41 == 0 || near.contains("}}{") || near.contains('\n')
        });
        for end in ends {
            let mut followed = Followed::new();
            followed.append(&text.as_bytes()[..end]);
            followed.read();
            followed.append(&text.as_bytes()[end..]);
            followed.read();
            followed.restart();
            followed.read();
            let found = followed.observed(thread, Type::Message);
            let found: Vec<&str> = found.iter().map(|content| content["text"].as_str().unwrap()).collect();
            assert_eq!(found, ["one }{", "two", "three"], "{thread} cut at {end} of {}", text.len());
        }
    }
}

#[test]
fn what_can_be_read_of_a_line_is_kept_and_the_lines_are_counted_and_said_once() {
    let mut followed = Followed::new();
    let mut mistyped = said("of another type");
    mistyped["isMeta"] = "no".into();
    mistyped["message"]["usage"] = json!({"input_tokens": "many", "output_tokens": 3});
    followed.line(&mistyped);
    let escaped = said("escaped").to_string().replace("\"uuid\":\"s-", "\"uuid\":\"\\u0073-");
    followed.append(format!("{escaped}\n").as_bytes());
    let mut blocks = said("good");
    let bad = json!({"type": "tool_use", "id": 5, "name": ["x"]});
    let good = blocks["message"]["content"][0].clone();
    blocks["message"]["content"] = json!([bad, good, 7]);
    followed.line(&blocks);
    followed.append(b"{ this is no JSON }\n\n");
    followed.read();
    assert_eq!(messages(&mut followed), ["of another type", "escaped", "good"]);
    let work = followed.store.get("claude:s").unwrap().unwrap().work(Part::Whole).unwrap().clone();
    assert_eq!((work.tokens.output, work.tokens.input), (3, 0));
    let warning = followed.follower.take_warning().unwrap();
    assert!(warning.starts_with("3 lines of ") && warning.contains("cannot be read in full"), "{warning}");
    followed.append(b"no JSON either\n");
    followed.read();
    assert_eq!(followed.follower.take_warning(), None);
}

#[test]
fn every_line_of_the_recorded_sessions_can_be_read() {
    for path in sessions() {
        let mut follower = Follower::new(path, Options::default());
        read_all(&mut follower).unwrap();
        assert_eq!(follower.take_warning(), None);
    }
}

#[test]
fn tokens_that_grow_after_they_were_recorded_replace_the_earlier_ones() {
    for restarts in [false, true] {
        let mut followed = Followed::new();
        for (uuid, output) in [("s-1", 3), ("s-2", 10)] {
            let mut line = said("in two lines");
            line["uuid"] = uuid.into();
            line["message"]["usage"] = json!({"input_tokens": 1, "output_tokens": output});
            followed.line(&line);
            if restarts {
                followed.restart();
            }
            followed.read();
        }
        let thread = followed.store.get("claude:s").unwrap().unwrap();
        let work = thread.work(Part::Whole).unwrap();
        assert_eq!((work.responses, work.tokens.input, work.tokens.output), (1, 1, 10), "{restarts}");
    }
}
