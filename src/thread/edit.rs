//! The user's edits of a thread's list.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;

use super::record::RevisionRecord;
use super::revision::{Operation, Removed, Stamp};
use super::write::left_blockers;
use super::{Outcome, Thread};
use crate::error::{Error, Problem};
use crate::events::Millis;
use crate::list::change::{apply, diff};
use crate::list::item::{Author, Draft, Item, List, Status};
use crate::list::merge::weave;
use crate::list::report;
use crate::text::{excerpt, is_blank, one_line};

/// One change by the user. Positions count from 0.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // Fields as in `Item`.
pub enum Edit {
    /// Adds a pending item, by default at the end.
    Add {
        content: String,
        #[serde(default)]
        position: Option<usize>,
    },
    /// Changes the content and the activeForm.
    Rename { id: String, content: String },
    /// Changes the status.
    Status { id: String, status: Status },
    /// Changes the position.
    Move { id: String, position: usize },
    /// Removes the item.
    Delete { id: String },
    /// Brings back an item that was removed. It is the user's from then on.
    Restore { id: String },
}

impl Edit {
    /// Puts its content, if it has one, on one line.
    ///
    /// # Errors
    /// The content is blank, or longer than `max_length` characters.
    pub fn normalized(mut self, max_length: usize) -> Result<Edit, Error> {
        if let Edit::Add { content, .. } | Edit::Rename { content, .. } = &mut self {
            let line = one_line(content).0.into_owned();
            let wrong = |expected| {
                Error::Argument(Problem::new("content", format!("\"{}\"", excerpt(content, 60)), expected))
            };
            if is_blank(&line) {
                return Err(wrong("text that is not blank".to_owned()));
            }
            if line.chars().count() > max_length {
                return Err(wrong(format!("at most {max_length} characters")));
            }
            *content = line;
        }
        Ok(self)
    }
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
                let mut item = draft.into_item(format!("t{next_id}"));
                item.added_by = Author::User;
                let place = position.unwrap_or(list.len()).min(list.len());
                list.insert(place, Arc::new(item));
                next_id += 1;
                Operation::Add
            }
            Edit::Rename { id, content } => {
                let item = self.item_mut(&mut list, &id)?;
                // The same text must not change the activeForm.
                if item.content != content {
                    item.active_form = content.clone();
                    item.content = content;
                }
                Operation::Rename
            }
            Edit::Status { id, status } => {
                self.item_mut(&mut list, &id)?.status = status;
                Operation::Status
            }
            Edit::Move { id, position } => {
                let item = list.remove(self.place(&id)?);
                list.insert(position.min(list.len()), item);
                Operation::Move
            }
            Edit::Delete { id } => {
                list.remove(self.place(&id)?);
                Operation::Delete
            }
            Edit::Restore { id } => {
                list = self.with_restored(&id)?;
                Operation::Restore
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
        let numbers = self.revisions.iter().rev().map(|revision| revision.number);
        let numbers = numbers.chain([self.revisions.first()]);
        let (target, changes) = numbers
            .filter(|number| *number < self.undo_from)
            .map_while(|number| Some((number, diff(self.list(), &self.revisions.list(number)?))))
            .find(|(_, changes)| !changes.is_empty())
            .ok_or_else(nothing)?;
        // Unchanged items keep their current hints, which the journal does not record.
        let list = apply(self.list(), &changes);
        let stamp = Stamp { restores: Some(target), ..Stamp::new(Author::User, Operation::Undo, now) };
        Ok(self.answer_user(list, stamp, self.next_id))
    }

    /// The list with an item that was removed, in its old place. It does not come back in progress, since
    /// the agent does not work on it.
    fn with_restored(&self, id: &str) -> Result<List, Error> {
        let removed = self.revisions.removals().iter().find(|removed| removed.item.id == id);
        let Some(Removed { item, revision, after, .. }) = removed else { return Err(self.no_item(id)) };
        let status = if item.status == Status::InProgress { Status::Pending } else { item.status };
        let mut restored = Item { status, ..Item::clone(item) };
        restored.added_by = Author::User;
        let restored = Arc::new(restored);
        let now: HashMap<&str, &Arc<Item>> =
            self.list().iter().chain([&restored]).map(|item| (item.id.as_str(), item)).collect();
        let before = self.revisions.list(revision.saturating_sub(1)).unwrap_or_else(|| {
            // Of a list that only the journal has, the item before it is known.
            let after = after.as_ref().and_then(|id| now.get(id.as_str()));
            after.into_iter().copied().chain([&restored]).cloned().collect()
        });
        let ids = weave(self.list(), &before, |id| now.contains_key(id));
        Ok(ids.into_iter().map(|id| Arc::clone(now[id])).collect())
    }

    fn answer_user(&mut self, list: List, stamp: Stamp, next_id: u64) -> Outcome {
        let (number, changes) = (self.revisions.last() + 1, Vec::new());
        let made = RevisionRecord { number, stamp, changes, next_id, sent: None, unanswered: false };
        let notices = left_blockers(self.list(), &list);
        let outcome = self.revise(list, made, &HashSet::new());
        let mut outcome = Outcome { notices, ..outcome };
        outcome.result = report::summary(self.list());
        outcome
    }

    fn place(&self, id: &str) -> Result<usize, Error> {
        self.list().iter().position(|item| item.id == id).ok_or_else(|| self.no_item(id))
    }

    fn no_item(&self, id: &str) -> Error {
        Error::NoItem { thread: self.key.clone(), id: id.to_owned() }
    }

    fn item_mut<'l>(&self, list: &'l mut List, id: &str) -> Result<&'l mut Item, Error> {
        let place = self.place(id)?;
        Ok(Arc::make_mut(&mut list[place]))
    }
}
