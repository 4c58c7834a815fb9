//! The items of a list, and the drafts that become items.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::named::{is_default, wire_names};

wire_names! {
    /// The status of an item.
    #[derive(Default)]
    #[allow(missing_docs)]
    pub enum Status {
        #[default]
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
    /// The priority of an item, if the agent sent one.
    #[allow(missing_docs)]
    pub enum Priority {
        High = "high",
        Medium = "medium",
        Low = "low",
    }
}

wire_names! {
    /// The agent or the user, as the author of an item or a revision.
    #[derive(Default)]
    #[allow(missing_docs)]
    pub enum Author {
        #[default]
        Agent = "agent",
        User = "user",
    }
}

/// One task of a thread's list. The status, which changes most often, is stored apart, so that revisions
/// share the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Pending, in progress or completed.
    pub status: Status,
    /// The rest. A change copies it if it is shared.
    #[serde(flatten)]
    pub body: Arc<Body>,
}

/// An item without its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Body {
    /// Assigned by the store (`t1`, `t2`, …), stable, never reused.
    pub id: String,
    /// The task in the imperative, on one line.
    pub content: String,
    /// The task in the present continuous ("Running the tests").
    pub active_form: String,
    /// Absent unless the agent sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The id that the agent sent for the item, a hint for [`crate::list::identity`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The ids of the items that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    /// The agent that works on the item, if several share the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The user if the user added or restored the item. Such an item stays until the user deletes it
    /// or the agent completes or cancels it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub added_by: Author,
    /// Whether the agent knows of the item. Only an item of the user can be untold.
    #[serde(default = "always", skip_serializing_if = "Clone::clone")]
    pub told: bool,
}

fn always() -> bool {
    true
}

impl Deref for Item {
    type Target = Body;

    fn deref(&self) -> &Body {
        &self.body
    }
}

impl DerefMut for Item {
    fn deref_mut(&mut self) -> &mut Body {
        Arc::make_mut(&mut self.body)
    }
}

impl Item {
    /// Whether this is an open item of the user, which only the user can remove.
    pub fn is_users_open(&self) -> bool {
        self.added_by == Author::User && self.status.is_open()
    }

    /// The names of the fields that differ, as on the wire. Ids, hints, the author and whether the agent
    /// was told do not count.
    pub(crate) fn differing_fields(&self, other: &Item) -> Vec<&'static str> {
        let differs = [
            ("content", self.content != other.content),
            ("status", self.status != other.status),
            ("activeForm", self.active_form != other.active_form),
            ("priority", self.priority != other.priority),
            ("blockedBy", self.blocked_by != other.blocked_by),
            ("owner", self.owner != other.owner),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// Whether no field that a write can change differs.
    pub fn is_unchanged_from(&self, other: &Item) -> bool {
        self.differing_fields(other).is_empty()
    }
}

/// The list of one revision. Revisions share their unchanged items.
pub type List = Vec<Arc<Item>>;

/// Whether two lists have the same items, in the same order, without a change.
pub fn is_same_list(a: &[Arc<Item>], b: &[Arc<Item>]) -> bool {
    let is_same = |(a, b): (&Arc<Item>, &Arc<Item>)| a.id == b.id && a.is_unchanged_from(b);
    a.len() == b.len() && a.iter().zip(b).all(is_same)
}

/// One task of an accepted write, before [`crate::list::identity`] decides which item it is. The fields are those of
/// [`Item`]; the texts are one line each and not blank, and `blocked_by` has the agent's own ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Draft {
    pub content: String,
    pub status: Status,
    pub active_form: String,
    pub priority: Option<Priority>,
    pub hint: Option<String>,
    pub blocked_by: Vec<String>,
    pub owner: Option<String>,
}

impl Draft {
    /// Whether this differs from an item in its status or hint at most.
    pub(crate) fn is_task_of(&self, item: &Item) -> bool {
        self.content == item.content
            && self.active_form == item.active_form
            && self.priority == item.priority
            && self.blocked_by == item.blocked_by
            && self.owner == item.owner
    }

    /// The agent's item with this id.
    pub fn into_item(self, id: String) -> Item {
        let Draft { content, status, active_form, priority, hint, blocked_by, owner } = self;
        let (added_by, told) = (Author::Agent, true);
        let body = Body { id, content, active_form, priority, hint, blocked_by, owner, added_by, told };
        Item { status, body: Arc::new(body) }
    }
}
