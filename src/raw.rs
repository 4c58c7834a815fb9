//! Untrusted input as one tree, whether it comes as JSON text or as Lisp objects. It borrows from
//! the text where it can.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use crate::error::Error;
use crate::text::excerpt;

/// A value that is not validated yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw<'a> {
    /// JSON's null; Lisp's nil, which is also the empty list and false.
    Null,
    /// True or false.
    Bool(bool),
    /// Any number.
    Number(Number),
    /// A string.
    Text(Cow<'a, str>),
    /// An array, a vector or a list.
    List(Vec<Raw<'a>>),
    /// An object, a hash table, a plist or an alist, with its keys in the order received.
    Object(Vec<(Cow<'a, str>, Raw<'a>)>),
    /// A Lisp object without a JSON form, described by words that follow "received".
    Unreadable(Cow<'static, str>),
}

/// A syntax error: where a text stops being JSON, and what JSON allows there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {expected}")]
pub struct JsonError {
    /// 1-based.
    pub line: usize,
    /// 1-based, in bytes.
    pub column: usize,
    /// What JSON allows there.
    pub expected: &'static str,
}

/// The beginnings of the parser's messages, and what JSON allows there.
const EXPECTED: [(&str, &str); 19] = [
    ("EOF while parsing a value", "a value, but the text ends here"),
    ("EOF while parsing a list", "the rest of a list, but the text ends here"),
    ("EOF while parsing an object", "the rest of an object, but the text ends here"),
    ("EOF while parsing a string", "the rest of a string, but the text ends here"),
    ("expected ident", "true, false or null"),
    ("expected value", "a value"),
    ("invalid number", "a number"),
    ("number out of range", "a number in the range of a double"),
    ("key must be a string", "a key in double quotes"),
    ("expected `:`", "`:`"),
    ("expected `,` or `]`", "`,` or `]`"),
    ("expected `,` or `}`", "`,` or `}`"),
    ("trailing comma", "no comma before the closing bracket"),
    ("trailing characters", "nothing after the value"),
    ("recursion limit exceeded", "fewer levels of nesting"),
    ("control character", "a control character written as an escape"),
    ("invalid escape", "an escape sequence of JSON"),
    ("lone leading surrogate", "both halves of a surrogate pair"),
    ("unexpected end of hex escape", "both halves of a surrogate pair"),
];

impl<'a> Raw<'a> {
    /// Parses a text that is one JSON value.
    ///
    /// # Errors
    /// The syntax error.
    ///
    /// ```
    /// # use todo_write::raw::Raw;
    /// let call = Raw::parse(r#"{"todos": []}"#)?;
    /// assert_eq!(call.get("todos"), Some(&Raw::List(Vec::new())));
    /// let error = Raw::parse(r#"{"todos": [}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "line 1, column 12: a value");
    /// # Ok::<(), todo_write::raw::JsonError>(())
    /// ```
    pub fn parse(text: &'a str) -> Result<Raw<'a>, JsonError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Parses the JSON value at the start of `text`, and returns the rest of the text.
    ///
    /// # Errors
    /// The syntax error.
    pub fn parse_prefix(text: &'a str) -> Result<(Raw<'a>, &'a str), JsonError> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Raw<'a>>();
        match values.next() {
            Some(Ok(raw)) => Ok((raw, text.get(values.byte_offset()..).unwrap_or(""))),
            Some(Err(error)) => Err(error.into()),
            None => Raw::parse(text).map(|raw| (raw, "")),
        }
    }

    /// The value of a key. The last one counts if a key is repeated, as in most JSON parsers.
    pub fn get(&self, key: &str) -> Option<&Raw<'a>> {
        match self {
            Raw::Object(fields) => fields.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// Describes the value on one line, in words that follow "received".
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

    /// Converts the value to JSON.
    ///
    /// # Errors
    /// [`Error::Argument`] with the path of the first part that has no JSON form.
    pub fn to_json(&self) -> Result<Value, Error> {
        Ok(match self {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(*value),
            Raw::Number(number) => Value::Number(number.clone()),
            Raw::Text(text) => Value::String(text.to_string()),
            Raw::List(values) => {
                let element = |(place, value): (usize, &Raw<'_>)| {
                    value.to_json().map_err(|error| error.inside(format_args!("[{place}]")))
                };
                Value::Array(values.iter().enumerate().map(element).collect::<Result<_, _>>()?)
            }
            Raw::Object(fields) => {
                let field = |(key, value): &(Cow<'_, str>, Raw<'_>)| {
                    let within = |error: Error| error.inside(format_args!(".{}", excerpt(key, 40)));
                    Ok((key.to_string(), value.to_json().map_err(within)?))
                };
                Value::Object(fields.iter().map(field).collect::<Result<_, Error>>()?)
            }
            Raw::Unreadable(what) => {
                let expected = "a value with a JSON form".to_owned();
                return Err(Error::Argument { path: String::new(), received: what.to_string(), expected });
            }
        })
    }
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> JsonError {
        let message = error.to_string();
        let expected = EXPECTED.iter().find(|(beginning, _)| message.starts_with(beginning));
        // The column is the number of bytes read, which is 0 at the start of a line.
        let (line, column) = (error.line(), error.column().max(1));
        JsonError { line, column, expected: expected.map_or("valid JSON", |(_, words)| words) }
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

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<Raw<'de>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(access)).map(Raw::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw<'de>, A::Error> {
        let mut fields = Vec::with_capacity(4);
        // A key read as `Cow<str>` would not borrow.
        while let Some((Raw::Text(key), value)) = access.next_entry()? {
            fields.push((key, value));
        }
        Ok(Raw::Object(fields))
    }
}
