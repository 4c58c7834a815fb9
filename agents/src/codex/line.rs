//! The parts of a rollout line that matter here.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::field::Excerpt;
use todo_write::events::session::{Goal, GoalState};
use todo_write::events::work::Tokens;
use todo_write::list::raw::Raw;

/// A line of any type; the payload has its contents.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RolloutLine<'a> {
    /// RFC 3339.
    pub timestamp: Option<Excerpt<40>>,
    /// `session_meta`, `event_msg`, `response_item` or another type.
    #[serde(rename = "type")]
    pub kind: Excerpt<40>,
    #[serde(borrow)]
    pub payload: Payload<'a>,
}

/// The payload of a line; each type has its own fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Payload<'a> {
    /// The type of an event or of an item.
    #[serde(rename = "type")]
    pub kind: Option<Excerpt<40>>,
    /// `session_meta`: the id of the session. Items: the id of the item.
    pub id: Option<Excerpt<190>>,
    pub cwd: Option<Excerpt<4096>>,
    /// `session_meta`: the id of the session that this one reviews.
    pub parent_thread_id: Option<Excerpt<200>>,
    /// `session_meta`: an object for a subagent, a word for others.
    #[serde(borrow)]
    pub source: Option<Raw<'a>>,
    /// Calls and outputs: the id of the call.
    pub call_id: Option<Excerpt<190>>,
    pub name: Option<Excerpt<190>>,
    /// Calls: the server of the tool.
    pub namespace: Option<Excerpt<190>>,
    /// `function_call`: JSON.
    #[serde(borrow)]
    pub arguments: Option<Cow<'a, str>>,
    /// `custom_tool_call`: text in the tool's own format.
    #[serde(borrow)]
    pub input: Option<Cow<'a, str>>,
    /// Outputs: a text, or items of text.
    pub output: Option<Excerpt<2_000>>,
    /// `reasoning`.
    pub summary: Option<Excerpt>,
    /// `user_message`, `error`.
    pub message: Option<Excerpt>,
    /// `task_complete`: the answer.
    pub last_agent_message: Option<Excerpt<100>>,
    /// `turn_aborted`: `interrupted` or another reason.
    pub reason: Option<Excerpt<40>>,
    /// `thread_name_updated`.
    pub thread_name: Option<Excerpt>,
    /// `item_completed`.
    #[serde(borrow)]
    pub item: Option<CompletedItem<'a>>,
    /// `session_meta`: the session whose lines a fork repeats.
    pub forked_from_id: Option<Excerpt<200>>,
    pub turn_id: Option<Excerpt<100>>,
    /// `message`: `assistant` or another role.
    pub role: Option<Excerpt<40>>,
    /// `message`: items of text.
    pub content: Option<Excerpt>,
    /// `turn_context`: the model.
    pub model: Option<Excerpt<100>>,
    pub success: Option<bool>,
    /// `patch_apply_end`: what changed, by file. `type` is `add` or `delete`, with the `content`, or `update` with
    /// the `unified_diff`, and `move_path` if the file moved.
    #[serde(borrow)]
    pub changes: Option<&'a RawValue>,
    /// `token_count`: the tokens so far.
    pub info: Option<TokenInfo>,
    /// `task_started`: how many tokens the context can hold.
    pub model_context_window: Option<u64>,
    /// `thread_goal_updated`: the user's goal.
    #[serde(borrow)]
    pub goal: Option<Raw<'a>>,
    /// `token_usage_record`: the tokens of a response.
    pub usage: Option<TokenCounts>,
    /// `token_usage_record`: the tokens so far.
    pub thread_token_usage: Option<TokenCounts>,
}

/// The tokens of `token_count`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TokenInfo {
    pub total_token_usage: Option<TokenCounts>,
    pub last_token_usage: Option<TokenCounts>,
    /// How many the context can hold.
    pub model_context_window: Option<u64>,
}

/// The goal that a line tells, by its `objective` and `status`: `active`, `paused`, `complete`, `blocked` or a limit.
pub(crate) fn goal(told: &Raw<'_>) -> Option<Goal> {
    let (state, reason) = goal_state(told.get("status")?.as_str()?)?;
    let text = told.get("objective")?.as_str().filter(|text| !text.is_empty())?;
    Some(Goal::new(text, state, reason, 0))
}

/// The state of a goal with this status, and why it is in it.
pub(crate) fn goal_state(status: &str) -> Option<(GoalState, Option<&'static str>)> {
    Some(match status {
        "active" => (GoalState::Active, None),
        "complete" => (GoalState::Met, None),
        "paused" => (GoalState::Paused, None),
        "blocked" => (GoalState::Failed, Some("the agent is blocked")),
        "usageLimited" => (GoalState::Paused, Some("the usage limit is reached")),
        "budgetLimited" => (GoalState::Paused, Some("its budget is spent")),
        _ => return None,
    })
}

/// Numbers of tokens. Cached ones are part of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct TokenCounts {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_input_tokens: u64,
    pub output_tokens: u64,
}

impl TokenCounts {
    /// The tokens since an earlier count.
    pub(crate) fn since(self, before: TokenCounts) -> TokenCounts {
        TokenCounts {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_sub(before.cached_input_tokens),
            cache_write_input_tokens: self
                .cache_write_input_tokens
                .saturating_sub(before.cache_write_input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
        }
    }
}

impl From<TokenCounts> for Tokens {
    fn from(counts: TokenCounts) -> Tokens {
        let cached = counts.cached_input_tokens.saturating_add(counts.cache_write_input_tokens);
        Tokens {
            input: counts.input_tokens.saturating_sub(cached),
            output: counts.output_tokens,
            cache_read: counts.cached_input_tokens,
            cache_write: counts.cache_write_input_tokens,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CompletedItem<'a> {
    /// The id; of a call outside a script, that of the call.
    pub id: Option<Excerpt<190>>,
    /// `CommandExecution`, `FileChange`: `completed`, `failed` or `declined`.
    pub status: Option<Excerpt<40>>,
    pub exit_code: Option<i64>,
    /// `CommandExecution`: the program and its arguments.
    #[serde(borrow)]
    pub command: Option<Raw<'a>>,
    pub aggregated_output: Option<Excerpt<2_000>>,
    /// `FileChange`: what changed, by file.
    #[serde(borrow)]
    pub changes: Option<&'a RawValue>,
    /// `UserMessage` and others.
    #[serde(rename = "type")]
    pub kind: Option<Excerpt<190>>,
    /// `UserMessage`: items of text.
    pub content: Option<Excerpt>,
    /// `SubAgentActivity`: `started` and others.
    #[serde(rename = "kind")]
    pub activity: Option<Excerpt<190>>,
    /// `SubAgentActivity`: the subagent's session.
    pub agent_thread_id: Option<Excerpt<190>>,
    /// `SubAgentActivity`: the names of the subagent and of those above it.
    pub agent_path: Option<Excerpt<190>>,
    /// `CollabAgentToolCall`: `spawn_agent` and others.
    pub tool: Option<Excerpt<190>>,
    /// `CollabAgentToolCall`: the subagents' sessions.
    pub receiver_thread_ids: Option<Vec<Excerpt<190>>>,
}

impl Payload<'_> {
    /// `session_meta`: whether the session is a reviewer's or a subagent's.
    pub(crate) fn is_subagent(&self) -> bool {
        self.parent_thread_id.is_some() || matches!(self.source, Some(Raw::Object(_)))
    }
}

impl<'a> RolloutLine<'a> {
    /// Parses a line; `None` if it has another form.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<RolloutLine<'a>> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether a file that begins with this line is a rollout.
    pub(crate) fn is_first(bytes: &[u8]) -> bool {
        memchr::memmem::find(&bytes[..bytes.len().min(200)], b"\"session_meta\"").is_some()
    }
}
