//! The records of a journal, and how each is a line with a checksum.

use std::io::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::change::Change;
use crate::clock::{Clock, Millis};
use crate::item::{Item, List};
use crate::observation::Observation;
use crate::revision::Stamp;
use crate::text::fnv1a;
use crate::thread::Activity;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(missing_docs)] // Each field is that of the same name in `thread`, `revision`, `observation`.
pub enum Record {
    /// First line: whose journal this is.
    Thread { format: u32, thread: String, timestamp: Millis, about: Map<String, Value> },
    /// A revision, by what changed.
    Revision { number: u64, stamp: Stamp, changes: Vec<Change<Arc<Item>>>, next_id: u64, known: u64 },
    /// Everything that the lines before say, so that damage to them is not carried on.
    Full(FullRecord),
    /// The agent was told everything up to this revision.
    Known { number: u64 },
    /// Paused with a reason, or resumed; and what the agent does.
    State {
        timestamp: Millis,
        paused: Option<String>,
        #[serde(default)]
        activity: Activity,
    },
    /// An observation that does not follow from a revision.
    Observation(Arc<Observation>),
}

/// The whole state of a thread, but for its history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // As in `Record`.
pub struct FullRecord {
    pub number: u64,
    pub timestamp: Millis,
    pub list: List,
    /// What the agent knows, where it differs from `list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<List>,
    pub next_id: u64,
    pub known: u64,
    pub clock: Clock,
    pub observations: u64,
}

/// The version of the file format.
pub const FORMAT: u32 = 1;

/// The record as JSON with its checksum as the last key, `sum`, taken over all before it.
pub fn encode(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(1024);
    serde_json::to_writer(&mut line, record)?;
    let sum = fnv1a(&line);
    line.pop();
    writeln!(line, "{SUM}{sum:016x}\"}}")?;
    Ok(line)
}

/// Reads lines, but for damaged ones.
pub fn decode_all(lines: &[u8]) -> Vec<Record> {
    lines.split_inclusive(|byte| *byte == b'\n').filter_map(decode).collect()
}

/// Reads a line with its line feed; none where it is damaged.
pub fn decode(line: &[u8]) -> Option<Record> {
    let line = line.strip_suffix(b"\"}\n")?;
    let (json, sum) = line.split_at_checked(line.len().checked_sub(SUM.len() + 16)?)?;
    let sum = std::str::from_utf8(sum.strip_prefix(SUM.as_bytes())?).ok()?;
    let mut json = json.to_vec();
    json.push(b'}');
    let record: Option<Record> =
        (u64::from_str_radix(sum, 16).ok()? == fnv1a(&json)).then(|| serde_json::from_slice(&json).ok())?;
    record.filter(Record::can_be_counted_on)
}

/// No store ever counts to this.
pub const TOO_MANY: u64 = 1 << 53;

impl Record {
    /// A revision. The state of an item before the change is left out: the lines before say it.
    pub fn revision(
        number: u64,
        stamp: &Stamp,
        changes: &[Change<Arc<Item>>],
        next_id: u64,
        known: u64,
    ) -> Record {
        let without_previous =
            |change: Change<Arc<Item>>| Change { previous_item: None, previous_position: None, ..change };
        let changes = changes.iter().cloned().map(without_previous).collect();
        Record::Revision { number, stamp: stamp.clone(), changes, next_id, known }
    }

    /// When it was written, if it says so.
    pub fn timestamp(&self) -> Option<Millis> {
        match self {
            Record::Thread { timestamp, .. } | Record::State { timestamp, .. } => Some(*timestamp),
            Record::Observation(observation) => Some(observation.timestamp),
            Record::Revision { stamp, .. } => Some(stamp.timestamp),
            Record::Full(full) => Some(full.timestamp),
            Record::Known { .. } => None,
        }
    }

    /// Whether its numbers are such that there is a next one, and a next one again.
    fn can_be_counted_on(&self) -> bool {
        let highest = match self {
            Record::Thread { timestamp, .. } | Record::State { timestamp, .. } => *timestamp,
            Record::Revision { number, stamp, next_id, known, .. } => {
                *number.max(&stamp.timestamp).max(next_id).max(known)
            }
            Record::Full(full) => {
                full.number.max(full.timestamp).max(full.next_id).max(full.known).max(full.observations)
            }
            Record::Known { number } => *number,
            Record::Observation(observation) => observation.number.max(observation.timestamp),
        };
        highest < TOO_MANY
    }
}

const SUM: &str = ",\"sum\":\"";
