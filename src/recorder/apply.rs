//! Brings the events of a session into threads, a piece at a time.

use std::time::SystemTime;

use super::{Recorder, ThreadUpdate};
use crate::events::Millis;
use crate::journal::store::Store;
use crate::wire::program::Piece;

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

impl Recorder {
    /// What was read and applied so far, before the last piece.
    pub fn progress(&self) -> &Applied {
        &self.applied
    }

    /// Records the events of a piece; returns what all pieces did if it is a last one.
    pub fn apply(
        &mut self,
        piece: Piece,
        store: &mut Store,
        keep_completed: bool,
        now: Millis,
    ) -> Option<Applied> {
        if piece.is_restart {
            self.restart();
            self.applied.thread = None;
        }
        if self.applied.thread.is_none() {
            self.project = piece.project;
        }
        self.applied.grew = piece.grew.or(self.applied.grew);
        self.applied.warnings.extend(piece.warning);
        self.applied.bytes = self.applied.bytes.saturating_add(piece.bytes);
        self.applied.skipped = self.applied.skipped.saturating_add(piece.skipped);
        self.applied.size = self.applied.size.max(piece.size);
        self.applied.thread = piece.thread.map(|bare| self.key(bare));
        for event in &piece.events {
            self.record(store, event, keep_completed, now);
        }
        // A piece ends with a line, so the journal's position is true after each.
        self.save(store);
        if !piece.is_last {
            return None;
        }
        let updates = self.finish(store, now);
        let mut applied = std::mem::take(&mut self.applied);
        // The next pieces are of the same session.
        self.applied.thread.clone_from(&applied.thread);
        self.applied.grew = applied.grew;
        applied.updates = updates;
        Some(applied)
    }
}
