//! Patches of texts.

use proptest::prelude::*;
use todo_write::events::patch::{LONGEST, complete};
use todo_write::events::payload::FileEntry;
use todo_write::text::lines::{LARGEST, compare, lines};

/// The text after the hunks are applied to the old one.
fn applied(old: &str, hunks: &str) -> String {
    let old = lines(old);
    let (mut new, mut place) = (String::new(), 0);
    let mut rows = lines(hunks).into_iter().peekable();
    while let Some(row) = rows.next() {
        if let Some(range) = row.strip_prefix("@@ -") {
            let numbers = range.split([' ', ',']).collect::<Vec<_>>();
            let start: usize = numbers[0].parse().unwrap();
            // An empty range names the line before it.
            let is_empty = numbers[1] == "0";
            let start = start - usize::from(!is_empty);
            new.extend(old[place..start].iter().copied());
            place = start;
            continue;
        }
        let cut = rows.next_if(|next| next.starts_with('\\')).is_some();
        let (sign, text) = row.split_at(1);
        let text = if cut { text.strip_suffix('\n').unwrap() } else { text };
        if sign != "+" {
            assert_eq!(old[place], text);
            place += 1;
        }
        if sign != "-" {
            new.push_str(text);
        }
    }
    new.extend(old[place..].iter().copied());
    new
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_leads_from_the_old_text_to_the_new_one(old in "([a-d]\n){0,30}e?", new in "([a-d]\n){0,30}e?") {
        let change = compare(&old, &new);
        prop_assert_eq!(applied(&old, &change.hunks), new.as_str());
        let lines_with = |sign: char| lines(&change.hunks).iter().filter(|row| row.starts_with(sign)).count() as u64;
        prop_assert_eq!((lines_with('+'), lines_with('-')), (change.added, change.removed));
    }
}

#[test]
fn in_a_text_that_is_too_large_only_the_lines_at_both_ends_are_found() {
    let side = |line: &str| format!("begin\n{0}middle\n{0}end\n", format!("{line}\n").repeat(3000));
    let pad = "x".repeat(100);
    let change = compare(&side("old"), &side("new"));
    assert_eq!((change.removed, change.added), (6000, 6000));
    let (old, new) = (side(&format!("old{pad}{pad}")), side(&format!("new{pad}{pad}")));
    assert!(old.len() > LARGEST);
    let change = compare(&old, &new);
    assert_eq!((change.removed, change.added), (6001, 6001));
    assert_eq!(applied(&old, &change.hunks), new);
}

/// The numbers of lines that differ, if the patch leads from one text to the other.
fn compared(old: &str, new: &str) -> (u64, u64) {
    let change = compare(old, new);
    assert_eq!(applied(old, &change.hunks), new);
    (change.removed, change.added)
}

#[test]
fn so_many_lines_are_compared_and_beyond_that_all_between_the_first_and_the_last_difference_is_replaced() {
    let side = |line: &str, count: usize| format!("head\n{0}same\n{0}tail\n", line.repeat(count));
    assert_eq!(compared(&side("old\n", 4_999), &side("new\n", 4_999)), (9_998, 9_998));
    assert_eq!(compared(&side("old\n", 5_000), &side("new\n", 5_000)), (10_001, 10_001));
    // What both texts begin and end with does not count.
    let long = "same\n".repeat(30_000);
    let text = |line: &str| format!("{long}{}{long}", side(line, 10));
    assert_eq!(compared(&text("old\n"), &text("new\n")), (20, 20));
    let large = "same\n".repeat(LARGEST / 5);
    let text = |line: &str| format!("{large}{}{large}", side(line, 10));
    assert_eq!(compared(&text("old\n"), &text("new\n")), (21, 21));
}

#[test]
fn hunks_after_one_that_is_too_long_are_cut_too() {
    let gap = "same\n".repeat(9);
    let text = |a: &str, b: &str, c: &str| format!("{a}\n{gap}{b}\n{gap}{c}\n");
    let change = compare(&text("a", "b", "c"), &text("A", &"B".repeat(LONGEST), "C"));
    let patch = complete("/p/a", "/p", &FileEntry::with_hunks("/p/a", change.hunks));
    assert!(patch.contains("\n+A\n") && !patch.contains("\n+C\n"), "{patch}");
    assert!(patch.ends_with("# Cut: 2 more hunks.\n"), "{patch}");
}
