//! Random changes of a list.

use std::sync::Arc;

use proptest::prelude::*;
use todo_write::list::item::{Item, Status};

use super::item;

/// One change of a list. Places are taken modulo its length.
#[derive(Clone, Debug)]
pub enum Step {
    Insert(usize, u8),
    Remove(usize),
    RemoveRun(usize, usize),
    Move(usize, usize),
    Reverse(usize, usize),
    Rename(usize, u8),
    Status(usize, Status),
    RenameAll(u8),
    Clear,
}

pub fn step() -> impl Strategy<Value = Step> {
    let place = 0..2_000usize;
    let status = prop::sample::select(vec![Status::Pending, Status::InProgress, Status::Completed]);
    prop_oneof![
        6 => (place.clone(), 0..4u8).prop_map(|(at, text)| Step::Insert(at, text)),
        4 => place.clone().prop_map(Step::Remove),
        1 => (place.clone(), 0..300usize).prop_map(|(at, count)| Step::RemoveRun(at, count)),
        6 => (place.clone(), place.clone()).prop_map(|(from, to)| Step::Move(from, to)),
        1 => (place.clone(), place.clone()).prop_map(|(from, to)| Step::Reverse(from, to)),
        4 => (place.clone(), 0..4u8).prop_map(|(at, text)| Step::Rename(at, text)),
        4 => (place, status).prop_map(|(at, status)| Step::Status(at, status)),
        1 => (0..4u8).prop_map(Step::RenameAll),
        1 => Just(Step::Clear),
    ]
}

pub fn text(number: u8) -> String {
    format!("Text {number}")
}

fn change(list: &mut [Arc<Item>], at: usize, change: impl FnOnce(&mut Item)) {
    if let Some(length) = list.len().checked_sub(1) {
        change(Arc::make_mut(&mut list[at.min(length)]));
    }
}

/// The list after all steps. The ids of new items count from `next_id`.
pub fn walk(list: &[Arc<Item>], steps: &[Step], next_id: &mut usize) -> Vec<Arc<Item>> {
    let mut list = list.to_vec();
    for step in steps {
        let length = list.len();
        let at = |place: usize| place % length.max(1);
        match *step {
            Step::Insert(place, number) => {
                list.insert(
                    place % (length + 1),
                    item(&format!("t{next_id}"), &text(number), Status::Pending),
                );
                *next_id += 1;
            }
            Step::Clear => list.clear(),
            _ if length == 0 => {}
            Step::Remove(place) => drop(list.remove(at(place))),
            Step::RemoveRun(place, count) => drop(list.drain(at(place)..length.min(at(place) + count))),
            Step::Move(from, to) => {
                let item = list.remove(at(from));
                list.insert(to % length, item);
            }
            Step::Reverse(a, b) => list[at(a).min(at(b))..=at(a).max(at(b))].reverse(),
            Step::Rename(place, number) => change(&mut list, at(place), |item| item.content = text(number)),
            Step::Status(place, status) => change(&mut list, at(place), |item| item.status = status),
            Step::RenameAll(number) => (0..length).for_each(|place| {
                change(&mut list, place, |item| item.active_form = text(number));
            }),
        }
    }
    list
}
