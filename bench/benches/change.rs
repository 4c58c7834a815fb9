//! The growth of the cost of recognizing and comparing lists, in the usual and the worst cases.
//!
//! A linear cost has the same `items/s` from 1,000 to 100,000. The yardstick of `recognized` is
//! `found_by_text`, which looks up the new texts in a table of the old ones and so finds only equal
//! ones. The yardsticks of `compared` are `differing_by_id`, which uses tables of ids and finds no
//! moves, and `read`, which compares the lists item by item: the minimum for any reader of all texts.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use todo_write::list::change::diff;
use todo_write::list::identity::recognize;

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
fn recognized<const N: usize>(bencher: Bencher, case: Rewrite) {
    let lists = case.lists(N);
    let [old, new] = lists.each_ref().map(|list| seen(list));
    bencher.counter(ItemsCount::new(N)).bench(|| recognize(black_box(&old), black_box(&new)));
}

#[divan::bench(name = "found_by_text", args = CASES, consts = SIZES)]
fn recognized_yardstick<const N: usize>(bencher: Bencher, case: Rewrite) {
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
