//! Serializes Rust values to Lisp objects, so that the names of fields stand once: those of serde are the
//! keywords of plists.
//!
//! A struct becomes a plist, in which false and `None` are nil and a sequence is a list. A map, and all in it, is
//! JSON as Emacs' own parser returns it: false is `:false`, null is `:null`, and a sequence is a vector. Structs
//! with flattened fields are such maps, too.

use std::fmt::{self, Display};

use emacs::{Env, IntoLisp, Result, Value};
use serde::ser::{self, Impossible, Serialize};

use super::write::{k_false, k_null, keyword, list, nil, symbol, t, text, vector, word};

/// The Lisp object of a value.
pub(super) fn to_lisp<'e>(env: &'e Env, value: &(impl Serialize + ?Sized)) -> Result<Value<'e>> {
    value.serialize(ToLisp { env, is_json: false }).map_err(|Failed(error)| error)
}

/// The Lisp object of a value that is JSON, as if it were in a map.
pub(super) fn json<'e>(env: &'e Env, value: &(impl Serialize + ?Sized)) -> Result<Value<'e>> {
    value.serialize(ToLisp { env, is_json: true }).map_err(|Failed(error)| error)
}

/// An error of Emacs, or one of serde.
#[derive(Debug)]
struct Failed(emacs::Error);

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: Display>(message: T) -> Failed {
        Failed(emacs::Error::msg(message.to_string()))
    }
}

impl From<emacs::Error> for Failed {
    fn from(error: emacs::Error) -> Failed {
        Failed(error)
    }
}

type Lisp<'e> = std::result::Result<Value<'e>, Failed>;

/// The serializer of one value.
#[derive(Clone, Copy)]
struct ToLisp<'e> {
    env: &'e Env,
    /// Whether the value is in a map.
    is_json: bool,
}

/// Defines the conversions of numbers.
macro_rules! numbers {
    ($($name:ident: $type:ty)+) => { $(
        fn $name(self, value: $type) -> Lisp<'e> {
            Ok(value.into_lisp(self.env)?)
        }
    )+ };
}

impl<'e> ser::Serializer for ToLisp<'e> {
    type Ok = Value<'e>;
    type Error = Failed;
    type SerializeSeq = Elements<'e>;
    type SerializeTuple = Elements<'e>;
    type SerializeTupleStruct = Impossible<Value<'e>, Failed>;
    type SerializeTupleVariant = Impossible<Value<'e>, Failed>;
    type SerializeMap = Fields<'e>;
    type SerializeStruct = Fields<'e>;
    type SerializeStructVariant = Impossible<Value<'e>, Failed>;

    numbers! {
        serialize_i8: i8 serialize_i16: i16 serialize_i32: i32 serialize_i64: i64
        serialize_u8: u8 serialize_u16: u16 serialize_u32: u32 serialize_f64: f64
    }

    fn serialize_u64(self, value: u64) -> Lisp<'e> {
        // Modules have no larger integers.
        i64::try_from(value)
            .map_or_else(|_| self.serialize_f64(value as f64), |value| self.serialize_i64(value))
    }

    fn serialize_f32(self, value: f32) -> Lisp<'e> {
        self.serialize_f64(value.into())
    }

    fn serialize_bool(self, value: bool) -> Lisp<'e> {
        let symbol = match (value, self.is_json) {
            (true, _) => &t,
            (false, true) => &k_false,
            (false, false) => &nil,
        };
        Ok(symbol.bind(self.env))
    }

    fn serialize_char(self, value: char) -> Lisp<'e> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Lisp<'e> {
        Ok(text(self.env, value)?)
    }

    fn serialize_bytes(self, value: &[u8]) -> Lisp<'e> {
        Ok(value.into_lisp(self.env)?)
    }

    fn serialize_none(self) -> Lisp<'e> {
        if self.is_json { self.serialize_unit() } else { Ok(nil.bind(self.env)) }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Lisp<'e> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Lisp<'e> {
        Ok(k_null.bind(self.env))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Lisp<'e> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Lisp<'e> {
        Ok(word(self.env, variant)?)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Lisp<'e> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Lisp<'e> {
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> std::result::Result<Elements<'e>, Failed> {
        Ok(Elements { serializer: self, values: Vec::with_capacity(length.unwrap_or_default()) })
    }

    fn serialize_tuple(self, length: usize) -> std::result::Result<Elements<'e>, Failed> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Refused<'e> {
        Err(ser::Error::custom(name))
    }

    fn serialize_tuple_variant(self, name: &'static str, _: u32, _: &'static str, _: usize) -> Refused<'e> {
        Err(ser::Error::custom(name))
    }

    fn serialize_map(self, length: Option<usize>) -> std::result::Result<Fields<'e>, Failed> {
        let serializer = ToLisp { is_json: true, ..self };
        Ok(Fields { serializer, values: Vec::with_capacity(2 * length.unwrap_or_default()) })
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> std::result::Result<Fields<'e>, Failed> {
        Ok(Fields { serializer: self, values: Vec::with_capacity(2 * length) })
    }

    fn serialize_struct_variant(self, name: &'static str, _: u32, _: &'static str, _: usize) -> Refused<'e> {
        Err(ser::Error::custom(name))
    }
}

/// What no value of ours is.
type Refused<'e> = std::result::Result<Impossible<Value<'e>, Failed>, Failed>;

/// The elements of a sequence.
struct Elements<'e> {
    serializer: ToLisp<'e>,
    values: Vec<Value<'e>>,
}

impl<'e> ser::SerializeSeq for Elements<'e> {
    type Ok = Value<'e>;
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
        self.values.push(value.serialize(self.serializer)?);
        Ok(())
    }

    fn end(self) -> Lisp<'e> {
        let ToLisp { env, is_json } = self.serializer;
        Ok(env.call(if is_json { vector } else { list }, &self.values)?)
    }
}

impl<'e> ser::SerializeTuple for Elements<'e> {
    type Ok = Value<'e>;
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Lisp<'e> {
        ser::SerializeSeq::end(self)
    }
}

/// The keys and values of a plist.
struct Fields<'e> {
    serializer: ToLisp<'e>,
    values: Vec<Value<'e>>,
}

impl<'e> Fields<'e> {
    fn finish(self) -> Lisp<'e> {
        Ok(self.serializer.env.call(list, &self.values)?)
    }
}

impl<'e> ser::SerializeStruct for Fields<'e> {
    type Ok = Value<'e>;
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> std::result::Result<(), Failed> {
        self.values.push(keyword(self.serializer.env, name)?);
        self.values.push(value.serialize(self.serializer)?);
        Ok(())
    }

    fn end(self) -> Lisp<'e> {
        self.finish()
    }
}

impl<'e> ser::SerializeMap for Fields<'e> {
    type Ok = Value<'e>;
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> std::result::Result<(), Failed> {
        let key = serde_json::to_value(key).map_err(<Failed as ser::Error>::custom)?;
        let name = key.as_str().ok_or_else(|| <Failed as ser::Error>::custom("a key that is no text"))?;
        self.values.push(symbol(self.serializer.env, &format!(":{name}"))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
        self.values.push(value.serialize(self.serializer)?);
        Ok(())
    }

    fn end(self) -> Lisp<'e> {
        self.finish()
    }
}
