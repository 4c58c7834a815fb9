//! A journal with any bytes opens, keeps all whole records, and accepts new ones.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value};
use todo_write::journal::{self, Durability, decode, files_of};
use todo_write::list::input::Plan;
use todo_write::list::item::Draft;
use todo_write::text::fnv1a;
use todo_write::thread::WriteOptions;
use todo_write::thread::record::{FORMAT, PositionRecord, Record};

use super::folder::Folder;
use super::lists::assert_unique;
use super::thread::{KEY, everything, open, store};

/// The first byte selects whether to add a checksum to each line, the rest is the journal.
pub fn holds(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let bytes = if *first & 1 == 1 { sealed(rest) } else { rest.to_vec() };
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    let path = files_of(folder.path(), KEY).next().unwrap();
    fs::write(&path, &bytes).unwrap();
    if is_of_other_version(&bytes) {
        return stays_untouched(&path, &bytes);
    }
    let whole = records(&bytes);
    keeps_whole_records(folder.path(), &whole);
    can_be_continued(folder.path());
    let left = records(&fs::read(&path).unwrap());
    assert!(whole.iter().all(|record| left.contains(record)));
}

/// The lines with valid checksums, as if a store had written them.
fn sealed(lines: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"}\n") {
            Some(start) => {
                let sum = fnv1a(&line[..line.len() - 1]);
                bytes.extend_from_slice(start);
                bytes.extend_from_slice(format!(",\"sum\":\"{sum:016x}\"}}\n").as_bytes());
            }
            None => bytes.extend_from_slice(line),
        }
    }
    bytes
}

/// Whether the first line is whole and names another format than this version's.
fn is_of_other_version(bytes: &[u8]) -> bool {
    let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some((json, _)) = line.split_at_checked(line.len().saturating_sub(27)) else { return false };
    let unsealed = [json, b"}\n"].concat();
    let fields = serde_json::from_slice::<Value>(&unsealed).unwrap_or_default();
    sealed(&unsealed) == line && fields["format"].as_u64().is_some_and(|format| format != u64::from(FORMAT))
}

/// This version neither reads nor writes the journal of another one, and begins its own.
fn stays_untouched(path: &Path, bytes: &[u8]) {
    let folder = path.parent().unwrap();
    let opened = journal::open(folder, KEY, &Map::new(), 5, Durability::Process).unwrap();
    assert_eq!((opened.records.len(), opened.warnings.len()), (1, 1));
    assert_eq!(fs::read(path).unwrap(), bytes);
}

/// The whole records: those that follow a position count together or not at all.
fn records(bytes: &[u8]) -> Vec<Record> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let lines: Vec<Option<Record>> = lines.map(decode).collect();
    let (mut records, mut rest) = (Vec::new(), lines.as_slice());
    while let [first, ..] = rest {
        let followers = match first {
            Some(Record::Position(position)) => position.records,
            _ => 0,
        };
        let count = usize::try_from(followers).unwrap_or(usize::MAX).saturating_add(1);
        let Some((batch, behind)) = rest.split_at_checked(count) else { break };
        records.extend(batch.iter().flatten().cloned().map(kept));
        rest = behind;
    }
    records
}

/// A record without what opening a journal may change: numbers of records that follow.
fn kept(record: Record) -> Record {
    match record {
        Record::Position(position) => Record::Position(PositionRecord { records: 0, ..position }),
        other => other,
    }
}

fn keeps_whole_records(folder: &Path, whole: &[Record]) {
    let again = || journal::open(folder, KEY, &Map::new(), 5, Durability::Process);
    match again() {
        Ok(opened) => {
            let is_header = |record: Option<&Record>| matches!(record, Some(Record::Thread { .. }));
            let begun = usize::from(!is_header(whole.first()));
            assert!(is_header(opened.records.first()));
            let found: Vec<Record> = opened.records.iter().cloned().map(kept).collect();
            assert_eq!(&found[begun..], whole);
            drop(opened.journal);
            let second = again().unwrap();
            assert!(second.records.iter().cloned().map(kept).eq(found));
            assert_eq!(second.warnings, [""; 0]);
        }
        // The bytes are the journal of another thread.
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::AlreadyExists),
    }
}

fn can_be_continued(folder: &Path) {
    let mut first = store(folder);
    let thread = open(&mut first);
    assert_unique(thread.list());
    let tasks = ["Go on", "Ship it"].map(|text| Draft {
        content: text.into(),
        active_form: text.into(),
        ..Draft::default()
    });
    let plan = Plan { drafts: tasks.to_vec(), ..Plan::default() };
    let before = thread.revisions().last();
    let outcome = thread.change(|thread| thread.write(plan, WriteOptions::default(), 2_000));
    assert!(outcome.ok && outcome.notices.is_empty() && outcome.revision <= before + 1, "{outcome:?}");
    let _ = thread.change(|thread| thread.undo(2_001));
    assert_unique(thread.list());
    thread.change(|thread| thread.set_paused(Some("the end".into()), 2_002));
    if !thread.has_journal() {
        return;
    }
    let living = everything(thread);
    drop(first);
    let mut second = store(folder);
    assert_eq!(everything(open(&mut second)), living);
    assert_eq!(second.take_warnings(), [""; 0]);
}
