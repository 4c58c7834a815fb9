//! Files of ours that agents read. This program carries them.
//!
//! The plugin for Claude Code is in a folder that Claude Code reads as a marketplace, beside a copy of this program.
//! That for opencode is one file in a folder whose files opencode runs.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::shell;
use todo_write_mcp::hub::door::beside;

/// The program in the folder of Claude Code's plugin.
pub const PROGRAM: &str = "todo-write/todo-write-mcp";
const CLAUDE: &str = "Plans, permissions and questions of Claude Code in your Emacs";
const OPENCODE: &str = include_str!("../../plugin/opencode/todo-write.js");
/// How the first line of opencode's plugin begins in each version.
const FIRST: &str = "// The plugin of todo-write for opencode, version ";

pub struct Files {
    /// The file or folder that they are.
    pub place: PathBuf,
    texts: Vec<(PathBuf, String)>,
    /// Where the copy of this program is.
    program: Option<PathBuf>,
    /// How those of this setup begin.
    first: &'static str,
}

impl Files {
    /// The plugin of Claude Code, whose commands have the server's OPTIONS.
    pub fn of_claude(folder: PathBuf, options: &[String]) -> Files {
        let program = "${CLAUDE_PLUGIN_ROOT}/todo-write-mcp";
        let quoted: String = options.iter().map(|option| format!(" {}", shell(option))).collect();
        let hook = |role: &str, seconds: u32| {
            let command = format!("\"{program}\" {role}{quoted}");
            json!([{"hooks": [{"type": "command", "command": command, "timeout": seconds}]}])
        };
        let (name, authors) = ("todo-write", json!({"name": "The todo-write authors"}));
        let plugin = json!({"name": name, "source": "./todo-write", "description": CLAUDE});
        let version = env!("CARGO_PKG_VERSION");
        let files = [
            (
                ".claude-plugin/marketplace.json",
                json!({"name": name, "description": CLAUDE, "owner": authors, "plugins": [plugin]}),
            ),
            (
                "todo-write/.claude-plugin/plugin.json",
                json!({
                    "name": name, "version": version, "description": CLAUDE, "author": authors,
                    "license": env!("CARGO_PKG_LICENSE"),
                }),
            ),
            (
                "todo-write/.mcp.json",
                json!({"mcpServers": {name: {"type": "stdio", "command": program, "args": options}}}),
            ),
            (
                "todo-write/hooks/hooks.json",
                json!({"hooks": {
                    "PermissionRequest": hook("permission", 570),
                    "PostToolUse": hook("note", 5),
                    "Stop": hook("note", 5),
                }}),
            ),
        ];
        let texts = files.map(|(file, text)| (folder.join(file), format!("{text:#}\n"))).into();
        let program = Some(folder.join(PROGRAM));
        Files { place: folder, texts, program, first: "" }
    }

    /// The plugin of opencode, for a SOCKET of Emacs or, if that is empty, the usual one.
    pub fn of_opencode(file: PathBuf, socket: &str) -> Files {
        let text = OPENCODE
            .replace("\"@SOCKET@\"", &json!(socket).to_string())
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        Files { place: file.clone(), texts: vec![(file, text)], program: None, first: FIRST }
    }

    /// Whether all of them were written by this setup in any version.
    pub fn are_there(&self) -> bool {
        self.texts.iter().all(|(file, _)| self.is_ours(file))
    }

    fn is_ours(&self, file: &Path) -> bool {
        fs::read(file).is_ok_and(|text| text.starts_with(self.first.as_bytes()))
    }

    /// Refuses to touch a file of another author.
    fn check(&self) -> Result<(), String> {
        let is_other = |file: &&PathBuf| file.symlink_metadata().is_ok() && !self.is_ours(file);
        match self.texts.iter().map(|(file, _)| file).find(is_other) {
            Some(file) => Err(format!("{} is left alone: this setup did not write it", file.display())),
            None => Ok(()),
        }
    }

    pub fn write(&self) -> Result<(), String> {
        self.check()?;
        self.texts.iter().try_for_each(|(file, text)| write(file, text.as_bytes(), None))?;
        let Some(program) = &self.program else { return Ok(()) };
        let own = std::env::current_exe().map_err(|error| format!("this program is unknown: {error}"))?;
        copy(&own, program)
    }

    /// Deletes them, and their folders unless something else is there.
    pub fn delete(&self) -> Result<(), String> {
        self.check()?;
        for file in self.texts.iter().map(|(file, _)| file).chain(&self.program) {
            match fs::remove_file(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(format!("{} cannot be deleted: {error}", file.display()));
                }
                _ => {}
            }
            let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.place));
            folders.for_each(|folder| drop(fs::remove_dir(folder)));
        }
        Ok(())
    }
}

/// Makes BYTES the contents of FILE, which an agent may run meanwhile, in one step.
fn write(file: &Path, bytes: &[u8], permissions: Option<Permissions>) -> Result<(), String> {
    let new = beside(file, &format!("{}.new", std::process::id()));
    let write = || {
        fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
        let mut output = OpenOptions::new().write(true).create_new(true).open(&new)?;
        output.write_all(bytes)?;
        permissions.map_or(Ok(()), |permissions| output.set_permissions(permissions))?;
        fs::rename(&new, file)
    };
    write().map_err(|error: std::io::Error| {
        let _ = fs::remove_file(&new);
        format!("{} cannot be written: {error}", file.display())
    })
}

/// Copies the program FROM to TO, unless TO has the same bytes.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", from.display());
    let bytes = fs::read(from).map_err(cannot)?;
    if fs::read(to).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    write(to, &bytes, Some(fs::metadata(from).map_err(cannot)?.permissions()))
}
