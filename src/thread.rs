//! The list of one agent conversation and its history. State changes only here.
//!
//! A write, an edit or an event computes the new state as plain data and makes a [`record`] of it.
//! [`Thread::apply`] changes the state by a record, live and read from a journal alike. The owner of a
//! thread takes the records made, and saves them before anyone hears of the change; see
//! [`crate::journal::plan`].

pub mod activity;
mod apply;
pub mod clock;
mod edit;
pub mod knows;
mod observe;
pub(crate) mod rebase;
pub mod record;
pub mod recorded;
pub mod revision;
pub(crate) mod story;
mod stream;
pub mod summary;
mod write;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Problem};
use crate::events::Millis;
use crate::events::comments::Comments;
use crate::events::marks::{Marks, Review, Scope};
use crate::events::observation::Observations;
use crate::events::session::Session;
use crate::events::turns::{Turn, Turns};
use crate::events::work::{Part, Work, WorkSums};
use crate::list::change::{Change, ChangeKind, apply, diff, mark_cancelled};
use crate::list::item::{Author, Item, List, Status};
use crate::list::report;
use crate::named::wire_names;
use activity::{Activity, AgentActivity, Ending};
use clock::{Clock, Times};
pub use edit::Edit;
use knows::{AgentsView, Knows, mark_told};
use record::{COUNTER_LIMIT, Changes, Record, RevisionRecord};
pub use recorded::Call;
use recorded::Recorded;
use revision::{Removals, Revisions};
pub use stream::StreamEvent;
use stream::Streaming;
pub use write::WriteOptions;

/// The outcome of a write or an edit.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    pub ok: bool,
    /// The number of the newest revision, which is the same as before if nothing changed.
    pub revision: u64,
    /// The text for the model.
    pub result: String,
    #[serde(skip)]
    pub timestamp: Millis,
    #[serde(skip)]
    pub changes: Vec<Change<Arc<Item>>>,
    /// What was repaired.
    pub notices: Vec<String>,
    /// The reasons for refusing it.
    pub errors: Vec<Problem>,
    /// The ids of items that the agent sent open and that stayed completed.
    pub forced: Vec<String>,
}

wire_names! {
    /// The state of a thread; see [`Thread::state`].
    #[allow(missing_docs)]
    #[serde(rename = "Symbol")]
    pub enum State {
        Active = "active",
        Done = "done",
        Paused = "paused",
        Empty = "empty",
    }
}

/// A thread and its history. Serialized, it is its state as the head of a segment has it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    #[serde(skip)]
    key: String,
    about: Map<String, Value>,
    revisions: Revisions,
    pub(crate) next_id: u64,
    agent: AgentsView,
    /// Undo searches below this number: that of the last revision, or of the one that the last undo restored.
    undo_from: u64,
    clock: Clock,
    activity: AgentActivity,
    observations: Observations,
    pub(crate) work: WorkSums,
    /// The changes of files, and which of them were reviewed.
    pub(crate) review: Review,
    /// What the user said to the agent.
    pub(crate) comments: Comments,
    /// What the program says of its session.
    session: Session,
    /// The turns, and which observations belong to them.
    pub(crate) turns: Turns,
    #[serde(skip)]
    streaming: Streaming,
    recorded: Recorded,
    /// When the newest calls that start subagents were made, by the ids of the calls, oldest first.
    moments: VecDeque<(String, Moment)>,
    /// The records made since they were last taken, if the owner wants them.
    #[serde(skip)]
    made: Option<Vec<Record>>,
    /// What was wrong with the agent's last list, if that was refused.
    pub(crate) refused: Option<String>,
}

/// When a call was made that starts a subagent, whose work counts then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moment {
    pub items: Vec<String>,
    /// The number of the observation of the call.
    pub number: u64,
}

impl Thread {
    /// Creates an empty thread in memory.
    pub fn new(key: &str, about: Map<String, Value>, history_limit: usize) -> Thread {
        let (key, observations) = (key.to_owned(), Observations::new(history_limit));
        Thread { key, about, next_id: 1, observations, ..Thread::default() }
    }

    /// The thread of the head of a segment, with what that does not have.
    pub(crate) fn restored(mut self, key: &str, history_limit: usize) -> Thread {
        key.clone_into(&mut self.key);
        self.observations = self.observations.restored(history_limit);
        self
    }

    /// Whether the numbers of what comes next are below [`COUNTER_LIMIT`].
    pub(crate) fn has_sane_counters(&self) -> bool {
        let counters = [self.next_id, self.revisions.last(), self.observations.next_number()];
        counters.into_iter().chain([self.last_time()]).all(|counter| counter < COUNTER_LIMIT)
    }

    /// Forgets the revisions that only undo and history need, and that the journal has.
    pub(crate) fn forget_old(&mut self) {
        self.revisions.forget_old();
    }

    /// The first line of the first prompt that has one.
    pub(crate) fn first_prompt(&self) -> Option<String> {
        let mut lines = self.turns().iter().filter_map(|turn| turn.prompt.as_deref()).map(first_line);
        lines.find(|line| !line.is_empty())
    }

    /// The key, chosen by the host.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The host's description of the new thread: `project`, `parent`, `parentItem`, ….
    pub fn about(&self) -> &Map<String, Value> {
        &self.about
    }

    /// Sets a part of the description, or removes it if the value is null.
    pub(crate) fn describe(&mut self, part: &str, value: Value, now: Millis) {
        if *self.about.get(part).unwrap_or(&Value::Null) != value {
            let mut about = self.about.clone();
            match value {
                Value::Null => about.remove(part),
                value => about.insert(part.to_owned(), value),
            };
            self.make(Record::Thread { timestamp: now, about });
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
        let changed = between.flat_map(|revision| &revision.changes);
        let removals = changed.filter(|change| change.kind == ChangeKind::Removed);
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
        self.is_quiet() && self.observations.are_delivered() && self.streaming.thinking.is_none()
    }

    /// Whether its agent has ended its turn.
    pub(crate) fn is_quiet(&self) -> bool {
        self.activity.activity == Activity::Idle && self.state() != State::Active
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
        self.agent.is_unanswered() && item.is_users_open() && !item.told
    }

    /// The number of these items.
    pub fn untold(&self) -> usize {
        self.list().iter().filter(|item| self.is_untold(item)).count()
    }

    /// Whether the agent has written, and the result of its last write reached it.
    pub fn is_answered(&self) -> bool {
        self.agent.heard == Some(true)
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
    pub fn dropped(&self) -> List {
        self.revisions.removals().left_out(self.begun(), Status::is_open)
    }

    /// The completed items that the agent took off the current list and that are not back, oldest
    /// removal first.
    pub fn cleared(&self) -> List {
        self.revisions.removals().left_out(self.begun(), |status| !status.is_open())
    }

    /// The items that were begun and left the list, no matter who removed them, oldest removal first.
    pub(crate) fn removed(&self) -> List {
        let items = self.revisions.removals().iter().map(|removed| &removed.item);
        let was_begun = |item: &&Arc<Item>| self.times(&item.id).is_some_and(|times| times.started.is_some());
        items.filter(was_begun).cloned().collect()
    }

    /// The first revision of the current list.
    fn begun(&self) -> u64 {
        self.revisions.lists().last().map_or(0, |(first, _)| *first)
    }

    /// The lists before the current one: the first revision of each, and the last one that was not empty.
    pub(crate) fn earlier_lists(&self) -> Vec<(u64, u64)> {
        let lists = self.revisions.lists();
        let earlier = &lists[..lists.len().saturating_sub(1)];
        earlier.iter().filter(|(_, last)| *last > 0).copied().collect()
    }

    /// The items of an earlier list: the completed ones that left it, and those of its `last` revision.
    pub(crate) fn earlier_items(&self, first: u64, last: u64) -> Result<List, Error> {
        let mut removals = Removals::default();
        let mut before = self.list_at(first)?;
        for revision in self.revisions.iter().filter(|one| first < one.number && one.number <= last) {
            removals.note(revision, &before);
            before = apply(&before, &revision.changes);
        }
        let mut items = removals.left_out(first, |status| !status.is_open());
        items.extend(before);
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

    /// The number of calls that were refused after a time.
    pub fn refused_after(&self, time: Millis) -> usize {
        self.review.refused_after(time)
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

    /// The turns, oldest first.
    pub fn turns(&self) -> &[Turn] {
        self.turns.all()
    }

    /// What the agent did in a part of the turn with this index, if anything is known.
    pub fn work_in_turn(&self, turn: usize, part: Part<'_>) -> Option<&Work> {
        self.work.in_turn(turn, part)
    }

    /// When a call that started a subagent was made.
    pub(crate) fn moment_of_call(&self, call: &str) -> Option<&Moment> {
        self.moments.iter().rev().find(|(known, _)| known == call).map(|(_, moment)| moment)
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
        mark_told(&mut list, self.known_after(&made).as_deref());
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
        let is_news = sent.as_ref().map_or(self.agent.knows != Knows::All, |sent| !sent.is_empty());
        if is_news || self.agent.is_unanswered() != unanswered {
            let number = self.revisions.last();
            self.make(Record::Known { number, sent, unanswered, reminded: Vec::new(), noted: false });
        }
    }

    /// The list that the agent knows.
    fn base(&self) -> &List {
        self.agent.base(self.list())
    }
}

/// The part of a description that names the Emacs that writes the plan.
pub(crate) const EMACS: &str = "emacs";

/// The number of characters of a line that are shown at most.
const LINE: usize = 300;

/// The first line of a text that is not blank, or as much of it as a screen shows.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(LINE).collect()
}

/// The parent thread and its item in the description of a thread; see [`Thread::parent`].
pub(crate) fn parent_in(about: &Map<String, Value>) -> Option<(&str, Option<&str>)> {
    let text = |key: &str| about.get(key)?.as_str();
    Some((text("parent")?, text("parentItem")))
}
