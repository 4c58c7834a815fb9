//! Reads one task of a call.

use super::{InputReader, at_most, first_of};
use crate::error::Problem;
use crate::list::item::{Draft, Priority, Status};
use crate::list::raw::Raw;
use crate::text::{excerpt, is_blank, one_line};

/// Keys that models send for `content`; the first one present is used. A description often says
/// more than the task, so it comes last.
const CONTENT_KEYS: [&str; 6] = ["content", "step", "text", "subject", "title", "description"];
const FORM_KEYS: [&str; 2] = ["activeForm", "active_form"];
/// What is expected as the content.
pub(super) const CONTENT: &str = "the task as text";

/// An explicit id as text, or none for any other value.
pub(super) fn hint(value: &Raw<'_>) -> Option<String> {
    match value {
        Raw::Text(text) => Some(excerpt(text, 200)).filter(|id| !is_blank(id)),
        Raw::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The key that a task has for a field, and its value.
type Field<'r> = Option<(&'static str, &'r Raw<'r>)>;

/// The fixed table of status synonyms, compared without case, blanks, hyphens and underscores; and whether the
/// agent drops the task.
fn synonym(text: &str) -> Option<(Status, bool)> {
    let word = text.replace(|c: char| matches!(c, '-' | '_') || c.is_whitespace(), "").to_ascii_lowercase();
    match word.as_str() {
        "completed" | "done" | "complete" | "finished" => Some((Status::Completed, false)),
        "inprogress" | "doing" | "active" => Some((Status::InProgress, false)),
        "pending" | "todo" | "notstarted" | "open" => Some((Status::Pending, false)),
        "cancelled" | "canceled" => Some((Status::Pending, true)),
        _ => None,
    }
}

fn task_at(index: usize) -> String {
    format!("todos[{index}]")
}

fn field_at(index: usize, key: &str) -> String {
    format!("todos[{index}].{key}")
}

fn one_of<T>(names: &[(T, &str)]) -> String {
    format!("one of {}", names.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", "))
}

impl InputReader<'_> {
    /// Reads a task, and whether it is cancelled.
    pub(super) fn task(&mut self, index: usize, value: &Raw<'_>) -> Option<(Draft, bool)> {
        let Raw::Object(fields) = value else {
            let expected = "an object with content, status, activeForm";
            self.refuse(task_at(index), value.describe(), expected);
            return None;
        };
        let (content_key, form_key) = (first_of(value, &CONTENT_KEYS), first_of(value, &FORM_KEYS));
        let content = self.content(index, content_key);
        let status = self.status(index, value.get("status"));
        let active_form = self.active_form(index, form_key, content.as_deref());
        let priority = self.priority(index, value.get("priority"));
        let used = [content_key, form_key].map(|field| field.map(|(key, _)| key));
        for (key, _) in fields {
            // The last two are of items that are sent back as the store returns them.
            let known = ["id", "status", "priority", "addedBy", "told", "untold"];
            if !known.contains(&&**key) && !used.contains(&Some(key)) {
                self.unknown_key(key, || task_at(index), "content, status, activeForm");
            }
        }
        let (status, is_cancelled) = status?;
        let hint = value.get("id").and_then(hint);
        let (content, active_form) = (content?, active_form?);
        let draft = Draft { content, status, active_form, priority, hint, ..Draft::default() };
        Some((draft, is_cancelled))
    }

    fn content(&mut self, index: usize, field: Field<'_>) -> Option<String> {
        let received = match field {
            None => "nothing".into(),
            Some((key, value)) => {
                self.alias(key, "content", || task_at(index));
                match value {
                    Raw::Text(text) => match self.line(index, "content", text).ok()? {
                        Some(line) => return Some(line),
                        None => "blank text".into(),
                    },
                    other => other.describe(),
                }
            }
        };
        self.refuse(field_at(index, "content"), received, CONTENT);
        None
    }

    fn active_form(&mut self, index: usize, field: Field<'_>, content: Option<&str>) -> Option<String> {
        let expected = "the task as text, in the present continuous";
        if let Some((key, _)) = field {
            self.alias(key, "activeForm", || task_at(index));
        }
        let line = match field {
            None | Some((_, Raw::Null)) => None,
            Some((_, Raw::Text(text))) => self.line(index, "activeForm", text).ok()?,
            Some((_, other)) => {
                self.refuse(field_at(index, "activeForm"), other.describe(), expected);
                return None;
            }
        };
        if line.is_none() {
            self.repair("\"activeForm\" was missing; \"content\" stands in", || {
                Problem::new(field_at(index, "activeForm"), "nothing", expected)
            });
        }
        // Without content the call is refused anyway.
        line.or_else(|| Some(content.unwrap_or_default().to_owned()))
    }

    /// The text on one line, or `Ok(None)` if it is blank. Why it is refused is among the problems of the call.
    fn line(&mut self, index: usize, key: &'static str, text: &str) -> Result<Option<String>, ()> {
        let (line, dropped) = one_line(text);
        let limit = self.options.max_length;
        // A text has at most as many characters as bytes.
        let length = if line.len() > limit { line.chars().count() } else { 0 };
        if length > limit {
            self.refuse(field_at(index, key), format!("{length} characters"), at_most(limit));
            return Err(());
        }
        if is_blank(&line) {
            return Ok(None);
        }
        if dropped {
            self.repair(format!("control characters were dropped from \"{key}\""), || {
                Problem::new(field_at(index, key), "control characters", "plain text on one line")
            });
        }
        Ok(Some(line.into_owned()))
    }

    /// The status, and whether the agent drops the task.
    fn status(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<(Status, bool)> {
        let problem =
            |received: String| Problem::new(field_at(index, "status"), received, one_of(Status::NAMES));
        let received = match value {
            Some(Raw::Text(text)) => {
                if let Some(status) = Status::parse(text) {
                    return Some((status, false));
                }
                if let Some((status, is_cancelled)) = synonym(text) {
                    let sent = excerpt(text, 20);
                    let notice = if is_cancelled {
                        "cancelled tasks were left out of the list".to_owned()
                    } else {
                        format!("status \"{sent}\" was read as \"{status}\"")
                    };
                    self.repair(notice, || problem(format!("\"{sent}\"")));
                    return Some((status, is_cancelled));
                }
                format!("\"{}\"", excerpt(text, 60))
            }
            Some(other) => other.describe(),
            None => "nothing".into(),
        };
        self.problems.push(problem(received));
        None
    }

    fn priority(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<Priority> {
        let value = value.filter(|value| **value != Raw::Null)?;
        let known = match value {
            Raw::Text(text) => Priority::parse(&text.trim().to_ascii_lowercase()),
            _ => None,
        };
        if known.is_none() {
            let what = value.describe();
            self.repair(format!("priority {what} was dropped; known: high, medium, low"), || {
                Problem::new(field_at(index, "priority"), what, one_of(Priority::NAMES))
            });
        }
        known
    }
}
