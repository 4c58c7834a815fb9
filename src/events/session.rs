//! What a program says of its session as a whole: the user's goal, how full its context is, and what it
//! cost. The newest of each counts. Observations have them as metadata, so that the journal restores them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::payload::{Metadata, Payload, Type};
use crate::named::wire_names;
use crate::text::excerpt;

/// The longest text of a goal and of a reason, in bytes.
const TEXT: usize = 400;
/// The longest name of a currency.
const CURRENCY: usize = 8;

wire_names! {
    /// What became of a goal.
    #[allow(missing_docs)]
    #[serde(rename = "Symbol")]
    pub enum GoalState {
        Active = "active",
        Met = "met",
        Failed = "failed",
        /// The user or a limit paused it.
        Paused = "paused",
        /// The user took it back.
        Cleared = "cleared",
    }
}

/// The goal of a session, until which its agent goes on by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// The goal, in the user's words.
    pub text: String,
    /// What became of it.
    pub state: GoalState,
    /// Why it is not met, why it is, or why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How often the agent wanted to end; 0 if its program does not count that.
    #[serde(default)]
    pub tries: u64,
}

impl Goal {
    /// A goal, on one line each for the text and the reason.
    pub fn new(text: &str, state: GoalState, reason: Option<&str>, tries: u64) -> Goal {
        Goal { text: excerpt(text, TEXT), state, reason: reason.map(|reason| excerpt(reason, TEXT)), tries }
    }

    /// The same with its texts bounded: another machine may say anything.
    pub(crate) fn bounded(&self) -> Goal {
        Goal::new(&self.text, self.state, self.reason.as_deref(), self.tries)
    }

    /// Whether the agent goes on by itself.
    pub fn is_active(&self) -> bool {
        self.state == GoalState::Active
    }

    /// What happened, in a line.
    pub(crate) fn line(&self) -> String {
        let Goal { text, reason, .. } = self;
        let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        match self.state {
            GoalState::Active if reason.is_empty() => format!("Goal: {text}"),
            GoalState::Active => format!("Goal not met{reason}"),
            GoalState::Met => format!("Goal met{reason}"),
            GoalState::Failed => format!("Goal given up{reason}"),
            GoalState::Paused => format!("Goal paused{reason}"),
            GoalState::Cleared => "Goal cleared".to_owned(),
        }
    }
}

/// How full the context of the agent's model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The number of tokens in it.
    pub tokens: u64,
    /// How many it can hold, if the program says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

impl Context {
    /// How full it is, in percent, if its limit is known.
    pub fn percent(&self) -> Option<u64> {
        let limit = self.limit.filter(|limit| *limit > 0)?;
        Some((u128::from(self.tokens) * 100 / u128::from(limit)).min(100) as u64)
    }
}

/// What a session cost, by its program's own account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The amount.
    pub amount: f64,
    /// The currency, such as `USD`.
    pub currency: String,
}

impl Cost {
    /// A cost; `None` if the amount is none that a session can have.
    pub fn new(amount: f64, currency: &str) -> Option<Cost> {
        let is_name = !currency.is_empty()
            && currency.len() <= CURRENCY
            && currency.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_amount = (0.0..1e9).contains(&amount);
        (is_name && is_amount).then(|| Cost { amount, currency: currency.to_owned() })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.amount < 0.1 { 4 } else { 2 };
        write!(f, "{:.digits$} {}", self.amount, self.currency)
    }
}

/// What was said of a session last.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    goal: Option<Goal>,
    pub context: Option<Context>,
    pub cost: Option<Cost>,
}

impl Session {
    /// Takes what an observation says. A subagent has a context of its own.
    pub(crate) fn note(&mut self, payload: &Payload) {
        let Metadata { goal, cost, context, agent, .. } = &payload.metadata;
        match payload.kind {
            Type::Usage => {}
            Type::StateUpdate => {
                let cost = cost.as_ref().and_then(|cost| Cost::new(cost.amount, &cost.currency));
                self.goal = goal.as_ref().map(Goal::bounded).or(self.goal.take());
                self.cost = cost.or(self.cost.take());
            }
            _ => return,
        }
        self.context = context.filter(|_| agent.is_none()).or(self.context);
    }

    /// The goal, unless the user took it back.
    pub fn goal(&self) -> Option<&Goal> {
        self.goal.as_ref().filter(|goal| goal.state != GoalState::Cleared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_full_in_percent_of_its_limit_if_that_is_known() {
        let percent = |tokens, limit| Context { tokens, limit }.percent();
        assert_eq!(percent(250_005, Some(1_000_000)), Some(25));
        assert_eq!(percent(u64::MAX, Some(1)), Some(100));
        assert_eq!(percent(u64::MAX, Some(u64::MAX)), Some(100));
        assert_eq!((percent(1, None), percent(1, Some(0))), (None, None));
    }

    #[test]
    fn a_cost_is_a_number_in_a_currency() {
        let shown = |amount| Cost::new(amount, "USD").map(|cost| cost.to_string());
        assert_eq!(shown(0.0132).as_deref(), Some("0.0132 USD"));
        assert_eq!(shown(12.345).as_deref(), Some("12.35 USD"));
        for (amount, currency) in [
            (-1.0, "USD"),
            (f64::NAN, "USD"),
            (f64::INFINITY, "USD"),
            (1.0, ""),
            (1.0, "a%b"),
            (1.0, "eurodollars"),
        ] {
            assert_eq!(Cost::new(amount, currency), None);
        }
    }
}
