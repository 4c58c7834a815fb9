//! Input that is accepted, repaired or refused, in the forms that agents send.
use todo_write::error::Problem;
use todo_write::list::input::{Options, Plan, read_text};
use todo_write::list::item::{Draft, Priority, Status};

type Reading = Result<Plan, Vec<Problem>>;

fn lenient(json: &str) -> Reading {
    read_text(json, &Options::default())
}

fn strict(json: &str) -> Reading {
    read_text(json, &Options { strict: true, ..Options::default() })
}

fn todos(entries: &str) -> String {
    format!("{{\"todos\": [{entries}]}}")
}

fn draft(content: &'static str, status: Status, active_form: &'static str) -> Draft {
    Draft { content: content.into(), status, active_form: active_form.into(), ..Draft::default() }
}

fn problem_of(reading: Reading) -> Problem {
    let [problem] = <[Problem; 1]>::try_from(reading.unwrap_err()).unwrap();
    problem
}

#[test]
fn the_shape_of_the_schema_is_accepted_silently_in_both_modes() {
    let json = todos(
        r#"{"content": "Read code", "status": "completed", "activeForm": "Reading code"},
           {"content": "Fix it", "status": "in_progress", "activeForm": "Fixing it"},
           {"content": "Test it", "status": "pending", "activeForm": "Testing it"}"#,
    );
    let expected = Plan {
        drafts: vec![
            draft("Read code", Status::Completed, "Reading code"),
            draft("Fix it", Status::InProgress, "Fixing it"),
            draft("Test it", Status::Pending, "Testing it"),
        ],
        ..Plan::default()
    };
    assert_eq!(lenient(&json), Ok(expected.clone()));
    assert_eq!(strict(&json), Ok(expected));
}

#[test]
fn optional_fields_are_accepted_silently_in_both_modes() {
    let with =
        |extra: &str| todos(&format!(r#"{{"content":"A","status":"pending","activeForm":"B"{extra}}}"#));
    let plain = draft("A", Status::Pending, "B");
    let cases = [
        (r#","priority":"high""#, Draft { priority: Some(Priority::High), ..plain.clone() }),
        (r#","priority":"MEDIUM""#, Draft { priority: Some(Priority::Medium), ..plain.clone() }),
        (r#","priority":"low""#, Draft { priority: Some(Priority::Low), ..plain.clone() }),
        (r#","priority":null"#, plain.clone()),
        (r#","id":"parser""#, Draft { hint: Some("parser".into()), ..plain.clone() }),
        (r#","id":7"#, Draft { hint: Some("7".into()), ..plain.clone() }),
        (r#","id":null"#, plain.clone()),
        (r#","id":" ""#, plain.clone()),
        (r#","id":"\u001b[0m\u0003""#, plain),
    ];
    for (extra, expected) in cases {
        for reading in [lenient(&with(extra)), strict(&with(extra))] {
            assert_eq!(reading, Ok(Plan { drafts: vec![expected.clone()], ..Plan::default() }), "{extra}");
        }
    }
}

/// The input, a part of the notice, and the path of the problem in strict mode. Each input is one
/// repair away from the same task.
#[rustfmt::skip]
const REPAIRED: [(&str, &str, &str); 33] = [
    (r#"{"plan":[{"content":"A","status":"pending","activeForm":"B"}]}"#, "\"plan\" was read as \"todos\"", "input.plan"),
    (r#"{"todos":"\"[{\\\"content\\\":\\\"A\\\",\\\"status\\\":\\\"pending\\\",\\\"activeForm\\\":\\\"B\\\"}]\""}"#, "string holding the array", "todos"),
    (r#"{"todos":[{"subject":"A","status":"pending","activeForm":"B"}]}"#, "\"subject\" was read as \"content\"", "todos[0].subject"),
    (r#"{"todos":[{"text":"A","status":"pending","activeForm":"B"}]}"#, "\"text\" was read as \"content\"", "todos[0].text"),
    (r#"{"todos":"[{\"content\":\"A\",\"status\":\"pending\",\"activeForm\":\"B\"}]"}"#, "string holding the array", "todos"),
    (r#"{"todos":" [{\"content\":\"A\",\"status\":\"pending\",\"activeForm\":\"B\"}]\n "}"#, "string holding the array", "todos"),
    (r#"{"todos":"[{\"content\":\"A\",\"status\":\"pending\",\"activeForm\":\"B\"}]</todos>"}"#, r#"(and "</todos>" after it was ignored)"#, "todos"),
    (r#"[{"content":"A","status":"pending","activeForm":"B"}]"#, "bare array", "input"),
    (r#"{"todos":[{"content":"A","status":"pending","active_form":"B"}]}"#, "\"active_form\" was read as \"activeForm\"", "todos[0].active_form"),
    (r#"{"todos":[{"description":"A","status":"pending","activeForm":"B"}]}"#, "\"description\" was read as \"content\"", "todos[0].description"),
    (r#"{"todos":[{"title":"A","status":"pending","activeForm":"B"}]}"#, "\"title\" was read as \"content\"", "todos[0].title"),
    (r#"{"todos":[{"step":"A","status":"pending","activeForm":"B"}]}"#, "\"step\" was read as \"content\"", "todos[0].step"),
    (r#"{"todos":[{"content":"A","status":"Pending","activeForm":"B"}]}"#, "status \"Pending\" was read as \"pending\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":" pending","activeForm":"B"}]}"#, "was read as \"pending\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"todo","activeForm":"B"}]}"#, "status \"todo\" was read as \"pending\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"TODO","activeForm":"B"}]}"#, "status \"TODO\" was read as \"pending\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"open","activeForm":"B"}]}"#, "was read as \"pending\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"done","activeForm":"B"}]}"#, "status \"done\" was read as \"completed\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"complete","activeForm":"B"}]}"#, "was read as \"completed\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"FINISHED","activeForm":"B"}]}"#, "was read as \"completed\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"inProgress","activeForm":"B"}]}"#, "was read as \"in_progress\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"doing","activeForm":"B"}]}"#, "was read as \"in_progress\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"Active","activeForm":"B"}]}"#, "was read as \"in_progress\"", "todos[0].status"),
    (r#"{"todos":[{"content":"A","status":"pending"}]}"#, "\"activeForm\" was missing", "todos[0].activeForm"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":null}]}"#, "\"activeForm\" was missing", "todos[0].activeForm"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":" \n\u200b"}]}"#, "\"activeForm\" was missing", "todos[0].activeForm"),
    (r#"{"todos":[{"content":"A\u0007","status":"pending","activeForm":"B"}]}"#, "control characters were dropped from \"content\"", "todos[0].content"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":"\u0000B"}]}"#, "control characters were dropped from \"activeForm\"", "todos[0].activeForm"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":"B","priority":"urgent"}]}"#, "priority \"urgent\" was dropped", "todos[0].priority"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":"B","priority":1}]}"#, "priority the number 1 was dropped", "todos[0].priority"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":"B","tags":[]}]}"#, "unknown keys ignored: tags", "todos[0].tags"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":"B","active_form":"C"}]}"#, "unknown keys ignored: active_form", "todos[0].active_form"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":"B"}],"note":true}"#, "unknown keys ignored: note", "input.note"),
];

#[test]
fn each_repair_yields_the_task_and_one_notice() {
    for (json, notice, _) in REPAIRED {
        let plan = lenient(json).unwrap_or_else(|problems| panic!("{json}: {problems:?}"));
        let [task] = plan.drafts.as_slice() else { panic!("{json}: {plan:?}") };
        let form = if notice.contains("missing") { "A" } else { "B" };
        assert_eq!((task.content.as_ref(), task.active_form.as_ref()), ("A", form), "{json}");
        let status = ["completed", "in_progress"].into_iter().find(|s| notice.ends_with(&format!("{s}\"")));
        assert_eq!(task.status.as_str(), status.unwrap_or("pending"), "{json}");
        assert_eq!((task.priority, &task.hint), (None, &None), "{json}");
        assert_eq!(plan.notices.len(), 1, "{json}: {:?}", plan.notices);
        assert!(plan.notices[0].contains(notice), "{json}: {:?}", plan.notices);
    }
}

#[test]
fn strict_mode_refuses_each_repair_and_names_its_place() {
    for (json, _, path) in REPAIRED {
        assert_eq!(problem_of(strict(json)).path, path, "{json}");
    }
}

/// The input, the path of the problem, and what the refusal gives as received and as expected.
#[rustfmt::skip]
const REFUSED: [(&str, &str, &str, &str); 37] = [
    (r#"{"todos":[{"content":"A","status":"blocked","activeForm":"B"}]}"#, "todos[0].status", "\"blocked\"", "pending, in_progress, completed"),
    (r#"{"todos":[{"content":"A","status":"failed","activeForm":"B"}]}"#, "todos[0].status", "\"failed\"", "pending, in_progress, completed"),
    (r#"{"todos":[{"content":"A","status":"high","activeForm":"B"}]}"#, "todos[0].status", "\"high\"", "pending, in_progress, completed"),
    (r#"{"todos":[{"content":"A","status":"","activeForm":"B"}]}"#, "todos[0].status", "\"\"", "pending, in_progress, completed"),
    (r#"{"todos":[{"content":"A","status":null,"activeForm":"B"}]}"#, "todos[0].status", "null", "pending, in_progress, completed"),
    (r#"{"todos":[{"content":"A","status":1,"activeForm":"B"}]}"#, "todos[0].status", "the number 1", "pending, in_progress, completed"),
    (r#"{"todos":[{"content":"A","status":true,"activeForm":"B"}]}"#, "todos[0].status", "true", "pending, in_progress, completed"),
    (r#"{"todos":[{"content":"A","status":["pending"],"activeForm":"B"}]}"#, "todos[0].status", "an array of 1", "pending, in_progress, completed"),
    (r#"{"todos":[{"content":"A","activeForm":"B"}]}"#, "todos[0].status", "nothing", "pending, in_progress, completed"),
    (r#"{"todos":[{"status":"pending","activeForm":"B"}]}"#, "todos[0].content", "nothing", "the task as text"),
    (r#"{"todos":[{"content":null,"status":"pending","activeForm":"B"}]}"#, "todos[0].content", "null", "the task as text"),
    (r#"{"todos":[{"content":"","status":"pending","activeForm":"B"}]}"#, "todos[0].content", "blank text", "the task as text"),
    (r#"{"todos":[{"content":" \t\n","status":"pending","activeForm":"B"}]}"#, "todos[0].content", "blank text", "the task as text"),
    (r#"{"todos":[{"content":"\u0000\u200b","status":"pending","activeForm":"B"}]}"#, "todos[0].content", "blank text", "the task as text"),
    (r#"{"todos":[{"content":12,"status":"pending","activeForm":"B"}]}"#, "todos[0].content", "the number 12", "the task as text"),
    (r#"{"todos":[{"content":["A"],"status":"pending","activeForm":"B"}]}"#, "todos[0].content", "an array of 1", "the task as text"),
    (r#"{"todos":[{"content":{"text":"A"},"status":"pending","activeForm":"B"}]}"#, "todos[0].content", "an object with text", "the task as text"),
    (r#"{"todos":[{"content":"A","status":"pending","activeForm":false}]}"#, "todos[0].activeForm", "false", "present continuous"),
    (r#"{"todos":["Read code"]}"#, "todos[0]", "\"Read code\"", "an object with content, status, activeForm"),
    (r#"{"todos":[null]}"#, "todos[0]", "null", "an object with content, status, activeForm"),
    (r#"{"todos":[[]]}"#, "todos[0]", "an empty array", "an object with content, status, activeForm"),
    (r#"{}"#, "todos", "nothing (the input is an empty object)", "an array of tasks"),
    (r#"{"command":"ls -l"}"#, "todos", "nothing (the input is an object with command)", "an array of tasks"),
    (r#"{"todos":null}"#, "todos", "null", "an array of tasks"),
    (r#"{"todos":{}}"#, "todos", "an empty object", "an array of tasks"),
    (r#"{"todos":3}"#, "todos", "the number 3", "an array of tasks"),
    (r#"{"todos":false}"#, "todos", "false", "an array of tasks"),
    (r#"{"todos":""}"#, "todos", "a string that is not JSON at line 1, column", "an array of tasks"),
    (r#"{"todos":"first read, then fix"}"#, "todos", "a string that is not JSON at line 1, column", "an array of tasks"),
    (r#"{"todos":"{\"content\":\"A\"}"}"#, "todos", "a string holding an object with content", "an array of tasks"),
    (r#"{"todos":"\"\\\"[]\\\"\""}"#, "todos", "a string holding \"[]\"", "an array of tasks"),
    (r#"null"#, "input", "null", "{\"todos\": ["),
    (r#""todos""#, "input", "\"todos\"", "{\"todos\": ["),
    (r#"17"#, "input", "the number 17", "{\"todos\": ["),
    (r#""#, "input", "not JSON at line 1, column 1 (EOF while parsing a value)", "{\"todos\": ["),
    (r#"{"todos":[{"id":"api","content":"A","status":"pending","activeForm":"B"},{"id":"api","content":"C","status":"pending","activeForm":"D"}]}"#, "todos[1].id", "\"api\", which todos[0] also has", "an id of its own, or none"),
    (r#"{"todos":[{"id":90210,"content":"A","status":"pending","activeForm":"B"},{"id":"90210","content":"C","status":"pending","activeForm":"D"}]}"#, "todos[1].id", "\"90210\", which todos[0] also has", "an id of its own, or none"),
];

#[test]
fn each_invalid_input_is_refused_with_place_and_reason() {
    for (json, path, received, expected) in REFUSED {
        for reading in [lenient(json), strict(json)] {
            let problem = problem_of(reading);
            assert_eq!(problem.path, path, "{json}");
            assert!(problem.received.contains(received), "{json}: {problem:?}");
            assert!(problem.expected.contains(expected), "{json}: {problem:?}");
        }
    }
}

fn with_key(key: &str, value: &str) -> String {
    format!(r#"{{"todos":[{{"content":"A","status":"pending","activeForm":"B"}}],"{key}":{value}}}"#)
}

#[test]
fn a_call_that_says_that_it_is_no_whole_list_is_refused() {
    let cases = [
        ("merge", "true", "true"),
        ("append", "true", "true"),
        ("append", r#""True""#, r#""True""#),
        ("replace", "false", "false"),
        ("operation", r#""update""#, r#""update""#),
        ("mode", r#""append""#, r#""append""#),
        ("mode", "1", "the number 1"),
    ];
    for (key, value, received) in cases {
        for reading in [lenient(&with_key(key, value)), strict(&with_key(key, value))] {
            let problem = Problem::new(format!("input.{key}"), received, "the whole list");
            assert_eq!(problem_of(reading), problem, "{key}: {value}");
        }
    }
}

#[test]
fn a_call_that_says_that_it_is_the_whole_list_is_accepted_silently_in_both_modes() {
    let cases = [
        ("merge", "false"),
        ("merge", "null"),
        ("append", "false"),
        ("replace", "true"),
        ("replace", "null"),
        ("operation", r#""replace""#),
        ("operation", r#""write""#),
        ("mode", r#""Set""#),
        ("mode", "null"),
    ];
    let expected = Plan { drafts: vec![draft("A", Status::Pending, "B")], ..Plan::default() };
    for (key, value) in cases {
        for reading in [lenient(&with_key(key, value)), strict(&with_key(key, value))] {
            assert_eq!(reading, Ok(expected.clone()), "{key}: {value}");
        }
    }
}

#[test]
fn a_description_is_the_content_only_if_no_other_key_has_it() {
    for key in ["step", "text", "subject", "title"] {
        let task =
            format!(r#"{{"description":"At length","{key}":"A","status":"pending","activeForm":"B"}}"#);
        let plan = lenient(&todos(&task)).unwrap();
        assert_eq!(plan.drafts, [draft("A", Status::Pending, "B")], "{key}");
        let read = format!("\"{key}\" was read as \"content\"");
        assert_eq!(plan.notices, [read, "unknown keys ignored: description".into()]);
    }
}

#[test]
fn blanks_hyphens_underscores_and_case_do_not_make_another_status() {
    for (spellings, expected) in [
        (["in progress", "In-Progress", "IN_PROGRESS", "in - progress"], Status::InProgress),
        (["not started", "Not-Started", "NOT_STARTED", "notStarted"], Status::Pending),
        (["to do", "to-do", "TO_DO", "toDo"], Status::Pending),
    ] {
        for status in spellings {
            let task = format!(r#"{{"content":"A","status":"{status}","activeForm":"B"}}"#);
            let plan = lenient(&todos(&task)).unwrap();
            assert_eq!(plan.drafts, [draft("A", expected, "B")], "{status}");
            assert_eq!(plan.notices, [format!("status \"{status}\" was read as \"{expected}\"")]);
        }
    }
}

#[test]
fn a_cancelled_task_is_left_out_with_a_notice() {
    for status in ["cancelled", "canceled", "Cancelled", " CANCELED"] {
        let json = todos(&format!(
            r#"{{"content":"A","status":"{status}","activeForm":"B"}},
               {{"content":"C","status":"pending","activeForm":"D"}},
               {{"content":"E","status":"{status}","activeForm":"F"}}"#
        ));
        let plan = lenient(&json).unwrap();
        assert_eq!(plan.drafts, [draft("C", Status::Pending, "D")], "{status}");
        let cancelled: Vec<&str> = plan.cancelled.iter().map(|draft| draft.content.as_ref()).collect();
        assert_eq!(cancelled, ["A", "E"], "{status}");
        assert_eq!(plan.notices, ["cancelled tasks were left out of the list (2 tasks)"], "{status}");
        assert_eq!(strict(&json).unwrap_err()[0].path, "todos[0].status", "{status}");
    }
}

#[test]
fn null_is_refused_with_two_ways_to_clear_the_list() {
    let problem = problem_of(lenient(r#"{"todos":null}"#));
    assert!(problem.expected.contains("[] clears the list"), "{problem:?}");
    assert!(problem.expected.contains("as JSON text: \"[]\""), "{problem:?}");
}

#[test]
fn an_empty_array_is_an_empty_plan() {
    for json in [r#"{"todos":[]}"#, r#"{"todos": [ ] }"#] {
        assert_eq!(strict(json), Ok(Plan::default()), "{json}");
    }
    assert_eq!(lenient(r#"{"todos":"[]"}"#).unwrap().drafts, []);
}

#[test]
fn text_that_is_not_json_is_refused_with_line_column_and_reason() {
    let cases = [
        ("{\"todos\": [", "line 1, column 11 (EOF while parsing a list)"),
        ("{\"todos\": [\n  {\"content\": \"A\",,", "line 2, column 19 (key must be a string)"),
        ("{'todos': []}", "line 1, column 2 (key must be a string)"),
        ("{\"todos\": nope}", "line 1, column 12 (expected ident)"),
        ("{\"todos\": []} thanks", "line 1, column 15 (trailing characters)"),
        ("{\"todos\" []}", "line 1, column 10 (expected `:`)"),
        ("{\"todos\": [1 2]}", "line 1, column 14 (expected `,` or `]`)"),
        ("{\"todos\": [1,]}", "line 1, column 14 (trailing comma)"),
        ("{\"todos\": [\"\\x\"]}", "line 1, column 14 (invalid escape)"),
        (
            "{\"todos\": [\"A\0B\"]}",
            "line 1, column 14 (control character (\\u0000-\\u001F) found while parsing a string)",
        ),
        ("\u{feff}{}", "line 1, column 1 (expected value)"),
    ];
    for (json, reason) in cases {
        let problem = problem_of(lenient(json));
        assert_eq!(problem.path, "input", "{json}");
        assert_eq!(problem.received, format!("text that is not JSON at {reason}"), "{json}");
        assert!(problem.expected.starts_with("{\"todos\": ["), "{json}: {problem:?}");
    }
}
