//! Three-way merge of the user's edits with the agent's next write, field by field. `base` is the
//! list that the agent knew, `ours` the user's list, `theirs` the write.
//!
//! A field that only one side changed takes that side's value. If both changed it, the user's value
//! wins and the conflict is reported. An open item that the user added stays although the agent leaves
//! it out. Three laws hold: without edits the result is the write and the user's open items, without
//! changes by the agent it is the user's list, and merging again changes nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::list::item::{Body, Item, List};

/// A change of the agent that lost against the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Both changed the same field of this item, and the user's value wins.
    Field(Arc<Item>),
    /// The agent changed this item, which the user deleted. It stays deleted.
    Deleted(Arc<Item>),
    /// The agent dropped this item, which the user changed. It stays.
    Dropped(Arc<Item>),
}

/// A merged list, and the conflicts to report to the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Merged {
    pub list: List,
    pub conflicts: Vec<Conflict>,
}

/// Merges by id. [`crate::list::identity`] has assigned the ids of `theirs`, by `base` and the user's items.
pub fn merge(base: &[Arc<Item>], ours: &[Arc<Item>], theirs: &[Arc<Item>]) -> Merged {
    let (in_base, in_ours, in_theirs) = (by_id(base), by_id(ours), by_id(theirs));
    let mut conflicts = Vec::new();
    let mut survivors: HashMap<&str, Arc<Item>> = HashMap::new();
    for item in theirs {
        let id = item.id.as_str();
        let survivor = match (in_base.get(id), in_ours.get(id)) {
            // The user added this item, and the agent has taken it up.
            (None, _) => Arc::clone(item),
            (Some(base), Some(ours)) => fields(base, ours, item, &mut conflicts),
            (Some(base), None) => {
                if !base.is_unchanged_from(item) {
                    conflicts.push(Conflict::Deleted(Arc::clone(base)));
                }
                continue;
            }
        };
        // A different hint alone is not a change.
        let ours = in_ours.get(id).filter(|ours| ours.is_unchanged_from(&survivor));
        survivors.insert(id, ours.map_or(survivor, |ours| Arc::clone(ours)));
    }
    for item in ours.iter().filter(|item| !in_theirs.contains_key(item.id.as_str())) {
        match in_base.get(item.id.as_str()) {
            Some(base) if !base.is_unchanged_from(item) => {
                conflicts.push(Conflict::Dropped(Arc::clone(item)));
            }
            Some(_) if !item.is_users_open() => continue,
            _ => {}
        }
        survivors.insert(&item.id, Arc::clone(item));
    }
    Merged { list: order(base, ours, theirs, &survivors), conflicts }
}

pub(crate) fn by_id(list: &[Arc<Item>]) -> HashMap<&str, &Arc<Item>> {
    list.iter().map(|item| (item.id.as_str(), item)).collect()
}

fn fields(
    base: &Arc<Item>,
    ours: &Arc<Item>,
    theirs: &Arc<Item>,
    conflicts: &mut Vec<Conflict>,
) -> Arc<Item> {
    if base.is_unchanged_from(ours) {
        return Arc::clone(theirs);
    }
    let mut clash = false;
    let content = field(&base.content, &ours.content, &theirs.content, &mut clash);
    let status = field(&base.status, &ours.status, &theirs.status, &mut clash);
    let priority = field(&base.priority, &ours.priority, &theirs.priority, &mut clash);
    let active_form = if base.content == ours.content {
        field(&base.active_form, &ours.active_form, &theirs.active_form, &mut clash)
    } else {
        // The user's rename includes the activeForm.
        clash |= theirs.active_form != base.active_form && theirs.active_form != ours.active_form;
        ours.active_form.clone()
    };
    let hint = theirs.hint.clone().or_else(|| ours.hint.clone());
    // The user cannot edit the other fields.
    let body = Body { content, active_form, priority, hint, ..Body::clone(theirs) };
    let merged = Arc::new(Item { status, body: Arc::new(body) });
    if clash {
        conflicts.push(Conflict::Field(Arc::clone(&merged)));
    }
    merged
}

fn field<T: PartialEq + Clone>(base: &T, ours: &T, theirs: &T, clash: &mut bool) -> T {
    if ours == base {
        return theirs.clone();
    }
    *clash |= theirs != base && theirs != ours;
    ours.clone()
}

/// The user's order if the user moved an item, else the agent's.
fn order(
    base: &[Arc<Item>],
    ours: &[Arc<Item>],
    theirs: &[Arc<Item>],
    survivors: &HashMap<&str, Arc<Item>>,
) -> List {
    let in_ours: HashSet<&str> = ids(ours, survivors).collect();
    let is_replaced = !ids(theirs, survivors).any(|id| in_ours.contains(id));
    let (leading, following) =
        if moved(base, ours, survivors) && !is_replaced { (ours, theirs) } else { (theirs, ours) };
    weave(leading, following, |id| survivors.contains_key(id))
        .into_iter()
        .filter_map(|id| survivors.get(id).cloned())
        .collect()
}

/// The ids of both lists for which `stays` holds, in the order of `leading`. One that only `following`
/// has keeps its place there: after the nearest predecessor that stays, before all others if it had
/// none, and else at the end.
pub(crate) fn weave<'l>(
    leading: &'l [Arc<Item>],
    following: &'l [Arc<Item>],
    stays: impl Fn(&str) -> bool,
) -> Vec<&'l str> {
    let leads: Vec<&str> = leading.iter().map(|item| item.id.as_str()).filter(|id| stays(id)).collect();
    let known: HashSet<&str> = leads.iter().copied().collect();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let mut after: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut anchor: Option<&str> = None;
    let mut predecessor_is_gone = !following.iter().any(|item| known.contains(item.id.as_str()));
    for id in following.iter().map(|item| item.id.as_str()) {
        if known.contains(id) {
            anchor = Some(id);
        } else if !stays(id) {
            predecessor_is_gone = true;
        } else if let Some(anchor) = anchor {
            after.entry(anchor).or_default().push(id);
        } else if predecessor_is_gone && first.is_empty() {
            last.push(id);
        } else {
            first.push(id);
        }
    }
    let leads =
        leads.into_iter().flat_map(|id| std::iter::once(id).chain(after.remove(id).unwrap_or_default()));
    first.into_iter().chain(leads).chain(last).collect()
}

fn ids<'a>(
    list: &'a [Arc<Item>],
    survivors: &'a HashMap<&str, Arc<Item>>,
) -> impl Iterator<Item = &'a str> + 'a {
    list.iter().map(|item| item.id.as_str()).filter(|id| survivors.contains_key(id))
}

/// Whether the surviving items in both `base` and `ours` have another order in `ours`.
fn moved(base: &[Arc<Item>], ours: &[Arc<Item>], survivors: &HashMap<&str, Arc<Item>>) -> bool {
    let (in_base, in_ours) = (by_id(base), by_id(ours));
    let common = |id: &&str| in_base.contains_key(id) && in_ours.contains_key(id);
    !ids(base, survivors).filter(common).eq(ids(ours, survivors).filter(common))
}
