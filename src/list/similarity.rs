//! The similarity of two task texts.
//!
//! The measure compares words, in any language. A word that is rare in both lists weighs more:
//! "Write tests for" means little if most tasks begin with it.

use std::collections::HashMap;

use crate::text::{composed, fnv1a};

/// The number of characters compared, twice the length of real tasks.
const LENGTH: usize = 300;
/// The number of texts of a list in which words are counted.
const SAMPLE: usize = 200;
/// The length of a stem: "validate", "validar" and "validation" have the same.
const STEM: usize = 5;
/// Added to the similarity if the first words, mostly verbs, are equal.
const SAME_START: f64 = 0.1;
/// Multiplies the similarity if both texts have numbers and share none.
const OTHER_NUMBERS: f64 = 0.5;

/// The rarity of each word in two lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rarity {
    texts: usize,
    texts_with: HashMap<u64, usize>,
}

impl Rarity {
    /// Counts the words in the first texts of each list.
    pub(crate) fn of<'a>(lists: impl IntoIterator<Item: IntoIterator<Item = &'a str>>) -> Rarity {
        let mut rarity = Rarity::default();
        for text in lists.into_iter().flat_map(|list| list.into_iter().take(SAMPLE)) {
            rarity.texts += 1;
            let mut words = word_hashes(&folded(text));
            words.sort_unstable();
            words.dedup();
            words.into_iter().for_each(|word| *rarity.texts_with.entry(word).or_default() += 1);
        }
        rarity
    }

    fn weight(&self, word: u64) -> f64 {
        let texts_with = self.texts_with.get(&word).copied().unwrap_or(1);
        (1.0 + self.texts as f64 / texts_with as f64).ln()
    }
}

/// The weighed words of a text.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    first: Option<u64>,
    /// The hash and weight of each distinct word, sorted by hash.
    words: Vec<(u64, f64)>,
    /// The sum of the weights.
    total: f64,
    /// The hashes of all runs of digits.
    numbers: Vec<u64>,
}

impl Words {
    /// Splits a text and weighs its words.
    pub(crate) fn of(text: &str, rarity: &Rarity) -> Words {
        let text = folded(text);
        let mut words = word_hashes(&text);
        let first = words.first().copied();
        words.sort_unstable();
        words.dedup();
        let words: Vec<(u64, f64)> = words.into_iter().map(|word| (word, rarity.weight(word))).collect();
        let runs = text.chunk_by(|a, b| a.is_numeric() == b.is_numeric());
        let numbers = runs.filter(|run| run[0].is_numeric()).map(fnv1a).collect();
        Words { first, total: words.iter().map(|(_, weight)| weight).sum(), words, numbers }
    }

    /// The hashes of the words.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> {
        self.words.iter().map(|(word, _)| *word)
    }
}

/// A third of the Dice coefficient (the shared part of both texts) and two thirds of containment (the
/// part of the shorter text that the other contains, since agents add and drop details), plus
/// `SAME_START` for equal first words.
pub(crate) fn similarity(a: &Words, b: &Words) -> f64 {
    let has = |word: &u64| b.words.binary_search_by_key(word, |(word, _)| *word).is_ok();
    let shared: f64 = a.words.iter().filter(|(word, _)| has(word)).map(|(_, weight)| weight).sum();
    if shared == 0.0 {
        return 0.0;
    }
    let dice = 2.0 * shared / (a.total + b.total);
    let containment = shared / a.total.min(b.total);
    let start = if a.first == b.first { SAME_START } else { 0.0 };
    let numbers_differ = !a.numbers.is_empty()
        && !b.numbers.is_empty()
        && !a.numbers.iter().any(|number| b.numbers.contains(number));
    (if numbers_differ { OTHER_NUMBERS } else { 1.0 }) * ((dice + 2.0 * containment) / 3.0 + start)
}

/// The text in lower case and composed form, without a leading "2. ", "3) " or "Step 4: ".
fn folded(text: &str) -> Vec<char> {
    let text = &*composed(text);
    let rest = text.strip_prefix("Step ").or_else(|| text.strip_prefix("step ")).unwrap_or(text);
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered =
        behind.len() < rest.len() && [": ", ". ", ") "].iter().any(|end| behind.starts_with(end));
    let text = if is_numbered { behind } else { text };
    let mut folded = Vec::with_capacity(text.len().min(LENGTH));
    folded.extend(text.chars().take(LENGTH).flat_map(char::to_lowercase));
    folded
}

/// The hashes of the words in order. Scripts without spaces give pairs of characters.
fn word_hashes(text: &[char]) -> Vec<u64> {
    let mut words = Vec::new();
    let kind = |c: &char| (is_dense(*c), !is_dense(*c) && (c.is_alphanumeric() || *c == '_'));
    for run in text.chunk_by(|a, b| kind(a) == kind(b)) {
        match kind(&run[0]) {
            (true, _) => words.extend(run.windows(run.len().min(2)).map(fnv1a)),
            (_, true) => words.push(fnv1a(stem(run))),
            _ => {}
        }
    }
    words
}

/// Whether a character's script has no spaces between words or, like Korean, few that matter.
#[rustfmt::skip]
fn is_dense(c: char) -> bool {
    c > '\u{dff}' && matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The first [`STEM`] letters of a word without a common English ending, or a whole word with digits.
fn stem(word: &[char]) -> &[char] {
    if word.iter().any(|c| c.is_numeric()) {
        return word;
    }
    let endings: [&[char]; 4] = [&['i', 'n', 'g'], &['e', 'd'], &['e', 's'], &['s']];
    let cut = |ending: &&[char]| word.strip_suffix(*ending).filter(|stem| stem.len() > 2);
    let stem = endings.iter().find_map(cut).unwrap_or(word);
    let stem = stem.strip_suffix(&['e']).filter(|stem| stem.len() > 2).unwrap_or(stem);
    &stem[..stem.len().min(STEM)]
}
