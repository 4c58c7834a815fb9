//! What happened in a thread, as recorded events, and the phase of the work.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::Millis;
use crate::fault::may_panic_here;
use crate::item::{Item, Status};
use crate::wire::wire_names;

wire_names! {
    /// The types of observation, in the order of the manual, which tells what each carries.
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
    /// Where the work stands; see [`Phase::of`].
    #[allow(missing_docs)]
    pub enum Phase {
        Planning = "planning",
        Execution = "execution",
        Synthesis = "synthesis",
    }
}

impl Phase {
    /// The phase that follows from a list.
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

/// What an observation carries. What follows from a revision is not written down again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Anything the host said.
    Json(Value),
    /// PLAN_UPDATE: the list and changes of this revision, looked up when they are read.
    #[serde(skip)]
    Revision(u64),
    /// ITEM_STATUS_CHANGE.
    #[serde(skip)]
    Status {
        /// The item after the change.
        item: Arc<Item>,
        /// Its status before; none where the item is new.
        previous: Option<Status>,
    },
}

/// What a host says of an observation or a stream event, beyond type and content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// One line; made from the type where there is none.
    pub title: Option<String>,
    /// The request or execution cycle it belongs to.
    pub trace_id: Option<String>,
    /// An item id.
    pub parent_id: Option<String>,
    /// What the host states, which may be that there is no phase; the list tells where it
    /// states nothing.
    pub phase: Option<Option<Phase>>,
    /// Anything else.
    pub metadata: Map<String, Value>,
}

/// One recorded event of a thread, as it also stands in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// Counts from 1 in each thread.
    pub number: u64,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Type,
    /// When it was recorded.
    pub timestamp: Millis,
    /// One line for people: what the host said, or the type in words.
    pub title: String,
    /// See [`Details::trace_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The item in progress, in execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// What it carries.
    pub content: Content,
    /// `phase`, and in execution `stepId` and `stepDescription`; then what the host added.
    pub metadata: Map<String, Value>,
}

impl Observation {
    /// A string out of the metadata.
    pub fn metadata_str(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str)
    }
}

/// What to let through; what is not set lets everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this type.
    pub kind: Option<Type>,
    /// Only this phase.
    pub phase: Option<Phase>,
    /// Only this token type.
    pub token_type: Option<String>,
    /// Only this item.
    pub step: Option<String>,
    /// Only the newest so many.
    pub limit: Option<usize>,
}

impl Filter {
    fn admits(&self, observation: &Observation) -> bool {
        let phase = self.phase.map(Phase::as_str);
        self.kind.is_none_or(|kind| kind == observation.kind)
            && phase.is_none_or(|phase| observation.metadata_str("phase") == Some(phase))
            && self
                .token_type
                .as_deref()
                .is_none_or(|token| observation.metadata_str("tokenType") == Some(token))
            && self.step.as_deref().is_none_or(|step| observation.parent_id.as_deref() == Some(step))
    }
}

/// The newest observations of a thread. Memory is bounded, the journal is not.
#[derive(Clone, Debug)]
pub struct Observations {
    kept: VecDeque<Arc<Observation>>,
    limit: usize,
    /// The newest title that the host reported.
    title: Option<String>,
    last: u64,
    delivered: u64,
    /// The first of those that the newest revision made.
    batch: u64,
}

impl Observations {
    /// No observations yet; at most `limit` are kept.
    pub fn new(limit: usize) -> Observations {
        let limit = limit.max(1);
        Observations { kept: VecDeque::new(), limit, title: None, last: 0, delivered: 0, batch: 0 }
    }

    /// How many are kept.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The newest title that the host reported.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The number that the next one gets.
    pub fn next_number(&self) -> u64 {
        self.last + 1
    }

    /// Goes on with this number, where earlier ones are unknown.
    pub fn skip_to(&mut self, next: u64) {
        self.last = self.last.max(next.saturating_sub(1));
    }

    /// Adds one, and lets the oldest go when there are more than the limit. What one revision made
    /// stays until it is taken, or until the next: nobody is told half of a change.
    pub fn push(&mut self, observation: Arc<Observation>) {
        if let (Type::Title, Content::Json(Value::String(title))) = (observation.kind, &observation.content) {
            self.title = Some(title.clone());
        }
        may_panic_here();
        self.last = self.last.max(observation.number);
        if observation.kind != Type::ItemStatusChange {
            self.batch = observation.number;
        }
        self.kept.push_back(observation);
        self.trim();
    }

    fn trim(&mut self) {
        let free = self.batch.max(self.delivered + 1);
        while self.kept.len() > self.limit && self.kept.front().is_some_and(|oldest| oldest.number < free) {
            self.kept.pop_front();
        }
    }

    /// Those that the filter admits, newest last.
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

    /// Those that nobody has taken yet: each is delivered once, in order, whoever asks.
    pub fn take_new(&mut self) -> Vec<Arc<Observation>> {
        let new =
            self.kept.iter().filter(|observation| observation.number > self.delivered).cloned().collect();
        self.delivered = self.last;
        self.trim();
        new
    }
}
