//! The messages that were not taken yet, in two lanes, each first in, first out.
//!
//! One lane has what happened at sockets, so that a call waits for no history. All else is in the other one, where a
//! fact of a process stays behind the events that its root read before. A full lane makes those wait who fill it;
//! each of them is a thread for which nothing else waits.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::lines::size;
use crate::threads::lock;
use todo_write::wire::bounds::CALL;
use todo_write::wire::program::Message;

#[derive(Debug, Default)]
struct Lane {
    entries: VecDeque<(Message, usize)>,
    bytes: usize,
}

impl Lane {
    fn pop(&mut self) -> Option<Message> {
        let (message, bytes) = self.entries.pop_front()?;
        self.bytes -= bytes;
        Some(message)
    }
}

#[derive(Debug, Default)]
struct Lanes {
    calls: Lane,
    read: Lane,
    is_closed: bool,
}

impl Lanes {
    fn of(&mut self, message: &Message) -> &mut Lane {
        match message {
            Message::Door(_) | Message::DoorThere(..) => &mut self.calls,
            _ => &mut self.read,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    lanes: Mutex<Lanes>,
    /// Something was added, or taken.
    changed: Condvar,
}

impl Queue {
    /// Waits for room for such a message; returns false if the hub is closed.
    pub(super) fn wait_for_room(&self, message: &Message) -> bool {
        let is_full = |lanes: &mut Lanes| !lanes.is_closed && lanes.of(message).bytes >= CALL;
        let lanes =
            self.changed.wait_while(lock(&self.lanes), is_full).unwrap_or_else(PoisonError::into_inner);
        !lanes.is_closed
    }

    /// Adds a message without waiting. Who sends many waits for room before.
    pub(super) fn push(&self, message: Message) {
        let bytes = size(&message);
        let mut lanes = lock(&self.lanes);
        let lane = lanes.of(&message);
        lane.bytes += bytes;
        lane.entries.push_back((message, bytes));
        self.changed.notify_all();
    }

    /// The next message, for which this waits so long at most; `None` at once if the hub is closed.
    pub(super) fn take(&self, time: Duration) -> Option<Message> {
        let is_empty = |lanes: &mut Lanes| {
            !lanes.is_closed && lanes.calls.entries.is_empty() && lanes.read.entries.is_empty()
        };
        let waited = self.changed.wait_timeout_while(lock(&self.lanes), time, is_empty);
        let mut lanes = waited.unwrap_or_else(PoisonError::into_inner).0;
        if lanes.is_closed {
            return None;
        }
        let message = lanes.calls.pop().or_else(|| lanes.read.pop());
        self.changed.notify_all();
        message
    }

    pub(super) fn bytes(&self) -> usize {
        let lanes = lock(&self.lanes);
        lanes.calls.bytes + lanes.read.bytes
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.lanes).is_closed
    }

    /// Ends all waits.
    pub(super) fn close(&self) {
        lock(&self.lanes).is_closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use todo_write::wire::program::DoorEvent;

    #[test]
    fn a_full_lane_leaves_room_in_the_other_and_calls_come_first() {
        let queue = Queue::default();
        let call = || Message::DoorThere("x".repeat(CALL), DoorEvent::Closed(1));
        queue.push(Message::Unreadable(1, "x".repeat(CALL)));
        assert!(queue.wait_for_room(&call()));
        queue.push(call());
        assert!(matches!(queue.take(Duration::ZERO), Some(Message::DoorThere(..))));
        assert!(queue.wait_for_room(&call()));
        assert!(queue.take(Duration::ZERO).is_some() && queue.wait_for_room(&Message::failed(1)));
        assert_eq!((queue.bytes(), queue.take(Duration::ZERO).is_none()), (0, true));
    }
}
