//! Bounded memory of a reader: the events that were not taken yet, and the names seen lately.

use std::collections::{HashSet, VecDeque};

use super::{Event, EventKind, Place};
use crate::events::Millis;
use crate::text::fnv1a;

/// The events that were not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Events {
    waiting: Vec<Event>,
    /// The line that is being read.
    pub place: Option<Place>,
}

impl Events {
    /// Adds an event of the current line.
    pub(super) fn push(&mut self, event: Event) {
        self.push_at(self.place.clone(), event);
    }

    /// Adds an event of another line.
    pub(super) fn push_at(&mut self, place: Option<Place>, event: Event) {
        self.waiting.push(Event { place, ..event });
    }

    /// Adds work. The tokens of a response replace earlier ones that were not taken yet.
    pub(crate) fn push_work(&mut self, event: Event) {
        let wanted = response_of(&event.kind);
        if wanted.is_none() {
            return self.push(event);
        }
        let mut newest = self.waiting.iter_mut().rev().take(NEWEST_USAGE);
        let is_same = |known: &&mut Event| known.source == event.source && response_of(&known.kind) == wanted;
        match newest.find(is_same) {
            Some(known) => (known.kind, known.place) = (event.kind, self.place.clone()),
            None => self.push(event),
        }
    }

    /// Sets the time of the events without one, which precede the first line with a time.
    pub(crate) fn date(&mut self, time: Millis) {
        for event in &mut self.waiting {
            event.time.get_or_insert(time);
        }
    }

    /// The events since the last call, oldest first.
    pub(super) fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.waiting)
    }
}

/// Number of events among which those of an open response are searched.
const NEWEST_USAGE: usize = 256;

/// The name of the response whose tokens an event tells.
fn response_of(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::Usage { response, .. } => Some(response),
        EventKind::OfSubagent { kind, .. } => response_of(kind),
        _ => None,
    }
}

/// Maximum number of names in a part of [`RecentNames`], which fill a table of 65,536 places. Few sessions have
/// as many lines.
const NAMES: usize = 57_344;

/// The newest names of lines and calls, at least [`NAMES`] of them, by their hashes.
#[derive(Debug, Default)]
pub(crate) struct RecentNames {
    newest: HashSet<u64>,
    older: HashSet<u64>,
}

impl RecentNames {
    /// Adds a name of some kind in a session; returns whether it is new.
    pub(super) fn insert(&mut self, session: &str, kind: &str, name: &str) -> bool {
        let hash = fnv1a(format!("{session}\n{kind}\n{name}").as_bytes());
        if self.older.contains(&hash) || !self.newest.insert(hash) {
            return false;
        }
        if self.newest.len() == NAMES {
            self.older = std::mem::take(&mut self.newest);
        }
        true
    }
}

/// Appends to a queue of limited length; returns the element that had to make room.
pub(crate) fn push_bounded<T>(queue: &mut VecDeque<T>, limit: usize, new: T) -> Option<T> {
    let oldest = if queue.len() == limit { queue.pop_front() } else { None };
    queue.push_back(new);
    oldest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_until_many_newer_ones_came() {
        let mut names = RecentNames::default();
        let mut insert = |name: &str| names.insert("session", "line", name);
        assert!(insert("first"));
        assert!((1..NAMES).all(|n| insert(&n.to_string())));
        assert!(!insert("first"));
        assert!((NAMES..2 * NAMES).all(|n| insert(&n.to_string())));
        assert!(insert("first"));
        assert!(names.newest.len() + names.older.len() <= 2 * NAMES);
    }
}
