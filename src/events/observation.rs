//! Observations: the recorded events of a thread.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::events::Millis;
use crate::fault::may_panic_here;
use crate::list::item::{Item, Status};
use crate::wire::wire_names;

/// The metadata key of a call whose contents were not recorded.
pub(crate) const HIDDEN: &str = "hidden";

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

wire_names! {
    /// The phase of the work; see [`Phase::of`].
    #[allow(missing_docs)]
    pub enum Phase {
        Planning = "planning",
        Execution = "execution",
        Synthesis = "synthesis",
    }
}

impl Phase {
    /// The phase of a list: planning if it is empty, synthesis if all is completed, else execution.
    pub fn of(list: &[Arc<Item>]) -> Phase {
        if list.is_empty() {
            Phase::Planning
        } else if list.iter().any(|item| item.status.is_open()) {
            Phase::Execution
        } else {
            Phase::Synthesis
        }
    }
}

/// The content of an observation. The journal has only [`Content::Json`]: a replay makes the others
/// from revisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Any value from the host.
    Json(Value),
    /// PLAN_UPDATE: the number of a revision, whose list and changes are looked up when read.
    #[serde(skip)]
    Revision(u64),
    /// ITEM_STATUS_CHANGE.
    #[serde(skip)]
    Status {
        /// The item after the change.
        item: Arc<Item>,
        /// Its previous status; none for a new item.
        previous: Option<Status>,
    },
}

/// What a host reports with an observation besides type and content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// A title on one line; by default, the type in words.
    pub title: Option<String>,
    /// The id of the request or execution cycle.
    pub trace_id: Option<String>,
    /// An item id.
    pub parent_id: Option<String>,
    /// The phase, which may be none. By default it follows from the list.
    pub phase: Option<Option<Phase>>,
    /// All other data.
    pub metadata: Map<String, Value>,
}

/// One recorded event of a thread, serialized as in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// The number, from 1 in each thread.
    pub number: u64,
    /// The type.
    #[serde(rename = "type")]
    pub kind: Type,
    /// The time it was recorded.
    pub timestamp: Millis,
    /// See [`Details::title`].
    pub title: String,
    /// See [`Details::trace_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The id of an item; by default the one in progress during execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The content.
    pub content: Content,
    /// `phase`, during execution `stepId` and `stepDescription`, and the host's metadata.
    pub metadata: Map<String, Value>,
}

impl Observation {
    /// A string of the metadata.
    pub fn metadata_str(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str)
    }

    /// Whether it belongs to an item: by its parent, or as one of several items in progress.
    fn concerns(&self, item: &str) -> bool {
        let items = self.metadata.get(ITEMS).and_then(Value::as_array);
        self.parent_id.as_deref() == Some(item)
            || items.is_some_and(|items| items.iter().any(|one| one == item))
    }

    /// Whether it belongs to any item.
    fn has_item(&self) -> bool {
        let items = self.metadata.get(ITEMS).and_then(Value::as_array);
        self.parent_id.is_some() || items.is_some_and(|items| !items.is_empty())
    }

    /// The approximate number of bytes in memory.
    fn size(&self) -> usize {
        let content = match &self.content {
            Content::Json(content) => size(content),
            _ => 0,
        };
        256 + self.title.len() + content + self.metadata.values().map(size).sum::<usize>()
    }
}

fn size(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + 64 + size(value)).sum(),
        _ => 0,
    };
    32 + inside
}

/// The metadata key of the ids of the items that an observation counts for.
pub const ITEMS: &str = "items";

/// Which observations to return. A field that is not set admits all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this type.
    pub kind: Option<Type>,
    /// Only these types, if there are any.
    pub kinds: Vec<Type>,
    /// Only this phase.
    pub phase: Option<Phase>,
    /// Only this token type.
    pub token_type: Option<String>,
    /// Only this item.
    pub step: Option<String>,
    /// Only those that belong to no item.
    pub outside: bool,
    /// Only this number of newest ones.
    pub limit: Option<usize>,
}

impl Filter {
    fn admits(&self, observation: &Observation) -> bool {
        let phase = self.phase.map(Phase::as_str);
        self.kind.is_none_or(|kind| kind == observation.kind)
            && (self.kinds.is_empty() || self.kinds.contains(&observation.kind))
            && !(self.outside && observation.has_item())
            && phase.is_none_or(|phase| observation.metadata_str("phase") == Some(phase))
            && self
                .token_type
                .as_deref()
                .is_none_or(|token| observation.metadata_str("tokenType") == Some(token))
            && self.step.as_deref().is_none_or(|step| observation.concerns(step))
    }
}

/// The number of hidden calls whose results are hidden, too.
const HIDDEN_CALLS: usize = 64;

/// Maximum number of bytes that the observations of a thread take in memory, since patches are long.
/// Many agents may work all day; the journal has the rest.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// The newest observations of a thread, up to a limit. The journal has all.
#[derive(Clone, Debug)]
pub struct Observations {
    kept: VecDeque<Arc<Observation>>,
    limit: usize,
    /// The approximate number of bytes of the observations kept.
    bytes: usize,
    /// The content of the newest TITLE.
    title: Option<String>,
    /// The newest calls whose contents were not recorded.
    hidden: VecDeque<String>,
    last: u64,
    delivered: u64,
    /// The number of the newest revision's first observation.
    batch: u64,
}

impl Observations {
    /// Creates an empty history that keeps at most `limit` observations.
    pub fn new(limit: usize) -> Observations {
        let limit = limit.max(1);
        let (kept, hidden) = (VecDeque::new(), VecDeque::new());
        Observations { kept, limit, bytes: 0, title: None, hidden, last: 0, delivered: 0, batch: 0 }
    }

    /// The maximum number kept.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The content of the newest TITLE.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The number of the next observation.
    pub fn next_number(&self) -> u64 {
        self.last + 1
    }

    /// Continues with this number if it is higher, since earlier observations may be lost.
    pub(crate) fn skip_to(&mut self, next: u64) {
        self.last = self.last.max(next.saturating_sub(1));
    }

    /// Adds an observation and drops the oldest beyond the limit. Those of the newest revision stay
    /// until they are taken, so that subscribers never receive only some of them.
    pub fn push(&mut self, observation: Arc<Observation>) {
        if let (Type::Title, Content::Json(Value::String(title))) = (observation.kind, &observation.content) {
            self.title = Some(title.clone());
        }
        if observation.kind == Type::ToolCall && observation.metadata.contains_key(HIDDEN) {
            self.hidden.extend(observation.metadata_str("callId").map(str::to_owned));
            self.hidden.drain(..self.hidden.len().saturating_sub(HIDDEN_CALLS));
        }
        may_panic_here();
        self.last = self.last.max(observation.number);
        if observation.kind != Type::ItemStatusChange {
            self.batch = observation.number;
        }
        self.bytes += observation.size();
        self.kept.push_back(observation);
        self.trim();
    }

    fn trim(&mut self) {
        let free = self.batch.max(self.delivered + 1);
        while (self.kept.len() > self.limit || self.bytes > MOST_BYTES)
            && self.kept.front().is_some_and(|oldest| oldest.number < free)
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes -= oldest.size();
        }
    }

    /// The number of the oldest observation kept; those before it are only in the journal.
    pub(crate) fn first_kept(&self) -> u64 {
        self.kept.front().map_or(self.last + 1, |oldest| oldest.number)
    }

    /// The TOOL_CALL of a call.
    pub fn call(&self, id: &str) -> Option<&Arc<Observation>> {
        let mut calls = self.kept.iter().rev().filter(|one| one.kind == Type::ToolCall);
        calls.find(|one| one.metadata_str("callId") == Some(id))
    }

    /// Whether the contents of a call were not recorded.
    pub(crate) fn is_hidden(&self, call: &str) -> bool {
        self.hidden.iter().any(|hidden| hidden == call)
    }

    /// The observations that the filter admits, newest last.
    pub fn select(&self, filter: &Filter) -> Vec<Arc<Observation>> {
        let mut chosen: Vec<_> = self
            .kept
            .iter()
            .rev()
            .filter(|observation| filter.admits(observation))
            .take(filter.limit.unwrap_or(usize::MAX))
            .cloned()
            .collect();
        chosen.reverse();
        chosen
    }

    /// The observations not taken before, oldest first.
    pub fn take_new(&mut self) -> Vec<Arc<Observation>> {
        let new =
            self.kept.iter().filter(|observation| observation.number > self.delivered).cloned().collect();
        self.delivered = self.last;
        self.trim();
        new
    }
}
