//! One line of a transcript, as far as it matters here. What it means is the business of
//! [`super`].
//!
//! Read in one pass that borrows from the line; texts are cut while they are read, so that a
//! line of megabytes costs its reading and no more.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::raw::Raw;
use crate::transcript::field::Excerpt;

/// A line of type `user` or `assistant`, or one that names the session. Others have the same
/// shape with less in it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line<'a> {
    /// `user`, `assistant`, `system`, and a dozen others.
    #[serde(rename = "type")]
    pub kind: Option<&'a str>,
    /// `system`: what kind of message.
    pub subtype: Option<&'a str>,
    /// The interface: `cli` for the terminal's.
    pub entrypoint: Option<&'a str>,
    /// Names the line.
    pub uuid: Option<&'a str>,
    /// Names the line that this one answers.
    pub parent_uuid: Option<&'a str>,
    /// Names the session; of a subagent's line, the session that sent the subagent out.
    pub session_id: Option<&'a str>,
    /// Names the subagent, in the versions that keep it in a file of its own.
    pub agent_id: Option<&'a str>,
    /// RFC 3339.
    pub timestamp: Option<&'a str>,
    /// Whether a subagent speaks.
    pub is_sidechain: Option<bool>,
    /// Whether no person wrote this user line.
    pub is_meta: Option<bool>,
    /// Whether this user line stands in for a conversation that became too long.
    pub is_compact_summary: Option<bool>,
    /// The folder at work.
    pub cwd: Option<Excerpt<4096>>,
    /// The session's title, as the user gave it.
    pub custom_title: Option<Excerpt<200>>,
    /// The session's title, as a model gave it.
    pub ai_title: Option<Excerpt<200>>,
    /// What was said.
    pub message: Option<Message<'a>>,
    /// `assistant`: whether Claude Code says in place of the model that its request failed.
    pub is_api_error_message: Option<bool>,
    /// `result`: the last answer, or the error.
    pub result: Option<Excerpt<1_000>>,
    /// `result`: whether the turn failed.
    #[serde(rename = "is_error")]
    pub is_error: Option<bool>,
    /// `user`: what the tool returned, as Claude Code keeps it.
    #[serde(borrow)]
    pub tool_use_result: Option<&'a RawValue>,
}

/// What was said in a line.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// Names the model's answer, which is spread over a line for each block.
    pub id: Option<&'a str>,
    /// `end_turn` where the model ends its turn.
    pub stop_reason: Option<&'a str>,
    /// A text, or blocks; see [`Message::blocks`].
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
}

/// One block, whatever its type: each type has its own fields.
#[derive(Debug, Default, Deserialize)]
pub struct Block<'a> {
    /// `text`, `thinking`, `tool_use`, `tool_result`, ….
    #[serde(rename = "type")]
    pub kind: Option<&'a str>,
    /// `text`: what was said.
    pub text: Option<Excerpt>,
    /// `thinking`: what was thought.
    pub thinking: Option<Excerpt>,
    /// `tool_use`: names the call.
    pub id: Option<&'a str>,
    /// `tool_use`: the tool.
    pub name: Option<&'a str>,
    /// `tool_use`: the arguments.
    #[serde(borrow)]
    pub input: Option<Raw<'a>>,
    /// `tool_result`: the call it answers.
    pub tool_use_id: Option<&'a str>,
    /// `tool_result`: whether the call was refused or failed.
    pub is_error: Option<bool>,
    /// `tool_result`: what the tool said.
    pub content: Option<Excerpt<2_000>>,
}

/// Names are kept, and become names of files: a line with a longer one was not written by
/// Claude Code.
const LONGEST_NAME: usize = 200;

impl<'a> Line<'a> {
    /// Reads a line; none where it is not what we know.
    pub fn parse(bytes: &'a [u8]) -> Option<Line<'a>> {
        // The first value counts, whatever stands behind it: a line that is not ended yet was
        // taken when its value was whole.
        let line = Line::deserialize(&mut serde_json::Deserializer::from_slice(bytes)).ok()?;
        let names = [line.uuid, line.parent_uuid, line.session_id, line.agent_id];
        let message = line.message.as_ref().and_then(|message| message.id);
        let are_short = names.into_iter().chain([message]).flatten().all(|name| name.len() <= LONGEST_NAME);
        are_short.then_some(line)
    }
}

impl<'a> Message<'a> {
    /// Its blocks; plain text counts as one.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        let Some(content) = self.content.map(RawValue::get) else { return Vec::new() };
        if content.starts_with('[') {
            return serde_json::from_str(content).unwrap_or_default();
        }
        let text = serde_json::from_str(content).ok();
        vec![Block { kind: Some("text"), text, ..Block::default() }]
    }
}

/// The fields of `toolUseResult` that matter here. The others may be large.
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
    /// Reads the fields of an object; some tools have a text or an array.
    pub fn read(result: &'a RawValue) -> ToolUseResult<'a> {
        let fields = Some(result.get()).filter(|text| text.starts_with('{'));
        fields.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}
