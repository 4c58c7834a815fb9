//! Whether an event was recorded before: how far a thread has the transcript of it, and which calls it has.

use super::PendingUpdate;
use crate::thread::Thread;
use crate::thread::record::PositionRecord;
use crate::wire::event::{Event, EventKind};

/// Whether the line of an event was recorded before. If not, notes that it is recorded with this batch. The
/// position alone decides, so nothing is recorded of an older copy of the file, which is shorter.
pub(super) fn is_recorded(thread: &Thread, pending: &mut PendingUpdate, event: &Event) -> bool {
    // What no line tells, such as a title beside the file, changes nothing if it is known.
    let Some(place) = &event.place else { return false };
    let position = PositionRecord {
        subagent: place.transcript.subagent.clone(),
        session: event.source.session.clone(),
        first: place.transcript.first,
        offset: place.end,
        ..PositionRecord::default()
    };
    let is_recorded = place.end <= thread.recorded_until(&position);
    if !is_recorded {
        set_position(&mut pending.positions, position);
    }
    is_recorded
}

/// Sets the position of a file among others, unless it is behind.
fn set_position(positions: &mut Vec<PositionRecord>, new: PositionRecord) {
    match positions.iter_mut().find(|known| known.is_of_file(&new)) {
        Some(known) => known.offset = known.offset.max(new.offset),
        None => positions.push(new),
    }
}

/// Whether an event is a list that changes nothing: the thread has its call, the agent sent it before another
/// one that the thread has, or the call had no effect.
pub(super) fn is_superseded(thread: &Thread, event: &Event) -> bool {
    match &event.kind {
        EventKind::List(_) => thread.has_call(None, event.time),
        EventKind::EmacsCall { id, called, list } => list.is_none() || thread.has_call(Some(id), *called),
        _ => false,
    }
}
