//! From Lisp objects to Rust data. Nothing in here trusts its argument.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use emacs::{Env, ErrorKind, FromLisp, GlobalRef, IntoLisp, Result, Value};
use once_cell::sync::OnceCell;
use serde_json::Number;

use super::error::BorderError;
use crate::raw::Raw;

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
    k_content => ":content" k_status => ":status" k_active_form => ":activeForm"
    key_null => ":null" key_json_null => ":json-null"
    key_false => ":false" key_json_false => ":json-false"
    hash_table_fields => "todo-write--hash-table-fields"
}

/// Deeper than this nothing is read: it can only be under a key that no one looks at.
const MAX_DEPTH: usize = 32;

/// More values than this no list has, and few objects that hold others twice over are enough to
/// make them.
const MAX_VALUES: usize = 2_000_000;

/// Reads any Lisp object as what a JSON parser of Emacs would have made it from.
///
/// Objects are hash tables, plists and alists with string, symbol or keyword keys; of a key that
/// comes twice the first counts, as `plist-get` and `assoc' have it. Arrays are vectors and
/// lists.
pub fn raw(value: Value<'_>) -> Result<Raw<'static>> {
    LispReader::new(false).read(value, 0)
}

/// The same, but symbols that are no JSON constants are read as their names.
pub fn raw_with_symbols(value: Value<'_>) -> Result<Raw<'static>> {
    LispReader::new(true).read(value, 0)
}

struct LispReader<'e> {
    symbols_are_text: bool,
    values_left: Cell<usize>,
    /// The objects that are being read, each inside the one before.
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
        if kind == *string {
            self.text(value)
        } else if kind == *symbol {
            self.symbol(value)
        } else if kind == *vector || kind == *cons || kind == *hash_table {
            match schema_task(kind, value)? {
                Some(task) => Ok(task),
                None => self.container(kind, value, depth),
            }
        } else if kind == *integer {
            Ok(i64::from_lisp(value)
                .map_or_else(|_| unreadable("a number out of range"), |n| Raw::Number(n.into())))
        } else if kind == *float {
            let number = Number::from_f64(f64::from_lisp(value)?);
            Ok(number.map_or_else(|| unreadable("a number that is none"), Raw::Number))
        } else {
            let name = string_of(env.call(symbol_name, [kind])?)?.unwrap_or_default();
            Ok(Raw::Unreadable(Cow::Owned(format!("an Emacs object of type {name}"))))
        }
    }

    fn container(&self, kind: Value<'e>, value: Value<'e>, depth: usize) -> Result<Raw<'static>> {
        if self.inside.borrow().contains(&value) {
            return Ok(unreadable("an object that holds itself"));
        }
        self.inside.borrow_mut().push(value);
        let read = if kind == *vector {
            self.vector(value, depth)
        } else if kind == *cons {
            self.cons(value, depth)
        } else {
            let fields = value.env.call(hash_table_fields, [value])?;
            self.pairs(list(fields)?, depth)
        };
        self.inside.borrow_mut().pop();
        read
    }

    fn text(&self, value: Value<'_>) -> Result<Raw<'static>> {
        Ok(string_of(value)?.map_or_else(
            || unreadable("a string that is no text (raw bytes)"),
            |text| Raw::Text(Cow::Owned(text)),
        ))
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
            Raw::Unreadable(Cow::Owned(format!("the Lisp symbol {}", crate::text::excerpt(&name, 40))))
        })
    }

    fn vector(&self, value: Value<'e>, depth: usize) -> Result<Raw<'static>> {
        let elements = emacs::Vector::from_lisp(value)?;
        let values = (0..elements.len()).map(|i| self.read(elements.get(i)?, depth + 1));
        Ok(Raw::List(values.collect::<Result<_>>()?))
    }

    fn cons(&self, value: Value<'e>, depth: usize) -> Result<Raw<'static>> {
        let Some(elements) = proper_list(value)? else {
            return Ok(unreadable("a list that is dotted or circular"));
        };
        match elements.first() {
            Some(first) if is_keyword(*first)? && !is_constant(*first) => self.plist(elements, depth),
            Some(first) if is_alist_entry(*first)? => self.pairs(elements, depth),
            _ => {
                let values = elements.into_iter().map(|element| self.read(element, depth + 1));
                Ok(Raw::List(values.collect::<Result<_>>()?))
            }
        }
    }

    fn plist(&self, elements: Vec<Value<'e>>, depth: usize) -> Result<Raw<'static>> {
        if elements.len() % 2 == 1 {
            return Ok(unreadable("a plist with an odd number of elements"));
        }
        let mut fields = Vec::with_capacity(elements.len() / 2);
        for pair in elements.chunks_exact(2) {
            let Some(key) = key_of(pair[0])? else {
                return Ok(unreadable("a plist with a key that is no keyword"));
            };
            fields.push((Cow::Owned(key), self.read(pair[1], depth + 1)?));
        }
        Ok(Raw::Object(first_of_each(fields)))
    }

    fn pairs(&self, elements: Vec<Value<'e>>, depth: usize) -> Result<Raw<'static>> {
        let mut fields = Vec::with_capacity(elements.len());
        for pair in elements {
            if !is_cons(pair)? {
                return Ok(unreadable("an alist with an element that is no pair"));
            }
            let Some(key) = key_of(pair.env.call(car, [pair])?)? else {
                return Ok(unreadable("an object with a key that is no text"));
            };
            fields.push((Cow::Owned(key), self.read(pair.env.call(cdr, [pair])?, depth + 1)?));
        }
        Ok(Raw::Object(first_of_each(fields)))
    }
}

/// Reads a hash table or plist with the keys of the schema and no others, all texts; none for
/// anything else. Nearly every task is one; by [`LispReader`] a whole call with a dozen of them takes two
/// (plists) to three times (hash tables) as long.
fn schema_task<'e>(kind: Value<'e>, value: Value<'e>) -> Result<Option<Raw<'static>>> {
    const KEYS: [&str; 3] = ["content", "status", "activeForm"];
    static STRINGS: OnceCell<[GlobalRef; 3]> = OnceCell::new();
    let env = value.env;
    let is_table = kind == *hash_table;
    if kind == *vector {
        return Ok(None);
    }
    let size = env.call(if is_table { hash_table_count } else { proper_list_p }, [value])?;
    if !size.is_not_nil() || i64::from_lisp(size)? != if is_table { 3 } else { 6 } {
        return Ok(None);
    }
    let strings = STRINGS.get_or_try_init(|| {
        let [a, b, c] = KEYS.map(|key| key.into_lisp(env));
        Ok::<_, emacs::Error>([a?, b?, c?].map(Value::make_global_ref))
    })?;
    let keywords = [k_content, k_status, k_active_form];
    let mut fields = Vec::with_capacity(KEYS.len());
    for (place, key) in KEYS.into_iter().enumerate() {
        let value = if is_table {
            env.call(gethash, [strings[place].bind(env), value])?
        } else {
            env.call(plist_get, [value, keywords[place].bind(env)])?
        };
        let text = if env.type_of(value)? == *string { string_of(value)? } else { None };
        let Some(text) = text else { return Ok(None) };
        fields.push((Cow::Borrowed(key), Raw::Text(Cow::Owned(text))));
    }
    Ok(Some(Raw::Object(fields)))
}

type Fields = Vec<(Cow<'static, str>, Raw<'static>)>;

/// Of equal keys the first counts in Lisp, the last in JSON: only one may stay.
fn first_of_each(mut fields: Fields) -> Fields {
    let mut seen = std::collections::HashSet::new();
    let repeated: Vec<bool> = fields.iter().map(|(key, _)| !seen.insert(key.clone())).collect();
    let mut repeated = repeated.into_iter();
    fields.retain(|_| !repeated.next().unwrap_or(false));
    fields
}

fn unreadable(what: &'static str) -> Raw<'static> {
    Raw::Unreadable(Cow::Borrowed(what))
}

fn is_cons(value: Value<'_>) -> Result<bool> {
    Ok(value.env.type_of(value)? == *cons)
}

fn is_symbol(value: Value<'_>) -> Result<bool> {
    Ok(value.env.type_of(value)? == *symbol)
}

fn is_keyword(value: Value<'_>) -> Result<bool> {
    Ok(value.env.call(keywordp, [value])?.is_not_nil())
}

/// Whether a keyword stands for a JSON constant, which is no key.
fn is_constant(value: Value<'_>) -> bool {
    [&key_null, &key_json_null, &key_false, &key_json_false].into_iter().any(|constant| value == **constant)
}

/// Whether a list that starts with this element is an alist. An element that is a plist makes
/// it a list of objects; only `todos`, which no task has, is a keyword that alists start with.
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

/// The elements of a proper list; none for any other object.
fn proper_list(value: Value<'_>) -> Result<Option<Vec<Value<'_>>>> {
    let length = value.env.call(proper_list_p, [value])?;
    if !length.is_not_nil() {
        return Ok(None);
    }
    list(value).map(Some)
}

/// The elements of what is known to be a proper list.
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

/// A key as text: of a keyword the name without its colon.
fn key_of(value: Value<'_>) -> Result<Option<String>> {
    if is_symbol(value)? {
        let name = string_of(value.env.call(symbol_name, [value])?)?;
        return Ok(name.map(|name| name.strip_prefix(':').map(str::to_owned).unwrap_or(name)));
    }
    if value.env.type_of(value)? == *string { string_of(value) } else { Ok(None) }
}

/// The contents of a Lisp string; none if it is no text.
fn string_of(value: Value<'_>) -> Result<Option<String>> {
    match value.clone_string_contents() {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if matches!(error.downcast_ref(), Some(ErrorKind::Module(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The error for an argument of the wrong kind.
pub fn wrong(what: &'static str, value: Value<'_>, expected: &str) -> emacs::Error {
    wrong_raw(what, &raw_with_symbols(value).unwrap_or_else(|_| unreadable("something unreadable")), expected)
}

/// The same for one that was read already.
pub fn wrong_raw(what: &'static str, value: &Raw<'_>, expected: &str) -> emacs::Error {
    BorderError::Argument { what, received: value.describe(), expected: expected.into() }.into()
}

/// A string argument.
pub struct Text(pub String);

impl FromLisp<'_> for Text {
    fn from_lisp(value: Value<'_>) -> Result<Text> {
        Text::read("argument", value)
    }
}

impl Text {
    /// Reads the argument named `what`.
    pub fn read(what: &'static str, value: Value<'_>) -> Result<Text> {
        let text = if value.env.type_of(value)? == *string { string_of(value)? } else { None };
        text.map(Text).ok_or_else(|| wrong(what, value, "a string"))
    }
}

/// The key of a thread.
pub fn thread(value: Value<'_>) -> Result<String> {
    let key = Text::read("thread", value)?.0;
    if key.is_empty() { Err(wrong("thread", value, "a string that is not empty")) } else { Ok(key) }
}

/// A number argument that cannot be negative.
pub struct WholeNumber;

impl WholeNumber {
    /// Reads the argument named `what`.
    pub fn read<N: TryFrom<i64>>(what: &'static str, value: Value<'_>) -> Result<N> {
        let number = if value.env.type_of(value)? == *integer { i64::from_lisp(value).ok() } else { None };
        number
            .filter(|number| *number >= 0)
            .and_then(|number| N::try_from(number).ok())
            .ok_or_else(|| wrong(what, value, "a whole number, zero or more"))
    }

    /// The same, where nil is allowed.
    pub fn read_optional<N: TryFrom<i64>>(what: &'static str, value: Value<'_>) -> Result<Option<N>> {
        if value.is_not_nil() { WholeNumber::read(what, value).map(Some) } else { Ok(None) }
    }
}

/// A string or a symbol, as its text; nil is none.
pub fn name(what: &'static str, value: Value<'_>) -> Result<Option<String>> {
    if !value.is_not_nil() {
        return Ok(None);
    }
    key_of(value)?.map(Some).ok_or_else(|| wrong(what, value, "a string or a symbol"))
}

/// A string or symbol that names one of some known things.
pub fn one_of<T>(
    what: &'static str,
    value: Value<'_>,
    parse: impl Fn(&str) -> Option<T>,
    expected: &str,
) -> Result<T> {
    name(what, value)?.as_deref().and_then(parse).ok_or_else(|| wrong(what, value, expected))
}

/// The elements of a list argument.
pub fn elements<'e>(what: &'static str, value: Value<'e>) -> Result<Vec<Value<'e>>> {
    if !value.is_not_nil() {
        return Ok(Vec::new());
    }
    let proper = if is_cons(value)? { proper_list(value)? } else { None };
    proper.ok_or_else(|| wrong(what, value, "a list"))
}

/// The flag and value pairs of a plist argument, whose keys must be among `known`.
pub fn keyword_arguments<'e>(
    env: &'e Env,
    what: &'static str,
    plist: Value<'e>,
    known: &[&str],
) -> Result<Vec<(String, Value<'e>)>> {
    let elements = elements(what, plist)?;
    let mut pairs = Vec::with_capacity(elements.len() / 2);
    for pair in elements.chunks(2) {
        let key = if is_keyword(pair[0])? { key_of(pair[0])? } else { None };
        match (key, pair.get(1)) {
            (Some(key), Some(value)) if known.contains(&key.as_str()) => pairs.push((key, *value)),
            _ => {
                let keys: Vec<String> = known.iter().map(|key| format!(":{key}")).collect();
                return Err(wrong(
                    what,
                    env.list(&elements)?,
                    &format!("a plist with keys among {}", keys.join(" ")),
                ));
            }
        }
    }
    Ok(pairs)
}
