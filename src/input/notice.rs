//! The repairs of a call, summarized for the model and the user.

use std::fmt::{self, Display, Formatter};

use thiserror::Error;

use crate::item::Status;

/// The number of unknown keys that a notice names; an ellipsis stands for more.
pub const NAMED: usize = 8;

/// A repair and the number of tasks that needed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The repair.
    pub repair: Repair,
    /// The number of tasks.
    pub count: usize,
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.repair.fmt(f)?;
        if self.count > 1 { write!(f, " ({} tasks)", self.count) } else { Ok(()) }
    }
}

/// A repair of the input.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // The messages describe them.
pub enum Repair {
    #[error("the input was the bare array; send it as the value of \"todos\"")]
    BareArray,
    /// The array was a string of JSON, followed by this text.
    #[error("\"todos\" was a string holding the array{}; send the array itself", ignored(.0))]
    Encoded(String),
    #[error("\"{0}\" was read as \"{1}\"")]
    Key(&'static str, &'static str),
    #[error("\"activeForm\" was missing; \"content\" stands in")]
    NoActiveForm,
    #[error("status \"{0}\" was read as \"{1}\"")]
    Synonym(String, Status),
    #[error("cancelled tasks were left out of the list")]
    Cancelled,
    #[error("control characters were dropped from \"{0}\"")]
    ControlCharacters(&'static str),
    #[error("priority {0} was dropped; known: high, medium, low")]
    Priority(String),
    #[error("{0} tasks in progress; usually one is")]
    InProgress(usize),
    #[error("unknown keys ignored: {}", named(.0))]
    UnknownKeys(Vec<String>),
}

fn ignored(rest: &str) -> String {
    if rest.is_empty() { String::new() } else { format!(" (and \"{rest}\" after it was ignored)") }
}

fn named(keys: &[String]) -> String {
    let more = if keys.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", keys[..keys.len().min(NAMED)].join(", "))
}

/// One notice for each distinct repair, in order of first appearance.
pub fn notices(repairs: Vec<Repair>) -> Vec<Notice> {
    let mut notices: Vec<Notice> = Vec::new();
    for repair in repairs {
        match notices.iter_mut().find(|notice| notice.repair == repair) {
            Some(notice) => notice.count += 1,
            None => notices.push(Notice { repair, count: 1 }),
        }
    }
    notices
}
