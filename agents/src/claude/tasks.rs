//! The list that `TaskCreate` and `TaskUpdate` build call by call.
//!
//! A result of `TaskList` and the files in `~/.claude/tasks/SESSION/` hold the whole list and
//! replace it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Number;

use todo_write::error::Problem;
use todo_write::events::Millis;
use todo_write::list::input::{self, Options, Plan};
use todo_write::list::item::Status;
use todo_write::list::raw::Raw;
use todo_write::text::{excerpt, is_blank};
use todo_write::wire::bounds::ENTRIES;

/// Milliseconds after which the terminal interface clears a completed list.
const CLEARED_AFTER: Millis = 5_000;

/// A session's tasks, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
    /// When the last open task was completed; `None` while a task is open.
    done: Option<Millis>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    id: String,
    subject: String,
    active_form: Option<String>,
    status: Status,
    blocked_by: Vec<String>,
    owner: Option<String>,
    /// Whether Claude Code hides it.
    pub is_internal: bool,
    /// Whether its `TaskCreate` was seen.
    is_created: bool,
}

/// The arguments of a call. Absent fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskUpdate {
    id: Option<String>,
    subject: Option<String>,
    active_form: Option<String>,
    status: Option<String>,
    owner: Option<String>,
    /// Ids of tasks that block this one, and of tasks blocked by it.
    blocked_by: Vec<String>,
    blocks: Vec<String>,
    is_internal: Option<bool>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskResult<'r> {
    /// The text for the model.
    pub text: &'r str,
    /// The fields that Claude Code itself keeps.
    pub fields: &'r Raw<'r>,
    pub time: Option<Millis>,
}

impl TaskUpdate {
    pub(crate) fn read(input: &Raw<'_>) -> TaskUpdate {
        TaskUpdate {
            id: text(input, "taskId"),
            subject: text(input, "subject"),
            active_form: text(input, "activeForm"),
            status: text(input, "status"),
            owner: text(input, "owner"),
            blocked_by: ids(input, "addBlockedBy"),
            blocks: ids(input, "addBlocks"),
            is_internal: input.get("metadata").map(is_internal),
        }
    }
}

impl TaskResult<'_> {
    /// Whether the call was refused, which is not always marked as an error.
    pub(crate) fn is_refusal(&self) -> bool {
        self.fields.get("success") == Some(&Raw::Bool(false)) || self.is_not_found()
    }

    /// Whether the task is missing from Claude Code's list.
    pub(crate) fn is_not_found(&self) -> bool {
        self.text == "Task not found"
    }
}

impl Task {
    /// Parses a task in a `TaskList` result or in a file.
    pub(crate) fn read(task: &Raw<'_>) -> Option<Task> {
        Some(Task {
            id: text(task, "id")?,
            subject: text(task, "subject")?,
            active_form: text(task, "activeForm"),
            status: text(task, "status").as_deref().and_then(Status::parse)?,
            blocked_by: ids(task, "blockedBy"),
            owner: text(task, "owner"),
            is_internal: task.get("metadata").is_some_and(is_internal),
            is_created: false,
        })
    }

    fn block(&mut self, id: String) {
        if !self.blocked_by.contains(&id) {
            self.blocked_by.push(id);
        }
    }

    /// Parses a line such as `#3 [pending] Lock up`, which subagents get instead of fields.
    fn read_line(line: &str) -> Option<Task> {
        let (id, rest) = line.strip_prefix('#')?.split_once(" [")?;
        let (status, subject) = rest.split_once("] ")?;
        let (subject, blocked_by) = subject.split_once(" [blocked by ").unwrap_or((subject, ""));
        let ids = blocked_by.split(|c: char| !c.is_alphanumeric()).filter(|id| !id.is_empty());
        Some(Task {
            status: Status::parse(status)?,
            blocked_by: ids.map(|id| excerpt(id, 40)).collect(),
            id: excerpt(id, 40),
            subject: excerpt(subject, 10_000),
            ..Task::default()
        })
    }
}

impl Tasks {
    /// Applies a `TaskCreate`, whose result has the task's number. `clears` tells whether the session
    /// clears completed lists.
    pub(crate) fn create(&mut self, update: TaskUpdate, result: TaskResult<'_>, clears: bool) {
        let Some(subject) = update.subject else { return };
        let number = result.fields.get("task").and_then(|task| text(task, "id"));
        let id = number.or_else(|| number_in(result.text)).unwrap_or_else(|| self.next_number());
        let done = self.done.filter(|_| clears);
        if done.is_some_and(|done| result.time.is_none_or(|time| done + CLEARED_AFTER <= time)) {
            self.tasks.clear();
        }
        let known = self.tasks.iter().find(|task| task.id == id);
        // A fork begins with an empty list and number 1.
        if known.is_some_and(|task| task.is_created) {
            self.tasks.clear();
        }
        self.tasks.retain(|task| task.id != id);
        let is_internal = update.is_internal == Some(true);
        let (active_form, owner) = (update.active_form, update.owner);
        let task = Task { id, subject, active_form, owner, is_internal, is_created: true, ..Task::default() };
        self.insert(task);
        self.check_done(result.time);
    }

    /// Applies a `TaskUpdate`. An unknown task is added. A task that Claude Code did not find is
    /// removed: its timer clears a completed list, with a task created in the same moment.
    pub(crate) fn update(&mut self, update: TaskUpdate, result: TaskResult<'_>) {
        let Some(id) = update.id else { return };
        if update.status.as_deref() == Some("deleted") || result.is_not_found() {
            self.tasks.retain(|task| task.id != id);
            return self.check_done(result.time);
        }
        if !self.tasks.iter().any(|task| task.id == id) {
            self.insert(Task { id: id.clone(), subject: format!("Task #{id}"), ..Task::default() });
        }
        let Some(task) = self.tasks.iter_mut().find(|task| task.id == id) else { return };
        task.status = update.status.as_deref().and_then(Status::parse).unwrap_or(task.status);
        task.is_internal = update.is_internal.unwrap_or(task.is_internal);
        if let Some(subject) = update.subject {
            task.subject = subject;
        }
        task.active_form = update.active_form.or(task.active_form.take());
        task.owner = update.owner.or(task.owner.take());
        update.blocked_by.into_iter().for_each(|other| task.block(other));
        for blocked in self.tasks.iter_mut().filter(|task| update.blocks.contains(&task.id)) {
            blocked.block(id.clone());
        }
        self.check_done(result.time);
    }

    /// Applies the result of a `TaskList`; returns whether it changed the list.
    pub(crate) fn apply_list(&mut self, result: TaskResult<'_>) -> bool {
        let (tasks, is_empty): (Vec<Task>, bool) = match result.fields.get("tasks") {
            Some(Raw::List(tasks)) => (tasks.iter().filter_map(Task::read).collect(), tasks.is_empty()),
            _ => (result.text.lines().filter_map(Task::read_line).collect(), result.text == "No tasks found"),
        };
        (is_empty || !tasks.is_empty()) && self.reset(tasks, result.time)
    }

    /// Replaces the list; returns whether it differs. Internal tasks stay, since a `TaskList` omits
    /// them.
    pub(crate) fn reset(&mut self, mut tasks: Vec<Task>, time: Option<Millis>) -> bool {
        let known: HashMap<&str, &Task> =
            self.tasks.iter().rev().map(|task| (task.id.as_str(), task)).collect();
        let is_open = |id: &&String| known.get(id.as_str()).is_some_and(|task| task.status.is_open());
        for task in &mut tasks {
            if let Some(known) = known.get(task.id.as_str()) {
                // A `TaskList` omits completed blockers.
                if task.blocked_by.iter().eq(known.blocked_by.iter().filter(is_open)) {
                    task.blocked_by.clone_from(&known.blocked_by);
                }
                task.active_form = task.active_form.take().or_else(|| known.active_form.clone());
                task.is_internal |= known.is_internal;
                task.is_created = known.is_created;
            }
        }
        tasks.truncate(ENTRIES);
        let is_changed = !self.visible().eq(tasks.iter().filter(|task| !task.is_internal));
        let listed: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        let mut hidden = std::mem::take(&mut self.tasks);
        hidden.retain(|task| task.is_internal && !listed.contains(task.id.as_str()));
        self.tasks = tasks;
        hidden.into_iter().for_each(|task| self.insert(task));
        self.check_done(time);
        is_changed
    }

    /// Whether there are tasks and all of them are completed.
    pub(crate) fn are_done(&self) -> bool {
        self.visible().next().is_some() && self.visible().all(|task| !task.status.is_open())
    }

    fn visible(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.is_internal)
    }

    fn check_done(&mut self, time: Option<Millis>) {
        self.done = if self.are_done() { self.done.or(time).or(Some(0)) } else { None };
    }

    fn insert(&mut self, task: Task) {
        if self.tasks.len() < ENTRIES {
            let number = |task: &Task| task.id.parse::<u64>().unwrap_or(u64::MAX);
            let place = self.tasks.iter().position(|other| number(other) > number(&task));
            self.tasks.insert(place.unwrap_or(self.tasks.len()), task);
        }
    }

    fn next_number(&self) -> String {
        let last = self.tasks.iter().filter_map(|task| task.id.parse::<u32>().ok()).max();
        last.unwrap_or(0).saturating_add(1).to_string()
    }

    /// The whole list as the input of a write.
    /// As [`input::read`], it fails for more tasks than the user allows.
    pub(crate) fn plan(&self, options: &Options) -> Result<Plan, Vec<Problem>> {
        let text = |text: &str| Raw::Text(Cow::Owned(excerpt(text, options.max_length.saturating_sub(1))));
        // Identity ignores bare numbers, but here they identify tasks.
        let name = |id: &String| format!("task:{id}");
        let entry = |task: &Task| {
            let active_form = task.active_form.as_deref().unwrap_or(&task.subject);
            Raw::Object(vec![
                ("id".into(), Raw::Text(Cow::Owned(name(&task.id)))),
                ("content".into(), text(&task.subject)),
                ("status".into(), Raw::Text(Cow::Borrowed(task.status.as_str()))),
                ("activeForm".into(), text(active_form)),
            ])
        };
        let todos = Raw::List(self.visible().map(entry).collect());
        let mut plan = input::read(&Raw::Object(vec![("todos".into(), todos)]), options)?;
        // The schema of `todo_write` lacks these fields.
        for (draft, task) in plan.drafts.iter_mut().zip(self.visible()) {
            draft.blocked_by = task.blocked_by.iter().map(name).collect();
            draft.owner.clone_from(&task.owner);
        }
        Ok(plan)
    }
}

/// A text or number in an object, as text.
fn text(object: &Raw<'_>, key: &str) -> Option<String> {
    match object.get(key) {
        Some(Raw::Text(text)) if !is_blank(text) => Some(excerpt(text, 10_000)),
        Some(Raw::Number(number)) => Some(Number::to_string(number)),
        _ => None,
    }
}

fn ids(object: &Raw<'_>, key: &str) -> Vec<String> {
    let id = |id: &Raw<'_>| match id {
        Raw::Text(id) => Some(excerpt(id, 40)),
        Raw::Number(number) => Some(Number::to_string(number)),
        _ => None,
    };
    match object.get(key) {
        Some(Raw::List(ids)) => ids.iter().filter_map(id).take(100).collect(),
        _ => Vec::new(),
    }
}

fn is_internal(metadata: &Raw<'_>) -> bool {
    matches!(metadata.get("_internal"), Some(Raw::Bool(true)))
}

/// The number in "Task #3 created successfully: …".
fn number_in(answer: &str) -> Option<String> {
    let (_, rest) = answer.split_once("Task #")?;
    let number: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '-').take(40).collect();
    (!number.is_empty()).then_some(number)
}
