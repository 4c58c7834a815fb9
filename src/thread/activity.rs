//! What an agent does, how it ended, and pauses: all that stops the time of items in progress.

use serde::{Deserialize, Serialize};

use super::record::Record;
use super::{State, Thread};
use crate::events::Millis;
pub use crate::events::turns::Ending;
use crate::named::wire_names;

/// Why a plan is paused if the Emacs that wrote it has ended.
pub(crate) const PROCESS_ENDED: &str = "the session that wrote this list has ended";

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

/// The agent's activity, and a pause of its plan. Its fields are keys of the record `state`.
///
/// They go together: a turn that ended is `idle` with an ending, and pauses a plan that has open items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentActivity {
    /// The reason of the pause, a phrase for the user, if the plan is paused.
    pub paused: Option<String>,
    /// How the agent's turn or session ended; none while it works or waits, or if its host does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// What the agent does; `working` if a journal does not say.
    #[serde(default)]
    pub activity: Activity,
}

impl AgentActivity {
    /// Whether the time of items runs.
    pub(crate) fn runs(&self) -> bool {
        self.paused.is_none() && self.activity == Activity::Working
    }
}

impl Thread {
    /// Pauses the thread if there is a reason, else resumes it, so that its agent has not ended.
    pub fn set_paused(&mut self, reason: Option<String>, now: Millis) {
        let AgentActivity { paused, ending, activity } = self.activity.clone();
        let paused = if reason.is_some() { paused.or(reason) } else { None };
        let ending = ending.filter(|_| paused.is_some());
        self.change_activity(AgentActivity { paused, ending, activity }, now);
    }

    /// Sets the activity that the host reports. `Working` resumes a paused thread, and so does `Waiting`
    /// if the pause is the end of a turn: the agent waits in another one.
    pub fn set_activity(&mut self, activity: Activity, now: Millis) {
        let AgentActivity { paused, ending, .. } = self.activity.clone();
        let paused = paused.filter(|_| match activity {
            Activity::Working => false,
            Activity::Waiting => ending.is_none(),
            Activity::Idle => true,
        });
        let ending = ending.filter(|_| activity == Activity::Idle);
        self.change_activity(AgentActivity { paused, ending, activity }, now);
    }

    /// Ends the agent's turn, and pauses the thread for this reason if an item is open.
    ///
    /// The first ending counts, since hosts may report the end of a turn twice. Two replace it: the death of
    /// the process, and why the turn ended where only that was known. A process may tell its end before
    /// its transcript tells the reason.
    pub fn end_turn(&mut self, reason: String, ending: Ending, now: Millis) {
        let AgentActivity { paused, ending: before, .. } = self.activity.clone();
        let replaces = match ending {
            Ending::Killed => matches!(before, None | Some(Ending::EndOfTurn | Ending::SessionEnded)),
            Ending::Denied | Ending::Error => before == Some(Ending::EndOfTurn),
            Ending::EndOfTurn | Ending::SessionEnded => false,
        };
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

    /// What the agent does and how it ended, as last recorded.
    pub fn agent_activity(&self) -> &AgentActivity {
        &self.activity
    }

    /// Sets what the agent does, how it ended and whether the thread is paused, and records it if that is
    /// another one.
    pub fn change_activity(&mut self, activity: AgentActivity, now: Millis) {
        if activity != self.activity {
            self.make(Record::State { timestamp: now, activity });
        }
    }

    /// Records what the agent does as it is known here, which no journal has.
    pub(crate) fn record_activity(&mut self, now: Millis) {
        self.make(Record::State { timestamp: now, activity: self.activity.clone() });
    }

    pub(super) fn apply_activity(&mut self, activity: &AgentActivity, now: Millis) {
        if activity.runs() {
            self.clock.resume(self.revisions.current(), now);
        } else {
            self.clock.pause(now);
        }
        self.turns.set_ending(activity.ending, now);
        self.activity.clone_from(activity);
    }
}
