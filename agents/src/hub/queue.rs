//! The messages that were not taken yet, in two lanes, each first in, first out.
//!
//! One lane has what happened at the sockets of machines, so that a call waits for no history. All else that is
//! read is in the other one, where a fact of a process stays behind the events that its root read before.
//! A full lane makes those wait who fill it; each of them is a thread for which nothing else waits.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::bounds::IN_FLIGHT;
use super::door;
use super::lines::size;
use todo_write::wire::program::Message;

/// Called when something is put into an empty lane. It must return at once.
pub type Bell = Box<dyn FnMut() + Send>;

#[derive(Debug)]
struct Lane<T> {
    entries: VecDeque<(T, usize)>,
    bytes: usize,
}

impl<T> Lane<T> {
    fn new() -> Lane<T> {
        Lane { entries: VecDeque::new(), bytes: 0 }
    }

    /// Returns whether it was empty.
    fn push(&mut self, entry: T, bytes: usize) -> bool {
        self.bytes += bytes;
        self.entries.push_back((entry, bytes));
        self.entries.len() == 1
    }

    fn pop(&mut self) -> Option<T> {
        let (entry, bytes) = self.entries.pop_front()?;
        self.bytes -= bytes;
        Some(entry)
    }
}

struct Lanes {
    calls: Lane<(String, door::Event)>,
    read: Lane<Message>,
    /// None once the hub is closed.
    bell: Option<Bell>,
}

impl Lanes {
    fn ring(&mut self) {
        if let Some(bell) = &mut self.bell {
            bell();
        }
    }
}

pub(super) struct Queue {
    lanes: Mutex<Lanes>,
    /// Something was taken.
    room: Condvar,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl Queue {
    pub(super) fn new(bell: Bell) -> Queue {
        let lanes = Lanes { calls: Lane::new(), read: Lane::new(), bell: Some(bell) };
        Queue { lanes: Mutex::new(lanes), room: Condvar::new() }
    }

    /// A poisoned lock is safe: nothing that may panic runs while it is held but the bell.
    fn lock(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, is_full: impl Fn(&Lanes) -> bool) -> bool {
        let is_full = |lanes: &mut Lanes| lanes.bell.is_some() && is_full(lanes);
        let lanes = self.room.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        lanes.bell.is_some()
    }

    /// Waits for room for what is read; returns false if the hub is closed.
    pub(super) fn wait_for_room(&self) -> bool {
        self.wait(|lanes| lanes.read.bytes >= IN_FLIGHT)
    }

    /// Waits for room for calls; returns false if the hub is closed.
    pub(super) fn wait_for_room_of_calls(&self) -> bool {
        self.wait(|lanes| lanes.calls.bytes >= IN_FLIGHT)
    }

    /// Adds a message without waiting. Who sends many waits for room before.
    pub(super) fn push(&self, message: Message) {
        let bytes = size(&message);
        self.push_sized(message, bytes);
    }

    /// Adds a message that has about that size.
    pub(super) fn push_sized(&self, message: Message, bytes: usize) {
        let mut lanes = self.lock();
        if lanes.read.push(message, bytes) {
            lanes.ring();
        }
    }

    /// Adds what happened at the socket of a machine.
    pub(super) fn push_call(&self, machine: String, event: door::Event, bytes: usize) {
        let mut lanes = self.lock();
        if lanes.calls.push((machine, event), bytes) {
            lanes.ring();
        }
    }

    /// The next message but calls.
    pub(super) fn take(&self) -> Option<Message> {
        let message = self.lock().read.pop();
        self.room.notify_all();
        message
    }

    /// What happened next at the socket of a machine.
    pub(super) fn take_call(&self) -> Option<(String, door::Event)> {
        let call = self.lock().calls.pop();
        self.room.notify_all();
        call
    }

    pub(super) fn bytes(&self) -> usize {
        let lanes = self.lock();
        lanes.calls.bytes + lanes.read.bytes
    }

    pub(super) fn ring(&self) {
        self.lock().ring();
    }

    /// Ends all waits.
    pub(super) fn close(&self) {
        self.lock().bell = None;
        self.room.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_message_in_an_empty_lane_rings() {
        let rings = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&rings);
        let queue = Queue::new(Box::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        let rung = || rings.swap(0, Ordering::Relaxed);
        queue.push(Message::Silent(1));
        queue.push(Message::Silent(2));
        assert_eq!(rung(), 1);
        queue.push_call("build".into(), door::Event::Closed(1), 9);
        assert_eq!(rung(), 1, "calls are taken before the rest");
        while queue.take().is_some() {}
        queue.push(Message::Silent(1));
        assert_eq!(rung(), 1);
        queue.close();
        while queue.take().is_some() {}
        queue.push(Message::Silent(1));
        assert_eq!(rung(), 0);
    }

    #[test]
    fn a_full_lane_leaves_room_in_the_other() {
        let queue = Queue::new(Box::new(|| {}));
        queue.push_call("build".into(), door::Event::Closed(1), IN_FLIGHT);
        assert!(queue.wait_for_room());
        queue.push_sized(Message::Silent(1), IN_FLIGHT);
        assert!(queue.take_call().is_some() && queue.wait_for_room_of_calls());
        assert!(queue.take().is_some() && queue.wait_for_room());
        assert_eq!(queue.bytes(), 0);
    }
}
