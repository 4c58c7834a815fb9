//! What an LLM says while it says it: token types, stream events, and the joining of thinking
//! tokens into blocks.
//!
//! Subscribers hear every token at once; what is recorded is one THOUGHTS observation for each
//! block, in all three phases.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::observation::{Details, Phase};
use crate::wire::wire_names;

/// A block longer than this (in bytes) is recorded in parts, so that memory stays bounded.
pub const MAX_BLOCK: usize = 64 * 1024;

wire_names! {
    /// The kinds of stream event. Metadata is usage figures and the like.
    #[allow(missing_docs)]
    pub enum Kind {
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// See [`token_type`]; tokens only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_type: Option<&'static str>,
    /// None where the host's call context names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The item in progress, in execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    /// Its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_description: Option<String>,
    /// The thread's key.
    pub thread_id: String,
    /// The request, as the host names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The session, as the host names it.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// A block of thinking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The tokens, joined.
    pub text: String,
    /// What they have in common.
    pub context: Arc<Context>,
}

/// A stream as far as it has come.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    thinking: Option<Block>,
}

impl Stream {
    /// Takes an event in; what was thought before it is returned where the event ends it.
    pub fn take(&mut self, kind: Kind, thinking: bool, data: &str, context: Arc<Context>) -> Option<Block> {
        // Usage figures come at any time and end nothing.
        if kind == Kind::Metadata {
            return None;
        }
        let thinking = thinking && kind == Kind::Token;
        let goes_on = thinking && self.thinking.as_ref().is_some_and(|block| block.context == context);
        if goes_on && self.take_next(data) {
            return None;
        }
        let done = self.thinking.take().filter(|block| !block.text.is_empty());
        self.thinking = thinking.then(|| Block { text: data.to_owned(), context });
        done
    }

    /// Takes in a token like the one before, unless the block it belongs to is full.
    pub fn take_next(&mut self, data: &str) -> bool {
        let Some(block) = &mut self.thinking else { return true };
        let fits = block.text.len() + data.len() <= MAX_BLOCK;
        if fits {
            block.text.push_str(data);
        }
        fits
    }
}
