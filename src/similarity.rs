//! How much two task texts are about the same work, from 0 to 1.
//!
//! Words count, not only characters: "Write tests for the parser" and "Write tests for the
//! printer" share most characters and are two tasks.

use std::collections::HashMap;

/// The words of a text, folded: lower case, stemmed a little, scripts without spaces in pairs of
/// characters.
#[derive(Clone, Debug)]
pub struct Words {
    words: Vec<String>,
}

impl Words {
    /// Splits a text; only its first 300 characters count, which is twice what real tasks have.
    pub fn of(text: &str) -> Words {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut dense: Option<char> = None;
        for c in text.chars().take(300) {
            if is_dense(c) {
                flush(&mut word, &mut words);
                if let Some(before) = dense {
                    words.push([before, c].iter().collect());
                }
                dense = Some(c);
                continue;
            }
            if let Some(last) = dense.take()
                && words.last().is_none_or(|word| !word.ends_with(last))
            {
                words.push(last.to_string());
            }
            if c.is_alphanumeric() {
                word.extend(c.to_lowercase());
            } else {
                flush(&mut word, &mut words);
            }
        }
        flush(&mut word, &mut words);
        Words { words }
    }

    /// The words in order, with repetitions.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(stem(word).to_owned());
        word.clear();
    }
}

/// Chinese, Japanese and Korean are written without spaces, or with few that matter.
fn is_dense(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// Drops the commonest English endings, so that "Implement" meets "Implementing".
fn stem(word: &str) -> &str {
    for ending in ["ing", "ed", "es", "s"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
            && stem.is_ascii()
        {
            return stem;
        }
    }
    word.strip_suffix('e').filter(|stem| stem.len() >= 3).unwrap_or(word)
}

/// Words that say little about which task it is.
const STOP: [&str; 24] = [
    "the", "a", "an", "and", "or", "of", "to", "in", "on", "for", "with", "from", "by", "at", "is", "it",
    "all", "into", "as", "that", "this", "new", "us", "via",
];

fn weight(word: &str) -> f64 {
    if STOP.contains(&word) {
        0.2
    } else if word.bytes().all(|b| b.is_ascii_digit()) {
        1.5
    } else {
        1.0
    }
}

/// The share of words in common: the mean of Dice (both texts whole) and containment (the
/// shorter in the longer, since details are appended), lowered where numbers differ.
pub fn similarity(a: &Words, b: &Words) -> f64 {
    let (total_a, total_b): (f64, f64) = (a.iter().map(weight).sum(), b.iter().map(weight).sum());
    if total_a == 0.0 || total_b == 0.0 {
        return 0.0;
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in a.iter() {
        *counts.entry(word).or_default() += 1;
    }
    let mut common = 0.0;
    for word in b.iter() {
        if let Some(count) = counts.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            common += weight(word);
        }
    }
    let dice = 2.0 * common / (total_a + total_b);
    let containment = common / total_a.min(total_b);
    let score = 0.7 * dice + 0.3 * containment;
    if numbers_differ(a, b) { score * 0.5 } else { score }
}

/// Both texts have numbers, and not one in common: "Phase 1" is not "Phase 2".
fn numbers_differ(a: &Words, b: &Words) -> bool {
    let numbers = |words: &Words| -> Vec<String> {
        words.iter().filter(|word| word.bytes().any(|b| b.is_ascii_digit())).map(str::to_owned).collect()
    };
    let (a, b) = (numbers(a), numbers(b));
    !a.is_empty() && !b.is_empty() && !a.iter().any(|number| b.contains(number))
}
