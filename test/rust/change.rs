//! The diff of two lists: kinds, fields, positions, the fewest moves.

use std::sync::Arc;

use crate::common::laws::change::changes_lead_both_ways;
use crate::common::{Completed, InProgress, Pending, item, letters};
use todo_write::list::change::{Change, ChangeKind, apply, diff};
use todo_write::list::item::{Item, Priority};

type Changes = Vec<Change<Arc<Item>>>;

fn with(item: &Arc<Item>, change: impl FnOnce(&mut Item)) -> Arc<Item> {
    let mut changed = item.as_ref().clone();
    change(&mut changed);
    Arc::new(changed)
}

/// Each change as `kind id position<-previous`, without absent positions.
fn summary(changes: &Changes) -> Vec<String> {
    let place = |position: Option<usize>| position.map_or(String::new(), |position| position.to_string());
    changes
        .iter()
        .map(|c| {
            let (to, from) = (place(c.position), place(c.previous_position));
            format!("{} {} {to}<-{from}", c.kind.as_str(), c.item_id)
        })
        .collect()
}

#[test]
fn changes_follow_the_new_list_with_removals_last() {
    let cases: [(&str, &str, &[&str]); 11] = [
        ("", "", &[]),
        ("abc", "abc", &[]),
        ("", "ab", &["added a 0<-", "added b 1<-"]),
        ("ab", "", &["removed a <-0", "removed b <-1"]),
        ("ab", "cd", &["added c 0<-", "added d 1<-", "removed a <-0", "removed b <-1"]),
        ("abc", "ac", &["removed b <-1"]),
        ("ac", "abc", &["added b 1<-"]),
        ("abc", "bca", &["reordered a 2<-0"]),
        ("abc", "cab", &["reordered c 0<-2"]),
        ("abcd", "dxab", &["reordered d 0<-3", "added x 1<-", "removed c <-2"]),
        ("abcde", "xyabcde", &["added x 0<-", "added y 1<-"]),
    ];
    for (previous, current, expected) in cases {
        let changes = diff(&letters(previous), &letters(current));
        assert_eq!(summary(&changes), expected, "{previous} → {current}");
    }
}

#[test]
fn the_kind_follows_from_the_fields_that_differ() {
    let old = item("t1", "Read", Pending);
    type Make = fn(&mut Item);
    let cases: [(Make, Option<ChangeKind>, &[&str]); 9] = [
        (|_| (), None, &[]),
        (|i| i.hint = Some("x".into()), None, &[]),
        (|i| i.status = Completed, Some(ChangeKind::StatusChanged), &[]),
        (|i| i.content = "Write".into(), Some(ChangeKind::Modified), &["content"]),
        (|i| i.active_form = "Writing".into(), Some(ChangeKind::Modified), &["activeForm"]),
        (|i| i.priority = Some(Priority::Low), Some(ChangeKind::Modified), &["priority"]),
        (
            |i| (i.status, i.content) = (InProgress, "Write".into()),
            Some(ChangeKind::Modified),
            &["content", "status"],
        ),
        (
            |i| (i.status, i.priority) = (InProgress, Some(Priority::High)),
            Some(ChangeKind::Modified),
            &["status", "priority"],
        ),
        (
            |i| (i.content, i.active_form) = ("Write".into(), "Writing".into()),
            Some(ChangeKind::Modified),
            &["content", "activeForm"],
        ),
    ];
    for (place, (make, kind, fields)) in cases.into_iter().enumerate() {
        let new = with(&old, make);
        let changes = diff(std::slice::from_ref(&old), std::slice::from_ref(&new));
        assert_eq!(changes.first().map(|change| change.kind), kind, "case {place}");
        assert!(changes.len() <= 1, "case {place}");
        for change in changes {
            assert_eq!(*change.fields, *fields, "case {place}");
            assert_eq!((change.item.as_ref(), change.previous_item.as_ref()), (Some(&new), Some(&old)));
        }
    }
}

#[test]
fn an_item_can_be_moved_and_modified_at_once() {
    let old = letters("abcd");
    let mut new = letters("dabc");
    new[0] = with(&new[0], |item| item.status = Completed);
    assert_eq!(summary(&diff(&old, &new)), ["status_changed d 0<-", "reordered d 0<-3"]);
    new[0] = with(&new[0], |item| item.content = "Other".into());
    assert_eq!(summary(&diff(&old, &new)), ["modified d 0<-", "reordered d 0<-3"]);
}

/// The length of a longest increasing subsequence, found by trying every subset.
fn longest_increasing(sequence: &[usize]) -> usize {
    (0..1u32 << sequence.len())
        .filter_map(|set| {
            let chosen: Vec<usize> =
                (0..sequence.len()).filter(|n| set & (1 << n) != 0).map(|n| sequence[n]).collect();
            chosen.is_sorted().then_some(chosen.len())
        })
        .max()
        .unwrap_or(0)
}

fn permutations(items: &[char]) -> Vec<String> {
    if items.is_empty() {
        return vec![String::new()];
    }
    let mut all = Vec::new();
    for (place, first) in items.iter().enumerate() {
        let rest: Vec<char> =
            items.iter().enumerate().filter(|(n, _)| *n != place).map(|(_, c)| *c).collect();
        all.extend(permutations(&rest).into_iter().map(|tail| format!("{first}{tail}")));
    }
    all
}

#[test]
fn the_number_of_moves_is_minimal_for_every_order_of_a_small_list() {
    // `y`, `f` and `z` are removed, `u` and `v` added. The shifted positions must not count as moves.
    let old = "ayabcdefz".replacen('a', "", 1);
    let old = letters(&old);
    let place = |c: char| old.iter().position(|item| item.id == c.to_string());
    for order in permutations(&['a', 'b', 'c', 'd', 'e', 'u']) {
        let changes = diff(&old, &letters(&format!("v{order}")));
        let moves = changes.iter().filter(|change| change.kind == ChangeKind::Reordered).count();
        let kept: Vec<usize> = order.chars().filter_map(place).collect();
        assert_eq!(moves, kept.len() - longest_increasing(&kept), "{order}");
    }
}

#[test]
fn the_changes_of_a_long_list_lead_to_another_one() {
    let task = |n: u32| item(&format!("t{n}"), "Text", if n.is_multiple_of(3) { Completed } else { Pending });
    let old: Vec<_> = (0..2_000).map(task).collect();
    let mut new: Vec<_> = (500..2_500).rev().filter(|n| n % 5 != 0).map(task).collect();
    new.rotate_left(700);
    new.iter_mut().step_by(7).for_each(|item| *item = with(item, |item| item.content = "Other".into()));
    changes_lead_both_ways(&old, &new);
}

#[test]
fn applying_changes_to_another_list_keeps_the_items_they_carry() {
    let changes = diff(&letters("abcd"), &letters("daxb"));
    // The list lacks the moved and the removed item. The new one is still added.
    assert_eq!(crate::common::ids(&apply(&letters("ab"), &changes)), ["a", "b", "x"]);
    let renamed = diff(&letters("a"), &[item("a", "Other", Pending)]);
    assert_eq!(crate::common::contents(&apply(&[], &renamed)), ["Other"]);
}
