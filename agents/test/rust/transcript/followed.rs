//! A growing transcript and its follower.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::transcript_law::read_all;
use serde_json::Value;
use todo_write::events::observation::{Filter, Type};
use todo_write::journal::store::{Storage, Store};
use todo_write::list::input::Options;
use todo_write::list::item::Status;
use todo_write::recorder::{Recorder, ThreadUpdate};
use todo_write::thread::activity::Turn;
use todo_write_mcp::follower::Follower;
use todo_write_mcp::tail::TailChange;

use crate::common::{Folder, record};

/// A time later than all those in the transcripts.
pub const NOW: u64 = 4_000_000_000_000;

/// A transcript in a new folder, its follower and the follower's store.
pub struct Followed {
    pub folder: Folder,
    pub store: Store,
    pub follower: Follower,
    pub recorder: Recorder,
}

impl Followed {
    pub fn new() -> Followed {
        let folder = Folder::new();
        fs::create_dir_all(folder.path()).unwrap();
        let (store, follower) = (store_in(&folder), follow(&folder));
        Followed { folder, store, follower, recorder: Recorder::default() }
    }

    pub fn of(fixture: &str) -> Followed {
        let followed = Followed::new();
        followed.append(&fs::read(fixture_path(fixture)).unwrap());
        followed
    }

    /// Follows a transcript of these lines.
    pub fn having(lines: &[Value]) -> Followed {
        let mut followed = Followed::new();
        lines.iter().for_each(|line| followed.line(line));
        followed.read();
        followed
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("session.jsonl")
    }

    pub fn append(&self, bytes: &[u8]) {
        append(&self.file(), bytes);
    }

    /// Appends to the file of this name beside the transcript.
    pub fn append_to(&self, name: &str, bytes: &[u8]) {
        append(&self.folder.path().join(name), bytes);
    }

    /// Appends to the file of a subagent, which is beside the transcript.
    pub fn append_to_subagent(&self, name: &OsStr, bytes: &[u8]) {
        append(&self.file().with_extension("").join("subagents").join(name), bytes);
    }

    pub fn line(&self, line: &Value) {
        self.append(format!("{line}\n").as_bytes());
    }

    /// The last event of the turn of a thread's agent.
    pub fn turn(&self, thread: &str) -> Turn {
        self.store.agents.facts(thread).unwrap().turn.what.clone()
    }

    pub fn read(&mut self) -> (TailChange, Vec<ThreadUpdate>) {
        let news = read_all(&mut self.follower).unwrap();
        if news.change == TailChange::Replaced {
            self.recorder.restart();
        }
        (news.change, record(&mut self.recorder, &mut self.store, &news.events, NOW))
    }

    /// Excludes what names a file from what is recorded.
    pub fn exclude(&mut self, globs: &[&str]) {
        for policy in [&mut self.follower.policy, &mut self.recorder.policy] {
            policy.excluded = globs.iter().map(|glob| (*glob).into()).collect();
        }
    }

    /// Restarts with only the journals, like another Emacs.
    pub fn restart(&mut self) {
        self.store = Store::default();
        self.store = store_in(&self.folder);
        self.follower = follow(&self.folder);
        self.recorder = Recorder::default();
    }

    pub fn rows(&mut self, thread: &str) -> Vec<(String, Status)> {
        rows(&mut self.store, thread)
    }

    pub fn revisions(&mut self, thread: &str) -> u64 {
        self.store.get(thread).unwrap().map_or(0, |thread| thread.revisions().last())
    }

    pub fn observed(&mut self, thread: &str, kind: Type) -> Vec<Value> {
        let thread = self.store.get(thread).unwrap().unwrap();
        let found = thread.observed(&Filter { kind: Some(kind), ..Filter::default() });
        found.iter().map(|one| one.payload.content.clone()).collect()
    }
}

fn append(file: &Path, bytes: &[u8]) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    OpenOptions::new().append(true).create(true).open(file).unwrap().write_all(bytes).unwrap();
}

fn store_in(folder: &Folder) -> Store {
    let folder = Some(folder.path().join("journals"));
    Store::new(Storage { folder, history_limit: 1_000, ..Storage::default() })
}

fn follow(folder: &Folder) -> Follower {
    Follower::new(folder.path().join("session.jsonl"), Options::default())
}

pub fn rows(store: &mut Store, thread: &str) -> Vec<(String, Status)> {
    let thread = store.get(thread).unwrap();
    let list = thread.map(|thread| thread.list().clone()).unwrap_or_default();
    list.iter().map(|item| (item.content.clone(), item.status)).collect()
}

/// Rows as [`rows`] returns them.
pub fn list(rows: &[(&str, Status)]) -> Vec<(String, Status)> {
    rows.iter().map(|(content, status)| ((*content).to_owned(), *status)).collect()
}

pub fn fixture_path(name: &str) -> PathBuf {
    crate::common::root().join("test/fixtures/transcripts").join(name)
}
