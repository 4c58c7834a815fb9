//! The agents, where their settings are, and how each gets the tool.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::file;
use super::json::{self, Edit};
use super::opencode;
use super::plugin::Plugin;

/// The plan tools of Claude Code itself.
const CLAUDES_OWN: &[&str] = &["TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList"];

/// What an agent is set up for.
pub struct Context {
    /// The environment of this process.
    pub variables: BTreeMap<String, OsString>,
    /// The command of the MCP server.
    pub server: Vec<String>,
    /// The project whose agents get the tool, none for all of the user's.
    pub project: Option<PathBuf>,
    /// The folder of Claude Code's plugin.
    pub plugin: PathBuf,
    /// The folder with the copy of this program that agents start, if it was given.
    pub folder: Option<PathBuf>,
}

impl Context {
    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.folder("HOME").unwrap_or_else(|| PathBuf::from("/"))
    }

    /// The absolute folder that the environment's NAME has.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
    }

    /// The folder that the environment's NAME has, else DEFAULT in the user's home.
    fn folder_or(&self, name: &str, default: &str) -> PathBuf {
        self.folder(name).unwrap_or_else(|| self.home().join(default))
    }

    /// FILE with `~` for the user's home.
    pub fn shown(&self, file: &Path) -> String {
        match file.strip_prefix(self.home()) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => file.display().to_string(),
        }
    }

    /// The folder in which the agent's commands run.
    pub fn working_folder(&self) -> PathBuf {
        self.project.clone().unwrap_or_else(|| self.home())
    }

    /// The command by which this program sets ID up, or removes it.
    pub fn own_command(&self, id: &str, remove: bool) -> Vec<String> {
        let mut command = vec![self.server[0].clone(), "setup".to_owned(), id.to_owned()];
        if remove {
            command.push("--remove".to_owned());
        }
        command.push("--run".to_owned());
        if let Some(folder) = &self.folder {
            command.extend(["--folder".to_owned(), folder.display().to_string()]);
        }
        command.extend_from_slice(&self.server[1..]);
        command
    }

    /// Whether the program NAME can be run.
    pub fn has_program(&self, name: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let path = self.variables.get("PATH").cloned().unwrap_or_default();
        std::env::split_paths(&path).any(|folder| {
            let data = std::fs::metadata(folder.join(name));
            data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        })
    }
}

/// An agent, and how it gets the tool.
pub struct Agent {
    /// Its name in commands.
    pub id: &'static str,
    /// Its name for readers.
    pub label: &'static str,
    /// What gives it the tool.
    pub way: Way,
    /// Its settings; they give the tool if the way is `Way::Settings`.
    pub settings: Option<Settings>,
    /// A file of ours that it runs.
    pub file: Option<opencode::Plugin>,
    /// What else it can tell, if the user wants that.
    pub extra: Option<Extra>,
    /// What else there is to say, titles and texts.
    pub notes: Vec<(String, String)>,
}

/// What gives an agent the tool.
pub enum Way {
    /// Its own commands.
    Commands(Commands),
    /// Its own commands and files of ours.
    Plugin(Plugin),
    /// Its settings.
    Settings,
    /// Text to add by hand to a place.
    Paste { place: String, text: String },
}

/// Commands of an agent, programs with their arguments.
pub struct Commands {
    /// Removes the entry.
    pub remove: Vec<String>,
    /// Adds it.
    pub add: Vec<String>,
    /// The server that the agent has; empty if it cannot be read.
    pub entry: Option<Vec<String>>,
}

/// Settings in a JSON file.
pub struct Settings {
    pub file: PathBuf,
    pub edits: Vec<Edit>,
    /// What they are for, a sentence.
    pub purpose: &'static str,
}

/// A setting that the user may decline.
pub struct Extra {
    /// What it is for, in a few words.
    pub title: &'static str,
    /// The setting.
    pub settings: Settings,
    /// The file that says that the user declined it.
    pub declined: PathBuf,
}

/// The names in commands and for readers of all agents, and whether a project can have them.
pub const NAMES: &[(&str, &str, bool)] = &[
    ("claude-plugin", "Claude Code, with answers: the plugin", false),
    ("claude", "Claude Code", true),
    ("codex", "Codex", false),
    ("gemini", "Gemini CLI", true),
    ("opencode", "opencode", true),
    ("copilot", "Copilot CLI", false),
    ("cursor", "Cursor", true),
    ("goose", "Goose", false),
    ("other", "other", false),
];

/// The agent with the name ID.
pub fn agent(id: &'static str, label: &'static str, context: &Context) -> Agent {
    let way = Way::Settings;
    let mut agent = Agent { id, label, way, settings: None, file: None, extra: None, notes: Vec::new() };
    match id {
        "claude-plugin" => claude_plugin(&mut agent, context),
        "claude" => claude(&mut agent, context),
        "codex" => codex(&mut agent, context),
        "gemini" => gemini(&mut agent, context),
        "opencode" => opencode(&mut agent, context),
        "copilot" => copilot(&mut agent, context),
        "cursor" => cursor(&mut agent, context),
        "goose" => goose(&mut agent, context),
        _ => other(&mut agent, context),
    }
    agent
}

impl Agent {
    /// What `--state` prints: whether the agent has the tool or the plugin. None if that cannot be read.
    pub fn state(&self) -> Option<Value> {
        match &self.way {
            Way::Commands(commands) => Some(json!({"installed": commands.entry.is_some()})),
            Way::Plugin(plugin) => Some(json!({"installed": plugin.is_enabled, "program": plugin.installed})),
            Way::Settings => {
                let settings = self.settings.as_ref()?;
                let text = file::read(&settings.file).ok()?.unwrap_or_default();
                Some(json!({"installed": json::value(&text, &settings.edits.first()?.path).is_some()}))
            }
            Way::Paste { .. } => None,
        }
    }

    fn allow(&mut self, text: impl Into<String>) {
        self.notes.push(("Let it call the tool".to_owned(), text.into()));
    }

    fn plan(&mut self, text: impl Into<String>) {
        self.notes.push(("Switch off its own plan tool".to_owned(), text.into()));
    }

    fn instructions(&mut self, file: &str) {
        let text = "Plan work of three or more steps with the tool todo_write, and update its list as you finish tasks.\n\
                    The user can edit that list: follow the edits that the tool's result reports.";
        self.notes.push((format!("Tell it to plan, in {file}"), text.to_owned()));
    }
}

/// The command with ARGUMENTS, followed by that of the server.
fn command(arguments: &[&str], server: &[String]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).chain(server.iter().cloned()).collect()
}

/// The entry of the server in FILE, JSON, at `mcpServers`.
fn entry(file: &Path) -> Option<Vec<String>> {
    let text = file::read(file).ok()??;
    let entry = json::value(&text, &["mcpServers", "todo-write"])?;
    let argument = |value: &Value| value.as_str().map(str::to_owned);
    let arguments = entry["args"].as_array().into_iter().flatten();
    Some(std::iter::once(&entry["command"]).chain(arguments).filter_map(argument).collect())
}

/// The entry of the server in Codex' FILE, as Codex writes it.
fn codex_entry(file: &Path) -> Option<Vec<String>> {
    let text = file::read(file).ok()??;
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| matches!(*line, "[mcp_servers.todo-write]" | "[mcp_servers.\"todo-write\"]"))?;
    let mut entry = Vec::new();
    for line in lines.take_while(|line| !line.starts_with('[')) {
        match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("command", value)) => entry.insert(0, serde_json::from_str(value).unwrap_or_default()),
            Some(("args", value)) => {
                entry.extend(serde_json::from_str::<Vec<String>>(value).unwrap_or_default())
            }
            _ => {}
        }
    }
    Some(entry)
}

fn claude(agent: &mut Agent, context: &Context) {
    let configured = context.folder("CLAUDE_CONFIG_DIR");
    let home = configured.clone().unwrap_or_else(|| context.home().join(".claude"));
    let (scope, registry, settings) = match &context.project {
        Some(project) => ("project", project.join(".mcp.json"), project.join(".claude/settings.json")),
        None => (
            "user",
            configured.unwrap_or_else(|| context.home()).join(".claude.json"),
            home.join("settings.json"),
        ),
    };
    agent.way = Way::Commands(Commands {
        remove: command(&["claude", "mcp", "remove", "--scope", scope, "todo-write"], &[]),
        add: command(&["claude", "mcp", "add", "--scope", scope, "todo-write", "--"], &context.server),
        entry: entry(&registry),
    });
    if context.project.is_none() {
        agent.extra = Some(changes_of_commands(context, settings.clone()));
    }
    agent.settings = Some(claude_settings(settings, "mcp__todo-write__todo_write"));
    agent.instructions("CLAUDE.md");
}

fn claude_settings(file: PathBuf, tool: &'static str) -> Settings {
    Settings {
        file,
        edits: vec![
            Edit::has(&["permissions", "allow"], &[tool]),
            Edit::has(&["permissions", "deny"], CLAUDES_OWN),
        ],
        purpose: "Claude Code asks before the first call. These settings allow all calls\n\
                  of this tool, and switch off the plan tools that older models have.",
    }
}

/// Claude Code reads this setting in the user's FILE only.
fn changes_of_commands(context: &Context, file: PathBuf) -> Extra {
    Extra {
        title: "What commands change",
        settings: Settings {
            file,
            edits: vec![Edit::is(&["bashEditDiffEnabled"], json!(true))],
            purpose: "Claude Code then tells which files and lines its shell commands change,\n\
                      also outside auto mode. It compares the Git repository before and after\n\
                      each command for that, for up to a second.",
        },
        declined: context.plugin.with_file_name("claude-bashEditDiffEnabled-declined"),
    }
}

fn claude_plugin(agent: &mut Agent, context: &Context) {
    let folder = context.folder_or("CLAUDE_CONFIG_DIR", ".claude");
    let settings = folder.join("settings.json");
    agent.way = Way::Plugin(Plugin::new(context, &settings));
    let hooks = json::apply("", &super::plugin::hooks(&context.server)).unwrap_or_default();
    agent.notes.push((
        "Without the plugin".to_owned(),
        format!(
            "The same by settings of your own in {}, besides those of \"Claude Code\":\n\n{}",
            context.shown(&settings),
            hooks.trim_end()
        ),
    ));
    agent.extra = Some(changes_of_commands(context, settings.clone()));
    agent.settings = Some(claude_settings(settings, "mcp__plugin_todo-write_todo-write__todo_write"));
    agent.instructions("CLAUDE.md");
}

fn codex(agent: &mut Agent, context: &Context) {
    let file = context.folder_or("CODEX_HOME", ".codex").join("config.toml");
    agent.way = Way::Commands(Commands {
        remove: command(&["codex", "mcp", "remove", "todo-write"], &[]),
        add: command(&["codex", "mcp", "add", "todo-write", "--"], &context.server),
        entry: codex_entry(&file),
    });
    let file = context.shown(&file);
    agent.allow(format!(
        "Codex asks before each call. To allow all calls, put this into\n{file}, below [mcp_servers.todo-write]:\n\n  \
         default_tools_approval_mode = \"approve\""
    ));
    agent.plan(format!(
        "Its own plan tool is off, unless {file} has\n[tools.update_plan] with enabled = true."
    ));
    agent.instructions("AGENTS.md");
}

fn gemini(agent: &mut Agent, context: &Context) {
    let (scope, folder) = match &context.project {
        Some(project) => ("project", project.clone()),
        None => ("user", context.home()),
    };
    let file = folder.join(".gemini/settings.json");
    agent.way = Way::Commands(Commands {
        remove: command(&["gemini", "mcp", "remove", "--scope", scope, "todo-write"], &[]),
        add: command(&["gemini", "mcp", "add", "--scope", scope, "--trust", "todo-write"], &context.server),
        entry: entry(&file),
    });
    agent.settings = Some(Settings {
        file,
        edits: vec![
            Edit::is(&["useWriteTodos"], json!(false)),
            Edit::hook(&["hooks", "Notification"], waiting(&context.server)),
        ],
        purpose: "These settings switch off its own plan tool, and let Emacs hear when it asks for a permission.",
    });
    agent.instructions("GEMINI.md");
}

/// The hook by which Gemini CLI tells that it asks something. Its times are in milliseconds.
fn waiting(server: &[String]) -> Value {
    let command = super::plugin::command(server, "waiting");
    let hook = json!({"type": "command", "name": "todo-write", "timeout": 5000, "command": command});
    json!({"matcher": "ToolPermission", "hooks": [hook]})
}

fn opencode(agent: &mut Agent, context: &Context) {
    let folder = match &context.project {
        Some(project) => project.clone(),
        None => context.folder_or("XDG_CONFIG_HOME", ".config").join("opencode"),
    };
    let server = json!({"type": "local", "command": context.server, "enabled": true});
    agent.settings = Some(Settings {
        file: folder.join("opencode.json"),
        edits: vec![
            Edit::is(&["mcp", "todo-write"], server),
            Edit::is(&["tools", "todowrite"], json!(false)),
        ],
        purpose: "These settings give it the tool, and switch off its own plan tool.",
    });
    agent.file = Some(opencode::Plugin::new(context));
    agent.instructions("AGENTS.md");
}

fn copilot(agent: &mut Agent, context: &Context) {
    agent.way = Way::Commands(Commands {
        remove: command(&["copilot", "mcp", "remove", "todo-write"], &[]),
        add: command(&["copilot", "mcp", "add", "todo-write", "--"], &context.server),
        entry: entry(&context.folder_or("COPILOT_HOME", ".copilot").join("mcp-config.json")),
    });
    agent.allow(
        "Copilot asks before the first call. To allow all calls, start it with\n--allow-tool=todo-write.",
    );
    agent.plan("It has no plan tool that could be switched off.");
    agent.instructions("AGENTS.md");
}

/// The members that most agents read.
fn usual(context: &Context) -> Vec<Edit> {
    let server = json!({"command": context.server[0], "args": context.server[1..]});
    vec![Edit::is(&["mcpServers", "todo-write"], server)]
}

fn cursor(agent: &mut Agent, context: &Context) {
    agent.settings = Some(Settings {
        file: context.working_folder().join(".cursor/mcp.json"),
        edits: usual(context),
        purpose: "These settings give it the tool.",
    });
    agent.plan("Its own plan tool cannot be switched off. Use the lines below.");
    agent.instructions("AGENTS.md");
}

fn goose(agent: &mut Agent, context: &Context) {
    let [program, arguments] = [json!(context.server[0]), json!(context.server[1..])];
    agent.way = Way::Paste {
        place: context.shown(&context.folder_or("XDG_CONFIG_HOME", ".config").join("goose/config.yaml")),
        text: format!(
            "extensions:\n  todo-write:\n    enabled: true\n    type: stdio\n    name: todo-write\n    \
             cmd: {program}\n    args: {arguments}\n    timeout: 60"
        ),
    };
    agent.plan("To switch off its own plan tool, disable the extension `todo' with\n`goose configure'.");
    agent.instructions("AGENTS.md");
}

fn other(agent: &mut Agent, context: &Context) {
    let text = json::apply("", &usual(context)).unwrap_or_default();
    agent.way =
        Way::Paste { place: "the settings of the agent".to_owned(), text: text.trim_end().to_owned() };
    agent.plan("If the agent has a plan tool of its own, switch it off.");
    agent.instructions("AGENTS.md");
}
