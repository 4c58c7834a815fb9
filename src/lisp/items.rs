//! The items of lists as Lisp has them.

use std::sync::Arc;

use serde::Serialize;

use super::ser::Sparse;
use crate::list::item::{Author, Item, Priority, Status};

/// An item as Lisp has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownItem<'i> {
    status: Status,
    id: &'i str,
    content: &'i str,
    active_form: &'i str,
    priority: Option<Priority>,
    added_by: Option<Author>,
    untold: bool,
    blocked_by: &'i [String],
    owner: Option<&'i str>,
}

impl<'i> From<&'i Arc<Item>> for ShownItem<'i> {
    fn from(item: &'i Arc<Item>) -> ShownItem<'i> {
        ShownItem {
            status: item.status,
            id: &item.id,
            content: &item.content,
            active_form: &item.active_form,
            priority: item.priority,
            added_by: Some(item.added_by).filter(|author| *author != Author::default()),
            untold: !item.told,
            blocked_by: &item.blocked_by,
            owner: item.owner.as_deref(),
        }
    }
}

/// Items as Lisp has them.
pub(super) fn shown(items: &[Arc<Item>]) -> Sparse<Vec<ShownItem<'_>>> {
    Sparse(items.iter().map(ShownItem::from).collect())
}
