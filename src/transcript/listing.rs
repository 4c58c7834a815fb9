//! Lists the transcripts in folders.

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::path::PathBuf;
use std::time::SystemTime;

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
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

impl Wanted {
    /// Lists transcripts of main agents, which are regular files. Folders that cannot be read have
    /// none.
    pub fn list(&self, folders: &[PathBuf]) -> Listing {
        let mut listing = Listing::default();
        for folder in folders {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                self.add(&entry, &mut listing);
            }
        }
        listing.files.sort_unstable_by(|a, b| b.cmp(a));
        listing.files.truncate(self.limit.unwrap_or(usize::MAX));
        listing
    }

    fn add(&self, entry: &DirEntry, listing: &mut Listing) {
        let name = entry.file_name();
        let bytes = name.as_encoded_bytes();
        if !bytes.ends_with(b".jsonl") || bytes.starts_with(b"agent-") {
            return;
        }
        // Unlike the entry's own metadata, these are those of a link's target.
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let data = if is_link { fs::metadata(entry.path()) } else { entry.metadata() };
        let Some(data) = data.ok().filter(fs::Metadata::is_file) else { return };
        let Some(session) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else {
            listing.unreadable.push(entry.path());
            return;
        };
        let modified = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if self.since.is_none_or(|since| modified >= since) || self.sessions.contains(session) {
            listing.files.push((modified, entry.path()));
        }
    }
}
