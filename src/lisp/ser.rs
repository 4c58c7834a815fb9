//! Serializes Rust values to Lisp objects, so that the names of fields stand once: those of serde are the
//! keywords of plists.
//!
//! - A struct is a plist, with hyphens in its keywords; false, `None` and a unit struct are nil.
//! - A sequence is a list. A tuple, and so an array, is `(A B . C)`.
//! - A name of an enum is a string, or a symbol if serde's name of the enum is `Symbol`. A variant with fields is a
//!   list of its name, a symbol, and the fields; those with names are a plist.
//! - JSON as it came is its text.
//! - A map, and all in it, is JSON as Emacs' own parser returns it: false is `:false`, null is `:null`, and a
//!   sequence is a vector.
//!
//! [`Sparse`], [`Json`], [`Symbol`] and [`Vector`] say otherwise of what they hold. To other serializers they are
//! what they hold, so that JSON is exported from the same types.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;
use std::thread::LocalKey;

use emacs::{Env, GlobalRef, IntoLisp, Result, Value};
use serde::ser::{self, Impossible, Serialize};
use serde::{Deserialize, Serialize as Derive};

use super::de::Failed;

emacs::use_functions! {
    intern list vector
}

emacs::use_symbols! {
    nil t k_null => ":null" k_false => ":false"
}

/// The Lisp object of a value.
pub(super) fn to_lisp<'e>(env: &'e Env, value: &(impl Serialize + ?Sized)) -> Result<Value<'e>> {
    let serializer = ToLisp { env, style: Style::Full, mark: Mark::None };
    value.serialize(serializer).map_err(Failed::into_error)
}

/// A plist, and all in it, without the fields that are nil: `plist-get` returns the same, and there is less
/// garbage.
#[derive(PartialEq, Derive)]
pub(super) struct Sparse<T>(pub(super) T);

/// JSON, as if it were in a map.
#[derive(Derive)]
pub(super) struct Json<T>(pub(super) T);

/// A name that is a symbol.
#[derive(Clone, Copy, Default, Derive, Deserialize)]
pub(super) struct Symbol<T>(pub(super) T);

/// A sequence that is a vector.
#[derive(Derive)]
pub(super) struct Vector<T>(pub(super) T);

/// The name by which serde_json passes JSON on as it came.
const RAW: &str = "$serde_json::private::RawValue";

impl ser::Error for Failed {
    fn custom<T: Display>(message: T) -> Failed {
        Failed::Lisp(emacs::Error::msg(message.to_string()))
    }
}

type Lisp<'e> = std::result::Result<Value<'e>, Failed>;

/// How structs and what is in them are written.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Full,
    Sparse,
    Json,
}

/// What one value is.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    None,
    Symbol,
    Vector,
}

/// The serializer of one value.
#[derive(Clone, Copy)]
struct ToLisp<'e> {
    env: &'e Env,
    style: Style,
    mark: Mark,
}

impl<'e> ToLisp<'e> {
    fn is_json(self) -> bool {
        self.style == Style::Json
    }

    /// The serializer of the values in this one.
    fn of_parts(self) -> ToLisp<'e> {
        ToLisp { mark: Mark::None, ..self }
    }

    fn nil(self) -> Value<'e> {
        nil.bind(self.env)
    }
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
    type SerializeTupleVariant = Elements<'e>;
    type SerializeMap = Fields<'e>;
    type SerializeStruct = Fields<'e>;
    type SerializeStructVariant = Fields<'e>;

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
        let symbol = match (value, self.is_json()) {
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
        Ok(if self.mark == Mark::Symbol { symbol(self.env, value) } else { text(self.env, value) }?)
    }

    fn serialize_bytes(self, value: &[u8]) -> Lisp<'e> {
        Ok(value.into_lisp(self.env)?)
    }

    fn serialize_none(self) -> Lisp<'e> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Lisp<'e> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Lisp<'e> {
        Ok(if self.is_json() { k_null.bind(self.env) } else { self.nil() })
    }

    fn serialize_unit_struct(self, _: &'static str) -> Lisp<'e> {
        Ok(self.nil())
    }

    fn serialize_unit_variant(self, name: &'static str, _: u32, variant: &'static str) -> Lisp<'e> {
        let is_symbol = self.mark == Mark::Symbol || !self.is_json() && name == "Symbol";
        Ok(if is_symbol { symbol(self.env, variant) } else { word(self.env, variant) }?)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Lisp<'e> {
        let to = match name {
            "Sparse" => ToLisp { style: Style::Sparse, ..self },
            "Json" => ToLisp { style: Style::Json, ..self },
            "Symbol" => ToLisp { mark: Mark::Symbol, ..self },
            "Vector" => ToLisp { mark: Mark::Vector, ..self },
            _ => self,
        };
        value.serialize(to)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Lisp<'e> {
        Ok(self.env.list([symbol(self.env, variant)?, value.serialize(self.of_parts())?])?)
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

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> std::result::Result<Elements<'e>, Failed> {
        let mut elements = self.serialize_seq(Some(length + 1))?;
        elements.values.push(symbol(self.env, variant)?);
        Ok(elements)
    }

    fn serialize_map(self, length: Option<usize>) -> std::result::Result<Fields<'e>, Failed> {
        // Only a struct with flattened fields does not tell how many there are.
        let style = if length.is_some() { Style::Json } else { self.style };
        let serializer = ToLisp { style, mark: Mark::None, ..self };
        Ok(Fields { serializer, is_raw: false, values: Vec::with_capacity(2 * length.unwrap_or(8)) })
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> std::result::Result<Fields<'e>, Failed> {
        let is_raw = name == RAW;
        Ok(Fields { serializer: self.of_parts(), is_raw, values: Vec::with_capacity(2 * length) })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> std::result::Result<Fields<'e>, Failed> {
        let mut fields = self.serialize_struct(name, length + 1)?;
        fields.values.push(symbol(self.env, variant)?);
        Ok(fields)
    }
}

/// What no value of ours is.
type Refused<'e> = std::result::Result<Impossible<Value<'e>, Failed>, Failed>;

/// The elements of a sequence.
struct Elements<'e> {
    serializer: ToLisp<'e>,
    values: Vec<Value<'e>>,
}

/// Implements the traits of values with elements.
macro_rules! elements {
    ($($elements:ident $serialize:ident)+) => { $(
        impl<'e> ser::$elements for Elements<'e> {
            type Ok = Value<'e>;
            type Error = Failed;

            fn $serialize<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
                self.values.push(value.serialize(self.serializer.of_parts())?);
                Ok(())
            }

            fn end(self) -> Lisp<'e> {
                let is_vector = self.serializer.is_json() || self.serializer.mark == Mark::Vector;
                Ok(self.serializer.env.call(if is_vector { vector } else { list }, &self.values)?)
            }
        }
    )+ };
}

elements! { SerializeSeq serialize_element SerializeTupleVariant serialize_field }

impl<'e> ser::SerializeTuple for Elements<'e> {
    type Ok = Value<'e>;
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Lisp<'e> {
        if self.serializer.is_json() {
            return ser::SerializeSeq::end(self);
        }
        let env = self.serializer.env;
        let mut backwards = self.values.into_iter().rev();
        let last = backwards.next().unwrap_or_else(|| self.serializer.nil());
        Ok(backwards.try_fold(last, |rest, value| env.cons(value, rest))?)
    }
}

/// The keys and values of a plist.
struct Fields<'e> {
    serializer: ToLisp<'e>,
    /// Whether the only field is the text of JSON.
    is_raw: bool,
    values: Vec<Value<'e>>,
}

impl<'e> Fields<'e> {
    /// Adds a value after its key, or drops the key of one that is left out.
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
        let value = value.serialize(self.serializer)?;
        if self.serializer.style == Style::Sparse && !value.is_not_nil() {
            self.values.pop();
        } else {
            self.values.push(value);
        }
        Ok(())
    }

    fn finish(mut self) -> Lisp<'e> {
        if self.is_raw {
            return Ok(self.values.pop().unwrap_or_else(|| self.serializer.nil()));
        }
        Ok(self.serializer.env.call(list, &self.values)?)
    }
}

/// Implements the traits of values with named fields.
macro_rules! named_fields {
    ($($named:ident)+) => { $(
        impl<'e> ser::$named for Fields<'e> {
            type Ok = Value<'e>;
            type Error = Failed;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> std::result::Result<(), Failed> {
                self.values.push(keyword(self.serializer.env, name)?);
                self.add(value)
            }

            fn end(self) -> Lisp<'e> {
                self.finish()
            }
        }
    )+ };
}

named_fields! { SerializeStruct SerializeStructVariant }

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
        self.add(value)
    }

    fn end(self) -> Lisp<'e> {
        self.finish()
    }
}

/// A symbol.
fn symbol<'e>(env: &'e Env, name: &str) -> Result<Value<'e>> {
    // `Env::intern` allocates no string, but takes only ASCII without a NUL.
    if name.is_ascii() && !name.contains('\0') { env.intern(name) } else { env.call(intern, (name,)) }
}

/// A string. Emacs allocates a multibyte string twice, so ASCII, which is most text, becomes a
/// unibyte string; the two are `equal` in Lisp.
fn text<'e>(env: &'e Env, text: &str) -> Result<Value<'e>> {
    if text.is_ascii() { text.as_bytes().into_lisp(env) } else { text.into_lisp(env) }
}

/// A string that is one object in all values: the name of a status, of a type or the like.
fn word<'e>(env: &'e Env, word: &'static str) -> Result<Value<'e>> {
    thread_local! { static WORDS: Interned = RefCell::default(); }
    interned(env, &WORDS, word, || text(env, word))
}

/// The keyword of a name, with hyphens.
pub(super) fn keyword<'e>(env: &'e Env, name: &'static str) -> Result<Value<'e>> {
    thread_local! { static KEYWORDS: Interned = RefCell::default(); }
    interned(env, &KEYWORDS, name, || symbol(env, &format!(":{}", name.replace('_', "-"))))
}

type Interned = RefCell<HashMap<&'static str, &'static GlobalRef>>;

/// The object of a name, made once.
fn interned<'e>(
    env: &'e Env,
    all: &'static LocalKey<Interned>,
    name: &'static str,
    make: impl FnOnce() -> Result<Value<'e>>,
) -> Result<Value<'e>> {
    if let Some(known) = all.with_borrow(|all| all.get(name).copied()) {
        return Ok(known.bind(env));
    }
    let new: &GlobalRef = Box::leak(Box::new(make()?.make_global_ref()));
    all.with_borrow_mut(|all| all.insert(name, new));
    Ok(new.bind(env))
}
