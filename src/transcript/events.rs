//! The events that a reader keeps until they are taken.

use std::collections::VecDeque;

use super::{Event, EventKind};
use crate::clock::Millis;

/// The newest events. Of older ones, the last list and the title of each session stay.
#[derive(Debug)]
pub struct Events {
    newest: VecDeque<Event>,
    limit: usize,
    older: Vec<Event>,
}

/// Older events that are kept. A file with more sessions than this is no transcript.
const OLDER: usize = 64;

impl Events {
    /// None yet; `limit` is the number of newest events kept.
    pub fn new(limit: usize) -> Events {
        Events { newest: VecDeque::new(), limit: limit.max(1), older: Vec::new() }
    }

    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.newest.push_back(event);
        if self.newest.len() > self.limit
            && let Some(old) = self.newest.pop_front()
            && old.source.subagent.is_none()
            && matches!(old.kind, EventKind::List(_) | EventKind::Title(_))
        {
            let kind = std::mem::discriminant(&old.kind);
            self.older
                .retain(|other| other.source != old.source || std::mem::discriminant(&other.kind) != kind);
            if self.older.len() < OLDER {
                self.older.push(old);
            }
        }
    }

    /// Gives `time` to the events that have none: they come from lines before the first one with
    /// a time.
    pub fn date(&mut self, time: Millis) {
        for event in self.newest.iter_mut().chain(&mut self.older) {
            event.time.get_or_insert(time);
        }
    }

    /// The events since the last call, oldest first.
    pub fn take(&mut self) -> Vec<Event> {
        let older = std::mem::take(&mut self.older);
        older.into_iter().chain(std::mem::take(&mut self.newest)).collect()
    }
}
