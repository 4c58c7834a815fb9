//! Restores a thread from the records of its journal.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Map;

use super::activity::{Activity, RunState};
use super::saving::Saving;
use super::{AgentView, NextRevision, State, Thread};
use crate::change::{Change, apply, diff, mark_cancelled};
use crate::clock::Millis;
use crate::item::{Item, List};
use crate::journal::{COUNTER_LIMIT, FullRecord, Journal, Record};
use crate::revision::{Author, Stamp};

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
            thread.progress.paused.clone().or(Some(ended).filter(|_| thread.state() == State::Active));
        // The host has not reported an activity in this session.
        thread.set_progress(RunState { paused, activity: Activity::default() }, last);
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
            Record::Revision { number, stamp, changes, next_id, known } => {
                self.replay_revision(number, stamp, &changes, next_id, known == number);
            }
            Record::Full(full) => self.replay_full(full),
            Record::Known { number } => self.agent = AgentView { known: number, base: None },
            Record::State { timestamp, paused, activity } => {
                self.commit_progress(RunState { paused, activity }, timestamp);
            }
            Record::Observation(observation) => self.observations.push(observation),
        }
    }

    fn replay_revision(
        &mut self,
        number: u64,
        stamp: Stamp,
        changes: &[Change<Arc<Item>>],
        next_id: u64,
        known_to_agent: bool,
    ) {
        if number > self.revisions.last() + 1 {
            self.replace_lost(number - 1, self.list().clone(), stamp.timestamp);
        }
        let list = apply(self.list(), changes);
        let cancelled = changes.iter().filter(|change| change.cancelled);
        let cancelled: HashSet<&str> = cancelled.map(|change| change.item_id.as_str()).collect();
        // The records have no previous items.
        let mut changes = diff(self.list(), &list);
        mark_cancelled(&mut changes, |id| cancelled.contains(id));
        let next_id = next_id.max(first_free_id(changes.iter().filter_map(|change| change.item.as_ref())));
        self.commit(NextRevision { list, stamp, next_id, known_to_agent }, &changes);
    }

    fn replay_full(&mut self, full: FullRecord) {
        let (list, base) = (unique(full.list), full.base.map(unique));
        self.next_id = full.next_id.max(first_free_id(list.iter().chain(base.iter().flatten())));
        if full.number > self.revisions.last() {
            self.replace_lost(full.number, list, full.timestamp);
        } else if *self.list() != list {
            self.revisions.correct(list);
        }
        self.agent = AgentView { known: full.known, base };
        self.clock = full.clock;
        self.observations.skip_to(full.observations);
    }

    /// Adds one revision instead of the damaged ones up to `number`, so that later ones keep their
    /// numbers.
    fn replace_lost(&mut self, number: u64, list: List, timestamp: Millis) {
        let stamp = Stamp::new(Author::Agent, "lost", timestamp);
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
