//! Untrusted input as one tree, whether it comes as JSON text or as Lisp objects. It borrows from
//! the text where it can.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Error as JsonError, Number, Value};

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
    Unreadable(String),
}

impl<'a> Raw<'a> {
    /// Parses a text that is one JSON value.
    ///
    /// # Errors
    /// The syntax error.
    ///
    /// ```
    /// # use todo_write::list::raw::Raw;
    /// let call = Raw::parse(r#"{"todos": []}"#)?;
    /// assert_eq!(call.get("todos"), Some(&Raw::List(Vec::new())));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn parse(text: &'a str) -> Result<Raw<'a>, JsonError> {
        serde_json::from_str(text)
    }

    /// Parses the JSON value at the start of `text`, and returns the rest of the text.
    pub(crate) fn parse_prefix(text: &'a str) -> Result<(Raw<'a>, &'a str), JsonError> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Raw<'a>>();
        let raw = values.next().unwrap_or_else(|| Raw::parse(text))?;
        Ok((raw, text.get(values.byte_offset()..).unwrap_or("")))
    }

    /// The value of a key. The last one counts if a key is repeated, as in most JSON parsers.
    pub fn get(&self, key: &str) -> Option<&Raw<'a>> {
        match self {
            Raw::Object(fields) => fields.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Raw::Text(text) => Some(text),
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
            Raw::Unreadable(what) => what.clone(),
        }
    }

    /// The value as JSON, with null for what has no JSON form.
    pub fn to_json(&self) -> Value {
        match self {
            Raw::Null | Raw::Unreadable(_) => Value::Null,
            Raw::Bool(value) => Value::Bool(*value),
            Raw::Number(number) => Value::Number(number.clone()),
            Raw::Text(text) => Value::from(&**text),
            Raw::List(values) => values.iter().map(Raw::to_json).collect(),
            Raw::Object(fields) => {
                fields.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect()
            }
        }
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

    fn visit_string<E>(self, text: String) -> Result<Raw<'de>, E> {
        Ok(Raw::Text(Cow::Owned(text)))
    }

    /// Bytes, which JSON has not, are the words for an unreadable object.
    fn visit_bytes<E>(self, what: &[u8]) -> Result<Raw<'de>, E> {
        Ok(Raw::Unreadable(String::from_utf8_lossy(what).into_owned()))
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
