//! Large input: all problems at once, bounded refusals and notices, and sizes and nesting beyond what
//! agents usually send. What holds for any input is in `common/laws/input.rs`.
use std::borrow::Cow;

use todo_write::error::Problem;
use todo_write::list::input::{Options, Plan, SeveralInProgress, read, read_text};
use todo_write::list::item::Status;
use todo_write::list::raw::Raw;
use todo_write::list::report;

type Reading = Result<Plan, Vec<Problem>>;

fn lenient(json: &str) -> Reading {
    read_text(json, &Options::default())
}

fn todos(entries: &[String]) -> String {
    format!("{{\"todos\": [{}]}}", entries.join(","))
}

fn entry(content: &str, status: &str) -> String {
    serde_json::json!({"content": content, "status": status, "activeForm": content}).to_string()
}

fn paths(reading: Reading) -> Vec<String> {
    reading.unwrap_err().into_iter().map(|problem| problem.path).collect()
}

fn notices(plan: &Plan) -> Vec<String> {
    plan.notices.iter().map(ToString::to_string).collect()
}

#[test]
fn a_refusal_names_every_problem_of_the_call_at_its_place() {
    let json = todos(&[
        entry("Fine", "pending"),
        r#"{"content": 1, "status": "blocked", "activeForm": []}"#.into(),
        "\"just text\"".into(),
        r#"{"id": "x-ray", "content": "A", "status": "done"}"#.into(),
        r#"{"id": "x-ray", "content": "", "activeForm": "B"}"#.into(),
    ]);
    assert_eq!(
        paths(lenient(&json)),
        [
            "todos[1].content",
            "todos[1].status",
            "todos[1].activeForm",
            "todos[2]",
            "todos[4].content",
            "todos[4].status",
            "todos[4].id"
        ]
    );
}

#[test]
fn the_texts_of_a_list_are_bounded_in_all() {
    let long = "a".repeat(2_000);
    assert!(lenient(&todos(&[entry(&long, "pending")])).is_ok());
    assert!(lenient(&todos(&vec![entry(&long[..100], "pending"); 1_000])).is_ok());
    let refused = lenient(&todos(&vec![entry(&long[..110], "pending"); 1_000])).unwrap_err();
    let expected = "todos: received texts of 220000 bytes in all; expected at most 216000 (the user's limit)";
    assert_eq!(refused.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    // The user's limits hold for one task and for many.
    let options = Options { max_items: 10_000, ..Options::default() };
    assert!(read_text(&todos(&vec![entry(&long[..100], "pending"); 10_000]), &options).is_ok());
    let options = Options { max_items: 1, max_length: 3, ..Options::default() };
    assert!(read_text(&todos(&[entry("abc", "pending")]), &options).is_ok());
}

#[test]
fn a_strict_refusal_names_the_repairs_beside_the_problems() {
    let json = todos(&[r#"{"content": "A", "status": "done"}"#.into(), entry("B", "blocked")]);
    let options = Options { strict: true, ..Options::default() };
    let mut paths = paths(read_text(&json, &options));
    paths.sort();
    assert_eq!(paths, ["todos[0].activeForm", "todos[0].status", "todos[1].status"]);
}

#[test]
fn the_text_of_a_refusal_lists_ten_problems_and_counts_the_rest() {
    for (count, shown, tail) in
        [(1, 1, None), (10, 10, None), (11, 10, Some("And 1 more.")), (700, 10, Some("And 690 more."))]
    {
        let entries: Vec<String> = (0..count).map(|n| entry(&format!("Task {n}"), "someday")).collect();
        let text = report::refused(&lenient(&todos(&entries)).unwrap_err());
        let named = text.lines().filter(|line| line.starts_with("todos[")).count();
        assert_eq!(named, shown, "{text}");
        assert_eq!(text.lines().last().filter(|line| line.starts_with("And ")), tail, "{text}");
        assert!(text.starts_with("Refused; the task list is unchanged."), "{text}");
    }
}

#[test]
fn a_refusal_of_a_part_of_the_list_ends_with_asking_for_the_whole_list() {
    let whole = "This tool takes the whole list: send all tasks, also those that did not change.";
    let many = vec![r#"{"id": "t1", "status": "completed"}"#.to_owned(); 30];
    let task = entry("A", "pending");
    for (json, is_part) in [
        (format!(r#"{{"merge": true, "todos": [{task}]}}"#), true),
        (todos(&[r#"{"id": "t1", "status": "completed"}"#.into()]), true),
        (todos(&many), true),
        (todos(&[r#"{"content": " ", "status": "completed", "activeForm": "B"}"#.into()]), true),
        (todos(&[r#"{"content": ["A"], "status": "completed", "activeForm": "B"}"#.into()]), true),
        (todos(&[entry("A", "blocked")]), false),
        (todos(&[entry(&"A".repeat(2_001), "pending")]), false),
    ] {
        let text = report::refused(&lenient(&json).unwrap_err());
        assert_eq!(text.ends_with(whole), is_part, "{text}");
    }
}

#[test]
fn the_text_of_a_refusal_has_no_rust_names() {
    let json = todos(&[r#"{"content": 1.5, "status": {"a": null}, "activeForm": [[]]}"#.into(), "7".into()]);
    let text = report::refused(&lenient(&json).unwrap_err());
    for jargon in ["Raw", "Some(", "None", "Text(", "List(", "Object(", "::", "Cow", "usize", "struct"] {
        assert!(!text.contains(jargon), "{jargon} in {text}");
    }
}

#[test]
fn equal_notices_are_merged_with_the_number_of_tasks() {
    let bare: Vec<String> =
        (0..5).map(|n| format!(r#"{{"content": "Task {n}", "status": "pending"}}"#)).collect();
    let plan = lenient(&todos(&bare)).unwrap();
    assert_eq!(notices(&plan), ["\"activeForm\" was missing; \"content\" stands in (5 tasks)"]);
}

#[test]
fn unknown_keys_come_in_one_notice_that_names_each_once() {
    let odd: Vec<String> = (0..30)
        .map(|n| {
            format!(
                r#"{{"content": "T{n}", "status": "pending", "activeForm": "T", "owner": 1, "k{}": 2}}"#,
                n % 3
            )
        })
        .collect();
    let plan = lenient(&todos(&odd)).unwrap();
    assert_eq!(notices(&plan), ["unknown keys ignored: owner, k0, k1, k2"]);
}

#[test]
fn hundreds_of_unknown_keys_give_one_bounded_notice() {
    let keys: Vec<String> = (0..500).map(|n| format!("\"key{n}\": {n}")).collect();
    let json = format!(
        r#"{{"todos": [{{"content": "A", "status": "pending", "activeForm": "B", {}}}]}}"#,
        keys.join(",")
    );
    let plan = lenient(&json).unwrap();
    assert_eq!(plan.notices.len(), 1);
    assert!(plan.notices[0].to_string().chars().count() < 120, "{:?}", plan.notices);
}

#[test]
fn the_option_decides_about_several_tasks_in_progress() {
    let json = todos(&[entry("A", "in_progress"), entry("B", "in_progress"), entry("C", "in_progress")]);
    let with = |several_in_progress| read_text(&json, &Options { several_in_progress, ..Options::default() });
    assert_eq!(notices(&with(SeveralInProgress::Notice).unwrap()), ["3 tasks in progress; usually one is"]);
    assert_eq!(notices(&with(SeveralInProgress::Allow).unwrap()), [""; 0]);
    assert_eq!(paths(with(SeveralInProgress::Refuse)), ["todos"]);
    for status in ["pending", "in_progress"] {
        let json = todos(&[entry("A", status), entry("B", "pending")]);
        let options = Options { several_in_progress: SeveralInProgress::Refuse, ..Options::default() };
        assert_eq!(notices(&read_text(&json, &options).unwrap()), [""; 0], "{status}");
    }
}

#[test]
fn the_same_content_twice_is_two_tasks() {
    let plan = lenient(&todos(&[entry("Run tests", "completed"), entry("Run tests", "pending")])).unwrap();
    let read: Vec<_> = plan.drafts.iter().map(|draft| (draft.content.as_ref(), draft.status)).collect();
    assert_eq!(read, [("Run tests", Status::Completed), ("Run tests", Status::Pending)]);
    assert_eq!(notices(&plan), [""; 0]);
}

#[test]
fn ids_must_be_unique_unless_they_are_positional() {
    let twice = |id: &str| {
        let task = |text: &str| {
            format!(r#"{{"id": {id}, "content": "{text}", "status": "pending", "activeForm": "X"}}"#)
        };
        lenient(&todos(&[task("A"), task("B")]))
    };
    for positional in ["1", "\"1\"", "\"todo-1\"", "\"#2\"", "\"task_14\"", "null", "\"\""] {
        assert_eq!(notices(&twice(positional).unwrap()), [""; 0], "{positional}");
    }
    for meaningful in ["\"parser\"", "\"a1b2-c3d4\"", "\"3f2504e04f89\"", "1700000000"] {
        assert_eq!(paths(twice(meaningful)), ["todos[1].id"], "{meaningful}");
    }
}

#[test]
fn white_space_is_normalized_without_a_notice() {
    let cases = [
        ("  Read code  ", "Read code"),
        ("Read\ncode", "Read code"),
        ("Read\r\n\tcode", "Read code"),
        ("Read\u{2028}code", "Read code"),
        ("読む\n直す", "読む 直す"),
    ];
    for (content, line) in cases {
        let plan = lenient(&todos(&[entry(content, "pending")])).unwrap();
        assert_eq!((plan.drafts[0].content.as_ref(), plan.drafts[0].active_form.as_ref()), (line, line));
        assert_eq!(notices(&plan), [""; 0], "{content:?}");
    }
}

#[test]
fn the_maximum_number_of_tasks_is_accepted_and_one_more_is_refused() {
    let many = |count| (0..count).map(|n| entry(&format!("Task {n}"), "pending")).collect::<Vec<_>>();
    assert_eq!(lenient(&todos(&many(1_000))).unwrap().drafts.len(), 1_000);
    let problems = lenient(&todos(&many(1_001))).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(
        problems[0].to_string(),
        "todos: received 1001 tasks; expected at most 1000 (the user's limit)"
    );
    let options = Options { max_items: 2, ..Options::default() };
    assert!(read_text(&todos(&many(2)), &options).is_ok());
    assert_eq!(paths(read_text(&todos(&many(3)), &options)), ["todos"]);
}

#[test]
fn the_longest_text_allowed_is_counted_in_characters() {
    let text = |length| "語".repeat(length);
    assert!(lenient(&todos(&[entry(&text(2_000), "pending")])).is_ok());
    assert_eq!(
        paths(lenient(&todos(&[entry(&text(2_001), "pending")]))),
        ["todos[0].content", "todos[0].activeForm"]
    );
    // Characters that normalization removes do not count.
    assert!(lenient(&todos(&[entry(&format!("{}{}", " ".repeat(5_000), text(2_000)), "pending")])).is_ok());
}

#[test]
fn ten_megabytes_anywhere_give_a_bounded_refusal() {
    let huge = "x".repeat(10_000_000);
    let inputs = [
        huge.clone(),
        format!("\"{huge}\""),
        format!("{{\"todos\": \"{huge}\"}}"),
        format!("{{\"{huge}\": []}}"),
        todos(&[entry(&huge, "pending")]),
        todos(&[entry("A", &huge)]),
        todos(&[format!("\"{huge}\"")]),
        todos(&[format!(
            r#"{{"content": "A", "status": "blocked", "activeForm": "B", "{huge}": "{huge}"}}"#
        )]),
        todos(&vec!["{}".to_owned(); 300_000]),
    ];
    for (place, input) in inputs.iter().enumerate() {
        let text = report::refused(&lenient(input).unwrap_err());
        assert!(text.len() < 1_000, "input {place}: {} bytes", text.len());
    }
}

#[test]
fn ten_megabytes_of_stray_text_after_the_array_give_a_bounded_notice() {
    let json = format!("{{\"todos\": \"[]{}\"}}", "x".repeat(10_000_000));
    let notices = notices(&lenient(&json).unwrap());
    assert_eq!(notices.len(), 1);
    assert!(notices[0].len() < 200);
}

#[test]
fn ten_thousand_levels_of_nesting_are_refused() {
    let nest = |open: &str, close: &str| format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
    let arrays = nest("[", "]");
    for (json, path) in [
        (arrays.clone(), "input"),
        (nest("{\"todos\":", "}"), "input"),
        (format!("{{\"todos\": {arrays}}}"), "input"),
        (format!("{{\"todos\": \"{arrays}\"}}"), "todos"),
        ("[".repeat(10_000), "input"),
    ] {
        let problems = lenient(&json).unwrap_err();
        assert_eq!((problems.len(), problems[0].path.as_str()), (1, path));
        assert!(problems[0].received.contains("recursion limit exceeded"), "{problems:?}");
    }
}

#[test]
fn ten_thousand_decoded_levels_are_refused() {
    let nested = (0..10_000).fold(Raw::Null, |inner, _| Raw::List(vec![inner]));
    let input = Raw::Object(vec![(Cow::Borrowed("todos"), nested)]);
    assert_eq!(paths(read(&input, &Options::default())), ["todos[0]"]);
}

#[test]
fn half_a_surrogate_pair_is_refused_with_its_place() {
    for half in ["\\ud83d", "\\ud83d!", "\\ude00", "\\ud83d\\u0041", "\\ud83d\\ud83d"] {
        let json =
            format!(r#"{{"todos": [{{"content": "A {half}", "status": "pending", "activeForm": "B"}}]}}"#);
        let problems = lenient(&json).unwrap_err();
        assert_eq!((problems.len(), problems[0].path.as_str()), (1, "input"), "{half}");
        assert!(problems[0].received.contains("line 1, column "), "{half}: {problems:?}");
    }
    let whole = r#"{"todos": [{"content": "A \ud83d\ude00", "status": "pending", "activeForm": "B"}]}"#;
    assert_eq!(lenient(whole).unwrap().drafts[0].content, "A 😀");
}
