//! Streams of a thread: the context of each event, and thoughts as observations.

use serde_json::json;

use super::*;
use crate::observation::Phase;
use crate::stream::{Block, Context, Kind, token_context, token_type};

/// What a host says of a stream event.
#[derive(Clone, Copy, Debug)]
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

/// What the context of an event followed from. Tokens come by the hundred thousand, and nearly all
/// are like the one before.
#[derive(Debug)]
pub(super) struct LastEvent {
    kind: Kind,
    thinking: bool,
    call_context: Option<String>,
    revision: u64,
    context: Arc<Context>,
}

impl LastEvent {
    fn is_like(&self, event: &Event<'_>, revision: u64) -> bool {
        self.kind == event.kind
            && self.thinking == event.thinking
            && self.revision == revision
            && self.call_context.as_deref() == event.call_context
            && self.context.trace_id.as_deref() == event.trace_id
            && self.context.session_id.as_deref() == event.session_id
    }
}

impl Thread {
    /// Takes a stream event in. Returns its context where that differs from the last event's,
    /// and always with `anew`.
    pub fn stream(&mut self, event: Event<'_>, anew: bool, now: Millis) -> Option<Arc<Context>> {
        let context = self.context_of(&event);
        let news = self.stream.is_news(&context);
        let told = (news || anew).then(|| Arc::clone(&context));
        if let Some(block) = self.stream.take(event.kind, event.thinking, event.data, context) {
            self.observe_thoughts(block, now);
        }
        told
    }

    /// The context of an event; that of the last one, if nothing can have changed since.
    fn context_of(&mut self, event: &Event<'_>) -> Arc<Context> {
        let revision = self.revisions.last();
        if let Some(last) = self.last_event.as_ref().filter(|last| last.is_like(event, revision)) {
            return Arc::clone(&last.context);
        }
        let context = Arc::new(self.new_context(event));
        self.last_event = Some(LastEvent {
            kind: event.kind,
            thinking: event.thinking,
            call_context: event.call_context.map(str::to_owned),
            revision,
            context: Arc::clone(&context),
        });
        context
    }

    fn new_context(&self, event: &Event<'_>) -> Context {
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
