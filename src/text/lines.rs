//! Differences of texts, line by line.
//!
//! Lines end at line feeds only, and a text without a line feed at its end keeps that property.

use std::time::Duration;

use similar::{Algorithm, DiffTag, TextDiff};

/// Lines of context on each side of a change.
const CONTEXT: usize = 3;
/// The largest size in bytes of a text that is compared. In larger ones only the lines are found that both
/// texts begin and end with.
pub const LARGEST: usize = 1024 * 1024;
/// The largest number of lines between those, old and new, that are compared. `similar` bounds each of its
/// searches, but their number grows with the texts.
pub const MOST_LINES: usize = 20_000;

/// The difference of two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TextChange {
    pub added: u64,
    pub removed: u64,
    /// The hunks, as unified text without a header.
    pub hunks: String,
}

/// The number of lines, as git counts them.
///
/// ```
/// # use todo_write::text::lines::count_lines;
/// assert_eq!([count_lines(""), count_lines("a"), count_lines("a\n"), count_lines("a\nb")], [0, 1, 1, 2]);
/// ```
pub fn count_lines(text: &str) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    feeds + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The lines of a text, each with its line feed.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Compares two texts line by line. Beyond [`LARGEST`] and 20,000 lines, all between the first and the last
/// difference counts as replaced.
///
/// ```
/// # use todo_write::text::lines::compare;
/// let change = compare("one\ntwo\n", "one\n2\n");
/// assert_eq!((change.added, change.removed), (1, 1));
/// assert_eq!(change.hunks, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
/// ```
pub fn compare(old: &str, new: &str) -> TextChange {
    compare_within(&mut { MOST_LINES }, old, new)
}

/// Like [`compare`], but takes the lines from `left`, which several comparisons can share.
pub fn compare_within(left: &mut usize, old: &str, new: &str) -> TextChange {
    let is_small = old.len().max(new.len()) <= LARGEST;
    let (old, new) = (lines(old), lines(new));
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    let between = old.len() + new.len() - 2 * (start + end);
    let mut config = TextDiff::configure();
    config.algorithm(Algorithm::Myers).newline_terminated(true);
    if is_small && between <= *left {
        *left -= between;
    } else {
        // Without time, all between counts as replaced.
        config.timeout(Duration::ZERO);
    }
    let diff = config.diff_slices(&old, &new);
    let (mut added, mut removed) = (0, 0);
    for op in diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal) {
        added += op.new_range().len() as u64;
        removed += op.old_range().len() as u64;
    }
    TextChange { added, removed, hunks: diff.unified_diff().context_radius(CONTEXT).to_string() }
}

/// A hunk whose lines are those that its header counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeHunk<'t> {
    /// The header and the lines.
    pub text: &'t str,
    pub added: u64,
    pub removed: u64,
    /// The place of its first line in the new text, from 0.
    pub place: usize,
}

/// The hunks of a unified difference, and the number of those left out because their lines do not match
/// their header. Lines before the first hunk are ignored.
///
/// An agent writes this text. A line too many could be the header of another file.
pub(crate) fn whole_hunks(text: &str) -> (Vec<WholeHunk<'_>>, usize) {
    let (mut whole, mut left_out) = (Vec::new(), 0);
    let is_start = |place: usize| text[place..].starts_with("@@ -");
    let starts = memchr::memchr_iter(b'\n', text.as_bytes()).map(|feed| feed + 1);
    let starts: Vec<usize> = [0].into_iter().chain(starts).filter(|place| is_start(*place)).collect();
    for (n, start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(text.len());
        match whole_hunk(&text[*start..end]) {
            Some(hunk) => whole.push(hunk),
            None => left_out += 1,
        }
    }
    (whole, left_out)
}

fn whole_hunk(text: &str) -> Option<WholeHunk<'_>> {
    let mut lines = text.split_terminator('\n');
    let [(_, mut old), (place, mut new)] = ranges(lines.next()?)?;
    let (mut added, mut removed) = (0, 0);
    for line in lines {
        match line.as_bytes().first() {
            Some(b'+') => (added, new) = (added + 1, new.checked_sub(1)?),
            Some(b'-') => (removed, old) = (removed + 1, old.checked_sub(1)?),
            Some(b'\\') => {}
            // Some programs strip the blank of an empty line.
            Some(b' ') | None => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
            Some(_) => return None,
        }
    }
    (old == 0 && new == 0).then_some(WholeHunk { text, added, removed, place })
}

/// The places of the first old and new line, from 0, and their numbers in `@@ -1,2 +3,4 @@`.
fn ranges(header: &str) -> Option<[(usize, u64); 2]> {
    let (old, new) = header.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
    let range = |range: &str| -> Option<(usize, u64)> {
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        let (start, count): (usize, u64) = (start.parse().ok()?, count.parse().ok()?);
        // An empty range names the line before it.
        Some((start.saturating_sub(usize::from(count > 0)), count))
    };
    Some([range(old)?, range(new)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hunks_whose_lines_match_their_header_are_kept() {
        for (text, expected) in [
            ("@@ -1,2 +1,2 @@\n---- a\n+++ b\n x\n@@ -9 +9,0 @@ f()\n-y\n", (2, 1, 2, 0)),
            ("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b", (1, 1, 1, 0)),
            ("@@ -1,3 +1,2 @@\n a\n\n-b\n", (1, 0, 1, 0)),
            ("--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", (1, 1, 0, 0)),
            // The header of another file behind the lines, or in place of one.
            ("@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ /y\n@@ -1 +1 @@\n-1\n+2\n", (1, 1, 1, 1)),
            ("@@ -1 +1 @@\n-a\ndiff --git a/x b/x\n+b\n", (0, 0, 0, 1)),
            ("@@ -1,9 +1 @@\n-a\n+b\n", (0, 0, 0, 1)),
            ("@@ -1,x +1 @@\n-a\n+b\n", (0, 0, 0, 1)),
            ("@@ -99999999999999999999 +1 @@\n-a\n+b\n", (0, 0, 0, 1)),
            ("@@ -", (0, 0, 0, 1)),
            ("", (0, 0, 0, 0)),
        ] {
            let (whole, left_out) = whole_hunks(text);
            let sum = |count: fn(&WholeHunk<'_>) -> u64| whole.iter().map(count).sum::<u64>();
            let found = (whole.len(), sum(|hunk| hunk.added), sum(|hunk| hunk.removed), left_out);
            assert_eq!(found, expected, "{text}");
        }
    }
}
