//! What arrives, before anyone has judged it: a tree that JSON text and Lisp objects alike are
//! read into. It borrows from the text where it can.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::text::excerpt;

/// A value of unknown worth.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw<'a> {
    /// JSON's null; Lisp's nil, which is also an empty list and false.
    Null,
    /// True or false.
    Bool(bool),
    /// Any number.
    Number(Number),
    /// A string.
    Text(Cow<'a, str>),
    /// An array, a vector or a list.
    List(Vec<Raw<'a>>),
    /// An object, a hash table, a plist or an alist; keys in the order in which they came.
    Object(Vec<(Cow<'a, str>, Raw<'a>)>),
    /// Something that has no JSON form; the words say what, after "received".
    Unreadable(Cow<'static, str>),
}

/// Where and why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// 1-based.
    pub line: usize,
    /// 1-based, in bytes.
    pub column: usize,
    /// What the parser expected there, in plain words.
    pub expected: String,
}

impl<'a> Raw<'a> {
    /// Reads a text that is one JSON value and nothing else.
    pub fn parse(text: &'a str) -> Result<Raw<'a>, NotJson> {
        serde_json::from_str(text).map_err(NotJson::from)
    }

    /// Reads the JSON value that `text` starts with, and returns what stands behind it.
    pub fn parse_prefix(text: &'a str) -> Result<(Raw<'a>, &'a str), NotJson> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Raw<'a>>();
        match values.next() {
            Some(Ok(raw)) => Ok((raw, text.get(values.byte_offset()..).unwrap_or(""))),
            Some(Err(error)) => Err(error.into()),
            None => {
                Err(NotJson { line: 1, column: 1, expected: "a JSON value, but the text is empty".into() })
            }
        }
    }

    /// The value of a key; where a key came twice, the last one, as JSON parsers have it.
    pub fn get(&self, key: &str) -> Option<&Raw<'a>> {
        match self {
            Raw::Object(fields) => fields.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// What this is, in words that follow "received", never longer than a line.
    pub fn describe(&self) -> String {
        match self {
            Raw::Null => "null".into(),
            Raw::Bool(value) => value.to_string(),
            Raw::Number(number) => format!("the number {number}"),
            Raw::Text(text) => format!("\"{}\"", excerpt(text, 60)),
            Raw::List(values) if values.is_empty() => "an empty array".into(),
            Raw::List(values) => format!("an array of {}", values.len()),
            Raw::Object(fields) if fields.is_empty() => "an empty object".into(),
            Raw::Object(fields) => {
                let keys: Vec<String> = fields.iter().take(5).map(|(k, _)| excerpt(k, 20)).collect();
                let more = if fields.len() > 5 { ", …" } else { "" };
                format!("an object with {}{more}", keys.join(", "))
            }
            Raw::Unreadable(what) => what.to_string(),
        }
    }

    /// The same as a JSON value of its own; what cannot be read becomes null.
    pub fn to_json(&self) -> Value {
        match self {
            Raw::Null | Raw::Unreadable(_) => Value::Null,
            Raw::Bool(value) => Value::Bool(*value),
            Raw::Number(number) => Value::Number(number.clone()),
            Raw::Text(text) => Value::String(text.to_string()),
            Raw::List(values) => Value::Array(values.iter().map(Raw::to_json).collect()),
            Raw::Object(fields) => {
                Value::Object(fields.iter().map(|(k, v)| (k.to_string(), v.to_json())).collect::<Map<_, _>>())
            }
        }
    }
}

impl From<serde_json::Error> for NotJson {
    fn from(error: serde_json::Error) -> NotJson {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let words = error.to_string().replace(&place, "");
        let expected = match words.strip_prefix("EOF while parsing ") {
            Some("a value") | None if error.is_eof() => "a value, but the text ends here".into(),
            Some(what) => format!("the rest of {what}, but the text ends here"),
            None => expected(&words).into(),
        };
        // The parser counts what it has read: nothing yet, at the beginning of a line.
        NotJson { line: error.line(), column: error.column().max(1), expected }
    }
}

/// What the parser's complaint means for whoever wrote the text.
fn expected(words: &str) -> &str {
    match words {
        "expected value" => "a value",
        "expected ident" => "true, false or null",
        "key must be a string" => "a key in double quotes",
        "trailing comma" => "no comma before the closing bracket",
        "trailing characters" => "nothing more behind the value",
        "invalid number" => "a number",
        "number out of range" => "a number in the range of a double",
        "invalid escape" => "an escape that JSON has",
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "both halves of a surrogate pair"
        }
        "recursion limit exceeded" => "fewer levels of nesting",
        words if words.starts_with("control character") => "a control character written as an escape",
        words => words.strip_prefix("expected ").unwrap_or(words),
    }
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.expected)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Raw<'de>, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw<'de>, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw<'de>, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw<'de>, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw<'de>, E> {
        Ok(Number::from_f64(value).map_or(Raw::Null, Raw::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Raw<'de>, E> {
        Ok(Raw::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw<'de>, E> {
        Ok(Raw::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = access.next_element()? {
            values.push(value);
        }
        Ok(Raw::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw<'de>, A::Error> {
        let mut fields = Vec::with_capacity(4);
        while let Some((Key(key), value)) = access.next_entry()? {
            fields.push((key, value));
        }
        Ok(Raw::Object(fields))
    }
}

/// `Cow<str>` deserialises to an owned string unless told to borrow.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(RawVisitor)? {
            Raw::Text(text) => Ok(Key(text)),
            _ => Err(serde::de::Error::custom("a key must be a string")),
        }
    }
}
