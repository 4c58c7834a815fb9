//! The items of lists as Lisp has them.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::ser::Sparse;
use crate::list::item::{Author, Item};

/// An item as Lisp has it: the journal names its fields otherwise.
pub(super) struct ShownItem(Arc<Item>);

impl From<&Arc<Item>> for ShownItem {
    fn from(item: &Arc<Item>) -> ShownItem {
        ShownItem(item.clone())
    }
}

impl Serialize for ShownItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ShownItem(item) = self;
        let mut fields = serializer.serialize_struct("Item", 9)?;
        fields.serialize_field("status", &item.status)?;
        fields.serialize_field("id", &item.id)?;
        fields.serialize_field("content", &item.content)?;
        fields.serialize_field("activeForm", &item.active_form)?;
        fields.serialize_field("priority", &item.priority)?;
        fields.serialize_field("addedBy", &Some(item.added_by).filter(|author| *author != Author::Agent))?;
        fields.serialize_field("untold", &!item.told)?;
        fields.serialize_field("blockedBy", &item.blocked_by)?;
        fields.serialize_field("owner", &item.owner)?;
        fields.end()
    }
}

/// Items as Lisp has them.
pub(super) fn shown(items: &[Arc<Item>]) -> Sparse<Vec<ShownItem>> {
    Sparse(items.iter().map(ShownItem::from).collect())
}
