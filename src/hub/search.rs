//! Finds the sessions in the folders of agents, and describes them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::home::{Home, escape};
use super::roots::{Key, Next};
use super::watch::Watches;
use super::workers::Shared;
use crate::agents::claude::process_files::Process;
use crate::agents::describe::{Description, describe};
use crate::agents::listing::Wanted;
use crate::file::FileStamp;

/// Maximum number of sessions of a search in one project, and of those that are offered.
const MOST_SESSIONS: usize = 300;
/// Maximum number of files whose beginnings are remembered.
const HEADS: usize = 20_000;
/// The time after which a search lets others read.
const SLICE: Duration = Duration::from_millis(20);
/// The age of a file up to which its first line may be yet to come.
const FRESH: Duration = Duration::from_secs(60);
/// The silence of a session after which it does not live, unless its process does.
const LIVE: Duration = Duration::from_secs(600);

/// A transcript of a main agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Found {
    /// When it was modified.
    pub modified: SystemTime,
    /// Its file.
    pub path: PathBuf,
    /// Whether the session is one of the searched project.
    pub is_of_project: bool,
    /// Whether its process keeps a file.
    pub has_processes: bool,
    /// When a live process of the session began, in milliseconds since the epoch.
    pub begun: Option<u64>,
}

/// A session to choose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// Its file.
    pub found: Found,
    /// Its description.
    pub description: Description,
}

/// What never changes of a file, or its stamp while it has no complete line.
#[derive(Debug)]
enum Head {
    Named { folder: Option<String>, is_subagent: bool, has_processes: bool },
    Unnamed(Option<FileStamp>),
}

/// Searches a home again and again.
#[derive(Debug)]
pub(super) struct SearchTask {
    home: PathBuf,
    heads: HashMap<PathBuf, Head>,
    watched: Vec<PathBuf>,
}

impl SearchTask {
    pub(super) fn new(home: PathBuf) -> SearchTask {
        SearchTask { home, heads: HashMap::new(), watched: Vec::new() }
    }

    pub(super) fn run(&mut self, shared: &Arc<Shared>, root: &Path, watches: &mut Watches) -> Next {
        let began = Instant::now();
        let state = shared.lock();
        let settings = Arc::clone(&state.settings);
        let Some(home) = state.homes.get(&self.home).cloned() else { return Next::Over };
        let Some(scope) = home.scope.clone() else { return Next::Over };
        let live = state.live.get(&self.home).cloned().unwrap_or_default();
        let elsewhere = state.elsewhere.get(&self.home).cloned().unwrap_or_default();
        drop(state);
        let names = home.names();
        let (folders, mut watched) = home.folders((!scope.is_all).then_some(&names));
        let begun: HashMap<PathBuf, u64> = live.iter().filter_map(|process| begun(&home, process)).collect();
        watched.extend(
            begun.keys().filter_map(|path| path.parent()).filter(|path| path.is_dir()).map(Path::to_owned),
        );
        watched.sort();
        watched.dedup();
        // Watched before they are listed, so that later changes are noticed.
        if watched != self.watched {
            watches.set(&Key::Search, &watched);
            self.watched = watched;
        }
        let since = SystemTime::now().checked_sub(settings.quiet.unwrap_or(LIVE));
        let sessions = live.iter().filter_map(|process| process.session.clone()).collect();
        let wanted = if scope.is_all {
            Wanted { since, sessions, limit: None }
        } else {
            Wanted { since: None, sessions, limit: Some(MOST_SESSIONS) }
        };
        let listing = wanted.list(&folders);
        let mut files = listing.files;
        if scope.is_all && !scope.project.is_empty() {
            // The newest one of the project may be old.
            let newest = Wanted { since: None, limit: Some(MOST_SESSIONS), ..Wanted::default() };
            files.append(&mut newest.list(&home.folders(Some(&names)).0).files);
            files.sort_unstable_by(|a, b| b.cmp(a));
            files.dedup();
        }
        let known: HashSet<&PathBuf> = files.iter().map(|(_, path)| path).collect();
        let rest: Vec<PathBuf> = begun.keys().filter(|path| !known.contains(path)).cloned().collect();
        files.extend(rest.into_iter().filter_map(|path| Some((crate::file::modified(&path)?, path))));
        let has_process_files = self.home.join("sessions").is_dir();
        // As long as the look at the folders took, which the next run repeats.
        let end = Instant::now() + SLICE.max(began.elapsed());
        let (mut found, mut has_unnamed) = (Vec::new(), false);
        for (modified, path) in files {
            if Instant::now() > end && !self.heads.contains_key(&path) {
                return Next::At(Instant::now());
            }
            let Some((folder, has_processes)) = self.head(&path) else {
                let is_fresh = modified.elapsed().is_ok_and(|age| age < FRESH);
                has_unnamed |= is_fresh && !matches!(self.heads.get(&path), Some(Head::Named { .. }));
                continue;
            };
            let is_of_project = is_of_project(shared, root, &home, folder.as_deref());
            let session = path.file_stem().and_then(|stem| stem.to_str());
            let is_elsewhere = session.is_some_and(|session| elsewhere.contains(session));
            let has_processes = has_processes && has_process_files && !is_elsewhere;
            let begun = begun.get(&path).copied();
            found.push(Found { modified, path, is_of_project, has_processes, begun });
        }
        let mut state = shared.lock();
        if let Some(known) = state.found.get_mut(&self.home) {
            *known = Some((found, listing.unreadable));
            state.report_found();
        }
        Next::At(Instant::now() + settings.interval * if has_unnamed { 1 } else { 10 })
    }

    /// The folder of a main agent's session and whether its process keeps a file.
    fn head(&mut self, path: &Path) -> Option<(Option<String>, bool)> {
        let stamp = || FileStamp::of(path);
        let is_known = match self.heads.get(path) {
            Some(Head::Named { .. }) => true,
            Some(Head::Unnamed(last)) => *last == stamp() && last.is_some_and(|last| last.is_certain()),
            None => false,
        };
        if !is_known {
            if self.heads.len() >= HEADS {
                self.heads.clear();
            }
            let stamp = stamp();
            let head = match describe(path) {
                Some(Description { folder: folder @ Some(_), is_subagent, has_processes, .. }) => {
                    Head::Named { folder, is_subagent, has_processes }
                }
                _ => Head::Unnamed(stamp),
            };
            self.heads.insert(path.to_owned(), head);
        }
        match self.heads.get(path)? {
            Head::Named { folder, is_subagent: false, has_processes } => {
                Some((folder.clone(), *has_processes))
            }
            _ => None,
        }
    }
}

/// The transcript of a live process and when that began. It may not be written yet.
pub(super) fn begun(home: &Home, process: &Process) -> Option<(PathBuf, u64)> {
    let session = process.session.as_ref().filter(|session| !session.contains('/'))?;
    let folder = escape(process.folder.as_ref()?);
    let path = home.folder.join("projects").join(folder).join(format!("{session}.jsonl"));
    Some((path, process.started_at.unwrap_or(0)))
}

/// Whether a session whose agent runs in `folder` is one of the home's project. The name of the transcript's
/// own folder does not tell: it is the same for `/a_b` and `/a-b`, and begins with that of `/a`.
fn is_of_project(shared: &Arc<Shared>, root: &Path, home: &Home, folder: Option<&str>) -> bool {
    let Some(scope) = &home.scope else { return false };
    let Some(folder) = folder.map(Path::new).filter(|folder| folder.is_absolute()) else { return false };
    scope.project.iter().filter(|project| folder.starts_with(project)).any(|project| {
        // A worktree or another repository below the root is a project of its own.
        shared.project_of(root, folder).is_none_or(|found| project.starts_with(found))
    })
}

/// Describes the sessions of a home once.
#[derive(Debug)]
pub(super) struct ChooseTask {
    round: u64,
    home: Home,
    left: Option<Vec<(SystemTime, PathBuf)>>,
    choices: Vec<Choice>,
}

impl ChooseTask {
    pub(super) fn new(round: u64, home: Home) -> ChooseTask {
        ChooseTask { round, home, left: None, choices: Vec::new() }
    }

    pub(super) fn run(&mut self, shared: &Arc<Shared>, root: &Path) -> Next {
        let began = Instant::now();
        let home = &self.home;
        let left = self.left.get_or_insert_with(|| {
            let wanted = Wanted { limit: Some(MOST_SESSIONS), ..Wanted::default() };
            wanted.list(&home.folders(None).0).files.into_iter().rev().collect()
        });
        while let Some((modified, path)) = left.pop() {
            if let Some(description) = describe(&path).filter(|one| !one.is_subagent) {
                let folder = description.folder.as_deref();
                let is_of_project = is_of_project(shared, root, home, folder);
                let found = Found { modified, path, is_of_project, has_processes: false, begun: None };
                self.choices.push(Choice { found, description });
            }
            if began.elapsed() > SLICE {
                return Next::At(Instant::now());
            }
        }
        let mut state = shared.lock();
        if let Some((homes, choices)) = state.rounds.get_mut(&self.round) {
            homes.insert(self.home.folder.clone(), true);
            choices.append(&mut self.choices);
        }
        state.end_rounds();
        Next::Over
    }
}
