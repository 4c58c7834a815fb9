//! Bounded memory of a reader: the events that were not taken yet, and the names seen lately.

use std::collections::{HashSet, VecDeque};

use todo_write::events::Millis;
use todo_write::events::policy::Policy;
use todo_write::events::push_bounded;
use todo_write::text::fnv1a;
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::event::{Event, EventKind, Place};

/// Appends to a table of a reader; returns the oldest element if that had to make room.
pub(crate) fn push_recent<T>(table: &mut VecDeque<T>, new: T) -> Option<T> {
    push_bounded(table, ENTRIES, new)
}

/// The events that were not taken yet, and what reading a line depends on beside the line.
#[derive(Debug, Default)]
pub(crate) struct Events {
    waiting: Vec<Event>,
    /// What may be recorded.
    pub policy: Policy,
    /// The number of lines that could not be read in full.
    pub unreadable: u64,
    /// The line that is being read; `None` while no line tells the events.
    pub place: Option<Place>,
}

impl Events {
    /// Adds an event of the current line. It stays behind the events of earlier lines, since the position of
    /// a batch is the end of its last line.
    pub(super) fn push(&mut self, event: Event) {
        self.waiting.push(Event { place: self.place.clone(), ..event });
    }

    /// Sets the time of the events without one, which precede the first line with a time.
    pub(crate) fn date(&mut self, time: Millis) {
        for event in &mut self.waiting {
            event.time.get_or_insert(time);
        }
    }

    /// The events since the last call, oldest first.
    pub(crate) fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.waiting)
    }
}

/// Maximum number of events before a subagent's first list.
const HELD: usize = 200;

/// The events of a subagent before its first list, which few subagents have.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub has_list: bool,
    pub events: VecDeque<Event>,
}

impl Held {
    /// Passes on an event if there is a list; otherwise holds it until then.
    pub(crate) fn pass(&mut self, event: Event, events: &mut Events) {
        if event.has_list() && !std::mem::replace(&mut self.has_list, true) {
            if let Some(call) = &event.source.call {
                let kind = EventKind::Title(call.description.clone());
                events.push(Event { uuid: String::new(), kind, ..event.clone() });
            }
            self.events.drain(..).for_each(|held| events.push(held));
        }
        if self.has_list {
            events.push(event);
        } else {
            push_bounded(&mut self.events, HELD, event);
        }
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
