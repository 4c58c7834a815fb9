//! `todo-write-mcp setup`, run as a user runs it, in a home of its own. The agents' commands are stand-ins
//! that write what the genuine ones were seen to write; test/hosts/mcp.sh runs those.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_todo-write-mcp");
const PLUGIN: &str = ".config/opencode/plugin/todo-write.js";

const CLAUDE: &str = r#"#!/bin/sh
echo "claude $*" >>"$HOME/log"
case "$1 $2" in
"mcp add")
  test -e "$HOME/.claude.json" && exit 1
  printf '{"mcpServers": {"todo-write": {"type": "stdio", "command": "%s"}}}' "$7" >"$HOME/.claude.json" ;;
"mcp remove") rm "$HOME/.claude.json" || exit ;;
"plugin marketplace") test "$3" = remove || echo "$4" >"$HOME/place" ;;
"plugin install")
  test -e "$HOME/.claude/settings.json" && exit 1
  printf '{"enabledPlugins": {"%s": true}, "extraKnownMarketplaces": {"todo-write": {"source": {"path": "%s"}}}}' \
    "$3" "$(cat "$HOME/place")" >"$HOME/.claude/settings.json" ;;
"plugin uninstall") rm "$HOME/.claude/settings.json" || exit ;;
esac
echo "Done it."
"#;
/// Notes how it is called.
const OTHER: &str = "#!/bin/sh\necho \"${0##*/} $*\" >>\"$HOME/log\"\n";

#[test]
fn a_program_whose_emacs_ends_before_it_connects_leaves_no_socket() {
    let home = Home::new();
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--child"]).env("TMPDIR", &home.0).env("TODO_WRITE_SANDBOX", &home.0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut socket = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut socket).unwrap();
    let folder = PathBuf::from(socket.trim()).parent().unwrap().to_owned();
    assert!(folder.starts_with(&home.0) && folder.exists());
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(!folder.exists());
}

struct Home(PathBuf);

struct Output {
    is_ok: bool,
    text: String,
}

impl Home {
    fn new() -> Home {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("todo-write-setup-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::create_dir_all(home.join(".claude")).unwrap();
        Home(home.canonicalize().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.file(name).parent().unwrap()).unwrap();
        fs::write(self.file(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Installs the stand-in TEXT for the program NAME.
    fn install(&self, name: &str, text: &str) {
        self.write(&format!("bin/{name}"), text);
        fs::set_permissions(self.file(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn setup_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        let output = Command::new(PROGRAM)
            .arg("setup")
            .args(arguments)
            .env_clear()
            .env("HOME", &self.0)
            .env("PATH", format!("{}:/usr/bin:/bin", self.file("bin").display()))
            .envs(variables.iter().copied())
            .current_dir(&self.0)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        Output { is_ok: output.status.success(), text: String::from_utf8(text).unwrap() }
    }

    fn setup(&self, arguments: &[&str]) -> Output {
        self.setup_with(&[], arguments)
    }

    /// What Emacs is told of the way ID.
    fn way(&self, variables: &[(&str, &str)], id: &str) -> Value {
        let ways: Vec<Value> = serde_json::from_str(&self.setup_with(variables, &["--json"]).text).unwrap();
        ways.into_iter().find(|way| way["id"] == id).unwrap()
    }

    fn installed(&self, id: &str) -> Value {
        self.way(&[], id)["installed"].clone()
    }

    /// The calls of agents since the last time.
    fn log(&self) -> String {
        let log = self.read("log");
        let _ = fs::remove_file(self.file("log"));
        log
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn it_shows_which_agents_are_here_and_what_each_would_get_and_does_nothing() {
    let home = Home::new();
    home.install("claude", CLAUDE);
    let text = home.setup(&["--socket", "/run/s"]).text;
    for part in [
        "claude: Claude Code does not have it\n",
        "you can answer its dialogs in Emacs",
        "  claude plugin install todo-write@todo-write\n",
        &format!("  claude mcp add --scope user todo-write -- {PROGRAM} --socket /run/s\n"),
        "codex: Codex is not installed here\n",
        "  write ",
        "text for its settings",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let ways: Value = serde_json::from_str(&home.setup(&["--json"]).text).unwrap();
    let ids: Vec<_> = ways.as_array().unwrap().iter().map(|way| way["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["claude", "claude-tool", "codex", "gemini", "opencode", "copilot", "other"]);
    assert_eq!((&ways[0]["here"], &ways[2]["here"]), (&json!(true), &json!(false)));
    assert_eq!(ways[0]["by"].as_array().unwrap().len(), 3);
    assert_eq!(home.log(), "");
    assert_eq!(fs::read_dir(&home.0).unwrap().count(), 2);
}

#[test]
fn each_agent_gets_and_loses_the_tool_by_its_own_command() {
    let home = Home::new();
    for (agent, add, remove) in [
        ("codex", "mcp add todo-write --", "mcp remove todo-write"),
        ("gemini", "mcp add --scope user --trust todo-write", "mcp remove --scope user todo-write"),
        ("copilot", "mcp add todo-write --", "mcp remove todo-write"),
    ] {
        home.install(agent, OTHER);
        let output = home.setup(&[agent, "--socket", "/run/s"]);
        assert!(output.is_ok && output.text.contains("has the tool todo_write."), "{}", output.text);
        assert_eq!(home.log(), format!("{agent} {add} {PROGRAM} --socket /run/s\n"));
        let output = home.setup(&[agent, "--remove"]);
        assert!(output.is_ok && output.text.contains("no longer has it."), "{}", output.text);
        assert_eq!(home.log(), format!("{agent} {remove}\n"));
    }
}

#[test]
fn what_an_agent_has_is_replaced() {
    let home = Home::new();
    home.install("claude", CLAUDE);
    for socket in ["/run/s", "/run/t"] {
        assert!(home.setup(&["claude-tool", "--socket", socket]).is_ok);
    }
    let add = format!("claude mcp add --scope user todo-write -- {PROGRAM} --socket");
    let remove = "claude mcp remove --scope user todo-write\n";
    assert_eq!(home.log(), format!("{add} /run/s\n{remove}{add} /run/t\n"));
    // The plugin has the tool, too, and must not be there beside it.
    for id in ["claude", "claude", "claude-tool"] {
        let output = home.setup(&[id]);
        assert!(output.is_ok, "{}", output.text);
        assert_eq!(home.installed("claude").is_null(), id == "claude-tool");
        assert_eq!(home.installed("claude-tool").is_null(), id == "claude");
    }
}

#[test]
fn who_has_the_tool_is_read_from_the_settings() {
    let home = Home::new();
    let server = r#"{"mcpServers": {"todo-write": {"command": "/p", "args": ["--socket", "/run/s"]}}}"#;
    let codex =
        "model = \"x\"\n\n[mcp_servers.todo-write]\ncommand = \"/p\"\nargs = []\n\n[mcp_servers.other]\n";
    let plugin = r#"{"enabledPlugins": {"todo-write@todo-write": true},
        "extraKnownMarketplaces": {"todo-write": {"source": {"path": "/p"}}}}"#;
    for (id, variable, file, text, program) in [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude/settings.json", plugin, "/p/todo-write/todo-write-mcp"),
        ("claude-tool", "CLAUDE_CONFIG_DIR", ".claude.json", server, "/p"),
        ("codex", "CODEX_HOME", ".codex/config.toml", codex, "/p"),
        ("gemini", "", ".gemini/settings.json", server, "/p"),
        ("copilot", "COPILOT_HOME", ".copilot/mcp-config.json", server, "/p"),
    ] {
        assert_eq!(home.installed(id), Value::Null);
        home.write(file, text);
        assert_eq!(home.installed(id), program);
        for other in ["{ // mine", "[]", ""] {
            home.write(file, other);
            assert_eq!(home.installed(id), Value::Null, "{id} {other}");
            assert_eq!(home.read(file), other);
        }
        if !variable.is_empty() {
            let name = file.rsplit('/').next().unwrap();
            home.write(&format!("elsewhere/{name}"), text);
            let folder = home.file("elsewhere").display().to_string();
            assert_eq!(home.way(&[(variable, &folder)], id)["installed"], program);
        }
    }
}

#[test]
fn no_settings_of_an_agent_are_written() {
    let home = Home::new();
    let files = [
        ".claude.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".copilot/mcp-config.json",
        ".config/opencode/opencode.json",
    ];
    for file in files {
        home.write(file, "{ // mine");
    }
    for agent in ["claude", "codex", "gemini", "opencode", "copilot"] {
        home.install(agent, OTHER);
        let output = home.setup(&[agent]);
        // opencode has a plugin, and its own plan tool.
        assert!(output.is_ok, "{}", output.text);
        assert_eq!(output.text.contains("put this into"), agent != "opencode", "{}", output.text);
        assert!(home.setup(&[agent, "--remove"]).is_ok);
    }
    for file in files {
        assert_eq!(home.read(file), "{ // mine", "{file}");
    }
}

#[test]
fn a_command_that_fails_is_said() {
    let home = Home::new();
    home.install("codex", "#!/bin/sh\necho 'No such thing.' >&2\nexit 3\n");
    let output = home.setup(&["codex"]);
    assert!(!output.is_ok && output.text.contains("No such thing.\n"), "{}", output.text);
    assert!(output.text.contains("failed: exit status: 3") && !output.text.contains("has the tool"));
    let output = home.setup(&["gemini"]);
    assert!(!output.is_ok && output.text.contains("did not run: No such file"), "{}", output.text);
}

#[test]
fn the_plugin_of_claude_code_has_a_program_and_a_socket_of_its_own() {
    let home = Home::new();
    home.install("claude", CLAUDE);
    let folder = home.file("to do").display().to_string();
    let options = ["--folder", &folder, "--socket", "/run/it's"];
    let setup = |further: &[&str]| home.setup(&[&["claude"], &options[..], further].concat());
    let output = setup(&[]);
    assert!(output.is_ok && output.text.contains("mcp__plugin_todo-write_todo-write__todo_write"));
    assert_eq!(
        home.log(),
        format!(
            "claude plugin marketplace add {folder}/claude\nclaude plugin install todo-write@todo-write\n"
        )
    );
    let hooks = home.json("to do/claude/todo-write/hooks/hooks.json");
    for (event, name) in [("PermissionRequest", "permission"), ("PostToolUse", "note"), ("Stop", "note")] {
        assert_eq!(
            hooks["hooks"][event][0]["hooks"][0]["command"],
            format!("\"${{CLAUDE_PLUGIN_ROOT}}/todo-write-mcp\" {name} --socket '/run/it'\\''s'")
        );
    }
    let server = &home.json("to do/claude/todo-write/.mcp.json")["mcpServers"]["todo-write"];
    assert_eq!(server["args"], json!(["--socket", "/run/it's"]));
    let version = &home.json("to do/claude/todo-write/.claude-plugin/plugin.json")["version"];
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let copy = "to do/claude/todo-write/todo-write-mcp";
    for file in [copy, "to do/todo-write-mcp"] {
        assert_eq!(fs::read(home.file(file)).unwrap(), fs::read(PROGRAM).unwrap());
    }
    // An upgrade.
    home.write(copy, "an older program");
    assert!(setup(&[]).is_ok);
    assert_eq!(fs::read(home.file(copy)).unwrap(), fs::read(PROGRAM).unwrap());
    assert!(setup(&["--remove"]).is_ok);
    let left: Vec<_> = fs::read_dir(home.file("to do")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_plugin_that_claude_code_has_lost_is_deleted_all_the_same() {
    let home = Home::new();
    home.install("claude", CLAUDE);
    assert!(home.setup(&["claude"]).is_ok);
    fs::remove_file(home.file(".claude/settings.json")).unwrap();
    home.log();
    assert!(!home.setup(&["claude", "--remove"]).is_ok);
    assert!(home.log().ends_with("claude plugin marketplace remove todo-write\n"));
    assert!(!home.file(".local/share/todo-write/claude").exists());
}

#[test]
fn the_plugin_of_opencode_is_written_and_deleted_again() {
    let home = Home::new();
    assert_eq!(home.installed("opencode"), Value::Null);
    let output = home.setup(&["opencode", "--socket", "/a\"b/s"]);
    assert!(output.is_ok && output.text.contains("opencode has the plugin"), "{}", output.text);
    let text = home.read(PLUGIN);
    let first = format!("// The plugin of todo-write for opencode, version {}.\n", env!("CARGO_PKG_VERSION"));
    assert!(text.starts_with(&first));
    assert!(text.contains(r#"const SOCKET = "/a\"b/s";"#));
    assert!(!["@VERSION@", "@SOCKET@"].iter().any(|name| text.contains(name)));
    assert_eq!(home.installed("opencode"), PROGRAM);
    home.write(PLUGIN, "// The plugin of todo-write for opencode, version 0.0.9.\n");
    assert!(home.setup(&["opencode"]).is_ok);
    assert!(home.read(PLUGIN).contains(r#"const SOCKET = "";"#));
    assert!(home.setup(&["opencode", "--remove"]).is_ok);
    assert!(!home.file(PLUGIN).exists());
}

#[test]
fn a_file_of_another_author_in_the_place_of_opencodes_plugin_is_left_alone() {
    for is_link in [false, true] {
        let home = Home::new();
        home.write(PLUGIN, "// mine\n");
        if is_link {
            fs::rename(home.file(PLUGIN), home.file("mine.js")).unwrap();
            symlink(home.file("mine.js"), home.file(PLUGIN)).unwrap();
        }
        for options in [&["opencode"][..], &["opencode", "--remove"]] {
            let output = home.setup(options);
            assert!(!output.is_ok && output.text.contains("this setup did not write it"), "{}", output.text);
        }
        assert_eq!(home.read(PLUGIN), "// mine\n");
    }
}

#[test]
fn any_other_agent_gets_text_to_paste() {
    let home = Home::new();
    let folder = home.file("bin").display().to_string();
    let output = home.setup(&["other", "--folder", &folder, "--socket", "/run/s"]);
    let start = output.text.find('{').unwrap();
    let end = output.text.rfind('}').unwrap();
    let program = home.file("bin/todo-write-mcp");
    let settings: Value = serde_json::from_str(&output.text[start..=end]).unwrap();
    let server = json!({"command": program, "args": ["--socket", "/run/s"]});
    assert_eq!(fs::read(program).unwrap(), fs::read(PROGRAM).unwrap());
    assert_eq!(settings, json!({"mcpServers": {"todo-write": server}}));
    assert!(output.text.contains("with the tool todo_write, and update"));
}

#[test]
fn what_cannot_be_meant_is_refused_in_words() {
    let home = Home::new();
    for (arguments, words) in [
        (&["cursr"][..], "cursr is none of claude, claude-tool, codex, gemini, opencode, copilot, other"),
        (&["claude", "--wirte"], "--wirte is not known"),
        (&["claude", "--folder"], "--folder lacks its value"),
    ] {
        let output = home.setup(arguments);
        assert!(!output.is_ok && output.text.contains(words), "{}", output.text);
    }
    assert!(home.setup(&["--help"]).is_ok);
}
