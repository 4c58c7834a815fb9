//! The list of one agent conversation and its history. State changes only here.
//!
//! A write, an edit or an event computes the new state as plain data and makes a [`record`] of it.
//! [`Thread::apply`] changes the state by a record, live and read from a journal alike. The owner of a
//! thread takes the records made, and saves them before anyone hears of the change; see
//! [`crate::journal::saved`].

pub mod activity;
mod apply;
pub(crate) mod calls;
pub mod clock;
mod edit;
mod observe;
pub mod record;
pub mod revision;
mod stream;
mod write;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Error, Problem};
use crate::events::Millis;
use crate::events::comments::Comments;
use crate::events::marks::{Marks, Review, Scope, Unseen};
use crate::events::observation::Observations;
use crate::events::session::Session;
use crate::events::turns::{Turn, Turns};
use crate::events::work::{Part, Work, WorkSums, is_refused};
use crate::list::change::{Change, ChangeKind, diff, mark_cancelled};
use crate::list::item::{Author, Item, List, Status};
use crate::list::report;
use crate::wire::wire_names;
use activity::{Activity, AgentActivity, Ending};
use calls::Reading;
pub use calls::{CallName, StoredCall};
use clock::{Clock, Times};
pub use edit::Edit;
use record::{Changes, FORMAT, PositionRecord, Record, RevisionRecord};
use revision::Revisions;
pub use stream::StreamEvent;
use stream::Streaming;
pub use write::WriteOptions;

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
    /// Whether fewer items are untold than before the write. This is not among the changes.
    pub told: bool,
    /// Whether the write before was refused, although this one changed nothing.
    pub mended: bool,
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
    /// Undo searches below this number: that of the last revision, or of the one that the last undo restored.
    undo_from: u64,
    clock: Clock,
    activity: AgentActivity,
    observations: Observations,
    work: WorkSums,
    review: Review,
    comments: Comments,
    /// What the program says of its session.
    session: Session,
    turns: Turns,
    /// Whether its journal is so long that contents are abridged.
    is_abridged: bool,
    streaming: Streaming,
    /// How far transcripts are recorded, the newest position last.
    positions: Vec<PositionRecord>,
    /// When calls that start subagents were made, by the ids of the calls.
    moments: HashMap<String, Moment>,
    /// How far its transcript was read.
    reading: Reading,
    /// The records made since they were last taken, if the owner wants them.
    made: Option<Vec<Record>>,
    /// The length of the journal in bytes, as the owner says.
    journal_bytes: u64,
    /// What was wrong with the agent's last list, if that was refused.
    refused: Option<String>,
}

/// When a call was made that starts a subagent, whose work counts then.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// The ids of the items in progress.
    pub items: Vec<String>,
    /// The number of the observation of the call.
    pub number: u64,
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
    /// `base` with the user's edits that it was told of otherwise than by a result, if it was.
    noted: Option<List>,
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
            review: Review::default(),
            comments: Comments::default(),
            session: Session::default(),
            turns: Turns::default(),
            is_abridged: false,
            streaming: Streaming::default(),
            positions: Vec::new(),
            moments: HashMap::new(),
            reading: Reading::default(),
            made: None,
            journal_bytes: 0,
            refused: None,
        }
    }

    /// The new thread, as begun at a time.
    pub(crate) fn begun_at(mut self, now: Millis) -> Thread {
        self.review.count_since(now);
        self
    }

    /// The key, chosen by the host.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The host's description of the new thread: `project`, `parent`, `parentItem`, ….
    pub fn about(&self) -> &Map<String, Value> {
        &self.about
    }

    /// Sets a part of the description.
    pub(crate) fn describe(&mut self, part: &str, value: Value, now: Millis) {
        if self.about.get(part) != Some(&value) {
            let mut about = self.about.clone();
            about.insert(part.to_owned(), value);
            let thread = self.key.clone();
            self.make(Record::Thread { format: FORMAT, thread, timestamp: now, about });
        }
    }

    /// The parent thread of a subagent's thread, and the id of the item it works on, if known.
    pub fn parent(&self) -> Option<(&str, Option<&str>)> {
        parent_in(&self.about)
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

    /// Whether nothing of the thread is lost or ends if only its journal keeps it: its agent has ended its
    /// turn, and subscribers have all observations.
    pub(crate) fn is_at_rest(&self) -> bool {
        let is_idle = self.activity.activity == Activity::Idle && self.state() != State::Active;
        is_idle && self.observations.are_delivered() && !self.streaming.is_within_block()
    }

    /// When the agent last called an Emacs that writes this journal, or 0. The sources in
    /// `repeated` only repeat what the agent said elsewhere.
    pub(crate) fn last_call(&self, repeated: &[&str]) -> Millis {
        let is_call =
            |source: &Option<Arc<str>>| !source.as_deref().is_some_and(|one| repeated.contains(&one));
        let mut writes =
            self.revisions.iter().rev().filter(|revision| revision.stamp.author == Author::Agent);
        let newest = writes.find(|revision| is_call(&revision.stamp.source));
        newest.map_or(0, |revision| revision.stamp.timestamp).max(self.reading.last_call())
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

    /// Whether the agent has written, and the result of its last write reached it.
    pub fn is_answered(&self) -> bool {
        self.agent.known > 0 && !self.agent.is_unanswered
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
        self.removed_by_agent(self.begun(), self.list(), Status::is_open)
    }

    /// The completed items that the agent took off the current list and that are not back, oldest
    /// removal first.
    pub fn cleared(&self) -> Vec<Arc<Item>> {
        self.removed_by_agent(self.begun(), self.list(), |status| !status.is_open())
    }

    /// The revisions of the current list.
    fn begun(&self) -> RangeInclusive<u64> {
        self.list_starts().last().copied().unwrap_or(0)..=self.revisions.last()
    }

    /// The items of a status that the agent removed, and did not cancel, while its list went on from the
    /// first of these revisions to the last, whose list is `last`. Oldest removal first.
    fn removed_by_agent(
        &self,
        revisions: RangeInclusive<u64>,
        last: &[Arc<Item>],
        is_wanted: impl Fn(Status) -> bool,
    ) -> Vec<Arc<Item>> {
        let mut seen: HashSet<&str> = last.iter().map(|item| item.id.as_str()).collect();
        let mut removed = Vec::new();
        let (first, last) = revisions.into_inner();
        let later = self.revisions.iter().rev().skip_while(|revision| revision.number > last);
        for revision in later.take_while(|revision| revision.number > first) {
            let is_write = revision.stamp.author == Author::Agent;
            for change in revision.of_kind(ChangeKind::Removed).rev() {
                let item = change.previous_item.as_ref().filter(|_| seen.insert(&change.item_id));
                let is_wanted = |item: &&Arc<Item>| is_write && !change.cancelled && is_wanted(item.status);
                removed.extend(item.filter(is_wanted).cloned());
            }
        }
        removed.reverse();
        removed
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
        let mut ends = vec![None; starts.len()];
        for (revision, _) in self.revisions.lengths().filter(|(_, length)| *length > 0) {
            let begun = starts.partition_point(|start| *start <= revision.number);
            if let Some(nth) = begun.checked_sub(1) {
                ends[nth] = Some(revision.number);
            }
        }
        ends.pop();
        starts.into_iter().zip(ends).filter_map(|(from, to)| Some((from, to?))).collect()
    }

    /// The items of an earlier list: the completed ones that left it, and those of its `last` revision.
    ///
    /// # Errors
    /// [`Error::NoRevision`].
    pub(crate) fn earlier_items(&self, first: u64, last: u64) -> Result<List, Error> {
        let list = self.list_at(last)?;
        let mut items = self.removed_by_agent(first..=last, &list, |status| !status.is_open());
        items.extend(list);
        Ok(items)
    }

    /// The title of the agent's session.
    pub fn title(&self) -> Option<&str> {
        self.observations.title()
    }

    /// What the agent's program says of its session: the goal, the context and the cost.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What the agent did in a part of this thread, if anything is known.
    pub fn work(&self, part: Part<'_>) -> Option<&Work> {
        self.work.get(part)
    }

    /// The number of calls that were refused after a time, among the observations in memory.
    pub fn refused_after(&self, time: Millis) -> usize {
        let newer = self.observations.reported().rev().take_while(|one| one.timestamp > time);
        newer.filter(|one| is_refused(one)).count()
    }

    /// The sums of all work.
    pub(crate) fn work_sums(&self) -> &WorkSums {
        &self.work
    }

    /// The changes of files, and which of them were reviewed.
    pub(crate) fn review(&self) -> &Review {
        &self.review
    }

    /// What the user said to the agent.
    pub(crate) fn comments(&self) -> &Comments {
        &self.comments
    }

    /// What is new of the changes that were made since this thread was begun. What a transcript had before
    /// that would be too much to review.
    pub(crate) fn unseen(&self) -> Unseen<'_> {
        self.review.unseen()
    }

    /// Marks files as reviewed up to an observation each. If `raises`, none that are reviewed further. Returns
    /// the former marks of those that changed.
    pub(crate) fn mark_files(&mut self, mut files: Marks, raises: bool, now: Millis) -> Marks {
        let review = &self.review;
        files.retain(|path, until| {
            let former = review.until(path);
            if raises { *until > former } else { *until != former }
        });
        let former: Marks = files.keys().map(|path| (path.clone(), review.until(path))).collect();
        if !files.is_empty() {
            self.make(Record::Review { timestamp: now, files });
        }
        former
    }

    /// Marks changes as reviewed, or as new again: each file up to, or from, those. Returns the number of those
    /// that were not marked so.
    pub(crate) fn mark(&mut self, of: Scope<'_>, reviewed: bool, now: Millis) -> usize {
        let (files, count) = self.review.marking(of, reviewed);
        if count > 0 {
            self.make(Record::Review { timestamp: now, files });
        }
        count
    }

    /// How far the transcript of a position is recorded, in bytes; `None` if it is not known here.
    pub(crate) fn recorded_until(&self, file: &PositionRecord) -> Option<u64> {
        self.positions.iter().find(|known| known.is_of_file(file)).map(|known| known.offset)
    }

    /// The turns, oldest first.
    pub fn turns(&self) -> &[Turn] {
        self.turns.all()
    }

    /// What the agent did in a part of the turn with this index, if anything is known.
    pub fn work_in_turn(&self, turn: usize, part: Part<'_>) -> Option<&Work> {
        self.work.in_turn(turn, part)
    }

    /// The numbers of the observations recorded in the turn with this index.
    pub(crate) fn numbers_of_turn(&self, turn: usize) -> Option<Range<u64>> {
        self.turns.numbers(turn)
    }

    /// When a call that started a subagent was made.
    pub(crate) fn moment_of_call(&self, call: &str) -> Option<&Moment> {
        self.moments.get(call)
    }

    /// Whether an observation with this number is of the current turn.
    pub(crate) fn is_of_current_turn(&self, number: u64) -> bool {
        self.turns.all().last().is_none_or(|turn| turn.first <= number)
    }

    /// The observations in memory.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// The time of the newest revision or observation; 0 without any.
    pub(crate) fn last_time(&self) -> Millis {
        let revision = self.revisions.iter().next_back().map_or(0, |revision| revision.stamp.timestamp);
        revision.max(self.observations.last_time())
    }

    /// What was wrong with the agent's last list, if that was refused.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// The outcome of a write that [`crate::list::input`] refused. It is recorded, unless the last write
    /// was refused for the same reason.
    pub fn refuse(&mut self, problems: Vec<Problem>, now: Millis) -> Outcome {
        let reason = report::refusal(&problems);
        if self.refused.as_ref() != Some(&reason) {
            self.note_refusal(Some(reason), now);
        }
        Outcome {
            revision: self.revisions.last(),
            result: report::refused(&problems),
            timestamp: now,
            errors: problems,
            ..Outcome::default()
        }
    }

    /// Makes a revision of a list if that differs from the current one; `made` lacks only its changes. The
    /// agent cancelled the items with the ids in `cancelled`.
    fn revise(&mut self, mut list: List, mut made: RevisionRecord, cancelled: &HashSet<String>) -> Outcome {
        mark_told(&mut list, self.base_after(&made).as_deref());
        let timestamp = made.stamp.timestamp;
        let mut changes = diff(self.list(), &list);
        mark_cancelled(&mut changes, |id| cancelled.contains(id));
        if !changes.is_empty() {
            made.changes.clone_from(&changes);
            self.make(Record::Revision(made));
        } else if made.stamp.author == Author::Agent {
            self.learn(made.sent, made.unanswered);
        }
        Outcome { ok: true, revision: self.revisions.last(), timestamp, changes, ..Outcome::default() }
    }

    /// Records what the agent knows after a write that did not change the list: that list, or with `sent`
    /// only the one it knew with these changes.
    fn learn(&mut self, sent: Option<Changes>, unanswered: bool) {
        let is_news = sent.as_ref().map_or(self.agent.base.is_some(), |sent| !sent.is_empty());
        if is_news || self.agent.is_unanswered != unanswered {
            let number = self.revisions.last();
            self.make(Record::Known { number, sent, unanswered, reminded: Vec::new(), noted: false });
        }
    }

    /// The list that the agent knows.
    fn base(&self) -> &List {
        self.agent.base.as_ref().unwrap_or(self.list())
    }
}

/// The part of a description that names the host in which the agent runs.
pub(crate) const HOST: &str = "host";

/// The parent thread and its item in the description of a thread; see [`Thread::parent`].
pub(crate) fn parent_in(about: &Map<String, Value>) -> Option<(&str, Option<&str>)> {
    let text = |key: &str| about.get(key)?.as_str();
    Some((text("parent")?, text("parentItem")))
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
