//! The agent's writes: finding the items, and merging the user's edits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::knows::Knows;
use super::record::{Record, RevisionRecord};
use super::revision::{Operation, Stamp};
use super::{Call, Outcome, Thread};
use crate::events::Millis;
use crate::list::change::{ChangeKind, diff};
use crate::list::identity::{Features, recognize, recognize_equal};
use crate::list::input::Plan;
use crate::list::item::{Author, Draft, Item, List, Status, is_same_list};
use crate::list::merge::{Merged, by_id, merge};
use crate::list::report::{accepted, edited, still_open};
use crate::text::excerpt;

/// How a write is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The name of the host.
    pub source: Option<String>,
    /// Whether completed items that are sent open stay completed.
    pub keep_completed: bool,
    /// Whether the result cannot reach the agent, as with a transcript.
    pub is_unanswered: bool,
    /// The call, if a transcript may tell of it.
    pub call: Option<Call>,
    /// When a file beside the transcript got the list, which lines that are read later may precede.
    pub beside: Option<Millis>,
}

impl Thread {
    /// Accepts an agent's whole list.
    pub fn write(&mut self, plan: Plan, options: WriteOptions, now: Millis) -> Outcome {
        let WriteOptions { source, keep_completed, is_unanswered, call, beside } = options;
        let agent_time = call.as_ref().map(|call| call.time.unwrap_or(now)).or(beside);
        let mut next_id = self.next_id;
        let base = self.base();
        let (mut theirs, cancelled) = self.identify(base, plan.drafts, plan.cancelled, &mut next_id);
        let forced = if keep_completed { keep_completed_items(base, &mut theirs) } else { Vec::new() };
        let edits = diff(base, self.list());
        let reminders = if is_unanswered { Vec::new() } else { self.reminders(&theirs, &cancelled) };
        let (Merged { list, conflicts }, sent) = self.merged(theirs, &cancelled);
        let mut notices = plan.notices;
        if !forced.is_empty() {
            let tasks = if forced.len() == 1 { "task stays" } else { "tasks stay" };
            notices.push(format!("{} completed {tasks} completed", forced.len()));
        }
        notices.extend(left_blockers(self.list(), &list));
        self.resume_for_write(now);
        let source = source.map(Arc::from);
        let stamp = Stamp { source, agent_time, ..Stamp::new(Author::Agent, Operation::Write, now) };
        let sent = sent.filter(|_| is_unanswered).map(|sent| diff(self.base(), &sent));
        let number = self.revisions.last() + 1;
        let (changes, unanswered) = (Vec::new(), is_unanswered);
        let made = RevisionRecord { number, stamp, changes, next_id, sent, unanswered };
        let outcome = self.revise(list, made, &cancelled);
        // A revision ends a refusal.
        if self.refused.is_some() {
            self.note_refusal(None, now);
        }
        let mut result = accepted(self.list(), &outcome.changes, &notices, &edits, &conflicts);
        if !reminders.is_empty() {
            result.extend(["\n", &still_open(&reminders)]);
            let reminded = reminders.iter().map(|item| item.id.clone()).collect();
            let number = self.revisions.last();
            self.make(Record::Known { number, sent: None, unanswered: false, reminded, noted: false });
        }
        if let Some(call) = call {
            self.note_call(call, &result, now);
        }
        Outcome { result, notices, forced, ..outcome }
    }

    /// Merges the user's edits and the user's open items into a write. Also returns what the agent knows
    /// if it hears of neither; none if that is the merged list.
    fn merged(&self, theirs: List, cancelled: &HashSet<String>) -> (Merged, Option<List>) {
        // Fast path: the user changed nothing.
        if self.agent.knows == Knows::All && !self.list().iter().any(|item| item.is_users_open()) {
            return (Merged { list: theirs, conflicts: Vec::new() }, None);
        }
        let base = self.base();
        let known = by_id(base);
        // The agent may end the user's items, unless the user has changed them since.
        let is_ended = |item: &Arc<Item>| {
            let id = item.id.as_str();
            cancelled.contains(id) && known.get(id).is_none_or(|base| base.is_unchanged_from(item))
        };
        let ours: List = self.list().iter().filter(|item| !is_ended(item)).cloned().collect();
        let merged = merge(base, &ours, &theirs);
        let sent =
            Some(sent_view(&known, &merged.list, theirs)).filter(|sent| !is_same_list(sent, &merged.list));
        (merged, sent)
    }

    /// The user's items of which a write reminds the agent: it completes all else, and leaves them out
    /// although the agent was told of them once.
    fn reminders(&self, theirs: &[Arc<Item>], cancelled: &HashSet<String>) -> Vec<Arc<Item>> {
        if theirs.iter().any(|item| item.status.is_open()) {
            return Vec::new();
        }
        let sent: HashSet<&str> = theirs.iter().map(|item| item.id.as_str()).collect();
        let is_due = |item: &&Arc<Item>| {
            let id = item.id.as_str();
            let is_ended = sent.contains(id) || cancelled.contains(id);
            item.is_users_open() && item.told && !is_ended && !self.agent.reminded.contains(id)
        };
        self.list().iter().filter(is_due).cloned().collect()
    }

    /// The user's edits that the agent was not told of, a sentence each, if its host cannot tell it by
    /// results. Moves are left out.
    pub fn untold_edits(&self) -> Vec<String> {
        if !self.agent.is_unanswered() {
            return Vec::new();
        }
        let mut edits = diff(self.agent.noted(self.list()), self.list());
        edits.retain(|change| change.kind != ChangeKind::Reordered);
        edited(&edits)
    }

    /// The edits of [`Thread::untold_edits`], of which the agent is told now.
    ///
    /// It also knows the user's items from now on. What it knows of its own items stays, since its next
    /// write repeats them as they were until it follows the edits.
    pub fn take_untold(&mut self) -> Vec<String> {
        let edits = self.untold_edits();
        if !edits.is_empty() {
            let known: HashSet<&str> = self.base().iter().map(|item| item.id.as_str()).collect();
            let is_new = |item: &&Arc<Item>| self.is_untold(item) && !known.contains(item.id.as_str());
            let new: List = self.list().iter().filter(is_new).cloned().collect();
            let base: List = self.base().iter().cloned().chain(new).collect();
            let (number, sent) = (self.revisions.last(), Some(diff(self.base(), &base)));
            self.make(Record::Known { number, sent, unanswered: true, reminded: Vec::new(), noted: true });
        }
        edits
    }

    /// Turns drafts into items: a recognized item keeps its id, another gets a new one. Also returns the
    /// ids of the cancelled items.
    ///
    /// It searches the list that the agent knows, then the items that the user added or renamed since.
    fn identify(
        &self,
        base: &[Arc<Item>],
        drafts: Vec<Draft>,
        cancelled: Vec<Draft>,
        next_id: &mut u64,
    ) -> (List, HashSet<String>) {
        let seen: Vec<Features<'_>> = drafts.iter().chain(&cancelled).map(Features::from).collect();
        let known: Vec<Features<'_>> = base.iter().map(|item| Features::from(item.as_ref())).collect();
        let mut items: Vec<Option<Arc<Item>>> =
            recognize(&known, &seen).into_iter().map(|old| old.map(|old| Arc::clone(&base[old]))).collect();
        if self.agent.knows != Knows::All {
            self.identify_edited(base, &seen, &mut items);
        }
        let cancelled = items.split_off(drafts.len()).into_iter().flatten();
        let cancelled = cancelled.map(|item| item.id.clone()).collect();
        let drafts = with_item_ids(drafts, &items, *next_id);
        let items = drafts.into_iter().zip(items);
        (items.map(|(draft, item)| item_for(draft, item, next_id)).collect(), cancelled)
    }

    /// Searches the items that the user added or renamed since `base`. The agent has not seen those, so
    /// only equal content counts: a similar task of the agent must not replace the user's.
    fn identify_edited(&self, base: &[Arc<Item>], seen: &[Features<'_>], items: &mut [Option<Arc<Item>>]) {
        let found: HashSet<&str> = items.iter().flatten().map(|item| item.id.as_str()).collect();
        let contents: HashMap<&str, &str> =
            base.iter().map(|item| (item.id.as_str(), item.content.as_str())).collect();
        let is_edited = |item: &&Arc<Item>| {
            let (id, content) = (item.id.as_str(), item.content.as_str());
            contents.get(id) != Some(&content) && !found.contains(id)
        };
        let edited: Vec<&Arc<Item>> = self.list().iter().filter(is_edited).collect();
        let open: Vec<usize> = (0..items.len()).filter(|new| items[*new].is_none()).collect();
        let edited_seen: Vec<Features<'_>> =
            edited.iter().map(|item| Features::from(item.as_ref())).collect();
        let open_seen: Vec<Features<'_>> = open.iter().map(|new| seen[*new]).collect();
        for (place, old) in recognize_equal(&edited_seen, &open_seen).into_iter().enumerate() {
            items[open[place]] = old.map(|old| Arc::clone(edited[old]));
        }
    }
}

/// What the agent knows after it sent `theirs` and did not hear of `merged`. Where both sides changed a
/// status, it counts as knowing the user's, so that its next write decides. It still knows the user's
/// items that it was told of.
fn sent_view(known: &HashMap<&str, &Arc<Item>>, merged: &[Arc<Item>], mut theirs: List) -> List {
    let sent: HashSet<String> = theirs.iter().map(|item| item.id.clone()).collect();
    let is_known = |item: &&Arc<Item>| {
        item.is_users_open() && known.contains_key(item.id.as_str()) && !sent.contains(&item.id)
    };
    theirs.extend(merged.iter().filter(is_known).cloned());
    let statuses: HashMap<&str, Status> = merged.iter().map(|item| (item.id.as_str(), item.status)).collect();
    for item in &mut theirs {
        let (base, merged) = (known.get(item.id.as_str()), statuses.get(item.id.as_str()));
        if let (Some(base), Some(merged)) = (base, merged)
            && base.status != item.status
            && *merged != item.status
        {
            Arc::make_mut(item).status = *merged;
        }
    }
    theirs
}

/// Replaces the agent's ids in `blocked_by` with item ids, and drops those of tasks not in the list.
fn with_item_ids(mut drafts: Vec<Draft>, items: &[Option<Arc<Item>>], mut next_id: u64) -> Vec<Draft> {
    if drafts.iter().all(|draft| draft.blocked_by.is_empty()) {
        return drafts;
    }
    let mut ids: HashMap<String, String> = HashMap::new();
    for (draft, item) in drafts.iter().zip(items) {
        let id = item.as_ref().map_or_else(|| format!("t{next_id}"), |item| item.id.clone());
        next_id += u64::from(item.is_none());
        ids.extend(draft.hint.clone().map(|hint| (hint, id)));
    }
    for draft in &mut drafts {
        draft.blocked_by = draft.blocked_by.iter().filter_map(|id| ids.get(id).cloned()).collect();
    }
    drafts
}

/// The item of a draft: the old object if no field differs, which revisions share.
fn item_for(draft: Draft, old: Option<Arc<Item>>, next_id: &mut u64) -> Arc<Item> {
    let Some(old) = old else {
        let id = format!("t{next_id}");
        *next_id += 1;
        return Arc::new(draft.into_item(id));
    };
    let is_same_task = draft.is_task_of(&old);
    // A different hint alone is not a change: the journal would not record it.
    if is_same_task && draft.status == old.status {
        return old;
    }
    if is_same_task && (draft.hint.is_none() || draft.hint == old.hint) {
        return Arc::new(Item { status: draft.status, body: Arc::clone(&old.body) });
    }
    let mut item = draft.into_item(old.id.clone());
    (item.added_by, item.told) = (old.added_by, old.told);
    if item.hint.is_none() {
        item.hint.clone_from(&old.hint);
    }
    Arc::new(item)
}

/// A notice about each item of `new` that waited for an item of `old` that left the list.
pub(super) fn left_blockers(old: &[Arc<Item>], new: &[Arc<Item>]) -> Vec<String> {
    if old.iter().all(|item| item.blocked_by.is_empty()) {
        return Vec::new();
    }
    let before = by_id(old);
    let now: HashSet<&str> = new.iter().map(|item| item.id.as_str()).collect();
    let blockers = new.iter().flat_map(|item| {
        let ids = before.get(item.id.as_str()).into_iter().flat_map(|old| &old.blocked_by);
        ids.filter(|id| !now.contains(id.as_str())).map(move |id| (item, id.as_str()))
    });
    let line = |(item, id): (&Arc<Item>, &str)| {
        let left = before.get(id)?;
        let [item, left] = [item, left].map(|item| excerpt(&item.content, 80));
        Some(format!("\"{item}\" waited for \"{left}\", which left the list"))
    };
    blockers.filter_map(line).collect()
}

/// Completes the items that were completed and are sent open. Returns their ids.
fn keep_completed_items(base: &[Arc<Item>], theirs: &mut List) -> Vec<String> {
    let completed: HashMap<&str, &Arc<Item>> =
        base.iter().filter(|item| !item.status.is_open()).map(|item| (item.id.as_str(), item)).collect();
    let mut forced = Vec::new();
    for item in theirs.iter_mut().filter(|item| item.status.is_open()) {
        if let Some(base) = completed.get(item.id.as_str()) {
            forced.push(item.id.clone());
            Arc::make_mut(item).status = Status::Completed;
            if item.is_unchanged_from(base) {
                *item = Arc::clone(base);
            }
        }
    }
    forced
}
