//! Saving a thread to its journal.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::Thread;
use crate::clock::Millis;
use crate::fault::may_panic_here;
use crate::journal::{FullRecord, Journal, Record, is_lost};
use crate::observation::{Content, Filter};
use crate::revision::Author;

/// The journal of a thread, and how far it can be relied on.
#[derive(Debug, Default)]
pub(super) struct Saving {
    journal: Option<Journal>,
    /// The user was told that the journal cannot be written.
    is_warned: bool,
    /// Set from the writing of a record until its commit; see [`Thread::recover`].
    is_half_made: bool,
}

impl Saving {
    pub fn to(journal: Option<Journal>) -> Saving {
        Saving { journal, ..Saving::default() }
    }

    /// Writes a record. A failure is reported once and never stops the thread.
    fn record(&mut self, record: &Record) -> Option<String> {
        let journal = self.journal.as_mut()?;
        match journal.append(record) {
            Ok(()) => {
                self.is_warned = false;
                None
            }
            Err(_) if self.is_warned => None,
            Err(error) => {
                let file = journal.path().display().to_string();
                if is_lost(&error) {
                    // The store opens another journal, which begins with the whole history.
                    self.journal = None;
                } else {
                    self.is_warned = true;
                }
                Some(format!("the journal {file} cannot be written ({error}); the list goes on in memory"))
            }
        }
    }
}

impl Thread {
    /// Closes the journal until it is written.
    pub fn close_journal(&mut self) {
        if let Some(journal) = &mut self.saving.journal {
            journal.close();
        }
    }

    /// Whether the thread has a journal.
    pub fn has_journal(&self) -> bool {
        self.saving.journal.is_some()
    }

    /// The file that this process has open for the thread.
    pub fn open_file(&self) -> Option<&Path> {
        self.saving.journal.as_ref().filter(|journal| journal.is_open()).map(Journal::path)
    }

    /// Opens the journal again if it rested. Returns false where the thread has no journal, or no
    /// longer one: another process opened or deleted it.
    pub fn reopen_journal(&mut self) -> bool {
        let has_journal = self.saving.journal.as_mut().is_some_and(Journal::reopen);
        if !has_journal {
            self.saving.journal = None;
        }
        has_journal
    }

    /// Takes over a journal with these records, and writes what it lacks. Returns false, and does
    /// nothing, where the history in it is not the beginning of this one.
    pub fn attach(&mut self, journal: Journal, records: Vec<Record>, now: Millis) -> bool {
        let (old, _) = Thread::replayed(&self.key, records, 1);
        let last = old.revisions.last();
        if self.revisions.list(last).as_ref() != Some(old.list()) {
            return false;
        }
        self.saving.journal = Some(journal);
        let mut missing = self.records_after(last, old.observations().next_number());
        missing.push(self.full(now));
        missing.push(self.progress.record(now));
        // A record that cannot be written waits in the journal; the next write reports it.
        missing.iter().for_each(|record| drop(self.saving.record(record)));
        true
    }

    /// The records of all revisions after this one, and of all observations from this number on,
    /// in the order in which they were made.
    fn records_after(&self, revision: u64, observation: u64) -> Vec<Record> {
        let mut records: Vec<(u64, Record)> = Vec::new();
        let mut places: HashMap<u64, u64> = HashMap::new();
        for observed in self.observations().select(&Filter::default()) {
            match &observed.content {
                Content::Revision(made) => drop(places.insert(*made, observed.number)),
                Content::Json(_) if observed.number >= observation => {
                    records.push((observed.number, Record::Observation(Arc::clone(&observed))));
                }
                _ => {}
            }
        }
        for made in self.revisions.iter().filter(|made| made.number > revision) {
            let known = if made.stamp.author == Author::Agent { made.number } else { 0 };
            let record = Record::revision(made.number, &made.stamp, &made.changes, self.next_id, known);
            records.push((places.get(&made.number).copied().unwrap_or(0), record));
        }
        records.sort_by_key(|(place, _)| *place);
        records.into_iter().map(|(_, record)| record).collect()
    }

    /// Writes a record, and then commits what it says. Only a panic can part the two; see
    /// [`Thread::recover`].
    pub(super) fn record_then(
        &mut self,
        record: &Record,
        commit: impl FnOnce(&mut Thread),
    ) -> Option<String> {
        self.saving.is_half_made = true;
        let notice = self.saving.record(record);
        may_panic_here();
        commit(self);
        may_panic_here();
        self.saving.is_half_made = false;
        notice
    }

    /// Replays the journal if a panic came between a record and its commit: the journal may have
    /// what the thread lacks.
    pub fn recover(&mut self) {
        if !std::mem::take(&mut self.saving.is_half_made) {
            return;
        }
        let records = self.saving.journal.as_mut().and_then(|journal| journal.records().ok());
        if let Some(records) = records {
            let (thread, _) = Thread::replayed(&self.key, records, self.observations.limit());
            let stale = std::mem::replace(self, thread);
            (self.saving, self.streaming) = (stale.saving, stale.streaming);
        }
    }

    /// Writes a record that changes nothing but the journal.
    pub(super) fn record(&mut self, record: &Record) -> Option<String> {
        self.saving.record(record)
    }

    pub(super) fn record_full_if_due(&mut self, timestamp: Millis) -> Option<String> {
        let is_due = |journal: &Journal| journal.wants_full() && !journal.is_behind();
        if !self.saving.journal.as_ref().is_some_and(is_due) {
            return None;
        }
        let full = self.full(timestamp);
        self.saving.record(&full)
    }

    fn full(&self, timestamp: Millis) -> Record {
        Record::Full(FullRecord {
            number: self.revisions.last(),
            timestamp,
            list: self.list().clone(),
            base: self.agent.base.clone(),
            next_id: self.next_id,
            known: self.agent.known,
            clock: self.clock.clone(),
            observations: self.observations().next_number(),
        })
    }
}
