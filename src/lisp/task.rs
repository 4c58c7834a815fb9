//! The shape in which nearly every task arrives, read in as few crossings as can be: an object
//! with the three keys of the schema, all strings, and nothing else. Whatever is not that is left
//! to [`super::read`], which reads anything.

use std::borrow::Cow;

use emacs::{Env, FromLisp, GlobalRef, IntoLisp, Result, Value};
use once_cell::sync::OnceCell;

use crate::raw::Raw;

emacs::use_functions! {
    gethash
    hash_table_count => "hash-table-count"
    hash_table_test => "hash-table-test"
    plist_get => "plist-get"
    proper_list_p => "proper-list-p"
}

emacs::use_symbols! {
    cons equal
    hash_table => "hash-table"
    k_content => ":content" k_status => ":status" k_active_form => ":activeForm"
}

const NAMES: [&str; 3] = ["content", "status", "activeForm"];

static KEYS: OnceCell<[GlobalRef; 3]> = OnceCell::new();

/// The names as Lisp strings, made once.
fn keys(env: &Env) -> Result<&'static [GlobalRef; 3]> {
    KEYS.get_or_try_init(|| {
        let [content, status, active_form] = NAMES;
        let key = |name: &str| Ok::<_, emacs::Error>(name.into_lisp(env)?.make_global_ref());
        Ok([key(content)?, key(status)?, key(active_form)?])
    })
}

/// The task, if it is as plain as that.
pub fn plain(value: Value<'_>) -> Result<Option<Raw<'static>>> {
    let env = value.env;
    let kind = env.type_of(value)?;
    let values = if kind == *hash_table {
        // Another test may run the user's code.
        if env.call(hash_table_test, [value])? != *equal
            || number(env.call(hash_table_count, [value])?) != Some(3)
        {
            return Ok(None);
        }
        let [content, status, active_form] = keys(env)?;
        let get = |key: &'static GlobalRef| env.call(gethash, [key.bind(env), value]);
        [get(content)?, get(status)?, get(active_form)?]
    } else if kind == *cons {
        if number(env.call(proper_list_p, [value])?) != Some(6) {
            return Ok(None);
        }
        let get = |key: &'static emacs::OnceGlobalRef| env.call(plist_get, [value, key.bind(env)]);
        [get(k_content)?, get(k_status)?, get(k_active_form)?]
    } else {
        return Ok(None);
    };
    let mut fields = Vec::with_capacity(3);
    for (name, value) in NAMES.into_iter().zip(values) {
        match value.is_not_nil().then(|| short_text(value)).flatten() {
            Some(text) => fields.push((Cow::Borrowed(name), Raw::Text(Cow::Owned(text)))),
            None => return Ok(None),
        }
    }
    Ok(Some(Raw::Object(fields)))
}

fn number(value: Value<'_>) -> Option<i64> {
    if value.is_not_nil() { i64::from_lisp(value).ok() } else { None }
}

/// A string that fits; none for anything else, also for what is no string.
fn short_text(value: Value<'_>) -> Option<String> {
    let mut buffer = [0; 512];
    let bytes = value.copy_string_contents(&mut buffer).ok()?;
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}
