//! What an agent did while a task was in progress: files changed, commands, responses and their tokens.
//!
//! Each observation of work names the items it counts for, so these sums follow from the observations
//! alone: the journal restores them, and no list is needed.
//!
//! An observation counts for every item in progress at its moment, in full, once for the thread, and
//! for none of the items if none was in progress. So the parts add up to the whole unless items shared
//! some work.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::observation::Observation;
use crate::events::payload::{AgentsWork, FileEntry, Metadata, Type};
use crate::events::push_bounded;
use crate::named::{sparse, wire_names};

wire_names! {
    /// How a call ended.
    #[allow(missing_docs)]
    pub enum CallOutcome {
        Ok = "ok",
        Failed = "failed",
        /// The user or the agent's rules refused it, so that it never ran.
        Refused = "refused",
        Background = "background",
        /// It ended, and nothing says how.
        Unknown = "unknown",
    }
}

/// Tools that run commands. An observation with an exit code is of a command, whatever its tool.
const SHELLS: &str = "Bash PowerShell bash shell shell_command shell_exec exec_command local_shell local_shell_call \
                      container.exec run_shell_command run_command run_terminal_cmd execute";
/// The tool of Codex that runs a script, which may run several commands.
const SCRIPT: &str = "exec";
/// The newest responses whose tokens may still be corrected.
const OPEN_RESPONSES: usize = 256;

/// Maximum number of models that are named, and of files.
const MOST_MODELS: usize = 100;
const MOST_FILES: usize = 1_000;

/// The changes of one file, by its absolute name.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileWork {
    pub path: String,
    pub added: u64,
    pub removed: u64,
    pub edits: u64,
    pub created: bool,
    /// Whether it was deleted and not created again.
    pub deleted: bool,
    /// Whether a command made some of its changes.
    #[serde(rename = "byCommand", skip_serializing_if = "std::ops::Not::not")]
    pub by_command: bool,
}

/// Numbers of commands.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandWork {
    /// All that ran; the refused ones did not.
    pub run: u64,
    pub failed: u64,
    pub refused: u64,
    pub background: u64,
    /// Those that ended in an unknown way.
    pub unknown: u64,
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tokens {
    /// New input that was not cached.
    pub input: u64,
    /// Output, with thinking.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// New input written to the cache.
    pub cache_write: u64,
}

impl Tokens {
    /// The sum of all kinds, by which figures of one response are compared.
    pub fn sum(&self) -> u64 {
        let kinds = [self.input, self.output, self.cache_read, self.cache_write];
        kinds.into_iter().fold(0, u64::saturating_add)
    }

    /// Each figure with that of others, combined.
    pub fn combine(self, other: Tokens, with: impl Fn(u64, u64) -> u64) -> Tokens {
        Tokens {
            input: with(self.input, other.input),
            output: with(self.output, other.output),
            cache_read: with(self.cache_read, other.cache_read),
            cache_write: with(self.cache_write, other.cache_write),
        }
    }
}

/// The tokens of a response, as the content of its USAGE.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Usage {
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Whether the output is a lower bound.
    pub at_least: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Usage {
    /// The figures of the content of a USAGE, which a host may have written; what is missing or no number is 0.
    fn read(content: &Value) -> Usage {
        let count = |kind: &str| content[kind].as_u64().unwrap_or_default();
        let [input, output] = ["input", "output"].map(count);
        let [cache_read, cache_write] = ["cacheRead", "cacheWrite"].map(count);
        Usage {
            tokens: Tokens { input, output, cache_read, cache_write },
            at_least: content["atLeast"] == true,
            model: content["model"].as_str().map(str::to_owned),
        }
    }
}

/// The work of one part: an item, all outside items, or a whole thread.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Work {
    /// The files in order of their first change.
    pub files: Vec<FileWork>,
    pub added: u64,
    pub removed: u64,
    pub edits: u64,
    /// Whether more files were changed than those that are known.
    pub more_files: bool,
    pub commands: CommandWork,
    /// The number of calls that were refused, commands or not.
    pub refused: u64,
    /// The number of responses with tokens.
    pub responses: u64,
    pub tokens: Tokens,
    /// The number of responses whose output is a lower bound.
    pub lower_bounds: u64,
    /// The first models in order of their first response.
    pub models: Vec<String>,
    /// The largest number of other items that were in progress, too, and have the same work.
    pub sharers: u64,
}

/// Names a part of a thread's work, or of that of one of its turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// All of it.
    Whole,
    /// All that was done while no item was in progress.
    Outside,
    /// An item, by its id.
    Item(&'a str),
}

/// The work of a thread, or of one of its turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Sums {
    whole: Work,
    outside: Work,
    items: Vec<(String, Work)>,
}

impl Sums {
    fn for_each(&mut self, items: &[String], mut add: impl FnMut(&mut Work)) {
        add(&mut self.whole);
        if items.is_empty() {
            add(&mut self.outside);
        }
        for item in items {
            let known = self.items.iter().rposition(|(known, _)| known == item);
            let place = known.unwrap_or_else(|| {
                self.items.push((item.clone(), Work::default()));
                self.items.len() - 1
            });
            let work = &mut self.items[place].1;
            work.sharers = work.sharers.max(items.len() as u64 - 1);
            add(work);
        }
    }

    fn get(&self, part: Part<'_>) -> Option<&Work> {
        let work = match part {
            Part::Whole => Some(&self.whole),
            Part::Outside => Some(&self.outside),
            Part::Item(id) => self.items.iter().rev().find(|(item, _)| item == id).map(|(_, work)| work),
        };
        work.filter(|work| **work != Work::default())
    }
}

/// To what some work belongs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Owners {
    items: Vec<String>,
    /// The index of the turn.
    turn: usize,
}

/// The sums of a thread's observations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WorkSums {
    #[serde(serialize_with = "sparse")]
    all: Sums,
    /// Those of the turns, as far as they have any work.
    #[serde(serialize_with = "sparse")]
    turns: Vec<Sums>,
    /// The newest responses: name, usage and owners. A later observation of the same response replaces
    /// its figures, which belong to the owners of the first one.
    open: VecDeque<(String, Usage, Owners)>,
    /// Whether the host reported tokens that belong to no single part of the thread.
    has_session_tokens: bool,
}

impl Part<'_> {
    /// Whether work that counts for these items is of the part.
    pub(crate) fn has(self, items: &[String]) -> bool {
        match self {
            Part::Whole => true,
            Part::Outside => items.is_empty(),
            Part::Item(id) => items.iter().any(|item| item == id),
        }
    }
}

/// The ids of the items that an observation of work counts for.
pub(crate) fn items_of(observation: &Observation) -> Option<&[String]> {
    observation.payload.metadata.items.as_deref().filter(|_| observation.payload.is_work())
}

impl WorkSums {
    /// Forgets the sums of the items that are not known.
    pub(crate) fn forget_items(&mut self, is_known: impl Fn(&str) -> bool) {
        self.all.items.retain(|(item, _)| is_known(item));
    }

    /// Adds an observation of the turn with this index, if it is one of work.
    pub(crate) fn add(&mut self, observation: &Observation, turn: usize) {
        let Some(items) = items_of(observation) else { return };
        let owners = Owners { items: items.to_vec(), turn };
        let payload = &observation.payload;
        if payload.kind == Type::Usage {
            return self.add_usage(&payload.metadata, &Usage::read(&payload.content), &owners);
        }
        let Some(call) = payload.call() else { return };
        let files = payload.files().iter().filter(|file| !file.path.is_empty());
        let outcome = command_outcome(observation);
        let is_refused = is_refused(observation);
        let is_of_files = files.clone().next().is_some() || call.more_files == Some(true);
        if !is_of_files && call.by_agents.is_none() && outcome.is_none() && !is_refused {
            return;
        }
        self.for_each(&owners, |work| {
            files.clone().for_each(|file| work.add_file(file));
            work.more_files |= call.more_files == Some(true);
            work.refused += u64::from(is_refused);
            if let Some(outcome) = outcome {
                work.commands.add(outcome);
            }
            if let Some(AgentsWork { added, removed, edits }) = call.by_agents {
                work.add_lines(added, removed, edits);
            }
        });
    }

    fn add_usage(&mut self, used: &Metadata, usage: &Usage, owners: &Owners) {
        if used.of_session == Some(true) {
            self.has_session_tokens |= usage.tokens.sum() > 0;
            self.all.whole.add_tokens(usage);
            return self.of_turn(owners.turn, |sums| sums.whole.add_tokens(usage));
        }
        let name = used.response.clone().unwrap_or_default();
        let known = self.open.iter().position(|(known, ..)| !name.is_empty() && *known == name);
        let (old, owners) = match known.and_then(|place| self.open.remove(place)) {
            Some((_, old, owners)) => (Some(old), owners),
            None => (None, owners.clone()),
        };
        self.for_each(&owners, |work| work.replace_usage(old.as_ref(), usage));
        if !name.is_empty() {
            push_bounded(&mut self.open, OPEN_RESPONSES, (name, usage.clone(), owners));
        }
    }

    fn of_turn(&mut self, turn: usize, add: impl FnOnce(&mut Sums)) {
        if self.turns.len() <= turn {
            self.turns.resize_with(turn + 1, Sums::default);
        }
        add(&mut self.turns[turn]);
    }

    fn for_each(&mut self, owners: &Owners, mut add: impl FnMut(&mut Work)) {
        self.all.for_each(&owners.items, &mut add);
        self.of_turn(owners.turn, |sums| sums.for_each(&owners.items, add));
    }

    /// The work of a part, if anything is known of it.
    pub(crate) fn get(&self, part: Part<'_>) -> Option<&Work> {
        self.all.get(part)
    }

    /// The work of a part in the turn with this index, if anything is known of it.
    pub(crate) fn in_turn(&self, turn: usize, part: Part<'_>) -> Option<&Work> {
        self.turns.get(turn)?.get(part)
    }

    /// Whether the host reported tokens of this part.
    pub(crate) fn has_tokens(&self, part: Part<'_>) -> bool {
        self.all.whole.responses > 0 || part == Part::Whole && self.has_session_tokens
    }
}

/// Whether TOOL runs a command.
pub fn is_shell(tool: &str) -> bool {
    SHELLS.split(' ').any(|shell| shell == tool)
}

/// Whether TOOL runs a command, or a script of commands.
pub(crate) fn runs_commands(tool: &str) -> bool {
    tool == SCRIPT || is_shell(tool)
}

/// Whether an observation tells that a call was refused.
pub(crate) fn is_refused(observation: &Observation) -> bool {
    let refusal = observation.payload.call().and_then(|call| call.refusal.as_ref());
    refusal.is_some() || command_outcome(observation) == Some(CallOutcome::Refused)
}

/// The outcome of a command; none for other calls.
fn command_outcome(observation: &Observation) -> Option<CallOutcome> {
    let Metadata { outcome, exit_code, command, .. } = *observation.payload.call()?;
    let tool = observation.payload.content.get("name").and_then(Value::as_str);
    let is_command = command.unwrap_or_else(|| exit_code.is_some() || tool.is_some_and(is_shell));
    let by_code = exit_code.map(|code| if code == 0 { CallOutcome::Ok } else { CallOutcome::Failed });
    outcome.or(by_code).filter(|_| is_command)
}

impl CommandWork {
    fn add(&mut self, outcome: CallOutcome) {
        self.run += u64::from(outcome != CallOutcome::Refused);
        match outcome {
            CallOutcome::Ok => {}
            CallOutcome::Failed => self.failed += 1,
            CallOutcome::Refused => self.refused += 1,
            CallOutcome::Background => self.background += 1,
            CallOutcome::Unknown => self.unknown += 1,
        }
    }
}

impl Work {
    pub(crate) fn add_file(&mut self, entry: &FileEntry) {
        self.add_lines(entry.added, entry.removed, 1);
        // An agent most often changes again what it changed last.
        let known = self.files.iter().rposition(|file| file.path == entry.path);
        if known.is_none() && self.files.len() == MOST_FILES {
            self.more_files = true;
            return;
        }
        let place = known.unwrap_or_else(|| {
            self.files.push(FileWork { path: entry.path.clone(), ..FileWork::default() });
            self.files.len() - 1
        });
        let file = &mut self.files[place];
        file.added = file.added.saturating_add(entry.added);
        file.removed = file.removed.saturating_add(entry.removed);
        file.edits += 1;
        file.created |= entry.created;
        file.deleted = entry.deleted;
        file.by_command |= entry.by_command;
    }

    fn add_lines(&mut self, added: u64, removed: u64, edits: u64) {
        self.added = self.added.saturating_add(added);
        self.removed = self.removed.saturating_add(removed);
        self.edits = self.edits.saturating_add(edits);
    }

    fn replace_usage(&mut self, old: Option<&Usage>, new: &Usage) {
        if let Some(old) = old.filter(|old| old.tokens.sum() > 0) {
            self.tokens = self.tokens.combine(old.tokens, u64::saturating_sub);
            self.responses = self.responses.saturating_sub(1);
            self.lower_bounds = self.lower_bounds.saturating_sub(u64::from(old.at_least));
        }
        // A response that has only begun does not count yet.
        if new.tokens.sum() > 0 {
            self.responses += 1;
            self.add_tokens(new);
        }
    }

    fn add_tokens(&mut self, usage: &Usage) {
        self.tokens = self.tokens.combine(usage.tokens, u64::saturating_add);
        self.lower_bounds += u64::from(usage.at_least);
        let is_new = |model: &&String| self.models.len() < MOST_MODELS && !self.models.contains(model);
        if let Some(model) = usage.model.as_ref().filter(is_new) {
            self.models.push(model.clone());
        }
    }
}
