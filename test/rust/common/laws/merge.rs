//! The laws of a three-way merge of any two lists with a common base, and of the changes between them.

use std::collections::HashSet;
use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use todo_write::list::change::{apply, diff};
use todo_write::list::item::{Draft, Item, List, Priority, Status};
use todo_write::list::merge::{Conflict, Merged, merge};

use super::change::changes_lead_both_ways;
use super::lists::assert_unique;

/// The bytes encode three lists: the base that the agent knew, the user's list, and the write.
pub fn holds(data: &[u8]) {
    let Ok([base, ours, theirs]) = sides(&mut Unstructured::new(data)) else { return };
    for (from, to) in [(&base, &ours), (&base, &theirs), (&ours, &theirs)] {
        changes_lead_both_ways(from, to);
        assert_unique(&apply(&theirs, &diff(from, to)));
    }
    let merged = merge(&base, &ours, &theirs);
    assert_unique(&merged.list);
    values_come_from_the_sides(&base, &ours, &theirs, &merged);
    edits_of_both_sides_survive(&base, &ours, &theirs, &merged.list);
    let stands = |list: &List| Merged { list: list.clone(), conflicts: Vec::new() };
    assert_eq!(merge(&base, &base, &theirs), stands(&theirs));
    assert_eq!(merge(&base, &ours, &base), stands(&ours));
    assert_eq!(merge(&base, &ours, &ours), stands(&ours));
    assert_eq!(merge(&base, &merged.list, &theirs).list, merged.list);
}

/// Both sides keep, change, move, drop and add items. The agent may adopt items that the user added.
fn sides(data: &mut Unstructured<'_>) -> Result<[List; 3]> {
    let base = list(data, "b")?;
    let mut ours = edited(data, &base)?;
    ours.extend(list(data, "u")?);
    let mut theirs = edited(data, &base)?;
    theirs.extend(list(data, "a")?);
    for item in &ours {
        if item.id.starts_with('u') && data.ratio(1, 3)? {
            theirs.push(varied(data, item)?);
        }
    }
    shuffle(data, &mut ours)?;
    shuffle(data, &mut theirs)?;
    Ok([base, ours, theirs])
}

fn list(data: &mut Unstructured<'_>, prefix: &str) -> Result<List> {
    let mut list = Vec::new();
    while list.len() < 12 && data.ratio(2, 3)? {
        let id = format!("{prefix}{}", list.len());
        let draft = Draft { content: id.clone(), active_form: id.clone(), ..Draft::default() };
        let item = draft.into_item(id);
        list.push(varied(data, &Arc::new(item))?);
    }
    Ok(list)
}

fn edited(data: &mut Unstructured<'_>, base: &[Arc<Item>]) -> Result<List> {
    let mut list = Vec::new();
    for item in base {
        if !data.ratio(1, 5)? {
            list.push(varied(data, item)?);
        }
    }
    Ok(list)
}

fn varied(data: &mut Unstructured<'_>, item: &Arc<Item>) -> Result<Arc<Item>> {
    if data.ratio(1, 2)? {
        return Ok(Arc::clone(item));
    }
    let mut item = item.as_ref().clone();
    match data.int_in_range(0..=3)? {
        0 => item.content = format!("c{}", data.int_in_range(0..=3)?),
        1 => item.active_form = format!("f{}", data.int_in_range(0..=3)?),
        2 => item.priority = *data.choose(&[None, Some(Priority::High), Some(Priority::Low)])?,
        _ => item.status = *data.choose(&[Status::Pending, Status::InProgress, Status::Completed])?,
    }
    Ok(Arc::new(item))
}

fn shuffle(data: &mut Unstructured<'_>, list: &mut List) -> Result<()> {
    while list.len() > 1 && !data.is_empty() && data.ratio(1, 3)? {
        let (from, to) = (data.choose_index(list.len())?, data.choose_index(list.len())?);
        let item = list.remove(from);
        list.insert(to, item);
    }
    Ok(())
}

fn find<'l>(list: &'l [Arc<Item>], id: &str) -> Option<&'l Arc<Item>> {
    list.iter().find(|item| item.id == id)
}

/// Every value comes from one of the sides.
fn values_come_from_the_sides(base: &List, ours: &List, theirs: &List, merged: &Merged) {
    for item in &merged.list {
        let known: Vec<&Arc<Item>> =
            [base, ours, theirs].into_iter().filter_map(|list| find(list, &item.id)).collect();
        assert!(known.iter().any(|known| known.content == item.content), "{item:?} of {known:?}");
        assert!(known.iter().any(|known| known.status == item.status), "{item:?} of {known:?}");
        assert!(known.iter().any(|known| known.active_form == item.active_form), "{item:?} of {known:?}");
        assert!(known.iter().any(|known| known.priority == item.priority), "{item:?} of {known:?}");
    }
    for conflict in &merged.conflicts {
        match conflict {
            Conflict::Field(item) | Conflict::Dropped(item) => {
                assert!(find(&merged.list, &item.id).is_some(), "{conflict:?}");
            }
            Conflict::Deleted(item) => assert!(find(&merged.list, &item.id).is_none(), "{conflict:?}"),
        }
    }
}

fn edits_of_both_sides_survive(base: &List, ours: &List, theirs: &List, merged: &List) {
    let ids = |list: &List| -> HashSet<String> { list.iter().map(|item| item.id.clone()).collect() };
    let [in_base, in_ours, in_theirs, in_merged] = [base, ours, theirs, merged].map(ids);
    assert!((&in_ours - &in_base).is_subset(&in_merged), "the user's items");
    assert!((&in_base - &in_ours).is_disjoint(&in_merged), "what the user deleted");
    assert!((&in_theirs - &in_base).is_subset(&in_merged), "the agent's items");
    for item in ours {
        let (Some(base), Some(merged)) = (find(base, &item.id), find(merged, &item.id)) else { continue };
        assert!(item.content == base.content || item.content == merged.content, "the user's text");
        assert!(item.status == base.status || item.status == merged.status, "the user's status");
        assert!(item.priority == base.priority || item.priority == merged.priority, "the user's priority");
    }
}
