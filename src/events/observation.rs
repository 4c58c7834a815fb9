//! Observations: the recorded events of a thread.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::events::payload::{Derived, Metadata, Payload, Type};
use crate::events::turns::Turns;
use crate::events::{Millis, push_bounded};
use crate::fault::may_panic_here;
use crate::list::item::Item;
use crate::named::{self, wire_names};

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

/// What a host reports with an observation besides its payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// A title on one line; by default, the type in words.
    pub title: Option<String>,
    /// The id of the request or execution cycle.
    pub trace_id: Option<String>,
    /// An item id.
    pub parent_id: Option<String>,
    /// The phase, which may be none. By default, it follows from the list, as the step does.
    pub phase: Option<Option<Phase>>,
    /// The time of the line that tells it, if a transcript does: the list is that at the line.
    pub line: Option<Millis>,
}

/// One recorded event of a thread, serialized as in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// The number, from 1 in each thread. A journal may lack some: those of revisions follow from these.
    pub number: u64,
    /// The keys `type`, `content` and `metadata`: with the phase, during execution the step, and what the host
    /// added.
    #[serde(flatten)]
    pub payload: Payload,
    /// The time it was recorded, in milliseconds since the epoch; that of an event in a transcript is the
    /// time of its line, but not before the observation before it.
    pub timestamp: Millis,
    /// See [`Details::title`].
    pub title: String,
    /// See [`Details::trace_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The id of an item; by default the one in progress during execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

impl Observation {
    /// The type.
    pub fn kind(&self) -> Type {
        self.payload.kind
    }

    /// The ids of the items that it belongs to: of its parent, and of all that were in progress.
    fn items(&self) -> impl Iterator<Item = &String> {
        self.parent_id.iter().chain(self.payload.metadata.items.iter().flatten())
    }

    /// The approximate number of bytes in memory.
    fn size(&self) -> usize {
        size_of::<Observation>() + self.title.len() + self.payload.size()
    }
}

/// The id that Lisp has for the observation with a number.
pub(crate) fn id_of(number: u64) -> String {
    format!("o{number}")
}

/// The number of the observation with an id.
pub(crate) fn number_of(id: &str) -> Option<u64> {
    id.strip_prefix('o')?.parse().ok()
}

/// Which observations to return. A field that is not set admits all.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Filter {
    #[serde(rename = "type")]
    pub kind: Option<Type>,
    /// Only these types, if there are any.
    #[serde(rename = "types")]
    pub kinds: Vec<Type>,
    pub phase: Option<Phase>,
    #[serde(deserialize_with = "named::name")]
    pub token_type: Option<String>,
    #[serde(deserialize_with = "named::name")]
    pub step: Option<String>,
    /// Only those that belong to no item.
    pub outside: bool,
    /// Only those of the turn with this number, from 1 on.
    pub turn: Option<usize>,
    /// Only this number of newest ones.
    pub limit: Option<usize>,
}

impl Filter {
    fn admits(&self, observation: &Observation) -> bool {
        let metadata = &observation.payload.metadata;
        let kind = observation.kind();
        self.kind.is_none_or(|only| only == kind)
            && (self.kinds.is_empty() || self.kinds.contains(&kind))
            && !(self.outside && observation.items().next().is_some())
            && self.phase.is_none_or(|phase| metadata.phase == Some(phase))
            && self.token_type.as_ref().is_none_or(|token| metadata.token_type.as_ref() == Some(token))
            && self.step.as_ref().is_none_or(|step| observation.items().any(|item| item == step))
    }
}

/// The number of hidden calls whose results are hidden, too.
const HIDDEN_CALLS: usize = 64;

/// Maximum number of bytes that the observations of a thread take in memory, since patches are long.
/// Many agents may work all day; the journal has the rest.
const MOST_IN_MEMORY: usize = 2 * 1024 * 1024;

/// The newest observations of a thread, up to a limit. The journal has all but those that follow from revisions.
/// Serialized, it is what the head of a segment has of all observations.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observations {
    #[serde(skip)]
    kept: VecDeque<Arc<Observation>>,
    /// The maximum number kept, at least 1. The largest number means all, however long they are.
    #[serde(skip)]
    pub(crate) limit: usize,
    /// The approximate number of bytes of those.
    #[serde(skip)]
    bytes: usize,
    /// The content of the newest TITLE.
    title: Option<String>,
    /// The newest calls of which not all was recorded, and the excluded files that they name.
    hidden: VecDeque<(String, Option<String>)>,
    /// The number of the newest observation; 0 before the first.
    last: u64,
    /// The time of that one; 0 before the first.
    time: Millis,
    /// The number of the first one that was ever here; those before it are only in the journal.
    #[serde(skip)]
    pub(crate) seen_from: u64,
    /// The number of the newest one that subscribers have.
    #[serde(skip)]
    delivered: u64,
}

impl Observations {
    /// Creates an empty history that keeps at most `limit` observations, and all of the newest revision.
    pub fn new(limit: usize) -> Observations {
        Observations::default().restored(limit)
    }

    /// Those of a head, of which the journal has all.
    pub(crate) fn restored(self, limit: usize) -> Observations {
        let (seen_from, delivered) = (self.next_number(), self.last);
        Observations { limit: limit.max(1), seen_from, delivered, ..self }
    }

    /// The content of the newest TITLE.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The number of the next observation.
    pub fn next_number(&self) -> u64 {
        self.last.saturating_add(1)
    }

    /// Adds a reported observation.
    pub fn push(&mut self, observation: Arc<Observation>) {
        if let (Type::Title, Some(title)) = (observation.kind(), observation.payload.content.as_str()) {
            self.title = Some(title.to_owned());
        }
        let metadata = &observation.payload.metadata;
        if observation.kind() == Type::ToolCall
            && metadata.hidden.is_some()
            && let Some(id) = metadata.call_id.clone()
        {
            push_bounded(&mut self.hidden, HIDDEN_CALLS, (id, metadata.excluded.clone()));
        }
        self.push_all(vec![observation]);
    }

    /// Adds observations that belong together, and drops the oldest beyond the limit: subscribers never receive
    /// only some of a revision.
    pub(crate) fn push_all(&mut self, new: Vec<Arc<Observation>>) {
        may_panic_here();
        let least = new.len();
        for one in new {
            self.last = self.last.max(one.number);
            self.time = one.timestamp;
            self.bytes += one.size();
            self.kept.push_back(one);
        }
        while let Some(oldest) = self.kept.front().filter(|_| self.kept.len() > least) {
            let is_full =
                self.kept.len() > self.limit || self.bytes > MOST_IN_MEMORY && self.limit < usize::MAX;
            // The PLAN_UPDATE before it is gone.
            let is_rest = oldest.kind() == Type::ItemStatusChange && oldest.payload.derived.is_some();
            if !is_full && !is_rest {
                break;
            }
            self.bytes -= oldest.size();
            self.kept.pop_front();
        }
    }

    /// The reported observations, oldest first.
    pub fn reported(&self) -> impl DoubleEndedIterator<Item = &Arc<Observation>> {
        self.kept.iter().filter(|one| one.payload.derived.is_none())
    }

    /// The time of the newest observation; 0 without any.
    pub(crate) fn last_time(&self) -> Millis {
        self.time
    }

    /// The time of the oldest observation kept.
    pub(crate) fn first_time(&self) -> Millis {
        self.kept.front().map_or(self.time, |one| one.timestamp)
    }

    /// The number of the oldest observation kept; those before it are only in the journal.
    pub(crate) fn first_kept(&self) -> u64 {
        self.kept.front().map_or(self.last + 1, |one| one.number)
    }

    /// Whether not all of a call was recorded, and which excluded file it names, if that is known.
    pub(crate) fn hidden(&self, call: &str) -> Option<Option<&str>> {
        self.hidden.iter().find(|(hidden, _)| hidden == call).map(|(_, name)| name.as_deref())
    }

    /// The observations that the filter admits, newest last.
    pub(crate) fn select(&self, filter: &Filter, turns: &Turns) -> Vec<Arc<Observation>> {
        let admits = |one: &&Arc<Observation>| {
            filter.admits(one) && filter.turn.is_none_or(|turn| turns.of(one) + 1 == turn)
        };
        let newest = self.kept.iter().rev().filter(admits).take(filter.limit.unwrap_or(usize::MAX));
        let mut chosen: Vec<_> = newest.cloned().collect();
        chosen.reverse();
        chosen
    }

    /// Whether all were taken.
    pub(crate) fn are_delivered(&self) -> bool {
        self.delivered == self.last
    }

    /// Marks all observations as delivered, and returns those that were not, oldest first.
    pub(crate) fn take_new(&mut self) -> Vec<Arc<Observation>> {
        let delivered = std::mem::replace(&mut self.delivered, self.last);
        self.kept.iter().filter(|one| one.number > delivered).cloned().collect()
    }
}
