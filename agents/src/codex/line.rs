//! The lines of a rollout: objects with a `timestamp`, a `type` such as `session_meta`, `event_msg` or `response_item`,
//! and a `payload`, whose fields depend on that and on a `type` of its own.

use crate::field::{count, has, text};
use todo_write::events::session::{Goal, GoalState};
use todo_write::events::work::Tokens;
use todo_write::list::raw::Raw;

pub(crate) fn payload<'l>(line: &'l Raw<'l>) -> &'l Raw<'l> {
    line.get("payload").unwrap_or(&Raw::Null)
}

/// Whether the fields that nothing is read without have the types that are known.
pub(crate) fn is_known(line: &Raw<'_>) -> bool {
    let payload = payload(line);
    let is_text = |value: &Raw<'_>| matches!(value, Raw::Text(_));
    has(line, &["timestamp", "type"], is_text)
        && has(payload, &["type", "id", "call_id", "name", "arguments"], is_text)
}

/// The id of the call or item of a line, if it has one.
pub(crate) fn item_name<'l>(line: &'l Raw<'l>) -> &'l str {
    let of = |key| text(payload(line), key);
    if of("call_id").is_empty() { of("id") } else { of("call_id") }
}

/// Whether a file that begins with this line is a rollout.
pub(crate) fn is_first(bytes: &[u8]) -> bool {
    memchr::memmem::find(&bytes[..bytes.len().min(200)], b"\"session_meta\"").is_some()
}

/// Whether a session whose first line has this payload is a reviewer's, which names the session that it reviews, or a
/// subagent's, whose source is an object.
pub(crate) fn is_subagent(meta: &Raw<'_>) -> bool {
    !text(meta, "parent_thread_id").is_empty() || matches!(meta.get("source"), Some(Raw::Object(_)))
}

/// The goal that a line tells, by its `objective` and `status`: `active`, `paused`, `complete`, `blocked` or a limit.
pub(crate) fn goal(told: &Raw<'_>) -> Option<Goal> {
    let (state, reason) = goal_state(told.get("status")?.as_str()?)?;
    let text = told.get("objective")?.as_str().filter(|text| !text.is_empty())?;
    Some(Goal::new(text, state, reason, 0))
}

/// The state of a goal with this status, and why it is in it.
pub(crate) fn goal_state(status: &str) -> Option<(GoalState, Option<&'static str>)> {
    Some(match status {
        "active" => (GoalState::Active, None),
        "complete" => (GoalState::Met, None),
        "paused" => (GoalState::Paused, None),
        "blocked" => (GoalState::Failed, Some("the agent is blocked")),
        "usageLimited" => (GoalState::Paused, Some("the usage limit is reached")),
        "budgetLimited" => (GoalState::Paused, Some("its budget is spent")),
        _ => return None,
    })
}

/// The tokens that a line tells, where cached ones are part of the input.
pub(crate) fn tokens(told: &Raw<'_>) -> Option<Tokens> {
    let [cache_read, cache_write] =
        ["cached_input_tokens", "cache_write_input_tokens"].map(|key| count(told, key));
    let cached = cache_read.saturating_add(cache_write);
    matches!(told, Raw::Object(_)).then(|| Tokens {
        input: count(told, "input_tokens").saturating_sub(cached),
        output: count(told, "output_tokens"),
        cache_read,
        cache_write,
    })
}
