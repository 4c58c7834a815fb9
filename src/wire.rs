//! Enums whose variants have names on the wire: JSON, the journal and Lisp share them.

/// Defines an enum with names, conversions between both, and serde by these names.
macro_rules! wire_names {
    (
        $(#[$about:meta])*
        pub enum $type:ident { $($(#[$about_variant:meta])* $variant:ident = $name:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
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

pub(crate) use wire_names;
