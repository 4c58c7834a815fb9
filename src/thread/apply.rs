//! The one transition of a thread, by a record, and the records that lead to its state.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Map;

use super::activity::{Activity, AgentActivity};
use super::record::{COUNTER_LIMIT, FullRecord, PositionRecord, Record, RevisionRecord};
use super::revision::{Operation, Stamp};
use super::{AgentView, State, Thread, mark_told};
use crate::events::Millis;
use crate::events::observation::Kept;
use crate::fault::may_panic_here;
use crate::list::change::{apply, diff, mark_cancelled};
use crate::list::item::{Author, Item, List};
use crate::list::merge::{by_id, merge};

/// Maximum number of transcripts whose positions a thread knows: that of the session, and of its subagents.
const MANY_POSITIONS: usize = 1_024;

impl Thread {
    /// Changes the state by a record. Records of a damaged journal need not fit the state: what cannot
    /// be applied is ignored.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::Thread { about, timestamp, .. } => {
                self.about.clone_from(about);
                // A journal was begun with its first description.
                if self.review.since() == 0 {
                    self.review.count_since(*timestamp);
                }
            }
            Record::Revision(made) => self.apply_revision(made),
            Record::Full(full) => self.apply_full(full),
            Record::Known { sent, unanswered, reminded, noted, .. } => {
                let base = sent.as_ref().map(|sent| apply(self.base(), sent));
                let before = self.agent.noted.is_some().then(|| self.list().clone());
                self.set_view(base, *unanswered, before.as_ref());
                self.agent.reminded.extend(reminded.iter().cloned());
                if *noted && self.agent.base.is_some() {
                    self.agent.noted = Some(self.list().clone());
                }
            }
            Record::State { timestamp, activity } => self.apply_activity(activity, *timestamp),
            Record::Position(position) => {
                self.reading.leave(usize::try_from(position.ahead).unwrap_or(usize::MAX));
                self.reading.pass(position.read);
                self.keep_position(position);
            }
            Record::Review { files, .. } => self.review.mark(files),
            Record::Call(call) => self.reading.push(call.clone()),
            Record::Observation(observation) => self.keep_observation(Arc::clone(observation)),
        }
    }

    /// Changes the state by a new record, and keeps the record for the owner.
    pub(super) fn make(&mut self, record: Record) {
        may_panic_here();
        self.apply(&record);
        may_panic_here();
        if let Some(made) = &mut self.made {
            made.push(record);
        }
    }

    /// Begins to keep the records that are made.
    pub(crate) fn keep_records(&mut self) {
        self.made.get_or_insert_default();
    }

    /// Removes and returns the records made since [`Thread::keep_records`], oldest first.
    pub(crate) fn take_records(&mut self) -> Vec<Record> {
        self.made.take().unwrap_or_default()
    }

    /// Sets the length of the journal in bytes. Contents are abridged if that is full.
    pub(crate) fn set_journal_bytes(&mut self, bytes: u64) {
        self.journal_bytes = bytes;
    }

    /// The thread of some records. Also returns the time of the last of them.
    pub fn replayed(key: &str, records: &[Record], history_limit: usize) -> (Thread, Millis) {
        let mut thread = Thread::new(key, Map::new(), history_limit);
        let mut last = 0;
        for record in records {
            last = record.timestamp().unwrap_or(last);
            thread.apply(record);
        }
        // Subscribers receive only new observations.
        thread.observations.skip_new();
        (thread, last)
    }

    /// Pauses a thread that was active when the process that recorded it ended, at `last`, its last time.
    /// The host has not reported an activity since.
    pub(crate) fn end_process(&mut self, last: Millis) {
        let ended = "the session that wrote this list has ended".to_owned();
        let paused = self.activity.paused.clone().or(Some(ended).filter(|_| self.state() == State::Active));
        let ending = self.activity.ending;
        self.change_activity(AgentActivity { paused, ending, activity: Activity::default() }, last);
    }

    fn apply_revision(&mut self, made: &RevisionRecord) {
        let RevisionRecord { number, stamp, next_id, .. } = made;
        if *number > self.revisions.last() + 1 {
            self.replace_lost(number - 1, self.list().clone(), stamp.timestamp);
        }
        let base = self.base_after(made);
        let is_write = stamp.author == Author::Agent;
        let is_unanswered = if is_write { made.unanswered } else { self.agent.is_unanswered };
        let mut list = apply(self.list(), &made.changes);
        mark_told(&mut list, base.as_deref());
        // A record read from a journal has no previous items, and a damaged one too many changes.
        let mut changes = diff(self.list(), &list);
        let cancelled = made.changes.iter().filter(|change| change.cancelled);
        let cancelled: HashSet<&str> = cancelled.map(|change| change.item_id.as_str()).collect();
        mark_cancelled(&mut changes, |id| cancelled.contains(id));
        let number = self.revisions.last() + 1;
        let added = changes.iter().filter_map(|change| change.item.as_ref());
        self.next_id = (*next_id).max(first_free_id(added));
        self.undo_from = stamp.restores.unwrap_or(number);
        if is_write {
            self.refused = None;
        }
        self.clock.apply(&changes, stamp.timestamp);
        if !self.activity.runs() {
            self.clock.pause(stamp.timestamp);
        }
        let before = (is_write && self.agent.noted.is_some()).then(|| self.list().clone());
        self.revisions.push(number, list, changes.clone(), stamp.clone());
        self.set_view(base, is_unanswered, before.as_ref());
        self.observe_revision(number, &changes, is_write, stamp.timestamp);
    }

    /// The list that the agent knows after a revision, unless that is the revision's list.
    pub(super) fn base_after(&self, made: &RevisionRecord) -> Option<List> {
        let sent = made.sent.as_deref().unwrap_or_default();
        (made.known != made.number).then(|| apply(self.base(), sent))
    }

    /// Sets what the agent knows. `before` is the list before its write, if it made one.
    fn set_view(&mut self, base: Option<List>, is_unanswered: bool, before: Option<&List>) {
        if base.is_none() {
            self.agent.known = self.revisions.last();
        }
        self.agent.noted = match (self.agent.noted.take(), &self.agent.base, &base, before) {
            (Some(noted), Some(old), Some(new), Some(before)) => {
                Some(noted_after(&noted, [old, new], [before, self.list()]))
            }
            (noted, _, Some(_), None) => noted,
            _ => None,
        };
        self.agent.base = base;
        self.agent.is_unanswered = is_unanswered;
        mark_told(self.revisions.current_mut(), self.agent.base.as_deref());
    }

    fn keep_position(&mut self, position: &PositionRecord) {
        let position = PositionRecord { records: 0, ahead: 0, read: 0, ..position.clone() };
        self.positions.retain(|known| !known.is_of_file(&position));
        if self.positions.len() == MANY_POSITIONS {
            self.positions.remove(0);
        }
        self.positions.push(position);
    }

    fn apply_full(&mut self, full: &FullRecord) {
        let (list, base) = (unique(full.list.clone()), full.base.clone().map(unique));
        self.next_id = full.next_id.max(first_free_id(list.iter().chain(base.iter().flatten())));
        if full.number > self.revisions.last() {
            self.replace_lost(full.number, list, full.timestamp);
        } else if *self.list() != list {
            self.revisions.correct(list);
        }
        let (reminded, noted) = (full.reminded.clone(), full.noted.clone().map(unique));
        self.agent = AgentView { known: full.known, base, is_unanswered: full.unanswered, reminded, noted };
        mark_told(self.revisions.current_mut(), self.agent.base.as_deref());
        self.clock.clone_from(&full.clock);
        full.positions.iter().for_each(|position| self.keep_position(position));
        self.reading.restore(full.read, &full.ahead);
        self.observations.skip_to(full.observations);
        self.review.restore(&full.reviewed);
    }

    /// The record of the whole state.
    pub(crate) fn full(&self, timestamp: Millis) -> Record {
        Record::Full(FullRecord {
            number: self.revisions.last(),
            timestamp,
            list: self.list().clone(),
            base: self.agent.base.clone(),
            unanswered: self.agent.is_unanswered,
            reminded: self.agent.reminded.clone(),
            noted: self.agent.noted.clone(),
            next_id: self.next_id,
            known: self.agent.known,
            clock: self.clock.clone(),
            observations: self.observations.next_number(),
            positions: self.positions.clone(),
            read: self.reading.revision(),
            ahead: self.reading.ahead().iter().cloned().collect(),
            reviewed: self.review.marks().clone(),
        })
    }

    /// The records that lead from the state after `records` to this one; `None` if those are not the
    /// beginning of this thread's history.
    pub(crate) fn records_since(&self, records: &[Record], now: Millis) -> Option<Vec<Record>> {
        let (old, _) = Thread::replayed(&self.key, records, 1);
        let last = old.revisions.last();
        if self.revisions.list(last).as_ref() != Some(old.list()) {
            return None;
        }
        let mut missing = self.records_after(last, old.observations.next_number());
        missing.push(self.full(now));
        missing.push(Record::State { timestamp: now, activity: self.activity.clone() });
        Some(missing)
    }

    /// The records of the revisions after `revision` and the observations from `observation` on, in
    /// order of creation.
    fn records_after(&self, revision: u64, observation: u64) -> Vec<Record> {
        let mut records: Vec<(u64, Record)> = Vec::new();
        let mut places: HashMap<u64, u64> = HashMap::new();
        for kept in self.observations.kept() {
            match kept {
                Kept::Revision(made) => drop(places.insert(made.revision, made.first)),
                Kept::Reported(observed) if observed.number >= observation => {
                    records.push((observed.number, Record::Observation(Arc::clone(observed))));
                }
                Kept::Reported(_) => {}
            }
        }
        for made in self.revisions.iter().filter(|made| made.number > revision) {
            let record = Record::Revision(RevisionRecord {
                number: made.number,
                stamp: made.stamp.clone(),
                changes: made.changes(),
                next_id: self.next_id,
                // What the agent knows is in the full record that follows.
                known: 0,
                sent: None,
                unanswered: false,
            });
            records.push((places.get(&made.number).copied().unwrap_or(0), record));
        }
        records.sort_by_key(|(place, _)| *place);
        records.into_iter().map(|(_, record)| record).collect()
    }

    /// Adds one revision instead of the damaged ones up to `number`, so that later ones keep their
    /// numbers.
    fn replace_lost(&mut self, number: u64, list: List, timestamp: Millis) {
        let stamp = Stamp::new(Author::Agent, Operation::Lost, timestamp);
        let changes = diff(self.list(), &list);
        self.revisions.push(number, list, changes, stamp);
        self.undo_from = number;
    }
}

/// Drops items with a repeated id, which a journal edited by hand may have.
fn unique(mut list: List) -> List {
    let mut seen = HashSet::new();
    list.retain(|item| seen.insert(item.id.clone()));
    list
}

/// What an agent was told of, after its write changed the list that it knows and the current one, each
/// given before and after. Where it was told of all, it knows what came of its write; elsewhere, its write
/// changes what it was told of as it changes the user's list.
fn noted_after(noted: &List, known: [&List; 2], lists: [&List; 2]) -> List {
    let [noted_items, listed] = [noted, lists[0]].map(|list| by_id(list));
    let is_told = |item: &&Arc<Item>| match (noted_items.get(item.id.as_str()), listed.get(item.id.as_str()))
    {
        (Some(noted), Some(item)) => noted.is_unchanged_from(item),
        (noted, item) => noted.is_none() && item.is_none(),
    };
    let merged = merge(known[0], noted, known[1]).list;
    lists[1].iter().filter(is_told).chain(merged.iter().filter(|item| !is_told(item))).cloned().collect()
}

/// The first number above those in the ids of these items. The one in a damaged journal may be wrong.
fn first_free_id<'i>(items: impl Iterator<Item = &'i Arc<Item>>) -> u64 {
    let numbers = items.filter_map(|item| item.id.strip_prefix('t')?.parse::<u64>().ok());
    numbers.filter(|number| *number < COUNTER_LIMIT).max().map_or(1, |number| number + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::events::comments::{Comment, Telling};
    use crate::events::marks::{Marks, Scope};
    use crate::events::observation::{Details, Payload, Type};
    use crate::events::payload::{Call, Fields, FileEntry, Update};
    use crate::list::input::{Options, read_text};
    use crate::thread::calls::StoredCall;
    use crate::thread::record::FORMAT;
    use crate::thread::{Edit, WriteOptions};

    fn position(subagent: Option<&str>, offset: u64) -> PositionRecord {
        PositionRecord {
            subagent: subagent.map(str::to_owned),
            session: "s".into(),
            offset,
            ..PositionRecord::default()
        }
    }

    /// A thread with positions of a session and of a subagent.
    fn with_positions() -> Thread {
        let mut thread = Thread::new("claude:s", Map::new(), 1);
        for position in [position(None, 10), position(Some("a1"), 5), position(None, 20)] {
            thread.apply(&Record::Position(position));
        }
        thread
    }

    #[test]
    fn what_was_changed_before_a_journal_was_begun_counts_in_no_row() {
        let header = Record::Thread { format: FORMAT, thread: "a".into(), timestamp: 100, about: Map::new() };
        let (mut thread, _) = Thread::replayed("a", &[header], 10);
        for (path, time) in [("/old", 50), ("/new", 150)] {
            let files = vec![FileEntry { path: path.into(), added: 1, ..FileEntry::default() }];
            let call = Call { files: Some(files), ..Call::default() };
            let payload = Payload::with(Fields::ToolExecution(Box::new(call)), serde_json::Value::Null);
            thread.observe(payload, Details::default(), time);
        }
        assert_eq!(thread.review().changes(Scope::WHOLE).count(), 2);
        assert_eq!(thread.unseen().files.into_iter().collect::<Vec<_>>(), ["/new"]);
        let newest = thread.review().newest();
        let marks = |until| Marks::from([("/new".to_owned(), until)]);
        assert_eq!(thread.mark_files(marks(newest), true, 200), marks(0));
        assert_eq!(thread.mark_files(marks(newest - 1), true, 200), Marks::new());
        assert!(thread.unseen().files.is_empty());
    }

    #[test]
    fn a_comment_is_kept_until_the_agent_was_told_or_it_was_copied() {
        let mut thread = Thread::new("a", Map::new(), 1);
        thread.keep_records();
        let note = |thread: &mut Thread, update| {
            thread.observe(Payload::update(update, ""), Details::default(), 1).number
        };
        let comment = Comment { text: "Why?".into(), ..Comment::default() };
        let number = note(&mut thread, Update::Comment(comment.clone()));
        note(&mut thread, Update::Comment(comment.clone()));
        let copied = note(&mut thread, Update::Comment(comment));
        note(&mut thread, Update::ToldComments(vec![number, 99]));
        note(&mut thread, Update::CopiedComments(vec![copied]));
        let (again, _) = Thread::replayed("a", &thread.take_records(), 1);
        let telling: Vec<Telling> = again.comments().all().map(|kept| kept.telling).collect();
        assert_eq!(telling, [Telling::Told, Telling::Untold, Telling::Copied]);
    }

    #[test]
    fn each_file_of_a_session_has_its_own_position() {
        let thread = with_positions();
        assert_eq!(thread.recorded_until(&position(None, 0)), Some(20));
        assert_eq!(thread.recorded_until(&position(Some("a1"), 0)), Some(5));
        assert_eq!(thread.positions.len(), 2);
    }

    #[test]
    fn the_newest_positions_are_kept() {
        let mut thread = Thread::new("claude:s", Map::new(), 1);
        let of = |number: usize| position(Some(&number.to_string()), 1);
        for number in 0..=MANY_POSITIONS {
            thread.apply(&Record::Position(of(number)));
        }
        assert_eq!(thread.recorded_until(&of(0)), None);
        assert_eq!(thread.recorded_until(&of(1)), Some(1));
        assert_eq!(thread.positions.len(), MANY_POSITIONS);
    }

    /// A thread with three calls whose lines are yet to be read.
    fn with_calls() -> Thread {
        let mut thread = Thread::new("claude:s", Map::new(), 1);
        for number in 1..=3 {
            let call = StoredCall { call: format!("c{number}"), revision: number, timestamp: number };
            thread.apply(&Record::Call(call));
        }
        thread
    }

    #[test]
    fn a_position_has_how_far_the_transcript_was_read_among_the_calls() {
        let mut thread = with_calls();
        assert_eq!(thread.read_until(), (3, 0));
        thread.apply(&Record::Position(PositionRecord { ahead: 1, read: 2, ..position(None, 10) }));
        assert_eq!(thread.read_until(), (1, 2));
        // The line of a list that the agent's own tools made is behind those of all calls.
        thread.apply(&Record::Position(PositionRecord { ahead: 0, read: 4, ..position(None, 20) }));
        assert_eq!(thread.read_until(), (0, 4));
    }

    /// A thread in which nothing of the whole state is as in a new one.
    fn with_everything() -> Thread {
        let mut thread = with_calls();
        let write = |thread: &mut Thread, statuses: [&str; 2], is_unanswered| {
            let [first, second] = statuses;
            let list = format!(
                r#"{{"todos": [{{"content": "Dig", "status": "{first}", "activeForm": "Digging"}},
                    {{"content": "Rake", "status": "{second}", "activeForm": "Raking"}}]}}"#
            );
            let plan = read_text(&list, &Options::default()).unwrap();
            thread.write(plan, WriteOptions { is_unanswered, ..WriteOptions::default() }, 10);
        };
        let add = |content: &str| Edit::Add { content: content.into(), position: None };
        write(&mut thread, ["in_progress", "pending"], false);
        thread.edit(add("Sow"), 20).unwrap();
        write(&mut thread, ["completed", "in_progress"], false);
        // The agent is reminded of the user's task.
        write(&mut thread, ["completed", "completed"], false);
        thread.edit(add("Water"), 30).unwrap();
        write(&mut thread, ["completed", "in_progress"], true);
        assert!(!thread.take_untold().is_empty());
        thread.observe(Payload::new(Type::Message, "Done".into()), Details::default(), 40);
        thread.apply(&Record::Position(PositionRecord { ahead: 2, ..position(None, 10) }));
        let files = Marks::from([("/a".to_owned(), 7)]);
        thread.apply(&Record::Review { timestamp: 50, files });
        thread
    }

    /// What the record of the whole state must bring back, each part in words.
    fn whole_state(thread: &Thread) -> [String; 13] {
        let AgentView { known, base, is_unanswered, reminded, noted } = &thread.agent;
        [
            format!("list {:?}", thread.list()),
            format!("revision {}", thread.revisions.last()),
            format!("known {known}"),
            format!("base {base:?}"),
            format!("unanswered {is_unanswered}"),
            format!("reminded {reminded:?}"),
            format!("noted {noted:?}"),
            format!("next id {}", thread.next_id),
            format!("times {:?}", thread.clock),
            format!("observation {}", thread.observations.next_number()),
            format!("positions {:?}", thread.positions),
            format!("read {:?}", (thread.reading.revision(), thread.reading.ahead())),
            format!("marks {:?}", thread.review.marks()),
        ]
    }

    #[test]
    fn the_record_of_the_whole_state_alone_brings_back_all_that_a_damaged_journal_lost() {
        let thread = with_everything();
        let (restored, _) = Thread::replayed("claude:s", &[thread.full(60)], 10);
        assert_eq!(whole_state(&restored), whole_state(&thread));
        let new = whole_state(&Thread::new("claude:s", Map::new(), 10));
        for (part, new) in whole_state(&thread).iter().zip(&new) {
            assert_ne!(part, new, "the test must show that it is brought back");
        }
    }

    #[test]
    fn a_journal_gets_all_observations_that_it_lacks_and_the_activity() {
        let mut thread = Thread::new("a thread", Map::new(), 10);
        thread.keep_records();
        for text in ["one", "two", "three"] {
            thread.observe(Payload::new(Type::Message, text.into()), Details::default(), 1);
        }
        let made = thread.take_records();
        thread.set_activity(Activity::Waiting, 2);
        for known in 0..=made.len() {
            let (known, lacking) = made.split_at(known);
            let missing = thread.records_since(known, 2).unwrap_or_default();
            assert_eq!(&missing[..lacking.len()], lacking);
            let (again, _) = Thread::replayed("a thread", &[known, &missing].concat(), 10);
            assert_eq!(again.activity, thread.activity);
        }
    }
}
