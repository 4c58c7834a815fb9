//! Items as plists.
//!
//! Most of what is said of an item was said before: as a rule a write changes the status alone, of
//! items that earlier writes told of. So the newest plists are kept, and one that says the same is
//! made of them: an agent's call makes hardly any garbage. Callers know that they are not to
//! modify what they get.

use std::sync::{Arc, Mutex, PoisonError};

use emacs::{Env, FromLisp, GlobalRef, Result, Value, Vector};
use once_cell::sync::OnceCell;

use super::write::{Plist, constant, text};
use crate::item::{Item, Priority, Status};

emacs::use_symbols! {
    k_id => ":id" k_content => ":content" k_status => ":status" k_active_form => ":activeForm"
    k_priority => ":priority"
}

/// The Lisp form of an item.
#[derive(Clone, Copy)]
pub struct Form<'e> {
    /// The string.
    pub id: Value<'e>,
    /// The end of the plist, behind the status, which other versions of the item share.
    rest: Value<'e>,
    /// The plist.
    pub plist: Value<'e>,
}

impl<'e> Form<'e> {
    /// That of an item, made of what is kept as far as it says the same.
    pub fn of(env: &'e Env, item: &Arc<Item>) -> Result<Form<'e>> {
        let form = match recent(env, item)? {
            Some((known, form)) if Arc::ptr_eq(&known, item) => return Ok(form),
            Some((known, form)) if has_same_texts(&known, item) => Form::with_status(env, item, form)?,
            known => Form::new(env, item, known.map(|(_, form)| form.id))?,
        };
        remember(env, item, form)?;
        Ok(form)
    }

    fn new(env: &'e Env, item: &Item, id: Option<Value<'e>>) -> Result<Form<'e>> {
        let id = id.map_or_else(|| text(env, &item.id), Ok)?;
        let rest = Plist::new(env)
            .set(k_id, id)?
            .set(k_content, text(env, &item.content)?)?
            .set(k_active_form, text(env, &item.active_form)?)?
            .set(k_priority, item.priority.map(|level| priority(env, level)).transpose()?)?
            .finish()?;
        Form::with_status(env, item, Form { id, rest, plist: rest })
    }

    fn with_status(env: &'e Env, item: &Item, form: Form<'e>) -> Result<Form<'e>> {
        let plist = env.cons(k_status.bind(env), env.cons(status(env, item.status)?, form.rest)?)?;
        Ok(Form { plist, ..form })
    }
}

fn has_same_texts(item: &Item, other: &Item) -> bool {
    item.content == other.content && item.active_form == other.active_form && item.priority == other.priority
}

/// `(:status :id :content :activeForm :priority)`, all new; priority is nil where there is none.
pub fn item<'e>(env: &'e Env, item: &Item) -> Result<Value<'e>> {
    Ok(Form::new(env, item, None)?.plist)
}

/// The string of a status.
pub fn status<'e>(env: &'e Env, status: Status) -> Result<Value<'e>> {
    static NAMES: [OnceCell<GlobalRef>; 3] = [const { OnceCell::new() }; 3];
    constant(env, &NAMES[status as usize], status.as_str())
}

fn priority<'e>(env: &'e Env, priority: Priority) -> Result<Value<'e>> {
    static NAMES: [OnceCell<GlobalRef>; 3] = [const { OnceCell::new() }; 3];
    constant(env, &NAMES[priority as usize], priority.as_str())
}

/// Items of which the form is kept. Two whose ids have the same place take it from each other.
const PLACES: usize = 64;

const PARTS: usize = 3;

static RECENT: Mutex<[Option<Arc<Item>>; PLACES]> = Mutex::new([const { None }; PLACES]);

/// The three parts of the form of each, in a Lisp vector.
static FORMS: OnceCell<GlobalRef> = OnceCell::new();

/// Makes the vector, which must be there before any item.
pub fn init(env: &Env) -> Result<()> {
    let forms = env.make_vector(PLACES * PARTS, ())?.value().make_global_ref();
    FORMS.get_or_init(|| forms);
    Ok(())
}

/// The ids of a list count up, so that those of a short one all have places of their own.
fn place(item: &Item) -> usize {
    item.id.get(1..).and_then(|number| number.parse::<usize>().ok()).unwrap_or(0) % PLACES
}

/// What is kept of an item with this id.
fn recent<'e>(env: &'e Env, item: &Item) -> Result<Option<(Arc<Item>, Form<'e>)>> {
    let place = place(item);
    let known = RECENT.lock().unwrap_or_else(PoisonError::into_inner)[place].clone();
    let known = known.filter(|known| known.id == item.id);
    let Some((known, forms)) = known.zip(FORMS.get()) else { return Ok(None) };
    let forms = Vector::from_lisp(forms.bind(env))?;
    let part = |part: usize| forms.get(place * PARTS + part);
    Ok(Some((known, Form { id: part(0)?, rest: part(1)?, plist: part(2)? })))
}

fn remember(env: &Env, item: &Arc<Item>, form: Form<'_>) -> Result<()> {
    let Some(forms) = FORMS.get() else { return Ok(()) };
    let forms = Vector::from_lisp(forms.bind(env))?;
    let place = place(item);
    for (part, value) in [form.id, form.rest, form.plist].into_iter().enumerate() {
        forms.set(place * PARTS + part, value)?;
    }
    RECENT.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(item.clone());
    Ok(())
}
