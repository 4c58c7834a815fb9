//! Small rules about text: one line, excerpts, blankness.

use std::borrow::Cow;

/// A text as one line: white space at the ends gone, every run of white space with a line break
/// or tab in it one space, other control characters dropped.
///
/// The second value tells whether a character other than white space was dropped.
pub fn one_line(text: &str) -> (Cow<'_, str>, bool) {
    let trimmed = text.trim();
    if !trimmed.chars().any(|c| c.is_control() || is_line_break(c)) {
        return (Cow::Borrowed(trimmed), false);
    }
    let mut line = String::with_capacity(trimmed.len());
    let mut dropped = false;
    let mut run = String::new();
    for c in trimmed.chars() {
        if c.is_whitespace() {
            run.push(c);
        } else if c.is_control() {
            dropped = true;
        } else {
            flush_white_space(&mut run, &mut line);
            line.push(c);
        }
    }
    (Cow::Owned(line), dropped)
}

/// Appends a run of white space: as it is when it is plain spacing, as one space otherwise.
fn flush_white_space(run: &mut String, line: &mut String) {
    if line.is_empty() {
        // All that stood before it was dropped.
    } else if run.chars().any(|c| c.is_control() || is_line_break(c)) {
        line.push(' ');
    } else {
        line.push_str(run);
    }
    run.clear();
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether nothing of a text can be seen: white space, control and zero-width characters only.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// At most `limit` characters of a text, on one line, with an ellipsis where it was cut.
pub fn excerpt(text: &str, limit: usize) -> String {
    // A generous prefix in bytes first: a text of megabytes is never walked.
    let mut end = text.len().min(limit.saturating_mul(8));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (line, _) = one_line(&text[..end]);
    // As many bytes are never fewer characters.
    if end == text.len() && line.len() <= limit {
        return line.into_owned();
    }
    let mut short: String = line.chars().take(limit).collect();
    if end < text.len() || line.chars().nth(limit).is_some() {
        short.push('…');
    }
    short
}

/// FNV-1a, 64 bits: names files and detects damage; no defence against malice is meant.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
