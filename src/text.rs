//! Small rules about text: one line, blank, excerpt.

pub mod command;
pub mod globs;
pub mod lines;
pub mod path;
pub mod word_diff;

use std::borrow::Cow;

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
/// space, and other control characters are dropped.
///
/// ```
/// # use todo_write::text::one_line;
/// assert_eq!(one_line(" Fix\n the  bug\u{7}"), ("Fix the  bug".into(), true));
/// ```
pub fn one_line(text: &str) -> (Cow<'_, str>, bool) {
    let trimmed = text.trim();
    // Most texts are plain ASCII. Without early exit, the compiler checks many bytes at once.
    let is_plain = trimmed.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'));
    if is_plain || !trimmed.contains(breaks_line) {
        return (composed(trimmed), false);
    }
    let is_dropped = |c: char| c.is_control() && !c.is_whitespace();
    let kept = trimmed.replace(is_dropped, "");
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

/// The 64-bit FNV-1a hash. It names files and detects damage; it does not withstand attacks.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
