//! Pauses and the agent's activity, which stop the time of items in progress.

use super::{State, Thread};
use crate::clock::Millis;
use crate::journal::Record;
use crate::wire::wire_names;

wire_names! {
    /// What the agent does. The time of items runs only while it works.
    #[derive(Default)]
    pub enum Activity {
        /// It works, or its host does not report its activity.
        #[default]
        Working = "working",
        /// It waits for the user.
        Waiting = "waiting",
        /// Its turn ended.
        Idle = "idle",
    }
}

/// Whether the agent works on the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunState {
    /// The reason of the pause, if the thread is paused.
    pub paused: Option<String>,
    pub activity: Activity,
}

impl RunState {
    /// Whether the time of items runs.
    pub fn runs(&self) -> bool {
        self.paused.is_none() && self.activity == Activity::Working
    }

    pub fn record(&self, timestamp: Millis) -> Record {
        Record::State { timestamp, paused: self.paused.clone(), activity: self.activity }
    }
}

impl Thread {
    /// Pauses the thread if there is a reason, else resumes it.
    pub fn set_paused(&mut self, reason: Option<String>, now: Millis) {
        if self.progress.paused.is_some() != reason.is_some() {
            self.set_progress(RunState { paused: reason, activity: self.progress.activity }, now);
        }
    }

    /// Sets the activity that the host reports. `Working` resumes a paused thread.
    pub fn set_activity(&mut self, activity: Activity, now: Millis) {
        let paused = self.progress.paused.clone().filter(|_| activity != Activity::Working);
        self.set_progress(RunState { paused, activity }, now);
    }

    /// Ends the agent's turn, and pauses the thread for this reason if an item is open.
    pub fn end_turn(&mut self, reason: String, now: Millis) {
        let reason = Some(reason).filter(|_| self.state() == State::Active);
        let paused = self.progress.paused.clone().or(reason);
        self.set_progress(RunState { paused, activity: Activity::Idle }, now);
    }

    /// Resumes for a write, which shows that the agent works. It may still wait for the user, since it
    /// can ask and write at the same time.
    pub(super) fn resume_for_write(&mut self, now: Millis) {
        let waits = self.progress.activity == Activity::Waiting;
        let activity = if waits { Activity::Waiting } else { Activity::Working };
        self.set_progress(RunState { paused: None, activity }, now);
    }

    pub(super) fn set_progress(&mut self, progress: RunState, now: Millis) {
        if progress != self.progress {
            self.record_then(&progress.record(now), |thread| thread.commit_progress(progress, now));
        }
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
