//! Reads one task of a call.

use super::{Expected, InputReader, Path, Received, Repair, first_of};
use crate::item::{Draft, Priority, Status};
use crate::raw::Raw;
use crate::text::{excerpt, is_blank, one_line};

/// Keys that models send for `content`; the first one present is used. A description often says
/// more than the task, so it comes last.
const CONTENT: [&str; 6] = ["content", "step", "text", "subject", "title", "description"];
const ACTIVE_FORM: [&str; 2] = ["activeForm", "active_form"];

/// An explicit id as text, or none for any other value.
pub(super) fn hint(value: &Raw<'_>) -> Option<String> {
    match value {
        Raw::Text(text) if !is_blank(text) => Some(excerpt(text, 200)),
        Raw::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The key that a task has for a field, and its value.
type Field<'r> = Option<(&'static str, &'r Raw<'r>)>;

/// A status as sent.
enum ParsedStatus {
    Status(Status),
    /// The agent drops the task.
    Cancelled,
}

/// The fixed table of status synonyms, compared without case.
fn synonym(text: &str) -> Option<ParsedStatus> {
    let status = match text.trim().to_ascii_lowercase().as_str() {
        "completed" | "done" | "complete" | "finished" => Status::Completed,
        "in_progress" | "in-progress" | "inprogress" | "in progress" | "doing" | "active" => {
            Status::InProgress
        }
        "pending" | "todo" | "not_started" | "not started" | "open" => Status::Pending,
        "cancelled" | "canceled" => return Some(ParsedStatus::Cancelled),
        _ => return None,
    };
    Some(ParsedStatus::Status(status))
}

impl InputReader<'_> {
    /// Reads a task, and whether it is cancelled.
    pub(super) fn task(&mut self, index: usize, value: &Raw<'_>) -> Option<(Draft, bool)> {
        let Raw::Object(fields) = value else {
            self.refuse(Path::Task(index), Received::Value(value.describe()), Expected::Task);
            return None;
        };
        let (content_key, form_key) = (first_of(value, &CONTENT), first_of(value, &ACTIVE_FORM));
        let content = self.content(index, content_key);
        let status = self.status(index, value.get("status"));
        let active_form = self.active_form(index, form_key, content.as_deref());
        let priority = self.priority(index, value.get("priority"));
        let used = [content_key, form_key].map(|field| field.map(|(key, _)| key));
        for (key, _) in fields {
            // The last two are of items that are sent back as the store returns them.
            let known = ["id", "status", "priority", "addedBy", "told"];
            if !known.contains(&&**key) && !used.contains(&Some(key)) {
                self.unknown_key(key, |key| Path::Field(index, key), "content, status, activeForm");
            }
        }
        let (status, is_cancelled) = match status? {
            ParsedStatus::Status(status) => (status, false),
            ParsedStatus::Cancelled => (Status::Pending, true),
        };
        let hint = value.get("id").and_then(hint);
        let (content, active_form) = (content?, active_form?);
        let draft = Draft { content, status, active_form, priority, hint, ..Draft::default() };
        Some((draft, is_cancelled))
    }

    fn content(&mut self, index: usize, field: Field<'_>) -> Option<String> {
        let received = match field {
            None => Received::Nothing,
            Some((key, value)) => {
                self.alias(key, "content", Path::Field(index, key.into()));
                match value {
                    Raw::Text(text) => match self.line(index, "content", text)? {
                        Some(line) => return Some(line),
                        None => Received::Blank,
                    },
                    other => Received::Value(other.describe()),
                }
            }
        };
        self.refuse(Path::Field(index, "content".into()), received, Expected::Content);
        None
    }

    fn active_form(&mut self, index: usize, field: Field<'_>, content: Option<&str>) -> Option<String> {
        let path = Path::Field(index, "activeForm".into());
        if let Some((key, _)) = field {
            self.alias(key, "activeForm", Path::Field(index, key.into()));
        }
        let line = match field {
            None | Some((_, Raw::Null)) => None,
            Some((_, Raw::Text(text))) => self.line(index, "activeForm", text)?,
            Some((_, other)) => {
                self.refuse(path, Received::Value(other.describe()), Expected::ActiveForm);
                return None;
            }
        };
        if line.is_none() {
            self.repair(Repair::NoActiveForm, path, Received::Nothing, Expected::ActiveForm);
        }
        // Without content the call is refused anyway.
        line.or_else(|| Some(content.unwrap_or_default().to_owned()))
    }

    /// The text on one line: `Some(None)` if it is blank, `None` if it is refused.
    fn line(&mut self, index: usize, key: &'static str, text: &str) -> Option<Option<String>> {
        let (line, dropped) = one_line(text);
        let (path, limit) = (Path::Field(index, key.into()), self.options.max_length);
        // A text has at most as many characters as bytes.
        let length = if line.len() > limit { line.chars().count() } else { 0 };
        if length > limit {
            self.refuse(path, Received::Characters(length), Expected::AtMost(limit));
            return None;
        }
        if is_blank(&line) {
            return Some(None);
        }
        if dropped {
            let repair = Repair::ControlCharacters(key);
            self.repair(repair, path, Received::ControlCharacters, Expected::PlainText);
        }
        Some(Some(line.into_owned()))
    }

    fn status(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<ParsedStatus> {
        let path = Path::Field(index, "status".into());
        let received = match value {
            Some(Raw::Text(text)) => {
                if let Some(status) = Status::parse(text) {
                    return Some(ParsedStatus::Status(status));
                }
                if let Some(parsed) = synonym(text) {
                    let sent = excerpt(text, 20);
                    let received = Received::Value(format!("\"{sent}\""));
                    let repair = match parsed {
                        ParsedStatus::Status(status) => Repair::Synonym(sent, status),
                        ParsedStatus::Cancelled => Repair::Cancelled,
                    };
                    self.repair(repair, path, received, Expected::Status);
                    return Some(parsed);
                }
                Received::Value(format!("\"{}\"", excerpt(text, 60)))
            }
            Some(other) => Received::Value(other.describe()),
            None => Received::Nothing,
        };
        self.refuse(path, received, Expected::Status);
        None
    }

    fn priority(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<Priority> {
        let value = value.filter(|value| **value != Raw::Null)?;
        let known = match value {
            Raw::Text(text) => Priority::parse(&text.trim().to_ascii_lowercase()),
            _ => None,
        };
        if known.is_none() {
            let (path, what) = (Path::Field(index, "priority".into()), value.describe());
            let repair = Repair::Priority(what.clone());
            self.repair(repair, path, Received::Value(what), Expected::Priority);
        }
        known
    }
}
