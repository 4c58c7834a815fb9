//! From what arrives to drafts that cannot be wrong, or to every problem at once.
//!
//! Models are trained on `todos[] {content, status, activeForm}`; what they send is wilder. Three
//! outcomes: accepted as it is, repaired (and said in a notice), refused (and nothing happens).
//! Nothing is ever guessed that could lose a task or change its meaning: an unknown status is
//! refused, never mapped.

mod entry;
mod notices;
mod plain;
mod task;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;

use crate::identity::is_positional;
use crate::item::{Draft, Status};
use crate::raw::Raw;
use crate::text::excerpt;
use entry::hint;
use notices::Notices;

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

/// An accepted input, which may borrow its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan<'a> {
    /// The whole list, in order.
    pub drafts: Vec<Draft<'a>>,
    /// What was repaired, a line each, none twice.
    pub notices: Vec<String>,
}

impl Plan<'_> {
    /// The same, with texts of its own.
    pub fn into_owned(self) -> Plan<'static> {
        Plan { drafts: self.drafts.into_iter().map(Draft::into_owned).collect(), notices: self.notices }
    }
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
pub fn read_text<'a>(text: &'a str, options: &Options) -> Result<Plan<'a>, Vec<Problem>> {
    if let Some(plan) = plain::read(text, options) {
        return Ok(plan);
    }
    match Raw::parse(text) {
        Ok(raw) => read(&raw, options),
        Err(error) => Err(vec![problem(
            "input",
            format!("text that is not JSON at line {}, column {}", error.line, error.column),
            error.expected,
        )]),
    }
}

/// A task with the three keys of the schema, all texts, and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task<'a> {
    /// `content`.
    pub content: &'a str,
    /// `status`.
    pub status: &'a str,
    /// `activeForm`.
    pub active_form: &'a str,
}

/// Reads a call of nothing but such tasks, which a host has decoded already. The same comes of it
/// as of [`read`].
///
/// # Errors
/// Every problem of the input; see [`Problem`].
pub fn read_tasks<'a>(tasks: &[Task<'a>], options: &Options) -> Result<Plan<'a>, Vec<Problem>> {
    if let Some(plan) = plain::read_tasks(tasks, options) {
        return Ok(plan);
    }
    let text = |key: &'static str, text: &'a str| (Cow::Borrowed(key), Raw::Text(Cow::Borrowed(text)));
    let raw = |task: &Task<'a>| {
        Raw::Object(vec![
            text("content", task.content),
            text("status", task.status),
            text("activeForm", task.active_form),
        ])
    };
    let todos = Raw::List(tasks.iter().map(raw).collect());
    read(&Raw::Object(vec![("todos".into(), todos)]), options)
}

/// Reads what a host has decoded already.
///
/// # Errors
/// Every problem of the input; see [`Problem`].
pub fn read<'a>(raw: &Raw<'a>, options: &Options) -> Result<Plan<'a>, Vec<Problem>> {
    let mut reader =
        Reader { options, problems: Vec::new(), repairs: Vec::new(), notices: Notices::default() };
    let drafts = reader.whole(raw);
    reader.finish(drafts)
}

const TODOS: &str = "{\"todos\": [{\"content\", \"status\", \"activeForm\"}, …]}";
fn problem(path: impl Display, received: impl Into<String>, expected: impl Into<String>) -> Problem {
    Problem { path: path.to_string(), received: received.into(), expected: expected.into() }
}

struct Reader<'o> {
    options: &'o Options,
    problems: Vec<Problem>,
    /// What was put right: the problems when that is not allowed, the notices when it is.
    repairs: Vec<Problem>,
    notices: Notices,
}

impl Reader<'_> {
    fn refuse(&mut self, path: impl Display, received: impl Into<String>, expected: impl Into<String>) {
        self.problems.push(problem(path, received, expected));
    }

    fn repair(&mut self, notice: impl Into<Cow<'static, str>>, problem: impl FnOnce() -> Problem) {
        if self.options.strict {
            self.repairs.push(problem());
        } else {
            self.notices.add(notice.into());
        }
    }

    fn unknown_keys<'k>(
        &mut self,
        place: impl Display,
        known: &str,
        keys: impl IntoIterator<Item = &'k str>,
    ) {
        for key in keys {
            if self.options.strict {
                let path = format_args!("{place}.{}", excerpt(key, 30));
                self.repairs.push(problem(path, "an unknown key", known));
            } else {
                self.notices.add_unknown_key(key);
            }
        }
    }

    fn finish(mut self, drafts: Vec<Draft<'_>>) -> Result<Plan<'_>, Vec<Problem>> {
        self.problems.append(&mut self.repairs);
        if self.problems.is_empty() {
            Ok(Plan { drafts, notices: self.notices.into_lines() })
        } else {
            Err(self.problems)
        }
    }

    fn whole<'a>(&mut self, raw: &Raw<'a>) -> Vec<Draft<'a>> {
        match raw {
            Raw::List(values) => {
                self.repair("the input was the bare array; send it as the value of \"todos\"", || {
                    problem("input", raw.describe(), TODOS)
                });
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

    fn todos<'a>(&mut self, todos: &Raw<'a>) -> Vec<Draft<'a>> {
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
    fn todos_text(&mut self, text: &str) -> Vec<Draft<'static>> {
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
                    || problem("todos", "a string", "an array of tasks"),
                );
                self.list(&values).into_iter().map(Draft::into_owned).collect()
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

    fn list<'a>(&mut self, values: &[Raw<'a>]) -> Vec<Draft<'a>> {
        if values.len() > self.options.max_items {
            self.refuse(
                "todos",
                format!("{} tasks", values.len()),
                format!("at most {} (the user's limit)", self.options.max_items),
            );
            return Vec::new();
        }
        let drafts: Vec<Draft<'a>> =
            values.iter().enumerate().filter_map(|(index, value)| self.task(index, value)).collect();
        self.repeated_ids(values);
        self.several_in_progress(&drafts);
        drafts
    }

    /// The same explicit id on two tasks makes it unclear which is which. Positional ids say
    /// nothing, so they may repeat.
    fn repeated_ids(&mut self, values: &[Raw<'_>]) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (index, value) in values.iter().enumerate() {
            let Some(id) = value.get("id").and_then(hint).filter(|id| !is_positional(id)) else { continue };
            if let Some(first) = seen.get(&id) {
                let received = format!("\"{}\", which todos[{first}] has too", excerpt(&id, 40));
                self.refuse(format_args!("todos[{index}].id"), received, "an id of its own, or none");
            } else {
                seen.insert(id, index);
            }
        }
    }

    fn several_in_progress(&mut self, drafts: &[Draft<'_>]) {
        let count = in_progress(drafts);
        if count < 2 {
            return;
        }
        let received = format!("{count} tasks in progress");
        match self.options.several_in_progress {
            SeveralInProgress::Allow => {}
            SeveralInProgress::Notice => {
                self.repair(format!("{received}; usually one is"), || {
                    problem("todos", received, "at most one in progress")
                });
            }
            SeveralInProgress::Refuse => self.refuse("todos", received, "at most one in progress"),
        }
    }
}

fn in_progress(drafts: &[Draft<'_>]) -> usize {
    drafts.iter().filter(|draft| draft.status == Status::InProgress).count()
}
