//! How the cost of recognising and comparing lists grows, in the usual case and in the worst.
//!
//! Read the `items/s` column downwards: a linear cost keeps it level from 1,000 to 100,000.

use std::sync::Arc;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use todo_write::change::diff;
use todo_write::identity::{Seen, recognise};
use todo_write::item::{Item, List, Status};

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

const CASES: [Case; 6] =
    [Case::Unchanged, Case::TwoChanges, Case::Renamed, Case::Reversed, Case::EqualText, Case::Replaced];

/// What the agent did to its list.
#[derive(Clone, Copy, Debug)]
enum Case {
    /// Sent it again.
    Unchanged,
    /// Completed one task and started the next: the usual call.
    TwoChanges,
    /// Gave every task other words for the same.
    Renamed,
    /// Turned the order round.
    Reversed,
    /// Every task has the same text.
    EqualText,
    /// Sent tasks that have nothing to do with the old ones.
    Replaced,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

const VERBS: [&str; 8] = ["Parse", "Render", "Check", "Send", "Store", "Sort", "Count", "Merge"];

fn item(n: usize, content: String) -> Arc<Item> {
    let status = Status::Pending;
    Arc::new(Item {
        id: format!("t{n}"),
        active_form: content.clone(),
        content,
        status,
        priority: None,
        hint: None,
    })
}

fn task(n: usize) -> Arc<Item> {
    item(n, format!("{} the records of customer {} in region {}", VERBS[n % 8], n * 7919, n % 97))
}

/// The old list and the new one.
fn lists(case: Case, size: usize) -> (List, List) {
    let old: List = (0..size).map(task).collect();
    let new = match case {
        Case::Unchanged => old.clone(),
        Case::TwoChanges => {
            let mut new = old.clone();
            Arc::make_mut(&mut new[size / 2]).status = Status::Completed;
            Arc::make_mut(&mut new[size / 2 + 1]).status = Status::InProgress;
            new
        }
        Case::Renamed => (0..size).map(|n| item(n, format!("{} (first pass)", old[n].content))).collect(),
        Case::Reversed => old.iter().rev().cloned().collect(),
        Case::EqualText => return equal_text(size),
        Case::Replaced => {
            (0..size).map(|n| item(size + n, format!("Bake loaf {n} for guest {}", n * 31))).collect()
        }
    };
    (old, new)
}

fn equal_text(size: usize) -> (List, List) {
    let list = || (0..size).map(|n| item(n, "Fix the test".into())).collect();
    (list(), list())
}

#[divan::bench(args = CASES, consts = SIZES)]
fn recognised<const N: usize>(bencher: Bencher, case: Case) {
    let (old, new) = lists(case, N);
    let old: Vec<Seen<'_>> = old.iter().map(|item| Seen::from(item.as_ref())).collect();
    let new: Vec<Seen<'_>> = new.iter().map(|item| Seen::from(item.as_ref())).collect();
    bencher.counter(ItemsCount::new(N)).bench(|| recognise(black_box(&old), black_box(&new)));
}

#[divan::bench(args = CASES, consts = SIZES)]
fn compared<const N: usize>(bencher: Bencher, case: Case) {
    let (old, new) = lists(case, N);
    bencher.counter(ItemsCount::new(N)).bench(|| diff(black_box(&old), black_box(&new)));
}
