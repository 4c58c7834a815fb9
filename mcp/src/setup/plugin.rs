//! The plugin for Claude Code. This program carries its files, and writes them beside a copy of itself
//! into a folder that Claude Code reads as a marketplace.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::agents::Context;
use super::file;
use super::json::{self, Edit};
use super::shell;

/// What it is for.
pub const PURPOSE: &str = "\
It gives Claude Code the tool todo_write, whose list you see and edit in Emacs.
It lets you answer Claude Code's dialogs in Emacs, while they stand in its terminal.
It tells the agent of your edits if it keeps its tasks with a tool of its own.";
/// Its name and marketplace, as Claude Code writes them.
const ID: &str = "todo-write@todo-write";
/// Where Claude Code notes the folder of the marketplace.
const MARKETPLACE: [&str; 4] = ["extraKnownMarketplaces", "todo-write", "source", "path"];
/// The program in the plugin's folder.
const PROGRAM: &str = "todo-write/todo-write-mcp";
const FILES: [(&str, &str); 4] = [
    (".claude-plugin/marketplace.json", include_str!("../../plugin/.claude-plugin/marketplace.json")),
    (
        "todo-write/.claude-plugin/plugin.json",
        include_str!("../../plugin/todo-write/.claude-plugin/plugin.json"),
    ),
    ("todo-write/.mcp.json", include_str!("../../plugin/todo-write/.mcp.json")),
    ("todo-write/hooks/hooks.json", include_str!("../../plugin/todo-write/hooks/hooks.json")),
];

/// The plugin, and whether Claude Code has it.
pub struct Plugin {
    folder: PathBuf,
    /// The options of the server, such as its socket.
    options: Vec<String>,
    /// Whether the user's settings of Claude Code enable it.
    pub is_enabled: bool,
    /// The program of the plugin that they name, whether it exists or not.
    pub installed: Option<PathBuf>,
}

impl Plugin {
    /// The plugin for CONTEXT; SETTINGS are the user's of Claude Code.
    pub fn new(context: &Context, settings: &Path) -> Plugin {
        let text = file::read(settings).ok().flatten().unwrap_or_default();
        Plugin {
            folder: context.plugin.clone(),
            options: context.server[1..].to_vec(),
            is_enabled: json::value(&text, &["enabledPlugins", ID]) == Some(Value::Bool(true)),
            installed: json::value(&text, &MARKETPLACE)
                .and_then(|folder| Some(Path::new(folder.as_str()?).join(PROGRAM))),
        }
    }

    /// The commands that install it.
    pub fn install(&self) -> Vec<Vec<String>> {
        let folder = self.folder.display().to_string();
        vec![
            words(&["claude", "plugin", "marketplace", "add", &folder]),
            words(&["claude", "plugin", "install", ID]),
        ]
    }

    /// The commands that remove it.
    pub fn remove() -> Vec<Vec<String>> {
        vec![
            words(&["claude", "plugin", "uninstall", ID]),
            words(&["claude", "plugin", "marketplace", "remove", "todo-write"]),
        ]
    }

    /// Whether its folder has the files and the program of this version.
    pub fn is_current(&self) -> bool {
        let has = |(name, text): (&str, String)| {
            fs::read_to_string(self.folder.join(name)).is_ok_and(|present| present == text)
        };
        let program = std::env::current_exe().and_then(fs::read);
        self.files().into_iter().all(has)
            && program.is_ok_and(|bytes| fs::read(self.folder.join(PROGRAM)).is_ok_and(|copy| copy == bytes))
    }

    /// Writes its files and program to its folder.
    pub fn write(&self) -> Result<(), String> {
        for (name, text) in self.files() {
            let to = self.folder.join(name);
            let cannot = |error| format!("{} cannot be written: {error}", to.display());
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).map_err(cannot)?;
            }
            fs::write(&to, text).map_err(cannot)?;
        }
        let program = std::env::current_exe().map_err(|error| format!("This program is unknown: {error}"))?;
        file::copy(&program, &self.folder.join(PROGRAM))
    }

    /// Deletes its files, and their folders unless something else is there.
    pub fn delete(&self) -> Result<(), String> {
        for name in FILES.map(|(name, _)| name).into_iter().chain([PROGRAM]) {
            let file = self.folder.join(name);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(format!("{} cannot be deleted: {error}", file.display()));
                }
                _ => {}
            }
        }
        for name in [".claude-plugin", "todo-write/.claude-plugin", "todo-write/hooks", "todo-write", ""] {
            let _ = fs::remove_dir(self.folder.join(name));
        }
        Ok(())
    }

    /// Its files, whose commands have the server's options.
    fn files(&self) -> Vec<(&'static str, String)> {
        let quoted: String = self.options.iter().map(|option| format!(" {}", shell(option))).collect();
        let quoted = json!(quoted).to_string();
        let quoted = &quoted[1..quoted.len() - 1];
        FILES
            .into_iter()
            .map(|(name, text)| {
                let text = text.replace("\"args\": []", &format!("\"args\": {}", json!(self.options)));
                let hook = |text: String, hook: &str| {
                    text.replace(&format!("\\\" {hook}\""), &format!("\\\" {hook}{quoted}\""))
                };
                (name, hook(hook(text, "permission"), "note"))
            })
            .collect()
    }
}

/// A line for the shell that runs SERVER as the hook NAME.
pub fn command(server: &[String], name: &str) -> String {
    let mut words = vec![shell(&server[0]), name.to_owned()];
    words.extend(server[1..].iter().map(|option| shell(option)));
    words.join(" ")
}

/// Settings with the hooks of the plugin, which run the program of SERVER.
pub fn hooks(server: &[String]) -> Vec<Edit> {
    let hook = |name: &str, timeout: u32| json!([{"hooks": [{"type": "command", "timeout": timeout, "command": command(server, name)}]}]);
    vec![
        Edit::is(&["hooks", "PermissionRequest"], hook("permission", 570)),
        Edit::is(&["hooks", "PostToolUse"], hook("note", 5)),
        Edit::is(&["hooks", "Stop"], hook("note", 5)),
    ]
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
