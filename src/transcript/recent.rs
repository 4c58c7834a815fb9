//! Names that were seen lately.

use std::collections::{HashSet, VecDeque};

use crate::text::fnv1a;

/// The number of names remembered.
const MOST: usize = 32_768;

/// The newest names, by their hashes.
#[derive(Debug, Default)]
pub struct Recent {
    known: HashSet<u64>,
    by_age: VecDeque<u64>,
}

impl Recent {
    /// Remembers a name in a session; tells whether it is new.
    pub fn insert(&mut self, session: &str, kind: &str, name: &str) -> bool {
        let hash = fnv1a(format!("{session}\n{kind}\n{name}").as_bytes());
        if !self.known.insert(hash) {
            return false;
        }
        self.by_age.push_back(hash);
        if self.by_age.len() > MOST
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}
