//! Small rules about text: one line, blank, excerpt.

pub mod globs;
pub mod lines;
pub mod path;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use memchr::memchr;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The composed form (NFC) of a text. The same title may arrive decomposed, from macOS or an input method.
///
/// ```
/// # use todo_write::text::composed;
/// assert_eq!(composed("re\u{301}sume\u{301}"), "résumé");
/// ```
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

/// Puts a text on one line, in composed form. The second value tells whether a character other than white
/// space was dropped.
///
/// White space at both ends is removed, a run of white space with a line break or a tab becomes one
/// space, and control sequences of terminals and other control characters are dropped.
///
/// ```
/// # use todo_write::text::one_line;
/// assert_eq!(one_line(" Fix\n the  bug\u{7}"), ("Fix the  bug".into(), true));
/// assert_eq!(one_line("\u{1b}[31mFix\u{1b}[m it"), ("Fix it".into(), true));
/// ```
pub fn one_line(text: &str) -> (Cow<'_, str>, bool) {
    let trimmed = text.trim();
    // Most texts are plain ASCII. Without early exit, the compiler checks many bytes at once.
    let is_plain = trimmed.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'));
    if is_plain || !trimmed.contains(breaks_line) {
        return (composed(trimmed), false);
    }
    let is_dropped = |c: char| c.is_control() && !c.is_whitespace();
    let kept = without_sequences(trimmed).replace(is_dropped, "");
    let mut line = String::with_capacity(kept.len());
    let mut rest = kept.trim();
    while let Some(space) = rest.find(char::is_whitespace) {
        let word = rest[space..].find(|c: char| !c.is_whitespace()).map_or(rest.len(), |word| space + word);
        line.push_str(&rest[..space]);
        line.push_str(if rest[space..word].contains(breaks_line) { " " } else { &rest[space..word] });
        rest = &rest[word..];
    }
    line.push_str(rest);
    (Cow::Owned(composed(&line).into_owned()), trimmed.contains(is_dropped))
}

/// The text without the control sequences of terminals (ECMA-48), such as `ESC [ 31 m`.
fn without_sequences(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        kept.push_str(&rest[..start]);
        rest = &rest[start + sequence_length(&rest[start..])..];
    }
    kept + rest
}

/// The number of bytes of the control sequence at the start of a text: `ESC`, a letter, and what belongs to them.
fn sequence_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let behind_all = |start: usize, kind: RangeInclusive<u8>| {
        start + bytes[start..].iter().take_while(|byte| kind.contains(byte)).count()
    };
    let behind_one = |start: usize, kind: RangeInclusive<u8>| {
        start + usize::from(bytes.get(start).is_some_and(|byte| kind.contains(byte)))
    };
    match bytes.get(1) {
        // A control sequence: parameters, intermediates and a final character.
        Some(b'[') => behind_one(behind_all(behind_all(2, b'0'..=b'?'), b' '..=b'/'), b'@'..=b'~'),
        // A control string, such as a title or a link. One that is not ended takes the rest of the line.
        Some(b'P' | b'X' | b']' | b'^' | b'_') => {
            let line = &text[..memchr(b'\n', bytes).unwrap_or(text.len())];
            let ends = ["\u{7}", "\u{1b}\\"].into_iter();
            let ends = ends.filter_map(|end| Some(2 + line[2..].find(end)? + end.len()));
            ends.min().unwrap_or(line.len())
        }
        Some(b' '..=b'/') => behind_one(behind_all(1, b' '..=b'/'), b'0'..=b'~'),
        Some(b'0'..=b'~') => 2,
        _ => 1,
    }
}

fn breaks_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether a text has no visible character: only white space, control and invisible characters.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

/// The list of `todo-write-text-unseen` in `lisp/todo-write-text.el`, whose test compares both.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{2d7f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1107f}'
        | '\u{13430}'..='\u{13442}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// At most `limit` characters of a text on one line, with an ellipsis if it was cut.
///
/// ```
/// # use todo_write::text::excerpt;
/// assert_eq!(excerpt("Convert\nthe callbacks", 11), "Convert the…");
/// ```
pub fn excerpt(text: &str, limit: usize) -> String {
    // Only a prefix of a long text is scanned.
    let end = text.char_indices().nth(limit.saturating_mul(8)).map_or(text.len(), |(end, _)| end);
    let (line, _) = one_line(&text[..end]);
    let cut = line.char_indices().nth(limit).map(|(place, _)| place);
    if cut.is_none() && end == text.len() {
        return line.into_owned();
    }
    format!("{}…", &line[..cut.unwrap_or(line.len())])
}

/// At most `most` bytes of a text, with an ellipsis if it was cut.
pub fn beginning(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &text[..end])
}

/// The 64-bit FNV-1a hash. It names files and detects damage; it does not withstand attacks.
pub fn fnv1a<T: Copy + Into<u64>>(parts: &[T]) -> u64 {
    let step = |hash: u64, part: &T| (hash ^ (*part).into()).wrapping_mul(0x0100_0000_01b3);
    parts.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
