//! Bounded memory of a reader: the events that were not taken yet, the names seen lately, the calls without results,
//! and the goal.

use std::collections::{HashSet, VecDeque};

use todo_write::events::policy::{Hidden, Policy};
use todo_write::events::session::{Goal, GoalState};
use todo_write::events::{Millis, push_bounded};
use todo_write::text::{excerpt, fnv1a};
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::event::{Effect, Event, EventKind, Place};

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
    pub(crate) fn push(&mut self, event: Event) {
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
    pub(crate) fn insert(&mut self, session: &str, kind: &str, name: &str) -> bool {
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

/// Maximum number of characters of an id or a name.
const NAME: usize = 200;

/// A call without a result.
#[derive(Debug)]
pub(crate) struct PendingCall<E> {
    pub id: String,
    pub name: String,
    excluded: Option<String>,
    pub time: Option<Millis>,
    /// What the call does if it is accepted.
    pub effect: E,
}

/// The newest calls without a result.
pub(crate) type PendingCalls<E> = VecDeque<PendingCall<E>>;

impl<E> PendingCall<E> {
    /// Adds a call to `pending`; returns its event. Lists have an event of their own, so they pass no `input`.
    /// `hidden` says what is not recorded of the call; then `input` may be dropped.
    pub(crate) fn begin(
        pending: &mut PendingCalls<E>,
        (id, name): (&str, &str),
        (input, hidden): (Option<String>, Option<Hidden>),
        time: Option<Millis>,
        effect: E,
    ) -> EventKind {
        let (id, name) = (excerpt(id, NAME), excerpt(name, NAME));
        let input = input.filter(|_| hidden.as_ref().is_none_or(|hidden| hidden.keeps_input));
        let excluded = hidden.and_then(|hidden| hidden.name);
        let call =
            PendingCall { id: id.clone(), name: name.clone(), excluded: excluded.clone(), time, effect };
        push_recent(pending, call);
        EventKind::Call { id, name, input, excluded }
    }

    /// Removes the call with this id.
    pub(crate) fn end(pending: &mut PendingCalls<E>, id: &str) -> Option<PendingCall<E>> {
        let id = excerpt(id, NAME);
        pending.remove(pending.iter().rposition(|call| call.id == id)?)
    }
}

/// The event of a result at `time`; the call may be unknown.
pub(crate) fn result<E>(
    call: Option<&PendingCall<E>>,
    id: &str,
    content: String,
    is_error: bool,
    time: Option<Millis>,
    effect: Effect,
) -> EventKind {
    let name = call.map(|call| call.name.clone()).unwrap_or_default();
    let duration = time.zip(call.and_then(|call| call.time)).map(|(end, start)| end.saturating_sub(start));
    let excluded = call.and_then(|call| call.excluded.clone());
    EventKind::Result { id: excerpt(id, NAME), name, content, excluded, is_error, duration, effect }
}

/// The goal, and whether the end of a turn is held back.
#[derive(Debug, Default)]
pub(crate) struct Goals {
    pub(crate) goal: Option<Goal>,
    is_end_held: bool,
}

impl Goals {
    /// Sets the goal. Returns it if that is news, and the end of the turn if that was held back until now.
    pub(crate) fn set(&mut self, goal: Goal, end: EventKind) -> impl Iterator<Item = EventKind> + use<> {
        let is_due = !goal.is_active() && std::mem::take(&mut self.is_end_held);
        let is_new = self.goal.replace(goal.clone()).as_ref() != Some(&goal);
        is_new.then_some(EventKind::Goal(goal)).into_iter().chain(is_due.then_some(end))
    }

    /// The goal in another state, if there is one.
    pub(crate) fn with_state(&self, state: GoalState) -> Option<Goal> {
        Some(Goal { state, reason: None, ..self.goal.clone()? })
    }

    /// Whether the end of a turn is not the agent's: it goes on until the goal is met.
    pub(crate) fn hold_end(&mut self) -> bool {
        self.is_end_held = self.goal.as_ref().is_some_and(Goal::is_active);
        self.is_end_held
    }

    /// Notes that a turn goes on, or ended otherwise.
    pub(crate) fn forget_end(&mut self) {
        self.is_end_held = false;
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
