//! The quick way of reading what is in the schema's shape says what the slow one says.
use proptest::prelude::*;
use todo_write::input::{Options, read, read_text};
use todo_write::raw::Raw;

/// Tasks in the schema's shape, or a step away from it.
fn nearly_plain() -> impl Strategy<Value = String> {
    let text = prop::sample::select(vec![
        r#""Read code""#,
        r#""第一 step""#,
        r#""a\"b""#,
        r#""  ends \n""#,
        r#""two\nlines""#,
        r#""bell\u0007""#,
        r#""""#,
        r#"" ""#,
        r#""more than twenty characters""#,
        r#""zwölf mal ä ö ü ß é""#,
        "null",
        "7",
        "[]",
    ]);
    let status = prop::sample::select(vec![
        r#""pending""#,
        r#""completed""#,
        r#""in_progress""#,
        r#""pend\u0069ng""#,
        r#""done""#,
        r#""blocked""#,
        r#"{"pending": null}"#,
        "null",
    ]);
    let extra = prop::sample::select(vec![
        "",
        "",
        "",
        "",
        r#", "id": "x-ray""#,
        r#", "priority": "high""#,
        r#", "content": "Again""#,
        r#", "status": "completed""#,
        r#", "active_form": "B""#,
        r#", "owner": [1]"#,
        r#", "c\u006fntent": "C""#,
    ]);
    let task =
        (text.clone(), status.clone(), text.clone(), extra).prop_map(|(content, status, form, extra)| {
            format!(r#"{{"content": {content}, "status": {status}, "activeForm": {form}{extra}}}"#)
        });
    let array = (text.clone(), status, text).prop_map(|(a, b, c)| format!("[{a}, {b}, {c}]"));
    let plain = Just(r#"{"activeForm": "Reading", "content": "Read", "status": "pending"}"#.to_owned());
    prop_oneof![4 => plain, 4 => task, 1 => array]
}

/// The end of a call.
fn tail() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["}", "}", "}", r#", "todos": []}"#, r#", "note": 1}"#, "} more", "", "}]"])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_text_is_read_as_its_tree_is(tasks in prop::collection::vec(nearly_plain(), 0..4), tail in tail()) {
        let json = format!("{{\"todos\": [{}]{tail}", tasks.join(","));
        let options = Options { max_length: 20, max_items: 3, ..Options::default() };
        match Raw::parse(&json) {
            Ok(raw) => prop_assert_eq!(read_text(&json, &options), read(&raw, &options)),
            Err(_) => prop_assert!(read_text(&json, &options).is_err()),
        }
    }
}
