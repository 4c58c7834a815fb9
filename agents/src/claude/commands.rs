//! What a command of Claude Code changed in files and in Git, as its result tells it.
//!
//! The program compares the repository before and after a command. It shows up to five files, and counts the
//! others. Its hunks have the file's own tabs, but no mark for a missing line feed at the end of a file.

use std::borrow::Cow;
use std::fmt::Write;

use crate::field::{count, is_true, text};
use todo_write::events::git::{GitKind, GitOperation};
use todo_write::events::patch::{ChangedFile, FileChange};
use todo_write::list::raw::Raw;
use todo_write::text::beginning;
use todo_write::wire::bounds::CALL;
use todo_write::wire::event::Effect;

const MOST_FILES_OF_COMMAND: usize = 100;

/// A part of a patch in a result.
#[derive(Debug)]
pub(crate) struct PatchHunk<'a> {
    pub old_start: usize,
    pub old_lines: usize,
    pub new_start: usize,
    pub new_lines: usize,
    /// Its lines with their signs.
    pub lines: Vec<&'a str>,
}

/// The parts of a patch, if there is one.
pub(super) fn hunks<'r>(patch: Option<&'r Raw<'r>>) -> Option<Vec<PatchHunk<'r>>> {
    let Some(Raw::List(hunks)) = patch else { return None };
    let hunk = |hunk: &'r Raw<'r>| {
        let Some(Raw::List(lines)) = hunk.get("lines") else { return None };
        // None is so high that adding the lines of a patch is not safe.
        let number =
            |key| usize::try_from(count(hunk, key).min(i32::MAX.cast_unsigned().into())).unwrap_or_default();
        let [old_start, old_lines] = ["oldStart", "oldLines"].map(number);
        let [new_start, new_lines] = ["newStart", "newLines"].map(number);
        let lines = lines.iter().filter_map(Raw::as_str).collect();
        Some(PatchHunk { old_start, old_lines, new_start, new_lines, lines })
    };
    Some(hunks.iter().filter_map(hunk).collect())
}

impl PatchHunk<'_> {
    /// Whether each of its lines is one. With a line feed in it, it would be several, perhaps the header of another file.
    pub(super) fn is_whole(&self) -> bool {
        !self.lines.iter().any(|line| line.contains('\n'))
    }

    /// Writes it as unified text with these starts and numbers of lines. `line` gives the text of a line behind its sign.
    pub(super) fn write<'l>(
        &'l self,
        to: &mut String,
        [old_start, old_lines, new_start, new_lines]: [usize; 4],
        mut line: impl FnMut(char, &'l str) -> Cow<'l, str>,
    ) {
        let _ = writeln!(to, "@@ -{old_start},{old_lines} +{new_start},{new_lines} @@");
        for text in &self.lines {
            match text.chars().next() {
                Some(sign @ (' ' | '+' | '-')) => {
                    to.push(sign);
                    to.push_str(&line(sign, &text[1..]));
                }
                // Of an empty line, the sign may be left out.
                None => {}
                Some(_) => to.push_str("\\ No newline at end of file"),
            }
            to.push('\n');
        }
    }
}

/// Adds the operations of `gitOperation` of a result to the commits that are known by what the command printed, which
/// has their titles.
pub(super) fn add_operations(operation: &Raw<'_>, known: &mut Vec<GitOperation>) {
    let text = |part: &str, key: &str| operation.get(part)?.get(key)?.as_str();
    let word = |part: &str, key: &str| text(part, key).map(|text| beginning(text, 40));
    if let Some(told) = text("commit", "sha").and_then(GitOperation::commit) {
        let place = known.iter().position(|one| one.kind == GitKind::Commit && one.id == told.id);
        let place = place.unwrap_or_else(|| {
            known.push(told);
            known.len() - 1
        });
        known[place].action = word("commit", "kind").filter(|kind| kind != "committed");
    }
    if let Some(branch) = text("push", "branch") {
        known.push(GitOperation::of_branch(GitKind::Push, branch));
    }
    if let Some(branch) = text("branch", "ref") {
        let is_rebase = text("branch", "action") == Some("rebased");
        let kind = if is_rebase { GitKind::Rebase } else { GitKind::Merge };
        known.push(GitOperation::of_branch(kind, branch));
    }
    if let Some(fields @ Raw::Object(_)) = operation.get("pr") {
        let number = fields.get("number").and_then(|number| number.to_json().as_u64());
        let told = text("pr", "url").and_then(GitOperation::pull_request);
        let told = told.unwrap_or_else(|| GitOperation { number, ..GitOperation::new(GitKind::PullRequest) });
        known.push(GitOperation { action: word("pr", "action"), ..told });
    }
}

/// Adds `bashEditDiff` of a result: the files that are shown. The number of `moreFiles` is not; the repository was not
/// compared as a whole if it was `unavailable` or `skipped`, and other commands ran meanwhile if it is `shared`.
pub(super) fn add_diff(diff: &Raw<'_>, effect: &mut Effect) {
    let files = if let Some(Raw::List(files)) = diff.get("files") { &files[..] } else { &[] };
    let mut left = CALL;
    let named = files.iter().filter(|file| !text(file, "filePath").is_empty());
    effect.files.extend(named.take(MOST_FILES_OF_COMMAND).map_while(|file| changed(file, &mut left)));
    let is_cut = effect.files.len() < files.len();
    let is_partial = ["unavailable", "skipped"].iter().any(|mark| is_true(diff, mark));
    effect.more_files = is_cut || is_partial || count(diff, "moreFiles") > 0;
    effect.others_wrote = is_true(diff, "shared");
}

/// The change of a file, whose hunks take their bytes from `left`; none if they are too many.
fn changed(file: &Raw<'_>, left: &mut usize) -> Option<ChangedFile> {
    let hunks = hunks(file.get("hunks")).unwrap_or_default();
    let size: usize = hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.len() + 1).sum();
    *left = left.checked_sub(size)?;
    let [created, deleted] = ["created", "deleted"].map(|mark| is_true(file, mark));
    let inexact = hunks.iter().any(is_without_end);
    let change = FileChange { created, deleted, inexact, by_command: true };
    let mut all = String::new();
    for hunk in hunks.iter().filter(|hunk| hunk.is_whole()) {
        // Of a file of one line, the program says that its absent side begins at line 1.
        let start = |start: usize, lines: usize| if lines == 0 && (created || deleted) { 0 } else { start };
        let PatchHunk { old_start, old_lines, new_start, new_lines, .. } = *hunk;
        let numbers = [start(old_start, old_lines), old_lines, start(new_start, new_lines), new_lines];
        hunk.write(&mut all, numbers, |_, line| line.into());
    }
    Some(ChangedFile::with_hunks(text(file, "filePath"), all, change))
}

/// Whether a line is removed and added again: only the line feed after it is new, or gone.
fn is_without_end(hunk: &PatchHunk<'_>) -> bool {
    let side = |sign| hunk.lines.iter().filter_map(move |line| line.strip_prefix(sign));
    let removed = side('-').next_back();
    removed.is_some() && [side('+').next(), side('+').next_back()].contains(&removed)
}
