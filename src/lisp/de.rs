//! Deserializes Lisp objects to Rust values: the types of arguments say what they take. The inverse of [`super::ser`].
//!
//! - A struct is a plist, of which the first of equal keys counts.
//! - A sequence is a list or a vector. A tuple is `(A B . C)`.
//! - nil is `None`, false and an empty sequence. Any other object but `:false` is true.
//! - A name of an enum, and a [`Name`](crate::named::Name), is a string or a symbol. A variant with fields is a list
//!   of the name and the fields.
//! - A map is a plist. Any other map, a JSON value and what is flattened are read as JSON; see [`read::Form`].
//!
//! An error says where, what is there and what is allowed.

use std::cell::Cell;
use std::fmt::{self, Display};
use std::marker::PhantomData;

use emacs::{FromLisp, Value};
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::read::{self, Form};
use crate::error::{Error, Problem};
use crate::list::raw::Raw;
use crate::text::excerpt;

/// The maximum depth of JSON. In a valid list, only the value of an ignored key can be deeper.
const MAX_DEPTH: usize = 32;

/// The maximum number of JSON values. A small object that shares its parts, or contains itself, can expand to
/// exponentially many.
const MAX_VALUES: usize = 2_000_000;

/// Reads the argument `what` of a function.
pub(super) fn from_lisp<T: DeserializeOwned>(what: &str, value: Value<'_>) -> emacs::Result<T> {
    let lisp = Lisp { value, depth: 0, left: &Cell::new(MAX_VALUES), is_input: false };
    lisp.read(PhantomData).map_err(|failed| failed.inside(what).into_error())
}

/// Reads the input of a write. A symbol is no text there, and what has no JSON form is refused at its place.
pub(super) fn input(value: Value<'_>) -> emacs::Result<Raw<'static>> {
    let lisp = Lisp { value, depth: 0, left: &Cell::new(MAX_VALUES), is_input: true };
    Raw::deserialize(lisp).map_err(Failed::into_error)
}

/// What a value is, in words that follow "received".
pub(super) fn describe(value: Value<'_>) -> String {
    input(value).map_or_else(|_| "something unreadable".into(), |raw| raw.describe())
}

/// A problem at a path below the argument, or a signal of Lisp.
#[derive(Debug)]
pub(super) enum Failed {
    Wrong(Problem),
    Lisp(emacs::Error),
}

impl Failed {
    /// A problem; what was received is filled in where the object is known.
    fn expected(expected: impl Display) -> Failed {
        Failed::Wrong(Problem::new("", "", expected.to_string()))
    }

    fn inside(self, place: impl Display) -> Failed {
        match self {
            Failed::Wrong(problem) => {
                Failed::Wrong(Problem { path: format!("{place}{}", problem.path), ..problem })
            }
            Failed::Lisp(error) => Failed::Lisp(error),
        }
    }

    pub(super) fn into_error(self) -> emacs::Error {
        match self {
            Failed::Wrong(problem) => Error::Argument(problem).into(),
            Failed::Lisp(error) => error,
        }
    }
}

impl From<emacs::Error> for Failed {
    fn from(error: emacs::Error) -> Failed {
        Failed::Lisp(error)
    }
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Wrong(problem) => problem.fmt(f),
            Failed::Lisp(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failed {}

/// The names of a choice, as in "a, b or c".
fn one_of(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.concat(),
    }
}

impl de::Error for Failed {
    fn custom<T: Display>(message: T) -> Failed {
        Failed::expected(message)
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Failed {
        Failed::expected(expected)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Failed {
        Failed::expected(expected)
    }

    fn invalid_length(_: usize, _: &dyn Expected) -> Failed {
        Failed::expected("all arguments")
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Failed {
        Failed::expected(one_of(expected))
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Failed {
        Failed::expected(format_args!("a plist with keys among :{}", expected.join(" :")))
    }

    fn missing_field(field: &'static str) -> Failed {
        Failed::expected(format_args!("a plist with :{field}"))
    }
}

type Read<T> = Result<T, Failed>;

/// A Lisp object. It lends nothing to the value that is read.
#[derive(Clone, Copy)]
struct Lisp<'e> {
    value: Value<'e>,
    /// The number of objects around it.
    depth: usize,
    /// How many more JSON values may be read.
    left: &'e Cell<usize>,
    /// See [`input`].
    is_input: bool,
}

impl<'e> Lisp<'e> {
    fn part(self, value: Value<'e>) -> Lisp<'e> {
        Lisp { value, depth: self.depth + 1, ..self }
    }

    fn read<'de, T: DeserializeSeed<'de>>(self, seed: T) -> Read<T::Value> {
        self.said(seed.deserialize(self))
    }

    /// Reads an object without a JSON form: an input has the words for it, as bytes, which JSON has not.
    fn without_json<'de, V: Visitor<'de>>(self, what: &str, visitor: V) -> Read<V::Value> {
        if self.is_input {
            return visitor.visit_bytes(what.as_bytes());
        }
        Err(Failed::Wrong(Problem::new("", what, "a value with a JSON form")))
    }

    /// Says in a problem of the object itself what that is.
    fn said<T>(self, read: Read<T>) -> Read<T> {
        read.map_err(|failed| match failed {
            Failed::Wrong(problem) if problem.received.is_empty() => {
                Failed::Wrong(Problem { received: describe(self.value), ..problem })
            }
            other => other,
        })
    }

    fn wrong(self, expected: &str) -> Failed {
        Failed::Wrong(Problem::new("", describe(self.value), expected))
    }

    fn name(self) -> Read<String> {
        read::key_of(self.value)?.ok_or_else(|| self.wrong("a string or a symbol"))
    }

    fn elements(self) -> Read<Elements<'e>> {
        let elements = read::sequence(self.value)?.ok_or_else(|| self.wrong("a list"))?;
        Ok(Elements::of(self, elements))
    }
}

/// Defines the methods of whole numbers.
macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty,)+) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
            let number = if read::is_integer(self.value)? { i64::from_lisp(self.value).ok() } else { None };
            let number = number.and_then(|number| <$type>::try_from(number).ok());
            visitor.$visit(number.ok_or_else(|| self.wrong("a whole number, zero or more"))?)
        }
    )+ };
}

impl<'de> Deserializer<'de> for Lisp<'_> {
    type Error = Failed;

    whole_numbers! {
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    forward_to_deserialize_any! {
        <V: Visitor<'de>>
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct tuple_struct
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return self.without_json("an object too large", visitor);
        };
        self.left.set(left);
        if self.depth > MAX_DEPTH {
            return self.without_json("nesting deeper than 32 levels", visitor);
        }
        match read::form(self.value)? {
            Form::Null => visitor.visit_unit(),
            Form::Bool(value) => visitor.visit_bool(value),
            Form::Integer(number) => visitor.visit_i64(number),
            Form::Float(number) => visitor.visit_f64(number),
            Form::Symbol(name) if self.is_input => {
                self.without_json(&format!("the Lisp symbol {}", excerpt(&name, 40)), visitor)
            }
            Form::Text(text) | Form::Symbol(text) => visitor.visit_string(text),
            Form::List(elements) => visitor.visit_seq(Elements::of(self, elements)),
            Form::Object(fields) => visitor.visit_map(Fields::of(self, fields)),
            Form::Other(what) => self.without_json(&what, visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        visitor.visit_bool(!read::is_false(self.value))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let whole = || i64::from_lisp(self.value).map(|whole| whole as f64);
        let number = f64::from_lisp(self.value).or_else(|_| whole()).ok().filter(|number| number.is_finite());
        visitor.visit_f64(number.ok_or_else(|| self.wrong("a number"))?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let text = read::string_of(self.value)?.ok_or_else(|| self.wrong("a string"))?;
        visitor.visit_string(text)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let name = self.name()?;
        visitor.visit_string(name)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        if read::is_null(self.value) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Read<V::Value> {
        if name == "Name" {
            return visitor.visit_newtype_struct(self.name()?.into_deserializer());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let elements = self.elements()?;
        visitor.visit_seq(elements)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Read<V::Value> {
        let parts = read::parts(self.value, length)?.ok_or_else(|| self.wrong("a cons"))?;
        visitor.visit_seq(Elements::of(self, parts))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        let expected = || format!("a plist with keys among :{}", keys.join(" :"));
        let fields = read::plist(self.value)?.ok_or_else(|| self.wrong(&expected()))?;
        visitor.visit_map(Fields::of(self, fields))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match read::plist(self.value)? {
            Some(fields) => visitor.visit_map(Fields::of(self, fields)),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        visitor.visit_enum(self)
    }
}

/// The elements of a sequence, or the fields of a variant with their names.
struct Elements<'e> {
    of: Lisp<'e>,
    elements: std::vec::IntoIter<Value<'e>>,
    place: usize,
    names: &'static [&'static str],
}

impl<'e> Elements<'e> {
    fn of(of: Lisp<'e>, elements: Vec<Value<'e>>) -> Elements<'e> {
        Elements { of, elements: elements.into_iter(), place: 0, names: &[] }
    }

    /// The value that the elements make, unless there are more.
    fn end<T>(self, value: T) -> Read<T> {
        if self.elements.len() == 0 { Ok(value) } else { Err(Failed::expected("fewer arguments")) }
    }
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Failed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        let Some(element) = self.elements.next() else { return Ok(None) };
        let place = self.place;
        self.place += 1;
        self.of.part(element).read(seed).map(Some).map_err(|failed| match self.names.get(place) {
            Some(name) => failed.inside(format_args!(".{name}")),
            None => failed.inside(format_args!("[{place}]")),
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

/// The fields of a plist.
struct Fields<'e> {
    of: Lisp<'e>,
    fields: std::vec::IntoIter<(String, Value<'e>)>,
    current: Option<(String, Value<'e>)>,
}

impl<'e> Fields<'e> {
    fn of(of: Lisp<'e>, fields: Vec<(String, Value<'e>)>) -> Fields<'e> {
        Fields { of, fields: fields.into_iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Failed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        self.current = self.fields.next();
        let Some((key, _)) = &self.current else { return Ok(None) };
        let key: StrDeserializer<'_, Failed> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<T::Value> {
        let (key, value) = self.current.take().ok_or_else(|| Failed::expected("a plist"))?;
        self.of.part(value).read(seed).map_err(|failed| failed.inside(format_args!(".{}", excerpt(&key, 40))))
    }
}

impl<'de, 'e> EnumAccess<'de> for Lisp<'e> {
    type Error = Failed;
    type Variant = Elements<'e>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Read<(T::Value, Elements<'e>)> {
        let mut parts =
            if read::is_cons(self.value)? { self.elements()? } else { Elements::of(self, Vec::new()) };
        let first = parts.elements.next().map_or(self, |first| self.part(first));
        let name = first.name()?;
        let name: StrDeserializer<'_, Failed> = name.as_str().into_deserializer();
        Ok((first.said(seed.deserialize(name))?, parts))
    }
}

impl<'de> VariantAccess<'de> for Elements<'_> {
    type Error = Failed;

    fn unit_variant(self) -> Read<()> {
        self.end(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(mut self, seed: T) -> Read<T::Value> {
        let value = self.next_element_seed(seed)?.ok_or_else(|| Failed::expected("one more argument"))?;
        self.end(value)
    }

    fn tuple_variant<V: Visitor<'de>>(mut self, _: usize, visitor: V) -> Read<V::Value> {
        let value = visitor.visit_seq(&mut self)?;
        self.end(value)
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        self.names = names;
        let value = visitor.visit_seq(&mut self)?;
        self.end(value)
    }
}
