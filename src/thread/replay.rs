//! A thread from the records of its journal.

use super::*;
use crate::observation::Content;

/// More revisions missing than this are not filled in one by one.
const GAP: u64 = 1_000;

impl Thread {
    /// Takes the thread over from its journal. What was active when the records end is paused:
    /// whoever wrote them is gone.
    pub fn restore(
        key: &str,
        records: Vec<Record>,
        journal: impl Into<Option<Journal>>,
        history_limit: usize,
    ) -> Thread {
        let (mut thread, last) = Thread::replayed(key, records, history_limit);
        thread.journal = journal.into();
        if thread.state() == State::Active {
            thread.set_paused(Some("the session that wrote this list has ended".into()), last);
        }
        thread
    }

    /// A thread as its journal leaves it, and when the journal ends; it is not kept anywhere.
    pub fn replayed(key: &str, records: Vec<Record>, history_limit: usize) -> (Thread, Millis) {
        let mut thread = Thread::new(key, Map::new(), None, history_limit);
        let mut last = 0;
        for record in records {
            last = thread.replay(record).unwrap_or(last);
        }
        // What was told in another life is not told again.
        thread.observations.take_new();
        (thread, last)
    }

    fn replay(&mut self, record: Record) -> Option<Millis> {
        match record {
            Record::Thread { about, timestamp, .. } => {
                self.about = about;
                Some(timestamp)
            }
            Record::Revision { number, stamp, changes, next_id, known } => {
                let timestamp = stamp.timestamp;
                self.skip_to(number.saturating_sub(1), timestamp);
                let list = apply(self.list(), &changes);
                let changes = diff(self.list(), &list);
                self.commit(Proposal { list, stamp, next_id, known_to_agent: known == number }, changes);
                Some(timestamp)
            }
            Record::Full { number, timestamp, list, base, next_id, known, clock, observations } => {
                self.skip_to(number, timestamp);
                if *self.list() != list {
                    self.revisions.correct(list);
                }
                (self.base, self.next_id, self.known, self.clock) = (base, next_id, known, clock);
                self.observations.skip_to(observations);
                Some(timestamp)
            }
            Record::Known { number } => {
                (self.known, self.base) = (number, None);
                None
            }
            Record::State { timestamp, paused } => {
                self.apply_paused(paused, timestamp);
                Some(timestamp)
            }
            Record::Observation {
                number,
                kind,
                timestamp,
                title,
                trace_id,
                parent_id,
                content,
                metadata,
            } => {
                let content = Content::Json(content);
                self.keep(Observation {
                    number,
                    kind,
                    timestamp,
                    title,
                    trace_id,
                    parent_id,
                    content,
                    metadata,
                });
                Some(timestamp)
            }
        }
    }

    /// Stands in for revisions whose records were damaged, so that the others keep their numbers.
    fn skip_to(&mut self, number: u64, timestamp: Millis) {
        let missing = number.saturating_sub(self.revisions.last());
        if missing > GAP {
            self.revisions = Revisions::starting_at(number, self.list().clone());
            return;
        }
        for _ in 0..missing {
            let stamp = Stamp {
                timestamp,
                author: Author::Agent,
                source: None,
                operation: "lost".into(),
                restores: None,
            };
            self.revisions.push(self.list().clone(), Vec::new(), stamp);
        }
    }
}
