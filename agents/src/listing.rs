//! Lists the transcripts in folders.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
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
    /// The maximum number of files, the newest ones.
    pub limit: Option<usize>,
}

impl Wanted {
    /// Lists transcripts of main agents, which are regular files. Folders that cannot be read have
    /// none.
    pub fn list(&self, folders: &[PathBuf]) -> Listing {
        let mut listing = Listing::default();
        for entry in folders.iter().flat_map(fs::read_dir).flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let bytes = name.as_encoded_bytes();
            if !bytes.ends_with(b".jsonl") || bytes.starts_with(b"agent-") {
                continue;
            }
            let Some(modified) = modified(&path).filter(|time| self.admits(*time, &name)) else { continue };
            if name.to_str().is_some() {
                listing.files.push((modified, path));
            } else {
                listing.unreadable.push(path);
            }
        }
        listing.files.sort_unstable_by(|a, b| b.cmp(a));
        listing.files.truncate(self.limit.unwrap_or(usize::MAX));
        listing
    }

    fn admits(&self, modified: SystemTime, name: &OsString) -> bool {
        let session = || name.to_str()?.strip_suffix(".jsonl");
        self.since.is_none_or(|since| modified >= since)
            || session().is_some_and(|session| self.sessions.contains(session))
    }
}

/// The transcript of a session in a home of Claude Code, in the folder of whichever project has it.
pub fn transcript_of(home: &Path, session: &str) -> Option<PathBuf> {
    let name = format!("{session}.jsonl");
    let folders = fs::read_dir(home.join("projects")).ok()?.flatten();
    let mut files = folders.map(|folder| folder.path().join(&name)).filter(|_| !session.contains('/'));
    files.find(|file| file.is_file())
}

/// The modification time of a regular file.
fn modified(path: &Path) -> Option<SystemTime> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(data.modified().unwrap_or(SystemTime::UNIX_EPOCH))
}
