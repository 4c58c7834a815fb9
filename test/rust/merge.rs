//! The three-way merge: every combination of base, ours (the user) and theirs (the agent). Its laws
//! are in `common/laws/merge.rs`.

use std::sync::Arc;

use crate::common::{Completed, InProgress, Pending, ids, item, letters};
use todo_write::list::item::{Item, Priority};
use todo_write::list::merge::{Conflict, Merged, merge};

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

/// The same items with other contents.
fn changed(list: &[Arc<Item>], content: &str) -> Vec<Arc<Item>> {
    list.iter().map(|old| item(&old.id, &format!("{} {content}", old.content), Pending)).collect()
}

#[test]
fn what_the_user_changed_and_moved_follows_another_list_of_the_agent() {
    let merged = merge(&letters("abc"), &changed(&letters("cab"), "ours"), &letters("de"));
    assert_eq!(ids(&merged.list).concat(), "decab");
}

#[test]
fn conflicts_have_the_order_of_the_list() {
    let base = letters("abcd");
    let merged = merge(&base, &changed(&base, "ours"), &changed(&base, "theirs"));
    let named: Vec<&str> = merged
        .conflicts
        .iter()
        .map(|conflict| match conflict {
            Conflict::Field(item) | Conflict::Deleted(item) | Conflict::Dropped(item) => item.id.as_str(),
        })
        .collect();
    assert_eq!(named, ["a", "b", "c", "d"]);
}
