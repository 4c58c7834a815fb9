//! What an LLM says while it says it: token types and stream events.
//!
//! Subscribers hear every token at once; what is recorded is one THOUGHTS observation for each
//! block, in all three phases.

use serde_json::{Map, Value};

use crate::observation::{Details, Phase};
use crate::wire::wire_names;

/// A block longer than this (in bytes) is recorded in parts, so that memory stays bounded.
pub const MAX_BLOCK: usize = 64 * 1024;

wire_names! {
    /// The kinds of stream event. Metadata is usage figures and the like.
    #[allow(missing_docs)]
    pub enum StreamKind {
        Token = "TOKEN",
        Metadata = "METADATA",
        Error = "ERROR",
        End = "END",
    }
}

/// The phase and token type of a call, from what the host calls it.
///
/// `PLANNING_THOUGHTS`, `EXECUTION_THOUGHTS` and `SYNTHESIS_THOUGHTS` name a phase; anything
/// else, the older `AGENT_THOUGHT` and `FINAL_SYNTHESIS` included, names none.
pub fn token_context(call_context: Option<&str>, thinking: bool) -> (Option<Phase>, &'static str) {
    let phase = match call_context {
        Some("PLANNING_THOUGHTS") => Some(Phase::Planning),
        Some("EXECUTION_THOUGHTS") => Some(Phase::Execution),
        Some("SYNTHESIS_THOUGHTS") => Some(Phase::Synthesis),
        _ => None,
    };
    (phase, token_type(phase, thinking))
}

/// The name of the tokens of a phase.
pub fn token_type(phase: Option<Phase>, thinking: bool) -> &'static str {
    match (phase, thinking) {
        (Some(Phase::Planning), true) => "PLANNING_LLM_THINKING",
        (Some(Phase::Planning), false) => "PLANNING_LLM_RESPONSE",
        (Some(Phase::Execution), true) => "EXECUTION_LLM_THINKING",
        (Some(Phase::Execution), false) => "EXECUTION_LLM_RESPONSE",
        (Some(Phase::Synthesis), true) => "SYNTHESIS_LLM_THINKING",
        (Some(Phase::Synthesis), false) => "SYNTHESIS_LLM_RESPONSE",
        (None, true) => "LLM_THINKING",
        (None, false) => "LLM_RESPONSE",
    }
}

/// What the events of one stretch of a stream have in common: all but type, data and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// See [`token_type`]; tokens only.
    pub token_type: Option<&'static str>,
    /// None where the host's call context names none.
    pub phase: Option<Phase>,
    /// The item in progress, in execution.
    pub step_id: Option<String>,
    /// Its content.
    pub step_description: Option<String>,
    /// The thread's key.
    pub thread_id: String,
    /// The request, as the host names it.
    pub trace_id: Option<String>,
    /// The session, as the host names it.
    pub session_id: Option<String>,
}

impl Context {
    /// How an observation says the same.
    pub fn details(&self) -> Details {
        let mut metadata = Map::new();
        let texts = [
            ("tokenType", self.token_type),
            ("stepId", self.step_id.as_deref()),
            ("stepDescription", self.step_description.as_deref()),
            ("sessionId", self.session_id.as_deref()),
        ];
        for (key, value) in texts {
            metadata.extend(value.map(|value| (key.to_owned(), Value::from(value))));
        }
        Details {
            title: None,
            trace_id: self.trace_id.clone(),
            parent_id: self.step_id.clone(),
            phase: Some(self.phase),
            metadata,
        }
    }
}
