//! What a request of the daemon asks, in the form of the input of Claude Code's hook, and what an answer
//! means for the daemon.
//!
//! Everything that a yes would allow is in the input. A request with anything else than what is known here
//! is passed on as one that only the terminal answers.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use todo_write::text::lines::compare;
use todo_write::wire::bounds::CALL;
use todo_write::wire::socket::{Behavior, Decision};

/// Parameters that say nothing to the user.
const HIDDEN: &str = "kind threadId turnId itemId approvalId startedAtMs command commandActions availableDecisions \
                      proposedExecpolicyAmendment proposedNetworkPolicyAmendments";

/// The method of requests about changes, which the history of their thread has.
pub(super) const CHANGE: &str = "item/fileChange/requestApproval";

#[derive(Debug)]
pub(super) struct Question {
    tool: &'static str,
    input: Map<String, Value>,
    kind: Kind,
}

/// How it is answered.
#[derive(Debug)]
enum Kind {
    /// By yes, one of these suggestions for always with the decision that it means, or no.
    Approval(Vec<(Value, Value)>),
    /// By answers to questions with these texts and ids.
    Answers(Vec<(String, String)>),
    /// In the terminal.
    Elsewhere,
}

impl Question {
    /// One that only the terminal answers.
    pub(super) fn elsewhere(what: &str) -> Question {
        let input = Map::from_iter([("question".to_owned(), what.into())]);
        Question { tool: "Codex", input, kind: Kind::Elsewhere }
    }

    pub(super) fn of(method: &str, params: &Value) -> Question {
        let known = match method {
            "item/commandExecution/requestApproval" => Question::of_command(params),
            "item/tool/requestUserInput" => Question::of_questions(params),
            _ => None,
        };
        known.unwrap_or_else(|| Question::elsewhere("Codex asks something in its terminal"))
    }

    /// Whether a command may run; `None` if the parameters have another shape.
    fn of_command(params: &Value) -> Option<Question> {
        let command = params["command"].as_str().filter(|command| !command.trim().is_empty())?;
        let offered = match &params["availableDecisions"] {
            Value::Null => None,
            offered => Some(offered.as_array()?),
        };
        let may_accept = offered.is_none_or(|offered| offered.iter().any(|one| one == "accept"));
        if !may_accept || !(params["kind"].is_null() || params["kind"] == "command") {
            return None;
        }
        let mut input = Map::from_iter([("command".to_owned(), command.into())]);
        input.extend(shown(params));
        let always = offered.into_iter().flatten().filter_map(always_of).collect();
        Some(Question { tool: "Command", input, kind: Kind::Approval(always) })
    }

    /// Whether files may be changed as the history of the thread says.
    pub(super) fn of_change(params: &Value, turns: &Value) -> Option<Question> {
        let items = turns.as_array()?.iter().rev().filter_map(|turn| turn["items"].as_array());
        let is_it = |item: &&Value| item["type"] == "fileChange" && item["id"] == params["itemId"];
        let item = items.flat_map(|items| items.iter().rev()).find(is_it)?;
        let changes = item["changes"].as_array().filter(|all| !all.is_empty())?;
        let (mut files, mut moved, mut diffs) = (Vec::new(), Vec::new(), String::new());
        for change in changes {
            let (path, diff) = (line(&change["path"])?, change["diff"].as_str()?);
            let mut new = path;
            if !change["kind"]["move_path"].is_null() {
                new = line(&change["kind"]["move_path"])?;
                moved.push(new);
            }
            files.push(path);
            diffs += &match change["kind"]["type"].as_str()? {
                "add" => format!("--- /dev/null\n+++ {path}\n{}", compare("", diff).hunks),
                "delete" => format!("--- {path}\n+++ /dev/null\n{}", compare(diff, "").hunks),
                "update" => format!("--- {path}\n+++ {new}\n{}\n", diff.strip_suffix('\n').unwrap_or(diff)),
                _ => return None,
            };
        }
        let mut input = Map::from_iter([
            ("file_path".to_owned(), files.join(", ").into()),
            ("diff".to_owned(), diffs.into()),
        ]);
        input.extend(shown(params));
        files.append(&mut moved);
        let always = vec![(json!({"type": "codexFiles", "files": files}), "acceptForSession".into())];
        Some(Question { tool: "Change", input, kind: Kind::Approval(always) })
    }

    /// What to choose or say; `None` if the parameters have another shape, or a secret is asked for.
    fn of_questions(params: &Value) -> Option<Question> {
        let asked = params["questions"].as_array().filter(|asked| !asked.is_empty())?;
        let (mut questions, mut ids) = (Vec::new(), Vec::new());
        for one in asked {
            let (id, text) = (one["id"].as_str()?, one["question"].as_str()?);
            if !(one["isSecret"].is_null() || one["isSecret"] == false) {
                return None;
            }
            let choice = |choice: &Value| {
                let label = choice["label"].as_str()?;
                Some(json!({"label": label, "description": choice["description"]}))
            };
            let options = one["options"].as_array().into_iter().flatten();
            let options: Vec<Value> = options.map(choice).collect::<Option<_>>()?;
            questions.push(json!({"question": text, "header": one["header"], "options": options}));
            ids.push((text.to_owned(), id.to_owned()));
        }
        let input = Map::from_iter([("questions".to_owned(), questions.into())]);
        Some(Question { tool: "AskUserQuestion", input, kind: Kind::Answers(ids) })
    }

    /// The input of the question, of a subagent of that id and name if it is one's. One that is too large becomes
    /// one that only the terminal answers.
    pub(super) fn arguments(&mut self, subagent: Option<&(String, String)>) -> Option<Box<RawValue>> {
        let always = if let Kind::Approval(always) = &self.kind { &always[..] } else { &[] };
        let suggestions: Vec<&Value> = always.iter().map(|(suggestion, _)| suggestion).collect();
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
        let text = serde_json::value::to_raw_value(&input).ok()?;
        if text.get().len() > CALL && !matches!(self.kind, Kind::Elsewhere) {
            let what = "Codex asks in its terminal about something that is too large to be shown";
            *self = Question::elsewhere(what);
            return self.arguments(subagent);
        }
        Some(text)
    }

    /// The result by which the daemon is told of a decision; `None` if that is no answer.
    pub(super) fn result(&self, decision: &Decision) -> Option<Value> {
        match (&self.kind, decision.behavior) {
            (Kind::Approval(always), Behavior::Allow) => {
                let accepted = match decision.suggestion {
                    None => "accept".into(),
                    Some(number) => always.get(number)?.1.clone(),
                };
                Some(json!({"decision": accepted}))
            }
            (Kind::Approval(_), Behavior::Deny) => {
                Some(json!({"decision": if decision.interrupt { "cancel" } else { "decline" }}))
            }
            (Kind::Answers(ids), Behavior::Allow) => {
                let given = decision.answers.as_ref()?;
                let answer =
                    |(text, id): &(String, String)| Some((id.clone(), json!({"answers": given.get(text)?})));
                let answers: Map<String, Value> = ids.iter().map(answer).collect::<Option<_>>()?;
                Some(json!({"answers": answers}))
            }
            (Kind::Answers(_), Behavior::Deny) | (Kind::Elsewhere, _) => None,
        }
    }
}

/// The parameters that the user is shown.
fn shown(params: &Value) -> impl Iterator<Item = (String, Value)> {
    let is_shown = |(name, value): &(&String, &Value)| {
        !value.is_null() && !HIDDEN.split(' ').any(|hidden| hidden == name.as_str())
    };
    let all = params.as_object().into_iter().flatten();
    all.filter(is_shown).map(|(name, value)| (name.clone(), value.clone()))
}

/// What a decision allows always, in words, and the decision; `None` if it does not, or has no words here. Only what
/// these words say is sent back.
fn always_of(decision: &Value) -> Option<(Value, Value)> {
    if decision == "acceptForSession" {
        return Some((json!({"type": "codexSession"}), "acceptForSession".into()));
    }
    let words = decision["acceptWithExecpolicyAmendment"]["execpolicy_amendment"].as_array()?;
    let is_known = !words.is_empty() && words.iter().all(Value::is_string);
    is_known.then(|| {
        let sent = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": words}});
        (json!({"type": "codexPrefix", "words": words}), sent)
    })
}

/// The name of a file, if it is one line.
fn line(name: &Value) -> Option<&str> {
    let is_odd = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    name.as_str().filter(|name| !name.is_empty() && !name.contains(is_odd))
}
