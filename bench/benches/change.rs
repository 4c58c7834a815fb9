//! How the cost of recognising and comparing lists grows, in the usual case and in the worst.
//!
//! Read the `items/s` column downwards: a linear cost keeps it level from 1,000 to 100,000.
//! Beside `recognised`, `found_by_text` looks the new texts up in a table of the old ones, and
//! so finds only what is equal. Beside `compared`, `differing_by_id` has tables of ids and finds
//! no moves, and `read` compares the lists place by place: nothing that looks at each text is
//! faster.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use todo_write::change::diff;
use todo_write::identity::recognise;

use todo_write_bench::{Rewrite, differing_by_id, found_by_text, seen};

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

const CASES: [Rewrite; 7] = [
    Rewrite::TwoChanges,
    Rewrite::AsHeld,
    Rewrite::Edited,
    Rewrite::Renamed,
    Rewrite::Reversed,
    Rewrite::AllAlike,
    Rewrite::Replaced,
];

#[divan::bench(args = CASES, consts = SIZES)]
fn recognised<const N: usize>(bencher: Bencher, case: Rewrite) {
    let lists = case.lists(N);
    let [old, new] = lists.each_ref().map(|list| seen(list));
    bencher.counter(ItemsCount::new(N)).bench(|| recognise(black_box(&old), black_box(&new)));
}

#[divan::bench(name = "found_by_text", args = CASES, consts = SIZES)]
fn recognised_yardstick<const N: usize>(bencher: Bencher, case: Rewrite) {
    let lists = case.lists(N);
    let [old, new] = lists.each_ref().map(|list| seen(list));
    bencher.counter(ItemsCount::new(N)).bench(|| found_by_text(black_box(&old), black_box(&new)));
}

#[divan::bench(args = CASES, consts = SIZES)]
fn compared<const N: usize>(bencher: Bencher, case: Rewrite) {
    let [old, new] = case.lists(N);
    bencher.counter(ItemsCount::new(N)).bench(|| diff(black_box(&old), black_box(&new)));
}

#[divan::bench(name = "differing_by_id", args = CASES, consts = SIZES)]
fn compared_yardstick<const N: usize>(bencher: Bencher, case: Rewrite) {
    let [old, new] = case.lists(N);
    bencher.counter(ItemsCount::new(N)).bench(|| differing_by_id(black_box(&old), black_box(&new)).len());
}

#[divan::bench(args = CASES, consts = SIZES)]
fn read<const N: usize>(bencher: Bencher, case: Rewrite) {
    let [old, new] = case.lists(N);
    bencher.counter(ItemsCount::new(N)).bench(|| {
        black_box(&old).iter().zip(black_box(&new)).filter(|(old, new)| old.as_ref() == new.as_ref()).count()
    });
}
