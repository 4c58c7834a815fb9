//! Lisp functions on observations.

use std::sync::Arc;
use std::time::Instant;

use emacs::{Env, Result};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::function::{Object, lisp};
use super::read::Key;
use super::ser::{self, Vector};
use super::shown;
use super::threads::{load, with_span};
use super::{now, with_module};
use crate::error::{Error, Problem};
use crate::events::observation::{Details, Filter, Observation, Payload, Phase, Type};
use crate::events::work::CallOutcome;
use crate::journal::search::{Place, Query, search_plans};
use crate::journal::segments::Span;
use crate::named::Name;
use crate::text::excerpt;
use crate::thread::Thread;

emacs::use_symbols! {
    say_wait => "todo-write-core-say-wait"
}

/// What a host reports beside type and content: fields of the observation, and its metadata.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Reported {
    title: Option<Name>,
    #[serde(alias = "traceId")]
    trace_id: Option<Name>,
    #[serde(alias = "parentId")]
    parent_id: Option<Name>,
    phase: Option<Phase>,
    outcome: Option<CallOutcome>,
    #[serde(alias = "exitCode")]
    exit_code: Option<u32>,
    call_id: Option<Name>,
    files: Option<Files>,
    #[serde(flatten)]
    others: Map<String, Json>,
}

/// Changed files, as a list or a single one.
#[derive(Deserialize)]
#[serde(try_from = "Json")]
struct Files(Vec<Json>);

impl TryFrom<Json> for Files {
    type Error = &'static str;

    fn try_from(files: Json) -> std::result::Result<Files, &'static str> {
        let files = match files {
            Json::Array(files) => files,
            file => vec![file],
        };
        let have_paths = files.iter().all(|file| file.get("path").is_some_and(Json::is_string));
        if have_paths { Ok(Files(files)) } else { Err("a list of plists with :path") }
    }
}

fn observations_to_lisp<'e>(env: &'e Env, thread: &str, found: &[Arc<Observation>]) -> Result<Object<'e>> {
    let shown: Vec<_> = found.iter().map(|observation| shown::observation(thread, observation)).collect();
    ser::to_lisp(env, &Vector(shown)).map(Object)
}

/// The span of the observations that a filter may admit.
pub(super) fn span_of(thread: &Thread, filter: &Filter) -> Span {
    let Some(turn) = filter.turn else { return Span::newest(thread) };
    let numbers = thread.turns.numbers(turn.saturating_sub(1));
    Span::Observations(numbers.start.max(1), numbers.end.saturating_sub(1))
}

lisp! { env =>
    /// See `todo-write-observe'.
    fn observe(thread: Key, r#type: Type, content: Json, metadata: Reported) -> Object<'_> {
        if r#type == Type::Usage && !content.is_object() {
            let received = excerpt(&content.to_string(), 100);
            return Err(Error::Argument(Problem::new("content", received, "a plist")).into());
        }
        load(env, &thread, Map::new())?;
        let Reported { title, trace_id, parent_id, phase, outcome, exit_code, call_id, files, others } = metadata;
        let [title, trace_id, parent_id, call_id] =
            [title, trace_id, parent_id, call_id].map(|name| name.map(|Name(text)| text));
        let details = Details { title, trace_id, parent_id, phase: phase.map(Some), line: None };
        let observation = with_module(|module| {
            let policy = module.settings.policy.clone();
            let thread = module.open(&thread);
            let mut payload = Payload::read(r#type, content, others);
            let known = &mut payload.metadata;
            known.outcome = outcome;
            known.exit_code = exit_code.map(i64::from);
            known.call_id = call_id.or(known.call_id.take());
            known.files = files.map(|Files(files)| policy.read_files(thread.project(), &files));
            thread.change(|thread| thread.observe_allowed(&policy, payload, details, now()))
        });
        ser::to_lisp(env, &shown::observation(&thread, &observation)).map(Object)?
    }

    /// Return the newest LIMIT places of THREAD that have all words of TEXT, newest first; of all if that is nil.
    ///
    /// The value is a cons.  Its car is a list of plists as from `todo-write-matches' with `:thread' and
    /// `:title', strings; the title is nil if the thread has none.  Its cdr is a list of sentences about
    /// journals that cannot be read.
    fn search(thread: Option<Key>, text: String, limit: usize) -> (Vec<Place>, Vec<String>) {
        let blank = || Error::Argument(Problem::new("text", format!("{text:?}"), "words"));
        let query = Query::of(&text).ok_or_else(blank)?;
        let plans = with_module(|module| module.store.plans_to_search(thread.as_deref(), &query))?;
        let begun = Instant::now();
        // `C-g` ends the search.
        let step = |done, all| env.call(say_wait, (begun.elapsed().as_secs_f64(), done * 100 / all)).map(drop);
        let (places, unreadable) = search_plans(plans, limit, step)?;
        (places, unreadable.iter().map(ToString::to_string).collect())
    }

    /// See `todo-write-observations'.
    fn observations(thread: Key, filter: Filter) -> Object<'_> {
        let found =
            with_span(env, &thread, |thread| span_of(thread, &filter), |thread| thread.observed(&filter))?;
        observations_to_lisp(env, &thread, &found)?
    }

    /// Return THREAD's new observations, a vector, oldest first, and mark them as delivered.
    fn take_observations(thread: Key) -> Object<'_> {
        let found = with_module(|module| {
            Some(module.store.get_mut(&thread)?.change_in_memory(Thread::take_observations))
        });
        observations_to_lisp(env, &thread, &found.unwrap_or_default())?
    }
}
