//! Why an input is refused, and what was repaired, as data. The words are in `Display` only.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use thiserror::Error;

use crate::item::{Priority, Status};
use crate::raw::Expectation;

/// One reason why an input is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: received {received}; expected {expected}")]
pub struct Problem {
    /// Where.
    pub path: Path,
    /// What came.
    pub received: Received,
    /// What is allowed there.
    pub expected: Expected,
}

/// A place in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// The whole.
    Input,
    /// A key beside `todos`.
    InputKey(String),
    /// The list.
    Todos,
    /// The task at an index.
    Task(usize),
    /// A key of the task at an index.
    Field(usize, Cow<'static, str>),
}

impl Path {
    pub(super) fn field(index: usize, key: &'static str) -> Path {
        Path::Field(index, Cow::Borrowed(key))
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Path::Input => f.write_str("input"),
            Path::InputKey(key) => write!(f, "input.{key}"),
            Path::Todos => f.write_str("todos"),
            Path::Task(index) => write!(f, "todos[{index}]"),
            Path::Field(index, key) => write!(f, "todos[{index}].{key}"),
        }
    }
}

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A value, as [`crate::raw::Raw::describe`] has it.
    Value(String),
    /// No value.
    Nothing,
    /// An input without `todos`, described.
    NoTodos(String),
    /// A text that stops being JSON at a line and column.
    NotJson(usize, usize),
    /// The same in a string.
    StringNotJson(usize, usize),
    /// A string where the value itself is wanted.
    String,
    /// A string that holds JSON, described.
    StringHolding(String),
    /// A text without visible characters.
    Blank,
    /// A text of so many characters.
    Characters(usize),
    /// So many tasks.
    Tasks(usize),
    /// So many tasks in progress.
    InProgress(usize),
    /// A key that the schema does not have.
    UnknownKey,
    /// A text with control characters.
    ControlCharacters,
    /// An id that the task at the index has too.
    RepeatedId(String, usize),
}

impl Display for Received {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Received::Value(what) => f.write_str(what),
            Received::Nothing => f.write_str("nothing"),
            Received::NoTodos(input) => write!(f, "nothing (the input is {input})"),
            Received::NotJson(line, column) => {
                write!(f, "text that is not JSON at line {line}, column {column}")
            }
            Received::StringNotJson(line, column) => {
                write!(f, "a string that is not JSON at line {line}, column {column}")
            }
            Received::String => f.write_str("a string"),
            Received::StringHolding(what) => write!(f, "a string holding {what}"),
            Received::Blank => f.write_str("blank text"),
            Received::Characters(count) => write!(f, "{count} characters"),
            Received::Tasks(count) => write!(f, "{count} tasks"),
            Received::InProgress(count) => write!(f, "{count} tasks in progress"),
            Received::UnknownKey => f.write_str("an unknown key"),
            Received::ControlCharacters => f.write_str("control characters"),
            Received::RepeatedId(id, first) => write!(f, "\"{id}\", which todos[{first}] has too"),
        }
    }
}

/// What is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// An input in the schema's shape.
    Input,
    /// JSON, of which this was due at that place.
    Json(Expectation),
    /// The array.
    Todos,
    /// The array in place of null, which in Lisp may have been an empty one.
    TodosNotNull,
    /// The array; as JSON in a string, this was due at that place.
    TodosNotJson(Expectation),
    /// A task.
    Task,
    /// `content`.
    Content,
    /// `activeForm`.
    ActiveForm,
    /// `status`.
    Status,
    /// `priority`.
    Priority,
    /// At most so much, by an option.
    AtMost(usize),
    /// One task in progress, or none.
    OneInProgress,
    /// A text without control characters.
    PlainText,
    /// An id that no other task has.
    OwnId,
    /// One of these keys.
    Keys(&'static str),
}

impl Display for Expected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Input => f.write_str("{\"todos\": [{\"content\", \"status\", \"activeForm\"}, …]}"),
            Expected::Json(due) => due.fmt(f),
            Expected::Todos => f.write_str("an array of tasks"),
            Expected::TodosNotNull => f.write_str(
                "an array of tasks ([] clears the list; if it arrives as null, send it as JSON text: \"[]\")",
            ),
            Expected::TodosNotJson(due) => write!(f, "an array of tasks ({due})"),
            Expected::Task => f.write_str("an object with content, status, activeForm"),
            Expected::Content => f.write_str("the task as text"),
            Expected::ActiveForm => f.write_str("the task as text, in the present continuous"),
            Expected::Status => one_of(f, Status::NAMES),
            Expected::Priority => one_of(f, Priority::NAMES),
            Expected::AtMost(limit) => write!(f, "at most {limit} (the user's limit)"),
            Expected::OneInProgress => f.write_str("at most one in progress"),
            Expected::PlainText => f.write_str("plain text on one line"),
            Expected::OwnId => f.write_str("an id of its own, or none"),
            Expected::Keys(keys) => f.write_str(keys),
        }
    }
}

fn one_of<T>(f: &mut Formatter<'_>, names: &[(T, &str)]) -> fmt::Result {
    let names: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    write!(f, "one of {}", names.join(", "))
}
