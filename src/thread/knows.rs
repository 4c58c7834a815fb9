//! What the agent knows of its list, and of the user's edits.
//!
//! An agent knows what it sent, and what a result told it. Its next write is merged with the user's edits
//! since then; see [`crate::list::merge`].

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::list::item::{Author, Item, List};
use crate::list::merge::{by_id, merge};
use crate::named::is_default;

/// The list that the agent knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Knows {
    /// The current one.
    #[default]
    All,
    /// An earlier or another one.
    Until {
        /// That list.
        list: List,
        /// `list` with the user's edits that the agent was told of otherwise than by a result, if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        noted: Option<List>,
    },
}

/// What the agent knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentsView {
    /// The list that it knows.
    #[serde(skip_serializing_if = "is_default")]
    pub knows: Knows,
    /// Whether the result of its last write reached it; none before its first write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<bool>,
    /// The ids of the listed items of the user that it was told of a second time.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub reminded: BTreeSet<String>,
}

impl AgentsView {
    /// The list that it knows, if `current` is the current one.
    pub(super) fn base<'l>(&'l self, current: &'l List) -> &'l List {
        match &self.knows {
            Knows::All => current,
            Knows::Until { list, .. } => list,
        }
    }

    /// The list from which the user's edits are new to it.
    pub(super) fn noted<'l>(&'l self, current: &'l List) -> &'l List {
        match &self.knows {
            Knows::Until { noted: Some(noted), .. } => noted,
            _ => self.base(current),
        }
    }

    /// Whether the result of its last write did not reach it, so that it knows only its own list.
    pub(super) fn is_unanswered(&self) -> bool {
        self.heard == Some(false)
    }

    /// Sets the list that it knows; none for `current`. `before` was the current list before the agent's
    /// write, if it made one.
    pub(super) fn learn(&mut self, known: Option<List>, before: Option<&List>, current: &List) {
        let old = std::mem::take(&mut self.knows);
        let Some(list) = known else { return };
        let noted = match (old, before) {
            (Knows::Until { list: old, noted: Some(noted) }, Some(before)) => {
                Some(noted_after(&noted, [&old, &list], [before, current]))
            }
            (Knows::Until { noted, .. }, _) => noted,
            (Knows::All, _) => None,
        };
        self.knows = Knows::Until { list, noted };
    }

    /// Notes that it was told of all edits of the user that led to a list.
    pub(super) fn note(&mut self, list: List) {
        if let Knows::Until { noted, .. } = &mut self.knows {
            *noted = Some(list);
        }
    }

    /// Notes that it was told again of the items with these ids. Former ones that left the list are forgotten.
    pub(super) fn remind(&mut self, ids: &[String], current: &List) {
        self.reminded.retain(|id| current.iter().any(|item| item.id == *id));
        self.reminded.extend(ids.iter().cloned());
    }
}

/// What an agent was told of, after its write changed the list that it knows and the current one, each
/// given before and after. Where it was told of all, it knows what came of its write; elsewhere, its write
/// changes what it was told of as it changes the user's list.
fn noted_after(noted: &List, known: [&List; 2], lists: [&List; 2]) -> List {
    let [noted_items, listed] = [noted, lists[0]].map(|list| by_id(list));
    let is_told = |item: &&Arc<Item>| match (noted_items.get(item.id.as_str()), listed.get(item.id.as_str()))
    {
        (Some(noted), Some(item)) => noted.is_unchanged_from(item),
        (noted, item) => noted.is_none() && item.is_none(),
    };
    let merged = merge(known[0], noted, known[1]).list;
    lists[1].iter().filter(is_told).chain(merged.iter().filter(|item| !is_told(item))).cloned().collect()
}

/// Marks the user's items in a list as told if the agent knows them. It knows the list itself if there
/// is no `base`.
pub(super) fn mark_told(list: &mut [Arc<Item>], base: Option<&[Arc<Item>]>) {
    if list.iter().all(|item| item.added_by == Author::Agent) {
        return;
    }
    let known: Option<HashSet<&str>> = base.map(|base| base.iter().map(|item| item.id.as_str()).collect());
    for item in list.iter_mut().filter(|item| item.added_by == Author::User) {
        let told = known.as_ref().is_none_or(|known| known.contains(item.id.as_str()));
        if item.told != told {
            Arc::make_mut(item).told = told;
        }
    }
}
