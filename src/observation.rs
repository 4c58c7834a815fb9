//! What happened in a thread, as recorded events, and the phase of the work.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::clock::Millis;
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

/// What an observation carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Anything the host said.
    Json(Value),
    /// PLAN_UPDATE: the list and changes of this revision, made out only when they are read.
    Revision(u64),
    /// ITEM_STATUS_CHANGE.
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

/// One recorded event of a thread.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Counts from 1 in each thread.
    pub number: u64,
    /// What it is.
    pub kind: Type,
    /// When it was recorded.
    pub timestamp: Millis,
    /// See [`Observation::title`].
    pub own_title: Option<String>,
    /// See [`Details::trace_id`].
    pub trace_id: Option<String>,
    /// The item in progress, in execution.
    pub parent_id: Option<String>,
    /// What it carries.
    pub content: Content,
    /// Where the work stood.
    pub phase: Option<Phase>,
    /// In execution, the item that the work was at.
    pub step: Option<Arc<Item>>,
    /// What the host added, and all of it in one that comes from the journal.
    pub details: Map<String, Value>,
}

// Each write makes some of these, and hardly any is looked at: what follows from the rest is made
// when it is read.
impl Observation {
    /// One line for people: what the host said, or the type in words.
    pub fn title(&self) -> Cow<'_, str> {
        match &self.own_title {
            Some(title) => Cow::Borrowed(title),
            None => Cow::Owned(self.kind.as_str().to_lowercase().replace('_', " ")),
        }
    }

    /// `phase`, and in execution `stepId` and `stepDescription`; then what the host added.
    pub fn metadata(&self) -> Map<String, Value> {
        let follows = ["phase", "stepId", "stepDescription"]
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), self.follows(key)?.into())));
        let mut metadata: Map<String, Value> = follows.collect();
        metadata.extend(self.details.clone());
        metadata
    }

    /// A string out of the metadata.
    pub fn metadata_str(&self, key: &str) -> Option<&str> {
        self.details.get(key).map_or_else(|| self.follows(key), Value::as_str)
    }

    fn follows(&self, key: &str) -> Option<&str> {
        match key {
            "phase" => self.phase.map(Phase::as_str),
            "stepId" => self.step.as_ref().map(|item| item.id.as_str()),
            "stepDescription" => self.step.as_ref().map(|item| item.content.as_str()),
            _ => None,
        }
    }
}

/// One that comes from the journal is equal to the one that went there.
impl PartialEq for Observation {
    fn eq(&self, other: &Observation) -> bool {
        let place = |of: &Observation| (of.number, of.kind, of.timestamp);
        place(self) == place(other)
            && self.title() == other.title()
            && (&self.trace_id, &self.parent_id) == (&other.trace_id, &other.parent_id)
            && self.content == other.content
            && self.metadata() == other.metadata()
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
#[derive(Clone, Debug, Default)]
pub struct Observations {
    kept: VecDeque<Arc<Observation>>,
    limit: usize,
    last: u64,
    delivered: u64,
    /// The first of those that the newest revision made.
    batch: u64,
}

impl Observations {
    /// The number that the next one gets.
    pub fn next_number(&self) -> u64 {
        self.last + 1
    }

    /// Goes on with this number, where earlier ones are unknown.
    pub fn skip_to(&mut self, next: u64) {
        self.last = self.last.max(next.saturating_sub(1));
    }

    /// Adds one, and lets the oldest go when there are more than `limit`. What one revision made
    /// stays until it is taken, or until the next: nobody is told half of a change.
    pub fn push(&mut self, observation: Observation, limit: usize) {
        self.last = self.last.max(observation.number);
        self.limit = limit.max(1);
        if observation.kind != Type::ItemStatusChange {
            self.batch = observation.number;
        }
        self.kept.push_back(Arc::new(observation));
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
