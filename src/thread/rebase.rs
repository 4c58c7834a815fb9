//! Unsaved changes of a thread, made again after those of others.
//!
//! Several Emacsen may change one thread. What one of them could not save comes after what the others saved
//! meanwhile: its lists are merged into theirs as one revision, and its other records follow.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Thread;
use super::record::{PositionRecord, Record, RevisionRecord};
use crate::events::observation::Observation;
use crate::list::change::diff;
use crate::list::item::{Author, Item, List};
use crate::list::merge::merge;

/// What two copies of a thread have in common, as it was before their changes.
#[derive(Debug)]
pub(crate) struct Common {
    about: Map<String, Value>,
    list: List,
    /// The number of the newest revision.
    revision: u64,
    /// The number of the newest observation.
    observation: u64,
    /// The number of the next item id.
    next_id: u64,
}

impl Common {
    /// A thread as it is, before the changes.
    pub(crate) fn of(thread: &Thread) -> Common {
        Common {
            about: thread.about.clone(),
            list: thread.list().clone(),
            revision: thread.revisions.last(),
            observation: thread.observations.next_number() - 1,
            next_id: thread.next_id,
        }
    }
}

impl Thread {
    /// Makes changes again that led from what is in common to `mine`, another copy of this thread. `records` are
    /// those of the changes, as far as they are known.
    pub(crate) fn change_again(&mut self, mine: &Thread, records: Vec<Record>, common: &Common) {
        let mut names = NewNames::of(self, mine, common);
        let newer = || mine.revisions.iter().rev().filter(|one| one.number > common.revision);
        let mut learned = newer().any(|one| one.stamp.author == Author::Agent);
        let (mut told, mut again) = (false, Vec::new());
        for record in records {
            match record {
                Record::Observation(one) => self.make(Record::Observation(names.observation(one, self))),
                Record::Review { timestamp, mut files } => {
                    files.values_mut().for_each(|until| names.number(until));
                    self.make(Record::Review { timestamp, files });
                }
                Record::Thread { timestamp, about } => {
                    for part in common.about.keys().chain(about.keys()) {
                        if common.about.get(part) != about.get(part) {
                            self.describe(part, about.get(part).cloned().unwrap_or_default(), timestamp);
                        }
                    }
                }
                // What was in one append with it is in several parts now.
                Record::Position(position) => {
                    self.make(Record::Position(PositionRecord { records: 0, ..position }));
                }
                Record::Known { noted, mut reminded, .. } => {
                    (learned, told) = (true, told || noted);
                    reminded.iter_mut().for_each(|id| names.id(id));
                    again.extend(reminded);
                }
                // The lists are in one revision.
                Record::Revision(_) => {}
                record => self.make(record),
            }
        }
        let unanswered = mine.agent.is_unanswered();
        if learned {
            let sent = Some(diff(self.base(), &names.list(mine.base())));
            // It was told of no edit of the others. It is told again of one that is in the merged revision only.
            let (number, reminded) = (common.revision, again);
            self.make(Record::Known { number, sent, unanswered, reminded, noted: told });
        }
        let Some(mut stamp) = newer().next().map(|newest| newest.stamp.clone()) else { return };
        stamp.restores = stamp.restores.filter(|number| *number <= common.revision);
        let mine_list = names.list(mine.list());
        let merged = match stamp.author {
            Author::User => merge(&common.list, &mine_list, self.list()),
            Author::Agent => merge(&common.list, self.list(), &mine_list),
        };
        let (number, changes) = (self.revisions.last() + 1, diff(self.list(), &merged.list));
        // The agent knows what it knew.
        let (next_id, sent) = (names.next_id, Some(Vec::new()));
        let made = RevisionRecord { number, stamp, changes, next_id, sent, unanswered };
        self.make(Record::Revision(made));
    }
}

/// The ids and numbers of one copy of a thread that the other copy gave to others, and what stands for them.
struct NewNames {
    /// Of items.
    ids: HashMap<String, String>,
    next_id: u64,
    /// Of observations.
    numbers: BTreeMap<u64, u64>,
}

impl NewNames {
    fn of(theirs: &Thread, mine: &Thread, common: &Common) -> NewNames {
        let (mut ids, mut next_id) = (HashMap::new(), theirs.next_id.max(mine.next_id));
        if theirs.next_id > common.next_id {
            for number in common.next_id..mine.next_id {
                ids.insert(format!("t{number}"), format!("t{next_id}"));
                next_id += 1;
            }
        }
        NewNames { ids, next_id, numbers: BTreeMap::from([(common.observation, common.observation)]) }
    }

    /// The next observation of a thread, as one of the other copy.
    fn observation(&mut self, one: Arc<Observation>, thread: &Thread) -> Arc<Observation> {
        let mut one = Arc::unwrap_or_clone(one);
        let number = thread.observations.next_number();
        self.numbers.insert(one.number, number);
        one.number = number;
        let known = &mut one.payload.metadata;
        let items = known.items.iter_mut().flatten();
        items.chain(&mut one.parent_id).chain(&mut known.step_id).for_each(|id| self.id(id));
        let comments = known.told_comments.iter_mut().chain(&mut known.copied_comments).flatten();
        comments.chain(&mut known.of_call).for_each(|number| self.number(number));
        Arc::new(one)
    }

    fn list(&self, list: &[Arc<Item>]) -> List {
        let mut list = list.to_vec();
        for item in &mut list {
            let body = &mut **Arc::make_mut(item);
            body.blocked_by.iter_mut().chain([&mut body.id]).for_each(|id| self.id(id));
        }
        list
    }

    fn id(&self, id: &mut String) {
        if let Some(new) = self.ids.get(id) {
            id.clone_from(new);
        }
    }

    /// One that follows from a revision becomes the reported one before it.
    fn number(&self, number: &mut u64) {
        if let Some((_, new)) = self.numbers.range(..=*number).next_back() {
            *number = *new;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::events::comments::Telling;
    use crate::events::marks::Scope;
    use crate::events::observation::{Details, Payload, Type};
    use crate::list::input::Plan;
    use crate::list::item::{Draft, Status};
    use crate::thread::record::PositionRecord;
    use crate::thread::{Edit, WriteOptions};

    /// The names of what happens in the common part, and in each copy.
    const COMMON: char = 'c';
    const MINE: char = 'm';
    const THEIRS: char = 't';

    /// Adds a task of the agent to its list, each blocked by the one before it. The last is in progress.
    fn write(thread: &mut Thread, name: &str, now: u64) {
        let tasks = thread.base().iter().map(|item| item.content.clone()).chain([name.to_owned()]);
        let mut drafts: Vec<Draft> = Vec::new();
        for content in tasks {
            let (hint, active_form) = (Some(content.clone()), content.clone());
            let blocked_by = drafts.last().map(|before| before.content.clone()).into_iter().collect();
            drafts.push(Draft { content, active_form, hint, blocked_by, ..Draft::default() });
        }
        drafts.last_mut().unwrap().status = Status::InProgress;
        let options = WriteOptions { is_unanswered: true, ..WriteOptions::default() };
        thread.write(Plan { drafts, ..Plan::default() }, options, now);
    }

    fn observe(thread: &mut Thread, kind: Type, name: &str, metadata: Value, now: u64) {
        let Value::Object(metadata) = metadata else { unreachable!("it is an object") };
        let details = Details { title: Some(name.to_owned()), ..Details::default() };
        thread.observe(Payload::read(kind, json!(name), metadata), details, now);
    }

    /// Does one of the things of which there are records, in the copy with this name.
    fn act(thread: &mut Thread, copy: char, act: usize, now: u64) {
        let name = format!("{copy}{now}");
        let comments = |telling: Option<Telling>| -> Vec<u64> {
            let known = thread.comments.all().filter(|one| telling.is_none_or(|only| one.telling == only));
            known.map(|one| one.number).collect()
        };
        let path = format!("/file{}", now % 2);
        let call = thread.observations.reported().rev().find(|one| one.kind() == Type::ToolCall);
        let call = call.map(|call| call.number);
        match act {
            0 => write(thread, &name, now),
            1 => drop(thread.edit(Edit::Add { content: name, position: None }, now)),
            2 => {
                let id = thread.list().first().map(|item| item.id.clone()).unwrap_or_default();
                drop(thread.edit(Edit::Delete { id }, now));
            }
            3 => observe(thread, Type::ToolCall, &name, json!({"callId": name}), now),
            4 => {
                let files = json!([{"path": path, "added": 1}]);
                observe(thread, Type::ToolExecution, &name, json!({"files": files, "ofCall": call}), now);
            }
            5 => observe(thread, Type::StateUpdate, &name, json!({"comment": {"text": name}}), now),
            6 => {
                let told = json!({"toldComments": comments(Some(Telling::Untold))});
                observe(thread, Type::StateUpdate, &name, told, now);
            }
            7 => drop(thread.mark(Scope { path: Some(&path), ..Scope::WHOLE }, true, now)),
            8 => drop(thread.take_untold()),
            9 => thread.describe(&name, name.clone().into(), now),
            10 => {
                let session = copy.to_string();
                let position = PositionRecord { session, offset: now, records: 5, ..Default::default() };
                thread.make(Record::Position(position));
            }
            11 => thread.set_paused(Some(name), now),
            _ => drop(thread.undo(now)),
        }
    }

    /// The tasks by their ids, also of former lists. Those that a copy added and deleted are in no list of the other.
    fn tasks(thread: &Thread, copy: char) -> HashMap<&str, &str> {
        let changes = thread.revisions.iter().flat_map(|revision| &revision.changes);
        let items = changes.filter_map(|change| change.item.as_ref());
        let is_listed = |id: &str| thread.list().iter().any(|item| item.id == id);
        let known = items.filter(|item| !item.content.starts_with(copy) || is_listed(&item.id));
        known.map(|item| (item.id.as_str(), item.content.as_str())).collect()
    }

    /// What a thread says of the copy with this name, with tasks and observations by their names.
    fn said(thread: &Thread, copy: char) -> Vec<String> {
        let tasks = tasks(thread, copy);
        let task = |id: &String| tasks.get(id.as_str()).map_or_else(|| "?".into(), ToString::to_string);
        let reported: HashMap<u64, &str> =
            thread.observations.reported().map(|one| (one.number, one.title.as_str())).collect();
        let of_copy = |name: &str| name.starts_with(copy);
        let mut said = Vec::new();
        for one in thread.observations.reported().filter(|one| of_copy(&one.title)) {
            let known = &one.payload.metadata;
            let items: Option<Vec<_>> = known.items.as_ref().map(|ids| ids.iter().map(task).collect());
            let (parent, step) = (one.parent_id.as_ref().map(task), known.step_id.as_ref().map(task));
            let call = known.of_call.map(|number| reported.get(&number));
            said.push(format!("{}: of {parent:?} {step:?} {items:?} {call:?}", one.title));
        }
        for comment in thread.comments.all().filter(|one| of_copy(&one.comment.text)) {
            said.push(format!("{} is {:?}", comment.comment.text, comment.telling));
        }
        // A file is reviewed up to an event of either copy.
        for (change, is_new) in thread.review.changes(Scope::WHOLE).filter(|_| copy == MINE) {
            let name = reported[&change.of.number];
            said.extend(Some(format!("{name}: {is_new}")).filter(|_| of_copy(name)));
        }
        for item in thread.list().iter().filter(|item| of_copy(&item.content)) {
            // The one before it may have been deleted in the other copy.
            let blockers: Vec<String> = item.blocked_by.iter().map(task).collect();
            said.push(format!("{} after {blockers:?}", item.content));
        }
        let about = thread.about.keys().filter(|key| of_copy(key));
        said.extend(about.cloned());
        let of_session = |one: &&PositionRecord| of_copy(&one.session);
        said.extend(thread.recorded.positions.iter().filter(of_session).map(|one| format!("{one:?}")));
        said
    }

    fn contents(list: &List) -> Vec<String> {
        list.iter().map(|item| item.content.clone()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_two_copies_say_stays_true_when_one_follows_the_other(
            [common, mine, theirs] in [0..8, 1..8, 1..8].map(|length| prop::collection::vec(0..13_usize, length)),
        ) {
            let copy = |records: &[Record]| {
                let mut copy = Thread::new("a", Map::new(), 100);
                records.iter().for_each(|record| copy.apply(record));
                copy.keep_records();
                copy
            };
            let mut first = copy(&[]);
            (0..).zip(common).for_each(|(now, one)| act(&mut first, COMMON, one, now));
            let mut records = first.take_records();
            let [mut mine_copy, mut their_copy] = [(); 2].map(|()| copy(&records));
            let common = Common::of(&first);
            (10..).zip(mine).for_each(|(now, one)| act(&mut mine_copy, MINE, one, now));
            (20..).zip(theirs).for_each(|(now, one)| act(&mut their_copy, THEIRS, one, now));
            let before = said(&their_copy, THEIRS);
            let known = contents(their_copy.base());
            records.extend(their_copy.take_records());
            their_copy.keep_records();
            let mine = mine_copy.take_records();
            let learns = |record: &Record| match record {
                Record::Revision(made) => made.stamp.author == Author::Agent,
                record => matches!(record, Record::Known { .. }),
            };
            let expected = if mine.iter().any(learns) { contents(mine_copy.base()) } else { known };
            their_copy.change_again(&mine_copy, mine, &common);
            let made = their_copy.take_records();
            for record in &made {
                prop_assert!(!matches!(record, Record::Position(one) if one.records > 0), "{record:?}");
            }
            records.extend(made);
            let again = serde_json::to_value(copy(&records)).unwrap();
            prop_assert_eq!(again, serde_json::to_value(&their_copy).unwrap());
            prop_assert_eq!(contents(their_copy.base()), expected);
            prop_assert_eq!(said(&their_copy, MINE), said(&mine_copy, MINE));
            prop_assert_eq!(said(&their_copy, THEIRS), before);
        }
    }
}
