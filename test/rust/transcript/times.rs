//! Times of sessions that end in the middle of a task.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use todo_write::thread::{Ending, State};
use todo_write::transcript::field::millis;

use super::followed::{Followed, NOW};
use crate::common::{corpus_or_skip, root};

/// All transcripts below a folder.
fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| if path.is_dir() { transcripts(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect()
}

fn time(line: &[u8]) -> Option<u64> {
    let line: Value = serde_json::from_slice(line).ok()?;
    millis(line["timestamp"].as_str()?)
}

/// Reads a transcript ten lines at a time, each time as if the session ended there. The reader comes
/// much later.
fn no_task_takes_longer_than_its_session(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let mut followed = Followed::new();
    let (mut first, mut last) = (u64::MAX, 0);
    for cut in lines.chunks(10) {
        for time in cut.iter().filter_map(|line| time(line)) {
            (first, last) = (first.min(time), last.max(time));
        }
        followed.append(&cut.concat());
        followed.read();
        let longest = last.saturating_sub(first);
        for thread in followed.store.loaded() {
            for item in thread.list() {
                let spent = thread.times(&item.id).unwrap().spent(NOW);
                assert!(spent <= longest, "{}: {item:?} took {spent} of {longest} ms", path.display());
            }
            assert_ne!(thread.state(), State::Active, "{}", path.display());
        }
    }
}

#[test]
fn no_task_of_a_session_that_ends_anywhere_takes_longer_than_the_session() {
    for path in transcripts(&root().join("test/fixtures")) {
        no_task_takes_longer_than_its_session(&path);
    }
}

#[test]
fn no_task_of_a_recorded_session_that_ends_anywhere_takes_longer_than_the_session() {
    let Some(folder) = corpus_or_skip("transcripts") else { return };
    for path in transcripts(&folder) {
        no_task_takes_longer_than_its_session(&path);
    }
}

#[test]
fn a_session_that_ended_in_mid_task_is_paused_at_its_last_line() {
    let mut followed = Followed::new();
    followed.line(&super::todo("1", "First"));
    followed.line(&super::answer("1", false));
    followed.read();
    let thread = followed.store.get("claude:s", NOW).unwrap();
    assert_eq!(
        (thread.pause_reason(), thread.ending()),
        (Some("the session ended"), Some(Ending::SessionEnded))
    );
}
