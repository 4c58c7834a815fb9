//! Small rules about text: one line, blank, excerpt.

pub mod globs;
pub mod lines;
pub mod path;

use std::borrow::Cow;

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
    // U+0085 is a line break.
    let is_start = |c| matches!(c, '\u{1b}' | '\u{80}'..='\u{84}' | '\u{86}'..='\u{9f}');
    while let Some(start) = rest.find(is_start) {
        kept.push_str(&rest[..start]);
        rest = &rest[start + sequence_length(&rest[start..])..];
    }
    kept + rest
}

/// The number of bytes of the control sequence at the start of a text: `ESC` and a letter, or the one
/// character in their place, and what belongs to them.
fn sequence_length(text: &str) -> usize {
    let mut characters = text.chars();
    let (letter, is_escape) = match characters.next() {
        Some('\u{1b}') => (characters.next(), true),
        Some(c1) => (char::from_u32(u32::from(c1) - 0x40), false),
        None => return 0,
    };
    let rest = characters.as_str();
    let start = text.len() - rest.len();
    let skip = |rest: &str, bytes: std::ops::RangeInclusive<u8>| {
        rest.bytes().take_while(|byte| bytes.contains(byte)).count()
    };
    let with_final = |length: usize, bytes: std::ops::RangeInclusive<u8>| {
        start + length + usize::from(rest.as_bytes().get(length).is_some_and(|byte| bytes.contains(byte)))
    };
    match letter {
        // A control sequence: parameters, intermediates and a final character.
        Some('[') => {
            let parameters = skip(rest, b'0'..=b'?');
            with_final(parameters + skip(&rest[parameters..], b' '..=b'/'), b'@'..=b'~')
        }
        // A control string, such as a title or a link. One that is not ended takes the rest of the line, but
        // not if its start may be a wrongly decoded quotation mark.
        Some('P' | 'X' | ']' | '^' | '_') => {
            let line = &rest[..memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())];
            let ends = ["\u{7}", "\u{9c}", "\u{1b}\\"];
            let end = ends.iter().filter_map(|end| Some(line.find(end)? + end.len())).min();
            start + end.unwrap_or(if is_escape { line.len() } else { 0 })
        }
        Some(' '..='/') if is_escape => with_final(skip(rest, b' '..=b'/'), b'0'..=b'~'),
        Some('0'..='~') => start,
        _ => '\u{1b}'.len_utf8(),
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
