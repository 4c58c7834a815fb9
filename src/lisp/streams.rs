//! Lisp functions on streams.

use emacs::{Env, Result, Value, defun};
use serde::Serialize;
use serde_json::Map;

use super::read::{self, Key};
use super::ser::{self, Sparse, Symbol};
use super::threads::load;
use super::{border, now, serialized, with_module};
use crate::events::observation::Phase;
use crate::events::stream::{Context, StreamKind, token_context as context_of};
use crate::thread::StreamEvent;

/// The phase and the token type of a call.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct ShownContext {
    phase: Symbol<Option<Phase>>,
    token_type: &'static str,
}

/// See `todo-write-token-context'.
#[defun]
fn token_context<'e>(env: &'e Env, call_context: Value<'e>, thinking: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let call_context = read::name("call context", call_context)?;
        let (phase, token_type) = context_of(call_context.as_deref(), thinking.is_not_nil());
        Ok(ShownContext { phase: Symbol(phase), token_type })
    })
}

/// Add a stream event to THREAD.
///
/// KIND is its type and DATA the text of a token, both strings.  THINKING is a flag; CALL-CONTEXT,
/// STEP-ID, STEP-DESCRIPTION, TRACE-ID and SESSION-ID are strings or nil.  The value is (TIME RECORDED . REST): TIME is in
/// milliseconds; RECORDED is t if the event ended a block of thoughts, which is recorded; REST is a
/// plist with the other properties of the event.
#[defun]
#[allow(clippy::too_many_arguments)] // The properties of a stream event.
fn stream<'e>(
    env: &'e Env,
    thread: Key,
    kind: StreamKind,
    data: Value<'e>,
    thinking: Value<'e>,
    call_context: Value<'e>,
    step_id: Value<'e>,
    step_description: Value<'e>,
    trace_id: Value<'e>,
    session_id: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let data = match kind {
            StreamKind::Token => Some(read::text("data", data)?),
            _ => None,
        };
        let call_context = read::name("call-context", call_context)?;
        let (step_id, step_description) =
            (read::name("step-id", step_id)?, read::name("step-description", step_description)?);
        let (trace_id, session_id) =
            (read::name("trace-id", trace_id)?, read::name("session-id", session_id)?);
        let event = StreamEvent {
            kind,
            data: data.as_deref().unwrap_or_default(),
            thinking: thinking.is_not_nil(),
            call_context: call_context.as_deref(),
            step_id: step_id.as_deref(),
            step_description: step_description.as_deref(),
            trace_id: trace_id.as_deref(),
            session_id: session_id.as_deref(),
        };
        load(env, &thread, Map::new())?;
        let time = now();
        let (context, recorded) =
            with_module(|module| module.open(&thread).change(|thread| thread.stream(event, time)));
        let rest = Sparse(ShownEvent { r#type: event.kind, context: &context });
        ser::to_lisp(env, &(time, recorded, rest))
    })
}

/// A stream event without its data and time.
#[derive(Serialize)]
struct ShownEvent<'c> {
    r#type: StreamKind,
    #[serde(flatten)]
    context: &'c Context,
}

/// Add the token DATA to THREAD, with all else as in its last stream event.
///
/// The value is the time in milliseconds, or nil if the list has changed or a block ends.  After
/// nil, call `todo-write-dyn--stream'.
#[defun]
fn stream_next<'e>(env: &'e Env, thread: Key, data: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let data = read::text("data", data)?;
        let taken = with_module(|module| {
            let plan = module.store.get_mut(&thread)?;
            Some(plan.change_in_memory(|thread| thread.stream_next(&data)))
        });
        let taken = taken.unwrap_or(false);
        Ok(taken.then(now))
    })
}
