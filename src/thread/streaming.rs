//! Streams of a thread: the context of each event, and thoughts as observations.

use std::sync::Arc;

use serde_json::json;

use super::Thread;
use crate::clock::Millis;
use crate::observation::{Phase, Type};
use crate::stream::{Context, MAX_BLOCK, StreamKind, token_context, token_type};

/// A block of thinking: its tokens, joined, and what they have in common.
#[derive(Debug)]
struct ThoughtBlock {
    text: String,
    context: Arc<Context>,
}

/// The stream of the agent's tokens.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    thinking: Option<ThoughtBlock>,
    /// The revision at the time of the last event, if that was a token.
    last_token_at: Option<u64>,
}

impl Streaming {
    /// Takes in an event, and returns the block that it ends.
    fn take(&mut self, event: &StreamEvent<'_>, context: &Arc<Context>) -> Option<ThoughtBlock> {
        // Usage figures come at any time and end nothing.
        if event.kind == StreamKind::Metadata {
            return None;
        }
        let thinking = event.thinking && event.kind == StreamKind::Token;
        let goes_on = thinking && self.thinking.as_ref().is_some_and(|block| block.context == *context);
        if goes_on && self.take_next(event.data) {
            return None;
        }
        let block = || ThoughtBlock { text: event.data.to_owned(), context: Arc::clone(context) };
        let done = std::mem::replace(&mut self.thinking, thinking.then(block));
        done.filter(|block| !block.text.is_empty())
    }

    /// Takes in a token like the one before, unless the block it belongs to is full.
    fn take_next(&mut self, data: &str) -> bool {
        let Some(block) = &mut self.thinking else { return true };
        let fits = block.text.len() + data.len() <= MAX_BLOCK;
        if fits {
            block.text.push_str(data);
        }
        fits
    }
}

/// A stream event as its host describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEvent<'a> {
    /// What it is.
    pub kind: StreamKind,
    /// The text of a token; empty where the data is no text.
    pub data: &'a str,
    /// Whether the token is thinking or response.
    pub thinking: bool,
    /// The host's name for the call; without one, the phase follows from the list.
    pub call_context: Option<&'a str>,
    /// See [`Context::trace_id`].
    pub trace_id: Option<&'a str>,
    /// See [`Context::session_id`].
    pub session_id: Option<&'a str>,
}

impl Thread {
    /// Takes in a stream event. Returns its context, and whether it ended a block of thoughts, which
    /// is then recorded.
    pub fn stream(&mut self, event: StreamEvent<'_>, now: Millis) -> (Arc<Context>, bool) {
        self.streaming.last_token_at = None;
        let context = Arc::new(self.context_of(&event));
        let ended = self.streaming.take(&event, &context);
        let recorded = ended.map(|block| self.observe_thoughts(block, now)).is_some();
        self.streaming.last_token_at = (event.kind == StreamKind::Token).then(|| self.revisions.last());
        (context, recorded)
    }

    /// Takes in a token that the host describes exactly as the last event. Returns false where the
    /// context may differ or a block ends; [`Thread::stream`] must then take the token. Tokens come
    /// by the hundred thousand, and nearly all are taken here.
    pub fn stream_next(&mut self, data: &str) -> bool {
        self.streaming.last_token_at == Some(self.revisions.last()) && self.streaming.take_next(data)
    }

    fn context_of(&self, event: &StreamEvent<'_>) -> Context {
        let phase = match event.call_context {
            Some(_) => token_context(event.call_context, event.thinking).0,
            None => Some(Phase::of(self.list())),
        };
        let step = self.current().filter(|_| phase == Some(Phase::Execution));
        Context {
            token_type: (event.kind == StreamKind::Token).then(|| token_type(phase, event.thinking)),
            phase,
            step_id: step.map(|item| item.id.clone()),
            step_description: step.map(|item| item.content.clone()),
            thread_id: self.key.clone(),
            trace_id: event.trace_id.map(str::to_owned),
            session_id: event.session_id.map(str::to_owned),
        }
    }

    fn observe_thoughts(&mut self, block: ThoughtBlock, now: Millis) {
        let mut details = block.context.details();
        details.metadata.insert("timestamp".into(), now.into());
        self.observe(Type::Thoughts, json!({ "text": block.text }), details, now);
    }
}
