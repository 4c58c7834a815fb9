//! Items, drafts, threads and folders for the tests.
// Each test program uses only some of them.
#![allow(dead_code, unused_imports, clippy::unwrap_used)]

pub mod folder;
pub mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Map;
use todo_write::input::Plan;
use todo_write::item::{Draft, Item, Status};
use todo_write::journal::{Durability, files_of};
use todo_write::store::{Storage, Store};
use todo_write::thread::{Outcome, Thread};

pub use folder::Folder;
pub use todo_write::item::Status::{Completed, InProgress, Pending};

/// The key of the thread in most tests.
pub const KEY: &str = "a thread";
pub const PLAN: [(&str, Status); 3] =
    [("Read the code", Completed), ("Mend the parser", InProgress), ("Ship it", Pending)];

/// An item whose activeForm is derived from its content.
pub fn item(id: &str, content: &str, status: Status) -> Arc<Item> {
    Arc::new(draft(content, status).into_item(id.to_owned()))
}

pub fn draft(content: &str, status: Status) -> Draft {
    Draft { content: content.into(), status, active_form: format!("On: {content}"), ..Draft::default() }
}

pub fn plan(tasks: &[(&str, Status)]) -> Plan {
    let drafts = tasks.iter().map(|(content, status)| draft(content, *status)).collect();
    Plan { drafts, ..Plan::default() }
}

pub fn thread() -> Thread {
    Thread::new(KEY, Map::new(), 10_000)
}

/// A store whose journals are in `folder`.
pub fn store(folder: &Path) -> Store {
    let folder = Some(folder.to_owned());
    Store::new(Storage { folder, durability: Durability::Process, history_limit: 10_000 })
}

pub fn open(store: &mut Store) -> &mut Thread {
    store.open(KEY, Map::new(), 1)
}

/// The thread's first journal in `folder`.
pub fn file(folder: &Path) -> PathBuf {
    files_of(folder, KEY).next().unwrap()
}

pub fn write(thread: &mut Thread, tasks: &[(&str, Status)], now: u64) -> Outcome {
    let outcome = thread.write(plan(tasks), None, false, now);
    assert!(outcome.ok, "{outcome:?}");
    outcome
}

pub fn contents(list: &[Arc<Item>]) -> Vec<&str> {
    list.iter().map(|item| item.content.as_str()).collect()
}

pub fn ids(list: &[Arc<Item>]) -> Vec<&str> {
    list.iter().map(|item| item.id.as_str()).collect()
}

/// Reports that a test is skipped because the machine lacks something; panics if STRICT is set.
pub fn skip(why: &str) {
    assert!(matches!(std::env::var("STRICT").as_deref(), Err(_) | Ok("" | "false")), "skipped: {why}");
    eprintln!("skipped: {why}");
}
