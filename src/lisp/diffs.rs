//! Lisp functions on plain data: diff, apply, wire JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::function::{Object, lisp};
use super::now;
use super::ser::Vector;
use super::shown::{ShownObservation, ShownOutcome, changes_by_kind};
use super::work::ShownWork;
use crate::error::{Error, Problem};
use crate::events::edit::{self, Edit};
use crate::list::untyped::{self, UntypedItem};
use crate::wire::TOOL;

const VALUES: &str = "an outcome, changes, an observation, a stream event, work or a patch";

lisp! { env =>
    /// See `todo-write-diff'.
    fn diff(previous: Json, current: Json) -> Object<'_> {
        let (changes, warnings) = untyped::diff(&previous, &current)?;
        changes_by_kind::<_, &UntypedItem>(env, &changes, &warnings, now())?
    }

    /// See `todo-write-apply-changes'.
    fn apply_changes(list: Json, changes: Json) -> Vector<Vec<UntypedItem>> {
        Vector(untyped::apply(&list, &changes)?)
    }

    /// Return TEXT with NEW in place of OLD; of each occurrence if ALL is non-nil, else of the first.
    ///
    /// The value is nil if OLD does not occur, or the result would be too large.
    fn text_edited(text: String, old: String, new: String, all: bool) -> Option<String> {
        edit::apply(&text, &[Edit { old, new, all }]).ok()
    }

    /// Return the definition of the tool `todo_write' as MCP has it, JSON text.
    fn tool() -> &'static str {
        TOOL
    }

    /// See `todo-write-to-json'.
    fn to_json(value: Json) -> String {
        let wrong = || Error::Argument(Problem::new("value", "something else", VALUES));
        match value {
            json @ (Json::Object(_) | Json::Array(_)) => {
                let exported = Exported::deserialize(without_null(json)).map_err(|_| wrong())?;
                serde_json::to_string(&exported)?
            }
            Json::String(patch) if patch.starts_with("diff --git ") || patch.starts_with("# ") => {
                Json::String(patch).to_string()
            }
            _ => return Err(wrong().into()),
        }
    }
}

/// What is exported as JSON, where false and an empty list are such.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Exported {
    Outcome(Box<ShownOutcome<Json, Json>>),
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
