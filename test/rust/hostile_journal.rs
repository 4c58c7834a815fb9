//! Journals that no store writes, and journals that other programs change or delete.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Folder, KEY, Pending, contents, edit, file, ids, open, skip, store, write};
use serde_json::{Value, json};
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::journal::search::Query;
use todo_write::journal::segments::Span;
use todo_write::journal::{folder_of, segment};
use todo_write::text::fnv1a;
use todo_write::thread::{Edit, Thread};

/// A format that no version has yet.
const LATER: u32 = 1_000;

/// The journal of version 0.3 of a plan.
fn of_earlier_version(folder: &Path) -> PathBuf {
    folder_of(folder, KEY).with_extension("jsonl")
}

/// A folder with a journal of these records, each with a valid checksum, as version 0.3 wrote it.
fn with_records(records: &[Value]) -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    write_records(&of_earlier_version(folder.path()), 2, records);
    folder
}

fn write_records(path: &Path, format: u32, records: &[Value]) {
    let header = json!({"record": "thread", "format": format, "thread": KEY, "timestamp": 1, "about": {}});
    let mut lines = String::new();
    for record in [&header].into_iter().chain(records) {
        let json = record.to_string();
        let sum = fnv1a(json.as_bytes());
        lines += &format!("{},\"sum\":\"{sum:016x}\"}}\n", json.strip_suffix('}').unwrap());
    }
    fs::write(path, lines).unwrap();
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
        assert!(store.take_warnings()[0].contains("1 damaged record is left out"));
    }
}

#[test]
fn ids_stay_unique_after_a_journal_with_wrong_ids() {
    let journals = [
        vec![added(
            1,
            1,
            &[("t1", item("t1", "One")), ("t1", item("t1", "Two")), ("t3", item("t3", "Three"))],
        )],
        vec![added(1, 1, &[("t1", item("t1", "One")), ("t2", item("t1", "Two"))])],
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
        edit(thread, Edit::Add { content: "The user's".into(), position: None }, 8);
        assert_eq!(contents(thread.list()).len(), 4);
        assert_unique(thread);
    }
}

#[test]
fn missing_revisions_affect_neither_earlier_ones_nor_speed() {
    let far = 1 << 52;
    let folder = with_records(&[
        added(1, 2, &[("t1", item("t1", "First"))]),
        added(far, 3, &[("t2", item("t2", "Second"))]),
    ]);
    let mut store = store(folder.path());
    let thread = open(&mut store);
    let at = |thread: &Thread, number| contents(&thread.list_at(number).unwrap()).join(" ");
    assert_eq!(at(thread, 1), "First");
    assert_eq!(at(thread, 5_000), "First");
    assert_eq!(at(thread, far), "Second First");
    assert!(thread.list_at(far + 1).is_err());
    let numbers: Vec<u64> = thread.revisions().iter().map(|revision| revision.number).collect();
    assert_eq!(numbers, [1, far - 1, far]);
    for list in ["First", ""] {
        thread.change(|thread| thread.undo(9)).unwrap();
        assert_eq!(contents(thread.list()).join(" "), list);
    }
    assert!(thread.change(|thread| thread.undo(9)).is_err());
}

#[test]
fn a_journal_of_version_0_3_is_read_and_continued_and_stays_as_it_is() {
    let folder = with_records(&[
        added(1, 2, &[("t1", item("t1", "Of long ago"))]),
        json!({"record": "full", "number": 1, "timestamp": 5, "list": [], "nextId": 2}),
        json!({"record": "of a later version"}),
    ]);
    let path = of_earlier_version(folder.path());
    let before = fs::read(&path).unwrap();
    let mut first = store(folder.path());
    assert_eq!(first.kept(1).0[0].summary.total, 1);
    assert_eq!(contents(first.get(KEY).unwrap().unwrap().list()), ["Of long ago"]);
    edit(open(&mut first), Edit::Add { content: "New".into(), position: None }, 6);
    let mut second = store(folder.path());
    assert_eq!(contents(open(&mut second).list()), ["Of long ago", "New"]);
    let lists =
        second.spanning(KEY, Span::WHOLE).map(|found| found.map(|thread| thread.list_at(1).unwrap().len()));
    assert_eq!(lists.unwrap(), Some(1));
    assert_eq!((second.take_warnings(), fs::read(&path).unwrap()), (vec![], before));
    second.forget(KEY).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_journal_that_another_emacs_deleted_is_written_again() {
    let folder = Folder::new();
    let mut first = store(folder.path());
    write(open(&mut first), &[("Read", Pending), ("Write", Pending)], 1);
    let payload = Payload::new(Type::Title, json!("A title"));
    open(&mut first).change(|thread| thread.observe(payload, Details::default(), 2));
    store(folder.path()).forget(KEY).unwrap();
    assert!(!file(folder.path()).exists());
    let outcome = edit(open(&mut first), Edit::Delete { id: "t1".into() }, 3);
    assert_eq!((outcome.notices, first.take_warnings()), (vec![], vec![]));
    let mut second = store(folder.path());
    let thread = open(&mut second);
    assert_eq!((contents(thread.list()), thread.revisions().last()), (vec!["Write"], 2));
    assert_eq!(contents(&thread.list_at(1).unwrap()), ["Read", "Write"]);
    assert_eq!(thread.title(), Some("A title"));
}

#[test]
fn a_plan_begun_without_its_folder_is_merged_into_an_older_history() {
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
    let added = Edit::Add { content: "Three".into(), position: None };
    edit(open(&mut offline), added, 5);
    let living = open(&mut offline).list().clone();
    for content in ["Of long ago", "One", "Two", "Three"] {
        assert!(contents(&living).contains(&content), "{living:?}");
    }
    let mut later = store(folder.path());
    assert_eq!(open(&mut later).list(), &living);
    assert_eq!(open(&mut later).observations().reported().count(), 1);
}

#[test]
fn a_plan_that_another_process_changes_for_long_is_not_forgotten() {
    let folder = Folder::new();
    let mut user = store(folder.path());
    write(open(&mut user), &[("Read", Pending)], 1);
    let lock = fs::File::open(folder_of(folder.path(), KEY).join("lock")).unwrap();
    lock.lock().unwrap();
    assert!(user.forget(KEY).unwrap_err().to_string().contains("another Emacs is changing it"));
    assert_eq!(user.get(KEY).unwrap().unwrap().list().len(), 1);
    drop(lock);
    user.forget(KEY).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(user.get(KEY).unwrap().is_none());
}

#[test]
fn a_journal_of_a_later_version_is_left_alone_with_a_message() {
    let folder = Folder::new();
    let path = file(folder.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_records(&path, LATER, &[added(1, 2, &[("t1", item("t1", "Later"))]), json!({"record": "later"})]);
    let before = fs::read(&path).unwrap();
    let mut store = store(folder.path());
    let expected = format!("{} was written by another version of todo-write", path.display());
    assert!(store.get(KEY).unwrap_err().to_string().contains(&expected));
    assert!(
        store
            .plans_to_search(Some(KEY), &Query::of("later").unwrap())
            .unwrap_err()
            .to_string()
            .contains(&expected)
    );
    for (n, content) in ["One", "Two"].into_iter().enumerate() {
        edit(open(&mut store), Edit::Add { content: content.into(), position: None }, 2);
        let warnings = store.take_warnings();
        assert_eq!(warnings.len(), usize::from(n == 0), "{warnings:?}");
        assert!(
            warnings.iter().all(|one| one.contains(&expected) && one.contains("in memory")),
            "{warnings:?}"
        );
        assert_eq!(open(&mut store).list().len(), n + 1);
        assert!(open(&mut store).is_unsaved());
    }
    assert_eq!(fs::read(&path).unwrap(), before);
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
    let expected = "Permission denied (os error 13)";
    for _ in 0..2 {
        assert!(user.get(KEY).unwrap_err().to_string().contains(expected));
    }
    assert!(
        user.plans_to_search(Some(KEY), &Query::of("read").unwrap())
            .unwrap_err()
            .to_string()
            .contains(expected)
    );
    set_mode(0o600);
    assert_eq!(contents(user.get(KEY).unwrap().unwrap().list()), ["Read"]);
    // A write goes on in memory, says so, and is saved beside what was there once that can be read.
    set_mode(0o000);
    let before = fs::metadata(&path).unwrap().len();
    let mut other = store(folder);
    write(open(&mut other), &[("Write", Pending)], 2);
    let warnings = other.take_warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("Permission denied"), "{warnings:?}");
    assert!(open(&mut other).is_unsaved());
    assert_eq!(fs::metadata(&path).unwrap().len(), before);
    set_mode(0o600);
    open(&mut other).change(|thread| thread.set_paused(None, 3));
    assert!(!open(&mut other).is_unsaved());
    let mut found = contents(store(folder).get(KEY).unwrap().unwrap().list()).join(" ");
    found.retain(|c| c != '\n');
    assert!(found.contains("Read") && found.contains("Write"), "{found}");
    fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn in_a_folder_that_is_read_only_a_plan_is_read_and_goes_on_in_memory() {
    use std::os::unix::fs::PermissionsExt;
    let test = "hostile_journal::in_a_folder_that_is_read_only_a_plan_is_read_and_goes_on_in_memory";
    if done_by_other_user(test) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("todo-write-read-only-{}", std::process::id()));
    write(open(&mut store(&folder)), &[("Read", Pending)], 1);
    let plan = folder_of(&folder, KEY);
    fs::remove_file(plan.join("lock")).unwrap();
    let set_mode = |mode| fs::set_permissions(&plan, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o500);
    let mut user = store(&folder);
    assert_eq!(contents(user.get(KEY).unwrap().unwrap().list()), ["Read"]);
    write(open(&mut user), &[("Read", Pending), ("Write", Pending)], 2);
    assert!(open(&mut user).is_unsaved() && user.take_warnings().len() == 1);
    set_mode(0o700);
    open(&mut user).change(|thread| thread.set_paused(Some("now".into()), 3));
    assert_eq!(contents(store(&folder).get(KEY).unwrap().unwrap().list()), ["Read", "Write"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg(unix)]
fn links_and_pipes_are_neither_read_nor_written_nor_waited_for() {
    let folder = with_records(&[added(1, 2, &[("t1", item("t1", "Elsewhere"))])]);
    let old = of_earlier_version(folder.path());
    let precious = folder.path().join("precious");
    fs::rename(&old, &precious).unwrap();
    let text = fs::read_to_string(&precious).unwrap() + "and no line feed";
    fs::write(&precious, &text).unwrap();
    let plan = folder_of(folder.path(), KEY);
    fs::create_dir(&plan).unwrap();
    let names: Vec<PathBuf> = (1..=3).map(|number| segment(&plan, number)).collect();
    std::os::unix::fs::symlink(&precious, &old).unwrap();
    std::os::unix::fs::symlink(&precious, &names[0]).unwrap();
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &names[1]).unwrap();
    assert!(Command::new("mkfifo").arg(&names[2]).status().unwrap().success());
    let mut store = store(folder.path());
    assert!(store.kept(9).0.is_empty());
    assert!(store.get(KEY).unwrap().is_none());
    write(open(&mut store), &[("Mine", Pending)], 3);
    store.forget(KEY).unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), text);
    assert!(!folder.path().join("nowhere").exists());
}
