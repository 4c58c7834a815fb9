//! What tests, laws and benchmarks share. The tests include it as a module; the crates of the
//! benchmarks and of the fuzzer depend on it.
// Each test program uses only some of them.
#![allow(dead_code, unused_imports, clippy::unwrap_used)]

pub mod acts;
pub mod folder;
pub mod labels;
pub mod laws;
pub mod process;
pub mod session;
pub mod wait;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Map;
use todo_write::events::Millis;
use todo_write::journal::plan::Plan as SavedPlan;
use todo_write::journal::store::{Storage, Store};
use todo_write::journal::{folder_of, segment};
use todo_write::list::input::Plan;
use todo_write::list::item::{Draft, Item, Status};
use todo_write::recorder::{Recorder, ThreadUpdate};
use todo_write::thread::activity::{Background, Decision, End, Ending};
use todo_write::thread::{Edit, Outcome, Thread, WriteOptions};
use todo_write::wire::event::Event;

pub use folder::Folder;
pub use todo_write::list::item::Status::{Completed, InProgress, Pending};
pub use wait::{DEADLINE, NEVER, receive, wait, wait_until};

/// The key of the thread in most tests.
pub const KEY: &str = "a thread";
pub const PLAN: [(&str, Status); 3] =
    [("Read the code", Completed), ("Mend the parser", InProgress), ("Ship it", Pending)];

/// An item whose activeForm is derived from its content.
pub fn item(id: &str, content: &str, status: Status) -> Arc<Item> {
    Arc::new(draft(content, status).into_item(id.to_owned()))
}

/// A list of one pending item for each letter, with the letter as its id.
pub fn letters(letters: &str) -> Vec<Arc<Item>> {
    letters.chars().map(|c| item(&c.to_string(), &format!("Task {c}"), Pending)).collect()
}

pub fn draft(content: &str, status: Status) -> Draft {
    Draft { content: content.into(), status, active_form: format!("On: {content}"), ..Draft::default() }
}

pub fn plan(tasks: &[(&str, Status)]) -> Plan {
    let drafts = tasks.iter().map(|(content, status)| draft(content, *status)).collect();
    Plan { drafts, ..Plan::default() }
}

/// What an agent does whose turn or session ended.
pub fn ended(ending: Ending, reason: &str) -> Decision {
    Decision::rest(&End::new(ending, Some(reason.to_owned())), 0, Background::default())
}

pub fn thread() -> Thread {
    Thread::new(KEY, Map::new(), 10_000)
}

/// Records events as one batch.
pub fn record(
    recorder: &mut Recorder,
    store: &mut Store,
    events: &[Event],
    now: Millis,
) -> Vec<ThreadUpdate> {
    for event in events {
        recorder.record(store, event, false, now);
    }
    recorder.save(store);
    recorder.finish(store, now)
}

/// A store whose journals are in `folder`.
pub fn store(folder: &Path) -> Store {
    let folder = Some(folder.to_owned());
    Store::new(Storage { folder, history_limit: 10_000, ..Storage::default() })
}

pub fn open(store: &mut Store) -> &mut SavedPlan {
    store.open(KEY, Map::new(), 1)
}

/// The first segment of the thread's journal in `folder`.
pub fn file(folder: &Path) -> PathBuf {
    segment(&folder_of(folder, KEY), 1)
}

/// The keys of the plans that have a journal, newest first.
pub fn kept(store: &mut Store) -> Vec<String> {
    store.kept(usize::MAX).0.into_iter().map(|kept| kept.key).collect()
}

/// The newest segments of all plans in a folder, in order.
pub fn newest_segments(folder: &Path) -> Vec<PathBuf> {
    let plans = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let newest =
        |plan: &PathBuf| (1..).map(|number| segment(plan, number)).take_while(|one| one.exists()).last();
    let mut segments: Vec<PathBuf> = plans.filter_map(|plan| newest(&plan)).collect();
    segments.sort();
    segments
}

/// A copy of a folder and all below it, as it is now.
pub fn copied(folder: &Path) -> Folder {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let name = to.join(path.file_name().unwrap());
            if path.is_dir() { copy(&path, &name) } else { std::fs::copy(&path, name).map(drop).unwrap() }
        }
    }
    let to = Folder::new();
    copy(folder, to.path());
    to
}

/// A thread in memory only, or one with a journal.
pub trait Changeable {
    fn change<T>(&mut self, work: impl FnOnce(&mut Thread) -> T) -> T;
}

impl Changeable for Thread {
    fn change<T>(&mut self, work: impl FnOnce(&mut Thread) -> T) -> T {
        work(self)
    }
}

impl Changeable for SavedPlan {
    fn change<T>(&mut self, work: impl FnOnce(&mut Thread) -> T) -> T {
        SavedPlan::change(self, work)
    }
}

pub fn write(thread: &mut impl Changeable, tasks: &[(&str, Status)], now: u64) -> Outcome {
    let outcome = thread.change(|thread| thread.write(plan(tasks), WriteOptions::default(), now));
    assert!(outcome.ok, "{outcome:?}");
    outcome
}

/// An edit that must be accepted.
pub fn edit(thread: &mut impl Changeable, edit: Edit, now: u64) -> Outcome {
    thread.change(|thread| thread.edit(edit, now)).unwrap()
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
    // Past the harness, which would hide it as the output of a test that passed.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
}

/// The root of the repository.
pub fn root() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|folder| folder.join("test/fixtures").is_dir()).unwrap().to_owned()
}

/// A file or folder of the recorded sessions, which the repository does not include: the environment
/// variable `TODO_WRITE_CORPUS` names their folder, relative to [`root`].
pub fn corpus(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("TODO_WRITE_CORPUS").filter(|folder| !folder.is_empty())?;
    let path = root().join(folder).join(name);
    path.exists().then_some(path)
}

/// Like [`corpus`], for a test: reports that it is skipped without the recorded sessions.
pub fn corpus_or_skip(name: &str) -> Option<PathBuf> {
    let path = corpus(name);
    if path.is_none() {
        skip(&format!("no {name} in TODO_WRITE_CORPUS"));
    }
    path
}
