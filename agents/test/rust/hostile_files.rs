//! Files that others can place: nothing waits for them, and nothing reads them without a bound.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::transcript_law::read_all;
use todo_write::file;
use todo_write::journal::store::{Storage, Store};
use todo_write::list::input::Options;
use todo_write::recorder::Recorder;
use todo_write::wire::program::Process;
use todo_write_mcp::claude::process_files::Processes;
use todo_write_mcp::describe::describe;
use todo_write_mcp::follower::Follower;
use todo_write_mcp::hub::home::transcripts;

use crate::common::process::{dead, living};
use crate::common::{Folder, receive, record, session};

/// Runs `work`, which must not block.
fn without_waiting<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    receive("work that must not block", &is_done)
}

fn fifo(path: PathBuf) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn write(path: PathBuf, bytes: impl AsRef<[u8]>) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

fn follower(path: &Path) -> Follower {
    Follower::new(path.to_owned(), Options::default())
}

/// The list that a follower reads in one call.
fn list((follower, recorder): (&mut Follower, &mut Recorder), store: &mut Store) -> Vec<String> {
    let events = read_all(follower).unwrap().events;
    record(recorder, store, &events, 1);
    let thread = store.get("claude:s").unwrap();
    thread.map(|thread| thread.list().iter().map(|item| item.content.clone()).collect()).unwrap_or_default()
}

#[test]
fn only_regular_files_are_opened_and_none_is_waited_for() {
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("folder")).unwrap();
    fifo(path("pipe"));
    let _socket = UnixListener::bind(path("socket")).unwrap();
    for (target, link) in
        [("pipe", "to-pipe"), ("/dev/zero", "device"), ("loop", "loop"), ("none", "nowhere")]
    {
        symlink(target, path(link)).unwrap();
    }
    write(path("file"), "text");
    symlink("file", path("to-file")).unwrap();
    let names = ["folder", "pipe", "socket", "to-pipe", "device", "loop", "nowhere"];
    for path in names.map(path) {
        assert!(without_waiting(move || file::open(&path).is_err()));
    }
    assert_eq!(file::read(&path("to-file"), 4).unwrap(), b"text");
}

#[test]
fn no_file_is_read_beyond_its_bound() {
    let folder = Folder::new();
    let path = write(folder.path().join("file"), "12345");
    assert_eq!(file::read(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(file::read_start(&path, 4).unwrap(), b"1234");
}

#[test]
fn pipes_beside_a_transcript_do_not_stop_it() {
    let home = Folder::new();
    let path = |name: &str| home.path().join(name);
    let transcript = write(path("projects/p/s.jsonl"), session::list("s", 1, "Sift"));
    for name in [
        "projects/p/agent-a.jsonl",
        "projects/p/s/subagents/agent-b.jsonl",
        "projects/p/s/subagents/agent-c.meta.json",
        "projects/p/s/custom-title.json",
        "tasks/s/1.json",
    ] {
        fifo(path(name));
    }
    write(path("projects/p/s/subagents/agent-c.jsonl"), session::list("s", 1, "Sift"));
    let lists = without_waiting(move || {
        let (mut follower, mut store) = (follower(&transcript), Store::new(Storage::default()));
        let mut recorder = Recorder::default();
        let first = list((&mut follower, &mut recorder), &mut store);
        assert!(describe(&transcript).is_some());
        OpenOptions::new()
            .append(true)
            .open(transcript)
            .unwrap()
            .write_all(session::list("s", 2, "Knead").as_bytes())
            .unwrap();
        [first, list((&mut follower, &mut recorder), &mut store)]
    });
    assert_eq!(lists, [["Sift"], ["Knead"]]);
}

#[test]
fn a_transcript_replaced_by_a_pipe_is_an_error() {
    let folder = Folder::new();
    let path = write(folder.path().join("s.jsonl"), session::list("s", 1, "Sift"));
    let mut follower = follower(&path);
    read_all(&mut follower).unwrap();
    fs::remove_file(&path).unwrap();
    fifo(path.clone());
    assert!(without_waiting(move || read_all(&mut follower).is_err() && describe(&path).is_none()));
}

#[test]
fn a_subagent_that_begins_late_is_found_though_its_folder_did_not_change() {
    let folder = Folder::new();
    let path = write(folder.path().join("s.jsonl"), session::list("s", 1, "Sift"));
    let agent = write(folder.path().join("s/subagents/agent-a.jsonl"), "");
    let mut follower = follower(&path);
    assert_eq!(read_all(&mut follower).unwrap().bytes, session::list("s", 1, "Sift").len() as u64);
    write(agent, session::list("s", 1, "Sift"));
    assert_eq!(read_all(&mut follower).unwrap().bytes, session::list("s", 1, "Sift").len() as u64);
}

#[test]
fn slices_of_a_transcript_give_the_list_of_the_whole_one() {
    let folder = Folder::new();
    let lines: String = (0..4_000).map(|n| session::list("s", n, &format!("Loaf {n}"))).collect();
    let path = write(folder.path().join("s.jsonl"), lines);
    let (mut follower, mut store) = (follower(&path), Store::new(Storage::default()));
    let (mut recorder, mut slices) = (Recorder::default(), 0);
    loop {
        let appended = follower.read().unwrap();
        record(&mut recorder, &mut store, &appended.events, 1);
        if !appended.is_partial {
            break;
        }
        slices += 1;
    }
    assert!(slices > 4, "{slices} slices");
    assert_eq!(list((&mut follower, &mut recorder), &mut store), ["Loaf 3999"]);
}

#[test]
fn transcripts_are_listed_newest_first_without_pipes_and_without_names_that_are_no_text() {
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name);
    let now = SystemTime::now();
    for (age, name) in [(30, "old.jsonl"), (10, "new.jsonl"), (20, "agent-x.jsonl"), (5, "other.txt")] {
        let file = File::create(write(path(name), "")).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    fifo(path("pipe.jsonl"));
    symlink("/dev/zero", path("device.jsonl")).unwrap();
    let raw = folder.path().join(OsStr::from_bytes(b"\xff.jsonl"));
    write(raw, "");
    let folders = [folder.path().to_owned(), path("no such folder")];
    let files = transcripts(&folders);
    let names = files.iter().map(|(_, path)| path.file_stem().unwrap().to_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["new", "old"]);
}

const NO_FILES: &str = "TODO_WRITE_TEST_NO_FILES";

#[test]
fn an_agent_lives_while_no_file_descriptor_is_left_to_ask_for_it() {
    if std::env::var_os(NO_FILES).is_some() {
        return without_files();
    }
    let child = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "hostile_files::an_agent_lives_while_no_file_descriptor_is_left_to_ask_for_it",
            "--nocapture",
        ])
        .env(NO_FILES, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && output.contains("no file was left"), "{output}");
}

fn without_files() {
    let mut sessions = Sessions::new();
    let id = id();
    let name = sessions.write(id, r#"{"sessionId": "a", "status": "busy"}"#);
    assert_eq!(sessions.read().unwrap().len(), 1);
    let mut taken = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    assert!(fs::read_dir(sessions.0.path()).is_err());
    println!("no file was left");
    assert_eq!(sessions.read(), None, "it lives as before");
    assert_eq!(sessions.killed(), Vec::<String>::new());
    drop(taken);
    assert_eq!(sessions.read(), None);
    fs::remove_file(name).unwrap();
    assert_eq!(sessions.read(), Some(Vec::new()));
}

/// A folder of process files.
struct Sessions(Folder, Processes, Vec<Process>);

impl Sessions {
    fn new() -> Sessions {
        let folder = Folder::new();
        fs::create_dir_all(folder.path()).unwrap();
        let processes = Processes::new(folder.path().to_owned());
        Sessions(folder, processes, Vec::new())
    }

    fn write(&self, pid: u32, text: &str) -> PathBuf {
        write(self.0.path().join(format!("{pid}.json")), text)
    }

    /// The sessions of killed processes.
    fn killed(&mut self) -> Vec<String> {
        let sessions = ["a", "b", "c"].map(str::to_owned).into();
        self.1.left_behind(&sessions).into_iter().map(|(session, _)| session).collect()
    }

    /// The sessions and states of the live processes; `None` if they are as before.
    fn read(&mut self) -> Option<Vec<(String, String)>> {
        let live = self.1.read();
        let before = std::mem::replace(&mut self.2, live.clone());
        let live = Some(live).filter(|live| *live != before)?;
        let texts = |text: Option<String>| text.unwrap_or_default();
        Some(live.into_iter().map(|process| (texts(process.session), texts(process.status))).collect())
    }
}

fn live(session: &str, status: &str) -> Option<Vec<(String, String)>> {
    Some(vec![(session.to_owned(), status.to_owned())])
}

#[test]
fn a_process_counts_while_it_lives_and_is_the_one_that_wrote_the_file() {
    let mut sessions = Sessions::new();
    assert_eq!(sessions.read(), None);
    sessions.write(id(), r#"{"sessionId": "a", "status": "busy"}"#);
    sessions.write(dead(), r#"{"sessionId": "b", "status": "busy"}"#);
    assert_eq!(sessions.read(), live("a", "busy"));
    assert_eq!(sessions.read(), None);
    sessions.write(id(), r#"{"sessionId": "a", "status": "idle", "procStart": "1"}"#);
    assert_eq!(sessions.read(), Some(vec![]));
    // The process that wrote the first file began at another time.
    assert_eq!(sessions.killed(), ["a", "b"]);
}

#[test]
fn a_process_that_dies_after_it_left_a_session_has_not_been_killed_in_that() {
    let mut sessions = Sessions::new();
    let mut child = living();
    sessions.write(child.id(), r#"{"sessionId": "a", "status": "idle"}"#);
    assert_eq!(sessions.read(), live("a", "idle"));
    sessions.write(child.id(), r#"{"sessionId": "b", "status": "idle", "name": "b"}"#);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sessions.read(), Some(vec![]));
    assert_eq!(sessions.killed(), ["b"]);
}

#[test]
fn a_killed_session_that_was_resumed_ends_as_its_next_process_ends() {
    let mut sessions = Sessions::new();
    sessions.write(dead(), r#"{"sessionId": "a", "status": "busy"}"#);
    sessions.read();
    assert_eq!(sessions.killed(), ["a"]);
    sessions.write(id(), r#"{"sessionId": "a", "status": "idle"}"#);
    assert_eq!(sessions.read(), live("a", "idle"));
    // It left the session by /clear.
    sessions.write(id(), r#"{"sessionId": "b", "status": "idle"}"#);
    assert_eq!(sessions.read(), live("b", "idle"));
    assert!(sessions.killed().is_empty());
}

#[test]
fn a_half_written_process_file_changes_nothing_until_it_is_whole() {
    let mut sessions = Sessions::new();
    sessions.write(id(), r#"{"sessionId": "a", "status": "busy"}"#);
    sessions.read();
    sessions.write(id(), r#"{"sessionId": "a", "sta"#);
    assert_eq!(sessions.read(), None);
    sessions.write(id(), r#"{"sessionId": "a", "status": "waiting"}"#);
    assert_eq!(sessions.read(), live("a", "waiting"));
}

#[test]
fn process_files_that_are_huge_or_pipes_or_of_containers_are_skipped() {
    let mut sessions = Sessions::new();
    let padding = " ".repeat(64 * 1024);
    sessions.write(id(), &format!(r#"{{"sessionId": "a"}}{padding}"#));
    fifo(sessions.0.path().join("1.json"));
    fifo(sessions.0.path().join(format!("{}.json", dead())));
    let read = without_waiting(move || (sessions.read(), sessions));
    assert_eq!(read.0, None);
    let mut sessions = read.1;
    // What a process of a container does next is read, whatever its id means here.
    for pid in [id(), dead()] {
        for session in ["a", "another"] {
            sessions.write(pid, &format!(r#"{{"sessionId": "{session}", "pidDomain": "pid:[1]"}}"#));
            assert_eq!(sessions.read(), None);
            let elsewhere = ["a", "another"].map(|one| sessions.1.is_elsewhere(one));
            assert_eq!(elsewhere, ["a", "another"].map(|one| one == session));
        }
        fs::remove_file(sessions.0.path().join(format!("{pid}.json"))).unwrap();
    }
    assert!(sessions.killed().is_empty());
}
