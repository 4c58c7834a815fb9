//! The lines of a transcript, objects with a `type` such as `user`, `assistant` or `system`. [`super`] interprets them.

use crate::field::{self, LONGEST, count, has, is_true, number, text};
use todo_write::events::session::{Goal, GoalState};
use todo_write::events::work::Tokens;
use todo_write::list::raw::Raw;
use todo_write::text::beginning;
use todo_write::wire::bounds::SMALL_FILE;

/// Ids become names of files. Claude Code writes none longer than this.
const LONGEST_ID: usize = 200;

/// Parses a line; `None` if it is no object, or has ids that are too long. As [`field::parse`].
pub(crate) fn parse<'l>(bytes: &'l [u8], whole: &'l mut Vec<u8>) -> Option<Raw<'l>> {
    let line = field::parse(bytes, whole)?;
    let ids = ["uuid", "parentUuid", "sessionId", "agentId"].map(|id| text(&line, id));
    let are_short = ids.iter().chain([&text(message(&line), "id")]).all(|id| id.len() <= LONGEST_ID);
    are_short.then_some(line)
}

/// Whether the fields that nothing is read without have the types that are known.
pub(crate) fn is_known(line: &Raw<'_>) -> bool {
    let is_text = |value: &Raw<'_>| matches!(value, Raw::Text(_));
    let is_block = |block: &Raw<'_>| {
        is_text(block)
            || matches!(block, Raw::Object(_)) && has(block, &["type", "id", "name", "tool_use_id"], is_text)
    };
    has(line, &["type", "uuid", "parentUuid", "sessionId", "agentId", "timestamp"], is_text)
        && has(line, &["isSidechain", "isMeta", "isCompactSummary"], |value| matches!(value, Raw::Bool(_)))
        && has(message(line), &["id", "model", "stop_reason"], is_text)
        && blocks(message(line)).iter().all(is_block)
}

/// The message of a line, null if it has none.
pub(crate) fn message<'l>(line: &'l Raw<'l>) -> &'l Raw<'l> {
    line.get("message").filter(|message| matches!(message, Raw::Object(_))).unwrap_or(&Raw::Null)
}

/// The blocks of a message. Plain text counts as one.
pub(crate) fn blocks<'m>(message: &'m Raw<'m>) -> &'m [Raw<'m>] {
    match message.get("content") {
        Some(Raw::List(blocks)) => blocks,
        Some(text @ Raw::Text(_)) => std::slice::from_ref(text),
        _ => &[],
    }
}

/// The type of a block.
pub(crate) fn kind<'b>(block: &'b Raw<'b>) -> &'b str {
    if block.as_str().is_some() { "text" } else { text(block, "type") }
}

/// The beginning of a block's text without what Claude Code put before it, which may be long.
pub(crate) fn text_of(block: &Raw<'_>) -> String {
    beginning(without_added(block.as_str().unwrap_or(text(block, "text"))), LONGEST)
}

/// The texts of a message's blocks, each on lines of its own.
pub(crate) fn all_text(message: &Raw<'_>) -> String {
    let texts = blocks(message).iter().filter(|block| kind(block) == "text").map(text_of);
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Whether a model may have written a message, not Claude Code itself.
pub(crate) fn is_of_model(message: &Raw<'_>) -> bool {
    text(message, "model") != "<synthetic>"
}

/// Whether the user may have sent the message of a line: Claude Code did not write it, it does not summarize a
/// conversation that became too long, and the model reads it.
pub(crate) fn is_of_user(line: &Raw<'_>) -> bool {
    let marks = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"];
    let sender = line.get("origin").map_or("", |origin| text(origin, "kind"));
    !marks.iter().any(|mark| is_true(line, mark))
        && matches!(sender, "" | "human")
        && text(line, "promptSource") != "system"
}

/// The goal that an attachment tells, after `before`: its `condition`, and whether it is `met` or has `failed`. It is a
/// `sentinel` if the user has just set it or, if it is met, taken it back. Only the last status of a goal has the number
/// of tries, its `iterations`.
pub(crate) fn goal(attachment: &Raw<'_>, before: Option<&Goal>) -> Option<Goal> {
    let condition = text(attachment, "condition");
    let Some(Raw::Bool(is_met)) = attachment.get("met") else { return None };
    let is_short = condition.len() <= SMALL_FILE;
    if text(attachment, "type") != "goal_status" || condition.trim().is_empty() || !is_short {
        return None;
    }
    let is_of_user = is_true(attachment, "sentinel");
    let state = match (is_met, is_true(attachment, "failed")) {
        (true, _) if is_of_user => GoalState::Cleared,
        (true, _) => GoalState::Met,
        (false, true) => GoalState::Failed,
        (false, false) => GoalState::Active,
    };
    let goal = Goal::new(condition, state, attachment.get("reason").and_then(Raw::as_str), 0);
    let so_far = before.filter(|before| before.text == goal.text).map_or(0, |before| before.tries);
    let tries = number(attachment, "iterations").unwrap_or(so_far.saturating_add(1));
    Some(Goal { tries: if is_of_user { 0 } else { tries }, ..goal })
}

/// The tokens in the figures of an answer.
pub(crate) fn tokens(usage: &Raw<'_>) -> Tokens {
    Tokens {
        input: count(usage, "input_tokens"),
        output: count(usage, "output_tokens"),
        cache_read: count(usage, "cache_read_input_tokens"),
        cache_write: count(usage, "cache_creation_input_tokens"),
    }
}

/// The text between the first `<tag>` and its end.
pub(crate) fn tagged<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
}

/// Elements that Claude Code and its extensions put before what the user wrote.
const ADDED: [&str; 4] = ["ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder"];

/// A text without the elements of [`ADDED`] at its beginning.
pub(super) fn without_added(text: &str) -> &str {
    let mut text = text;
    while let Some(rest) = ADDED.iter().find_map(|name| after_element(text.trim_start(), name)) {
        text = rest;
    }
    text
}

/// What follows an element, if a text begins with it.
fn after_element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = text.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
    rest.split_once(&format!("</{name}>")).map(|(_, rest)| rest)
}
