//! Lisp functions on observations.

use std::sync::Arc;
use std::time::Instant;

use emacs::{Env, FromLisp, Result, Value, defun};

use super::read::{self, Key, TYPES, wrong};
use super::ser::{self, Vector};
use super::shown;
use super::threads::{load, with_span};
use super::{border, guarded, now, serialized, with_module};
use crate::error::Error;
use crate::events::comments;
use crate::events::observation::{Details, Filter, Observation, Payload, Phase, Type};
use crate::events::payload::{Fields, Update};
use crate::events::work::CallOutcome;
use crate::journal::search::Query;
use crate::journal::segments::Span;
use crate::thread::Thread;
use serde_json::{Map, Value as Json, json};

emacs::use_symbols! {
    say_wait => "todo-write-core-say-wait"
}

const PHASES: &str = "planning, execution or synthesis";
const OUTCOMES: &str = "ok, failed, refused, background or unknown";
const FILES: &str = "a list of plists with :path";
const FILTER: &str = "a plist with keys among :type :types :phase :token-type :step :outside :turn :limit";

/// See `todo-write-observe'.
#[defun]
fn observe<'e>(
    env: &'e Env,
    thread: Key,
    kind: Type,
    content: Value<'e>,
    metadata: Reported,
) -> Result<Value<'e>> {
    border(env, || {
        let content = read::json("content", content)?;
        let Reported { details, files, mut others } = metadata;
        load(env, &thread, Map::new())?;
        let observation = with_module(|module| {
            let policy = module.settings.policy.clone();
            let thread = module.open(&thread);
            if let Some(files) = files {
                let files = policy.read_files(thread.project(), &files);
                others.insert("files".into(), json!(files));
            }
            let payload = Payload::read(kind, content, others);
            let is_comment = matches!(payload.fields, Fields::StateUpdate(Some(Update::Comment(_))));
            if is_comment && thread.comments().are_full() {
                return Err(Error::TooManyComments { most: comments::MOST });
            }
            Ok(thread.change(|thread| thread.observe_allowed(&policy, payload, details, now())))
        })?;
        ser::to_lisp(env, &shown::observation(&thread, &observation))
    })
}

/// What a host reports beside type and content.
struct Reported {
    details: Details,
    files: Option<Vec<Json>>,
    others: Map<String, Json>,
}

impl FromLisp<'_> for Reported {
    fn from_lisp(value: Value<'_>) -> Result<Reported> {
        guarded(value.env, || read_reported(value))
    }
}

/// Reads a metadata plist. Some of its keys become fields of the observation, the others its metadata.
fn read_reported(metadata: Value<'_>) -> Result<Reported> {
    let (mut details, mut files, mut others) = (Details::default(), None, Map::new());
    for (key, value) in read::plist("metadata", metadata, "a plist of keywords and values")? {
        match key.as_str() {
            "title" => details.title = read::name("title", value)?,
            "trace-id" | "traceId" => details.trace_id = read::name("trace-id", value)?,
            "parent-id" | "parentId" => details.parent_id = read::name("parent-id", value)?,
            "phase" => details.phase = optional_one_of("phase", value, Phase::parse, PHASES)?.map(Some),
            "outcome" => {
                let outcome = optional_one_of("outcome", value, CallOutcome::parse, OUTCOMES)?;
                others.extend(outcome.map(|outcome| (key, outcome.as_str().into())));
            }
            "exit-code" | "exitCode" => {
                let code = read::optional("exit-code", value, read::whole_number::<u32>)?;
                others.extend(code.map(|code| ("exitCode".into(), code.into())));
            }
            "files" => {
                let found = read_files(read::json("files", value)?);
                files = Some(found.ok_or_else(|| wrong("files", value, FILES))?);
            }
            "call-id" => {
                let id = read::name("call-id", value)?;
                others.extend(id.map(|id| ("callId".into(), id.into())));
            }
            _ => {
                let value = read::json(&format!("metadata.{key}"), value)?;
                others.insert(key, value);
            }
        }
    }
    Ok(Reported { details, files, others })
}

/// The files as a list; none if one has no path.
fn read_files(files: Json) -> Option<Vec<Json>> {
    let files = match files {
        Json::Null => Vec::new(),
        Json::Array(files) => files,
        file @ Json::Object(_) => vec![file],
        _ => return None,
    };
    files.iter().all(|file| file.get("path").is_some_and(Json::is_string)).then_some(files)
}

fn optional_one_of<T>(
    what: &'static str,
    value: Value<'_>,
    parse: impl Fn(&str) -> Option<T>,
    expected: &str,
) -> Result<Option<T>> {
    let parse = |name: String| parse(&name).ok_or_else(|| wrong(what, value, expected));
    read::name(what, value)?.map(parse).transpose()
}

/// See `todo-write-matches'.
#[defun]
fn search<'e>(env: &'e Env, thread: Key, text: Value<'e>, limit: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let query = Query::of(&read::text("text", text)?).ok_or_else(|| wrong("text", text, "words"))?;
        let limit = read::whole_number("limit", limit)?;
        Ok(with_module(|module| module.store.search(&thread, query, limit))?)
    })
}

/// Return the newest LIMIT places of all threads that have all words of TEXT, newest first.
///
/// The value is a cons.  Its car is a list of plists as from `todo-write-matches' with `:thread' and
/// `:title', strings; the title is nil if the thread has none.  Its cdr is a list of sentences about
/// journals that cannot be read.
#[defun]
fn search_all<'e>(env: &'e Env, text: Value<'e>, limit: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let query = Query::of(&read::text("text", text)?).ok_or_else(|| wrong("text", text, "words"))?;
        let limit = read::whole_number("limit", limit)?;
        let mut search = with_module(|module| module.store.wide_search(query, limit));
        let begun = Instant::now();
        while search.step() {
            let (done, all) = search.progress();
            // `C-g` ends the search.
            env.call(say_wait, (begun.elapsed().as_secs_f64(), done * 100 / all.max(1)))?;
        }
        let unreadable: Vec<String> = search.unreadable.iter().map(ToString::to_string).collect();
        Ok((search.places, unreadable))
    })
}

/// See `todo-write-observations'.
#[defun]
fn observations(env: &Env, thread: Key, filter: Filter) -> Result<Value<'_>> {
    border(env, || {
        let span = |thread: &Thread| match filter.turn {
            None => Span::newest(thread),
            Some(turn) => {
                let numbers = thread.all_turns().numbers(turn, turn);
                Span::Observations(numbers.start.max(1), numbers.end.saturating_sub(1))
            }
        };
        let found = with_span(env, &thread, span, |thread| thread.observed(&filter))?;
        observations_to_lisp(env, &thread, &found)
    })
}

fn observations_to_lisp<'e>(env: &'e Env, thread: &str, found: &[Arc<Observation>]) -> Result<Value<'e>> {
    let shown: Vec<_> = found.iter().map(|observation| shown::observation(thread, observation)).collect();
    ser::to_lisp(env, &Vector(shown))
}

impl FromLisp<'_> for Filter {
    fn from_lisp(value: Value<'_>) -> Result<Filter> {
        guarded(value.env, || read_filter(value))
    }
}

fn read_filter(plist: Value<'_>) -> Result<Filter> {
    let mut filter = Filter::default();
    for (name, value) in read::plist("filter", plist, FILTER)? {
        match name.as_str() {
            "type" => filter.kind = optional_one_of("type", value, Type::parse, TYPES)?,
            "phase" => filter.phase = optional_one_of("phase", value, Phase::parse, PHASES)?,
            "token-type" => filter.token_type = read::name("token-type", value)?,
            "step" => filter.step = read::name("step", value)?,
            "types" => {
                let kind = |value| optional_one_of("types", value, Type::parse, TYPES);
                let kinds: Result<Vec<_>> = read::elements("types", value)?.into_iter().map(kind).collect();
                filter.kinds = kinds?.into_iter().flatten().collect();
            }
            "outside" => filter.outside = value.is_not_nil(),
            "turn" => {
                let number = read::optional("turn", value, read::whole_number::<usize>)?;
                let first = || wrong("turn", value, "a number from 1 on");
                filter.turn = number.map(|number| number.checked_sub(1).ok_or_else(first)).transpose()?;
            }
            "limit" => filter.limit = read::optional("limit", value, read::whole_number)?,
            _ => return Err(wrong("filter", plist, FILTER)),
        }
    }
    Ok(filter)
}

/// Return THREAD's new observations, a vector, oldest first, and mark them as delivered.
#[defun]
fn take_observations(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        let found = with_module(|module| {
            Some(module.store.get_mut(&thread)?.change_in_memory(Thread::take_observations))
        });
        observations_to_lisp(env, &thread, &found.unwrap_or_default())
    })
}

/// Mark the new observations of THREAD as delivered.
#[defun]
fn skip_observations(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        with_module(|module| {
            module.store.get_mut(&thread).map(|plan| plan.change_in_memory(Thread::skip_observations))
        });
        Ok(())
    })
}
