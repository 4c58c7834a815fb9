//! Texts, names and keywords as Lisp objects. Those of fixed names are made once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::thread::LocalKey;

use emacs::{Env, GlobalRef, IntoLisp, Result, Value};

emacs::use_functions! {
    intern
}

/// A symbol.
pub(super) fn symbol<'e>(env: &'e Env, name: &str) -> Result<Value<'e>> {
    // `Env::intern` allocates no string, but takes only ASCII without a NUL.
    if name.is_ascii() && !name.contains('\0') { env.intern(name) } else { env.call(intern, (name,)) }
}

/// A string. Emacs allocates a multibyte string twice, so ASCII, which is most text, becomes a
/// unibyte string; the two are `equal` in Lisp.
pub(super) fn text<'e>(env: &'e Env, text: &str) -> Result<Value<'e>> {
    if text.is_ascii() { text.as_bytes().into_lisp(env) } else { text.into_lisp(env) }
}

/// A string that is one object in all values: the name of a status, of a type or the like.
pub(super) fn word<'e>(env: &'e Env, word: &'static str) -> Result<Value<'e>> {
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
