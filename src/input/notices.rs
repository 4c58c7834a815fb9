//! What was repaired, as few lines.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::text::excerpt;

/// Unknown keys that are named; of more there is only said that there are some.
const NAMED: usize = 8;

/// Each notice once, with the number of times it applied; all unknown keys in one notice.
#[derive(Default)]
pub struct Notices {
    order: Vec<(Cow<'static, str>, usize)>,
    /// The place of each in `order`.
    places: HashMap<Cow<'static, str>, usize>,
    unknown_keys: Vec<String>,
}

impl Notices {
    pub fn add(&mut self, notice: Cow<'static, str>) {
        if let Some(place) = self.places.get(&notice) {
            self.order[*place].1 += 1;
        } else {
            self.places.insert(notice.clone(), self.order.len());
            self.order.push((notice, 1));
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

    pub fn into_lines(mut self) -> Vec<String> {
        let line = |(notice, count): (Cow<'static, str>, usize)| {
            if count > 1 { format!("{notice} ({count} tasks)") } else { notice.into_owned() }
        };
        let mut lines: Vec<String> = self.order.into_iter().map(line).collect();
        if !self.unknown_keys.is_empty() {
            let more = if self.unknown_keys.len() > NAMED { ", …" } else { "" };
            self.unknown_keys.truncate(NAMED);
            lines.push(format!("unknown keys ignored: {}{more}", self.unknown_keys.join(", ")));
        }
        lines
    }
}
