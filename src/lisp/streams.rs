//! Lisp functions on streams.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Map;

use super::function::lisp;
use super::read::{Input, Key};
use super::ser::{Sparse, Symbol};
use super::threads::load;
use super::{now, with_module};
use crate::error::{Error, Problem};
use crate::events::Millis;
use crate::events::observation::Phase;
use crate::events::stream::{Context, StreamKind, token_context as context_of};
use crate::list::raw::Raw;
use crate::named::Name;
use crate::thread::StreamEvent;

/// The phase and the token type of a call.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct TokenContext {
    phase: Symbol<Option<Phase>>,
    token_type: &'static str,
}

lisp! { env =>
    /// See `todo-write-token-context'.
    fn token_context(call_context: Option<Name>, thinking: bool) -> TokenContext {
        let (phase, token_type) = context_of(call_context.as_deref(), thinking);
        TokenContext { phase: Symbol(phase), token_type }
    }

    /// Add the stream EVENT, a plist as for `todo-write-stream', to THREAD.
    ///
    /// DATA is its `:data'.  The value is (TIME RECORDED . REST): TIME is in milliseconds; RECORDED is t if the event
    /// ended a block of thoughts, which is recorded; REST is a plist with the other properties of the event.
    fn stream(thread: Key, event: StreamEvent, data: Input) -> (Millis, bool, Sparse<Arc<Context>>) {
        let data = match &data.0 {
            Raw::Text(text) => text,
            other if event.kind == StreamKind::Token => {
                return Err(Error::Argument(Problem::new("data", other.describe(), "a string")).into());
            }
            _ => "",
        };
        load(env, &thread, Map::new())?;
        let time = now();
        let (context, recorded) =
            with_module(|module| module.open(&thread).change(|thread| thread.stream(&event, data, time)));
        (time, recorded, Sparse(context))
    }

    /// Add the token DATA to THREAD, with all else as in its last stream event.
    ///
    /// The value is the time in milliseconds, or nil if the list has changed or a block ends.  After
    /// nil, call `todo-write-dyn--stream'.
    fn stream_next(thread: Key, data: String) -> Option<Millis> {
        let taken = with_module(|module| {
            let plan = module.store.get_mut(&thread)?;
            Some(plan.change_in_memory(|thread| thread.stream_next(&data)))
        });
        taken.unwrap_or(false).then(now)
    }
}
