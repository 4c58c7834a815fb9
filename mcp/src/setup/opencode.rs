//! The plugin for opencode: one file, which this program carries, in a folder whose files opencode runs.
//!
//! A file of that name which the setup did not write is left alone, and so is one of a newer version.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use similar::TextDiff;

use super::agents::Context;
use super::file;

const TEXT: &str = include_str!("../../plugin/opencode/todo-write.js");
/// How the first line begins, before the version and a full stop.
const FIRST: &str = "// The plugin of todo-write for opencode, version ";
/// What it is for.
pub const PURPOSE: &str = "\
opencode runs this file. It lets you answer opencode's dialogs in Emacs, while they stand in its terminal.
It shows what its sessions do, also the lists of its own plan tool, and tells them of your edits.";

/// The plugin, and the file in its place.
pub struct Plugin {
    pub file: PathBuf,
    /// Its text in this version.
    pub text: String,
    /// What is there.
    pub present: Present,
}

/// What is in the plugin's place.
#[derive(Debug, PartialEq)]
pub enum Present {
    Nothing,
    /// The file as it is written now.
    Current,
    /// Another text of this version or an older one, which is replaced.
    Other(String),
    /// The plugin of that newer version.
    Newer(String),
    /// Something else; the clause says why it is left alone.
    Foreign(String),
}

impl Plugin {
    /// The plugin for the project of `context`, or for all of the user's.
    pub fn new(context: &Context) -> Plugin {
        let folder = match &context.project {
            Some(project) => project.join(".opencode"),
            None => context
                .folder("XDG_CONFIG_HOME")
                .unwrap_or_else(|| context.home().join(".config"))
                .join("opencode"),
        };
        let socket = context.server.iter().skip_while(|word| *word != "--socket").nth(1);
        let text = TEXT
            .replace("\"@SOCKET@\"", &json!(socket.map_or("", String::as_str)).to_string())
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        let file = folder.join("plugin/todo-write.js");
        // A project may come from others: its links could lead anywhere.
        let linked = [folder.clone(), folder.join("plugin")].into_iter().find(|place| is_link(place));
        let present = match linked.filter(|_| context.project.is_some()) {
            Some(place) => Present::Foreign(format!("is left alone: {} is a link", context.shown(&place))),
            None => Present::of(&file, &text),
        };
        Plugin { file, text, present }
    }

    /// Writes it, and returns the backup of an earlier file. The error is a clause.
    pub fn write(&self) -> Result<Option<PathBuf>, String> {
        file::write(&self.file, &self.text)
    }

    /// Deletes it, and its folder if nothing else is there. The error is a clause.
    pub fn delete(&self) -> Result<(), String> {
        fs::remove_file(&self.file).map_err(|error| format!("cannot be deleted: {error}"))?;
        if let Some(folder) = self.file.parent() {
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// What changes in the file NAME if it is written or, with REMOVE, deleted; empty if nothing does.
    pub fn diff(&self, name: &str, remove: bool) -> String {
        let (old, new) = match (&self.present, remove) {
            (Present::Nothing, false) => ("", self.text.as_str()),
            (Present::Other(old), false) => (old.as_str(), self.text.as_str()),
            (Present::Current, true) => (self.text.as_str(), ""),
            (Present::Other(old), true) => (old.as_str(), ""),
            _ => return String::new(),
        };
        TextDiff::from_lines(old, new).unified_diff().header(name, name).to_string()
    }
}

impl Present {
    /// What is at FILE, whose text is to be TEXT.
    fn of(file: &Path, text: &str) -> Present {
        if is_link(file) {
            return Present::Foreign("is left alone: it is a link".to_owned());
        }
        match file::read(file) {
            Err(why) => Present::Foreign(why),
            Ok(None) => Present::Nothing,
            Ok(Some(old)) if old == text => Present::Current,
            Ok(Some(old)) => match version(&old) {
                None => Present::Foreign("is left alone: this setup did not write it".to_owned()),
                Some(version) if numbers(version) > numbers(env!("CARGO_PKG_VERSION")) => {
                    Present::Newer(version.to_owned())
                }
                Some(_) => Present::Other(old),
            },
        }
    }
}

fn is_link(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|data| data.is_symlink())
}

/// The version in the first line of TEXT; none if that is no plugin of ours.
fn version(text: &str) -> Option<&str> {
    let version = text.lines().next()?.strip_prefix(FIRST)?.strip_suffix('.')?;
    let is_number =
        |part: &str| !part.is_empty() && part.len() < 10 && part.bytes().all(|byte| byte.is_ascii_digit());
    version.split('.').all(is_number).then_some(version)
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_another_text_is_none() {
        assert_eq!(version(&TEXT.replace("@VERSION@", "1.10.0")), Some("1.10.0"));
        assert!(numbers("1.10.0") > numbers("1.9.3"));
        for other in [
            "",
            "// A plugin\n",
            &format!("{FIRST}1.x.0.\n"),
            &format!("{FIRST}1.0\n"),
            &format!(" {FIRST}1.0.0.\n"),
        ] {
            assert_eq!(version(other), None, "{other}");
        }
    }
}
