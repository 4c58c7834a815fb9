//! The changes of files in calls of Claude Code and their results.
//!
//! A result of the main agent has a patch, whose numbers are right. Its lines show each leading tab as two
//! spaces, so the text comes from the whole file where the result has it, else from the texts of the call. A
//! subagent's result has no patch; the two texts of its call are compared.
//!
//! Of a command, the program compares the repository before and after it. It shows up to five files, and counts the
//! others. These hunks have the file's own tabs, but no mark for a missing line feed at the end of a file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

use crate::field::{self, count, is_true};
use todo_write::events::edit::{self, Edit};
use todo_write::events::payload::FileEntry;
use todo_write::list::raw::Raw;
use todo_write::text::lines::{MOST_LINES, compare, compare_within, count_lines, lines};
use todo_write::wire::bounds::{CALL, ENTRIES};
use todo_write::wire::event::Effect;

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
    pub(crate) fn result(self, fields: &Raw<'_>, text: &str) -> FileEntry {
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
                    return FileEntry::between(&self.path, None, Some(content));
                }
                FileEntry { path: self.path.clone(), added: count_lines(content), ..FileEntry::default() }
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
    fn patched(&self, hunks: &[PatchHunk<'_>], texts: Option<(&str, &str)>) -> FileEntry {
        let hunks = || hunks.iter().filter(|hunk| hunk.is_whole());
        let count =
            |sign| hunks().flat_map(|hunk| &hunk.lines).filter(|line| line.starts_with(sign)).count() as u64;
        let (text, inexact) = match texts {
            Some((old, new)) => (compare(old, new).hunks, false),
            None => Originals::of(&self.edits).restore(hunks()),
        };
        let (path, added, removed) = (self.path.clone(), count('+'), count('-'));
        FileEntry { path, added, removed, inexact, patch: Some(text), ..FileEntry::default() }
    }

    /// The change by the texts of the call alone. Their place in the file is unknown.
    fn compared(self) -> FileEntry {
        let mut file = FileEntry { path: self.path, inexact: true, ..FileEntry::default() };
        let hunks = file.patch.get_or_insert_default();
        let mut left = MOST_LINES;
        for Edit { old, new, .. } in &self.edits {
            let change = compare_within(&mut left, old, new);
            file.added += change.added;
            file.removed += change.removed;
            hunks.push_str(&change.hunks);
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

/// A part of a patch in a result.
#[derive(Debug)]
struct PatchHunk<'a> {
    /// The first line and the number of lines before the change, and those after it.
    numbers: [usize; 4],
    /// Its lines with their signs.
    lines: Vec<&'a str>,
}

/// The parts of a patch, if there is one.
fn hunks<'r>(patch: Option<&'r Raw<'r>>) -> Option<Vec<PatchHunk<'r>>> {
    let Some(Raw::List(hunks)) = patch else { return None };
    let hunk = |hunk: &'r Raw<'r>| {
        let Some(Raw::List(lines)) = hunk.get("lines") else { return None };
        // None is so high that adding the lines of a patch is not safe.
        let number =
            |key| usize::try_from(count(hunk, key).min(i32::MAX.cast_unsigned().into())).unwrap_or_default();
        let numbers = ["oldStart", "oldLines", "newStart", "newLines"].map(number);
        Some(PatchHunk { numbers, lines: lines.iter().filter_map(Raw::as_str).collect() })
    };
    Some(hunks.iter().filter_map(hunk).collect())
}

impl PatchHunk<'_> {
    /// Whether each of its lines is one. With a line feed in it, it would be several, perhaps the header of another file.
    fn is_whole(&self) -> bool {
        !self.lines.iter().any(|line| line.contains('\n'))
    }

    /// Writes it as unified text with these starts and numbers of lines. `line` gives the text of a line behind its sign.
    fn write<'l>(
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

/// Adds `bashEditDiff` of a result: the files that are shown. The number of `moreFiles` is not; the repository was not
/// compared as a whole if it was `unavailable` or `skipped`, and other commands ran meanwhile if it is `shared`.
pub(super) fn add_diff(diff: &Raw<'_>, effect: &mut Effect) {
    let files = if let Some(Raw::List(files)) = diff.get("files") { &files[..] } else { &[] };
    let mut left = CALL;
    let named = files.iter().filter(|file| !field::text(file, "filePath").is_empty());
    effect.files.extend(named.take(ENTRIES).map_while(|file| changed(file, &mut left)));
    let is_cut = effect.files.len() < files.len();
    let is_partial = ["unavailable", "skipped"].iter().any(|mark| is_true(diff, mark));
    effect.more_files = is_cut || is_partial || count(diff, "moreFiles") > 0;
    effect.others_wrote = is_true(diff, "shared");
}

/// The change of a file, whose hunks take their bytes from `left`; none if they are too many.
fn changed(file: &Raw<'_>, left: &mut usize) -> Option<FileEntry> {
    let hunks = hunks(file.get("hunks")).unwrap_or_default();
    let size: usize = hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.len() + 1).sum();
    *left = left.checked_sub(size)?;
    let [created, deleted] = ["created", "deleted"].map(|mark| is_true(file, mark));
    let inexact = hunks.iter().any(is_without_end);
    let mut all = String::new();
    for hunk in hunks.iter().filter(|hunk| hunk.is_whole()) {
        // Of a file of one line, the program says that its absent side begins at line 1.
        let start = |start: usize, lines: usize| if lines == 0 && (created || deleted) { 0 } else { start };
        let [old_start, old_lines, new_start, new_lines] = hunk.numbers;
        let numbers = [start(old_start, old_lines), old_lines, start(new_start, new_lines), new_lines];
        hunk.write(&mut all, numbers, |_, line| line.into());
    }
    let entry = FileEntry::with_hunks(field::text(file, "filePath"), all);
    Some(FileEntry { created, deleted, inexact, by_command: true, ..entry })
}

/// Whether a line is removed and added again: only the line feed after it is new, or gone.
fn is_without_end(hunk: &PatchHunk<'_>) -> bool {
    let side = |sign| hunk.lines.iter().filter_map(move |line| line.strip_prefix(sign));
    let removed = side('-').next_back();
    removed.is_some() && [side('+').next(), side('+').next_back()].contains(&removed)
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
            let numbers = [hunk.numbers[0], count('-'), hunk.numbers[2], count('+')];
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
        assert!(file.patch.unwrap().contains("+\t39999\n"), "the line's own tab");
    }
}
