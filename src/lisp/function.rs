//! The functions of Lisp: each is written as its docstring, its signature and its meaning.

use emacs::{CallEnv, Env, Result, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{de, ser};

/// Defines functions of Lisp, whose names begin with `todo-write-dyn--`.
///
/// An argument is read by its [`Argument`], whose errors name it; the value is converted by its [`Returned`],
/// and is nil without a type. The body may end early by `?`; panics of all three and errors become Lisp errors.
/// `$env` is the name of the environment in the bodies.
macro_rules! lisp {
    ($env:ident => $(
        $(#[doc = $doc:literal])+
        fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $value:ty)? $body:block
    )+) => {
        /// Defines the functions of this file.
        pub(super) fn define(lisp: &emacs::Env) -> emacs::Result<()> {
            $({
                const NAMES: &[&str] = &[$(stringify!($argument)),*];
                fn $name(call: &emacs::CallEnv) -> emacs::Result<emacs::Value<'_>> {
                    let $env: &emacs::Env = call;
                    $crate::lisp::guarded($env, || {
                        $(
                            let name = stringify!($argument);
                            let $argument: $type = $crate::lisp::function::argument(call, NAMES, name)?;
                        )*
                        let value $(: $value)? = $body;
                        $crate::lisp::function::Returned::returned(value, $env)
                    })
                }
                let doc = $crate::lisp::function::docstring(&[$($doc),+], NAMES);
                let function = emacs::lambda!(lisp, $name, NAMES.len()..NAMES.len(), doc)?;
                $crate::lisp::function::set(lisp, stringify!($name), function)?;
            })+
            Ok(())
        }
    };
}

pub(super) use lisp;

/// A type of arguments.
pub(super) trait Argument<'e>: Sized {
    /// Reads the argument `name`.
    fn read(name: &str, value: Value<'e>) -> Result<Self>;
}

impl<'e, T: DeserializeOwned> Argument<'e> for T {
    fn read(name: &str, value: Value<'e>) -> Result<T> {
        de::from_lisp(name, value)
    }
}

/// A type of values.
pub(super) trait Returned<'e> {
    /// The Lisp object.
    fn returned(self, env: &'e Env) -> Result<Value<'e>>;
}

impl<'e, T: Serialize> Returned<'e> for T {
    fn returned(self, env: &'e Env) -> Result<Value<'e>> {
        ser::to_lisp(env, &self)
    }
}

/// A value that is a Lisp object already.
pub(super) struct Object<'e>(pub(super) Value<'e>);

impl<'e> Returned<'e> for Object<'e> {
    fn returned(self, _: &'e Env) -> Result<Value<'e>> {
        Ok(self.0)
    }
}

/// Reads an argument of a call, the value of one of its parameters, which Emacs has counted.
pub(super) fn argument<'e, T: Argument<'e>>(call: &'e CallEnv, names: &[&str], name: &str) -> Result<T> {
    let place = names.iter().position(|known| *known == name).unwrap_or_default();
    T::read(&lisp_name(name), call.get_arg(place))
}

/// The name in Lisp of what is a keyword of Rust, perhaps.
fn lisp_name(name: &str) -> String {
    name.trim_start_matches("r#").replace('_', "-")
}

/// The docstring with these lines, and the names of the arguments.
pub(super) fn docstring(lines: &[&str], names: &[&str]) -> String {
    let mut doc: String =
        lines.iter().flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"]).collect();
    doc.push_str("\n(fn");
    for name in names {
        doc.push_str(&format!(" {}", lisp_name(name).to_uppercase()));
    }
    doc.push(')');
    doc
}

/// Makes a function that of a symbol.
pub(super) fn set(env: &Env, name: &str, function: Value<'_>) -> Result<()> {
    let symbol = env.intern(&format!("todo-write-dyn--{}", lisp_name(name)))?;
    env.call("fset", (symbol, function)).map(drop)
}
