//! What is found out when it is asked: projects, the Git branches in them, and the titles of sessions.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::home::Home;
use super::job::Job;
use super::project::{mount_of, project_of};
use super::roots::{Key, Next, Work};
use super::workers::Shared;
use super::{Hub, Message, next_number};
use crate::agents::Agent;
use crate::agents::describe::describe;
use crate::file;

/// How often a title is looked for, and the time between two looks.
const TITLE_LOOKS: u32 = 11;
const TITLE_PACE: Duration = Duration::from_secs(1);
/// Maximum number of sessions in a root whose titles are looked for at once.
const TITLES: usize = 500;
/// Maximum number of bytes read of a file of Git.
const GIT_FILE: u64 = 4_096;

/// A folder of a project, as Git knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The name of the repository of which the folder is a linked worktree.
    pub repository: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
}

impl Hub {
    /// Answers by [`Message::Place`] what Git knows of a project's folder.
    pub fn look_up(&self, folder: &Path) {
        let (shared, folder) = (Arc::clone(&self.shared), folder.to_owned());
        let mount = mount_of(&folder);
        self.shared.run_once(&mount.clone(), move || {
            let (git, repository) = git_of(&folder);
            // A file in the folder may name another file system.
            let (other, hub) = (mount_of(&git), Arc::clone(&shared));
            let answer = move || {
                let place = Place { repository, branch: branch_in(&git) };
                hub.lock().queue.push(Message::Place(folder, place), false);
            };
            if other == mount { answer() } else { shared.run_once(&other, answer) }
        });
    }

    /// Looks for the title of the session of a thread, whose agent runs in `folder`, once a second until it
    /// is there, in those of `homes` that are of its agent. [`Message::Title`] tells it, and after the first
    /// look also that it is missing.
    pub fn seek_title(&self, thread: &str, homes: Vec<Home>, folder: &str) {
        let is_id = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let named = thread.split_once(':').and_then(|(agent, id)| Some((Agent::parse(agent)?, id)));
        let mut state = self.shared.lock();
        let mut is_read = false;
        if let Some((agent, id)) = named.filter(|(_, id)| !id.is_empty() && is_id(id)) {
            for home in homes.into_iter().filter(|home| home.agent == agent) {
                let root = state.root_of(&home.folder);
                if state.roots.count(&root, |key| matches!(key, Key::Title(..))) >= TITLES {
                    continue;
                }
                is_read |= !state.roots.is_barred(&root);
                let key = Key::Title(thread.to_owned(), home.folder.clone());
                let (thread, session, folder) = (thread.to_owned(), id.to_owned(), folder.to_owned());
                let task = TitleTask { thread, session, folder, home, looks: 0 };
                // In place of one that was begun for the same: this is answered, too.
                self.shared.add(&mut state, root, key, Work::Title(Box::new(task)));
            }
        }
        if !is_read {
            state.queue.push(Message::Title(thread.to_owned(), None), false);
        }
    }
}

impl Shared {
    /// Calls `work` once on a thread of the hub, after the tasks of `root` that are due.
    pub(super) fn run_once(&self, root: &Path, work: impl FnOnce() + Send + 'static) {
        let job = Work::Job(Job::once(work));
        self.add(&mut self.lock(), root.to_owned(), Key::Job(next_number()), job);
    }

    /// Calls `answer` with the root of the project of a folder: the folder itself if no project is found, and
    /// `None` if it is no folder. There is no answer if its file system does not answer.
    pub(super) fn find_project(
        &self,
        folder: PathBuf,
        answer: impl FnOnce(Option<PathBuf>) + Send + 'static,
    ) {
        let mount = mount_of(&folder);
        if self.lock().roots.is_barred(&mount) {
            return;
        }
        self.run_once(&mount, move || {
            let is_folder = folder.is_dir();
            answer(is_folder.then(|| project_of(&folder).unwrap_or(folder)));
        });
    }
}

/// Looks for the title of a session in a home.
#[derive(Debug)]
pub(super) struct TitleTask {
    thread: String,
    session: String,
    /// The folder in which its agent runs.
    folder: String,
    home: Home,
    /// How often it was looked for.
    looks: u32,
}

impl TitleTask {
    pub(super) fn run(&mut self, shared: &Shared) -> Next {
        let file = self.home.transcript_of(&self.session, &self.folder);
        let title = file.and_then(|file| describe(&file)?.title);
        self.looks += 1;
        let is_over = title.is_some() || self.looks == TITLE_LOOKS;
        if title.is_some() || self.looks == 1 {
            shared.lock().queue.push(Message::Title(self.thread.clone(), title), false);
        }
        if is_over { Next::Over } else { Next::At(Instant::now() + TITLE_PACE) }
    }
}

/// The folder of Git of a project, and the name of the repository if that is elsewhere: in a linked
/// worktree, a file names it.
fn git_of(project: &Path) -> (PathBuf, Option<String>) {
    let own = project.join(".git");
    let Some(named) = first_line(&own).and_then(|line| Some(line.strip_prefix("gitdir: ")?.to_owned()))
    else {
        return (own, None);
    };
    let git = without_parents(&project.join(&named));
    let mut above = git.ancestors();
    let is_worktree = above.nth(1).is_some_and(|folder| folder.ends_with(".git/worktrees"));
    // The folder .git is above that one.
    let repository = above.nth(1).and_then(Path::file_name).filter(|_| is_worktree);
    let repository = repository.map(|name| name.to_string_lossy().into_owned());
    (git, repository)
}

/// The same name without `..`.
fn without_parents(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    whole
}

fn branch_in(git: &Path) -> Option<String> {
    first_line(&git.join("HEAD"))?.strip_prefix("ref: refs/heads/").map(str::to_owned)
}

fn first_line(file: &Path) -> Option<String> {
    let bytes = file::read_start(file, GIT_FILE).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn git_tells_the_branch_and_of_a_linked_worktree_the_repository() {
        let folder = std::env::temp_dir().join(format!("todo-write-git-{}", std::process::id()));
        let of = |name: &str| {
            let (git, repository) = git_of(&folder.join(name));
            (repository, branch_in(&git))
        };
        let worktree = folder.join("shop/.git/worktrees/oven");
        let submodule = folder.join("shop/.git/modules/lib");
        for (path, text) in [
            (folder.join("shop/.git/HEAD"), "ref: refs/heads/main\n"),
            (worktree.join("HEAD"), "ref: refs/heads/fix/oven\n"),
            (folder.join("oven/.git"), &format!("gitdir: {}\n", worktree.display())),
            (submodule.join("HEAD"), "0123456789abcdef\n"),
            (folder.join("lib/.git"), "gitdir: ../shop/.git/modules/lib\n"),
        ] {
            fs::create_dir_all(path.parent().unwrap_or(&path)).unwrap_or_default();
            fs::write(path, text).unwrap_or_default();
        }
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of("shop"), (None, text("main")));
        assert_eq!(of("oven"), (text("shop"), text("fix/oven")));
        assert_eq!(of("lib"), (None, None));
        assert_eq!(of("none"), (None, None));
        fs::remove_dir_all(&folder).unwrap_or_default();
    }
}
