use proptest::prelude::*;
use todo_write::text::word_diff::Kind::{self, Added, Removed, Same};
use todo_write::text::word_diff::compare;

#[test]
fn changed_words_are_found_with_the_white_space_around_them() {
    type Steps<'t> = &'t [(Kind, &'t str)];
    let cases: [(&str, &str, Steps<'_>); 6] = [
        (
            "Run the tests",
            "Run all tests",
            &[(Same, "Run "), (Removed, "the"), (Added, "all"), (Same, " tests")],
        ),
        ("One", "One two", &[(Same, "One"), (Added, " two")]),
        ("One two", "two", &[(Removed, "One "), (Same, "two")]),
        ("same", "same", &[(Same, "same")]),
        ("", "new", &[(Added, "new")]),
        ("現在の関数", "現在の型", &[(Same, "現在の"), (Removed, "関数"), (Added, "型")]),
    ];
    for (old, new, steps) in cases {
        assert_eq!(compare(old, new), steps, "{old} -> {new}");
    }
}

#[test]
fn texts_of_thousands_of_words_count_as_replaced() {
    let up: Vec<String> = (1..=5000).map(|n| n.to_string()).collect();
    let down: Vec<String> = up.iter().rev().cloned().collect();
    let (up, down) = (up.join(" "), down.join(" "));
    assert_eq!(compare(&up, &down), [(Removed, up.as_str()), (Added, down.as_str())]);
}

proptest! {
    #[test]
    fn the_steps_give_both_texts_back(old in "(a|b|c d|長い|  | ){0,24}", new in "(a|b|c d|長い|  | ){0,24}") {
        let steps = compare(&old, &new);
        let only = |kind| steps.iter().filter(|step| [Same, kind].contains(&step.0)).map(|step| step.1).collect::<String>();
        prop_assert_eq!((only(Removed), only(Added)), (old.clone(), new.clone()));
        prop_assert!(steps.windows(2).all(|pair| pair[0].0 != pair[1].0 && (pair[0].0, pair[1].0) != (Added, Removed)));
    }
}
