//! One task: its texts, status and priority, judged.

use std::borrow::Cow;

use super::entry::{Entry, hint};
use super::{Reader, problem};
use crate::item::{Draft, Priority, Status};
use crate::raw::Raw;
use crate::text::{excerpt, is_blank, one_line};

const STATUSES: &str = "one of pending, in_progress, completed";

/// The fixed table of status synonyms, compared without case.
fn synonym(text: &str) -> Option<Status> {
    match text.trim().to_ascii_lowercase().as_str() {
        "completed" | "done" | "complete" | "finished" => Some(Status::Completed),
        "in_progress" | "in-progress" | "inprogress" | "in progress" | "doing" | "active" => {
            Some(Status::InProgress)
        }
        "pending" | "todo" | "not_started" | "not started" | "open" => Some(Status::Pending),
        _ => None,
    }
}

impl Reader<'_> {
    pub(super) fn task<'a>(&mut self, index: usize, value: &Raw<'a>) -> Option<Draft<'a>> {
        let Raw::Object(fields) = value else {
            self.refuse(
                format_args!("todos[{index}]"),
                value.describe(),
                "an object with content, status, activeForm",
            );
            return None;
        };
        let entry = Entry::sort(fields);
        let content = self.content(index, &entry);
        let status = self.status(index, entry.status);
        let active_form = self.active_form(index, &entry, content.as_ref());
        let priority = self.priority(index, entry.priority);
        let known = "content, status, activeForm";
        self.unknown_keys(format_args!("todos[{index}]"), known, entry.unknown);
        Some(Draft {
            content: content?,
            status: status?,
            active_form: active_form?,
            priority,
            hint: entry.id.and_then(hint),
        })
    }

    fn content<'a>(&mut self, index: usize, entry: &Entry<'_, 'a>) -> Option<Cow<'a, str>> {
        let path = format_args!("todos[{index}].content");
        let value = match (entry.content, entry.alias) {
            (Some(value), _) => value,
            (None, Some((alias, value))) => {
                self.repair(format!("\"{alias}\" was read as \"content\""), || {
                    problem(format_args!("todos[{index}].{alias}"), "an unknown key", "content")
                });
                value
            }
            (None, None) => {
                self.refuse(path, "nothing", "the task as text");
                return None;
            }
        };
        let Raw::Text(text) = value else {
            self.refuse(path, value.describe(), "the task as text");
            return None;
        };
        let line = self.line(index, "content", text)?;
        if line.is_none() {
            self.refuse(path, "blank text", "the task as text");
        }
        line
    }

    fn active_form<'a>(
        &mut self,
        index: usize,
        entry: &Entry<'_, 'a>,
        content: Option<&Cow<'a, str>>,
    ) -> Option<Cow<'a, str>> {
        let value = match (entry.active_form, entry.active_form_alias) {
            (None, Some(value)) => {
                self.repair("\"active_form\" was read as \"activeForm\"", || {
                    problem(format_args!("todos[{index}].active_form"), "an unknown key", "activeForm")
                });
                Some(value)
            }
            (value, _) => value,
        };
        let line = match value {
            None | Some(Raw::Null) => None,
            Some(Raw::Text(text)) => self.line(index, "activeForm", text)?,
            Some(other) => {
                let path = format_args!("todos[{index}].activeForm");
                self.refuse(path, other.describe(), "the task as text, in the present continuous");
                return None;
            }
        };
        if line.is_none() {
            self.repair("\"activeForm\" was missing; \"content\" stands in", || {
                let path = format_args!("todos[{index}].activeForm");
                problem(path, "nothing", "the task in the present continuous")
            });
        }
        // A refused content already stops the whole call: what stands in for it does not matter.
        line.or_else(|| Some(content.cloned().unwrap_or_default()))
    }

    /// The text as one line: `Some(None)` when it is blank, `None` when it is refused.
    fn line<'a>(&mut self, index: usize, key: &str, text: &Cow<'a, str>) -> Option<Option<Cow<'a, str>>> {
        let (line, dropped) = match text {
            Cow::Borrowed(text) => one_line(text),
            Cow::Owned(text) => {
                let (line, dropped) = one_line(text);
                (Cow::Owned(line.into_owned()), dropped)
            }
        };
        let length = if line.len() > self.options.max_length { line.chars().count() } else { 0 };
        if length > self.options.max_length {
            self.refuse(
                format_args!("todos[{index}].{key}"),
                format!("{length} characters"),
                format!("at most {} (the user's limit)", self.options.max_length),
            );
            return None;
        }
        if is_blank(&line) {
            return Some(None);
        }
        if dropped {
            self.repair(format!("control characters were dropped from \"{key}\""), || {
                problem(format_args!("todos[{index}].{key}"), "control characters", "plain text on one line")
            });
        }
        Some(Some(line))
    }

    fn status(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<Status> {
        let received = match value {
            Some(Raw::Text(text)) => match Status::parse(text).ok_or_else(|| synonym(text)) {
                Ok(status) => return Some(status),
                Err(Some(status)) => {
                    let received = format!("\"{}\"", excerpt(text, 20));
                    self.repair(format!("status {received} was read as \"{status}\""), || {
                        problem(format_args!("todos[{index}].status"), received, STATUSES)
                    });
                    return Some(status);
                }
                Err(None) => format!("\"{}\"", excerpt(text, 60)),
            },
            Some(other) => other.describe(),
            None => "nothing".into(),
        };
        self.refuse(format_args!("todos[{index}].status"), received, STATUSES);
        None
    }

    fn priority(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<Priority> {
        let value = value.filter(|value| **value != Raw::Null)?;
        let known = match value {
            Raw::Text(text) => Priority::parse(text),
            _ => None,
        };
        if known.is_none() {
            let received = value.describe();
            self.repair(format!("priority {received} was dropped; known: high, medium, low"), || {
                problem(format_args!("todos[{index}].priority"), received, "one of high, medium, low")
            });
        }
        known
    }
}
