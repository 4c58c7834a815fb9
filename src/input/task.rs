//! One task: its texts, status and priority, judged.

use std::borrow::Cow;

use super::entry::{Entry, hint};
use super::{Expected, Path, Reader, Received, Repair};
use crate::item::{Draft, Priority, Status};
use crate::raw::Raw;
use crate::text::{excerpt, is_blank, one_line};

/// What a status means.
enum Judged {
    Status(Status),
    /// The agent drops the task.
    Cancelled,
}

/// The fixed table of status synonyms, compared without case.
fn synonym(text: &str) -> Option<Judged> {
    let status = match text.trim().to_ascii_lowercase().as_str() {
        "completed" | "done" | "complete" | "finished" => Status::Completed,
        "in_progress" | "in-progress" | "inprogress" | "in progress" | "doing" | "active" => {
            Status::InProgress
        }
        "pending" | "todo" | "not_started" | "not started" | "open" => Status::Pending,
        "cancelled" | "canceled" => return Some(Judged::Cancelled),
        _ => return None,
    };
    Some(Judged::Status(status))
}

impl Reader<'_> {
    /// The task, and whether it is cancelled.
    pub(super) fn task<'a>(&mut self, index: usize, value: &Raw<'a>) -> Option<(Draft<'a>, bool)> {
        let Raw::Object(fields) = value else {
            self.refuse(Path::Task(index), Received::Value(value.describe()), Expected::Task);
            return None;
        };
        let entry = Entry::sort(fields);
        let content = self.content(index, &entry);
        let status = self.status(index, entry.status);
        let active_form = self.active_form(index, &entry, content.as_ref());
        let priority = self.priority(index, entry.priority);
        for key in entry.unknown {
            let path = |key| Path::Field(index, Cow::Owned(key));
            self.unknown_key(path, key, "content, status, activeForm");
        }
        let (status, is_cancelled) = match status? {
            Judged::Status(status) => (status, false),
            Judged::Cancelled => (Status::Pending, true),
        };
        let hint = entry.id.and_then(hint);
        let draft = Draft { content: content?, status, active_form: active_form?, priority, hint };
        Some((draft, is_cancelled))
    }

    fn content<'a>(&mut self, index: usize, entry: &Entry<'_, 'a>) -> Option<Cow<'a, str>> {
        let path = Path::field(index, "content");
        let value = match (entry.content, entry.alias) {
            (Some(value), _) => value,
            (None, Some((alias, value))) => {
                self.alias(index, alias, "content");
                value
            }
            (None, None) => {
                self.refuse(path, Received::Nothing, Expected::Content);
                return None;
            }
        };
        let Raw::Text(text) = value else {
            self.refuse(path, Received::Value(value.describe()), Expected::Content);
            return None;
        };
        let line = self.line(index, "content", text)?;
        if line.is_none() {
            self.refuse(path, Received::Blank, Expected::Content);
        }
        line
    }

    fn active_form<'a>(
        &mut self,
        index: usize,
        entry: &Entry<'_, 'a>,
        content: Option<&Cow<'a, str>>,
    ) -> Option<Cow<'a, str>> {
        let path = Path::field(index, "activeForm");
        let value = match (entry.active_form, entry.active_form_alias) {
            (None, Some(value)) => {
                self.alias(index, "active_form", "activeForm");
                Some(value)
            }
            (value, _) => value,
        };
        let line = match value {
            None | Some(Raw::Null) => None,
            Some(Raw::Text(text)) => self.line(index, "activeForm", text)?,
            Some(other) => {
                self.refuse(path, Received::Value(other.describe()), Expected::ActiveForm);
                return None;
            }
        };
        if line.is_none() {
            self.repair(Repair::NoActiveForm, path, Received::Nothing, Expected::ActiveForm);
        }
        // A refused content already stops the whole call: what stands in for it does not matter.
        line.or_else(|| Some(content.cloned().unwrap_or_default()))
    }

    fn alias(&mut self, index: usize, sent: &'static str, meant: &'static str) {
        let path = Path::field(index, sent);
        self.repair(Repair::Key(sent, meant), path, Received::UnknownKey, Expected::Keys(meant));
    }

    /// The text as one line: `Some(None)` when it is blank, `None` when it is refused.
    fn line<'a>(
        &mut self,
        index: usize,
        key: &'static str,
        text: &Cow<'a, str>,
    ) -> Option<Option<Cow<'a, str>>> {
        let (line, dropped) = match text {
            Cow::Borrowed(text) => one_line(text),
            Cow::Owned(text) => {
                let (line, dropped) = one_line(text);
                (Cow::Owned(line.into_owned()), dropped)
            }
        };
        let (path, limit) = (Path::field(index, key), self.options.max_length);
        // As many bytes are never fewer characters.
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
        Some(Some(line))
    }

    fn status(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<Judged> {
        let path = Path::field(index, "status");
        let received = match value {
            Some(Raw::Text(text)) => {
                if let Some(status) = Status::parse(text) {
                    return Some(Judged::Status(status));
                }
                if let Some(judged) = synonym(text) {
                    let sent = excerpt(text, 20);
                    let received = Received::Value(format!("\"{sent}\""));
                    let repair = match judged {
                        Judged::Status(status) => Repair::Synonym(sent, status),
                        Judged::Cancelled => Repair::Cancelled,
                    };
                    self.repair(repair, path, received, Expected::Status);
                    return Some(judged);
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
            let (path, what) = (Path::field(index, "priority"), value.describe());
            let repair = Repair::Priority(what.clone());
            self.repair(repair, path, Received::Value(what), Expected::Priority);
        }
        known
    }
}
