//! A record as a line of JSON with a checksum.

use std::io::{self, Write};

use serde_json::Value;

use super::percent::Percent;
use crate::text::fnv1a;
use crate::thread::record::Record;

/// Encodes a record as a line of JSON. The last key, `sum`, is a checksum of the JSON without it.
pub(super) fn encode(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(1024);
    serde_json::to_writer(&mut line, record)?;
    let sum = fnv1a(&line);
    line.pop();
    writeln!(line, "{SUM}{sum:016x}\"}}")?;
    Ok(line)
}

/// The lines of a journal that count.
#[derive(Debug, Default)]
pub(super) struct Lines<'b> {
    /// The records, and the lengths of their lines.
    pub records: Vec<(Record, usize)>,
    /// Damaged lines.
    pub bad: Vec<&'b [u8]>,
    /// The length of all these lines. What follows was not completely written: a part of a line, or of the
    /// records that belong to a position.
    pub length: usize,
}

impl<'b> Lines<'b> {
    /// Decodes the bytes of a journal. `done` is noted meanwhile.
    pub(super) fn of(bytes: &'b [u8], done: &Percent) -> Lines<'b> {
        let mut lines = Lines::default();
        // The state before the last position, and the number of records that its append still lacks.
        let mut before = (0, 0, 0);
        let mut missing = 0_u64;
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            let is_within = missing > 0;
            missing = missing.saturating_sub(1);
            match decode(line) {
                Some(record) => {
                    if let Record::Position(position) = &record
                        && !is_within
                    {
                        before = (lines.records.len(), lines.bad.len(), lines.length);
                        missing = position.records;
                    }
                    lines.records.push((record, line.len()));
                }
                None => lines.bad.push(line),
            }
            lines.length += line.len();
            done.set(lines.length, bytes.len());
        }
        if missing > 0 {
            lines.records.truncate(before.0);
            lines.bad.truncate(before.1);
            lines.length = before.2;
        }
        lines
    }

    /// The records alone.
    pub(super) fn into_records(self) -> Vec<Record> {
        self.records.into_iter().map(|(record, _)| record).collect()
    }
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

const SUM: &str = ",\"sum\":\"";
