//! Decides what is recorded of an agent's work: numbers always, contents only where the user allows it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::names::{Name, names};
use crate::events::patch::complete;
use crate::events::payload::{FileEntry, Payload, Type};
use crate::list::raw::Raw;
use crate::text::excerpt;
use crate::text::globs::matches;
use crate::text::path::{at_home, is_inside, normal, on_its_machine};

/// The user's options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Whether only the numbers of changes are recorded, without their text.
    pub numbers_only: bool,
    /// Globs of files and folders whose contents are never recorded.
    pub excluded: Vec<String>,
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
    by_command: bool,
    #[serde(borrow)]
    patch: Option<Cow<'a, str>>,
    #[serde(borrow)]
    old_text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    new_text: Option<Cow<'a, str>>,
}

impl Policy {
    /// The entry of a changed file, given with its hunks, in the metadata of an observation.
    pub fn entry(&self, file: &FileEntry, project: &str) -> FileEntry {
        let folder = on_its_machine(project);
        let path = normal(&file.path, folder);
        let has_hunks = file.patch.as_ref().is_some_and(|hunks| !hunks.is_empty());
        let has_patch = (has_hunks || file.created || file.deleted)
            && is_inside(&path)
            && !self.numbers_only
            && !self.excludes(folder, &path)
            && !self.excludes_project(project);
        FileEntry {
            inexact: file.inexact && has_hunks,
            patch: has_patch.then(|| complete(&path, folder, file)),
            path: path.into_owned(),
            ..*file
        }
    }

    /// Reads the files that a host reports, a list of objects; those without a name are left out.
    pub fn read_files(&self, project: &str, files: &[Value]) -> Vec<FileEntry> {
        let files = files.iter().filter_map(|file| ReportedFile::deserialize(file).ok());
        files.filter(|file| !file.path.is_empty()).map(|file| self.reported(file, project)).collect()
    }

    /// Drops what must not be recorded of an observation.
    ///
    /// A call that names an excluded file keeps its id and its name, and its result these and `isError`,
    /// unless `hidden`, what was hidden of the call of a result, says more. It then has `hidden` and the name
    /// of that file, if it is known. In an excluded project, any other content but that of USAGE becomes null.
    pub(crate) fn hide(&self, project: &str, hidden: Option<Hidden>, payload: &mut Payload) {
        let is_excluded = self.excludes_project(project);
        let hidden = hidden.or_else(|| self.hidden_in(project, payload));
        if hidden.is_none() && !is_excluded {
            return;
        }
        let keeps_input = !is_excluded && hidden.as_ref().is_some_and(|hidden| hidden.keeps_input);
        let is_call = payload.hide(hidden.and_then(|hidden| hidden.name), keeps_input);
        if is_excluded && !is_call && payload.kind != Type::Usage {
            payload.content = Value::Null;
        }
    }

    fn reported(&self, file: ReportedFile<'_>, project: &str) -> FileEntry {
        let mut changed = match (&file.old_text, &file.new_text) {
            (None, None) => FileEntry::with_hunks(&file.path, file.patch.unwrap_or_default().into_owned()),
            (old, new) => FileEntry::between(&file.path, old.as_deref(), new.as_deref()),
        };
        changed.added = file.added.unwrap_or(changed.added);
        changed.removed = file.removed.unwrap_or(changed.removed);
        changed.created = file.created.unwrap_or(changed.created);
        changed.deleted = file.deleted.unwrap_or(changed.deleted);
        (changed.inexact, changed.by_command) = (file.inexact, file.by_command);
        self.entry(&changed, project)
    }

    /// What is hidden of a call or a result that a host reports.
    fn hidden_in(&self, project: &str, payload: &Payload) -> Option<Hidden> {
        let call = payload.call().filter(|_| !self.excluded.is_empty())?;
        let mut paths = payload.files().iter().map(|file| &file.path).chain(&call.path);
        if let Some(path) = paths.find(|path| self.excludes(on_its_machine(project), path)) {
            return Some(Hidden::new(project, path, false));
        }
        let input = match payload.content.get("input")? {
            Value::String(text) => text.clone(),
            input => input.to_string(),
        };
        self.hidden(project, &serde_json::from_str(&input).unwrap_or(Raw::Text(input.as_str().into())))
    }

    /// What is hidden of a call with this input: it names an excluded file.
    pub fn hidden(&self, project: &str, input: &Raw<'_>) -> Option<Hidden> {
        if self.excluded.is_empty() {
            return None;
        }
        let folder = on_its_machine(project);
        let is_excluded = |name: &Name<'_>| {
            // A part of a word may be the name, as in `--file=NAME`, `HOST:NAME` and `@NAME`.
            let mut parts = name.text.split(['=', ':', ',', '@']).filter(|part| !part.is_empty());
            self.excludes(folder, name.text) || parts.any(|part| self.excludes(folder, part))
        };
        // A path decides more than a word.
        let name = names(input).into_iter().filter(is_excluded).min_by_key(|name| name.is_word)?;
        Some(Hidden::new(project, name.text, name.is_word))
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
                glob if glob.contains('/') && !glob.starts_with("**") || glob == "~" => {
                    matches(&whole(glob), &path)
                }
                glob => matches(glob, &path),
            })
    }
}

/// What is not recorded of a call, because it names an excluded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The name as the call has it, relative to the project if it is below that, in at most 80 characters.
    /// None if it is not known.
    pub name: Option<String>,
    /// Whether the call's input is recorded, so that only its result is not: it is a command.
    pub keeps_input: bool,
}

impl Hidden {
    fn new(project: &str, name: &str, keeps_input: bool) -> Hidden {
        let root = format!("{}/", on_its_machine(project).trim_end_matches('/'));
        Hidden { name: Some(excerpt(name.strip_prefix(&root).unwrap_or(name), 80)), keeps_input }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_in_a_patch_exclude_it() {
        let policy = Policy { excluded: vec!["*.env".into()], ..Policy::default() };
        let is_hidden = |text: &str| policy.hidden("/p/", &Raw::Text(text.into())).is_some();
        for (file, expected) in [("src/settings.js", false), ("prod.env", true)] {
            let patch = format!("*** Begin Patch\n*** Update File: {file}\n+process.env\n*** End Patch");
            assert_eq!(is_hidden(&patch), expected, "{file}");
            let script = format!("apply_patch(\"{}\")", patch.replace('\n', "\\n"));
            assert_eq!(is_hidden(&script), expected, "{script}");
            assert!(is_hidden(&format!("{patch}; cat .env")));
        }
    }
}
