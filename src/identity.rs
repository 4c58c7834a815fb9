//! Which new item is which old item, on a schema without ids.
//!
//! Five steps, each on what the one before left: explicit ids that mean something, equal content,
//! content equal but for case, spaces and punctuation, equal activeForm, similar text. A wrong
//! "same" is worse than a wrong "new", so the last step has a threshold, tuned on hand-labelled
//! pairs (`test/identity/README.md`), and bounded work, so that huge lists stay linear.

use std::collections::HashMap;

use crate::item::{Draft, Item, Status};
use crate::similarity::{Words, similarity};

/// What is known of an item when it is to be recognised.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The task.
    pub content: &'a str,
    /// The task while it runs; empty where there is none.
    pub active_form: &'a str,
    /// Where it stands, if that is known.
    pub status: Option<Status>,
    /// The id that the agent gave it.
    pub hint: Option<&'a str>,
}

impl<'a> From<&'a Item> for Seen<'a> {
    fn from(item: &'a Item) -> Self {
        Seen {
            content: &item.content,
            active_form: &item.active_form,
            status: Some(item.status),
            hint: item.hint.as_deref(),
        }
    }
}

impl<'a> From<&'a Draft> for Seen<'a> {
    fn from(draft: &'a Draft) -> Self {
        Seen {
            content: &draft.content,
            active_form: &draft.active_form,
            status: Some(draft.status),
            hint: draft.hint.as_deref(),
        }
    }
}

/// Below this similarity two texts are two tasks.
pub const THRESHOLD: f64 = 0.5;
/// Below this similarity an explicit id or an equal activeForm counts for nothing.
const UNRELATED: f64 = 0.2;
/// Old items that one new item is compared with in the last step, at most.
const CANDIDATES: usize = 24;

/// For each new item the position of the old item that it is.
///
/// No old position comes twice. The cost is linear in both lists together.
pub fn recognise(previous: &[Seen<'_>], current: &[Seen<'_>]) -> Vec<Option<usize>> {
    let mut matching =
        Matching { previous, current, old_of: vec![None; current.len()], taken: vec![false; previous.len()] };
    matching.by_hint();
    matching.by_content();
    if matching.is_complete() {
        return matching.old_of;
    }
    matching.by_folded_content();
    matching.by_active_form();
    matching.by_similarity();
    matching.old_of
}

/// Whether an explicit id only counts (`1`, `#2`, `todo-3`, `task_4`): models renumber such ids
/// when the list changes, so they say nothing about identity.
pub fn is_positional(id: &str) -> bool {
    let digits = id.bytes().rev().take_while(u8::is_ascii_digit).count();
    digits > 0
        && digits <= 4
        && id[..id.len() - digits]
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '#' | '.' | ' '))
}

struct Matching<'a> {
    previous: &'a [Seen<'a>],
    current: &'a [Seen<'a>],
    old_of: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'a> Matching<'a> {
    fn pair(&mut self, new: usize, old: usize) {
        self.old_of[new] = Some(old);
        self.taken[old] = true;
    }

    fn is_complete(&self) -> bool {
        self.old_of.iter().all(Option::is_some) || self.taken.iter().all(|taken| *taken)
    }

    fn old_left(&self) -> Vec<usize> {
        (0..self.previous.len()).filter(|old| !self.taken[*old]).collect()
    }

    fn new_left(&self) -> Vec<usize> {
        (0..self.current.len()).filter(|new| self.old_of[*new].is_none()).collect()
    }

    fn by_hint(&mut self) {
        let meaningful = |seen: &Seen<'a>| seen.hint.filter(|hint| !is_positional(hint));
        if !self.current.iter().any(|seen| meaningful(seen).is_some()) {
            return;
        }
        let mut old: HashMap<&str, usize> = HashMap::new();
        for (index, seen) in self.previous.iter().enumerate() {
            if let Some(hint) = meaningful(seen) {
                old.entry(hint).or_insert(index);
            }
        }
        for (new, seen) in self.current.iter().enumerate() {
            let Some(&index) = meaningful(seen).and_then(|hint| old.get(hint)) else { continue };
            if !self.taken[index] && self.are_related(index, new) {
                self.pair(new, index);
            }
        }
    }

    fn are_related(&self, old: usize, new: usize) -> bool {
        let (old, new) = (self.previous[old].content, self.current[new].content);
        old == new || similarity(&Words::of(old), &Words::of(new)) >= UNRELATED
    }

    /// Equal content; most lists are the last one again, so the common beginning needs no table.
    fn by_content(&mut self) {
        let (previous, current) = (self.previous, self.current);
        let mut start = 0;
        while start < previous.len().min(current.len())
            && !self.taken[start]
            && self.old_of[start].is_none()
            && previous[start].content == current[start].content
        {
            self.pair(start, start);
            start += 1;
        }
        if start < current.len() && start < previous.len() {
            self.by_key(start, |seen| seen.content);
        }
    }

    fn by_folded_content(&mut self) {
        let fold = |seen: &Seen<'_>| {
            seen.content
                .chars()
                .filter(|c| c.is_alphanumeric())
                .flat_map(char::to_lowercase)
                .collect::<String>()
        };
        self.by_key(0, fold);
    }

    /// Pairs what is left and equal under `key`, in order; an empty key equals nothing.
    fn by_key<K>(&mut self, start: usize, key: impl Fn(&Seen<'a>) -> K)
    where
        K: std::hash::Hash + Eq + AsRef<str>,
    {
        // Duplicates are chained from the first to the last: `next` of an old item is the next
        // one with its key.
        let mut first: HashMap<K, usize> = HashMap::new();
        let mut next = vec![usize::MAX; self.previous.len()];
        for old in (start..self.previous.len()).rev() {
            if !self.taken[old] {
                let key = key(&self.previous[old]);
                if !key.as_ref().is_empty() {
                    next[old] = first.insert(key, old).unwrap_or(usize::MAX);
                }
            }
        }
        if first.is_empty() {
            return;
        }
        for new in start..self.current.len() {
            if self.old_of[new].is_none()
                && let Some(head) = first.get_mut(&key(&self.current[new]))
                && *head != usize::MAX
            {
                let old = *head;
                *head = next[old];
                self.pair(new, old);
            }
        }
    }

    /// Equal activeForm, where only one item on each side has it and the contents have
    /// something in common: "Running tests" alone is no proof.
    fn by_active_form(&mut self) {
        let mut old: HashMap<&str, Option<usize>> = HashMap::new();
        for index in self.old_left() {
            let form = self.previous[index].active_form;
            old.entry(form).and_modify(|only| *only = None).or_insert(Some(index));
        }
        let mut new: HashMap<&str, Option<usize>> = HashMap::new();
        let left = self.new_left();
        for &index in &left {
            let form = self.current[index].active_form;
            new.entry(form).and_modify(|only| *only = None).or_insert(Some(index));
        }
        for index in left {
            let form = self.current[index].active_form;
            if form.is_empty() || new.get(form) != Some(&Some(index)) {
                continue;
            }
            if let Some(Some(old)) = old.get(form).copied()
                && !self.is_restart(old, index)
                && self.are_related(old, index)
            {
                self.pair(index, old);
            }
        }
    }

    /// A completed item that comes back unfinished under another text is a new task.
    fn is_restart(&self, old: usize, new: usize) -> bool {
        self.previous[old].status == Some(Status::Completed)
            && self.current[new].status.is_some_and(Status::is_open)
    }

    /// Similar text, best pairs first.
    fn by_similarity(&mut self) {
        let (old_left, new_left) = (self.old_left(), self.new_left());
        if old_left.is_empty() || new_left.is_empty() {
            return;
        }
        let words = |seen: &'a Seen<'a>| Words::of(seen.content);
        let (previous, current) = (self.previous, self.current);
        let old_words: Vec<Words> = old_left.iter().map(|&old| words(&previous[old])).collect();
        let new_words: Vec<Words> = new_left.iter().map(|&new| words(&current[new])).collect();
        let slots = Slots::of(&self.old_of);
        let mut pairs = Vec::new();
        for (n, candidates) in candidates(&old_words, &new_words).into_iter().enumerate() {
            for o in candidates {
                let (old, new) = (old_left[o], new_left[n]);
                if self.is_restart(old, new) {
                    continue;
                }
                let score = similarity(&old_words[o], &new_words[n]);
                if score >= THRESHOLD {
                    pairs.push((score, slots.expected(new).abs_diff(old), new, old));
                }
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)).then(a.3.cmp(&b.3)));
        for (_, _, new, old) in pairs {
            if self.old_of[new].is_none() && !self.taken[old] {
                self.pair(new, old);
            }
        }
    }
}

/// Where an unmatched new item would stand in the old list, going by the matched one before it.
struct Slots(Vec<usize>);

impl Slots {
    fn of(old_of: &[Option<usize>]) -> Slots {
        let mut expected = 0;
        Slots(
            old_of
                .iter()
                .map(|old| {
                    let slot = old.unwrap_or(expected);
                    expected = slot + 1;
                    slot
                })
                .collect(),
        )
    }

    fn expected(&self, new: usize) -> usize {
        self.0[new]
    }
}

/// For each new text the old texts worth comparing: those that share one of its rarest words,
/// then those at its place; never more than [`CANDIDATES`].
fn candidates(old: &[Words], new: &[Words]) -> Vec<Vec<usize>> {
    if old.len() <= CANDIDATES {
        return vec![(0..old.len()).collect(); new.len()];
    }
    let mut postings: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, words) in old.iter().enumerate() {
        for word in words.iter() {
            postings.entry(word).or_default().push(index);
        }
    }
    new.iter()
        .enumerate()
        .map(|(place, words)| {
            let mut lists: Vec<&Vec<usize>> = words.iter().filter_map(|word| postings.get(word)).collect();
            lists.sort_by_key(|list| list.len());
            let mut chosen: Vec<usize> = Vec::with_capacity(CANDIDATES);
            // In a posting list the entries around the new item's own place are the likely ones.
            for list in lists.iter().take(6) {
                let middle = list.partition_point(|&old| old < place);
                let from = middle.saturating_sub(4);
                chosen.extend(list.iter().skip(from).take(8));
            }
            chosen.truncate(CANDIDATES - 2);
            chosen.extend([place, place + 1].into_iter().filter(|&o| o < old.len()));
            chosen.sort_unstable();
            chosen.dedup();
            chosen
        })
        .collect()
}
