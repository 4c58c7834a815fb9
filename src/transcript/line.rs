//! One line of a transcript, as far as it matters here. What it means is the business of
//! [`super`].
//!
//! Read in one pass that borrows from the line; texts are cut while they are read, so that a
//! line of megabytes costs its reading and no more.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::clock::Millis;
use crate::raw::Raw;

/// A line of type `user` or `assistant`, or one that names the session. Others have the same
/// shape with less in it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line<'a> {
    /// `user`, `assistant`, and a dozen that say nothing about lists.
    #[serde(rename = "type")]
    pub kind: Option<&'a str>,
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
}

/// What was said in a line.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// Names the model's answer, which is spread over a line for each block.
    pub id: Option<&'a str>,
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

/// The beginning of a text: at most so many bytes of it. An array of text blocks counts as the
/// text of its first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt<const BYTES: usize = 8_000>(pub String);

impl<const BYTES: usize> Excerpt<BYTES> {
    fn of(text: &str) -> Self {
        let mut end = text.len().min(BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let more = if end < text.len() { "…" } else { "" };
        Excerpt(format!("{}{more}", &text[..end]))
    }
}

/// Names are kept, and become names of files: a line with a longer one was not written by
/// Claude Code.
const LONGEST_NAME: usize = 200;

impl<'a> Line<'a> {
    /// Reads a line; none where it is not what we know.
    pub fn parse(bytes: &'a [u8]) -> Option<Line<'a>> {
        let line: Line<'_> = serde_json::from_slice(bytes).ok()?;
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

impl<'de, const BYTES: usize> Deserialize<'de> for Excerpt<BYTES> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExcerptVisitor)
    }
}

struct ExcerptVisitor<const BYTES: usize>;

impl<'de, const BYTES: usize> Visitor<'de> for ExcerptVisitor<BYTES> {
    type Value = Excerpt<BYTES>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Excerpt::of(text))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Excerpt::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Excerpt::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Excerpt::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Excerpt::default())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Excerpt::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut first = Excerpt::default();
        while let Some(text) = access.next_element::<Excerpt<BYTES>>()? {
            if first.0.is_empty() {
                first = text;
            }
        }
        Ok(first)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut text = Excerpt::default();
        while let Some(key) = access.next_key::<Excerpt<16>>()? {
            if key.0 == "text" {
                text = access.next_value()?;
            } else {
                access.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

/// Milliseconds since the epoch of a time as in `2026-01-31T12:00:00.123Z`.
pub fn millis(time: &str) -> Option<Millis> {
    let number = |from: usize, to: usize| {
        let digits = time.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok())?
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !time.ends_with('Z') || year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let milli = match time.get(19..20)? {
        "." => number(20, 23)
            .or_else(|| number(20, 22).map(|n| n * 10))
            .or_else(|| number(20, 21).map(|n| n * 100))?,
        _ => 0,
    };
    // Days from the civil date, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000 + milli)
}

/// The arguments of a call, short enough to be kept: long texts are cut, and so is what is
/// many or deep.
pub fn shortened(input: &Raw<'_>) -> Value {
    shorten(input, 4)
}

fn shorten(raw: &Raw<'_>, depth: usize) -> Value {
    match raw {
        Raw::Text(text) => Value::String(Excerpt::<400>::of(text).0),
        Raw::List(_) | Raw::Object(_) if depth == 0 => Value::String("…".into()),
        Raw::List(values) => values.iter().take(10).map(|value| shorten(value, depth - 1)).collect(),
        Raw::Object(fields) => {
            let field = |(key, value): &(Cow<'_, str>, Raw<'_>)| {
                (Excerpt::<100>::of(key).0, shorten(value, depth - 1))
            };
            fields.iter().take(10).map(field).collect::<Map<_, _>>().into()
        }
        other => other.to_json(),
    }
}
