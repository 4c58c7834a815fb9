//! Where a session runs, and what its new thread says of it: its project, its machine, and whose subagent it is.

use std::path::Path;

use serde_json::{Map, Value};

use super::{PROJECT, Recorder, UNATTENDED, open_item_like};
use crate::journal::store::Store;
use crate::text::path::{has_method, normal};
use crate::wire::event::{Source, SubagentCall};

impl Recorder {
    /// The root of the project of a session that began in a folder.
    pub(super) fn project_of(&self, folder: &str) -> Option<String> {
        self.root_at(self.project.as_deref().unwrap_or(folder))
    }

    /// The root of the project of a session that moved to a folder. That of this recorder may be the old one.
    pub(super) fn project_moved_to(&self, folder: &str) -> Option<String> {
        let is_inside = |root: &String| Path::new(folder).starts_with(root);
        if self.project.as_ref().is_some_and(is_inside) {
            return self.project_of(folder);
        }
        self.root_at(folder).filter(|_| folder.starts_with('/'))
    }

    /// A folder that a session names, as the root of a project in Emacs.
    fn root_at(&self, folder: &str) -> Option<String> {
        let root = match &self.machine {
            Some(machine) => machine.folder(folder),
            // Emacs must not read it as a name on another machine.
            None => Some(normal(folder, "").into_owned()).filter(|folder| !has_method(folder)),
        };
        let root = root.filter(|root| !root.is_empty())?;
        Some(format!("{}/", root.trim_end_matches('/')))
    }

    /// The folder in which the session of a main agent began, if it is not the root of its project: Claude Code
    /// resumes the session only there.
    pub(super) fn folder_apart(&self, source: &Source) -> Option<String> {
        let folder = self.root_at(&source.folder).filter(|_| source.subagent.is_none())?;
        (Some(&folder) != self.project_of(&source.folder).as_ref()).then_some(folder)
    }

    /// The description of a new thread.
    pub(super) fn about(&self, store: &mut Store, source: &Source) -> Map<String, Value> {
        let mut about = Map::new();
        if let Some(project) = self.project_of(&source.folder) {
            about.insert(PROJECT.into(), project.into());
        }
        if source.is_unattended {
            about.insert(UNATTENDED.into(), true.into());
        }
        if source.subagent.is_some() {
            let from = source.call.as_ref().map_or_else(|| source.session_key(), |call| call.from.clone());
            let parent = self.key(from);
            let item = source.call.as_ref().and_then(|call| item_of(store, &parent, call));
            about.insert("parent".into(), parent.into());
            about.extend(item.map(|item| ("parentItem".to_owned(), item.into())));
        }
        about
    }
}

/// The item that a subagent works on: the one like the call's description, or else the item in
/// progress at the time of the call.
fn item_of(store: &mut Store, from: &str, call: &SubagentCall) -> Option<String> {
    // A journal that cannot be read is an error where its own plan is read or written.
    let parent = store.get(from).ok()??;
    if let Some(item) = open_item_like(parent.list(), &call.description) {
        return Some(item);
    }
    parent.moment_of_call(&call.id)?.items.first().cloned()
}
