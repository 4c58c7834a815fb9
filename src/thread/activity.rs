//! What stops the time in progress: a pause, and what the host says of the agent's activity.

use super::{State, Thread};
use crate::clock::Millis;
use crate::journal::Record;
use crate::wire::wire_names;

wire_names! {
    /// What the agent does. Time in progress runs only while it works.
    #[derive(Default)]
    pub enum Activity {
        /// It works, or its host never says what it does.
        #[default]
        Working = "working",
        /// It waits for the user.
        Waiting = "waiting",
        /// Its turn ended.
        Idle = "idle",
    }
}

/// Whether work on the list goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunState {
    /// Why the thread is paused.
    pub paused: Option<String>,
    pub activity: Activity,
}

impl RunState {
    /// Whether the time of items in progress runs.
    pub fn runs(&self) -> bool {
        self.paused.is_none() && self.activity == Activity::Working
    }

    pub fn record(&self, timestamp: Millis) -> Record {
        Record::State { timestamp, paused: self.paused.clone(), activity: self.activity }
    }
}

// Each function returns a notice if the journal cannot be written.
impl Thread {
    /// Pauses with a reason, or resumes without one.
    pub fn set_paused(&mut self, reason: Option<String>, now: Millis) -> Option<String> {
        if self.progress.paused.is_some() == reason.is_some() {
            return None;
        }
        self.set_progress(RunState { paused: reason, activity: self.progress.activity }, now)
    }

    /// Takes over what the host says that the agent does. A paused thread resumes when it works.
    pub fn set_activity(&mut self, activity: Activity, now: Millis) -> Option<String> {
        let paused = self.progress.paused.clone().filter(|_| activity != Activity::Working);
        self.set_progress(RunState { paused, activity }, now)
    }

    /// Ends the agent's turn. If something is open, the thread is paused for this reason.
    pub fn end_turn(&mut self, reason: String, now: Millis) -> Option<String> {
        let reason = Some(reason).filter(|_| self.state() == State::Active);
        let paused = self.progress.paused.clone().or(reason);
        self.set_progress(RunState { paused, activity: Activity::Idle }, now)
    }

    /// Resumes for a write, which shows that the agent's turn goes on. The agent may still wait for
    /// the user: it can have asked for something else at the same time.
    pub(super) fn resume_for_write(&mut self, now: Millis) -> Option<String> {
        let waits = self.progress.activity == Activity::Waiting;
        let activity = if waits { Activity::Waiting } else { Activity::Working };
        self.set_progress(RunState { paused: None, activity }, now)
    }

    pub(super) fn set_progress(&mut self, progress: RunState, now: Millis) -> Option<String> {
        if progress == self.progress {
            return None;
        }
        self.record_then(&progress.record(now), |thread| thread.commit_progress(progress, now))
    }

    pub(super) fn commit_progress(&mut self, progress: RunState, now: Millis) {
        if progress.runs() {
            self.clock.resume(self.revisions.current(), now);
        } else {
            self.clock.pause(now);
        }
        self.progress = progress;
    }
}
