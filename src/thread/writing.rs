//! The agent's writes: which item is which, and what the user changed since.

use std::collections::HashSet;

use super::*;
use crate::identity::{Seen, recognise};
use crate::input::Plan;
use crate::item::Draft;
use crate::merge::{Merged, merge};
use crate::report::Accepted;

impl Thread {
    /// Takes an agent's whole list.
    pub fn write(
        &mut self,
        plan: Plan<'_>,
        source: Option<String>,
        keep_completed: bool,
        now: Millis,
    ) -> Outcome {
        let mut next_id = self.next_id;
        let base = self.base.as_ref().unwrap_or(self.list());
        let (mut theirs, cancelled) = self.identify(base, plan.drafts, plan.cancelled, &mut next_id);
        let forced = if keep_completed { keep_completed_items(base, &mut theirs) } else { Vec::new() };
        let edited = self.base.is_some();
        let (Merged { list, conflicts }, edits) = if edited {
            (merge(base, self.list(), &theirs), diff(base, self.list()))
        } else {
            (Merged { list: theirs, conflicts: Vec::new() }, Vec::new())
        };
        let mut notices: Vec<String> = plan.notices.iter().map(ToString::to_string).collect();
        if !forced.is_empty() {
            let (count, tasks) = (forced.len(), if forced.len() == 1 { "task stays" } else { "tasks stay" });
            notices.push(format!("{count} completed {tasks} completed"));
        }
        let stamp = Stamp {
            timestamp: now,
            author: Author::Agent,
            source,
            operation: "write".into(),
            restores: None,
        };
        // Work again means that the pause is over.
        let mut warnings: Vec<String> = self.set_paused(None, now).into_iter().collect();
        let mut outcome = self.propose(Proposal { list, cancelled, stamp, next_id, known_to_agent: true });
        if edited && outcome.changes.is_empty() {
            warnings.extend(self.record(&Record::Known { number: self.revisions.last() }));
        }
        outcome.result = Accepted {
            list: self.list(),
            changes: &outcome.changes,
            notices: &notices,
            edits: &edits,
            conflicts: &conflicts,
        }
        .text();
        // The state of the disk is the user's business, not the model's.
        notices.append(&mut warnings);
        notices.append(&mut outcome.notices);
        Outcome { notices, forced, ..outcome }
    }

    /// Gives the drafts the ids of the items they are, and the others new ones. The second value
    /// are the ids of the items that the agent cancelled.
    ///
    /// Items are looked for in what the agent knows first, then among what the user has added or
    /// renamed since.
    fn identify(
        &self,
        base: &[Arc<Item>],
        drafts: Vec<Draft<'_>>,
        cancelled: Vec<Draft<'_>>,
        next_id: &mut u64,
    ) -> (List, HashSet<String>) {
        let seen: Vec<Seen<'_>> = drafts.iter().chain(&cancelled).map(Seen::from).collect();
        let known: Vec<Seen<'_>> = base.iter().map(|item| Seen::from(item.as_ref())).collect();
        let mut items: Vec<Option<&Arc<Item>>> =
            recognise(&known, &seen).into_iter().map(|old| old.map(|old| &base[old])).collect();
        if self.base.is_some() {
            let found: HashSet<&str> = items.iter().flatten().map(|item| item.id.as_str()).collect();
            let known: HashMap<&str, &str> =
                base.iter().map(|item| (item.id.as_str(), item.content.as_str())).collect();
            let is_news = |item: &&Arc<Item>| {
                known.get(item.id.as_str()) != Some(&item.content.as_str())
                    && !found.contains(item.id.as_str())
            };
            let added: Vec<&Arc<Item>> = self.list().iter().filter(is_news).collect();
            let left: Vec<usize> = (0..items.len()).filter(|new| items[*new].is_none()).collect();
            let added_seen: Vec<Seen<'_>> = added.iter().map(|item| Seen::from(item.as_ref())).collect();
            let left_seen: Vec<Seen<'_>> = left.iter().map(|new| seen[*new]).collect();
            for (place, old) in recognise(&added_seen, &left_seen).into_iter().enumerate() {
                items[left[place]] = old.map(|old| added[old]);
            }
        }
        let mut items: Vec<Option<Arc<Item>>> = items.into_iter().map(|item| item.cloned()).collect();
        let cancelled = items.split_off(drafts.len()).into_iter().flatten();
        let cancelled = cancelled.map(|item| item.id.clone()).collect();
        let items = drafts.into_iter().zip(items);
        (items.map(|(draft, item)| settle(draft, item, next_id)).collect(), cancelled)
    }
}

/// The item a draft is: the old object where it says the same, so that sharing shows it.
fn settle(draft: Draft<'_>, item: Option<Arc<Item>>, next_id: &mut u64) -> Arc<Item> {
    match item {
        Some(item) if draft.says_the_same(&item) => item,
        Some(item) => {
            let hint = draft.hint.clone().or_else(|| item.hint.clone());
            Arc::new(Item { hint, ..draft.into_item(item.id.clone()) })
        }
        None => {
            let id = format!("t{next_id}");
            *next_id += 1;
            Arc::new(draft.into_item(id))
        }
    }
}

/// Completed items stay completed (the sanitising of the change tracking design); returns their ids.
fn keep_completed_items(base: &[Arc<Item>], theirs: &mut List) -> Vec<String> {
    let completed: HashMap<&str, &Arc<Item>> =
        base.iter().filter(|item| !item.status.is_open()).map(|item| (item.id.as_str(), item)).collect();
    let mut forced = Vec::new();
    for item in theirs.iter_mut().filter(|item| item.status.is_open()) {
        if let Some(base) = completed.get(item.id.as_str()) {
            forced.push(item.id.clone());
            Arc::make_mut(item).status = Status::Completed;
            if item.says_the_same(base) {
                *item = Arc::clone(base);
            }
        }
    }
    forced
}
