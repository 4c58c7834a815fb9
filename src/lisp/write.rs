//! From Rust data to Lisp objects: plists with keyword keys, vectors, strings.

use std::sync::Arc;

use emacs::{Env, GlobalRef, IntoLisp, OnceGlobalRef, Result, Value};
use once_cell::sync::OnceCell;
use serde_json::{Map, Value as Json};

use super::items::{Form, item, status};
use crate::change::{Change, Entry, Kind};
use crate::clock::Millis;
use crate::fault::may_panic_here;
use crate::input::Problem;
use crate::item::Item;
use crate::loose::Loose;
use crate::observation::{Content, Observation};
use crate::revision::Revision;
use crate::thread::{Outcome, State};

emacs::use_functions! { list vector intern nconc }

emacs::use_symbols! {
    nil t active paused done empty
    k_null => ":null" k_false => ":false"
    k_ok => ":ok" k_revision => ":revision" k_result => ":result" k_changes => ":changes"
    k_notices => ":notices" k_errors => ":errors" k_forced => ":forced"
    k_path => ":path" k_received => ":received" k_expected => ":expected"
    k_timestamp => ":timestamp" k_added => ":added" k_modified => ":modified" k_removed => ":removed"
    k_status_changed => ":statusChanged" k_reordered => ":reordered"
    k_type => ":type" k_item_id => ":itemId" k_item => ":item" k_previous_item => ":previousItem"
    k_cancelled => ":cancelled" k_fields => ":fields" k_position => ":position" k_previous_position => ":previousPosition"
    k_id => ":id" k_content => ":content" k_status => ":status" k_previous_status => ":previousStatus"
    k_author => ":author" k_source => ":source" k_operation => ":operation" k_restores => ":restores"
    k_thread_id => ":threadId" k_trace_id => ":traceId" k_parent_id => ":parentId"
    k_title => ":title" k_metadata => ":metadata" k_todo_list => ":todoList"
}

/// A plist under construction.
pub struct Plist<'e> {
    env: &'e Env,
    values: Vec<Value<'e>>,
}

impl<'e> Plist<'e> {
    /// An empty one.
    pub fn new(env: &'e Env) -> Plist<'e> {
        Plist { env, values: Vec::with_capacity(12) }
    }

    /// Adds a key.
    pub fn set(mut self, key: &'e OnceGlobalRef, value: impl IntoLisp<'e>) -> Result<Plist<'e>> {
        self.values.push(key.bind(self.env));
        self.values.push(value.into_lisp(self.env)?);
        Ok(self)
    }

    /// Adds a key, unless there is nothing to say.
    pub fn set_some(self, key: &'e OnceGlobalRef, value: Option<impl IntoLisp<'e>>) -> Result<Plist<'e>> {
        match value {
            Some(value) => self.set(key, value),
            None => Ok(self),
        }
    }

    /// The list.
    pub fn finish(self) -> Result<Value<'e>> {
        self.env.call(list, &self.values)
    }

    /// The list with `rest`, another plist, as its end.
    pub fn finish_before(self, rest: Value<'e>) -> Result<Value<'e>> {
        self.env.call(nconc, [self.env.call(list, &self.values)?, rest])
    }
}

/// A Lisp vector of converted things.
pub fn vector_of<'e, T>(
    env: &'e Env,
    things: impl IntoIterator<Item = T>,
    convert: impl Fn(T) -> Result<Value<'e>>,
) -> Result<Value<'e>> {
    let values = things.into_iter().map(convert).collect::<Result<Vec<_>>>()?;
    env.call(vector, &values)
}

/// A Lisp list of converted things.
pub fn list_of<'e, T>(
    env: &'e Env,
    things: impl IntoIterator<Item = T>,
    convert: impl Fn(T) -> Result<Value<'e>>,
) -> Result<Value<'e>> {
    let values = things.into_iter().map(convert).collect::<Result<Vec<_>>>()?;
    env.call(list, &values)
}

/// A symbol.
pub fn symbol<'e>(env: &'e Env, name: &str) -> Result<Value<'e>> {
    // Not `Env::intern`: that one cannot take a name with a NUL.
    env.call(intern, (name,))
}

/// The symbol of a state.
pub fn state(env: &Env, state: State) -> Value<'_> {
    let name = match state {
        State::Active => active,
        State::Paused => paused,
        State::Done => done,
        State::Empty => empty,
    };
    name.bind(env)
}

/// A string. Emacs allocates a multibyte one twice, so plain ASCII, which is most of all text,
/// becomes a unibyte one; to Lisp the two are equal.
pub fn text<'e>(env: &'e Env, text: &str) -> Result<Value<'e>> {
    if text.is_ascii() { text.as_bytes().into_lisp(env) } else { text.into_lisp(env) }
}

/// A string that comes again and again: made once, and kept in `place`.
pub fn constant<'e>(env: &'e Env, place: &'static OnceCell<GlobalRef>, name: &str) -> Result<Value<'e>> {
    let made = place.get_or_try_init(|| Ok::<_, emacs::Error>(text(env, name)?.make_global_ref()))?;
    Ok(made.bind(env))
}

fn kind<'e>(env: &'e Env, kind: Kind) -> Result<Value<'e>> {
    static NAMES: [OnceCell<GlobalRef>; 5] = [const { OnceCell::new() }; 5];
    constant(env, &NAMES[kind as usize], kind.as_str())
}

/// What a change can be about.
pub trait Subject {
    /// The Lisp forms of its id and of itself.
    fn to_lisp<'e>(&self, env: &'e Env) -> Result<[Value<'e>; 2]>;
}

impl Subject for Arc<Item> {
    fn to_lisp<'e>(&self, env: &'e Env) -> Result<[Value<'e>; 2]> {
        Form::of(env, self).map(|form| [form.id, form.plist])
    }
}

impl Subject for Loose {
    fn to_lisp<'e>(&self, env: &'e Env) -> Result<[Value<'e>; 2]> {
        Ok([text(env, self.id())?, entry(env, self)?])
    }
}

/// The plist of an entry with any fields.
pub fn entry<'e>(env: &'e Env, entry: &Loose) -> Result<Value<'e>> {
    let mut values = Vec::with_capacity(entry.fields().len() * 2);
    for (key, value) in entry.fields() {
        values.push(symbol(env, &format!(":{key}"))?);
        // Nothing under a key is nil, as in the plists of the store's own items.
        values.push(if value.is_null() { nil.bind(env) } else { json(env, value)? });
    }
    env.call(list, &values)
}

/// The end of the plist of a change, which changes of a kind and moment may share.
pub fn end_of_change<'e>(env: &'e Env, of: Kind, timestamp: Millis) -> Result<Value<'e>> {
    Plist::new(env).set(k_type, kind(env, of)?)?.set(k_timestamp, timestamp as i64)?.finish()
}

/// The plist of a change, which ends in `end`.
pub fn change<'e, T: Subject>(env: &'e Env, change: &Change<T>, end: Value<'e>) -> Result<Value<'e>> {
    let form = |subject: &Option<T>| subject.as_ref().map(|subject| subject.to_lisp(env)).transpose();
    let (previous, current) = (form(&change.previous_item)?, form(&change.item)?);
    let id = match current.or(previous) {
        Some([id, _]) => id,
        None => text(env, &change.item_id)?,
    };
    let fields = || vector_of(env, change.fields.iter(), |field| text(env, field));
    Plist::new(env)
        .set(k_item_id, id)?
        .set_some(k_item, current.map(|[_, item]| item))?
        .set_some(k_previous_item, previous.map(|[_, item]| item))?
        .set_some(k_cancelled, change.cancelled.then_some(true))?
        .set_some(k_fields, (change.kind == Kind::Modified).then(fields).transpose()?)?
        .set_some(k_position, change.position.map(|position| position as i64))?
        .set_some(k_previous_position, change.previous_position.map(|position| position as i64))?
        .finish_before(end)
}

/// The changes plist: `changes` is the truth, the accessors hold the same objects.
pub fn changes<'e, T: Subject>(env: &'e Env, all: &[Change<T>], timestamp: Millis) -> Result<Value<'e>> {
    let mut ends = [None; 5];
    let mut values = Vec::with_capacity(all.len());
    for one in all {
        let end = match ends[one.kind as usize] {
            Some(end) => end,
            None => *ends[one.kind as usize].insert(end_of_change(env, one.kind, timestamp)?),
        };
        values.push(change(env, one, end)?);
    }
    let every = env.call(vector, &values)?;
    let only = |kind: Kind| {
        let chosen: Vec<Value<'_>> =
            all.iter().zip(&values).filter(|(one, _)| one.kind == kind).map(|(_, value)| *value).collect();
        if chosen.len() == all.len() { Ok(every) } else { env.call(vector, &chosen) }
    };
    let mut plist = Plist::new(env).set(k_timestamp, timestamp as i64)?.set(k_changes, every)?;
    let is_there = |(kind, _): &Accessor| all.iter().any(|one| one.kind == *kind);
    let (there, absent): (Vec<_>, Vec<_>) = accessors().into_iter().partition(is_there);
    for (kind, key) in there {
        plist = plist.set(key, only(kind)?)?;
    }
    plist.finish_before(empty_accessors(env, &absent)?)
}

/// A kind, and the key of its changes.
type Accessor = (Kind, &'static OnceGlobalRef);

fn accessors() -> [Accessor; 5] {
    [
        (Kind::Added, k_added),
        (Kind::Modified, k_modified),
        (Kind::Removed, k_removed),
        (Kind::StatusChanged, k_status_changed),
        (Kind::Reordered, k_reordered),
    ]
}

/// The end of a changes plist: the accessors that have nothing. There are few such ends.
fn empty_accessors<'e>(env: &'e Env, absent: &[Accessor]) -> Result<Value<'e>> {
    static ENDS: [OnceCell<GlobalRef>; 32] = [const { OnceCell::new() }; 32];
    let place = &ENDS[absent.iter().map(|(kind, _)| 1 << *kind as usize).sum::<usize>()];
    constant_end(env, place, || {
        let nothing = env.call(vector, [])?;
        absent.iter().try_fold(Plist::new(env), |plist, (_, key)| plist.set(key, nothing))
    })
}

/// The end of a plist that comes again and again: made once, and kept in `place`, as that of a
/// backquoted list is.
fn constant_end<'e>(
    env: &'e Env,
    place: &'static OnceCell<GlobalRef>,
    make: impl FnOnce() -> Result<Plist<'e>>,
) -> Result<Value<'e>> {
    if let Some(made) = place.get() {
        return Ok(made.bind(env));
    }
    let made = make()?.finish()?.make_global_ref();
    // Another may have come first: making it may have run Lisp.
    Ok(place.get_or_init(|| made).bind(env))
}

/// The outcome plist.
pub fn outcome<'e>(env: &'e Env, outcome: &Outcome) -> Result<Value<'e>> {
    may_panic_here();
    let changed = if outcome.changes.is_empty() {
        None
    } else {
        Some(changes(env, &outcome.changes, outcome.timestamp)?)
    };
    Plist::new(env)
        .set(k_revision, outcome.revision as i64)?
        .set(k_result, text(env, &outcome.result)?)?
        .set(k_changes, changed)?
        .finish_before(verdict(env, outcome)?)
}

/// The end of an outcome, which mostly says that there is nothing to say.
fn verdict<'e>(env: &'e Env, outcome: &Outcome) -> Result<Value<'e>> {
    static PLAIN: OnceCell<GlobalRef> = OnceCell::new();
    let Outcome { ok, notices, errors, forced, .. } = outcome;
    if *ok && notices.is_empty() && errors.is_empty() && forced.is_empty() {
        let plain =
            || Plist::new(env).set(k_ok, true)?.set(k_notices, ())?.set(k_errors, ())?.set(k_forced, ());
        return constant_end(env, &PLAIN, plain);
    }
    let error = |problem: &Problem| {
        Plist::new(env)
            .set(k_path, problem.path.to_string())?
            .set(k_received, problem.received.to_string())?
            .set(k_expected, problem.expected.to_string())?
            .finish()
    };
    Plist::new(env)
        .set(k_ok, *ok)?
        .set(k_notices, list_of(env, notices, |notice| notice.into_lisp(env))?)?
        .set(k_errors, list_of(env, errors, error)?)?
        .set(k_forced, list_of(env, forced, |id| id.into_lisp(env))?)?
        .finish()
}

/// `(:revision :timestamp :author :source :operation :restores)`.
pub fn revision<'e>(env: &'e Env, revision: &Revision) -> Result<Value<'e>> {
    let stamp = &revision.stamp;
    Plist::new(env)
        .set(k_revision, revision.number as i64)?
        .set(k_timestamp, stamp.timestamp as i64)?
        .set(k_author, stamp.author.as_str())?
        .set(k_source, stamp.source.as_deref())?
        .set(k_operation, &stamp.operation)?
        .set_some(k_restores, stamp.restores.map(|number| number as i64))?
        .finish()
}

/// The list and the changes of a revision, which a PLAN_UPDATE carries.
pub type PlanOf = (Vec<Arc<Item>>, Vec<Change<Arc<Item>>>);

/// The observation plist. `plan` must be there for a [`Content::Revision`].
pub fn observation<'e>(
    env: &'e Env,
    thread: &str,
    observation: &Observation,
    plan: Option<&PlanOf>,
) -> Result<Value<'e>> {
    let content = match (&observation.content, plan) {
        (Content::Json(content), _) => json(env, content)?,
        (Content::Status { item: subject, previous }, _) => Plist::new(env)
            .set(k_item, item(env, subject)?)?
            .set(k_status, status(env, subject.status)?)?
            .set(k_previous_status, previous.map(|status| status.as_str()))?
            .finish()?,
        (Content::Revision(number), Some((todo_list, changed))) => Plist::new(env)
            .set(k_revision, *number as i64)?
            .set(k_todo_list, vector_of(env, todo_list, |subject| item(env, subject))?)?
            .set(k_changes, changes(env, changed, observation.timestamp)?)?
            .finish()?,
        (Content::Revision(_), None) => nil.bind(env),
    };
    Plist::new(env)
        .set(k_id, format!("o{}", observation.number))?
        .set(k_type, observation.kind.as_str())?
        .set(k_thread_id, thread)?
        .set_some(k_trace_id, observation.trace_id.as_deref())?
        .set_some(k_parent_id, observation.parent_id.as_deref())?
        .set(k_timestamp, observation.timestamp as i64)?
        .set(k_title, observation.title().as_ref())?
        .set(k_content, content)?
        .set(k_metadata, object(env, &observation.metadata())?)?
        .finish()
}

/// Any JSON value, as Emacs' own parser gives it with plists for objects.
pub fn json<'e>(env: &'e Env, value: &Json) -> Result<Value<'e>> {
    match value {
        Json::Null => Ok(k_null.bind(env)),
        Json::Bool(true) => Ok(t.bind(env)),
        Json::Bool(false) => Ok(k_false.bind(env)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into_lisp(env),
            (None, Some(number)) => number.into_lisp(env),
            (None, None) => Ok(k_null.bind(env)),
        },
        Json::String(text) => text.into_lisp(env),
        Json::Array(values) => vector_of(env, values, |value| json(env, value)),
        Json::Object(fields) => object(env, fields),
    }
}

fn object<'e>(env: &'e Env, fields: &Map<String, Json>) -> Result<Value<'e>> {
    let mut values = Vec::with_capacity(fields.len() * 2);
    for (key, value) in fields {
        values.push(symbol(env, &format!(":{key}"))?);
        values.push(json(env, value)?);
    }
    env.call(list, &values)
}
