//! From Rust data to Lisp objects: plists with keyword keys, vectors, strings.

use std::sync::{Arc, Mutex, PoisonError};

use emacs::{Env, GlobalRef, IntoLisp, Result, Value};
use once_cell::sync::OnceCell;
use serde_json::{Map, Value as Json};

use crate::change::{Change, Kind};
use crate::clock::Millis;
use crate::fault::may_panic_here;
use crate::item::{Item, Status};
use crate::loose::Loose;
use crate::observation::{Content, Observation};
use crate::revision::{Author, Revision};
use crate::thread::{Outcome, State};

emacs::use_functions! { list vector intern set symbol_value => "symbol-value" }

emacs::use_symbols! {
    nil t active paused done empty
    last_begun => "todo-write-dyn--last-begun"
    k_null => ":null" k_false => ":false"
    k_ok => ":ok" k_revision => ":revision" k_result => ":result" k_changes => ":changes"
    k_notices => ":notices" k_errors => ":errors" k_forced => ":forced"
    k_path => ":path" k_received => ":received" k_expected => ":expected"
    k_timestamp => ":timestamp" k_added => ":added" k_modified => ":modified" k_removed => ":removed"
    k_status_changed => ":statusChanged" k_reordered => ":reordered"
    k_type => ":type" k_item_id => ":itemId" k_item => ":item" k_previous_item => ":previousItem"
    k_fields => ":fields" k_position => ":position" k_previous_position => ":previousPosition"
    k_id => ":id" k_content => ":content" k_status => ":status" k_active_form => ":activeForm"
    k_priority => ":priority" k_previous_status => ":previousStatus"
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
    pub fn set(mut self, key: &'e emacs::OnceGlobalRef, value: impl IntoLisp<'e>) -> Result<Plist<'e>> {
        self.values.push(key.bind(self.env));
        self.values.push(value.into_lisp(self.env)?);
        Ok(self)
    }

    /// Adds a key, unless there is nothing to say.
    pub fn set_some(
        self,
        key: &'e emacs::OnceGlobalRef,
        value: Option<impl IntoLisp<'e>>,
    ) -> Result<Plist<'e>> {
        match value {
            Some(value) => self.set(key, value),
            None => Ok(self),
        }
    }

    /// The list.
    pub fn finish(self) -> Result<Value<'e>> {
        self.env.call(list, &self.values)
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
fn constant<'e>(env: &'e Env, place: &'static OnceCell<GlobalRef>, name: &str) -> Result<Value<'e>> {
    let made = place.get_or_try_init(|| Ok::<_, emacs::Error>(text(env, name)?.make_global_ref()))?;
    Ok(made.bind(env))
}

fn status<'e>(env: &'e Env, status: Status) -> Result<Value<'e>> {
    static NAMES: [OnceCell<GlobalRef>; 3] = [const { OnceCell::new() }; 3];
    constant(env, &NAMES[status as usize], status.as_str())
}

fn kind<'e>(env: &'e Env, kind: Kind) -> Result<Value<'e>> {
    static NAMES: [OnceCell<GlobalRef>; 5] = [const { OnceCell::new() }; 5];
    constant(env, &NAMES[kind as usize], kind.as_str())
}

/// The texts of an item, which both sides of a change may have in common.
#[derive(Clone, Copy)]
struct Texts<'e> {
    id: Value<'e>,
    content: Value<'e>,
    active_form: Value<'e>,
}

impl<'e> Texts<'e> {
    fn of(env: &'e Env, item: &Item, id: Value<'e>) -> Result<Texts<'e>> {
        Ok(Texts { id, content: text(env, &item.content)?, active_form: text(env, &item.active_form)? })
    }

    fn item(self, env: &'e Env, item: &Item) -> Result<Value<'e>> {
        Plist::new(env)
            .set(k_id, self.id)?
            .set(k_content, self.content)?
            .set(k_status, status(env, item.status)?)?
            .set(k_active_form, self.active_form)?
            .set(k_priority, item.priority.map(|priority| priority.as_str()))?
            .finish()
    }
}

/// `(:id :content :status :activeForm :priority)`; priority is nil where there is none.
pub fn item<'e>(env: &'e Env, item: &Item) -> Result<Value<'e>> {
    Texts::of(env, item, text(env, &item.id)?)?.item(env, item)
}

/// What the Lisp variable of that name has in Lisp: the item that a change put in progress last.
static LAST_BEGUN: Mutex<Option<Arc<Item>>> = Mutex::new(None);

/// As [`item`], of the item in progress: that of the change which put it there, if it is the last.
pub fn current_item<'e>(env: &'e Env, current: &Arc<Item>) -> Result<Value<'e>> {
    let last = LAST_BEGUN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if last.is_some_and(|last| Arc::ptr_eq(&last, current)) {
        return env.call(symbol_value, [last_begun.bind(env)]);
    }
    item(env, current)
}

fn note_begun(env: &Env, begun: &Arc<Item>, made: Value<'_>) -> Result<()> {
    env.call(set, [last_begun.bind(env), made])?;
    *LAST_BEGUN.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun.clone());
    Ok(())
}

/// What a change can be about.
pub trait Subject: Sized {
    /// Its Lisp form.
    fn to_lisp<'e>(&self, env: &'e Env) -> Result<Value<'e>>;

    /// The Lisp forms of what it was and is, whose id is ID.
    fn both<'e>(
        env: &'e Env,
        _id: Value<'e>,
        previous: Option<&Self>,
        current: Option<&Self>,
    ) -> Result<[Option<Value<'e>>; 2]> {
        let form = |subject: Option<&Self>| subject.map(|subject| subject.to_lisp(env)).transpose();
        Ok([form(previous)?, form(current)?])
    }
}

impl Subject for Arc<Item> {
    fn to_lisp<'e>(&self, env: &'e Env) -> Result<Value<'e>> {
        item(env, self)
    }

    fn both<'e>(
        env: &'e Env,
        id: Value<'e>,
        previous: Option<&Self>,
        current: Option<&Self>,
    ) -> Result<[Option<Value<'e>>; 2]> {
        let texts = |item: &Self| Texts::of(env, item, id);
        let now = current.map(texts).transpose()?;
        let before = match (previous, current) {
            (Some(p), Some(c)) if p.content == c.content && p.active_form == c.active_form => now,
            _ => previous.map(texts).transpose()?,
        };
        let form = |texts: Option<Texts<'e>>, item: Option<&Self>| {
            texts.zip(item).map(|(texts, item)| texts.item(env, item)).transpose()
        };
        let made = form(now, current)?;
        if let (Some(begun), Some(made)) = (current.filter(|item| item.status == Status::InProgress), made) {
            note_begun(env, begun, made)?;
        }
        Ok([form(before, previous)?, made])
    }
}

impl Subject for Loose {
    fn to_lisp<'e>(&self, env: &'e Env) -> Result<Value<'e>> {
        let mut values = Vec::with_capacity(self.fields().len() * 2);
        for (key, value) in self.fields() {
            values.push(symbol(env, &format!(":{key}"))?);
            // Nothing under a key is nil, as in the plists of the store's own items.
            values.push(if value.is_null() { nil.bind(env) } else { json(env, value)? });
        }
        env.call(list, &values)
    }
}

pub fn change<'e, T: Subject>(env: &'e Env, change: &Change<T>, timestamp: Millis) -> Result<Value<'e>> {
    let id = text(env, &change.item_id)?;
    let [previous, current] = T::both(env, id, change.previous_item.as_ref(), change.item.as_ref())?;
    let fields = || vector_of(env, &change.fields, |field| text(env, field));
    Plist::new(env)
        .set(k_type, kind(env, change.kind)?)?
        .set(k_item_id, id)?
        .set(k_timestamp, timestamp as i64)?
        .set_some(k_item, current)?
        .set_some(k_previous_item, previous)?
        .set_some(k_fields, (change.kind == Kind::Modified).then(fields).transpose()?)?
        .set_some(k_position, change.position.map(|position| position as i64))?
        .set_some(k_previous_position, change.previous_position.map(|position| position as i64))?
        .finish()
}

/// The changes plist: `changes` is the truth, the accessors hold the same objects.
pub fn changes<'e, T: Subject>(env: &'e Env, all: &[Change<T>], timestamp: Millis) -> Result<Value<'e>> {
    let values = all.iter().map(|one| change(env, one, timestamp)).collect::<Result<Vec<_>>>()?;
    let every = env.call(vector, &values)?;
    let only = |kind: Kind| {
        let chosen: Vec<Value<'_>> =
            all.iter().zip(&values).filter(|(one, _)| one.kind == kind).map(|(_, value)| *value).collect();
        if chosen.len() == all.len() { Ok(every) } else { env.call(vector, &chosen) }
    };
    Plist::new(env)
        .set(k_timestamp, timestamp as i64)?
        .set(k_changes, every)?
        .set(k_added, only(Kind::Added)?)?
        .set(k_modified, only(Kind::Modified)?)?
        .set(k_removed, only(Kind::Removed)?)?
        .set(k_status_changed, only(Kind::StatusChanged)?)?
        .set(k_reordered, only(Kind::Reordered)?)?
        .finish()
}

/// The outcome plist.
pub fn outcome<'e>(env: &'e Env, outcome: &Outcome) -> Result<Value<'e>> {
    may_panic_here();
    let changed = if outcome.changes.is_empty() {
        None
    } else {
        Some(changes(env, &outcome.changes, outcome.timestamp)?)
    };
    let errors = list_of(env, &outcome.errors, |problem| {
        Plist::new(env)
            .set(k_path, &problem.path)?
            .set(k_received, &problem.received)?
            .set(k_expected, &problem.expected)?
            .finish()
    })?;
    Plist::new(env)
        .set(k_ok, outcome.ok)?
        .set(k_revision, outcome.revision as i64)?
        .set(k_result, text(env, &outcome.result)?)?
        .set(k_changes, changed)?
        .set(k_notices, list_of(env, &outcome.notices, |notice| notice.into_lisp(env))?)?
        .set(k_errors, errors)?
        .set(k_forced, list_of(env, &outcome.forced, |id| id.into_lisp(env))?)?
        .finish()
}

/// `(:revision :timestamp :author :source :operation :restores)`.
pub fn revision<'e>(env: &'e Env, revision: &Revision) -> Result<Value<'e>> {
    let stamp = &revision.stamp;
    Plist::new(env)
        .set(k_revision, revision.number as i64)?
        .set(k_timestamp, stamp.timestamp as i64)?
        .set(k_author, if stamp.author == Author::Agent { "agent" } else { "user" })?
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
