//! The one transition of a thread, by a record, and the records that lead to its state.

use std::sync::Arc;

use super::activity::{Activity, AgentActivity, PROCESS_ENDED};
use super::knows::mark_told;
use super::record::{COUNTER_LIMIT, Record, RevisionRecord};
use super::revision::{Operation, Stamp, diff_like};
use super::{State, Thread};
use crate::events::Millis;
use crate::fault::may_panic_here;
use crate::list::change::apply;
use crate::list::item::{Author, Item, List};

impl Thread {
    /// Changes the state by a record. Records of a damaged journal need not fit the state: what cannot
    /// be applied is ignored.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::Thread { about, timestamp, .. } => {
                self.about.clone_from(about);
                // A journal was begun with its first description.
                if self.review.since == 0 {
                    self.review.since = *timestamp;
                }
            }
            Record::Revision(made) => self.apply_revision(made),
            Record::Known { number, sent, unanswered, reminded, noted } => {
                let known = sent.as_ref().map(|sent| apply(self.base(), sent));
                mark_told(self.revisions.current_mut(), known.as_deref());
                let list = self.revisions.current();
                self.agent.learn(known, Some(list), list);
                self.agent.heard = Some(!*unanswered);
                self.agent.remind(reminded, list);
                if *noted && let Some(list) = self.revisions.list(*number) {
                    self.agent.note(list);
                }
            }
            Record::State { timestamp, activity } => self.apply_activity(activity, *timestamp),
            Record::Position(position) => self.recorded.note_position(position),
            Record::Review { files, .. } => self.review.mark(files),
            Record::Call(call) => self.recorded.note_call(call),
            Record::Observation(observation) => self.keep_observation(Arc::clone(observation)),
            Record::Unknown => {}
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

    /// Pauses a thread that was active when the process that recorded it ended, at `last`, its last time.
    /// The host has not reported an activity since.
    pub(crate) fn end_process(&mut self, last: Millis) {
        let ended = PROCESS_ENDED.to_owned();
        let paused = self.activity.paused.clone().or(Some(ended).filter(|_| self.state() == State::Active));
        let ending = self.activity.ending;
        self.change_activity(AgentActivity { paused, ending, activity: Activity::default() }, last);
    }

    fn apply_revision(&mut self, made: &RevisionRecord) {
        let RevisionRecord { number, stamp, next_id, .. } = made;
        if *number > self.revisions.last() + 1 {
            // One revision stands in for the damaged ones, so that later ones keep their numbers.
            let lost = Stamp::new(Author::Agent, Operation::Lost, stamp.timestamp);
            self.revisions.push(number - 1, self.list().clone(), Vec::new(), lost);
        }
        let known = self.known_after(made);
        let is_write = stamp.author == Author::Agent;
        let mut list = apply(self.list(), &made.changes);
        mark_told(&mut list, known.as_deref());
        let changes = diff_like(self.list(), &list, &made.changes);
        let number = self.revisions.last() + 1;
        let added = changes.iter().filter_map(|change| change.item.as_ref());
        self.next_id = (*next_id).max(first_free_id(added));
        self.undo_from = stamp.restores.unwrap_or(number);
        self.agent.learn(known, Some(self.revisions.current()).filter(|_| is_write), &list);
        if is_write {
            self.agent.heard = Some(!made.unanswered);
            self.refused = None;
        }
        if self.clock.apply(&changes, stamp.timestamp) {
            self.work.forget_items(|item| self.clock.get(item).is_some());
        }
        if !self.activity.runs() {
            self.clock.pause(stamp.timestamp);
        }
        self.revisions.push(number, list, changes.clone(), stamp.clone());
        self.observe_revision(number, changes, is_write, stamp.timestamp);
    }

    /// The list that the agent knows after a revision, unless that is the revision's list.
    pub(super) fn known_after(&self, made: &RevisionRecord) -> Option<List> {
        let knows_it = made.stamp.author == Author::Agent && made.sent.is_none();
        (!knows_it).then(|| apply(self.base(), made.sent.as_deref().unwrap_or_default()))
    }
}

/// The first number above those in the ids of these items. The one in a damaged journal may be wrong.
fn first_free_id<'i>(items: impl Iterator<Item = &'i Arc<Item>>) -> u64 {
    let numbers = items.filter_map(|item| item.id.strip_prefix('t')?.parse::<u64>().ok());
    numbers.filter(|number| *number < COUNTER_LIMIT).max().map_or(1, |number| number + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::events::comments::Telling;
    use crate::events::marks::{Marks, Scope};
    use crate::events::observation::{Details, Payload, Type};
    use crate::list::input::{Options, read_text};
    use crate::thread::activity::{Decision, Doing};
    use crate::thread::record::PositionRecord;
    use crate::thread::{Call, Edit, WriteOptions};

    fn note(thread: &mut Thread, kind: Type, metadata: Value, now: Millis) -> u64 {
        let metadata = metadata.as_object().unwrap().clone();
        thread.observe(Payload::read(kind, json!({}), metadata), Details::default(), now).number
    }

    #[test]
    fn what_was_changed_before_a_journal_was_begun_counts_in_no_row() {
        let mut thread = Thread::new("a", Map::new(), 10);
        thread.apply(&Record::Thread { timestamp: 100, about: Map::new() });
        for (path, time) in [("/old", 50), ("/new", 150)] {
            let files = json!({"files": [{"path": path, "added": 1}]});
            note(&mut thread, Type::ToolExecution, files, time);
        }
        assert_eq!(thread.review.changes(Scope::WHOLE).count(), 2);
        assert_eq!(thread.review.unseen().files.into_iter().collect::<Vec<_>>(), ["/new"]);
        let newest = thread.review.newest();
        let marks = |until| Marks::from([("/new".to_owned(), until)]);
        assert_eq!(thread.mark_files(marks(newest), true, 200), marks(0));
        assert_eq!(thread.mark_files(marks(newest - 1), true, 200), Marks::new());
        assert!(thread.review.unseen().files.is_empty());
    }

    #[test]
    fn a_comment_is_kept_until_the_agent_was_told_or_it_was_copied() {
        let mut thread = Thread::new("a", Map::new(), 1);
        thread.keep_records();
        let comment = json!({"comment": {"text": "Why?"}});
        let [told, _, copied] = [(); 3].map(|()| note(&mut thread, Type::StateUpdate, comment.clone(), 1));
        note(&mut thread, Type::StateUpdate, json!({"toldComments": [told, 99]}), 1);
        note(&mut thread, Type::StateUpdate, json!({"copiedComments": [copied]}), 1);
        let mut again = Thread::new("a", Map::new(), 1);
        thread.take_records().iter().for_each(|record| again.apply(record));
        let telling: Vec<Telling> = again.comments.all().map(|kept| kept.telling).collect();
        assert_eq!(telling, [Telling::Told, Telling::Untold, Telling::Copied]);
    }

    /// A thread in which nothing of the state is as in a new one.
    fn with_everything() -> Thread {
        let mut thread = Thread::new("claude:s", Map::new(), 10);
        let write = |thread: &mut Thread, statuses: [&str; 2], is_unanswered| {
            let [first, second] = statuses;
            let list = format!(
                r#"{{"todos": [{{"content": "Dig", "status": "{first}", "activeForm": "Digging"}},
                    {{"content": "Rake", "status": "{second}", "activeForm": "Raking"}}]}}"#
            );
            let plan = read_text(&list, &Options::default()).unwrap();
            let call = Some(Call { id: Some("c1".into()), sent: Some("p/1".into()), time: Some(9) });
            thread.write(plan, WriteOptions { is_unanswered, call, ..WriteOptions::default() }, 10);
        };
        let add = |content: &str| Edit::Add { content: content.into(), position: None };
        note(&mut thread, Type::Intent, json!({}), 5);
        write(&mut thread, ["in_progress", "pending"], false);
        thread.edit(add("Sow"), 20).unwrap();
        write(&mut thread, ["completed", "in_progress"], false);
        // The agent is reminded of the user's task.
        write(&mut thread, ["completed", "completed"], false);
        thread.edit(add("Water"), 30).unwrap();
        write(&mut thread, ["completed", "in_progress"], true);
        thread.edit(Edit::Delete { id: "t1".into() }, 35).unwrap();
        assert!(!thread.take_untold().is_empty());
        note(&mut thread, Type::ToolExecution, json!({"files": [{"path": "/a"}], "exitCode": 1}), 40);
        note(&mut thread, Type::ToolCall, json!({"callId": "c", "items": ["t2"], "hidden": true}), 40);
        note(&mut thread, Type::StateUpdate, json!({"comment": {"text": "Why?"}}), 40);
        note(&mut thread, Type::StateUpdate, json!({"cost": {"amount": 0.5, "currency": "EUR"}}), 40);
        thread.apply(&Record::Position(PositionRecord {
            session: "s".into(),
            offset: 9,
            ..Default::default()
        }));
        thread.apply(&Record::Review { timestamp: 50, files: Marks::from([("/a".to_owned(), 7)]) });
        thread.describe("project", "/garden/".into(), 50);
        thread.refuse(Vec::new(), 60);
        thread.follow(&Decision::new(Doing::Waiting, 0), 70);
        thread
    }

    #[test]
    fn the_head_of_a_segment_brings_back_the_whole_state() {
        let thread = with_everything();
        let head = serde_json::to_value(&thread).unwrap();
        let restored: Thread = serde_json::from_value(head.clone()).unwrap();
        assert_eq!(serde_json::to_value(&restored).unwrap(), head);
        assert_eq!((restored.list(), restored.state()), (thread.list(), thread.state()));
        let new = serde_json::to_value(Thread::new("claude:s", Map::new(), 10)).unwrap();
        for (part, value) in head.as_object().unwrap() {
            assert_ne!(value, &new[part], "the test must show that {part} is brought back");
        }
    }
}
