//! Where a session runs, and what its new thread says of it: its project, its machine, and whose subagent it is.

use std::path::Path;

use serde_json::{Map, Value};

use super::{PROJECT, Recorder, UNATTENDED, open_item_like};
use crate::agents::{Source, SubagentCall};
use crate::events::observation::Type;
use crate::journal::store::Store;
use crate::text::path::{has_method, is_special, normal};

/// A machine other than this one, on which sessions run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name, with which the keys of its threads begin.
    pub name: String,
    /// The beginning of its files' names in Emacs, such as `/ssh:build:`.
    pub prefix: String,
}

impl Machine {
    /// The name by which Emacs opens a folder that a session names; `None` if it is not absolute or
    /// has control characters. It never is the name of a file on another machine.
    pub fn folder(&self, folder: &str) -> Option<String> {
        let is_possible = folder.starts_with('/') && !folder.contains(char::is_control);
        let quote = if is_special(folder) { "/:" } else { "" };
        is_possible.then(|| format!("{}{quote}{folder}", self.prefix))
    }
}

impl Recorder {
    /// The root of the project of a session that began in a folder.
    pub(super) fn project_of(&self, folder: &str) -> Option<String> {
        let project = self.project.as_deref().unwrap_or(folder);
        let project = match &self.machine {
            Some(machine) => machine.folder(project),
            None => local(project),
        };
        let project = project.filter(|project| !project.is_empty())?;
        Some(format!("{}/", project.trim_end_matches('/')))
    }

    /// The root of the project of a session that moved to a folder. That of this recorder may be the old one.
    pub(super) fn project_moved_to(&self, folder: &str) -> Option<String> {
        let is_inside = |root: &String| Path::new(folder).starts_with(root);
        let known = self.project.as_ref().filter(|root| is_inside(root)).is_some();
        if known {
            return self.project_of(folder);
        }
        let project = Some(folder.to_owned()).filter(|folder| folder.starts_with('/'))?;
        let project =
            self.machine.as_ref().map_or_else(|| local(&project), |machine| machine.folder(folder))?;
        Some(format!("{}/", project.trim_end_matches('/')))
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
    let mut calls = parent.observations().reported().rev().filter(|one| one.kind() == Type::ToolCall);
    calls.find(|one| one.payload.call().0 == Some(&call.id))?.parent_id.clone()
}

/// A folder of this machine as a normal name, if Emacs does not read that as one of another machine.
fn local(folder: &str) -> Option<String> {
    let folder = normal(folder, "");
    (!has_method(&folder)).then(|| folder.into_owned())
}
