//! The laws of the diff, on lists of up to 2,000 items with equal texts, moves and renames.
#![allow(missing_docs)]

mod common;

use std::collections::HashSet;
use std::sync::Arc;

use common::item;
use proptest::prelude::*;
use todo_write::change::{Kind, apply, diff, fold};
use todo_write::item::{Item, Status};

/// One step away from a list; places count modulo its length.
#[derive(Clone, Debug)]
enum Step {
    Insert(usize, u8),
    Remove(usize),
    RemoveRun(usize, usize),
    Move(usize, usize),
    Reverse(usize, usize),
    Rename(usize, u8),
    Status(usize, Status),
    RenameAll(u8),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let place = 0..2_000usize;
    let status = prop::sample::select(vec![Status::Pending, Status::InProgress, Status::Completed]);
    prop_oneof![
        6 => (place.clone(), 0..4u8).prop_map(|(at, text)| Step::Insert(at, text)),
        4 => place.clone().prop_map(Step::Remove),
        1 => (place.clone(), 0..300usize).prop_map(|(at, count)| Step::RemoveRun(at, count)),
        6 => (place.clone(), place.clone()).prop_map(|(from, to)| Step::Move(from, to)),
        1 => (place.clone(), place.clone()).prop_map(|(from, to)| Step::Reverse(from, to)),
        4 => (place.clone(), 0..4u8).prop_map(|(at, text)| Step::Rename(at, text)),
        4 => (place, status).prop_map(|(at, status)| Step::Status(at, status)),
        1 => (0..4u8).prop_map(Step::RenameAll),
        1 => Just(Step::Clear),
    ]
}

fn text(number: u8) -> String {
    format!("Text {number}")
}

fn change(list: &mut [Arc<Item>], at: usize, change: impl FnOnce(&mut Item)) {
    if let Some(length) = list.len().checked_sub(1) {
        change(Arc::make_mut(&mut list[at.min(length)]));
    }
}

fn walk(list: &[Arc<Item>], steps: &[Step], next_id: &mut usize) -> Vec<Arc<Item>> {
    let mut list = list.to_vec();
    for step in steps {
        let length = list.len();
        let at = |place: usize| place % length.max(1);
        match *step {
            Step::Insert(place, number) => {
                list.insert(
                    place % (length + 1),
                    item(&format!("t{next_id}"), &text(number), Status::Pending),
                );
                *next_id += 1;
            }
            Step::Clear => list.clear(),
            _ if length == 0 => {}
            Step::Remove(place) => drop(list.remove(at(place))),
            Step::RemoveRun(place, count) => drop(list.drain(at(place)..length.min(at(place) + count))),
            Step::Move(from, to) => {
                let item = list.remove(at(from));
                list.insert(to % length, item);
            }
            Step::Reverse(a, b) => list[at(a).min(at(b))..=at(a).max(at(b))].reverse(),
            Step::Rename(place, number) => change(&mut list, at(place), |item| item.content = text(number)),
            Step::Status(place, status) => change(&mut list, at(place), |item| item.status = status),
            Step::RenameAll(number) => (0..length).for_each(|place| {
                change(&mut list, place, |item| item.active_form = text(number));
            }),
        }
    }
    list
}

/// A list of one text or of several, and the lists after it.
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
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn the_changes_lead_from_each_list_to_each_other(lists in history()) {
        for a in &lists {
            for b in &lists {
                prop_assert_eq!(&apply(a, &diff(a, b)), b);
            }
        }
    }

    #[test]
    fn a_list_does_not_differ_from_itself(lists in history()) {
        for list in &lists {
            let copy: Vec<Arc<Item>> = list.iter().map(|item| Arc::new(item.as_ref().clone())).collect();
            prop_assert_eq!(diff(list, list), vec![]);
            prop_assert_eq!(diff(list, &copy), vec![]);
        }
    }

    #[test]
    fn a_folded_chain_is_the_diff_of_its_ends(lists in history()) {
        let chain: Vec<_> = lists.windows(2).map(|pair| diff(&pair[0], &pair[1])).collect();
        prop_assert_eq!(fold(&lists[0], &chain), diff(&lists[0], &lists[lists.len() - 1]));
    }

    #[test]
    fn an_item_is_added_or_removed_or_neither_but_never_both(lists in history()) {
        let (a, b) = (&lists[0], &lists[lists.len() - 1]);
        let changes = diff(a, b);
        let of = |kind| -> HashSet<&str> {
            changes.iter().filter(|c| c.kind == kind).map(|c| c.item_id.as_str()).collect()
        };
        let (before, after): (HashSet<&str>, HashSet<&str>) =
            (a.iter().map(|i| i.id.as_str()).collect(), b.iter().map(|i| i.id.as_str()).collect());
        prop_assert_eq!(of(Kind::Added), &after - &before);
        prop_assert_eq!(of(Kind::Removed), &before - &after);
        for kind in [Kind::Modified, Kind::StatusChanged, Kind::Reordered] {
            prop_assert!(of(kind).is_subset(&(&before & &after)));
        }
        prop_assert!(of(Kind::Modified).is_disjoint(&of(Kind::StatusChanged)));
    }

    #[test]
    fn what_does_not_move_keeps_its_order(lists in history()) {
        let (a, b) = (&lists[0], &lists[lists.len() - 1]);
        let moved: HashSet<String> =
            diff(a, b).into_iter().filter(|c| c.kind == Kind::Reordered).map(|c| c.item_id).collect();
        let (before, after): (HashSet<&str>, HashSet<&str>) =
            (a.iter().map(|i| i.id.as_str()).collect(), b.iter().map(|i| i.id.as_str()).collect());
        let still = |list: &[Arc<Item>], other: &HashSet<&str>| -> Vec<String> {
            list.iter().map(|i| i.id.clone()).filter(|id| other.contains(id.as_str()) && !moved.contains(id)).collect()
        };
        prop_assert_eq!(still(a, &after), still(b, &before));
    }

    #[test]
    fn changes_of_other_lists_are_taken_without_a_panic(lists in history(), others in history()) {
        let changes = diff(&lists[0], &lists[lists.len() - 1]);
        for other in &others {
            let result = apply(other, &changes);
            let unique: HashSet<&str> = result.iter().map(|item| item.id.as_str()).collect();
            prop_assert_eq!(unique.len(), result.len());
        }
    }
}
