//! What an observation says: the content of each type, and the metadata of all.
//!
//! Hosts may report any JSON as the content of any type. The fields that this crate writes or reads are typed;
//! all others are kept as they came.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::events::Millis;
use crate::events::comments::Comment;
use crate::events::git::GitOperation;
use crate::events::observation::Phase;
use crate::events::session::{Context, Cost, Goal};
use crate::events::work::{CallOutcome, Tokens, Usage};
use crate::list::change::Change;
use crate::list::item::{Item, List, Status};
use crate::wire::{wire_fields, wire_names};

/// The content of a payload, without its type.
pub(crate) struct PayloadContent<'p>(&'p Payload);

/// Defines the types of observations and the content of each.
macro_rules! payloads {
    ($($(#[$about:meta])* $variant:ident($content:ty) = $name:literal,)+) => {
        wire_names! {
            /// The type of an observation. The manual lists the content of each.
            #[allow(missing_docs)]
            pub enum Type { $($variant = $name,)+ }
        }

        /// The type of an observation, with its content.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type", content = "content")]
        #[allow(missing_docs)] // As in `Type`.
        pub enum Payload { $(#[serde(rename = $name)] $variant($content),)+ }

        impl Payload {
            /// The payload of a type whose content is any JSON.
            pub fn new(kind: Type, content: Value) -> Payload {
                match kind { $(Type::$variant => Payload::$variant(content.into()),)+ }
            }

            /// The type.
            pub fn kind(&self) -> Type {
                match self { $(Payload::$variant(_) => Type::$variant,)+ }
            }
        }

        impl Serialize for PayloadContent<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 { $(Payload::$variant(content) => content.serialize(serializer),)+ }
            }
        }

        impl Texts for Payload {
            fn each_text<'t>(&'t self, visit: &mut dyn FnMut(&'t str)) {
                match self { $(Payload::$variant(content) => content.each_text(visit),)+ }
            }

            fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut String)) {
                match self { $(Payload::$variant(content) => content.each_text_mut(visit),)+ }
            }
        }
    };
}

payloads! {
    Intent(Value) = "INTENT",
    Title(Value) = "TITLE",
    Plan(Value) = "PLAN",
    PlanUpdate(Derived<PlanUpdate>) = "PLAN_UPDATE",
    ItemStatusChange(Derived<StatusChange>) = "ITEM_STATUS_CHANGE",
    Thoughts(Content<Text>) = "THOUGHTS",
    ToolCall(Content<ToolCall>) = "TOOL_CALL",
    ToolExecution(Content<ToolResult>) = "TOOL_EXECUTION",
    Synthesis(Value) = "SYNTHESIS",
    Error(Value) = "ERROR",
    FinalResponse(Value) = "FINAL_RESPONSE",
    Message(Content<Text>) = "MESSAGE",
    Usage(Content<TokensUsed>) = "USAGE",
    StateUpdate(Content<Text>) = "STATE_UPDATE",
    AgentSuspended(Value) = "AGENT_SUSPENDED",
    AgentResumed(Value) = "AGENT_RESUMED",
    LlmStreamStart(Value) = "LLM_STREAM_START",
    LlmStreamMetadata(Value) = "LLM_STREAM_METADATA",
    LlmStreamEnd(Value) = "LLM_STREAM_END",
    LlmStreamError(Value) = "LLM_STREAM_ERROR",
}

/// The content of a type that usually is an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content<T> {
    /// An object.
    Fields(T),
    /// Anything else that a host reported.
    Other(Value),
}

impl<T> Content<T> {
    /// The fields, if it is an object.
    pub fn fields(&self) -> Option<&T> {
        match self {
            Content::Fields(fields) => Some(fields),
            Content::Other(_) => None,
        }
    }
}

impl Content<Text> {
    /// The text, whether it is a field or all of the content.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Content::Fields(fields) => fields.text.as_deref(),
            Content::Other(other) => other.as_str(),
        }
    }
}

impl<T: From<Map<String, Value>>> From<Value> for Content<T> {
    fn from(content: Value) -> Content<T> {
        match content {
            Value::Object(fields) => Content::Fields(fields.into()),
            other => Content::Other(other),
        }
    }
}

/// The content of a type that follows from revisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Derived<T> {
    /// It was derived when it was read. The journal has its revision in place of it.
    #[serde(skip)]
    Of(T),
    /// A host reported it.
    Reported(Value),
}

impl<T> From<Value> for Derived<T> {
    fn from(content: Value) -> Derived<T> {
        Derived::Reported(content)
    }
}

/// A PLAN_UPDATE: a revision.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanUpdate {
    /// The number of the revision.
    pub revision: u64,
    /// Its list.
    pub todo_list: List,
    /// Its changes.
    pub changes: Vec<Change<Arc<Item>>>,
}

/// An ITEM_STATUS_CHANGE.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusChange {
    /// The item after the change.
    pub item: Arc<Item>,
    /// Its previous status; none for a new item.
    pub previous_status: Option<Status>,
}

wire_fields! {
    /// Something said.
    pub struct Text {
        /// The text.
        text: String = "text",
    }
}

impl Text {
    /// The content that is this text.
    pub(crate) fn of(text: impl Into<String>) -> Content<Text> {
        Content::Fields(Text { text: Some(text.into()), rest: Map::new() })
    }
}

wire_fields! {
    /// A call of a tool.
    pub struct ToolCall {
        /// The id of the call.
        id: String = "id",
        /// The name of the tool.
        name: String = "name",
        /// The arguments: an object, or a text that may be shortened JSON.
        input: Value = "input",
    }
}

wire_fields! {
    /// The result of a call.
    pub struct ToolResult {
        /// The id of the call.
        id: String = "id",
        /// The name of the tool.
        name: String = "name",
        /// What the tool returned: a text, or any JSON.
        content: Value = "content",
        /// Whether it failed.
        is_error: bool = "isError",
    }
}

wire_fields! {
    /// The tokens of one response, see [`Usage`].
    pub struct TokensUsed {
        /// See [`Tokens::input`].
        input: u64 = "input",
        /// See [`Tokens::output`].
        output: u64 = "output",
        /// See [`Tokens::cache_read`].
        cache_read: u64 = "cacheRead",
        /// See [`Tokens::cache_write`].
        cache_write: u64 = "cacheWrite",
        /// See [`Usage::at_least`].
        at_least: bool = "atLeast",
        /// See [`Usage::model`].
        model: String = "model",
    }
}

impl From<&Usage> for TokensUsed {
    fn from(Usage { tokens, model, at_least }: &Usage) -> TokensUsed {
        TokensUsed {
            input: Some(tokens.input),
            output: Some(tokens.output),
            cache_read: Some(tokens.cache_read),
            cache_write: Some(tokens.cache_write),
            at_least: Some(*at_least),
            model: model.clone(),
            rest: Map::new(),
        }
    }
}

impl TokensUsed {
    /// The figures; what is missing is 0.
    pub(crate) fn usage(&self) -> Usage {
        let tokens = Tokens {
            input: self.input.unwrap_or_default(),
            output: self.output.unwrap_or_default(),
            cache_read: self.cache_read.unwrap_or_default(),
            cache_write: self.cache_write.unwrap_or_default(),
        };
        Usage { tokens, model: self.model.clone(), at_least: self.at_least.unwrap_or_default() }
    }
}

impl FileEntry {
    /// The same without the patch.
    pub(crate) fn without_patch(&self) -> FileEntry {
        let FileEntry { added, removed, created, deleted, inexact, by_command, .. } = *self;
        FileEntry {
            path: self.path.clone(),
            added,
            removed,
            created,
            deleted,
            inexact,
            by_command,
            patch: None,
        }
    }
}

wire_fields! {
    /// The metadata of an observation. Times are in milliseconds since the epoch.
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
        /// Whether not all of a call or its result was recorded.
        hidden: bool = "hidden",
        /// The name in the call of the excluded file that is why.
        excluded: String = "excluded",
        /// The subagent's id, if the work is of one.
        agent: String = "agent",
        /// The id of a tool call.
        call_id: String = "callId",
        /// The id of a response. Later figures of it replace earlier ones.
        response: String = "response",
        /// Whether the tokens are those of a whole session or prompt, which count for no single item.
        of_session: bool = "ofSession",
        /// The number of the observation of the call that sent the subagent out, if an earlier turn has it.
        of_call: u64 = "ofCall",
        /// What subagents did, if only sums are known.
        by_agents: AgentsWork = "byAgents",
        /// How a call ended.
        outcome: CallOutcome = "outcome",
        /// The exit code of a command.
        exit_code: i64 = "exitCode",
        /// Whether a call ran a command, if the tool's name does not tell.
        command: bool = "command",
        /// How long a call took, in milliseconds.
        duration: Millis = "durationMs",
        /// The file that a call is about.
        path: String = "path",
        /// The files that a call changed.
        files: Vec<FileEntry> = "files",
        /// Whether the call changed more files than those, of which nothing else is known.
        more_files: bool = "moreFiles",
        /// Whether others wrote files while the call ran.
        others_wrote: bool = "othersWrote",
        /// What the call did in Git.
        git: Vec<GitOperation> = "git",
        /// Who refused the call, so that it never ran.
        refusal: Refusal = "refusal",
        /// The ids of the items that the work counts for.
        items: Vec<String> = "items",
        /// What became of the user's goal for the session.
        goal: Goal = "goal",
        /// How full the context of the agent's model is.
        context: Context = "context",
        /// What the session cost so far.
        cost: Cost = "cost",
        /// Why a list was refused; null once a list was accepted.
        refused_list: Value = "refusedList",
        /// Whether the journal is so long that contents are abridged from now on.
        abridged: bool = "abridged",
        /// What the user says to the agent.
        comment: Comment = "comment",
        /// The numbers of the observations of comments that the agent was told of.
        told_comments: Vec<u64> = "toldComments",
        /// The numbers of the observations of comments that were copied for the user to paste.
        copied_comments: Vec<u64> = "copiedComments",
    }
}

/// A changed file, with a patch only where the user allows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileEntry {
    /// The absolute name.
    pub path: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Whether it was created.
    #[serde(skip_serializing_if = "is_false")]
    pub created: bool,
    /// Whether it was deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub deleted: bool,
    /// Whether lines of context in the patch may differ from the file's.
    #[serde(skip_serializing_if = "is_false")]
    pub inexact: bool,
    /// Whether a command changed it.
    #[serde(rename = "byCommand", skip_serializing_if = "is_false")]
    pub by_command: bool,
    /// The patch, with its header.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentsWork {
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The number of edits.
    pub edits: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Payload {
    /// Reduces a call or its result to what tells them apart; any other content to nothing.
    pub(crate) fn hide(&mut self) {
        match self {
            Payload::ToolCall(Content::Fields(call)) => {
                *call = ToolCall { input: None, rest: Map::new(), ..std::mem::take(call) };
            }
            Payload::ToolExecution(Content::Fields(result)) => {
                *result = ToolResult { content: None, rest: Map::new(), ..std::mem::take(result) };
            }
            other => *other = Payload::new(other.kind(), Value::Null),
        }
    }

    /// The content, to be serialized.
    pub(crate) fn content(&self) -> PayloadContent<'_> {
        PayloadContent(self)
    }

    /// The id and the name of the tool, if it is a call or a result.
    pub(crate) fn call(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Payload::ToolCall(Content::Fields(call)) => (call.id.as_deref(), call.name.as_deref()),
            Payload::ToolExecution(Content::Fields(result)) => (result.id.as_deref(), result.name.as_deref()),
            _ => (None, None),
        }
    }

    /// The arguments of a call, which a host may also report with its result.
    pub(crate) fn input(&self) -> Option<&Value> {
        match self {
            Payload::ToolCall(Content::Fields(call)) => call.input.as_ref(),
            Payload::ToolExecution(Content::Fields(result)) => result.rest.get("input"),
            _ => None,
        }
    }
}

/// A value in which texts can be found and changed. Ids are no texts.
pub(crate) trait Texts {
    /// Calls `visit` with each text.
    fn each_text<'t>(&'t self, visit: &mut dyn FnMut(&'t str));
    /// Calls `visit` with each text, to change it.
    fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut String));
}

impl Texts for String {
    fn each_text<'t>(&'t self, visit: &mut dyn FnMut(&'t str)) {
        visit(self);
    }

    fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut String)) {
        visit(self);
    }
}

impl Texts for Value {
    fn each_text<'t>(&'t self, visit: &mut dyn FnMut(&'t str)) {
        match self {
            Value::String(text) => visit(text),
            Value::Array(values) => values.iter().for_each(|value| value.each_text(visit)),
            Value::Object(fields) => fields.each_text(visit),
            _ => {}
        }
    }

    fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut String)) {
        match self {
            Value::String(text) => visit(text),
            Value::Array(values) => values.iter_mut().for_each(|value| value.each_text_mut(visit)),
            Value::Object(fields) => fields.each_text_mut(visit),
            _ => {}
        }
    }
}

/// The key of ids, which searches skip.
const ID: &str = "id";

impl Texts for Map<String, Value> {
    fn each_text<'t>(&'t self, visit: &mut dyn FnMut(&'t str)) {
        self.iter().filter(|(key, _)| *key != ID).for_each(|(_, value)| value.each_text(visit));
    }

    fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut String)) {
        self.iter_mut().filter(|(key, _)| *key != ID).for_each(|(_, value)| value.each_text_mut(visit));
    }
}

impl<T: Texts> Texts for Content<T> {
    fn each_text<'t>(&'t self, visit: &mut dyn FnMut(&'t str)) {
        match self {
            Content::Fields(fields) => fields.each_text(visit),
            Content::Other(value) => value.each_text(visit),
        }
    }

    fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut String)) {
        match self {
            Content::Fields(fields) => fields.each_text_mut(visit),
            Content::Other(value) => value.each_text_mut(visit),
        }
    }
}

/// What was derived is not stored here.
impl<T> Texts for Derived<T> {
    fn each_text<'t>(&'t self, visit: &mut dyn FnMut(&'t str)) {
        if let Derived::Reported(value) = self {
            value.each_text(visit);
        }
    }

    fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut String)) {
        if let Derived::Reported(value) = self {
            value.each_text_mut(visit);
        }
    }
}

/// Implements [`Texts`] for contents by their fields with texts.
macro_rules! texts {
    ($($type:ty: $($field:ident)+;)+) => { $(
        impl Texts for $type {
            fn each_text<'t>(&'t self, visit: &mut dyn FnMut(&'t str)) {
                $(self.$field.iter().for_each(|text| text.each_text(visit));)+
                self.rest.each_text(visit);
            }

            fn each_text_mut(&mut self, visit: &mut dyn FnMut(&mut String)) {
                $(self.$field.iter_mut().for_each(|text| text.each_text_mut(visit));)+
                self.rest.each_text_mut(visit);
            }
        }
    )+ };
}

texts! {
    Text: text;
    ToolCall: name input;
    ToolResult: name content;
    TokensUsed: model;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_call_are_those_of_its_fields_and_of_what_the_host_added_but_no_ids() {
        let content = serde_json::json!({
            "id": "call", "name": "ls", "input": {"path": "/garden"}, "cost": {"id": "cost", "unit": "euro"},
        });
        let mut payload = Payload::new(Type::ToolCall, content);
        payload.each_text_mut(&mut |text| text.push('!'));
        let mut texts = Vec::new();
        payload.each_text(&mut |text| texts.push(text.to_owned()));
        assert_eq!(texts, ["ls!", "/garden!", "euro!"]);
    }

    #[test]
    fn a_hidden_call_or_result_keeps_nothing_but_id_name_and_failure() {
        let input = serde_json::json!({"path": "/secret"});
        let added = serde_json::json!({"path": "/secret", "text": "a secret"});
        for (kind, own, kept) in [
            (Type::ToolCall, "input", serde_json::json!({"id": "c1", "name": "cat"})),
            (Type::ToolExecution, "content", serde_json::json!({"id": "c1", "name": "cat", "isError": true})),
            (Type::ToolExecution, "input", serde_json::json!({"id": "c1", "name": "cat", "isError": true})),
        ] {
            let mut content = kept.clone();
            content[own] = input.clone();
            content["added"] = added.clone();
            let mut payload = Payload::new(kind, content);
            payload.hide();
            assert_eq!(serde_json::to_value(payload.content()).unwrap(), kept, "{kind} {own}");
        }
        let mut payload = Payload::new(Type::Intent, "a secret".into());
        payload.hide();
        assert_eq!(payload, Payload::Intent(Value::Null));
    }

    #[test]
    fn a_file_without_its_patch_has_all_else() {
        let bare = FileEntry {
            path: "/garden/plan".into(),
            added: 1,
            removed: 2,
            created: true,
            deleted: true,
            inexact: true,
            by_command: true,
            patch: None,
        };
        let file = FileEntry { patch: Some("+ rake".into()), ..bare.clone() };
        assert_eq!(file.without_patch(), bare);
    }
}
