//! The user's edits between two writes, and their report to the agent.

use crate::common::acts::{Act, acts, perform};
use crate::common::{Completed, InProgress, PLAN, Pending, contents, ids, thread, write};
use proptest::prelude::*;
use todo_write::error::Problem;
use todo_write::list::item::{Status, is_same_list};
use todo_write::thread::{Edit, Thread};

fn started() -> Thread {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    thread
}

fn edit(thread: &mut Thread, edit: Edit) {
    assert!(thread.edit(edit, 2).unwrap().ok);
}

fn add(content: &str, position: Option<usize>) -> Edit {
    Edit::Add { content: content.into(), position }
}

fn rename(id: &str, content: &str) -> Edit {
    Edit::Rename { id: id.into(), content: content.into() }
}

fn set(id: &str, status: Status) -> Edit {
    Edit::Status { id: id.into(), status }
}

fn delete(id: &str) -> Edit {
    Edit::Delete { id: id.into() }
}

#[test]
fn each_edit_is_reported_to_the_agent_once_in_one_line() {
    let moved = Edit::Move { id: "t3".into(), position: 0 };
    let cases = [
        (add("Write notes", None), "The user added \"Write notes\" (pending)."),
        (rename("t3", "Release it"), "The user renamed \"Ship it\" to \"Release it\"."),
        (set("t3", Completed), "The user set \"Ship it\" to completed."),
        (delete("t3"), "The user deleted \"Ship it\"."),
        (moved, "The user moved task 3 to place 1."),
    ];
    for (case, line) in cases {
        let mut thread = started();
        edit(&mut thread, case);
        let list = thread.list().clone();
        let outcome = write(&mut thread, &PLAN, 3);
        assert_eq!(outcome.result.lines().skip(1).collect::<Vec<_>>(), [line]);
        assert!(is_same_list(thread.list(), &list), "{line}");
        let as_it_is: Vec<_> = list.iter().map(|item| (item.content.as_str(), item.status)).collect();
        assert_eq!(write(&mut thread, &as_it_is, 4).result.lines().count(), 1, "{line}");
    }
}

#[test]
fn a_reverted_edit_is_not_reported() {
    let mut thread = started();
    for step in [set("t3", Completed), add("Sing", Some(0)), set("t3", Pending), delete("t4")] {
        edit(&mut thread, step);
    }
    assert_eq!(write(&mut thread, &PLAN, 3).result.lines().count(), 1);
}

#[test]
fn the_lines_about_edits_are_bounded() {
    let mut thread = started();
    (0..25).for_each(|n| edit(&mut thread, add(&format!("Extra {n}"), None)));
    let result = write(&mut thread, &PLAN, 3).result;
    let lines: Vec<&str> = result.lines().skip(1).collect();
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[10], "And 15 more.");
    assert_eq!(thread.list().len(), 28);
}

#[test]
fn a_refused_write_does_not_report_edits() {
    let mut thread = started();
    edit(&mut thread, delete("t3"));
    let problem = Problem::new("todos", "nothing", "an array of tasks");
    let refused = thread.refuse(vec![problem], 3);
    assert!(!refused.ok && !refused.result.contains("The user"));
    assert!(write(&mut thread, &PLAN, 4).result.contains("The user deleted \"Ship it\"."));
}

#[test]
fn a_deleted_item_that_the_agent_works_on_stays_deleted_and_the_agent_is_told_why() {
    let mut thread = started();
    edit(&mut thread, delete("t2"));
    let mut next = PLAN;
    next[1].1 = Completed;
    let result = write(&mut thread, &next, 3).result;
    assert_eq!(contents(thread.list()), ["Read the code", "Ship it"]);
    assert!(result.contains("\"Mend the parser\" stays deleted, as the user wants."), "{result}");
}

#[test]
fn an_item_can_return_as_new_once_the_agent_knows_of_its_deletion() {
    let mut thread = started();
    edit(&mut thread, delete("t2"));
    write(&mut thread, &PLAN, 3);
    write(&mut thread, &PLAN, 4);
    assert_eq!(contents(thread.list()), ["Read the code", "Mend the parser", "Ship it"]);
    assert_eq!(ids(thread.list()), ["t1", "t4", "t3"]);
}

#[test]
fn an_added_item_does_not_match_a_similar_one_that_the_agent_adds() {
    let mut thread = started();
    edit(&mut thread, add("Test it on macOS", None));
    let mut theirs = PLAN.to_vec();
    theirs.push(("Test it on Linux", Pending));
    write(&mut thread, &theirs, 3);
    let list = contents(thread.list());
    assert!(list.contains(&"Test it on macOS") && list.contains(&"Test it on Linux"), "{list:?}");
}

#[test]
fn the_users_text_wins_and_the_agent_is_told() {
    let mut thread = started();
    edit(&mut thread, rename("t3", "Release version 2"));
    let mut next = PLAN;
    next[2].0 = "Ship it today";
    let result = write(&mut thread, &next, 3).result;
    assert_eq!(thread.list()[2].content, "Release version 2");
    let told = "You and the user both changed \"Release version 2\"; the user's version stands.";
    assert!(result.contains(told), "{result}");
}

#[test]
fn an_item_that_the_user_changed_stays_when_the_agent_drops_it() {
    let mut thread = started();
    edit(&mut thread, set("t3", InProgress));
    let result = write(&mut thread, &PLAN[..2], 3).result;
    assert_eq!(ids(thread.list()), ["t1", "t2", "t3"]);
    assert!(result.contains("\"Ship it\" stays in the list: the user changed it."), "{result}");
}

#[test]
fn an_undo_survives_if_the_agent_repeats_its_list() {
    let mut thread = started();
    write(&mut thread, &PLAN[..1], 2);
    thread.undo(3).unwrap();
    let result = write(&mut thread, &PLAN[..1], 4).result;
    assert_eq!(ids(thread.list()), ["t1", "t2", "t3"]);
    assert!(result.contains("The user added \"Mend the parser\""), "{result}");
}

#[test]
fn a_rename_to_the_same_text_is_no_edit() {
    let mut thread = started();
    for same in
        [rename("t2", "Mend the parser"), set("t2", InProgress), Edit::Move { id: "t3".into(), position: 9 }]
    {
        let outcome = thread.edit(same, 2).unwrap();
        assert_eq!((outcome.revision, outcome.changes.len()), (1, 0));
    }
    assert_eq!(thread.list()[1].active_form, "On: Mend the parser");
}

#[test]
fn an_edit_of_a_missing_item_is_an_error_and_changes_nothing() {
    let mut thread = started();
    let before = thread.list().clone();
    let moved = Edit::Move { id: "t9".into(), position: 0 };
    for wrong in [rename("t9", "X"), set("t9", Pending), delete("t9"), moved, delete("")] {
        let error = thread.edit(wrong, 2).unwrap_err().to_string();
        assert!(error.starts_with("no item "), "{error}");
    }
    assert_eq!((thread.list(), thread.revisions().last()), (&before, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_agent_that_repeats_itself_leaves_the_users_list_alone(acts in acts(Act::of_list, 12)) {
        let mut thread = started();
        for act in acts.into_iter().filter(Act::is_edit) {
            perform(&mut thread, act, false, 2);
        }
        let (list, revision) = (thread.list().clone(), thread.revisions().last());
        let outcome = write(&mut thread, &PLAN, 3);
        prop_assert!(is_same_list(thread.list(), &list), "{:?}", thread.list());
        prop_assert_eq!(outcome.revision, revision);
    }
}

#[test]
fn a_rename_that_the_agent_makes_too_is_one_item() {
    let mut thread = started();
    edit(&mut thread, rename("t3", "Publish version two"));
    let before = thread.list().clone();
    let same =
        [("Read the code", Completed), ("Mend the parser", InProgress), ("Publish version two", Pending)];
    write(&mut thread, &same, 3);
    assert_eq!(thread.list(), &before);
}
