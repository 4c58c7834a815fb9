//! A journal with any bytes opens, keeps all whole records, and accepts new ones.

use std::fs;
use std::path::Path;

use serde_json::Value;
use todo_write::journal::{folder_of, segment};
use todo_write::list::input::Plan;
use todo_write::list::item::Draft;
use todo_write::text::fnv1a;
use todo_write::thread::WriteOptions;
use todo_write::thread::record::FORMAT;

use super::folder::Folder;
use super::lists::assert_unique;
use super::thread::{KEY, everything, open, store};

/// The first byte selects whether to add a checksum to each line, the rest is the journal.
pub fn holds(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    let bytes = if *first & 1 == 1 { sealed(rest) } else { rest.to_vec() };
    let folder = Folder::new();
    let plan = folder_of(folder.path(), KEY);
    fs::create_dir_all(&plan).unwrap();
    let path = segment(&plan, 1);
    fs::write(&path, &bytes).unwrap();
    if is_foreign(&bytes) {
        return stays_untouched(folder.path(), &path, &bytes);
    }
    can_be_continued(folder.path());
    // What is not completely written is cut off; all else stays, whole or damaged.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    let has_batch = String::from_utf8_lossy(&bytes).contains("position");
    assert!(has_batch || fs::read(&path).unwrap().starts_with(&bytes[..whole]));
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

/// Whether the first line is whole and names another format than this version's, or the key of another plan.
fn is_foreign(bytes: &[u8]) -> bool {
    let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some((json, _)) = line.split_at_checked(line.len().saturating_sub(27)) else { return false };
    let unsealed = [json, b"}\n"].concat();
    let fields = serde_json::from_slice::<Value>(&unsealed).unwrap_or_default();
    let is_of_format = |format: u64| fields["format"].as_u64() == Some(format);
    let is_other = |key: &Value| key.as_str().is_some_and(|key| key != KEY);
    sealed(&unsealed) == line
        && fields["format"].is_u64()
        && (!is_of_format(FORMAT) && !is_of_format(2)
            || is_other(&fields["key"])
            || is_other(&fields["thread"]))
}

/// This version neither reads nor writes the journal of another one.
fn stays_untouched(folder: &Path, path: &Path, bytes: &[u8]) {
    let mut store = store(folder);
    assert!(store.get(KEY).is_err());
    open(&mut store).change(|thread| thread.set_paused(Some("now".into()), 1));
    assert_eq!(store.take_warnings().len(), 1);
    assert_eq!(fs::read(path).unwrap(), bytes);
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
    let living = everything(&mut first);
    let mut second = store(folder);
    assert_eq!(everything(&mut second), living);
    assert_eq!(second.take_warnings(), [""; 0]);
}
