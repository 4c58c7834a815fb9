//! What an agent does, and how it ended.

use serde::{Deserialize, Serialize};

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

/// The agent's activity, and a pause of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentActivity {
    /// The reason of the pause, if the plan is paused.
    pub paused: Option<String>,
    /// How the agent ended; `None` while it works or waits, or if its host does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// See [`Activity`].
    #[serde(default)]
    pub activity: Activity,
}

impl AgentActivity {
    /// Whether the time of items runs.
    pub(crate) fn runs(&self) -> bool {
        self.paused.is_none() && self.activity == Activity::Working
    }
}
