//! Which words of a text changed.

use std::ops::Range;

use serde::Serialize;
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// The largest product of lengths that is compared. Longer texts count as replaced.
const MOST_STEPS: usize = 90_000;

/// What became of a part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Both texts have it.
    Same,
    /// Only the old text has it.
    Removed,
    /// Only the new text has it.
    Added,
}

/// Compares two texts by words and the white space between them, or by characters in Chinese and
/// Japanese, which have no spaces. Removed text comes before the text that replaces it.
///
/// ```
/// # use todo_write::text::word_diff::{Kind::*, compare};
/// let steps = compare("Fix the bug", "Fix a bug");
/// assert_eq!(steps, [(Same, "Fix "), (Removed, "the"), (Added, "a"), (Same, " bug")]);
/// ```
pub fn compare<'t>(old: &'t str, new: &'t str) -> Vec<(Kind, &'t str)> {
    let (before, after) = (word_places(old), word_places(new));
    let (a, b) = (texts(old, &before), texts(new, &after));
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (a_end, b_end) = (a.len() - tail, b.len() - tail);
    let mut steps = vec![(Kind::Same, old, 0..head, &before)];
    if (a_end - head) * (b_end - head) > MOST_STEPS {
        steps.extend([(Kind::Removed, old, head..a_end, &before), (Kind::Added, new, head..b_end, &after)]);
    } else {
        for op in capture_diff_slices(Algorithm::Lcs, &a[head..a_end], &b[head..b_end]) {
            let (tag, old_range, new_range) = op.as_tag_tuple();
            let moved = |range: Range<usize>| range.start + head..range.end + head;
            let (old_range, new_range) = (moved(old_range), moved(new_range));
            if tag == DiffTag::Equal {
                steps.push((Kind::Same, old, old_range, &before));
            } else {
                steps.push((Kind::Removed, old, old_range, &before));
                steps.push((Kind::Added, new, new_range, &after));
            }
        }
    }
    steps.push((Kind::Same, old, a_end..a.len(), &before));
    let mut joined: Vec<(Kind, &str, Range<usize>)> = Vec::new();
    for (kind, text, range, places) in steps.into_iter().filter(|(_, _, range, _)| !range.is_empty()) {
        let bytes = places[range.start].start..places[range.end - 1].end;
        match joined.last_mut().filter(|(last, ..)| *last == kind) {
            Some((.., known)) => known.end = bytes.end,
            None => joined.push((kind, text, bytes)),
        }
    }
    joined.into_iter().map(|(kind, text, bytes)| (kind, &text[bytes])).collect()
}

fn texts<'t>(text: &'t str, places: &[Range<usize>]) -> Vec<&'t str> {
    places.iter().map(|place| &text[place.clone()]).collect()
}

/// The places of the words, of the white space between them, and of characters without spaces.
fn word_places(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (start, c) in text.char_indices() {
        let end = start + c.len_utf8();
        let kind = (!is_word(c)).then_some(c.is_whitespace());
        match words.last_mut().filter(|_| last == Some(kind) && kind != Some(false)) {
            Some(word) => word.end = end,
            None => words.push(start..end),
        }
        last = Some(kind);
    }
    words
}

/// Whether a character is part of a word: neither white space nor Chinese or Japanese.
fn is_word(c: char) -> bool {
    !c.is_whitespace()
        && !matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}'
            | '\u{20000}'..='\u{3ffff}')
}
