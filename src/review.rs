//! What an agent changed since the user last looked: which files, and the net difference of each.
//!
//! [`crate::events::marks`] knows which changes are new, [`crate::events::review`] takes patches back from a text.

use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use crate::error::Error;
use crate::events::marks::Scope;
use crate::events::payload::FileEntry;
use crate::events::review::{LARGEST_FILE, NotComposed, net};
use crate::events::work::Part;
use crate::file;
use crate::journal::store::Store;
use crate::text::path::has_method;

/// A file that is reviewed.
#[derive(Default, Serialize)]
pub struct FileToReview {
    /// Its absolute name.
    path: String,
    /// The net difference of its changes, once it was compared: empty if all cancels out.
    patch: String,
    /// Why that is not one difference.
    reason: Option<&'static str>,
    /// The number of the last observation with a change that is new.
    until: Option<u64>,
    /// The ids of the items in progress at the changes.
    items: BTreeSet<String>,
    #[serde(skip)]
    project: String,
    /// The numbers of the observations with the changes.
    #[serde(skip)]
    numbers: BTreeSet<u64>,
    #[serde(skip)]
    changes: Vec<FileEntry>,
}

impl FileToReview {
    /// The files with new changes of a thread in a scope, or with any change there, in the order of the first one.
    pub(crate) fn all_of(
        store: &mut Store,
        key: &str,
        scope: Scope<'_>,
        all: bool,
    ) -> Result<Vec<FileToReview>, Error> {
        let Some(thread) = store.get(key)? else { return Ok(Vec::new()) };
        let (marks, project) = (&thread.review, thread.project());
        let mut files: Vec<FileToReview> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (change, is_new) in marks.shown(scope, all) {
            let path = &change.file.path;
            let place = *places.entry(path.clone()).or_insert_with(|| {
                let (path, project) = (path.clone(), project.to_owned());
                files.push(FileToReview { path, project, ..FileToReview::default() });
                files.len() - 1
            });
            let file = &mut files[place];
            file.numbers.insert(change.of.number);
            file.items.extend(change.of.items.iter().cloned());
            if is_new {
                file.until = Some(change.of.number);
            }
        }
        let Some(first) = files.iter().filter_map(|file| file.numbers.first().copied()).min() else {
            return Ok(files);
        };
        for one in store.work_recorded(key, Part::Whole, first..u64::MAX)? {
            for changed in one.payload.files() {
                let file = places.get(&changed.path).map(|place| &mut files[*place]);
                if let Some(file) = file.filter(|file| file.numbers.contains(&one.number)) {
                    file.changes.push(changed.clone());
                }
            }
        }
        Ok(files)
    }

    /// Compares the file as it is now with what it was before the changes.
    pub fn compare(&mut self) {
        let FileToReview { path, project, changes, .. } = self;
        let text = text_of(&Path::new(project).join(&*path), path, project);
        let text = text.as_ref().map(Option::as_deref).map_err(|reason| *reason);
        let (reason, patch) = net(path, project, text, changes);
        (self.reason, self.patch) = (reason.map(NotComposed::as_str), patch);
    }
}

/// The text of a file as it is now; none if it does not exist.
fn text_of(path: &Path, name: &str, project: &str) -> Result<Option<String>, NotComposed> {
    // Names are those of the project's machine.
    if has_method(name) || has_method(project) {
        return Err(NotComposed::Elsewhere);
    }
    match file::read_text(path, LARGEST_FILE as u64) {
        Ok(text) => Ok(Some(text)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound => Ok(None),
            ErrorKind::FileTooLarge => Err(NotComposed::TooLarge),
            ErrorKind::InvalidData => Err(NotComposed::Binary),
            _ => Err(NotComposed::Unreadable),
        },
    }
}
