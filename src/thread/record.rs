//! The records of a thread: each is one change of its state, live and read from a journal alike.
//!
//! As a line of a journal, a record is a JSON object with its name in `record`, keys in camelCase, and in its
//! last key, `sum`, a checksum of the object without that key. Unknown keys are ignored. A line is damaged if
//! the checksum is wrong, a key without a default is missing, a key is of another type, or a counter is not
//! below 2^53: it is set aside, and the other lines are read.
//!
//! Times are milliseconds since the Unix epoch. Revisions, item ids and observations are numbered from 1 in
//! each thread; 0 stands for none, so that revision 0 is the empty list. Offsets are in bytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::activity::AgentActivity;
use super::recorded::Answer;
use super::revision::Stamp;
use crate::events::Millis;
use crate::events::marks::Marks;
use crate::events::observation::Observation;
use crate::list::change::Change;
use crate::list::item::Item;
use crate::named::is_default;

/// Changes between two lists.
pub(crate) type Changes = Vec<Change<Arc<Item>>>;

/// One change of a thread's state; see [`crate::thread::Thread::apply`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Record {
    /// A description of the thread, which replaces an earlier one. The first record of a journal of version 0.3
    /// is one.
    Thread {
        /// When the thread was begun, or the description changed.
        timestamp: Millis,
        /// The host's description: `project`, the name of its root folder; `parent`, a key; `parentItem`, an item's
        /// id; `agent`, a name; `host`, the name of what can resume the session; `emacs`, that of the Emacs that
        /// writes the plan; `unattended`, true if no user looks at the agent; `unseen`, true if the user has not
        /// seen its result; `refused`, the number of its refused calls that the user has not seen; and what the
        /// host adds.
        about: Map<String, Value>,
    },
    /// A new revision of the list.
    Revision(RevisionRecord),
    /// What the agent knows after a write that changed nothing, or what it was told otherwise.
    Known {
        /// The number of a revision, usually the newest.
        number: u64,
        /// As in a revision; if it is absent, the agent knows the current list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<Changes>,
        /// As in a revision.
        #[serde(default, skip_serializing_if = "is_default")]
        unanswered: bool,
        /// The ids of the user's items that it was told of a second time, in addition to earlier ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reminded: Vec<String>,
        /// Whether it was told of all edits of the user up to that revision.
        #[serde(default, skip_serializing_if = "is_default")]
        noted: bool,
    },
    /// A call of the agent's tool. It follows the record of its revision, if it made one.
    Call(CallRecord),
    /// A pause, a resumption, or another activity of the agent.
    State {
        /// When it began. A pause stops the intervals of items then, and any other activity but `working`
        /// does.
        timestamp: Millis,
        /// The activity from then on: the keys `paused`, `ending` and `activity`.
        #[serde(flatten)]
        activity: AgentActivity,
    },
    /// How far a transcript is recorded with the records that follow.
    Position(PositionRecord),
    /// The user has reviewed changes of files, or has taken that back.
    Review {
        /// When.
        timestamp: Millis,
        /// Up to which observation each file is reviewed.
        #[serde(default)]
        files: Marks,
    },
    /// An observation that does not follow from a revision.
    Observation(Arc<Observation>),
    /// A record of another version, which is skipped.
    #[serde(other)]
    Unknown,
}

/// How far a transcript is recorded in a thread. It stands first in the append with what was read up to
/// there, which counts only as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PositionRecord {
    /// The subagent whose file it is; none for the session's own file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The id of the session, and the hash of the file's first line, which identify the file however it
    /// is named.
    pub session: String,
    /// See `session`.
    pub first: u64,
    /// The number of bytes of the file that are recorded, without the last line feed.
    pub offset: u64,
    /// The number of records of the same append that follow; 0 if they do not matter.
    #[serde(default, skip_serializing_if = "is_default")]
    pub records: u64,
}

impl PositionRecord {
    /// Whether both are of the same file.
    pub(crate) fn is_of_file(&self, other: &PositionRecord) -> bool {
        (&self.subagent, &self.session, self.first) == (&other.subagent, &other.session, other.first)
    }
}

/// A call of the agent's tool of which its transcript may tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// Its id in the transcript, or an empty string if the host does not tell that.
    #[serde(rename = "call")]
    pub id: String,
    /// When it came.
    pub timestamp: Millis,
    /// When its bridge received it, by the clock of the agent's machine, if that is another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_time: Option<Millis>,
    /// The answer, if the bridge may send the call again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// A new list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionRecord {
    /// Its number, usually one more than that of the last revision. After a gap, one revision stands in
    /// for the lost ones.
    pub number: u64,
    /// Who made it, when and how.
    pub stamp: Stamp,
    /// The changes from the last list.
    pub changes: Changes,
    /// The number of the next item id, which is higher than all in use.
    pub next_id: u64,
    /// The changes from the list that the agent knew to the one that it sent, if it knows only that. Without them,
    /// the agent knows a list that it wrote, and after an edit of the user still what it knew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Changes>,
    /// Whether the result of this write did not reach the agent. An edit of the user leaves that as it was.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unanswered: bool,
}

/// The version of the format in which journals keep records.
pub const FORMAT: u64 = 3;

/// The limit of all counters. A higher number is damage; adding to it might overflow.
pub(crate) const COUNTER_LIMIT: u64 = 1 << 53;

impl Record {
    /// The time of the record, if it has one.
    pub fn timestamp(&self) -> Option<Millis> {
        match self {
            Record::Thread { timestamp, .. }
            | Record::State { timestamp, .. }
            | Record::Review { timestamp, .. } => Some(*timestamp),
            Record::Observation(observation) => Some(observation.timestamp),
            Record::Revision(made) => Some(made.stamp.timestamp),
            Record::Call(call) => Some(call.timestamp),
            Record::Known { .. } | Record::Position(_) | Record::Unknown => None,
        }
    }

    /// Whether all counters are below [`COUNTER_LIMIT`].
    pub(crate) fn has_sane_counters(&self) -> bool {
        let highest = match self {
            Record::Thread { timestamp, .. } | Record::State { timestamp, .. } => *timestamp,
            Record::Revision(made) => made.number.max(made.stamp.timestamp).max(made.next_id),
            Record::Review { timestamp, files } => files.values().copied().fold(*timestamp, u64::max),
            Record::Known { number, .. } => *number,
            Record::Position(position) => position.offset.max(position.records),
            Record::Call(call) => call.timestamp,
            Record::Observation(observation) => observation.number.max(observation.timestamp),
            Record::Unknown => 0,
        };
        highest < COUNTER_LIMIT
    }
}
