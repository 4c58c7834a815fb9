//! Folders of many files: work is counted, and grows with what changed, not with the folder.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, id};
use std::time::{Duration, SystemTime};

use serde_json::json;
use todo_write::agents::claude::process_files::{ProcessFolder, Processes};
use todo_write::agents::follower::Follower;
use todo_write::agents::listing::{Listings, Wanted};
use todo_write::events::observation::{Details, Filter, Payload, Type};
use todo_write::list::input::Options;

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
fn a_later_list_of_transcripts_looks_at_new_ones_and_at_some_others_in_turn() {
    let folder = folder_of((0..3_500).map(|n| format!("{n}.jsonl")), "");
    let path = |name: &str| folder.path().join(name);
    for n in 0..3_500 {
        age(&path(&format!("{n}.jsonl")), 90);
    }
    age(folder.path(), 60);
    let (folders, wanted) = ([folder.path().to_owned()], Wanted::default());
    let mut listings = Listings::default();
    assert_eq!(listings.list(&wanted, &folders).files.len(), 3_500);
    let first = listings.looks;
    fs::write(path("new.jsonl"), "").unwrap();
    let files = listings.list(&wanted, &folders).files;
    assert_eq!((files.len(), &files[0].1), (3_501, &path("new.jsonl")));
    assert_eq!(listings.looks - first, 1_001);
    // A resumed session changes no folder.
    fs::write(path("7.jsonl"), "resumed").unwrap();
    let since = Wanted { since: Some(SystemTime::now() - Duration::from_secs(30)), ..Wanted::default() };
    let is_found = |listings: &mut Listings| {
        listings.list(&since, &folders).files.iter().any(|file| file.1 == path("7.jsonl"))
    };
    assert!((0..4).any(|_| is_found(&mut listings)));
    fs::remove_file(path("7.jsonl")).unwrap();
    assert!(!is_found(&mut listings));
    assert_eq!(listings.list(&wanted, &folders).files.len(), 3_500);
}

#[test]
fn a_list_of_transcripts_looks_at_those_of_the_wanted_sessions() {
    let folder = folder_of((0..3_000).map(|n| format!("{n}.jsonl")), "");
    for n in 0..3_000 {
        age(&folder.path().join(format!("{n}.jsonl")), 90);
    }
    age(folder.path(), 60);
    let folders = [folder.path().to_owned()];
    let mut listings = Listings::default();
    listings.list(&Wanted::default(), &folders);
    let first = listings.looks;
    let sessions: HashSet<String> = (0..20).map(|n| n.to_string()).collect();
    for session in &sessions {
        age(&folder.path().join(format!("{session}.jsonl")), 0);
    }
    let wanted = Wanted { sessions: sessions.clone(), limit: Some(20), ..Wanted::default() };
    let files = listings.list(&wanted, &folders).files;
    let found = files.iter().map(|(_, path)| path.file_stem().unwrap().to_str().unwrap().to_owned());
    assert_eq!((found.collect::<HashSet<_>>(), listings.looks - first), (sessions, 1_020));
}

#[test]
fn a_poll_of_processes_looks_at_live_ones_and_at_some_dead_ones_in_turn() {
    let text = r#"{"sessionId": "old", "status": "idle", "procStart": "1"}"#;
    let folder = folder_of((0..2_000).map(|n| format!("{}.json", 99_000_000 + n)), text);
    fs::write(folder.path().join(format!("{}.json", id())), r#"{"sessionId": "a"}"#).unwrap();
    age(folder.path(), 60);
    let place = || vec![ProcessFolder { path: folder.path().to_owned(), machine: None }];
    let mut processes = Processes::default();
    assert_eq!(processes.read(place()).unwrap().len(), 1);
    let first = processes.looks;
    assert!(processes.read(place()).is_none());
    assert_eq!(processes.looks - first, 501);
    // A new process is found at once, whatever the others are.
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    fs::write(folder.path().join(format!("{}.json", child.id())), r#"{"sessionId": "b"}"#).unwrap();
    assert_eq!(processes.read(place()).unwrap().len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(processes.read(place()).unwrap().len(), 1);
}

#[test]
fn a_number_of_a_dead_process_may_be_that_of_a_new_one() {
    let dead = |session: &str| format!(r#"{{"sessionId": "{session}", "procStart": "1"}}"#);
    let folder = folder_of((0..1_200).map(|n| format!("{}.json", 99_000_000 + n)), &dead("old"));
    let own = folder.path().join(format!("{}.json", id()));
    fs::write(&own, dead("before")).unwrap();
    age(folder.path(), 60);
    let mut processes = Processes::default();
    let mut read = || {
        let place = ProcessFolder { path: folder.path().to_owned(), machine: None };
        processes.read(vec![place]).map(<[_]>::len)
    };
    assert_eq!(read(), None);
    // It overwrites the file, which changes no folder.
    fs::write(own, r#"{"sessionId": "after"}"#).unwrap();
    assert!((0..4).any(|_| read() == Some(1)));
}

#[test]
fn sessions_of_a_folder_share_its_listing() {
    let line = |n| {
        json!({"type": "user", "uuid": "u", "sessionId": format!("s{n}"), "cwd": "/garden",
        "isSidechain": false, "message": {"role": "user", "content": "Dig"}})
    };
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    let path = |n: usize| -> PathBuf { folder.path().join(format!("s{n}.jsonl")) };
    let mut followers: Vec<Follower> = Vec::new();
    for n in 0..20 {
        fs::write(path(n), format!("{}\n", line(n))).unwrap();
        let mut follower = Follower::new(path(n), Options::default(), 1_000);
        if let Some(first) = followers.first() {
            follower.beside = first.beside.clone();
        }
        followers.push(follower);
    }
    let listings = |followers: &mut [Follower]| {
        followers.iter_mut().for_each(|follower| drop(follower.read().unwrap()));
        followers[0].beside.lock().unwrap().listings
    };
    age(folder.path(), 60);
    assert_eq!(listings(&mut followers), 1);
    age(folder.path(), 30);
    assert_eq!(listings(&mut followers), 2);
    assert_eq!(listings(&mut followers), 2);
    // A time of this moment is not certain, but the sessions still share listings.
    age(folder.path(), 0);
    let uncertain = listings(&mut followers) - 2;
    assert!((1..20).contains(&uncertain), "{uncertain}");
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
