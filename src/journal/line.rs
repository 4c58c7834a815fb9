//! A record as a line of JSON with a checksum.

use std::io::{self, Write};

use serde_json::Value;

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

const SUM: &str = ",\"sum\":\"";
