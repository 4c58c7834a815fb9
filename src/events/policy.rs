//! Decides what is recorded of an agent's work: numbers always, contents only where the user allows it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use crate::events::names::names;
use crate::events::patch::{FileChange, WholeHunk, compare, complete, whole_hunks};
use crate::events::payload::{FileEntry, Metadata, Payload, Texts, Type};
use crate::list::raw::Raw;
use crate::text::excerpt;
use crate::text::path::{at_home, is_inside, normal};

/// The size of a journal in bytes above which contents are abridged.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum number of bytes of an abridged text.
const FEW: usize = 200;

/// The user's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Whether only the numbers of changes are recorded, without their text.
    pub numbers_only: bool,
    /// Globs of files and folders whose contents are never recorded.
    pub excluded: Vec<String>,
    /// The size of a journal in bytes above which contents are abridged.
    pub most_bytes: u64,
}

impl Default for Recording {
    fn default() -> Recording {
        Recording { numbers_only: false, excluded: Vec::new(), most_bytes: MOST_BYTES }
    }
}

/// One changed file of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// A file as a host reports it: with both texts, or with numbers and perhaps a patch.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReportedFile<'a> {
    path: String,
    added: Option<u64>,
    removed: Option<u64>,
    created: Option<bool>,
    deleted: Option<bool>,
    inexact: bool,
    #[serde(borrow)]
    patch: Option<Cow<'a, str>>,
    #[serde(borrow)]
    old_text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    new_text: Option<Cow<'a, str>>,
}

impl ChangedFile {
    /// The change from one text to another; none for a file that does not exist.
    pub fn between(path: &str, old: Option<&str>, new: Option<&str>) -> ChangedFile {
        let change = compare(old.unwrap_or_default(), new.unwrap_or_default());
        ChangedFile {
            path: path.to_owned(),
            added: change.added,
            removed: change.removed,
            change: FileChange { created: old.is_none(), deleted: new.is_none(), inexact: false },
            hunks: change.hunks,
        }
    }

    /// A change whose hunks are given; the lines of those that are whole are counted.
    pub(crate) fn with_hunks(path: &str, hunks: String, change: FileChange) -> ChangedFile {
        let (whole, _) = whole_hunks(&hunks);
        let sum = |count: fn(&WholeHunk<'_>) -> u64| whole.iter().map(count).sum();
        let (added, removed) = (sum(|hunk| hunk.added), sum(|hunk| hunk.removed));
        ChangedFile { path: path.to_owned(), added, removed, change, hunks }
    }
}

/// Drops patches and the ends of texts. All numbers stay.
pub(crate) fn abridge(payload: &mut Payload, metadata: &mut Metadata) {
    payload.each_text_mut(&mut shorten);
    for file in metadata.files.iter_mut().flatten() {
        file.patch = None;
    }
}

fn shorten(text: &mut String) {
    if text.len() > FEW {
        let end = (0..=FEW).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
}

impl Recording {
    /// The entry of a changed file in the metadata of an observation.
    pub fn entry(&self, file: &ChangedFile, project: &str) -> FileEntry {
        let folder = on_its_machine(project);
        let path = normal(&file.path, folder);
        let FileChange { created, deleted, inexact } = file.change;
        let has_hunks = !file.hunks.is_empty();
        let has_patch = (has_hunks || created || deleted)
            && is_inside(&path)
            && !self.numbers_only
            && !self.excludes(folder, &path)
            && !self.excludes_project(project);
        FileEntry {
            added: file.added,
            removed: file.removed,
            created,
            deleted,
            inexact: inexact && has_hunks,
            patch: has_patch.then(|| complete(&path, folder, file.change, &file.hunks)),
            path: path.into_owned(),
        }
    }

    /// Reads the files that a host reports, a list of objects; those without a name are left out.
    pub fn read_files(&self, project: &str, files: &[Value]) -> Vec<FileEntry> {
        let files = files.iter().filter_map(|file| ReportedFile::deserialize(file).ok());
        files.filter(|file| !file.path.is_empty()).map(|file| self.reported(file, project)).collect()
    }

    /// Drops what must not be recorded of an observation. `hidden` is what was hidden of its call.
    pub(crate) fn hide(
        &self,
        project: &str,
        hidden: Option<Hidden>,
        payload: &mut Payload,
        metadata: &mut Metadata,
    ) {
        let is_call = matches!(payload, Payload::ToolCall(_) | Payload::ToolExecution(_));
        let is_excluded = self.excludes_project(project);
        let hidden = hidden.or_else(|| self.hidden_in(project, payload, metadata));
        if is_call && (is_excluded || hidden.is_some()) {
            metadata.hidden = Some(true);
            let keeps_input = hidden.as_ref().is_some_and(|hidden| hidden.keeps_input);
            if is_excluded || !keeps_input || payload.kind() == Type::ToolExecution {
                payload.hide();
            }
            metadata.excluded = hidden.and_then(|hidden| hidden.name);
        } else if is_excluded && payload.kind() != Type::Usage {
            *payload = Payload::new(payload.kind(), Value::Null);
        }
    }

    fn reported(&self, file: ReportedFile<'_>, project: &str) -> FileEntry {
        let mut changed = match (&file.old_text, &file.new_text, file.patch) {
            (None, None, Some(patch)) => {
                ChangedFile::with_hunks(&file.path, patch.into_owned(), FileChange::default())
            }
            (None, None, None) => ChangedFile { path: file.path, ..ChangedFile::default() },
            (old, new, _) => ChangedFile::between(&file.path, old.as_deref(), new.as_deref()),
        };
        changed.added = file.added.unwrap_or(changed.added);
        changed.removed = file.removed.unwrap_or(changed.removed);
        changed.change.created = file.created.unwrap_or(changed.change.created);
        changed.change.deleted = file.deleted.unwrap_or(changed.change.deleted);
        changed.change.inexact |= file.inexact;
        self.entry(&changed, project)
    }

    /// What is hidden of a call or a result that a host reports.
    fn hidden_in(&self, project: &str, payload: &Payload, metadata: &Metadata) -> Option<Hidden> {
        if self.excluded.is_empty() {
            return None;
        }
        let mut paths = metadata.files.iter().flatten().map(|file| &file.path).chain(&metadata.path);
        if let Some(path) = paths.find(|path| self.excludes(on_its_machine(project), path)) {
            return Some(Hidden::new(project, path, false));
        }
        let input = match payload.input()? {
            Value::String(text) => text.clone(),
            input => input.to_string(),
        };
        self.hidden(project, &serde_json::from_str(&input).unwrap_or(Raw::Text(input.as_str().into())))
    }

    /// What is hidden of a call with this input: it names an excluded file.
    pub(crate) fn hidden(&self, project: &str, input: &Raw<'_>) -> Option<Hidden> {
        if self.excluded.is_empty() {
            return None;
        }
        let folder = on_its_machine(project);
        let names = names(input).into_iter().filter(|name| {
            // A part of a word may be the name, as in `--file=NAME`, `HOST:NAME` and `@NAME`.
            let mut parts = name.text.split(['=', ':', ',', '@']).filter(|part| !part.is_empty());
            self.excludes(folder, &name.text) || parts.any(|part| self.excludes(folder, part))
        });
        let mut hidden: Option<Hidden> = None;
        for name in names {
            let hidden = hidden.get_or_insert_with(|| Hidden::new(project, &name.text, true));
            hidden.keeps_input &= !name.is_written;
        }
        hidden
    }

    /// Whether the user excludes a project, by its name here or on its machine.
    fn excludes_project(&self, project: &str) -> bool {
        let there = on_its_machine(project);
        self.excludes("", project) || there.len() < project.len() && self.excludes("", there)
    }

    /// Whether the user excludes a file or folder, or one above it. Relative names and globs are those of
    /// `folder`, the project's on its machine.
    fn excludes(&self, folder: &str, path: &str) -> bool {
        let whole = |name: &str| normal(&at_home(name), folder).into_owned();
        let path = whole(path);
        !path.is_empty()
            && self.excluded.iter().any(|glob| match glob.trim_end_matches('/') {
                name if !name.contains('/') && name != "~" => {
                    path.split('/').any(|part| matches_name(name.as_bytes(), part.as_bytes()))
                }
                glob if glob.starts_with("**") => matches(glob, &path),
                glob => matches(&whole(glob), &path),
            })
    }
}

/// What is not recorded of a call, because it names an excluded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The name as the call has it, relative to the project if it is below that, in at most 80 characters.
    /// None if it is not known.
    pub name: Option<String>,
    /// Whether the call's input is recorded, so that only its result is not: it is a command that does not
    /// write to that file.
    pub keeps_input: bool,
}

impl Hidden {
    fn new(project: &str, name: &str, keeps_input: bool) -> Hidden {
        let root = format!("{}/", on_its_machine(project).trim_end_matches('/'));
        Hidden { name: Some(excerpt(name.strip_prefix(&root).unwrap_or(name), 80)), keeps_input }
    }
}

/// The name of a project on its own machine. In Emacs, the name of a remote project also has a prefix such
/// as `/ssh:build:`.
fn on_its_machine(project: &str) -> &str {
    let first = project.get(1..).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let is_remote = project.starts_with('/') && first.len() > 1 && first.ends_with(':');
    if is_remote { &project[1 + first.len()..] } else { project }
}

/// Whether a glob matches a name or a folder above it. `*` and `?` do not match a slash, `**` does.
fn matches(glob: &str, name: &str) -> bool {
    // Fast path: most words of a call do not begin like the glob.
    let (fixed, glob) = glob.split_at(glob.find(['*', '?']).unwrap_or(glob.len()));
    let Some(name) = name.strip_prefix(fixed) else { return false };
    let glob: Vec<char> = glob.chars().collect();
    // The places in the glob that the name read so far may have reached.
    let mut reached = vec![false; glob.len() + 1];
    reached[0] = true;
    skip_stars(&glob, &mut reached);
    for c in name.chars() {
        if std::mem::take(&mut reached[glob.len()]) && c == '/' {
            return true;
        }
        // From the last place to the first, so that none is left twice.
        for place in (0..glob.len()).rev() {
            let is_reached = std::mem::take(&mut reached[place]);
            match glob[place] {
                '*' => reached[place] = is_reached && (c != '/' || is_double(&glob, place)),
                '?' => reached[place + 1] |= is_reached && c != '/',
                other => reached[place + 1] |= is_reached && c == other,
            }
        }
        skip_stars(&glob, &mut reached);
        if !reached.contains(&true) {
            return false;
        }
    }
    reached[glob.len()]
}

/// Whether a glob without a slash matches a name without one. It allocates nothing, since each word of
/// each call is compared with each glob.
fn matches_name(glob: &[u8], name: &[u8]) -> bool {
    // The place after the last star, and where it began to match.
    let (mut star, mut place, mut at) = (None, 0, 0);
    while at < name.len() {
        match glob.get(place) {
            Some(b'*') => {
                place += 1;
                star = Some((place, at));
            }
            Some(c) if *c == b'?' || *c == name[at] => (place, at) = (place + 1, at + 1),
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    (place, at) = (after, from + 1);
                }
                None => return false,
            },
        }
    }
    glob[place..].iter().all(|c| *c == b'*')
}

/// A star also matches nothing.
fn skip_stars(glob: &[char], reached: &mut [bool]) {
    for place in 0..glob.len() {
        reached[place + 1] |= reached[place] && glob[place] == '*';
    }
}

fn is_double(glob: &[char], place: usize) -> bool {
    glob.get(place + 1) == Some(&'*') || place > 0 && glob[place - 1] == '*'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_exclude_files_folders_and_what_is_below_them() {
        let recording = |glob: &str| Recording { excluded: vec![glob.into()], ..Recording::default() };
        for (glob, path, expected) in [
            (".env", "/p/.env", true),
            (".env", "/p/.environment", false),
            (".env.*", "/p/.env.local", true),
            ("*.pem", "/p/keys/a.pem", true),
            ("secret", "/p/secret/a/b", true),
            ("/home/me/secret/", "/home/me/secret/a", true),
            ("/home/me/secret", "/home/me/secrets", false),
            ("/home/*/secret", "/home/me/secret", true),
            ("/home/*/secret", "/home/me/you/secret", false),
            ("/home/**/secret", "/home/me/you/secret", true),
            ("/home/**/secret", "/home/me/you/secrets", false),
            ("**/secret/*.?", "/home/secret/a.é/b", true),
            ("**/secret/*.?", "/home/secret/a/b.c", false),
            ("/a*b*/c", "/abab/c/d", true),
            ("/a?*", "/a/b", false),
        ] {
            assert_eq!(recording(glob).excludes("/p", path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn only_the_names_in_a_patch_exclude_it() {
        let recording = Recording { excluded: vec!["*.env".into()], ..Recording::default() };
        for (file, expected) in [("src/settings.js", false), ("prod.env", true)] {
            let patch = format!("*** Begin Patch\n*** Update File: {file}\n+process.env\n*** End Patch");
            assert_eq!(recording.hidden("/p/", &Raw::Text(patch.into())).is_some(), expected, "{file}");
        }
    }
}
