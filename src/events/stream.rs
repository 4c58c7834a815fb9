//! Token types and contexts of stream events.
//!
//! Subscribers receive each token at once. Each block of thinking is recorded as one THOUGHTS
//! observation.

use serde::Serialize;

use crate::events::observation::Phase;
use crate::named::wire_names;

/// The maximum bytes of a block. A longer one is recorded in parts, so that memory stays bounded.
pub const MAX_BLOCK: usize = 64 * 1024;

wire_names! {
    /// The type of a stream event. Metadata has usage figures and the like.
    #[allow(missing_docs)]
    pub enum StreamKind {
        Token = "TOKEN",
        Metadata = "METADATA",
        Error = "ERROR",
        End = "END",
    }
}

/// The phase and the token type of a call, from the host's name for it.
///
/// `PLANNING_THOUGHTS`, `EXECUTION_THOUGHTS` and `SYNTHESIS_THOUGHTS` name a phase. All other names
/// have none, including the older `AGENT_THOUGHT` and `FINAL_SYNTHESIS`.
///
/// ```
/// # use todo_write::events::{observation::Phase, stream::token_context};
/// let context = token_context(Some("PLANNING_THOUGHTS"), true);
/// assert_eq!(context, (Some(Phase::Planning), "PLANNING_LLM_THINKING"));
/// ```
pub fn token_context(call_context: Option<&str>, thinking: bool) -> (Option<Phase>, &'static str) {
    let phase = match call_context {
        Some("PLANNING_THOUGHTS") => Some(Phase::Planning),
        Some("EXECUTION_THOUGHTS") => Some(Phase::Execution),
        Some("SYNTHESIS_THOUGHTS") => Some(Phase::Synthesis),
        _ => None,
    };
    let token_type = match (phase, thinking) {
        (Some(Phase::Planning), true) => "PLANNING_LLM_THINKING",
        (Some(Phase::Planning), false) => "PLANNING_LLM_RESPONSE",
        (Some(Phase::Execution), true) => "EXECUTION_LLM_THINKING",
        (Some(Phase::Execution), false) => "EXECUTION_LLM_RESPONSE",
        (Some(Phase::Synthesis), true) => "SYNTHESIS_LLM_THINKING",
        (Some(Phase::Synthesis), false) => "SYNTHESIS_LLM_RESPONSE",
        (None, true) => "LLM_THINKING",
        (None, false) => "LLM_RESPONSE",
    };
    (phase, token_type)
}

/// The context that successive stream events share: all but data and time.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    #[serde(rename = "type")]
    pub kind: StreamKind,
    /// See [`token_context`]; none for other events.
    pub token_type: Option<&'static str>,
    /// The phase; none if the call's name has none.
    pub phase: Option<Phase>,
    /// The id of the step during execution: the host's, or the item in progress.
    pub step_id: Option<String>,
    pub step_description: Option<String>,
    pub thread_id: String,
    /// The host's id of the request.
    pub trace_id: Option<String>,
    /// The host's id of the session.
    pub session_id: Option<String>,
}
