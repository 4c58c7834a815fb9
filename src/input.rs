//! From what arrives to drafts that cannot be wrong, or to every problem at once.
//!
//! Models are trained on `todos[] {content, status, activeForm}`; what they send is wilder. Three
//! outcomes: accepted as it is, repaired (and said in a notice), refused (and nothing happens).
//! Nothing is ever guessed that could lose a task or change its meaning: an unknown status is
//! refused, never mapped.

mod entry;
mod notices;

use std::collections::HashMap;

use crate::identity::is_positional;
use crate::item::{Draft, Priority, Status};
use crate::raw::Raw;
use crate::text::{excerpt, is_blank, one_line};
use entry::{Entry, hint};
use notices::{UNKNOWN_KEY, counted};

/// What the user decides about input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Most tasks a list may have.
    pub max_items: usize,
    /// Most characters a `content` or `activeForm` may have.
    pub max_length: usize,
    /// Whether every repair is a refusal.
    pub strict: bool,
    /// What to do with more than one task in progress.
    pub several_in_progress: SeveralInProgress,
}

/// See [`Options::several_in_progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeveralInProgress {
    /// Accept, with a notice.
    Notice,
    /// Accept silently.
    Allow,
    /// Refuse.
    Refuse,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_items: 1_000,
            max_length: 2_000,
            strict: false,
            several_in_progress: SeveralInProgress::Notice,
        }
    }
}

/// An accepted input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The whole list, in order.
    pub drafts: Vec<Draft>,
    /// What was repaired, a line each, none twice.
    pub notices: Vec<String>,
}

/// One reason why an input is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `todos[2].status`, `todos`, or `input` for the whole.
    pub path: String,
    /// What came.
    pub received: String,
    /// What is allowed there.
    pub expected: String,
}

/// Reads a JSON text.
///
/// # Errors
/// Every problem of the input; see [`Problem`].
pub fn read_text(text: &str, options: &Options) -> Result<Plan, Vec<Problem>> {
    match Raw::parse(text) {
        Ok(raw) => read(&raw, options),
        Err(error) => Err(vec![problem(
            "input",
            format!("text that is not JSON at line {}, column {}", error.line, error.column),
            error.expected,
        )]),
    }
}

/// Reads what a host has decoded already.
///
/// # Errors
/// Every problem of the input; see [`Problem`].
pub fn read(raw: &Raw<'_>, options: &Options) -> Result<Plan, Vec<Problem>> {
    let mut reader = Reader { options, problems: Vec::new(), repairs: Vec::new() };
    let drafts = reader.whole(raw);
    reader.finish(drafts)
}

const TODOS: &str = "{\"todos\": [{\"content\", \"status\", \"activeForm\"}, …]}";
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

fn problem(path: impl Into<String>, received: impl Into<String>, expected: impl Into<String>) -> Problem {
    Problem { path: path.into(), received: received.into(), expected: expected.into() }
}

/// Something that was put right: the notice when that is allowed, the problem when it is not.
struct Repair {
    notice: String,
    problem: Problem,
}

struct Reader<'o> {
    options: &'o Options,
    problems: Vec<Problem>,
    repairs: Vec<Repair>,
}

impl Reader<'_> {
    fn refuse(&mut self, path: impl Into<String>, received: impl Into<String>, expected: impl Into<String>) {
        self.problems.push(problem(path, received, expected));
    }

    fn repair(&mut self, notice: impl Into<String>, problem: Problem) {
        self.repairs.push(Repair { notice: notice.into(), problem });
    }

    fn finish(mut self, drafts: Vec<Draft>) -> Result<Plan, Vec<Problem>> {
        if self.options.strict {
            self.problems.extend(self.repairs.drain(..).map(|repair| repair.problem));
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(Plan { drafts, notices: counted(self.repairs.into_iter().map(|repair| repair.notice)) })
    }

    fn whole(&mut self, raw: &Raw<'_>) -> Vec<Draft> {
        match raw {
            Raw::List(values) => {
                self.repair(
                    "the input was the bare array; send it as the value of \"todos\"",
                    problem("input", raw.describe(), TODOS),
                );
                self.list(values)
            }
            Raw::Object(fields) => match raw.get("todos") {
                Some(todos) => {
                    self.unknown_keys(
                        "input",
                        "todos and nothing else",
                        fields.iter().map(|(k, _)| k.as_ref()).filter(|k| *k != "todos"),
                    );
                    self.todos(todos)
                }
                None => {
                    self.refuse(
                        "todos",
                        format!("nothing (the input is {})", raw.describe()),
                        "an array of tasks",
                    );
                    Vec::new()
                }
            },
            other => {
                self.refuse("input", other.describe(), TODOS);
                Vec::new()
            }
        }
    }

    fn todos(&mut self, todos: &Raw<'_>) -> Vec<Draft> {
        match todos {
            Raw::List(values) => self.list(values),
            Raw::Text(text) => self.todos_text(text),
            Raw::Null => {
                self.refuse("todos", "null", "an array of tasks ([] clears the list)");
                Vec::new()
            }
            other => {
                self.refuse("todos", other.describe(), "an array of tasks");
                Vec::new()
            }
        }
    }

    /// `todos` as a string that holds the array, perhaps with the rest of a model's own markup
    /// behind it.
    fn todos_text(&mut self, text: &str) -> Vec<Draft> {
        match Raw::parse_prefix(text) {
            Ok((Raw::List(values), rest)) => {
                let rest = rest.trim();
                let also = if rest.is_empty() {
                    String::new()
                } else {
                    format!(" (and \"{}\" behind it was ignored)", excerpt(rest, 30))
                };
                self.repair(
                    format!("\"todos\" was a string holding the array{also}; send the array itself"),
                    problem("todos", "a string", "an array of tasks"),
                );
                self.list(&values)
            }
            Ok((other, _)) => {
                self.refuse("todos", format!("a string holding {}", other.describe()), "an array of tasks");
                Vec::new()
            }
            Err(error) => {
                let place =
                    format!("a string that is not JSON at line {}, column {}", error.line, error.column);
                self.refuse("todos", place, format!("an array of tasks ({})", error.expected));
                Vec::new()
            }
        }
    }

    fn list(&mut self, values: &[Raw<'_>]) -> Vec<Draft> {
        if values.len() > self.options.max_items {
            self.refuse(
                "todos",
                format!("{} tasks", values.len()),
                format!("at most {} (the user's limit)", self.options.max_items),
            );
            return Vec::new();
        }
        let drafts: Vec<Draft> =
            values.iter().enumerate().filter_map(|(index, value)| self.entry(index, value)).collect();
        self.repeated_ids(values);
        self.several_in_progress(&drafts);
        drafts
    }

    fn entry(&mut self, index: usize, value: &Raw<'_>) -> Option<Draft> {
        let Raw::Object(fields) = value else {
            self.refuse(
                format!("todos[{index}]"),
                value.describe(),
                "an object with content, status, activeForm",
            );
            return None;
        };
        let entry = Entry::sort(fields);
        let content = self.content(index, &entry);
        let status = self.status(index, entry.status);
        let active_form = self.active_form(index, &entry, content.as_deref());
        let priority = self.priority(index, entry.priority);
        let known = "content, status, activeForm";
        self.unknown_keys(&format!("todos[{index}]"), known, entry.unknown.iter().copied());
        Some(Draft {
            content: content?,
            status: status?,
            active_form: active_form?,
            priority,
            hint: entry.id.and_then(hint),
        })
    }

    fn content(&mut self, index: usize, entry: &Entry<'_, '_>) -> Option<String> {
        let path = format_args!("todos[{index}].content");
        let value = match (entry.content, entry.alias) {
            (Some(value), _) => value,
            (None, Some((alias, value))) => {
                self.repair(
                    format!("\"{alias}\" was read as \"content\""),
                    problem(format!("todos[{index}].{alias}"), "an unknown key", "content"),
                );
                value
            }
            (None, None) => {
                self.refuse(path.to_string(), "nothing", "the task as text");
                return None;
            }
        };
        let Raw::Text(text) = value else {
            self.refuse(path.to_string(), value.describe(), "the task as text");
            return None;
        };
        let line = self.line(index, "content", text)?;
        if line.is_none() {
            self.refuse(path.to_string(), "blank text", "the task as text");
        }
        line
    }

    fn active_form(&mut self, index: usize, entry: &Entry<'_, '_>, content: Option<&str>) -> Option<String> {
        let value = match (entry.active_form, entry.active_form_alias) {
            (None, Some(value)) => {
                self.repair(
                    "\"active_form\" was read as \"activeForm\"",
                    problem(format!("todos[{index}].active_form"), "an unknown key", "activeForm"),
                );
                Some(value)
            }
            (value, _) => value,
        };
        let line = match value {
            None | Some(Raw::Null) => None,
            Some(Raw::Text(text)) => self.line(index, "activeForm", text)?,
            Some(other) => {
                let path = format!("todos[{index}].activeForm");
                self.refuse(path, other.describe(), "the task as text, in the present continuous");
                return None;
            }
        };
        if line.is_none() {
            self.repair(
                "\"activeForm\" was missing; \"content\" stands in",
                problem(
                    format!("todos[{index}].activeForm"),
                    "nothing",
                    "the task in the present continuous",
                ),
            );
        }
        // A refused content already stops the whole call: what stands in for it does not matter.
        line.or_else(|| Some(content.unwrap_or_default().to_owned()))
    }

    /// The text as one line: `Some(None)` when it is blank, `None` when it is refused.
    fn line(&mut self, index: usize, key: &str, text: &str) -> Option<Option<String>> {
        let (line, dropped) = one_line(text);
        let length = if line.len() > self.options.max_length { line.chars().count() } else { 0 };
        if length > self.options.max_length {
            self.refuse(
                format!("todos[{index}].{key}"),
                format!("{length} characters"),
                format!("at most {} (the user's limit)", self.options.max_length),
            );
            return None;
        }
        if is_blank(&line) {
            return Some(None);
        }
        if dropped {
            self.repair(
                format!("control characters were dropped from \"{key}\""),
                problem(format!("todos[{index}].{key}"), "control characters", "plain text on one line"),
            );
        }
        Some(Some(line.into_owned()))
    }

    fn status(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<Status> {
        let received = match value {
            Some(Raw::Text(text)) => match (Status::parse(text), synonym(text)) {
                (Some(status), _) => return Some(status),
                (None, Some(status)) => {
                    self.repair(
                        format!("status \"{}\" was read as \"{status}\"", excerpt(text, 20)),
                        problem(
                            format!("todos[{index}].status"),
                            format!("\"{}\"", excerpt(text, 20)),
                            STATUSES,
                        ),
                    );
                    return Some(status);
                }
                (None, None) => format!("\"{}\"", excerpt(text, 60)),
            },
            Some(other) => other.describe(),
            None => "nothing".into(),
        };
        self.refuse(format!("todos[{index}].status"), received, STATUSES);
        None
    }

    fn priority(&mut self, index: usize, value: Option<&Raw<'_>>) -> Option<Priority> {
        let value = value.filter(|value| **value != Raw::Null)?;
        let known = match value {
            Raw::Text(text) => Priority::parse(text),
            _ => None,
        };
        if known.is_none() {
            self.repair(
                format!("priority {} was dropped; known: high, medium, low", value.describe()),
                problem(format!("todos[{index}].priority"), value.describe(), "one of high, medium, low"),
            );
        }
        known
    }

    fn unknown_keys<'k>(&mut self, path: &str, known: &str, keys: impl Iterator<Item = &'k str>) {
        for key in keys {
            let key = excerpt(key, 30);
            self.repair(
                format!("{UNKNOWN_KEY}{key}"),
                problem(format!("{path}.{key}"), "an unknown key", known),
            );
        }
    }

    /// The same explicit id on two tasks makes it unclear which is which. Positional ids say
    /// nothing, so they may repeat.
    fn repeated_ids(&mut self, values: &[Raw<'_>]) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (index, value) in values.iter().enumerate() {
            let Some(id) = value.get("id").and_then(hint).filter(|id| !is_positional(id)) else { continue };
            if let Some(first) = seen.get(&id) {
                let received = format!("\"{}\", which todos[{first}] has too", excerpt(&id, 40));
                self.refuse(format!("todos[{index}].id"), received, "an id of its own, or none");
            } else {
                seen.insert(id, index);
            }
        }
    }

    fn several_in_progress(&mut self, drafts: &[Draft]) {
        let count = drafts.iter().filter(|draft| draft.status == Status::InProgress).count();
        if count < 2 {
            return;
        }
        let received = format!("{count} tasks in progress");
        match self.options.several_in_progress {
            SeveralInProgress::Allow => {}
            SeveralInProgress::Notice => {
                self.repair(
                    format!("{received}; usually one is"),
                    problem("todos", received, "at most one in progress"),
                );
            }
            SeveralInProgress::Refuse => self.refuse("todos", received, "at most one in progress"),
        }
    }
}
