//! Saving a thread to its journal.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::Thread;
use crate::clock::Millis;
use crate::events::observation::{Content, Filter};
use crate::fault::may_panic_here;
use crate::journal::{FullRecord, Journal, Record, is_lost, without_previous};
use crate::list::item::Author;

/// The journal of a thread, and whether it is up to date.
#[derive(Debug, Default)]
pub(super) struct Saving {
    journal: Option<Journal>,
    /// Whether records could not be written, of which the user was warned.
    is_unsaved: bool,
    /// That warning, until it is taken.
    warning: Option<String>,
    /// Whether a record was written and not committed; see [`Thread::recover`].
    is_half_made: bool,
}

impl Saving {
    pub(super) fn to(journal: Option<Journal>) -> Saving {
        Saving { journal, ..Saving::default() }
    }

    /// Writes a record. A failure is reported once, and the thread goes on in memory.
    fn record(&mut self, record: &Record) {
        let Some(journal) = &mut self.journal else { return };
        match journal.append(record) {
            Ok(()) => self.is_unsaved = false,
            Err(_) if self.is_unsaved => {}
            Err(error) => {
                let file = journal.path().display().to_string();
                if is_lost(&error) {
                    // The store then opens another journal and writes the whole history to it.
                    self.journal = None;
                }
                self.is_unsaved = true;
                self.warning = Some(format!(
                    "the journal {file} cannot be written ({error}); the list goes on in memory"
                ));
            }
        }
    }
}

impl Thread {
    /// Removes and returns the warning that the journal cannot be written.
    pub(crate) fn take_warning(&mut self) -> Option<String> {
        self.saving.warning.take()
    }

    /// Whether the list is kept in memory only because its journal cannot be written.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.saving.is_unsaved
    }

    /// Marks a thread whose journal cannot be opened.
    pub(crate) fn mark_unsaved(&mut self) {
        self.saving.is_unsaved = true;
    }

    /// Tries again to write the records that could not be written.
    pub(crate) fn save(&mut self) {
        if let Some(journal) = &mut self.saving.journal {
            self.saving.is_unsaved = journal.flush().is_err();
        }
    }

    /// Closes the journal until the next write.
    pub(crate) fn close_journal(&mut self) {
        if let Some(journal) = &mut self.saving.journal {
            journal.close();
        }
    }

    /// The length of the journal; 0 without one.
    pub(super) fn journal_bytes(&self) -> u64 {
        self.saving.journal.as_ref().map_or(0, Journal::size)
    }

    /// Whether the thread has a journal.
    pub fn has_journal(&self) -> bool {
        self.saving.journal.is_some()
    }

    /// The journal file.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.saving.journal.as_ref().map(Journal::path)
    }

    /// The journal file that is open.
    pub(crate) fn open_file(&self) -> Option<&Path> {
        self.saving.journal.as_ref().filter(|journal| journal.is_open()).map(Journal::path)
    }

    /// Opens the journal if it is closed. Returns false if the thread has no journal, or lost it to
    /// another process.
    pub(crate) fn reopen_journal(&mut self) -> bool {
        let has_journal = self.saving.journal.as_mut().is_some_and(Journal::reopen);
        if !has_journal {
            self.saving.journal = None;
        }
        has_journal
    }

    /// Continues a journal with these records, and appends the missing ones. Returns false, and does
    /// nothing, if they are not the beginning of this thread's history.
    pub(crate) fn attach(&mut self, journal: Journal, records: Vec<Record>, now: Millis) -> bool {
        let (old, _) = Thread::replayed(&self.key, records, 1);
        let last = old.revisions.last();
        if self.revisions.list(last).as_ref() != Some(old.list()) {
            return false;
        }
        self.saving.journal = Some(journal);
        let mut missing = self.records_after(last, old.observations().next_number());
        missing.push(self.full(now));
        missing.push(Record::State { timestamp: now, activity: self.activity.clone() });
        missing.iter().for_each(|record| self.saving.record(record));
        true
    }

    /// The records of the revisions after `revision` and the observations from `observation` on, in
    /// order of creation.
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
            let record = Record::Revision {
                number: made.number,
                stamp: made.stamp.clone(),
                changes: without_previous(&made.changes()),
                next_id: self.next_id,
                known: if made.stamp.author == Author::Agent { made.number } else { 0 },
                sent: None,
                unanswered: false,
            };
            records.push((places.get(&made.number).copied().unwrap_or(0), record));
        }
        records.sort_by_key(|(place, _)| *place);
        records.into_iter().map(|(_, record)| record).collect()
    }

    /// Writes a record and commits its change. Only a panic can separate the two; see
    /// [`Thread::recover`].
    pub(super) fn record_then(&mut self, record: &Record, commit: impl FnOnce(&mut Thread)) {
        self.saving.is_half_made = true;
        self.saving.record(record);
        may_panic_here();
        commit(self);
        may_panic_here();
        self.saving.is_half_made = false;
    }

    /// Replays the journal if a panic separated a record from its commit.
    pub(crate) fn recover(&mut self) {
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

    pub(super) fn record_full_if_due(&mut self, timestamp: Millis) {
        if self.saving.journal.as_ref().is_some_and(Journal::wants_full) {
            let full = self.full(timestamp);
            self.saving.record(&full);
        }
    }

    fn full(&self, timestamp: Millis) -> Record {
        Record::Full(FullRecord {
            number: self.revisions.last(),
            timestamp,
            list: self.list().clone(),
            base: self.agent.base.clone(),
            unanswered: self.agent.is_unanswered,
            reminded: self.agent.reminded.clone(),
            next_id: self.next_id,
            known: self.agent.known,
            clock: self.clock.clone(),
            observations: self.observations().next_number(),
        })
    }
}
