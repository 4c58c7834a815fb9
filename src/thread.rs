//! One agent conversation's list: the only place where state changes.
//!
//! Each entry point goes the same way: work out the new list as plain data, journal it, then
//! commit it in one step that cannot fail. A panic or a full disk in between leaves the thread
//! as it was.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::change::{Change, apply, diff};
use crate::clock::{Clock, Millis, Times};
use crate::error::Error;
use crate::identity::{Seen, recognise};
use crate::input::{Plan, Problem};
use crate::item::{Draft, Item, List, Status};
use crate::journal::{Journal, Record};
use crate::merge::{Merged, merge};
use crate::observation::{Observation, Observations, Type};
use crate::report::{self, Accepted};
use crate::revision::{Author, Revisions, Stamp};
use crate::stream::Stream;

/// What came of a write or an edit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Accepted, or refused with `errors`.
    pub ok: bool,
    /// The newest revision; as it was before, when nothing changed.
    pub revision: u64,
    /// Text for the model.
    pub result: String,
    /// When.
    pub timestamp: Millis,
    /// What differs from the revision before.
    pub changes: Vec<Change<Arc<Item>>>,
    /// What was repaired, and what went wrong with the journal.
    pub notices: Vec<String>,
    /// Why it was refused.
    pub errors: Vec<Problem>,
    /// Ids of completed items that the agent sent back open and that stayed completed.
    pub forced: Vec<String>,
}

/// What a thread is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Something is open.
    Active,
    /// All is completed.
    Done,
    /// Interrupted: nothing runs, nothing is lost.
    Paused,
    /// There is no list.
    Empty,
}

impl State {
    /// The name of the Lisp symbol.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Done => "done",
            State::Paused => "paused",
            State::Empty => "empty",
        }
    }
}

/// A thread and its history.
#[derive(Debug, Default)]
pub struct Thread {
    key: String,
    about: Map<String, Value>,
    revisions: Revisions,
    /// The newest revision the agent knows, and its list while the user's edits are newer.
    known: u64,
    base: Option<List>,
    next_id: u64,
    /// The revision whose list the current one is, which differs from the newest after undo.
    at: u64,
    clock: Clock,
    paused: Option<String>,
    title: Option<String>,
    observations: Observations,
    stream: Stream,
    last_event: Option<streaming::LastEvent>,
    history_limit: usize,
    journal: Option<Journal>,
    /// Set once the user was told that the journal cannot be written.
    warned: bool,
}

/// A revision that is worked out and not yet made.
struct Proposal {
    list: List,
    stamp: Stamp,
    next_id: u64,
    known_to_agent: bool,
}

impl Thread {
    /// An empty thread; `journal` is where it is kept, if anywhere.
    pub fn new(
        key: &str,
        about: Map<String, Value>,
        journal: Option<Journal>,
        history_limit: usize,
    ) -> Thread {
        Thread { key: key.to_owned(), about, journal, history_limit, next_id: 1, ..Thread::default() }
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What the host said of the thread when it began: `project`, `parent`, `parentItem`, ….
    pub fn about(&self) -> &Map<String, Value> {
        &self.about
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

    /// The times of an item that is or was in the list.
    pub fn times(&self, id: &str) -> Option<&Times> {
        self.clock.get(id)
    }

    /// Paused, or what follows from the list.
    pub fn state(&self) -> State {
        match (self.list().as_slice(), &self.paused) {
            ([], _) => State::Empty,
            (list, _) if list.iter().all(|item| !item.status.is_open()) => State::Done,
            (_, Some(_)) => State::Paused,
            (_, None) => State::Active,
        }
    }

    /// Why it is paused.
    pub fn pause_reason(&self) -> Option<&str> {
        self.paused.as_deref().filter(|_| self.state() == State::Paused)
    }

    /// What the agent works on, in a few words.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The recorded events.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// The same, to take the new ones from.
    pub fn observations_mut(&mut self) -> &mut Observations {
        &mut self.observations
    }

    /// Takes an agent's whole list.
    pub fn write(
        &mut self,
        plan: Plan<'_>,
        source: Option<String>,
        keep_completed: bool,
        now: Millis,
    ) -> Outcome {
        let edited = self.base.is_some();
        let base = self.base.clone().unwrap_or_else(|| self.list().clone());
        let mut next_id = self.next_id;
        let mut theirs = self.identify(&base, plan.drafts, &mut next_id);
        let forced = if keep_completed { keep_completed_items(&base, &mut theirs) } else { Vec::new() };
        let Merged { list, conflicts } = if edited {
            merge(&base, self.list(), &theirs)
        } else {
            Merged { list: theirs, conflicts: Vec::new() }
        };
        let edits = if edited { diff(&base, self.list()) } else { Vec::new() };
        let mut notices = plan.notices;
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
        let mut outcome = self.propose(Proposal { list, stamp, next_id, known_to_agent: true });
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

    /// Answers a write that [`crate::input`] refused; nothing changes.
    pub fn refuse(&self, problems: Vec<Problem>, now: Millis) -> Outcome {
        Outcome {
            revision: self.revisions.last(),
            result: report::refused(&problems),
            timestamp: now,
            errors: problems,
            ..Outcome::default()
        }
    }

    /// Pauses with a reason, or resumes with none; says what went wrong with the journal.
    pub fn set_paused(&mut self, reason: Option<String>, now: Millis) -> Option<String> {
        if self.paused.is_some() == reason.is_some() {
            return None;
        }
        let notice = self.record(&Record::State { timestamp: now, paused: reason.clone() });
        self.apply_paused(reason, now);
        notice
    }

    fn apply_paused(&mut self, reason: Option<String>, now: Millis) {
        match reason {
            Some(_) => self.clock.pause(now),
            None => self.clock.resume(self.revisions.current(), now),
        }
        self.paused = reason;
    }

    /// The item in progress, the first of several.
    pub fn current(&self) -> Option<&Arc<Item>> {
        self.list().iter().find(|item| item.status == Status::InProgress)
    }

    /// Gives the drafts the ids of the items they are, and the others new ones.
    ///
    /// Items are looked for in what the agent knows first, then among what the user has added or
    /// renamed since.
    fn identify(&self, base: &[Arc<Item>], drafts: Vec<Draft<'_>>, next_id: &mut u64) -> List {
        let seen: Vec<Seen<'_>> = drafts.iter().map(Seen::from).collect();
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
        let items: Vec<Option<Arc<Item>>> = items.into_iter().map(|item| item.cloned()).collect();
        drafts.into_iter().zip(items).map(|(draft, item)| settle(draft, item, next_id)).collect()
    }

    /// Journals and commits a proposal; where nothing differs, no revision is made.
    fn propose(&mut self, mut proposal: Proposal) -> Outcome {
        let timestamp = proposal.stamp.timestamp;
        let changes = diff(self.list(), &proposal.list);
        if proposal.known_to_agent && changes.is_empty() {
            (self.known, self.base) = (self.revisions.last(), None);
        }
        let mut outcome = Outcome { ok: true, timestamp, changes, ..Outcome::default() };
        if !outcome.changes.is_empty() {
            // The agent's own ids are no change: taking over what the changes lead to, and nothing
            // else, is what the journal will do.
            proposal.list = apply(self.list(), &outcome.changes);
            let number = self.revisions.last() + 1;
            let known = if proposal.known_to_agent { number } else { self.known };
            outcome.notices.extend(self.record(&Record::Revision {
                number,
                stamp: proposal.stamp.clone(),
                changes: outcome.changes.iter().cloned().map(without_previous).collect(),
                next_id: proposal.next_id,
                known,
            }));
            self.commit(proposal, outcome.changes.clone());
            outcome.notices.extend(self.record_full(timestamp));
        }
        outcome.revision = self.revisions.last();
        outcome
    }

    /// Takes a revision over; from here on it is the truth. Nothing in here can fail.
    fn commit(&mut self, proposal: Proposal, changes: Vec<Change<Arc<Item>>>) {
        let Proposal { list, stamp, next_id, known_to_agent } = proposal;
        let now = stamp.timestamp;
        let number = self.revisions.last() + 1;
        if known_to_agent {
            (self.known, self.base) = (number, None);
        } else if self.base.is_none() {
            self.base = Some(self.list().clone());
        }
        self.next_id = next_id;
        self.at = stamp.restores.unwrap_or(number);
        self.clock.follow(&changes, now);
        if self.paused.is_some() {
            self.clock.pause(now);
        }
        self.revisions.push(number, list, changes.clone(), stamp);
        self.observe_revision(number, changes, now);
    }

    /// Takes a journal that could not be had before, and writes down everything.
    pub fn attach(&mut self, journal: Journal, now: Millis) -> Option<String> {
        self.journal = Some(journal);
        self.record(&self.full(now))
    }

    /// Closes the journal until it is written.
    pub fn rest(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.rest();
        }
    }

    /// Whether the thread is kept anywhere.
    pub fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Writes a record; what goes wrong is said once and never stops the thread.
    fn record(&mut self, record: &Record) -> Option<String> {
        let journal = self.journal.as_mut()?;
        match journal.append(record) {
            Ok(()) => {
                self.warned = false;
                None
            }
            Err(_) if self.warned => None,
            Err(error) => {
                let file = journal.path().display().to_string();
                if error.kind() == std::io::ErrorKind::WouldBlock {
                    // The store finds the thread another one, which begins with everything.
                    self.journal = None;
                } else {
                    self.warned = true;
                }
                Some(format!("the journal {file} cannot be written ({error}); the list goes on in memory"))
            }
        }
    }

    fn record_full(&mut self, timestamp: Millis) -> Option<String> {
        if !self.journal.as_ref().is_some_and(|journal| journal.wants_full() && !journal.is_behind()) {
            return None;
        }
        self.record(&self.full(timestamp))
    }

    fn full(&self, timestamp: Millis) -> Record {
        Record::Full {
            number: self.revisions.last(),
            timestamp,
            list: self.list().clone(),
            base: self.base.clone(),
            next_id: self.next_id,
            known: self.known,
            clock: self.clock.clone(),
            observations: self.observations.next_number(),
        }
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

/// In the journal the previous state of an item is what the lines before say.
fn without_previous(change: Change<Arc<Item>>) -> Change<Arc<Item>> {
    Change { previous_item: None, previous_position: None, ..change }
}

mod edit;
mod observing;
mod replay;
mod streaming;

pub use edit::Edit;
pub use streaming::Event;
