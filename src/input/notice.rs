//! What was repaired, in as few lines as possible.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};

use thiserror::Error;

use crate::item::Status;

/// Unknown keys that are named; of more, the notice only says that there are some.
pub const NAMED: usize = 8;

/// A repair, and to how many tasks it applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What was repaired.
    pub repair: Repair,
    /// How often.
    pub count: usize,
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.repair.fmt(f)?;
        if self.count > 1 { write!(f, " ({} tasks)", self.count) } else { Ok(()) }
    }
}

/// Something that was put right.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs)] // The words say it.
pub enum Repair {
    #[error("the input was the bare array; send it as the value of \"todos\"")]
    BareArray,
    /// The array came as JSON in a string, with this text behind it.
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
    if rest.is_empty() { String::new() } else { format!(" (and \"{rest}\" behind it was ignored)") }
}

fn named(keys: &[String]) -> String {
    let more = if keys.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", keys[..keys.len().min(NAMED)].join(", "))
}

/// One notice for each different repair, in order.
pub fn notices(repairs: Vec<Repair>) -> Vec<Notice> {
    let mut notices: Vec<Notice> = Vec::new();
    let mut places: HashMap<Repair, usize> = HashMap::new();
    for repair in repairs {
        if let Some(place) = places.get(&repair) {
            notices[*place].count += 1;
        } else {
            places.insert(repair.clone(), notices.len());
            notices.push(Notice { repair, count: 1 });
        }
    }
    notices
}
