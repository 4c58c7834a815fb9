//! The token stream of a thread: the context of each event, and THOUGHTS observations.

use std::sync::Arc;

use serde::Deserialize;

use super::Thread;
use crate::events::Millis;
use crate::events::observation::{Details, Metadata, Payload, Phase, Type};
use crate::events::payload::said;
use crate::events::stream::{Context, MAX_BLOCK, StreamKind, token_context};
use crate::named;

/// The joined tokens of a block of thinking, and their context.
#[derive(Debug)]
pub(super) struct ThoughtBlock {
    text: String,
    context: Arc<Context>,
}

/// The state of the agent's token stream.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// The block that has begun and not ended.
    pub(super) thinking: Option<ThoughtBlock>,
    /// The revision at the last event, if that was a token.
    last_token_at: Option<u64>,
}

impl Streaming {
    /// Adds an event, and returns the block that it ends.
    fn push(&mut self, event: &StreamEvent, data: &str, context: &Arc<Context>) -> Option<ThoughtBlock> {
        // Usage figures may come within a block.
        if event.kind == StreamKind::Metadata {
            return None;
        }
        let thinking = event.thinking && event.kind == StreamKind::Token;
        let continues = thinking && self.thinking.as_ref().is_some_and(|block| block.context == *context);
        if continues && self.append(data) {
            return None;
        }
        let block = || ThoughtBlock { text: data.to_owned(), context: Arc::clone(context) };
        let done = std::mem::replace(&mut self.thinking, thinking.then(block));
        done.filter(|block| !block.text.is_empty())
    }

    /// Appends a token to the block, unless the block is full.
    fn append(&mut self, data: &str) -> bool {
        let Some(block) = &mut self.thinking else { return true };
        let fits = block.text.len() + data.len() <= MAX_BLOCK;
        if fits {
            block.text.push_str(data);
        }
        fits
    }
}

/// A stream event as the host reports it, without its data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StreamEvent {
    /// The type.
    #[serde(rename = "type")]
    pub kind: StreamKind,
    /// Whether a token is thinking, not response.
    #[serde(default)]
    pub thinking: bool,
    /// The host's name for the call. Without it, the phase follows from the list.
    #[serde(default, deserialize_with = "named::name")]
    pub call_context: Option<String>,
    /// The host's step, which counts in execution only. Without it, that is the item in progress.
    #[serde(default, deserialize_with = "named::name")]
    pub step_id: Option<String>,
    /// The description of the step. Without it, that is the content of the step's item.
    #[serde(default, deserialize_with = "named::name")]
    pub step_description: Option<String>,
    /// See [`Context::trace_id`].
    #[serde(default, deserialize_with = "named::name")]
    pub trace_id: Option<String>,
    /// See [`Context::session_id`].
    #[serde(default, deserialize_with = "named::name")]
    pub session_id: Option<String>,
}

impl Thread {
    /// Takes over the stream of a thread that this one replaces.
    pub(crate) fn continue_stream_of(&mut self, other: &mut Thread) {
        self.streaming = std::mem::take(&mut other.streaming);
    }

    /// Adds a stream event with the text of a token, which other events do not have. Returns its context, and
    /// whether it ended a block of thoughts, which is then recorded.
    pub fn stream(&mut self, event: &StreamEvent, data: &str, now: Millis) -> (Arc<Context>, bool) {
        self.streaming.last_token_at = None;
        let context = Arc::new(self.context_of(event));
        let ended = self.streaming.push(event, data, &context);
        let recorded = ended.map(|block| self.observe_thoughts(block, now)).is_some();
        self.streaming.last_token_at = (event.kind == StreamKind::Token).then(|| self.revisions.last());
        (context, recorded)
    }

    /// Fast path of [`Thread::stream`] for a token that differs from the last one only in its data.
    /// Returns false if the context may have changed or a block ends; call `stream` then.
    pub fn stream_next(&mut self, data: &str) -> bool {
        self.streaming.last_token_at == Some(self.revisions.last()) && self.streaming.append(data)
    }

    fn context_of(&self, event: &StreamEvent) -> Context {
        let (named, token_type) = token_context(event.call_context.as_deref(), event.thinking);
        let phase = if event.call_context.is_some() { named } else { Some(Phase::of(self.list())) };
        let is_execution = phase == Some(Phase::Execution);
        let item = match event.step_id.as_deref() {
            Some(id) => self.list().iter().find(|item| item.id == id),
            None => self.current(),
        };
        let step_id = event.step_id.as_deref().or(item.map(|item| item.id.as_str()));
        let step_description = event.step_description.as_deref().or(item.map(|item| item.content.as_str()));
        Context {
            kind: event.kind,
            token_type: (event.kind == StreamKind::Token).then_some(token_type),
            phase,
            step_id: step_id.filter(|_| is_execution).map(str::to_owned),
            step_description: step_description.filter(|_| is_execution).map(str::to_owned),
            thread_id: self.key.clone(),
            trace_id: event.trace_id.clone(),
            session_id: event.session_id.clone(),
        }
    }

    fn observe_thoughts(&mut self, block: ThoughtBlock, now: Millis) {
        let mut payload = Payload::new(Type::Thoughts, said(block.text));
        let context = Context::clone(&block.context);
        payload.metadata = Metadata {
            step_id: context.step_id.clone(),
            step_description: context.step_description,
            token_type: context.token_type.map(str::to_owned),
            session_id: context.session_id,
            timestamp: Some(now),
            ..Metadata::default()
        };
        let (phase, parent_id) = (Some(context.phase), context.step_id);
        let details = Details { trace_id: context.trace_id, parent_id, phase, ..Details::default() };
        self.observe(payload, details, now);
    }
}
