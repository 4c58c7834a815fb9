//! One line of a transcript, as far as it matters here. What it means is the business of
//! [`super`].
//!
//! Read in one pass that borrows from the line; texts are cut while they are read, so that a
//! line of megabytes costs its reading and no more.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

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
    #[serde(borrow, default)]
    pub tool_use_result: ToolUseResult<'a>,
}

/// The fields of `toolUseResult` that matter here, as an object. The others may be large.
#[derive(Debug)]
pub struct ToolUseResult<'a>(pub Raw<'a>);

/// What was said in a line.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// Names the model's answer, which is spread over a line for each block.
    pub id: Option<&'a str>,
    /// `end_turn` where the model ends its turn.
    pub stop_reason: Option<&'a str>,
    /// Its blocks; plain text counts as one.
    #[serde(borrow, default)]
    pub content: Content<'a>,
}

/// The blocks of a message.
#[derive(Debug, Default)]
pub struct Content<'a>(pub Vec<Block<'a>>);

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

impl Default for ToolUseResult<'_> {
    fn default() -> Self {
        ToolUseResult(Raw::Null)
    }
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

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor(PhantomData))
    }
}

struct ContentVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for ContentVisitor<'a> {
    type Value = Content<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or an array of blocks")
    }

    fn visit_unit<E>(self) -> Result<Content<'a>, E> {
        Ok(Content::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<Content<'a>, E> {
        let text = Some(Excerpt::of(text));
        Ok(Content(vec![Block { kind: Some("text"), text, ..Block::default() }]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Content<'a>, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = access.next_element()? {
            blocks.push(block);
        }
        Ok(Content(blocks))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ToolUseResult<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolUseResultVisitor(PhantomData))
    }
}

struct ToolUseResultVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for ToolUseResultVisitor<'a> {
    type Value = ToolUseResult<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything; only objects count")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        while access.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ToolUseResult::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = access.next_key::<Excerpt<16>>()? {
            match key.0.as_str() {
                "success" | "task" | "tasks" | "statusChange" | "newTodos" => {
                    fields.push((key.0.into(), access.next_value()?));
                }
                _ => drop(access.next_value::<IgnoredAny>()?),
            }
        }
        Ok(ToolUseResult(Raw::Object(fields)))
    }
}
