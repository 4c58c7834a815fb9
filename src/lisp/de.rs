//! Deserializes Lisp objects to Rust values: the types of arguments say what they take. The inverse of [`super::ser`].
//!
//! - A struct is a plist, of which the first of equal keys counts.
//! - A sequence is a list or a vector. A tuple is `(A B . C)`.
//! - nil is `None`, false and an empty sequence. Any other object but `:false` is true.
//! - A name of an enum, and a [`Name`](crate::named::Name), is a string or a symbol. A variant with fields is a list
//!   of the name and the fields.
//! - A map is a plist. Any other map, a JSON value and what is flattened are read as JSON; see [`read::json`].
//!
//! An error says where, what is there and what is allowed.

use std::fmt::{self, Display};
use std::marker::PhantomData;

use emacs::{FromLisp, Value};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::read;
use crate::error::{Error, Problem};

/// Reads the argument `what` of a function.
pub(super) fn from_lisp<T: DeserializeOwned>(what: &str, value: Value<'_>) -> emacs::Result<T> {
    Lisp(value).read(PhantomData).map_err(|failed| match failed {
        Failed::Wrong(problem) => Error::Argument(problem).inside(what).into(),
        Failed::Lisp(error) => error,
    })
}

/// A problem at a path below the argument, or a signal of Lisp.
#[derive(Debug)]
enum Failed {
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
}

impl From<emacs::Error> for Failed {
    fn from(error: emacs::Error) -> Failed {
        match error.downcast::<Error>() {
            Ok(Error::Argument(problem)) => Failed::Wrong(problem),
            Ok(error) => Failed::Lisp(error.into()),
            Err(error) => Failed::Lisp(error),
        }
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

/// A Lisp object.
#[derive(Clone, Copy)]
struct Lisp<'e>(Value<'e>);

impl<'e> Lisp<'e> {
    fn read<T: DeserializeSeed<'e>>(self, seed: T) -> Read<T::Value> {
        self.said(seed.deserialize(self))
    }

    /// Says in a problem of the object itself what that is.
    fn said<T>(self, read: Read<T>) -> Read<T> {
        read.map_err(|failed| match failed {
            Failed::Wrong(problem) if problem.received.is_empty() => {
                Failed::Wrong(Problem { received: read::describe(self.0), ..problem })
            }
            other => other,
        })
    }

    fn wrong(self, expected: &str) -> Failed {
        Failed::Wrong(Problem::new("", read::describe(self.0), expected))
    }

    fn name(self) -> Read<String> {
        read::key_of(self.0)?.ok_or_else(|| self.wrong("a string or a symbol"))
    }

    fn elements(self) -> Read<Elements<'e>> {
        let elements = read::sequence(self.0)?.ok_or_else(|| self.wrong("a list"))?;
        Ok(Elements::of(elements))
    }
}

/// Defines the methods of whole numbers.
macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty,)+) => { $(
        fn $method<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
            let number = if read::is_integer(self.0)? { i64::from_lisp(self.0).ok() } else { None };
            let number = number.and_then(|number| <$type>::try_from(number).ok());
            visitor.$visit(number.ok_or_else(|| self.wrong("a whole number, zero or more"))?)
        }
    )+ };
}

impl<'e> Deserializer<'e> for Lisp<'e> {
    type Error = Failed;

    whole_numbers! {
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    forward_to_deserialize_any! {
        <V: Visitor<'e>>
        i8 i16 i32 i64 i128 u128 f32 char bytes byte_buf unit unit_struct tuple_struct ignored_any
    }

    fn deserialize_any<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        let json = read::json(self.0)?;
        json.deserialize_any(visitor).map_err(de::Error::custom)
    }

    fn deserialize_bool<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        visitor.visit_bool(!read::is_false(self.0))
    }

    fn deserialize_f64<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        let whole = || i64::from_lisp(self.0).map(|whole| whole as f64);
        let number = f64::from_lisp(self.0).or_else(|_| whole()).ok().filter(|number| number.is_finite());
        visitor.visit_f64(number.ok_or_else(|| self.wrong("a number"))?)
    }

    fn deserialize_str<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        let text = read::string_of(self.0)?.ok_or_else(|| self.wrong("a string"))?;
        visitor.visit_string(text)
    }

    fn deserialize_identifier<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        let name = self.name()?;
        visitor.visit_string(name)
    }

    fn deserialize_option<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        if read::is_null(self.0) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'e>>(self, name: &'static str, visitor: V) -> Read<V::Value> {
        if name == "Name" {
            return visitor.visit_newtype_struct(self.name()?.into_deserializer());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        let elements = self.elements()?;
        visitor.visit_seq(elements)
    }

    fn deserialize_tuple<V: Visitor<'e>>(self, length: usize, visitor: V) -> Read<V::Value> {
        let parts = read::parts(self.0, length)?.ok_or_else(|| self.wrong("a cons"))?;
        visitor.visit_seq(Elements::of(parts))
    }

    fn deserialize_struct<V: Visitor<'e>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        let expected = || format!("a plist with keys among :{}", keys.join(" :"));
        let fields = read::plist(self.0)?.ok_or_else(|| self.wrong(&expected()))?;
        visitor.visit_map(Fields { fields: fields.into_iter(), current: None })
    }

    fn deserialize_map<V: Visitor<'e>>(self, visitor: V) -> Read<V::Value> {
        match read::plist(self.0)? {
            Some(fields) => visitor.visit_map(Fields { fields: fields.into_iter(), current: None }),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'e>>(
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
    elements: std::vec::IntoIter<Value<'e>>,
    place: usize,
    names: &'static [&'static str],
}

impl<'e> Elements<'e> {
    fn of(elements: Vec<Value<'e>>) -> Elements<'e> {
        Elements { elements: elements.into_iter(), place: 0, names: &[] }
    }

    /// The value that the elements make, unless there are more.
    fn end<T>(self, value: T) -> Read<T> {
        if self.elements.len() == 0 { Ok(value) } else { Err(Failed::expected("fewer arguments")) }
    }
}

impl<'e> SeqAccess<'e> for Elements<'e> {
    type Error = Failed;

    fn next_element_seed<T: DeserializeSeed<'e>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        let Some(element) = self.elements.next() else { return Ok(None) };
        let place = self.place;
        self.place += 1;
        Lisp(element).read(seed).map(Some).map_err(|failed| match self.names.get(place) {
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
    fields: std::vec::IntoIter<(String, Value<'e>)>,
    current: Option<(String, Value<'e>)>,
}

impl<'e> MapAccess<'e> for Fields<'e> {
    type Error = Failed;

    fn next_key_seed<K: DeserializeSeed<'e>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        self.current = self.fields.next();
        let Some((key, _)) = &self.current else { return Ok(None) };
        let key: StrDeserializer<'_, Failed> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'e>>(&mut self, seed: T) -> Read<T::Value> {
        let (key, value) = self.current.take().ok_or_else(|| Failed::expected("a plist"))?;
        Lisp(value).read(seed).map_err(|failed| failed.inside(format_args!(".{key}")))
    }
}

impl<'e> EnumAccess<'e> for Lisp<'e> {
    type Error = Failed;
    type Variant = Elements<'e>;

    fn variant_seed<T: DeserializeSeed<'e>>(self, seed: T) -> Read<(T::Value, Elements<'e>)> {
        let mut parts = if read::is_cons(self.0)? { self.elements()? } else { Elements::of(Vec::new()) };
        let first = parts.elements.next().map_or(self, Lisp);
        let name = first.name()?;
        let name: StrDeserializer<'_, Failed> = name.as_str().into_deserializer();
        Ok((first.said(seed.deserialize(name))?, parts))
    }
}

impl<'e> VariantAccess<'e> for Elements<'e> {
    type Error = Failed;

    fn unit_variant(self) -> Read<()> {
        self.end(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'e>>(mut self, seed: T) -> Read<T::Value> {
        let value = self.next_element_seed(seed)?.ok_or_else(|| Failed::expected("one more argument"))?;
        self.end(value)
    }

    fn tuple_variant<V: Visitor<'e>>(mut self, _: usize, visitor: V) -> Read<V::Value> {
        let value = visitor.visit_seq(&mut self)?;
        self.end(value)
    }

    fn struct_variant<V: Visitor<'e>>(
        mut self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        self.names = names;
        let value = visitor.visit_seq(&mut self)?;
        self.end(value)
    }
}
