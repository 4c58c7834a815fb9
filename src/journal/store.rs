//! The plans of one journal folder, in memory or only on disk.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Map, Value};

use super::folder;
use super::plan::{OlderThread, Plan};
use super::search::{Query, Search};
use super::segments::{Durability, Span};
use super::summary::KeptPlan;
use crate::error::Error;
use crate::events::Millis;
use crate::events::observation::Observation;
use crate::events::work::{Part, items_of};
use crate::file::modified;
use crate::list::item::Author;
use crate::thread::activity::{Agents, Doing, End, Ending, Fact};
use crate::thread::{EMACS, Thread, parent_in};

/// The number of plans kept in memory if they are at rest, since each may have megabytes of observations.
const MANY_AT_REST: usize = 64;

/// The user's options for saving plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// The journal folder. Without it, plans are not saved.
    pub folder: Option<PathBuf>,
    /// When a record counts as saved.
    pub durability: Durability,
    /// The number of observations of each thread that stay in memory.
    pub history_limit: usize,
    /// The length in bytes from which on a segment of a journal ends, if it is not the usual one; 0 for a new one
    /// after each change.
    pub segment: Option<u64>,
    /// The name of this Emacs among all processes, by which another one can find out whether it lives.
    pub emacs: Option<String>,
}

/// The plans of one journal folder. What reads a plan returns the errors of [`Store::get`].
#[derive(Debug, Default)]
pub struct Store {
    storage: Arc<Storage>,
    plans: HashMap<String, Plan>,
    /// The descriptions of the plans that this process uses, also of those that left memory.
    used: HashMap<String, Map<String, Value>>,
    /// The number of uses of plans so far, by which the latest are known.
    uses: u64,
    /// What was read last of older segments.
    older: Option<OlderThread>,
    /// What is known of the agents of the plans, and of others.
    pub agents: Agents,
}

/// What a fact changed of an agent and its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Changed {
    pub thread: String,
    /// Whether the state of the plan changed, or another ending replaced that of its turn.
    #[serde(rename = "changed")]
    pub is_changed: bool,
    /// Whether the agent does something else.
    #[serde(rename = "transition")]
    pub is_transition: bool,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

impl Changed {
    /// Whether it is to be told.
    pub fn is_news(&self) -> bool {
        self.is_changed || self.is_transition || !self.warnings.is_empty()
    }
}

impl Store {
    /// Creates a store, which reads journals on demand.
    ///
    /// # Examples
    /// ```
    /// use todo_write::list::input::{Options, read_text};
    /// use todo_write::journal::store::{Storage, Store};
    /// use todo_write::thread::WriteOptions;
    ///
    /// let mut store = Store::new(Storage { folder: None, history_limit: 100, ..Storage::default() });
    /// let call = r#"{"todos": [{"content": "Ship it", "status": "pending", "activeForm": "Shipping"}]}"#;
    /// let plan = read_text(call, &Options::default()).unwrap();
    /// let outcome = store
    ///     .open("agent", Default::default(), 1)
    ///     .change(|thread| thread.write(plan, WriteOptions::default(), 2));
    /// assert_eq!(outcome.result, "0/1 task completed.");
    /// assert_eq!(store.get("agent").unwrap().unwrap().list()[0].id, "t1");
    /// ```
    pub fn new(storage: Storage) -> Store {
        Store { storage: Arc::new(storage), ..Store::default() }
    }

    /// Changes the options. The folder must stay the same.
    pub fn set_storage(&mut self, storage: Storage) {
        self.storage = Arc::new(storage);
        self.plans.values_mut().for_each(|plan| plan.storage = Arc::clone(&self.storage));
    }

    /// The plan to show first, of those in the innermost project that contains `folder`: the one that its agent
    /// wrote last, if that has not ended, else the one written last. Subagents do not count.
    pub fn current(&self, folder: Option<&str>) -> Option<&str> {
        let depth = |thread: &Thread| {
            let Some(folder) = folder else { return Some(0) };
            let project = thread.about().get("project")?.as_str()?.trim_end_matches('/');
            let inside = folder.strip_prefix(project)?;
            (inside.is_empty() || inside.starts_with('/')).then_some(project.len())
        };
        let rank = |thread: &Thread| {
            let lives = !matches!(thread.ending(), Some(Ending::Killed | Ending::SessionEnded));
            let stamps = || thread.revisions().iter().rev().map(|revision| &revision.stamp);
            let of_agent = stamps().find(|stamp| stamp.author == Author::Agent);
            let written = of_agent.or_else(|| stamps().next())?.timestamp;
            thread.parent().is_none().then_some((depth(thread)?, lives, written))
        };
        // Of several that were written in the same millisecond, always the same one.
        let ranked = self.loaded().filter_map(|thread| Some((rank(thread)?, thread.key())));
        ranked.max().map(|(_, key)| key)
    }

    /// Removes and returns the warnings for the user.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.plans.values_mut().flat_map(Plan::take_warnings).collect()
    }

    /// A plan to change: the one in memory, one restored from its journal, or a new one with `about`. If its
    /// journal cannot be read, it is new, and stays in memory until it can.
    pub fn open(&mut self, key: &str, mut about: Map<String, Value>, now: Millis) -> &mut Plan {
        if !self.plans.contains_key(key) {
            about.extend(self.storage.emacs.clone().map(|emacs| (EMACS.to_owned(), emacs.into())));
            self.rest_if_many();
            let plan = match Plan::open(key, &self.storage).ok().flatten() {
                Some(mut plan) => {
                    // A crash may have cut off the description, in the first line.
                    if plan.about().is_empty() && !about.is_empty() {
                        plan.change(|thread| {
                            about.into_iter().for_each(|(name, value)| thread.describe(&name, value, now));
                        });
                    }
                    plan
                }
                None => {
                    let mut thread = Thread::new(key, about, self.storage.history_limit);
                    thread.review.since = now;
                    Plan::new(thread, &self.storage)
                }
            };
            self.plans.insert(key.to_owned(), plan);
        }
        self.uses += 1;
        let uses = self.uses;
        let Some(plan) = self.plans.get_mut(key) else { unreachable!("it was inserted") };
        plan.last_use = uses;
        if self.used.get(key) != Some(plan.about()) {
            self.used.insert(key.to_owned(), plan.about().clone());
        }
        plan
    }

    /// Lets go of plans at rest if there are many, the least used first. The next use opens them again.
    fn rest_if_many(&mut self) {
        if self.plans.len() <= MANY_AT_REST {
            return;
        }
        let current = self.current(None);
        let at_rest = self.plans.values().filter(|plan| plan.is_at_rest() && Some(plan.key()) != current);
        let mut keys: Vec<(u64, String)> =
            at_rest.map(|plan| (plan.last_use, plan.key().to_owned())).collect();
        keys.sort();
        for (_, key) in &keys[..keys.len().saturating_sub(MANY_AT_REST / 2)] {
            if let Some(mut plan) = self.plans.remove(key) {
                plan.summarize();
            }
        }
    }

    /// Tries again to save the plans that could not be saved. Returns the keys of those that still are not.
    pub(crate) fn save_again(&mut self) -> Vec<String> {
        self.plans.values_mut().for_each(Plan::save_again);
        self.unsaved().map(str::to_owned).collect()
    }

    /// The keys of the plans that could not be saved.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = &str> {
        self.plans.values().filter(|plan| plan.is_unsaved()).map(|plan| plan.key())
    }

    /// Writes the summaries of all plans.
    pub fn summarize(&mut self) {
        self.plans.values_mut().for_each(Plan::summarize);
    }

    /// A plan that this process uses, to change what one on disk lacks: an agent at work and observations that
    /// are not delivered.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Plan> {
        self.used.contains_key(key).then(|| self.open(key, Map::new(), 0))
    }

    /// Restores the plans that a panic left half changed.
    pub(crate) fn recover(&mut self) {
        self.plans.values_mut().for_each(Plan::recover);
    }

    /// A thread to read, in memory or from its journal. None if it exists nowhere. No journal is changed.
    ///
    /// # Errors
    /// [`Error::Journal`] if that cannot be read.
    pub fn get(&mut self, key: &str) -> Result<Option<&Thread>, Error> {
        Ok(self.plan(key)?.map(|plan| &**plan))
    }

    /// As [`Store::get`], with its journal.
    fn plan(&mut self, key: &str) -> Result<Option<&Plan>, Error> {
        self.uses += 1;
        if let Some(plan) = self.plans.get_mut(key) {
            plan.last_use = self.uses;
            // Another Emacs may use it.
            if !self.used.contains_key(key) {
                plan.refresh();
            }
        } else {
            self.rest_if_many();
            let Some(mut plan) = Plan::open(key, &self.storage)? else { return Ok(None) };
            plan.last_use = self.uses;
            self.plans.insert(key.to_owned(), plan);
        }
        Ok(self.plans.get(key))
    }

    /// The name of another Emacs of which it is not known whether it lives, since the plan was read: that which wrote
    /// it.
    pub fn unsettled(&mut self, key: &str) -> Result<Option<String>, Error> {
        Ok(self.plan(key)?.and_then(Plan::unsettled).map(str::to_owned))
    }

    /// Says whether that Emacs lives. If not, the plan has ended.
    pub fn settle(&mut self, key: &str, lives: bool) {
        if let Some(plan) = self.plans.get_mut(key) {
            plan.settle(lives);
        }
    }

    /// Takes what other Emacsen did to a plan in memory.
    pub fn refresh(&mut self, key: &str) {
        if let Some(plan) = self.plans.get_mut(key) {
            plan.refresh();
            if !self.used.contains_key(key) {
                plan.doubt();
            }
        }
    }

    /// A thread that has all of a span; see [`Store::get`].
    pub fn spanning(&mut self, key: &str, span: Span) -> Result<Option<&Thread>, Error> {
        self.plan(key)?;
        let Some(plan) = self.plans.get(key) else { return Ok(None) };
        plan.spanning(span, &mut self.older).map(Some)
    }

    /// The observations of work in a part of a plan, oldest first. They were recorded, or sent out, with one of
    /// `numbers`.
    pub fn work_recorded(
        &mut self,
        key: &str,
        part: Part<'_>,
        numbers: Range<u64>,
    ) -> Result<Vec<Arc<Observation>>, Error> {
        let is_of = |one: &Arc<Observation>| {
            items_of(one).is_some_and(|items| part.has(items))
                && numbers.contains(&one.payload.metadata.of_call.unwrap_or(one.number))
        };
        // The work of a subagent may come after the turn in which it was sent out.
        let span = Span::Observations(numbers.start.max(1), u64::MAX);
        let Some(thread) = self.spanning(key, span)? else { return Ok(Vec::new()) };
        Ok(thread.observations().reported().filter(|one| is_of(one)).cloned().collect())
    }

    /// The plan with a key, or all, for [`super::search::search_plans`].
    pub fn plans_to_search(&mut self, key: Option<&str>, query: &Query) -> Result<Vec<Search>, Error> {
        key.map(|key| self.plan(key).map(drop)).transpose()?;
        let mut plans = Vec::new();
        let asked = self.plans.values().filter(|plan| key.is_none_or(|key| key == plan.key()));
        for plan in asked.filter(|plan| plan.journal().is_none_or(|one| one.place().is_none())) {
            let mut search = Search::new(query, plan.key(), plan.title(), Vec::new());
            search.add_thread(plan);
            plans.push(search);
        }
        let asked = |root| match key {
            Some(key) => BTreeSet::from([folder::folder_of(root, key)]),
            None => folders(root),
        };
        for folder in self.folder().map(asked).unwrap_or_default() {
            // The small file may be missing, or older than the title.
            let known = KeptPlan::read(&folder).map(|(known, _)| (known.key, known.summary.title));
            let known = known.or_else(|| folder::key_of(&folder).map(|key| (key, None)));
            let Some((key, title)) = known else { continue };
            let in_memory = self.plans.get(&key);
            let title = in_memory.map_or(title.as_deref(), |plan| plan.title());
            let segments = folder::segments(&folder).into_iter().map(|(_, path)| path).collect();
            let mut search = Search::new(query, &key, title, segments);
            let unsaved = in_memory.into_iter().flat_map(Plan::unsaved_records);
            unsaved.for_each(|record| search.add_record(record));
            plans.push(search);
        }
        Ok(plans)
    }

    /// How the agent of a plan of this process ended by its journal, and when that last changed.
    pub(crate) fn end_of(&mut self, key: &str) -> Option<(End, Millis)> {
        let plan = self.get_mut(key)?;
        Some((End::new(plan.ending()?, plan.pause_reason().map(str::to_owned)), plan.last_time()))
    }

    /// Tells facts of the agent of a plan, which follows what the agent does then.
    pub fn tell(&mut self, key: &str, facts: impl IntoIterator<Item = Fact>, now: Millis) -> Changed {
        facts.into_iter().for_each(|fact| self.agents.tell(key, fact));
        let (is_transition, decision) = self.agents.decide(key, now);
        let Some(decision) = decision else {
            return Changed { thread: key.to_owned(), is_transition, ..Changed::default() };
        };
        let mut is_changed = false;
        // The agent of a plan that this process does not use has stopped.
        if let Some(plan) = self.get_mut(key)
            && plan.following(&decision) != *plan.agent_activity()
        {
            let before = (plan.state(), plan.ending());
            // It did not end before what the plan knows.
            let is_work = decision.doing == Doing::Working;
            let time = if is_work { now } else { decision.since.max(plan.last_time()).min(now) };
            plan.change(|thread| thread.follow(&decision, time));
            let ending = plan.ending();
            let is_replaced = before.1.is_some() && ending.is_some() && before.1 != ending;
            is_changed = before.0 != plan.state() || is_replaced;
        }
        Changed { thread: key.to_owned(), is_changed, is_transition, warnings: self.take_warnings() }
    }

    /// Whether this process uses the plan.
    pub(crate) fn is_used(&self, key: &str) -> bool {
        self.used.contains_key(key)
    }

    /// Whether the plan is used, or has a journal.
    pub(crate) fn exists(&self, key: &str) -> bool {
        let folder = self.folder().map(|root| folder::folder_of(root, key));
        self.is_used(key) || folder.is_some_and(|folder| !folder::segments(&folder).is_empty())
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.storage.folder.as_deref()
    }

    /// The plans in memory that this process uses.
    pub fn loaded(&self) -> impl Iterator<Item = &Thread> {
        self.plans.values().filter(|plan| self.is_used(plan.key())).map(|plan| &**plan)
    }

    /// The plans that have a journal, newest first, and the number of those of which what is shown is old, since
    /// other journals were read before: at most `most` are.
    pub fn kept(&mut self, most: usize) -> (Vec<KeptPlan>, usize) {
        let Some(root) = self.storage.folder.clone() else { return (Vec::new(), 0) };
        let mut of_memory: HashMap<PathBuf, KeptPlan> = HashMap::new();
        for plan in self.plans.values() {
            let place =
                plan.journal().and_then(|journal| Some((journal.folder().to_owned(), journal.place()?)));
            of_memory.extend(place.map(|(folder, place)| (folder, KeptPlan::of(plan, place))));
        }
        let (mut kept, mut old, mut read) = (Vec::new(), 0, 0);
        for folder in folders(&root) {
            if let Some(of_memory) = of_memory.remove(&folder) {
                kept.push(of_memory);
                continue;
            }
            match KeptPlan::read(&folder) {
                Some((summary, true)) => kept.push(summary),
                summary if read < most => {
                    read += 1;
                    let key = summary.map(|(summary, _)| summary.key).or_else(|| folder::key_of(&folder));
                    kept.extend(key.and_then(|key| self.summarized(&key)));
                }
                summary => {
                    old += 1;
                    kept.extend(summary.map(|(summary, _)| summary));
                }
            }
        }
        kept.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.key.cmp(&b.key)));
        (kept, old)
    }

    /// What is shown of a plan, by its journal. It is written for the next time.
    fn summarized(&self, key: &str) -> Option<KeptPlan> {
        let mut plan = Plan::open(key, &self.storage).ok()??;
        plan.summarize();
        let place = plan.journal()?.place()?;
        Some(KeptPlan::of(&plan, place))
    }

    /// The keys of the subagents' plans under this one, and the items they work on.
    pub fn children(&self, parent: &str) -> Vec<(String, Option<String>)> {
        let child = |(key, about): (&String, &Map<String, Value>)| {
            let (_, item) = parent_in(about).filter(|(key, _)| *key == parent)?;
            Some((key.clone(), item.map(str::to_owned)))
        };
        let mut children: Vec<_> = self.used.iter().filter_map(child).collect();
        children.sort();
        children
    }

    /// Deletes a plan: its list, its history and its journal.
    ///
    /// # Errors
    /// [`Error::Journal`] if the journal cannot be deleted; the plan then stays.
    pub fn forget(&mut self, key: &str) -> Result<(), Error> {
        if let Some(folder) = self.folder().map(|root| folder::folder_of(root, key)) {
            let failed = |reason| Error::Journal { file: folder.display().to_string(), reason };
            folder::delete(&folder).map_err(failed)?;
        }
        self.plans.remove(key);
        self.used.remove(key);
        self.agents.forget(key);
        Ok(())
    }

    /// Deletes the journals older than `age` of plans that are not in memory. Returns the number deleted.
    ///
    /// # Errors
    /// [`Error::Journal`] if a file cannot be deleted.
    pub fn prune(&mut self, age: Duration) -> Result<usize, Error> {
        let Some(root) = self.folder() else { return Ok(0) };
        let in_memory: HashSet<PathBuf> =
            self.plans.keys().chain(self.used.keys()).map(|key| folder::folder_of(root, key)).collect();
        let now = SystemTime::now();
        let is_old = |folder: &PathBuf| {
            let newest = folder::segments(folder).last().and_then(|(_, file)| modified(file));
            newest.is_some_and(|time| now.duration_since(time).is_ok_and(|past| past > age))
        };
        let mut deleted = 0;
        for folder in folders(root).iter().filter(|one| !in_memory.contains(*one) && is_old(one)) {
            match folder::delete(folder) {
                Ok(()) => deleted += 1,
                // Another Emacs is changing it.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(reason) => return Err(Error::Journal { file: folder.display().to_string(), reason }),
            }
        }
        Ok(deleted)
    }
}

/// The folders of all plans, also of those that have only a journal of version 0.3 beside it.
fn folders(root: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    entries.filter_map(|entry| folder::of_entry(&entry.path(), entry.file_type().ok()?)).collect()
}
