//! Marks: what of an agent's changes is new since the user last looked.
//!
//! A change is one file in one event. A file is reviewed up to an event: its later changes are new.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::events::observation::Observation;
use crate::events::payload::FileEntry;
use crate::events::work::{Part, Work, is_refused, items_of};
use crate::events::{Millis, push_bounded};
use crate::named::sparse;

/// The largest number of changes of a thread that are known to be new. Older ones count as reviewed.
const MOST_CHANGES: usize = 3_000;

/// The names of files, each with the number of the observation up to which it is reviewed, or 0.
pub type Marks = BTreeMap<String, u64>;

/// The changes of an observation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Changes {
    pub number: u64,
    /// Whether they were made before the time since which changes count as unseen.
    is_early: bool,
    turn: usize,
    /// The ids of the items in progress.
    pub items: Vec<String>,
    /// Without their patches.
    files: Vec<FileEntry>,
}

/// A change of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileInEvent<'r> {
    pub of: &'r Changes,
    /// The file, without its patch.
    pub file: &'r FileEntry,
}

impl Changes {
    /// Each of them. A file without a name cannot be reviewed.
    fn each(&self) -> impl Iterator<Item = FileInEvent<'_>> {
        self.files.iter().filter(|file| !file.path.is_empty()).map(|file| FileInEvent { of: self, file })
    }
}

/// The changes of a thread and their marks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Review {
    /// In the order of their observations.
    #[serde(serialize_with = "sparse")]
    changes: VecDeque<Changes>,
    /// The number of these changes.
    count: usize,
    marks: Marks,
    /// What was done before that time does not count as unseen.
    pub since: Millis,
    /// When calls were refused, oldest first.
    refusals: VecDeque<Millis>,
    /// The unseen files, each with the number of its newest change, once they were asked for since a file was marked.
    /// They follow from the rest, but are asked for after each event.
    #[serde(skip)]
    unseen: OnceCell<HashMap<String, u64>>,
}

impl Review {
    /// Adds the changes of an observation of the turn with this index.
    pub(crate) fn add(&mut self, observation: &Observation, turn: usize) {
        if is_refused(observation) {
            push_bounded(&mut self.refusals, MOST_CHANGES, observation.timestamp);
        }
        let Some(items) = items_of(observation) else { return };
        // A damaged journal may repeat one.
        if observation.number <= self.newest() {
            return;
        }
        let files = observation.payload.files().iter().take(MOST_CHANGES);
        let files: Vec<FileEntry> =
            files.map(|file| FileEntry { path: file.path.clone(), patch: None, ..*file }).collect();
        if files.iter().all(|file| file.path.is_empty()) {
            return;
        }
        self.count += files.len();
        let (number, is_early) = (observation.number, observation.timestamp < self.since);
        let changes = Changes { number, is_early, turn, items: items.to_vec(), files };
        if let Some(mut unseen) = self.unseen.take() {
            let new = changes.each().filter(|change| !is_early && self.is_new(change));
            unseen.extend(new.map(|change| (change.file.path.clone(), number)));
            self.unseen = unseen.into();
        }
        self.changes.push_back(changes);
        while self.count > MOST_CHANGES
            && let Some(oldest) = self.changes.pop_front()
        {
            self.count -= oldest.files.len();
            if let Some(unseen) = self.unseen.get_mut() {
                unseen.retain(|_, newest| *newest != oldest.number);
            }
        }
    }

    /// The number of calls that were refused after a time.
    pub(crate) fn refused_after(&self, time: Millis) -> usize {
        self.refusals.iter().rev().take_while(|refused| **refused > time).count()
    }

    /// The number of files with changes that are unseen.
    pub(crate) fn unseen_files(&self) -> usize {
        let find = || {
            let unseen = self.fresh(Scope::WHOLE).filter(|change| !change.of.is_early);
            unseen.map(|change| (change.file.path.clone(), change.of.number)).collect()
        };
        self.unseen.get_or_init(find).len()
    }

    fn known<'r>(&'r self, of: Scope<'r>) -> impl Iterator<Item = FileInEvent<'r>> {
        let (first, last) = of.numbers;
        let from = self.changes.partition_point(|changes| changes.number < first);
        let to = self.changes.partition_point(|changes| changes.number <= last);
        let known = self.changes.range(from..to.max(from)).flat_map(Changes::each);
        known.filter(move |change| of.has(change))
    }

    /// The changes, oldest first, and whether they are new.
    pub(crate) fn changes<'r>(&'r self, of: Scope<'r>) -> impl Iterator<Item = (FileInEvent<'r>, bool)> {
        self.known(of).map(|change| (change, self.is_new(&change)))
    }

    fn fresh<'r>(&'r self, of: Scope<'r>) -> impl Iterator<Item = FileInEvent<'r>> {
        self.known(of).filter(|change| self.is_new(change))
    }

    fn is_new(&self, change: &FileInEvent<'_>) -> bool {
        change.of.number > self.until(&change.file.path)
    }

    /// The number up to which a file is reviewed.
    pub(crate) fn until(&self, path: &str) -> u64 {
        self.marks.get(path).copied().unwrap_or_default()
    }

    /// The number of the newest observation of a change, or 0.
    pub(crate) fn newest(&self) -> u64 {
        self.changes.back().map_or(0, |changes| changes.number)
    }

    /// What is new of the changes that were made since the time set. What a transcript had before that would be
    /// too much to review.
    pub(crate) fn unseen(&self) -> Unseen<'_> {
        let mut unseen = Unseen::default();
        for change in self.fresh(Scope::WHOLE).filter(|change| !change.of.is_early) {
            unseen.files.insert(&change.file.path);
            unseen.items.extend(change.of.items.iter().map(String::as_str));
            unseen.turns.insert(change.of.turn);
        }
        unseen
    }

    /// What is new, if anything is.
    pub(crate) fn new_work(&self, of: Scope<'_>) -> Option<Work> {
        let mut work = Work::default();
        self.fresh(of).for_each(|change| work.add_file(change.file));
        Some(work).filter(|work| work.edits > 0)
    }

    /// What a review of changes shows, oldest first, and whether it is new: of the files that have new ones, all
    /// that is new up to the last change. With `all`, also those that were reviewed, and their files.
    pub(crate) fn shown<'r>(
        &'r self,
        of: Scope<'r>,
        all: bool,
    ) -> impl Iterator<Item = (FileInEvent<'r>, bool)> {
        let meant = self.changes(of).filter(|(_, is_new)| all || *is_new);
        let paths: HashSet<&str> = meant.map(|(change, _)| change.file.path.as_str()).collect();
        let of_files = self.changes(Scope { numbers: (0, self.last(of)), ..Scope::WHOLE });
        of_files.filter(move |(change, is_new)| {
            paths.contains(change.file.path.as_str()) && (*is_new || all && of.has(change))
        })
    }

    fn last(&self, of: Scope<'_>) -> u64 {
        self.known(of).map(|change| change.of.number).max().unwrap_or_default()
    }

    /// The marks by which the files of changes are reviewed up to the last of these, or each file is new again from
    /// the first one on, and the number of the changes that were not so.
    pub(crate) fn marking(&self, of: Scope<'_>, reviewed: bool) -> (Marks, usize) {
        let (mut marks, mut count) = (Marks::new(), 0);
        let last = self.last(of);
        for change in self.known(of).filter(|change| self.is_new(change) == reviewed) {
            let until = if reviewed { last } else { change.of.number.saturating_sub(1) };
            marks.entry(change.file.path.clone()).or_insert(until);
            count += 1;
        }
        (marks, count)
    }

    /// Marks files.
    pub(crate) fn mark(&mut self, marks: &Marks) {
        self.marks.extend(marks.clone());
        self.marks.retain(|_, until| *until > 0);
        if self.marks.len() > MOST_CHANGES {
            // Files without a known change need none.
            let known = self.changes.iter().flat_map(Changes::each);
            let paths: HashSet<&str> = known.map(|change| change.file.path.as_str()).collect();
            self.marks.retain(|path, _| paths.contains(path.as_str()));
        }
        self.unseen.take();
    }
}

/// What of an agent's changes was not reviewed.
#[derive(Debug, Default)]
pub(crate) struct Unseen<'r> {
    pub files: BTreeSet<&'r str>,
    pub items: BTreeSet<&'r str>,
    pub turns: BTreeSet<usize>,
}

/// Changes of a thread: of a part of its work, perhaps in one turn, of one file, or of some observations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    pub part: Part<'a>,
    pub turn: Option<usize>,
    pub path: Option<&'a str>,
    /// The numbers of the first and the last observation.
    pub numbers: (u64, u64),
}

impl Scope<'_> {
    /// All changes.
    pub(crate) const WHOLE: Scope<'static> =
        Scope { part: Part::Whole, turn: None, path: None, numbers: (0, u64::MAX) };

    fn has(&self, change: &FileInEvent<'_>) -> bool {
        let (first, last) = self.numbers;
        (first..=last).contains(&change.of.number)
            && self.part.has(&change.of.items)
            && self.turn.is_none_or(|turn| turn == change.of.turn)
            && self.path.is_none_or(|path| path == change.file.path)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::events::payload::{Metadata, Payload, Type};

    /// What happens to the changes of a thread.
    #[derive(Clone, Debug)]
    enum Act {
        /// An observation with changes of files, made while items were in progress.
        Change {
            number: u64,
            files: Vec<u8>,
            items: Vec<u8>,
        },
        Mark {
            item: Option<String>,
            numbers: (u64, u64),
            reviewed: bool,
        },
        Restore(Marks),
    }

    fn names(numbers: &[u8]) -> Vec<String> {
        numbers.iter().map(|number| format!("/{number}")).collect()
    }

    fn an_act() -> impl Strategy<Value = Act> {
        let few = || prop::collection::vec(0..4_u8, 0..3);
        let item = prop::option::of((0..4_u8).prop_map(|item| format!("/{item}")));
        let marks =
            prop::collection::btree_map((0..4_u8).prop_map(|file| format!("/{file}")), 0..30_u64, 0..4);
        prop_oneof![
            8 => (0..30_u64, few(), few())
                .prop_map(|(number, files, items)| Act::Change { number, files, items }),
            4 => (item, (0..30_u64, 0..30_u64), any::<bool>())
                .prop_map(|(item, numbers, reviewed)| Act::Mark { item, numbers, reviewed }),
            1 => marks.prop_map(Act::Restore),
        ]
    }

    fn act(review: &mut Review, act: Act) {
        match act {
            Act::Change { number, files, items } => {
                let files = names(&files).into_iter().map(|path| FileEntry { path, ..FileEntry::default() });
                let (files, items) = (Some(files.collect()), Some(names(&items)));
                let metadata = Metadata { files, items, ..Metadata::default() };
                let payload = Payload { metadata, ..Payload::new(Type::ToolExecution, Value::Null) };
                let observation = Observation {
                    number,
                    payload,
                    title: String::new(),
                    timestamp: 0,
                    trace_id: None,
                    parent_id: None,
                };
                review.add(&observation, 0);
            }
            Act::Mark { item, numbers, reviewed } => {
                let part = item.as_deref().map_or(Part::Whole, Part::Item);
                let of = Scope { part, numbers, ..Scope::WHOLE };
                let names = |changes: Vec<FileInEvent<'_>>| {
                    changes
                        .iter()
                        .map(|change| (change.of.number, change.file.path.clone()))
                        .collect::<Vec<_>>()
                };
                let mut new = names(review.fresh(Scope::WHOLE).collect());
                let shown = names(review.shown(of, false).map(|(change, _)| change).collect());
                review.mark(&review.marking(of, reviewed).0);
                assert!(review.changes(of).all(|(_, is_new)| is_new != reviewed));
                if reviewed {
                    new.retain(|id| !shown.contains(id));
                    assert_eq!(names(review.fresh(Scope::WHOLE).collect()), new, "what was shown is marked");
                }
            }
            Act::Restore(marks) => review.mark(&marks),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn marking_reviews_what_was_shown_and_nothing_else(acts in prop::collection::vec(an_act(), 0..30)) {
            let mut review = Review::default();
            for one in acts {
                act(&mut review, one);
                let files = review.unseen().files;
                assert_eq!(review.unseen_files(), files.len());
                assert!(review.unseen.get().unwrap().keys().all(|path| files.contains(path.as_str())));
            }
        }
    }
}
