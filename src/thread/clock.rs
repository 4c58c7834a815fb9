//! The times of items: created, started, completed, and the time in progress.
//!
//! All times are milliseconds since the Unix epoch, as the thread's records have them. No call fails: a time
//! that is earlier than the one before, as after the clock of the machine was set back, adds no interval.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::events::Millis;
use crate::list::change::{Change, ChangeKind};
use crate::list::item::{Item, Status};
use crate::named::is_default;

/// The largest number of items that left the list and whose times are known.
const MOST_FORMER: usize = 500;
/// The largest number of intervals of an item. Older ones are only part of the time spent.
const MOST_INTERVALS: usize = 500;

/// The times of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// When it was added to the list.
    pub created: Millis,
    /// When it was first in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Millis>,
    /// When it was completed; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<Millis>,
    /// The newest finished intervals in progress, as `[START, END]`, oldest first. None is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<(Millis, Millis)>,
    /// The sum of the intervals before these.
    #[serde(default, skip_serializing_if = "is_default")]
    earlier: Millis,
    /// The start of the running interval, if it is in progress and its agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_since: Option<Millis>,
    /// When it left the list, if it is not in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<Millis>,
}

impl Times {
    /// The milliseconds in progress until `now`, those of the running interval included. The sum stays
    /// within its type, whatever a damaged journal says.
    pub fn spent(&self, now: Millis) -> Millis {
        let finished = self.intervals.iter().map(|(from, to)| to.saturating_sub(*from));
        let running = self.running_since.map(|since| now.saturating_sub(since));
        finished.chain(running).fold(self.earlier, Millis::saturating_add)
    }

    /// Begins an interval, unless one runs.
    fn start(&mut self, now: Millis) {
        self.started.get_or_insert(now);
        self.running_since.get_or_insert(now);
    }

    /// Ends the running interval, if there is one. It counts only if it is longer than 0.
    fn stop(&mut self, now: Millis) {
        if let Some(since) = self.running_since.take()
            && since < now
        {
            self.intervals.push((since, now));
            let older = self.intervals.len().saturating_sub(MOST_INTERVALS);
            for (from, to) in self.intervals.drain(..older) {
                self.earlier = self.earlier.saturating_add(to.saturating_sub(from));
            }
        }
    }
}

/// The times of a thread's items by id, including those that left the list last, which undo can restore. On disk
/// it is an object with the ids as keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Clock(BTreeMap<String, Times>);

impl Clock {
    /// The times of one item.
    pub fn get(&self, id: &str) -> Option<&Times> {
        self.0.get(id)
    }

    /// Updates the times for a revision made at `now`: an item in progress begins an interval, any other
    /// ends its one; a completed item gets its time of completion once, and an open one has none. Moves
    /// change nothing. Returns whether older items that left the list were forgotten.
    pub fn apply(&mut self, changes: &[Change<Arc<Item>>], now: Millis) -> bool {
        for change in changes {
            if change.kind == ChangeKind::Reordered {
                continue;
            }
            let status = change.item.as_ref().map(|item| item.status);
            let times = self
                .0
                .entry(change.item_id.clone())
                .or_insert_with(|| Times { created: now, ..Times::default() });
            match status {
                Some(Status::InProgress) => times.start(now),
                _ => times.stop(now),
            }
            match status {
                Some(Status::Completed) => drop(times.completed.get_or_insert(now)),
                Some(_) => times.completed = None,
                // A removed item keeps its times, since undo can restore it.
                None => {}
            }
            times.left = status.is_none().then_some(now);
        }
        let former = self.0.iter().filter_map(|(id, times)| Some((times.left?, id)));
        let mut former: Vec<(Millis, &String)> = former.collect();
        former.sort_unstable();
        former.truncate(former.len().saturating_sub(MOST_FORMER));
        let forgotten: Vec<String> = former.into_iter().map(|(_, id)| id.clone()).collect();
        forgotten.iter().for_each(|id| drop(self.0.remove(id)));
        !forgotten.is_empty()
    }

    /// Ends all running intervals, since the agent does not work from `now` on.
    pub fn pause(&mut self, now: Millis) {
        self.0.values_mut().for_each(|times| times.stop(now));
    }

    /// Begins intervals for the items of `list` that are in progress, since the agent works again from `now`
    /// on.
    pub(crate) fn resume(&mut self, list: &[Arc<Item>], now: Millis) {
        for item in list.iter().filter(|item| item.status == Status::InProgress) {
            self.0.entry(item.id.clone()).or_default().start(now);
        }
    }
}
