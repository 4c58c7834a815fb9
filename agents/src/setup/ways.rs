//! The agents, who has the tool, and how each gets it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::files::{self, Files};
use super::line;
use todo_write_mcp::hub::home::folder;

/// What an agent must know to use the tool.
const INSTRUCTIONS: &str = "\
Plan work of three or more steps with the tool todo_write, and update its list as you finish tasks.
The user can edit that list: follow the edits that the tool's result reports.";

pub struct Context {
    /// The command of the MCP server.
    pub server: Vec<String>,
    /// The folder with the copy of this program that agents start, if it was given.
    pub folder: Option<PathBuf>,
}

impl Context {
    /// WORDS, followed by the command of the server.
    fn with_server(&self, words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).chain(self.server.iter().cloned()).collect()
    }
}

fn has_program(name: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| {
        let data = fs::metadata(folder.join(name));
        data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    })
}

pub struct Way {
    /// Its name in commands.
    pub id: &'static str,
    pub agent: &'static str,
    /// Whether the agent's command is in the PATH.
    pub is_here: bool,
    /// The program of the MCP server that the agent has by this way.
    pub installed: Option<String>,
    /// What it gives the agent, for a reader.
    pub gives: String,
    /// The agent's commands that give it the tool.
    pub add: Vec<Vec<String>>,
    /// The agent's commands that take it away.
    pub remove: Vec<Vec<String>>,
    /// Files that are written before.
    pub files: Option<Files>,
    /// What the user can do besides, paragraphs.
    rest: Vec<String>,
}

impl Way {
    /// What is done to give the tool, lines for a reader.
    pub fn by(&self) -> Vec<String> {
        let files = self.files.as_ref().map(|files| format!("write {}", files.place.display()));
        files.into_iter().chain(self.add.iter().map(|command| line(command))).collect()
    }

    /// What to say once it is done.
    pub fn done(&self) -> String {
        let what = if self.add.is_empty() { "plugin of todo-write" } else { "tool todo_write" };
        let start = format!("{} has the {what}. Start it again if it runs.", self.agent);
        let start = (!self.by().is_empty()).then_some(start);
        start.into_iter().chain(self.rest.iter().cloned()).collect::<Vec<_>>().join("\n\n")
    }

    /// What to say once it is taken back.
    pub fn removed(&self) -> String {
        format!("{} no longer has it. What you put into its settings yourself is still there.", self.agent)
    }
}

/// All ways, the best one of an agent first.
pub fn all(context: &Context) -> Vec<Way> {
    let mut ways = Vec::from(claude(context));
    ways.extend([codex(context), gemini(context), opencode(context), copilot(context), other(context)]);
    ways
}

/// A way for AGENT, which PROGRAM starts, with nothing to do so far. Any other agent has no program.
fn way(id: &'static str, agent: &'static str, program: &'static str) -> Way {
    let is_here = program.is_empty() || has_program(program);
    let gives = "the tool todo_write, whose list you see and edit in Emacs".to_owned();
    let (add, remove, files, rest) = (Vec::new(), Vec::new(), None, Vec::new());
    Way { id, agent, is_here, installed: None, gives, add, remove, files, rest }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The bytes of FILE, if it can be read. Claude Code keeps much besides in one file.
fn read(file: &Path) -> Option<Vec<u8>> {
    todo_write::file::read(file, 64 << 20).ok()
}

/// The value at PATH in FILE, JSON; none if it is missing or not plain JSON.
fn value(file: &Path, path: &[&str]) -> Option<Value> {
    let settings: Value = serde_json::from_slice(&read(file)?).ok()?;
    path.iter().try_fold(settings, |mut value, key| Some(value.get_mut(key)?.take()))
}

/// The program of the server in FILE, JSON with `mcpServers`.
fn server_in(file: &Path) -> Option<String> {
    value(file, &["mcpServers", "todo-write", "command"])?.as_str().map(str::to_owned)
}

fn instructions(file: &str) -> String {
    format!("So that it plans with the tool, put this into {file}:\n\n{INSTRUCTIONS}")
}

/// What Claude Code's user can do besides; TOOL is the name of the tool.
fn claude_settings(tool: &str) -> Vec<String> {
    let rules = json!({"permissions": {
        "allow": [tool], "deny": ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList"]
    }});
    let settings = format!(
        "Claude Code asks before the first call. To allow all calls, and to switch off the plan tools that \
         older models have, put this into its settings.json:\n\n{rules:#}"
    );
    vec![settings, instructions("CLAUDE.md")]
}

fn claude(context: &Context) -> [Way; 2] {
    let home = folder("CLAUDE_CONFIG_DIR", ".claude");
    let data = folder("XDG_DATA_HOME", ".local/share").join("todo-write");
    let plugin =
        Files::of_claude(context.folder.clone().unwrap_or(data).join("claude"), &context.server[1..]);
    let name = "todo-write@todo-write";
    let place = plugin.place.display().to_string();
    let settings = home.join("settings.json");
    let is_enabled = value(&settings, &["enabledPlugins", name]) == Some(Value::Bool(true));
    let marketplace = value(&settings, &["extraKnownMarketplaces", "todo-write", "source", "path"]);
    let program = |folder: &str| Path::new(folder).join(files::PROGRAM).display().to_string();
    let whole = Way {
        installed: is_enabled
            .then(|| marketplace.as_ref().and_then(Value::as_str).map(program).unwrap_or_default()),
        gives: "the plugin: the tool todo_write, whose list you see and edit in Emacs; you can answer its \
                dialogs in Emacs, and it hears of your edits"
            .to_owned(),
        add: vec![
            words(&["claude", "plugin", "marketplace", "add", &place]),
            words(&["claude", "plugin", "install", name]),
        ],
        remove: vec![
            words(&["claude", "plugin", "uninstall", name]),
            words(&["claude", "plugin", "marketplace", "remove", "todo-write"]),
        ],
        files: Some(plugin),
        rest: claude_settings("mcp__plugin_todo-write_todo-write__todo_write"),
        ..way("claude", "Claude Code", "claude")
    };
    let tool = Way {
        installed: server_in(&folder("CLAUDE_CONFIG_DIR", "").join(".claude.json")),
        gives: "the tool todo_write alone".to_owned(),
        add: vec![context.with_server(&["claude", "mcp", "add", "--scope", "user", "todo-write", "--"])],
        remove: vec![words(&["claude", "mcp", "remove", "--scope", "user", "todo-write"])],
        rest: claude_settings("mcp__todo-write__todo_write"),
        ..way("claude-tool", "Claude Code", "claude")
    };
    [whole, tool]
}

fn codex(context: &Context) -> Way {
    let file = folder("CODEX_HOME", ".codex").join("config.toml");
    let text = read(&file).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let mut lines = text.lines().map(str::trim);
    let entry =
        lines.find(|line| matches!(*line, "[mcp_servers.todo-write]" | "[mcp_servers.\"todo-write\"]"));
    let command = lines
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix("command")?.trim_start().strip_prefix('='));
    let program = command.and_then(|literal| serde_json::from_str(literal.trim()).ok());
    Way {
        installed: entry.map(|_| program.unwrap_or_default()),
        add: vec![context.with_server(&["codex", "mcp", "add", "todo-write", "--"])],
        remove: vec![words(&["codex", "mcp", "remove", "todo-write"])],
        rest: vec![
            "Codex asks before each call. To allow all calls, put this into its config.toml, below \
             [mcp_servers.todo-write]:\n\ndefault_tools_approval_mode = \"approve\""
                .to_owned(),
            "Its own plan tool is off, unless config.toml has [tools.update_plan] with enabled = true."
                .to_owned(),
            instructions("AGENTS.md"),
        ],
        ..way("codex", "Codex", "codex")
    }
}

fn gemini(context: &Context) -> Way {
    Way {
        installed: server_in(&folder("", ".gemini/settings.json")),
        add: vec![context.with_server(&["gemini", "mcp", "add", "--scope", "user", "--trust", "todo-write"])],
        remove: vec![words(&["gemini", "mcp", "remove", "--scope", "user", "todo-write"])],
        rest: vec![
            "To switch off its own plan tool, put this into ~/.gemini/settings.json:\n\n{\"useWriteTodos\": false}"
                .to_owned(),
            instructions("GEMINI.md"),
        ],
        ..way("gemini", "Gemini CLI", "gemini")
    }
}

fn opencode(context: &Context) -> Way {
    let file = folder("XDG_CONFIG_HOME", ".config").join("opencode/plugin/todo-write.js");
    let plugin = Files::of_opencode(file, context.server.get(2).map_or("", String::as_str));
    Way {
        installed: plugin.are_there().then(|| context.server[0].clone()),
        gives:
            "a plugin: you see and edit the list of its tool todowrite in Emacs, you can answer its dialogs \
                there, and it hears of your edits"
                .to_owned(),
        files: Some(plugin),
        ..way("opencode", "opencode", "opencode")
    }
}

fn copilot(context: &Context) -> Way {
    Way {
        installed: server_in(&folder("COPILOT_HOME", ".copilot").join("mcp-config.json")),
        add: vec![context.with_server(&["copilot", "mcp", "add", "todo-write", "--"])],
        remove: vec![words(&["copilot", "mcp", "remove", "todo-write"])],
        rest: vec![
            "Copilot asks before the first call. To allow all calls, start it with --allow-tool=todo-write."
                .to_owned(),
            "It has no plan tool that could be switched off.".to_owned(),
            instructions("AGENTS.md"),
        ],
        ..way("copilot", "Copilot CLI", "copilot")
    }
}

fn other(context: &Context) -> Way {
    let [program, arguments] = [json!(context.server[0]), json!(context.server[1..])];
    let server = json!({"mcpServers": {"todo-write": {"command": program, "args": arguments}}});
    let text = format!("Most agents read a server of MCP from their settings in this form:\n\n{server:#}");
    Way {
        gives: "text for its settings, to paste".to_owned(),
        rest: vec![
            text,
            "If the agent has a plan tool of its own, switch it off.".to_owned(),
            instructions("AGENTS.md"),
        ],
        ..way("other", "Any other agent", "")
    }
}
