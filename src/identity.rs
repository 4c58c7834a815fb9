//! Which new item is which old item, on a schema without ids.
//!
//! Five steps, each on what the one before left:
//!
//! 1. equal content, so that the same list again is the same items;
//! 2. explicit ids that mean something, as a hint;
//! 3. content equal but for case, spaces and punctuation;
//! 4. equal activeForm;
//! 5. similar text, best pairs first.
//!
//! A wrong "same" is worse than a wrong "new": the last step has thresholds, chosen on hand-labelled
//! pairs (`test/identity/README.md`). Its work is bounded, so that huge lists stay linear.

use std::collections::HashMap;
use std::hash::Hash;

use crate::item::{Draft, Item, Status};
use crate::similarity::{Rarity, Words, similarity};

/// What is known of an item when it is to be recognised.
#[derive(Clone, Copy, Debug)]
pub struct Features<'a> {
    /// The task.
    pub content: &'a str,
    /// The task while it runs; empty where there is none.
    pub active_form: &'a str,
    /// Where it stands, if that is known.
    pub status: Option<Status>,
    /// The id that the agent gave it.
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

/// How similar two texts must be to be one task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Where other items of the list are the same.
    pub kept: f64,
    /// Where no other item is: the list was mostly replaced, and its texts resemble the old ones
    /// because the project is the same.
    pub replaced: f64,
}

/// The thresholds that `make identity` finds best.
pub const THRESHOLDS: Thresholds = Thresholds { kept: 0.28, replaced: 0.5 };
/// What a pair gains when the old item is in progress and the new one is, too, or is completed.
const GOES_ON: f64 = 0.05;
/// Below this similarity an explicit id or an equal activeForm counts for nothing.
const UNRELATED: f64 = 0.2;
/// A longer list is searched by words, and a word that more of its texts have finds none of them.
const MANY: usize = 32;
/// The rarest words of a text that are searched for.
const RAREST: usize = 4;
/// The best pairs of one new item that are kept, so that all can be sorted.
const KEPT: usize = 8;

/// For each new item the position of the old item that it is.
///
/// No old position comes twice. The cost is linear in both lists together.
pub fn recognise(previous: &[Features<'_>], current: &[Features<'_>]) -> Vec<Option<usize>> {
    recognise_with(THRESHOLDS, previous, current)
}

/// [`recognise`] with other thresholds, to choose them.
pub fn recognise_with(
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

/// [`recognise`] by equal content alone: for items that the writer of the new list has never seen,
/// and so cannot have reworded.
pub fn recognise_equal(previous: &[Features<'_>], current: &[Features<'_>]) -> Vec<Option<usize>> {
    let mut matching = Matching::new(previous, current);
    matching.by_content();
    matching.by_folded_content();
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

    /// Pairs items with equal content. Most calls repeat the list, so that its beginning needs no
    /// table.
    fn by_content(&mut self) {
        let is_same = |(old, new): &(&Features<'_>, &Features<'_>)| old.content == new.content;
        let start = self.previous.iter().zip(self.current).take_while(is_same).count();
        (0..start).for_each(|place| self.pair(place, place));
        self.by_key(|seen| Some(seen.content), |_, _, _| true);
    }

    /// Pairs items with equal explicit ids, unless their texts are unrelated.
    fn by_hint(&mut self, rarity: &Rarity) {
        let meaningful = |seen: &Features<'a>| seen.hint.filter(|hint| !is_positional(hint));
        self.by_key(meaningful, |matching, old, new| matching.are_related(old, new, rarity));
    }

    /// Pairs items with equal letters and digits.
    fn by_folded_content(&mut self) {
        let fold = |seen: &Features<'a>| {
            let letters = seen.content.chars().filter(|c| c.is_alphanumeric());
            Some(letters.flat_map(char::to_lowercase).collect::<String>()).filter(|key| !key.is_empty())
        };
        self.by_key(fold, |_, _, _| true);
    }

    /// Pairs items that are left and have an equal `key`, in order, if they may pair.
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

    /// Pairs items with an activeForm that only one item on each side has, unless their texts are
    /// unrelated: "Running tests" alone proves nothing.
    fn by_active_form(&mut self, rarity: &Rarity) {
        let (old, new) = (only(self.previous, self.old_left()), only(self.current, self.new_left()));
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

    /// Whether a completed item would come back unfinished under another text: that is a new task.
    fn is_restart(&self, old: usize, new: usize) -> bool {
        self.previous[old].status == Some(Status::Completed)
            && self.current[new].status.is_some_and(Status::is_open)
    }

    /// Pairs items with similar text, best pairs first.
    fn by_similarity(&mut self, rarity: &Rarity, thresholds: Thresholds) {
        let is_replaced = self.old_of.iter().all(Option::is_none);
        let threshold = if is_replaced { thresholds.replaced } else { thresholds.kept };
        let old_left = self.old_left();
        let texts = old_left.iter().map(|&old| Words::of(self.previous[old].content, rarity)).collect();
        let candidates = Candidates::of(texts);
        let slots = slots(&self.old_of);
        let mut pairs: Vec<Pair> = Vec::new();
        for new in self.new_left() {
            let words = Words::of(self.current[new].content, rarity);
            let start = pairs.len();
            for place in candidates.of_text(&words) {
                let old = old_left[place];
                let score = similarity(&candidates.texts[place], &words) + self.goes_on(old, new);
                if score >= threshold && !self.is_restart(old, new) {
                    pairs.push(Pair { score, distance: slots[new].abs_diff(old), new, old });
                }
            }
            pairs[start..].sort_unstable_by(Pair::order);
            pairs.truncate(start + KEPT);
        }
        pairs.sort_unstable_by(Pair::order);
        for Pair { new, old, .. } in pairs {
            if self.old_of[new].is_none() && !self.taken[old] {
                self.pair(new, old);
            }
        }
    }

    fn goes_on(&self, old: usize, new: usize) -> f64 {
        let is_begun = |status| matches!(status, Some(Status::InProgress | Status::Completed));
        let was_current = self.previous[old].status == Some(Status::InProgress);
        if was_current && is_begun(self.current[new].status) { GOES_ON } else { 0.0 }
    }
}

/// The item with each activeForm, or `None` where several have it.
fn only<'a>(list: &[Features<'a>], left: Vec<usize>) -> HashMap<&'a str, Option<usize>> {
    let mut only = HashMap::new();
    for index in left.into_iter().filter(|index| !list[*index].active_form.is_empty()) {
        only.entry(list[index].active_form).and_modify(|first| *first = None).or_insert(Some(index));
    }
    only
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

/// The old texts, to be found by their words.
struct Candidates {
    texts: Vec<Words>,
    /// The places in `texts` where a word is; no more than one too many.
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

    /// The places of the texts worth comparing with another: all of a short list, or those that
    /// share a rare word.
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
