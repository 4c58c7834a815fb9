//! Marks: which changes of an agent are new since the user last looked.
//!
//! A change is one file in one event. It is new until it is marked as reviewed.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::events::Millis;
use crate::events::observation::Observation;
use crate::events::payload::FileEntry;
use crate::events::work::{Part, Work, items_of};

/// The largest number of changes of a thread that are known to be new. Older ones count as reviewed.
const MOST_CHANGES: usize = 100_000;

/// Names a change: the number of its observation, and the place of the file among its files, from 0.
pub type ChangeId = (u64, u64);

/// Which changes were reviewed: all up to a number but for some, and some after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    /// The number of an observation, or 0.
    pub until: u64,
    /// Those up to that number that were not reviewed.
    pub but: BTreeSet<ChangeId>,
    /// Those after it that were.
    pub also: BTreeSet<ChangeId>,
}

impl Marks {
    fn has(&self, id: ChangeId) -> bool {
        if id.0 <= self.until { !self.but.contains(&id) } else { self.also.contains(&id) }
    }

    fn set(&mut self, id: ChangeId, is_reviewed: bool) {
        let (exceptions, is_exception) =
            if id.0 <= self.until { (&mut self.but, !is_reviewed) } else { (&mut self.also, is_reviewed) };
        if is_exception {
            exceptions.insert(id)
        } else {
            exceptions.remove(&id)
        };
    }

    /// Whether all counters are below a limit.
    pub(crate) fn is_below(&self, limit: u64) -> bool {
        self.until < limit && self.but.iter().chain(&self.also).all(|(number, _)| *number < limit)
    }
}

/// Marks of changes, as a record has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marking {
    /// Whether they are reviewed from now on, or new again.
    pub reviewed: bool,
    /// The changes; empty for all up to `until`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeId>,
    /// The number of the newest observation of all changes, if all are marked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

/// A change of a thread, without its patch.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Its name.
    pub id: ChangeId,
    timestamp: Millis,
    turn: usize,
    /// The ids of the items in progress.
    pub items: Vec<String>,
    /// The file, without its patch.
    pub file: FileEntry,
}

/// The changes of a thread and their marks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Review {
    /// Sorted by their names.
    changes: VecDeque<Known>,
    marks: Marks,
    /// Changes that were made before that time are in no count.
    since: Millis,
    unseen: Unseen,
}

impl Review {
    /// Adds the changes of an observation of the turn with this index.
    pub(crate) fn add(&mut self, observation: &Observation, turn: usize) {
        let Some(items) = items_of(observation) else { return };
        // A damaged journal may repeat one.
        if observation.number <= self.newest() {
            return;
        }
        for (place, file) in (0..).zip(observation.metadata.files.iter().flatten()) {
            if file.path.is_empty() {
                continue;
            }
            if self.changes.len() == MOST_CHANGES {
                self.count(0, false);
                self.changes.pop_front();
            }
            self.changes.push_back(Known {
                id: (observation.number, place),
                timestamp: observation.timestamp,
                turn,
                items: items.to_vec(),
                file: file.without_patch(),
            });
            self.count(self.changes.len() - 1, true);
        }
    }

    fn known<'r>(&'r self, of: Scope<'r>) -> impl Iterator<Item = &'r Known> {
        let (first, last) = of.numbers;
        let from = self.changes.partition_point(|change| change.id.0 < first);
        let to = self.changes.partition_point(|change| change.id.0 <= last);
        self.changes.range(from..to.max(from)).filter(move |change| of.has(change))
    }

    fn fresh<'r>(&'r self, of: Scope<'r>) -> impl Iterator<Item = &'r Known> {
        self.known(of).filter(move |change| !self.marks.has(change.id))
    }

    /// The changes, oldest first, and whether they are new.
    pub(crate) fn changes<'r>(&'r self, of: Scope<'r>) -> impl Iterator<Item = (&'r Known, bool)> {
        self.known(of).map(|change| (change, !self.marks.has(change.id)))
    }

    /// The number of the newest observation of a change, or 0.
    pub(crate) fn newest(&self) -> u64 {
        self.changes.back().map_or(0, |change| change.id.0)
    }

    /// The time since which changes count as unseen.
    pub(crate) fn since(&self) -> Millis {
        self.since
    }

    /// Sets the time since which changes count as unseen.
    pub(crate) fn count_since(&mut self, time: Millis) {
        self.since = time;
        self.recount();
    }

    /// What is new of the changes that were made since the time set.
    pub(crate) fn unseen(&self) -> &Unseen {
        &self.unseen
    }

    /// Counts the change at a place as unseen, or no longer, if it is new.
    fn count(&mut self, place: usize, counts: bool) {
        let Some(change) = self.changes.get(place) else { return };
        if change.timestamp >= self.since && !self.marks.has(change.id) {
            self.unseen.count(change, counts);
        }
    }

    fn recount(&mut self) {
        self.unseen = Unseen::default();
        let is_reviewed = |change: &Known| self.marks.but.is_empty() && change.id.0 <= self.marks.until;
        for place in self.changes.partition_point(is_reviewed)..self.changes.len() {
            self.count(place, true);
        }
    }

    /// What is new, if anything is.
    pub(crate) fn new_work(&self, of: Scope<'_>) -> Option<Work> {
        Some(Work::of_files(self.fresh(of).map(|change| &change.file))).filter(|work| work.edits > 0)
    }

    /// The marks by which changes are reviewed, or new again, and the number of those changes.
    pub(crate) fn marking(&self, of: Scope<'_>, reviewed: bool) -> (Marking, usize) {
        let changes = self.known(of).filter(|change| self.marks.has(change.id) != reviewed);
        let changes: Vec<ChangeId> = changes.map(|change| change.id).collect();
        let count = changes.len();
        if of.is_whole() {
            return (Marking { reviewed, changes: Vec::new(), until: Some(self.newest()) }, count);
        }
        (Marking { reviewed, changes, until: None }, count)
    }

    /// Those of some changes that are known and not marked so, as marks.
    pub(crate) fn marking_each(&self, changes: &[ChangeId], reviewed: bool) -> Marking {
        let wanted: HashSet<ChangeId> = changes.iter().copied().collect();
        let is_to_mark =
            |change: &&Known| wanted.contains(&change.id) && self.marks.has(change.id) != reviewed;
        let changes = self.changes.iter().filter(is_to_mark).map(|change| change.id).collect();
        Marking { reviewed, changes, until: None }
    }

    /// Marks changes.
    pub(crate) fn mark(&mut self, marking: &Marking) {
        match marking.until {
            Some(until) => {
                let until = if marking.reviewed { until } else { 0 };
                self.restore(&Marks { until, ..Marks::default() });
            }
            None => marking.changes.iter().for_each(|id| self.mark_one(*id, marking.reviewed)),
        }
    }

    fn mark_one(&mut self, id: ChangeId, reviewed: bool) {
        let place = self.changes.binary_search_by_key(&id, |change| change.id).unwrap_or(usize::MAX);
        self.count(place, false);
        self.marks.set(id, reviewed);
        self.count(place, true);
    }

    /// All marks.
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Replaces all marks.
    pub(crate) fn restore(&mut self, marks: &Marks) {
        if self.marks != *marks {
            self.marks.clone_from(marks);
            self.recount();
        }
    }
}

/// What of an agent's changes was not reviewed, each with the number of its changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// By the names of files.
    pub files: BTreeMap<String, usize>,
    /// By the ids of the items in progress at the time.
    pub items: BTreeMap<String, usize>,
    /// By the indices of turns.
    pub turns: BTreeMap<usize, usize>,
}

impl Unseen {
    /// Adds a change, or takes it away.
    fn count(&mut self, change: &Known, counts: bool) {
        tally(&mut self.files, change.file.path.as_str(), counts);
        change.items.iter().for_each(|item| tally(&mut self.items, item.as_str(), counts));
        tally(&mut self.turns, &change.turn, counts);
    }
}

/// Adds 1 to the count of a key, or takes 1 away.
fn tally<K, Q>(counts: &mut BTreeMap<K, usize>, key: &Q, adds: bool)
where
    K: Ord + Borrow<Q>,
    Q: Ord + ToOwned<Owned = K> + ?Sized,
{
    match counts.get_mut(key) {
        Some(count) if adds => *count += 1,
        Some(count) if *count > 1 => *count -= 1,
        Some(_) => drop(counts.remove(key)),
        None if adds => drop(counts.insert(key.to_owned(), 1)),
        None => {}
    }
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

    fn has(&self, change: &Known) -> bool {
        self.part.has(&change.items)
            && self.turn.is_none_or(|turn| turn == change.turn)
            && self.path.is_none_or(|path| path == change.file.path)
    }

    fn is_whole(&self) -> bool {
        let Scope { part, turn, path, numbers } = *self;
        part == Part::Whole && turn.is_none() && path.is_none() && numbers == Scope::WHOLE.numbers
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::events::observation::{Metadata, Payload};
    use crate::events::payload::{Content, ToolResult};

    /// What happens to the changes of a thread.
    #[derive(Clone, Debug)]
    enum Act {
        /// An observation with changes of files, made at a time while items were in progress, in a turn.
        Change {
            number: u64,
            files: Vec<u8>,
            items: Vec<u8>,
            time: Millis,
            turn: usize,
        },
        Mark {
            marking: Marking,
        },
        Restore(Marks),
        Since(Millis),
    }

    fn names(numbers: &[u8]) -> Vec<String> {
        numbers.iter().map(|number| format!("/{number}")).collect()
    }

    fn an_id() -> impl Strategy<Value = ChangeId> {
        (0..30_u64, 0..3_u64)
    }

    fn an_act() -> impl Strategy<Value = Act> {
        let few = || prop::collection::vec(0..4_u8, 0..3);
        let ids = || prop::collection::vec(an_id(), 0..6);
        let marking = (any::<bool>(), ids(), prop::option::weighted(0.2, 0..30_u64));
        let marks = (0..30_u64, ids(), ids()).prop_map(|(until, but, also)| Marks {
            until,
            but: but.into_iter().filter(|id| id.0 <= until).collect(),
            also: also.into_iter().filter(|id| id.0 > until).collect(),
        });
        prop_oneof![
            8 => (0..30_u64, few(), few(), 0..9_u64, 0..3_usize)
                .prop_map(|(number, files, items, time, turn)| Act::Change { number, files, items, time, turn }),
            4 => marking.prop_map(|(reviewed, changes, until)| {
                Act::Mark { marking: Marking { reviewed, changes, until } }
            }),
            1 => marks.prop_map(Act::Restore),
            1 => (0..9_u64).prop_map(Act::Since),
        ]
    }

    fn act(review: &mut Review, act: Act) {
        match act {
            Act::Change { number, files, items, time, turn } => {
                let files = names(&files).into_iter().map(|path| FileEntry { path, ..FileEntry::default() });
                let metadata = Metadata {
                    files: Some(files.collect()),
                    items: Some(names(&items)),
                    ..Metadata::default()
                };
                let payload = Payload::ToolExecution(Content::Fields(ToolResult::default()));
                let observation = Observation {
                    number,
                    payload,
                    title: String::new(),
                    timestamp: time,
                    trace_id: None,
                    parent_id: None,
                    metadata,
                };
                review.add(&observation, turn);
            }
            Act::Mark { marking } => review.mark(&marking),
            Act::Restore(marks) => review.restore(&marks),
            Act::Since(time) => review.count_since(time),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_counts_of_what_is_unseen_equal_those_from_scratch(acts in prop::collection::vec(an_act(), 0..30)) {
            let mut review = Review::default();
            for one in acts {
                act(&mut review, one);
                let mut unseen = Unseen::default();
                for change in review.fresh(Scope::WHOLE).filter(|change| change.timestamp >= review.since) {
                    *unseen.files.entry(change.file.path.clone()).or_default() += 1;
                    *unseen.turns.entry(change.turn).or_default() += 1;
                    change.items.iter().for_each(|id| *unseen.items.entry(id.clone()).or_default() += 1);
                }
                prop_assert_eq!(review.unseen(), &unseen);
            }
        }
    }
}
