//! Review: the difference that an agent's changes of a file come to.
//!
//! To show the new changes of a file as one difference, their patches are taken back from the file as it is now,
//! newest first: what is left is the file as it was reviewed, with what others did to it since. That is exact, or
//! it is not done at all.

use std::borrow::Cow;

use crate::events::patch::{complete, complete_within};
use crate::events::payload::FileEntry;
use crate::named::wire_names;
use crate::text::lines::{WholeHunk, whole_hunks};

/// The largest size in bytes of a file that is composed.
pub const LARGEST_FILE: usize = 16 * 1024 * 1024;
/// The largest number of lines that are compared to find the hunks of a file.
const MOST_COMPARED: usize = 100_000_000;

wire_names! {
    /// Why the new changes of a file are not shown as one difference.
    #[allow(missing_docs)]
    pub enum NotComposed {
        /// Lines of a change are no longer in the file, or at several places, none of which is where the change
        /// was: another hand was there, or a change that is not part of the review.
        Touched = "another change touches the same lines",
        Inexact = "a patch is inexact",
        Cut = "a patch is cut",
        OnlyNumbers = "of a change only numbers are recorded",
        Binary = "the file is binary or not UTF-8",
        TooLarge = "the file is too large",
        Elsewhere = "the file is on another machine",
        Unreadable = "the file cannot be read",
    }
}

/// The text before all changes, oldest first, of a file that is `now` so; `None` is a file that does not exist.
///
/// # Errors
/// Why a change cannot be taken back exactly.
pub fn take_back(now: Option<&str>, changes: &[FileEntry]) -> Result<Option<String>, NotComposed> {
    if now.is_some_and(|now| now.len() > LARGEST_FILE) {
        return Err(NotComposed::TooLarge);
    }
    let lines = now.unwrap_or_default().split_inclusive('\n').map(Cow::Borrowed).collect();
    let mut before = TextBefore { lines, compared: 0 };
    let mut exists = now.is_some();
    for change in changes.iter().rev() {
        before.take_back(change)?;
        exists = !(change.created && before.lines.is_empty());
    }
    Ok(exists.then(|| before.lines.concat()))
}

/// A text from which changes are taken back.
struct TextBefore<'t> {
    lines: Vec<Cow<'t, str>>,
    /// The number of lines compared in searches.
    compared: usize,
}

impl<'t> TextBefore<'t> {
    fn take_back(&mut self, change: &'t FileEntry) -> Result<(), NotComposed> {
        if change.inexact {
            return Err(NotComposed::Inexact);
        }
        let (whole, left_out) = whole_hunks(change.patch.as_deref().unwrap_or_default());
        if whole.is_empty() && left_out == 0 {
            // The patch of a file without any text has no lines.
            let is_empty_file =
                (change.created || change.deleted) && (change.added, change.removed) == (0, 0);
            let is_taken_back = is_empty_file && self.lines.is_empty();
            return if is_taken_back { Ok(()) } else { Err(NotComposed::OnlyNumbers) };
        }
        let sum = |count: fn(&WholeHunk<'_>) -> u64| whole.iter().map(count).sum::<u64>();
        let numbers = (sum(|hunk| hunk.added), sum(|hunk| hunk.removed));
        let hunks: Option<Vec<Hunk<'t>>> = whole.iter().map(Hunk::parse).collect();
        let hunks = hunks.filter(|_| left_out == 0 && numbers == (change.added, change.removed));
        let (mut shift, mut from) = (0_isize, 0);
        for hunk in hunks.ok_or(NotComposed::Cut)? {
            let (old, new) = (hunk.without('+'), hunk.without('-'));
            let expected = hunk.place.saturating_add_signed(shift);
            let (place, is_there) = match self.find(&new, from, expected)? {
                Some(place) => (place, true),
                // Perhaps the user has taken it back already.
                None => {
                    let place = self.find(&old, from, expected)?;
                    let is_at_end = |place| place + old.len() == self.lines.len();
                    let place = place.filter(|place| hunk.is_anchored(*place == 0, is_at_end(*place)));
                    (place.ok_or(NotComposed::Touched)?, false)
                }
            };
            // Later hunks are counted in the new text, of which so much is gone.
            let gone = new.len().wrapping_sub(old.len()).cast_signed();
            shift = place.wrapping_sub(hunk.place).cast_signed().wrapping_sub(gone);
            if is_there {
                let end = place + new.len();
                // A line without a line feed can only be the last of a file.
                if end != self.lines.len() && old.last().is_some_and(|line| line.is_open) {
                    return Err(NotComposed::Touched);
                }
                let restored = hunk.restored(&self.lines[place..end]);
                self.lines.splice(place..end, restored);
            }
            from = place + old.len();
        }
        Ok(())
    }

    /// The place of some lines at or after `from`: where they are expected, or the only other one.
    fn find(
        &mut self,
        wanted: &[Line<'_>],
        from: usize,
        expected: usize,
    ) -> Result<Option<usize>, NotComposed> {
        if wanted.is_empty() {
            return Ok((self.lines.is_empty()).then_some(0));
        }
        if expected >= from && self.has(wanted, expected) {
            return Ok(Some(expected));
        }
        let mut found = None;
        for place in from..(self.lines.len() + 1).saturating_sub(wanted.len()) {
            if self.compared > MOST_COMPARED {
                return Err(NotComposed::TooLarge);
            }
            if self.has(wanted, place) && found.replace(place).is_some() {
                return Err(NotComposed::Touched);
            }
        }
        Ok(found)
    }

    fn has(&mut self, wanted: &[Line<'_>], place: usize) -> bool {
        let Some(found) = self.lines.get(place..place.saturating_add(wanted.len())) else { return false };
        let same = found.iter().zip(wanted).take_while(|(line, wanted)| wanted.is_same(line)).count();
        self.compared += same + 1;
        same == wanted.len()
    }
}

/// A line of a hunk, without its line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'p> {
    /// `+`, `-`, or a blank for context.
    sign: char,
    text: &'p str,
    /// Whether it ends without a line feed, as only the last line of a file does.
    is_open: bool,
}

impl Line<'_> {
    /// Whether it is this line of a file, which may end in a carriage return that the patch lacks.
    fn is_same(&self, line: &str) -> bool {
        let content = |line: &str| {
            let line = line.strip_suffix('\n').unwrap_or(line);
            line.strip_suffix('\r').unwrap_or(line).len()
        };
        let (length, of_file) = (content(self.text), content(line));
        line.ends_with('\n') != self.is_open && self.text[..length] == line[..of_file]
    }
}

#[derive(Debug)]
struct Hunk<'p> {
    /// The place of its first line in the new text, from 0.
    place: usize,
    lines: Vec<Line<'p>>,
}

impl<'p> Hunk<'p> {
    /// Reads the lines of a hunk.
    fn parse(hunk: &WholeHunk<'p>) -> Option<Hunk<'p>> {
        let mut lines: Vec<Line<'p>> = Vec::new();
        for row in hunk.text.split_terminator('\n').skip(1) {
            match row.split_at_checked(1).unwrap_or((" ", "")) {
                (sign @ ("+" | "-" | " "), text) => {
                    lines.push(Line { sign: sign.chars().next()?, text, is_open: false });
                }
                // The line before has no line feed.
                _ => lines.last_mut()?.is_open = true,
            }
        }
        (hunk.place < LARGEST_FILE).then_some(Hunk { place: hunk.place, lines })
    }

    /// Its lines in the old text, without those that are added, or in the new one, without those that are removed.
    fn without(&self, sign: char) -> Vec<Line<'p>> {
        self.lines.iter().filter(|line| line.sign != sign).copied().collect()
    }

    /// Whether its old lines, at a place that is the first of the file or ends it, are those before it. A hunk
    /// without as many lines of context on one side as on the other was at that end of the file: there, its lines
    /// alone do not tell.
    fn is_anchored(&self, is_first: bool, is_at_end: bool) -> bool {
        let is_context = |line: &&Line<'_>| line.sign == ' ';
        let before = self.lines.iter().take_while(is_context).count();
        let after = self.lines.iter().rev().take_while(is_context).count();
        (after > 0 && after >= before || is_at_end) && (before > 0 && before >= after || is_first)
    }

    /// The old lines, in place of the new ones, which the text has as `found`.
    fn restored(&self, found: &[Cow<'p, str>]) -> Vec<Cow<'p, str>> {
        // A patch of a host may lack the carriage returns of the file.
        let lacks_return =
            |(line, new): (&Cow<'_, str>, Line<'_>)| line.ends_with("\r\n") && !new.text.ends_with('\r');
        let lacks_returns = found.iter().zip(self.without('-')).any(lacks_return);
        let mut found = found.iter();
        let mut old = Vec::new();
        for Line { sign, text, is_open } in &self.lines {
            let kept = if *sign == '-' { None } else { found.next().cloned() };
            match (sign, kept) {
                ('+', _) => {}
                (_, Some(line)) => old.push(line),
                _ if *is_open => old.push(Cow::Borrowed(*text)),
                _ => {
                    let end = if text.ends_with('\r') || !lacks_returns { "\n" } else { "\r\n" };
                    old.push(Cow::Owned(format!("{text}{end}")));
                }
            }
        }
        old
    }
}

/// The net difference of a file, whose new `changes` are oldest first, from what it was to what it is `now`: empty
/// if they cancel out. If it is not known, why, and their patches one after the other. `path` is its absolute name,
/// `project` the root.
pub fn net(
    path: &str,
    project: &str,
    now: Result<Option<&str>, NotComposed>,
    changes: &[FileEntry],
) -> (Option<NotComposed>, String) {
    let before = now.and_then(|now| Ok((take_back(now, changes)?, now)));
    match before {
        Ok((before, now)) if before.as_deref() == now => (None, String::new()),
        Ok((before, now)) => {
            let change = FileEntry::between(path, before.as_deref(), now);
            (None, complete_within(usize::MAX, path, project, &change))
        }
        Err(reason) => {
            let mut text = format!("# Not composed: {}\n", reason.as_str());
            for change in changes {
                match &change.patch {
                    Some(patch) => text.push_str(patch),
                    None => {
                        let header = FileEntry { inexact: false, ..change.clone() };
                        text.push_str(&complete(path, project, &header));
                        text.push_str(&format!("# Only numbers: +{} -{}\n", change.added, change.removed));
                    }
                }
            }
            (Some(reason), text)
        }
    }
}
