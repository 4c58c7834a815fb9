//! The records of a journal, and their encoding as lines with a checksum.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::activity::AgentActivity;
use crate::clock::{Clock, Millis};
use crate::events::observation::Observation;
use crate::list::change::Change;
use crate::list::item::{Item, List};
use crate::revision::Stamp;
use crate::text::fnv1a;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(missing_docs)] // The fields have the names of those in `thread` and `revision`.
pub enum Record {
    /// The header: the key of the thread.
    Thread { format: u32, thread: String, timestamp: Millis, about: Map<String, Value> },
    /// A revision, as its changes.
    Revision {
        number: u64,
        stamp: Stamp,
        changes: Vec<Change<Arc<Item>>>,
        next_id: u64,
        known: u64,
        /// If the agent knows only the list that it sent: the changes from the list it knew before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<Vec<Change<Arc<Item>>>>,
        /// Whether the result of this write did not reach the agent.
        #[serde(default, skip_serializing_if = "is_false")]
        unanswered: bool,
    },
    /// The state after all records before it, so that damage to them has no further effect.
    Full(FullRecord),
    /// The agent knows this revision, or only the list that it sent.
    Known {
        number: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<Vec<Change<Arc<Item>>>>,
        #[serde(default, skip_serializing_if = "is_false")]
        unanswered: bool,
        /// The ids of the user's items that it was told of a second time.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reminded: Vec<String>,
    },
    /// A pause, a resumption, or another activity of the agent.
    State {
        timestamp: Millis,
        #[serde(flatten)]
        activity: AgentActivity,
    },
    /// An observation that does not follow from a revision.
    Observation(Arc<Observation>),
}

/// The state of a thread without its history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // As in `Record`.
pub struct FullRecord {
    pub number: u64,
    pub timestamp: Millis,
    pub list: List,
    /// The list that the agent knows, if it is not `list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<List>,
    /// As in `Record::Revision`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unanswered: bool,
    /// As in `Record::Known`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reminded: BTreeSet<String>,
    pub next_id: u64,
    pub known: u64,
    pub clock: Clock,
    pub observations: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The changes as records have them. Previous items are left out: the earlier records have them.
pub(crate) fn without_previous(changes: &[Change<Arc<Item>>]) -> Vec<Change<Arc<Item>>> {
    let without = |change: &Change<Arc<Item>>| Change {
        previous_item: None,
        previous_position: None,
        ..change.clone()
    };
    changes.iter().map(without).collect()
}

/// The version of the file format.
pub(crate) const FORMAT: u32 = 1;

/// Encodes a record as a line of JSON. The last key, `sum`, is a checksum of the JSON without it.
pub(super) fn encode(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(1024);
    serde_json::to_writer(&mut line, record)?;
    let sum = fnv1a(&line);
    line.pop();
    writeln!(line, "{SUM}{sum:016x}\"}}")?;
    Ok(line)
}

/// Decodes lines and skips damaged ones.
pub(crate) fn decode_all(lines: &[u8]) -> Vec<Record> {
    lines.split_inclusive(|byte| *byte == b'\n').filter_map(decode).collect()
}

/// Decodes a line with its line feed; none if it is damaged.
pub fn decode(line: &[u8]) -> Option<Record> {
    let record: Option<Record> = serde_json::from_slice(&checked(line)?).ok();
    record.filter(Record::has_sane_counters)
}

/// The format that the line of a header names, which may be a later one; none if the line is damaged.
pub(super) fn format_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(&checked(line)?).ok()?.get("format")?.as_u64()
}

/// The JSON of a line without its checksum; none if that is wrong.
fn checked(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.strip_suffix(b"\"}\n")?;
    let (json, sum) = line.split_at_checked(line.len().checked_sub(SUM.len() + 16)?)?;
    let sum = std::str::from_utf8(sum.strip_prefix(SUM.as_bytes())?).ok()?;
    let mut json = json.to_vec();
    json.push(b'}');
    (u64::from_str_radix(sum, 16).ok()? == fnv1a(&json)).then_some(json)
}

/// The limit of all counters. A higher number is damage; adding to it might overflow.
pub(crate) const COUNTER_LIMIT: u64 = 1 << 53;

impl Record {
    /// The time of the record, if it has one.
    pub fn timestamp(&self) -> Option<Millis> {
        match self {
            Record::Thread { timestamp, .. } | Record::State { timestamp, .. } => Some(*timestamp),
            Record::Observation(observation) => Some(observation.timestamp),
            Record::Revision { stamp, .. } => Some(stamp.timestamp),
            Record::Full(full) => Some(full.timestamp),
            Record::Known { .. } => None,
        }
    }

    /// Whether all counters are below [`COUNTER_LIMIT`].
    fn has_sane_counters(&self) -> bool {
        let highest = match self {
            Record::Thread { timestamp, .. } | Record::State { timestamp, .. } => *timestamp,
            Record::Revision { number, stamp, next_id, known, .. } => {
                *number.max(&stamp.timestamp).max(next_id).max(known)
            }
            Record::Full(full) => {
                full.number.max(full.timestamp).max(full.next_id).max(full.known).max(full.observations)
            }
            Record::Known { number, .. } => *number,
            Record::Observation(observation) => observation.number.max(observation.timestamp),
        };
        highest < COUNTER_LIMIT
    }
}

const SUM: &str = ",\"sum\":\"";
