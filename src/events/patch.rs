//! Changed files and their patches, unified differences as `git apply` takes them.
//!
//! A patch is complete: it has its own header, so that patches of successive edits can be joined.

use std::fmt::Write;

use crate::events::payload::FileEntry;
use crate::text::lines::{TextChange, WholeHunk, compare, whole_hunks};

/// Maximum number of bytes of a recorded patch.
pub const LONGEST: usize = 64 * 1024;

impl FileEntry {
    /// The change from one text to another, with its hunks; none for a file that does not exist.
    pub fn between(path: &str, old: Option<&str>, new: Option<&str>) -> FileEntry {
        let TextChange { added, removed, hunks } = compare(old.unwrap_or_default(), new.unwrap_or_default());
        let (path, patch) = (path.to_owned(), Some(hunks));
        let (created, deleted) = (old.is_none(), new.is_none());
        FileEntry { path, added, removed, created, deleted, patch, ..FileEntry::default() }
    }

    /// A change whose hunks are given; the lines of those that are whole are counted.
    pub fn with_hunks(path: &str, hunks: String) -> FileEntry {
        let (whole, _) = whole_hunks(&hunks);
        let sum = |count: fn(&WholeHunk<'_>) -> u64| whole.iter().map(count).sum();
        let (added, removed) = (sum(|hunk| hunk.added), sum(|hunk| hunk.removed));
        FileEntry { path: path.to_owned(), added, removed, patch: Some(hunks), ..FileEntry::default() }
    }
}

/// A complete patch of the file `path`, an absolute name, which is shown relative to `project`. At most
/// [`LONGEST`] bytes of hunks are kept, none of them in part; a last line then counts the others. Hunks
/// whose lines do not match their header are left out.
pub fn complete(path: &str, project: &str, file: &FileEntry) -> String {
    complete_within(LONGEST, path, project, file)
}

/// As [`complete`], with at most `most` bytes of hunks.
pub(crate) fn complete_within(most: usize, path: &str, project: &str, file: &FileEntry) -> String {
    let FileEntry { created, deleted, inexact, patch: hunks, .. } = file;
    let name = quoted(relative(path, project));
    let mut patch = String::new();
    if *inexact {
        patch.push_str("# Inexact: line numbers or lines of context may differ from those in the file.\n");
    }
    let _ = writeln!(patch, "diff --git {} {}", name("a/"), name("b/"));
    if *created {
        patch.push_str("new file mode 100644\n");
    } else if *deleted {
        patch.push_str("deleted file mode 100644\n");
    }
    let (whole, left_out) = whole_hunks(hunks.as_deref().unwrap_or_default());
    let mut kept = String::new();
    let is_kept = |hunk: &&WholeHunk<'_>| {
        let fits = kept.len() + hunk.text.len() <= most;
        if fits {
            kept.push_str(hunk.text);
        }
        fits
    };
    let cut = whole.len() - whole.iter().take_while(is_kept).count();
    if !kept.is_empty() {
        let null = || "/dev/null".to_owned();
        let old = if *created { null() } else { name("a/") };
        let new = if *deleted { null() } else { name("b/") };
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
