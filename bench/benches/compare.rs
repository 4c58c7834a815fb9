//! Comparing texts of agents line by line: usual edits, and the worst texts that are still compared.
//!
//! The work is bounded by the number of lines between the first and the last difference, 20,000, and by the
//! size of the texts, 1 MiB. `hostile` has as many lines as are compared, in the orders that take `similar`
//! longest; `beyond` has more and larger ones, of which only the equal lines at both ends are found.

use divan::{Bencher, black_box};
use todo_write::text::lines::{LARGEST, compare};

fn main() {
    divan::main();
}

/// Texts of `lines` lines each, whose lines are numbers below `kinds` in an order that looks random.
fn texts(lines: usize, kinds: u64) -> (String, String) {
    let side = |mut seed: u64| -> String {
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            format!("{}\n", seed % kinds)
        };
        (0..lines).map(|_| next()).collect()
    };
    (side(1), side(99))
}

#[divan::bench(args = [100, 10_000])]
fn edited(bencher: Bencher<'_, '_>, lines: usize) {
    let old: String = (0..lines).map(|n| format!("line {n} of the file\n")).collect();
    let new = old.replace("0 of", "zero of");
    bencher.bench(|| compare(black_box(&old), black_box(&new)));
}

#[divan::bench(args = [2, 10, 100, 1_000, 100_000])]
fn hostile(bencher: Bencher<'_, '_>, kinds: u64) {
    let (old, new) = texts(10_000, kinds);
    bencher.bench(|| compare(black_box(&old), black_box(&new)));
}

#[divan::bench(args = [2, 10, 100, 1_000, 100_000])]
fn beyond(bencher: Bencher<'_, '_>, kinds: u64) {
    let (mut old, mut new) = texts(LARGEST / 2, kinds);
    old.truncate(LARGEST);
    new.truncate(LARGEST);
    bencher.bench(|| compare(black_box(&old), black_box(&new)));
}
