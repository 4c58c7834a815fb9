//! Threads on disk: a thread is restored as it was, and its journal grows in proportion to its changes.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::common::acts::{Act, acts, perform};
use crate::common::laws::thread::everything;
use crate::common::{
    Completed, Folder, InProgress, KEY, PLAN, Pending, contents, copied, edit, ended, file, kept, open, plan,
    skip, store, write,
};
use proptest::prelude::*;
use serde_json::{Map, json};
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::journal::search::{Query, search_plans};
use todo_write::journal::store::{Storage, Store};
use todo_write::journal::{folder_of, segment};
use todo_write::list::input::{Options, read_text};
use todo_write::thread::activity::{Decision, Doing, Ending};
use todo_write::thread::{Edit, State, Thread, WriteOptions};

#[test]
fn forty_of_the_longest_lists_that_are_accepted_take_little_disk() {
    let folder = Folder::new();
    let mut store = store(folder.path());
    for n in 0..40 {
        let task = |at| json!({"content": format!("{n} {at} {}", "x".repeat(890)), "status": "pending"});
        let input = json!({"todos": (0..1_000).map(task).collect::<Vec<_>>()}).to_string();
        if let Ok(plan) = read_text(&input, &Options::default()) {
            open(&mut store).change(|thread| thread.write(plan, WriteOptions::default(), n));
        }
        let most = json!({"todos": (0..100).map(task).collect::<Vec<_>>()}).to_string();
        let plan = read_text(&most, &Options::default()).unwrap();
        open(&mut store).change(|thread| thread.write(plan, WriteOptions::default(), n));
    }
    let size = fs::metadata(file(folder.path())).unwrap().len();
    assert!(size < 40 * 450_000, "{size} bytes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_thread_is_restored_as_it_was_and_continues(
        acts in acts(Act::any, 40),
        further in acts(Act::any, 10),
        keep_completed in any::<bool>(),
        length in prop::sample::select(vec![Some(0), Some(1), None]),
    ) {
        let folder = Folder::new();
        let in_segments = |folder: &Path, segment| {
            let folder = Some(folder.to_owned());
            Store::new(Storage { folder, history_limit: 10_000, segment, ..Storage::default() })
        };
        let mut living = in_segments(folder.path(), length);
        let mut now = 100;
        for act in &acts {
            now += 10;
            perform(open(&mut living), act.clone(), keep_completed, now);
        }
        // A restored thread is paused, and its activity is unknown.
        open(&mut living).change(|thread| thread.follow(&Decision::new(Doing::Working, 0), now));
        open(&mut living).change(|thread| thread.set_paused(Some("C-g".into()), now));
        let copy = copied(folder.path());
        let mut restored = in_segments(copy.path(), length);
        prop_assert_eq!(everything(&mut restored), everything(&mut living));
        for act in &further {
            now += 10;
            let outcome = perform(open(&mut living), act.clone(), keep_completed, now);
            prop_assert_eq!(perform(open(&mut restored), act.clone(), keep_completed, now), outcome);
        }
        prop_assert_eq!(everything(&mut restored), everything(&mut living));
    }
}

/// The number of writes that this thread of this process made; none where the system does not count them.
fn system_writes() -> Option<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("syscw: ")?.parse().ok())
}

#[test]
fn a_write_that_also_resumes_and_reminds_is_one_write_to_the_file() {
    if system_writes().is_none() {
        return skip("the system does not count writes");
    }
    let folder = Folder::new();
    let mut store = store(folder.path());
    let thread = open(&mut store);
    write(thread, &PLAN, 1);
    edit(thread, Edit::Add { content: "Mine".into(), position: None }, 2);
    write(thread, &PLAN, 3);
    thread.change(|thread| thread.set_paused(Some("lunch".into()), 4));
    let length = || fs::read_to_string(file(folder.path())).unwrap().lines().count();
    let (writes, records) = (system_writes().unwrap(), length());
    let done = PLAN.map(|(text, _)| (text, Completed));
    let outcome = write(thread, &done, 5);
    assert!(outcome.result.contains("Still open"), "{outcome:?}");
    assert_eq!((system_writes().unwrap() - writes, length() - records), (1, 3));
}

#[test]
fn an_active_thread_comes_back_paused_and_a_finished_one_done() {
    for (tasks, state) in [(&PLAN[..], State::Paused), (&PLAN[..1], State::Done), (&[], State::Empty)] {
        let folder = Folder::new();
        write(open(&mut store(folder.path())), tasks, 1);
        let mut again = store(folder.path());
        assert_eq!(open(&mut again).state(), state);
        assert_eq!(again.take_warnings(), [""; 0]);
    }
}

#[test]
fn the_next_session_does_not_know_that_the_agent_was_idle() {
    let folder = Folder::new();
    let mut before = store(folder.path());
    write(open(&mut before), &PLAN[..1], 1);
    open(&mut before).change(|thread| thread.follow(&ended(Ending::EndOfTurn, "end of turn"), 2));
    drop(before);
    for now in [100, 200] {
        let mut after = store(folder.path());
        let thread = open(&mut after);
        edit(thread, Edit::Status { id: "t1".into(), status: InProgress }, now);
        assert_eq!(thread.times("t1").unwrap().running_since, Some(now), "at {now}");
        edit(thread, Edit::Status { id: "t1".into(), status: Completed }, now + 50);
    }
    let mut last = store(folder.path());
    assert_eq!(open(&mut last).times("t1").unwrap().intervals, [(100, 150), (200, 250)]);
}

#[test]
fn how_the_agent_ended_is_kept() {
    let folder = Folder::new();
    let mut before = store(folder.path());
    write(open(&mut before), &PLAN, 1);
    open(&mut before).change(|thread| thread.follow(&ended(Ending::Killed, "killed"), 2));
    drop(before);
    let mut after = store(folder.path());
    let thread = open(&mut after);
    assert_eq!((thread.pause_reason(), thread.ending()), (Some("killed"), Some(Ending::Killed)));
}

#[test]
fn edits_before_a_restart_are_reported_to_the_agent_once() {
    let folder = Folder::new();
    let mut before = store(folder.path());
    write(open(&mut before), &PLAN, 1);
    edit(open(&mut before), Edit::Delete { id: "t3".into() }, 2);
    drop(before);
    let mut after = store(folder.path());
    assert!(write(open(&mut after), &PLAN, 3).result.contains("The user deleted \"Ship it\"."));
    drop(after);
    let mut later = store(folder.path());
    assert!(!write(open(&mut later), &PLAN[..2], 4).result.contains("The user"));
}

#[test]
fn an_agent_that_was_told_otherwise_than_by_a_result_is_not_told_again_after_a_restart() {
    let folder = Folder::new();
    let send = |store: &mut Store| {
        let options = WriteOptions { is_unanswered: true, ..WriteOptions::default() };
        open(store).change(|thread| thread.write(plan(&PLAN), options, 1))
    };
    let mut before = store(folder.path());
    send(&mut before);
    edit(open(&mut before), Edit::Delete { id: "t3".into() }, 2);
    assert_eq!(open(&mut before).change(Thread::take_untold), ["The user deleted \"Ship it\"."]);
    drop(before);
    // The agent repeats its own list before and after the second restart.
    for restart in 0..2 {
        let mut after = store(folder.path());
        send(&mut after);
        assert_eq!(open(&mut after).untold_edits(), [""; 0], "restart {restart}");
        assert_eq!(open(&mut after).list().len(), 2);
    }
    let mut after = store(folder.path());
    edit(open(&mut after), Edit::Status { id: "t1".into(), status: Pending }, 3);
    assert_eq!(open(&mut after).change(Thread::take_untold).len(), 1);
}

/// The bytes that a status change adds to the journal of a thread with this number of items.
fn bytes_of_a_status_change(items: usize) -> u64 {
    let folder = Folder::new();
    let mut store = store(folder.path());
    let thread = open(&mut store);
    let names: Vec<String> = (0..items).map(|n| format!("Task {:05}", n)).collect();
    let tasks: Vec<_> = names.iter().map(|name| (name.as_str(), Pending)).collect();
    write(thread, &tasks, 1_000);
    let length = || fs::metadata(file(folder.path())).unwrap().len();
    let before = length();
    let id = thread.list()[items / 2].id.clone();
    edit(thread, Edit::Status { id, status: Completed }, 1_001);
    length() - before
}

#[test]
fn a_status_change_costs_as_many_bytes_in_a_long_list_as_in_a_short_one() {
    let (short, long) = (bytes_of_a_status_change(10), bytes_of_a_status_change(10_000));
    println!("a status change: {short} bytes of 10 items, {long} bytes of 10,000 items");
    // The record has the id twice, the position once and the next id once: t6, 5 and 11, or t5001,
    // 5000 and 10001.
    assert_eq!(long - short, 3 + 3 + 3 + 3);
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_the_folder_and_its_files() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let outer = Folder::new();
    let folder = outer.path().join("deep/down");
    write(open(&mut store(&folder)), &PLAN, 1);
    let path = file(&folder);
    assert_eq!((mode(&folder), mode(path.parent().unwrap()), mode(&path)), (0o700, 0o700, 0o600));
    store(&folder).kept(1);
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn no_key_leaves_the_folder_or_collides_with_another() {
    let long = "x".repeat(10_000);
    let longer = "x".repeat(10_001);
    let keys = [
        "",
        " ",
        ".",
        "..",
        "/",
        "../../x",
        "/etc/passwd",
        "a/b",
        "a-b",
        "a b",
        "A-B",
        "C:\\con",
        "con",
        "nul",
        "\0",
        "a\0b",
        "😀",
        "😁",
        "語",
        "-",
        "+2",
        "a thread+2",
        "a\nb",
        "%00",
        "~",
        "$HOME",
        "*",
        &long,
        &longer,
    ];
    let outer = Folder::new();
    let folder = outer.path().join("journals");
    let mut first = store(&folder);
    for (n, key) in keys.iter().enumerate() {
        write(first.open(key, Map::new(), 1), &[(&format!("Task of key {n}"), Pending)], 1);
    }
    let mut found = kept(&mut first);
    drop(first);
    found.sort();
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), keys.len());
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name.len() < 100 && name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)),
            "{name}"
        );
    }
    let mut second = store(&folder);
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(contents(second.open(key, Map::new(), 1).list()), [format!("Task of key {n}")]);
    }
}

fn age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn saved_threads_are_listed_by_what_they_recorded_last_whatever_the_time_of_the_file() {
    let folder = Folder::new();
    let mut before = store(folder.path());
    let about = |key: &str| Map::from_iter([("project".to_owned(), json!(format!("/{key}")))]);
    for (key, time) in [("old", 2_000), ("older", 1_000), ("new", 3_000)] {
        write(before.open(key, about(key), 1), &[("Mix", Pending)], time);
    }
    let long = json!({ "text": "x".repeat(200_000) });
    let older = before.open("older", Map::new(), 1);
    older.change(|thread| thread.observe(Payload::new(Type::Message, long), Details::default(), 1_500));
    drop(before);
    age(&segment(&folder_of(folder.path(), "new"), 1), 2);
    age(&segment(&folder_of(folder.path(), "old"), 1), 3);
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    fs::write(folder.path().join("foreign.jsonl"), "{}\n").unwrap();
    let kept = store(folder.path()).kept(9).0;
    let times: Vec<_> = kept.iter().map(|kept| (kept.key.as_str(), kept.modified)).collect();
    assert_eq!(times, [("new", 3_000), ("old", 2_000), ("older", 1_500)]);
    assert_eq!(kept[1].about, about("old"));
}

#[test]
fn pruning_deletes_old_journals_but_none_in_use() {
    let cases: [(u64, &[&str]); 3] =
        [(100, &["a", "b", "c", "d", "used"]), (25, &["a", "b", "used"]), (0, &["used"])];
    for (days, left) in cases {
        let folder = Folder::new();
        let mut before = store(folder.path());
        ["a", "b", "c", "d"].iter().for_each(|key| drop(write(before.open(key, Map::new(), 1), &PLAN, 1)));
        let mut pruner = store(folder.path());
        write(pruner.open("used", Map::new(), 1), &PLAN, 1);
        for (n, key) in ["a", "b", "c", "d", "used"].iter().enumerate() {
            age(&segment(&folder_of(folder.path(), key), 1), 10 * (n as u64 + 1));
        }
        let gone = pruner.prune(Duration::from_secs(days * 86_400)).unwrap();
        let mut found = kept(&mut pruner);
        found.sort();
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        assert_eq!((gone, &found), (5 - left.len(), &left), "{days}");
    }
}

#[test]
fn forgetting_a_thread_deletes_its_files_only() {
    let folder = Folder::new();
    let mut store = store(folder.path());
    write(open(&mut store), &PLAN, 1);
    write(store.open("another", Map::new(), 1), &PLAN, 1);
    let path = file(folder.path());
    store.forget(KEY).unwrap();
    assert!(store.get(KEY).unwrap().is_none() && store.current(None) == Some("another"));
    assert!(!path.exists() && !path.parent().unwrap().exists());
    assert_eq!(kept(&mut store), ["another"]);
    assert_eq!(open(&mut store).list().len(), 0);
    store.forget("never seen").unwrap();
}

#[test]
fn fifty_changes_can_be_undone_after_a_restart() {
    let folder = Folder::new();
    let storage = Storage { folder: Some(folder.path().to_owned()), segment: Some(0), ..Storage::default() };
    let mut before = Store::new(storage);
    for n in 0..60 {
        let content = format!("Task {n}");
        edit(open(&mut before), Edit::Add { content, position: None }, n);
    }
    let mut after = store(folder.path());
    let thread = open(&mut after);
    assert_eq!((0..60).take_while(|_| thread.change(|thread| thread.undo(99)).is_ok()).count(), 50);
}

#[test]
fn a_search_finds_what_is_in_plans_without_a_small_file() {
    let folder = Folder::new();
    let mut before = store(folder.path());
    write(open(&mut before), &[("Mend the fence", Pending)], 1);
    let found = |store: &mut Store| {
        let plans = store.plans_to_search(None, &Query::of("fence").unwrap()).unwrap();
        let found = search_plans(plans, 9, |_, _| Ok::<(), ()>(())).unwrap().0;
        found.into_iter().map(|place| place.thread).collect::<Vec<_>>()
    };
    assert_eq!(found(&mut store(folder.path())), [KEY]);
    assert_eq!(found(&mut before), [KEY]);
}
