//! What a request of the daemon asks, in the form of the input of Claude Code's hook, and what an answer
//! means for the daemon.
//!
//! Everything that a yes would allow is in the input. A request with anything else than what is known here
//! is passed on as one that only the terminal answers.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::protocol::{Behavior, Decision};

/// Maximum size in bytes of what a question shows.
const LARGEST: usize = 900 << 10;
/// Maximum number of changed files that a question shows.
const FILES: usize = 200;
/// Parameters that say nothing to the user.
const HIDDEN: [&str; 11] = [
    "kind",
    "threadId",
    "turnId",
    "itemId",
    "approvalId",
    "startedAtMs",
    "command",
    "commandActions",
    "proposedExecpolicyAmendment",
    "proposedNetworkPolicyAmendments",
    "availableDecisions",
];

/// The methods of requests.
pub(super) const COMMAND: &str = "item/commandExecution/requestApproval";
pub(super) const CHANGE: &str = "item/fileChange/requestApproval";
pub(super) const QUESTIONS: &str = "item/tool/requestUserInput";

/// A question to the user.
#[derive(Debug)]
pub(super) struct Question {
    tool: &'static str,
    input: Map<String, Value>,
    kind: Kind,
}

/// How it is answered.
#[derive(Debug)]
enum Kind {
    /// By yes, one of these decisions for always, or no.
    Approval { always: Vec<Always> },
    /// By answers to questions with these texts and ids.
    Answers(Vec<(String, String)>),
    /// In the terminal.
    Elsewhere,
}

/// A decision that allows more than this once.
#[derive(Debug)]
struct Always {
    /// What the user is told of it.
    suggestion: Value,
    decision: Value,
}

/// What Codex knows of a change of files.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    path: String,
    kind: ChangeKind,
    diff: String,
}

#[derive(Debug, Deserialize)]
struct ChangeKind {
    r#type: String,
    move_path: Option<String>,
}

#[derive(Deserialize)]
struct Asked {
    id: String,
    question: String,
    header: Option<String>,
    #[serde(rename = "isSecret", default)]
    is_secret: bool,
    options: Option<Vec<Choice>>,
}

#[derive(Deserialize)]
struct Choice {
    label: String,
    description: Option<String>,
}

impl Question {
    /// One that only the terminal answers.
    pub(super) fn elsewhere(what: &str) -> Question {
        let input = Map::from_iter([("question".to_owned(), what.into())]);
        Question { tool: "Codex", input, kind: Kind::Elsewhere }
    }

    /// Whether a command may run; `None` if the parameters have another shape.
    pub(super) fn of_command(params: &Map<String, Value>) -> Option<Question> {
        let kind = params.get("kind").and_then(Value::as_str).unwrap_or("command");
        let command = params.get("command")?.as_str().filter(|command| !command.trim().is_empty())?;
        let offered = match params.get("availableDecisions") {
            None | Some(Value::Null) => None,
            Some(decisions) => Some(decisions.as_array()?),
        };
        let may_accept = offered.is_none_or(|offered| offered.iter().any(|one| one == "accept"));
        if kind != "command" || !may_accept {
            return None;
        }
        let mut input = Map::from_iter([("command".to_owned(), command.into())]);
        input.extend(shown(params));
        let always = offered.into_iter().flatten().filter_map(always_of).collect();
        Some(Question { tool: "Command", input, kind: Kind::Approval { always } })
    }

    /// Whether files may be changed.
    pub(super) fn of_change(params: &Map<String, Value>, changes: &[Change]) -> Option<Question> {
        if changes.is_empty() || changes.len() > FILES {
            return None;
        }
        let diffs: Vec<String> = changes.iter().map(diff_of).collect::<Option<_>>()?;
        let files: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let moved = changes.iter().filter_map(|change| change.kind.move_path.as_deref());
        let allowed: Vec<&str> = files.iter().copied().chain(moved).collect();
        let mut input = Map::from_iter([
            ("file_path".to_owned(), files.join(", ").into()),
            ("diff".to_owned(), diffs.concat().into()),
        ]);
        input.extend(shown(params));
        let always = vec![Always {
            suggestion: json!({"type": "codexFiles", "files": allowed}),
            decision: "acceptForSession".into(),
        }];
        Some(Question { tool: "Change", input, kind: Kind::Approval { always } })
    }

    /// What to choose or say.
    pub(super) fn of_questions(params: &Map<String, Value>) -> Option<Question> {
        let asked: Vec<Asked> = Vec::deserialize(params.get("questions")?).ok()?;
        if asked.is_empty() || asked.iter().any(|one| one.is_secret) {
            return None;
        }
        let questions: Vec<Value> = asked
            .iter()
            .map(|one| {
                let choice =
                    |choice: &Choice| json!({"label": choice.label, "description": choice.description});
                let options: Vec<Value> = one.options.iter().flatten().map(choice).collect();
                json!({"question": one.question, "header": one.header, "options": options})
            })
            .collect();
        let input = Map::from_iter([("questions".to_owned(), questions.into())]);
        let ids = asked.into_iter().map(|one| (one.question, one.id)).collect();
        Some(Question { tool: "AskUserQuestion", input, kind: Kind::Answers(ids) })
    }

    /// The input of the question, of a subagent of that id and name if it is one's.
    pub(super) fn arguments(&self, subagent: Option<&(String, String)>) -> Option<Box<RawValue>> {
        let always: &[Always] = if let Kind::Approval { always } = &self.kind { always } else { &[] };
        let suggestions: Vec<&Value> = always.iter().map(|one| &one.suggestion).collect();
        let mut input = json!({
            "hook_event_name": "CodexRequest",
            "tool_name": self.tool,
            "tool_input": self.input,
            "permission_suggestions": suggestions,
            "elsewhere": matches!(self.kind, Kind::Elsewhere),
        });
        if let Some((id, name)) = subagent {
            input["agent_id"] = id.as_str().into();
            input["agent_type"] = name.as_str().into();
        }
        serde_json::value::to_raw_value(&input).ok().filter(|text| text.get().len() <= LARGEST)
    }

    /// The result by which the daemon is told of a decision; `None` if that is no answer.
    pub(super) fn result(&self, decision: &Decision) -> Option<Value> {
        match (&self.kind, decision.behavior) {
            (Kind::Approval { always }, Behavior::Allow) => {
                let accepted = match decision.suggestion {
                    None => "accept".into(),
                    Some(number) => always.get(number)?.decision.clone(),
                };
                Some(json!({"decision": accepted}))
            }
            (Kind::Approval { .. }, Behavior::Deny) => {
                Some(json!({"decision": if decision.interrupt { "cancel" } else { "decline" }}))
            }
            (Kind::Answers(ids), Behavior::Allow) => {
                let given = decision.answers.as_ref()?;
                let answer = |(text, id): &(String, String)| {
                    Some((id.clone(), json!({"answers": [given.get(text)?]})))
                };
                let answers: Map<String, Value> = ids.iter().map(answer).collect::<Option<_>>()?;
                Some(json!({"answers": answers}))
            }
            (Kind::Answers(_), Behavior::Deny) | (Kind::Elsewhere, _) => None,
        }
    }
}

/// The parameters that the user is shown.
fn shown(params: &Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    let is_shown = |(name, value): &(&String, &Value)| !value.is_null() && !HIDDEN.contains(&name.as_str());
    params.iter().filter(is_shown).map(|(name, value)| (name.clone(), value.clone()))
}

/// What a decision allows always; `None` if it does not, or has no words here. Only what these words say is
/// sent back.
fn always_of(decision: &Value) -> Option<Always> {
    if decision == "acceptForSession" {
        return Some(Always {
            suggestion: json!({"type": "codexSession"}),
            decision: "acceptForSession".into(),
        });
    }
    let words = decision.get("acceptWithExecpolicyAmendment")?.get("execpolicy_amendment")?.as_array()?;
    if words.is_empty() || !words.iter().all(Value::is_string) {
        return None;
    }
    Some(Always {
        suggestion: json!({"type": "codexPrefix", "words": words}),
        decision: json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": words}}),
    })
}

/// A change as a diff; `None` if it is of an unknown kind, or of a file whose name is not one line.
fn diff_of(change: &Change) -> Option<String> {
    let Change { path, kind, diff } = change;
    let new = kind.move_path.as_ref().unwrap_or(path);
    if [path, new].iter().any(|name| !is_line(name)) {
        return None;
    }
    Some(match kind.r#type.as_str() {
        "add" => format!("--- /dev/null\n+++ {path}\n{}", whole('+', diff)),
        "delete" => format!("--- {path}\n+++ /dev/null\n{}", whole('-', diff)),
        "update" => format!("--- {path}\n+++ {new}\n{}\n", diff.strip_suffix('\n').unwrap_or(diff)),
        _ => return None,
    })
}

fn is_line(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// A whole text as a hunk.
fn whole(sign: char, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let count = lines.len();
    let header =
        if sign == '+' { format!("@@ -0,0 +1,{count} @@\n") } else { format!("@@ -1,{count} +0,0 @@\n") };
    let end = if text.ends_with('\n') { "" } else { "\\ No newline at end of file\n" };
    header + &lines.iter().map(|line| format!("{sign}{line}\n")).collect::<String>() + end
}
