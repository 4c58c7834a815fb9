//! Patches: unified differences of texts, as `git apply` takes them.
//!
//! A patch is complete: it has its own header, so that patches of successive edits can be joined. Lines
//! end at line feeds only, and a text without a line feed at its end keeps that property.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::list::change::moved;

/// Lines of context on each side of a change.
const CONTEXT: usize = 3;
/// The largest product of lengths that is compared exactly. Longer texts are cut into parts first.
const MOST_STEPS: usize = 4_000_000;
/// The sum of these products in a comparison. Parts beyond it count as replaced.
pub(crate) const ALL_STEPS: usize = 10 * MOST_STEPS;
/// The largest size in bytes of a text that is compared. In larger ones only the lines are found that both
/// texts begin and end with.
pub const LARGEST: usize = 1024 * 1024;
/// Maximum number of bytes of a recorded patch.
pub const LONGEST: usize = 64 * 1024;

/// The difference of two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextChange {
    /// The number of lines added.
    pub added: u64,
    /// The number of lines removed.
    pub removed: u64,
    /// The hunks, as unified text without a header.
    pub hunks: String,
}

/// The number of lines, as git counts them.
///
/// ```
/// # use todo_write::events::patch::count_lines;
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

/// Compares two texts line by line.
///
/// ```
/// # use todo_write::events::patch::compare;
/// let change = compare("one\ntwo\n", "one\n2\n");
/// assert_eq!((change.added, change.removed), (1, 1));
/// assert_eq!(change.hunks, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
/// ```
pub fn compare(old: &str, new: &str) -> TextChange {
    compare_within(&mut { ALL_STEPS }, old, new)
}

/// Like [`compare`], but takes its steps from `steps`, which several comparisons can share.
pub(crate) fn compare_within(steps: &mut usize, old: &str, new: &str) -> TextChange {
    let may_cut = old.len().max(new.len()) <= LARGEST;
    let (old, new) = (lines(old), lines(new));
    let mut comparison = Comparison { edits: Vec::new(), steps };
    comparison.differ(&old, &new, (0, 0), may_cut);
    let edits = comparison.edits;
    let mut change = TextChange::default();
    for edit in &edits {
        change.removed += edit.old.len() as u64;
        change.added += edit.new.len() as u64;
    }
    for group in edits.chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT) {
        hunk_of(group, &old, &new).write(&mut change.hunks);
    }
    change
}

/// Lines of the old text that were replaced by lines of the new one.
#[derive(Clone, Debug)]
struct Replacement {
    old: Range<usize>,
    new: Range<usize>,
}

/// A comparison of two texts.
struct Comparison<'s> {
    /// The differences found so far.
    edits: Vec<Replacement>,
    /// The steps that are left.
    steps: &'s mut usize,
}

impl Comparison<'_> {
    /// Finds the differences of two lists of lines, which begin at the lines `at` of the texts.
    fn differ(&mut self, old: &[&str], new: &[&str], at: (usize, usize), may_cut: bool) {
        let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let (old, new, at) = (&old[start..], &new[start..], (at.0 + start, at.1 + start));
        let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
        let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
        let mut push = |old: Range<usize>, new: Range<usize>| {
            let range = |range: Range<usize>, at: usize| range.start + at..range.end + at;
            self.edits.push(Replacement { old: range(old, at.0), new: range(new, at.1) });
        };
        let steps = old.len().saturating_mul(new.len());
        if steps <= MOST_STEPS.min(*self.steps) {
            *self.steps -= steps;
            for op in capture_diff_slices(Algorithm::Myers, old, new) {
                if op.tag() != DiffTag::Equal {
                    push(op.old_range(), op.new_range());
                }
            }
            return;
        }
        // A part is not cut again: texts made for it would nest very deeply.
        let anchors = if may_cut { anchors(old, new) } else { Vec::new() };
        if anchors.is_empty() {
            return push(0..old.len(), 0..new.len());
        }
        let (mut from, ends) = ((0, 0), [(old.len(), new.len())]);
        for (a, b) in anchors.into_iter().chain(ends) {
            self.differ(&old[from.0..a], &new[from.1..b], (at.0 + from.0, at.1 + from.1), false);
            from = (a + 1, b + 1);
        }
    }
}

/// Lines that occur once in each list and in the same order. Long texts are cut into parts there.
fn anchors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let (old_places, new_places) = (places(old), places(new));
    let mut pairs: Vec<(usize, usize)> =
        old_places.iter().filter_map(|(line, place)| Some(((*place)?, (*new_places.get(line)?)?))).collect();
    pairs.sort_unstable();
    let order: Vec<Option<usize>> = pairs.iter().map(|(_, new)| Some(*new)).collect();
    pairs.into_iter().zip(moved(&order)).filter_map(|(pair, is_moved)| (!is_moved).then_some(pair)).collect()
}

/// The place of each line, or `None` if it occurs more than once.
fn places<'t>(lines: &[&'t str]) -> HashMap<&'t str, Option<usize>> {
    let mut places = HashMap::new();
    for (place, line) in lines.iter().enumerate() {
        places.entry(*line).and_modify(|first| *first = None).or_insert(Some(place));
    }
    places
}

/// The hunk of neighboring replacements.
fn hunk_of<'t>(
    group: &[Replacement],
    old: &'t [&'t str],
    new: &'t [&'t str],
) -> Hunk<std::vec::IntoIter<(char, &'t str)>> {
    let first = group.first().map_or((0, 0), |one| (one.old.start, one.new.start));
    let before = first.0.min(CONTEXT);
    let (mut lines, mut at) = (Vec::new(), first.0 - before);
    for one in group {
        lines.extend(old[at..one.old.start].iter().map(|line| (' ', *line)));
        lines.extend(old[one.old.clone()].iter().map(|line| ('-', *line)));
        lines.extend(new[one.new.clone()].iter().map(|line| ('+', *line)));
        at = one.old.end;
    }
    lines.extend(old[at..(at + CONTEXT).min(old.len())].iter().map(|line| (' ', *line)));
    Hunk { old: first.0 - before, new: first.1 - before, lines: lines.into_iter() }
}

/// Some lines of a patch, and the index of the first one on either side.
pub(crate) struct Hunk<I> {
    /// The index of the first line in the old text.
    pub old: usize,
    /// The index of the first line in the new text.
    pub new: usize,
    /// The lines with their signs: a blank, `-` or `+`.
    pub lines: I,
}

impl<'t, I: Iterator<Item = (char, &'t str)>> Hunk<I> {
    /// Appends the hunk as unified text.
    pub(crate) fn write(self, to: &mut String) {
        let (mut old, mut new, mut text) = (0, 0, String::new());
        for (sign, line) in self.lines {
            old += usize::from(sign != '+');
            new += usize::from(sign != '-');
            text.push(sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
        let _ = writeln!(to, "@@ -{} +{} @@", range(self.old, old), range(self.new, new));
        to.push_str(&text);
    }
}

/// The range of a hunk's header. An empty one names the line before it.
fn range(start: usize, count: usize) -> String {
    match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{count}", start + 1),
    }
}

/// What a patch does to its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileChange {
    /// The file is new.
    pub created: bool,
    /// The file is deleted.
    pub deleted: bool,
    /// Lines of context may differ from the file's.
    pub inexact: bool,
}

/// A hunk whose lines are those that its header counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeHunk<'t> {
    /// The header and the lines.
    pub text: &'t str,
    /// The number of lines added.
    pub added: u64,
    /// The number of lines removed.
    pub removed: u64,
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
    let (mut old, mut new) = counts(lines.next()?)?;
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
    (old == 0 && new == 0).then_some(WholeHunk { text, added, removed })
}

/// The numbers of old and new lines in `@@ -1,2 +3,4 @@`.
fn counts(header: &str) -> Option<(u64, u64)> {
    let (old, new) = header.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((start, count)) => start.parse::<u64>().and(count.parse()).ok(),
        None => range.parse::<u64>().ok().map(|_| 1),
    };
    Some((count(old)?, count(new)?))
}

/// A complete patch of the file `path`, an absolute name, which is shown relative to `project`. At most
/// [`LONGEST`] bytes of hunks are kept, none of them in part; a last line then counts the others. Hunks
/// whose lines do not match their header are left out.
pub fn complete(path: &str, project: &str, change: FileChange, hunks: &str) -> String {
    let name = quoted(relative(path, project));
    let mut patch = String::new();
    if change.inexact {
        patch.push_str("# Inexact: line numbers or lines of context may differ from those in the file.\n");
    }
    let _ = writeln!(patch, "diff --git {} {}", name("a/"), name("b/"));
    if change.created {
        patch.push_str("new file mode 100644\n");
    } else if change.deleted {
        patch.push_str("deleted file mode 100644\n");
    }
    let (whole, left_out) = whole_hunks(hunks);
    let mut kept = String::new();
    let is_kept = |hunk: &&WholeHunk<'_>| {
        let fits = kept.len() + hunk.text.len() <= LONGEST;
        if fits {
            kept.push_str(hunk.text);
        }
        fits
    };
    let cut = whole.len() - whole.iter().take_while(is_kept).count();
    if !kept.is_empty() {
        let null = || "/dev/null".to_owned();
        let old = if change.created { null() } else { name("a/") };
        let new = if change.deleted { null() } else { name("b/") };
        let _ = write!(patch, "--- {old}\n+++ {new}\n{kept}");
        if !kept.ends_with('\n') {
            patch.push('\n');
        }
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    if cut > 0 {
        let _ = writeln!(patch, "# Cut: {cut} more hunk{}.", plural(cut));
    }
    if left_out > 0 {
        let _ = writeln!(patch, "# Left out: {left_out} malformed hunk{}.", plural(left_out));
    }
    patch
}

fn relative<'p>(path: &'p str, project: &str) -> &'p str {
    let inside = path.strip_prefix(project.trim_end_matches('/')).filter(|_| !project.is_empty());
    inside.and_then(|inside| inside.strip_prefix('/')).filter(|inside| !inside.is_empty()).unwrap_or(path)
}

/// Writes a name as git does, with a prefix: in quotes if it has special characters.
fn quoted(name: &str) -> impl Fn(&str) -> String + '_ {
    let is_special = |c: char| c.is_control() || c == '"' || c == '\\';
    move |prefix: &str| {
        let name = name.strip_prefix('/').filter(|_| !prefix.is_empty()).unwrap_or(name);
        if !name.contains(is_special) {
            return format!("{prefix}{name}");
        }
        let mut text = format!("\"{prefix}");
        for c in name.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                c if c.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        let _ = write!(text, "\\{byte:03o}");
                    }
                }
                c => text.push(c),
            }
        }
        text.push('"');
        text
    }
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
