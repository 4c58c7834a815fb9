//! Values in the lines of all agents: excerpts of texts, titles, times and arguments of calls.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::events::Millis;
use crate::list::raw::Raw;
use crate::text::{beginning, excerpt};

/// The beginning of a text, at most `BYTES` long. The texts of an array of blocks are joined by
/// line feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt<const BYTES: usize = 8_000>(pub String);

impl<const BYTES: usize> Excerpt<BYTES> {
    /// The excerpt of a text.
    pub fn of(text: &str) -> Self {
        Excerpt(beginning(text, BYTES))
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
        let mut texts = String::new();
        while let Some(text) = access.next_element::<Excerpt<BYTES>>()? {
            if texts.len() < BYTES && !text.0.is_empty() {
                let is_apart = texts.is_empty() || texts.ends_with('\n');
                texts.push_str(if is_apart { "" } else { "\n" });
                texts.push_str(&text.0);
            }
        }
        Ok(Excerpt::of(&texts))
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

/// The longest line of which a part is read if the whole cannot be, in bytes: each of its parts is tried.
const LONGEST_TRIED: usize = 1024 * 1024;
/// How deep in a line parts are tried: down to the fields of a block of a message.
const DEEPEST_TRIED: usize = 5;

/// The parts of an object that can be read, where the whole cannot; `None` if it is no JSON. A field or an
/// element of another type than expected is left out. Texts are written without needless escapes.
pub(crate) fn readable_part(bytes: &[u8], is_readable: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    if bytes.len() > LONGEST_TRIED {
        return None;
    }
    let value = Value::deserialize(&mut serde_json::Deserializer::from_slice(bytes)).ok()?;
    let is_readable = |value: &Value| is_readable(value.to_string().as_bytes());
    readable(value, DEEPEST_TRIED, &is_readable).map(|part| part.to_string().into_bytes())
}

fn readable(value: Value, depth: usize, is_readable: &dyn Fn(&Value) -> bool) -> Option<Value> {
    if is_readable(&value) {
        return Some(value);
    }
    let depth = depth.checked_sub(1)?;
    let part = match value {
        Value::Object(fields) => {
            let field = |(key, value): (String, Value)| {
                let alone =
                    |value: &Value| is_readable(&Map::from_iter([(key.clone(), value.clone())]).into());
                Some((key.clone(), readable(value, depth, &alone)?))
            };
            Value::Object(fields.into_iter().filter_map(field).collect())
        }
        Value::Array(values) => {
            let alone = |value: &Value| is_readable(&vec![value.clone()].into());
            values.into_iter().filter_map(|value| readable(value, depth, &alone)).collect()
        }
        _ => return None,
    };
    Some(part).filter(|part| is_readable(part))
}

/// Parses a time such as `2026-01-31T12:00:00.123Z` as milliseconds since the epoch.
pub fn millis(time: &str) -> Option<Millis> {
    // Transcripts have no other zone.
    let time: Timestamp = time.parse().ok().filter(|_| time.ends_with('Z'))?;
    time.as_millisecond().try_into().ok()
}

/// The title of a session that begins with a prompt; `None` for a bare command such as `/clear`.
pub fn title(prompt: &str) -> Option<String> {
    if prompt.starts_with('/') && !prompt.contains(char::is_whitespace) {
        return None;
    }
    let plan = prompt.strip_prefix("Implement the following plan:").map(str::trim_start);
    let Some(plan) = plan else { return Some(excerpt(prompt, 80)) };
    let heading = plan.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let heading = heading.strip_prefix("Plan:").unwrap_or(heading).trim();
    (!heading.is_empty()).then(|| excerpt(heading, 80))
}

/// The arguments of a call, without most of long texts, long lists and deep nesting.
pub(crate) fn shortened(input: &Raw<'_>) -> Value {
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
        // JSON text has no other values.
        other => other.to_json().unwrap_or_default(),
    }
}
