//! The list of one agent conversation and its history. State changes only here.
//!
//! Each change computes the new list as plain data, writes a record of it to the journal, and commits
//! it in one step that cannot fail. If the record cannot be written, the list is kept in memory. After
//! a panic between record and commit, the thread is replayed from the journal.

mod activity;
mod edit;
mod observing;
mod replay;
mod saving;
mod streaming;
mod writing;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::activity::{AgentActivity, Ending};
use crate::clock::{Clock, Millis, Times};
use crate::error::{Error, Problem};
use crate::events::observation::{Filter, Observations};
use crate::events::work::{Part, Work, WorkSums};
use crate::journal::{Record, without_previous};
use crate::list::change::{Change, ChangeKind, apply, diff, mark_cancelled};
use crate::list::item::{Author, Item, List, Status, is_same_list};
use crate::list::report;
use crate::revision::{Revisions, Stamp};
use crate::wire::wire_names;
pub use edit::Edit;
use saving::Saving;
pub use streaming::StreamEvent;
use streaming::Streaming;
pub use writing::WriteOptions;

/// The outcome of a write or an edit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether it was accepted.
    pub ok: bool,
    /// The number of the newest revision, which is the same as before if nothing changed.
    pub revision: u64,
    /// The text for the model.
    pub result: String,
    /// The time of the call.
    pub timestamp: Millis,
    /// The changes from the previous revision.
    pub changes: Vec<Change<Arc<Item>>>,
    /// What was repaired.
    pub notices: Vec<String>,
    /// The reasons for refusing it.
    pub errors: Vec<Problem>,
    /// The ids of items that the agent sent open and that stayed completed.
    pub forced: Vec<String>,
    /// Whether the write ended a pause.
    pub resumed: bool,
    /// Whether the agent has learned of items of the user that it could not be told of. This is not among
    /// the changes.
    pub told: bool,
}

wire_names! {
    /// The state of a thread; see [`Thread::state`].
    #[allow(missing_docs)]
    pub enum State {
        Active = "active",
        Done = "done",
        Paused = "paused",
        Empty = "empty",
    }
}

/// A thread and its history.
#[derive(Debug)]
pub struct Thread {
    key: String,
    about: Map<String, Value>,
    revisions: Revisions,
    /// The number of the next item id.
    next_id: u64,
    agent: AgentView,
    /// Undo restores the revision before this one: the newest, or after undo the restored one.
    undo_from: u64,
    clock: Clock,
    activity: AgentActivity,
    observations: Observations,
    work: WorkSums,
    /// Whether its journal is so long that contents are abridged.
    is_abridged: bool,
    streaming: Streaming,
    saving: Saving,
    /// When its agent last called this Emacs process, or 0.
    called: Millis,
}

/// What the agent knows.
#[derive(Debug, Default)]
struct AgentView {
    /// The number of the newest revision that it knows.
    known: u64,
    /// The list that it knows, unless that is the current one.
    base: Option<List>,
    /// Whether the result of its last write did not reach it, so that it knows only its own list.
    is_unanswered: bool,
    /// The ids of the user's items that it was told of a second time.
    reminded: BTreeSet<String>,
}

/// A revision that is not committed yet.
struct NextRevision {
    list: List,
    stamp: Stamp,
    next_id: u64,
    view: View,
}

/// What the agent knows after a revision.
struct View {
    /// See [`AgentView::base`].
    base: Option<List>,
    /// See [`AgentView::is_unanswered`].
    is_unanswered: bool,
}

impl Thread {
    /// Creates an empty thread in memory.
    pub fn new(key: &str, about: Map<String, Value>, history_limit: usize) -> Thread {
        Thread {
            key: key.to_owned(),
            about,
            revisions: Revisions::default(),
            next_id: 1,
            agent: AgentView::default(),
            undo_from: 0,
            clock: Clock::default(),
            activity: AgentActivity::default(),
            observations: Observations::new(history_limit),
            work: WorkSums::default(),
            is_abridged: false,
            streaming: Streaming::default(),
            saving: Saving::default(),
            called: 0,
        }
    }

    /// The key, chosen by the host.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The host's description of the new thread: `project`, `parent`, `parentItem`, ….
    pub fn about(&self) -> &Map<String, Value> {
        &self.about
    }

    /// The parent thread of a subagent's thread, and the id of the item it works on, if known.
    pub fn parent(&self) -> Option<(&str, Option<&str>)> {
        let text = |key: &str| self.about.get(key)?.as_str();
        Some((text("parent")?, text("parentItem")))
    }

    /// The root of the project, or an empty string.
    pub fn project(&self) -> &str {
        self.about.get("project").and_then(Value::as_str).unwrap_or_default()
    }

    /// The current list.
    pub fn list(&self) -> &List {
        self.revisions.current()
    }

    /// All revisions.
    pub fn revisions(&self) -> &Revisions {
        &self.revisions
    }

    /// The list of a revision.
    ///
    /// # Errors
    /// [`Error::NoRevision`].
    pub fn list_at(&self, revision: u64) -> Result<List, Error> {
        self.revisions.list(revision).ok_or_else(|| Error::NoRevision {
            thread: self.key.clone(),
            revision,
            last: self.revisions.last(),
        })
    }

    /// The changes from the list of revision `a` to that of `b`.
    ///
    /// # Errors
    /// [`Error::NoRevision`].
    pub fn changes_between(&self, a: u64, b: u64) -> Result<Vec<Change<Arc<Item>>>, Error> {
        let mut changes = diff(&self.list_at(a)?, &self.list_at(b)?);
        let between = self.revisions.iter().filter(|revision| a < revision.number && revision.number <= b);
        let removals = between.flat_map(|revision| revision.of_kind(ChangeKind::Removed));
        let last: HashMap<&str, bool> = removals.map(|one| (one.item_id.as_str(), one.cancelled)).collect();
        mark_cancelled(&mut changes, |id| last.get(id) == Some(&true));
        Ok(changes)
    }

    /// The times of a current or former item.
    pub fn times(&self, id: &str) -> Option<&Times> {
        self.clock.get(id)
    }

    /// Notes that the agent itself calls this Emacs with its list.
    pub fn note_call(&mut self, now: Millis) {
        self.called = now;
    }

    /// When the agent last called an Emacs that writes this journal, or 0. The sources in
    /// `repeated` only repeat what the agent said elsewhere.
    pub(crate) fn last_call(&self, repeated: &[&str]) -> Millis {
        let is_call =
            |source: &Option<Arc<str>>| !source.as_deref().is_some_and(|one| repeated.contains(&one));
        let mut writes =
            self.revisions.iter().rev().filter(|revision| revision.stamp.author == Author::Agent);
        let newest = writes.find(|revision| is_call(&revision.stamp.source));
        newest.map_or(0, |revision| revision.stamp.timestamp).max(self.called)
    }

    /// The state, derived from the list and the pause. Only open items that the agent can complete keep
    /// a list from being done.
    pub fn state(&self) -> State {
        match (self.list().as_slice(), &self.activity.paused) {
            ([], _) => State::Empty,
            (list, _) if list.iter().all(|item| !item.status.is_open() || self.is_untold(item)) => {
                State::Done
            }
            (_, Some(_)) => State::Paused,
            (_, None) => State::Active,
        }
    }

    /// Whether this is an open item of the user that the agent does not know and cannot be told of.
    pub fn is_untold(&self, item: &Item) -> bool {
        self.agent.is_unanswered && item.is_users_open() && !item.told
    }

    /// The number of these items.
    pub fn untold(&self) -> usize {
        self.list().iter().filter(|item| self.is_untold(item)).count()
    }

    /// The reason of the pause.
    pub fn pause_reason(&self) -> Option<&str> {
        self.activity.paused.as_deref().filter(|_| self.state() == State::Paused)
    }

    /// How the agent ended, if it did and its host knows.
    pub fn ending(&self) -> Option<Ending> {
        self.activity.ending
    }

    /// The first item in progress.
    pub fn current(&self) -> Option<&Arc<Item>> {
        self.list().iter().find(|item| item.status == Status::InProgress)
    }

    /// The items that the agent dropped unfinished and that are not back, oldest removal first. A list
    /// without any item of the agent's previous one begins a new count.
    pub fn dropped(&self) -> Vec<Arc<Item>> {
        let mut seen: HashSet<&str> = self.list().iter().map(|item| item.id.as_str()).collect();
        let mut agents = self.list().iter().filter(|item| item.added_by == Author::Agent).count();
        let mut dropped = Vec::new();
        for revision in self.revisions.iter().rev() {
            let (added, removed) = revision.agents_items();
            agents = (agents + removed).saturating_sub(added);
            if revision.begins_list(agents) {
                break;
            }
            let is_write = revision.stamp.author == Author::Agent;
            for change in revision.of_kind(ChangeKind::Removed).rev() {
                let item = change.previous_item.as_ref().filter(|_| seen.insert(&change.item_id));
                dropped.extend(
                    item.filter(|item| is_write && !change.cancelled && item.status.is_open()).cloned(),
                );
            }
        }
        dropped.reverse();
        dropped
    }

    /// The numbers of the revisions that begin a list without any item of the agent's previous one.
    pub(crate) fn list_starts(&self) -> Vec<u64> {
        let mut agents = 0_usize;
        let mut starts = Vec::new();
        for revision in self.revisions.iter() {
            if revision.begins_list(agents) {
                starts.push(revision.number);
            }
            let (added, removed) = revision.agents_items();
            agents = (agents + added).saturating_sub(removed);
        }
        starts
    }

    /// The lists before the current one: the first revision of each, and the last one that was not empty.
    pub(crate) fn earlier_lists(&self) -> Vec<(u64, u64)> {
        let starts = self.list_starts();
        let is_shown = |number: &u64| self.revisions.list(*number).is_some_and(|list| !list.is_empty());
        let ends = |pair: &[u64]| {
            let [from, next] = *pair else { return None };
            Some((from, (from..next).rev().find(is_shown)?))
        };
        starts.windows(2).filter_map(ends).collect()
    }

    /// The title of the agent's session.
    pub fn title(&self) -> Option<&str> {
        self.observations.title()
    }

    /// What the agent did in a part of this thread, if anything is known.
    pub fn work(&self, part: Part<'_>) -> Option<&Work> {
        self.work.get(part)
    }

    /// The sums of all work.
    pub(crate) fn work_sums(&self) -> &WorkSums {
        &self.work
    }

    /// The time from which the work is known, unless all of it is.
    pub fn work_since(&self) -> Option<Millis> {
        self.work.since()
    }

    /// The observations in memory.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// The time of the newest revision or observation; 0 without any.
    pub(crate) fn last_time(&self) -> Millis {
        let revision = self.revisions.iter().next_back().map_or(0, |revision| revision.stamp.timestamp);
        let newest = self.observations.select(&Filter { limit: Some(1), ..Filter::default() });
        newest.first().map_or(revision, |observation| revision.max(observation.timestamp))
    }

    /// The observations in memory, for taking new ones.
    pub fn observations_mut(&mut self) -> &mut Observations {
        &mut self.observations
    }

    /// The outcome of a write that [`crate::list::input`] refused.
    pub fn refuse(&self, problems: Vec<Problem>, now: Millis) -> Outcome {
        Outcome {
            revision: self.revisions.last(),
            result: report::refused(&problems),
            timestamp: now,
            errors: problems,
            ..Outcome::default()
        }
    }

    /// Journals and commits a revision if it changes the list. The agent cancelled the items with the
    /// ids in `cancelled`.
    fn revise(&mut self, mut next: NextRevision, cancelled: &HashSet<String>) -> Outcome {
        mark_told(&mut next.list, next.view.base.as_deref());
        let timestamp = next.stamp.timestamp;
        let mut changes = diff(self.list(), &next.list);
        mark_cancelled(&mut changes, |id| cancelled.contains(id));
        let mut outcome = Outcome { ok: true, timestamp, changes, ..Outcome::default() };
        if !outcome.changes.is_empty() {
            // The journal has only the changes, so applying them must lead to the same list.
            debug_assert!(is_same_list(&next.list, &apply(self.list(), &outcome.changes)));
            let record = self.revision_record(&next, &outcome.changes);
            let changes = &outcome.changes;
            self.record_then(&record, |thread| thread.commit(next, changes));
            self.record_full_if_due(timestamp);
        } else if next.stamp.author == Author::Agent {
            self.learn(next.view);
        }
        outcome.revision = self.revisions.last();
        outcome
    }

    /// Journals and commits what the agent knows after a write that did not change the list.
    fn learn(&mut self, view: View) {
        let sent = self.sent(&view);
        let is_news = sent.as_ref().map_or(self.agent.base.is_some(), |sent| !sent.is_empty());
        if is_news || self.agent.is_unanswered != view.is_unanswered {
            let unanswered = view.is_unanswered;
            let record =
                Record::Known { number: self.revisions.last(), sent, unanswered, reminded: Vec::new() };
            self.record_then(&record, |thread| thread.commit_view(view));
        }
    }

    /// The list that the agent knows.
    fn base(&self) -> &List {
        self.agent.base.as_ref().unwrap_or(self.list())
    }

    /// The changes from the list that the agent knows to the one that it sent, if it knows only that.
    fn sent(&self, view: &View) -> Option<Vec<Change<Arc<Item>>>> {
        view.base.as_ref().map(|sent| without_previous(&diff(self.base(), sent)))
    }

    fn revision_record(&self, next: &NextRevision, changes: &[Change<Arc<Item>>]) -> Record {
        let number = self.revisions.last() + 1;
        let is_write = next.stamp.author == Author::Agent;
        Record::Revision {
            number,
            stamp: next.stamp.clone(),
            changes: without_previous(changes),
            next_id: next.next_id,
            known: if next.view.base.is_none() { number } else { self.agent.known },
            sent: self.sent(&next.view).filter(|_| is_write),
            unanswered: is_write && next.view.is_unanswered,
        }
    }

    /// Makes a revision the current one. This must not fail.
    fn commit(&mut self, next: NextRevision, changes: &[Change<Arc<Item>>]) {
        let NextRevision { list, stamp, next_id, view } = next;
        let now = stamp.timestamp;
        let number = self.revisions.last() + 1;
        self.next_id = next_id;
        self.undo_from = stamp.restores.unwrap_or(number);
        self.clock.apply(changes, now);
        if !self.activity.runs() {
            self.clock.pause(now);
        }
        self.revisions.push(number, list, changes.to_vec(), stamp);
        self.commit_view(view);
        self.observe_revision(number, changes, now);
    }

    fn commit_view(&mut self, view: View) {
        if view.base.is_none() {
            self.agent.known = self.revisions.last();
        }
        self.agent.base = view.base;
        self.agent.is_unanswered = view.is_unanswered;
        mark_told(self.revisions.current_mut(), self.agent.base.as_deref());
    }
}

/// Marks the user's items in a list as told if the agent knows them. It knows the list itself if there
/// is no `base`.
fn mark_told(list: &mut [Arc<Item>], base: Option<&[Arc<Item>]>) {
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
