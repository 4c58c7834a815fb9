//! How a thread is written down.

use std::path::Path;

use super::observing::record_of;
use super::*;
use crate::fault::may_panic_here;
use crate::journal::is_lost;
use crate::observation::{Content, Filter};

impl Thread {
    /// Closes the journal until it is written.
    pub fn rest(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.rest();
        }
    }

    /// Whether the thread is kept anywhere.
    pub fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// The file that this process has open for the thread.
    pub fn open_file(&self) -> Option<&Path> {
        self.journal.as_ref().filter(|journal| journal.is_open()).map(Journal::path)
    }

    /// Whether the thread is kept, now that its journal need not rest any longer. It is not where
    /// another process took the journal over meanwhile, or deleted it.
    pub fn wake(&mut self) -> bool {
        let is_kept = self.journal.as_mut().is_some_and(Journal::wake);
        if !is_kept {
            self.journal = None;
        }
        is_kept
    }

    /// Takes a journal with these records, and writes down what it lacks. Nothing happens where
    /// the history in it is not the beginning of this one; the value tells.
    pub fn attach(&mut self, journal: Journal, records: Vec<Record>, now: Millis) -> bool {
        let (old, _) = Thread::replayed(&self.key, records, 1);
        let last = old.revisions.last();
        if self.revisions.list(last).as_ref() != Some(old.list()) {
            return false;
        }
        self.journal = Some(journal);
        let mut missing = self.after(last, old.observations.next_number());
        missing.push(self.full(now));
        // What cannot be written waits with the records, and the next one says so.
        missing.iter().for_each(|record| drop(self.record(record)));
        true
    }

    /// The records of what came after a revision, and of observations from this number on, in the
    /// order in which they came.
    fn after(&self, revision: u64, observation: u64) -> Vec<Record> {
        let mut records: Vec<(u64, Record)> = Vec::new();
        let mut places: HashMap<u64, u64> = HashMap::new();
        for observed in self.observations.select(&Filter::default()) {
            match &observed.content {
                Content::Revision(made) => drop(places.insert(*made, observed.number)),
                Content::Json(content) if observed.number >= observation => {
                    records.push((observed.number, record_of(&observed, content.clone())));
                }
                _ => {}
            }
        }
        for made in self.revisions.iter().filter(|made| made.number > revision) {
            let record = Record::Revision {
                number: made.number,
                stamp: made.stamp.clone(),
                changes: made.changes.iter().cloned().map(without_previous).collect(),
                next_id: self.next_id,
                known: if made.stamp.author == Author::Agent { made.number } else { 0 },
            };
            records.push((places.get(&made.number).copied().unwrap_or(0), record));
        }
        records.sort_by_key(|(place, _)| *place);
        records.into_iter().map(|(_, record)| record).collect()
    }

    /// Writes a record, and then does what it says. Only a panic leaves the two apart; see
    /// [`Thread::settle`].
    pub(super) fn record_then(
        &mut self,
        record: &Record,
        commit: impl FnOnce(&mut Thread),
    ) -> Option<String> {
        may_panic_here();
        self.unsettled = true;
        let notice = self.record(record);
        may_panic_here();
        commit(self);
        may_panic_here();
        self.unsettled = false;
        notice
    }

    /// After a panic in between, goes by the journal: it may have what the thread lacks.
    pub fn settle(&mut self) {
        let is_behind = std::mem::take(&mut self.unsettled);
        let journal = self.journal.as_mut().filter(|_| is_behind);
        if let Some(records) = journal.and_then(|journal| journal.records().ok()) {
            let (thread, _) = Thread::replayed(&self.key, records, self.history_limit);
            let stale = std::mem::replace(self, thread);
            (self.journal, self.stream, self.warned) = (stale.journal, stale.stream, stale.warned);
        }
    }

    /// Writes a record; what goes wrong is said once and never stops the thread.
    pub(super) fn record(&mut self, record: &Record) -> Option<String> {
        let journal = self.journal.as_mut()?;
        match journal.append(record) {
            Ok(()) => {
                self.warned = false;
                None
            }
            Err(_) if self.warned => None,
            Err(error) => {
                let file = journal.path().display().to_string();
                if is_lost(&error) {
                    // The store finds the thread another one, which begins with everything.
                    self.journal = None;
                } else {
                    self.warned = true;
                }
                Some(format!("the journal {file} cannot be written ({error}); the list goes on in memory"))
            }
        }
    }

    pub(super) fn record_full(&mut self, timestamp: Millis) -> Option<String> {
        if !self.journal.as_ref().is_some_and(|journal| journal.wants_full() && !journal.is_behind()) {
            return None;
        }
        self.record(&self.full(timestamp))
    }

    fn full(&self, timestamp: Millis) -> Record {
        Record::Full {
            number: self.revisions.last(),
            timestamp,
            list: self.list().clone(),
            base: self.base.clone(),
            next_id: self.next_id,
            known: self.known,
            clock: self.clock.clone(),
            observations: self.observations.next_number(),
        }
    }
}
