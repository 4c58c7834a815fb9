//! The changes of files in calls of Claude Code and their results.
//!
//! A result of the main agent has a patch, whose numbers are right. Its lines show each leading tab as two
//! spaces, so the text comes from the whole file where the result has it, else from the texts of the call. A
//! subagent's result has no patch; the two texts of its call are compared.

use std::borrow::Cow;
use std::collections::HashMap;

use super::commands::{PatchHunk, hunks};
use crate::field;
use todo_write::events::edit::{self, Edit};
use todo_write::events::patch::{ChangedFile, FileChange};
use todo_write::list::raw::Raw;
use todo_write::text::lines::{MOST_LINES, compare, compare_within, count_lines, lines};

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
    pub(crate) fn result(self, fields: &Raw<'_>, text: &str) -> ChangedFile {
        // The second is the text before the edits of `MultiEdit`.
        let old = ["originalFile", "originalFileContents"].iter().find_map(|key| fields.get(key)?.as_str());
        // Its tabs are shown as spaces.
        let patch = hunks(fields.get("structuredPatch"));
        let kind = field::text(fields, "type");
        match (&self.content, &patch) {
            (Some(content), Some(hunks)) if kind == "update" => {
                self.patched(hunks, old.zip(Some(content.as_str())))
            }
            (Some(content), _) => {
                let is_update = kind.is_empty() && text.contains(" has been updated");
                if !is_update {
                    return ChangedFile::between(&self.path, None, Some(content));
                }
                ChangedFile { path: self.path.clone(), added: count_lines(content), ..ChangedFile::default() }
            }
            (None, Some(hunks)) => {
                let new = old.and_then(|old| edit::apply(old, &self.edits).ok());
                self.patched(hunks, old.zip(new.as_deref()))
            }
            (None, None) => self.compared(),
        }
    }

    /// The change with the numbers of these hunks, and with the text of the whole file before and after it, or
    /// else of the hunks.
    fn patched(&self, hunks: &[PatchHunk<'_>], texts: Option<(&str, &str)>) -> ChangedFile {
        let hunks = || hunks.iter().filter(|hunk| hunk.is_whole());
        let count =
            |sign| hunks().flat_map(|hunk| &hunk.lines).filter(|line| line.starts_with(sign)).count() as u64;
        let (text, inexact) = match texts {
            Some((old, new)) => (compare(old, new).hunks, false),
            None => Originals::of(&self.edits).restore(hunks()),
        };
        let change = FileChange { inexact, ..FileChange::default() };
        ChangedFile { path: self.path.clone(), added: count('+'), removed: count('-'), change, hunks: text }
    }

    /// The change by the texts of the call alone. Their place in the file is unknown.
    fn compared(self) -> ChangedFile {
        let mut file = ChangedFile { path: self.path, ..ChangedFile::default() };
        file.change.inexact = true;
        let mut left = MOST_LINES;
        for Edit { old, new, .. } in &self.edits {
            let change = compare_within(&mut left, old, new);
            file.added += change.added;
            file.removed += change.removed;
            file.hunks += &change.hunks;
        }
        file
    }
}

fn text(input: &Raw<'_>, key: &str) -> Option<String> {
    Some(input.get(key)?.as_str()?.to_owned())
}

fn read_edit(input: &Raw<'_>) -> Option<Edit> {
    let all = matches!(input.get("replace_all"), Some(Raw::Bool(true)));
    Some(Edit { old: text(input, "old_string").unwrap_or_default(), new: text(input, "new_string")?, all })
}

/// The lines of the texts in a call, by the forms in which a patch shows them.
struct Originals<'t> {
    removed: HashMap<Cow<'t, str>, &'t str>,
    added: HashMap<Cow<'t, str>, &'t str>,
    is_inexact: bool,
}

impl<'t> Originals<'t> {
    fn of(edits: &'t [Edit]) -> Originals<'t> {
        Originals {
            removed: by_shown_form(edits.iter().flat_map(|edit| lines(&edit.old))),
            added: by_shown_form(edits.iter().flat_map(|edit| lines(&edit.new))),
            is_inexact: false,
        }
    }

    /// Hunks as unified text, and whether some lines may differ from the file's.
    fn restore<'h>(mut self, hunks: impl Iterator<Item = &'h PatchHunk<'h>>) -> (String, bool) {
        let mut text = String::new();
        for hunk in hunks {
            let count = |other: char| hunk.lines.iter().filter(|line| line.starts_with([' ', other])).count();
            let numbers = [hunk.old_start, count('-'), hunk.new_start, count('+')];
            hunk.write(&mut text, numbers, |sign, line| self.line(sign, line));
        }
        (text, self.is_inexact)
    }

    /// The true text of a line that is shown as `shown`.
    fn line<'s>(&mut self, sign: char, shown: &'s str) -> Cow<'s, str>
    where
        't: 's,
    {
        let call = if sign == '+' { [&self.added, &self.removed] } else { [&self.removed, &self.added] };
        let found = call.into_iter().find_map(|lines| lines.get(shown.trim_end_matches('\r')));
        // Only leading spaces may stand for tabs.
        self.is_inexact |= found.is_none() && shown.starts_with("  ");
        Cow::Borrowed(found.map_or(shown, |line| line.trim_end_matches('\n')))
    }
}

/// The first line of each form in which a patch may show one: as it is, and with each leading tab as two
/// spaces. Without a table, a long patch would be compared with each line of a long text.
fn by_shown_form<'t>(lines: impl Iterator<Item = &'t str>) -> HashMap<Cow<'t, str>, &'t str> {
    let mut table = HashMap::new();
    for line in lines {
        let shown = line.trim_end_matches(['\n', '\r']);
        let rest = shown.trim_start_matches('\t');
        let with_spaces = "  ".repeat(shown.len() - rest.len()) + rest;
        table.entry(Cow::Borrowed(shown)).or_insert(line);
        table.entry(Cow::Owned(with_spaces)).or_insert(line);
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
        assert_eq!((file.removed, file.added), (5 * 1998 + 7 * 2000, 5 * 1998 + 7 * 2000));
    }

    /// It would take minutes if each line of the patch were compared with each of the text.
    #[test]
    fn a_long_patch_finds_the_lines_of_a_long_text() {
        let text: String = (0..40_000).map(|n| format!("\t{n}\n")).collect();
        let lines: Vec<String> = (0..40_000).rev().map(|n| format!("+  {n}")).collect();
        let hunk = serde_json::json!({"oldStart": 1, "newStart": 1, "lines": lines});
        let fields = serde_json::json!({"structuredPatch": [hunk]}).to_string();
        let file = replacing(String::new(), text, 1).result(&Raw::parse(&fields).unwrap(), "");
        assert!(file.hunks.contains("+\t39999\n"), "the line's own tab");
    }
}
