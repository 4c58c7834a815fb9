//! The parts of a transcript line that matter here. [`super`] interprets them.
//!
//! Parsing borrows from the line and cuts long texts, so that a line of megabytes allocates little.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::commands::{CommandDiff, PatchHunk};
use crate::field::{Excerpt, count, readable_part};
use todo_write::events::session::{Goal, GoalState};
use todo_write::events::work::Tokens;
use todo_write::list::raw::Raw;
use todo_write::wire::bounds::SMALL_FILE;

/// A line of any type; each type has its own fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TranscriptLine<'a> {
    /// `user`, `assistant`, `system` or another type.
    #[serde(rename = "type")]
    pub kind: Option<&'a str>,
    /// `system`: what kind of message.
    pub subtype: Option<&'a str>,
    /// `turn_duration`: the number of subagents that still run.
    pub pending_background_agent_count: Option<u32>,
    /// The interface: `cli` for the terminal's.
    pub entrypoint: Option<&'a str>,
    pub uuid: Option<&'a str>,
    /// The id of the line that this one follows.
    pub parent_uuid: Option<&'a str>,
    /// The id of the session; in a subagent's line, of the session that started the subagent.
    pub session_id: Option<&'a str>,
    /// The id of the subagent, in versions that give it a file of its own.
    pub agent_id: Option<&'a str>,
    /// `assistant`: the session that sent the request. In the lines that a fork copies, that is the
    /// session from which it was forked.
    pub request_session_id: Option<&'a str>,
    /// RFC 3339.
    pub timestamp: Option<&'a str>,
    pub version: Option<Excerpt<40>>,
    /// The request that the model's answer belongs to.
    pub request_id: Option<Excerpt<200>>,
    pub is_sidechain: Option<bool>,
    /// `user`: whether Claude Code wrote the message, not the user.
    pub is_meta: Option<bool>,
    /// `user`: whether the message summarizes a conversation that became too long.
    pub is_compact_summary: Option<bool>,
    /// `user`: whether the model does not read the message.
    pub is_visible_in_transcript_only: Option<bool>,
    /// `user`: who sent the message; its `kind` is `human` for the user.
    pub origin: Option<Raw<'a>>,
    /// `user`: `typed` or `queued` for a prompt of the user, `system` for others.
    pub prompt_source: Option<Excerpt<20>>,
    pub cwd: Option<Excerpt<4096>>,
    /// `relocated`: the folder to which the session moved, and its transcript with it.
    pub relocated_cwd: Option<Excerpt<4096>>,
    /// The session's title, by the user.
    pub custom_title: Option<Excerpt<200>>,
    /// The session's title, by a model.
    pub ai_title: Option<Excerpt<200>>,
    /// `attachment`: what it is, which may be long; see [`goal`].
    #[serde(borrow)]
    pub attachment: Option<&'a RawValue>,
    /// `cost-state`: what the session cost so far, in US dollars.
    #[serde(rename = "totalCostUSD")]
    pub total_cost: Option<f64>,
    pub message: Option<Message<'a>>,
    /// `assistant`: whether the message is Claude Code's report of a failed request.
    pub is_api_error_message: Option<bool>,
    /// `result`: the last answer, or the error.
    pub result: Option<Excerpt<1_000>>,
    #[serde(rename = "is_error")]
    pub is_error: Option<bool>,
    pub tool_denial_kind: Option<Excerpt<40>>,
    /// `user`: the tool's result as Claude Code itself keeps it; see [`ToolUseResult`].
    #[serde(borrow)]
    pub tool_use_result: Option<&'a RawValue>,
}

/// The goal that an attachment tells, after `before`: its `condition`, and whether it is `met` or has `failed`. It is a
/// `sentinel` if the user has just set it or, if it is met, taken it back. Only the last status of a goal has the number
/// of tries, its `iterations`.
pub(crate) fn goal(attachment: &RawValue, before: Option<&Goal>) -> Option<Goal> {
    let text = attachment.get();
    if text.len() > SMALL_FILE || !text.contains("\"goal_status\"") {
        return None;
    }
    let status: Value = serde_json::from_str(text).ok()?;
    let condition = status["condition"].as_str().filter(|text| !text.trim().is_empty())?;
    let is_met = status["met"].as_bool().filter(|_| status["type"] == "goal_status")?;
    let is_of_user = status["sentinel"] == true;
    let state = match (is_met, status["failed"] == true) {
        (true, _) if is_of_user => GoalState::Cleared,
        (true, _) => GoalState::Met,
        (false, true) => GoalState::Failed,
        (false, false) => GoalState::Active,
    };
    let goal = Goal::new(condition, state, status["reason"].as_str(), 0);
    let so_far = before.filter(|before| before.text == goal.text).map_or(0, |before| before.tries);
    let tries = status["iterations"].as_u64().unwrap_or(so_far.saturating_add(1));
    Some(Goal { tries: if is_of_user { 0 } else { tries }, ..goal })
}

#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    /// The id of the model's answer, which has a line for each of its blocks.
    pub id: Option<&'a str>,
    /// `end_turn` at the end of a turn.
    pub stop_reason: Option<&'a str>,
    pub model: Option<Excerpt<100>>,
    /// The tokens of the answer so far.
    #[serde(borrow)]
    pub usage: Option<Raw<'a>>,
    /// The blocks. Plain text counts as one.
    #[serde(borrow, default)]
    pub content: Blocks<'a>,
}

/// In place of a model where Claude Code itself answers.
const SYNTHETIC: &str = "<synthetic>";

impl Message<'_> {
    /// Whether a model may have written it, not Claude Code itself.
    pub(crate) fn is_of_model(&self) -> bool {
        self.model.as_ref().is_none_or(|model| model.0 != SYNTHETIC)
    }

    /// The texts of its blocks, each on lines of its own.
    pub(crate) fn text(&self) -> String {
        let blocks = self.content.0.iter().filter(|block| block.kind == Some("text"));
        let texts = blocks.filter_map(|block| Some(block.text.as_ref()?.0.as_str()));
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
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

/// A block of any type; each type has its own fields.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Block<'a> {
    /// `text`, `thinking`, `tool_use`, `tool_result`, ….
    #[serde(rename = "type")]
    pub kind: Option<&'a str>,
    pub text: Option<BlockText>,
    pub thinking: Option<Excerpt>,
    pub id: Option<&'a str>,
    pub name: Option<&'a str>,
    #[serde(borrow)]
    pub input: Option<Raw<'a>>,
    pub tool_use_id: Option<&'a str>,
    /// `tool_result`: whether the call was refused or failed.
    pub is_error: Option<bool>,
    /// `tool_result`: the answer to the model.
    pub content: Option<Excerpt<2_000>>,
}

/// The blocks of a message.
#[derive(Debug, Default)]
pub(crate) struct Blocks<'a>(pub Vec<Block<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Blocks<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let content = <&RawValue>::deserialize(deserializer)?.get();
        if content.starts_with('"') {
            let text = Some(serde_json::from_str(content).map_err(D::Error::custom)?);
            return Ok(Blocks(vec![Block { kind: Some("text"), text, ..Block::default() }]));
        }
        let blocks: Option<_> = serde_json::from_str(content).map_err(D::Error::custom)?;
        Ok(Blocks(blocks.unwrap_or_default()))
    }
}

/// The beginning of a text without what Claude Code put before it, which may be long.
#[derive(Debug, Default)]
pub(crate) struct BlockText(pub String);

impl<'de> Deserialize<'de> for BlockText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        Ok(BlockText(Excerpt::<8_000>::of(without_added(raw.as_str().unwrap_or_default())).0))
    }
}

/// Ids become names of files. Claude Code writes none longer than this.
const LONGEST_ID: usize = 200;

impl<'a> TranscriptLine<'a> {
    /// Whether the user may have sent the message of this line.
    pub(crate) fn is_of_user(&self) -> bool {
        let sender = self.origin.as_ref().and_then(|origin| origin.get("kind")?.as_str());
        let is_marked =
            [self.is_meta, self.is_compact_summary, self.is_visible_in_transcript_only].contains(&Some(true));
        !is_marked
            && sender.is_none_or(|kind| kind == "human")
            && self.prompt_source.as_ref().is_none_or(|source| source.0 != "system")
    }

    /// Parses a line; `None` if it has another form.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<TranscriptLine<'a>> {
        // Ignores what follows the first value: a line without its line feed is read as soon as
        // its value is complete.
        let line = TranscriptLine::deserialize(&mut serde_json::Deserializer::from_slice(bytes)).ok()?;
        let message = line.message.as_ref().and_then(|message| message.id);
        let ids = [line.uuid, line.parent_uuid, line.session_id, line.agent_id, message];
        let are_short = ids.into_iter().flatten().all(|id| id.len() <= LONGEST_ID);
        are_short.then_some(line)
    }
}

/// The fields of `toolUseResult` that matter here; the others may be large.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolUseResult<'a> {
    /// `Write`: `create` or `update`.
    #[serde(rename = "type", borrow)]
    pub kind: Option<Cow<'a, str>>,
    /// The difference, with tabs shown as spaces.
    #[serde(borrow)]
    pub structured_patch: Option<Vec<PatchHunk<'a>>>,
    #[serde(borrow)]
    pub original_file: Option<Cow<'a, str>>,
    /// The text before the edits of `MultiEdit`.
    #[serde(borrow)]
    pub original_file_contents: Option<Cow<'a, str>>,
    /// `Bash`: whether the user or a limit stopped the command.
    pub interrupted: Option<bool>,
    /// `Bash`: the name of a command that goes on in the background.
    #[serde(borrow)]
    pub background_task_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub bash_edit_diff: Option<CommandDiff<'a>>,
    #[serde(borrow)]
    pub git_operation: Option<Raw<'a>>,
    #[serde(borrow)]
    pub stdout: Option<&'a RawValue>,
    /// `Bash`: why an exit code is no failure.
    #[serde(borrow)]
    pub return_code_interpretation: Option<Cow<'a, str>>,
    /// `Task`: the subagent.
    #[serde(borrow)]
    pub agent_id: Option<Cow<'a, str>>,
    /// `Task`: what the subagent did.
    #[serde(borrow)]
    pub tool_stats: Option<Raw<'a>>,
    /// False if the call changed nothing.
    #[serde(borrow)]
    pub success: Option<Raw<'a>>,
    #[serde(borrow)]
    pub task: Option<Raw<'a>>,
    #[serde(borrow)]
    pub tasks: Option<Raw<'a>>,
    /// `TaskUpdate`: the status before and after.
    #[serde(borrow)]
    pub status_change: Option<Raw<'a>>,
    /// `TodoWrite`: the list.
    #[serde(borrow)]
    pub new_todos: Option<Raw<'a>>,
}

impl<'a> ToolUseResult<'a> {
    /// Parses the fields of an object; those that cannot be read are left out, and `spare` then holds the
    /// others. Some tools have a text or an array instead.
    pub(crate) fn read(result: &'a RawValue, spare: &'a mut Vec<u8>) -> ToolUseResult<'a> {
        if !result.get().starts_with('{') {
            return ToolUseResult::default();
        }
        if let Ok(fields) = serde_json::from_str(result.get()) {
            return fields;
        }
        let is_readable = |part: &[u8]| serde_json::from_slice::<ToolUseResult<'_>>(part).is_ok();
        *spare = readable_part(result.get().as_bytes(), is_readable).unwrap_or_default();
        serde_json::from_slice(spare).unwrap_or_default()
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
