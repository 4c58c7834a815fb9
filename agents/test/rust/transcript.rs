//! Following transcripts of Claude Code: threads show the lists and events of their sessions.

mod claude;
mod codex;
mod codex_subagents;
mod followed;
mod prompts;
mod recorded;
mod session;
mod states;
mod times;
mod work;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::common::{Completed, InProgress, NEVER, Pending, contents, corpus_or_skip, record, wait_until};
use crate::transcript_law::read_all;
use followed::{Followed, NOW, fixture_path, list, rows};
use serde_json::{Value, json};
use todo_write::events::observation::{Filter, Type};
use todo_write::journal::search::{Query, search_plans};
use todo_write::journal::store::{Storage, Store};
use todo_write::list::input::Options;
use todo_write::recorder::Recorder;
use todo_write::thread::{Edit, State};
use todo_write::wire::program::Machine;
use todo_write_mcp::describe::describe;
use todo_write_mcp::field::millis;
use todo_write_mcp::follower::Follower;
use todo_write_mcp::tail::TailChange;

const BAKERY: &str = "claude:5e55a000-0000-4000-8000-000000000001";

// Lines of the session `s` in the format of Claude Code.

fn assistant(message: &str, block: Value) -> Value {
    json!({"type": "assistant", "uuid": format!("u-{message}"), "sessionId": "s",
           "timestamp": "2026-01-01T00:00:01.000Z", "isSidechain": false, "cwd": "/p",
           "message": {"id": message, "role": "assistant", "content": [block]}})
}

fn call(id: &str, name: &str, input: Value) -> Value {
    assistant(&format!("m-{id}"), json!({"type": "tool_use", "id": id, "name": name, "input": input}))
}

fn todo(id: &str, content: &str) -> Value {
    let entry = json!({"content": content, "status": "pending", "activeForm": content});
    call(id, "TodoWrite", json!({ "todos": [entry] }))
}

fn answer(id: &str, is_error: bool) -> Value {
    json!({"type": "user", "uuid": format!("a-{id}"), "sessionId": "s", "isSidechain": false,
           "timestamp": "2026-01-01T00:00:02.000Z",
           "message": {"role": "user", "content": [
               {"type": "tool_result", "tool_use_id": id, "content": "done", "is_error": is_error}]}})
}

fn transcripts() -> Vec<PathBuf> {
    let folders = ["transcripts/claude", "transcripts"].map(corpus_or_skip);
    let found = folders.iter().flatten().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.extend(["todo-write.jsonl", "tasks.jsonl"].map(fixture_path));
    files
}

#[test]
fn a_subagents_list_is_under_the_task_it_works_on() {
    let mut followed = Followed::of("todo-write.jsonl");
    followed.read();
    let children = followed.store.children(BAKERY);
    assert_eq!(children.len(), 1, "the other subagent keeps no list: {children:?}");
    let (child, item) = &children[0];
    let mixing = followed.store.get(BAKERY).unwrap().unwrap().list()[1].clone();
    assert_eq!((mixing.content.starts_with("Mix"), item.as_deref()), (true, Some(mixing.id.as_str())));
    assert_eq!(
        followed.rows(child),
        list(&[("Weigh the flour", Completed), ("Knead for ten minutes", Completed)])
    );
    assert_eq!(followed.store.get(child).unwrap().unwrap().title(), Some("Weigh and knead"));
    assert_eq!(followed.store.current(None), Some(BAKERY));
}

#[test]
fn a_subagent_whose_lines_come_before_the_call_that_sent_it_out_is_under_its_task() {
    let of_subagent = |mut line: Value| {
        line["isSidechain"] = true.into();
        line["agentId"] = "helper".into();
        line
    };
    let rake = json!({"content": "Rake", "status": "in_progress", "activeForm": "Raking"});
    let mut followed = Followed::having(&[
        call("1", "TodoWrite", json!({ "todos": [rake] })),
        answer("1", false),
        of_subagent(assistant("m-0", json!({"type": "text", "text": "Rake the beds"}))),
    ]);
    followed.line(&call("2", "Agent", json!({"description": "Rake", "prompt": "Rake the beds"})));
    followed.line(&of_subagent(todo("3", "Find the rake")));
    followed.line(&of_subagent(answer("3", false)));
    followed.read();
    assert_eq!(followed.store.children("claude:s"), [("claude:s/helper".to_owned(), Some("t1".to_owned()))]);
}

#[test]
fn a_subagent_with_a_separate_file_is_found() {
    let session = "5e55a000-0000-4000-8000-000000000003";
    let mut follower = Follower::new(fixture_path(&format!("{session}.jsonl")), Options::default());
    let mut store = Store::new(Storage { history_limit: 100, ..Storage::default() });
    let news = read_all(&mut follower).unwrap();
    record(&mut Recorder::default(), &mut store, &news.events, NOW);
    let (main, child) = (format!("claude:{session}"), format!("claude:{session}/a7c0ffee"));
    assert_eq!(store.children(&main), [(child.clone(), Some("t2".to_owned()))]);
    assert_eq!(rows(&mut store, &child)[1], ("Put the rye in front".into(), InProgress));
    // The result of its call ends the subagent.
    assert_eq!(store.get(&child).unwrap().unwrap().state(), State::Paused);
}

#[test]
fn a_call_counts_when_it_is_answered_unless_it_is_refused() {
    let mut followed = Followed::having(&[todo("1", "First")]);
    assert_eq!(followed.rows("claude:s"), []);
    followed.line(&answer("1", false));
    followed.read();
    assert_eq!(followed.rows("claude:s"), list(&[("First", Pending)]));
    followed.line(&todo("2", "Refused"));
    followed.line(&answer("2", true));
    let (_, updates) = followed.read();
    assert_eq!(updates[0].outcome, None);
    assert_eq!(followed.rows("claude:s"), list(&[("First", Pending)]));
}

#[test]
fn events_are_recorded_with_their_own_times() {
    let mut followed = Followed::of("todo-write.jsonl");
    followed.read();
    let thoughts = followed.observed(BAKERY, Type::Thoughts);
    assert_eq!(thoughts, [json!({"text": "Rye needs a sourdough.\nSo the first step is to feed it."})]);
    let calls = followed.observed(BAKERY, Type::ToolCall);
    assert_eq!(calls[1]["name"], "Bash");
    assert_eq!(calls[1]["input"], r#"{"command":"cat recipes/rye.txt","description":"Read the recipe"}"#);
    let answers = followed.observed(BAKERY, Type::ToolExecution);
    assert_eq!((&answers[1]["isError"], &answers[2]["isError"]), (&json!(false), &json!(true)));
    assert_eq!(followed.observed(BAKERY, Type::Intent), ["/bake rye bread, two loaves"]);
    let thread = followed.store.get(BAKERY).unwrap().unwrap();
    let thought = &thread.observed(&Filter { kind: Some(Type::Thoughts), ..Filter::default() })[0];
    assert_eq!(Some(thought.timestamp), millis("2026-02-10T09:00:01.111Z"));
    assert_eq!(thought.payload.metadata.timestamp, Some(thought.timestamp));
    let fed = thread.times("t1").unwrap();
    assert_eq!(fed.spent(NOW), fed.completed.unwrap() - fed.created);
    assert_eq!(thread.pause_reason(), Some("interrupted by the user"));
}

#[test]
fn a_title_without_a_time_does_not_shift_later_times() {
    let title = || json!({"type": "ai-title", "aiTitle": "Rye", "sessionId": "s"});
    let mut followed = Followed::having(&[title(), todo("1", "First"), title(), answer("1", false), title()]);
    let thread = followed.store.get("claude:s").unwrap().unwrap();
    assert_eq!(thread.title(), Some("Rye"));
    assert_eq!(Some(thread.times("t1").unwrap().created), millis("2026-01-01T00:00:02.000Z"));
    let times: Vec<_> = thread.observed(&Filter::default()).iter().map(|one| one.timestamp).collect();
    assert!(times.iter().all(|time| Some(*time) <= millis("2026-01-01T00:00:02.000Z")), "{times:?}");
}

#[test]
fn following_again_repeats_nothing_and_keeps_the_users_edits() {
    let mut followed = Followed::of("todo-write.jsonl");
    followed.read();
    let id = followed.store.get(BAKERY).unwrap().unwrap().list()[0].id.clone();
    let edit = Edit::Rename { id, content: "Feed Hermann".into() };
    followed.store.get_mut(BAKERY).unwrap().change(|thread| thread.edit(edit, NOW)).unwrap();
    let (revisions, calls) = (followed.revisions(BAKERY), followed.observed(BAKERY, Type::ToolCall));
    followed.restart();
    let (_, updates) = followed.read();
    assert_eq!(updates, []);
    assert_eq!((followed.revisions(BAKERY), followed.observed(BAKERY, Type::ToolCall)), (revisions, calls));
    assert_eq!(followed.rows(BAKERY)[0].0, "Feed Hermann");
}

#[test]
fn a_truncated_or_replaced_file_is_read_from_its_beginning() {
    let mut followed = Followed::new();
    for id in ["1", "2"] {
        followed.line(&todo(id, &format!("Task {id}")));
        followed.line(&answer(id, false));
    }
    followed.read();
    let length = |followed: &Followed| fs::metadata(followed.file()).unwrap().len();
    let whole = length(&followed);
    fs::write(followed.file(), format!("{}\n{}\n", todo("3", "Shorter"), answer("3", false))).unwrap();
    assert!(length(&followed) < whole);
    assert_eq!(followed.read().0, TailChange::Replaced);
    assert_eq!(followed.rows("claude:s"), list(&[("Shorter", Pending)]));

    let other = followed.folder.path().join("other");
    let tail = "x".repeat(10_000);
    fs::write(&other, format!("{}\n{}\n\"{tail}\"\n", todo("4", "Rotated"), answer("4", false))).unwrap();
    fs::rename(&other, followed.file()).unwrap();
    assert_eq!(followed.read().0, TailChange::Replaced);
    assert_eq!(followed.rows("claude:s"), list(&[("Rotated", Pending)]));

    fs::remove_file(followed.file()).unwrap();
    assert_eq!(followed.read().0, TailChange::Missing);
    assert_eq!(followed.rows("claude:s"), list(&[("Rotated", Pending)]));
}

#[test]
fn unknown_lines_are_skipped() {
    let mut followed = Followed::new();
    followed.line(&todo("1", "Known"));
    followed.line(&answer("1", false));
    let nested = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let named = todo("2", "Unknown").to_string().replace("\"s\"", &format!("\"{}\"", "s".repeat(1_000)));
    let garbage =
        ["", "null", "{}", "not JSON", "[[]]", "{\"type\":5}", "{\"type\":\"user\"}", &nested, &named];
    for line in garbage {
        followed.append(format!("{line}\n").as_bytes());
    }
    followed.append(b"\xff\xfe\0\n");
    followed.line(&json!({"type": "assistant", "sessionId": "s", "message": {"content": [5, null, "text"]}}));
    followed
        .line(&json!({"type": "system", "sessionId": "s", "message": todo("3", "A quotation")["message"]}));
    followed.line(&call("4", "TodoWrite", json!({"todos": "nothing"})));
    followed.line(&answer("4", false));
    followed.read();
    assert_eq!(followed.rows("claude:s"), list(&[("Known", Pending)]));
    assert_eq!(followed.store.loaded().count(), 1);
    assert_eq!(followed.observed("claude:s", Type::Error).len(), 1, "a list that we cannot take is said");
}

#[test]
fn single_tasks_and_their_updates_become_a_list() {
    let mut followed = Followed::of("tasks.jsonl");
    followed.read();
    let thread = "claude:5e55a000-0000-4000-8000-000000000002";
    let list = followed.store.get(thread).unwrap().unwrap().list().clone();
    assert_eq!(contents(&list), ["Sweep the floor", "Count the till twice", "Lock up"]);
    assert_eq!(list[1].active_form, "Counting the till");
    assert_eq!(followed.store.get(thread).unwrap().unwrap().title(), Some("Market day"));
}

#[test]
fn a_session_is_described_by_its_beginning_and_its_title() {
    let head = describe(&fixture_path("todo-write.jsonl")).unwrap();
    assert_eq!(head.title.as_deref(), Some("/bake rye bread, two loaves"));
    assert_eq!(head.folder.as_deref(), Some("/home/user/bakery"));
    assert!(!head.is_subagent);
    assert_eq!(describe(&fixture_path("tasks.jsonl")).unwrap().title.as_deref(), Some("Market day"));
    let agent = "5e55a000-0000-4000-8000-000000000003/subagents/agent-a7c0ffee.jsonl";
    assert!(describe(&fixture_path(agent)).unwrap().is_subagent);
    assert_eq!(describe(Path::new(env!("CARGO_MANIFEST_DIR"))), None);
}

#[test]
fn times_are_read_to_the_millisecond() {
    let cases = [
        ("1970-01-01T00:00:00.000Z", Some(0)),
        ("2000-02-29T12:34:56.789Z", Some(951_827_696_789)),
        ("2026-02-10T09:00:01Z", Some(1_770_714_001_000)),
        ("2026-02-10T09:00:01.5Z", Some(1_770_714_001_500)),
        ("2026-02-10T09:00:01+01:00", None),
        ("2026-99-10T09:00:01Z", None),
        ("2026-02-31T12:00:00Z", None),
        ("2026-02-29T12:00:00Z", None),
        ("1969-12-31T23:59:59Z", None),
        ("yesterday", None),
        ("", None),
    ];
    for (text, time) in cases {
        assert_eq!(millis(text), time, "{text}");
    }
}

#[test]
fn a_folder_that_another_machine_names_is_on_that_machine() {
    let machine = Machine { name: "build".into(), prefix: "/ssh:build:".into() };
    for (folder, expected) in [
        ("/home/user/bakery", Some("/ssh:build:/home/user/bakery")),
        ("/ssh:elsewhere:/x", Some("/ssh:build:/:/ssh:elsewhere:/x")),
        ("/a//ssh:elsewhere:/x", Some("/ssh:build:/:/a//ssh:elsewhere:/x")),
        ("/a/~root/x", Some("/ssh:build:/:/a/~root/x")),
        ("~/x", None),
        ("", None),
        ("/a\nb", None),
    ] {
        assert_eq!(machine.folder(folder).as_deref(), expected, "{folder:?}");
    }
}

#[test]
fn what_a_subagents_command_prints_of_an_excluded_file_is_not_recorded() {
    let mut followed = Followed::new();
    followed.exclude(&[".env"]);
    followed.line(&assistant("m", json!({"type": "text", "text": "I send someone"})));
    let long = format!("{}; cat .env", "make ".repeat(100));
    for (id, command) in [("c1", "cat .env"), ("c2", "cat README"), ("c3", &long)] {
        let mut lines = [call(id, "Bash", json!({ "command": command })), answer(id, false)];
        for line in &mut lines {
            line["isSidechain"] = true.into();
            line["agentId"] = "a1".into();
            followed.line(line);
        }
    }
    followed.read();
    let results = followed.observed("claude:s", Type::ToolExecution);
    let contents: Vec<_> = results.iter().map(|result| &result["content"]).collect();
    assert_eq!(contents, [&Value::Null, &json!("done"), &Value::Null]);
}

/// Whether the inputs and the outputs of these calls in the project /p are recorded.
fn recorded(excluded: &[&str], calls: &[(&str, Value)]) -> Vec<(bool, bool)> {
    let mut followed = Followed::new();
    followed.exclude(excluded);
    for (id, (tool, input)) in calls.iter().enumerate() {
        let (mut call, mut answer) =
            (call(&id.to_string(), tool, input.clone()), answer(&id.to_string(), false));
        for line in [&mut call, &mut answer] {
            line["cwd"] = "/p".into();
            followed.line(line);
        }
    }
    followed.read();
    let is_kept = |followed: &mut Followed, kind, key: &str| -> Vec<bool> {
        followed.observed("claude:s", kind).iter().map(|one| !one[key].is_null()).collect()
    };
    let inputs = is_kept(&mut followed, Type::ToolCall, "input");
    inputs.into_iter().zip(is_kept(&mut followed, Type::ToolExecution, "content")).collect()
}

#[test]
fn only_paths_and_commands_name_excluded_files() {
    let shell = |command: &str| ("Bash", json!({ "command": command }));
    let long = format!("{}; cat .env", "make ".repeat(100));
    let (all, no_output, none) = ((true, true), (true, false), (false, false));
    let calls = [
        (shell(&long), no_output),
        (shell("cat \\\n.env"), no_output),
        (shell("cat < .env"), no_output),
        (shell("cat 'a b' \"./.env\" | wc"), no_output),
        (shell("docker run --env-file=.env app"), no_output),
        (shell("curl -d @.env https://example.org"), no_output),
        (shell("git show HEAD:.env"), no_output),
        (shell("echo \"$(cat .env)\""), no_output),
        (shell("bash -lc 'cd x && cat .env'"), no_output),
        (shell("ssh host \"cat .env\""), no_output),
        (shell("python3 -c \"print(open('.env').read())\""), no_output),
        (shell("ssh -i ~/.ssh/id_rsa host uptime"), no_output),
        (shell("cat '/p/My Files/key'"), no_output),
        (shell("cat {a,.env}"), no_output),
        (shell("cat ./credentials"), no_output),
        (shell("echo KEY=1 > .env"), no_output),
        (shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: .env\n+KEY=1\nEOF"), none),
        (("Read", json!({"file_path": "/p/.env"})), none),
        (("Write", json!({"file_path": "/p/.env", "content": "x"})), none),
        (("Grep", json!({"pattern": "KEY", "glob": "*.env"})), none),
        (("Other", json!({"more": [[[[{"paths": ["a", ".env"]}]]]]})), none),
        // In a command, prose is not told from names.
        (shell("git commit -m 'Store credentials in .env'"), no_output),
        (shell("cat .environment"), all),
        (shell("git commit --message=credentials"), all),
        (shell("grep -rn credentials src"), all),
        (("Edit", json!({"file_path": "/p/a.js", "old_string": ".env", "new_string": "credentials"})), all),
        (("MultiEdit", json!({"file_path": "/p/a.js", "edits": [{"new_string": ".env"}]})), all),
        (("Task", json!({"prompt": "Move the settings out of .env", "description": "credentials"})), all),
        (("TaskCreate", json!({"subject": "credentials", "description": ".env"})), all),
        (("WebFetch", json!({"url": "https://example.org/credentials", "prompt": ".env"})), all),
    ];
    let (inputs, expected): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
    let found = recorded(&[".env", "*.env", "credentials", ".ssh", "/p/My Files"], &inputs);
    for ((input, expected), found) in inputs.iter().zip(expected).zip(found) {
        assert_eq!(found, expected, "{input:?}");
    }
}

#[test]
fn an_excluded_file_is_recognized_however_its_name_is_written() {
    let home = std::env::home_dir().unwrap();
    let home = home.to_str().unwrap();
    for (glob, name) in [
        ("/p/secret", "secret/key"),
        ("/p/secret", "./a/..//secret/key"),
        ("/secret/*", "../secret/key"),
        ("/p/../secret/*", "/secret//key"),
        ("config/secret.yml", "/p/config/secret.yml"),
        ("config/secret.yml", "config/secret.yml"),
        ("~/secret", "~/secret/key"),
        ("~/secret", "$HOME/secret/key"),
        ("$HOME/secret", "${HOME}/x/../secret/key"),
        ("~/secret", &format!("{home}/secret/key")),
        (&format!("{home}/secret/"), "~/secret//key"),
        ("secret", "a/../secret/key"),
    ] {
        let calls =
            [("Read", json!({"file_path": name})), ("Bash", json!({"command": format!("cat {name}")}))];
        assert_eq!(recorded(&[glob], &calls), [(false, false), (true, false)], "{glob} {name}");
    }
    let other = [("Read", json!({"file_path": "secret/../a"})), ("Read", json!({"file_path": "/q/secret"}))];
    assert_eq!(recorded(&["/p/secret", "~/secret"], &other), [(true, true), (true, true)]);
}

#[test]
fn what_is_not_recorded_says_which_name_is_why() {
    let mut followed = Followed::new();
    followed.exclude(&[".env"]);
    for (id, tool, input) in
        [("1", "Read", json!({"file_path": "/p/d/.env"})), ("2", "Bash", json!({"command": "cat d/.env"}))]
    {
        for mut line in [call(id, tool, input), answer(id, false)] {
            line["cwd"] = "/p".into();
            followed.line(&line);
        }
    }
    followed.read();
    let thread = followed.store.get("claude:s").unwrap().unwrap();
    let all = thread.observed(&Filter::default());
    let excluded: Vec<_> = all.iter().filter_map(|one| one.payload.call()?.excluded.as_deref()).collect();
    assert_eq!(excluded, ["d/.env"; 4]);
    let query = Query::of("recorded .env").unwrap();
    let plans = followed.store.plans_to_search(Some("claude:s"), &query).unwrap();
    let (found, _) = search_plans(plans, 9, |_, _| Ok::<(), ()>(())).unwrap();
    assert!(found.iter().all(|place| place.line == "not recorded: names d/.env"), "{found:?}");
    assert_eq!(found.len(), 4);
}

#[test]
fn exclusions_apply_from_the_next_read_and_outlive_the_replacement_of_a_file() {
    let mut followed = Followed::new();
    let long = json!({"command": format!("{}; cat .env", "make ".repeat(100))});
    let excluded = |id: &str, followed: &mut Followed| {
        followed.line(&call(id, "Bash", long.clone()));
        followed.line(&answer(id, false));
        followed.read();
        followed.observed("claude:s", Type::ToolExecution).pop().unwrap()["content"].is_null()
    };
    assert!(!excluded("c1", &mut followed));
    followed.exclude(&[".env"]);
    assert!(excluded("c2", &mut followed));
    std::fs::write(followed.file(), "").unwrap();
    assert!(excluded("c3", &mut followed));
}

#[test]
fn a_subagents_file_is_found_although_its_folder_seems_unchanged() {
    let mut followed = Followed::new();
    followed.line(&assistant("m", json!({"type": "text", "text": "I send two"})));
    let folder = followed.file().with_extension("").join("subagents");
    // Equal times of a folder prove nothing until they are old.
    let time = SystemTime::now() + NEVER;
    for id in ["a1", "a2"] {
        for mut line in [todo(id, "Dig"), answer(id, false)] {
            line["isSidechain"] = true.into();
            line["agentId"] = id.into();
            followed.append_to_subagent(format!("agent-{id}.jsonl").as_ref(), format!("{line}\n").as_bytes());
        }
        File::open(&folder).unwrap().set_modified(time).unwrap();
        wait_until(id, || {
            followed.read();
            followed.store.get(&format!("claude:s/{id}")).unwrap().is_some()
        });
    }
}
