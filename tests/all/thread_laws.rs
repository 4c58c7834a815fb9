//! Laws of revisions after any sequence of writes, edits and undos.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use todo_write::change::apply;
use todo_write::input::Plan;
use todo_write::item::{Draft, Status};
use todo_write::thread::{Edit, Outcome, Thread};

use crate::common::{Completed, Pending, plan, thread};

#[derive(Clone, Debug)]
enum Act {
    Write(Vec<Draft>),
    Add(&'static str, usize),
    Rename(Index, &'static str),
    Status(Index, Status),
    Move(Index, usize),
    Delete(Index),
    Undo,
}

fn text() -> impl Strategy<Value = &'static str> {
    select(vec![
        "Fix the parser",
        "Fix the parser now",
        "Fix the printer",
        "Write tests",
        "write tests",
        "Ship it",
    ])
}

fn status() -> impl Strategy<Value = Status> {
    select(vec![Status::Pending, Status::InProgress, Status::Completed])
}

/// A write with explicit ids, which the agent may change from call to call.
fn draft() -> impl Strategy<Value = Draft> {
    let hint = select(vec![None, Some("1"), Some("2")]);
    (text(), status(), hint).prop_map(|(content, status, hint)| Draft {
        content: content.into(),
        status,
        active_form: content.into(),
        hint: hint.map(str::to_owned),
        ..Draft::default()
    })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => prop::collection::vec(draft(), 0..3).prop_map(Act::Write),
        1 => (text(), 0..5usize).prop_map(|(content, place)| Act::Add(content, place)),
        1 => (any::<Index>(), text()).prop_map(|(item, content)| Act::Rename(item, content)),
        1 => (any::<Index>(), status()).prop_map(|(item, status)| Act::Status(item, status)),
        1 => (any::<Index>(), 0..5usize).prop_map(|(item, place)| Act::Move(item, place)),
        1 => any::<Index>().prop_map(Act::Delete),
        2 => Just(Act::Undo),
    ]
}

/// The edit, or `None` if the list has no item for it.
fn perform(thread: &mut Thread, act: Act, keep_completed: bool, now: u64) -> Option<Outcome> {
    let ids: Vec<String> = thread.list().iter().map(|item| item.id.clone()).collect();
    let id = |item: Index| (!ids.is_empty()).then(|| item.get(&ids).clone());
    let edit = match act {
        Act::Write(drafts) => {
            return Some(thread.write(Plan { drafts, ..Plan::default() }, None, keep_completed, now));
        }
        Act::Undo => return thread.undo(now).ok(),
        Act::Add(content, place) => Edit::Add { content: content.into(), position: Some(place) },
        Act::Rename(item, content) => Edit::Rename { id: id(item)?, content: content.into() },
        Act::Status(item, status) => Edit::Status { id: id(item)?, status },
        Act::Move(item, position) => Edit::Move { id: id(item)?, position },
        Act::Delete(item) => Edit::Delete { id: id(item)? },
    };
    Some(thread.edit(edit, now).unwrap())
}

/// Writes the tasks, all with the id `hint`, like an agent that renumbers its tasks.
fn send(thread: &mut Thread, tasks: &[(&'static str, Status)], hint: Option<&str>) -> Outcome {
    let mut plan = plan(tasks);
    plan.drafts.iter_mut().for_each(|draft| draft.hint = hint.map(str::to_owned));
    thread.write(plan, None, false, 0)
}

#[test]
fn a_renamed_item_stays_the_same_if_the_agent_sends_it_under_another_id() {
    let mut thread = thread();
    send(&mut thread, &[("Fix the parser", Pending)], None);
    send(&mut thread, &[("Fix the parser", Completed)], Some("2"));
    thread.undo(1).unwrap();
    thread.edit(Edit::Status { id: "t1".into(), status: Completed }, 2).unwrap();
    let before = thread.list().clone();
    let outcome = send(&mut thread, &[("Fix the parser", Completed), ("Ship it", Pending)], Some("2"));
    assert_eq!(outcome.changes.len(), 1);
    assert_eq!(&apply(&before, &outcome.changes), thread.list());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_list_is_the_previous_one_with_the_reported_changes(
        acts in prop::collection::vec(act(), 1..20),
        keep_completed in any::<bool>(),
    ) {
        let mut thread = thread();
        for (now, act) in acts.into_iter().enumerate() {
            let before = thread.list().clone();
            if let Some(outcome) = perform(&mut thread, act, keep_completed, now as u64) {
                prop_assert_eq!(&apply(&before, &outcome.changes), thread.list());
            }
        }
    }
}
