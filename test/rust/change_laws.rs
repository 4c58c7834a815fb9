//! The laws of the diff, on lists of up to 2,000 items with equal texts, moves and renames.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::item;
use crate::common::walk::{step, text, walk};
use proptest::prelude::*;
use todo_write::list::change::{ChangeKind, apply, diff};
use todo_write::list::item::{Item, Status};

/// A list whose items share one to three texts, and the lists that follow it.
fn history() -> impl Strategy<Value = Vec<Vec<Arc<Item>>>> {
    let size = prop_oneof![2 => 0..30usize, 1 => 0..=2_000usize];
    let steps = prop::collection::vec(prop::collection::vec(step(), 0..25), 1..4);
    (size, 1..4u8, steps).prop_map(|(size, texts, steps)| {
        let mut next_id = size + 1;
        let first = (1..=size)
            .map(|n| item(&format!("t{n}"), &text((n % usize::from(texts)) as u8), Status::Pending))
            .collect();
        let mut lists: Vec<Vec<Arc<Item>>> = vec![first];
        for steps in steps {
            let next = walk(&lists[lists.len() - 1], &steps, &mut next_id);
            lists.push(next);
        }
        lists
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_changes_lead_from_any_list_to_any_other(lists in history()) {
        for a in &lists {
            for b in &lists {
                prop_assert_eq!(&apply(a, &diff(a, b)), b);
            }
            let copy: Vec<Arc<Item>> = a.iter().map(|item| Arc::new(item.as_ref().clone())).collect();
            prop_assert_eq!(diff(a, &copy), vec![]);
        }
    }

    #[test]
    fn an_item_is_never_both_added_and_removed(lists in history()) {
        let (a, b) = (&lists[0], &lists[lists.len() - 1]);
        let changes = diff(a, b);
        let of = |kind| -> HashSet<&str> {
            changes.iter().filter(|c| c.kind == kind).map(|c| c.item_id.as_str()).collect()
        };
        let (before, after): (HashSet<&str>, HashSet<&str>) =
            (a.iter().map(|i| i.id.as_str()).collect(), b.iter().map(|i| i.id.as_str()).collect());
        prop_assert_eq!(of(ChangeKind::Added), &after - &before);
        prop_assert_eq!(of(ChangeKind::Removed), &before - &after);
        for kind in [ChangeKind::Modified, ChangeKind::StatusChanged, ChangeKind::Reordered] {
            prop_assert!(of(kind).is_subset(&(&before & &after)));
        }
        prop_assert!(of(ChangeKind::Modified).is_disjoint(&of(ChangeKind::StatusChanged)));
    }

    #[test]
    fn items_that_do_not_move_keep_their_order(lists in history()) {
        let (a, b) = (&lists[0], &lists[lists.len() - 1]);
        let moved: HashSet<String> =
            diff(a, b).into_iter().filter(|c| c.kind == ChangeKind::Reordered).map(|c| c.item_id).collect();
        let (before, after): (HashSet<&str>, HashSet<&str>) =
            (a.iter().map(|i| i.id.as_str()).collect(), b.iter().map(|i| i.id.as_str()).collect());
        let still = |list: &[Arc<Item>], other: &HashSet<&str>| -> Vec<String> {
            list.iter().map(|i| i.id.clone()).filter(|id| other.contains(id.as_str()) && !moved.contains(id)).collect()
        };
        prop_assert_eq!(still(a, &after), still(b, &before));
    }

    #[test]
    fn changes_of_other_lists_are_applied_without_a_panic(lists in history(), others in history()) {
        let changes = diff(&lists[0], &lists[lists.len() - 1]);
        for other in &others {
            let result = apply(other, &changes);
            let unique: HashSet<&str> = result.iter().map(|item| item.id.as_str()).collect();
            prop_assert_eq!(unique.len(), result.len());
        }
    }
}
