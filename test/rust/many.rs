//! Many threads in one process, and one thread in two processes.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{Completed, Folder, InProgress, KEY, Pending, contents, open, store, write};
use serde_json::Map;
use todo_write::journal::{decode, files_of, is_held};
use todo_write::thread::activity::Ending;
use todo_write::thread::{Edit, State};

const THREADS: usize = 300;

fn journals(folder: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn many_threads_need_few_open_files_and_lose_nothing() {
    let folder = Folder::new();
    let mut living = store(folder.path());
    let key = |n: usize| format!("thread {n}");
    for round in 0..3 {
        for n in 0..THREADS {
            let task = format!("Task {round}");
            write(living.open(&key(n), Map::new(), 1), &[(task.as_str(), Pending)], 2);
        }
    }
    let held = journals(folder.path()).iter().filter(|path| is_held(path)).count();
    assert!(held <= 100, "{held} files are open");
    drop(living);
    let mut restored = store(folder.path());
    for n in 0..THREADS {
        let thread = restored.open(&key(n), Map::new(), 3);
        assert_eq!((contents(thread.list()), thread.revisions().last()), (vec!["Task 2"], 3));
    }
    assert_eq!(restored.take_warnings(), Vec::<String>::new());
}

#[test]
fn the_journals_of_threads_in_use_stay_open_while_others_come() {
    let folder = Folder::new();
    let mut living = store(folder.path());
    for n in 0..THREADS {
        write(living.open("in use", Map::new(), 1), &[(n.to_string().as_str(), Pending)], 2);
        write(living.open(&format!("thread {n}"), Map::new(), 1), &[("Task", Pending)], 2);
        let file = files_of(folder.path(), "in use").next().unwrap();
        assert!(is_held(&file), "{n}");
    }
}

#[test]
fn threads_whose_agents_have_stopped_leave_memory_and_come_back_as_they_were() {
    let folder = Folder::new();
    let mut living = store(folder.path());
    let key = |n: usize| format!("thread {n}");
    let about = Map::from_iter([("parent".to_owned(), "the parent".into())]);
    for n in 0..THREADS {
        living.open(&key(n), about.clone(), 1).change(|thread| {
            write(thread, &[("Task", InProgress)], 2);
            // The agents of ten threads work on, and the ends of ten others were not delivered.
            if n % 30 != 0 {
                thread.end_turn("end of turn".into(), Ending::EndOfTurn, 3);
            }
            if n % 30 != 1 {
                thread.skip_observations();
            }
        });
    }
    let loaded: HashSet<String> = living.loaded().map(|thread| thread.key().to_owned()).collect();
    assert!(loaded.len() <= 100, "{} threads are in memory", loaded.len());
    assert!((0..THREADS).filter(|n| n % 30 < 2).all(|n| loaded.contains(&key(n))));
    assert_eq!(living.children("the parent").len(), THREADS);
    let gone = key((0..THREADS).find(|n| !loaded.contains(&key(*n))).unwrap());
    let thread = living.get(&gone).unwrap().unwrap();
    assert_eq!((thread.pause_reason(), thread.ending()), (Some("end of turn"), Some(Ending::EndOfTurn)));
    // The host's next word still finds it, and its agent is still known to be idle.
    let thread = living.get_mut(&gone).unwrap();
    thread.change(|thread| {
        write(thread, &[("Task", InProgress)], 10);
        thread.end_turn("end of turn".into(), Ending::EndOfTurn, 20);
        thread.edit(Edit::Status { id: "t1".into(), status: Completed }, 30).unwrap();
        thread.edit(Edit::Status { id: "t1".into(), status: InProgress }, 40).unwrap();
    });
    assert_eq!(thread.times("t1").unwrap().spent(1_000), 11);
    assert_eq!(living.take_warnings(), Vec::<String>::new());
}

#[test]
fn a_thread_held_by_another_process_can_be_read() {
    let folder = Folder::new();
    let (mut writer, mut reader) = (store(folder.path()), store(folder.path()));
    write(writer.open("shared", Map::new(), 1), &[("Read", InProgress)], 2);
    for task in ["Write", "Send"] {
        write(writer.open("shared", Map::new(), 3), &[("Read", InProgress), (task, Pending)], 3);
        let thread = reader.get("shared").unwrap().unwrap();
        assert_eq!((contents(thread.list()), thread.state()), (vec!["Read", task], State::Active));
    }
    assert_eq!(journals(folder.path()).len(), 1);
}

#[test]
fn a_held_thread_is_replayed_only_if_its_journal_changed() {
    let folder = Folder::new();
    let (mut writer, mut reader) = (store(folder.path()), store(folder.path()));
    write(writer.open("shared", Map::new(), 1), &[("Read", InProgress)], 2);
    // A replay creates new items.
    let mut first_item = || Arc::clone(&reader.get("shared").unwrap().unwrap().list()[0]);
    let before = first_item();
    assert!(Arc::ptr_eq(&before, &first_item()));
    write(writer.open("another", Map::new(), 3), &[("Wait", Pending)], 3);
    assert!(Arc::ptr_eq(&before, &first_item()));
    write(writer.open("shared", Map::new(), 4), &[("Read", Completed)], 4);
    let after = first_item();
    assert_eq!(after.status, Completed);
    assert!(Arc::ptr_eq(&after, &first_item()));
    drop(writer);
    assert_eq!(reader.get("shared").unwrap().unwrap().state(), State::Done);
    assert_eq!(reader.open("shared", Map::new(), 5).list()[0].status, Completed);
    assert_eq!(reader.loaded().count(), 1);
}

#[test]
fn reading_a_thread_does_not_lock_it() {
    let folder = Folder::new();
    let (mut writer, mut reader) = (store(folder.path()), store(folder.path()));
    assert!(reader.get("shared").unwrap().is_none());
    write(writer.open("shared", Map::new(), 1), &[("Read", InProgress)], 2);
    assert_eq!(reader.get("shared").unwrap().unwrap().state(), State::Active);
    writer.close_journals();
    assert_eq!(reader.get("shared").unwrap().unwrap().state(), State::Paused);
    assert_eq!(reader.loaded().count(), 0);
    write(writer.open("shared", Map::new(), 3), &[("Read", Completed)], 4);
    assert_eq!(reader.get("shared").unwrap().unwrap().state(), State::Done);
    assert_eq!((writer.take_warnings(), journals(folder.path()).len()), (vec![], 1));
}

#[test]
fn a_process_that_only_looks_is_not_taken_for_the_holder() {
    let folder = Folder::new();
    let mut writer = store(folder.path());
    write(open(&mut writer), &[("Read", Pending)], 2);
    let path = files_of(folder.path(), KEY).next().unwrap();
    assert!(is_held(&path));
    writer.close_journals();
    let looking = fs::File::open(&path).unwrap();
    looking.lock_shared().unwrap();
    assert!(!is_held(&path));
}

#[test]
fn a_closed_journal_that_another_process_continued_is_left_to_it() {
    for (is_held, warning) in [(true, "has the journal"), (false, "has written")] {
        let folder = Folder::new();
        let (mut first, mut second) = (store(folder.path()), store(folder.path()));
        write(open(&mut first), &[("Read", Pending)], 2);
        first.close_journals();
        write(open(&mut second), &[("Read", Pending), ("Of the other", Pending)], 3);
        if !is_held {
            second.close_journals();
        }
        let outcome = write(open(&mut first), &[("Send", Pending)], 4);
        let warnings = first.take_warnings();
        assert!(outcome.notices.is_empty() && warnings.len() == 1, "{outcome:?} {warnings:?}");
        assert!(warnings[0].contains(&format!("another Emacs {warning}")), "{warnings:?}");
        write(open(&mut first), &[("Send", Pending), ("Ours", Pending)], 5);
        drop((first, second));
        let [theirs, ours] = [0, 1].map(|n| fs::read(files_of(folder.path(), KEY).nth(n).unwrap()).unwrap());
        for (bytes, content, other) in [(theirs, "Of the other", "Ours"), (ours, "Ours", "Of the other")] {
            assert!(bytes.split_inclusive(|byte| *byte == b'\n').all(|line| decode(line).is_some()));
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(content) && !text.contains(other), "{text}");
        }
        let mut restored = store(folder.path());
        assert_eq!(contents(open(&mut restored).list()), ["Send", "Ours"]);
        assert_eq!(open(&mut restored).revisions().last(), 3);
    }
}
