//! Texts on one line, excerpts, blank texts and the lines that a search finds.

use std::borrow::Cow;

use proptest::prelude::*;
use todo_write::events::patch::complete;
use todo_write::events::payload::FileEntry;
use todo_write::journal::search::Query;
use todo_write::text::path::{is_inside, normal};
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
        ("next\u{85}line", "next line", false),
        ("line\u{2028}separator", "line separator", false),
        ("第一\n第二", "第一 第二", false),
    ];
    for (text, line, dropped) in cases {
        assert_eq!(one_line(text), (Cow::Borrowed(line), dropped), "{text:?}");
    }
}

#[test]
fn control_sequences_of_terminals_leave_nothing_behind() {
    let cases = [
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{1b}[1;38;5;9mred\u{1b}[m", "red"),
        ("a \u{1b}[?25l\u{1b}[2 q\u{1b}[Kb", "a b"),
        ("\u{1b}]0;title\u{7}a", "a"),
        ("\u{1b}]8;;https://a.example\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("a\u{1b}]0;never ended", "a"),
        ("a\u{1b}]0;never ended\nb", "a b"),
        ("\u{1b}Pq#0\u{1b}\\a\u{1b}_x\u{7}\u{1b}^x\u{1b}\\\u{1b}Xx\u{7}", "a"),
        ("\u{1b}(Ba\u{1b}7\u{1b}=\u{1b}c\u{84}", "a"),
        ("cut \u{1b}[31", "cut"),
        ("cut \u{1b}", "cut"),
        ("\u{1b}\u{1b}[31mtwice", "twice"),
        ("\u{9b}only\u{9d} dropped", "only dropped"),
        ("\u{1b}[31\u{e9}", "\u{e9}"),
        // A quotation mark in UTF-8 that was decoded as Latin-1.
        ("say \u{e2}\u{80}\u{9d} twice", "say \u{e2} twice"),
    ];
    for (text, line) in cases {
        assert_eq!(one_line(text), (Cow::Borrowed(line), true), "{text:?}");
        assert_eq!(excerpt(text, 80), line, "{text:?}");
    }
}

#[test]
fn a_line_has_composed_characters() {
    for text in ["re\u{301}sume\u{301}", " r\u{e9}sume\u{301}\n", "r\u{e9}sum\u{e9}"] {
        assert_eq!(one_line(text), (Cow::Borrowed("r\u{e9}sum\u{e9}"), false), "{text:?}");
    }
    assert_eq!(one_line("\u{1112}\u{1161}\u{11ab}"), (Cow::Borrowed("\u{d55c}"), false));
}

#[test]
fn a_search_finds_composed_and_decomposed_characters_by_either() {
    let forms = ["R\u{e9}sum\u{e9}", "Re\u{301}sume\u{301}"];
    for (words, text) in forms.iter().flat_map(|words| forms.map(|text| (words, text))) {
        let found = Query::of(words).unwrap().line_in(&format!("Write\nthe {text}"));
        assert_eq!(found.as_deref(), Some("the R\u{e9}sum\u{e9}"), "{words:?} in {text:?}");
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_line_has_no_control_character_and_is_its_own_line(
        text in "(\u{1b}|[\\[\\]P;0-9mK\\\\ (]|[\u{80}-\u{9f}]|\u{7}|\n|[ae\u{301}\u{e9}]){0,40}",
    ) {
        let (line, _) = one_line(&text);
        prop_assert!(!line.contains(char::is_control), "{:?}", line);
        prop_assert_eq!(one_line(&line), (line.clone(), false));
    }

    #[test]
    fn a_normal_name_is_its_own_normal_form(path in "([a-b./~]|\\.\\./){0,12}", folder in "(/[a-b.]{0,2}){0,3}") {
        let name = normal(&path, &folder).into_owned();
        prop_assert_eq!(&normal(&name, &folder), &name);
        prop_assert!(!name.starts_with('/') || is_inside(&name), "{}", name);
    }

    #[test]
    fn a_patch_of_any_text_has_one_header_and_only_whole_hunks(
        hunks in "(@@ -[0-2],[0-2] \\+[0-2],[0-2] @@\n|[ +-]a\n|--- a\n|\\+\\+\\+ /b\n|diff --git c d\n|\n){0,20}",
    ) {
        let patch = complete("/p/f", "/p", &FileEntry::with_hunks("/p/f", hunks));
        prop_assert_eq!(patch.matches("diff --git ").count(), 1);
        let body: Vec<&str> = patch.lines().skip_while(|line| !line.starts_with("@@ ")).collect();
        let mut left = (0, 0);
        for line in body.iter().filter(|line| !line.starts_with("# ")) {
            if let Some(header) = line.strip_prefix("@@ -").filter(|_| left == (0, 0)) {
                let numbers: Vec<u32> = header.split([',', ' ', '+', '@']).filter_map(|n| n.parse().ok()).collect();
                left = (numbers[1], numbers[3]);
                continue;
            }
            left.0 -= u32::from(!line.starts_with('+'));
            left.1 -= u32::from(!line.starts_with('-'));
        }
        prop_assert_eq!(left, (0, 0));
    }
}
