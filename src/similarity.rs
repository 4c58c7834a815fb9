//! How much two task texts say the same.
//!
//! The measure compares words and knows no language. Words that are rare in the compared lists
//! count more: "Write tests for" says little where most tasks begin with it.

use std::collections::HashMap;

/// Characters of a text that count: twice the length of real tasks.
const LENGTH: usize = 300;
/// Texts of one list that are read to learn how rare words are.
const SAMPLE: usize = 200;
/// Letters of a stem: "validate", "validar" and "validation" are one word.
const STEM: usize = 5;
/// What equal first words add to the similarity: mostly the verb.
const SAME_START: f64 = 0.1;
/// What is left of the similarity where both texts have numbers, and all of them differ.
const OTHER_NUMBERS: f64 = 0.5;

/// How rare each word is in some texts.
#[derive(Clone, Debug, Default)]
pub struct Rarity {
    texts: usize,
    texts_with: HashMap<u64, usize>,
}

impl Rarity {
    /// Counts the words of the lists' first texts; a bounded number of them.
    pub fn of<'a>(lists: impl IntoIterator<Item: IntoIterator<Item = &'a str>>) -> Rarity {
        let mut rarity = Rarity::default();
        for text in lists.into_iter().flat_map(|list| list.into_iter().take(SAMPLE)) {
            rarity.texts += 1;
            let mut words = words(&folded(text));
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

/// The words of a text, ready to be compared.
#[derive(Clone, Debug)]
pub struct Words {
    first: Option<u64>,
    /// Each word once, as a hash with its weight, sorted by hash.
    words: Vec<(u64, f64)>,
    /// The sum of the weights.
    total: f64,
    /// All runs of digits.
    numbers: Vec<u64>,
}

impl Words {
    /// Splits TEXT and weighs its words.
    pub fn of(text: &str, rarity: &Rarity) -> Words {
        let text = folded(text);
        let mut words = words(&text);
        let first = words.first().copied();
        words.sort_unstable();
        words.dedup();
        let words: Vec<(u64, f64)> = words.into_iter().map(|word| (word, rarity.weight(word))).collect();
        let runs = text.chunk_by(|a, b| a.is_numeric() == b.is_numeric());
        let numbers = runs.filter(|run| run[0].is_numeric()).map(hash).collect();
        Words { first, total: words.iter().map(|(_, weight)| weight).sum(), words, numbers }
    }

    /// The words as hashes.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        self.words.iter().map(|(word, _)| *word)
    }
}

/// The mean of Dice (the shared part of both texts) and containment (the part of the lighter text
/// that is in the other, since details come and go), with a little more for equal first words.
pub fn similarity(a: &Words, b: &Words) -> f64 {
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
    (if numbers_differ { OTHER_NUMBERS } else { 1.0 }) * ((dice + containment) / 2.0 + start)
}

/// The text in lower case, without a leading number that only counts: "2. ", "3) ", "Step 4: ".
fn folded(text: &str) -> Vec<char> {
    let rest = text.strip_prefix("Step ").or_else(|| text.strip_prefix("step ")).unwrap_or(text);
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered =
        behind.len() < rest.len() && [": ", ". ", ") "].iter().any(|end| behind.starts_with(end));
    let text = if is_numbered { behind } else { text };
    let mut folded = Vec::with_capacity(text.len().min(LENGTH));
    folded.extend(text.chars().take(LENGTH).flat_map(char::to_lowercase));
    folded
}

/// The hashes of a text's words, in their order. Scripts without spaces give pairs of characters.
fn words(text: &[char]) -> Vec<u64> {
    let mut words = Vec::new();
    let kind = |c: &char| (is_dense(*c), !is_dense(*c) && (c.is_alphanumeric() || *c == '_'));
    for run in text.chunk_by(|a, b| kind(a) == kind(b)) {
        match kind(&run[0]) {
            (true, _) => words.extend(run.windows(run.len().min(2)).map(hash)),
            (_, true) => words.push(hash(stem(run))),
            _ => {}
        }
    }
    words
}

/// Scripts written without spaces, or (Korean) with few that matter.
#[rustfmt::skip]
fn is_dense(c: char) -> bool {
    c > '\u{dff}' && matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The first letters of a word, without a common English ending; a word with a digit stays whole.
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

/// FNV-1a, of characters.
fn hash(characters: &[char]) -> u64 {
    let step = |hash: u64, c: &char| (hash ^ u64::from(*c)).wrapping_mul(0x100_0000_01b3);
    characters.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
