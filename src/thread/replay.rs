//! A thread from the records of its journal.

use super::*;
use crate::journal::TOO_MANY;
use crate::observation::Content;

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
                if number > self.revisions.last() + 1 {
                    self.lose(number - 1, self.list().clone(), timestamp);
                }
                let list = apply(self.list(), &changes);
                let cancelled = changes.iter().filter(|change| change.cancelled);
                let cancelled: HashSet<String> = cancelled.map(|change| change.item_id.clone()).collect();
                let mut changes = diff(self.list(), &list);
                mark_cancelled(&mut changes, |id| cancelled.contains(id));
                let next_id =
                    next_id.max(first_free_id(changes.iter().filter_map(|change| change.item.as_ref())));
                let known_to_agent = known == number;
                self.commit(Proposal { list, cancelled, stamp, next_id, known_to_agent }, &changes);
                Some(timestamp)
            }
            Record::Full { number, timestamp, list, base, next_id, known, clock, observations } => {
                let (list, base) = (unique(list), base.map(unique));
                self.next_id = next_id.max(first_free_id(list.iter().chain(base.iter().flatten())));
                if number > self.revisions.last() {
                    self.lose(number, list, timestamp);
                } else if *self.list() != list {
                    self.revisions.correct(list);
                }
                (self.base, self.known, self.clock) = (base, known, clock);
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
                self.keep(Observation {
                    number,
                    kind,
                    timestamp,
                    own_title: Some(title),
                    trace_id,
                    parent_id,
                    content: Content::Json(content),
                    phase: None,
                    step: None,
                    details: metadata,
                });
                Some(timestamp)
            }
        }
    }

    /// Stands in for all revisions up to `number` whose records were damaged, so that the others
    /// keep their numbers.
    fn lose(&mut self, number: u64, list: List, timestamp: Millis) {
        let stamp = Stamp {
            timestamp,
            author: Author::Agent,
            source: None,
            operation: "lost".into(),
            restores: None,
        };
        let changes = diff(self.list(), &list);
        self.revisions.push(number, list, changes, stamp);
        self.at = number;
    }
}

/// The list without items whose id an item before them has. No store writes such a list, but
/// anyone may.
fn unique(mut list: List) -> List {
    let mut seen = HashSet::new();
    list.retain(|item| seen.insert(item.id.clone()));
    list
}

/// The first number that is in no id of these items: what a journal says of it may be wrong.
fn first_free_id<'i>(items: impl Iterator<Item = &'i Arc<Item>>) -> u64 {
    let numbers = items.filter_map(|item| item.id.strip_prefix('t')?.parse::<u64>().ok());
    numbers.filter(|number| *number < TOO_MANY).max().map_or(1, |number| number + 1)
}
