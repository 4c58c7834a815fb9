//! The folders of agents, and the transcripts in them.

use std::cmp::Reverse;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::claude::files::subagent_of;
use todo_write::file::modified;
use todo_write::wire::event::Agent;

/// The number of projects of Claude Code in which a new session is noticed at once: those that had one last. In
/// others it is noticed by its process, or after a while.
const WATCHED: usize = 64;

/// An agent's folder of settings and sessions.
#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) agent: Agent,
    pub(super) folder: PathBuf,
    /// Whether it is searched for live sessions.
    pub(super) is_searched: bool,
}

/// The folder that a variable of the environment names, else one in the user's home.
pub fn folder(variable: &str, usual: &str) -> PathBuf {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    named(variable).unwrap_or_else(|| named("HOME").unwrap_or_else(|| PathBuf::from("/")).join(usual))
}

/// The name that Claude Code gives the folder of a project's sessions.
pub(super) fn escape(folder: &str) -> String {
    let folder = if folder.len() > 1 { folder.trim_end_matches('/') } else { folder };
    folder.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect()
}

/// The folders in `folder`, without hidden ones, sorted by name.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_hidden =
        |path: &Path| path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| !is_hidden(path) && path.is_dir()).collect();
    folders.sort();
    folders
}

/// The last `count` elements.
fn last(list: &[PathBuf], count: usize) -> &[PathBuf] {
    &list[list.len().saturating_sub(count)..]
}

impl Home {
    /// The folders that may have transcripts, and those in which new ones are noticed at once.
    pub(super) fn folders(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let top = self.folder.join(if self.agent == Agent::Claude { "projects" } else { "sessions" });
        if !top.is_dir() {
            return (vec![top], vec![self.folder.clone()]);
        }
        let mut folders = vec![top.clone()];
        if self.agent == Agent::Claude {
            let mut projects = folders_in(&top);
            folders.extend_from_slice(&projects);
            projects.sort_by_cached_key(|project| Reverse(modified(project)));
            projects.truncate(WATCHED);
            projects.push(top);
            return (folders, projects);
        }
        // Codex sorts sessions by day, not by project.
        let years = folders_in(&top);
        let months: Vec<PathBuf> = last(&years, 2).iter().flat_map(|year| folders_in(year)).collect();
        let days: Vec<PathBuf> = last(&months, 12).iter().flat_map(|month| folders_in(month)).collect();
        folders.extend_from_slice(last(&years, 1));
        folders.extend_from_slice(last(&months, 1));
        let watched = [&folders[..], last(&days, 1)].concat();
        folders.extend_from_slice(last(&days, 30));
        (folders, watched)
    }
}

/// Lists transcripts of main agents, regular files whose names Emacs can have, with their modification times, newest
/// first. Folders that cannot be read have none.
pub fn transcripts(folders: &[PathBuf]) -> Vec<(SystemTime, PathBuf)> {
    let mut files = Vec::new();
    for path in folders.iter().flat_map(fs::read_dir).flatten().flatten().map(|entry| entry.path()) {
        let is_named =
            path.to_str().is_some_and(|name| name.ends_with(".jsonl")) && subagent_of(&path).is_none();
        let data = Some(&path).filter(|_| is_named).and_then(|path| fs::metadata(path).ok());
        let modified =
            data.filter(Metadata::is_file).map(|data| data.modified().unwrap_or(SystemTime::UNIX_EPOCH));
        files.extend(modified.map(|modified| (modified, path)));
    }
    files.sort_unstable_by(|a, b| b.cmp(a));
    files
}
