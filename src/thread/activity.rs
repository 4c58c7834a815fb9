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

wire_names! {
    /// How the agent's last turn or its session ended.
    pub enum Ending {
        /// The turn ended, and the session goes on.
        EndOfTurn = "end-of-turn",
        /// The agent's process exited.
        SessionEnded = "session-ended",
        /// The agent's process was killed.
        Killed = "killed",
        /// The user denied a permission, which ended the turn.
        Denied = "denied",
        /// The turn ended with an error.
        Error = "error",
    }
}

/// Whether the agent works on the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunState {
    /// The reason of the pause, if the thread is paused.
    pub paused: Option<String>,
    /// How the agent ended; `None` while it works or waits, or if its host does not know.
    pub ending: Option<Ending>,
    pub activity: Activity,
}

impl RunState {
    /// Whether the time of items runs.
    pub fn runs(&self) -> bool {
        self.paused.is_none() && self.activity == Activity::Working
    }

    pub fn record(&self, timestamp: Millis) -> Record {
        Record::State { timestamp, paused: self.paused.clone(), ending: self.ending, activity: self.activity }
    }
}

impl Thread {
    /// Pauses the thread if there is a reason, else resumes it, so that its agent has not ended.
    pub fn set_paused(&mut self, reason: Option<String>, now: Millis) {
        let RunState { paused, ending, activity } = self.progress.clone();
        let paused = if reason.is_some() { paused.or(reason) } else { None };
        let ending = ending.filter(|_| paused.is_some());
        self.set_progress(RunState { paused, ending, activity }, now);
    }

    /// Sets the activity that the host reports. `Working` resumes a paused thread.
    pub fn set_activity(&mut self, activity: Activity, now: Millis) {
        let paused = self.progress.paused.clone().filter(|_| activity != Activity::Working);
        let ending = self.progress.ending.filter(|_| activity == Activity::Idle);
        self.set_progress(RunState { paused, ending, activity }, now);
    }

    /// Ends the agent's turn, and pauses the thread for this reason if an item is open.
    ///
    /// The first ending counts, since hosts may report the end of a turn twice. Only the death of the
    /// process replaces the end of its last turn, and what its transcript suggested.
    pub fn end_turn(&mut self, reason: String, ending: Ending, now: Millis) {
        let RunState { paused, ending: before, .. } = self.progress.clone();
        let is_weak = matches!(before, Some(Ending::EndOfTurn | Ending::SessionEnded));
        let replaces = ending == Ending::Killed && is_weak;
        let paused = match self.state() {
            State::Active => Some(reason),
            State::Paused if replaces => Some(reason),
            _ => paused,
        };
        let ending = before.filter(|_| !replaces).or(Some(ending));
        self.set_progress(RunState { paused, ending, activity: Activity::Idle }, now);
    }

    /// Resumes for a write, which shows that the agent works. It may still wait for the user, since it
    /// can ask and write at the same time.
    pub(super) fn resume_for_write(&mut self, now: Millis) {
        let waits = self.progress.activity == Activity::Waiting;
        let activity = if waits { Activity::Waiting } else { Activity::Working };
        self.set_progress(RunState { paused: None, ending: None, activity }, now);
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
