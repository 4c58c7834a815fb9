//! Texts on one line, excerpts, blank texts and the lines that a search finds.

use std::borrow::Cow;

use todo_write::journal::search::Query;
use todo_write::text::{excerpt, is_blank, one_line};

#[test]
fn one_line_reports_dropped_characters() {
    let cases = [
        ("plain", "plain", false),
        ("  ends \n", "ends", false),
        ("two\n lines", "two lines", false),
        ("tab\there", "tab here", false),
        ("kept  double", "kept  double", false),
        ("bell\u{7}", "bell", true),
        ("a\0b", "ab", true),
        ("\0 a \0", "a", true),
        ("esc \u{1b}[31m red", "esc [31m red", true),
        ("line\u{2028}separator", "line separator", false),
        ("第一\n第二", "第一 第二", false),
    ];
    for (text, line, dropped) in cases {
        assert_eq!(one_line(text), (Cow::Borrowed(line), dropped), "{text:?}");
    }
}

#[test]
fn excerpts_are_bounded() {
    assert_eq!(excerpt("short", 10), "short");
    assert_eq!(excerpt("0123456789x", 10), "0123456789…");
    assert_eq!(excerpt(&"é".repeat(10_000_000), 3), "ééé…");
}

#[test]
fn a_blank_text_has_no_visible_character() {
    assert!(is_blank(" \u{200b}\u{feff}\n\0"));
    assert!(!is_blank(" 。"));
}

#[test]
fn a_long_line_is_found_although_it_is_longer_in_lower_case() {
    let line = format!("{} parser", "İ".repeat(300));
    let found = Query::of("parser").unwrap().line_in(&line);
    assert!(found.is_some_and(|found| found.ends_with("parser")));
}
