//! The three-way merge: every combination of base, ours (the user) and theirs (the agent), and its laws.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::walk::{Step, step, walk};
use crate::common::{Completed, InProgress, Pending, ids, item};
use proptest::prelude::*;
use todo_write::item::{Item, Priority};
use todo_write::merge::{Conflict, Merged, merge};

fn letters(letters: &str) -> Vec<Arc<Item>> {
    letters.chars().map(|c| item(&c.to_string(), &format!("Task {c}"), Pending)).collect()
}

/// Sets one field of an item to one of three values.
type Set = fn(&mut Item, usize);

const FIELDS: [(&str, Set); 4] = [
    ("content", |item, value| item.content = ["Read", "Write", "Erase"][value].into()),
    ("status", |item, value| item.status = [Pending, InProgress, Completed][value]),
    ("activeForm", |item, value| item.active_form = ["Reading", "Writing", "Erasing"][value].into()),
    ("priority", |item, value| item.priority = [None, Some(Priority::Low), Some(Priority::High)][value]),
];

fn having(set: Set, value: usize) -> Arc<Item> {
    let mut item = item("t1", "", Pending).as_ref().clone();
    FIELDS.iter().for_each(|(_, set)| set(&mut item, 0));
    set(&mut item, value);
    Arc::new(item)
}

#[test]
fn each_field_takes_the_changed_value_and_the_users_value_wins() {
    // The user's value, the agent's value, the merged value. The value in base is 0.
    let cells = [
        ("same", 0, 0, 0, false),
        ("ours changed", 1, 0, 1, false),
        ("theirs changed", 0, 1, 1, false),
        ("both changed alike", 1, 1, 1, false),
        ("both changed differently", 1, 2, 1, true),
    ];
    for (field, set) in FIELDS {
        for (cell, ours, theirs, result, clash) in cells {
            let merged = merge(&[having(set, 0)], &[having(set, ours)], &[having(set, theirs)]);
            let conflicts = if clash { vec![Conflict::Field(having(set, result))] } else { vec![] };
            assert_eq!(merged, Merged { list: vec![having(set, result)], conflicts }, "{field}, {cell}");
        }
    }
}

#[test]
fn changes_of_different_fields_are_merged() {
    for (ours_field, ours_set) in FIELDS {
        for (theirs_field, theirs_set) in FIELDS.into_iter().filter(|(field, _)| *field != ours_field) {
            // Renaming sets the active form too; that pair has its own test.
            if ours_field == "content" && theirs_field == "activeForm" {
                continue;
            }
            let merged = merge(&[having(ours_set, 0)], &[having(ours_set, 1)], &[having(theirs_set, 1)]);
            let mut both = having(ours_set, 1).as_ref().clone();
            theirs_set(&mut both, 1);
            let expected = Merged { list: vec![Arc::new(both)], conflicts: vec![] };
            assert_eq!(merged, expected, "{ours_field}, {theirs_field}");
        }
    }
}

#[test]
fn a_rename_by_the_user_decides_the_active_form() {
    let base = item("t1", "Read", Pending);
    let renamed = item("t1", "Peruse", Pending);
    let mut reworded = base.as_ref().clone();
    reworded.active_form = "Having a read".into();
    let merged = merge(&[base], std::slice::from_ref(&renamed), &[Arc::new(reworded)]);
    assert_eq!(merged, Merged { list: vec![renamed.clone()], conflicts: vec![Conflict::Field(renamed)] });
}

#[test]
fn an_item_missing_on_one_side_follows_the_user() {
    let a = || Some(item("t1", "Read", Pending));
    let b = || Some(item("t1", "Read", Completed));
    let (deleted, dropped) = (Conflict::Deleted(a().unwrap()), Conflict::Dropped(b().unwrap()));
    let cells = [
        ("no side has it", None, None, None, None, None),
        ("both removed it", a(), None, None, None, None),
        ("the user removed it, the agent repeats it", a(), None, a(), None, None),
        ("the user removed it, the agent changed it", a(), None, b(), None, Some(deleted)),
        ("the agent removed it", a(), a(), None, None, None),
        ("the agent removed it, the user changed it", a(), b(), None, b(), Some(dropped)),
        ("the user added it", None, a(), None, a(), None),
        ("the agent added it", None, None, a(), a(), None),
        ("the user added it, the agent took it up", None, a(), a(), a(), None),
        ("the user added it, the agent took it up and on", None, a(), b(), b(), None),
    ];
    for (cell, base, ours, theirs, result, conflict) in cells {
        let list = |item: Option<Arc<Item>>| Vec::from_iter(item);
        let merged = merge(&list(base), &list(ours), &list(theirs));
        assert_eq!(merged, Merged { list: list(result), conflicts: Vec::from_iter(conflict) }, "{cell}");
    }
}

#[test]
fn the_users_order_wins_if_the_user_moved_an_item() {
    let cases = [
        ("abc", "abc", "cab", "cab"),
        ("abc", "cab", "abc", "cab"),
        ("abc", "cab", "bac", "cab"),
        ("abc", "ac", "cba", "ca"),
        ("abc", "abc", "", ""),
        // An item that only the user has follows its predecessor in the user's list.
        ("abc", "xabc", "abc", "xabc"),
        ("abc", "abxc", "abc", "abxc"),
        ("abc", "axbc", "cab", "caxb"),
        ("abc", "abcx", "abcy", "abcxy"),
        // Without a predecessor that stays, it goes to the end.
        ("abc", "axybc", "b", "bxy"),
        ("abc", "xabc", "de", "dex"),
        ("abc", "xaybc", "b", "xyb"),
        ("abc", "axbc", "", "x"),
        // If the user's order wins, an item that only the agent has follows its predecessor there.
        ("abc", "bca", "abcd", "bcda"),
        ("abc", "cxab", "yabc", "ycxab"),
    ];
    for (base, ours, theirs, expected) in cases {
        let merged = merge(&letters(base), &letters(ours), &letters(theirs));
        assert_eq!(ids(&merged.list).concat(), expected, "{base}, {ours}, {theirs}");
        assert_eq!(merged.conflicts, [], "{base}, {ours}, {theirs}");
    }
}

#[test]
fn conflicts_have_the_order_of_the_list() {
    let change = |list: &[Arc<Item>], content: &str| -> Vec<Arc<Item>> {
        list.iter().map(|old| item(&old.id, &format!("{} {content}", old.content), Pending)).collect()
    };
    let base = letters("abcd");
    let merged = merge(&base, &change(&base, "ours"), &change(&base, "theirs"));
    let named: Vec<&str> = merged
        .conflicts
        .iter()
        .map(|conflict| match conflict {
            Conflict::Field(item) | Conflict::Deleted(item) | Conflict::Dropped(item) => item.id.as_str(),
        })
        .collect();
    assert_eq!(named, ["a", "b", "c", "d"]);
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..12)
}

/// Base, the user's list and the agent's, which may include items that the user added.
fn sides() -> impl Strategy<Value = [Vec<Arc<Item>>; 3]> {
    (0..25usize, steps(), steps(), any::<bool>()).prop_map(|(size, ours, theirs, takes_up)| {
        let base: Vec<_> = (0..size).map(|n| item(&format!("b{n}"), &format!("Task {n}"), Pending)).collect();
        let ours = walk(&base, &ours, &mut 100);
        let mut theirs = walk(&base, &theirs, &mut 200);
        let added = ours.iter().filter(|item| item.id.starts_with('t')).take(usize::from(takes_up));
        theirs.extend(added.cloned());
        [base, ours, theirs]
    })
}

fn id_set(list: &[Arc<Item>]) -> HashSet<&str> {
    list.iter().map(|item| item.id.as_str()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn without_user_edits_the_write_stands_as_sent([base, _, theirs] in sides()) {
        prop_assert_eq!(merge(&base, &base, &theirs), Merged { list: theirs, conflicts: vec![] });
    }

    #[test]
    fn without_agent_changes_the_users_list_stands([base, ours, _] in sides()) {
        prop_assert_eq!(merge(&base, &ours, &base), Merged { list: ours, conflicts: vec![] });
    }

    #[test]
    fn merging_twice_changes_nothing([base, ours, theirs] in sides()) {
        let once = merge(&base, &ours, &theirs).list;
        prop_assert_eq!(&merge(&base, &once, &theirs).list, &once);
    }

    #[test]
    fn equal_sides_are_merged_into_their_list([base, ours, _] in sides()) {
        prop_assert_eq!(merge(&base, &ours, &ours), Merged { list: ours, conflicts: vec![] });
    }

    #[test]
    fn items_that_the_user_added_stay_and_deleted_ones_do_not_return([base, ours, theirs] in sides()) {
        let merged = merge(&base, &ours, &theirs).list;
        let (in_base, in_ours, in_merged) = (id_set(&base), id_set(&ours), id_set(&merged));
        prop_assert!((&in_ours - &in_base).is_subset(&in_merged));
        prop_assert!((&in_base - &in_ours).is_disjoint(&in_merged));
        prop_assert_eq!(in_merged.len(), merged.len());
    }

    #[test]
    fn items_that_the_agent_added_stay([base, ours, theirs] in sides()) {
        let merged = merge(&base, &ours, &theirs).list;
        prop_assert!((&id_set(&theirs) - &id_set(&base)).is_subset(&id_set(&merged)));
    }
}
