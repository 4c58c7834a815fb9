//! What an observation says: its content, the fields of its type, and the metadata of all.
//!
//! Hosts may report any JSON as the content of any type, and add any metadata. Only what this crate reads of the
//! metadata is typed; all else is kept as it came.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::events::Millis;
use crate::events::comments::Comment;
use crate::events::git::GitOperation;
use crate::events::observation::Phase;
use crate::events::session::{Context, Cost, Goal};
use crate::events::work::CallOutcome;
use crate::list::change::Change;
use crate::list::item::{Item, List, Status};
use crate::named::{is_default, wire_fields, wire_names};

wire_names! {
    /// The type of an observation. The manual lists the content of each.
    #[allow(missing_docs)]
    pub enum Type {
        Intent = "INTENT",
        Title = "TITLE",
        Plan = "PLAN",
        PlanUpdate = "PLAN_UPDATE",
        ItemStatusChange = "ITEM_STATUS_CHANGE",
        Thoughts = "THOUGHTS",
        ToolCall = "TOOL_CALL",
        ToolExecution = "TOOL_EXECUTION",
        Synthesis = "SYNTHESIS",
        Error = "ERROR",
        FinalResponse = "FINAL_RESPONSE",
        Message = "MESSAGE",
        Usage = "USAGE",
        StateUpdate = "STATE_UPDATE",
        AgentSuspended = "AGENT_SUSPENDED",
        AgentResumed = "AGENT_RESUMED",
        LlmStreamStart = "LLM_STREAM_START",
        LlmStreamMetadata = "LLM_STREAM_METADATA",
        LlmStreamEnd = "LLM_STREAM_END",
        LlmStreamError = "LLM_STREAM_ERROR",
    }
}

/// What an observation says. As JSON, it has the keys `type`, `content` and `metadata`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// The type.
    #[serde(rename = "type")]
    pub kind: Type,
    /// The content, which may be any JSON. That of a call has `id`, `name` and `input`, that of its result `id`,
    /// `name`, `content` and `isError`; that of a response is a [`crate::events::work::Usage`].
    pub content: Value,
    /// What else is known.
    pub metadata: Metadata,
    /// What follows from a revision, in place of a content. It is not in the journal, which has the revision.
    #[serde(skip)]
    pub derived: Option<Derived>,
}

/// What follows from a revision.
#[derive(Clone, Debug, PartialEq)]
pub enum Derived {
    /// The revision: its number, its list and its changes.
    #[allow(missing_docs)]
    Plan { revision: u64, todo_list: List, changes: Vec<Change<Arc<Item>>> },
    /// The change of a status in it: the item after that, and its status before.
    #[allow(missing_docs)]
    Status { item: Arc<Item>, previous_status: Option<Status> },
}

wire_fields! {
    /// The metadata of an observation. Times are in milliseconds since the epoch.
    #[allow(missing_docs)]
    pub struct Metadata {
        /// The phase, `None` if the host says that the call has no phase.
        phase: Phase = "phase",
        /// During execution, the id of the item that the observation belongs to.
        step_id: String = "stepId",
        /// The content of that item.
        step_description: String = "stepDescription",
        /// The type of the tokens of thoughts, see [`crate::events::stream::token_context`].
        token_type: String = "tokenType",
        /// The host's id of the session.
        session_id: String = "sessionId",
        /// The id of the transcript's line.
        uuid: String = "uuid",
        /// The time of that line, or of the end of a block of thoughts.
        timestamp: Millis = "timestamp",
        /// The subagent's id, if the work is of one.
        agent: String = "agent",
        /// The number of the observation of the call that sent the subagent out, if an earlier turn has it.
        of_call: u64 = "ofCall",
        /// The ids of the items that the work counts for.
        items: Vec<String> = "items",

        /// Of a call or its result: the id of the call.
        call_id: String = "callId",
        /// Whether not all of the call or its result was recorded.
        hidden: bool = "hidden",
        /// The name in the call of the excluded file that is why.
        excluded: String = "excluded",
        /// What subagents did, if only sums are known.
        by_agents: AgentsWork = "byAgents",
        outcome: CallOutcome = "outcome",
        exit_code: i64 = "exitCode",
        /// Whether it ran a command, if the tool's name does not tell.
        command: bool = "command",
        /// How long it took, in milliseconds.
        duration: Millis = "durationMs",
        /// The file that it is about.
        path: String = "path",
        files: Vec<FileEntry> = "files",
        /// Whether it changed more files than those, of which nothing else is known.
        more_files: bool = "moreFiles",
        /// Whether others wrote files while it ran.
        others_wrote: bool = "othersWrote",
        git: Vec<GitOperation> = "git",
        /// Who refused it, so that it never ran.
        refusal: Refusal = "refusal",

        /// Of a USAGE: the id of the response. Later figures of it replace earlier ones.
        response: String = "response",
        /// Whether the tokens are those of a whole session or prompt, which count for no single item.
        of_session: bool = "ofSession",
        /// Of a USAGE or STATE_UPDATE: how full the context of the agent's model is.
        context: Context = "context",
        /// Of a STATE_UPDATE: what became of the user's goal for the session.
        goal: Goal = "goal",
        cost: Cost = "cost",
        /// Why a list was refused; null once a list was accepted.
        refused_list: Option<String> = "refusedList",
        comment: Comment = "comment",
        /// The numbers of the observations of comments that the agent was told of.
        told_comments: Vec<u64> = "toldComments",
        /// The numbers of the observations of comments that were copied for the user to paste.
        copied_comments: Vec<u64> = "copiedComments",
    }
}

impl Payload {
    /// The payload of a type with this content alone.
    pub fn new(kind: Type, content: Value) -> Payload {
        Payload { kind, content, metadata: Metadata::default(), derived: None }
    }

    /// The payload with this metadata, of which all that is not understood is extra, so that nothing is lost.
    pub fn read(kind: Type, content: Value, metadata: Map<String, Value>) -> Payload {
        Payload { metadata: metadata.into(), ..Payload::new(kind, content) }
    }

    /// What follows from a revision.
    pub(crate) fn derived(derived: Derived) -> Payload {
        let kind = match derived {
            Derived::Plan { .. } => Type::PlanUpdate,
            Derived::Status { .. } => Type::ItemStatusChange,
        };
        Payload { derived: Some(derived), ..Payload::new(kind, Value::Null) }
    }

    /// What is known of the call, if it is one or its result.
    pub fn call(&self) -> Option<&Metadata> {
        Some(&self.metadata).filter(|_| matches!(self.kind, Type::ToolCall | Type::ToolExecution))
    }

    /// Whether it counts as work.
    pub(crate) fn is_work(&self) -> bool {
        let Metadata { outcome, exit_code, files, more_files, by_agents, .. } = &self.metadata;
        match self.kind {
            Type::Usage => true,
            Type::ToolExecution => {
                outcome.is_some()
                    || exit_code.is_some()
                    || files.is_some()
                    || more_files.is_some()
                    || by_agents.is_some()
            }
            _ => false,
        }
    }

    /// The files that a call changed.
    pub fn files(&self) -> &[FileEntry] {
        self.call().and_then(|call| call.files.as_deref()).unwrap_or_default()
    }

    /// What was said, whether it is a field or all of the content.
    pub(crate) fn text(&self) -> Option<&str> {
        self.content.get("text").unwrap_or(&self.content).as_str()
    }

    /// The approximate number of bytes of its texts and lists.
    pub(crate) fn size(&self) -> usize {
        let mut bytes = 0;
        let mut add = |text: &str| bytes += 64 + text.len();
        each_text(&self.content, &mut add);
        self.metadata.extra.values().for_each(|value| each_text(value, &mut add));
        for file in self.metadata.files.iter().flatten() {
            add(&file.path);
            file.patch.iter().for_each(|patch| add(patch));
        }
        if let Some(Derived::Plan { todo_list, changes, .. }) = &self.derived {
            bytes += size_of_val(todo_list.as_slice()) + size_of_val(changes.as_slice());
        }
        bytes
    }

    /// Hides a call that names an excluded file, or its result: of the content, only what tells it from others
    /// stays, unless it is a call that `keeps_input`. Returns whether it is a call.
    pub(crate) fn hide(&mut self, excluded: Option<String>, keeps_input: bool) -> bool {
        if self.call().is_none() {
            return false;
        }
        let call = &mut self.metadata;
        (call.hidden, call.excluded) = (Some(true), excluded);
        call.refusal.iter_mut().for_each(|refusal| refusal.reason = None);
        if !keeps_input {
            call.git.iter_mut().flatten().for_each(GitOperation::hide);
        }
        if !keeps_input || self.kind == Type::ToolExecution {
            match &mut self.content {
                Value::Object(fields) => fields.retain(|key, value| match key.as_str() {
                    "id" | "name" => value.is_string(),
                    key => key == "isError" && value.is_boolean(),
                }),
                other => *other = Value::Null,
            }
        }
        true
    }
}

/// The content that is this text.
pub(crate) fn said(text: impl Into<String>) -> Value {
    json!({ "text": text.into() })
}

/// Calls `visit` with each text in a value, but for ids.
pub(crate) fn each_text(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(values) => values.iter().for_each(|value| each_text(value, visit)),
        Value::Object(fields) => {
            fields.iter().filter(|(key, _)| *key != "id").for_each(|(_, value)| each_text(value, visit));
        }
        _ => {}
    }
}

/// A changed file of a call, with a patch only where the user allows it.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileEntry {
    /// The absolute name. A reader may tell one relative to the project.
    pub path: String,
    pub added: u64,
    pub removed: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub created: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub deleted: bool,
    /// Whether lines of context in the patch may differ from the file's.
    #[serde(skip_serializing_if = "is_default")]
    pub inexact: bool,
    #[serde(rename = "byCommand", skip_serializing_if = "is_default")]
    pub by_command: bool,
    /// The patch, with its header. A reader tells the hunks alone, if it knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

wire_names! {
    /// Who refuses calls.
    pub enum RefusedBy {
        /// The user.
        User = "user",
        /// A rule of the agent's settings.
        Rule = "rule",
        /// The safety check of the agent's auto mode.
        Auto = "auto",
        /// That check did not answer.
        NoAnswer = "noAnswer",
    }
}

/// The refusal of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Who refused it.
    pub by: RefusedBy,
    /// Why, in the words of the user or of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Lines and edits that subagents made, where only their sums are known.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentsWork {
    pub added: u64,
    pub removed: u64,
    pub edits: u64,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_call_are_those_of_its_fields_and_of_what_the_host_added_but_no_ids() {
        let content =
            json!({"id": "c", "name": "ls", "input": {"path": "/a"}, "cost": {"id": "d", "unit": ["e"]}});
        let mut texts = Vec::new();
        each_text(&content, &mut |text| texts.push(text.to_owned()));
        assert_eq!(texts, ["ls", "/a", "e"]);
    }

    #[test]
    fn a_hidden_call_or_result_keeps_nothing_but_id_name_and_failure() {
        let added = json!({"path": "/secret", "text": "a secret"});
        for (kind, own, kept) in [
            (Type::ToolCall, "input", json!({"id": "c1", "name": "cat"})),
            (Type::ToolExecution, "content", json!({"id": "c1", "name": "cat", "isError": true})),
            (Type::ToolExecution, "input", json!({"id": "c1", "name": "cat", "isError": true})),
        ] {
            let mut content = kept.clone();
            content[own] = json!({"path": "/secret"});
            content["added"] = added.clone();
            let mut payload = Payload::new(kind, content);
            assert!(payload.hide(None, false));
            assert_eq!(payload.content, kept, "{kind} {own}");
            let mut odd = Payload::new(kind, json!({"id": added, "name": [added], "isError": "a secret"}));
            odd.hide(None, false);
            assert_eq!(odd.content, json!({}));
        }
    }
}
