//! Random sessions: what an agent, its host and the user do with one thread.

use super::Changeable;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::list::input::Plan;
use todo_write::list::item::{Draft, Status};
use todo_write::thread::activity::{Activity, Ending};
use todo_write::thread::revision::Revision;
use todo_write::thread::{CallName, Edit, Outcome, Thread, WriteOptions};

#[derive(Clone, Debug)]
pub enum Act {
    Write {
        drafts: Vec<Draft>,
        cancelled: Vec<Draft>,
        is_unanswered: bool,
    },
    Add(&'static str, usize),
    Rename(Index, &'static str),
    Status(Index, Status),
    Move(Index, usize),
    Delete(Index),
    Restore(Index),
    Undo,
    Pause,
    Resume,
    Activity(Activity),
    EndTurn,
    Observe(Type),
    /// The agent is told of the user's edits otherwise than by a result.
    Tell,
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

/// An act that may change the list.
pub fn act() -> impl Strategy<Value = Act> {
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

/// An act of any kind.
pub fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        10 => act(),
        1 => Just(Act::Pause),
        1 => Just(Act::Resume),
        2 => select(vec![Activity::Working, Activity::Waiting, Activity::Idle]).prop_map(Act::Activity),
        1 => Just(Act::EndTurn),
        2 => Just(Act::Tell),
        1 => select(vec![Type::Title, Type::Thoughts, Type::ToolCall]).prop_map(Act::Observe),
    ]
}

/// The outcome, or `None` if the act is no change of the list or the list has no item for it.
pub fn perform(thread: &mut impl Changeable, act: Act, keep_completed: bool, now: u64) -> Option<Outcome> {
    thread.change(|thread| perform_in(thread, act, keep_completed, now))
}

fn perform_in(thread: &mut Thread, act: Act, keep_completed: bool, now: u64) -> Option<Outcome> {
    let ids: Vec<String> = thread.list().iter().map(|item| item.id.clone()).collect();
    let id = |item: Index| (!ids.is_empty()).then(|| item.get(&ids).clone());
    let edit = match act {
        Act::Write { drafts, cancelled, is_unanswered } => {
            let call = (!is_unanswered).then_some(CallName::Unknown);
            let options = WriteOptions { source: Some("test".into()), keep_completed, is_unanswered, call };
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
        other => {
            report(thread, other, now);
            return None;
        }
    };
    Some(thread.edit(edit, now).unwrap())
}

/// What does not change the list.
fn report(thread: &mut Thread, act: Act, now: u64) {
    match act {
        Act::Pause => thread.set_paused(Some("C-g".into()), now),
        Act::Resume => thread.set_paused(None, now),
        Act::Tell => drop(thread.take_untold()),
        Act::Activity(activity) => thread.set_activity(activity, now),
        Act::EndTurn => thread.end_turn("end of turn".into(), Ending::EndOfTurn, now),
        Act::Observe(kind) => {
            let details = Details { trace_id: Some("trace".into()), ..Details::default() };
            thread.observe(Payload::new(kind, json!(format!("said at {now}"))), details, now);
        }
        other => unreachable!("{other:?}"),
    }
}

/// The ids of all former items.
fn dropped(thread: &Thread) -> Vec<String> {
    let changes = thread.revisions().iter().flat_map(Revision::changes);
    let listed = thread.list();
    changes.map(|change| change.item_id).filter(|id| listed.iter().all(|item| item.id != *id)).collect()
}
