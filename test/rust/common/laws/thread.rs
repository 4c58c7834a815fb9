//! After any operations in any order, a thread still has its whole history, no id is used twice, and
//! its journal restores it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use serde_json::Map;
use todo_write::events::observation::{Filter, Observation};
use todo_write::journal::Durability;
use todo_write::journal::saved::SavedThread;
use todo_write::journal::store::{Storage, Store};
use todo_write::list::item::{List, is_same_list};
use todo_write::thread::clock::Times;
use todo_write::thread::revision::Revision;
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

/// A store with one folder.
pub fn store(folder: &Path) -> Store {
    let folder = Some(folder.to_owned());
    Store::new(Storage { folder, durability: Durability::Process, history_limit: 50 })
}

/// The thread, with its journal.
pub fn open(store: &mut Store) -> &mut SavedThread {
    store.open(KEY, Map::new(), 1_000)
}

/// The whole observable state of a thread.
#[derive(Debug, PartialEq)]
pub struct Everything {
    list: List,
    revisions: Vec<(Revision, List)>,
    /// Those of all items that ever were in the list.
    times: Vec<Option<Times>>,
    observations: Vec<Arc<Observation>>,
    title: Option<String>,
    untold: Vec<String>,
    state: State,
}

pub fn everything(thread: &Thread) -> Everything {
    let revisions = thread.revisions().iter().cloned();
    let changes = thread.revisions().iter().flat_map(Revision::changes);
    Everything {
        list: thread.list().clone(),
        revisions: revisions.map(|made| (made.clone(), thread.list_at(made.number).unwrap())).collect(),
        times: changes.map(|change| thread.times(&change.item_id).cloned()).collect(),
        observations: thread.observed(&Filter::default()),
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
        match data.int_in_range(0..=11)? {
            10 => self.store.close_journals(),
            11 => self.restart(),
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
            let list = thread.list_at(number as u64).unwrap();
            assert!(is_same_list(&list, &self.lists[number]), "{list:?}");
        }
    }

    /// Restores the thread in a new store, as in another Emacs.
    fn restart(&mut self) {
        let thread = open(&mut self.store);
        // A restored thread is paused at the time of its last record.
        thread.change(|thread| thread.set_paused(Some("the end".into()), self.now));
        let before = everything(thread);
        self.store = Store::default();
        self.store = store(self.folder);
        assert_eq!(everything(open(&mut self.store)), before);
        assert_eq!(self.store.take_warnings(), [""; 0]);
    }
}
