//! What is found out when it is asked: projects.

use std::path::{Path, PathBuf};

use super::job::Job;
use super::next_number;
use super::project::{mount_of, project_of};
use super::roots::{Key, Work};
use super::workers::Shared;

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
