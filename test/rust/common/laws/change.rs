//! For any sequence of lists, recognition pairs each item once, and the changes lead from each list
//! to the next.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use todo_write::list::change::{Change, ChangeKind, apply, diff};
use todo_write::list::identity::{Features, recognize};
use todo_write::list::input::Plan;
use todo_write::list::item::{Draft, Item, List};
use todo_write::list::untyped;
use todo_write::thread::{Thread, WriteOptions};

use super::lists::{assert_unique, read};

/// The bytes are lists as plain text.
pub fn holds(data: &[u8]) {
    let lists = read(data);
    let mut thread = Thread::new("lists", Map::new(), 100);
    let mut chain = Vec::new();
    let mut ids: HashSet<String> = HashSet::new();
    for drafts in &lists {
        let before = thread.list().clone();
        recognizes_each_item_once(&before, drafts);
        let plan = || Plan { drafts: drafts.clone(), ..Plan::default() };
        let outcome = thread.write(plan(), WriteOptions::default(), 1);
        assert!(outcome.ok);
        list_is_as_sent(thread.list(), drafts);
        let gone: HashSet<&str> = before.iter().map(|item| item.id.as_str()).collect();
        let fresh = thread.list().iter().filter(|item| !gone.contains(item.id.as_str()));
        fresh.for_each(|item| assert!(ids.insert(item.id.clone()), "{} was used before", item.id));
        changes_lead_both_ways(&before, thread.list());
        assert_eq!(diff(&before, thread.list()), outcome.changes);
        pure_functions_agree(&before, drafts);
        chain.push(outcome.changes);
        assert_eq!(thread.write(plan(), WriteOptions::default(), 2).changes, []);
    }
    let end = chain.iter().fold(Vec::new(), |list, changes| apply(&list, changes));
    assert_eq!(&end, thread.list());
}

fn recognizes_each_item_once(before: &[Arc<Item>], drafts: &[Draft]) {
    let old: Vec<Features<'_>> = before.iter().map(|item| Features::from(item.as_ref())).collect();
    let new: Vec<Features<'_>> = drafts.iter().map(Features::from).collect();
    let found = recognize(&old, &new);
    assert_eq!(found.len(), new.len());
    let mut taken = HashSet::new();
    assert!(found.iter().flatten().all(|old| *old < before.len() && taken.insert(old)), "{found:?}");
}

fn list_is_as_sent(list: &[Arc<Item>], drafts: &[Draft]) {
    assert_unique(list);
    assert_eq!(list.len(), drafts.len());
    assert!(
        list.iter()
            .zip(drafts)
            .all(|(item, draft)| draft.clone().into_item(item.id.clone()).is_unchanged_from(item)),
        "{list:?} {drafts:?}"
    );
}

pub fn changes_lead_both_ways(a: &List, b: &List) {
    assert_eq!(&apply(a, &diff(a, b)), b);
    assert_eq!(&apply(b, &diff(b, a)), a);
    assert_eq!(diff(b, b), []);
    changes_are_of_the_items_that_differ(a, b);
}

fn changes_are_of_the_items_that_differ(a: &List, b: &List) {
    let changes = diff(a, b);
    let of = |kind| -> HashSet<&str> {
        changes.iter().filter(|change| change.kind == kind).map(|change| change.item_id.as_str()).collect()
    };
    let [before, after] = [a, b].map(|list| list.iter().map(|item| item.id.as_str()).collect::<HashSet<_>>());
    assert_eq!(of(ChangeKind::Added), &after - &before);
    assert_eq!(of(ChangeKind::Removed), &before - &after);
    for kind in [ChangeKind::Modified, ChangeKind::StatusChanged, ChangeKind::Reordered] {
        assert!(of(kind).is_subset(&(&before & &after)));
    }
    assert!(of(ChangeKind::Modified).is_disjoint(&of(ChangeKind::StatusChanged)));
    // Items that do not move keep their order.
    let still = &(&before & &after) - &of(ChangeKind::Reordered);
    let [before, after] = [a, b].map(|list| {
        list.iter().map(|item| item.id.as_str()).filter(|id| still.contains(id)).collect::<Vec<_>>()
    });
    assert_eq!(before, after);
}

/// The changes as JSON.
pub fn wire(changes: &[Change<untyped::UntypedItem>]) -> Value {
    let fields = |entry: &Option<untyped::UntypedItem>| entry.as_ref().map(|entry| entry.fields().clone());
    let object = |change: &Change<untyped::UntypedItem>| {
        json!({"type": change.kind, "itemId": change.item_id, "item": fields(&change.item),
               "previousItem": fields(&change.previous_item), "position": change.position,
               "previousPosition": change.previous_position})
    };
    changes.iter().map(object).collect()
}

/// `todo-write-diff` and `todo-write-apply-changes` on two lists, only one of which has ids.
fn pure_functions_agree(before: &List, drafts: &[Draft]) {
    let entry = |draft: &Draft| json!({"content": draft.content, "status": draft.status.as_str(), "activeForm": draft.active_form});
    let before = serde_json::to_value(before).unwrap();
    let after = Value::from_iter(drafts.iter().map(entry));
    let changes = untyped::diff(&before, &after).unwrap().0;
    let list = untyped::apply(&before, &wire(&changes)).unwrap();
    let said = |fields: &Map<String, Value>| {
        ["content", "status", "activeForm"].map(|key| fields.get(key).cloned().unwrap_or_default())
    };
    let expected: Vec<_> = drafts.iter().map(|draft| said(entry(draft).as_object().unwrap())).collect();
    assert_eq!(list.iter().map(|entry| said(entry.fields())).collect::<Vec<_>>(), expected);
}
