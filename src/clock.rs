//! When each item was created, started and completed, and how long it was in progress.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::change::{Change, ChangeKind};
use crate::item::{Item, Status};

/// Milliseconds since the Unix epoch.
pub type Millis = u64;

/// The times of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// When it entered the list.
    pub created: Millis,
    /// When it first was in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Millis>,
    /// When it was last completed; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<Millis>,
    /// Every stretch in progress, from and to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<(Millis, Millis)>,
    /// Since when its time runs: it is in progress, and its agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_since: Option<Millis>,
}

impl Times {
    /// Milliseconds in progress, up to `now`.
    pub fn spent(&self, now: Millis) -> Millis {
        let past = self.intervals.iter().map(|(from, to)| to.saturating_sub(*from));
        let running = self.running_since.map(|since| now.saturating_sub(since));
        past.chain(running).fold(0, Millis::saturating_add)
    }

    fn start(&mut self, now: Millis) {
        self.started.get_or_insert(now);
        self.running_since.get_or_insert(now);
    }

    fn stop(&mut self, now: Millis) {
        if let Some(since) = self.running_since.take()
            && since < now
        {
            self.intervals.push((since, now));
        }
    }
}

/// The times of a thread's items, by id; those of items that are gone too, since undo brings
/// items back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Clock(HashMap<String, Times>);

impl Clock {
    /// The times of one item.
    pub fn get(&self, id: &str) -> Option<&Times> {
        self.0.get(id)
    }

    /// Follows a revision made at `now`.
    pub fn apply(&mut self, changes: &[Change<Arc<Item>>], now: Millis) {
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
                // Gone, and perhaps back some day: when it was done stays true.
                None => {}
            }
        }
    }

    /// Stops the time of all items.
    pub fn pause(&mut self, now: Millis) {
        self.0.values_mut().for_each(|times| times.stop(now));
    }

    /// Starts the time of the items in progress.
    pub fn resume(&mut self, list: &[Arc<Item>], now: Millis) {
        for item in list.iter().filter(|item| item.status == Status::InProgress) {
            self.0.entry(item.id.clone()).or_default().start(now);
        }
    }
}
