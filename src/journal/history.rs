//! What is recorded of a thread, in memory and on disk, for reading on any thread of the process.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::folder::{self, Journals};
use super::percent::Percent;
use super::search::{Query, Search};
use crate::error::Error;
use crate::events::Millis;
use crate::events::observation::Observation;
use crate::events::work::{Part, belongs};
use crate::list::item::List;
use crate::thread::Thread;
use crate::thread::record::Record;

/// What is recorded of a thread.
#[derive(Debug)]
pub(crate) struct History {
    key: String,
    folder: Option<PathBuf>,
    /// Its own journal, if it is in memory.
    own: Option<PathBuf>,
    /// The list, and the time of the newest record, of a thread in memory.
    list: Option<(List, Millis)>,
    /// The observations in memory, and the number of the first.
    kept: Vec<Arc<Observation>>,
    first: u64,
    /// The title of the agent's session, as far as it is known without the records.
    pub(super) title: Option<String>,
}

impl History {
    /// What is recorded of the thread `key`, which may be in `memory` and was `seen` as such.
    pub(super) fn new(
        key: &str,
        folder: Option<PathBuf>,
        own: Option<PathBuf>,
        memory: Option<&Thread>,
        seen: Option<&Thread>,
    ) -> History {
        History {
            key: key.to_owned(),
            folder,
            own,
            list: memory.map(|thread| (thread.list().clone(), thread.last_time())),
            kept: seen.map_or_else(Vec::new, |thread| thread.observations().reported().cloned().collect()),
            first: seen.map_or(0, |thread| thread.observations().first_kept()),
            title: seen.and_then(Thread::title).map(str::to_owned),
        }
    }

    /// What is recorded of a thread that is not in memory.
    pub(super) fn on_disk(key: &str, folder: Option<PathBuf>) -> History {
        History::new(key, folder, None, None, None)
    }

    /// The key of the thread.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The records on disk: in its own journal if it is in memory, else in the newest.
    fn records(&self) -> Result<Vec<Record>, Error> {
        match (&self.own, &self.folder) {
            (Some(file), _) => folder::read_file(file, &Percent::default()),
            (None, Some(folder)) => Journals::of(folder, &self.key).read_newest(&Percent::default()),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// The observations of work in a part of the thread, oldest first: those in memory, and before them
    /// those that only the journal still has. They were recorded, or sent out, with one of `numbers`.
    ///
    /// # Errors
    /// [`Error::Journal`] if the journal cannot be read.
    pub(crate) fn work(&self, part: Part<'_>, numbers: Range<u64>) -> Result<Vec<Arc<Observation>>, Error> {
        let records = if self.first > 1 { self.records()? } else { Vec::new() };
        let saved = records.into_iter().filter_map(|record| match record {
            Record::Observation(observation) if observation.number < self.first => Some(observation),
            _ => None,
        });
        let all = saved.chain(self.kept.iter().cloned());
        let is_of = |one: &Arc<Observation>| {
            belongs(one, part) && numbers.contains(&one.payload.metadata.of_call.unwrap_or(one.number))
        };
        Ok(all.filter(is_of).collect())
    }

    /// Searches the records; those in memory if none are on disk.
    ///
    /// # Errors
    /// [`Error::Journal`] if the journal cannot be read.
    pub(crate) fn search(&self, query: Query) -> Result<Search, Error> {
        let mut search = Search::new(query);
        let records = self.records()?;
        records.iter().for_each(|record| search.add_record(record));
        if let (true, Some((list, time))) = (records.is_empty(), &self.list) {
            list.iter().for_each(|item| search.add_item(item, *time));
            self.kept.iter().for_each(|one| search.add_observation(one));
        }
        Ok(search)
    }
}
