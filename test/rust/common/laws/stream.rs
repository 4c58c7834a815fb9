//! For any tokens in any order, every thought is recorded once, and every event has its context.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value};
use todo_write::events::observation::{Filter, Payload, Phase, Type};
use todo_write::events::stream::{Context, MAX_BLOCK, StreamKind, token_context};
use todo_write::list::input::Plan;
use todo_write::thread::{StreamEvent, Thread, WriteOptions};

use super::acts::drafts;

const CALLS: [Option<&str>; 6] = [
    None,
    Some("PLANNING_THOUGHTS"),
    Some("EXECUTION_THOUGHTS"),
    Some("SYNTHESIS_THOUGHTS"),
    Some("AGENT_THOUGHT"),
    Some(""),
];
const NAMES: [Option<&str>; 3] = [None, Some("one"), Some("two")];
const KINDS: [StreamKind; 6] = [
    StreamKind::Token,
    StreamKind::Token,
    StreamKind::Token,
    StreamKind::Metadata,
    StreamKind::Error,
    StreamKind::End,
];

/// The bytes of thoughts that surely fit in memory.
const FITS: usize = 1024 * 1024;

/// The bytes encode events, and writes between them.
pub fn holds(data: &[u8]) {
    let mut run = Run {
        thread: Thread::new("stream", Map::new(), 100_000),
        last: None,
        thought: String::new(),
        longest: 0,
    };
    let mut data = Unstructured::new(data);
    while !data.is_empty() && run.next(&mut data).is_ok() {}
    run.thread.stream(&event(StreamKind::End, false), "", 9);
    let blocks = thoughts(&run.thread);
    // What does not fit in memory is on disk only, the oldest first.
    let kept = blocks.concat();
    assert!(run.thought.ends_with(&kept));
    assert!(kept.len() == run.thought.len() || run.thought.len() > FITS);
    assert!(blocks.iter().all(|block| block.len() <= MAX_BLOCK.max(run.longest)));
}

struct Run {
    thread: Thread,
    /// The last event, and its context.
    last: Option<(StreamEvent, Arc<Context>)>,
    /// All thinking tokens.
    thought: String,
    /// The length of the longest one, in bytes.
    longest: usize,
}

impl Run {
    fn next(&mut self, data: &mut Unstructured<'_>) -> Result<()> {
        if data.ratio(1, 12)? {
            let plan = Plan { drafts: drafts(data, 10)?, ..Plan::default() };
            assert!(self.thread.write(plan, WriteOptions::default(), 5).ok);
            return Ok(());
        }
        let repeat = if data.ratio(1, 64)? { 5_000 } else { 1 };
        let text = data.arbitrary::<&str>()?.repeat(repeat);
        let event = self.event(data)?;
        if event.thinking && event.kind == StreamKind::Token {
            self.thought.push_str(&text);
            self.longest = self.longest.max(text.len());
        }
        let context = match self.last.take() {
            Some((last, context)) if last == event && self.thread.stream_next(&text) => context,
            _ => self.thread.stream(&event, &text, 6).0,
        };
        self.check_context(&event, &context);
        self.last = Some((event, context));
        Ok(())
    }

    /// An event without data, often the same as the last one.
    fn event(&self, data: &mut Unstructured<'_>) -> Result<StreamEvent> {
        match &self.last {
            Some((last, _)) if data.arbitrary()? => Ok(last.clone()),
            _ => Ok(StreamEvent {
                call_context: data.choose(&CALLS)?.map(str::to_owned),
                step_id: data.choose(&NAMES)?.map(str::to_owned),
                step_description: data.choose(&NAMES)?.map(str::to_owned),
                trace_id: data.choose(&NAMES)?.map(str::to_owned),
                session_id: data.choose(&NAMES)?.map(str::to_owned),
                ..event(*data.choose(&KINDS)?, data.arbitrary()?)
            }),
        }
    }

    fn check_context(&self, event: &StreamEvent, context: &Context) {
        let phase = match event.call_context.as_deref() {
            None => Some(Phase::of(self.thread.list())),
            named => token_context(named, event.thinking).0,
        };
        let token_type = token_context(event.call_context.as_deref(), event.thinking).1;
        assert_eq!(context.phase, phase);
        assert_eq!(context.token_type, (event.kind == StreamKind::Token).then_some(token_type));
        if phase == Some(Phase::Execution) {
            let current = self.thread.current().map(|item| item.id.as_str());
            assert_eq!(context.step_id.as_deref(), event.step_id.as_deref().or(current));
            assert!(
                event.step_description.is_none()
                    || context.step_description.as_deref() == event.step_description.as_deref()
            );
        } else {
            assert_eq!((&context.step_id, &context.step_description), (&None, &None));
        }
        assert_eq!(context.trace_id.as_deref(), event.trace_id.as_deref());
        assert_eq!(context.session_id.as_deref(), event.session_id.as_deref());
    }
}

fn event(kind: StreamKind, thinking: bool) -> StreamEvent {
    StreamEvent {
        kind,
        thinking,
        call_context: None,
        step_id: None,
        step_description: None,
        trace_id: None,
        session_id: None,
    }
}

/// The recorded blocks.
fn thoughts(thread: &Thread) -> Vec<String> {
    let filter = Filter { kind: Some(Type::Thoughts), ..Filter::default() };
    thread.observed(&filter).iter().map(|one| one.payload.content["text"].as_str().unwrap().into()).collect()
}
