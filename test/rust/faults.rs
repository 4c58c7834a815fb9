//! Faults of the disk, of a file or by another process: nothing else is lost, and the user gets one
//! warning. Each test prints its faults, and bin/faults adds them up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{Folder, KEY, PLAN, Pending, contents, file, open, skip, store, write};
use proptest::prelude::*;
use serde_json::{Map, json};
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::journal::store::Store;
use todo_write::journal::{self, Durability, bad_file, decode, files_of};
use todo_write::list::item::List;
use todo_write::thread::activity::Activity;
use todo_write::thread::record::{FullRecord, Record, RevisionRecord};
use todo_write::thread::{Edit, Thread};

/// A folder that contains only this journal.
fn with_journal(bytes: &[u8]) -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    fs::write(file(folder.path()), bytes).unwrap();
    folder
}

/// The list on disk, even if a process holds its journal.
fn on_disk(folder: &Path) -> List {
    let copy = with_journal(&fs::read(file(folder)).unwrap());
    open(&mut store(copy.path())).list().clone()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A journal whose revisions only add items, and the list after each of its records.
fn sample() -> &'static (Vec<u8>, Vec<List>) {
    static SAMPLE: OnceLock<(Vec<u8>, Vec<List>)> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let folder = Folder::new();
        let mut store = store(folder.path());
        let mut lists = vec![List::new()];
        for n in 0..45 {
            let thread = open(&mut store);
            if n % 7 == 3 {
                let payload = Payload::new(Type::Thoughts, json!("語 \u{1f600} ".repeat(20)));
                thread.change(|thread| thread.observe(payload, Details::default(), n));
            }
            thread
                .change(|thread| {
                    thread.edit(
                        Edit::Add { content: format!("Task {n} {}", "x".repeat(250)), position: None },
                        n,
                    )
                })
                .unwrap();
            let count = lines(&fs::read(file(folder.path())).unwrap()).len();
            // Full records and observations do not change the list.
            while lists.len() < count - 1 {
                lists.push(lists[lists.len() - 1].clone());
            }
            lists.push(open(&mut store).list().clone());
        }
        (fs::read(file(folder.path())).unwrap(), lists)
    })
}

#[test]
fn the_sample_has_records_of_every_size() {
    let (bytes, lists) = sample();
    let full = lines(bytes).iter().filter(|line| matches!(decode(line), Some(Record::Full { .. }))).count();
    assert!(full >= 1 && lines(bytes).len() == lists.len() && lists.len() > 45);
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
        open(&mut again)
            .change(|thread| thread.edit(Edit::Add { content: "One more".into(), position: None }, 99))
            .unwrap();
        let list = open(&mut again).list().clone();
        drop(again);
        let mut later = store(folder.path());
        assert_eq!(
            (open(&mut later).list(), warnings_of_reading(&mut store(folder.path()))),
            (&list, vec![]),
            "{cut}"
        );
    }
}

/// The warnings of a store that only reads.
fn warnings_of_reading(store: &mut Store) -> Vec<String> {
    assert_eq!(store.saved_threads().len(), 1, "the header is there");
    store.take_warnings()
}

fn is_header(record: Option<&Record>) -> bool {
    matches!(record, Some(Record::Thread { .. }))
}

fn opened(folder: &Path) -> journal::OpenedJournal {
    journal::open(folder, KEY, &Map::new(), 2, Durability::Process).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_lose_only_the_records_they_are_in(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..6),
    ) {
        let (whole, _) = sample();
        let mut bytes = whole.clone();
        flips.iter().for_each(|(at, mask)| bytes[at.index(whole.len())] ^= mask);
        println!("faults: {} bytes flipped", flips.len());
        let folder = with_journal(&bytes);

        // A record is undamaged if its bytes and the line feed before it are.
        let mut start = 0;
        let (mut sound, mut all) = (Vec::new(), Vec::new());
        for line in lines(whole) {
            let end = start + line.len();
            let record = decode(line).unwrap();
            if bytes[start.saturating_sub(1)..end] == whole[start.saturating_sub(1)..end] {
                sound.push(record.clone());
            }
            all.push(record);
            start = end;
        }

        let found = opened(folder.path());
        // A new header replaces a damaged one, so that the journal can still be found.
        prop_assert!(is_header(found.records.first()));
        // A flip that only changes the case of a hexadecimal digit leaves the record valid.
        prop_assert!(found.records[1..].iter().all(|record| all.contains(record)));
        prop_assert!(sound.iter().all(|record| found.records.contains(record)));
        prop_assert_eq!(found.warnings.is_empty(), found.records == all);
        let set_aside = fs::read(bad_file(&file(folder.path()))).unwrap_or_default();
        let torn = bytes.last() != Some(&b'\n');
        prop_assert!(torn || found.warnings.is_empty() || !set_aside.is_empty());
        let records = found.records.clone();
        drop(found);

        // The next opening finds no damage.
        let again = opened(folder.path());
        prop_assert_eq!((&again.records, again.warnings.len()), (&records, 0));
        drop(again);

        // The list has every item of the undamaged records.
        let mut restored = store(folder.path());
        let list = contents(open(&mut restored).list()).into_iter().map(str::to_owned).collect::<Vec<_>>();
        for record in sound {
            let named: Vec<String> = match record {
                Record::Revision(RevisionRecord { changes, .. }) => {
                    changes.into_iter().filter_map(|change| Some(change.item?.content.clone())).collect()
                }
                Record::Full(FullRecord { list, .. }) => list.iter().map(|item| item.content.clone()).collect(),
                _ => Vec::new(),
            };
            prop_assert!(named.iter().all(|content| list.contains(content)));
        }
    }

    #[test]
    fn a_journal_of_any_bytes_opens_and_can_be_continued(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
        println!("faults: 1 journals of random bytes");
        let folder = with_journal(&bytes);
        let mut first = store(folder.path());
        write(open(&mut first), &PLAN, 1);
        drop(first);
        let mut second = store(folder.path());
        prop_assert_eq!(open(&mut second).list().len(), 3);
        prop_assert_eq!(second.take_warnings(), Vec::<String>::new());
    }
}

#[test]
fn damaged_records_are_moved_away_with_one_warning() {
    let (whole, lists) = sample();
    let mut bytes = whole.clone();
    let second = lines(whole)[0].len();
    bytes[second + 5] ^= 1;
    let folder = with_journal(&bytes);
    let mut again = store(folder.path());
    // A later full record repeats the list.
    assert_eq!(open(&mut again).list(), &lists[lists.len() - 1]);
    let warnings = again.take_warnings();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("1 damaged record moved to") && warnings[0].contains(".bad"),
        "{warnings:?}"
    );
    let line = lines(&bytes)[1].to_vec();
    assert_eq!(fs::read(bad_file(&file(folder.path()))).unwrap(), line);
}

#[test]
fn two_processes_never_write_one_file() {
    let folder = Folder::new();
    let (mut first, mut second, mut third) =
        (store(folder.path()), store(folder.path()), store(folder.path()));
    for (n, store) in [&mut first, &mut second, &mut third].into_iter().enumerate() {
        write(open(store), &[(&format!("Of process {n}"), Pending)], 1);
        let warnings = store.take_warnings();
        assert_eq!(warnings.len(), n, "{warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains("another Emacs")), "{warnings:?}");
    }
    let files: Vec<PathBuf> = files_of(folder.path(), KEY).filter(|path| path.exists()).collect();
    assert_eq!(files.len(), 3);
    for (n, file) in files.iter().enumerate() {
        assert!(fs::read_to_string(file).unwrap().contains(&format!("Of process {n}")));
    }
    assert_eq!(first.saved_threads().len(), 1);
}

#[test]
fn the_newest_of_several_journals_is_restored() {
    let folder = Folder::new();
    let (mut first, mut second) = (store(folder.path()), store(folder.path()));
    write(open(&mut first), &PLAN[..1], 1);
    write(open(&mut second), &PLAN, 1);
    drop((first, second));
    for (newest, count) in [(0, 1), (1, 3)] {
        for (n, path) in files_of(folder.path(), KEY).take(2).enumerate() {
            let then =
                std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(n == newest));
            fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
        }
        assert_eq!(open(&mut store(folder.path())).list().len(), count);
    }
}

#[test]
fn a_second_journal_is_found_without_the_first() {
    let folder = Folder::new();
    let (mut first, mut second) = (store(folder.path()), store(folder.path()));
    open(&mut first);
    write(open(&mut second), &PLAN, 1);
    drop((first, second));
    fs::remove_file(file(folder.path())).unwrap();
    assert_eq!(store(folder.path()).get(KEY).unwrap().unwrap().list().len(), 3);
    let mut forgetful = store(folder.path());
    forgetful.forget(KEY).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
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
    open(&mut offline).change(|thread| thread.edit(Edit::Delete { id: "t1".into() }, 2)).unwrap();
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
        ("activity", |thread| thread.set_activity(Activity::Waiting, 2)),
        ("pause", |thread| thread.set_paused(Some("lunch".into()), 2)),
    ];
    for (kind, work) in kinds {
        let folder = Folder::new();
        let mut store = store(folder.path());
        write(open(&mut store), &PLAN, 1);
        store.close_journals();
        fs::remove_file(files_of(folder.path(), KEY).next().unwrap()).unwrap();
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
        let outcome =
            open(&mut full).change(|thread| thread.edit(Edit::Add { content, position: None }, n)).unwrap();
        assert!(outcome.ok && open(&mut full).list().len() == n as usize + 1);
        warned += full.take_warnings().len();
        if warned == 0 {
            saved = open(&mut full).list().clone();
        }
        let bytes = fs::read(file(folder)).unwrap();
        assert!(lines(&bytes).iter().all(|line| decode(line).is_some()), "half a record stayed");
    }
    assert_eq!(warned, 1);
    assert_eq!(on_disk_elsewhere(folder), saved);
    let lifted = Command::new("prlimit")
        .args(["--pid", &std::process::id().to_string(), "--fsize=unlimited:"])
        .status()
        .unwrap();
    assert!(lifted.success());
    let outcome =
        open(&mut full).change(|thread| thread.edit(Edit::Delete { id: "t1".into() }, 300)).unwrap();
    assert_eq!(outcome.notices, [""; 0]);
    assert_eq!(&on_disk(folder), open(&mut full).list());
    assert_eq!(open(&mut full).list().len(), 199);
    println!("the disk was full after {} items", saved.len());
    println!("faults: {} writes to a full disk", 200 - saved.len());
}

/// Equivalent to [`on_disk`], but does not copy the journal, because the disk is full.
fn on_disk_elsewhere(folder: &Path) -> List {
    let bytes = fs::read(file(folder)).unwrap();
    let records: Vec<Record> = lines(&bytes).into_iter().map(|line| decode(line).unwrap()).collect();
    Thread::replayed(KEY, &records, 10).0.list().clone()
}
