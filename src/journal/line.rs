//! A line of a journal: JSON with a checksum.

use std::io::{self, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::text::fnv1a;
use crate::thread::record::Record;

/// Encodes an object as a line of JSON. The last key, `sum`, is a checksum of the JSON without it.
pub(super) fn encode(object: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(1024);
    serde_json::to_writer(&mut line, object)?;
    let sum = fnv1a(&line);
    line.pop();
    writeln!(line, "{SUM}{sum:016x}\"}}")?;
    Ok(line)
}

/// Decodes a line with its line feed; none if it is damaged.
pub fn decode(line: &[u8]) -> Option<Record> {
    decode_as(line).filter(Record::has_sane_counters)
}

/// Decodes a line as an object of a type.
pub(super) fn decode_as<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(&checked(line)?).ok()
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

const SUM: &str = ",\"sum\":\"";

/// The lines of records that count.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub records: Vec<Record>,
    /// The number of damaged lines.
    pub damaged: usize,
    /// The length of all these lines. What follows was not completely written: a part of a line, or of the
    /// records that belong to a position.
    pub length: usize,
}

impl Lines {
    pub(super) fn of(bytes: &[u8]) -> Lines {
        let mut lines = Lines::default();
        // The state before the last position, and the number of records that its append still lacks.
        let (mut before, mut missing) = ((0, 0, 0), 0_u64);
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            let is_within = missing > 0;
            missing = missing.saturating_sub(1);
            match decode(line) {
                Some(record) => {
                    if let Record::Position(position) = &record
                        && !is_within
                    {
                        before = (lines.records.len(), lines.damaged, lines.length);
                        missing = position.records;
                    }
                    lines.records.push(record);
                }
                None => lines.damaged += 1,
            }
            lines.length += line.len();
        }
        if missing > 0 {
            lines.records.truncate(before.0);
            (lines.damaged, lines.length) = (before.1, before.2);
        }
        lines
    }
}
