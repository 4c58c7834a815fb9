//! Tasks that the user added: they stay until the user deletes them or the agent ends them.

use crate::common::acts::{Act, acts, perform};
use crate::common::{Completed, InProgress, PLAN, Pending, contents, ids, plan, thread, write};
use proptest::prelude::*;
use todo_write::list::input::Plan;
use todo_write::list::item::{Author, Status};
use todo_write::thread::{Edit, Outcome, State, Thread, WriteOptions};

const OURS: &str = "Update the changelog";
const REMINDER: &str = "Still open, added by the user: \"Update the changelog\".";
const DONE: [(&str, Status); 3] =
    [("Read the code", Completed), ("Mend the parser", Completed), ("Ship it", Completed)];

fn add(thread: &mut Thread, position: Option<usize>) {
    thread.edit(Edit::Add { content: OURS.into(), position }, 2).unwrap();
}

/// A thread with the agent's plan and, as its last item, one of the user.
fn with_ours() -> Thread {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    add(&mut thread, None);
    thread
}

/// A write whose result does not reach the agent.
fn send(thread: &mut Thread, tasks: &[(&str, Status)]) -> Outcome {
    thread.write(plan(tasks), WriteOptions { is_unanswered: true, ..WriteOptions::default() }, 3)
}

#[test]
fn an_agent_that_cannot_be_told_takes_back_its_own_change() {
    let mut thread = with_ours();
    for status in [Completed, InProgress] {
        send(&mut thread, &[PLAN[0], ("Mend the parser", status), PLAN[2]]);
        assert_eq!(thread.list()[1].status, status);
    }
}

#[test]
fn an_added_item_stays_however_often_a_write_leaves_it_out() {
    let mut thread = with_ours();
    for write_number in 0..5 {
        write(&mut thread, &PLAN, 3);
        assert_eq!(ids(thread.list()), ["t1", "t2", "t3", "t4"], "write {write_number}");
    }
    write(&mut thread, &DONE, 4);
    assert_eq!((thread.list()[3].status, thread.state()), (Pending, State::Active));
}

#[test]
fn it_keeps_its_place_and_goes_to_the_end_of_another_list() {
    type Tasks = [(&'static str, Status)];
    let cases: [(usize, &Tasks, usize); 7] = [
        (0, &PLAN, 0),
        (1, &PLAN, 1),
        (99, &PLAN, 3),
        (1, &PLAN[..1], 1),
        (2, &[PLAN[0], PLAN[2]], 1),
        (1, &PLAN[1..], 2),
        (0, &[("Bake bread", Pending), ("Sing", Pending)], 2),
    ];
    for (position, next, expected) in cases {
        let mut thread = thread();
        write(&mut thread, &PLAN, 1);
        add(&mut thread, Some(position));
        write(&mut thread, &PLAN, 3);
        write(&mut thread, next, 4);
        let place = thread.list().iter().position(|item| item.content == OURS);
        assert_eq!(place, Some(expected), "{position}, {next:?}");
        assert_eq!(thread.list().len(), next.len() + 1);
    }
}

#[test]
fn an_empty_list_clears_all_but_the_users_open_items() {
    let mut thread = with_ours();
    let closed = Edit::Add { content: "Closed".into(), position: None };
    thread.edit(closed, 2).unwrap();
    thread.edit(Edit::Status { id: "t5".into(), status: Completed }, 2).unwrap();
    write(&mut thread, &PLAN, 3);
    write(&mut thread, &[], 4);
    assert_eq!(contents(thread.list()), [OURS]);
}

#[test]
fn the_agent_hears_of_it_with_the_next_result_and_when_all_else_is_completed_and_then_no_more() {
    let mut thread = with_ours();
    assert!(write(&mut thread, &PLAN, 3).result.contains("The user added \"Update the changelog\""));
    assert_eq!(write(&mut thread, &PLAN, 4).result.lines().count(), 1);
    assert_eq!(write(&mut thread, &DONE, 5).result.lines().last(), Some(REMINDER));
    assert!(!write(&mut thread, &DONE, 6).result.contains(OURS));
    write(&mut thread, &PLAN, 7);
    assert!(!write(&mut thread, &DONE, 8).result.contains(OURS));
}

#[test]
fn a_write_that_has_the_item_is_not_reminded_of_it() {
    let mut thread = with_ours();
    write(&mut thread, &PLAN, 3);
    let with_it: Vec<_> = DONE.into_iter().chain([(OURS, Pending)]).collect();
    assert_eq!(write(&mut thread, &with_it, 4).result.lines().count(), 1);
    assert_eq!(write(&mut thread, &DONE, 5).result.lines().last(), Some(REMINDER));
}

#[test]
fn the_agent_ends_it_by_completing_or_cancelling_it() {
    for is_told in [false, true] {
        let mut thread = with_ours();
        if is_told {
            write(&mut thread, &PLAN, 3);
        }
        let cancelled = plan(&[(OURS, Pending)]).drafts;
        thread.write(Plan { cancelled, ..plan(&PLAN) }, WriteOptions::default(), 4);
        assert_eq!(ids(thread.list()), ["t1", "t2", "t3"], "cancelled, told {is_told}");

        let mut thread = with_ours();
        if is_told {
            write(&mut thread, &PLAN, 3);
        }
        let completed: Vec<_> = DONE.into_iter().chain([(OURS, Completed)]).collect();
        write(&mut thread, &completed, 4);
        assert_eq!(thread.state(), State::Done, "completed, told {is_told}");
        write(&mut thread, &DONE, 5);
        assert_eq!(ids(thread.list()), ["t1", "t2", "t3"], "completed, told {is_told}");
    }
}

#[test]
fn until_told_only_equal_content_is_taken_for_it_and_then_similar_content_too() {
    let reworded: Vec<_> = PLAN.into_iter().chain([("Update the changelog file", Pending)]).collect();
    let mut thread = with_ours();
    write(&mut thread, &reworded, 3);
    assert_eq!(thread.list().len(), 5);

    let mut thread = with_ours();
    write(&mut thread, &PLAN, 3);
    write(&mut thread, &reworded, 4);
    let item = thread.list()[3].clone();
    assert_eq!((item.id.as_str(), item.content.as_str()), ("t4", "Update the changelog file"));
    assert_eq!((item.added_by, item.told), (Author::User, true));
}

#[test]
fn an_item_says_who_added_it_and_whether_the_agent_was_told() {
    let mut thread = with_ours();
    let says = |thread: &Thread| -> Vec<(Author, bool)> {
        thread.list().iter().map(|item| (item.added_by, item.told)).collect()
    };
    let agents = (Author::Agent, true);
    assert_eq!(says(&thread), [agents, agents, agents, (Author::User, false)]);
    thread.edit(Edit::Rename { id: "t3".into(), content: "Release".into() }, 2).unwrap();
    thread.edit(Edit::Move { id: "t3".into(), position: 0 }, 2).unwrap();
    write(&mut thread, &PLAN, 3);
    assert_eq!(says(&thread), [agents, agents, agents, (Author::User, true)]);
}

#[test]
fn a_change_of_an_item_says_as_the_list_does_whether_the_agent_was_told() {
    let mut thread = with_ours();
    let all: Vec<_> = PLAN.into_iter().chain([(OURS, InProgress)]).collect();
    let outcome = write(&mut thread, &all, 3);
    let changed: Vec<_> = outcome.changes.iter().filter_map(|change| change.item.as_ref()).collect();
    assert_eq!(changed.len(), 1);
    assert_eq!((changed[0].id.as_str(), changed[0].told, thread.list()[3].told), ("t4", true, true));
}

#[test]
fn restoring_brings_back_one_dropped_item_alone_and_makes_it_the_users() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    write(&mut thread, &PLAN[..1], 2);
    thread.edit(Edit::Restore { id: "t2".into() }, 3).unwrap();
    assert_eq!(ids(thread.list()), ["t1", "t2"]);
    let item = &thread.list()[1];
    assert_eq!((item.added_by, item.told, item.status), (Author::User, false, Pending));
    for now in 4..8 {
        write(&mut thread, &PLAN[..1], now);
        assert_eq!(ids(thread.list()), ["t1", "t2"]);
    }
    thread.edit(Edit::Restore { id: "t3".into() }, 9).unwrap();
    assert_eq!(ids(thread.list()), ["t1", "t2", "t3"]);
}

#[test]
fn only_an_item_that_left_the_list_can_be_restored() {
    let mut thread = with_ours();
    for id in ["t1", "t9", ""] {
        let error = thread.edit(Edit::Restore { id: id.into() }, 3).unwrap_err().to_string();
        assert!(error.starts_with("no item "), "{error}");
    }
}

#[test]
fn a_restored_item_returns_to_its_old_place() {
    for (id, place) in [("t1", 0), ("t2", 1), ("t3", 2)] {
        let mut thread = thread();
        write(&mut thread, &PLAN, 1);
        thread.edit(Edit::Delete { id: id.into() }, 2).unwrap();
        thread.edit(Edit::Restore { id: id.into() }, 3).unwrap();
        assert_eq!(thread.list()[place].id, id);
    }
}

#[test]
fn undoing_a_restore_drops_the_item_again() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    write(&mut thread, &PLAN[..1], 2);
    thread.edit(Edit::Restore { id: "t2".into() }, 3).unwrap();
    thread.undo(4).unwrap();
    assert_eq!(ids(thread.list()), ["t1"]);
}

#[test]
fn a_plan_whose_agent_cannot_be_told_is_done_when_the_agents_items_are() {
    let mut thread = thread();
    send(&mut thread, &PLAN);
    add(&mut thread, None);
    for now in 0..3 {
        send(&mut thread, &PLAN);
        assert_eq!((thread.list().len(), thread.list()[3].told), (4, false), "write {now}");
    }
    send(&mut thread, &DONE);
    assert_eq!((thread.list()[3].status, thread.state()), (Pending, State::Done));
    assert!(thread.is_untold(&thread.list()[3]));
    // A host that returns the result tells the agent.
    assert!(write(&mut thread, &DONE, 4).result.contains("The user added"));
    assert_eq!((thread.list()[3].told, thread.state()), (true, State::Active));
}

#[test]
fn other_edits_hold_too_against_an_agent_that_cannot_be_told() {
    let mut thread = thread();
    send(&mut thread, &PLAN);
    thread.edit(Edit::Rename { id: "t2".into(), content: "Repair the parser".into() }, 2).unwrap();
    thread.edit(Edit::Delete { id: "t3".into() }, 2).unwrap();
    for _ in 0..3 {
        send(&mut thread, &PLAN);
        assert_eq!(contents(thread.list()), ["Read the code", "Repair the parser"]);
    }
    send(&mut thread, &DONE);
    assert_eq!(thread.list()[1].status, Completed);
}

#[test]
fn a_status_that_both_sides_changed_is_the_agents_at_its_next_write() {
    let mut thread = thread();
    send(&mut thread, &PLAN);
    thread.edit(Edit::Status { id: "t3".into(), status: InProgress }, 2).unwrap();
    send(&mut thread, &DONE);
    assert_eq!(thread.list()[2].status, InProgress);
    send(&mut thread, &DONE);
    assert_eq!(thread.list()[2].status, Completed);
}

#[test]
fn an_agent_that_is_told_in_another_way_hears_of_each_edit_once() {
    let mut thread = thread();
    send(&mut thread, &PLAN);
    add(&mut thread, None);
    thread.edit(Edit::Delete { id: "t1".into() }, 2).unwrap();
    let told = [
        "The user added \"Update the changelog\" (pending).".to_owned(),
        format!("The user deleted \"{}\".", PLAN[0].0),
    ];
    assert_eq!((thread.untold_edits(), thread.untold()), (told.to_vec(), 1));
    assert_eq!(thread.take_untold(), told);
    assert_eq!((thread.take_untold(), thread.untold()), (vec![], 0));
    // The agent goes on with its own list, which has its task still.
    for write in [&PLAN[..], &DONE[..]] {
        send(&mut thread, write);
        assert_eq!((thread.untold_edits(), thread.untold()), (vec![], 0));
        assert!(thread.list().iter().any(|item| item.content == OURS && item.told));
    }
    assert_eq!(thread.state(), State::Active);
}

#[test]
fn an_agent_hears_only_what_is_new_since_it_was_told_also_after_it_went_on() {
    let mut thread = thread();
    send(&mut thread, &PLAN);
    let rename = |thread: &mut Thread, content: &str| {
        thread.edit(Edit::Rename { id: "t2".into(), content: content.into() }, 2).unwrap();
    };
    rename(&mut thread, "Mend it");
    assert_eq!(thread.take_untold(), [format!("The user renamed \"{}\" to \"Mend it\".", PLAN[1].0)]);
    // It changes the status of the task, which it still calls by its old name.
    send(&mut thread, &DONE);
    assert_eq!(thread.list()[1].content, "Mend it");
    assert_eq!(thread.take_untold(), [""; 0]);
    // A second edit is one from what it was told, and so is taking the first one back.
    rename(&mut thread, "Mend all");
    // Another write does not know of it.
    send(&mut thread, &PLAN);
    assert_eq!(thread.take_untold(), ["The user renamed \"Mend it\" to \"Mend all\"."]);
    rename(&mut thread, PLAN[1].0);
    let back = format!("The user renamed \"Mend all\" to \"{}\".", PLAN[1].0);
    assert_eq!(thread.take_untold(), [back]);
    // The same edit again is told again.
    rename(&mut thread, "Mend it");
    assert_eq!(thread.take_untold().len(), 1);
}

#[test]
fn an_agent_that_hears_by_results_has_no_untold_edits() {
    let thread = with_ours();
    assert!(thread.untold_edits().is_empty());
}

proptest! {
    /// What the agent does with its list is no edit of the user.
    #[test]
    fn after_it_was_told_no_write_of_an_agent_leaves_an_edit_untold(
        before in acts(Act::any, 12), after in acts(Act::any, 6),
    ) {
        let unanswered = |act| match act {
            Act::Write { drafts, cancelled, .. } => Act::Write { drafts, cancelled, is_unanswered: true },
            other => other,
        };
        let mut thread = thread();
        send(&mut thread, &PLAN);
        for act in before {
            perform(&mut thread, unanswered(act), false, 2);
        }
        thread.take_untold();
        prop_assert_eq!(thread.untold_edits(), [""; 0]);
        for act in after.into_iter().filter(|act| matches!(act, Act::Write { .. })) {
            perform(&mut thread, unanswered(act), false, 3);
            prop_assert_eq!(thread.untold_edits(), [""; 0]);
        }
    }
}
