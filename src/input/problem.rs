//! The reasons for refusing a call, as data. Only `Display` has words.

use std::borrow::Cow;

use thiserror::Error;

use crate::item::{Priority, Status};
use crate::raw::ExpectedJson;

/// One reason for refusing a call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: received {received}; expected {expected}")]
pub struct Problem {
    /// The place in the call.
    pub path: Path,
    /// What the call has there.
    pub received: Received,
    /// What is allowed there.
    pub expected: Expected,
}

/// A place in a call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // The messages describe them.
pub enum Path {
    #[error("input")]
    Input,
    #[error("input.{0}")]
    InputKey(Cow<'static, str>),
    #[error("todos")]
    Todos,
    #[error("todos[{0}]")]
    Task(usize),
    #[error("todos[{0}].{1}")]
    Field(usize, Cow<'static, str>),
}

/// What a call has at a place. The strings come from [`crate::raw::Raw::describe`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // The messages describe them.
pub enum Received {
    #[error("{0}")]
    Value(String),
    #[error("nothing")]
    Nothing,
    #[error("nothing (the input is {0})")]
    NoTodos(String),
    #[error("text that is not JSON at line {0}, column {1}")]
    NotJson(usize, usize),
    #[error("a string that is not JSON at line {0}, column {1}")]
    StringNotJson(usize, usize),
    #[error("a string")]
    String,
    #[error("a string holding {0}")]
    StringHolding(String),
    #[error("blank text")]
    Blank,
    #[error("{0} characters")]
    Characters(usize),
    #[error("{0} tasks")]
    Tasks(usize),
    #[error("{0} tasks in progress")]
    InProgress(usize),
    #[error("an unknown key")]
    UnknownKey,
    #[error("control characters")]
    ControlCharacters,
    #[error("\"{0}\", which todos[{1}] also has")]
    RepeatedId(String, usize),
}

/// What is allowed at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // The messages describe them.
pub enum Expected {
    #[error("{{\"todos\": [{{\"content\", \"status\", \"activeForm\"}}, …]}}")]
    Input,
    #[error("{0}")]
    Json(ExpectedJson),
    #[error("an array of tasks")]
    Todos,
    /// In Lisp, an empty array may arrive as null.
    #[error("an array of tasks ([] clears the list; if it arrives as null, send it as JSON text: \"[]\")")]
    TodosNotNull,
    #[error("an array of tasks ({0})")]
    TodosNotJson(ExpectedJson),
    #[error("an object with content, status, activeForm")]
    Task,
    #[error("the task as text")]
    Content,
    #[error("the task as text, in the present continuous")]
    ActiveForm,
    #[error("one of {}", names(Status::NAMES))]
    Status,
    #[error("one of {}", names(Priority::NAMES))]
    Priority,
    #[error("at most {0} (the user's limit)")]
    AtMost(usize),
    #[error("at most one in progress")]
    OneInProgress,
    #[error("plain text on one line")]
    PlainText,
    #[error("an id of its own, or none")]
    OwnId,
    #[error("{0}")]
    Keys(&'static str),
}

fn names<T>(names: &[(T, &str)]) -> String {
    names.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}
