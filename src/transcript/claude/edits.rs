//! The changes of files in calls of Claude Code and their results.
//!
//! A result of the main agent has a patch whose lines show each leading tab as two spaces. The numbers
//! are right, so only the text is restored: from the whole file where the result has it, else from the
//! texts of the call. A subagent's result has no patch; the two texts of its call are compared.

use std::borrow::Cow;

use super::line::{PatchHunk, ToolUseResult};
use crate::patch::{FileChange, Hunk, compare, count_lines, lines};
use crate::raw::Raw;
use crate::recording::ChangedFile;

/// The arguments of a call that changes a file.
#[derive(Debug)]
pub(crate) struct FileEdit {
    path: String,
    /// `Write`: the whole text.
    content: Option<String>,
    /// `Edit` and `MultiEdit`: old and new texts, and whether all occurrences are replaced.
    edits: Vec<(String, String, bool)>,
}

impl FileEdit {
    /// Reads the arguments of a call of this tool; none for another tool.
    pub(crate) fn read(tool: &str, input: &Raw<'_>) -> Option<FileEdit> {
        let path = text(input, "file_path")?;
        match tool {
            "Write" => Some(FileEdit { path, content: Some(text(input, "content")?), edits: Vec::new() }),
            "Edit" => Some(FileEdit { path, content: None, edits: vec![edit(input)?] }),
            "MultiEdit" => {
                let Some(Raw::List(edits)) = input.get("edits") else { return None };
                Some(FileEdit { path, content: None, edits: edits.iter().filter_map(edit).collect() })
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
                let new = old.and_then(|old| self.applied(old));
                restore(&self.path, hunks, old, new.as_deref(), &self.edits)
            }
            (None, None) => self.compared(),
        }
    }

    /// The text after the edits; none if they do not apply.
    fn applied(&self, old: &str) -> Option<String> {
        let mut text = old.to_owned();
        for (old, new, all) in &self.edits {
            if old.is_empty() {
                text = if text.is_empty() { new.clone() } else { return None };
                continue;
            }
            // An empty text also takes the line feed with it.
            let line = format!("{old}\n");
            let takes_line = new.is_empty() && !old.ends_with('\n') && text.contains(&line);
            let gone = if takes_line { &line } else { old };
            if !text.contains(gone.as_str()) {
                return None;
            }
            text = if *all { text.replace(gone, new) } else { text.replacen(gone, new, 1) };
        }
        Some(text)
    }

    /// The change by the texts of the call alone. Their place in the file is unknown.
    fn compared(self) -> ChangedFile {
        let mut file = ChangedFile { path: self.path, ..ChangedFile::default() };
        file.change.inexact = true;
        for (old, new, _) in &self.edits {
            let change = compare(old, new);
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

fn edit(input: &Raw<'_>) -> Option<(String, String, bool)> {
    let all = matches!(input.get("replace_all"), Some(Raw::Bool(true)));
    Some((text(input, "old_string").unwrap_or_default(), text(input, "new_string")?, all))
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
    /// Lines of the texts in the call.
    removed: Vec<&'t str>,
    added: Vec<&'t str>,
    is_inexact: bool,
}

fn restore(
    path: &str,
    hunks: &[PatchHunk<'_>],
    old: Option<&str>,
    new: Option<&str>,
    edits: &[(String, String, bool)],
) -> ChangedFile {
    let mut originals = Originals {
        old: old.map(lines).unwrap_or_default(),
        new: new.map(lines).unwrap_or_default(),
        removed: edits.iter().flat_map(|(old, ..)| lines(old)).collect(),
        added: edits.iter().flat_map(|(_, new, _)| lines(new)).collect(),
        is_inexact: false,
    };
    let mut text = String::new();
    let (mut added, mut removed) = (0, 0);
    for hunk in hunks {
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
        let calls = call.into_iter().flatten().find(|line| is_shown_as(line, shown));
        let text = calls.map_or(shown, |line| line.trim_end_matches('\n'));
        // Only leading spaces may stand for tabs.
        self.is_inexact |= calls.is_none() && shown.starts_with("  ");
        Cow::Owned(format!("{text}\n"))
    }
}

/// Whether a patch may show this line so: with each leading tab as two spaces.
fn is_shown_as(line: &str, shown: &str) -> bool {
    let (line, shown) = (line.trim_end_matches(['\n', '\r']), shown.trim_end_matches('\r'));
    let rest = line.trim_start_matches('\t');
    let tabs = line.len() - rest.len();
    line == shown
        || shown.len() == 2 * tabs + rest.len()
            && shown.ends_with(rest)
            && shown.bytes().take(2 * tabs).all(|byte| byte == b' ')
}
