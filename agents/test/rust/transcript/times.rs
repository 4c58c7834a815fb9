//! Times of sessions that end in the middle of a task.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use todo_write::thread::State;
use todo_write::thread::activity::Ending;
use todo_write_mcp::field::millis;

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

/// The files of the subagents of a main transcript.
fn subagents(path: &Path) -> Vec<PathBuf> {
    let folder = path.with_extension("").join("subagents");
    if folder.is_dir() { transcripts(&folder) } else { Vec::new() }
}

/// The lines of a file, ten in each element.
fn cuts(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines.chunks(10).map(<[&[u8]]>::concat).collect()
}

/// A transcript and those of its subagents that grow.
struct Growing {
    followed: Followed,
    /// The times of the first and the last line.
    span: (u64, u64),
}

impl Growing {
    /// Appends lines to the session, or to the file of a subagent, as if the session ended there.
    fn append(&mut self, cut: &[u8], subagent: Option<&Path>) {
        let lines = cut.split(|byte| *byte == b'\n');
        for time in lines.filter_map(time) {
            self.span = (self.span.0.min(time), self.span.1.max(time));
        }
        match subagent {
            None => self.followed.append(cut),
            Some(path) => self.followed.append_to_subagent(path.file_name().unwrap(), cut),
        }
    }

    /// Reads all that is new, much later, and checks the times.
    fn check(&mut self, path: &Path) {
        self.followed.read();
        let longest = self.span.1.saturating_sub(self.span.0);
        for thread in self.followed.store.loaded() {
            for item in thread.list() {
                let spent = thread.times(&item.id).unwrap().spent(NOW);
                assert!(spent <= longest, "{}: {item:?} took {spent} of {longest} ms", path.display());
            }
            assert_ne!(thread.state(), State::Active, "{}", path.display());
        }
    }
}

/// Reads a session ten lines at a time, each time as if it ended there. First the main transcript grows
/// and then those of subagents, or the other way round. Returns the number of lists.
fn no_task_takes_longer_than_its_session(path: &Path) -> usize {
    let files: Vec<(Option<PathBuf>, Vec<Vec<u8>>)> = [(None, cuts(path))]
        .into_iter()
        .chain(subagents(path).into_iter().map(|file| (Some(file.clone()), cuts(&file))))
        .collect();
    let mut lists = 0;
    for is_reversed in [false, true] {
        let mut growing = Growing { followed: Followed::new(), span: (u64::MAX, 0) };
        let longest = files.iter().map(|(_, cuts)| cuts.len()).max().unwrap_or_default();
        let order: Vec<usize> =
            if is_reversed { (0..files.len()).rev().collect() } else { (0..files.len()).collect() };
        for at in 0..longest {
            for (file, cuts) in order.iter().map(|index| &files[*index]) {
                let Some(cut) = cuts.get(at) else { continue };
                growing.append(cut, file.as_deref());
                growing.check(path);
            }
        }
        lists = growing.followed.store.loaded().count();
    }
    lists
}

#[test]
fn no_task_of_a_session_that_ends_anywhere_takes_longer_than_the_session() {
    let folder = root().join("test/fixtures");
    let recorded = corpus_or_skip("transcripts");
    for path in recorded.iter().chain([&folder]).flat_map(|folder| transcripts(folder)) {
        no_task_takes_longer_than_its_session(&path);
    }
    let with_subagent = folder.join("transcripts/5e55a000-0000-4000-8000-000000000003.jsonl");
    assert_eq!(no_task_takes_longer_than_its_session(&with_subagent), 2);
}

#[test]
fn a_session_that_ended_in_mid_task_is_paused_at_its_last_line() {
    let mut followed = Followed::having(&[super::todo("1", "First"), super::answer("1", false)]);
    let thread = followed.store.get("claude:s").unwrap().unwrap();
    assert_eq!(
        (thread.pause_reason(), thread.ending()),
        (Some("the session ended"), Some(Ending::SessionEnded))
    );
}
