//! `todo-write-mcp setup`, run as a user runs it, in a home of its own. The agents' commands are stand-ins
//! that write what the genuine ones were seen to write; test/hosts/mcp.sh runs those.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_todo-write-mcp");

/// Each agent with settings that are written: its name, options, and the file of its settings.
const SETTINGS: &[(&str, &[&str], &str)] = &[
    ("claude", &[], ".claude/settings.json"),
    ("claude-plugin", &[], ".claude/settings.json"),
    ("gemini", &[], ".gemini/settings.json"),
    ("opencode", &[], ".config/opencode/opencode.json"),
    ("cursor", &[], ".cursor/mcp.json"),
    ("claude", &["--project", "garden"], "garden/.claude/settings.json"),
    ("gemini", &["--project", "garden"], "garden/.gemini/settings.json"),
    ("opencode", &["--project", "garden"], "garden/opencode.json"),
    ("cursor", &["--project", "garden"], "garden/.cursor/mcp.json"),
];

const CLAUDE: &str = r#"#!/bin/sh
echo "claude $*" >>"$HOME/log"
case "$1 $2" in
"mcp add")
  printf '{"mcpServers": {"todo-write": {"type": "stdio", "command": "%s", "args": ["%s", "%s"]}}}' \
    "$7" "$8" "$9" >"$HOME/.claude.json" ;;
"mcp remove") rm -f "$HOME/.claude.json" ;;
"plugin install") echo '{"enabledPlugins": {"todo-write@todo-write": true}}' >"$HOME/.claude/settings.json" ;;
"plugin uninstall") echo '{"enabledPlugins": {}}' >"$HOME/.claude/settings.json" ;;
esac
echo "Done it."
"#;

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
        for folder in ["bin", "garden", ".claude"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
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

    /// Sets AGENT up with OPTIONS and FURTHER ones.
    fn agent(&self, agent: &str, options: &[&str], further: &[&str]) -> Output {
        self.setup(&[&[agent, "--socket", "/run/s"], options, further].concat())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn nothing_is_written_unless_told() {
    for (agent, options, file) in SETTINGS {
        let home = Home::new();
        home.write(file, "{\"a\": 1}");
        for further in [&[][..], &["--print"], &["--diff"], &["--json"], &["--remove"], &["--run"]] {
            assert!(home.agent(agent, options, further).is_ok || further == ["--run"]);
        }
        assert_eq!(home.read(file), "{\"a\": 1}", "{agent}");
        assert!(!home.file(&format!("{file}~")).exists());
    }
}

#[test]
fn a_new_file_gets_the_settings_and_no_backup() {
    for (agent, options, file) in SETTINGS {
        let home = Home::new();
        let output = home.agent(agent, options, &["--write"]);
        assert!(output.is_ok && output.text.contains("is written."), "{}", output.text);
        assert!(home.json(file).is_object());
        assert!(!output.text.contains("The old file"));
        assert!(!home.file(&format!("{file}~")).exists());
    }
}

#[test]
fn settings_are_merged_kept_repeated_and_removed() {
    for (agent, options, file) in SETTINGS {
        let home = Home::new();
        let old = "{\n    \"z\": 1.0,\n    \"permissions\": {\"allow\": [\"Bash(ls)\"]},\n    \
                   \"mcpServers\": {\"b\": {}},\n    \"mcp\": {\"b\": {}},\n    \"a\": null\n}\n";
        home.write(file, old);
        let output = home.agent(agent, options, &["--write"]);
        assert!(output.text.contains("The old file is"), "{}", output.text);
        let new = home.read(file);
        assert_ne!(new, old);
        assert_eq!(home.read(&format!("{file}~")), old);
        // Order and spelling stay.
        for part in ["{\n    \"z\": 1.0,\n    \"permissions\"", "\"b\": {}", "\"a\": null"] {
            assert!(new.contains(part), "{new}");
        }
        let output = home.agent(agent, options, &["--write"]);
        assert!(output.text.contains("The file has these settings."), "{}", output.text);
        assert!(!output.text.contains("is written"));
        assert_eq!(home.read(file), new);
        home.agent(agent, options, &["--remove", "--write"]);
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(parsed(&home.read(file)), parsed(old), "{}", home.read(file));
        assert_eq!(home.read(&format!("{file}~")), new, "the backup is made before each change");
        let output = home.agent(agent, options, &["--remove", "--write"]);
        assert!(output.text.contains("has none of them"), "{}", output.text);
    }
}

#[test]
fn what_commands_change_is_told_if_the_user_wants_it() {
    for agent in ["claude", "claude-plugin"] {
        let home = Home::new();
        let file = ".claude/settings.json";
        let page = |further: &[&str]| home.agent(agent, &[], further).text;
        let offers = |text: &str| ["--edits: ", "--no-edits: "].map(|option| text.contains(option));
        assert_eq!(offers(&page(&[])), [true, true]);
        // A refusal is remembered, and can be taken back.
        assert!(page(&["--no-edits"]).contains("You did not want it."));
        assert_eq!(home.read(file), "");
        assert_eq!(offers(&page(&[])), [true, false]);
        assert!(page(&["--edits"]).contains("It is on."));
        assert_eq!(home.json(file), json!({"bashEditDiffEnabled": true}));
        assert_eq!(offers(&page(&[])), [false, false]);
        assert_eq!(offers(&page(&["--remove"])), [true, false]);
        page(&["--remove", "--edits"]);
        assert_eq!(home.json(file), json!({}));
        assert_eq!(offers(&page(&[])), [true, true]);
        home.write(file, "{\"bashEditDiffEnabled\": false}");
        assert_eq!(offers(&page(&[])), [false, false]);
        assert!(page(&[]).contains("You have switched it off there."));
    }
    // Claude Code reads it in the user's settings only; others have no such setting.
    let home = Home::new();
    assert!(!home.agent("claude", &["--project", "garden"], &["--edits"]).is_ok);
    assert!(!home.agent("codex", &[], &["--no-edits"]).is_ok);
}

#[test]
fn the_settings_of_each_agent_are_what_it_reads() {
    let home = Home::new();
    for (agent, options, _) in SETTINGS {
        home.agent(agent, options, &["--write"]);
    }
    let server = json!({"command": PROGRAM, "args": ["--socket", "/run/s"]});
    let rules = json!({
        "allow": ["mcp__todo-write__todo_write", "mcp__plugin_todo-write_todo-write__todo_write"],
        "deny": ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList"]
    });
    assert_eq!(home.json(".claude/settings.json"), json!({"permissions": rules}));
    let hook = json!({
        "type": "command", "name": "todo-write", "timeout": 5000,
        "command": format!("{PROGRAM} waiting --socket /run/s")
    });
    assert_eq!(
        home.json(".gemini/settings.json"),
        json!({
            "useWriteTodos": false,
            "hooks": {"Notification": [{"matcher": "ToolPermission", "hooks": [hook]}]}
        })
    );
    assert_eq!(home.json("garden/.cursor/mcp.json"), json!({"mcpServers": {"todo-write": server}}));
    assert_eq!(
        home.json(".config/opencode/opencode.json"),
        json!({
            "mcp": {"todo-write": {"type": "local", "command": [PROGRAM, "--socket", "/run/s"], "enabled": true}},
            "tools": {"todowrite": false}
        })
    );
}

#[test]
fn settings_that_are_not_plain_json_are_refused_with_the_place() {
    for (agent, options, file) in SETTINGS {
        for (text, place) in [
            ("{\n  // \"secret\"\n}", "is not plain JSON at line 2, column 3"),
            ("{\"a\": 1,}", "is not plain JSON at line 1, column 9"),
            ("[1]", "is not a JSON object"),
        ] {
            let home = Home::new();
            home.write(file, text);
            let output = home.agent(agent, options, &["--write"]);
            assert!(!output.is_ok);
            assert!(output.text.contains(place) && output.text.contains("by hand"), "{}", output.text);
            let is_written = output.text.contains(&format!("{file} is written"));
            assert!(!output.text.contains("secret") && !is_written);
            assert_eq!(home.read(file), text);
            assert!(!home.file(&format!("{file}~")).exists());
        }
    }
}

#[test]
fn a_link_and_the_permissions_of_settings_stay() {
    for (agent, options, file) in SETTINGS {
        let home = Home::new();
        home.write("dotfiles/real.json", "{}");
        let real = home.file("dotfiles/real.json");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        fs::create_dir_all(home.file(file).parent().unwrap()).unwrap();
        symlink(&real, home.file(file)).unwrap();
        let shown = home.agent(agent, options, &[]).text;
        assert!(shown.contains("(a link to ~/dotfiles/real.json)"), "{shown}");
        assert!(home.agent(agent, options, &["--write"]).is_ok);
        assert_eq!(fs::read_link(home.file(file)).unwrap(), real);
        assert_ne!(home.json("dotfiles/real.json"), json!({}));
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(files(&home.file("dotfiles")), ["real.json", "real.json~"]);
        assert_eq!(home.read("dotfiles/real.json~"), "{}");
    }
}

#[test]
fn read_only_settings_and_what_is_no_file_are_left_alone() {
    for (agent, options, file) in SETTINGS {
        let home = Home::new();
        home.write(file, "{}");
        fs::set_permissions(home.file(file), fs::Permissions::from_mode(0o444)).unwrap();
        let output = home.agent(agent, options, &["--write"]);
        assert!(!output.is_ok && output.text.contains("is read-only"), "{}", output.text);
        assert_eq!(home.read(file), "{}");
        fs::remove_file(home.file(file)).unwrap();
        let made = Command::new("mkfifo").arg(home.file(file)).status().unwrap();
        assert!(made.success());
        let output = home.agent(agent, options, &["--write"]);
        assert!(!output.is_ok && output.text.contains("not a regular file"), "{}", output.text);
    }
}

#[test]
fn a_write_that_fails_leaves_nothing_behind() {
    let home = Home::new();
    home.write(".gemini", "a file where the folder would be");
    let output = home.agent("gemini", &[], &["--write"]);
    assert!(!output.is_ok && !output.text.contains("is written"), "{}", output.text);
    // The backup's place is taken by a folder.
    home.write(".cursor/mcp.json", "{}");
    fs::create_dir(home.file(".cursor/mcp.json~")).unwrap();
    let output = home.agent("cursor", &[], &["--write"]);
    assert!(!output.is_ok && output.text.contains("cannot be written"), "{}", output.text);
    assert_eq!(home.read(".cursor/mcp.json"), "{}");
    assert_eq!(files(&home.file(".cursor")), ["mcp.json", "mcp.json~"]);
}

#[test]
fn values_of_the_user_are_not_printed() {
    for (agent, options, file) in SETTINGS {
        let home = Home::new();
        home.write(file, "{\n  \"env\": {\"KEY\": \"sk-secret\"},\n  \"tokens\": [\"sk-secret\"]}");
        home.write(".claude.json", r#"{"oauth": "sk-secret", "mcpServers": {"x": {"env": "sk-secret"}}}"#);
        for further in [&[][..], &["--diff"], &["--json"], &["--write"], &["--remove", "--write"]] {
            let text = home.agent(agent, options, further).text;
            assert!(!text.contains("sk-secret"), "{text}");
            if further == ["--diff"] {
                assert!(text.contains("\"KEY\": …"), "{text}");
            }
        }
    }
}

#[test]
fn the_diff_alone_is_printed_on_request() {
    let home = Home::new();
    home.write(".gemini/settings.json", "{\n  \"theme\": 1\n}\n");
    let text = home.agent("gemini", &[], &["--diff"]).text;
    assert!(
        text.starts_with(
            "--- ~/.gemini/settings.json\n+++ ~/.gemini/settings.json\n@@ -1,3 +1,15 @@\n {\n\
         -  \"theme\": 1\n+  \"theme\": 1,\n+  \"useWriteTodos\": false,\n+  \"hooks\": {\n"
        ),
        "{text}"
    );
    home.agent("gemini", &[], &["--write"]);
    assert_eq!(home.agent("gemini", &[], &["--diff"]).text, "");
}

#[test]
fn the_folder_that_the_agent_reads_is_the_one_that_is_named() {
    let home = Home::new();
    for (agent, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", "/settings.json"),
        ("claude-plugin", "CLAUDE_CONFIG_DIR", "/settings.json"),
        ("codex", "CODEX_HOME", "/config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "/opencode/opencode.json"),
        ("goose", "XDG_CONFIG_HOME", "/goose/config.yaml"),
    ] {
        for (folder, shown) in [("/nowhere/mine", "/nowhere/mine"), ("", "~/."), ("relative", "~/.")] {
            let text = home.setup_with(&[(variable, folder)], &[agent]).text;
            let named = text.lines().any(|line| line.contains(shown) && line.contains(file));
            assert!(named, "{agent} {folder}: {text}");
        }
    }
}

#[test]
fn commands_run_only_if_told_and_the_rest_is_said_to_be_open() {
    let home = Home::new();
    home.install("claude", CLAUDE);
    let page = home.agent("claude", &[], &[]);
    assert!(page.text.contains("--run: Run `claude mcp add'"), "{}", page.text);
    assert!(page.text.contains("Not done yet\n\n- run `claude mcp add'\n- write the settings"));
    assert!(!home.file("log").exists());
    // Settings alone do not give the tool.
    let page = home.agent("claude", &[], &["--write"]);
    assert!(
        page.text.contains("is written") && page.text.contains("Not done yet\n\n- run `claude mcp add'\n")
    );
    let page = home.agent("claude", &[], &["--run"]);
    assert!(page.is_ok && page.text.contains("It has the tool.\n\nDone it."), "{}", page.text);
    assert!(page.text.contains("Done\n\nNothing is left to do."), "{}", page.text);
    let add = format!("claude mcp add --scope user todo-write -- {PROGRAM} --socket /run/s\n");
    assert_eq!(home.read("log"), add);
    // Another socket: what is there is removed first, since `mcp add' refuses to replace it.
    let page = home.setup(&["claude", "--socket", "/run/t", "--run"]);
    assert!(page.text.contains("Nothing is left to do."), "{}", page.text);
    assert_eq!(
        home.read("log").strip_prefix(&add).unwrap(),
        format!("claude mcp remove --scope user todo-write\n{}", add.replace("/run/s", "/run/t"))
    );
    let page = home.agent("claude", &[], &["--remove", "--run", "--write"]);
    assert!(page.is_ok && page.text.contains("Claude Code has nothing of this."), "{}", page.text);
    assert!(!home.file(".claude.json").exists());
    assert_eq!(home.json(".claude/settings.json"), json!({}));
}

#[test]
fn a_command_that_fails_is_said_and_leaves_the_rest_open() {
    let home = Home::new();
    home.install("claude", "#!/bin/sh\necho 'No such thing.' >&2\nexit 3\n");
    for agent in ["claude", "claude-plugin"] {
        let page = home.agent(agent, &[], &["--run"]);
        assert!(!page.is_ok && page.text.contains("No such thing.\n"), "{}", page.text);
        assert!(page.text.contains("failed: exit status: 3.") && page.text.contains("Not done yet"));
    }
    let page = home.agent("codex", &[], &["--run"]);
    assert!(!page.is_ok && page.text.contains("did not run: No such file"), "{}", page.text);
}

#[test]
fn each_agent_with_commands_is_known_to_have_the_tool() {
    let home = Home::new();
    let server = format!("\"command\": \"{PROGRAM}\", \"args\": [\"--socket\", \"/run/s\"]");
    for (agent, file, text) in [
        ("claude", ".claude.json", format!("{{\"mcpServers\": {{\"todo-write\": {{{server}}}}}}}")),
        ("gemini", ".gemini/settings.json", format!("{{\"mcpServers\": {{\"todo-write\": {{{server}}}}}}}")),
        (
            "copilot",
            ".copilot/mcp-config.json",
            format!("{{\"mcpServers\": {{\"todo-write\": {{{server}}}}}}}"),
        ),
        (
            "codex",
            ".codex/config.toml",
            format!(
                "model = \"x\"\n\n[mcp_servers.todo-write]\ncommand = \"{PROGRAM}\"\nargs = [\"--socket\", \"/run/s\"]\n\n\
                 [mcp_servers.other]\ncommand = \"y\"\n"
            ),
        ),
    ] {
        assert!(!home.agent(agent, &[], &[]).text.contains("It has the tool"), "{agent}");
        home.write(file, &text);
        assert!(home.agent(agent, &[], &[]).text.contains("It has the tool.\n"), "{agent}");
        let page = home.setup(&[agent]).text;
        assert!(page.contains("It has the tool by another command, which is replaced."), "{agent}");
        assert!(page.contains("mcp remove"), "{page}");
    }
}

#[test]
fn the_plugin_is_written_installed_updated_and_removed() {
    let home = Home::new();
    home.install("claude", CLAUDE);
    home.agent("claude", &[], &["--run"]);
    fs::remove_file(home.file("log")).unwrap();
    let folder = home.file("to do").display().to_string();
    let options = ["--folder", &folder, "--socket", "/run/it's"];
    let setup = |further: &[&str]| home.setup(&[&["claude-plugin"], &options[..], further].concat());
    let page = setup(&[]);
    assert!(!home.file("to do/claude").exists() && !home.file("log").exists());
    assert!(page.text.contains(&format!(
        "'{folder}/todo-write-mcp' setup claude-plugin --run --folder '{folder}' --socket '/run/it'\\''s'"
    )));
    assert!(page.text.contains("Without the plugin") && page.text.contains("todo-write-mcp' permission"));
    let page = setup(&["--run", "--write"]);
    assert!(page.is_ok && page.text.contains("It is installed."), "{}", page.text);
    assert!(page.text.contains("Nothing is left to do."), "{}", page.text);
    // The tool must not be there twice.
    assert_eq!(
        home.read("log"),
        format!(
            "claude mcp remove --scope user todo-write\nclaude plugin marketplace add {folder}/claude\n\
             claude plugin install todo-write@todo-write\n"
        )
    );
    let hooks = home.json("to do/claude/todo-write/hooks/hooks.json");
    for (event, name) in [
        ("PermissionRequest", "permission"),
        ("PostToolUse", "note"),
        ("Stop", "note"),
    ] {
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
    assert_eq!(fs::read(home.file(copy)).unwrap(), fs::read(PROGRAM).unwrap());
    assert_eq!(fs::read(home.file("to do/todo-write-mcp")).unwrap(), fs::read(PROGRAM).unwrap());
    // An upgrade.
    home.write(copy, "an older program");
    let page = setup(&[]);
    assert!(page.text.contains("another version") && page.text.contains("- install the plugin"));
    let page = setup(&["--run"]);
    assert!(home.read("log").contains("claude plugin uninstall") && page.text.contains("It is installed."));
    let page = setup(&["--remove", "--run", "--write"]);
    assert!(page.text.contains("Claude Code has nothing of this."), "{}", page.text);
    assert_eq!(files(&home.file("to do")), ["todo-write-mcp"]);
}

#[test]
fn agents_without_settings_that_are_written_get_text_to_paste() {
    let home = Home::new();
    let page = home.agent("goose", &[], &["--run", "--write"]);
    assert!(page.is_ok && page.text.contains(&format!("    cmd: \"{PROGRAM}\"\n")), "{}", page.text);
    assert!(page.text.contains("- put this into ~/.config/goose/config.yaml"), "{}", page.text);
    let page = home.agent("other", &[], &[]);
    assert!(
        page.text.contains("\"mcpServers\"") && page.text.contains("plan tool of its own, switch it off")
    );
    assert!(home.agent("goose", &[], &["--remove"]).text.contains("Remove todo-write from ~/.config/goose"));
}

#[test]
fn every_agent_is_told_to_plan_and_its_own_plan_tool_is_named() {
    let home = Home::new();
    let list = home.setup(&["--list"]).text;
    let names: Vec<_> = list.lines().map(|line| line.split_once('\t').unwrap()).collect();
    assert_eq!(names.len(), 9);
    for (id, label) in names {
        let page = home.agent(id, &[], &[]).text;
        assert_eq!(page, home.agent(label, &[], &[]).text);
        assert!(
            page.contains("plan tool") && page.contains("with the tool todo_write, and update"),
            "{page}"
        );
        let page: Value = serde_json::from_str(&home.agent(id, &[], &["--json"]).text).unwrap();
        assert!(!page["open"].as_array().unwrap().is_empty() && page["closing"].is_string());
        assert!(!page["copy"].as_str().unwrap().is_empty());
        for section in page["sections"].as_array().unwrap() {
            assert!(section["title"].is_string() && section["text"].is_string());
        }
    }
}

#[test]
fn what_cannot_be_meant_is_refused_in_words() {
    let home = Home::new();
    for (arguments, words) in [
        (&["cursr"][..], "cursr is not an agent that --list names"),
        (&[], "Usage: todo-write-mcp setup AGENT"),
        (&["codex", "--project", "garden"], "Codex has no settings of a project"),
        (&["claude", "--project", "nowhere"], "nowhere is not a folder"),
        (&["claude", "--wirte"], "--wirte is not known"),
        (&["claude", "--folder"], "--folder lacks its value"),
    ] {
        let output = home.setup(arguments);
        assert!(!output.is_ok && output.text.contains(words), "{}", output.text);
    }
    assert!(home.setup(&["--help"]).is_ok);
}

#[test]
fn the_state_of_the_plugin_is_what_the_settings_say() {
    let home = Home::new();
    let state = || home.setup(&["claude-plugin", "--state"]).text;
    assert_eq!(state(), "{\"installed\":false,\"program\":null}\n");
    for (settings, said) in [
        ("{ // mine", "{\"installed\":false,\"program\":null}\n"),
        ("[]", "{\"installed\":false,\"program\":null}\n"),
        (
            r#"{"enabledPlugins": {"todo-write@todo-write": true},
                "extraKnownMarketplaces": {"todo-write": {"source": {"path": "/p"}}}}"#,
            "{\"installed\":true,\"program\":\"/p/todo-write/todo-write-mcp\"}\n",
        ),
    ] {
        home.write(".claude/settings.json", settings);
        assert_eq!(state(), said);
        assert_eq!(home.read(".claude/settings.json"), settings);
    }
    assert!(home.setup(&["goose", "--state"]).text.contains("settings of Goose are not read"));
}

#[test]
fn the_state_of_an_agent_says_whether_it_has_the_tool() {
    let home = Home::new();
    for (agent, file, settings) in [
        ("claude", ".claude.json", r#"{"mcpServers": {"todo-write": {"command": "/p"}}}"#),
        ("codex", ".codex/config.toml", "[mcp_servers.todo-write]\ncommand = \"/p\"\n"),
        ("opencode", ".config/opencode/opencode.json", r#"{"mcp": {"todo-write": {"type": "local"}}}"#),
    ] {
        assert_eq!(home.setup(&[agent, "--state"]).text, "{\"installed\":false}\n");
        home.write(file, settings);
        assert_eq!(home.setup(&[agent, "--state"]).text, "{\"installed\":true}\n", "{agent}");
    }
}

#[test]
fn a_machine_gets_the_program_by_lines_for_a_shell() {
    let home = Home::new();
    let lines = |further: &[&str]| home.setup(&[&["--machine"], further].concat()).text;
    let command = "'umask 077; mkdir -p ~/.todo-write/bin && cat >~/.todo-write/bin/todo-write-mcp \
                   && chmod 700 ~/.todo-write/bin/todo-write-mcp'";
    assert_eq!(
        lines(&["--", "ssh", "-l", "m e", "build"]),
        format!("ssh -l 'm e' build {command} <{PROGRAM}\n")
    );
    // In a home of its own, the line does what it says.
    assert!(
        Command::new("sh")
            .arg("-c")
            .arg(lines(&["--", "sh", "-c"]))
            .env("HOME", &home.0)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(fs::read(home.file(".todo-write/bin/todo-write-mcp")).unwrap(), fs::read(PROGRAM).unwrap());
    let other = lines(&[
        "--system",
        "Plan9 mips\n\nrm -rf ~",
        "--sources",
        "a b",
        "--",
        "docker",
        "exec",
        "dev",
        "sh",
        "-c",
    ]);
    assert!(other.contains(&format!("tar -C '{}' -cf - Cargo.toml", home.file("a b").display())), "{other}");
    assert!(
        other.contains("\ndocker exec dev sh -c 'cargo install --path ~/.todo-write/todo-write/mcp"),
        "{other}"
    );
    assert!(other.contains("of the kind Plan9 mips  rm -rf ~, this one"), "{other}");
    let page: Value = serde_json::from_str(&lines(&["--json", "--", "ssh", "build"])).unwrap();
    assert!(page["lines"].as_str().unwrap().starts_with("ssh build ") && page["note"] == "");
    assert!(lines(&[]).contains("--machine lacks --"));
}

// opencode's plugin

const PLUGIN: &str = ".config/opencode/plugin/todo-write.js";

#[test]
fn the_plugin_of_opencode_is_written_beside_its_settings_and_deleted_again() {
    let home = Home::new();
    for (options, file) in
        [(vec![], PLUGIN), (vec!["--project", "garden"], "garden/.opencode/plugin/todo-write.js")]
    {
        let setup = |more: &[&str]| home.setup(&[&["opencode"], &options[..], more].concat());
        assert!(setup(&["--diff"]).text.contains("+const VERSION = \""));
        assert!(!home.file(file).exists());
        assert!(setup(&["--write", "--socket", "/a\"b/s"]).text.contains("Nothing is left to do."));
        let text = home.read(file);
        assert!(text.contains(r#"const SOCKET = "/a\"b/s";"#));
        assert!(text.starts_with(&format!(
            "// The plugin of todo-write for opencode, version {}.\n",
            env!("CARGO_PKG_VERSION")
        )));
        assert!(!text.contains("@VERSION@") && !text.contains("@SOCKET@"));
        // The usual socket is another text.
        assert!(setup(&["--write"]).text.contains("The old file is"));
        assert_eq!(home.read(&format!("{file}~")), text);
        assert!(home.read(file).contains(r#"const SOCKET = "";"#));
        let removed = setup(&["--remove", "--write"]).text;
        assert!(removed.contains("has nothing of this.") && !home.file(file).exists(), "{removed}");
    }
}

#[test]
fn an_older_plugin_of_opencode_is_replaced_and_a_newer_or_foreign_one_is_left_alone() {
    let home = Home::new();
    let plugin = |version: &str| format!("// The plugin of todo-write for opencode, version {version}.\n");
    let setup = |options: &[&str]| home.setup(&[&["opencode", "--write"], options].concat());
    home.write(PLUGIN, &plugin("0.0.9"));
    assert!(setup(&[]).text.contains("Nothing is left to do."));
    assert!(home.read(PLUGIN).contains("export const TodoWrite"));
    assert_eq!(home.read(&format!("{PLUGIN}~")), plugin("0.0.9"));
    home.write(PLUGIN, &plugin("999.0.0"));
    assert!(setup(&[]).text.contains("Version 999.0.0 is installed, which is newer."));
    assert_eq!(home.read(PLUGIN), plugin("999.0.0"));
    for foreign in ["// mine\n", "", &format!(" {}", plugin("0.0.9")), &plugin("1.x")] {
        home.write(PLUGIN, foreign);
        assert!(setup(&[]).text.contains("this setup did not write it"));
        assert!(setup(&["--remove"]).text.contains("this setup did not write it"));
        assert_eq!(home.read(PLUGIN), foreign);
    }
}

#[test]
fn no_link_of_a_project_leads_the_plugin_of_opencode_elsewhere() {
    for link in [".opencode", ".opencode/plugin", ".opencode/plugin/todo-write.js"] {
        let home = Home::new();
        home.write("other/plugin/todo-write.js", "// mine\n");
        let place = home.file(&format!("garden/{link}"));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let target = format!("other{}", link.strip_prefix(".opencode").unwrap());
        symlink(home.file(&target), &place).unwrap();
        for options in [&["--write"][..], &["--write", "--remove"]] {
            let page = home.setup(&[&["opencode", "--project", "garden"], options].concat()).text;
            assert!(page.contains("is left alone:") && page.contains(" a link"), "{page}");
        }
        assert_eq!(home.read("other/plugin/todo-write.js"), "// mine\n");
        assert_eq!(fs::read_dir(home.file("other/plugin")).unwrap().count(), 1);
    }
}
