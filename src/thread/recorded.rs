//! What a thread has of its session already: how far its transcripts are recorded, and its newest calls.
//!
//! A transcript is recorded up to a position, which alone decides what is new. A call that reached this Emacs
//! has lines in the transcript, too, before or after them: its id tells, or else its time, since a list of the
//! transcript counts only if the agent sent it after its last call.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::record::{CallRecord, PositionRecord, Record};
use super::{Outcome, Thread};
use crate::events::{Millis, push_bounded};
use crate::list::item::List;
use crate::text::excerpt;

/// Maximum number of transcripts whose positions a thread knows: that of the session, and of its subagents.
const MANY_POSITIONS: usize = 1_024;
/// Maximum number of calls whose ids a thread knows.
const MANY_CALLS: usize = 256;
/// Maximum number of characters of an id.
const ID: usize = 200;

/// A call of the agent's tool of which a transcript may tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Call {
    /// Its id in the transcript, if the host tells that.
    pub id: Option<String>,
    /// Its random id from the bridge, which is the same if the bridge sends it again.
    pub sent: Option<String>,
    /// When the bridge received it, by the clock of the agent's machine; none for now.
    pub time: Option<Millis>,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// See [`Call::sent`].
    pub sent: String,
    /// The text for the agent.
    pub text: String,
}

/// What a thread has of its session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Recorded {
    /// How far transcripts are recorded, the newest position last.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub(super) positions: VecDeque<PositionRecord>,
    /// The ids of the newest calls in the transcript, oldest first.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    calls: VecDeque<String>,
    /// When the agent sent the last call, by its clock, or 0.
    last_call: Millis,
    /// The last answer, in case that the call is sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
}

impl Recorded {
    pub(super) fn note_position(&mut self, position: &PositionRecord) {
        self.positions.retain(|known| !known.is_of_file(position));
        push_bounded(&mut self.positions, MANY_POSITIONS, PositionRecord { records: 0, ..position.clone() });
    }

    pub(super) fn note_call(&mut self, call: &CallRecord) {
        if !call.id.is_empty() && !self.calls.contains(&call.id) {
            push_bounded(&mut self.calls, MANY_CALLS, call.id.clone());
        }
        self.last_call = self.last_call.max(call.agent_time.unwrap_or(call.timestamp));
        if call.answer.is_some() {
            self.answer.clone_from(&call.answer);
        }
    }
}

impl Thread {
    /// How far the transcript of a position is recorded, in bytes; 0 if nothing is known of it.
    pub(crate) fn recorded_until(&self, file: &PositionRecord) -> u64 {
        let known = self.recorded.positions.iter().find(|known| known.is_of_file(file));
        known.map_or(0, |known| known.offset)
    }

    /// Whether the call with this id in the transcript reached this Emacs, or the agent sent it at `time`, not
    /// after its last call that did.
    pub(crate) fn has_call(&self, id: Option<&str>, time: Option<Millis>) -> bool {
        let Recorded { calls, last_call, .. } = &self.recorded;
        let is_known = id.is_some_and(|id| calls.contains(&excerpt(id, ID)));
        is_known || *last_call > 0 && time.is_none_or(|time| time <= *last_call)
    }

    /// The outcome of a call that was answered before and is sent again.
    pub fn answered(&self, call: &Call, now: Millis) -> Option<Outcome> {
        let answer =
            self.recorded.answer.as_ref().filter(|answer| call.sent.as_ref() == Some(&answer.sent))?;
        let (revision, result) = (self.revisions.last(), answer.text.clone());
        Some(Outcome { ok: true, revision, result, timestamp: now, ..Outcome::default() })
    }

    /// Records a call with the text that answers it.
    pub fn note_call(&mut self, call: Call, text: &str, timestamp: Millis) {
        let sent = call.sent.filter(|sent| sent.len() <= ID);
        let answer = sent.map(|sent| Answer { sent, text: text.to_owned() });
        let id = call.id.map(|id| excerpt(&id, ID)).unwrap_or_default();
        let agent_time = call.time.filter(|time| *time != timestamp);
        self.make(Record::Call(CallRecord { id, timestamp, agent_time, answer }));
    }

    /// The list that stands at a line of that time, which is read now.
    pub(crate) fn list_at_line(&self, time: Millis) -> Cow<'_, List> {
        let stands = self.revisions.iter().rev().find(|made| made.stamp.stands_at(time));
        let number = stands.map_or(0, |made| made.number);
        if number == self.revisions.last() {
            return Cow::Borrowed(self.list());
        }
        Cow::Owned(self.revisions.list(number).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::record::CallRecord;

    fn position(subagent: Option<&str>, offset: u64) -> PositionRecord {
        let subagent = subagent.map(str::to_owned);
        PositionRecord { subagent, session: "s".into(), offset, ..PositionRecord::default() }
    }

    fn thread(records: impl IntoIterator<Item = Record>) -> Thread {
        let mut thread = Thread::new("claude:s", serde_json::Map::new(), 1);
        records.into_iter().for_each(|record| thread.apply(&record));
        thread
    }

    fn call(id: &str, timestamp: Millis, answer: Option<Answer>) -> Record {
        Record::Call(CallRecord { id: id.into(), timestamp, agent_time: None, answer })
    }

    #[test]
    fn each_file_of_a_session_has_its_own_position() {
        let positions = [position(None, 10), position(Some("a1"), 5), position(None, 20)];
        let thread = thread(positions.map(Record::Position));
        let until = [None, Some("a1"), Some("a2")].map(|file| thread.recorded_until(&position(file, 0)));
        assert_eq!((until, thread.recorded.positions.len()), ([20, 5, 0], 2));
    }

    #[test]
    fn the_newest_positions_and_calls_are_kept() {
        let of = |number: usize| position(Some(&number.to_string()), 1);
        let thread_with = thread((0..=MANY_POSITIONS).map(|number| Record::Position(of(number))));
        assert_eq!([0, 1].map(|number| thread_with.recorded_until(&of(number))), [0, 1]);
        assert_eq!(thread_with.recorded.positions.len(), MANY_POSITIONS);
        let thread = thread((0..=MANY_CALLS).map(|number| call(&number.to_string(), 1, None)));
        assert_eq!(["0", "1", "256"].map(|id| thread.has_call(Some(id), Some(2))), [false, true, true]);
    }

    #[test]
    fn a_list_without_a_known_call_counts_if_it_is_later_than_the_last_one() {
        let has = |thread: &Thread| [Some(4), Some(5), None].map(|time| thread.has_call(None, time));
        assert_eq!(has(&thread([])), [false; 3]);
        let call = CallRecord { id: String::new(), timestamp: 9, agent_time: Some(4), answer: None };
        assert_eq!(has(&thread([Record::Call(call)])), [true, false, true]);
    }

    #[test]
    fn a_call_that_is_sent_again_gets_the_last_answer_and_another_one_none() {
        let answer = |sent: &str| Some(Answer { sent: sent.into(), text: format!("answer {sent}") });
        let thread = thread([call("a", 1, answer("p/1")), call("b", 2, answer("p/2")), call("c", 3, None)]);
        let again = |sent: Option<&str>| {
            let call = Call { sent: sent.map(str::to_owned), ..Call::default() };
            thread.answered(&call, 9).map(|outcome| outcome.result)
        };
        assert_eq!([Some("p/1"), Some("p/2"), None].map(again), [None, Some("answer p/2".into()), None]);
    }
}
