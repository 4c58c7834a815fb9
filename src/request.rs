//! What an agent asks the user: one form for all programs and hosts, from the form of each.
//!
//! A hook of Claude Code, the daemon of Codex, the plugin for opencode and an ACP agent describe a question in their
//! own ways. [`Request::of_hook`] and [`Request::of_acp`] read these, and nothing else knows them. All that a yes
//! would allow is in the detail; what is too large or has an unknown form is answered in the agent's own dialog.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::events::edit::{self, Edit, NotApplied};
use crate::file;
use crate::text::lines;
use crate::wire::socket::{Behavior, Decision};

/// How many parts of a request a person can be expected to read.
const QUESTIONS: usize = 20;
const OPTIONS: usize = 50;
const FIELDS: usize = 200;
/// Maximum size in bytes of a file that a change is compared with.
const LARGEST_FILE: u64 = 1 << 20;

/// What stands before each field after a command.
const COMMENT: &str = "\n# ";

/// One of a fixed set of words, a symbol in Lisp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename = "Symbol")]
pub struct Word(&'static str);

const PERMISSION: Word = Word("permission");
const QUESTION: Word = Word("question");
const PLAN: Word = Word("plan");

const TEXT: Word = Word("text");
const SHELL: Word = Word("shell");
const DIFF: Word = Word("diff");
const MARKDOWN: Word = Word("markdown");

/// A question to the user.
#[derive(Serialize)]
pub struct Request<'q> {
    /// The program that asks, if a hook tells.
    program: Option<&'static str>,
    /// `permission`, `question` or `plan`.
    kind: Word,
    /// What is asked.
    title: String,
    /// What it is asked for, such as a command.
    about: Option<String>,
    /// The type of the subagent that asks.
    subagent: Option<String>,
    /// What the detail is: `text`, `shell`, `diff` or `markdown`.
    format: Word,
    options: Vec<Choice>,
    questions: Vec<Question>,
    /// Whether it can be answered here.
    answerable: bool,
    /// Makes all that it is about. It may compare texts, and read a file of the project.
    #[serde(skip)]
    pub detail: Box<dyn FnOnce() -> String + 'q>,
}

/// An answer that the user may choose.
#[derive(Debug, Serialize)]
struct Choice {
    label: String,
    value: Decision,
    /// `allow`, `always`, `deny` or `other`.
    kind: Word,
    /// Whether a message may go along: `t`, or `edited` for the edited detail.
    text: Option<Word>,
}

impl Choice {
    fn new(label: impl Into<String>, kind: &'static str, value: Decision) -> Choice {
        Choice { label: label.into(), value, kind: Word(kind), text: None }
    }
}

#[derive(Debug, Serialize)]
struct Question {
    question: String,
    header: String,
    multiple: bool,
    options: Vec<Label>,
}

#[derive(Debug, Serialize)]
struct Label {
    label: String,
    description: String,
}

impl<'q> Request<'q> {
    /// What the input of a hook asks; `None` if the user is not to be asked that. Files in the project can be read
    /// if it is given.
    pub fn of_hook(input: &'q Value, project: Option<&'q Path>) -> Option<Request<'q>> {
        let (tool, given) = (string(input, "tool_name"), &input["tool_input"]);
        let event = input["hook_event_name"].as_str()?;
        let request = match (event, tool) {
            ("PermissionRequest", "AskUserQuestion") => Request {
                options: vec![no("No answer", true)],
                ..Request::of_questions(given, "multiSelect")
            },
            ("PermissionRequest", "ExitPlanMode") => Request::of_plan(given),
            ("PermissionRequest", _) => {
                let used = || used_by_claude(tool, given, project);
                Request::to_use(tool, given, used, always(input), [no("No", true)])
            }
            ("CodexRequest", _) if is_set(&input["elsewhere"]) => {
                Request::elsewhere(PERMISSION, string(given, "question"), string(given, "question"))
            }
            // A question of Codex can be answered, but not refused.
            ("CodexRequest", "AskUserQuestion") => Request::of_questions(given, "multiSelect"),
            ("CodexRequest", _) => {
                let stop = Decision { interrupt: true, ..Decision::default() };
                // The daemon takes no message with a no.
                let refusals = [no("No", false), Choice::new("No, and stop the turn", "other", stop)];
                Request::to_use(tool, given, || used_by_codex(tool, given), always(input), refusals)
            }
            ("permission.asked", _) => of_opencode(input),
            ("question.asked", _) if is_set(&input["isTooLarge"]) => {
                Request::elsewhere(QUESTION, "A question", TOO_LARGE)
            }
            ("question.asked", _) => {
                Request { options: vec![no("No answer", false)], ..Request::of_questions(input, "multiple") }
            }
            _ => return None,
        };
        let subagent = is_set(&input["agent_id"]).then(|| string(input, "agent_type").to_owned());
        let program = match event {
            "PermissionRequest" => "claude",
            "CodexRequest" => "codex",
            _ => "opencode",
        };
        Some(Request { program: Some(program), subagent, ..request })
    }

    /// What an ACP agent asks about a tool call. Its title and its options are not in the call.
    pub fn of_acp(call: &'q Value) -> Request<'q> {
        let input = &call["rawInput"];
        let content: Vec<&Value> = elements(&call["content"]).take(FIELDS + 1).collect();
        if let Some(words) = excess(size(input).max(content.len()), FIELDS, "fields") {
            return Request::elsewhere(PERMISSION, "", words);
        }
        let diffs = content.iter().filter(|part| part["type"] == "diff");
        let diffs: Vec<[&str; 3]> =
            diffs.map(|part| ["path", "oldText", "newText"].map(|name| string(part, name))).collect();
        // Some agents repeat a field of the input as text.
        let is_new = |text: &&str| !named(input).any(|(_, value)| value == text);
        let texts: Vec<&str> =
            content.iter().filter_map(|part| filled(&part["content"], "text")).filter(is_new).collect();
        let plain: String = texts.iter().map(|text| format!("\n{text}")).collect();
        let rest = move |before: &str, shown: &[&str]| {
            let told = if texts.is_empty() { Value::Null } else { json!({"text": texts.join("\n")}) };
            fields(input, before, shown) + &fields(&told, before, &[])
        };
        if !diffs.is_empty() {
            // Agents name the file and the texts of an edit in their own ways.
            let is_shown = |value: &Value| diffs.iter().flatten().any(|text| value == text);
            let shown = named(input).filter(|(_, value)| is_shown(value));
            let shown: Vec<&str> = shown.map(|(name, _)| name.as_str()).collect();
            Request::of("", DIFF, move || diff(&diffs) + &rest("\n", &shown))
        } else if let Some(plan) = input["plan"].as_str() {
            let asked = Request::words("", plan, move || rest("\n", &["plan"]));
            Request { kind: PLAN, format: MARKDOWN, ..asked }
        } else if let Some(command) = input["command"].as_str() {
            Request::command(command, move || rest(COMMENT, &["command"]))
        } else {
            Request::words("", "", move || fields(input, "\n", &[]) + &plain)
        }
    }

    /// The permission for something.
    fn of(about: &str, format: Word, detail: impl FnOnce() -> String + 'q) -> Request<'q> {
        Request {
            program: None,
            kind: PERMISSION,
            title: String::new(),
            about: Some(about.to_owned()).filter(|about| !about.is_empty()),
            subagent: None,
            format,
            options: Vec::new(),
            questions: Vec::new(),
            answerable: true,
            detail: Box::new(detail),
        }
    }

    /// A permission of which these words are shown, and the fields after them.
    fn words(
        about: &str,
        words: impl Into<Cow<'q, str>>,
        fields: impl FnOnce() -> String + 'q,
    ) -> Request<'q> {
        let words = words.into();
        Request::of(about, TEXT, move || match words.is_empty() {
            true => fields().trim_start_matches('\n').to_owned(),
            false => words.into_owned() + &fields(),
        })
    }

    /// One that only the agent's own dialog answers.
    fn elsewhere(kind: Word, title: &str, words: impl Into<Cow<'q, str>>) -> Request<'q> {
        let asked = Request::words("", words, String::new);
        Request { kind, title: title.to_owned(), answerable: false, ..asked }
    }

    /// The permission to run a command, with other fields.
    fn command(command: &'q str, fields: impl FnOnce() -> String + 'q) -> Request<'q> {
        Request { format: SHELL, ..Request::words(command, command, fields) }
    }

    /// The permission to use a tool with this input, which the user may also answer by one of `refusals`. One with
    /// too many fields is not shown.
    fn to_use(
        tool: &str,
        given: &Value,
        used: impl FnOnce() -> Request<'q>,
        always: Vec<Choice>,
        refusals: impl IntoIterator<Item = Choice>,
    ) -> Request<'q> {
        let used = match excess(size(given), FIELDS, "fields") {
            Some(words) => Request::elsewhere(PERMISSION, tool, words),
            None => Request { title: tool.to_owned(), answerable: !tool.is_empty(), ..used() },
        };
        let options = [Choice::new("Yes", "allow", yes())].into_iter().chain(always).chain(refusals);
        Request { options: options.collect(), ..used }
    }

    /// Questions with options; `multiple` names the field that allows several answers.
    fn of_questions(given: &Value, multiple: &str) -> Request<'q> {
        let label = |option: &Value| {
            let [label, description] = ["label", "description"].map(|name| string(option, name).to_owned());
            Some(Label { label, description }).filter(|option| !option.label.is_empty())
        };
        let question = |question: &Value| Question {
            question: string(question, "question").to_owned(),
            header: string(question, "header").to_owned(),
            multiple: is_set(&question[multiple]),
            options: elements(&question["options"]).filter_map(label).take(OPTIONS + 1).collect(),
        };
        let questions: Vec<Question> =
            elements(&given["questions"]).take(QUESTIONS + 1).map(question).collect();
        // The questions are the keys of the answers.
        let mut texts = HashSet::new();
        let is_new = |one: &Question| !one.question.is_empty() && texts.insert(one.question.clone());
        let answerable = !questions.is_empty() && questions.iter().all(is_new);
        let title = questions.first().map_or("A question", |one| &one.question).to_owned();
        Request { kind: QUESTION, title, questions, answerable, ..Request::words("", "", String::new) }
    }

    /// The approval of Claude Code's plan; without its text, only the terminal can approve it.
    fn of_plan(given: &'q Value) -> Request<'q> {
        let plan = filled(given, "plan");
        let rest = fields(given, "\n", &["plan", "planFilePath"]);
        // Without a mode, the one before the plan comes back, which may be auto.
        let mode = |label: &str, mode: &str, kind| {
            let value = Decision { mode: Some(mode.to_owned()), ..yes() };
            // What is edited replaces the plan alone.
            let text = rest.is_empty().then_some(Word("edited"));
            Choice { text, ..Choice::new(format!("Approve the plan, and {label}"), kind, value) }
        };
        let options = vec![
            mode("ask before each edit", "default", "allow"),
            mode("accept all edits in this session", "acceptEdits", "always"),
            mode("go on in auto mode, which asks seldom", "auto", "always"),
            no("Keep planning", true),
        ];
        let words = plan.unwrap_or("The plan is only in the terminal.");
        let (title, answerable) = ("Approve the plan?".to_owned(), plan.is_some());
        let asked = Request::words("", words, || rest);
        Request { kind: PLAN, title, format: MARKDOWN, options, answerable, ..asked }
    }
}

fn used_by_claude<'q>(tool: &str, given: &'q Value, project: Option<&'q Path>) -> Request<'q> {
    let file = given["file_path"].as_str().or_else(|| given["notebook_path"].as_str());
    let text = |name: &str| given[name].as_str();
    // A diff shows all that these change.
    let change: Option<(_, _, &[&str])> = match tool {
        "Write" => text("content").map(|new| (None, new, &["file_path", "content"][..])),
        "Edit" => text("old_string")
            .zip(text("new_string"))
            .map(|(old, new)| (Some(old), new, &["file_path", "old_string", "new_string"][..])),
        _ => None,
    };
    match (text("command"), file, change) {
        (Some(command), ..) if ["Bash", "PowerShell"].contains(&tool) => {
            Request::command(command, || fields(given, COMMENT, &["command"]))
        }
        (_, Some(file), Some((old, new, shown))) => Request::of(file, DIFF, move || {
            changed(file, old, new, is_set(&given["replace_all"]), project) + &fields(given, "\n", shown)
        }),
        _ => {
            let first = named(given).find_map(|(_, value)| value.as_str());
            Request::words(first.unwrap_or_default(), "", || fields(given, "\n", &[]))
        }
    }
}

fn used_by_codex<'q>(tool: &str, given: &'q Value) -> Request<'q> {
    if tool == "Command" {
        return Request::command(string(given, "command"), || fields(given, COMMENT, &["command"]));
    }
    let rest = || fields(given, "\n", &["diff", "file_path"]);
    let used = Request::words(string(given, "file_path"), string(given, "diff"), rest);
    Request { format: DIFF, ..used }
}

// ---- opencode

const TOO_LARGE: &str = "This is too large to be shown here.";

/// The fields of opencode's event `permission.asked`, and those that the plugin adds.
const OPENCODE: &str =
    "id sessionID permission patterns always metadata tool input hook_event_name agent_id agent_type";

/// What opencode asks, if it can be shown whole: else it has another form or too many parts.
fn of_opencode(input: &Value) -> Request<'_> {
    let shown = filled(input, "permission").unwrap_or("a permission");
    let texts = |name: &str| match &input[name] {
        Value::Null | Value::Bool(false) => Some(Vec::new()),
        all => all.as_array()?.iter().map(Value::as_str).collect(),
    };
    let sizes = [input, &input["input"], &input["metadata"]].map(size);
    let (patterns, forever) = match (texts("patterns"), texts("always")) {
        _ if is_set(&input["isTooLarge"]) => return Request::elsewhere(PERMISSION, shown, TOO_LARGE),
        (Some(patterns), Some(forever))
            if filled(input, "permission").is_some()
                && !patterns.is_empty()
                && matches!(input["metadata"], Value::Null | Value::Object(_)) =>
        {
            (patterns, forever)
        }
        _ => {
            let words = "opencode asks for this in a form that is not known here.";
            return Request::elsewhere(PERMISSION, shown, words);
        }
    };
    let most = patterns.len().max(forever.len());
    let excess = excess(sizes.into_iter().max().unwrap_or_default(), FIELDS, "fields")
        .or_else(|| excess(most, OPTIONS, "options"));
    if let Some(words) = excess {
        return Request::elsewhere(PERMISSION, shown, words);
    }
    let quoted = forever.iter().map(|pattern| quoted(pattern)).collect::<Vec<_>>().join(", ");
    let label = format!("Always allow {shown}, until opencode ends: {quoted}");
    let always = (!forever.is_empty()).then(|| choice_of_suggestion(label, 0)).into_iter().collect();
    let used = || used_by_opencode(input, &patterns);
    Request::to_use(shown, &Value::Null, used, always, [no("No", true)])
}

/// The plugin adds what the tool is called with; of the metadata, a diff is the change itself. For an edit, it says
/// all that the call does. A later version may ask for more.
fn used_by_opencode<'q>(input: &'q Value, patterns: &[&str]) -> Request<'q> {
    let (call, metadata) = (&input["input"], &input["metadata"]);
    let command = filled(call, "command").or_else(|| filled(metadata, "command"));
    let others = |before| fields(input, before, &OPENCODE.split(' ').collect::<Vec<_>>());
    let all = patterns.join(", ");
    match (string(input, "permission"), command, filled(metadata, "diff")) {
        ("bash", Some(command), _) => {
            Request::command(command, move || fields(call, COMMENT, &["command"]) + &others(COMMENT))
        }
        (permission, _, Some(diff)) => {
            let file = filled(metadata, "filepath").or_else(|| filled(call, "filePath"));
            let call = if permission == "edit" { &Value::Null } else { call };
            let rest = move || {
                fields(metadata, "\n", &["diff", "filediff"]) + &fields(call, "\n", &[]) + &others("\n")
            };
            let used = Request::words(file.unwrap_or(&all), diff.trim_end_matches('\n'), rest);
            Request { format: DIFF, ..used }
        }
        _ => {
            let main = patterns.iter().map(|one| json!(one).to_string()).collect::<Vec<_>>().join("\n");
            Request::words(&all, main, move || {
                fields(metadata, "\n", &[]) + &fields(call, "\n", &[]) + &others("\n")
            })
        }
    }
}

// ---- What is allowed always

/// Options that allow always what the suggestions of Claude Code and Codex say. One that has no words here is left
/// out.
fn always(input: &Value) -> Vec<Choice> {
    let option = |(number, suggestion): (usize, &Value)| {
        let label = words_of_claude(suggestion).or_else(|| words_of_codex(suggestion))?;
        Some(choice_of_suggestion(label, number))
    };
    let suggestions = elements(&input["permission_suggestions"]).take(OPTIONS + 1);
    suggestions.enumerate().filter_map(option).collect()
}

/// The elements of an array, if there are any, and not too many to be read.
fn readable<'q>(suggestion: &'q Value, name: &str) -> Option<&'q Vec<Value>> {
    suggestion[name].as_array().filter(|all| (1..=OPTIONS).contains(&all.len()))
}

fn texts<'q>(suggestion: &'q Value, name: &str) -> Option<Vec<&'q str>> {
    readable(suggestion, name)?.iter().map(Value::as_str).collect()
}

fn words_of_claude(suggestion: &Value) -> Option<String> {
    let place = match suggestion["destination"].as_str()? {
        "session" => "in this session",
        "localSettings" => "in this project",
        "projectSettings" => "in this project, for all who work on it",
        "userSettings" => "in all projects",
        _ => return None,
    };
    let rule = |rule: &Value| {
        let tool = filled(rule, "toolName")?;
        match &rule["ruleContent"] {
            Value::Null => Some(format!("each call of {tool}")),
            Value::String(content) if tool == "Bash" => Some(quoted(content)),
            Value::String(content) => Some(format!("{tool}({content})")),
            _ => None,
        }
    };
    let (verb, parts) = match (suggestion["type"].as_str()?, string(suggestion, "mode")) {
        ("addRules", _) if suggestion["behavior"] == "allow" => {
            let rules = readable(suggestion, "rules")?.iter().map(rule).collect::<Option<Vec<_>>>()?;
            ("Always allow", rules.join(", "))
        }
        ("addDirectories", _) => ("Always let it work in", texts(suggestion, "directories")?.join(", ")),
        ("setMode", "acceptEdits") => ("Accept", "all edits of files in the project".to_owned()),
        ("setMode", "bypassPermissions") => ("Allow", "everything, without any question".to_owned()),
        _ => return None,
    };
    Some(format!("{verb} {parts} {place}"))
}

fn words_of_codex(suggestion: &Value) -> Option<String> {
    match suggestion["type"].as_str()? {
        "codexSession" => Some("Do not ask again for this command in this session".to_owned()),
        "codexPrefix" => {
            let words = texts(suggestion, "words")?;
            let is_odd = |word: &&str| word.contains([' ', '"', '\\']);
            let word = |word| if is_odd(&word) { format!("{word:?}") } else { word.to_owned() };
            let prefix = quoted(&words.into_iter().map(word).collect::<Vec<_>>().join(" "));
            Some(format!("Always allow commands that begin with {prefix} in all projects"))
        }
        "codexFiles" => {
            Some(format!("Allow all changes of {} in this session", texts(suggestion, "files")?.join(", ")))
        }
        _ => None,
    }
}

// ---- Changes of files

/// What becomes of a file in which `new` replaces `old`, or the whole text, as a diff.
fn changed(file: &str, old: Option<&str>, new: &str, all: bool, project: Option<&Path>) -> String {
    let path = Path::new(file);
    let project = project.filter(|_| path.is_absolute());
    // A link out of the project is not followed, and a larger file is not compared.
    let known = project.and_then(|project| file::text_below(project, path, LARGEST_FILE).ok());
    let is_new = matches!(known, Some(None));
    let before = known.map(Option::unwrap_or_default);
    let after = match (old, &before) {
        (None, _) => Ok(new.to_owned()),
        (Some(old), Some(before)) => {
            edit::apply(before, &[Edit { old: old.to_owned(), new: new.to_owned(), all }])
        }
        (Some(_), None) => Err(NotApplied::Missing),
    };
    let (before, after, note) = match (&before, &after) {
        (Some(before), Ok(after)) if is_new => (before.as_str(), after.as_str(), "The file is new."),
        (Some(before), Ok(after)) if before == after => (before.as_str(), after.as_str(), "Nothing changes."),
        (Some(before), Ok(after)) => return diff(&[[file, before, after]]),
        (None, Ok(after)) => ("", after.as_str(), "The whole new text; what it replaces is not shown."),
        (_, Err(reason)) => {
            let note = match reason {
                NotApplied::TooLarge => {
                    "The old and the new text; the result is too large to be compared with the file."
                }
                NotApplied::Missing => "The old and the new text; the file was not compared.",
            };
            (old.unwrap_or_default(), new, note)
        }
    };
    format!("{}\n{note}", diff(&[[file, before, after]]))
}

/// Files with their old and new texts as a diff. If they are too many or too large to be compared, it has all of
/// both, and says so.
fn diff(all: &[[&str; 3]]) -> String {
    let pairs: Vec<(&str, &str)> = all.iter().map(|[_, old, new]| (*old, *new)).collect();
    let hunks = edit::compare_all(&pairs);
    let files = all.iter().enumerate().map(|(place, [file, old, new])| {
        let hunks = match &hunks {
            Some(hunks) => hunks[place].clone(),
            None => {
                let counts = [old, new].map(|text| lines::count_lines(text));
                let (old, new) = (signed('-', old), signed('+', new));
                format!("@@ -1,{} +1,{} @@ uncompared\n{old}{new}", counts[0], counts[1])
            }
        };
        let name = line(file);
        format!("--- {name}\n+++ {name}\n{hunks}").trim_end_matches('\n').to_owned()
    });
    let files = files.collect::<Vec<_>>().join("\n");
    let note = "\nToo much to be compared: this is all of the given texts.";
    if hunks.is_none() { files + note } else { files }
}

/// The lines of a text, each after a sign, as a diff has them.
fn signed(sign: char, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    let end = if text.ends_with('\n') { "" } else { "\\ No newline at end of file\n" };
    lines.map(|line| format!("{sign}{line}\n")).collect::<String>() + end
}

// ---- JSON

/// The fields of an object as text, each after `before`. No text of a field looks like another field. Any other
/// value but null is one text.
fn fields(object: &Value, before: &str, except: &[&str]) -> String {
    let value_of = |value: &Value| match value {
        Value::String(text) if before == "\n" => text.replace('\n', "\n    "),
        value => value.to_string(),
    };
    match object {
        Value::Null => String::new(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !except.contains(&name.as_str()))
            .map(|(name, value)| format!("{before}{}: {}", line(name), value_of(value)))
            .collect(),
        value => format!("{before}{value}"),
    }
}

/// The elements of an array.
fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The fields of an object.
fn named(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The number of fields of an object.
fn size(value: &Value) -> usize {
    value.as_object().map_or(0, Map::len)
}

/// A text on one line.
fn line(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

fn string<'q>(object: &'q Value, name: &str) -> &'q str {
    object[name].as_str().unwrap_or_default()
}

fn filled<'q>(object: &'q Value, name: &str) -> Option<&'q str> {
    object[name].as_str().filter(|text| !text.trim().is_empty())
}

fn is_set(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn quoted(text: &str) -> String {
    format!("‘{text}’")
}

/// Says of what has too many parts that it is not shown.
fn excess(count: usize, most: usize, what: &str) -> Option<String> {
    (count > most).then(|| format!("This has more than {most} {what}, too many to be shown here."))
}

fn yes() -> Decision {
    Decision { behavior: Behavior::Allow, ..Decision::default() }
}

fn no(label: &str, takes_message: bool) -> Choice {
    let text = takes_message.then_some(Word("t"));
    Choice { text, ..Choice::new(label, "deny", Decision::default()) }
}

fn choice_of_suggestion(label: String, number: usize) -> Choice {
    Choice::new(label, "always", Decision { suggestion: Some(number), ..yes() })
}
