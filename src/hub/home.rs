//! The folders of agents.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agents::Agent;

/// An agent's folder of settings and sessions.
#[derive(Clone, Debug)]
pub struct Home {
    /// The agent.
    pub agent: Agent,
    /// The folder.
    pub folder: PathBuf,
    /// Which of its sessions are searched; `None` for none.
    pub scope: Option<Scope>,
}

/// The sessions that are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The names of a project's root on the machine: as given and without links. Nothing is of that
    /// project if there are none.
    pub project: Vec<PathBuf>,
    /// Whether sessions of all projects are searched, those that live or were written lately.
    pub is_all: bool,
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
    /// The names that folders of the searched project's sessions begin with.
    pub(super) fn names(&self) -> Vec<String> {
        let project = self.scope.iter().flat_map(|scope| &scope.project);
        project.map(|root| escape(&root.to_string_lossy())).collect()
    }

    /// The folders that may have transcripts, those of `names` only if that is not `None`, and the
    /// folders in which new ones appear. Claude Code may have been started below the project's root.
    pub(super) fn folders(&self, names: Option<&[String]>) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let top = self.folder.join(if self.agent == Agent::Claude { "projects" } else { "sessions" });
        if !top.is_dir() {
            return (vec![top], vec![self.folder.clone()]);
        }
        let mut folders = vec![top.clone()];
        if self.agent == Agent::Claude {
            let is_of = |name: &str| {
                let rest = |wanted: &String| name.strip_prefix(wanted.as_str());
                names.is_none_or(|names| {
                    names.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('-'))
                })
            };
            let name = |path: &PathBuf| path.file_name().is_some_and(|name| is_of(&name.to_string_lossy()));
            folders.extend(folders_in(&top).into_iter().filter(name));
            let watched = if names.is_some() { folders.clone() } else { vec![top] };
            return (folders, watched);
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
