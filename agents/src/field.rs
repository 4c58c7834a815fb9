//! Values in the lines of all agents: excerpts of texts, titles, times and arguments of calls.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value};

use todo_write::events::Millis;
use todo_write::list::raw::Raw;
use todo_write::text::{beginning, excerpt};

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

/// Parses a line; `None` if it is no object. `whole` holds one that is damaged within its texts.
pub(crate) fn parse<'l>(line: &'l [u8], whole: &'l mut Vec<u8>) -> Option<Raw<'l>> {
    let parsed = serde_json::from_slice(line).ok().or_else(|| {
        *whole = repaired(line);
        serde_json::from_slice(whole).ok()
    });
    parsed.filter(|line| matches!(line, Raw::Object(_)))
}

/// A line with U+FFFD for what is no UTF-8, and for half a surrogate pair: programs cut texts within a character.
fn repaired(line: &[u8]) -> Vec<u8> {
    let (mut line, mut at) = (String::from_utf8_lossy(line).into_owned().into_bytes(), 0);
    while let Some(found) = memchr::memchr(b'\\', &line[at..]) {
        at += found;
        let unit = |at: usize| {
            let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
            u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
        };
        at += match (unit(at), unit(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                line[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            _ => 2,
        }
        .min(line.len() - at);
    }
    line
}

/// Maximum number of bytes of what is shown of a text, and of the output of a call.
pub(crate) const LONGEST: usize = 8_000;
pub(crate) const LONGEST_OUTPUT: usize = 2_000;

/// The text in a field of an object, empty without one.
pub(crate) fn text<'r>(object: &'r Raw<'_>, key: &str) -> &'r str {
    object.get(key).and_then(Raw::as_str).unwrap_or_default()
}

/// The name of a folder in a field of an object, empty without one.
pub(crate) fn folder(object: &Raw<'_>, key: &str) -> String {
    beginning(text(object, key), 4_096)
}

/// Whether the fields of an object with these names have the right type, as far as there are any.
pub(crate) fn has(object: &Raw<'_>, names: &[&str], is_right: impl Fn(&Raw<'_>) -> bool) -> bool {
    let fields = names.iter().filter_map(|name| object.get(name));
    fields.into_iter().all(|field| *field == Raw::Null || is_right(field))
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
        Raw::Text(text) => Value::String(beginning(text, 400)),
        Raw::List(_) | Raw::Object(_) if depth == 0 => Value::String("…".into()),
        Raw::List(values) => values.iter().take(10).map(|value| shorten(value, depth - 1)).collect(),
        Raw::Object(fields) => {
            let field =
                |(key, value): &(Cow<'_, str>, Raw<'_>)| (beginning(key, 100), shorten(value, depth - 1));
            fields.iter().take(10).map(field).collect::<Map<_, _>>().into()
        }
        // JSON text has no other values.
        other => other.to_json(),
    }
}
