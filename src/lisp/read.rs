//! Converts untrusted Lisp objects to Rust data.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;

use emacs::{ErrorKind, FromLisp, ModuleError, Result, Value};
use serde::Deserialize;

use super::de;
use super::function::Argument;
use crate::list::raw::Raw;

emacs::use_functions! {
    car cdr proper_list_p => "proper-list-p"
    symbol_name => "symbol-name"
    keywordp vconcat
}

emacs::use_symbols! {
    string symbol cons vector integer float
    hash_table => "hash-table"
    t
    key_null => ":null" key_json_null => ":json-null"
    key_false => ":false" key_json_false => ":json-false"
    hash_table_fields => "todo-write--hash-table-fields"
}

/// A Lisp object as JSON, down to its parts; the inverse of Emacs' JSON parser.
///
/// An object is a hash table, a plist or an alist with string, symbol or keyword keys. The first of
/// equal keys counts, as in `plist-get' and `assoc'. An array is a vector or a list.
pub(super) enum Form<'e> {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// The name of a symbol that is no constant of JSON.
    Symbol(String),
    List(Vec<Value<'e>>),
    Object(Vec<(String, Value<'e>)>),
    /// Something without a JSON form, in words that follow "received".
    Other(Cow<'static, str>),
}

/// Reads an object, but not its parts.
pub(super) fn form(value: Value<'_>) -> Result<Form<'_>> {
    let env = value.env;
    let kind = env.type_of(value)?;
    // The most frequent types come first: each comparison is a call of Emacs.
    Ok(if kind == *string {
        string_of(value)?.map_or(Form::Other("a string that is not text (raw bytes)".into()), Form::Text)
    } else if kind == *hash_table {
        plist_form(&list(env.call(hash_table_fields, [value])?)?)?
    } else if kind == *cons {
        cons_form(value)?
    } else if kind == *vector {
        Form::List(elements(value)?)
    } else if kind == *symbol {
        if is_null(value) {
            Form::Null
        } else if value == *t || is_false(value) {
            Form::Bool(value == *t)
        } else {
            Form::Symbol(string_of(env.call(symbol_name, [value])?)?.unwrap_or_default())
        }
    } else if kind == *integer {
        i64::from_lisp(value).map_or(Form::Other("a number out of range".into()), Form::Integer)
    } else if kind == *float {
        let number = Some(f64::from_lisp(value)?).filter(|number| number.is_finite());
        number.map_or(Form::Other("a number that is infinite or not a number".into()), Form::Float)
    } else {
        let name = string_of(env.call(symbol_name, [kind])?)?.unwrap_or_default();
        Form::Other(format!("an Emacs object of type {name}").into())
    })
}

fn cons_form(value: Value<'_>) -> Result<Form<'_>> {
    let Some(elements) = proper_list(value)? else {
        return Ok(Form::Other("a list that is dotted or circular".into()));
    };
    match elements.first() {
        Some(first) if is_keyword(*first)? && !is_constant(*first) => {
            if elements.len() % 2 == 1 {
                return Ok(Form::Other("a plist with an odd number of elements".into()));
            }
            plist_form(&elements)
        }
        Some(first) if is_alist_entry(*first)? => alist(elements),
        _ => Ok(Form::List(elements)),
    }
}

fn plist_form<'e>(elements: &[Value<'e>]) -> Result<Form<'e>> {
    object(elements.chunks_exact(2).map(|pair| Ok((pair[0], pair[1]))))
}

fn alist(elements: Vec<Value<'_>>) -> Result<Form<'_>> {
    for element in &elements {
        if !is_cons(*element)? {
            return Ok(Form::Other("an alist with an element that is not a pair".into()));
        }
    }
    object(elements.into_iter().map(|pair| Ok((pair.env.call(car, [pair])?, pair.env.call(cdr, [pair])?))))
}

fn object<'e>(pairs: impl Iterator<Item = Result<(Value<'e>, Value<'e>)>>) -> Result<Form<'e>> {
    Ok(fields(pairs)?.map_or(Form::Other("an object with a key that is not text".into()), Form::Object))
}

/// The pairs of an object, of which the first of equal keys counts; none if a key is not text.
fn fields<'e>(
    pairs: impl Iterator<Item = Result<(Value<'e>, Value<'e>)>>,
) -> Result<Option<Vec<(String, Value<'e>)>>> {
    let (mut fields, mut seen) = (Vec::with_capacity(4), HashSet::new());
    for pair in pairs {
        let (key, value) = pair?;
        let Some(key) = key_of(key)? else { return Ok(None) };
        if seen.insert(key.clone()) {
            fields.push((key, value));
        }
    }
    Ok(Some(fields))
}

pub(super) fn is_cons(value: Value<'_>) -> Result<bool> {
    Ok(value.env.type_of(value)? == *cons)
}

fn is_keyword(value: Value<'_>) -> Result<bool> {
    Ok(value.env.call(keywordp, [value])?.is_not_nil())
}

/// Whether a keyword is a JSON constant and thus not a key.
fn is_constant(value: Value<'_>) -> bool {
    [&key_null, &key_json_null, &key_false, &key_json_false].into_iter().any(|constant| value == **constant)
}

/// Whether a list with this first element is an alist. If the element is a plist, the list is an array
/// of objects, unless the plist starts with the key `todos`: the whole input has that key, but no task.
fn is_alist_entry(element: Value<'_>) -> Result<bool> {
    if !is_cons(element)? {
        return Ok(false);
    }
    let key = element.env.call(car, [element])?;
    if is_keyword(key)? {
        let plist = proper_list(element)?.is_some_and(|elements| elements.len() % 2 == 0);
        return Ok(!plist || key_of(key)?.as_deref() == Some("todos"));
    }
    Ok(key.is_not_nil() && key_of(key)?.is_some())
}

/// The elements of a list; none if it is dotted, circular or another object.
fn proper_list(value: Value<'_>) -> Result<Option<Vec<Value<'_>>>> {
    let length = value.env.call(proper_list_p, [value])?;
    if !length.is_not_nil() {
        return Ok(None);
    }
    list(value).map(Some)
}

/// The elements of a proper list. As a vector, which is not walked by calls of Lisp, they are read much faster.
fn list(value: Value<'_>) -> Result<Vec<Value<'_>>> {
    elements(value.env.call(vconcat, [value])?)
}

/// A key as text, without the colon of a keyword. None if it is neither a symbol nor text.
pub(super) fn key_of(value: Value<'_>) -> Result<Option<String>> {
    if value.env.type_of(value)? == *symbol {
        let name = string_of(value.env.call(symbol_name, [value])?)?;
        return Ok(name.map(|name| name.strip_prefix(':').map(str::to_owned).unwrap_or(name)));
    }
    string_of(value)
}

/// The contents of a Lisp string; none for raw bytes and for other objects.
pub(super) fn string_of(value: Value<'_>) -> Result<Option<String>> {
    // Long enough for most texts. Emacs would have to be asked for the length of each string first.
    let mut buffer = [0; 512];
    let bytes = match value.copy_string_contents(&mut buffer) {
        Err(error) if is_too_long(&error) => value.clone_string_contents(),
        copied => copied.map(<[u8]>::to_vec),
    };
    match bytes {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if matches!(error.downcast_ref(), Some(ErrorKind::Module(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_too_long(error: &emacs::Error) -> bool {
    matches!(error.downcast_ref(), Some(ErrorKind::Module(ModuleError::BufferTooSmall { .. })))
}

pub(super) fn is_integer(value: Value<'_>) -> Result<bool> {
    Ok(value.env.type_of(value)? == *integer)
}

/// Whether a value is nil or JSON's null.
pub(super) fn is_null(value: Value<'_>) -> bool {
    !value.is_not_nil() || value == *key_null || value == *key_json_null
}

/// Whether a value is nil or JSON's false.
pub(super) fn is_false(value: Value<'_>) -> bool {
    !value.is_not_nil() || value == *key_false || value == *key_json_false
}

/// The keys of a plist, without the colons, and its values. The first of equal keys counts.
pub(super) fn plist(value: Value<'_>) -> Result<Option<Vec<(String, Value<'_>)>>> {
    let Some(elements) = proper_list(value)?.filter(|elements| elements.len() % 2 == 0) else {
        return Ok(None);
    };
    fields(elements.chunks_exact(2).map(|pair| Ok((pair[0], pair[1]))))
}

/// The elements of a list or vector; none of another object.
pub(super) fn sequence(value: Value<'_>) -> Result<Option<Vec<Value<'_>>>> {
    if value.env.type_of(value)? != *vector {
        return proper_list(value);
    }
    elements(value).map(Some)
}

/// The elements of a vector.
fn elements(value: Value<'_>) -> Result<Vec<Value<'_>>> {
    let elements = emacs::Vector::from_lisp(value)?;
    (0..elements.len()).map(|place| elements.get(place)).collect()
}

/// The parts of a tuple `(A B . C)` of this length; none if it is shorter.
pub(super) fn parts(value: Value<'_>, length: usize) -> Result<Option<Vec<Value<'_>>>> {
    let (mut parts, mut rest) = (Vec::with_capacity(length), value);
    while parts.len() + 1 < length {
        if !is_cons(rest)? {
            return Ok(None);
        }
        parts.push(value.env.call(car, [rest])?);
        rest = value.env.call(cdr, [rest])?;
    }
    parts.push(rest);
    Ok(Some(parts))
}

/// The key of a thread.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Key(String);

impl TryFrom<String> for Key {
    type Error = &'static str;

    fn try_from(key: String) -> std::result::Result<Key, &'static str> {
        if key.is_empty() { Err("a string that is not empty") } else { Ok(Key(key)) }
    }
}

impl Deref for Key {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The input of a write, whose symbols are no text.
pub(super) struct Input(pub(super) Raw<'static>);

impl Argument<'_> for Input {
    fn read(_: &str, value: Value<'_>) -> Result<Input> {
        de::input(value).map(Input)
    }
}
