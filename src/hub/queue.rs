//! The messages that were not taken yet, in two lanes.

use std::collections::{HashMap, VecDeque};

use super::{Bell, Message, Piece, SessionId, door};
use crate::agents::{Event, EventKind};

/// The weight in bytes from which on readers wait.
const MOST_QUEUED: usize = 1024 * 1024;
/// What a message weighs besides its texts.
const BASE: usize = 256;

/// States and live lines go first; the history of sessions that begin follows.
pub(super) struct Queue {
    first: VecDeque<Message>,
    history: VecDeque<Message>,
    /// The number of messages of each session in `history`: later ones must follow them.
    behind: HashMap<SessionId, usize>,
    /// The messages of sessions that are held, in order, and whether each is history.
    held: HashMap<SessionId, Vec<(Message, bool)>>,
    weight: usize,
    bell: Option<Bell>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("first", &self.first).field("history", &self.history).finish()
    }
}

impl Queue {
    pub(super) fn new(bell: Bell) -> Queue {
        Queue {
            first: VecDeque::new(),
            history: VecDeque::new(),
            behind: HashMap::new(),
            held: HashMap::new(),
            weight: 0,
            bell: Some(bell),
        }
    }

    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    pub(super) fn is_full(&self) -> bool {
        self.weight >= MOST_QUEUED
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.history.is_empty()
    }

    /// Adds a message. A state replaces an older one that was not taken.
    pub(super) fn push(&mut self, message: Message, is_history: bool) {
        let was_empty = self.is_empty();
        let is_call = matches!(message, Message::DoorThere(..));
        self.drop_where(|old| is_replaced(old, &message));
        self.weight += weight(&message);
        if let Some(held) = message.session().and_then(|id| self.held.get_mut(&id)) {
            return held.push((message, is_history));
        }
        match message.session() {
            Some(id) if is_history || self.behind.contains_key(&id) => {
                *self.behind.entry(id).or_default() += 1;
                self.history.push_back(message);
            }
            _ => self.first.push_back(message),
        }
        // While something else is handled, calls may be taken before the rest.
        if was_empty || is_call {
            self.ring();
        }
    }

    pub(super) fn take(&mut self) -> Option<Message> {
        let message = self.first.pop_front().or_else(|| {
            let message = self.history.pop_front()?;
            if let Some(id) = message.session()
                && let Some(count) = self.behind.get_mut(&id)
            {
                *count -= 1;
                if *count == 0 {
                    self.behind.remove(&id);
                }
            }
            Some(message)
        })?;
        self.weight = self.weight.saturating_sub(weight(&message));
        Some(message)
    }

    /// Keeps the messages of a session, present and later ones, until [`Queue::release`].
    pub(super) fn hold(&mut self, id: SessionId) {
        if self.held.contains_key(&id) {
            return;
        }
        let mut held = Vec::new();
        for (lane, is_history) in [(&mut self.first, false), (&mut self.history, true)] {
            for message in std::mem::take(lane) {
                if message.session() == Some(id) {
                    held.push((message, is_history));
                } else {
                    lane.push_back(message);
                }
            }
        }
        self.behind.remove(&id);
        self.held.insert(id, held);
    }

    /// Lets the messages of a session be taken again.
    pub(super) fn release(&mut self, id: SessionId) {
        for (message, is_history) in self.held.remove(&id).into_iter().flatten() {
            self.weight = self.weight.saturating_sub(weight(&message));
            self.push(message, is_history);
        }
    }

    /// What happened next at the socket of a machine.
    pub(super) fn take_there(&mut self) -> Option<(String, door::Event)> {
        let place = self.first.iter().position(|message| matches!(message, Message::DoorThere(..)))?;
        let message = self.first.remove(place)?;
        self.weight = self.weight.saturating_sub(weight(&message));
        if let Message::DoorThere(machine, event) = message { Some((machine, event)) } else { None }
    }

    pub(super) fn drop_session(&mut self, id: SessionId) {
        self.release(id);
        self.drop_where(|message| message.session() == Some(id));
        self.behind.remove(&id);
    }

    pub(super) fn drop_found(&mut self) {
        self.drop_where(|message| matches!(message, Message::Found(..)));
    }

    fn drop_where(&mut self, is_dropped: impl Fn(&Message) -> bool) {
        let mut dropped = 0;
        for lane in [&mut self.first, &mut self.history] {
            lane.retain(|message| {
                let is_kept = !is_dropped(message);
                dropped += if is_kept { 0 } else { weight(message) };
                is_kept
            });
        }
        self.weight = self.weight.saturating_sub(dropped);
    }

    pub(super) fn ring_again(&mut self) {
        if !self.is_empty() {
            self.ring();
        }
    }

    pub(super) fn ring(&mut self) {
        if let Some(bell) = &mut self.bell {
            bell();
        }
    }

    pub(super) fn close(&mut self) {
        self.bell = None;
    }
}

fn is_replaced(old: &Message, new: &Message) -> bool {
    match (old, new) {
        (Message::Processes { home: old, .. }, Message::Processes { home: new, .. }) => old == new,
        (Message::Found(..), Message::Found(..)) | (Message::Homes(_), Message::Homes(_)) => true,
        _ => false,
    }
}

fn weight(message: &Message) -> usize {
    match message {
        Message::Events(_, Piece { events, .. }) => BASE + events.iter().map(event_weight).sum::<usize>(),
        _ => BASE,
    }
}

/// About how many bytes an event takes.
pub(super) fn event_weight(event: &Event) -> usize {
    BASE + kind_weight(&event.kind)
}

fn kind_weight(kind: &EventKind) -> usize {
    match kind {
        EventKind::Title(text)
        | EventKind::Prompt(text)
        | EventKind::Thoughts(text)
        | EventKind::Message(text) => text.len(),
        EventKind::Call { input, .. } => input.as_ref().map_or(0, String::len),
        EventKind::Result { content, effect, .. } => {
            content.len() + effect.files.iter().map(|file| file.path.len() + file.hunks.len()).sum::<usize>()
        }
        EventKind::OfSubagent { kind, .. } => kind_weight(kind),
        EventKind::List(Ok(plan)) | EventKind::EmacsCall { list: Some(Ok(plan)), .. } => {
            plan.drafts.len() * BASE
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_session_that_is_held_wait_in_order_while_others_pass() {
        let mut queue = Queue::new(Box::new(|| {}));
        queue.push(Message::Silent(1), true);
        queue.push(Message::Failed(2), false);
        queue.hold(1);
        queue.push(Message::Failed(1), false);
        queue.push(Message::Silent(2), false);
        let taken = |queue: &mut Queue| -> Vec<(bool, SessionId)> {
            let all = std::iter::from_fn(|| queue.take());
            all.filter_map(|message| Some((matches!(message, Message::Silent(_)), message.session()?)))
                .collect()
        };
        assert_eq!(taken(&mut queue), [(false, 2), (true, 2)]);
        assert!(queue.weight() > 0 && queue.is_empty());
        queue.release(1);
        assert_eq!(taken(&mut queue), [(true, 1), (false, 1)]);
        queue.hold(1);
        queue.push(Message::Failed(1), false);
        queue.drop_session(1);
        queue.push(Message::Failed(1), false);
        assert_eq!(taken(&mut queue), [(false, 1)]);
        assert_eq!(queue.weight(), 0);
    }

    #[test]
    fn what_is_dropped_weighs_nothing() {
        let mut queue = Queue::new(Box::new(|| {}));
        for _ in 0..3 {
            queue.push(Message::Found(Vec::new(), Vec::new()), false);
            queue.push(Message::Failed(1), false);
            queue.drop_found();
            queue.drop_session(1);
        }
        assert_eq!(queue.weight(), 0);
    }
}
