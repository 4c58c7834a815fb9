//! Lisp functions on plain data: diff, apply, wire JSON.

use emacs::{Env, IntoLisp, Result, Value, defun};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::ser::{self, Vector};
use super::shown::{ShownObservation, ShownOutcome, ShownUntyped, changes_by_kind};
use super::work::ShownWork;
use super::{border, names, now, read, serialized};
use crate::events::edit::{self, Edit, NotApplied, compare_all};
use crate::list::untyped;

/// See `todo-write-diff'.
#[defun]
fn diff<'e>(env: &'e Env, previous: Value<'e>, current: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (previous, current) = (read::raw_with_symbols(previous)?, read::raw_with_symbols(current)?);
        let difference = untyped::diff(&previous, &current)?;
        let (changes, warnings) = (&difference.changes, &difference.warnings);
        changes_by_kind::<_, ShownUntyped<'_>>(env, changes, warnings, now())
    })
}

/// See `todo-write-apply-changes'.
#[defun]
fn apply_changes<'e>(env: &'e Env, list: Value<'e>, changes: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (list, changes) = (read::raw_with_symbols(list)?, read::raw_with_symbols(changes)?);
        let result = untyped::apply(&list, &changes)?;
        ser::to_lisp(env, &Vector(result.iter().map(ShownUntyped::from).collect::<Vec<_>>()))
    })
}

/// Return the hunks of the unified differences from each of OLDS to that of NEWS, lists of texts.
///
/// The value is a list of strings without headers; that of equal texts is empty.  It is nil if there
/// are more texts, or larger ones, than are compared.
#[defun]
fn text_diffs<'e>(env: &'e Env, olds: Value<'e>, news: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let (olds, news) = (read::texts("olds", olds)?, read::texts("news", news)?);
        let pairs: Vec<_> = olds.iter().zip(&news).map(|(old, new)| (old.as_str(), new.as_str())).collect();
        Ok(compare_all(&pairs))
    })
}

/// Return TEXT after its edits: each of OLDS is replaced by that of NEWS.
///
/// If that of ALL is non-nil, each occurrence is replaced, else the first.  OLDS, NEWS and ALL are lists.
/// The value is nil if an old text does not occur, and `too-large' if the result would be.
#[defun]
fn text_edited<'e>(
    env: &'e Env,
    text: Value<'e>,
    olds: Value<'e>,
    news: Value<'e>,
    all: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let text = read::text("text", text)?;
        let (olds, news) = (read::texts("olds", olds)?, read::texts("news", news)?);
        let all = read::elements("all", all)?;
        let edits: Vec<Edit> = olds
            .into_iter()
            .zip(news)
            .zip(all)
            .map(|((old, new), all)| Edit { old, new, all: all.is_not_nil() })
            .collect();
        match edit::apply(&text, &edits) {
            Ok(text) => names::text(env, &text),
            Err(NotApplied::Missing) => ().into_lisp(env),
            Err(NotApplied::TooLarge) => names::symbol(env, "too-large"),
        }
    })
}

const VALUES: &str = "an outcome, changes, an observation, a stream event, work or a patch";

/// See `todo-write-to-json'.
#[defun]
fn to_json<'e>(env: &'e Env, value: Value<'e>) -> Result<Value<'e>> {
    border(env, || match read::json("value", value)? {
        json @ (Json::Object(_) | Json::Array(_)) => {
            let exported =
                Exported::deserialize(without_null(json)).map_err(|_| read::wrong("value", value, VALUES))?;
            Ok(serde_json::to_string(&exported)?)
        }
        Json::String(patch) if patch.starts_with("diff --git ") || patch.starts_with("# ") => {
            Ok(Json::String(patch).to_string())
        }
        _ => Err(read::wrong("value", value, VALUES)),
    })
}

/// What is exported as JSON, where false and an empty list are such.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Exported {
    Outcome(Box<ShownOutcome<'static, Json, Json>>),
    Work(Box<ShownWork>),
    Observation(Box<ShownObservation<'static, Json, Map<String, Json>>>),
    Other(Json),
}

/// Leaves out the fields that are null.
fn without_null(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Json::Object(fields.map(|(key, value)| (key, without_null(value))).collect())
        }
        Json::Array(values) => Json::Array(values.into_iter().map(without_null).collect()),
        other => other,
    }
}
