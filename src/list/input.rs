//! Parses a call into valid drafts, or lists all of its problems.
//!
//! Models are trained on `todos[] {content, status, activeForm}` but send many other forms. A call is
//! accepted as it is, repaired with a notice, or refused without any effect. A repair never loses
//! a task or changes its meaning: an unknown status is refused, not mapped.

mod task;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::Problem;
use crate::list::identity::is_positional;
use crate::list::item::{Draft, Status};
use crate::list::raw::Raw;
use crate::text::excerpt;
use task::{CONTENT, hint};

/// The user's options for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The maximum number of tasks in a list.
    pub max_items: usize,
    /// The maximum number of characters in `content` and in `activeForm`.
    pub max_length: usize,
    /// Whether to refuse input that needs repairs.
    pub strict: bool,
    /// What to do if more than one task is in progress.
    pub several_in_progress: SeveralInProgress,
}

/// See [`Options::several_in_progress`]. `Notice` and `Allow` accept the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum SeveralInProgress {
    #[default]
    #[serde(rename = "nil")]
    Notice,
    Allow,
    Refuse,
}

impl Default for Options {
    fn default() -> Self {
        let several_in_progress = SeveralInProgress::default();
        Options { max_items: 1_000, max_length: 2_000, strict: false, several_in_progress }
    }
}

impl Options {
    /// The maximum number of bytes of all texts of a list: one task of the longest kind, and 200 bytes for
    /// each that is allowed. A journal has every list.
    fn max_bytes(&self) -> usize {
        self.max_length.saturating_mul(8).saturating_add(self.max_items.saturating_mul(200))
    }
}

/// An accepted call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The whole list, in order.
    pub drafts: Vec<Draft>,
    /// Tasks sent as cancelled. They are not in the list; [`crate::list::identity`] finds their items.
    pub cancelled: Vec<Draft>,
    /// A line about each repair, with the number of tasks that needed it if there are several.
    pub notices: Vec<String>,
}

/// The number of unknown keys that a notice names; an ellipsis stands for more.
const NAMED: usize = 8;

const INPUT: &str = r#"{"todos": [{"content", "status", "activeForm"}, …]}"#;
const TODOS: &str = "an array of tasks";
/// What is expected where a call says that its list is only a part.
const WHOLE: &str = "the whole list";
/// Ends a refusal of a list that seems to be only a part of the whole: it would drop the other tasks.
pub(crate) const WHOLE_LIST: &str =
    "This tool takes the whole list: send all tasks, also those that did not change.";
// In Lisp, an empty array may arrive as null.
const TODOS_NOT_NULL: &str =
    r#"an array of tasks ([] clears the list; if it arrives as null, send it as JSON text: "[]")"#;

/// What is allowed where there is a maximum.
fn at_most(limit: usize) -> String {
    format!("at most {limit} (the user's limit)")
}

/// Says where and why a text is not JSON.
fn not_json(error: &serde_json::Error) -> String {
    let (line, column, words) = (error.line(), error.column(), error.to_string());
    let reason = words.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&words);
    // The column is the number of bytes read, which is 0 at the start of a line.
    format!("not JSON at line {line}, column {} ({reason})", column.max(1))
}

/// Reads a call that is JSON text.
///
/// # Errors
/// Every problem of the call.
///
/// # Examples
/// ```
/// use todo_write::list::input::{Options, read_text};
/// use todo_write::list::item::Status;
///
/// let plan = read_text(r#"[{"content": "Ship it", "status": "done"}]"#, &Options::default()).unwrap();
/// assert_eq!(plan.drafts[0].status, Status::Completed);
/// assert_eq!(plan.notices[1], r#"status "done" was read as "completed""#);
///
/// let call = r#"{"todos": [{"content": "Ship it", "status": "blocked", "activeForm": "Shipping"}]}"#;
/// let problems = read_text(call, &Options::default()).unwrap_err();
/// assert_eq!(
///     problems[0].to_string(),
///     r#"todos[0].status: received "blocked"; expected one of pending, in_progress, completed"#
/// );
/// ```
pub fn read_text(text: &str, options: &Options) -> Result<Plan, Vec<Problem>> {
    match Raw::parse(text) {
        Ok(raw) => read(&raw, options),
        Err(error) => Err(vec![Problem::new("input", format!("text that is {}", not_json(&error)), INPUT)]),
    }
}

/// Reads a decoded call.
///
/// # Errors
/// Every problem of the call.
pub fn read(raw: &Raw<'_>, options: &Options) -> Result<Plan, Vec<Problem>> {
    let mut reader = InputReader {
        options,
        problems: Vec::new(),
        strict_problems: Vec::new(),
        repairs: Vec::new(),
        unknown_keys: Vec::new(),
    };
    let plan = reader.call(raw);
    reader.finish(plan)
}

/// The first of these keys that an object has, and its value.
fn first_of<'r>(object: &'r Raw<'r>, keys: &[&'static str]) -> Option<(&'static str, &'r Raw<'r>)> {
    keys.iter().find_map(|key| Some((*key, object.get(key)?)))
}

/// Whether a key beside the list says that the list is only a part of the whole; none for other keys. Some
/// models are trained on tools that patch a list.
fn is_partial(key: &str, value: &Raw<'_>) -> Option<bool> {
    let word = match value {
        Raw::Bool(value) => value.to_string(),
        Raw::Text(text) => text.trim().to_ascii_lowercase(),
        _ => String::new(),
    };
    match key {
        "merge" | "append" => Some(word == "true"),
        "replace" => Some(word == "false"),
        "operation" | "mode" => {
            Some(*value != Raw::Null && !["replace", "write", "set"].contains(&word.as_str()))
        }
        _ => None,
    }
}

/// Whether these problems suggest that the agent sent only the tasks that changed.
pub(crate) fn suggest_part(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| [WHOLE, CONTENT].contains(&problem.expected.as_str()))
}

struct InputReader<'o> {
    options: &'o Options,
    problems: Vec<Problem>,
    /// The problems that would be repaired if the option `strict` were off.
    strict_problems: Vec<Problem>,
    /// What was repaired, and in how many tasks, in order of first appearance.
    repairs: Vec<(Cow<'static, str>, usize)>,
    unknown_keys: Vec<String>,
}

impl InputReader<'_> {
    fn refuse(&mut self, path: impl Into<String>, received: impl Into<String>, expected: impl Into<String>) {
        self.problems.push(Problem::new(path, received, expected));
    }

    fn repair(&mut self, notice: impl Into<Cow<'static, str>>, problem: impl FnOnce() -> Problem) {
        if self.options.strict {
            return self.strict_problems.push(problem());
        }
        let notice = notice.into();
        match self.repairs.iter_mut().find(|(known, _)| *known == notice) {
            Some((_, count)) => *count += 1,
            None => self.repairs.push((notice, 1)),
        }
    }

    /// Repairs a key sent instead of another.
    fn alias(&mut self, sent: &str, meant: &str, parent: impl FnOnce() -> String) {
        if sent != meant {
            let problem = || Problem::new(format!("{}.{sent}", parent()), "an unknown key", meant);
            self.repair(format!("\"{sent}\" was read as \"{meant}\""), problem);
        }
    }

    fn unknown_key(&mut self, key: &str, parent: impl FnOnce() -> String, known: &str) {
        let key = excerpt(key, 30);
        if self.options.strict {
            let path = format!("{}.{key}", parent());
            self.strict_problems.push(Problem::new(path, "an unknown key", known));
        } else if self.unknown_keys.len() <= NAMED && !self.unknown_keys.contains(&key) {
            self.unknown_keys.push(key);
        }
    }

    fn finish(mut self, plan: Plan) -> Result<Plan, Vec<Problem>> {
        self.problems.append(&mut self.strict_problems);
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let notice = |(notice, count)| match count {
            1 => String::from(notice),
            _ => format!("{notice} ({count} tasks)"),
        };
        let mut notices: Vec<String> = self.repairs.into_iter().map(notice).collect();
        if !self.unknown_keys.is_empty() {
            let more = if self.unknown_keys.len() > NAMED { ", …" } else { "" };
            self.unknown_keys.truncate(NAMED);
            notices.push(format!("unknown keys ignored: {}{more}", self.unknown_keys.join(", ")));
        }
        Ok(Plan { notices, ..plan })
    }

    fn call(&mut self, raw: &Raw<'_>) -> Plan {
        match raw {
            Raw::List(values) => {
                self.repair("the input was the bare array; send it as the value of \"todos\"", || {
                    Problem::new("input", raw.describe(), INPUT)
                });
                self.list(values)
            }
            Raw::Object(fields) => {
                let Some((key, todos)) = first_of(raw, &["todos", "plan"]) else {
                    self.refuse("todos", format!("nothing (the input is {})", raw.describe()), TODOS);
                    return Plan::default();
                };
                self.alias(key, "todos", || "input".into());
                for (other, value) in fields.iter().filter(|(other, _)| other != key) {
                    match is_partial(other, value) {
                        Some(true) => self.refuse(format!("input.{other}"), value.describe(), WHOLE),
                        Some(false) => {}
                        None => self.unknown_key(other, || "input".into(), "todos and nothing else"),
                    }
                }
                self.todos(todos)
            }
            other => {
                self.refuse("input", other.describe(), INPUT);
                Plan::default()
            }
        }
    }

    fn todos(&mut self, todos: &Raw<'_>) -> Plan {
        let expected = match todos {
            Raw::List(values) => return self.list(values),
            Raw::Text(text) => return self.todos_text(text, false),
            Raw::Null => TODOS_NOT_NULL,
            _ => TODOS,
        };
        self.refuse("todos", todos.describe(), expected);
        Plan::default()
    }

    /// Reads `todos` from a string that holds the array. It may be encoded twice, and the model's
    /// own markup may follow it.
    fn todos_text(&mut self, text: &str, is_inner: bool) -> Plan {
        let received = match Raw::parse_prefix(text) {
            Ok((Raw::List(values), rest)) => {
                let rest = excerpt(rest, 30);
                let ignored = if rest.is_empty() {
                    String::new()
                } else {
                    format!(" (and \"{rest}\" after it was ignored)")
                };
                self.repair(
                    format!("\"todos\" was a string holding the array{ignored}; send the array itself"),
                    || Problem::new("todos", "a string", TODOS),
                );
                return self.list(&values);
            }
            Ok((Raw::Text(inner), _)) if !is_inner => return self.todos_text(&inner, true),
            Ok((other, _)) => format!("a string holding {}", other.describe()),
            Err(error) => format!("a string that is {}", not_json(&error)),
        };
        self.refuse("todos", received, TODOS);
        Plan::default()
    }

    fn list(&mut self, values: &[Raw<'_>]) -> Plan {
        let (count, limit) = (values.len(), self.options.max_items);
        if count > limit {
            self.refuse("todos", format!("{count} tasks"), at_most(limit));
            return Plan::default();
        }
        let mut plan = Plan { drafts: Vec::with_capacity(count), ..Plan::default() };
        for (index, value) in values.iter().enumerate() {
            match self.task(index, value) {
                Some((draft, true)) => plan.cancelled.push(draft),
                Some((draft, false)) => plan.drafts.push(draft),
                None => {}
            }
        }
        self.repeated_ids(values);
        self.several_in_progress(&plan.drafts);
        let drafts = plan.drafts.iter().chain(&plan.cancelled);
        let bytes: usize = drafts.map(|draft| draft.content.len() + draft.active_form.len()).sum();
        let limit = self.options.max_bytes();
        if bytes > limit {
            self.refuse("todos", format!("texts of {bytes} bytes in all"), at_most(limit));
        }
        plan
    }

    /// Refuses an explicit id that two tasks have. Positional ids identify nothing and may repeat.
    fn repeated_ids(&mut self, values: &[Raw<'_>]) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (index, value) in values.iter().enumerate() {
            let Some(id) = value.get("id").and_then(hint).filter(|id| !is_positional(id)) else { continue };
            let short = excerpt(&id, 40);
            let first = *seen.entry(id).or_insert(index);
            if first != index {
                let received = format!("\"{short}\", which todos[{first}] also has");
                self.refuse(format!("todos[{index}].id"), received, "an id of its own, or none");
            }
        }
    }

    fn several_in_progress(&mut self, drafts: &[Draft]) {
        let count = drafts.iter().filter(|draft| draft.status == Status::InProgress).count();
        if count < 2 {
            return;
        }
        let problem =
            || Problem::new("todos", format!("{count} tasks in progress"), "at most one in progress");
        match self.options.several_in_progress {
            SeveralInProgress::Allow => {}
            SeveralInProgress::Notice => {
                self.repair(format!("{count} tasks in progress; usually one is"), problem);
            }
            SeveralInProgress::Refuse => self.problems.push(problem()),
        }
    }
}
