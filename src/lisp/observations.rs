//! Lisp functions on observations.

use std::sync::Arc;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::read::{self, WholeNumber, keyword_arguments, wrong, wrong_raw};
use super::write::{self, PlanUpdate};
use super::{border, now, with_session};
use crate::observation::{Content, Details, Filter, Observation, Phase, Type};
use crate::raw::Raw;
use crate::thread::Thread;

/// Record that something happened in THREAD; return the observation, a plist.
///
/// KIND is a type such as "INTENT", a string or symbol; CONTENT any JSON value; METADATA a
/// plist, in which `:title', `:trace-id', `:parent-id' and `:phase' are fields of the observation.
/// The value has `:id :type :threadId :traceId :parentId :timestamp :title :content :metadata'.
/// An unknown type or phase is an error.
#[defun]
fn observe<'e>(
    env: &'e Env,
    thread: Value<'e>,
    kind: Value<'e>,
    content: Value<'e>,
    metadata: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let kind = read_type(kind)?;
        let content = read::raw_with_symbols(content)?.to_json();
        let details = details(metadata)?;
        let observation = with_session(|session| session.open(&key).observe(kind, content, details, now()));
        write::observation(env, &key, &observation, None)
    })
}

fn read_type(value: Value<'_>) -> Result<Type> {
    let expected = "a type such as INTENT, THOUGHTS, TOOL_CALL; the manual lists all";
    read::one_of("type", value, Type::parse, expected)
}

const PHASES: &str = "planning, execution or synthesis";

/// Sorts a metadata plist: `:title`, `:trace-id`, `:parent-id` and `:phase` have places of their
/// own, all else stays metadata.
fn details(metadata: Value<'_>) -> Result<Details> {
    let fields = match read::raw_with_symbols(metadata)? {
        Raw::Null => Vec::new(),
        Raw::Object(fields) => fields,
        _ => return Err(wrong("metadata", metadata, "a plist of keywords and values")),
    };
    let mut details = Details::default();
    for (key, value) in fields {
        match key.as_ref() {
            "title" => details.title = text("title", &value)?,
            "trace-id" | "traceId" => details.trace_id = text("trace-id", &value)?,
            "parent-id" | "parentId" => details.parent_id = text("parent-id", &value)?,
            "phase" => {
                let phase =
                    |name: String| Phase::parse(&name).ok_or_else(|| wrong_raw("phase", &value, PHASES));
                details.phase = text("phase", &value)?.map(phase).transpose()?.map(Some);
            }
            _ => drop(details.metadata.insert(key.into_owned(), value.to_json())),
        }
    }
    Ok(details)
}

fn text(what: &'static str, value: &Raw<'_>) -> Result<Option<String>> {
    match value {
        Raw::Null => Ok(None),
        Raw::Text(text) => Ok(Some(text.to_string())),
        _ => Err(wrong_raw(what, value, "a string")),
    }
}

/// Return the observations of THREAD in memory that FILTER admits, a vector, newest last.
///
/// FILTER is a plist with keys among `:type', `:phase', `:token-type' and `:step', strings or
/// symbols, and `:limit', a number.
#[defun]
fn observations<'e>(env: &'e Env, thread: Value<'e>, filter: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let mut chosen = Filter::default();
        for (name, value) in
            keyword_arguments(env, "filter", filter, &["type", "phase", "token-type", "step", "limit"])?
        {
            match name.as_str() {
                _ if !value.is_not_nil() => {}
                "type" => chosen.kind = Some(read_type(value)?),
                "phase" => chosen.phase = Some(read::one_of("phase", value, Phase::parse, PHASES)?),
                "token-type" => chosen.token_type = read::name("token-type", value)?,
                "step" => chosen.step = read::name("step", value)?,
                _ => chosen.limit = Some(WholeNumber::read("limit", value)?),
            }
        }
        let found = with_session(|session| {
            let thread = session.store.get(&key, now())?;
            Some(with_plans(thread, thread.observations().select(&chosen)))
        });
        to_lisp(env, &key, found.unwrap_or_default())
    })
}

/// Return the observations of THREAD that were not taken yet, a vector, oldest first.
#[defun]
fn take_observations<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let found = with_session(|session| {
            let thread = session.store.get_mut(&key, now())?;
            let new = thread.observations_mut().take_new();
            Some(with_plans(thread, new))
        });
        to_lisp(env, &key, found.unwrap_or_default())
    })
}

/// Mark the new observations of THREAD as delivered.
#[defun]
fn skip_observations<'e>(env: &'e Env, thread: Value<'e>) -> Result<()> {
    border(env, || {
        let key = read::thread(thread)?;
        with_session(|session| {
            session.store.get_mut(&key, now()).map(|thread| thread.observations_mut().take_new())
        });
        Ok(())
    })
}

/// Observations, each with its plan if it is a PLAN_UPDATE.
type Found = Vec<(Arc<Observation>, Option<PlanUpdate>)>;

/// Adds to each PLAN_UPDATE what it is about.
fn with_plans(thread: &Thread, observations: Vec<Arc<Observation>>) -> Found {
    let plan = |observation: &Observation| match observation.content {
        Content::Revision(number) => {
            let changes = thread.revisions().get(number)?.changes.clone();
            Some((thread.revisions().list(number)?, changes))
        }
        _ => None,
    };
    observations.into_iter().map(|observation| (observation.clone(), plan(&observation))).collect()
}

fn to_lisp<'e>(env: &'e Env, thread: &str, found: Found) -> Result<Value<'e>> {
    write::vector_of(env, &found, |(observation, plan)| {
        write::observation(env, thread, observation, plan.as_ref())?.into_lisp(env)
    })
}
