//! The lists of the benchmarks.
//!
//! `bench/diff.mjs` builds the same lists as [`content`] and [`edited`].

pub mod session;

use std::collections::HashMap;
use std::sync::Arc;

pub use common::folder;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use todo_write::list::identity::Features;
use todo_write::list::item::{Draft, Item, List, Status};
use todo_write::thread::Thread;

const VERBS: [&str; 8] = ["Parse", "Render", "Check", "Send", "Store", "Sort", "Count", "Merge"];

/// The text of task `n`, of a usual length.
pub fn content(n: usize) -> String {
    format!("{} the records of customer {} in region {}", VERBS[n % 8], n * 7919, n % 97)
}

/// The status of task `n` while task `current` is in progress.
pub fn status(n: usize, current: usize) -> Status {
    match n.cmp(&current) {
        std::cmp::Ordering::Less => Status::Completed,
        std::cmp::Ordering::Equal => Status::InProgress,
        std::cmp::Ordering::Greater => Status::Pending,
    }
}

pub fn draft(n: usize, current: usize) -> Draft {
    let content = content(n);
    let active_form = format!("At it: {content}");
    Draft { content, status: status(n, current), active_form, ..Draft::default() }
}

pub fn item(n: usize, current: usize) -> Arc<Item> {
    Arc::new(draft(n, current).into_item(format!("t{}", n + 1)))
}

/// A list of `size` items, new objects in each call.
pub fn list(size: usize, current: usize) -> List {
    (0..size).map(|n| item(n, current)).collect()
}

/// [`list`] after a change of the whole plan: every tenth task has more words, every hundredth is
/// removed, and as many are added at the end.
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

/// How the agent changes its list.
#[derive(Clone, Copy, Debug)]
pub enum Rewrite {
    /// The usual call: completes one task and starts the next.
    TwoChanges,
    /// The same, with unchanged items shared between both lists, as the store does.
    AsHeld,
    /// [`edited`].
    Edited,
    /// Rewords every task.
    Renamed,
    /// Reverses the order.
    Reversed,
    /// All tasks have the same text, before and after.
    AllAlike,
    /// Replaces all tasks by unrelated ones.
    Replaced,
}

impl std::fmt::Display for Rewrite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Rewrite {
    /// The list before and after. Only those of [`Rewrite::AsHeld`] share objects.
    pub fn lists(self, size: usize) -> [List; 2] {
        let current = size / 2;
        let before = list(size, current);
        let reworded = |words: &dyn Fn(usize, &str) -> String| {
            (0..size).map(|n| with_text(&item(n, current), words(n, &content(n)))).collect()
        };
        let after = match self {
            Rewrite::TwoChanges => list(size, current + 1),
            Rewrite::AsHeld => {
                let changed = |n: &usize| n.abs_diff(current) <= 1;
                (0..size)
                    .map(|n| if changed(&n) { item(n, current + 1) } else { before[n].clone() })
                    .collect()
            }
            Rewrite::Edited => edited(size, current),
            Rewrite::Renamed => reworded(&|_, text| format!("{text} (first pass)")),
            Rewrite::Reversed => (0..size).rev().map(|n| item(n, current)).collect(),
            Rewrite::AllAlike => {
                let alike = || reworded(&|_, _| "Fix the test".to_owned());
                return [alike(), alike()];
            }
            Rewrite::Replaced => reworded(&|n, _| format!("Bake loaf {n} for guest {}", n * 31)),
        };
        [before, after]
    }
}

fn with_text(task: &Item, content: String) -> Arc<Item> {
    let mut task = task.clone();
    (task.active_form, task.content) = (content.clone(), content);
    Arc::new(task)
}

pub fn seen(list: &[Arc<Item>]) -> Vec<Features<'_>> {
    list.iter().map(|item| Features::from(item.as_ref())).collect()
}

/// The number of new texts in a table of the old ones: the yardstick of recognition.
pub fn found_by_text(old: &[Features<'_>], new: &[Features<'_>]) -> usize {
    let places: HashMap<&str, usize> = old.iter().enumerate().map(|(n, seen)| (seen.content, n)).collect();
    new.iter().filter(|seen| places.contains_key(seen.content)).count()
}

/// The items that differ, found in tables of ids: the yardstick of the diff. It finds no moves.
pub fn differing_by_id<'l>(old: &'l [Arc<Item>], new: &'l [Arc<Item>]) -> Vec<[Option<&'l Arc<Item>>; 2]> {
    let (before, after) = (by_id(old), by_id(new));
    let here = new.iter().map(|item| [before.get(item.id.as_str()).copied(), Some(item)]);
    let gone = old.iter().filter(|item| !after.contains_key(item.id.as_str())).map(|item| [Some(item), None]);
    here.chain(gone).filter(|[old, new]| old != new).collect()
}

fn by_id(list: &[Arc<Item>]) -> HashMap<&str, &Arc<Item>> {
    list.iter().map(|item| (item.id.as_str(), item)).collect()
}

/// A task as agents send it.
pub fn sent(draft: &Draft) -> Value {
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

/// A call in the schema's shape, for serde_json alone: the yardstick of reading. `S` is the type of
/// the status, a `String` if any is accepted.
#[derive(Deserialize)]
pub struct Call<S> {
    pub todos: Vec<Todo<S>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Todo<S> {
    pub content: String,
    pub status: S,
    pub active_form: String,
}

/// A thread in memory.
pub fn thread() -> Thread {
    Thread::new("bench", Map::new(), 1_000)
}
