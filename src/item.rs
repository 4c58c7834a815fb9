//! What a list is made of: items, and drafts that are not items yet.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::wire::wire_names;

wire_names! {
    /// The three states an item can be in; nothing else is ever stored.
    #[allow(missing_docs)]
    pub enum Status {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
    }
}

impl Status {
    /// Pending or in progress.
    pub fn is_open(self) -> bool {
        self != Status::Completed
    }
}

wire_names! {
    /// How much an item matters, where the agent says so.
    #[allow(missing_docs)]
    pub enum Priority {
        High = "high",
        Medium = "medium",
        Low = "low",
    }
}

/// One task of a thread's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Given by the store (`t1`, `t2`, …), stable while the item lives, never reused.
    pub id: String,
    /// The task in the imperative, on one line.
    pub content: String,
    /// Where it stands.
    pub status: Status,
    /// The task while it runs ("Running the tests").
    pub active_form: String,
    /// Absent unless the agent sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The id the agent itself uses for the item: a hint for [`crate::identity`], no part of
    /// what an item says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The ids of the items that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    /// Who works on the item, where several agents share the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Item {
    /// Whether both say the same; ids and hints are not what an item says.
    pub fn says_the_same(&self, other: &Item) -> bool {
        self.status == other.status
            && self.priority == other.priority
            && self.content == other.content
            && self.active_form == other.active_form
            && self.blocked_by == other.blocked_by
            && self.owner == other.owner
    }
}

/// The list of one revision. Items are shared between revisions, so keeping an old list costs
/// only what differs.
pub type List = Vec<Arc<Item>>;

/// One entry of an accepted write, before [`crate::identity`] says which item it is. Its texts are
/// those of the input where they can be: most drafts are an item that is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft<'a> {
    /// As in [`Item::content`]: one line, not blank.
    pub content: Cow<'a, str>,
    /// As in [`Item::status`].
    pub status: Status,
    /// As in [`Item::active_form`]: one line, not blank.
    pub active_form: Cow<'a, str>,
    /// As in [`Item::priority`].
    pub priority: Option<Priority>,
    /// As in [`Item::hint`].
    pub hint: Option<String>,
    /// As in [`Item::blocked_by`], but the agent's own ids until the items are known.
    pub blocked_by: Vec<String>,
    /// As in [`Item::owner`].
    pub owner: Option<String>,
}

impl Draft<'_> {
    /// The item that this draft is, under the id the store gives it.
    pub fn into_item(self, id: String) -> Item {
        Item {
            id,
            content: self.content.into_owned(),
            status: self.status,
            active_form: self.active_form.into_owned(),
            priority: self.priority,
            hint: self.hint,
            blocked_by: self.blocked_by,
            owner: self.owner,
        }
    }

    /// The same, with texts of its own.
    pub fn into_owned(self) -> Draft<'static> {
        Draft {
            content: Cow::Owned(self.content.into_owned()),
            status: self.status,
            active_form: Cow::Owned(self.active_form.into_owned()),
            priority: self.priority,
            hint: self.hint,
            blocked_by: self.blocked_by,
            owner: self.owner,
        }
    }

    /// Whether the item says the same as the draft, so that it can stand as it is. Another hint
    /// alone is no change: it would be in the list and in no record of what changed.
    pub fn says_the_same(&self, item: &Item) -> bool {
        self.status == item.status
            && self.priority == item.priority
            && self.content == item.content
            && self.active_form == item.active_form
            && self.blocked_by == item.blocked_by
            && self.owner == item.owner
    }
}
