//! Faults of the disk, of a file or by another process: nothing else is lost, and the user gets one
//! warning. Each test prints its faults, and bin/faults adds them up.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{Folder, KEY, PLAN, copied, edit, file, kept, open, skip, store, write};
use proptest::prelude::*;
use serde_json::{Map, json};
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::journal::segments::Span;
use todo_write::journal::store::{Storage, Store};
use todo_write::journal::{decode, folder_of, segment};
use todo_write::list::item::List;
use todo_write::thread::activity::{Decision, Doing};
use todo_write::thread::record::{Record, RevisionRecord};
use todo_write::thread::{Edit, Thread};

/// A folder that contains only a journal with this segment.
fn with_journal(bytes: &[u8]) -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder_of(folder.path(), KEY)).unwrap();
    fs::write(file(folder.path()), bytes).unwrap();
    folder
}

/// The list on disk.
fn on_disk(folder: &Path) -> List {
    open(&mut store(copied(folder).path())).list().clone()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn add(store: &mut Store, content: String, now: u64) {
    edit(open(store), Edit::Add { content, position: None }, now);
}

/// A segment whose revisions only add items, and the list after each of its lines.
fn sample() -> &'static (Vec<u8>, Vec<List>) {
    static SAMPLE: OnceLock<(Vec<u8>, Vec<List>)> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let folder = Folder::new();
        let mut store = store(folder.path());
        let mut lists = vec![List::new()];
        for n in 0..45 {
            if n % 7 == 3 {
                let payload = Payload::new(Type::Thoughts, json!("語 \u{1f600} ".repeat(20)));
                open(&mut store).change(|thread| thread.observe(payload, Details::default(), n));
            }
            add(&mut store, format!("Task {n} {}", "x".repeat(250)), n);
            let count = lines(&fs::read(file(folder.path())).unwrap()).len();
            // Observations do not change the list.
            while lists.len() < count - 1 {
                lists.push(lists[lists.len() - 1].clone());
            }
            lists.push(open(&mut store).list().clone());
        }
        (fs::read(file(folder.path())).unwrap(), lists)
    })
}

#[test]
fn a_journal_truncated_in_its_last_two_records_loses_no_whole_record() {
    let (whole, lists) = sample();
    let lines = lines(whole);
    let tail: usize = lines[lines.len() - 2..].iter().map(|line| line.len()).sum();
    // Every byte at the end of a record, and every seventh elsewhere.
    let is_near =
        |cut: &usize| cut.is_multiple_of(7) || whole[cut - 2..whole.len().min(cut + 2)].contains(&b'\n');
    let cuts: Vec<usize> = (whole.len() - tail..whole.len()).filter(is_near).collect();
    println!("faults: {} journals cut off", cuts.len());
    for cut in cuts {
        let folder = with_journal(&whole[..cut]);
        let complete = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        let torn = whole[cut - 1] != b'\n';
        let mut again = store(folder.path());
        assert_eq!(open(&mut again).list(), &lists[complete - 1], "cut at {cut}");
        add(&mut again, "One more".into(), 99);
        let warnings = again.take_warnings();
        assert_eq!(warnings.len(), usize::from(torn), "cut at {cut}: {warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains("truncated")), "cut at {cut}: {warnings:?}");
    }
}

#[test]
fn a_journal_truncated_anywhere_can_be_continued() {
    let (whole, _) = sample();
    for cut in (0..whole.len()).step_by(1_499) {
        println!("faults: 1 journals cut off");
        let folder = with_journal(&whole[..cut]);
        let mut again = store(folder.path());
        add(&mut again, "One more".into(), 99);
        let mut later = store(folder.path());
        assert_eq!(open(&mut later).list(), open(&mut again).list(), "{cut}");
        assert_eq!((kept(&mut later), later.take_warnings()), (vec![KEY.to_owned()], vec![]), "{cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_lose_only_the_records_they_are_in(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..6),
    ) {
        let (whole, lists) = sample();
        let mut bytes = whole.clone();
        flips.iter().for_each(|(at, mask)| bytes[at.index(whole.len())] ^= mask);
        println!("faults: {} bytes flipped", flips.len());
        let folder = with_journal(&bytes);

        // A record is undamaged if its bytes and the line feed before it are.
        let mut start = 0;
        let mut sound = Vec::new();
        for line in lines(whole) {
            let end = start + line.len();
            if bytes[start.saturating_sub(1)..end] == whole[start.saturating_sub(1)..end] {
                sound.extend(decode(line));
            }
            start = end;
        }

        // The list has every item of the undamaged records, and no other.
        let mut restored = store(folder.path());
        let list = open(&mut restored).list().clone();
        let all = &lists[lists.len() - 1];
        prop_assert!(list.iter().all(|item| all.contains(item)));
        for record in sound {
            if let Record::Revision(RevisionRecord { changes, .. }) = record {
                let named = changes.into_iter().filter_map(|change| change.item);
                prop_assert!(named.clone().all(|item| list.contains(&item)), "{:?}", named.collect::<Vec<_>>());
            }
        }
        add(&mut restored, "One more".into(), 99);
        let is_damaged = list.len() < all.len();
        prop_assert!(restored.take_warnings().len() >= usize::from(is_damaged));

        // The next opening finds no damage, and what was damaged stays for a person to look at.
        let mut again = store(folder.path());
        prop_assert_eq!(open(&mut again).list().len(), list.len() + 1);
        prop_assert_eq!(again.take_warnings(), [""; 0]);
        let left = fs::read(file(folder.path())).unwrap();
        prop_assert!(bytes.starts_with(&left) || left.starts_with(&bytes));
    }
}

/// A store with short segments.
fn with_segments(folder: &Path) -> Store {
    let folder = Some(folder.to_owned());
    Store::new(Storage { folder, history_limit: 100, segment: Some(1), ..Storage::default() })
}

/// A journal with at least three segments, and the number of the newest.
fn long() -> (Folder, u64) {
    let folder = Folder::new();
    let mut store = with_segments(folder.path());
    let mut n = 0;
    let of = |number| segment(&folder_of(folder.path(), KEY), number);
    while !of(4).exists() {
        n += 1;
        add(&mut store, format!("Task {n}"), n);
    }
    (folder, 4)
}

#[test]
fn a_damaged_first_line_of_a_segment_loses_nothing() {
    let (folder, newest) = long();
    let list = open(&mut store(folder.path())).list().clone();
    for damaged in [&[newest][..], &[newest, newest - 1]] {
        let copy = copied(folder.path());
        for number in damaged {
            let path = segment(&folder_of(copy.path(), KEY), *number);
            let mut bytes = fs::read(&path).unwrap();
            bytes[30] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
        let mut again = store(copy.path());
        assert_eq!(open(&mut again).list(), &list);
        open(&mut again).change(|thread| thread.set_paused(Some("now".into()), 99));
        let warnings = again.take_warnings();
        assert!(
            !warnings.is_empty() && warnings.iter().all(|one| one.contains("damaged record")),
            "{warnings:?}"
        );
        let mut later = store(copy.path());
        assert_eq!(open(&mut later).list(), &list);
        assert_eq!(later.take_warnings(), [""; 0]);
    }
}

#[test]
fn a_plan_is_described_again_if_its_first_line_was_cut_off() {
    let folder = with_journal(b"{\"form");
    let about = || json!({"project": "/garden/"}).as_object().unwrap().clone();
    let mut first = store(folder.path());
    write(first.open(KEY, about(), 1), &PLAN, 1);
    assert_eq!(first.open(KEY, Map::new(), 1).about(), &about());
    assert_eq!(open(&mut store(folder.path())).about(), &about());
}

#[test]
fn a_segment_that_cannot_be_begun_lets_the_one_before_go_on() {
    let folder = Folder::new();
    let mut store = with_segments(folder.path());
    add(&mut store, "Task 1".into(), 1);
    let plan = folder_of(folder.path(), KEY);
    // A folder in the place of a new segment refuses to be written, as a full disk does.
    let new = segment(&plan, 2).with_extension("new");
    fs::create_dir(&new).unwrap();
    for n in 2..20 {
        add(&mut store, format!("Task {n} {}", "x".repeat(2_000)), n);
    }
    assert!(!segment(&plan, 2).exists() && store.take_warnings().is_empty());
    assert_eq!(on_disk(folder.path()).len(), 19);
    fs::remove_dir(&new).unwrap();
    add(&mut store, "Task 20".into(), 20);
    assert!(segment(&plan, 2).exists());
    assert_eq!(on_disk(folder.path()).len(), 20);
}

#[test]
fn what_left_the_list_long_ago_can_be_restored_from_a_plan_that_is_opened() {
    let folder = Folder::new();
    let mut store = with_segments(folder.path());
    for n in 1..=3 {
        add(&mut store, format!("Task {n}"), n);
    }
    edit(open(&mut store), Edit::Delete { id: "t2".into() }, 4);
    for n in 5..200 {
        add(&mut store, format!("Task {n}"), n);
    }
    let mut again = with_segments(folder.path());
    edit(open(&mut again), Edit::Restore { id: "t2".into() }, 300);
    let ids: Vec<String> = open(&mut again).list().iter().take(3).map(|item| item.id.clone()).collect();
    assert_eq!(ids, ["t1", "t2", "t3"]);
}

#[test]
fn a_missing_segment_leaves_what_the_others_have() {
    let (folder, newest) = long();
    let list = open(&mut store(folder.path())).list().clone();
    let of = |folder: &Folder, number| segment(&folder_of(folder.path(), KEY), number);
    // An older one is missing: the plan is as it was.
    let copy = copied(folder.path());
    fs::remove_file(of(&copy, newest - 1)).unwrap();
    assert_eq!(open(&mut store(copy.path())).list(), &list);
    // The newest one is missing: the plan is as it was when that was begun, and goes on.
    let copy = copied(folder.path());
    fs::remove_file(of(&copy, newest)).unwrap();
    let mut again = store(copy.path());
    let before = open(&mut again).list().clone();
    assert!(!before.is_empty() && list.starts_with(&before));
    add(&mut again, "One more".into(), 99);
    assert_eq!(open(&mut store(copy.path())).list().len(), before.len() + 1);
}

#[test]
fn an_earlier_list_is_read_from_the_segment_before_a_damaged_one() {
    let (folder, newest) = long();
    let lengths = || {
        let mut store = store(folder.path());
        let last = open(&mut store).revisions().last();
        let length = |number| {
            let thread = store.spanning(KEY, Span::Revisions(number, number)).unwrap().unwrap();
            thread.list_at(number).unwrap().len()
        };
        (1..=last).step_by(50).map(length).collect::<Vec<_>>()
    };
    let before = lengths();
    let damaged = segment(&folder_of(folder.path(), KEY), newest - 2);
    let text = fs::read_to_string(&damaged).unwrap();
    fs::write(&damaged, text.replacen('{', "x", 1)).unwrap();
    assert_eq!(lengths(), before);
}

#[test]
fn a_folder_that_cannot_be_created_gives_one_warning_and_loses_no_list() {
    let outer = Folder::new();
    fs::write(outer.path(), "a file where the folder should be").unwrap();
    let folder = outer.path().join("journals");
    let mut offline = store(&folder);
    for n in 1..=3 {
        assert_eq!(write(open(&mut offline), &PLAN[..n], 1).revision, n as u64);
        let warnings = offline.take_warnings();
        assert_eq!(warnings.len(), usize::from(n == 1), "{warnings:?}");
        println!("faults: 1 writes without a folder");
    }
    // After the repair, the next write saves everything.
    fs::remove_file(outer.path()).unwrap();
    edit(open(&mut offline), Edit::Delete { id: "t1".into() }, 2);
    assert_eq!(offline.take_warnings(), [""; 0]);
    assert_eq!(&on_disk(&folder), open(&mut offline).list());
    assert_eq!(open(&mut offline).list().len(), 2);
}

#[test]
fn each_kind_of_record_that_cannot_be_written_is_reported() {
    type Work = fn(&mut Thread);
    let kinds: [(&str, Work); 4] = [
        ("list", |thread| drop(write(thread, &PLAN[..1], 2))),
        ("observation", |thread| {
            drop(thread.observe(Payload::new(Type::Intent, "Tidy up".into()), Details::default(), 2));
        }),
        ("activity", |thread| thread.follow(&Decision::new(Doing::Waiting, 0), 2)),
        ("pause", |thread| thread.set_paused(Some("lunch".into()), 2)),
    ];
    for (kind, work) in kinds {
        let folder = Folder::new();
        let mut store = store(folder.path());
        write(open(&mut store), &PLAN, 1);
        let plan = folder_of(folder.path(), KEY);
        fs::rename(&plan, plan.with_extension("away")).unwrap();
        fs::write(&plan, "a file where the folder should be").unwrap();
        store.get_mut(KEY).unwrap().change(work);
        let warnings = store.take_warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("cannot be written"), "{kind}: {warnings:?}");
        assert_eq!(store.take_warnings(), [""; 0], "{kind}");
    }
}

const FULL_DISK: &str = "TODO_WRITE_TEST_FULL_DISK";

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_record_loses_nothing() {
    let folder = Folder::new();
    if let Ok(folder) = std::env::var(FULL_DISK) {
        return on_a_full_disk(Path::new(&folder));
    }
    // A limit on the size of files has the effect of a full disk: a write stops midway.
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip("no prlimit");
    }
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -S -f 24 && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "faults::a_disk_that_is_full_in_the_middle_of_a_record_loses_nothing",
            "--nocapture",
        ])
        .env(FULL_DISK, folder.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && output.contains("the disk was full"), "{output}");
    println!("{output}");
}

fn on_a_full_disk(folder: &Path) {
    let mut full = store(folder);
    let mut saved = List::new();
    let mut warned = 0;
    for n in 0..200 {
        let content = format!("Task {n} {}", "x".repeat(700));
        let outcome = edit(open(&mut full), Edit::Add { content, position: None }, n);
        assert!(outcome.ok && open(&mut full).list().len() == n as usize + 1);
        warned += full.take_warnings().len();
        if warned == 0 {
            saved = open(&mut full).list().clone();
        }
    }
    assert_eq!(warned, 1);
    assert_eq!(open(&mut store(folder)).list(), &saved);
    let lifted = Command::new("prlimit")
        .args(["--pid", &std::process::id().to_string(), "--fsize=unlimited:"])
        .status()
        .unwrap();
    assert!(lifted.success());
    let outcome = edit(open(&mut full), Edit::Delete { id: "t1".into() }, 300);
    assert_eq!(outcome.notices, [""; 0]);
    assert_eq!(&on_disk(folder), open(&mut full).list());
    assert_eq!(open(&mut full).list().len(), 199);
    println!("the disk was full after {} items", saved.len());
    println!("faults: {} writes to a full disk", 200 - saved.len());
}
