//! The lists that the benchmarks measure on, made by one rule.
//!
//! `bench/diff.mjs` has the rule for [`content`] and [`edited`] too: both sides compare equal lists.
// No benchmark uses all of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use todo_write::item::{Draft, Item, List, Status};
use todo_write::thread::Thread;

const VERBS: [&str; 8] = ["Parse", "Render", "Check", "Send", "Store", "Sort", "Count", "Merge"];

/// The text of task `n`: about as long as agents write them.
pub fn content(n: usize) -> String {
    format!("{} the records of customer {} in region {}", VERBS[n % 8], n * 7919, n % 97)
}

/// Where task `n` stands while task `current` is in progress.
pub fn status(n: usize, current: usize) -> Status {
    match n.cmp(&current) {
        std::cmp::Ordering::Less => Status::Completed,
        std::cmp::Ordering::Equal => Status::InProgress,
        std::cmp::Ordering::Greater => Status::Pending,
    }
}

pub fn draft(n: usize, current: usize) -> Draft<'static> {
    let content = content(n);
    let active_form = format!("At it: {content}");
    Draft {
        content: content.into(),
        status: status(n, current),
        active_form: active_form.into(),
        priority: None,
        hint: None,
    }
}

pub fn item(n: usize, current: usize) -> Arc<Item> {
    Arc::new(draft(n, current).into_item(format!("t{}", n + 1)))
}

/// A list of `size` items; every call makes all objects anew.
pub fn list(size: usize, current: usize) -> List {
    (0..size).map(|n| item(n, current)).collect()
}

/// [`list`] after a revision of the whole plan: every tenth task has more words, every hundredth
/// is gone, and as many are new at the end.
pub fn edited(size: usize, current: usize) -> List {
    let reworded = (0..size).filter(|n| n % 100 != 50).map(|n| {
        let mut task = item(n, current);
        if n % 10 == 0 {
            Arc::make_mut(&mut task).content.push_str(" again");
        }
        task
    });
    reworded.chain((size..size + size / 100).map(|n| item(n, current))).collect()
}

/// One task as agents send it.
pub fn sent(draft: &Draft<'_>) -> Value {
    json!({
        "content": draft.content,
        "status": draft.status.as_str(),
        "activeForm": draft.active_form,
    })
}

/// A call of the tool as JSON text.
pub fn call(tasks: Vec<Value>) -> String {
    json!({ "todos": tasks }).to_string()
}

/// The call that sends [`list`].
pub fn call_of(size: usize, current: usize) -> String {
    call((0..size).map(|n| sent(&draft(n, current))).collect())
}

/// A thread in memory.
pub fn thread() -> Thread {
    Thread::new("bench", Map::new(), None, 1_000)
}

/// A folder of this process's own, gone with the value.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("todo-write-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
