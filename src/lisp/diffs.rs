//! Lisp functions on plain data: diff, apply, wire JSON.

use emacs::{Env, IntoLisp, Result, Value, defun};
use serde_json::Value as Json;

use super::{border, now, read, write};
use crate::events::patch;
use crate::list::untyped;
use crate::text::words::{self, Kind};

/// See `todo-write-diff'.
#[defun]
fn diff<'e>(env: &'e Env, previous: Value<'e>, current: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (previous, current) = (read::raw_with_symbols(previous)?, read::raw_with_symbols(current)?);
        let changes = untyped::diff(&previous, &current)?;
        write::changes(&write::Shared::new(env), &changes, now(), |entry| entry.into_lisp(env))
    })
}

/// See `todo-write-apply-changes'.
#[defun]
fn apply_changes<'e>(env: &'e Env, list: Value<'e>, changes: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (list, changes) = (read::raw_with_symbols(list)?, read::raw_with_symbols(changes)?);
        let result = untyped::apply(&list, &changes)?;
        write::vector_of(env, &result, Ok)
    })
}

/// Return the hunks of the unified difference from OLD to NEW, two texts.
///
/// The value has no header, and is empty if the texts are equal.
#[defun]
fn text_diff<'e>(env: &'e Env, old: Value<'e>, new: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (old, new) = (read::text("old", old)?, read::text("new", new)?);
        Ok(patch::compare(&old, &new).hunks)
    })
}

/// See `todo-write-words--diff'.
#[defun]
fn word_diff<'e>(env: &'e Env, old: Value<'e>, new: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (old, new) = (read::text("old", old)?, read::text("new", new)?);
        write::list_of(env, words::compare(&old, &new), |(kind, text)| {
            let kind = match kind {
                Kind::Same => "same",
                Kind::Removed => "removed",
                Kind::Added => "added",
            };
            env.cons(write::symbol(env, kind)?, write::text(env, text)?)
        })
    })
}

const VALUES: &str = "an outcome, changes, an observation, a stream event, work or a patch";

/// See `todo-write-to-json'.
#[defun]
fn to_json<'e>(env: &'e Env, value: Value<'e>) -> Result<Value<'e>> {
    border(env, || match read::json("value", value)? {
        json @ (Json::Object(_) | Json::Array(_)) => Ok(wire(json).to_string()),
        Json::String(patch) if patch.starts_with("diff --git ") || patch.starts_with("# ") => {
            Ok(Json::String(patch).to_string())
        }
        _ => Err(read::wrong("value", value, VALUES)),
    })
}

/// Replaces null, which depending on its key means false, an empty array or object, or a missing field.
fn wire(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let fields = fields.into_iter().filter_map(|(key, value)| {
                let value = match (value, key.as_str()) {
                    (
                        Json::Null,
                        "ok" | "resumed" | "thinking" | "told" | "created" | "deleted" | "shared" | "atLeast",
                    ) => Json::Bool(false),
                    (Json::Null, "notices" | "errors" | "forced" | "warnings" | "files" | "models") => {
                        Json::Array(Vec::new())
                    }
                    (Json::Null, "metadata") => Json::Object(serde_json::Map::new()),
                    (Json::Null, _) => return None,
                    (value, _) => wire(value),
                };
                Some((key, value))
            });
            Json::Object(fields.collect())
        }
        Json::Array(values) => Json::Array(values.into_iter().map(wire).collect()),
        other => other,
    }
}
