//! Restores a thread from the records of its journal.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Map;

use super::saving::Saving;
use super::{AgentView, NextRevision, State, Thread, View, mark_told};
use crate::activity::{Activity, AgentActivity};
use crate::clock::Millis;
use crate::journal::{COUNTER_LIMIT, FullRecord, Journal, Record};
use crate::list::change::{apply, diff, mark_cancelled};
use crate::list::item::{Author, Item, List};
use crate::revision::{Operation, Stamp};

impl Thread {
    /// Restores a thread and continues its journal. An active thread is paused, since the process that
    /// wrote the journal has ended.
    pub fn restore(
        key: &str,
        records: Vec<Record>,
        journal: impl Into<Option<Journal>>,
        history_limit: usize,
    ) -> Thread {
        let (mut thread, last) = Thread::replayed(key, records, history_limit);
        thread.saving = Saving::to(journal.into());
        let ended = "the session that wrote this list has ended".to_owned();
        let paused =
            thread.activity.paused.clone().or(Some(ended).filter(|_| thread.state() == State::Active));
        // The host has not reported an activity in this session.
        let ending = thread.activity.ending;
        thread.change_activity(AgentActivity { paused, ending, activity: Activity::default() }, last);
        thread
    }

    /// Replays records into a thread without a journal. Also returns the time of the last record.
    pub fn replayed(key: &str, records: Vec<Record>, history_limit: usize) -> (Thread, Millis) {
        let mut thread = Thread::new(key, Map::new(), history_limit);
        let mut last = 0;
        for record in records {
            last = record.timestamp().unwrap_or(last);
            thread.replay(record);
        }
        // Subscribers receive only new observations.
        thread.observations.take_new();
        (thread, last)
    }

    fn replay(&mut self, record: Record) {
        match record {
            Record::Thread { about, .. } => self.about = about,
            Record::Revision { .. } => self.replay_revision(record),
            Record::Full(full) => self.replay_full(full),
            Record::Known { sent, unanswered, reminded, .. } => {
                let base = sent.map(|sent| apply(self.base(), &sent));
                self.commit_view(View { base, is_unanswered: unanswered });
                self.agent.reminded.extend(reminded);
            }
            Record::State { timestamp, activity } => self.commit_activity(activity, timestamp),
            Record::Observation(observation) => self.commit_observation(observation),
        }
    }

    fn replay_revision(&mut self, record: Record) {
        let Record::Revision { number, stamp, changes, next_id, known, sent, unanswered } = record else {
            return;
        };
        if number > self.revisions.last() + 1 {
            self.replace_lost(number - 1, self.list().clone(), stamp.timestamp);
        }
        let view = match (known == number, sent) {
            (true, _) => None,
            (false, sent) => Some(apply(self.base(), &sent.unwrap_or_default())),
        };
        let is_write = stamp.author == Author::Agent;
        let is_unanswered = if is_write { unanswered } else { self.agent.is_unanswered };
        let view = View { base: view, is_unanswered };
        let mut list = apply(self.list(), &changes);
        mark_told(&mut list, view.base.as_deref());
        let cancelled = changes.iter().filter(|change| change.cancelled);
        let cancelled: HashSet<&str> = cancelled.map(|change| change.item_id.as_str()).collect();
        // The records have no previous items.
        let mut changes = diff(self.list(), &list);
        mark_cancelled(&mut changes, |id| cancelled.contains(id));
        let next_id = next_id.max(first_free_id(changes.iter().filter_map(|change| change.item.as_ref())));
        self.commit(NextRevision { list, stamp, next_id, view }, &changes);
    }

    fn replay_full(&mut self, full: FullRecord) {
        let (list, base) = (unique(full.list), full.base.map(unique));
        self.next_id = full.next_id.max(first_free_id(list.iter().chain(base.iter().flatten())));
        if full.number > self.revisions.last() {
            self.replace_lost(full.number, list, full.timestamp);
        } else if *self.list() != list {
            self.revisions.correct(list);
        }
        self.agent =
            AgentView { known: full.known, base, is_unanswered: full.unanswered, reminded: full.reminded };
        mark_told(self.revisions.current_mut(), self.agent.base.as_deref());
        self.clock = full.clock;
        self.observations.skip_to(full.observations);
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

/// The first number above those in the ids of these items. The one in a damaged journal may be wrong.
fn first_free_id<'i>(items: impl Iterator<Item = &'i Arc<Item>>) -> u64 {
    let numbers = items.filter_map(|item| item.id.strip_prefix('t')?.parse::<u64>().ok());
    numbers.filter(|number| *number < COUNTER_LIMIT).max().map_or(1, |number| number + 1)
}
