//! What was repaired, as few lines.

use std::collections::{HashMap, HashSet};

/// How the notice of an unknown key begins; all of them become one.
pub const UNKNOWN_KEY: &str = "unknown key ignored: ";

/// Each notice once, with the number of times it applied; all unknown keys in one notice.
pub fn counted(notices: impl Iterator<Item = String>) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut keys: Vec<String> = Vec::new();
    let mut known_keys: HashSet<String> = HashSet::new();
    for notice in notices {
        if let Some(key) = notice.strip_prefix(UNKNOWN_KEY) {
            if known_keys.insert(key.to_owned()) {
                keys.push(key.to_owned());
            }
        } else {
            let count = counts.entry(notice.clone()).or_default();
            *count += 1;
            if *count == 1 {
                order.push(notice);
            }
        }
    }
    let mut all: Vec<String> = order
        .into_iter()
        .map(|notice| match counts.get(&notice) {
            Some(count) if *count > 1 => format!("{notice} ({count} tasks)"),
            _ => notice,
        })
        .collect();
    if !keys.is_empty() {
        let more = if keys.len() > 8 { ", …" } else { "" };
        keys.truncate(8);
        all.push(format!("unknown keys ignored: {}{more}", keys.join(", ")));
    }
    all
}
