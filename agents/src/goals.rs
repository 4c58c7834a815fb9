//! The goal of a session while its lines are read. Its agent begins the next turn by itself, so the end of a
//! turn is held back until the goal has ended, too.

use todo_write::events::session::{Goal, GoalState};

/// The goal, and whether the end of a turn is held back.
#[derive(Debug, Default)]
pub(super) struct Goals {
    pub(super) goal: Option<Goal>,
    is_end_held: bool,
}

impl Goals {
    /// Sets the goal. Returns it if that is news, and whether an end that was held back is due now.
    pub(super) fn set(&mut self, goal: Goal) -> (Option<Goal>, bool) {
        let is_due = !goal.is_active() && std::mem::take(&mut self.is_end_held);
        let is_new = self.goal.as_ref() != Some(&goal);
        self.goal = Some(goal.clone());
        (is_new.then_some(goal), is_due)
    }

    /// The goal in another state, if there is one.
    pub(super) fn with_state(&self, state: GoalState) -> Option<Goal> {
        Some(Goal { state, reason: None, ..self.goal.clone()? })
    }

    /// Whether the end of a turn is not the agent's: it goes on until the goal is met.
    pub(super) fn hold_end(&mut self) -> bool {
        self.is_end_held = self.goal.as_ref().is_some_and(Goal::is_active);
        self.is_end_held
    }

    /// Notes that a turn goes on, or ended otherwise.
    pub(super) fn forget_end(&mut self) {
        self.is_end_held = false;
    }
}
