//! Enums and objects with names in JSON: the journal and Lisp share them.

use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Defines an enum with names, conversions between both, and serde by these names.
macro_rules! wire_names {
    (
        $(#[$about:meta])*
        pub enum $type:ident { $($(#[$about_variant:meta])* $variant:ident = $name:literal,)+ }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        $(#[$about])*
        pub enum $type {
            $($(#[$about_variant])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// All variants with their names.
            pub const NAMES: &[(Self, &'static str)] = &[$((Self::$variant, $name)),+];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                Self::NAMES[self as usize].1
            }

            /// The variant with this name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::NAMES.iter().find(|(_, known)| *known == name).map(|(variant, _)| *variant)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Defines fields of a JSON object to which others may add any. One that is missing, or of another type than
/// expected, is `None`, and stays among what others added.
macro_rules! wire_fields {
    (
        $(#[$about:meta])*
        pub struct $type:ident { $($(#[$about_field:meta])* $field:ident: $kind:ty = $name:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(from = "serde_json::Map<String, serde_json::Value>")]
        pub struct $type {
            $($(#[$about_field])* #[serde(rename = $name, skip_serializing_if = "Option::is_none")]
            pub $field: Option<$kind>,)+
            /// What others added.
            #[serde(flatten)]
            pub extra: serde_json::Map<String, serde_json::Value>,
        }

        impl From<serde_json::Map<String, serde_json::Value>> for $type {
            fn from(mut extra: serde_json::Map<String, serde_json::Value>) -> $type {
                $type { $($field: $crate::named::take(&mut extra, $name),)+ extra }
            }
        }
    };
}

/// A name, which Lisp may have as a string or as a symbol.
#[derive(Deserialize)]
pub(crate) struct Name(pub(crate) String);

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Deserializes a [`Name`] as a string.
pub(crate) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Name>::deserialize(deserializer)?.map(|Name(name)| name))
}

/// Removes a field if it has the expected type.
pub(crate) fn take<T: DeserializeOwned>(fields: &mut Map<String, Value>, name: &str) -> Option<T> {
    let value = T::deserialize(fields.get(name)?).ok()?;
    fields.shift_remove(name);
    Some(value)
}

/// Serializes without fields that are 0, false, null or empty, at any depth. Only for types whose fields have
/// these defaults.
pub(crate) fn sparse<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value = serde_json::to_value(value).map_err(serde::ser::Error::custom)?;
    thin(&mut value);
    value.serialize(serializer)
}

fn thin(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|_, field| {
            thin(field);
            ![json!(null), json!(false), json!(0), json!([]), json!({})].contains(field)
        }),
        Value::Array(elements) => elements.iter_mut().for_each(thin),
        _ => {}
    }
}

/// Whether a field need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) use {wire_fields, wire_names};
