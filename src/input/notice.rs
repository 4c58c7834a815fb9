//! What was repaired, in as few lines as possible.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};

use thiserror::Error;

use crate::item::Status;
use crate::text::excerpt;

/// Unknown keys that are named; of more, the notice only says that there are some.
const NAMED: usize = 8;

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
pub enum Repair {
    /// The input was the array itself.
    #[error("the input was the bare array; send it as the value of \"todos\"")]
    BareArray,
    /// The array came as JSON in a string; what stood behind it.
    #[error("\"todos\" was a string holding the array{}; send the array itself", ignored(.0))]
    Encoded(String),
    /// A key stood in for another.
    #[error("\"{0}\" was read as \"{1}\"")]
    Key(&'static str, &'static str),
    /// There was no `activeForm`.
    #[error("\"activeForm\" was missing; \"content\" stands in")]
    NoActiveForm,
    /// Another word for a status.
    #[error("status \"{0}\" was read as \"{1}\"")]
    Synonym(String, Status),
    /// A status that takes the task out of the list.
    #[error("cancelled tasks were left out of the list")]
    Cancelled,
    /// The text under this key lost control characters.
    #[error("control characters were dropped from \"{0}\"")]
    ControlCharacters(&'static str),
    /// A priority that is none, described.
    #[error("priority {0} was dropped; known: high, medium, low")]
    Priority(String),
    /// So many tasks in progress.
    #[error("{0} tasks in progress; usually one is")]
    InProgress(usize),
    /// Keys that the schema does not have.
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

/// Collects each repair once; all unknown keys in one.
#[derive(Default)]
pub struct Notices {
    list: Vec<Notice>,
    /// The place of each in `list`.
    places: HashMap<Repair, usize>,
    unknown_keys: Vec<String>,
}

impl Notices {
    pub fn add(&mut self, repair: Repair) {
        if let Some(place) = self.places.get(&repair) {
            self.list[*place].count += 1;
        } else {
            self.places.insert(repair.clone(), self.list.len());
            self.list.push(Notice { repair, count: 1 });
        }
    }

    pub fn add_unknown_key(&mut self, key: &str) {
        if self.unknown_keys.len() > NAMED || self.unknown_keys.iter().any(|known| known == key) {
            return;
        }
        let key = excerpt(key, 30);
        if !self.unknown_keys.contains(&key) {
            self.unknown_keys.push(key);
        }
    }

    pub fn into_list(mut self) -> Vec<Notice> {
        if !self.unknown_keys.is_empty() {
            self.list.push(Notice { repair: Repair::UnknownKeys(self.unknown_keys), count: 1 });
        }
        self.list
    }
}
