//! Whether an event was recorded before: how far a thread's journal has the transcript of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::{PendingUpdate, Recorder, list_of};
use crate::agents::{Event, EventKind, Place, Transcript};
use crate::events::Millis;
use crate::events::observation::Observation;
use crate::journal::store::Store;
use crate::thread::Thread;
use crate::thread::record::PositionRecord;

/// How far a transcript was recorded in a thread before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    /// The number of bytes.
    pub(super) offset: u64,
    /// The index of an event that counts although it is not after these bytes.
    but: Option<usize>,
}

/// The position of the line of an event in the journal of its thread.
pub(super) fn position(event: &Event, place: &Place) -> PositionRecord {
    PositionRecord {
        subagent: place.transcript.subagent.clone(),
        session: event.source.session.clone(),
        first: place.transcript.first,
        offset: place.end,
        ..PositionRecord::default()
    }
}

/// Sets the position of a file among others, unless it is behind.
fn set_position(positions: &mut Vec<PositionRecord>, new: PositionRecord) {
    match positions.iter_mut().find(|known| known.is_of_file(&new)) {
        Some(known) => known.offset = known.offset.max(new.offset),
        None => positions.push(new),
    }
}

/// The end of the line of an event.
fn end_of(event: &Event) -> u64 {
    event.place.as_ref().map_or(0, |place| place.end)
}

/// How far a transcript with the events `ours` was recorded in a thread that knows no position of it: from
/// another file with the same lines, or by an ACP client that shows the lists of the same session. The
/// furthest recorded line tells.
fn before_positions(thread: &Thread, position: &PositionRecord, ours: &[(usize, &Event)]) -> Before {
    let lines = ours.iter().filter(|(_, event)| !event.uuid.is_empty());
    let ends: HashMap<(&str, Option<Millis>), u64> =
        lines.map(|(_, event)| ((event.uuid.as_str(), event.time), end_of(event))).collect();
    let recorded = || thread.observations().reported().rev();
    let line = |one: &Arc<Observation>| {
        ends.get(&(one.payload.metadata.uuid.as_deref()?, one.payload.metadata.timestamp)).copied()
    };
    if let Some(offset) = recorded().filter_map(line).max() {
        return Before { offset, but: None };
    }
    let is_of_caller = |event: &Event| position.subagent.is_some() && event.source.subagent.is_none();
    if ours.iter().any(|(_, event)| is_of_caller(event)) {
        return Before::default();
    }
    let mut own =
        recorded().filter(|one| one.payload.metadata.agent.is_none() && one.payload.metadata.uuid.is_some());
    let newest = thread.revisions().iter().next_back().map(|revision| &revision.stamp);
    let repeated = newest.filter(|stamp| stamp.source.as_deref().is_some_and(|one| REPEATED.contains(&one)));
    let time = match own.next() {
        Some(observation) => observation.payload.metadata.timestamp,
        None => repeated.map(|stamp| stamp.timestamp),
    };
    let Some(time) = time else { return Before::default() };
    let until = ours.iter().take_while(|(_, event)| event.time.is_none_or(|of_event| of_event <= time));
    Before {
        offset: until.map(|(_, event)| end_of(event)).max().unwrap_or_default(),
        but: ours.iter().rev().find(|(_, event)| list_of(&event.kind).is_some()).map(|(number, _)| *number),
    }
}

/// The sources of lists that repeat what an agent said elsewhere.
const REPEATED: [&str; 3] = ["claude", "codex", "acp"];

/// Whether an event is a call whose list the thread has, or that had no effect. What follows in the
/// transcript belongs to that list.
pub(super) fn is_stored(thread: &mut Thread, event: &Event) -> bool {
    let EventKind::EmacsCall { id, list, .. } = &event.kind else { return false };
    let plan = list.as_ref().and_then(|list| list.as_ref().ok());
    if thread.pass_call(id, plan) {
        return true;
    }
    // Its list is not told, so only its time says which call it was.
    if let (None, Some(time)) = (list, event.time) {
        thread.pass_calls_before(time);
    }
    list.is_none()
}

/// Whether an event is a list that the agent replaced by one that it sent to this Emacs.
pub(super) fn is_superseded(thread: &Thread, event: &Event) -> bool {
    let time = match &event.kind {
        EventKind::List(_) => event.time,
        EventKind::EmacsCall { called, .. } => *called,
        _ => return false,
    };
    let last = thread.last_call(&REPEATED);
    last > 0 && time.is_none_or(|time| time <= last)
}

impl Recorder {
    /// Whether an event was recorded before. If not, notes that its line is recorded with this batch.
    pub(super) fn is_recorded(
        &mut self,
        store: &mut Store,
        pending: &mut PendingUpdate,
        events: &[Event],
        number: usize,
    ) -> bool {
        // What no line tells, such as a title beside the file, changes nothing if it is known.
        let Some(place) = &events[number].place else { return false };
        let position = position(&events[number], place);
        let known = pending.before.iter().find(|(transcript, _)| *transcript == place.transcript);
        let before = match known {
            Some((_, before)) => *before,
            None => {
                let before = self.before(store, pending, events, &position, &place.transcript);
                pending.before.push((Arc::clone(&place.transcript), before));
                before
            }
        };
        let is_recorded = place.end <= before.offset && before.but != Some(number);
        if !is_recorded {
            set_position(&mut pending.positions, position);
        }
        is_recorded
    }

    /// How far a transcript was recorded in a thread before this batch.
    fn before(
        &mut self,
        store: &mut Store,
        pending: &mut PendingUpdate,
        events: &[Event],
        position: &PositionRecord,
        transcript: &Arc<Transcript>,
    ) -> Before {
        let is_new = self.met.insert((pending.thread.clone(), Arc::clone(transcript)));
        let Some(thread) = store.get_mut(&pending.thread) else { return Before::default() };
        match thread.recorded_until(position) {
            // A file that is shorter is an older copy, of which everything is recorded.
            Some(offset) => Before { offset, but: None },
            None if is_new => {
                let is_of_file =
                    |event: &Event| event.place.as_ref().is_some_and(|place| place.transcript == *transcript);
                let is_ours =
                    |event: &Event| is_of_file(event) && self.key(event.source.key()) == pending.thread;
                let events = events.iter().enumerate();
                before_positions(
                    thread,
                    position,
                    &events.filter(|(_, event)| is_ours(event)).collect::<Vec<_>>(),
                )
            }
            None => Before::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_does_not_go_back() {
        let at = |offset| PositionRecord { session: "s".into(), offset, ..PositionRecord::default() };
        let mut positions = Vec::new();
        // The figures of a response have the place of its last line, which comes after lines of its calls.
        for offset in [30, 10, 20] {
            set_position(&mut positions, at(offset));
        }
        assert_eq!(positions, [at(30)]);
    }
}
