//! Folders of many files, and long threads.

use std::fs::{self, File};
use std::process::id;
use std::time::{Duration, SystemTime};

use crate::transcript_law::read_all;
use serde_json::json;
use todo_write::events::observation::{Details, Filter, Payload, Type};
use todo_write::list::input::Options;
use todo_write_mcp::claude::process_files::Processes;
use todo_write_mcp::follower::Follower;

use crate::common::process::living;
use crate::common::{Folder, thread};

fn folder_of(names: impl Iterator<Item = String>, text: &str) -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    for name in names {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Sets the modification time of a folder or a file to one in the past.
fn age(path: &std::path::Path, seconds: u64) {
    File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn a_new_process_is_found_among_thousands_of_dead_ones() {
    let text = r#"{"sessionId": "old", "status": "idle", "procStart": "1"}"#;
    let folder = folder_of((0..2_000).map(|n| format!("{}.json", 99_000_000 + n)), text);
    fs::write(folder.path().join(format!("{}.json", id())), r#"{"sessionId": "a"}"#).unwrap();
    age(folder.path(), 60);
    let mut processes = Processes::new(folder.path().to_owned());
    let mut read = || processes.read().len();
    assert_eq!(read(), 1);
    assert_eq!(read(), 1);
    let mut child = living();
    fs::write(folder.path().join(format!("{}.json", child.id())), r#"{"sessionId": "b"}"#).unwrap();
    assert_eq!(read(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(read(), 1);
}

#[test]
fn a_number_of_a_dead_process_may_be_that_of_a_new_one() {
    let dead = |session: &str| format!(r#"{{"sessionId": "{session}", "procStart": "1"}}"#);
    let folder = folder_of((0..1_200).map(|n| format!("{}.json", 99_000_000 + n)), &dead("old"));
    let own = folder.path().join(format!("{}.json", id()));
    fs::write(&own, dead("before")).unwrap();
    age(folder.path(), 60);
    let mut processes = Processes::new(folder.path().to_owned());
    let mut read = || processes.read().len();
    assert_eq!(read(), 0);
    // It overwrites the file, which changes no folder.
    fs::write(own, r#"{"sessionId": "after"}"#).unwrap();
    assert_eq!(read(), 1);
}

#[test]
fn subagents_are_looked_for_beside_a_transcript_only_if_its_version_keeps_them_there() {
    let line = |version: &str, subagent: bool| {
        json!({"type": "user", "uuid": format!("u{subagent}"), "sessionId": "s", "cwd": "/garden", "version": version,
               "isSidechain": subagent, "agentId": "a", "message": {"role": "user", "content": "Dig"}})
    };
    for (version, has_more) in [("1.0.9", true), ("2.1.1", true), ("2.1.2", false), ("2.1.330", false)] {
        let folder = folder_of(std::iter::empty(), "");
        let (path, subagent) = (folder.path().join("s.jsonl"), folder.path().join("agent-a.jsonl"));
        let text = format!("{}\n", line(version, false));
        fs::write(&path, &text).unwrap();
        fs::write(subagent, format!("{}\n", line(version, true))).unwrap();
        let read = read_all(&mut Follower::new(path, Options::default())).unwrap();
        assert_eq!(read.bytes > text.len() as u64, has_more, "{version}");
    }
}

#[test]
fn a_subagent_is_found_among_many_newer_ones_of_other_sessions() {
    let line = |session: &str, is_subagent: bool| {
        let line = json!({"type": "user", "uuid": "u", "sessionId": session, "cwd": "/garden", "version": "1.0.9",
            "isSidechain": is_subagent, "message": {"role": "user", "content": "Dig"}});
        format!("{line}\n")
    };
    let folder = folder_of((0..100).map(|n| format!("agent-{n}.jsonl")), &line("other", true));
    let (path, subagent) = (folder.path().join("s.jsonl"), folder.path().join("agent-a.jsonl"));
    fs::write(&path, line("s", false)).unwrap();
    fs::write(&subagent, line("s", true)).unwrap();
    age(&subagent, 60);
    let read = read_all(&mut Follower::new(path, Options::default())).unwrap();
    assert_eq!(read.bytes as usize, line("s", false).len() + line("s", true).len());
}

#[test]
fn observations_in_memory_are_bounded_in_bytes() {
    let mut thread = thread();
    for n in 0..40_u64 {
        thread.observe(
            Payload::new(Type::Message, json!({"text": "x".repeat(100_000)})),
            Details::default(),
            n,
        );
        thread.take_observations();
    }
    let kept = thread.observed(&Filter::default());
    assert!((10..=21).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().unwrap().number, 40);
}
