//! The story of an agent's work: an entry for each thing that it said, ran or changed, and for each task that began
//! or ended.
//!
//! A call and its result are one entry. How an entry is laid out, and in which words, is Lisp's.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Thread;
use crate::events::Millis;
use crate::events::comments::Telling;
use crate::events::git::{GitOperation, is_address};
use crate::events::observation::{Observation, Type, id_of};
use crate::events::payload::{FileEntry, Metadata, Refusal};
use crate::events::work::{CallOutcome, runs_commands};
use crate::list::item::{Item, Status};
use crate::text::beginning;

/// The types of the observations that become entries.
pub(crate) const TYPES: [Type; 6] =
    [Type::Message, Type::Thoughts, Type::ToolCall, Type::ToolExecution, Type::Error, Type::StateUpdate];
/// The arguments that tell most of a call, the most telling first; those between are names of files.
const COMMANDS: [&str; 2] = ["command", "cmd"];
const FILES: [&str; 3] = ["file_path", "notebook_path", "path"];
const OTHERS: [&str; 8] = ["pattern", "query", "url", "description", "prompt", "input", "code", "chars"];
/// The longest text of an entry, in bytes: a line shows less. All of it is read when it is opened.
const TEXT: usize = 8_000;
/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename = "Symbol", rename_all = "camelCase")]
pub(crate) enum EntryKind {
    Asked,
    Said,
    Thought,
    Command,
    Edit,
    Call,
    Error,
    Wait,
    Git,
    /// The plan or the session changed.
    #[default]
    Change,
    Task,
}

/// An entry. Most fields are of some kinds only.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// It names the entry as long as the thread lives.
    pub key: String,
    pub kind: EntryKind,
    pub time: Millis,
    /// When it ended, if it has a result or is a wait.
    pub ended: Option<Millis>,
    /// The beginning of what it is about: of a call, its most telling argument.
    pub text: String,
    /// Whether that is the name of a file.
    pub is_file: bool,
    pub tool: Option<String>,
    pub outcome: Option<CallOutcome>,
    pub exit_code: Option<i64>,
    /// How long a call took, in milliseconds.
    pub duration: Option<Millis>,
    /// What a call returned that failed.
    pub output: Option<String>,
    pub refusal: Option<Refusal>,
    pub files: Vec<EntryFile>,
    /// Whether it changed more files, and whether others wrote files meanwhile.
    pub more_files: bool,
    pub others_wrote: bool,
    /// Whether not all of it was recorded, and the excluded name that is why.
    pub hidden: bool,
    pub excluded: Option<String>,
    pub git: Option<GitOperation>,
    /// The buffer of Emacs that a call made.
    pub buffer: Option<String>,
    /// What the user answered after a wait, and said.
    pub answer: Option<String>,
    pub note: Option<String>,
    /// How far the agent was told of a comment.
    pub telling: Option<Telling>,
    /// What became of a task: `in_progress`, `completed`, or `removed` from the list.
    pub shape: Option<&'static str>,
    /// The task and the number of the turn.
    pub part: Option<(String, usize)>,
    /// The ids of the observations of the call and of its result.
    pub call: Option<String>,
    pub result: Option<String>,
}

/// A file that a call changed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryFile {
    path: String,
    added: u64,
    removed: u64,
    by_command: bool,
    /// The number of the first changed line, if a patch tells it.
    line: Option<u64>,
}

/// All of what an entry is about.
#[derive(Debug, Default, Serialize)]
pub(crate) struct WholeEntry {
    pub text: Option<String>,
    /// The files that it changed, and the recorded patches.
    pub patches: Vec<(String, Option<String>)>,
    /// What a call returned.
    pub output: Option<String>,
}

/// Whether a tool, also one of an MCP server, only changes the plan, which is no work.
pub(crate) fn is_plan_tool(name: &str) -> bool {
    let own = name.strip_prefix("mcp__").and_then(|rest| rest.rsplit_once("__")).map_or(name, |(_, own)| own);
    ["todo_write", "TodoWrite", "todowrite", "update_plan", "write_todos"].contains(&own)
        || ["TaskCreate", "TaskUpdate", "TaskList", "TaskGet"].contains(&own)
}

/// Whether a tool changes files.
fn is_edit_tool(name: &str) -> bool {
    ["Edit", "MultiEdit", "NotebookEdit", "Write", "apply_patch", "edit", "replace", "write", "write_file"]
        .contains(&name)
}

/// The text of a content, and whether it is the name of a file: of a call, its most telling argument.
pub(crate) fn text_of(content: &Value) -> (String, bool) {
    let fields = match content {
        Value::Null => return Default::default(),
        Value::Object(fields) => fields,
        other => return (plain(other), false),
    };
    let said = ["text", "content", "message", "title"].into_iter().find_map(|key| fields.get(key)?.as_str());
    if let Some(said) = said {
        return (said.to_owned(), false);
    }
    if let Some(input) = fields.get("input").filter(|input| !input.is_number() && !input.is_null()) {
        return argument(input);
    }
    if fields.contains_key("name") {
        return Default::default();
    }
    (described(fields), false)
}

/// The fields of an object in a line.
fn described(fields: &Map<String, Value>) -> String {
    let part = |(key, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) if !text.is_empty() => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Array(values) => values.len().to_string(),
            // A task, or a request.
            Value::Object(fields) => {
                ["content", "title"].iter().find_map(|key| fields.get(*key)?.as_str())?.into()
            }
            _ => return None,
        };
        Some(format!("{key}: {text}"))
    };
    fields.iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// The most telling part of the arguments of a call: the first of the usual ones, else the first short string, else all
/// of them.
fn argument(input: &Value) -> (String, bool) {
    // Arguments may be plain text, or JSON that is still coming in.
    let parsed: Option<Value> = input.as_str().and_then(|text| serde_json::from_str(text).ok());
    let none = Map::new();
    let fields = parsed.as_ref().unwrap_or(input).as_object().unwrap_or(&none);
    let mut usual = COMMANDS.iter().chain(&FILES).chain(&OTHERS);
    if let Some((name, text)) = usual.find_map(|name| Some((name, words(fields.get(*name)?)?))) {
        return (text, FILES.contains(name));
    }
    let is_short = |text: &&str| !text.is_empty() && text.chars().count() < 100;
    let text = match fields.values().filter_map(Value::as_str).find(is_short) {
        Some(text) => text.to_owned(),
        None if fields.is_empty() && parsed.is_none() => plain(input),
        None => described(fields),
    };
    (text, false)
}

/// A text as it is, or any other value as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// An argument that is text, or a list of words.
fn words(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(words) => words.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.join(" "),
        _ => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// What a call returned.
fn output_of(content: &Value) -> Option<&str> {
    let of_field =
        || ["content", "text", "result"].iter().map(|key| &content[key]).find(|value| !value.is_null());
    if content.is_object() { of_field()?.as_str() } else { content.as_str() }
}

/// The number of the first changed line of a patch, after those of the context.
fn first_line_changed(patch: &str) -> Option<u64> {
    let mut lines = patch.lines().skip_while(|line| !line.starts_with("@@ "));
    let (_, new) = lines.next()?.split_once(" +")?;
    let first: u64 = new.split([',', ' ']).next()?.parse().ok()?;
    Some(first + lines.take_while(|line| line.starts_with(' ')).count() as u64)
}

impl From<&FileEntry> for EntryFile {
    fn from(file: &FileEntry) -> EntryFile {
        let FileEntry { path, added, removed, by_command, patch, .. } = file;
        let line = patch.as_deref().and_then(first_line_changed);
        EntryFile { path: path.clone(), added: *added, removed: *removed, by_command: *by_command, line }
    }
}

impl Entry {
    fn new(key: String, kind: EntryKind, time: Millis) -> Entry {
        Entry { key, kind, time, ..Entry::default() }
    }

    /// The entry of an observation by itself.
    fn of(observation: &Observation) -> Entry {
        let payload = &observation.payload;
        let tool = payload.content["name"].as_str();
        let kind = match payload.kind {
            Type::Intent => EntryKind::Asked,
            Type::Message => EntryKind::Said,
            Type::Thoughts => EntryKind::Thought,
            Type::Error => EntryKind::Error,
            Type::StateUpdate => EntryKind::Change,
            _ if !payload.files().is_empty() => EntryKind::Edit,
            _ => match tool {
                Some(tool) if is_edit_tool(tool) => EntryKind::Edit,
                Some(tool) if runs_commands(tool) => EntryKind::Command,
                _ => EntryKind::Call,
            },
        };
        let (text, is_file) = text_of(&payload.content);
        let mut entry = Entry {
            text: beginning(text.trim_start(), TEXT),
            is_file,
            tool: tool.map(str::to_owned),
            outcome: (kind == EntryKind::Error).then_some(CallOutcome::Failed),
            ..Entry::new(id_of(observation.number), kind, observation.timestamp)
        };
        if payload.kind == Type::ToolExecution {
            entry.end(observation);
        } else {
            entry.call = Some(id_of(observation.number));
            entry.note(observation);
        }
        entry
    }

    /// Notes the files of a call or its result, and what of it was not recorded.
    fn note(&mut self, observation: &Observation) {
        let metadata = &observation.payload.metadata;
        self.files = observation.payload.files().iter().map(EntryFile::from).collect();
        self.hidden |= metadata.hidden == Some(true);
        self.excluded = self.excluded.take().or_else(|| metadata.excluded.clone());
    }

    /// The result of the call comes.
    fn end(&mut self, observation: &Observation) {
        let (content, metadata) = (&observation.payload.content, &observation.payload.metadata);
        let usual = if content["isError"] == true { CallOutcome::Failed } else { CallOutcome::Ok };
        let outcome = metadata.outcome.unwrap_or(usual);
        let output =
            output_of(content).filter(|_| matches!(outcome, CallOutcome::Failed | CallOutcome::Refused));
        (self.ended, self.result) = (Some(observation.timestamp), Some(id_of(observation.number)));
        (self.outcome, self.exit_code, self.duration) =
            (Some(outcome), metadata.exit_code, metadata.duration);
        (self.output, self.refusal) = (output.map(str::to_owned), metadata.refusal.clone());
        self.more_files = metadata.more_files == Some(true);
        self.others_wrote = metadata.others_wrote == Some(true);
        self.buffer = content["buffer"].as_str().map(str::to_owned);
        self.note(observation);
        if self.kind == EntryKind::Call && !self.files.is_empty() {
            self.kind = EntryKind::Edit;
        }
    }

    /// The wait for the answer to a request, which the observation tells. Hosts may have requests of other kinds.
    fn of_wait(observation: &Observation) -> Option<Entry> {
        let request = observation.payload.content.get("request")?;
        let text = |key: &str| request[key].as_str().map(str::to_owned);
        let since = request["since"].as_f64()? as Millis;
        Some(Entry {
            ended: Some(observation.timestamp.max(since)),
            text: beginning(text("title").unwrap_or_default().trim_start(), TEXT),
            answer: text("outcome"),
            note: text("text").filter(|text| !text.trim().is_empty()),
            ..Entry::new(id_of(observation.number), EntryKind::Wait, since)
        })
    }

    /// What became of a task in the turn with a number.
    fn of_task(item: &Item, shape: &'static str, time: Millis, turn: usize) -> Entry {
        Entry {
            text: item.content.clone(),
            shape: Some(shape),
            part: Some((item.id.clone(), turn)),
            ..Entry::new(format!("{turn}/{}/{shape}/{time}", item.id), EntryKind::Task, time)
        }
    }
}

/// What a call did in Git. A host may tell any address.
fn operations(metadata: &Metadata) -> Vec<GitOperation> {
    let mut all = metadata.git.clone().unwrap_or_default();
    all.iter_mut().for_each(|one| one.url = one.url.take().filter(|url| is_address(url)));
    all
}

/// The entries of observations of a thread, oldest first.
pub(crate) fn entries(thread: &Thread, observations: &[Arc<Observation>]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    // The places of the entries of calls, by the ids of these.
    let mut calls: HashMap<&str, usize> = HashMap::new();
    for observation in observations {
        let (payload, metadata) = (&observation.payload, &observation.payload.metadata);
        let is_call = payload.call().is_some();
        let id = metadata.call_id.as_deref().or_else(|| payload.content["id"].as_str()).filter(|_| is_call);
        let call = id.and_then(|id| calls.get(id)).copied();
        let entry = match payload.kind {
            _ if is_call && payload.content["name"].as_str().is_some_and(is_plan_tool) => None,
            Type::StateUpdate => Entry::of_wait(observation).or_else(|| {
                payload.content["text"].as_str()?;
                let mut kept = thread.comments.all();
                let telling = kept.find(|kept| kept.number == observation.number).map(|kept| kept.telling);
                Some(Entry { telling, ..Entry::of(observation) })
            }),
            Type::ToolExecution if call.is_some() => {
                call.and_then(|place| entries.get_mut(place))
                    .into_iter()
                    .for_each(|call| call.end(observation));
                None
            }
            // Of a subagent's calls, the sums count here; its own story has them.
            Type::ToolExecution if metadata.agent.is_some() && metadata.files.is_none() => None,
            _ => Some(Entry::of(observation)),
        };
        if let Some(entry) = entry {
            // Codex repeats what it thought before each further thought.
            let is_more =
                |last: &&mut Entry| last.kind == EntryKind::Thought && entry.text.starts_with(&last.text);
            match entries.last_mut().filter(|_| entry.kind == EntryKind::Thought).filter(is_more) {
                Some(last) => (last.text, last.call) = (entry.text, entry.call),
                None => {
                    calls.extend(id.map(|id| (id, entries.len())));
                    entries.push(entry);
                }
            }
        }
        let call = id.and_then(|id| calls.get(id)).and_then(|place| entries.get(*place)?.call.clone());
        for (place, operation) in operations(metadata).into_iter().enumerate() {
            let key = format!("{}/git{}", id_of(observation.number), place + 1);
            entries.push(Entry {
                git: Some(operation),
                call: call.clone(),
                result: Some(id_of(observation.number)),
                ..Entry::new(key, EntryKind::Git, observation.timestamp)
            });
        }
    }
    entries
}

impl WholeEntry {
    /// That of the observations of a call and of its result.
    pub(crate) fn of(call: Option<&Observation>, result: Option<&Observation>) -> WholeEntry {
        let files = result.or(call).map(|one| one.payload.files()).unwrap_or_default();
        WholeEntry {
            text: call.map(|call| text_of(&call.payload.content).0),
            patches: files.iter().map(|file| (file.path.clone(), file.patch.clone())).collect(),
            output: result.and_then(|result| output_of(&result.payload.content)).map(str::to_owned),
        }
    }
}

/// What became of the tasks of a turn, as far as the list that is current tells.
#[derive(Default)]
pub(crate) struct TurnTasks {
    /// Entries with the numbers of their revisions.
    pub events: Vec<(u64, Entry)>,
    /// The lists that were replaced in it: the numbers of the revisions that begin and end each, and the time at which
    /// it was replaced.
    pub replaced: Vec<(u64, u64, Millis)>,
    /// The ids of its tasks, which have events of their own.
    pub ids: Vec<String>,
}

impl Thread {
    /// What became of the tasks in the turn with a number: they began, were completed, or left the list unfinished,
    /// perhaps before they began. At most `most` tasks and lists count, the newest.
    pub(crate) fn turn_tasks(&self, number: usize, most: usize) -> TurnTasks {
        let turns = self.turns();
        let Some(turn) = number.checked_sub(1).and_then(|place| turns.get(place)) else {
            return TurnTasks::default();
        };
        let ids = turn.items();
        let newest = &ids[ids.len().saturating_sub(most)..];
        let lists = self.earlier_lists();
        let (mut events, mut replaced) = (Vec::new(), Vec::new());
        let is_within = |time: Millis| {
            (number == 1 || turn.began <= time) && turns.get(number).is_none_or(|next| time < next.began)
        };
        for revision in self.revisions().iter().filter(|one| is_within(one.stamp.timestamp)) {
            let time = revision.stamp.timestamp;
            for change in &revision.changes {
                let Some(place) = newest.iter().position(|id| *id == change.item_id) else { continue };
                let before = change.previous_item.as_ref();
                let event = match (&change.item, before) {
                    (None, Some(before)) if before.status.is_open() => (before, "removed"),
                    (Some(item), before) if before.map(|one| one.status) != Some(item.status) => {
                        match item.status {
                            Status::Pending => continue,
                            Status::InProgress => (item, "in_progress"),
                            Status::Completed => (item, "completed"),
                        }
                    }
                    _ => continue,
                };
                events.push(((revision.number, place), Entry::of_task(event.0, event.1, time, number)));
            }
            let list = lists.iter().find(|(_, last)| last + 1 == revision.number);
            replaced.extend(list.map(|(first, last)| (*first, *last, time)));
        }
        // Within a revision, in the order of the turn.
        events.sort_by_key(|(place, _)| *place);
        let events = events.into_iter().map(|((revision, _), entry)| (revision, entry)).collect();
        replaced.drain(..replaced.len().saturating_sub(most));
        TurnTasks { events, replaced, ids }
    }
}

impl TurnTasks {
    /// Adds the unfinished tasks without an event of their own of a list that was replaced.
    pub(crate) fn add_replaced(&mut self, items: &[Arc<Item>], last: u64, time: Millis, turn: usize) {
        let left = items.iter().filter(|item| item.status.is_open() && !self.ids.contains(&item.id));
        self.events.extend(left.map(|item| (last + 1, Entry::of_task(item, "removed", time, turn))));
    }

    /// The entries, oldest first: a millisecond may have several lists.
    pub(crate) fn entries(mut self) -> Vec<Entry> {
        self.events.sort_by_key(|(revision, _)| *revision);
        self.events.into_iter().map(|(_, entry)| entry).collect()
    }
}
