//! The list that `TaskCreate` and `TaskUpdate` build call by call.

use std::borrow::Cow;

use serde_json::Number;

use crate::input::{self, Options, Plan, Problem};
use crate::item::Status;
use crate::raw::Raw;
use crate::text::{excerpt, is_blank};

/// More tasks than this no session makes; the file may be anything.
const MOST: usize = 10_000;

/// A session's tasks, in the order in which they were created.
#[derive(Debug, Default)]
pub struct Tasks(Vec<Task>);

#[derive(Debug)]
struct Task {
    id: String,
    subject: String,
    active_form: Option<String>,
    status: Status,
}

/// What a call says of a task; what it leaves out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskUpdate {
    id: Option<String>,
    subject: Option<String>,
    active_form: Option<String>,
    status: Option<String>,
}

impl TaskUpdate {
    /// Reads the arguments of either tool.
    pub fn read(input: &Raw<'_>) -> TaskUpdate {
        let text = |key: &str| match input.get(key) {
            Some(Raw::Text(text)) if !is_blank(text) => Some(excerpt(text, 10_000)),
            Some(Raw::Number(number)) => Some(Number::to_string(number)),
            _ => None,
        };
        TaskUpdate {
            id: text("taskId"),
            subject: text("subject"),
            active_form: text("activeForm"),
            status: text("status"),
        }
    }
}

impl Tasks {
    /// Takes a `TaskCreate` over; `answer` is what the tool said, which names the task's number.
    pub fn create(&mut self, says: TaskUpdate, answer: &str) {
        let Some(subject) = says.subject else { return };
        let id = number_in(answer).unwrap_or_else(|| self.next_number());
        let task = Task { id, subject, active_form: says.active_form, status: Status::Pending };
        match self.0.iter().position(|old| old.id == task.id) {
            // Numbers start again where a list that is done was put away.
            Some(_) if self.0.iter().all(|old| !old.status.is_open()) => self.0 = vec![task],
            Some(place) => self.0[place] = task,
            None if self.0.len() < MOST => self.0.push(task),
            None => {}
        }
    }

    /// Takes a `TaskUpdate` over; one of an unknown task says nothing.
    pub fn update(&mut self, says: TaskUpdate) {
        let Some(place) = self.0.iter().position(|task| Some(&task.id) == says.id.as_ref()) else { return };
        if says.status.as_deref() == Some("deleted") {
            self.0.remove(place);
            return;
        }
        let task = &mut self.0[place];
        if let Some(status) = says.status.as_deref().and_then(Status::parse) {
            task.status = status;
        }
        if let Some(subject) = says.subject {
            task.subject = subject;
        }
        task.active_form = says.active_form.or(task.active_form.take());
    }

    fn next_number(&self) -> String {
        let last = self.0.iter().filter_map(|task| task.id.parse::<u32>().ok()).max();
        last.unwrap_or(0).saturating_add(1).to_string()
    }

    /// The whole list, read like any write.
    ///
    /// # Errors
    /// As [`input::read`]: more tasks than the user allows.
    pub fn plan(&self, options: &Options) -> Result<Plan<'static>, Vec<Problem>> {
        let text = |text: &str| Raw::Text(Cow::Owned(excerpt(text, options.max_length.saturating_sub(1))));
        let entry = |task: &Task| {
            let active_form = task.active_form.as_deref().unwrap_or(&task.subject);
            Raw::Object(vec![
                // Not a bare number: those say nothing to `identity`, and these do, since
                // Claude Code gives no number twice.
                ("id".into(), Raw::Text(Cow::Owned(format!("task:{}", task.id)))),
                ("content".into(), text(&task.subject)),
                ("status".into(), Raw::Text(Cow::Borrowed(task.status.as_str()))),
                ("activeForm".into(), text(active_form)),
            ])
        };
        let todos = Raw::List(self.0.iter().map(entry).collect());
        input::read(&Raw::Object(vec![("todos".into(), todos)]), options)
    }
}

/// The number in "Task #3 created successfully: …".
fn number_in(answer: &str) -> Option<String> {
    let (_, rest) = answer.split_once("Task #")?;
    let number: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '-').take(40).collect();
    (!number.is_empty()).then_some(number)
}
