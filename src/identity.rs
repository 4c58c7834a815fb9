//! Which new item is which old item, on a schema without ids.
//!
//! Five steps, each on what the one before left: equal content, so that the same list again is the
//! same items; explicit ids that mean something; content equal but for case, spaces and
//! punctuation; equal activeForm; similar text. A wrong "same" is worse than a wrong "new", so the
//! last step has a threshold, tuned on hand-labelled pairs (`test/identity/README.md`) for hardly
//! any of the former; and its work is bounded, so that huge lists stay linear.

use std::collections::HashMap;
use std::ops::Range;

use crate::fault::may_panic_here;
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

impl<'a> From<&'a Draft<'_>> for Seen<'a> {
    fn from(draft: &'a Draft<'_>) -> Self {
        Seen {
            content: &draft.content,
            active_form: &draft.active_form,
            status: Some(draft.status),
            hint: draft.hint.as_deref(),
        }
    }
}

/// Below this similarity two texts are two tasks.
pub const THRESHOLD: f64 = 0.45;
/// Where no item is recognised yet, the most similar pair must reach this: a list of which nothing
/// stayed was mostly replaced, and is worded like the old one because the project is the same.
pub const THRESHOLD_OF_FIRST: f64 = 0.5;
/// What a pair gains when both items are in progress, as one of the list mostly is.
const BOTH_IN_PROGRESS: f64 = 0.05;
/// Below this similarity an explicit id or an equal activeForm counts for nothing.
const UNRELATED: f64 = 0.2;
/// Old items that one new item is compared with in the last step, at most.
const CANDIDATES: usize = 24;
/// Of these the ones that stay in the running for it, at most, so that all can be sorted.
const KEPT: usize = 8;

/// For each new item the position of the old item that it is.
///
/// No old position comes twice. The cost is linear in both lists together.
pub fn recognise(previous: &[Seen<'_>], current: &[Seen<'_>]) -> Vec<Option<usize>> {
    may_panic_here();
    let mut matching =
        Matching { previous, current, old_of: vec![None; current.len()], taken: vec![false; previous.len()] };
    matching.by_content();
    if matching.is_complete() {
        return matching.old_of;
    }
    matching.by_hint();
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
        for index in self.old_left() {
            if let Some(hint) = meaningful(&self.previous[index]) {
                old.entry(hint).or_insert(index);
            }
        }
        for new in self.new_left() {
            let index = meaningful(&self.current[new]).and_then(|hint| old.get(hint).copied());
            if let Some(index) = index.filter(|index| !self.taken[*index] && self.are_related(*index, new)) {
                self.pair(new, index);
            }
        }
    }

    fn are_related(&self, old: usize, new: usize) -> bool {
        let [old, new] = [&self.previous[old], &self.current[new]].map(|seen| Words::of(seen.content));
        similarity(&old, &new) >= UNRELATED
    }

    /// Equal content; most lists are the last one again, so the common beginning needs no table.
    fn by_content(&mut self) {
        let (previous, current) = (self.previous, self.current);
        let mut start = 0;
        while start < previous.len().min(current.len()) && previous[start].content == current[start].content {
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
        let (previous, current) = (self.previous, self.current);
        let old_words: Vec<Words> = old_left.iter().map(|&old| Words::of(previous[old].content)).collect();
        let postings = Postings::of(&old_words);
        let slots = slots(&self.old_of);
        let mut pairs: Vec<Pair> = Vec::new();
        let mut candidates = Vec::new();
        for (n, &new) in new_left.iter().enumerate() {
            let words = Words::of(current[new].content);
            postings.candidates(n, &words, &mut candidates);
            let start = pairs.len();
            for &o in &candidates {
                let old = old_left[o];
                let score = similarity(&old_words[o], &words) + self.both_in_progress(old, new);
                if score >= THRESHOLD && !self.is_restart(old, new) {
                    pairs.push(Pair { score, distance: slots[new].abs_diff(old), new, old });
                }
            }
            pairs[start..].sort_unstable_by(Pair::order);
            pairs.truncate(start + KEPT);
        }
        pairs.sort_unstable_by(Pair::order);
        let is_replaced = self.old_of.iter().all(Option::is_none);
        if is_replaced && pairs.first().is_none_or(|best| best.score < THRESHOLD_OF_FIRST) {
            return;
        }
        for Pair { new, old, .. } in pairs {
            if self.old_of[new].is_none() && !self.taken[old] {
                self.pair(new, old);
            }
        }
    }

    fn both_in_progress(&self, old: usize, new: usize) -> f64 {
        let is_current = |seen: &Seen<'_>| seen.status == Some(Status::InProgress);
        if is_current(&self.previous[old]) && is_current(&self.current[new]) { BOTH_IN_PROGRESS } else { 0.0 }
    }
}

/// A new and an old item that may be one task.
struct Pair {
    score: f64,
    /// How far the old item is from where the new one stands.
    distance: usize,
    new: usize,
    old: usize,
}

impl Pair {
    /// The best first; where scores are equal the place decides.
    fn order(&self, other: &Pair) -> std::cmp::Ordering {
        let place = |pair: &Pair| (pair.distance, pair.new, pair.old);
        other.score.total_cmp(&self.score).then_with(|| place(self).cmp(&place(other)))
    }
}

/// For each new item where it would stand in the old list, going by the matched one before it.
fn slots(old_of: &[Option<usize>]) -> Vec<usize> {
    let mut expected = 0;
    let slot = |old: &Option<usize>| {
        let slot = old.unwrap_or(expected);
        expected = slot + 1;
        slot
    };
    old_of.iter().map(slot).collect()
}

/// Which old texts have a word.
struct Postings {
    count: usize,
    /// Each key with the place of each text that has it, sorted.
    places: Vec<(u64, usize)>,
    /// Keys are hashes, so the first bits of one tell about where in `places` it is: at `starts`
    /// of these bits, and before that of the next. Quicker than a table of all keys.
    starts: Vec<usize>,
    shift: u32,
}

impl Postings {
    /// Empty for a short list, where every text is worth comparing.
    fn of(old: &[Words]) -> Postings {
        let mut postings = Postings { count: old.len(), places: Vec::new(), starts: Vec::new(), shift: 0 };
        if old.len() <= CANDIDATES {
            return postings;
        }
        let all = old.iter().enumerate().flat_map(|(place, words)| words.keys().map(move |key| (key, place)));
        postings.places = all.collect();
        postings.places.sort_unstable();
        postings.places.dedup();
        let bits = postings.places.len().max(2).ilog2();
        postings.shift = u64::BITS - bits;
        for (at, (key, _)) in postings.places.iter().enumerate() {
            let bucket = (key >> postings.shift) as usize;
            if postings.starts.len() <= bucket {
                postings.starts.resize(bucket + 1, at);
            }
        }
        postings.starts.resize((1 << bits) + 1, postings.places.len());
        postings
    }

    /// The part of `places` that has a key.
    fn find(&self, key: u64) -> Range<usize> {
        let bucket = (key >> self.shift) as usize;
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        let start = start + self.places[start..end].partition_point(|(other, _)| *other < key);
        start..start + self.places[start..end].partition_point(|(other, _)| *other == key)
    }

    /// Puts into `chosen` the old texts worth comparing with a new one: those that share one of
    /// its rarest words, the nearest to its place first; never more than [`CANDIDATES`].
    fn candidates(&self, place: usize, words: &Words, chosen: &mut Vec<usize>) {
        chosen.clear();
        if self.count <= CANDIDATES {
            chosen.extend(0..self.count);
            return;
        }
        let mut lists: Vec<Range<usize>> = words.keys().map(|key| self.find(key)).collect();
        lists.retain(|list| !list.is_empty());
        lists.sort_unstable_by_key(|list| (list.len(), list.start));
        lists.dedup();
        for list in lists.into_iter().take(CANDIDATES / 4) {
            let list = &self.places[list];
            let middle = list.partition_point(|(_, old)| *old < place);
            let from = middle.saturating_sub(2).min(list.len().saturating_sub(4));
            chosen.extend(list[from..].iter().take(4).map(|(_, old)| *old));
        }
        chosen.sort_unstable();
        chosen.dedup();
    }
}
