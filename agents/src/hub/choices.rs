//! Describes the sessions to choose from when the user asks, with a thread for each home.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::around::Common;
use super::home::{Home, transcripts};
use crate::describe::describe;
use crate::threads;
use todo_write::events::millis_of;
use todo_write::wire::bounds::WAIT;
use todo_write::wire::program::{Choice, Message};

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
