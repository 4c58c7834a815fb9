//! After any operations in any order, a thread still has its whole history, no id is used twice, and
//! its journal restores it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value};
use todo_write::events::observation::{Details, Filter, Observation, Payload, Phase, Type};
use todo_write::journal::Durability;
use todo_write::journal::saved::SavedThread;
use todo_write::journal::store::{Storage, Store};
use todo_write::list::input::Plan;
use todo_write::list::item::{List, Status, is_same_list};
use todo_write::text::{is_blank, one_line};
use todo_write::thread::clock::Times;
use todo_write::thread::revision::Revision;
use todo_write::thread::{Edit, Outcome, State, Thread, WriteOptions};

use super::folder::Folder;
use super::lists::{assert_unique, task};

pub const KEY: &str = "a thread";
const TASKS: [&str; 8] = [
    "Read the code",
    "Mend the parser",
    "Mend the printer",
    "Test the parser",
    "Ship it",
    "ship it!",
    "第一",
    "x",
];

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
        let now = self.now;
        match data.int_in_range(0..=11)? {
            0..=2 => {
                let plan = plan(data)?;
                let keep_completed = data.ratio(1, 8)?;
                let options = WriteOptions { keep_completed, ..WriteOptions::default() };
                let outcome = open(&mut self.store).change(|thread| thread.write(plan, options, now));
                self.check_outcome(&outcome, true);
            }
            3..=6 => {
                let edit = self.edit(data)?;
                if let Ok(outcome) = open(&mut self.store).change(|thread| thread.edit(edit, now)) {
                    self.check_outcome(&outcome, true);
                }
            }
            7 => {
                if let Ok(outcome) = open(&mut self.store).change(|thread| thread.undo(now)) {
                    self.check_outcome(&outcome, false);
                }
            }
            8 => {
                let reason = data.arbitrary::<Option<&str>>()?.map(str::to_owned);
                open(&mut self.store).change(|thread| thread.set_paused(reason, now));
                assert_eq!(self.store.take_warnings(), [""; 0]);
            }
            9 => {
                let (kind, _) = *data.choose(Type::NAMES)?;
                let phase = data.choose(&[None, Some(None), Some(Some(Phase::Execution))])?;
                let details = Details { phase: *phase, ..Details::default() };
                let content: Value = data.arbitrary::<&str>()?.into();
                let payload = Payload::new(kind, content);
                open(&mut self.store).change(|thread| thread.observe(payload, details, now));
            }
            10 => self.store.close_journals(),
            _ => self.restart(),
        }
        Ok(())
    }

    fn edit(&mut self, data: &mut Unstructured<'_>) -> Result<Edit> {
        let list = open(&mut self.store).list();
        let id = match data.int_in_range(0..=list.len())?.checked_sub(1) {
            Some(place) => list[place].id.clone(),
            None => "t9".into(),
        };
        Ok(match data.int_in_range(0..=4)? {
            0 => Edit::Add { content: text(data)?, position: data.arbitrary()? },
            1 => Edit::Rename { id, content: text(data)? },
            2 => Edit::Status { id, status: status(data)? },
            3 => Edit::Move { id, position: data.arbitrary()? },
            _ => Edit::Delete { id },
        })
    }

    /// Checks the outcome, and records the list if there is a new revision.
    fn check_outcome(&mut self, outcome: &Outcome, new_ids_are_new: bool) {
        assert!(outcome.ok, "{outcome:?}");
        assert_eq!(self.store.take_warnings(), [""; 0]);
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

/// A whole list, mostly of the usual tasks.
pub fn plan(data: &mut Unstructured<'_>) -> Result<Plan> {
    let mut drafts = Vec::new();
    while drafts.len() < 10 && data.ratio(3, 4)? {
        let content = text(data)?;
        let active_form = if data.ratio(1, 4)? { text(data)? } else { content.clone() };
        drafts.push(task(content, active_form, status(data)?));
    }
    Ok(Plan { drafts, ..Plan::default() })
}

fn text(data: &mut Unstructured<'_>) -> Result<String> {
    let text = if data.ratio(1, 8)? { data.arbitrary::<&str>()? } else { *data.choose(&TASKS)? };
    let line = one_line(text).0.into_owned();
    Ok(if is_blank(&line) { "Something".into() } else { line })
}

fn status(data: &mut Unstructured<'_>) -> Result<Status> {
    Ok(*data.choose(&[Status::Pending, Status::InProgress, Status::Completed])?)
}
