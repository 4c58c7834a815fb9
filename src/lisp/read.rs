//! Converts untrusted Lisp objects to Rust data.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Deref;

use emacs::{ErrorKind, FromLisp, ModuleError, Result, Value};
use serde::Deserialize;
use serde_json::{Number, Value as Json};

use super::function::Argument;
use super::names::{keyword, word};
use crate::error::{Error, Problem};
use crate::list::raw::Raw;
use crate::text::excerpt;

emacs::use_functions! {
    car cdr proper_list_p => "proper-list-p"
    symbol_name => "symbol-name"
    hash_table_count => "hash-table-count"
    plist_get => "plist-get"
    gethash keywordp
}

emacs::use_symbols! {
    string symbol cons vector integer float
    hash_table => "hash-table"
    t
    key_null => ":null" key_json_null => ":json-null"
    key_false => ":false" key_json_false => ":json-false"
    hash_table_fields => "todo-write--hash-table-fields"
}

/// The maximum depth. In a valid list, only the value of an ignored key can be deeper.
const MAX_DEPTH: usize = 32;

/// The maximum number of values. A small object that shares its parts can expand to exponentially
/// many.
const MAX_VALUES: usize = 2_000_000;

/// Reads a Lisp object as a JSON value, with a symbol other than the JSON constants as its name.
pub(super) fn raw_with_symbols(value: Value<'_>) -> Result<Raw<'static>> {
    LispReader::new(true).read(value, 0)
}

/// Reads a Lisp object as a JSON value, the inverse of Emacs' JSON parser.
///
/// An object is a hash table, a plist or an alist with string, symbol or keyword keys. The first of
/// equal keys counts, as in `plist-get' and `assoc'. An array is a vector or a list.
struct LispReader<'e> {
    symbols_are_text: bool,
    values_left: Cell<usize>,
    /// The enclosing objects.
    inside: RefCell<Vec<Value<'e>>>,
}

impl<'e> LispReader<'e> {
    fn new(symbols_are_text: bool) -> LispReader<'e> {
        LispReader { symbols_are_text, values_left: Cell::new(MAX_VALUES), inside: RefCell::default() }
    }

    fn read(&self, value: Value<'e>, depth: usize) -> Result<Raw<'static>> {
        let Some(left) = self.values_left.get().checked_sub(1) else {
            return Ok(unreadable("an object too large"));
        };
        self.values_left.set(left);
        if depth > MAX_DEPTH {
            return Ok(unreadable("nesting deeper than 32 levels"));
        }
        let env = value.env;
        let kind = env.type_of(value)?;
        // The most frequent types come first: each comparison is a call of Emacs.
        if kind == *string {
            Ok(string_of(value)?.map_or_else(
                || unreadable("a string that is not text (raw bytes)"),
                |text| Raw::Text(Cow::Owned(text)),
            ))
        } else if kind == *hash_table || kind == *cons || kind == *vector {
            match schema_task(kind, value)? {
                Some(task) => Ok(task),
                None => self.container(kind, value, depth),
            }
        } else if kind == *symbol {
            self.symbol(value)
        } else if kind == *integer {
            Ok(i64::from_lisp(value)
                .map_or_else(|_| unreadable("a number out of range"), |n| Raw::Number(n.into())))
        } else if kind == *float {
            let number = Number::from_f64(f64::from_lisp(value)?);
            Ok(number.map_or_else(|| unreadable("a number that is infinite or not a number"), Raw::Number))
        } else {
            let name = string_of(env.call(symbol_name, [kind])?)?.unwrap_or_default();
            Ok(Raw::Unreadable(Cow::Owned(format!("an Emacs object of type {name}"))))
        }
    }

    fn container(&self, kind: Value<'e>, value: Value<'e>, depth: usize) -> Result<Raw<'static>> {
        if self.inside.borrow().contains(&value) {
            return Ok(unreadable("an object that contains itself"));
        }
        self.inside.borrow_mut().push(value);
        let read = if kind == *vector {
            let elements = emacs::Vector::from_lisp(value)?;
            self.list((0..elements.len()).map(|i| elements.get(i)), depth)
        } else if kind == *cons {
            self.cons(value, depth)
        } else {
            self.alist(list(value.env.call(hash_table_fields, [value])?)?, depth)
        };
        self.inside.borrow_mut().pop();
        read
    }

    fn symbol(&self, value: Value<'_>) -> Result<Raw<'static>> {
        if !value.is_not_nil() || value == *key_null || value == *key_json_null {
            return Ok(Raw::Null);
        }
        if value == *t {
            return Ok(Raw::Bool(true));
        }
        if value == *key_false || value == *key_json_false {
            return Ok(Raw::Bool(false));
        }
        let name = string_of(value.env.call(symbol_name, [value])?)?.unwrap_or_default();
        Ok(if self.symbols_are_text {
            Raw::Text(Cow::Owned(name))
        } else {
            Raw::Unreadable(Cow::Owned(format!("the Lisp symbol {}", excerpt(&name, 40))))
        })
    }

    fn list(&self, elements: impl Iterator<Item = Result<Value<'e>>>, depth: usize) -> Result<Raw<'static>> {
        let values = elements.map(|element| self.read(element?, depth + 1));
        Ok(Raw::List(values.collect::<Result<_>>()?))
    }

    fn cons(&self, value: Value<'e>, depth: usize) -> Result<Raw<'static>> {
        let Some(elements) = proper_list(value)? else {
            return Ok(unreadable("a list that is dotted or circular"));
        };
        match elements.first() {
            Some(first) if is_keyword(*first)? && !is_constant(*first) => {
                if elements.len() % 2 == 1 {
                    return Ok(unreadable("a plist with an odd number of elements"));
                }
                self.object(elements.chunks_exact(2).map(|pair| Ok((pair[0], pair[1]))), depth)
            }
            Some(first) if is_alist_entry(*first)? => self.alist(elements, depth),
            _ => self.list(elements.into_iter().map(Ok), depth),
        }
    }

    fn alist(&self, elements: Vec<Value<'e>>, depth: usize) -> Result<Raw<'static>> {
        for element in &elements {
            if !is_cons(*element)? {
                return Ok(unreadable("an alist with an element that is not a pair"));
            }
        }
        let pair = |pair: Value<'e>| Ok((pair.env.call(car, [pair])?, pair.env.call(cdr, [pair])?));
        self.object(elements.into_iter().map(pair), depth)
    }

    fn object(
        &self,
        pairs: impl Iterator<Item = Result<(Value<'e>, Value<'e>)>>,
        depth: usize,
    ) -> Result<Raw<'static>> {
        let mut fields = Vec::with_capacity(4);
        // The first of equal keys counts, unlike in JSON.
        let mut seen = HashSet::new();
        for pair in pairs {
            let (key, value) = pair?;
            let Some(key) = key_of(key)? else {
                return Ok(unreadable("an object with a key that is not text"));
            };
            if seen.insert(key.clone()) {
                fields.push((Cow::Owned(key), self.read(value, depth + 1)?));
            }
        }
        Ok(Raw::Object(fields))
    }
}

/// Fast path for nearly all tasks: reads a hash table or plist with exactly the schema's keys and string
/// values, and returns none for anything else. Without it, a whole call with a dozen tasks takes several
/// times as long.
fn schema_task<'e>(kind: Value<'e>, value: Value<'e>) -> Result<Option<Raw<'static>>> {
    let env = value.env;
    let is_table = kind == *hash_table;
    if !is_table && kind == *vector {
        return Ok(None);
    }
    // The length of a dotted or circular list is nil.
    let size = env.call(if is_table { hash_table_count } else { proper_list_p }, [value])?;
    if i64::from_lisp(size).ok() != Some(if is_table { 3 } else { 6 }) {
        return Ok(None);
    }
    let mut fields = Vec::with_capacity(3);
    for key in ["content", "status", "activeForm"] {
        let value = if is_table {
            env.call(gethash, [word(env, key)?, value])?
        } else {
            env.call(plist_get, [value, keyword(env, key)?])?
        };
        // Another object with three fields lacks some: a signal for each item would take longer than reading it.
        if env.type_of(value)? != *string {
            return Ok(None);
        }
        let Some(text) = string_of(value)? else { return Ok(None) };
        fields.push((Cow::Borrowed(key), Raw::Text(Cow::Owned(text))));
    }
    Ok(Some(Raw::Object(fields)))
}

fn unreadable(what: &'static str) -> Raw<'static> {
    Raw::Unreadable(Cow::Borrowed(what))
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

/// The elements of a proper list.
fn list(value: Value<'_>) -> Result<Vec<Value<'_>>> {
    let env = value.env;
    let mut elements = Vec::new();
    let mut rest = value;
    while rest.is_not_nil() {
        elements.push(env.call(car, [rest])?);
        rest = env.call(cdr, [rest])?;
    }
    Ok(elements)
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

/// What a value is, in words that follow "received".
pub(super) fn describe(value: Value<'_>) -> String {
    raw_with_symbols(value).map_or_else(|_| "something unreadable".into(), |raw| raw.describe())
}

/// The error for a wrong argument named `what`.
pub(super) fn wrong(what: &str, value: Value<'_>, expected: &str) -> emacs::Error {
    Error::Argument(Problem::new(what, describe(value), expected)).into()
}

/// Reads a JSON value, with symbols as text.
pub(super) fn json(value: Value<'_>) -> Result<Json> {
    Ok(raw_with_symbols(value)?.to_json()?)
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
    let mut fields: Vec<(String, Value<'_>)> = Vec::new();
    for pair in elements.chunks_exact(2) {
        let Some(key) = key_of(pair[0])? else { return Ok(None) };
        if fields.iter().all(|(known, _)| *known != key) {
            fields.push((key, pair[1]));
        }
    }
    Ok(Some(fields))
}

/// The elements of a list or vector; none of another object.
pub(super) fn sequence(value: Value<'_>) -> Result<Option<Vec<Value<'_>>>> {
    if value.env.type_of(value)? != *vector {
        return proper_list(value);
    }
    let elements = emacs::Vector::from_lisp(value)?;
    (0..elements.len()).map(|place| elements.get(place)).collect::<Result<_>>().map(Some)
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
        LispReader::new(false).read(value, 0).map(Input)
    }
}
