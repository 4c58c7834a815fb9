//! The plugin for opencode: one file, which this program carries, in a folder whose files opencode runs.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::file;
use super::ways::Files;

const TEXT: &str = include_str!("../../plugin/opencode/todo-write.js");
/// How the first line of the plugin begins in each version.
const FIRST: &str = "// The plugin of todo-write for opencode, version ";

pub struct Plugin {
    pub file: PathBuf,
    /// The socket of Emacs, or an empty text for the usual one.
    pub socket: String,
}

impl Plugin {
    /// Whether FILE is this plugin in any version.
    pub fn is_ours(file: &Path) -> bool {
        std::fs::read(file).is_ok_and(|text| text.starts_with(FIRST.as_bytes()))
    }

    /// Refuses to touch a file of another author.
    fn check(&self) -> Result<(), String> {
        if self.file.symlink_metadata().is_ok() && !Plugin::is_ours(&self.file) {
            return Err(format!("{} is left alone: this setup did not write it", self.file.display()));
        }
        Ok(())
    }
}

impl Files for Plugin {
    fn write(&self) -> Result<(), String> {
        self.check()?;
        let text = TEXT
            .replace("\"@SOCKET@\"", &json!(self.socket).to_string())
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        file::write(&self.file, text.as_bytes(), None)
    }

    fn delete(&self) -> Result<(), String> {
        self.check()?;
        file::delete(&self.file)
    }

    fn place(&self) -> &Path {
        &self.file
    }
}
