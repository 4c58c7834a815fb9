//! Lists the transcripts in folders.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::file::FileStamp;

/// The transcripts in some folders.
#[derive(Debug, Default)]
pub struct Listing {
    /// Their modification times and paths, newest first.
    pub files: Vec<(SystemTime, PathBuf)>,
    /// Paths that are not text, which Emacs cannot name.
    pub unreadable: Vec<PathBuf>,
}

/// The transcripts to list.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Only those modified since then, or of one of `sessions`.
    pub since: Option<SystemTime>,
    /// Ids of sessions.
    pub sessions: HashSet<String>,
    /// The maximum number of files, the newest ones.
    pub limit: Option<usize>,
}

impl Wanted {
    /// Lists transcripts of main agents, which are regular files. Folders that cannot be read have
    /// none.
    pub fn list(&self, folders: &[PathBuf]) -> Listing {
        Listings::default().list(self, folders)
    }

    fn admits(&self, modified: SystemTime, name: &OsString) -> bool {
        self.since.is_none_or(|since| modified >= since) || self.names(name)
    }

    /// Whether the file of this name is of one of the sessions.
    fn names(&self, name: &OsString) -> bool {
        let session = || name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        !self.sessions.is_empty() && session().is_some_and(|session| self.sessions.contains(session))
    }
}

fn is_transcript(name: &OsString) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.ends_with(b".jsonl") && !bytes.starts_with(b"agent-")
}

/// The transcripts of some folders as they were last seen. A listing checks new files and some of the
/// others in turn, so that its time does not grow with the folder.
#[derive(Debug, Default)]
pub struct Listings {
    folders: HashMap<PathBuf, KnownFolder>,
    /// The number of files that were looked at, for tests.
    pub looks: usize,
}

/// The number of known files of a folder that a listing checks.
const LOOKS: usize = 1_000;

#[derive(Debug, Default)]
struct KnownFolder {
    /// When the names were last listed.
    stamp: Option<FileStamp>,
    files: Vec<KnownFile>,
    /// The files' names.
    names: HashSet<OsString>,
    /// The index of the file at which to look next.
    next: usize,
}

#[derive(Debug)]
struct KnownFile {
    name: OsString,
    /// None if it is no regular file.
    modified: Option<SystemTime>,
}

impl Listings {
    /// Lists transcripts like [`Wanted::list`]. The time of an older one may be that of an earlier look,
    /// unless it is of one of the wanted sessions.
    pub fn list(&mut self, wanted: &Wanted, folders: &[PathBuf]) -> Listing {
        self.folders.retain(|path, _| folders.contains(path));
        let mut listing = Listing::default();
        for path in folders {
            let folder = self.folders.entry(path.clone()).or_default();
            self.looks += folder.look(path);
            for file in folder.files.iter_mut().filter(|file| wanted.names(&file.name)) {
                self.looks += 1;
                file.modified = modified(path, &file.name);
            }
            for file in &folder.files {
                let Some(modified) = file.modified.filter(|modified| wanted.admits(*modified, &file.name))
                else {
                    continue;
                };
                let path = path.join(&file.name);
                if file.name.to_str().is_some() {
                    listing.files.push((modified, path));
                } else {
                    listing.unreadable.push(path);
                }
            }
        }
        listing.files.sort_unstable_by(|a, b| b.cmp(a));
        listing.files.truncate(wanted.limit.unwrap_or(usize::MAX));
        listing
    }
}

impl KnownFolder {
    /// Looks at new files and at some others; returns their number.
    fn look(&mut self, path: &Path) -> usize {
        let stamp = FileStamp::of(path);
        let (mut looks, known) = (0, self.files.len());
        if stamp != self.stamp || stamp.is_some_and(|stamp| !stamp.is_certain()) {
            self.stamp = stamp;
            looks += self.list(path);
        }
        let turn = LOOKS.min(known).min(self.files.len());
        for _ in 0..turn {
            self.next = (self.next + 1) % self.files.len();
            let file = &mut self.files[self.next];
            file.modified = modified(path, &file.name);
        }
        looks + turn
    }

    /// Lists the names, and looks at the new ones; returns their number.
    fn list(&mut self, path: &Path) -> usize {
        let (mut looks, mut count) = (0, 0);
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !is_transcript(&name) {
                continue;
            }
            count += 1;
            if !self.names.contains(&name) {
                looks += 1;
                self.files.push(KnownFile { modified: modified(path, &name), name: name.clone() });
                self.names.insert(name);
            }
        }
        if count < self.files.len() {
            self.files.retain(|file| fs::symlink_metadata(path.join(&file.name)).is_ok());
            self.names = self.files.iter().map(|file| file.name.clone()).collect();
            self.next = 0;
        }
        looks
    }
}

fn modified(folder: &Path, name: &OsString) -> Option<SystemTime> {
    let data = fs::metadata(folder.join(name)).ok().filter(fs::Metadata::is_file)?;
    Some(data.modified().unwrap_or(SystemTime::UNIX_EPOCH))
}
