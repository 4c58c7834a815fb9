//! Brings the events of a session into threads, on the side of the hub's owner.

use std::time::SystemTime;

use crate::agents::Event;
use crate::agents::recorder::{Recorder, ThreadUpdate, Touched};
use crate::events::Millis;
use crate::file::Slice;
use crate::journal::store::Store;

use super::Piece;

/// Applies the pieces of a session in slices.
#[derive(Debug, Default)]
pub struct Applier {
    /// Writes the events to threads.
    pub recorder: Recorder,
    events: Vec<Event>,
    next: usize,
    touched: Touched,
    is_last: bool,
    applied: Applied,
}

/// What the pieces up to a last one did.
#[derive(Debug, Default)]
pub struct Applied {
    /// The number of bytes read and skipped.
    bytes: u64,
    /// The number of bytes skipped, because a line or a file was too long.
    pub skipped: u64,
    /// The size of the session's file, while it is read for the first time.
    size: u64,
    /// The key of the session's thread, once the file has named it.
    pub thread: Option<String>,
    /// When the session's file grew.
    pub grew: Option<SystemTime>,
    /// Sentences for the user about what could not be read.
    pub warnings: Vec<String>,
    /// The changes of threads.
    pub updates: Vec<ThreadUpdate>,
}

impl Applied {
    /// How much of the session's file is read, in percent, while it is read for the first time.
    pub fn percent(&self) -> Option<u64> {
        // There may be other files beside it.
        self.bytes.saturating_mul(100).checked_div(self.size).map(|percent| percent.min(99))
    }
}

impl Applier {
    /// An applier that writes by `recorder`.
    pub fn new(recorder: Recorder) -> Applier {
        Applier { recorder, ..Applier::default() }
    }

    /// Adds a piece, which the next steps apply.
    pub fn add(&mut self, piece: Piece) {
        if piece.is_restart {
            self.recorder.restart();
            (self.events, self.next) = (Vec::new(), 0);
        }
        if self.applied.thread.is_none() {
            self.recorder.project = piece.project;
        }
        self.applied.grew = piece.grew.or(self.applied.grew);
        self.applied.warnings.extend(piece.warning);
        self.applied.bytes = self.applied.bytes.saturating_add(piece.bytes);
        self.applied.skipped = self.applied.skipped.saturating_add(piece.skipped);
        self.applied.size = self.applied.size.max(piece.size);
        self.applied.thread = piece.thread.map(|bare| self.recorder.key(bare));
        self.events.extend(piece.events);
        self.is_last |= piece.is_last;
    }

    /// Whether a step has something to do.
    pub fn is_due(&self) -> bool {
        self.is_last || self.next < self.events.len()
    }

    /// What was read and applied so far, before the last piece.
    pub fn progress(&self) -> &Applied {
        &self.applied
    }

    /// Records events until the slice is over; returns what all pieces did if the last one is applied.
    pub fn step(
        &mut self,
        store: &mut Store,
        keep_completed: bool,
        now: Millis,
        slice: &Slice,
    ) -> Option<Applied> {
        while self.next < self.events.len() {
            // Counted first: an event that makes the recorder panic is not recorded again.
            self.next += 1;
            let event = &self.events[self.next - 1];
            self.recorder.record(store, &mut self.touched, event, keep_completed, now);
            let is_same_line = |next: &Event| next.is_of_line_of(event);
            // A line is saved whole, since the journal's position tells lines.
            if slice.is_over() && !self.events.get(self.next).is_some_and(is_same_line) {
                break;
            }
        }
        self.recorder.save(store, &mut self.touched);
        if self.next < self.events.len() {
            return None;
        }
        self.events.clear();
        self.next = 0;
        if !std::mem::take(&mut self.is_last) {
            return None;
        }
        let touched = std::mem::take(&mut self.touched);
        let updates = self.recorder.finish(store, touched, now);
        let mut applied = std::mem::take(&mut self.applied);
        // The next pieces are of the same session.
        self.applied.thread.clone_from(&applied.thread);
        self.applied.grew = applied.grew;
        applied.updates = updates;
        Some(applied)
    }
}
