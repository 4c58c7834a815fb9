//! The user's edits of a thread's list.

use std::collections::HashSet;
use std::sync::Arc;

use super::{NextRevision, Outcome, Thread};
use crate::change::{apply, diff};
use crate::clock::Millis;
use crate::error::Error;
use crate::item::{Draft, Item, List, Status};
use crate::report;
use crate::revision::{Author, Stamp};

/// One change by the user. Positions count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Fields as in `Item`.
pub enum Edit {
    /// Adds a pending item, by default at the end.
    Add { content: String, position: Option<usize> },
    /// Changes the content and the activeForm.
    Rename { id: String, content: String },
    /// Changes the status.
    Status { id: String, status: Status },
    /// Changes the position.
    Move { id: String, position: usize },
    /// Removes the item.
    Delete { id: String },
}

impl Thread {
    /// Makes a change for the user.
    ///
    /// # Errors
    /// [`Error::NoItem`].
    pub fn edit(&mut self, edit: Edit, now: Millis) -> Result<Outcome, Error> {
        let mut list = self.list().clone();
        let mut next_id = self.next_id;
        let operation = match edit {
            Edit::Add { content, position } => {
                let draft = Draft { active_form: content.clone(), content, ..Draft::default() };
                let place = position.unwrap_or(list.len()).min(list.len());
                list.insert(place, Arc::new(draft.into_item(format!("t{next_id}"))));
                next_id += 1;
                "add"
            }
            Edit::Rename { id, content } => {
                let item = self.item_mut(&mut list, &id)?;
                // The same text must not change the activeForm.
                if item.content != content {
                    item.active_form = content.clone();
                    item.content = content;
                }
                "rename"
            }
            Edit::Status { id, status } => {
                self.item_mut(&mut list, &id)?.status = status;
                "status"
            }
            Edit::Move { id, position } => {
                let item = list.remove(self.place(&id)?);
                list.insert(position.min(list.len()), item);
                "move"
            }
            Edit::Delete { id } => {
                list.remove(self.place(&id)?);
                "delete"
            }
        };
        let stamp = Stamp::new(Author::User, operation, now);
        Ok(self.answer_user(list, stamp, next_id))
    }

    /// Restores the list before the last change that is not undone yet.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`].
    pub fn undo(&mut self, now: Millis) -> Result<Outcome, Error> {
        let nothing = || Error::NothingToUndo { thread: self.key.clone() };
        let numbers = self.revisions.iter().rev().map(|revision| revision.number).chain([0]);
        let (target, changes) = numbers
            .filter(|number| *number < self.undo_from)
            .map_while(|number| Some((number, diff(self.list(), &self.revisions.list(number)?))))
            .find(|(_, changes)| !changes.is_empty())
            .ok_or_else(nothing)?;
        // Unchanged items keep their current hints, which the journal does not record.
        let list = apply(self.list(), &changes);
        let stamp = Stamp { restores: Some(target), ..Stamp::new(Author::User, "undo", now) };
        Ok(self.answer_user(list, stamp, self.next_id))
    }

    fn answer_user(&mut self, list: List, stamp: Stamp, next_id: u64) -> Outcome {
        let next = NextRevision { list, stamp, next_id, known_to_agent: false };
        let mut outcome = self.revise(next, &HashSet::new());
        outcome.result = report::summary(self.list());
        outcome
    }

    fn place(&self, id: &str) -> Result<usize, Error> {
        let missing = || Error::NoItem { thread: self.key.clone(), id: id.to_owned() };
        self.list().iter().position(|item| item.id == id).ok_or_else(missing)
    }

    fn item_mut<'l>(&self, list: &'l mut List, id: &str) -> Result<&'l mut Item, Error> {
        let place = self.place(id)?;
        Ok(Arc::make_mut(&mut list[place]))
    }
}
