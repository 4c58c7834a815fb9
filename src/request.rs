//! What an agent asks the user: one form for all programs and hosts, from the form of each.
//!
//! A hook of Claude Code, the daemon of Codex, the plugin for opencode and an ACP agent describe a question in their
//! own ways. [`Request::of_hook`] and [`Request::of_acp`] read these, and nothing else knows them. All that a yes
//! would allow is in [`Request::detail`]; what is too large or has an unknown form is answered in the agent's own
//! dialog.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

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
#[derive(Debug, Serialize)]
pub struct Request<'q> {
    /// The program that asks, if a hook tells.
    program: Option<&'static str>,
    /// `permission`, `question` or `plan`.
    kind: Word,
    /// What is asked.
    title: Cow<'q, str>,
    /// What it is asked for, such as a command.
    about: Option<Cow<'q, str>>,
    /// The type of the subagent that asks.
    subagent: Option<&'q str>,
    /// What the detail is: `text`, `shell`, `diff` or `markdown`.
    format: Word,
    options: Vec<Choice>,
    questions: Vec<Question<'q>>,
    /// Whether it can be answered here.
    answerable: bool,
    detail: Detail<'q>,
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
struct Question<'q> {
    question: &'q str,
    header: &'q str,
    multiple: bool,
    options: Vec<Label<'q>>,
}

#[derive(Debug, Serialize)]
struct Label<'q> {
    label: &'q str,
    description: &'q str,
}

/// All that a request is about: its main text, the other fields of these objects, and a text.
#[derive(Debug)]
struct Detail<'q> {
    main: Main<'q>,
    /// Objects, and the names of those of their fields that the main text shows.
    rest: Vec<(Cow<'q, Value>, Vec<&'q str>)>,
    end: String,
}

/// Its text if that takes no work to make, else nothing.
impl Serialize for Detail<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.main {
            Main::Text(text) if self.rest.is_empty() && !text.is_empty() => serializer.serialize_some(text),
            _ => serializer.serialize_none(),
        }
    }
}

#[derive(Debug)]
enum Main<'q> {
    Text(Cow<'q, str>),
    Change(Change<'q>),
    /// Files with their old and new texts.
    Diffs(Vec<[&'q str; 3]>),
}

impl<'q> Request<'q> {
    /// What the input of a hook asks; `None` if the user is not to be asked that. Files in the project can be read
    /// if it is given.
    pub fn of_hook(input: &'q Value, project: Option<&'q Path>) -> Option<Request<'q>> {
        let (tool, given) = (string(input, "tool_name"), &input["tool_input"]);
        let always = || always(&input["permission_suggestions"]);
        let event = input["hook_event_name"].as_str()?;
        let request = match (event, tool) {
            ("PermissionRequest", "AskUserQuestion") => Request {
                options: vec![no("No answer", true)],
                ..Request::of_questions(given, "multiSelect")
            },
            ("PermissionRequest", "ExitPlanMode") => Request::of_plan(given),
            ("PermissionRequest", _) => {
                let used = || used_by_claude(tool, given, project);
                Request::to_use(tool, given, used, always(), [no("No", true)])
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
                Request::to_use(tool, given, || used_by_codex(tool, given), always(), refusals)
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
        let subagent = is_set(&input["agent_id"]).then(|| string(input, "agent_type"));
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
        let content: Vec<&Value> =
            call["content"].as_array().into_iter().flatten().take(FIELDS + 1).collect();
        let size = input.as_object().map_or(0, serde_json::Map::len).max(content.len());
        let diffs: Vec<[&str; 3]> = content
            .iter()
            .filter(|part| part["type"] == "diff")
            .map(|part| ["path", "oldText", "newText"].map(|name| string(part, name)))
            .collect();
        // Some agents repeat a field of the input as text.
        let is_new = |text: &&str| !input.as_object().into_iter().flatten().any(|(_, value)| value == text);
        let texts: Vec<&str> =
            content.iter().filter_map(|part| filled(&part["content"], "text")).filter(is_new).collect();
        let (format, main, shown) = if !diffs.is_empty() {
            // Agents name the file and the texts of an edit in their own ways.
            let fields = input.as_object().into_iter().flatten();
            let is_shown = |value: &Value| diffs.iter().flatten().any(|text| value == text);
            let shown = fields.filter(|(_, value)| is_shown(value)).map(|(name, _)| name.as_str()).collect();
            (DIFF, Main::Diffs(diffs), shown)
        } else if let Some(plan) = input["plan"].as_str() {
            (MARKDOWN, Main::Text(plan.into()), vec!["plan"])
        } else if let Some(command) = input["command"].as_str() {
            (SHELL, Main::Text(command.into()), vec!["command"])
        } else {
            (TEXT, Main::Text("".into()), Vec::new())
        };
        let (mut rest, mut end) = (vec![(Cow::Borrowed(input), shown)], String::new());
        if format == TEXT {
            end = texts.iter().map(|text| format!("\n{text}")).collect();
        } else if !texts.is_empty() {
            rest.push((Cow::Owned(json!({"text": texts.join("\n")})), Vec::new()));
        }
        let kind = if format == MARKDOWN { PLAN } else { PERMISSION };
        let detail = excess(size, FIELDS, "fields").map_or(Detail { main, rest, end }, Detail::words);
        Request { kind, format, answerable: size <= FIELDS, detail, ..Request::words("") }
    }

    /// A permission of which only these words are shown.
    fn words(words: impl Into<Cow<'q, str>>) -> Request<'q> {
        Request {
            program: None,
            kind: PERMISSION,
            title: "".into(),
            about: None,
            subagent: None,
            format: TEXT,
            options: Vec::new(),
            questions: Vec::new(),
            answerable: true,
            detail: Detail::words(words),
        }
    }

    /// One that only the agent's own dialog answers.
    fn elsewhere(kind: Word, title: &'q str, words: &'q str) -> Request<'q> {
        Request { kind, title: title.into(), answerable: false, ..Request::words(words) }
    }

    /// The permission to run a command.
    fn command(command: &'q str, given: &'q Value) -> Request<'q> {
        let rest = vec![(Cow::Borrowed(given), vec!["command"])];
        let detail = Detail { rest, ..Detail::words(command) };
        Request { about: Some(command.into()), format: SHELL, detail, ..Request::words("") }
    }

    /// The permission to use a tool with this input, which the user may also answer by one of `refusals`. One with
    /// too many fields is not shown.
    fn to_use(
        tool: &'q str,
        given: &Value,
        used: impl FnOnce() -> Request<'q>,
        always: Vec<Choice>,
        refusals: impl IntoIterator<Item = Choice>,
    ) -> Request<'q> {
        let excess = excess(given.as_object().map_or(0, serde_json::Map::len), FIELDS, "fields");
        let answerable = excess.is_none() && !tool.is_empty();
        let used = excess.map_or_else(used, Request::words);
        let mut options = vec![Choice::new("Yes", "allow", yes())];
        options.extend(always);
        options.extend(refusals);
        Request { title: tool.into(), options, answerable, ..used }
    }

    /// Questions with options; `multiple` names the field that allows several answers.
    fn of_questions(given: &'q Value, multiple: &str) -> Request<'q> {
        let labels = |question: &'q Value| {
            let options = question["options"].as_array().into_iter().flatten();
            let label = |option: &'q Value| Label {
                label: string(option, "label"),
                description: string(option, "description"),
            };
            options.map(label).filter(|option| !option.label.is_empty()).take(OPTIONS + 1).collect()
        };
        let asked = given["questions"].as_array().into_iter().flatten().take(QUESTIONS + 1);
        let questions: Vec<Question<'q>> = asked
            .map(|question| Question {
                question: string(question, "question"),
                header: string(question, "header"),
                multiple: is_set(&question[multiple]),
                options: labels(question),
            })
            .collect();
        // The questions are the keys of the answers.
        let mut texts = HashSet::new();
        let is_new =
            |question: &Question<'q>| !question.question.is_empty() && texts.insert(question.question);
        let answerable = !questions.is_empty() && questions.iter().all(is_new);
        let title = questions.first().map_or("A question", |question| question.question).into();
        Request { kind: QUESTION, title, questions, answerable, ..Request::words("") }
    }

    /// The approval of Claude Code's plan; without its text, only the terminal can approve it.
    fn of_plan(given: &'q Value) -> Request<'q> {
        let plan = filled(given, "plan");
        let shown = vec!["plan", "planFilePath"];
        let has_more =
            given.as_object().into_iter().flatten().any(|(name, _)| !shown.contains(&name.as_str()));
        let rest = if has_more { vec![(Cow::Borrowed(given), shown)] } else { Vec::new() };
        let words = Detail::words(plan.unwrap_or("The plan is only in the terminal."));
        // Without a mode, the one before the plan comes back, which may be auto.
        let mode = |label: &str, mode: &str, kind| {
            let value = Decision { mode: Some(mode.to_owned()), ..yes() };
            // What is edited replaces the plan alone.
            let text = (!has_more).then_some(Word("edited"));
            Choice { text, ..Choice::new(format!("Approve the plan, and {label}"), kind, value) }
        };
        let options = vec![
            mode("ask before each edit", "default", "allow"),
            mode("accept all edits in this session", "acceptEdits", "always"),
            mode("go on in auto mode, which asks seldom", "auto", "always"),
            no("Keep planning", true),
        ];
        Request {
            kind: PLAN,
            title: "Approve the plan?".into(),
            format: MARKDOWN,
            options,
            answerable: plan.is_some(),
            detail: Detail { rest, ..words },
            ..Request::words("")
        }
    }

    /// All that the request is about. It may compare texts, and read a file of the project.
    pub fn detail(&self) -> String {
        let before = if self.format == SHELL { "\n# " } else { "\n" };
        let Detail { main, rest, end } = &self.detail;
        let fields: String = rest.iter().map(|(object, except)| fields(object, before, except)).collect();
        match main {
            Main::Text(text) if text.is_empty() => (fields + end).trim_start_matches('\n').to_owned(),
            Main::Text(text) => format!("{text}{fields}{end}"),
            Main::Change(change) => format!("{}{fields}{end}", change.text()),
            Main::Diffs(all) => format!("{}{fields}{end}", diff(all)),
        }
    }
}

impl<'q> Detail<'q> {
    fn words(text: impl Into<Cow<'q, str>>) -> Detail<'q> {
        Detail { main: Main::Text(text.into()), rest: Vec::new(), end: String::new() }
    }
}

fn used_by_claude<'q>(tool: &str, given: &'q Value, project: Option<&'q Path>) -> Request<'q> {
    let file = given["file_path"].as_str().or_else(|| given["notebook_path"].as_str());
    match (given["command"].as_str(), file) {
        (Some(command), _) if ["Bash", "PowerShell"].contains(&tool) => Request::command(command, given),
        (_, Some(file)) if let Some((change, shown)) = Change::of(tool, given, file, project) => {
            let main = Main::Change(change);
            let rest = vec![(Cow::Borrowed(given), shown)];
            let detail = Detail { main, rest, end: String::new() };
            Request { about: Some(file.into()), format: DIFF, detail, ..Request::words("") }
        }
        _ => {
            let first = given.as_object().into_iter().flatten().find_map(|(_, value)| value.as_str());
            let rest = vec![(Cow::Borrowed(given), Vec::new())];
            let detail = Detail { rest, ..Detail::words("") };
            Request { about: first.map(Cow::Borrowed), detail, ..Request::words("") }
        }
    }
}

fn used_by_codex<'q>(tool: &str, given: &'q Value) -> Request<'q> {
    if tool == "Command" {
        return Request::command(string(given, "command"), given);
    }
    let rest = vec![(Cow::Borrowed(given), vec!["diff", "file_path"])];
    let detail = Detail { rest, ..Detail::words(string(given, "diff")) };
    Request { about: Some(string(given, "file_path").into()), format: DIFF, detail, ..Request::words("") }
}

// ---- opencode

const TOO_LARGE: &str = "This is too large to be shown here.";

/// The fields of opencode's event `permission.asked`, and those that the plugin adds.
const OPENCODE: [&str; 11] = [
    "id",
    "sessionID",
    "permission",
    "patterns",
    "always",
    "metadata",
    "tool",
    "input",
    "hook_event_name",
    "agent_id",
    "agent_type",
];

fn of_opencode(input: &Value) -> Request<'_> {
    let permission = filled(input, "permission");
    let patterns = |name: &str| -> Vec<&str> {
        input[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let hidden = hidden_of_opencode(input);
    let shown = permission.unwrap_or("a permission");
    let forever = patterns("always").iter().map(|pattern| quoted(pattern)).collect::<Vec<_>>().join(", ");
    let answerable = hidden.is_none();
    let label = format!("Always allow {shown}, until opencode ends: {forever}");
    let has_always = answerable && !forever.is_empty();
    let always = has_always.then(|| choice_of_suggestion(label, 0)).into_iter().collect();
    let used = || hidden.map_or_else(|| used_by_opencode(input, &patterns("patterns")), Request::words);
    let request = Request::to_use(shown, &Value::Null, used, always, [no("No", true)]);
    Request { answerable, ..request }
}

/// Why a permission cannot be shown whole: it has another shape, too many parts, or parts that are no texts.
fn hidden_of_opencode(input: &Value) -> Option<String> {
    if is_set(&input["isTooLarge"]) {
        return Some(TOO_LARGE.to_owned());
    }
    let objects = [input, &input["input"], &input["metadata"]];
    let size = objects.iter().filter_map(|one| one.as_object()).map(serde_json::Map::len).max();
    let is_odd = |all: &&Value| !all.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    let [patterns, always] = [&input["patterns"], &input["always"]];
    let given = [patterns, always].into_iter().filter(|all| is_set(all));
    let most = given.clone().filter_map(Value::as_array).map(Vec::len).max();
    let has_known_form = filled(input, "permission").is_some()
        && patterns.as_array().is_some_and(|all| !all.is_empty())
        && (input["metadata"].is_null() || input["metadata"].is_object());
    if let Some(words) = excess(size.unwrap_or_default(), FIELDS, "fields") {
        Some(words)
    } else if given.clone().any(|all| is_odd(&all)) {
        Some("This has parts that are no texts, and is not shown here.".to_owned())
    } else if let Some(words) = excess(most.unwrap_or_default(), OPTIONS, "options") {
        Some(words)
    } else {
        let words = "opencode asks for this in a form that is not known here.";
        (!has_known_form).then(|| words.to_owned())
    }
}

/// The plugin adds what the tool is called with; of the metadata, a diff is the change itself. For an edit, it says
/// all that the call does. A later version may ask for more.
fn used_by_opencode<'q>(input: &'q Value, patterns: &[&'q str]) -> Request<'q> {
    let (call, metadata) = (&input["input"], &input["metadata"]);
    let command = filled(call, "command").or_else(|| filled(metadata, "command"));
    let file = filled(metadata, "filepath").or_else(|| filled(call, "filePath"));
    let all = patterns.join(", ");
    let others = (Cow::Borrowed(input), OPENCODE.to_vec());
    match (string(input, "permission"), command, filled(metadata, "diff")) {
        ("bash", Some(command), _) => {
            let mut used = Request::command(command, call);
            used.detail.rest.push(others);
            used
        }
        (permission, _, Some(diff)) => {
            let mut rest = vec![(Cow::Borrowed(metadata), vec!["diff", "filediff"])];
            if permission != "edit" {
                rest.push((Cow::Borrowed(call), Vec::new()));
            }
            rest.push(others);
            let detail = Detail { rest, ..Detail::words(diff.trim_end_matches('\n')) };
            let about = Some(file.map_or(all.into(), Cow::Borrowed));
            Request { about, format: DIFF, detail, ..Request::words("") }
        }
        (_, command, None) => {
            let about = if all.is_empty() { command.or(file).map(Cow::Borrowed) } else { Some(all.into()) };
            let main =
                patterns.iter().map(|pattern| json!(pattern).to_string()).collect::<Vec<_>>().join("\n");
            let [metadata, call] = [metadata, call].map(|object| (Cow::Borrowed(object), Vec::new()));
            let detail = Detail { rest: vec![metadata, call, others], ..Detail::words(main) };
            Request { about, detail, ..Request::words("") }
        }
    }
}

// ---- What is allowed always

/// Options that allow always what the suggestions of Claude Code and Codex say. One that has no words here is left
/// out.
fn always(suggestions: &Value) -> Vec<Choice> {
    let suggestions = suggestions.as_array().into_iter().flatten().take(OPTIONS + 1).enumerate();
    let option = |(number, suggestion): (usize, &Value)| {
        let label = words_of_claude(suggestion).or_else(|| words_of_codex(suggestion))?;
        Some(choice_of_suggestion(label, number))
    };
    suggestions.filter_map(option).collect()
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

/// What a tool of Claude Code changes in a file.
#[derive(Debug)]
struct Change<'q> {
    file: &'q str,
    /// What is replaced; none for the whole text.
    old: Option<&'q str>,
    new: &'q str,
    /// Whether it is replaced everywhere.
    all: bool,
    project: Option<&'q Path>,
}

impl<'q> Change<'q> {
    /// The change, and the names of the fields that it shows; `None` if a diff does not show all that changes.
    fn of(
        tool: &str,
        given: &'q Value,
        file: &'q str,
        project: Option<&'q Path>,
    ) -> Option<(Change<'q>, Vec<&'q str>)> {
        let text = |name: &str| given[name].as_str();
        let (old, new, shown) = match tool {
            "Write" => (None, text("content")?, vec!["file_path", "content"]),
            "Edit" => {
                let shown = vec!["file_path", "old_string", "new_string"];
                (Some(text("old_string")?), text("new_string")?, shown)
            }
            _ => return None,
        };
        let all = is_set(&given["replace_all"]);
        Some((Change { file, old, new, all, project }, shown))
    }

    fn text(&self) -> String {
        let Change { file, old: replaced, new, all, project } = *self;
        let path = Path::new(file);
        let project = project.filter(|_| path.is_absolute());
        // A link out of the project is not followed, and a larger file is not compared.
        let known = project.and_then(|project| file::text_below(project, path, LARGEST_FILE).ok());
        let is_new = matches!(known, Some(None));
        let before = known.map(Option::unwrap_or_default);
        let after = match (replaced, &before) {
            (None, _) => Ok(new.to_owned()),
            (Some(old), Some(before)) => {
                edit::apply(before, &[Edit { old: old.to_owned(), new: new.to_owned(), all }])
            }
            (Some(_), None) => Err(NotApplied::Missing),
        };
        match (before, after) {
            (Some(before), Ok(after)) => {
                let note = if is_new {
                    "\nThe file is new."
                } else if before == after {
                    "\nNothing changes."
                } else {
                    ""
                };
                diff(&[[file, &before, &after]]) + note
            }
            (None, Ok(after)) => {
                diff(&[[file, "", &after]]) + "\nThe whole new text; what it replaces is not shown."
            }
            (_, Err(reason)) => {
                let note = match reason {
                    NotApplied::TooLarge => "the result is too large to be compared with the file.",
                    NotApplied::Missing => "the file was not compared.",
                };
                let given = diff(&[[file, replaced.unwrap_or_default(), new]]);
                format!("{given}\nThe old and the new text; {note}")
            }
        }
    }
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
