//! The hub without Emacs: what it reports of files, and that it waits for no root.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::id;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use todo_write::agents::Agent;
use todo_write::agents::recorder::Recorder;
use todo_write::events::observation::{Observation, Type};
use todo_write::file::Slice;
use todo_write::hub::apply::Applier;
use todo_write::hub::{Home, Hub, Message, Scope, Settings};
use todo_write::journal::store::{Storage, Store};

use crate::common::process::{dead, living};
use crate::common::session::{line, list};
use crate::common::{Folder, NEVER, wait, wait_until};

const NOW: u64 = 4_000_000_000_000;

/// A home of Claude Code, and a hub that looks at it often.
struct Homes {
    folder: Folder,
    hub: Hub,
    rings: Arc<AtomicUsize>,
    /// What was taken and not looked for.
    taken: Vec<Message>,
}

impl Homes {
    fn new() -> Homes {
        Homes::looking(Duration::from_millis(20))
    }

    fn looking(interval: Duration) -> Homes {
        let folder = Folder::new();
        for name in ["projects/-garden", "sessions"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let rings = Arc::new(AtomicUsize::new(0));
        let ring = Arc::clone(&rings);
        let settings = Settings { interval, ..Settings::default() };
        let hub = Hub::new(
            settings,
            Box::new(move || {
                ring.fetch_add(1, Ordering::SeqCst);
            }),
        );
        Homes { folder, hub, rings, taken: Vec::new() }
    }

    fn home(&self, scope: Option<Scope>) -> Home {
        Home { agent: Agent::Claude, folder: self.folder.path().to_owned(), scope }
    }

    fn file(&self, session: &str) -> PathBuf {
        self.folder.path().join(format!("projects/-garden/{session}.jsonl"))
    }

    fn write(&self, session: &str, text: &str) -> PathBuf {
        let path = self.file(session);
        let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        path
    }

    /// Waits for a message that `find` accepts; keeps the others.
    fn wait<T>(&mut self, mut find: impl FnMut(&Message) -> Option<T>) -> T {
        loop {
            let message = wait("a message", || self.hub.take());
            let found = find(&message);
            self.taken.push(message);
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// Waits until a reader waits for room, while nothing is taken.
    fn wait_until_full(&self) {
        wait_until("a full queue", || self.hub.waiting_bytes() >= 1024 * 1024);
    }

    fn wait_until_ready(&mut self, session: u64) {
        self.wait(|message| {
            matches!(message, Message::Ready { session: one, .. } if *one == session).then_some(())
        });
    }

    /// Applies all events of a session that were taken.
    fn apply(&mut self, session: u64, applier: &mut Applier, store: &mut Store) {
        for message in std::mem::take(&mut self.taken) {
            if let Message::Events(id, piece) = message
                && id == session
            {
                applier.add(piece);
                while applier.is_due() {
                    applier.step(store, false, NOW, &Slice::of(Duration::ZERO));
                }
            }
        }
    }
}

fn contents(store: &mut Store, key: &str) -> Vec<String> {
    let thread = store.get_mut(key);
    thread.map(|thread| thread.list().iter().map(|item| item.content.clone()).collect()).unwrap_or_default()
}

#[test]
fn a_session_is_reported_to_its_end_and_then_as_it_grows() {
    let mut homes = Homes::new();
    let path = homes.write("s", &(line("s", "user", 0, "Dig".into()) + &list("s", 1, "Bed 1")));
    let id = homes.hub.follow(&path);
    homes.wait_until_ready(id);
    let (mut applier, mut store) = (Applier::new(Recorder::default()), Store::new(Storage::default()));
    homes.apply(id, &mut applier, &mut store);
    assert_eq!(contents(&mut store, "claude:s"), ["Bed 1"]);
    homes.write("s", &list("s", 2, "Bed 2"));
    while contents(&mut store, "claude:s") != ["Bed 2"] {
        homes.wait(|message| matches!(message, Message::Events(..)).then_some(()));
        homes.apply(id, &mut applier, &mut store);
    }
}

#[test]
fn notifications_suffice_without_regular_looks() {
    let mut homes = Homes::looking(NEVER);
    let path = homes.write("s", &line("s", "user", 0, "Dig".into()));
    let id = homes.hub.follow(&path);
    homes.wait_until_ready(id);
    homes.write("s", &list("s", 1, "Bed 1"));
    homes.wait(|message| matches!(message, Message::Events(_, piece) if piece.bytes > 0).then_some(()));
}

#[test]
fn a_check_is_answered_after_all_that_the_file_had() {
    let mut homes = Homes::looking(NEVER);
    let path = homes.write("s", &line("s", "user", 0, "Dig".into()));
    let id = homes.hub.follow(&path);
    homes.wait_until_ready(id);
    let (mut applier, mut store) = (Applier::new(Recorder::default()), Store::new(Storage::default()));
    for n in 1..30 {
        homes.write("s", &list("s", n, &format!("Bed {n}")));
        homes.hub.check(id);
        homes.wait_until_ready(id);
        homes.apply(id, &mut applier, &mut store);
        assert_eq!(contents(&mut store, "claude:s"), [format!("Bed {n}")]);
    }
}

#[test]
fn readers_wait_while_nobody_takes_what_they_have() {
    let homes = Homes::new();
    let text = "x".repeat(1_500);
    let lines: String =
        (1..20_000).map(|n| line("long", "assistant", n, json!([{"type": "text", "text": text}]))).collect();
    let path = homes.write("long", &lines);
    let id = homes.hub.follow(&path);
    homes.wait_until_full();
    // One ring is enough until something is taken.
    assert_eq!(homes.rings.load(Ordering::SeqCst), 1);
    let mut counts = Vec::new();
    loop {
        let waiting = homes.hub.waiting_bytes();
        assert!(waiting < 2 * 1024 * 1024, "{waiting}");
        match wait("a message", || homes.hub.take()) {
            Message::Events(_, piece) => counts.push(piece.events.len()),
            Message::Ready { session, .. } if session == id => break,
            _ => {}
        }
    }
    assert_eq!(counts.iter().sum::<usize>(), 19_999);
    assert!(counts.iter().all(|count| *count <= 16), "a piece is small");
}

#[test]
fn a_session_that_ends_while_its_reader_waits_holds_nothing() {
    let mut homes = Homes::new();
    let text = "x".repeat(1_500);
    let lines: String =
        (1..5_000).map(|n| line("a", "assistant", n, json!([{"type": "text", "text": text}]))).collect();
    let (a, b) = (homes.write("a", &lines), homes.write("b", &list("b", 1, "Bed 1")));
    let first = homes.hub.follow(&a);
    homes.wait_until_full();
    homes.hub.stop(first);
    let second = homes.hub.follow(&b);
    homes.wait_until_ready(second);
    assert!(homes.taken.iter().all(|message| !matches!(message, Message::Events(id, _) if *id == first)));
}

#[test]
fn live_lines_go_before_the_history_of_others() {
    let mut homes = Homes::new();
    let text = "x".repeat(1_500);
    let lines: String =
        (1..5_000).map(|n| line("old", "assistant", n, json!([{"type": "text", "text": text}]))).collect();
    let (live, old) = (homes.write("live", &list("live", 1, "Bed 1")), homes.write("old", &lines));
    homes.hub.set_homes(vec![homes.home(None)]);
    let live = homes.hub.follow(&live);
    homes.wait_until_ready(live);
    homes.taken.clear();
    let old = homes.hub.follow(&old);
    homes.wait_until_full();
    homes.write("live", &list("live", 2, "Bed 2"));
    // Its reader is due from now on, and runs once the other one, which waits for room, ends its turn.
    homes.hub.check(live);
    homes.wait(|message| matches!(message, Message::Events(id, _) if *id == live).then_some(()));
    let before = homes.taken.iter().filter(|message| matches!(message, Message::Events(id, _) if *id == old));
    assert!(before.count() < 200, "the live lines came before the end of the history");
}

#[test]
fn what_is_no_file_is_given_up_with_the_reason_and_others_go_on() {
    let mut homes = Homes::new();
    let good = homes.write("good", &list("good", 1, "Bed 1"));
    let missing = homes.hub.follow(&homes.file("missing"));
    let folder = homes.hub.follow(homes.folder.path());
    let good = homes.hub.follow(&good);
    for id in [missing, folder] {
        let reason = homes.wait(|message| match message {
            Message::Unreadable(one, reason) if *one == id => Some(reason.clone()),
            _ => None,
        });
        assert!(!reason.is_empty());
    }
    homes.wait_until_ready(good);
}

#[test]
fn a_process_is_told_of_with_its_end_and_whether_it_was_killed() {
    let mut homes = Homes::new();
    let path = homes.write("s", &list("s", 1, "Bed 1"));
    homes.hub.set_homes(vec![homes.home(None)]);
    let session = homes.hub.follow(&path);
    homes.wait_until_ready(session);
    let mut child = living();
    let file = homes.folder.path().join(format!("sessions/{}.json", child.id()));
    fs::write(&file, r#"{"sessionId": "s", "status": "busy"}"#).unwrap();
    let pid = child.id();
    homes.wait(|message| match message {
        Message::Processes { live, .. } => live.iter().any(|process| process.pid == pid).then_some(()),
        _ => None,
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = homes.wait(|message| match message {
        Message::Processes { live, killed, .. } if live.is_empty() && !killed.is_empty() => {
            Some(killed.clone())
        }
        _ => None,
    });
    assert_eq!(killed, [("s".to_owned(), pid)]);
    assert_ne!(pid, id());
}

#[test]
fn that_a_session_has_no_process_here_says_nothing_if_it_runs_in_a_container() {
    for (domain, is_told) in [("", true), (r#", "pidDomain": "linux:0:pid:[1]""#, false)] {
        let mut homes = Homes::new();
        let file = homes.folder.path().join(format!("sessions/{}.json", dead()));
        fs::write(file, format!(r#"{{"sessionId": "s", "status": "busy"{domain}}}"#)).unwrap();
        let line = line("s", "user", 0, "Dig".into()).replacen('{', r#"{"entrypoint":"cli","#, 1);
        let path = homes.write("s", &line);
        homes.hub.set_homes(vec![homes.home(None)]);
        let session = homes.hub.follow(&path);
        let told = homes.wait(|message| match message {
            Message::Ready { session: ready, has_processes } if *ready == session => Some(*has_processes),
            _ => None,
        });
        assert_eq!(told, is_told);
    }
}

#[test]
#[ignore = "thorough: a race between threads"]
fn a_search_that_is_asked_for_while_another_ends_is_answered() {
    let mut homes = Homes::new();
    homes.hub.set_homes(vec![homes.home(of_project(Path::new("/garden")))]);
    for _ in 0..300 {
        homes.hub.search();
        // Asked again as early as can be.
        homes.wait(|message| matches!(message, Message::Found(..)).then_some(()));
        homes.taken.clear();
    }
}

#[test]
#[ignore = "thorough: a race between threads"]
fn a_home_that_is_given_again_while_it_is_read_is_told_of_again() {
    let mut homes = Homes::looking(NEVER);
    let file = homes.folder.path().join(format!("sessions/{}.json", id()));
    fs::write(file, r#"{"sessionId": "s", "status": "busy"}"#).unwrap();
    for _ in 0..500 {
        homes.hub.set_homes(Vec::new());
        homes.hub.set_homes(vec![homes.home(None)]);
        let is_live =
            |message: &Message| matches!(message, Message::Processes { live, .. } if live.len() == 1);
        homes.wait(|message| is_live(message).then_some(()));
        homes.taken.clear();
        // Its processes are being read when the home is taken away.
        homes.hub.set(|_| ());
    }
}

#[test]
fn a_session_that_was_followed_before_its_home_was_known_is_looked_at() {
    let mut homes = Homes::looking(NEVER);
    let path = homes.write("s", &line("s", "user", 0, "Dig".into()));
    let id = homes.hub.follow(&path);
    homes.wait_until_ready(id);
    homes.hub.set_homes(vec![homes.home(None)]);
    // A file that grows no more is not looked at soon again.
    homes.hub.check(id);
    homes.wait_until_ready(id);
    homes.write("s", &list("s", 1, "Bed 1"));
    homes.wait(|message| matches!(message, Message::Events(_, piece) if piece.bytes > 0).then_some(()));
}

#[test]
fn a_number_of_a_session_is_never_used_again() {
    let (mut first, mut second) = (Homes::new(), Homes::new());
    let numbers = [&mut first, &mut second].map(|homes| homes.hub.follow(&homes.file("s")));
    assert_ne!(numbers[0], numbers[1]);
}

fn of_project(root: &Path) -> Option<Scope> {
    Some(Scope { project: vec![root.to_owned()], is_all: false })
}

#[test]
fn new_sessions_of_a_project_are_found_and_those_of_others_are_told_apart() {
    let mut homes = Homes::new();
    homes.hub.set_homes(vec![homes.home(of_project(Path::new("/garden")))]);
    homes.hub.search();
    homes.wait(|message| matches!(message, Message::Found(..)).then_some(()));
    homes.write("new", &line("new", "user", 0, "Dig".into()));
    let elsewhere = homes.folder.path().join("projects/-garden-shed");
    fs::create_dir_all(&elsewhere).unwrap();
    let other = line("other", "user", 0, "Dig".into()).replace("\"/garden\"", "\"/garden-shed\"");
    fs::write(elsewhere.join("other.jsonl"), other).unwrap();
    let found = homes.wait(|message| match message {
        Message::Found(found, _) if found.len() == 2 => Some(found.clone()),
        _ => None,
    });
    for one in found {
        assert_eq!(one.is_of_project, one.path == homes.file("new"), "{one:?}");
    }
}

#[test]
fn a_session_of_a_project_whose_folder_is_named_alike_is_of_another_project() {
    // Claude Code writes all but ASCII letters and digits as hyphens.
    for (project, other, name) in
        [("/my_app", "/my-app", "-my-app"), ("/정원", "/부엌", "---"), ("/a/b", "/a-b", "-a-b")]
    {
        let mut homes = Homes::new();
        homes.hub.set_homes(vec![homes.home(of_project(Path::new(project)))]);
        homes.hub.search();
        let folder = homes.folder.path().join("projects").join(name);
        fs::create_dir_all(&folder).unwrap();
        for (session, cwd) in [("own", project), ("other", other)] {
            let text = line(session, "user", 0, "Dig".into()).replace("\"/garden\"", &format!("{cwd:?}"));
            fs::write(folder.join(format!("{session}.jsonl")), text).unwrap();
        }
        let found = homes.wait(|message| match message {
            Message::Found(found, _) if found.len() == 2 => Some(found.clone()),
            _ => None,
        });
        let own = found.iter().filter(|one| one.is_of_project).map(|one| one.path.clone());
        assert_eq!(own.collect::<Vec<_>>(), [folder.join("own.jsonl")], "{project}");
        let round = homes.hub.choose(vec![homes.home(of_project(Path::new(project)))]);
        let choices = homes.wait(|message| match message {
            Message::Choices(one, choices) if *one == round => Some(choices.clone()),
            _ => None,
        });
        let offered =
            choices.iter().map(|choice| (choice.description.session.as_str(), choice.found.is_of_project));
        assert_eq!(
            offered.collect::<BTreeMap<_, _>>(),
            [("other", false), ("own", true)].into(),
            "{project}"
        );
    }
}

#[test]
fn a_search_ends_however_long_a_look_at_the_folders_takes() {
    let mut homes = Homes::new();
    for n in 0..3_000 {
        let folder = homes.folder.path().join(format!("projects/-garden-{n}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("s{n}.jsonl")), line(&format!("s{n}"), "user", 0, "Dig".into()))
            .unwrap();
    }
    homes.hub.set_homes(vec![homes.home(Some(Scope { project: Vec::new(), is_all: true }))]);
    homes.wait(|message| matches!(message, Message::Found(found, _) if found.len() == 3_000).then_some(()));
}

#[test]
fn choices_are_described_newest_first() {
    let mut homes = Homes::new();
    homes.write("old", &line("old", "user", 0, "Dig".into()));
    let old = std::time::SystemTime::now() - Duration::from_secs(3_600);
    OpenOptions::new().append(true).open(homes.file("old")).unwrap().set_modified(old).unwrap();
    homes.write("new", &line("new", "user", 0, "Rake".into()));
    homes.write("agent-1", &line("x", "user", 0, "Sow".into()));
    let round = homes.hub.choose(vec![homes.home(of_project(Path::new("/garden")))]);
    let choices = homes.wait(|message| match message {
        Message::Choices(one, choices) if *one == round => Some(choices.clone()),
        _ => None,
    });
    let titles = choices.iter().map(|choice| choice.description.title.as_deref().unwrap_or_default());
    assert_eq!(titles.collect::<Vec<_>>(), ["Rake", "Dig"]);
}

#[test]
fn pieces_of_a_session_that_was_recorded_before_add_nothing_twice() {
    let folder = Folder::new();
    let storage = || Storage { folder: Some(folder.path().join("plans")), ..Storage::default() };
    let lines: String = (1..200).map(|n| list("s", n, &format!("Bed {n}"))).collect();
    let mut revisions = Vec::new();
    for more in ["", "", "last"] {
        let mut homes = Homes::new();
        let mut text = lines.clone();
        if !more.is_empty() {
            text.push_str(&list("s", 500, more));
        }
        let path = homes.write("s", &text);
        let id = homes.hub.follow(&path);
        homes.wait_until_ready(id);
        let (mut applier, mut store) = (Applier::new(Recorder::default()), Store::new(storage()));
        homes.apply(id, &mut applier, &mut store);
        revisions.push(store.get_mut("claude:s").unwrap().revisions().last());
    }
    assert_eq!(revisions, [199, 199, 200]);
}

#[test]
fn a_closed_hub_rings_no_more_and_its_threads_end() {
    let mut homes = Homes::new();
    let path = homes.write("s", &list("s", 1, "Bed 1"));
    let id = homes.hub.follow(&path);
    homes.wait_until_ready(id);
    homes.hub.close();
    let rings = homes.rings.load(Ordering::SeqCst);
    homes.write("s", &list("s", 2, "Bed 2"));
    homes.hub.search();
    wait_until("the end of its threads", || !homes.hub.is_alive());
    assert_eq!(homes.rings.load(Ordering::SeqCst), rings);
}

#[test]
fn a_session_that_was_recorded_before_is_recorded_piece_by_piece() {
    let mut homes = Homes::new();
    let path = homes.write("s", &(1..200).map(|n| list("s", n, &format!("Bed {n}"))).collect::<String>());
    let mut store = store();
    for _ in 0..2 {
        let id = homes.hub.follow(&path);
        let first = homes.wait(|message| match message {
            Message::Events(one, piece) if *one == id && !piece.events.is_empty() => Some(piece.is_last),
            _ => None,
        });
        let Some(Message::Events(_, piece)) = homes.taken.pop() else { unreachable!() };
        let mut applier = Applier::new(Recorder::default());
        applier.add(piece);
        assert!(!first && applier.is_due(), "no piece waits for the last one");
        while applier.is_due() {
            applier.step(&mut store, false, NOW, &Slice::WHOLE);
        }
        homes.hub.stop(id);
    }
}

/// A call of a tool.
fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/garden/plan"}})
}

/// The ids of the calls of a thread that begin with "b".
fn calls(store: &mut Store, key: &str) -> Vec<String> {
    let id = |one: &Arc<Observation>| {
        let call = Some(&one.payload).filter(|payload| payload.kind() == Type::ToolCall)?;
        Some(call.content["id"].as_str()?.to_owned()).filter(|id| id.starts_with('b'))
    };
    store.get_mut(key).unwrap().observations().reported().filter_map(id).collect()
}

fn store() -> Store {
    Store::new(Storage { history_limit: 1_000, ..Storage::default() })
}

fn ids(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|n| format!("b{n}")).collect()
}

#[test]
fn a_session_that_is_stopped_between_pieces_goes_on_after_its_last_whole_line() {
    let mut homes = Homes::new();
    let many: Vec<Value> = ids(0..40).iter().map(|id| tool_use(id)).collect();
    let path = homes.write("s", &(list("s", 1, "Dig") + &line("s", "assistant", 9, many.into())));
    let mut store = store();
    for is_stopped in [true, false] {
        let id = homes.hub.follow(&path);
        homes.wait_until_ready(id);
        if is_stopped {
            let is_events = |message: &Message| matches!(message, Message::Events(..));
            let first = homes.taken.iter().position(is_events).unwrap();
            homes.taken.truncate(first + 1);
        }
        homes.apply(id, &mut Applier::new(Recorder::default()), &mut store);
        homes.hub.stop(id);
    }
    assert_eq!(calls(&mut store, "claude:s"), ids(0..40));
}

#[test]
fn a_file_that_is_truncated_while_its_history_is_read_is_recorded_once() {
    let mut homes = Homes::new();
    let text = "x".repeat(1_500);
    let written = |numbers: std::ops::Range<usize>| -> String {
        numbers.map(|n| list("s", n, &format!("Bed {n}"))).collect()
    };
    let filler = |n: usize| line("s", "assistant", n, json!([{"type": "text", "text": text}]));
    let path = homes.write("s", &(written(0..3) + &(10..5_000).map(filler).collect::<String>()));
    let id = homes.hub.follow(&path);
    homes.wait_until_full();
    fs::write(&path, written(0..3)).unwrap();
    homes.wait_until_ready(id);
    let (mut applier, mut store) = (Applier::new(Recorder::default()), store());
    homes.apply(id, &mut applier, &mut store);
    // Lists are all kept in memory, however much was read of the first text.
    let revisions = |store: &mut Store| store.get_mut("claude:s").map(|thread| thread.revisions().last());
    assert_eq!(revisions(&mut store), Some(3));
    assert_eq!(contents(&mut store, "claude:s"), ["Bed 2"]);
}

#[test]
fn pieces_have_the_size_of_the_file_until_it_is_read() {
    let mut homes = Homes::new();
    let lines = list("s", 0, "Dig");
    let path = homes.write("s", &lines);
    let id = homes.hub.follow(&path);
    let size = |homes: &mut Homes| {
        homes.wait(|message| match message {
            Message::Events(_, piece) if piece.bytes > 0 => Some((piece.size, piece.bytes)),
            _ => None,
        })
    };
    assert_eq!(size(&mut homes), (lines.len() as u64, lines.len() as u64));
    homes.wait_until_ready(id);
    let more = list("s", 1, "Rake");
    homes.write("s", &more);
    assert_eq!(size(&mut homes), (0, more.len() as u64));
}
