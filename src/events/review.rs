//! Review: the difference that an agent's changes of a file come to.
//!
//! To show the new changes of a file as one difference, their patches are taken back from the file as it is now,
//! newest first: what is left is the file as it was reviewed, with what others did to it since. That is exact, or
//! it is not done at all.

use std::borrow::Cow;

use crate::events::patch::{ChangedFile, FileChange, complete, complete_within};
use crate::events::payload::FileEntry;
use crate::named::wire_names;
use crate::text::lines::{WholeHunk, whole_hunks};

/// The largest size in bytes of a file that is composed.
pub const LARGEST_FILE: usize = 16 * 1024 * 1024;
/// The largest number of lines that are compared to find the hunks of a file.
const MOST_COMPARED: usize = 100_000_000;

wire_names! {
    /// Why the new changes of a file are not shown as one difference.
    pub enum NotComposed {
        /// Lines of a change are no longer in the file.
        OtherHand = "another hand changed the same lines",
        /// They are at several places, none of which is where the change was.
        Ambiguous = "its lines are at several places",
        /// A patch may differ from the file.
        Inexact = "a patch is inexact",
        /// Not all hunks of a patch are recorded.
        Cut = "a patch is cut",
        /// Only the numbers of lines are recorded.
        OnlyNumbers = "of a change only numbers are recorded",
        /// The file has no text.
        Binary = "the file is binary or not UTF-8",
        /// The file is larger than [`LARGEST_FILE`].
        TooLarge = "the file is too large",
        /// The file is on another machine.
        Elsewhere = "the file is on another machine",
        /// It cannot be read.
        Unreadable = "the file cannot be read",
        /// Later changes of the same file, which stay, are in the way.
        Between = "changes that are not part of this came between",
    }
}

/// One change of a file that is taken back, or stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChanged {
    /// Whether it stays, since it is not of what is reviewed.
    pub stays: bool,
    /// Its numbers and its patch, with its header.
    pub file: FileEntry,
}

/// A line of a hunk, without its line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'p> {
    text: &'p str,
    /// Whether it ends without a line feed, as only the last line of a file does.
    is_open: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk<'p> {
    /// The places of its first line in the old text and in the new one, from 0.
    old_place: usize,
    place: usize,
    old: Vec<Line<'p>>,
    new: Vec<Line<'p>>,
    /// For each line of `old`, that of `new` which it is, if it is one of context.
    kept: Vec<Option<usize>>,
}

/// The text before all changes but those that stay, oldest first, of a file that is `now` so; `None` is a file
/// that does not exist.
///
/// # Errors
/// Why a change cannot be taken back exactly.
pub fn take_back(now: Option<&str>, changes: &[FileChanged]) -> Result<Option<String>, NotComposed> {
    if now.is_some_and(|now| now.len() > LARGEST_FILE) {
        return Err(NotComposed::TooLarge);
    }
    let lines = now.unwrap_or_default().split_inclusive('\n').map(Cow::Borrowed).collect();
    let mut before = Before { lines, later: Vec::new(), moved: 0, compared: 0 };
    let mut exists = now.is_some();
    for change in changes.iter().rev() {
        if change.stays {
            let (hunks, _) = whole_hunks(change.file.patch.as_deref().unwrap_or_default());
            before.later.push(hunks.iter().filter_map(Hunk::parse).collect());
            continue;
        }
        before.take_back(&change.file)?;
        exists = !(change.file.created && before.lines.is_empty());
    }
    Ok(exists.then(|| before.lines.concat()))
}

/// A text from which changes are taken back.
struct Before<'t> {
    lines: Vec<Cow<'t, str>>,
    /// The hunks of later changes that stay, newest first.
    later: Vec<Vec<Hunk<'t>>>,
    /// How far the last hunk was from where it was expected, since others added or removed lines above.
    moved: isize,
    /// The number of lines compared in searches.
    compared: usize,
}

impl<'t> Before<'t> {
    fn take_back(&mut self, change: &'t FileEntry) -> Result<(), NotComposed> {
        if change.inexact {
            return Err(NotComposed::Inexact);
        }
        // The patch of a file without any text has no lines.
        let is_empty_file = change.created && (change.added, change.removed) == (0, 0);
        let patch = change.patch.as_deref().or(is_empty_file.then_some(""));
        let patch = patch.ok_or(NotComposed::OnlyNumbers)?;
        let (whole, left_out) = whole_hunks(patch);
        let sum = |count: fn(&WholeHunk<'_>) -> u64| whole.iter().map(count).sum::<u64>();
        let (added, removed) = (sum(|hunk| hunk.added), sum(|hunk| hunk.removed));
        let hunks: Vec<Hunk<'t>> = whole.iter().filter_map(Hunk::parse).collect();
        if hunks.is_empty() && left_out == 0 {
            return if is_empty_file && self.lines.is_empty() {
                Ok(())
            } else {
                Err(NotComposed::OnlyNumbers)
            };
        }
        let is_whole = left_out == 0 && hunks.len() == whole.len();
        if !is_whole || (added, removed) != (change.added, change.removed) {
            return Err(NotComposed::Cut);
        }
        let (mut shift, mut from) = (0_isize, 0);
        for hunk in &hunks {
            let usual = self.after_later(hunk.place);
            let expected = usual.saturating_add_signed(shift);
            let length = hunk.new.len();
            let (place, is_there) = match self.find(&hunk.new, from, expected)? {
                Some(place) => (place, true),
                // Perhaps the user has taken it back already.
                None => {
                    let place = self.find(&hunk.old, from, expected)?;
                    let place = place.filter(|place| self.is_anchored(hunk, *place));
                    (place.ok_or(NotComposed::OtherHand)?, false)
                }
            };
            // Later hunks are counted in the new text, of which so much is gone.
            let gone = length.wrapping_sub(hunk.old.len()).cast_signed();
            self.moved = place.wrapping_sub(expected).cast_signed();
            shift = place.wrapping_sub(usual).cast_signed().wrapping_sub(gone);
            if is_there {
                // A line without a line feed can only be the last of a file.
                let is_last = place + length == self.lines.len();
                if !is_last && hunk.old.last().is_some_and(|line| line.is_open) {
                    return Err(NotComposed::OtherHand);
                }
                let old = hunk.restored(&self.lines[place..place + length]);
                self.lines.splice(place..place + length, old);
            }
            from = place + hunk.old.len();
        }
        Ok(())
    }

    /// Whether the old lines of a hunk at a place are those before it. A hunk without as many lines of context
    /// on one side as on the other was at that end of the file: there, its lines alone do not tell.
    fn is_anchored(&self, hunk: &Hunk<'_>, place: usize) -> bool {
        let before = hunk.kept.iter().take_while(|kept| kept.is_some()).count();
        let after = hunk.kept.iter().rev().take_while(|kept| kept.is_some()).count();
        let is_only_context = before == hunk.old.len();
        let (before, after) = if is_only_context { hunk.context() } else { (before, after) };
        let is_at_end = place + hunk.old.len() == self.lines.len();
        (after > 0 && after >= before || is_at_end) && (before > 0 && before >= after || place == 0)
    }

    /// The place of a line after the later changes that stay.
    fn after_later(&self, place: usize) -> usize {
        self.later.iter().rev().fold(place, |place, hunks| {
            let before = hunks.iter().rev().find(|hunk| hunk.old_place + hunk.old.len() <= place);
            before.map_or(place, |hunk| place - hunk.old_place - hunk.old.len() + hunk.place + hunk.new.len())
        })
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
        for place in [expected, expected.saturating_add_signed(self.moved)] {
            if place >= from && self.has(wanted, place) {
                return Ok(Some(place));
            }
        }
        let mut found = None;
        for place in from..(self.lines.len() + 1).saturating_sub(wanted.len()) {
            if self.compared > MOST_COMPARED {
                return Err(NotComposed::TooLarge);
            }
            if self.has(wanted, place) && found.replace(place).is_some() {
                return Err(NotComposed::Ambiguous);
            }
        }
        Ok(found)
    }

    fn has(&mut self, wanted: &[Line<'_>], place: usize) -> bool {
        let Some(found) = self.lines.get(place..place.saturating_add(wanted.len())) else { return false };
        let same = found.iter().zip(wanted).take_while(|(line, wanted)| is_same(line, **wanted)).count();
        self.compared += same + 1;
        same == wanted.len()
    }
}

/// A line without its line feed and a carriage return before that.
fn content(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn is_same(line: &str, wanted: Line<'_>) -> bool {
    line.ends_with('\n') != wanted.is_open && content(line) == content(wanted.text)
}

impl<'p> Hunk<'p> {
    /// Reads the lines of a hunk.
    fn parse(hunk: &WholeHunk<'p>) -> Option<Hunk<'p>> {
        let [old_place, place] = hunk.places;
        if old_place.max(place) >= LARGEST_FILE {
            return None;
        }
        let rows = hunk.text.split_terminator('\n').skip(1);
        let mut hunk = Hunk { old_place, place, ..Hunk::default() };
        let mut last = ' ';
        for row in rows {
            let (sign, text) = row.split_at_checked(1).unwrap_or((" ", ""));
            let line = Line { text, is_open: false };
            match sign {
                "+" => hunk.new.push(line),
                "-" => {
                    hunk.old.push(line);
                    hunk.kept.push(None);
                }
                " " => {
                    hunk.kept.push(Some(hunk.new.len()));
                    hunk.old.push(line);
                    hunk.new.push(line);
                }
                _ => hunk.open(last)?,
            }
            last = sign.chars().next()?;
        }
        Some(hunk)
    }

    /// The numbers of lines of context before and after the lines that were added.
    fn context(&self) -> (usize, usize) {
        let is_kept = |place: &usize| self.kept.contains(&Some(*place));
        let count = self.new.len();
        let before = (0..count).take_while(is_kept).count();
        (before, (0..count).rev().take_while(is_kept).count())
    }

    /// Notes that the last line, which had this sign, ends without a line feed.
    fn open(&mut self, sign: char) -> Option<()> {
        if sign != '+' {
            self.old.last_mut()?.is_open = true;
        }
        if sign != '-' {
            self.new.last_mut()?.is_open = true;
        }
        Some(())
    }

    /// The old lines, in place of the new ones, which the text has as `found`.
    fn restored(&self, found: &[Cow<'p, str>]) -> Vec<Cow<'p, str>> {
        // A patch of a host may lack the carriage returns of the file.
        let lacks =
            |(line, new): (&Cow<'_, str>, &Line<'_>)| line.ends_with("\r\n") && !new.text.ends_with('\r');
        let lacks_returns = found.iter().zip(&self.new).any(lacks);
        let restore = |(line, kept): (&Line<'p>, &Option<usize>)| {
            if let Some(line) = kept.and_then(|place| found.get(place)) {
                return line.clone();
            }
            let has_return = line.text.ends_with('\r') || !lacks_returns;
            let end = if line.is_open {
                ""
            } else if has_return {
                "\n"
            } else {
                "\r\n"
            };
            Cow::Owned(format!("{}{end}", line.text))
        };
        self.old.iter().zip(&self.kept).map(restore).collect()
    }
}

/// What the new changes of a file come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Net {
    /// They cancel out.
    Nothing,
    /// The difference to the file as it was reviewed.
    Difference(String),
    /// They cannot be composed, for this reason: their patches, one after the other.
    Patches(NotComposed, String),
}

/// The net difference of a file, whose new `changes` are oldest first, from what it was to what it is `now`, or
/// why that is not known. `path` is its absolute name, `project` the root.
pub fn net(
    path: &str,
    project: &str,
    now: Result<Option<&str>, NotComposed>,
    changes: &[FileChanged],
) -> Net {
    let before = now.and_then(|now| Ok((take_back(now, changes)?, now)));
    match before {
        Ok((before, now)) if before.as_deref() == now => Net::Nothing,
        Ok((before, now)) => {
            let change = ChangedFile::between(path, before.as_deref(), now);
            Net::Difference(complete_within(usize::MAX, path, project, change.change, &change.hunks))
        }
        Err(reason) => {
            let is_over_new = changes.iter().skip_while(|change| change.stays).any(|change| change.stays);
            let reason = match reason {
                NotComposed::OtherHand | NotComposed::Ambiguous if is_over_new => NotComposed::Between,
                reason => reason,
            };
            let mut text = format!("# Not composed: {}\n", reason.as_str());
            for FileChanged { file, .. } in changes.iter().filter(|change| !change.stays) {
                let FileEntry { added, removed, created, deleted, .. } = *file;
                match &file.patch {
                    Some(patch) => text.push_str(patch),
                    None => {
                        let kind = FileChange { created, deleted, ..FileChange::default() };
                        text.push_str(&complete(path, project, kind, ""));
                        text.push_str(&format!("# Only numbers: +{added} -{removed}\n"));
                    }
                }
            }
            Net::Patches(reason, text)
        }
    }
}
