//! The tool calls whose results were not read yet. A call takes effect with its result.

use std::collections::VecDeque;

use crate::events::push_recent;
use todo_write::events::Millis;
use todo_write::events::policy::Hidden;
use todo_write::text::excerpt;
use todo_write::wire::event::{Effect, EventKind};

/// Maximum number of characters of an id or a name.
const NAME: usize = 200;

/// A call without a result.
#[derive(Debug)]
pub(crate) struct PendingCall<E> {
    pub id: String,
    pub name: String,
    excluded: Option<String>,
    pub time: Option<Millis>,
    /// What the call does if it is accepted.
    pub effect: E,
}

/// The newest calls without a result.
#[derive(Debug)]
pub(crate) struct PendingCalls<E>(VecDeque<PendingCall<E>>);

impl<E> Default for PendingCalls<E> {
    fn default() -> Self {
        PendingCalls(VecDeque::new())
    }
}

impl<E> PendingCalls<E> {
    /// Adds a call; returns its event. Lists have an event of their own, so they pass no `input`.
    /// `hidden` says what is not recorded of the call; then `input` may be dropped.
    pub(super) fn begin(
        &mut self,
        (id, name): (&str, &str),
        (input, hidden): (Option<String>, Option<Hidden>),
        time: Option<Millis>,
        effect: E,
    ) -> EventKind {
        let (id, name) = (excerpt(id, NAME), excerpt(name, NAME));
        let input = input.filter(|_| hidden.as_ref().is_none_or(|hidden| hidden.keeps_input));
        let excluded = hidden.and_then(|hidden| hidden.name);
        let call =
            PendingCall { id: id.clone(), name: name.clone(), excluded: excluded.clone(), time, effect };
        push_recent(&mut self.0, call);
        EventKind::Call { id, name, input, excluded }
    }

    /// Removes and returns the call with this id.
    pub(super) fn end(&mut self, id: &str) -> Option<PendingCall<E>> {
        let id = excerpt(id, NAME);
        let place = self.0.iter().rposition(|call| call.id == id)?;
        self.0.remove(place)
    }

    /// Removes and returns the oldest call whose effect is due.
    pub(crate) fn end_due(&mut self, is_due: impl Fn(&E) -> bool) -> Option<PendingCall<E>> {
        let place = self.0.iter().position(|call| is_due(&call.effect))?;
        self.0.remove(place)
    }
}

/// The event of a result at `time`; the call may be unknown.
pub(super) fn result<E>(
    call: Option<&PendingCall<E>>,
    id: &str,
    content: String,
    is_error: bool,
    time: Option<Millis>,
    effect: Effect,
) -> EventKind {
    let name = call.map(|call| call.name.clone()).unwrap_or_default();
    let duration = time.zip(call.and_then(|call| call.time)).map(|(end, start)| end.saturating_sub(start));
    let excluded = call.and_then(|call| call.excluded.clone());
    EventKind::Result { id: excerpt(id, NAME), name, content, excluded, is_error, duration, effect }
}
