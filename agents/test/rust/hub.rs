//! The hub without Emacs: what it reports of files, and that it waits for no root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::id;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use todo_write::events::observation::{Observation, Type};
use todo_write::journal::store::{Storage, Store};
use todo_write::recorder::Recorder;
use todo_write::wire::event::Agent;
use todo_write::wire::program::{Choice, Command, Message, Opening, Settings};
use todo_write::wire::socket::{Message as Said, Welcome};
use todo_write_mcp::hub::door::Event;
use todo_write_mcp::hub::{Hub, Local, codex};

use crate::common::process::{dead, living};
use crate::common::session::{line, list};
use crate::common::{Folder, NEVER, wait, wait_until};
use crate::door::{Program, hello};

const NOW: u64 = 4_000_000_000_000;

/// A number that no other session or round has.
fn number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(1);
    LAST.fetch_add(1, Ordering::SeqCst)
}

/// A hub for the user with that home, who has no agents.
pub fn hub(home: &Path, codex: Duration) -> Hub {
    Hub::new(local(home, codex))
}

pub fn local(home: &Path, codex: Duration) -> Local {
    let (home, homes, socket) = (home.to_owned(), Vec::new(), home.join("run/door"));
    Local { home, homes, socket, silence: NEVER, codex }
}

/// A home of Claude Code, and a hub that looks at it often.
struct Homes {
    folder: Folder,
    hub: Hub,
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
        let hub = hub(folder.path(), codex::USUAL);
        hub.obey(Command::Set(Settings { interval, ..Settings::default() }));
        Homes { folder, hub, taken: Vec::new() }
    }

    /// Makes the home known, or none.
    fn set_home(&self, is_there: bool, is_searched: bool) {
        let home = is_there.then(|| (Agent::Claude, self.folder.path().to_owned()));
        self.hub.obey(Command::Homes(Some(home.into_iter().collect()), is_searched));
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

    fn follow(&self, path: &Path) -> u64 {
        let id = number();
        self.hub.obey(Command::Follow { session: id, file: path.to_owned(), is_asked: true });
        id
    }

    fn choose(&mut self, project: &str) -> Vec<Choice> {
        let round = number();
        self.set_home(true, false);
        self.hub.obey(Command::Choose(round, vec![project.into()]));
        self.wait(|message| match message {
            Message::Choices(one, choices) if *one == round => Some(choices.clone()),
            _ => None,
        })
    }

    /// Waits for a message that `find` accepts; keeps the others.
    fn wait<T>(&mut self, mut find: impl FnMut(&Message) -> Option<T>) -> T {
        loop {
            let message = wait("a message", || self.hub.take(Duration::ZERO));
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

    /// Follows the session `s`, which has this text, until all of that is read.
    fn ready(&mut self, text: &str) -> u64 {
        let path = self.write("s", text);
        let id = self.follow(&path);
        self.wait_until_ready(id);
        id
    }

    /// Waits until all is read that a session has now.
    fn check(&mut self, session: u64) {
        self.hub.obey(Command::Check(session));
        self.wait_until_ready(session);
    }

    /// Waits for further lines of a session.
    fn wait_for_lines(&mut self, session: u64) {
        self.wait(|message| {
            matches!(message, Message::Events(id, piece) if *id == session && piece.bytes > 0).then_some(())
        });
    }

    /// Waits until a session that grew is looked at again, so that from then on only what is noticed of it is read.
    fn settle(&mut self, session: u64) {
        let name = format!("shed-{}", number());
        let folder = self.folder.path().join("projects").join(&name);
        fs::create_dir(&folder).unwrap();
        let file = format!("../{name}/{name}");
        let path = self.write(&file, &line(&name, "user", 0, "Dig".into()));
        let id = self.follow(&path);
        self.wait_until_ready(id);
        self.write(&file, &list(&name, 1, "Bed 1"));
        self.wait(|message| matches!(message, Message::Events(one, _) if *one == id).then_some(()));
        self.check(session);
    }

    /// Applies all events of a session that were taken.
    fn apply(&mut self, session: u64, recorder: &mut Recorder, store: &mut Store) {
        for message in std::mem::take(&mut self.taken) {
            if let Message::Events(id, piece) = message
                && id == session
            {
                recorder.apply(piece, store, false, NOW);
            }
        }
    }
}

/// Lines of a session, of which some hundred fill the queue.
fn history(session: &str, numbers: Range<usize>) -> String {
    let said = json!([{"type": "text", "text": "x".repeat(1_500)}]);
    numbers.map(|n| line(session, "assistant", n, said.clone())).collect()
}

fn contents(store: &mut Store, key: &str) -> Vec<String> {
    let thread = store.get_mut(key);
    thread.map(|thread| thread.list().iter().map(|item| item.content.clone()).collect()).unwrap_or_default()
}

#[test]
fn a_session_that_nobody_looks_at_is_silent_until_it_has_a_list_or_is_asked_for() {
    let mut homes = Homes::new();
    let unattended = |text: String| text.replace("\"cwd\"", "\"entrypoint\":\"sdk-cli\",\"cwd\"");
    let path = homes.write("s", &unattended(line("s", "user", 0, "Dig".into())));
    let id = number();
    homes.hub.obey(Command::Follow { session: id, file: path.clone(), is_asked: false });
    homes.wait_until_ready(id);
    let asked = homes.follow(&path);
    homes.wait(|message| {
        matches!(message, Message::Events(one, piece) if *one == asked && !piece.events.is_empty())
            .then_some(())
    });
    let is_silent = |message: &Message| match message {
        Message::Events(one, piece) if *one == id => piece.events.is_empty() && piece.thread.is_none(),
        _ => true,
    };
    assert!(homes.taken.iter().all(is_silent));
    homes.write("s", &unattended(list("s", 1, "Bed 1")));
    let (mut recorder, mut store) = (Recorder::default(), Store::new(Storage::default()));
    while contents(&mut store, "claude:s") != ["Bed 1"] {
        homes.wait(|message| matches!(message, Message::Events(..)).then_some(()));
        homes.apply(id, &mut recorder, &mut store);
    }
    let prompts = store.get_mut("claude:s").map(|thread| thread.title().map(str::to_owned));
    assert_eq!(prompts, Some(Some("Dig".into())), "it is told from its beginning");
}

#[test]
fn a_check_is_answered_after_all_that_the_file_had() {
    let mut homes = Homes::looking(NEVER);
    let id = homes.ready(&line("s", "user", 0, "Dig".into()));
    let (mut recorder, mut store) = (Recorder::default(), Store::new(Storage::default()));
    for n in 1..30 {
        homes.write("s", &list("s", n, &format!("Bed {n}")));
        homes.check(id);
        homes.apply(id, &mut recorder, &mut store);
        assert_eq!(contents(&mut store, "claude:s"), [format!("Bed {n}")]);
    }
}

#[test]
fn readers_wait_while_nobody_takes_what_they_have() {
    let homes = Homes::new();
    let path = homes.write("long", &history("long", 1..20_000));
    let id = homes.follow(&path);
    homes.wait_until_full();
    let mut counts = Vec::new();
    loop {
        let waiting = homes.hub.waiting_bytes();
        assert!(waiting < 2 * 1024 * 1024, "{waiting}");
        match wait("a message", || homes.hub.take(Duration::ZERO)) {
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
    let (a, b) = (homes.write("a", &history("a", 1..5_000)), homes.write("b", &list("b", 1, "Bed 1")));
    let first = homes.follow(&a);
    homes.wait_until_full();
    homes.hub.obey(Command::Stop(first));
    let second = homes.follow(&b);
    homes.wait_until_ready(second);
}

#[test]
fn live_lines_are_read_before_the_rest_of_a_history() {
    let mut homes = Homes::new();
    let live = homes.write("live", &list("live", 1, "Bed 1"));
    let old = homes.write("old", &history("old", 1..5_000));
    homes.set_home(true, false);
    let live = homes.follow(&live);
    homes.wait_until_ready(live);
    let old = homes.follow(&old);
    homes.wait_until_full();
    homes.write("live", &list("live", 2, "Bed 2"));
    // Asked for before there is room for more of the history.
    homes.hub.obey(Command::Check(live));
    homes.taken.clear();
    homes.wait_until_ready(live);
    let is_last =
        |message: &Message| matches!(message, Message::Events(id, piece) if *id == old && piece.is_last);
    assert!(!homes.taken.iter().any(is_last), "the live lines came before the end of the history");
}

#[test]
fn what_a_process_says_is_told_behind_the_lines_that_were_written_before() {
    let mut homes = Homes::looking(NEVER);
    let mut child = living();
    let file = homes.folder.path().join(format!("sessions/{}.json", child.id()));
    homes.set_home(true, false);
    let session = homes.ready(&list("s", 0, "Bed 0"));
    let (mut recorder, mut store) = (Recorder::default(), Store::new(Storage::default()));
    for n in 1..20 {
        homes.write("s", &list("s", n, &format!("Bed {n}")));
        fs::write(&file, format!(r#"{{"sessionId": "s", "status": "{n}"}}"#)).unwrap();
        homes.wait(|message| match message {
            Message::Processes { live, .. } => {
                live.iter().any(|process| process.status == Some(n.to_string())).then_some(())
            }
            _ => None,
        });
        homes.apply(session, &mut recorder, &mut store);
        assert_eq!(contents(&mut store, "claude:s"), [format!("Bed {n}")]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_is_no_file_is_given_up_with_the_reason_and_others_go_on() {
    let mut homes = Homes::new();
    let good = homes.write("good", &list("good", 1, "Bed 1"));
    let missing = homes.follow(&homes.file("missing"));
    let folder = homes.follow(homes.folder.path());
    let good = homes.follow(&good);
    let mut awaited = BTreeSet::from([missing, folder, good]);
    while !awaited.is_empty() {
        let id = homes.wait(|message| match message {
            Message::Unreadable(id, reason) if !reason.is_empty() => Some(*id),
            Message::Ready { session, .. } => Some(*session).filter(|id| *id == good),
            _ => None,
        });
        awaited.remove(&id);
    }
}

#[test]
fn a_process_is_told_of_with_its_end_and_whether_it_was_killed() {
    let mut homes = Homes::new();
    homes.set_home(true, false);
    homes.ready(&list("s", 1, "Bed 1"));
    let mut child = living();
    let file = homes.folder.path().join(format!("sessions/{}.json", child.id()));
    fs::write(&file, r#"{"sessionId": "s", "status": "busy"}"#).unwrap();
    let pid = child.id();
    let wait_for_it = |homes: &mut Homes| {
        homes.wait(|message| match message {
            Message::Processes { live, .. } => live.iter().any(|process| process.pid == pid).then_some(()),
            _ => None,
        });
    };
    wait_for_it(&mut homes);
    // A home that is given again is told of again.
    homes.set_home(false, false);
    homes.set_home(true, false);
    wait_for_it(&mut homes);
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
        homes.set_home(true, false);
        let session = homes.follow(&path);
        let told = homes.wait(|message| match message {
            Message::Ready { session: ready, has_processes } if *ready == session => Some(*has_processes),
            _ => None,
        });
        assert_eq!(told, is_told);
    }
}

#[test]
fn a_session_that_was_followed_before_its_home_was_known_is_looked_at() {
    let mut homes = Homes::looking(NEVER);
    let id = homes.ready(&line("s", "user", 0, "Dig".into()));
    homes.set_home(true, false);
    // A file that grows no more is not looked at soon again.
    homes.check(id);
    homes.write("s", &list("s", 1, "Bed 1"));
    homes.wait_for_lines(id);
}

#[test]
fn a_folder_that_is_made_again_is_watched_again() {
    let mut homes = Homes::looking(NEVER);
    let id = homes.ready(&line("s", "user", 0, "Dig".into()));
    let path = homes.file("s");
    let folder = path.parent().unwrap();
    fs::remove_dir_all(folder).unwrap();
    fs::create_dir(folder).unwrap();
    homes.settle(id);
    homes.write("s", &list("s", 1, "Bed 1"));
    homes.wait_for_lines(id);
}

#[test]
fn a_line_of_a_subagent_beside_its_session_comes_at_once() {
    let mut homes = Homes::looking(NEVER);
    homes.set_home(true, true);
    // Versions before 2.1.2 keep its file there.
    let path = homes.write("s", &line("s", "user", 0, "Dig".into()));
    homes.write("agent-a", &line("s", "user", 1, "Rake".into()));
    let id = homes.follow(&path);
    homes.wait_until_ready(id);
    homes.settle(id);
    homes.write("agent-a", &line("s", "user", 2, "Sow".into()));
    homes.wait_for_lines(id);
}

#[test]
fn a_file_that_is_emptied_and_written_again_begins_again() {
    let mut homes = Homes::looking(NEVER);
    let id = homes.ready(&list("s", 1, "Bed 1"));
    homes.taken.clear();
    fs::write(homes.file("s"), "").unwrap();
    homes.check(id);
    homes.write("s", &list("s", 2, "Bed 2"));
    homes.check(id);
    let is_restart = |message: &Message| matches!(message, Message::Events(_, piece) if piece.is_restart);
    assert!(homes.taken.iter().any(is_restart));
}

#[test]
fn a_session_that_begins_in_a_known_project_is_found_at_once() {
    // No regular look comes in time.
    let mut homes = Homes::looking(Duration::from_secs(3_600));
    homes.set_home(true, true);
    homes.wait(|message| {
        matches!(message, Message::Found { sessions: found, .. } if found.is_empty()).then_some(())
    });
    let path = homes.write("s", &line("s", "user", 0, "Dig".into()));
    homes.wait(|message| match message {
        Message::Found { sessions, .. } if sessions.contains(&path) => Some(()),
        _ => None,
    });
}

#[test]
fn a_session_stays_while_its_folder_cannot_be_read() {
    let mut homes = Homes::looking(Duration::from_secs(3_600));
    let path = homes.write("s", &line("s", "user", 0, "Dig".into()));
    let found = |homes: &mut Homes| {
        homes.hub.obey(Command::Search);
        homes.wait(|message| match message {
            Message::Found { sessions, .. } => Some(sessions.clone()),
            _ => None,
        })
    };
    homes.set_home(true, true);
    assert_eq!(found(&mut homes), std::slice::from_ref(&path));
    // Nobody gets through a link to itself.
    let folder = homes.folder.path().join("projects");
    fs::rename(&folder, folder.with_file_name("hidden")).unwrap();
    std::os::unix::fs::symlink("projects", &folder).unwrap();
    homes.taken.clear();
    // A search before the change may be under way.
    found(&mut homes);
    assert_eq!(found(&mut homes), std::slice::from_ref(&path));
    fs::remove_file(&folder).unwrap();
    homes.hub.obey(Command::Search);
    homes.wait(|message| {
        matches!(message, Message::Found { sessions, .. } if sessions.is_empty()).then_some(())
    });
}

#[test]
fn a_session_of_a_project_whose_folder_is_named_alike_is_of_another_project() {
    // Claude Code writes all but ASCII letters and digits as hyphens.
    for (project, other, name) in [
        ("/my_app", "/my-app", "-my-app"),
        ("/정원", "/부엌", "---"),
        ("/a/b", "/a-b", "-a-b"),
        ("/garden", "/garden-shed", "-garden-shed"),
    ] {
        let mut homes = Homes::new();
        let folder = homes.folder.path().join("projects").join(name);
        fs::create_dir_all(&folder).unwrap();
        for (session, cwd) in [("own", project), ("other", other)] {
            let text = line(session, "user", 0, "Dig".into()).replace("\"/garden\"", &format!("{cwd:?}"));
            fs::write(folder.join(format!("{session}.jsonl")), text).unwrap();
        }
        let choices = homes.choose(project);
        let offered =
            choices.iter().map(|choice| (choice.description.session.as_str(), choice.is_of_project));
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
    homes.set_home(true, true);
    homes.wait(|message| {
        matches!(message, Message::Found { sessions: found, .. } if found.len() == 3_000).then_some(())
    });
}

#[test]
fn choices_are_described_newest_first() {
    let mut homes = Homes::new();
    homes.write("old", &line("old", "user", 0, "Dig".into()));
    let old = std::time::SystemTime::now() - Duration::from_secs(3_600);
    OpenOptions::new().append(true).open(homes.file("old")).unwrap().set_modified(old).unwrap();
    homes.write("new", &line("new", "user", 0, "Rake".into()));
    homes.write("agent-1", &line("x", "user", 0, "Sow".into()));
    let choices = homes.choose("/garden");
    let titles = choices.iter().map(|choice| choice.description.title.as_deref().unwrap_or_default());
    assert_eq!(titles.collect::<Vec<_>>(), ["Rake", "Dig"]);
}

#[test]
fn programs_are_read_on_only_while_their_messages_are_taken() {
    const LARGE: usize = 900_000;
    let homes = Homes::new();
    let opening = Opening { welcome: Welcome::default(), ..Opening::default() };
    homes.hub.obey(Command::Door(Some(opening)));
    let told = json!({"type": "activity", "session": "s", "activity": "x".repeat(LARGE)});
    let mut programs: Vec<_> =
        (0..20).map(|_| Program::connect(&homes.folder.path().join("run/door"))).collect();
    for program in &mut programs {
        program.send(&hello(&["tool"]));
        program.receive().unwrap();
    }
    std::thread::scope(|scope| {
        for program in &mut programs {
            scope.spawn(|| (0..3).for_each(|_| program.send(&told)));
        }
        let mut count = 0;
        wait_until("a full queue", || homes.hub.waiting_bytes() >= 2 * LARGE);
        while count < 60 {
            // What makes it full, and one of each that waited for room.
            assert!(homes.hub.waiting_bytes() < 24 * LARGE);
            let message = wait("a message", || homes.hub.take(Duration::ZERO));
            count += usize::from(matches!(message, Message::Door(Event::Message(_, Said::Activity(_)))));
        }
    });
}

#[test]
fn a_closed_hub_says_no_more_and_its_threads_end() {
    let mut homes = Homes::new();
    homes.ready(&list("s", 1, "Bed 1"));
    homes.hub.close();
    homes.write("s", &list("s", 2, "Bed 2"));
    homes.hub.obey(Command::Search);
    wait_until("the end of its threads", || !homes.hub.is_alive());
    assert!(homes.hub.take(NEVER).is_none());
}

/// A call of a tool.
fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/garden/plan"}})
}

/// The ids of the calls of a thread that begin with "b".
fn calls(store: &mut Store, key: &str) -> Vec<String> {
    let id = |one: &Arc<Observation>| {
        let call = Some(&one.payload).filter(|payload| payload.kind == Type::ToolCall)?;
        Some(call.content["id"].as_str()?.to_owned()).filter(|id| id.starts_with('b'))
    };
    store.get_mut(key).unwrap().observations().reported().filter_map(id).collect()
}

fn store() -> Store {
    Store::new(Storage { history_limit: 1_000, ..Storage::default() })
}

fn ids(numbers: Range<usize>) -> Vec<String> {
    numbers.map(|n| format!("b{n}")).collect()
}

#[test]
fn a_session_that_is_stopped_between_pieces_goes_on_after_its_last_whole_line() {
    let mut homes = Homes::new();
    let many: Vec<Value> = ids(0..40).iter().map(|id| tool_use(id)).collect();
    let path = homes.write("s", &(list("s", 1, "Dig") + &line("s", "assistant", 9, many.into())));
    let mut store = store();
    for is_stopped in [true, false] {
        let id = homes.follow(&path);
        homes.wait_until_ready(id);
        if is_stopped {
            let is_events = |message: &Message| matches!(message, Message::Events(..));
            let first = homes.taken.iter().position(is_events).unwrap();
            homes.taken.truncate(first + 1);
        }
        homes.apply(id, &mut Recorder::default(), &mut store);
        homes.hub.obey(Command::Stop(id));
    }
    assert_eq!(calls(&mut store, "claude:s"), ids(0..40));
}

#[test]
fn a_file_that_is_truncated_while_its_history_is_read_is_recorded_once() {
    let mut homes = Homes::new();
    let written =
        |numbers: Range<usize>| -> String { numbers.map(|n| list("s", n, &format!("Bed {n}"))).collect() };
    let path = homes.write("s", &(written(0..3) + &history("s", 10..5_000)));
    let id = homes.follow(&path);
    homes.wait_until_full();
    fs::write(&path, written(0..3)).unwrap();
    homes.wait_until_ready(id);
    let (mut recorder, mut store) = (Recorder::default(), store());
    homes.apply(id, &mut recorder, &mut store);
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
    let id = homes.follow(&path);
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
