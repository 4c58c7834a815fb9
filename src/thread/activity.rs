//! Pauses and the agent's activity, which stop the time of items in progress.

use super::{State, Thread};
use crate::activity::{Activity, AgentActivity, Ending};
use crate::clock::Millis;
use crate::journal::Record;

impl Thread {
    /// Pauses the thread if there is a reason, else resumes it, so that its agent has not ended.
    pub fn set_paused(&mut self, reason: Option<String>, now: Millis) {
        let AgentActivity { paused, ending, activity } = self.activity.clone();
        let paused = if reason.is_some() { paused.or(reason) } else { None };
        let ending = ending.filter(|_| paused.is_some());
        self.change_activity(AgentActivity { paused, ending, activity }, now);
    }

    /// Sets the activity that the host reports. `Working` resumes a paused thread.
    pub fn set_activity(&mut self, activity: Activity, now: Millis) {
        let paused = self.activity.paused.clone().filter(|_| activity != Activity::Working);
        let ending = self.activity.ending.filter(|_| activity == Activity::Idle);
        self.change_activity(AgentActivity { paused, ending, activity }, now);
    }

    /// Ends the agent's turn, and pauses the thread for this reason if an item is open.
    ///
    /// The first ending counts, since hosts may report the end of a turn twice. Only the death of the
    /// process replaces the end of its last turn, and what its transcript suggested.
    pub fn end_turn(&mut self, reason: String, ending: Ending, now: Millis) {
        let AgentActivity { paused, ending: before, .. } = self.activity.clone();
        let is_weak = matches!(before, Some(Ending::EndOfTurn | Ending::SessionEnded));
        let replaces = ending == Ending::Killed && is_weak;
        let paused = match self.state() {
            State::Active => Some(reason),
            State::Paused if replaces => Some(reason),
            _ => paused,
        };
        let ending = before.filter(|_| !replaces).or(Some(ending));
        self.change_activity(AgentActivity { paused, ending, activity: Activity::Idle }, now);
    }

    /// Resumes for a write, which shows that the agent works. It may still wait for the user, since it
    /// can ask and write at the same time.
    pub(super) fn resume_for_write(&mut self, now: Millis) {
        let waits = self.activity.activity == Activity::Waiting;
        let activity = if waits { Activity::Waiting } else { Activity::Working };
        self.change_activity(AgentActivity { paused: None, ending: None, activity }, now);
    }

    pub(super) fn change_activity(&mut self, activity: AgentActivity, now: Millis) {
        if activity != self.activity {
            let record = Record::State { timestamp: now, activity: activity.clone() };
            self.record_then(&record, |thread| thread.commit_activity(activity, now));
        }
    }

    pub(super) fn commit_activity(&mut self, activity: AgentActivity, now: Millis) {
        if activity.runs() {
            self.clock.resume(self.revisions.current(), now);
        } else {
            self.clock.pause(now);
        }
        self.activity = activity;
    }
}
