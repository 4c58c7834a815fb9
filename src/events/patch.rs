//! Changed files and their patches, unified differences as `git apply` takes them.
//!
//! A patch is complete: it has its own header, so that patches of successive edits can be joined.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::text::lines::{WholeHunk, compare, whole_hunks};

/// Maximum number of bytes of a recorded patch.
pub const LONGEST: usize = 64 * 1024;

/// What a patch does to its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file is new.
    pub created: bool,
    /// The file is deleted.
    pub deleted: bool,
    /// Lines of context may differ from the file's.
    pub inexact: bool,
    /// A command changed it, so that others may have had a hand in it.
    #[serde(default)]
    pub by_command: bool,
}

/// One changed file of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The name, absolute or relative to the project.
    pub path: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// What else happened to it.
    pub change: FileChange,
    /// The hunks of the patch, or nothing if they are unknown.
    pub hunks: String,
}

impl ChangedFile {
    /// The change from one text to another; none for a file that does not exist.
    pub fn between(path: &str, old: Option<&str>, new: Option<&str>) -> ChangedFile {
        let change = compare(old.unwrap_or_default(), new.unwrap_or_default());
        ChangedFile {
            path: path.to_owned(),
            added: change.added,
            removed: change.removed,
            change: FileChange { created: old.is_none(), deleted: new.is_none(), ..FileChange::default() },
            hunks: change.hunks,
        }
    }

    /// A change whose hunks are given; the lines of those that are whole are counted.
    pub fn with_hunks(path: &str, hunks: String, change: FileChange) -> ChangedFile {
        let (whole, _) = whole_hunks(&hunks);
        let sum = |count: fn(&WholeHunk<'_>) -> u64| whole.iter().map(count).sum();
        let (added, removed) = (sum(|hunk| hunk.added), sum(|hunk| hunk.removed));
        ChangedFile { path: path.to_owned(), added, removed, change, hunks }
    }
}

/// A complete patch of the file `path`, an absolute name, which is shown relative to `project`. At most
/// [`LONGEST`] bytes of hunks are kept, none of them in part; a last line then counts the others. Hunks
/// whose lines do not match their header are left out.
pub fn complete(path: &str, project: &str, change: FileChange, hunks: &str) -> String {
    complete_within(LONGEST, path, project, change, hunks)
}

/// As [`complete`], with at most `most` bytes of hunks.
pub(crate) fn complete_within(
    most: usize,
    path: &str,
    project: &str,
    change: FileChange,
    hunks: &str,
) -> String {
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
        let fits = kept.len() + hunk.text.len() <= most;
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
