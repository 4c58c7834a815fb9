//! The changes of files in calls of Claude Code and their results.
//!
//! A result of the main agent has a patch whose lines show each leading tab as two spaces. The numbers
//! are right, so only the text is restored: from the whole file where the result has it, else from the
//! texts of the call. A subagent's result has no patch; the two texts of its call are compared.

use std::borrow::Cow;
use std::collections::HashMap;

use super::line::{PatchHunk, ToolUseResult};
use crate::events::edit::{self, Edit};
use crate::events::patch::{ALL_STEPS, FileChange, Hunk, compare_within, count_lines, lines};
use crate::events::policy::ChangedFile;
use crate::list::raw::Raw;

/// The arguments of a call that changes a file.
#[derive(Debug)]
pub(crate) struct FileEdit {
    path: String,
    /// `Write`: the whole text.
    content: Option<String>,
    /// `Edit` and `MultiEdit`.
    edits: Vec<Edit>,
}

impl FileEdit {
    /// Reads the arguments of a call of this tool; none for another tool.
    pub(crate) fn read(tool: &str, input: &Raw<'_>) -> Option<FileEdit> {
        let path = text(input, "file_path")?;
        match tool {
            "Write" => Some(FileEdit { path, content: Some(text(input, "content")?), edits: Vec::new() }),
            "Edit" => Some(FileEdit { path, content: None, edits: vec![read_edit(input)?] }),
            "MultiEdit" => {
                let Some(Raw::List(edits)) = input.get("edits") else { return None };
                Some(FileEdit { path, content: None, edits: edits.iter().filter_map(read_edit).collect() })
            }
            _ => None,
        }
    }

    /// The changed file after a successful call, whose result has these fields and this text.
    pub(crate) fn result(self, fields: &ToolUseResult<'_>, text: &str) -> ChangedFile {
        let old = fields.original_file.as_deref().or(fields.original_file_contents.as_deref());
        match (&self.content, &fields.structured_patch) {
            (Some(content), Some(hunks)) if fields.kind.as_deref() == Some("update") => {
                restore(&self.path, hunks, old, Some(content), &self.edits)
            }
            (Some(content), _) => {
                let is_update = fields.kind.is_none() && text.contains(" has been updated");
                if !is_update {
                    return ChangedFile::between(&self.path, None, Some(content));
                }
                ChangedFile { path: self.path.clone(), added: count_lines(content), ..ChangedFile::default() }
            }
            (None, Some(hunks)) => {
                let new = old.and_then(|old| edit::apply(old, &self.edits).ok());
                restore(&self.path, hunks, old, new.as_deref(), &self.edits)
            }
            (None, None) => self.compared(),
        }
    }

    /// The change by the texts of the call alone. Their place in the file is unknown.
    fn compared(self) -> ChangedFile {
        let mut file = ChangedFile { path: self.path, ..ChangedFile::default() };
        file.change.inexact = true;
        let mut steps = ALL_STEPS;
        for Edit { old, new, .. } in &self.edits {
            let change = compare_within(&mut steps, old, new);
            file.added += change.added;
            file.removed += change.removed;
            file.hunks += &change.hunks;
        }
        file
    }
}

fn text(input: &Raw<'_>, key: &str) -> Option<String> {
    match input.get(key) {
        Some(Raw::Text(text)) => Some(text.to_string()),
        _ => None,
    }
}

fn read_edit(input: &Raw<'_>) -> Option<Edit> {
    let all = matches!(input.get("replace_all"), Some(Raw::Bool(true)));
    Some(Edit { old: text(input, "old_string").unwrap_or_default(), new: text(input, "new_string")?, all })
}

/// A line of a patch with its true text.
struct Restored<'t> {
    sign: char,
    text: Cow<'t, str>,
}

/// The texts from which the lines of a patch are restored.
struct Originals<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    /// The lines of the texts in the call, by the forms in which a patch shows them.
    removed: HashMap<Cow<'t, str>, &'t str>,
    added: HashMap<Cow<'t, str>, &'t str>,
    is_inexact: bool,
}

fn restore(
    path: &str,
    hunks: &[PatchHunk<'_>],
    old: Option<&str>,
    new: Option<&str>,
    edits: &[Edit],
) -> ChangedFile {
    let mut originals = Originals {
        old: old.map(lines).unwrap_or_default(),
        new: new.map(lines).unwrap_or_default(),
        removed: by_shown_form(edits.iter().flat_map(|edit| lines(&edit.old))),
        added: by_shown_form(edits.iter().flat_map(|edit| lines(&edit.new))),
        is_inexact: false,
    };
    let mut text = String::new();
    let (mut added, mut removed) = (0, 0);
    // A line with a line feed in it would be several lines, perhaps the header of another file.
    let is_whole = |hunk: &&PatchHunk<'_>| !hunk.lines.iter().any(|line| line.contains('\n'));
    for hunk in hunks.iter().filter(is_whole) {
        let restored = originals.hunk(hunk);
        added += restored.iter().filter(|line| line.sign == '+').count() as u64;
        removed += restored.iter().filter(|line| line.sign == '-').count() as u64;
        let is_empty = |sign: char| restored.iter().all(|line| line.sign == sign);
        // An empty range names the line before it.
        let old = hunk.old_start.saturating_sub(usize::from(!is_empty('+')));
        let new = hunk.new_start.saturating_sub(usize::from(!is_empty('-')));
        let lines = restored.iter().map(|line| (line.sign, line.text.as_ref()));
        Hunk { old, new, lines }.write(&mut text);
    }
    let change = FileChange { inexact: originals.is_inexact, ..FileChange::default() };
    ChangedFile { path: path.to_owned(), added, removed, change, hunks: text }
}

impl<'t> Originals<'t> {
    fn hunk(&mut self, hunk: &PatchHunk<'_>) -> Vec<Restored<'t>> {
        let (mut old, mut new) = (hunk.old_start.saturating_sub(1), hunk.new_start.saturating_sub(1));
        let mut restored: Vec<Restored<'t>> = Vec::new();
        for line in &hunk.lines {
            let Some(sign @ (' ' | '+' | '-')) = line.chars().next() else {
                // "\ No newline at end of file"
                if let Some(last) = restored.last_mut() {
                    last.text = Cow::Owned(last.text.trim_end_matches('\n').to_owned());
                }
                continue;
            };
            restored.push(Restored { sign, text: self.line(sign, &line[1..], old, new) });
            old += usize::from(sign != '+');
            new += usize::from(sign != '-');
        }
        restored
    }

    /// The true text of a line that is shown as `shown`.
    fn line(&mut self, sign: char, shown: &str, old: usize, new: usize) -> Cow<'t, str> {
        let from_old = self.old.get(old).filter(|line| sign != '+' && is_shown_as(line, shown));
        let from_new = || self.new.get(new).filter(|line| sign != '-' && is_shown_as(line, shown));
        if let Some(line) = from_old.or_else(from_new) {
            return Cow::Borrowed(line);
        }
        let call = if sign == '+' { [&self.added, &self.removed] } else { [&self.removed, &self.added] };
        let found = call.into_iter().find_map(|lines| lines.get(shown.trim_end_matches('\r')));
        let text = found.map_or(shown, |line| line.trim_end_matches('\n'));
        // Only leading spaces may stand for tabs.
        self.is_inexact |= found.is_none() && shown.starts_with("  ");
        Cow::Owned(format!("{text}\n"))
    }
}

/// Whether a patch may show this line so.
fn is_shown_as(line: &str, shown: &str) -> bool {
    let (line, shown) = (line.trim_end_matches(['\n', '\r']), shown.trim_end_matches('\r'));
    // No form is shorter than its line.
    line.len() <= shown.len() && shown_forms(line).iter().any(|form| form == shown)
}

/// The forms in which a patch may show a line: as it is, and with each leading tab as two spaces.
fn shown_forms(line: &str) -> [Cow<'_, str>; 2] {
    let line = line.trim_end_matches(['\n', '\r']);
    let rest = line.trim_start_matches('\t');
    let tabs = line.len() - rest.len();
    let with_spaces = if tabs == 0 { Cow::Borrowed(line) } else { Cow::Owned("  ".repeat(tabs) + rest) };
    [Cow::Borrowed(line), with_spaces]
}

/// The first line of each shown form. Without a table, a long patch would be compared with each line of a
/// long text.
fn by_shown_form<'t>(lines: impl Iterator<Item = &'t str>) -> HashMap<Cow<'t, str>, &'t str> {
    let mut table = HashMap::new();
    for line in lines {
        for form in shown_forms(line) {
            table.entry(form).or_insert(line);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacing(old: String, new: String, count: usize) -> FileEdit {
        FileEdit { path: "/p/a".into(), content: None, edits: vec![Edit { old, new, all: false }; count] }
    }

    #[test]
    fn the_texts_of_many_edits_are_compared_within_a_bound_of_all() {
        let side = |line: &str| format!("{0}same\n{0}same\n{0}", line.repeat(666));
        let file = replacing(side("old\n"), side("new\n"), 12).compared();
        // Beyond the bound, the lines that are the same are replaced, too.
        assert_eq!((file.removed, file.added), (10 * 1998 + 2 * 2000, 10 * 1998 + 2 * 2000));
    }

    /// It would take minutes if each line of the patch were compared with each of the text.
    #[test]
    fn a_long_patch_finds_the_lines_of_a_long_text() {
        let text: String = (0..40_000).map(|n| format!("\t{n}\n")).collect();
        let lines = (0..40_000).rev().map(|n| format!("+  {n}").into()).collect();
        let hunk = PatchHunk { old_start: 1, new_start: 1, lines };
        let fields = ToolUseResult { structured_patch: Some(vec![hunk]), ..ToolUseResult::default() };
        let file = replacing(String::new(), text, 1).result(&fields, "");
        assert!(file.hunks.contains("+\t39999\n"), "the line's own tab");
    }
}
