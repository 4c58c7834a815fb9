//! Reviews: taking changes back from a file, and marks.

use proptest::prelude::*;
use todo_write::events::patch::complete;
use todo_write::events::payload::FileEntry;
use todo_write::events::review::{NotComposed, net, take_back};

/// The change from one text to another, as it is recorded.
fn change(old: Option<&str>, new: Option<&str>) -> FileEntry {
    let file = FileEntry::between("/p/a", old, new);
    FileEntry { patch: Some(complete("/p/a", "/p", &file)), ..file }
}

fn changes(texts: &[Option<String>]) -> Vec<FileEntry> {
    texts.windows(2).map(|pair| change(pair[0].as_deref(), pair[1].as_deref())).collect()
}

fn a_text() -> impl Strategy<Value = Option<String>> {
    prop_oneof![1 => Just(None), 9 => "([a-d]\n){0,12}e?".prop_map(Some)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn taking_back_what_was_done_gives_the_text_before(texts in prop::collection::vec(a_text(), 1..6)) {
        let all = changes(&texts);
        let done: Vec<FileEntry> = all
            .into_iter()
            .zip(texts.windows(2))
            .filter(|(_, pair)| pair[0] != pair[1])
            .map(|(change, _)| change)
            .collect();
        let now = texts[texts.len() - 1].as_deref();
        prop_assert_eq!(take_back(now, &done), Ok(texts[0].clone()));
        let changed = Some(change(texts[0].as_deref(), now)).filter(|_| texts[0].as_deref() != now);
        let patch = changed.and_then(|change| change.patch).unwrap_or_default();
        prop_assert_eq!(net("/p/a", "/p", Ok(now), &done), (None, patch));
    }

    /// Lines are numbered, so that each is found.
    #[test]
    fn what_another_hand_did_elsewhere_stays(
        cuts in prop::collection::vec((0..40_usize, 0..3_usize, 0..3_usize), 1..5),
        at in 0..40_usize,
    ) {
        let mut lines: Vec<String> = (0..40).map(|n| format!("line {n}\n")).collect();
        let before = lines.clone();
        let mut texts = vec![Some(lines.concat())];
        for (n, (from, gone, come)) in cuts.iter().enumerate() {
            let from = from % (lines.len() + 1);
            let to = (from + gone).min(lines.len());
            lines.splice(from..to, (0..*come).map(|line| format!("new {n} {line}\n")));
            texts.push(Some(lines.concat()));
        }
        let done: Vec<FileEntry> = changes(&texts).into_iter().filter(|change| change.added + change.removed > 0).collect();
        let at = at % (lines.len() + 1);
        lines.insert(at, "another hand\n".to_owned());
        match take_back(Some(&lines.concat()), &done) {
            Ok(text) => {
                let text = text.unwrap_or_default();
                prop_assert_eq!(text.replace("another hand\n", ""), before.concat());
                prop_assert!(text.contains("another hand\n"));
            }
            Err(reason) => prop_assert!(matches!(reason, NotComposed::Touched)),
        }
    }

    #[test]
    fn any_patch_is_taken_back_or_refused(now in ".{0,60}", patch in "(@@ -[0-9],[0-9] \\+[0-9],[0-9] @@\n([ +-][a-c]\n){0,4}){0,3}") {
        let change = FileEntry { added: 1, removed: 1, patch: Some(patch), ..FileEntry::default() };
        let _ = take_back(Some(&now), &[change]);
    }
}

fn with(change: FileEntry, edit: impl FnOnce(&mut FileEntry)) -> FileEntry {
    let mut change = change;
    edit(&mut change);
    change
}

#[test]
fn what_cannot_be_taken_back_exactly_says_why() {
    let done = || change(Some("a\nb\nc\n"), Some("a\nB\nc\n"));
    let cases = [
        ("a\nX\nc\n", done(), NotComposed::Touched),
        ("a\nB\nc\n", with(done(), |file| file.inexact = true), NotComposed::Inexact),
        ("a\nB\nc\n", with(done(), |file| file.patch = None), NotComposed::OnlyNumbers),
        ("a\nB\nc\n", with(done(), |file| file.added = 9), NotComposed::Cut),
        ("x\na\nB\nc\ny\na\nB\nc\n", done(), NotComposed::Touched),
        ("text", change(None, None), NotComposed::OnlyNumbers),
    ];
    for (now, change, reason) in cases {
        assert_eq!(take_back(Some(now), std::slice::from_ref(&change)), Err(reason), "{now:?}");
        let (shown, text) = net("/p/a", "/p", Ok(Some(now)), std::slice::from_ref(&change));
        assert_eq!(shown, Some(reason), "{now:?}");
        assert!(text.starts_with(&format!("# Not composed: {reason}\n")), "{text}");
        assert!(text.contains("diff --git a/a b/a\n"), "{text}");
    }
}

#[test]
fn each_hunk_is_expected_where_those_above_leave_it() {
    let gap = "p\nq\nr\ns\nt\nu\nv\nw\n";
    let old = format!("1\n{gap}2\n{gap}x\n{gap}X\n{gap}");
    // The last change makes two places alike.
    let new = format!("1\none\n{gap}two\n{gap}X\n{gap}X\n{gap}");
    assert_eq!(take_back(Some(&new), &[change(Some(&old), Some(&new))]), Ok(Some(old)));
}

#[test]
fn a_created_file_without_text_is_a_difference() {
    // A host records no patch of it, since it has no lines.
    let empty = with(change(None, Some("")), |file| file.patch = None);
    assert_eq!(take_back(Some(""), std::slice::from_ref(&empty)), Ok(None));
    let (reason, shown) = net("/p/a", "/p", Ok(Some("")), std::slice::from_ref(&empty));
    assert_eq!(reason, None);
    assert!(shown.starts_with("diff --git a/a b/a\nnew file mode"), "{shown}");
    let filled = change(Some(""), Some("text\n"));
    assert_eq!(take_back(Some("text\n"), &[empty, filled]), Ok(None));
}

#[test]
fn what_was_taken_back_by_hand_counts_as_taken_back() {
    let done = [change(Some("a\nb\nc\n"), Some("a\nB\nc\n"))];
    assert_eq!(take_back(Some("a\nb\nc\n"), &done), Ok(Some("a\nb\nc\n".into())));
    assert_eq!(net("/p/a", "/p", Ok(Some("a\nb\nc\n")), &done), (None, String::new()));
    assert_eq!(take_back(None, &[change(None, Some("a\n"))]), Ok(None));
}

#[test]
fn lines_added_at_an_end_of_the_file_are_not_gone_because_their_context_is_there() {
    let at_end = [change(Some("a\nb\nc\nd\n"), Some("a\nb\nc\nd\nx\n"))];
    assert_eq!(take_back(Some("a\nb\nc\nd\nmine\nx\n"), &at_end), Err(NotComposed::Touched));
    assert_eq!(take_back(Some("a\nb\nc\nd\n"), &at_end), Ok(Some("a\nb\nc\nd\n".into())));
    let at_start = [change(Some("a\nb\nc\nd\n"), Some("x\na\nb\nc\nd\n"))];
    assert_eq!(take_back(Some("x\nmine\na\nb\nc\nd\n"), &at_start), Err(NotComposed::Touched));
    assert_eq!(take_back(Some("a\nb\nc\nd\n"), &at_start), Ok(Some("a\nb\nc\nd\n".into())));
}

#[test]
fn a_line_gets_no_line_appended_by_another_hand() {
    let done = [change(Some("a\nb"), Some("a\nb\n"))];
    assert_eq!(take_back(Some("a\nb\nmine\n"), &done), Err(NotComposed::Touched));
    assert_eq!(take_back(Some("a\nb\n"), &done), Ok(Some("a\nb".into())));
}

#[test]
fn the_carriage_returns_of_the_file_stay() {
    let done = [change(Some("a\nb\nc\n"), Some("a\nB\nc\n"))];
    assert_eq!(take_back(Some("a\r\nB\r\nc\r\n"), &done), Ok(Some("a\r\nb\r\nc\r\n".into())));
}

#[test]
fn later_changes_elsewhere_in_the_file_stay() {
    let numbered = |from: u32, to: u32| (from..to).map(|n| format!("{n}\n")).collect::<String>();
    let first = numbered(0, 40);
    let second = first.replace("20\n", "twenty\n");
    let done = [change(Some(&first), Some(&second))];
    let later = format!("{}{second}", numbered(100, 130));
    assert_eq!(take_back(Some(&later), &done), Ok(Some(later.replace("twenty\n", "20\n"))));
    let over = second.replace("twenty\n", "XX\n");
    let (reason, text) = net("/p/a", "/p", Ok(Some(&over)), &done);
    assert_eq!(reason, Some(NotComposed::Touched));
    assert_eq!(text.matches("diff --git").count(), 1);
}

#[test]
fn a_thousand_edits_of_a_long_file_are_taken_back_in_bounded_work() {
    let mut lines: Vec<String> = (0..5_000).map(|n| format!("line {n}\n")).collect();
    let first = lines.concat();
    let mut done = Vec::new();
    for n in 0..200 {
        let old = lines.concat();
        lines[(n * 7919) % 5_000] = format!("edit {n}\n");
        done.push(change(Some(&old), Some(&lines.concat())));
    }
    lines.insert(0, "another hand\n".to_owned());
    assert_eq!(take_back(Some(&lines.concat()), &done), Ok(Some(format!("another hand\n{first}"))));
}
