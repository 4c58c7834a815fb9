//! Any text is accepted or refused. An accepted plan is valid, and reads the same when sent again.

use serde_json::{Value, json};
use todo_write::error::Problem;
use todo_write::list::identity::is_positional;
use todo_write::list::input::{Options, Plan, SeveralInProgress, read, read_text};
use todo_write::list::item::{Draft, Status};
use todo_write::list::raw::Raw;
use todo_write::list::report;
use todo_write::text::{is_blank, one_line};

/// The first byte selects the user's options, the rest is the text.
pub fn holds(data: &[u8]) {
    let (first, text) = data.split_first().unwrap_or((&0, &[]));
    let text = String::from_utf8_lossy(text);
    let parsed = parses_like_serde_json(&text);
    let lenient = Options { several_in_progress: SeveralInProgress::Allow, ..options(*first) };
    for options in [options(*first), lenient] {
        let read_at_once = read_text(&text, &options);
        check(&read_at_once, &options);
        if let Ok(raw) = Raw::parse(&text) {
            assert_eq!(read_at_once, read(&raw, &options));
        }
    }
    strict_accepts_what_needs_no_notice(&text, &lenient);
    if let Some(Value::Array(_)) = parsed {
        shapes_read_the_same(&text, &Options { strict: false, ..lenient });
    }
}

/// The user's options.
pub fn options(byte: u8) -> Options {
    let several = [SeveralInProgress::Notice, SeveralInProgress::Allow, SeveralInProgress::Refuse];
    Options {
        strict: byte & 1 == 1,
        several_in_progress: several[usize::from(byte >> 1) % several.len()],
        max_items: if byte & 64 == 0 { 1_000 } else { 3 },
        max_length: if byte & 128 == 0 { 2_000 } else { 12 },
    }
}

/// Our parser accepts the JSON that serde_json accepts, with the same value.
fn parses_like_serde_json(text: &str) -> Option<Value> {
    let ours = Raw::parse(text).map(|raw| raw.to_json());
    let theirs = serde_json::from_str::<Value>(text);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs);
            Some(theirs)
        }
        (Err(_), Err(_)) => None,
        (ours, theirs) => panic!("{ours:?}, elsewhere {theirs:?}"),
    }
}

/// The invariants of any plan read with these options.
pub fn check(read: &Result<Plan, Vec<Problem>>, options: &Options) {
    match read {
        Ok(plan) => {
            assert!(plan.drafts.len() <= options.max_items);
            assert!(!options.strict || plan.notices.is_empty());
            assert!(plan.notices.iter().all(|notice| notice.len() < 1_000));
            let current = plan.drafts.iter().filter(|draft| draft.status == Status::InProgress).count();
            assert!(options.several_in_progress != SeveralInProgress::Refuse || current < 2);
            plan.drafts.iter().for_each(|draft| check_draft(draft, options));
            reads_the_same_again(&plan.drafts, options);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            let answer = report::refused(problems);
            assert!(answer.len() < 12_000, "{} bytes for the model", answer.len());
            assert!(answer.lines().count() <= 13, "{answer}");
        }
    }
}

fn check_draft(draft: &Draft, options: &Options) {
    for text in [&draft.content, &draft.active_form] {
        assert!(!is_blank(text) && text.chars().count() <= options.max_length, "{draft:?}");
        assert_eq!(one_line(text), (text.as_str().into(), false), "{draft:?}");
    }
}

/// The schema's shape is accepted without a notice, with any options.
fn reads_the_same_again(drafts: &[Draft], options: &Options) {
    let entry = |draft: &Draft| {
        json!({"content": draft.content, "status": draft.status.as_str(), "activeForm": draft.active_form,
               "priority": draft.priority.map(|priority| priority.as_str()), "id": draft.hint})
    };
    let todos: Vec<Value> = drafts.iter().map(entry).collect();
    let options = Options { strict: true, several_in_progress: SeveralInProgress::Allow, ..*options };
    let text = json!({ "todos": todos }).to_string();
    assert_eq!(read_text(&text, &options), Ok(Plan { drafts: drafts.to_vec(), ..Plan::default() }));
}

/// Strict mode accepts exactly the text that needs no notice without it, and reads the same.
pub fn strict_accepts_what_needs_no_notice(text: &str, options: &Options) {
    let lenient = read_text(text, &Options { strict: false, ..*options });
    let silent = lenient.ok().filter(|plan| plan.notices.is_empty());
    assert_eq!(read_text(text, &Options { strict: true, ..*options }).ok(), silent, "{text}");
}

/// The bare array, the object with the array, and the object with the array as a string give the
/// same list.
fn shapes_read_the_same(text: &str, options: &Options) {
    let drafts = |text: &str| read_text(text, options).map(|plan| plan.drafts);
    let bare = drafts(text);
    assert_eq!(drafts(&format!("{{\"todos\": {text}}}")), bare);
    assert_eq!(drafts(&json!({ "todos": text }).to_string()), bare);
    if let Ok(drafts) = bare {
        let ids: Vec<&String> = drafts.iter().filter_map(|draft| draft.hint.as_ref()).collect();
        let count = |id: &String| ids.iter().filter(|other| **other == id).count();
        assert!(ids.iter().all(|id| is_positional(id) || count(id) == 1), "{ids:?}");
    }
}
