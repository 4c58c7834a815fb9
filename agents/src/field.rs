//! Values in the lines of all agents: excerpts of texts, titles, times and arguments of calls.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use todo_write::events::Millis;
use todo_write::list::raw::Raw;
use todo_write::text::{beginning, excerpt};
use todo_write::wire::bounds::CALL;

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
        let json = <&RawValue>::deserialize(deserializer)?.get();
        joined(json, BYTES, DEEPEST_BLOCK).map(Excerpt).map_err(D::Error::custom)
    }
}

/// How deep blocks of texts may be nested.
const DEEPEST_BLOCK: usize = 8;

/// A block of text. Its other fields are skipped, whatever they are.
#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// The beginning of a text or of the texts of blocks, at most `most` bytes long.
fn joined(json: &str, most: usize, depth: usize) -> serde_json::Result<String> {
    let mut texts = String::new();
    match json.as_bytes()[0] {
        b'"' => texts = serde_json::from_str(json)?,
        b'{' if depth > 0 => {
            let block: TextBlock<'_> = serde_json::from_str(json)?;
            return block.text.map_or(Ok(texts), |text| joined(text.get(), most, depth - 1));
        }
        b'[' if depth > 0 => {
            for block in serde_json::from_str::<Vec<&RawValue>>(json)? {
                let text = joined(block.get(), most, depth - 1)?;
                if texts.len() < most && !text.is_empty() {
                    let is_apart = texts.is_empty() || texts.ends_with('\n');
                    texts.push_str(if is_apart { "" } else { "\n" });
                    texts.push_str(&text);
                }
            }
        }
        _ => {}
    }
    Ok(beginning(&texts, most))
}

/// How deep in a line parts are tried: down to the fields of a block of a message.
const DEEPEST_TRIED: usize = 5;

/// The parts of an object that can be read, where the whole cannot; `None` if it is no JSON. A field or an
/// element of another type than expected is left out. Texts are written without needless escapes.
pub(crate) fn readable_part(bytes: &[u8], is_readable: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    // Each of its parts is tried.
    if bytes.len() > CALL {
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

/// Whether a text can be the id of a session, a subagent or a call. It is one name of a file, too.
pub fn is_id(id: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !id.is_empty() && id.len() <= 200 && !id.starts_with('.') && id.chars().all(is_allowed)
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

/// Maximum number of bytes of what is shown of a text.
pub(crate) const LONGEST: usize = 8_000;

/// The text in a field of an object, an empty one if there is none.
pub(crate) fn text<'r>(object: &'r Raw<'_>, key: &str) -> &'r str {
    object.get(key).and_then(Raw::as_str).unwrap_or_default()
}

/// Whether the fields of an object with these names are texts, as far as it has them.
pub(crate) fn has_texts(object: &Raw<'_>, names: &[&str]) -> bool {
    names.iter().all(|name| matches!(object.get(name), None | Some(Raw::Null | Raw::Text(_))))
}

/// The beginning of a text, or of the texts of blocks, joined by line feeds, at most `most` bytes long.
pub(crate) fn texts(raw: Option<&Raw<'_>>, most: usize) -> String {
    let mut all = String::new();
    match raw {
        Some(Raw::Text(text)) => return beginning(text, most),
        Some(block @ Raw::Object(_)) => return texts(block.get("text"), most),
        Some(Raw::List(blocks)) => {
            for text in blocks.iter().map(|block| texts(Some(block), most)).filter(|text| !text.is_empty()) {
                if all.len() < most {
                    let is_apart = all.is_empty() || all.ends_with('\n');
                    all.push_str(if is_apart { "" } else { "\n" });
                    all.push_str(&text);
                }
            }
        }
        _ => {}
    }
    beginning(&all, most)
}

/// The number in a field of an object.
pub(crate) fn number(object: &Raw<'_>, key: &str) -> Option<u64> {
    object.get(key)?.to_json().as_u64()
}

pub(crate) fn count(object: &Raw<'_>, key: &str) -> u64 {
    number(object, key).unwrap_or(0)
}

pub(crate) fn is_true(object: &Raw<'_>, key: &str) -> bool {
    matches!(object.get(key), Some(Raw::Bool(true)))
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
        other => other.to_json(),
    }
}
