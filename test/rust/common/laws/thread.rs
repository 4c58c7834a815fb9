//! After any operations in any order, a thread still has its whole history, no id is used twice, and
//! its journal restores it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use serde_json::Map;
use todo_write::events::observation::Filter;
use todo_write::journal::plan::Plan;
use todo_write::journal::segments::Span;
use todo_write::journal::store::{Storage, Store};
use todo_write::list::change::apply;
use todo_write::list::item::{List, is_same_list};
use todo_write::thread::clock::Times;
use todo_write::thread::{Outcome, State, Thread};

use super::acts::{Act, perform};
use super::folder::Folder;
use super::lists::assert_unique;

pub const KEY: &str = "a thread";

/// The bytes encode the operations.
pub fn holds(data: &[u8]) {
    let folder = Folder::new();
    let mut run = Run {
        store: store(folder.path()),
        folder: folder.path(),
        lists: vec![List::new()],
        used: HashSet::new(),
        now: 1_000,
    };
    let mut data = Unstructured::new(data);
    while !data.is_empty() && run.now < 1_060 && run.act(&mut data).is_ok() {
        run.now += 1;
        run.check_history();
    }
    run.restart();
}

/// A store with one folder, in which each change begins a new segment.
pub fn store(folder: &Path) -> Store {
    let folder = Some(folder.to_owned());
    Store::new(Storage { folder, history_limit: 50, segment: Some(0), ..Storage::default() })
}

/// The thread, with its journal.
pub fn open(store: &mut Store) -> &mut Plan {
    store.open(KEY, Map::new(), 1_000)
}

/// The whole observable state of a thread.
#[derive(Debug, PartialEq)]
pub struct Everything {
    list: List,
    /// The revisions with their lists, and the observations, as text. What the agent was told of is known of the
    /// current list only.
    history: String,
    /// Those of all items that ever were in the list.
    times: Vec<Option<Times>>,
    title: Option<String>,
    untold: Vec<String>,
    state: State,
}

/// That of the thread in a store, whatever of it is in memory.
pub fn everything(store: &mut Store) -> Everything {
    let mut read = |span, work: &mut dyn FnMut(&Thread)| work(store.spanning(KEY, span).unwrap().unwrap());
    let (mut revisions, mut observations, mut last) = (Vec::new(), Vec::new(), Span::WHOLE);
    read(Span::WHOLE, &mut |thread| {
        let all = thread.revisions().iter();
        revisions = all
            .map(|made| {
                (made.number, made.stamp.clone(), made.changes.clone(), thread.list_at(made.number).unwrap())
            })
            .collect();
        last = Span::newest(thread);
    });
    read(last, &mut |thread| observations = thread.observed(&Filter::default()));
    let thread = store.get(KEY).unwrap().unwrap();
    let changes = revisions.iter().flat_map(|(_, _, changes, _)| changes);
    let times = changes.map(|change| thread.times(&change.item_id).cloned()).collect();
    Everything {
        list: thread.list().clone(),
        times,
        history: format!("{revisions:?} {observations:?}").replace("told: false", "told: true"),
        title: thread.title().map(str::to_owned),
        untold: thread.untold_edits(),
        state: thread.state(),
    }
}

struct Run<'f> {
    store: Store,
    folder: &'f Path,
    /// The list of each revision so far.
    lists: Vec<List>,
    used: HashSet<String>,
    now: u64,
}

impl Run<'_> {
    fn act(&mut self, data: &mut Unstructured<'_>) -> Result<()> {
        match data.int_in_range(0..=10)? {
            10 => self.restart(),
            _ => {
                let act = Act::any(data)?;
                let new_ids_are_new = !matches!(act, Act::Undo | Act::Restore(_));
                let thread = open(&mut self.store);
                if let Some(outcome) = perform(thread, act, data.ratio(1, 8)?, self.now) {
                    self.check_outcome(&outcome, new_ids_are_new);
                }
                assert_eq!(self.store.take_warnings(), [""; 0]);
            }
        }
        Ok(())
    }

    /// Checks the outcome, and records the list if there is a new revision.
    fn check_outcome(&mut self, outcome: &Outcome, new_ids_are_new: bool) {
        assert!(outcome.ok, "{outcome:?}");
        let list = open(&mut self.store).list().clone();
        let before = &self.lists[self.lists.len() - 1];
        assert_eq!(outcome.changes.is_empty(), is_same_list(before, &list));
        assert!(is_same_list(&apply(before, &outcome.changes), &list), "{outcome:?}");
        let known: HashSet<&str> = before.iter().map(|item| item.id.as_str()).collect();
        for item in list.iter().filter(|item| !known.contains(item.id.as_str())) {
            assert!(self.used.insert(item.id.clone()) || !new_ids_are_new, "{} was used before", item.id);
        }
        if !outcome.changes.is_empty() {
            self.lists.push(list);
        }
        assert_eq!(outcome.revision as usize, self.lists.len() - 1);
    }

    fn check_history(&mut self) {
        let thread = open(&mut self.store);
        assert_eq!(thread.revisions().last() as usize, self.lists.len() - 1);
        assert_unique(thread.list());
        // The newest revision, and one other, in turn.
        for number in [self.lists.len() - 1, self.now as usize % self.lists.len()] {
            let span = Span::Revisions(number as u64, number as u64);
            let list =
                self.store.spanning(KEY, span).map(|found| found.map(|thread| thread.list_at(number as u64)));
            let list = list.unwrap().unwrap().unwrap();
            assert!(is_same_list(&list, &self.lists[number]), "{list:?}");
        }
    }

    /// Restores the thread in a new store, as in another Emacs.
    fn restart(&mut self) {
        let thread = open(&mut self.store);
        // A restored thread is paused at the time of its last record.
        thread.change(|thread| thread.set_paused(Some("the end".into()), self.now));
        let before = everything(&mut self.store);
        self.store = store(self.folder);
        assert_eq!(everything(&mut self.store), before);
        assert_eq!(self.store.take_warnings(), [""; 0]);
    }
}
