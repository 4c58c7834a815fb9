//! Values in the lines of all agents: excerpts of texts, times and arguments of calls.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::clock::Millis;
use crate::raw::Raw;

/// The beginning of a text, at most `BYTES` long. The texts of an array of blocks are joined by
/// line feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt<const BYTES: usize = 8_000>(pub String);

impl<const BYTES: usize> Excerpt<BYTES> {
    /// The excerpt of a text.
    pub fn of(text: &str) -> Self {
        let mut end = text.len().min(BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let more = if end < text.len() { "…" } else { "" };
        Excerpt(format!("{}{more}", &text[..end]))
    }

    /// The excerpt of a text, of a block of text or of an array of these.
    fn of_value(value: &Raw<'_>) -> Self {
        match value {
            Raw::Text(text) => Excerpt::of(text),
            Raw::Object(_) => value.get("text").map(Excerpt::of_value).unwrap_or_default(),
            Raw::List(values) => {
                let mut texts = String::new();
                for Excerpt(text) in values.iter().map(Excerpt::<BYTES>::of_value) {
                    if texts.len() < BYTES && !text.is_empty() {
                        let is_apart = texts.is_empty() || texts.ends_with('\n');
                        texts.push_str(if is_apart { "" } else { "\n" });
                        texts.push_str(&text);
                    }
                }
                Excerpt::of(&texts)
            }
            _ => Excerpt::default(),
        }
    }
}

impl<'de, const BYTES: usize> Deserialize<'de> for Excerpt<BYTES> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Excerpt::of_value(&Raw::deserialize(deserializer)?))
    }
}

/// Parses a time such as `2026-01-31T12:00:00.123Z` as milliseconds since the epoch.
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
    // Days since the epoch, counting years from March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000 + milli)
}

/// The arguments of a call, without most of long texts, long lists and deep nesting.
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
        // JSON text has no other values.
        other => other.to_json().unwrap_or_default(),
    }
}
