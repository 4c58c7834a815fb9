//! What counts as a task's work in transcripts: commands, changed files and tokens.

use std::ffi::OsStr;
use std::fs::File;
use std::time::SystemTime;

use serde_json::{Value, json};
use todo_write::events::git::GitOperation;
use todo_write::events::observation::{Filter, Type};
use todo_write::events::payload::RefusedBy;
use todo_write::events::work::{CallOutcome, CommandWork, FileWork, Part, Tokens, Work};
use todo_write::wire::bounds::ENTRIES;

use super::claude::Session;
use super::codex::Rollout;
use super::followed::Followed;

const NONE: CommandWork = CommandWork { run: 0, failed: 0, refused: 0, background: 0, unknown: 0 };
const OK: CommandWork = CommandWork { run: 1, ..NONE };
const FAILED: CommandWork = CommandWork { failed: 1, ..OK };
const REFUSED: CommandWork = CommandWork { refused: 1, ..NONE };
const BACKGROUND: CommandWork = CommandWork { background: 1, ..OK };
const UNKNOWN: CommandWork = CommandWork { unknown: 1, ..OK };

fn work(followed: &mut Followed, thread: &str, part: Part<'_>) -> Work {
    followed.store.get(thread).unwrap().unwrap().work(part).cloned().unwrap_or_default()
}

/// The files with their added and removed lines and whether they were created or deleted.
fn files(work: &Work) -> Vec<(&str, u64, u64, bool, bool)> {
    let file = |file| {
        let FileWork { path, added, removed, created, deleted, .. }: &FileWork = file;
        (path.as_str(), *added, *removed, *created, *deleted)
    };
    work.files.iter().map(file).collect()
}

// Claude Code

/// A session whose first task is in progress.
fn at_work() -> Session {
    let mut session = Session::new("cli");
    session.create(1, "Sift").create(2, "Knead").update(1, "in_progress");
    session
}

fn of_claude(session: &Session, part: Part<'_>) -> Work {
    work(&mut session.followed(), "claude:s", part)
}

#[test]
fn a_command_of_claude_code_ends_as_its_result_says() {
    let cases = [
        ("flour", false, json!({"stdout": "flour"}), "2.1.0", OK),
        ("", false, json!({"backgroundTaskId": "b1"}), "2.1.0", BACKGROUND),
        ("", false, json!({"interrupted": true}), "2.1.0", FAILED),
        ("Exit code 2\nno flour", true, Value::Null, "2.1.0", FAILED),
        ("The user doesn't want to proceed", true, Value::Null, "1.0.9", REFUSED),
        ("<tool_use_error>No such tool</tool_use_error>", true, Value::Null, "1.0.9", REFUSED),
        ("Permission to use Bash has been denied", true, Value::Null, "2.1.0", REFUSED),
        // What the user says in place of an answer stands alone since version 2.
        ("Use the other flour", true, Value::Null, "2.1.0", REFUSED),
        ("Use the other flour", true, Value::Null, "1.0.9", FAILED),
    ];
    for (text, is_error, fields, version, commands) in cases {
        let mut session = at_work();
        session.call("Bash", json!({"command": "ls"}), text, fields);
        let result = session.lines.last_mut().unwrap();
        result["message"]["content"][0]["is_error"] = is_error.into();
        result["version"] = version.into();
        assert_eq!(of_claude(&session, Part::Item("t1")).commands, commands, "{text:?} of {version}");
    }
}

#[test]
fn an_edit_of_claude_code_has_the_lines_of_its_patch_or_of_its_texts() {
    let edit = |old: &str, new: &str| json!({"file_path": "/p/f", "old_string": old, "new_string": new});
    let write = |text: &str| json!({"file_path": "/p/f", "content": text});
    let hunk =
        json!([{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["-a", "+b", "+c"]}]);
    let far = json!([{"oldStart": u64::MAX, "newStart": u64::MAX, "lines": ["-a", "+b", "+c"]}]);
    let many = json!({"file_path": "/p/f", "edits": [
        {"old_string": "a\n", "new_string": "b\nc\n"}, {"old_string": "d\n", "new_string": ""}]});
    let cases = [
        ("Edit", edit("a", "b\nc"), json!({"structuredPatch": hunk}), (2, 1, false)),
        ("Edit", edit("a", "b\nc"), json!({"structuredPatch": far}), (2, 1, false)),
        ("Edit", edit("a\nsame\n", "b\nsame\nc\n"), Value::Null, (2, 1, false)),
        ("MultiEdit", many, Value::Null, (2, 2, false)),
        ("Write", write("a\nb\n"), json!({"type": "create", "structuredPatch": []}), (2, 0, true)),
        ("Write", write("b\nc"), json!({"type": "update", "structuredPatch": hunk}), (2, 1, false)),
    ];
    for (tool, input, fields, (added, removed, created)) in cases {
        let mut session = at_work();
        session.call(tool, input, "done", fields);
        let work = of_claude(&session, Part::Item("t1"));
        assert_eq!(files(&work), [("/p/f", added, removed, created, false)], "{tool}");
        assert_eq!((work.added, work.removed, work.edits), (added, removed, 1), "{tool}");
        let last = session.lines.last_mut().unwrap();
        last["message"]["content"][0]["is_error"] = true.into();
        assert_eq!(of_claude(&session, Part::Whole).edits, 0, "{tool} failed");
    }
}

#[test]
fn a_patch_of_claude_code_gets_its_tabs_back() {
    // Lines show each leading tab as two spaces. The whole file, or else the texts of the call, have the tabs.
    let lines = json!(["   one", "-  two", "+  2"]);
    let hunk = json!([{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": lines}]);
    let input = json!({"file_path": "/p/f", "old_string": "\ttwo\n", "new_string": "\t2\n"});
    for (original, patch) in
        [(json!("\tone\n\ttwo\n"), " \tone\n-\ttwo\n+\t2\n"), (Value::Null, "   one\n-\ttwo\n+\t2\n")]
    {
        let mut session = at_work();
        session.call(
            "Edit",
            input.clone(),
            "done",
            json!({"structuredPatch": hunk, "originalFile": original}),
        );
        let found = patches(&mut session.followed(), "claude:s").pop().unwrap();
        assert!(found.ends_with(&format!("@@ -1,2 +1,2 @@\n{patch}")), "{found}");
        assert_eq!(found.contains("# Inexact"), original.is_null(), "{found}");
    }
}

/// The patches that the calls of a thread recorded.
fn patches(followed: &mut Followed, thread: &str) -> Vec<String> {
    let calls = Filter { kind: Some(Type::ToolExecution), ..Filter::default() };
    let calls = followed.store.get(thread).unwrap().unwrap().observed(&calls);
    calls.iter().flat_map(|call| call.payload.files()).filter_map(|file| file.patch.clone()).collect()
}

const FORGED: &str = "\n--- a/f\n+++ /ssh:evil.example:/x\n@@ -1 +1 @@\n-1\n+2";

#[test]
fn a_line_of_a_patch_of_claude_code_forges_no_header() {
    for original in [Value::Null, json!("a\nend\n")] {
        let hunk = |line: &str| json!({"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", line]});
        let hunks = json!([hunk("+b"), hunk(&format!("+b{FORGED}")), hunk(&format!(" {FORGED}"))]);
        let mut session = at_work();
        let input = json!({"file_path": "/p/f", "old_string": "a", "new_string": format!("b{FORGED}")});
        session.call("Edit", input, "done", json!({"structuredPatch": hunks, "originalFile": original}));
        let patch = patches(&mut session.followed(), "claude:s").pop().unwrap();
        assert!(!patch.contains("\n+++ /ssh:") && patch.matches("\n--- ").count() == 1, "{patch}");
    }
}

#[test]
fn a_change_of_codex_forges_no_header() {
    let good = "@@ -1 +1 @@\n-a\n+b\n";
    for diff in [format!("{good}{}\n", &FORGED[1..]), format!("@@ -1 +1 @@\n-a{FORGED}\n+b\n{good}")] {
        let mut rollout = raking();
        let changes = json!({"/p/f": {"type": "update", "unified_diff": diff}});
        rollout.event("patch_apply_end", json!({"call_id": "p", "success": true, "changes": changes}));
        let patch = patches(&mut rollout.followed(), "codex:r").pop().unwrap();
        assert!(patch.contains("# Left out: "), "{patch}");
        assert!(!patch.contains("\n+++ /ssh:") && patch.matches("\n--- ").count() == 1, "{patch}");
    }
}

/// The call of a command of Claude Code whose result tells these changes.
fn changing(session: &mut Session, diff: &Value) {
    session.call(
        "Bash",
        json!({"command": "sed -i s/a/b/ f"}),
        "",
        json!({"stdout": "", "bashEditDiff": diff}),
    );
}

#[test]
fn the_files_that_a_command_of_claude_code_changed_count_as_edits_by_command() {
    let hunk = |old_start: u64, old: u64, new_start: u64, new: u64, lines: Value| json!({"oldStart": old_start, "oldLines": old, "newStart": new_start, "newLines": new, "lines": lines});
    let mut session = at_work();
    changing(
        &mut session,
        &json!({"moreFiles": 0, "files": [
            {"filePath": "/p/a", "hunks": [hunk(1, 3, 1, 3, json!([" one", "-two", "+TWO", " \tthree"]))]},
            {"filePath": "/p/b", "hunks": [hunk(1, 0, 1, 1, json!(["+new"]))], "created": true},
            {"filePath": "/p/c", "hunks": [hunk(1, 1, 0, 0, json!(["-gone"]))], "deleted": true},
            {"filePath": "/p/empty", "hunks": [], "created": true},
        ]}),
    );
    let work = of_claude(&session, Part::Item("t1"));
    let expected = [
        ("/p/a", 1, 1, false, false),
        ("/p/b", 1, 0, true, false),
        ("/p/c", 0, 1, false, true),
        ("/p/empty", 0, 0, true, false),
    ];
    assert_eq!(files(&work), expected);
    assert_eq!((work.added, work.removed, work.edits, work.more_files), (2, 2, 4, false));
    assert!(work.files.iter().all(|file| file.by_command));
    assert_eq!(work.commands, OK);
    let patches = patches(&mut session.followed(), "claude:s");
    assert!(patches[0].ends_with("@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n \tthree\n"), "{}", patches[0]);
    assert!(patches[1].ends_with("--- /dev/null\n+++ b/b\n@@ -0,0 +1,1 @@\n+new\n"), "{}", patches[1]);
    assert!(!patches.concat().contains("# Inexact"));
}

#[test]
fn a_command_of_claude_code_changed_more_files_where_not_all_are_told() {
    let file = json!({"filePath": "/p/f", "hunks": []});
    let many: Vec<Value> =
        (0..=ENTRIES).map(|n| json!({"filePath": format!("/p/{n}"), "hunks": []})).collect();
    let long = json!([{"filePath": "/p/f", "hunks": [{"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1,
        "lines": [format!("+{}", "a".repeat(1024 * 1024))]}]}]);
    for (diff, count, more) in [
        (json!({"files": [file], "moreFiles": 0}), 1, false),
        (json!({"files": [file], "moreFiles": 2}), 1, true),
        (json!({"files": [], "moreFiles": 0, "unavailable": true}), 0, true),
        (json!({"files": [], "moreFiles": 0, "skipped": true}), 0, true),
        (json!({"files": [file], "moreFiles": 0, "shared": true}), 1, false),
        // A task keeps a thousand.
        (json!({"files": many, "moreFiles": 0}), 1_000, true),
        (json!({"files": long, "moreFiles": 0}), 0, true),
        // What cannot be read is left out.
        (json!({"files": [{"filePath": 1, "hunks": []}, file], "moreFiles": "x"}), 1, true),
    ] {
        let mut session = at_work();
        changing(&mut session, &diff);
        let work = of_claude(&session, Part::Item("t1"));
        assert_eq!((work.files.len(), work.more_files), (count, more), "{:.200}", diff.to_string());
    }
}

#[test]
fn only_hunks_of_a_command_whose_lines_match_their_header_count() {
    let hunk = |old: u64, new: u64, lines: Value| json!({"oldStart": 1, "oldLines": old, "newStart": 1, "newLines": new, "lines": lines});
    let mut session = at_work();
    let hunks = json!([
        hunk(1, 1, json!(["-a", "+b"])),
        hunk(1, 2, json!(["-a", "+b"])),
        hunk(1, 2, json!(["-a", format!("+b{FORGED}")])),
        hunk(1, 1, json!(["-a", "+b", "--- a/x", "+++ /y"])),
        hunk(u64::MAX, u64::MAX, json!([])),
    ]);
    changing(&mut session, &json!({"files": [{"filePath": "/p/f", "hunks": hunks}], "moreFiles": 0}));
    let work = of_claude(&session, Part::Item("t1"));
    assert_eq!(files(&work), [("/p/f", 1, 1, false, false)]);
    let patch = patches(&mut session.followed(), "claude:s").pop().unwrap();
    assert!(patch.contains("@@ -1,1 +1,1 @@\n-a\n+b\n# Left out: 3 malformed hunks.\n"), "{patch}");
    assert_eq!(patch.matches("\n--- ").count(), 1, "{patch}");
}

/// What the last call of a thread did in Git, and who refused it, in words.
fn told(followed: &mut Followed, thread: &str) -> (Vec<String>, Option<String>) {
    let calls = Filter { kind: Some(Type::ToolExecution), ..Filter::default() };
    let call = followed.store.get(thread).unwrap().unwrap().observed(&calls).pop().unwrap();
    let words = |one: &GitOperation| {
        let texts = [&one.action, &one.id, &one.title, &one.branch, &one.url];
        texts.into_iter().flatten().fold(one.kind.to_string(), |all, text| format!("{all} {text}"))
    };
    let refusal = call.payload.call().unwrap().refusal.as_ref();
    (
        call.payload.call().unwrap().git.iter().flatten().map(words).collect(),
        refusal.map(|one| format!("{} {}", one.by, one.reason.as_deref().unwrap_or("-"))),
    )
}

#[test]
fn a_command_of_claude_code_tells_commits_pushes_and_pull_requests() {
    let url = "https://github.com/o/r/pull/42";
    for (command, text, fields, expected) in [
        (
            "git commit -m x",
            "[main 5dbce40] Second thing\n 1 file changed",
            json!({}),
            vec!["commit 5dbce40 Second thing main"],
        ),
        (
            "git commit --amend -m x",
            "[main ce0777e] Third",
            json!({"commit": {"sha": "ce0777e", "kind": "amended", "branch": "main"}}),
            vec!["commit amended ce0777e Third main"],
        ),
        (
            "git commit -q",
            "",
            json!({"commit": {"sha": "5dbce40", "kind": "committed"}}),
            vec!["commit 5dbce40"],
        ),
        ("git push", "", json!({"push": {"branch": "main"}}), vec!["push main"]),
        ("git merge a", "", json!({"branch": {"ref": "a", "action": "merged"}}), vec!["merge a"]),
        ("git push; gh pr create", url, json!({}), vec![]),
        (
            "gh pr merge",
            "",
            json!({"pr": {"number": 42, "url": url, "action": "merged"}}),
            vec!["pullRequest merged https://github.com/o/r/pull/42"],
        ),
        (
            "gh pr edit",
            "",
            json!({"pr": {"number": 42, "url": "file:///etc", "action": "edited"}}),
            vec!["pullRequest edited"],
        ),
        ("cat log", "[main 5dbce40] Second thing", json!({"commit": {"sha": "--help"}, "push": 1}), vec![]),
    ] {
        let mut session = at_work();
        session.call(
            "Bash",
            json!({"command": command}),
            text,
            json!({"stdout": text, "gitOperation": fields}),
        );
        assert_eq!(told(&mut session.followed(), "claude:s").0, expected, "{command}");
    }
    let mut failed = at_work();
    failed.call("Bash", json!({"command": "git commit"}), "Exit code 1\n[main 5dbce40] x", Value::Null);
    failed.lines.last_mut().unwrap()["message"]["content"][0]["is_error"] = true.into();
    assert_eq!(told(&mut failed.followed(), "claude:s").0, [""; 0]);
}

#[test]
fn a_refused_call_of_claude_code_says_who_refused_it_and_why() {
    let rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let said = format!("{rejected} To tell you how to proceed, the user said:\nUse make\nplease");
    let check = "Permission for this action was denied by the Claude Code auto mode classifier. Reason: It deletes.. If you have other tasks, go on.";
    for (kind, text, expected) in [
        (Some("permission-rule"), "Permission to use Bash with command rm has been denied.", Some("rule -")),
        (Some("user-rejected"), rejected, Some("user -")),
        (Some("user-rejected"), &said, Some("user Use make")),
        (Some("automode-blocked"), check, Some("auto It deletes.")),
        (Some("automode-unavailable"), "The check is down.", Some("noAnswer -")),
        // Subagents' lines and those of older versions name no kind.
        (None, check, Some("auto It deletes.")),
        (None, "Permission to use Bash has been denied", Some("rule -")),
        (None, "Use the other flour", Some("user Use the other flour")),
        (None, "<tool_use_error>No such tool</tool_use_error>", None),
        (None, "Exit code 1", None),
        // Where the user cannot be asked, the kind names the user all the same.
        (
            Some("user-rejected"),
            "Claude requested permissions to use it, but you haven't granted it yet.",
            Some("rule -"),
        ),
    ] {
        for tool in ["Bash", "WebFetch"] {
            let mut session = at_work();
            session.call(tool, json!({"command": "ls"}), text, Value::Null);
            let result = session.lines.last_mut().unwrap();
            result["message"]["content"][0]["is_error"] = true.into();
            result["version"] = if kind.is_some() { "2.1.331" } else { "2.1.330" }.into();
            kind.iter().for_each(|kind| result["toolDenialKind"] = (*kind).into());
            // Without a kind, what another tool says is its own failure.
            let is_told = tool == "Bash" || kind.is_some() || text.starts_with("Permission");
            let expected = expected.filter(|_| is_told);
            assert_eq!(told(&mut session.followed(), "claude:s").1.as_deref(), expected, "{tool}: {text}");
            let refused = of_claude(&session, Part::Item("t1")).refused;
            let is_unsaid = tool == "Bash" && text.starts_with("<tool_use_error>");
            assert_eq!(refused, u64::from(expected.is_some() || is_unsaid), "{tool}: {text}");
        }
    }
}

#[test]
fn an_error_of_a_tool_of_claude_code_names_no_one_who_refused_it() {
    let outcome = |tool: &str, text: &str, version: &str, kind: Option<&str>| {
        let mut session = at_work();
        session.call(tool, json!({"command": "ls"}), text, Value::Null);
        let result = session.lines.last_mut().unwrap();
        result["message"]["content"][0]["is_error"] = true.into();
        result["version"] = version.into();
        kind.iter().for_each(|kind| result["toolDenialKind"] = (*kind).into());
        let mut followed = session.followed();
        let thread = followed.store.get("claude:s").unwrap().unwrap();
        let calls = thread.observed(&Filter { kind: Some(Type::ToolExecution), ..Filter::default() });
        let call = calls.last().unwrap().payload.call().unwrap();
        (call.outcome, call.refusal.as_ref().map(|refusal| refusal.by))
    };
    let malformed = "<tool_use_error>File has not been read yet.</tool_use_error>";
    let gone = "Working directory \"/p\" no longer exists, so this command was not run.";
    for (tool, text, version, kind, expected) in [
        ("Edit", malformed, "1.0.98", None, CallOutcome::Failed),
        ("Edit", malformed, "2.1.332", None, CallOutcome::Failed),
        // A command that never ran counts as refused.
        ("Bash", malformed, "2.1.332", None, CallOutcome::Refused),
        ("Bash", gone, "2.1.332", None, CallOutcome::Refused),
        ("Bash", gone, "2.1.332", Some("interrupted"), CallOutcome::Refused),
        ("Bash", gone, "2.1.332", Some("user-rejected"), CallOutcome::Refused),
    ] {
        let by = kind.filter(|kind| *kind == "user-rejected").map(|_| RefusedBy::User);
        assert_eq!(
            outcome(tool, text, version, kind),
            (Some(expected), by),
            "{tool} of {version}: {text} {kind:?}"
        );
    }
}

#[test]
fn a_thread_says_how_many_calls_were_refused_of_late() {
    let mut session = at_work();
    session.call("Bash", json!({"command": "ls"}), "", Value::Null);
    let mut followed = session.followed();
    let counts = [true, false, true].map(|is_refused| {
        let begun = session.lines.len();
        session.call("Bash", json!({"command": "rm x"}), "Exit code 1", Value::Null);
        let result = session.lines.last_mut().unwrap();
        result["message"]["content"][0]["is_error"] = true.into();
        if is_refused {
            result["toolDenialKind"] = "permission-rule".into();
        }
        session.lines[begun..].iter().for_each(|line| followed.line(line));
        followed.read();
        let thread = followed.store.get("claude:s").unwrap().unwrap();
        let calls = thread.observed(&Filter { kind: Some(Type::ToolExecution), ..Filter::default() });
        (thread.refused_after(0), calls.last().unwrap().timestamp)
    });
    let thread = followed.store.get("claude:s").unwrap().unwrap();
    assert_eq!(counts.map(|(count, _)| count), [1, 1, 2]);
    assert_eq!(counts.map(|(_, time)| thread.refused_after(time)), [1, 1, 0]);
}

#[test]
fn a_command_of_codex_tells_what_it_did_in_git_and_who_refused_it() {
    let item = |status: &str, code: Option<i64>, output: &str| {
        json!({"item": {"type": "CommandExecution", "id": "exec-1", "status": status,
        "exit_code": code, "command": ["/bin/bash", "-lc", "git commit -m x"], "aggregated_output": output}})
    };
    let mut committed = raking();
    committed.event("item_completed", item("completed", Some(0), "[main 5dbce40] Second"));
    assert_eq!(told(&mut committed.followed(), "codex:r").0, ["commit 5dbce40 Second main"]);
    let mut declined = raking();
    declined.event("item_completed", item("declined", None, ""));
    assert_eq!(told(&mut declined.followed(), "codex:r").1.as_deref(), Some("user -"));
    assert_eq!(of_codex(&declined, Part::Item("t1")).refused, 1);
}

#[test]
fn a_command_that_adds_only_the_last_line_feed_has_an_inexact_patch() {
    let hunk = json!({"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 3, "lines": [" x", "-y", "+y", "+z"]});
    let mut session = at_work();
    changing(&mut session, &json!({"files": [{"filePath": "/p/f", "hunks": [hunk]}], "moreFiles": 0}));
    assert!(patches(&mut session.followed(), "claude:s")[0].contains("# Inexact"));
}

#[test]
fn work_counts_for_the_task_in_progress_at_its_result_or_for_none() {
    let mut session = Session::new("cli");
    let run = |session: &mut Session| {
        session.call("Bash", json!({"command": "ls"}), "", Value::Null);
    };
    run(&mut session);
    session.create(1, "Sift").create(2, "Knead").update(1, "in_progress");
    run(&mut session);
    run(&mut session);
    session.update(1, "completed").update(2, "in_progress");
    run(&mut session);
    session.lines.extend_from_within(2..4);
    let parts = [Part::Whole, Part::Outside, Part::Item("t1"), Part::Item("t2")];
    let runs = parts.map(|part| of_claude(&session, part).commands.run);
    assert_eq!(runs, [4, 1, 2, 1], "a repeated line counts once");
}

#[test]
fn the_tokens_of_a_response_of_claude_code_count_once_where_it_began() {
    let mut session = at_work();
    let say = |session: &mut Session, id: &str, output: u64, stop: Value| {
        let usage = json!({"input_tokens": 3, "output_tokens": output,
                           "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11});
        session.line(
            "assistant",
            json!({"message": {"id": id, "stop_reason": stop, "usage": usage, "content": []}}),
        );
    };
    say(&mut session, "m1", 1, Value::Null);
    session.update(1, "completed").update(2, "in_progress");
    say(&mut session, "m1", 5, json!("end_turn"));
    say(&mut session, "m1", 4, json!("end_turn"));
    say(&mut session, "m2", 2, Value::Null);
    let figures = |part| {
        let work = of_claude(&session, part);
        (work.tokens, work.responses, work.lower_bounds)
    };
    let tokens = |output| Tokens { input: 3, output, cache_read: 7, cache_write: 11 };
    assert_eq!(figures(Part::Item("t1")), (tokens(5), 1, 0));
    assert_eq!(figures(Part::Item("t2")), (tokens(2), 1, 1), "its end was not written");
    assert_eq!(figures(Part::Whole).1, 2);
}

#[test]
fn a_subagents_lines_count_for_the_task_that_sent_it_out() {
    let mut session = at_work();
    let stats =
        json!({"agentId": "a7", "toolStats": {"linesAdded": 8, "linesRemoved": 3, "editFileCount": 2}});
    session.call("Agent", json!({"prompt": "Help"}), "Done.", stats);
    session.update(1, "completed");
    let work_of = |followed: &mut Followed| work(followed, "claude:s", Part::Item("t1"));
    let sums = work_of(&mut session.followed());
    assert_eq!((sums.added, sums.removed, sums.edits), (8, 3, 2));
    let mut subagent = Session::new("cli");
    subagent.prompt("Help").call("Bash", json!({"command": "ls"}), "", Value::Null);
    let mut followed = Followed::new();
    for (number, line) in subagent.lines.iter_mut().enumerate() {
        line["uuid"] = format!("v{number}").into();
        line["isSidechain"] = true.into();
        line["parentUuid"] = number.checked_sub(1).map(|number| format!("v{number}")).into();
        line["agentId"] = "a7".into();
        followed.append_to_subagent(OsStr::new("agent-a7.jsonl"), format!("{line}\n").as_bytes());
    }
    session.lines.iter().for_each(|line| followed.line(line));
    followed.read();
    let own = work_of(&mut followed);
    assert_eq!((own.commands, own.edits), (OK, 0), "its own file has more than the sums");
    // Older versions write its lines into the transcript.
    for line in &mut subagent.lines {
        line.as_object_mut().unwrap().remove("agentId");
    }
    session.lines.splice(7..7, subagent.lines);
    assert_eq!(work_of(&mut session.followed()).commands, OK);
}

#[test]
fn the_sums_of_a_subagent_count_if_its_file_is_not_among_the_newest() {
    let mut session = at_work();
    let stats =
        json!({"agentId": "a7", "toolStats": {"linesAdded": 8, "linesRemoved": 3, "editFileCount": 2}});
    session.call("Agent", json!({"prompt": "Help"}), "Done.", stats);
    let mut followed = Followed::new();
    let mut subagent = Session::new("cli");
    subagent.prompt("Help");
    subagent.lines.iter_mut().for_each(|line| line["isSidechain"] = true.into());
    for id in (0..64).map(|n| format!("b{n}")).chain(["a7".to_owned()]) {
        let name = format!("agent-{id}.jsonl");
        followed.append_to_subagent(OsStr::new(&name), format!("{}\n", subagent.lines[0]).as_bytes());
    }
    let oldest = followed.file().with_extension("").join("subagents/agent-a7.jsonl");
    File::options().append(true).open(oldest).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    session.lines.iter().for_each(|line| followed.line(line));
    followed.read();
    let sums = work(&mut followed, "claude:s", Part::Item("t1"));
    assert_eq!((sums.added, sums.removed, sums.edits), (8, 3, 2));
}

#[test]
fn a_large_file_has_the_work_of_all_its_lines() {
    let mut session = at_work();
    session.call("Bash", json!({"command": "ls"}), "flour", json!({"stdout": "flour"}));
    session.line("system", json!({"subtype": "padding", "text": " ".repeat(11 << 20)}));
    let padding = session.lines.pop().unwrap();
    let mut followed = Followed::new();
    session.lines.iter().chain([&padding; 4]).for_each(|line| followed.line(line));
    followed.read();
    assert_eq!(work(&mut followed, "claude:s", Part::Item("t1")).commands, OK);
}

// Codex

const PLAN: [(&str, &str); 2] = [("Rake", "in_progress"), ("Water", "pending")];

fn of_codex(rollout: &Rollout, part: Part<'_>) -> Work {
    work(&mut rollout.followed(), "codex:r", part)
}

fn raking() -> Rollout {
    let mut rollout = Rollout::new();
    rollout.update(&PLAN, "Plan updated");
    rollout
}

#[test]
fn a_command_of_codex_ends_as_its_output_or_its_item_says() {
    let outputs = [
        ("Process exited with code 0\nOutput:\nroses", OK),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\n", FAILED),
        ("{\"output\":\"\",\"metadata\":{\"exit_code\":2}}", FAILED),
        ("Process running with session ID 7\nOutput:\n", BACKGROUND),
        ("exec_command failed: Rejected(\"rejected by user\")", REFUSED),
        ("Wall time: 1.5 seconds\naborted by user", REFUSED),
        ("roses", UNKNOWN),
    ];
    for (output, commands) in outputs {
        let mut rollout = raking();
        let call = json!({"name": "exec_command", "arguments": "{\"cmd\":\"ls\"}", "call_id": "c"});
        rollout.item("function_call", call);
        rollout.item("function_call_output", json!({"call_id": "c", "output": output}));
        assert_eq!(of_codex(&rollout, Part::Item("t1")).commands, commands, "{output:?}");
    }
    let mut script = raking();
    script.script("text(await tools.exec_command({cmd: 'ls'}));", "Script completed");
    assert_eq!(of_codex(&script, Part::Item("t1")).commands, UNKNOWN);
    let items = [
        (json!({"status": "completed", "exit_code": 0}), OK),
        (json!({"status": "failed", "exit_code": 1}), FAILED),
        (json!({"status": "failed"}), FAILED),
        (json!({"status": "declined"}), REFUSED),
    ];
    for (mut item, commands) in items {
        (item["type"], item["id"]) = ("CommandExecution".into(), "c".into());
        let mut rollout = raking();
        rollout
            .event("item_completed", json!({"item": item.clone()}))
            .event("item_completed", json!({"item": item}));
        assert_eq!(of_codex(&rollout, Part::Item("t1")).commands, commands, "{item}");
    }
}

#[test]
fn the_changed_files_of_codex_have_the_lines_of_their_changes() {
    let diff = "@@ -1,2 +1,2 @@\n same\n-a\n+b\n";
    let changes = json!({
        "/garden/new": {"type": "add", "content": "a\nb\n"},
        "gone": {"type": "delete", "content": "a\n"},
        "beds": {"type": "update", "unified_diff": diff},
        "old": {"type": "update", "unified_diff": diff, "move_path": "moved"},
    });
    let expected = [
        ("/garden/beds", 1, 1, false, false),
        ("/garden/gone", 0, 1, false, true),
        ("/garden/moved", 1, 1, true, false),
        ("/garden/new", 2, 0, true, false),
        ("/garden/old", 0, 0, false, true),
    ];
    let item = json!({"type": "FileChange", "id": "p", "status": "completed", "changes": changes});
    for (event, fields) in [
        ("patch_apply_end", json!({"call_id": "p", "success": true, "changes": changes})),
        ("item_completed", json!({"item": item})),
    ] {
        let mut rollout = raking();
        rollout.event(event, fields.clone()).event(event, fields);
        let work = of_codex(&rollout, Part::Item("t1"));
        let mut found = files(&work);
        found.sort_unstable();
        assert_eq!(found, expected, "{event}");
        assert!(work.files.iter().all(|file| !file.by_command));
    }
    let mut in_script = raking();
    in_script.event(
        "item_completed",
        json!({"item": {"type": "FileChange", "id": "exec-1", "status": "completed", "changes": changes}}),
    );
    let work = of_codex(&in_script, Part::Item("t1"));
    assert_eq!((work.edits, work.files.iter().all(|file| file.by_command)), (5, true));
    let mut failed = raking();
    failed.event("patch_apply_end", json!({"call_id": "p", "success": false, "changes": changes}));
    assert_eq!(of_codex(&failed, Part::Whole).edits, 0);
}

#[test]
fn the_tokens_of_codex_are_what_the_total_grew_by() {
    let total = |input: u64, cached: u64, output: u64| json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output});
    let mut rollout = raking();
    let count = |rollout: &mut Rollout, total: &Value| {
        rollout.event("token_count", json!({"info": {"total_token_usage": total}}));
    };
    count(&mut rollout, &total(10, 4, 5));
    rollout.item("reasoning", json!({"summary": [{"type": "summary_text", "text": "Leaves first."}]}));
    // A repeated total is of no response.
    count(&mut rollout, &total(10, 4, 5));
    rollout.update(&[("Rake", "completed"), ("Water", "in_progress")], "Plan updated");
    count(&mut rollout, &total(30, 10, 6));
    rollout
        .line("token_usage_record", json!({"usage": total(8, 0, 2), "thread_token_usage": total(38, 10, 8)}));
    count(&mut rollout, &total(38, 10, 8));
    let figures = |part| {
        let work = of_codex(&rollout, part);
        (work.tokens, work.responses)
    };
    let tokens = |input, cache_read, output| Tokens { input, output, cache_read, cache_write: 0 };
    assert_eq!(figures(Part::Outside), (tokens(6, 4, 5), 1), "a response counts where it began");
    assert_eq!(figures(Part::Item("t1")), (tokens(14, 6, 1), 1));
    assert_eq!(figures(Part::Item("t2")), (tokens(8, 0, 2), 1));
}

#[test]
fn a_fork_of_codex_counts_no_work_of_its_session() {
    let mut fork = Rollout(Vec::new());
    fork.line("session_meta", json!({"id": "f", "forked_from_id": "e", "cwd": "/garden"}));
    let run = |rollout: &mut Rollout, turn: &str, id: &str| {
        rollout.event("task_started", json!({ "turn_id": turn }));
        rollout
            .event("item_completed", json!({"item": {"type": "CommandExecution", "id": id, "exit_code": 0}}));
    };
    run(&mut fork, "a", "c1");
    fork.update(&PLAN, "Plan updated");
    run(&mut fork, "g", "c2");
    assert_eq!(work(&mut fork.followed(), "codex:f", Part::Whole).commands, OK);
}
