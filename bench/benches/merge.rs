//! Merging the user's edits with the agent's next write.
//!
//! `yardstick` copies the two lists that a merge reads; `compared` diffs them.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use todo_write::list::change::diff;
use todo_write::list::item::List;
use todo_write::list::merge::merge;

use todo_write_bench::{edited, list};

fn main() {
    divan::main();
}

const SIZES: [usize; 4] = [12, 1_000, 10_000, 100_000];

const CASES: [Case; 3] = [Case::OneEdit, Case::BothEdited, Case::Reversed];

/// The edits since the agent last saw the list.
#[derive(Clone, Copy, Debug)]
enum Case {
    /// The user deleted one task; the agent went on to the next.
    OneEdit,
    /// Both reworded, deleted and added tasks all over the list.
    BothEdited,
    /// The user reversed the order; the agent reworded.
    Reversed,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The base that the agent knew, the user's list, the agent's list.
fn lists(case: Case, size: usize) -> [List; 3] {
    let base = list(size, size / 2);
    let (mut ours, mut theirs) = (base.clone(), list(size, size / 2 + 1));
    match case {
        Case::OneEdit => drop(ours.remove(size / 3)),
        Case::BothEdited => (ours, theirs) = (edited(size, size / 2), edited(size, size / 2 + 1)),
        Case::Reversed => {
            ours.reverse();
            theirs = edited(size, size / 2);
        }
    }
    [base, ours, theirs]
}

#[divan::bench(args = CASES, consts = SIZES)]
fn merged<const N: usize>(bencher: Bencher, case: Case) {
    let [base, ours, theirs] = lists(case, N);
    bencher.counter(ItemsCount::new(N)).bench(|| merge(black_box(&base), &ours, &theirs));
}

#[divan::bench(args = CASES, consts = SIZES)]
fn compared<const N: usize>(bencher: Bencher, case: Case) {
    let [_, ours, theirs] = lists(case, N);
    bencher.counter(ItemsCount::new(N)).bench(|| diff(black_box(&ours), &theirs));
}

#[divan::bench(args = CASES, consts = SIZES)]
fn yardstick<const N: usize>(bencher: Bencher, case: Case) {
    let [_, ours, theirs] = lists(case, N);
    bencher.counter(ItemsCount::new(N)).bench(|| (black_box(&ours).clone(), black_box(&theirs).clone()));
}
