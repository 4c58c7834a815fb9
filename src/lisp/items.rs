//! Items as plists.
//!
//! Most of what is said of an item was said before: as a rule a write changes the status alone, of
//! items that earlier writes told of. So the newest plists are kept, and one that says the same is
//! made of them: an agent's call makes hardly any garbage. Callers know that they are not to
//! modify what they get.

use std::sync::{Arc, Mutex, PoisonError};

use emacs::{Env, GlobalRef, IntoLisp, Result, Value, Vector};
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
    /// The plist.
    pub plist: Value<'e>,
}

impl<'e> Form<'e> {
    /// That of an item, made of what is kept as far as it says the same.
    pub fn of(env: &'e Env, item: &Arc<Item>) -> Result<Form<'e>> {
        let (place, forms) = (place(item), forms(env)?);
        let part = |part: usize| forms.get(place * PARTS + part);
        let known = RECENT.lock().unwrap_or_else(PoisonError::into_inner)[place].clone();
        let (id, rest) = match known.filter(|known| known.id == item.id) {
            Some(known) if Arc::ptr_eq(&known, item) => return Ok(Form { id: part(0)?, plist: part(2)? }),
            Some(known) if has_same_texts(&known, item) => (part(0)?, part(1)?),
            known => {
                let id = if known.is_some() { part(0)? } else { text(env, &item.id)? };
                (id, rest(env, item, id)?)
            }
        };
        let plist = with_status(env, item, rest)?;
        for (part, value) in [id, rest, plist].into_iter().enumerate() {
            forms.set(place * PARTS + part, value)?;
        }
        RECENT.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(item.clone());
        Ok(Form { id, plist })
    }
}

/// The end of the plist, behind the status, which other versions of the item share.
fn rest<'e>(env: &'e Env, item: &Item, id: Value<'e>) -> Result<Value<'e>> {
    Plist::new(env)
        .set(k_id, id)?
        .set(k_content, text(env, &item.content)?)?
        .set(k_active_form, text(env, &item.active_form)?)?
        .set(k_priority, item.priority.map(|level| priority(env, level)).transpose()?)?
        .finish()
}

fn with_status<'e>(env: &'e Env, item: &Item, rest: Value<'e>) -> Result<Value<'e>> {
    env.cons(k_status.bind(env), env.cons(status(env, item.status)?, rest)?)
}

fn has_same_texts(item: &Item, other: &Item) -> bool {
    item.content == other.content && item.active_form == other.active_form && item.priority == other.priority
}

/// `(:status :id :content :activeForm :priority)`, all new; priority is nil where there is none.
pub fn item<'e>(env: &'e Env, item: &Item) -> Result<Value<'e>> {
    with_status(env, item, rest(env, item, text(env, &item.id)?)?)
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

/// The id, the rest and the plist of each, in a Lisp vector.
static FORMS: OnceCell<GlobalRef> = OnceCell::new();

/// Makes the vector, which must be there before any item.
pub fn init(env: &Env) -> Result<()> {
    let forms = env.make_vector(PLACES * PARTS, ())?.value().make_global_ref();
    FORMS.get_or_init(|| forms);
    Ok(())
}

fn forms(env: &Env) -> Result<Vector<'_>> {
    let forms = FORMS.get().map(|forms| forms.bind(env)).into_lisp(env)?;
    // Emacs looks at the bounds itself.
    Ok(Vector::from_value_unchecked(forms, PLACES * PARTS))
}

/// The ids of a list count up, so that those of a short one all have places of their own.
fn place(item: &Item) -> usize {
    item.id.get(1..).and_then(|number| number.parse::<usize>().ok()).unwrap_or(0) % PLACES
}
