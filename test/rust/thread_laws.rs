//! Laws of revisions after any sequence of writes, edits and undos.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use todo_write::change::{Change, apply};
use todo_write::input::Plan;
use todo_write::item::{Draft, List, Status};
use todo_write::thread::{Edit, Outcome, Thread, WriteOptions};

use crate::common::{Completed, Folder, Pending, open, plan, store, thread};

#[derive(Clone, Debug)]
enum Act {
    Write { drafts: Vec<Draft>, cancelled: Vec<Draft>, is_unanswered: bool },
    Add(&'static str, usize),
    Rename(Index, &'static str),
    Status(Index, Status),
    Move(Index, usize),
    Delete(Index),
    Restore(Index),
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
        5 => (prop::collection::vec(draft(), 0..3), prop::collection::vec(draft(), 0..2), any::<bool>())
            .prop_map(|(drafts, cancelled, is_unanswered)| Act::Write { drafts, cancelled, is_unanswered }),
        1 => (text(), 0..5usize).prop_map(|(content, place)| Act::Add(content, place)),
        1 => (any::<Index>(), text()).prop_map(|(item, content)| Act::Rename(item, content)),
        1 => (any::<Index>(), status()).prop_map(|(item, status)| Act::Status(item, status)),
        1 => (any::<Index>(), 0..5usize).prop_map(|(item, place)| Act::Move(item, place)),
        1 => any::<Index>().prop_map(Act::Delete),
        2 => any::<Index>().prop_map(Act::Restore),
        2 => Just(Act::Undo),
    ]
}

/// The edit, or `None` if the list has no item for it.
fn perform(thread: &mut Thread, act: Act, keep_completed: bool, now: u64) -> Option<Outcome> {
    let ids: Vec<String> = thread.list().iter().map(|item| item.id.clone()).collect();
    let id = |item: Index| (!ids.is_empty()).then(|| item.get(&ids).clone());
    let edit = match act {
        Act::Write { drafts, cancelled, is_unanswered } => {
            let options = WriteOptions { keep_completed, is_unanswered, ..WriteOptions::default() };
            return Some(thread.write(Plan { drafts, cancelled, ..Plan::default() }, options, now));
        }
        Act::Undo => return thread.undo(now).ok(),
        Act::Add(content, place) => Edit::Add { content: content.into(), position: Some(place) },
        Act::Rename(item, content) => Edit::Rename { id: id(item)?, content: content.into() },
        Act::Status(item, status) => Edit::Status { id: id(item)?, status },
        Act::Move(item, position) => Edit::Move { id: id(item)?, position },
        Act::Delete(item) => Edit::Delete { id: id(item)? },
        Act::Restore(item) => {
            let dropped = dropped(thread);
            Edit::Restore { id: (!dropped.is_empty()).then(|| item.get(&dropped).clone())? }
        }
    };
    Some(thread.edit(edit, now).unwrap())
}

/// The list as if the agent knew all of it, since that is no change.
fn told(mut list: List) -> List {
    list.iter_mut().for_each(|item| Arc::make_mut(item).told = true);
    list
}

/// The ids of all former items.
fn dropped(thread: &Thread) -> Vec<String> {
    let changes = thread.revisions().iter().flat_map(|revision| &revision.changes);
    let listed = thread.list();
    let gone = changes.map(|change| &change.item_id).filter(|id| listed.iter().all(|item| item.id != **id));
    gone.cloned().collect()
}

/// Writes the tasks, all with the id `hint`, like an agent that renumbers its tasks.
fn send(thread: &mut Thread, tasks: &[(&'static str, Status)], hint: Option<&str>) -> Outcome {
    let mut plan = plan(tasks);
    plan.drafts.iter_mut().for_each(|draft| draft.hint = hint.map(str::to_owned));
    thread.write(plan, WriteOptions::default(), 0)
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
                prop_assert_eq!(&told(apply(&before, &outcome.changes)), &told(thread.list().clone()));
            }
        }
    }

    #[test]
    fn an_open_task_of_the_user_stays_whatever_the_agent_sends(
        acts in prop::collection::vec(act(), 1..20),
        keep_completed in any::<bool>(),
    ) {
        let mut thread = thread();
        for (now, act) in acts.into_iter().enumerate() {
            let is_write = matches!(act, Act::Write { .. });
            let open: Vec<_> = thread.list().iter().filter(|item| item.is_users_open()).cloned().collect();
            let outcome = perform(&mut thread, act, keep_completed, now as u64);
            for (item, outcome) in open.iter().zip(outcome.iter().cycle()).filter(|_| is_write) {
                let is_cancelled = |change: &Change<_>| change.cancelled && change.item_id == item.id;
                let is_listed = thread.list().iter().any(|listed| listed.id == item.id);
                prop_assert!(is_listed || outcome.changes.iter().any(is_cancelled), "{item:?}");
            }
        }
    }

    #[test]
    fn a_thread_read_from_its_journal_knows_what_its_agent_knows(
        acts in prop::collection::vec(act(), 1..20),
        keep_completed in any::<bool>(),
    ) {
        let folder = Folder::new();
        let mut first = store(folder.path());
        for (now, act) in acts.iter().enumerate() {
            perform(open(&mut first), act.clone(), keep_completed, now as u64);
        }
        let list = open(&mut first).list().clone();
        first.close_journals();
        let mut second = store(folder.path());
        prop_assert_eq!(open(&mut second).list(), &list);
        let next = || plan(&[("Fix the parser", Completed)]);
        let outcomes = [&mut first, &mut second].map(|store| {
            store.close_journals();
            open(store).write(next(), WriteOptions::default(), 100).result
        });
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
    }
}
