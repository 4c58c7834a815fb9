//! The parts of a transcript line that matter here. [`super`] interprets them.
//!
//! Parsing borrows from the line and cuts long texts, so that a line of megabytes allocates little.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::raw::Raw;
use crate::transcript::field::Excerpt;

/// A line of any type; each type has its own fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptLine<'a> {
    /// `user`, `assistant`, `system` or another type.
    #[serde(rename = "type")]
    pub kind: Option<&'a str>,
    /// `system`: what kind of message.
    pub subtype: Option<&'a str>,
    /// The interface: `cli` for the terminal's.
    pub entrypoint: Option<&'a str>,
    /// The id of the line.
    pub uuid: Option<&'a str>,
    /// The id of the line that this one follows.
    pub parent_uuid: Option<&'a str>,
    /// The id of the session; in a subagent's line, of the session that started the subagent.
    pub session_id: Option<&'a str>,
    /// The id of the subagent, in versions that give it a file of its own.
    pub agent_id: Option<&'a str>,
    /// RFC 3339.
    pub timestamp: Option<&'a str>,
    /// Whether the line is a subagent's.
    pub is_sidechain: Option<bool>,
    /// `user`: whether Claude Code wrote the message, not the user.
    pub is_meta: Option<bool>,
    /// `user`: whether the message summarizes a conversation that became too long.
    pub is_compact_summary: Option<bool>,
    /// The working directory.
    pub cwd: Option<Excerpt<4096>>,
    /// The session's title, by the user.
    pub custom_title: Option<Excerpt<200>>,
    /// The session's title, by a model.
    pub ai_title: Option<Excerpt<200>>,
    /// The message.
    pub message: Option<Message<'a>>,
    /// `assistant`: whether the message is Claude Code's report of a failed request.
    pub is_api_error_message: Option<bool>,
    /// `result`: the last answer, or the error.
    pub result: Option<Excerpt<1_000>>,
    /// `result`: whether the turn failed.
    #[serde(rename = "is_error")]
    pub is_error: Option<bool>,
    /// `user`: the tool's result as Claude Code itself keeps it; see [`ToolUseResult`].
    #[serde(borrow)]
    pub tool_use_result: Option<&'a RawValue>,
}

/// The message of a line.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// The id of the model's answer, which has a line for each of its blocks.
    pub id: Option<&'a str>,
    /// `end_turn` at the end of a turn.
    pub stop_reason: Option<&'a str>,
    /// A text, or blocks; see [`Message::blocks`].
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
}

/// A block of any type; each type has its own fields.
#[derive(Debug, Default, Deserialize)]
pub struct Block<'a> {
    /// `text`, `thinking`, `tool_use`, `tool_result`, ….
    #[serde(rename = "type")]
    pub kind: Option<&'a str>,
    /// `text`.
    pub text: Option<Excerpt>,
    /// `thinking`.
    pub thinking: Option<Excerpt>,
    /// `tool_use`: the id of the call.
    pub id: Option<&'a str>,
    /// `tool_use`: the tool.
    pub name: Option<&'a str>,
    /// `tool_use`: the arguments.
    #[serde(borrow)]
    pub input: Option<Raw<'a>>,
    /// `tool_result`: the id of the call.
    pub tool_use_id: Option<&'a str>,
    /// `tool_result`: whether the call was refused or failed.
    pub is_error: Option<bool>,
    /// `tool_result`: the answer to the model.
    pub content: Option<Excerpt<2_000>>,
}

/// Ids become names of files. Claude Code writes none longer than this.
const LONGEST_ID: usize = 200;

impl<'a> TranscriptLine<'a> {
    /// Parses a line; `None` if it has another form.
    pub fn parse(bytes: &'a [u8]) -> Option<TranscriptLine<'a>> {
        // Ignores what follows the first value: a line without its line feed is read as soon as
        // its value is complete.
        let line = TranscriptLine::deserialize(&mut serde_json::Deserializer::from_slice(bytes)).ok()?;
        let message = line.message.as_ref().and_then(|message| message.id);
        let ids = [line.uuid, line.parent_uuid, line.session_id, line.agent_id, message];
        let are_short = ids.into_iter().flatten().all(|id| id.len() <= LONGEST_ID);
        are_short.then_some(line)
    }
}

impl<'a> Message<'a> {
    /// The blocks. Plain text counts as one.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        let Some(content) = self.content.map(RawValue::get) else { return Vec::new() };
        if content.starts_with('[') {
            return serde_json::from_str(content).unwrap_or_default();
        }
        let text = serde_json::from_str(content).ok();
        vec![Block { kind: Some("text"), text, ..Block::default() }]
    }
}

/// The fields of `toolUseResult` that matter here; the others may be large.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolUseResult<'a> {
    /// False if the call changed nothing.
    #[serde(borrow)]
    pub success: Option<Raw<'a>>,
    /// `TaskCreate`: the task.
    #[serde(borrow)]
    pub task: Option<Raw<'a>>,
    /// `TaskList`: the tasks.
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
    /// Parses the fields of an object. Some tools have a text or an array instead.
    pub fn read(result: &'a RawValue) -> ToolUseResult<'a> {
        let fields = Some(result.get()).filter(|text| text.starts_with('{'));
        fields.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// The text of a user's prompt, without the markup of Claude Code's own commands; `None` if the
/// message is no prompt.
pub fn prompt(text: &str) -> Option<String> {
    if let Some(command) = tagged(text, "command-name") {
        let arguments = tagged(text, "command-args").unwrap_or_default();
        return Some(format!("{command} {arguments}").trim().to_owned());
    }
    let text = text.trim();
    let own = ["<local-command", "<bash-", "<system-reminder", "<task-notification", "Caveat: "];
    (!text.is_empty() && !own.iter().any(|start| text.starts_with(start))).then(|| text.to_owned())
}

/// The text between the first `<tag>` and its end.
pub fn tagged<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
}
