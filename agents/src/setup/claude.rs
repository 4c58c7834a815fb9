//! The plugin for Claude Code. This program carries its files, and writes them beside a copy of itself
//! into a folder that Claude Code reads as a marketplace.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::ways::Files;
use super::{file, shell};

/// The program in the plugin's folder.
pub const PROGRAM: &str = "todo-write/todo-write-mcp";
const FILES: [(&str, &str); 4] = [
    (".claude-plugin/marketplace.json", include_str!("../../plugin/.claude-plugin/marketplace.json")),
    (
        "todo-write/.claude-plugin/plugin.json",
        include_str!("../../plugin/todo-write/.claude-plugin/plugin.json"),
    ),
    ("todo-write/.mcp.json", include_str!("../../plugin/todo-write/.mcp.json")),
    ("todo-write/hooks/hooks.json", include_str!("../../plugin/todo-write/hooks/hooks.json")),
];

pub struct Plugin {
    pub folder: PathBuf,
    /// The options of the server, such as its socket.
    pub options: Vec<String>,
}

impl Files for Plugin {
    /// Writes its files, whose commands have the server's options, and its program.
    fn write(&self) -> Result<(), String> {
        let quoted: String = self.options.iter().map(|option| format!(" {}", shell(option))).collect();
        let quoted = json!(quoted).to_string();
        let quoted = &quoted[1..quoted.len() - 1];
        for (name, text) in FILES {
            let text = text
                .replace("\"args\": []", &format!("\"args\": {}", json!(self.options)))
                .replace("\\\" permission\"", &format!("\\\" permission{quoted}\""))
                .replace("\\\" note\"", &format!("\\\" note{quoted}\""));
            file::write(&self.folder.join(name), text.as_bytes(), None)?;
        }
        let program = std::env::current_exe().map_err(|error| format!("this program is unknown: {error}"))?;
        file::copy(&program, &self.folder.join(PROGRAM))
    }

    /// Deletes its files, and their folders unless something else is there.
    fn delete(&self) -> Result<(), String> {
        for name in FILES.map(|(name, _)| name).into_iter().chain([PROGRAM]) {
            file::delete(&self.folder.join(name))?;
        }
        for name in [".claude-plugin", "todo-write/.claude-plugin", "todo-write/hooks", "todo-write", ""] {
            let _ = fs::remove_dir(self.folder.join(name));
        }
        Ok(())
    }

    fn place(&self) -> &Path {
        &self.folder
    }
}
