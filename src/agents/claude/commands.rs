//! What a command of Claude Code changed, as its result tells it.
//!
//! The program compares the repository before and after a command. It shows up to five files, and counts the
//! others. Its hunks have the file's own tabs, but no mark for a missing line feed at the end of a file.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Deserialize;

use super::line::PatchHunk;
use crate::agents::Effect;
use crate::events::patch::{ChangedFile, FileChange};

/// Maximum number of files of a command.
const MOST_FILES: usize = 100;
/// Maximum number of bytes of all hunks of a command.
const LARGEST: usize = 1024 * 1024;

/// `bashEditDiff` of a result.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CommandDiff<'a> {
    /// The files that are shown.
    #[serde(borrow)]
    files: Vec<CommandFile<'a>>,
    /// The number of those that are not.
    more_files: u64,
    /// Whether the repository could not be compared, or not all of it.
    unavailable: bool,
    /// Whether it was not compared.
    skipped: bool,
    /// Whether other commands ran at the same time.
    shared: bool,
}

/// One changed file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CommandFile<'a> {
    #[serde(borrow)]
    file_path: Cow<'a, str>,
    #[serde(borrow)]
    hunks: Vec<PatchHunk<'a>>,
    created: bool,
    deleted: bool,
}

impl CommandDiff<'_> {
    /// Adds the changes to the effect of the command.
    pub(super) fn add_to(&self, effect: &mut Effect) {
        let mut left = LARGEST;
        let named = self.files.iter().filter(|file| !file.file_path.is_empty());
        effect.files.extend(named.take(MOST_FILES).map_while(|file| file.changed(&mut left)));
        let is_cut = effect.files.len() < self.files.len();
        effect.more_files = is_cut || self.more_files > 0 || self.unavailable || self.skipped;
        effect.others_wrote = self.shared;
    }
}

impl CommandFile<'_> {
    /// The change, whose hunks take their bytes from `left`; none if they are too many.
    fn changed(&self, left: &mut usize) -> Option<ChangedFile> {
        let size: usize = self.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.len() + 1).sum();
        *left = left.checked_sub(size)?;
        let Self { created, deleted, .. } = *self;
        let inexact = self.hunks.iter().any(is_without_end);
        let change = FileChange { created, deleted, inexact, by_command: true };
        let mut hunks = String::new();
        for PatchHunk { old_start, old_lines, new_start, new_lines, lines } in &self.hunks {
            // A line with a line feed in it would be several lines, perhaps the header of another file.
            if lines.iter().any(|line| line.contains('\n')) {
                continue;
            }
            // Of a file of one line, the program says that its absent side begins at line 1.
            let start =
                |start: usize, lines: usize| if lines == 0 && (created || deleted) { 0 } else { start };
            let (old_start, new_start) = (start(*old_start, *old_lines), start(*new_start, *new_lines));
            let _ = writeln!(hunks, "@@ -{old_start},{old_lines} +{new_start},{new_lines} @@");
            lines.iter().for_each(|line| hunks.extend([line.as_ref(), "\n"]));
        }
        Some(ChangedFile::with_hunks(&self.file_path, hunks, change))
    }
}

/// Whether a line is removed and added again: only the line feed after it is new, or gone.
fn is_without_end(hunk: &PatchHunk<'_>) -> bool {
    let side = |sign| hunk.lines.iter().filter_map(move |line| line.strip_prefix(sign));
    let removed = side('-').next_back();
    removed.is_some() && [side('+').next(), side('+').next_back()].contains(&removed)
}
