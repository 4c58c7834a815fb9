//! Matches the items of a new list with those of the old one, since the schema has no ids.
//!
//! Five steps each match items that the earlier ones left unmatched:
//!
//! 1. equal content, so that a repeated list keeps its items;
//! 2. equal explicit ids, unless they only count;
//! 3. content equal but for case, spaces, punctuation and composed characters;
//! 4. equal activeForm;
//! 5. similar content, the most similar pair first.
//!
//! A wrong match is worse than a missed one, so step 5 has thresholds, chosen on hand-labeled pairs
//! (`test/identity/README.md`). It compares a bounded number of pairs for each item: the cost is
//! linear in the length of the lists.

use std::collections::HashMap;
use std::hash::Hash;

use crate::list::item::{Draft, Item, Status};
use crate::list::similarity::{Rarity, Words, similarity};
use crate::text::composed;

/// The properties of an [`Item`] that matching uses.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Features<'a> {
    pub content: &'a str,
    /// Empty if the item has none.
    pub active_form: &'a str,
    pub status: Option<Status>,
    pub hint: Option<&'a str>,
}

impl<'a> From<&'a Item> for Features<'a> {
    fn from(item: &'a Item) -> Self {
        Features {
            content: &item.content,
            active_form: &item.active_form,
            status: Some(item.status),
            hint: item.hint.as_deref(),
        }
    }
}

impl<'a> From<&'a Draft> for Features<'a> {
    fn from(draft: &'a Draft) -> Self {
        Features {
            content: &draft.content,
            active_form: &draft.active_form,
            status: Some(draft.status),
            hint: draft.hint.as_deref(),
        }
    }
}

/// The least similarity of a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// If earlier steps matched other items of the list.
    pub kept: f64,
    /// If they matched none: the agent made another list, and the texts of one project resemble each
    /// other.
    pub replaced: f64,
}

/// The best thresholds according to `make identity`.
pub const THRESHOLDS: Thresholds = Thresholds { kept: 0.3, replaced: 0.5 };
/// Added to the similarity if the old item is in progress and the new one is in progress or completed.
const CONTINUATION: f64 = 0.07;
/// Below this similarity, an equal id or activeForm does not match two items.
const UNRELATED: f64 = 0.22;
/// Longer lists are indexed by word, without the words that more texts than this share.
const MANY: usize = 32;
/// The number of words, the rarest of a text, that are looked up in the index.
const RAREST: usize = 4;
/// The number of pairs kept for each new item, the best ones.
const BEST: usize = 8;

/// Returns for each new item the position of its old item, if it has one.
///
/// No old position occurs twice.
///
/// # Examples
/// ```
/// use todo_write::list::identity::{Features, recognize};
/// use todo_write::list::item::{Draft, Status};
///
/// let task = |content: &str, status| Draft { content: content.into(), status, ..Draft::default() };
/// let old = [task("Convert callbacks", Status::InProgress), task("Run the tests", Status::Pending)];
/// let new = [task("Run the tests", Status::Pending), task("Convert the callbacks", Status::Completed)];
/// let (old, new) = (old.each_ref().map(Features::from), new.each_ref().map(Features::from));
/// assert_eq!(recognize(&old, &new), [Some(1), Some(0)]);
/// ```
pub fn recognize(previous: &[Features<'_>], current: &[Features<'_>]) -> Vec<Option<usize>> {
    recognize_with(THRESHOLDS, previous, current)
}

/// [`recognize`] with other thresholds, for measuring them.
pub fn recognize_with(
    thresholds: Thresholds,
    previous: &[Features<'_>],
    current: &[Features<'_>],
) -> Vec<Option<usize>> {
    let mut matching = Matching::new(previous, current);
    matching.by_content();
    if matching.is_complete() {
        return matching.old_of;
    }
    let rarity = Rarity::of([previous, current].map(|list| list.iter().map(|seen| seen.content)));
    matching.by_hint(&rarity);
    matching.by_folded_content();
    matching.by_active_form(&rarity);
    matching.by_similarity(&rarity, thresholds);
    matching.old_of
}

/// Like [`recognize`], but only by equal content: for old items that the agent has not seen and so
/// cannot have reworded.
pub(crate) fn recognize_equal(previous: &[Features<'_>], current: &[Features<'_>]) -> Vec<Option<usize>> {
    let mut matching = Matching::new(previous, current);
    matching.by_content();
    matching.by_folded_content();
    matching.old_of
}

/// Whether an explicit id only counts: `1`, `#2`, `todo-3`, `task_4`. Models renumber such ids when
/// the list changes.
pub fn is_positional(id: &str) -> bool {
    let digits = id.bytes().rev().take_while(u8::is_ascii_digit).count();
    digits > 0
        && digits <= 4
        && id[..id.len() - digits]
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '#' | '.' | ' '))
}

struct Matching<'a> {
    previous: &'a [Features<'a>],
    current: &'a [Features<'a>],
    old_of: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'a> Matching<'a> {
    fn new(previous: &'a [Features<'a>], current: &'a [Features<'a>]) -> Self {
        Matching { previous, current, old_of: vec![None; current.len()], taken: vec![false; previous.len()] }
    }

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

    fn by_content(&mut self) {
        self.by_key(|seen| Some(seen.content), |_, _, _| true);
    }

    /// Matches equal explicit ids of related texts.
    fn by_hint(&mut self, rarity: &Rarity) {
        let meaningful = |seen: &Features<'a>| seen.hint.filter(|hint| !is_positional(hint));
        self.by_key(meaningful, |matching, old, new| matching.are_related(old, new, rarity));
    }

    /// Matches equal letters and digits.
    fn by_folded_content(&mut self) {
        let fold = |seen: &Features<'a>| {
            let text = composed(seen.content);
            let letters = text.chars().filter(|c| c.is_alphanumeric());
            Some(letters.flat_map(char::to_lowercase).collect::<String>()).filter(|key| !key.is_empty())
        };
        self.by_key(fold, |_, _, _| true);
    }

    /// Matches unmatched items with an equal `key`, in order, if `may_pair` agrees.
    fn by_key<K: Hash + Eq>(
        &mut self,
        key: impl Fn(&Features<'a>) -> Option<K>,
        may_pair: impl Fn(&Self, usize, usize) -> bool,
    ) {
        let mut left: HashMap<K, Vec<usize>> = HashMap::new();
        for old in self.old_left().into_iter().rev() {
            if let Some(key) = key(&self.previous[old]) {
                left.entry(key).or_default().push(old);
            }
        }
        for new in self.new_left() {
            let old = key(&self.current[new]).and_then(|key| left.get_mut(&key)?.pop());
            if let Some(old) = old.filter(|old| may_pair(self, *old, new)) {
                self.pair(new, old);
            }
        }
    }

    /// Matches an activeForm that is unique among the unmatched items of each list, if the texts are
    /// related: "Running tests" alone proves nothing.
    fn by_active_form(&mut self, rarity: &Rarity) {
        let (old, new) =
            (unique_forms(self.previous, self.old_left()), unique_forms(self.current, self.new_left()));
        for (form, new) in new {
            if let (Some(new), Some(&Some(old))) = (new, old.get(form))
                && !self.is_restart(old, new)
                && self.are_related(old, new, rarity)
            {
                self.pair(new, old);
            }
        }
    }

    fn are_related(&self, old: usize, new: usize, rarity: &Rarity) -> bool {
        let [old, new] =
            [&self.previous[old], &self.current[new]].map(|seen| Words::of(seen.content, rarity));
        similarity(&old, &new) >= UNRELATED
    }

    /// Whether a completed item would be open again under another text. That is a new task.
    fn is_restart(&self, old: usize, new: usize) -> bool {
        self.previous[old].status == Some(Status::Completed)
            && self.current[new].status.is_some_and(Status::is_open)
    }

    /// Matches similar content, the most similar pair first.
    fn by_similarity(&mut self, rarity: &Rarity, thresholds: Thresholds) {
        let is_replaced = self.old_of.iter().all(Option::is_none);
        let threshold = if is_replaced { thresholds.replaced } else { thresholds.kept };
        let old_left = self.old_left();
        let texts = old_left.iter().map(|&old| Words::of(self.previous[old].content, rarity)).collect();
        let candidates = Candidates::of(texts);
        let expected = expected_places(&self.old_of);
        let mut pairs: Vec<Pair> = Vec::new();
        for new in self.new_left() {
            let words = Words::of(self.current[new].content, rarity);
            let start = pairs.len();
            for place in candidates.of_text(&words) {
                let old = old_left[place];
                let score = similarity(&candidates.texts[place], &words) + self.continuation(old, new);
                if score >= threshold && !self.is_restart(old, new) {
                    pairs.push(Pair { score, distance: expected[new].abs_diff(old), new, old });
                }
            }
            pairs[start..].sort_unstable_by(Pair::order);
            pairs.truncate(start + BEST);
        }
        pairs.sort_unstable_by(Pair::order);
        for Pair { new, old, .. } in pairs {
            if self.old_of[new].is_none() && !self.taken[old] {
                self.pair(new, old);
            }
        }
    }

    fn continuation(&self, old: usize, new: usize) -> f64 {
        let is_begun = |status| matches!(status, Some(Status::InProgress | Status::Completed));
        let was_current = self.previous[old].status == Some(Status::InProgress);
        if was_current && is_begun(self.current[new].status) { CONTINUATION } else { 0.0 }
    }
}

/// The item with each activeForm, or `None` if several have it.
fn unique_forms<'a>(list: &[Features<'a>], left: Vec<usize>) -> HashMap<&'a str, Option<usize>> {
    let mut forms = HashMap::new();
    for index in left.into_iter().filter(|index| !list[*index].active_form.is_empty()) {
        forms.entry(list[index].active_form).and_modify(|first| *first = None).or_insert(Some(index));
    }
    forms
}

/// A new and an old item that may be the same task.
struct Pair {
    score: f64,
    /// The distance between the old place and the expected one.
    distance: usize,
    new: usize,
    old: usize,
}

impl Pair {
    /// Sorts the best pair first; among equal scores, the nearest.
    fn order(&self, other: &Pair) -> std::cmp::Ordering {
        let place = |pair: &Pair| (pair.distance, pair.new, pair.old);
        other.score.total_cmp(&self.score).then_with(|| place(self).cmp(&place(other)))
    }
}

/// The expected old place of each new item: its own if it is matched, else the one after its
/// predecessor's.
fn expected_places(old_of: &[Option<usize>]) -> Vec<usize> {
    let place = |next: &mut usize, old: &Option<usize>| {
        let place = old.unwrap_or(*next);
        *next = place + 1;
        Some(place)
    };
    old_of.iter().scan(0, place).collect()
}

/// The unmatched old texts, indexed by word.
struct Candidates {
    texts: Vec<Words>,
    /// The places in `texts` of each word, at most [`MANY`] + 1.
    places: HashMap<u64, Vec<usize>>,
}

impl Candidates {
    fn of(texts: Vec<Words>) -> Candidates {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        for (place, text) in texts.iter().enumerate().filter(|_| texts.len() > MANY) {
            for key in text.keys() {
                let places = places.entry(key).or_default();
                if places.len() <= MANY {
                    places.push(place);
                }
            }
        }
        Candidates { texts, places }
    }

    /// The places of the texts to compare with `text`: all in a short list, else those that share a
    /// rare word.
    fn of_text(&self, text: &Words) -> Vec<usize> {
        if self.texts.len() <= MANY {
            return (0..self.texts.len()).collect();
        }
        let lists = text.keys().filter_map(|key| self.places.get(&key));
        let mut lists: Vec<&Vec<usize>> = lists.filter(|list| list.len() <= MANY).collect();
        lists.sort_unstable_by_key(|list| list.len());
        let mut places: Vec<usize> = lists.into_iter().take(RAREST).flatten().copied().collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}
