//! Streams of a thread: the context of each event, and thoughts as observations.

use serde_json::json;

use super::*;
use crate::observation::Phase;
use crate::stream::{Block, Context, Kind, token_context, token_type};

/// What a host says of a stream event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// What it is.
    pub kind: Kind,
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
    /// Takes a stream event in. Returns its context, and whether thoughts ended with it, which are
    /// recorded now.
    pub fn stream(&mut self, event: Event<'_>, now: Millis) -> (Arc<Context>, bool) {
        self.last_token_at = None;
        let context = Arc::new(self.context_of(&event));
        let ended = self.stream.take(event.kind, event.thinking, event.data, Arc::clone(&context));
        let recorded = ended.map(|block| self.observe_thoughts(block, now)).is_some();
        self.last_token_at = (event.kind == Kind::Token).then(|| self.revisions.last());
        (context, recorded)
    }

    /// Takes in a token that the host describes as it did the last event. It was not taken where
    /// its context may be another, or where it ends a block; then it is one for
    /// [`Thread::stream`]. Tokens come by the hundred thousand, and nearly all are taken here.
    pub fn stream_next(&mut self, data: &str) -> bool {
        self.last_token_at == Some(self.revisions.last()) && self.stream.take_next(data)
    }

    fn context_of(&self, event: &Event<'_>) -> Context {
        let phase = match event.call_context {
            Some(_) => token_context(event.call_context, event.thinking).0,
            None => Some(Phase::of(self.list())),
        };
        let step = self.current().filter(|_| phase == Some(Phase::Execution));
        Context {
            token_type: (event.kind == Kind::Token).then(|| token_type(phase, event.thinking)),
            phase,
            step_id: step.map(|item| item.id.clone()),
            step_description: step.map(|item| item.content.clone()),
            thread_id: self.key.clone(),
            trace_id: event.trace_id.map(str::to_owned),
            session_id: event.session_id.map(str::to_owned),
        }
    }

    fn observe_thoughts(&mut self, block: Block, now: Millis) {
        let mut details = block.context.details();
        details.metadata.insert("timestamp".into(), now.into());
        self.observe(Type::Thoughts, json!({ "text": block.text }), details, now);
    }
}
