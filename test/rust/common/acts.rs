//! Random sessions: what an agent, its host and the user do with one thread. Bytes encode them, for the fuzzer
//! and for proptest.

use super::{Changeable, ended};
use arbitrary::{Result, Unstructured};
use todo_write::events::observation::{Details, Payload, Phase, Type};
use todo_write::list::input::Plan;
use todo_write::list::item::{Draft, Status};
use todo_write::text::{is_blank, one_line};
use todo_write::thread::activity::{Decision, Doing, Ending};
use todo_write::thread::revision::Revision;
use todo_write::thread::{Call, Edit, Outcome, Thread, WriteOptions};

/// Places of items are taken modulo the length of the list.
#[derive(Clone, Debug)]
pub enum Act {
    Write {
        drafts: Vec<Draft>,
        cancelled: Vec<Draft>,
        is_unanswered: bool,
    },
    Add(String, Option<usize>),
    Rename(usize, String),
    Status(usize, Status),
    Move(usize, usize),
    Delete(usize),
    Restore(usize),
    Undo,
    Pause(Option<String>),
    Doing(Doing),
    EndTurn,
    Observe(Type, Option<Option<Phase>>, String),
    /// The agent is told of the user's edits otherwise than by a result.
    Tell,
}

/// Some are alike, so that it is hard to say which task is which.
const TEXTS: [&str; 8] = [
    "Fix the parser",
    "Fix the parser now",
    "Fix the printer",
    "Write tests",
    "write tests",
    "Ship it",
    "第一",
    "x",
];

impl Act {
    /// An act that may change the list.
    pub fn of_list(data: &mut Unstructured<'_>) -> Result<Act> {
        Ok(match data.int_in_range(0..=14)? {
            0..=4 => {
                let most = *data.choose(&[2, 2, 10])?;
                let cancelled = if data.arbitrary()? { drafts(data, 1)? } else { Vec::new() };
                Act::Write { drafts: drafts(data, most)?, cancelled, is_unanswered: data.arbitrary()? }
            }
            5..=6 => Act::Add(text(data)?, if data.ratio(1, 4)? { None } else { Some(place(data)?) }),
            7 => Act::Rename(place(data)?, text(data)?),
            8 => Act::Status(place(data)?, status(data)?),
            9 => Act::Move(place(data)?, place(data)?),
            10 => Act::Delete(place(data)?),
            11..=12 => Act::Restore(place(data)?),
            _ => Act::Undo,
        })
    }

    /// An act of any kind.
    pub fn any(data: &mut Unstructured<'_>) -> Result<Act> {
        Ok(match data.int_in_range(0..=17)? {
            0..=9 => Act::of_list(data)?,
            10..=11 => Act::Pause(if data.arbitrary()? { Some(text(data)?) } else { None }),
            12..=13 => Act::Doing(*data.choose(&[Doing::Working, Doing::Waiting, Doing::Idle])?),
            14 => Act::EndTurn,
            15..=16 => Act::Tell,
            _ => {
                let phase = *data.choose(&[None, Some(None), Some(Some(Phase::Execution))])?;
                Act::Observe(data.choose(Type::NAMES)?.0, phase, text(data)?)
            }
        })
    }

    /// Whether the user edits the list.
    pub fn is_edit(&self) -> bool {
        use Act::{Add, Delete, Move, Rename, Status};
        matches!(self, Add(..) | Rename(..) | Status(..) | Move(..) | Delete(_))
    }
}

/// Up to `most` acts that `act` reads.
#[cfg(test)]
pub fn acts(
    act: fn(&mut Unstructured<'_>) -> Result<Act>,
    most: usize,
) -> impl proptest::prelude::Strategy<Value = Vec<Act>> {
    use proptest::prelude::{Strategy, any, prop};
    prop::collection::vec(any::<u8>(), 1..most * 20).prop_map(move |bytes| {
        let mut data = Unstructured::new(&bytes);
        std::iter::from_fn(|| (!data.is_empty()).then(|| act(&mut data).ok())?).take(most).collect()
    })
}

fn place(data: &mut Unstructured<'_>) -> Result<usize> {
    data.int_in_range(0..=11)
}

fn text(data: &mut Unstructured<'_>) -> Result<String> {
    if !data.ratio(1, 8)? {
        return Ok((*data.choose(&TEXTS)?).into());
    }
    let length = data.int_in_range(0..=12)?;
    let bytes = data.bytes(length.min(data.len()))?;
    let line = one_line(&String::from_utf8_lossy(bytes)).0.into_owned();
    Ok(if is_blank(&line) { "Something".into() } else { line })
}

fn status(data: &mut Unstructured<'_>) -> Result<Status> {
    Ok(*data.choose(&[Status::Pending, Status::InProgress, Status::Completed])?)
}

/// Up to `most` tasks, some with explicit ids, which the agent may change from call to call.
pub fn drafts(data: &mut Unstructured<'_>, most: usize) -> Result<Vec<Draft>> {
    let mut drafts = Vec::new();
    while drafts.len() < most && data.ratio(3, 4)? {
        let content = text(data)?;
        let active_form = if data.ratio(1, 4)? { text(data)? } else { content.clone() };
        let hint = data.choose(&[None, None, Some("1"), Some("2")])?.map(str::to_owned);
        drafts.push(Draft { content, status: status(data)?, active_form, hint, ..Draft::default() });
    }
    Ok(drafts)
}

/// The outcome, or `None` if the act is no change of the list or the list has no item for it.
pub fn perform(thread: &mut impl Changeable, act: Act, keep_completed: bool, now: u64) -> Option<Outcome> {
    thread.change(|thread| perform_in(thread, act, keep_completed, now))
}

fn perform_in(thread: &mut Thread, act: Act, keep_completed: bool, now: u64) -> Option<Outcome> {
    let ids: Vec<String> = thread.list().iter().map(|item| item.id.clone()).collect();
    let id = |place: usize| (!ids.is_empty()).then(|| ids[place % ids.len()].clone());
    let edit = match act {
        Act::Write { drafts, cancelled, is_unanswered } => {
            let call = (!is_unanswered).then(Call::default);
            let source = Some("test".into());
            let options = WriteOptions { source, keep_completed, is_unanswered, call, beside: None };
            return Some(thread.write(Plan { drafts, cancelled, ..Plan::default() }, options, now));
        }
        Act::Undo => return thread.undo(now).ok(),
        Act::Add(content, position) => Edit::Add { content, position },
        Act::Rename(place, content) => Edit::Rename { id: id(place)?, content },
        Act::Status(place, status) => Edit::Status { id: id(place)?, status },
        Act::Move(place, position) => Edit::Move { id: id(place)?, position },
        Act::Delete(place) => Edit::Delete { id: id(place)? },
        Act::Restore(place) => {
            let dropped = dropped(thread);
            Edit::Restore { id: (!dropped.is_empty()).then(|| dropped[place % dropped.len()].clone())? }
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
        Act::Pause(reason) => thread.set_paused(reason, now),
        Act::Tell => drop(thread.take_untold()),
        Act::Doing(doing) => thread.follow(&Decision::new(doing, now), now),
        Act::EndTurn => thread.follow(&ended(Ending::EndOfTurn, "end of turn"), now),
        Act::Observe(kind, phase, content) => {
            let details = Details { phase, trace_id: Some("trace".into()), ..Details::default() };
            thread.observe(Payload::new(kind, content.into()), details, now);
        }
        other => unreachable!("{other:?}"),
    }
}

/// The ids of all former items.
fn dropped(thread: &Thread) -> Vec<String> {
    let changes = thread.revisions().iter().flat_map(|revision| revision.changes.clone());
    let listed = thread.list();
    changes.map(|change| change.item_id).filter(|id| listed.iter().all(|item| item.id != *id)).collect()
}
