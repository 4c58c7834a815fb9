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
    pub expected: ExpectedJson,
}

/// What JSON allows at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages describe them.
pub enum ExpectedJson {
    #[error("a value")]
    Value,
    #[error("a value, but the text ends here")]
    ValueNotEnd,
    #[error("the rest of {0}, but the text ends here")]
    RestOf(&'static str),
    #[error("true, false or null")]
    Constant,
    #[error("a number in the range of a double")]
    Number,
    #[error("a key in double quotes")]
    Key,
    #[error("`:`")]
    Colon,
    #[error("`,` or `{0}`")]
    CommaOr(char),
    #[error("no comma before the closing bracket")]
    NoComma,
    #[error("nothing after the value")]
    End,
    #[error("fewer levels of nesting")]
    LessNesting,
    #[error("a control character written as an escape")]
    EscapedControl,
    #[error("an escape sequence of JSON")]
    Escape,
    #[error("both halves of a surrogate pair")]
    SurrogatePair,
}

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
        serde_json::from_str(text).map_err(|error| JsonError::new(text, &error))
    }

    /// Parses the JSON value at the start of `text`, and returns the rest of the text.
    ///
    /// # Errors
    /// The syntax error.
    pub fn parse_prefix(text: &'a str) -> Result<(Raw<'a>, &'a str), JsonError> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Raw<'a>>();
        match values.next() {
            Some(Ok(raw)) => Ok((raw, text.get(values.byte_offset()..).unwrap_or(""))),
            Some(Err(error)) => Err(JsonError::new(text, &error)),
            None => Err(JsonError { line: 1, column: 1, expected: ExpectedJson::ValueNotEnd }),
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

impl JsonError {
    fn new(text: &str, error: &serde_json::Error) -> JsonError {
        // The column is the number of bytes read, which is 0 at the start of a line.
        let (line, column) = (error.line(), error.column());
        let expected = if error.is_eof() {
            expected_at_end(text)
        } else {
            let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
            expected_at(text.as_bytes(), (start + column).saturating_sub(1))
        };
        JsonError { line, column: column.max(1), expected }
    }
}

/// Asks the parser whether `next` may follow `before`.
fn fits(before: &str, next: &str) -> bool {
    match serde_json::from_str::<Raw<'_>>(&format!("{before}{next}")) {
        Ok(_) => true,
        Err(error) => error.is_eof(),
    }
}

/// What is missing at the end of a text.
fn expected_at_end(text: &str) -> ExpectedJson {
    let ends = [("]", "a list"), ("}", "an object"), (":", "an object"), ("\\n", "a string")];
    match ends.into_iter().find(|(next, _)| fits(text, next)) {
        Some((_, whole)) => ExpectedJson::RestOf(whole),
        None => ExpectedJson::ValueNotEnd,
    }
}

/// What JSON allows instead of the byte at `place`, which the parser rejected.
fn expected_at(text: &[u8], place: usize) -> ExpectedJson {
    let before = &*String::from_utf8_lossy(&text[..place.min(text.len())]);
    let here = text.get(place).copied().unwrap_or(b' ');
    let fits = |next| fits(before, next);
    // An escape can follow only inside a string. The spaces in the other probes end a token.
    if fits("\\n") {
        if here.is_ascii_control() { ExpectedJson::EscapedControl } else { ExpectedJson::Escape }
    } else if matches!(here, b']' | b'}') && before.trim_end().ends_with(',') {
        ExpectedJson::NoComma
    } else if fits(" 0") {
        if matches!(here, b'[' | b'{') { ExpectedJson::LessNesting } else { ExpectedJson::Value }
    } else if fits(" \"") {
        ExpectedJson::Key
    } else if fits(":") {
        ExpectedJson::Colon
    } else if here.is_ascii_digit() && before.ends_with(|last: char| last.is_ascii_digit()) {
        ExpectedJson::Number
    } else if fits("]") {
        ExpectedJson::CommaOr(']')
    } else if fits("}") {
        ExpectedJson::CommaOr('}')
    } else if fits(" ") {
        ExpectedJson::End
    } else {
        expected_in_token(before)
    }
}

/// What JSON allows after the first part of an escape, a number or a constant.
fn expected_in_token(before: &str) -> ExpectedJson {
    let start = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
    let (before, token) = before.split_at(start);
    if before.ends_with('\\') {
        let half = token.starts_with("ud") || token.starts_with("uD");
        if half { ExpectedJson::SurrogatePair } else { ExpectedJson::Escape }
    } else if before.ends_with(['-', '+', '.']) || token.starts_with(|c: char| c.is_ascii_digit()) {
        ExpectedJson::Number
    } else {
        ExpectedJson::Constant
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
