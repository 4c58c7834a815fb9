//! Journals that no store writes, and journals that other programs change or delete.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use crate::common::{Folder, KEY, Pending, contents, file, ids, open, skip, store, write};
use serde_json::{Value, json};
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::journal::search::Query;
use todo_write::journal::{bad_file, files_of};
use todo_write::text::fnv1a;
use todo_write::thread::record::FORMAT;
use todo_write::thread::{Edit, Thread};

/// A format that no version has yet.
const LATER: u32 = 1_000;

/// A folder with a journal of these records, each with a valid checksum.
fn with_records(records: &[Value]) -> Folder {
    with_format(FORMAT, records)
}

fn with_format(format: u32, records: &[Value]) -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    let header = json!({"record": "thread", "format": format, "thread": KEY, "timestamp": 1, "about": {}});
    let mut lines = String::new();
    for record in [&header].into_iter().chain(records) {
        let json = record.to_string();
        let sum = fnv1a(json.as_bytes());
        lines += &format!("{},\"sum\":\"{sum:016x}\"}}\n", json.strip_suffix('}').unwrap());
    }
    fs::write(file(folder.path()), lines).unwrap();
    folder
}

fn item(id: &str, content: &str) -> Value {
    json!({"id": id, "content": content, "status": "pending", "activeForm": content})
}

fn added(number: u64, next_id: u64, changes: &[(&str, Value)]) -> Value {
    let changes: Vec<Value> = changes
        .iter()
        .map(|(id, item)| json!({"type": "added", "itemId": id, "item": item, "position": 0}))
        .collect();
    json!({"record": "revision", "number": number, "known": number, "nextId": next_id,
           "stamp": {"timestamp": 5, "author": "agent", "operation": "write"}, "changes": changes})
}

fn full(number: u64, next_id: u64, list: &[Value]) -> Value {
    json!({"record": "full", "number": number, "timestamp": 5, "list": list, "nextId": next_id,
           "known": number, "clock": {}, "observations": 1})
}

fn assert_unique(thread: &Thread) {
    let ids = ids(thread.list());
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:?}");
}

#[test]
fn what_was_appended_with_a_position_counts_whole_or_without_what_is_damaged() {
    let position = |records: u64| json!({"record": "position", "session": "s", "first": 1, "offset": 9, "records": records});
    let first = || added(1, 2, &[("t1", item("t1", "Kept"))]);
    let bad = || added(u64::MAX, 2, &[]);
    let torn = with_records(&[position(2), first()]);
    assert_eq!(ids(open(&mut store(torn.path())).list()), [""; 0]);
    let damaged = with_records(&[position(3), first(), bad(), bad()]);
    for _ in 0..2 {
        assert_eq!(ids(open(&mut store(damaged.path())).list()), ["t1"]);
    }
}

#[test]
fn numbers_that_would_overflow_count_as_damage() {
    let highest = [
        added(u64::MAX, 2, &[]),
        added(1, u64::MAX, &[]),
        full(u64::MAX, 2, &[]),
        full(1, u64::MAX, &[]),
        json!({"record": "known", "number": u64::MAX}),
        json!({"record": "state", "timestamp": u64::MAX, "paused": null}),
        json!({"record": "observation", "number": u64::MAX, "type": "THOUGHTS", "timestamp": 5,
               "title": "", "content": "", "metadata": {}}),
    ];
    for record in highest {
        let folder = with_records(&[added(1, 2, &[("t1", item("t1", "Kept"))]), record.clone()]);
        let mut store = store(folder.path());
        let thread = open(&mut store);
        let payload = Payload::new(Type::Thoughts, json!("so"));
        thread.change(|thread| thread.observe(payload, Details::default(), 6));
        write(thread, &[("Kept", Pending), ("Another", Pending)], 7);
        assert_eq!((ids(thread.list()), thread.revisions().last()), (vec!["t1", "t2"], 2), "{record}");
        assert!(store.take_warnings()[0].contains("1 damaged record moved"));
        assert!(bad_file(&file(folder.path())).exists());
    }
}

#[test]
fn time_in_progress_saturates() {
    let mut record = full(1, 2, &[item("t1", "Read")]);
    let long = [0, u64::MAX];
    record["clock"] = json!({"t1": {"created": 1, "intervals": [long, long], "running_since": 0}});
    let folder = with_records(&[record]);
    assert_eq!(open(&mut store(folder.path())).times("t1").unwrap().spent(9), u64::MAX);
}

#[test]
fn ids_stay_unique_after_a_journal_with_wrong_ids() {
    let journals = [
        vec![full(1, 1, &[item("t1", "One"), item("t1", "Two"), item("t2", "Three")])],
        vec![added(
            1,
            1,
            &[("t1", item("t1", "One")), ("t1", item("t1", "Two")), ("t3", item("t3", "Three"))],
        )],
        vec![added(1, 1, &[("t1", item("t1", "One")), ("t2", item("t1", "Two"))])],
        vec![full(1, 7, &[item("t7", "One")])],
    ];
    for records in journals {
        let folder = with_records(&records);
        let mut store = store(folder.path());
        let thread = open(&mut store);
        assert_unique(thread);
        let written = ["One", "Quite new", "And newer"];
        write(thread, &written.map(|content| (content, Pending)), 7);
        // A second item of one id would be dropped.
        assert_eq!(contents(thread.list()), written);
        thread
            .change(|thread| thread.edit(Edit::Add { content: "The user's".into(), position: None }, 8))
            .unwrap();
        assert_eq!(contents(thread.list()).len(), 4);
        assert_unique(thread);
    }
}

#[test]
fn an_undo_and_its_replay_restore_the_same_list() {
    let hinted = |hint: &str, content: &str| {
        let mut read = item("t1", "Read");
        read["hint"] = hint.into();
        [read, item("t2", content)]
    };
    let folder = with_records(&[full(1, 3, &hinted("a", "Mend")), full(2, 3, &hinted("b", "Ship"))]);
    let mut first = store(folder.path());
    let thread = open(&mut first);
    thread.change(|thread| thread.undo(6)).unwrap();
    let undone = thread.list().clone();
    assert_eq!(contents(&undone), ["Read", "Mend"]);
    drop(first);
    assert_eq!(open(&mut store(folder.path())).list(), &undone);
}

#[test]
fn a_revision_after_a_lost_one_keeps_its_number() {
    let records = [added(1, 2, &[("t1", item("t1", "One"))]), added(3, 4, &[("t3", item("t3", "Three"))])];
    let folder = with_records(&records);
    let mut store = store(folder.path());
    let thread = open(&mut store);
    let numbers: Vec<u64> = thread.revisions().iter().map(|revision| revision.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(contents(&thread.list_at(2).unwrap()), ["One"]);
}

#[test]
fn missing_revisions_affect_neither_earlier_ones_nor_speed() {
    let far = 1 << 52;
    let folder = with_records(&[
        added(1, 2, &[("t1", item("t1", "First"))]),
        added(far, 3, &[("t2", item("t2", "Second"))]),
        full(far + 10, 4, &[item("t3", "Third")]),
        added(far + 11, 5, &[("t4", item("t4", "Fourth"))]),
    ]);
    let mut store = store(folder.path());
    let thread = open(&mut store);
    let at = |thread: &Thread, number| contents(&thread.list_at(number).unwrap()).join(" ");
    assert_eq!(at(thread, 1), "First");
    assert_eq!(at(thread, 5_000), "First");
    assert_eq!(at(thread, far), "Second First");
    assert_eq!(at(thread, far + 10), "Third");
    assert_eq!(at(thread, far + 11), "Fourth Third");
    assert!(thread.list_at(far + 12).is_err());
    let numbers: Vec<u64> = thread.revisions().iter().map(|revision| revision.number).collect();
    assert_eq!(numbers, [1, far - 1, far, far + 10, far + 11]);
    for list in ["Third", "Second First", "First", ""] {
        thread.change(|thread| thread.undo(9)).unwrap();
        assert_eq!(contents(thread.list()).join(" "), list);
    }
    assert!(thread.change(|thread| thread.undo(9)).is_err());
}

#[test]
fn a_journal_deleted_while_closed_is_written_again() {
    let folder = Folder::new();
    let mut first = store(folder.path());
    write(open(&mut first), &[("Read", Pending), ("Write", Pending)], 1);
    let payload = Payload::new(Type::Title, json!("A title"));
    open(&mut first).change(|thread| thread.observe(payload, Details::default(), 2));
    first.close_journals();
    assert_eq!(store(folder.path()).prune(None, Some(0)).unwrap(), 1);
    assert!(!file(folder.path()).exists());
    let outcome = open(&mut first).change(|thread| thread.edit(Edit::Delete { id: "t1".into() }, 3)).unwrap();
    assert_eq!((outcome.notices, first.take_warnings()), (vec![], vec![]));
    drop(first);
    let mut second = store(folder.path());
    let thread = open(&mut second);
    assert_eq!((contents(thread.list()), thread.revisions().last()), (vec!["Write"], 2));
    assert_eq!(contents(&thread.list_at(1).unwrap()), ["Read", "Write"]);
    assert_eq!(thread.title(), Some("A title"));
}

#[test]
fn a_thread_begun_without_its_folder_is_saved_beside_an_older_history() {
    let folder = Folder::new();
    write(open(&mut store(folder.path())), &[("Of long ago", Pending)], 1);
    let elsewhere = folder.path().with_extension("away");
    fs::rename(folder.path(), &elsewhere).unwrap();
    fs::write(folder.path(), "no folder").unwrap();
    let mut offline = store(folder.path());
    write(open(&mut offline), &[("One", Pending)], 2);
    let payload = Payload::new(Type::Thoughts, json!({"text": "Hm."}));
    open(&mut offline).change(|thread| thread.observe(payload, Details::default(), 3));
    write(open(&mut offline), &[("One", Pending), ("Two", Pending)], 4);
    fs::remove_file(folder.path()).unwrap();
    fs::rename(&elsewhere, folder.path()).unwrap();
    open(&mut offline).change(|thread| thread.edit(Edit::Delete { id: "t1".into() }, 5)).unwrap();
    let living = open(&mut offline);
    let observations = living.observed(&Default::default());
    let lists: Vec<_> = (0..=3).map(|number| living.list_at(number).unwrap()).collect();
    drop(offline);
    // Files written in quick succession may have equal times.
    for entry in fs::read_dir(folder.path()).unwrap() {
        let file = File::options().append(true).open(entry.unwrap().path()).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let mut later = store(folder.path());
    let thread = open(&mut later);
    assert_eq!((0..=3).map(|number| thread.list_at(number).unwrap()).collect::<Vec<_>>(), lists);
    assert_eq!(thread.observed(&Default::default()), observations);
    assert!(fs::read_to_string(file(folder.path())).unwrap().contains("Of long ago"));
}

#[test]
fn a_thread_held_by_another_process_is_not_forgotten() {
    let folder = Folder::new();
    let mut user = store(folder.path());
    write(open(&mut user), &[("Read", Pending)], 1);
    let mut other = store(folder.path());
    assert!(other.forget(KEY).unwrap_err().to_string().contains("another Emacs has it open"));
    open(&mut user)
        .change(|thread| thread.edit(Edit::Add { content: "More".into(), position: None }, 2))
        .unwrap();
    drop(user);
    assert_eq!(open(&mut other).list().len(), 2);
    other.forget(KEY).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_journal_of_a_later_version_is_left_alone() {
    let folder =
        with_format(LATER, &[added(1, 2, &[("t1", item("t1", "Later"))]), json!({"record": "later"})]);
    let path = file(folder.path());
    let before = fs::read(&path).unwrap();
    for (content, count) in [("One", 1), ("Two", 2)] {
        let mut store = store(folder.path());
        open(&mut store)
            .change(|thread| thread.edit(Edit::Add { content: content.into(), position: None }, 2))
            .unwrap();
        let warning = format!(
            "another version of todo-write wrote the journal {}; this Emacs writes its own",
            path.display()
        );
        assert_eq!(store.take_warnings(), if count == 1 { vec![warning] } else { Vec::new() });
        assert_eq!(open(&mut store).list().len(), count);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_plan_that_only_a_later_version_can_read_is_an_error_with_its_name() {
    let folder = with_format(LATER, &[added(1, 2, &[("t1", item("t1", "Later"))])]);
    let mut store = store(folder.path());
    let expected =
        format!("journal {}: another version of todo-write wrote it", file(folder.path()).display());
    assert_eq!(store.get(KEY).unwrap_err().to_string(), expected);
    assert_eq!(store.search(KEY, Query::of("later").unwrap(), 9).unwrap_err().to_string(), expected);
    // Its own journal can be read although the other one is newer.
    write(open(&mut store), &[("Mine", Pending)], 1);
    drop(store);
    fs::File::options()
        .append(true)
        .open(file(folder.path()))
        .unwrap()
        .set_modified(SystemTime::now())
        .unwrap();
    let mut again = crate::common::store(folder.path());
    assert_eq!(contents(again.get(KEY).unwrap().unwrap().list()), ["Mine"]);
}

/// Set in the process of another user that runs a test again.
const OTHER_USER: &str = "TODO_WRITE_TEST_OTHER_USER";

/// Runs this test again as another user if this one may read any file. Returns whether the test is done.
#[cfg(unix)]
fn done_by_other_user(test: &str) -> bool {
    if std::env::var_os(OTHER_USER).is_some() || !rustix::process::geteuid().is_root() {
        return false;
    }
    if Command::new("setpriv").arg("--version").output().is_err() {
        skip("no setpriv");
        return true;
    }
    let child = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(OTHER_USER, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
    true
}

#[cfg(unix)]
#[test]
fn a_journal_that_cannot_be_read_is_an_error_and_never_an_empty_plan() {
    use std::os::unix::fs::PermissionsExt;
    if done_by_other_user(
        "hostile_journal::a_journal_that_cannot_be_read_is_an_error_and_never_an_empty_plan",
    ) {
        return;
    }
    // The other user cannot write to the folder of the tests.
    let folder = std::env::temp_dir().join(format!("todo-write-unreadable-{}", std::process::id()));
    let folder = folder.as_path();
    write(open(&mut store(folder)), &[("Read", Pending)], 1);
    let path = file(folder);
    let set_mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o000);
    let mut user = store(folder);
    let expected = format!("journal {}: Permission denied (os error 13)", path.display());
    for _ in 0..2 {
        assert_eq!(user.get(KEY).unwrap_err().to_string(), expected);
    }
    assert_eq!(user.search(KEY, Query::of("read").unwrap(), 9).unwrap_err().to_string(), expected);
    set_mode(0o600);
    assert_eq!(contents(user.get(KEY).unwrap().unwrap().list()), ["Read"]);
    // A write goes on in a journal of its own, and says so.
    set_mode(0o000);
    let before = fs::metadata(&path).unwrap().len();
    let mut other = store(folder);
    write(open(&mut other), &[("Write", Pending)], 2);
    let warnings = other.take_warnings();
    assert!(
        warnings.len() == 1 && warnings[0].contains("cannot be opened (Permission denied"),
        "{warnings:?}"
    );
    assert!(!open(&mut other).is_unsaved());
    assert_eq!(fs::metadata(&path).unwrap().len(), before);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_thread_whose_journals_cannot_all_be_deleted_stays() {
    let folder = Folder::new();
    let (mut first, mut user) = (store(folder.path()), store(folder.path()));
    open(&mut first);
    write(open(&mut user), &[("Read", Pending)], 1);
    user.set_current(KEY);
    user.take_warnings();
    drop(first);
    for own_is_open in [true, false] {
        if !own_is_open {
            user.close_journals();
        }
        // Like a process that takes the journal after it was seen to be free.
        let looks_on = File::open(file(folder.path())).unwrap();
        looks_on.lock_shared().unwrap();
        assert!(user.forget(KEY).unwrap_err().to_string().contains("another Emacs has it open"));
        assert_eq!(user.current(), Some(KEY));
        assert_eq!(user.get(KEY).unwrap().unwrap().list().len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
    open(&mut user)
        .change(|thread| thread.edit(Edit::Add { content: "More".into(), position: None }, 2))
        .unwrap();
    assert_eq!(user.take_warnings(), [""; 0]);
    user.forget(KEY).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(user.get(KEY).unwrap().is_none() && user.current().is_none());
}

#[test]
#[cfg(unix)]
fn links_and_pipes_are_neither_read_nor_written_nor_waited_for() {
    let folder = with_records(&[added(1, 2, &[("t1", item("t1", "Elsewhere"))])]);
    let precious = folder.path().join("precious");
    fs::rename(file(folder.path()), &precious).unwrap();
    // Opening a journal cuts off an unfinished last line.
    let text = fs::read_to_string(&precious).unwrap() + "and no line feed";
    fs::write(&precious, &text).unwrap();
    let names: Vec<PathBuf> = files_of(folder.path(), KEY).take(4).collect();
    std::os::unix::fs::symlink(&precious, &names[0]).unwrap();
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &names[1]).unwrap();
    assert!(Command::new("mkfifo").arg(&names[2]).status().unwrap().success());
    let mut store = store(folder.path());
    assert!(store.saved_threads().is_empty());
    assert!(store.get(KEY).unwrap().is_none());
    assert!(store.get(KEY).unwrap().is_none());
    write(open(&mut store), &[("Mine", Pending)], 3);
    assert_eq!(store.take_warnings(), [""; 0]);
    assert!(names[3].is_file());
    store.forget(KEY).unwrap();
    assert!(!names[3].exists());
    assert_eq!(fs::read_to_string(&precious).unwrap(), text);
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
#[cfg(unix)]
fn damaged_records_are_not_written_through_a_link() {
    let folder = with_records(&[added(1, 2, &[("t1", item("t1", "Kept"))]), added(u64::MAX, 2, &[])]);
    let precious = folder.path().join("precious");
    fs::write(&precious, "as it was").unwrap();
    std::os::unix::fs::symlink(&precious, bad_file(&file(folder.path()))).unwrap();
    let mut store = store(folder.path());
    assert_eq!(ids(open(&mut store).list()), ["t1"]);
    assert!(store.take_warnings()[0].contains("1 damaged record moved"));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "as it was");
}
