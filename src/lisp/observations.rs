//! Lisp functions on observations.

use std::borrow::Cow;
use std::sync::Arc;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::read::{self, wrong, wrong_raw};
use super::write::{self, PlanUpdate};
use super::{border, now, with_module};
use crate::observation::{Content, Details, Filter, Observation, Phase, Type};
use crate::raw::Raw;
use crate::thread::Thread;

const TYPES: &str = "a type such as INTENT, THOUGHTS, TOOL_CALL; the manual lists all";
const PHASES: &str = "planning, execution or synthesis";
const FILTER: &str = "a plist with keys among :type :phase :token-type :step :limit";

/// Record an observation of THREAD and return it, a plist.
///
/// KIND is a type such as "INTENT", a string or a symbol; CONTENT any JSON value; METADATA a plist
/// whose `:title', `:trace-id', `:parent-id' and `:phase' become fields of the observation.  The
/// value has `:id :type :threadId :traceId :parentId :timestamp :title :content :metadata'.  Signal
/// `todo-write-input-error' for an unknown type or phase.
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
        let kind = read::one_of("type", kind, Type::parse, TYPES)?;
        let content = read::json("content", content)?;
        let details = details(metadata)?;
        let observation = with_module(|module| module.open(&key).observe(kind, content, details, now()));
        write::observation(env, &key, &observation, None)
    })
}

/// Reads a metadata plist. Some of its keys become fields of the observation, the others its metadata.
fn details(metadata: Value<'_>) -> Result<Details> {
    let mut details = Details::default();
    for (key, value) in fields("metadata", metadata, "a plist of keywords and values")? {
        match key.as_ref() {
            "title" => details.title = text("title", &value)?,
            "trace-id" | "traceId" => details.trace_id = text("trace-id", &value)?,
            "parent-id" | "parentId" => details.parent_id = text("parent-id", &value)?,
            "phase" => details.phase = one_of("phase", &value, Phase::parse, PHASES)?.map(Some),
            _ => {
                let value = value.to_json().map_err(|error| error.inside(format_args!("metadata.{key}")))?;
                details.metadata.insert(key.into_owned(), value);
            }
        }
    }
    Ok(details)
}

type Fields = Vec<(Cow<'static, str>, Raw<'static>)>;

fn fields(what: &'static str, plist: Value<'_>, expected: &str) -> Result<Fields> {
    match read::raw_with_symbols(plist)? {
        Raw::Null => Ok(Vec::new()),
        Raw::Object(fields) => Ok(fields),
        _ => Err(wrong(what, plist, expected)),
    }
}

fn text(what: &'static str, value: &Raw<'_>) -> Result<Option<String>> {
    match value {
        Raw::Null => Ok(None),
        Raw::Text(text) => Ok(Some(text.to_string())),
        _ => Err(wrong_raw(what, value, "a string")),
    }
}

fn one_of<T>(
    what: &'static str,
    value: &Raw<'_>,
    parse: impl Fn(&str) -> Option<T>,
    expected: &str,
) -> Result<Option<T>> {
    let parse = |name: String| parse(&name).ok_or_else(|| wrong_raw(what, value, expected));
    text(what, value)?.map(parse).transpose()
}

/// Return the observations of THREAD in memory that match FILTER, a vector, newest last.
///
/// FILTER is a plist with keys among `:type', `:phase', `:token-type' and `:step', strings or
/// symbols, and `:limit', a number.  Signal `todo-write-input-error' for any other key or value.
#[defun]
fn observations<'e>(env: &'e Env, thread: Value<'e>, filter: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let mut chosen = Filter::default();
        for (name, value) in fields("filter", filter, FILTER)? {
            match (name.as_ref(), &value) {
                ("type", value) => chosen.kind = one_of("type", value, Type::parse, TYPES)?,
                ("phase", value) => chosen.phase = one_of("phase", value, Phase::parse, PHASES)?,
                ("token-type", value) => chosen.token_type = text("token-type", value)?,
                ("step", value) => chosen.step = text("step", value)?,
                ("limit", Raw::Null) => {}
                ("limit", Raw::Number(limit)) if limit.is_u64() => {
                    chosen.limit = limit.as_u64().and_then(|limit| usize::try_from(limit).ok());
                }
                ("limit", value) => return Err(wrong_raw("limit", value, "a whole number, zero or more")),
                _ => return Err(wrong("filter", filter, FILTER)),
            }
        }
        let found = with_module(|module| {
            let thread = module.store.get(&key, now())?;
            Some(with_plans(thread, thread.observations().select(&chosen)))
        });
        to_lisp(env, &key, found.unwrap_or_default())
    })
}

/// Return THREAD's new observations, a vector, oldest first, and mark them as delivered.
#[defun]
fn take_observations<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let found = with_module(|module| {
            let thread = module.store.get_mut(&key, now())?;
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
        with_module(|module| {
            module.store.get_mut(&key, now()).map(|thread| thread.observations_mut().take_new())
        });
        Ok(())
    })
}

/// Observations, each PLAN_UPDATE with its list and changes.
type WithPlans = Vec<(Arc<Observation>, Option<PlanUpdate>)>;

/// Adds to each PLAN_UPDATE the list and the changes of its revision.
fn with_plans(thread: &Thread, observations: Vec<Arc<Observation>>) -> WithPlans {
    let plan = |observation: &Observation| match observation.content {
        Content::Revision(number) => {
            let changes = thread.revisions().get(number)?.changes.clone();
            Some((thread.revisions().list(number)?, changes))
        }
        _ => None,
    };
    observations.into_iter().map(|observation| (observation.clone(), plan(&observation))).collect()
}

fn to_lisp<'e>(env: &'e Env, thread: &str, found: WithPlans) -> Result<Value<'e>> {
    write::vector_of(env, &found, |(observation, plan)| {
        write::observation(env, thread, observation, plan.as_ref())?.into_lisp(env)
    })
}
