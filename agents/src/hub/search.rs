//! Finds the sessions in the folders of agents: again and again those that live, and when the user asks, those to
//! choose from.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use super::around::{Around, Common};
use super::home::{Home, transcripts};
use crate::claude::files::subagent_of;
use crate::describe::describe;
use crate::threads;
use todo_write::events::millis_of;
use todo_write::wire::bounds::{ENTRIES, WAIT};
use todo_write::wire::program::{Choice, Description, Message};

/// The age of a file up to which its first line may be yet to come.
const FRESH: Duration = Duration::from_secs(60);
/// The silence of a session after which it does not live, unless its process does.
const LIVE: Duration = Duration::from_secs(600);

/// Searches a home again and again.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Whether files are of main agents, which never changes once their first lines tell.
    heads: HashMap<PathBuf, bool>,
    pub(super) watched: Vec<PathBuf>,
    /// What was found last: what is written to these is no news.
    offered: HashSet<PathBuf>,
    /// Whether the home is to be searched, and when it is next if nothing changes before.
    pub(super) is_due: bool,
    pub(super) next: Option<Instant>,
}

impl Search {
    /// Searches once more if `file`, which was written, may be that of a new main agent.
    pub(super) fn notice(&mut self, file: &Path) {
        let is_known = self.offered.contains(file) || self.heads.get(file) == Some(&false);
        self.is_due |= !is_known && subagent_of(file).is_none();
    }

    /// Searches a home, and says what was found.
    pub(super) fn run(&mut self, home: &Home, around: &mut Around) {
        self.is_due = false;
        let (files, mut is_unsure) = self.list(home, around);
        let mut found = Vec::new();
        for (modified, path) in files.into_iter().rev() {
            match self.is_main(&path) {
                Some(true) => found.push(path),
                Some(false) => {}
                // A new file has no complete line yet.
                None => is_unsure |= modified.elapsed().is_ok_and(|age| age < FRESH),
            }
        }
        self.next = Some(Instant::now() + around.settings.interval * if is_unsure { 1 } else { 10 });
        self.offered = found.iter().cloned().collect();
        around.send(Message::Found { home: home.folder.clone(), sessions: found });
    }

    /// Lists the files of the home, the newest last, and whether there may be more soon without a notice.
    fn list(&mut self, home: &Home, around: &mut Around) -> (Vec<(SystemTime, PathBuf)>, bool) {
        // Watched before they are listed, so that later changes are noticed; also in a folder that was made meanwhile.
        let (before, watched) = home.folders();
        watched.iter().for_each(|folder| around.watches.add(folder));
        let (folders, mut watched) = home.folders();
        let live: HashSet<PathBuf> =
            around.live().iter().filter_map(|process| around.transcript(process)).collect();
        let parents = live.iter().filter_map(|path| path.parent());
        watched.extend(parents.filter(|path| path.is_dir()).map(Path::to_owned));
        watched.iter().for_each(|folder| around.watches.add(folder));
        self.watched = watched;
        let since = SystemTime::now().checked_sub(around.settings.quiet.unwrap_or(LIVE));
        let sessions: HashSet<&str> =
            around.live().iter().filter_map(|process| process.session.as_deref()).collect();
        let lives = |modified: SystemTime, path: &Path| {
            let session = path.file_stem().and_then(|stem| stem.to_str());
            since.is_none_or(|since| modified >= since) || session.is_some_and(|id| sessions.contains(id))
        };
        let mut files = transcripts(&folders);
        files.retain(|(modified, path)| lives(*modified, path));
        files.truncate(ENTRIES);
        let known: HashSet<&PathBuf> = files.iter().map(|(_, path)| path).collect();
        let rest: HashSet<&PathBuf> =
            live.iter().chain(&self.offered).filter(|path| !known.contains(path)).collect();
        let rest = rest.into_iter().filter_map(|path| Some((modified_or_hidden(path)?, path.clone())));
        let rest: Vec<_> =
            rest.filter(|(modified, path)| live.contains(path) || lives(*modified, path)).collect();
        files.extend(rest);
        files.sort_unstable();
        // A home that the agent has yet to make cannot be watched.
        (files, before != folders || !home.folder.is_dir())
    }

    /// Whether a file is of a main agent, as its first lines tell.
    fn is_main(&mut self, path: &Path) -> Option<bool> {
        if let Some(is_main) = self.heads.get(path) {
            return Some(*is_main);
        }
        let Description { folder: Some(_), is_subagent, .. } = describe(path)? else { return None };
        if self.heads.len() >= ENTRIES {
            self.heads.clear();
        }
        self.heads.insert(path.to_owned(), !is_subagent);
        Some(!is_subagent)
    }
}

/// When a file was modified; now, if it cannot be told whether it is there, as in a folder that cannot be read for
/// a moment.
fn modified_or_hidden(path: &Path) -> Option<SystemTime> {
    match fs::metadata(path) {
        Ok(data) => data.modified().ok(),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(_) => Some(SystemTime::now()),
    }
}

/// Maximum number of sessions of a home that are offered.
const MOST_SESSIONS: usize = 300;

/// Answers with the newest sessions in some homes, and whether they are of the project with these names. A home that
/// says nothing for long is left out.
pub(super) fn choose(common: &Arc<Common>, round: u64, homes: Vec<Home>, project: Vec<PathBuf>) {
    let own = Arc::clone(common);
    let work = move || {
        let mut project = project;
        // Emacs does not know the roots of projects on another machine.
        let roots: Vec<PathBuf> = project.iter().filter_map(|one| own.projects.of(one)).collect();
        project.extend(roots);
        let (sender, receiver) = channel();
        let project = Arc::new(project);
        for home in homes {
            let (common, project, sender) = (Arc::clone(&own), Arc::clone(&project), sender.clone());
            let describe = move || describe_all(&common, &home, &project, &sender);
            let _ = threads::start("choices", describe);
        }
        drop(sender);
        let mut choices = Vec::new();
        while let Ok(choice) = receiver.recv_timeout(WAIT) {
            choices.push(choice);
        }
        choices.sort_by_key(|one: &Choice| Reverse(one.modified));
        own.queue.push(Message::Choices(round, choices));
    };
    if threads::start("choose", work).is_err() {
        common.queue.push(Message::Choices(round, Vec::new()));
    }
}

fn describe_all(common: &Common, home: &Home, project: &[PathBuf], to: &Sender<Choice>) {
    for (modified, path) in transcripts(&home.folders().0).into_iter().take(MOST_SESSIONS) {
        if let Some(description) = describe(&path).filter(|one| !one.is_subagent) {
            let is_of_project = is_of_project(common, project, description.folder.as_deref());
            let modified = millis_of(modified).unwrap_or_default();
            if to.send(Choice { modified, path, is_of_project, description }).is_err() {
                return;
            }
        }
    }
}

/// Whether a session whose agent runs in `folder` is one of the project with these names. The name of the
/// transcript's own folder does not tell: it is the same for `/a_b` and `/a-b`, and begins with that of `/a`.
fn is_of_project(common: &Common, project: &[PathBuf], folder: Option<&str>) -> bool {
    let Some(folder) = folder.map(Path::new).filter(|folder| folder.is_absolute()) else { return false };
    project.iter().filter(|project| folder.starts_with(project)).any(|project| {
        // A worktree or another repository below the root is a project of its own.
        common.projects.of(folder).is_none_or(|found| project.starts_with(found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_a_known_session_or_a_subagent_is_no_reason_to_search() {
        let mut search = Search::default();
        search.offered.insert("/h/main.jsonl".into());
        search.heads.insert("/h/sub.jsonl".into(), false);
        for (file, is_due) in
            [("main.jsonl", false), ("sub.jsonl", false), ("agent-a.jsonl", false), ("new.jsonl", true)]
        {
            search.notice(&Path::new("/h").join(file));
            assert_eq!(search.is_due, is_due, "{file}");
        }
    }
}
