//! The parts of a rollout line that matter here.

use std::borrow::Cow;

use serde::Deserialize;

use crate::raw::Raw;
use crate::transcript::field::Excerpt;

/// A line of any type; the payload has its contents.
#[derive(Debug, Deserialize)]
pub struct RolloutLine<'a> {
    /// RFC 3339.
    pub timestamp: Option<Excerpt<40>>,
    /// `session_meta`, `event_msg`, `response_item` or another type.
    #[serde(rename = "type")]
    pub kind: Excerpt<40>,
    /// The contents.
    #[serde(borrow)]
    pub payload: Payload<'a>,
}

/// The payload of a line; each type has its own fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Payload<'a> {
    /// The type of an event or of an item.
    #[serde(rename = "type")]
    pub kind: Option<Excerpt<40>>,
    /// `session_meta`: the id of the session. Items: the id of the item.
    pub id: Option<Excerpt<190>>,
    /// `session_meta`: the working directory.
    pub cwd: Option<Excerpt<4096>>,
    /// `session_meta`: the id of the session that this one reviews.
    pub parent_thread_id: Option<Excerpt<200>>,
    /// `session_meta`: an object for a subagent, a word for others.
    #[serde(borrow)]
    pub source: Option<Raw<'a>>,
    /// Calls and outputs: the id of the call.
    pub call_id: Option<Excerpt<190>>,
    /// Calls: the tool.
    pub name: Option<Excerpt<190>>,
    /// Calls: the server of the tool.
    pub namespace: Option<Excerpt<190>>,
    /// `function_call`: JSON.
    #[serde(borrow)]
    pub arguments: Option<Cow<'a, str>>,
    /// `custom_tool_call`: text in the tool's own format.
    #[serde(borrow)]
    pub input: Option<Cow<'a, str>>,
    /// Outputs: a text, or items of text.
    pub output: Option<Excerpt<2_000>>,
    /// `reasoning`.
    pub summary: Option<Excerpt>,
    /// `user_message`, `error`.
    pub message: Option<Excerpt>,
    /// `task_complete`: the answer.
    pub last_agent_message: Option<Excerpt<100>>,
    /// `turn_aborted`: `interrupted` or another reason.
    pub reason: Option<Excerpt<40>>,
    /// `thread_name_updated`.
    pub thread_name: Option<Excerpt>,
    /// `item_completed`.
    pub item: Option<CompletedItem>,
}

/// The item of `item_completed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CompletedItem {
    /// `UserMessage` and others.
    #[serde(rename = "type")]
    pub kind: Option<Excerpt<40>>,
    /// `UserMessage`: items of text.
    pub content: Option<Excerpt>,
}

impl Payload<'_> {
    /// `session_meta`: whether the session is a reviewer's or a subagent's.
    pub fn is_subagent(&self) -> bool {
        self.parent_thread_id.is_some() || matches!(self.source, Some(Raw::Object(_)))
    }
}

impl<'a> RolloutLine<'a> {
    /// Parses a line; `None` if it has another form.
    pub fn parse(bytes: &'a [u8]) -> Option<RolloutLine<'a>> {
        // Ignores what follows the first value, as for a line of Claude Code.
        RolloutLine::deserialize(&mut serde_json::Deserializer::from_slice(bytes)).ok()
    }

    /// Whether a file that begins with this line is a rollout.
    pub fn is_first(bytes: &[u8]) -> bool {
        let start = &bytes[..bytes.len().min(200)];
        start.windows(14).any(|window| window == b"\"session_meta\"")
    }
}
