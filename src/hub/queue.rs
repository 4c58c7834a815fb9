//! The messages that were not taken yet, in two lanes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use super::roots::PACE;
use super::{Bell, Message, Piece, SessionId, door};
use crate::agents::{Event, EventKind};

/// The weight in bytes from which on readers wait.
const MOST_QUEUED: usize = 1024 * 1024;
/// The weight of the messages of a machine from which on those that follow wait. They take no room of
/// what is read here.
const MOST_OF_MACHINE: usize = MOST_QUEUED / 4;
/// What a message weighs besides its texts.
const BASE: usize = 256;

/// A message in the queue.
struct Queued {
    message: Message,
    weight: usize,
    /// The machine that sent it.
    machine: Option<Arc<str>>,
    is_history: bool,
}

/// States and live lines go first; the history of sessions that begin follows. Calls are taken by themselves.
#[derive(Default)]
pub(super) struct Queue {
    /// What happened at the sockets of machines.
    calls: VecDeque<Queued>,
    first: VecDeque<Queued>,
    history: VecDeque<Queued>,
    /// The number of messages of each session in `history`: later ones must follow them.
    behind: HashMap<SessionId, usize>,
    /// The weight of what was read here.
    weight: usize,
    /// The weights of what machines sent.
    of_machines: HashMap<Arc<str>, usize>,
    bell: Option<Bell>,
    /// When the bell is to ring for lines that were read soon after others, and when it rang for lines.
    due: Option<Instant>,
    rang: Option<Instant>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl Queue {
    pub(super) fn new(bell: Bell) -> Queue {
        Queue { bell: Some(bell), ..Queue::default() }
    }

    pub(super) fn weight(&self) -> usize {
        self.weight + self.of_machines.values().sum::<usize>()
    }

    /// Whether what is read here must wait.
    pub(super) fn is_full(&self) -> bool {
        self.weight >= MOST_QUEUED
    }

    /// Whether what a machine sends must wait.
    pub(super) fn is_full_of(&self, machine: &str) -> bool {
        self.of_machines.get(machine).is_some_and(|weight| *weight >= MOST_OF_MACHINE)
    }

    fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.first.is_empty() && self.history.is_empty()
    }

    /// Adds a message. A state replaces an older one that was not taken.
    pub(super) fn push(&mut self, message: Message, is_history: bool) {
        let weight = weight(&message);
        self.add(Queued { message, weight, machine: None, is_history });
    }

    /// Adds a message that a machine sent in a line of that size.
    pub(super) fn push_of(&mut self, machine: &Arc<str>, message: Message, is_history: bool, size: usize) {
        let weight = BASE + size;
        self.add(Queued { message, weight, machine: Some(Arc::clone(machine)), is_history });
    }

    fn add(&mut self, queued: Queued) {
        let was_empty = self.is_empty();
        let is_call = matches!(queued.message, Message::DoorThere(..));
        self.drop_where(|old| is_replaced(old, &queued.message));
        match &queued.machine {
            Some(machine) => *self.of_machines.entry(Arc::clone(machine)).or_default() += queued.weight,
            None => self.weight += queued.weight,
        }
        // Many agents that write at once ring as seldom as one. A machine's hub has its own pace.
        let may_wait =
            matches!(queued.message, Message::Events(..)) && !queued.is_history && queued.machine.is_none();
        let session = queued.message.session();
        match session {
            _ if is_call => self.calls.push_back(queued),
            Some(id) if queued.is_history || self.behind.contains_key(&id) => {
                *self.behind.entry(id).or_default() += 1;
                self.history.push_back(queued);
            }
            _ => self.first.push_back(queued),
        }
        // While something else is handled, calls may be taken before the rest.
        if is_call || (was_empty || self.due.is_some()) && (!may_wait || self.is_full()) {
            self.ring();
        } else if was_empty {
            self.ring_for_lines(Instant::now());
        }
    }

    /// Rings for lines, now or as soon as the pace allows.
    fn ring_for_lines(&mut self, now: Instant) {
        let due = self.rang.map_or(now, |rang| rang + PACE);
        if due > now {
            self.due = Some(due);
        } else {
            self.rang = Some(now);
            self.ring();
        }
    }

    /// Rings if that is due, else returns when it will be.
    pub(super) fn ring_if_due(&mut self, now: Instant) -> Option<Instant> {
        if self.due.take().is_some() && !self.is_empty() {
            self.ring_for_lines(now);
        }
        self.due
    }

    /// The message, which does not count any more.
    fn unweigh(&mut self, queued: Queued) -> Message {
        self.lighten(queued.machine.as_ref(), queued.weight);
        queued.message
    }

    fn lighten(&mut self, machine: Option<&Arc<str>>, weight: usize) {
        let Some(machine) = machine else {
            self.weight = self.weight.saturating_sub(weight);
            return;
        };
        if let Some(known) = self.of_machines.get_mut(machine) {
            *known = known.saturating_sub(weight);
            if *known == 0 {
                self.of_machines.remove(machine);
            }
        }
    }

    /// The next message but calls.
    pub(super) fn take(&mut self) -> Option<Message> {
        let queued = self.first.pop_front().or_else(|| {
            let queued = self.history.pop_front()?;
            if let Some(id) = queued.message.session()
                && let Some(count) = self.behind.get_mut(&id)
            {
                *count -= 1;
                if *count == 0 {
                    self.behind.remove(&id);
                }
            }
            Some(queued)
        })?;
        Some(self.unweigh(queued))
    }

    /// What happened next at the socket of a machine.
    pub(super) fn take_there(&mut self) -> Option<(String, door::Event)> {
        let queued = self.calls.pop_front()?;
        match self.unweigh(queued) {
            Message::DoorThere(machine, event) => Some((machine, event)),
            _ => None,
        }
    }

    pub(super) fn drop_session(&mut self, id: SessionId) {
        self.drop_where(|message| message.session() == Some(id));
        self.behind.remove(&id);
    }

    pub(super) fn drop_found(&mut self) {
        self.drop_where(|message| matches!(message, Message::Found(..)));
    }

    fn drop_where(&mut self, is_dropped: impl Fn(&Message) -> bool) {
        for queued in self.remove_where(is_dropped) {
            self.unweigh(queued);
        }
    }

    fn remove_where(&mut self, is_removed: impl Fn(&Message) -> bool) -> Vec<Queued> {
        let mut all = Vec::new();
        for lane in [&mut self.first, &mut self.history] {
            let (removed, kept): (Vec<_>, Vec<_>) =
                lane.drain(..).partition(|queued| is_removed(&queued.message));
            lane.extend(kept);
            all.extend(removed);
        }
        all
    }

    pub(super) fn ring_again(&mut self) {
        if !self.is_empty() && self.due.is_none() {
            self.ring();
        }
    }

    pub(super) fn ring(&mut self) {
        self.due = None;
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
        (Message::Found(..), Message::Found(..)) => true,
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
    BASE + event.uuid.len() + kind_weight(&event.kind)
}

fn kind_weight(kind: &EventKind) -> usize {
    match kind {
        EventKind::Title(text)
        | EventKind::Prompt(text)
        | EventKind::Thoughts(text)
        | EventKind::Moved(text)
        | EventKind::Message(text) => text.len(),
        EventKind::Call { name, input, .. } => name.len() + input.as_ref().map_or(0, String::len),
        EventKind::Result { content, effect, .. } => {
            content.len() + effect.files.iter().map(|file| file.path.len() + file.hunks.len()).sum::<usize>()
        }
        EventKind::OfSubagent { kind, .. } => kind_weight(kind),
        EventKind::Goal(goal) => goal.text.len() + goal.reason.as_ref().map_or(0, String::len),
        EventKind::List(Ok(plan)) | EventKind::EmacsCall { list: Some(Ok(plan)), .. } => {
            let texts = plan.drafts.iter().map(|draft| draft.content.len() + draft.active_form.len());
            plan.drafts.len() * BASE + texts.sum::<usize>()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::wait::NEVER;

    #[test]
    fn calls_of_machines_are_taken_by_themselves() {
        let mut queue = Queue::new(Box::new(|| {}));
        let build = Arc::from("build");
        queue.push_of(&build, Message::DoorThere("build".into(), door::Event::Closed(1)), false, 9);
        queue.push(Message::Silent(1), false);
        assert!(matches!(queue.take(), Some(Message::Silent(1))));
        assert!(queue.take().is_none() && !queue.is_empty());
        assert!(matches!(queue.take_there(), Some((_, door::Event::Closed(1)))));
        assert!(queue.is_empty() && queue.weight() == 0);
    }

    #[test]
    fn the_messages_of_a_machine_take_no_room_of_others() {
        let mut queue = Queue::new(Box::new(|| {}));
        let (build, test) = (Arc::from("build"), Arc::from("test"));
        while !queue.is_full_of(&build) {
            queue.push_of(&build, Message::Stuck("/".into(), true), false, 1_000);
        }
        assert!(!queue.is_full() && !queue.is_full_of(&test));
        queue.push_of(&test, Message::Silent(7), false, MOST_QUEUED);
        queue.push(Message::Silent(1), false);
        assert!(!queue.is_full() && queue.is_full_of(&test));
        queue.drop_session(7);
        assert!(!queue.is_full_of(&test));
        while queue.take().is_some() {}
        assert_eq!((queue.weight(), queue.of_machines.len()), (0, 0));
    }

    #[test]
    fn lines_of_many_sessions_ring_at_a_pace_and_other_messages_at_once() {
        let rings = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&rings);
        let rung = || rings.swap(0, Ordering::Relaxed);
        let bell = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        let mut queue = Queue::new(Box::new(bell));
        let lines = |id| Message::Events(id, Piece::default());
        let take = |queue: &mut Queue| std::iter::from_fn(|| queue.take()).count();

        queue.push(lines(1), false);
        assert_eq!((rung(), take(&mut queue)), (1, 1), "lines after a silence ring at once");
        // Later than any time at which this test can run.
        let rang = Instant::now() + NEVER;
        queue.rang = Some(rang);
        queue.push(lines(1), false);
        queue.push(lines(2), false);
        queue.ring_again();
        let due = queue.ring_if_due(rang);
        assert_eq!((rung(), due), (0, Some(rang + PACE)));
        queue.ring_if_due(rang + PACE);
        assert_eq!((rung(), take(&mut queue)), (1, 2), "all that came meanwhile rings once");

        queue.push(lines(1), false);
        queue.push(Message::Failed(2), false);
        assert_eq!((rung(), queue.due.is_some()), (1, false), "anything else does not wait");
        take(&mut queue);
        queue.push(lines(1), true);
        assert_eq!((rung(), take(&mut queue)), (1, 1), "nor does a history");
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
