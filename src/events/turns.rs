//! The turns of a thread: a prompt of the user and what came of it.
//!
//! A turn begins with an INTENT. What lies before the first one is a turn without a prompt. Each event
//! belongs to the turn in which it was recorded, the work of a subagent to the turn of the call that sent
//! it out. Turns follow from the records of a thread alone, so that the journal restores them. Their
//! work is summed by [`super::work`].

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Millis;
use super::git::{GitKind, GitOperation};
use super::observation::{Observation, Payload, Type};
use crate::list::change::{Change, ChangeKind};
use crate::list::item::{Item, Status};
use crate::named::{sparse, wire_names};
use crate::text::beginning;

/// The longest prompt that is kept, in bytes. The journal has more of it.
const PROMPT: usize = 8_000;
/// The length of a prompt, in bytes, from which on it says what it is about, and the longest beginning that is
/// kept of what the agent said first after a shorter one.
const TELLING: usize = 40;
const SAID: usize = 200;
/// The largest number of turns. Later prompts are part of the last one.
const MOST_TURNS: usize = 4_096;
/// The largest numbers of items and of commits of a turn.
const MOST_ITEMS: usize = 1_000;
const MOST_COMMITS: usize = 1_000;

wire_names! {
    /// How the agent's last turn or its session ended.
    #[allow(missing_docs)]
    #[serde(rename = "Symbol")]
    pub enum Ending {
        /// The turn ended, and the session goes on.
        EndOfTurn = "end-of-turn",
        SessionEnded = "session-ended",
        Killed = "killed",
        /// The user denied a permission, which ended the turn.
        Denied = "denied",
        Error = "error",
    }
}

/// A commit.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub id: String,
    pub title: Option<String>,
}

impl Commit {
    fn of(operation: &GitOperation) -> Option<Commit> {
        let id = operation.id.clone().filter(|_| operation.kind == GitKind::Commit)?;
        Some(Commit { id, title: operation.title.clone() })
    }
}

/// A prompt of the user and what came of it.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Turn {
    /// The beginning of the prompt; `None` for what lies before the first.
    pub prompt: Option<String>,
    /// The beginning of what the agent said first, if the prompt is short, such as "go on".
    pub said: Option<String>,
    pub began: Millis,
    /// The time of its newest event.
    pub ended: Millis,
    /// How it ended; `None` while it runs, or if that is not known.
    pub ending: Option<Ending>,
    /// The ids of the items that were in progress or completed in it, of whichever list, and whether they were
    /// completed.
    items: Vec<(String, bool)>,
    pub commits: Vec<Commit>,
    /// The number of its first observation.
    pub first: u64,
}

impl Turn {
    /// The ids of the items that were in progress or completed in it, of whichever list.
    pub fn items(&self) -> Vec<String> {
        self.items.iter().map(|(item, _)| item.clone()).collect()
    }

    /// The number of its items that were completed in it.
    pub fn completed(&self) -> usize {
        self.items.iter().filter(|(_, is_completed)| *is_completed).count()
    }

    /// Notes an item that is in progress, completed, or pending again, if it is not new.
    fn note(&mut self, item: &str, is_completed: bool, is_begun: bool) {
        if let Some((_, known)) = self.items.iter_mut().find(|(known, _)| known == item) {
            *known = is_completed;
        } else if is_begun && self.items.len() < MOST_ITEMS {
            self.items.push((item.to_owned(), is_completed));
        }
    }

    /// Notes what the agent said first after a short prompt.
    fn note_said(&mut self, payload: &Payload) {
        if payload.kind == Type::Message
            && self.said.is_none()
            && self.prompt.as_ref().is_some_and(|prompt| prompt.len() < TELLING)
            && let Some(text) = payload.text().filter(|text| !text.trim().is_empty())
        {
            self.said = Some(beginning(text, SAID));
        }
    }
}

/// The turns of a thread, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Turns {
    #[serde(serialize_with = "sparse")]
    turns: Vec<Turn>,
    /// How the last turn had ended before the agent went on: in that turn, if no prompt follows.
    ended_before: Option<Ending>,
    /// Whether a transcript tells the last prompt, not only the host.
    is_of_transcript: bool,
}

impl Turns {
    /// The turns, oldest first.
    pub(crate) fn all(&self) -> &[Turn] {
        &self.turns
    }

    /// The numbers of the observations recorded in the turn with this index.
    pub(crate) fn numbers(&self, turn: usize) -> Range<u64> {
        let begin = |turn: usize| self.turns.get(turn).map_or(u64::MAX, |turn| turn.first);
        let from = if turn == 0 { 0 } else { begin(turn) };
        from..begin(turn.saturating_add(1))
    }

    /// The index of the turn to which an observation belongs, which was added.
    pub(crate) fn of(&self, observation: &Observation) -> usize {
        self.at(observation.payload.metadata.of_call.unwrap_or(observation.number))
    }

    /// The index of the turn in which the observation with this number was recorded.
    fn at(&self, number: u64) -> usize {
        self.turns.partition_point(|turn| turn.first <= number).saturating_sub(1)
    }

    /// The index of the turn to which an observation belongs, which may be a new one. `in_progress` are the
    /// ids of the items in progress, if it is a prompt.
    pub(crate) fn add(&mut self, observation: &Observation, in_progress: Vec<String>) -> usize {
        let place = match observation.payload.metadata.of_call {
            // The work of a subagent that was sent out before.
            Some(call) => self.at(call),
            None => {
                match observation.kind() {
                    Type::Intent => self.add_prompt(observation, in_progress),
                    kind if is_aside(kind) => {}
                    _ => self.go_on(observation.number, observation.timestamp),
                }
                self.turns.len().saturating_sub(1)
            }
        };
        if let Some(turn) = self.turns.get_mut(place) {
            turn.note_said(&observation.payload);
            let git = observation.payload.call().and_then(|call| call.git.as_deref()).unwrap_or_default();
            let commits = git.iter().filter_map(Commit::of);
            let room = MOST_COMMITS.saturating_sub(turn.commits.len());
            turn.commits.extend(commits.take(room));
        }
        place
    }

    fn add_prompt(&mut self, observation: &Observation, in_progress: Vec<String>) {
        let text = match &observation.payload.content {
            Value::String(text) => beginning(text, PROMPT),
            Value::Null => String::new(),
            other => beginning(&other.to_string(), PROMPT),
        };
        let is_of_transcript = observation.payload.metadata.uuid.is_some();
        // A host and the transcript of its session may tell the same prompt.
        let is_known = self.turns.last().is_some_and(|last| last.prompt.as_ref() == Some(&text));
        let is_told = is_known && self.is_of_transcript != is_of_transcript;
        if is_told || self.turns.len() == MOST_TURNS {
            self.is_of_transcript |= is_told;
            return self.go_on(observation.number, observation.timestamp);
        }
        self.begin(Some(text), observation.number, observation.timestamp);
        self.is_of_transcript = is_of_transcript;
        if let Some(turn) = self.turns.last_mut() {
            in_progress.into_iter().for_each(|item| turn.note(&item, false, true));
        }
    }

    fn begin(&mut self, prompt: Option<String>, first: u64, time: Millis) {
        let before = self.ended_before.take();
        if let Some(turn) = self.turns.last_mut() {
            turn.ending = turn.ending.or(before).filter(|ending| *ending != Ending::SessionEnded);
        }
        self.turns.push(Turn { prompt, began: time, ended: time, first, ..Turn::default() });
    }

    /// The turn goes on with the observation `number` at `time`.
    fn go_on(&mut self, number: u64, time: Millis) {
        if self.turns.is_empty() {
            self.begin(None, number, time);
        }
        if let Some(turn) = self.turns.last_mut() {
            turn.ended = turn.ended.max(time);
            self.ended_before = None;
        }
    }

    /// Adds the changes of a revision whose first observation is `number`. Those of the user are no event of
    /// the agent's turn.
    pub(crate) fn add_changes(
        &mut self,
        changes: &[Change<Arc<Item>>],
        is_of_agent: bool,
        number: u64,
        time: Millis,
    ) {
        if is_of_agent || self.turns.is_empty() {
            self.go_on(number, time);
        }
        let Some(turn) = self.turns.last_mut() else { return };
        for change in changes {
            let Some(item) = &change.item else { continue };
            let before = change.previous_item.as_ref().map(|item| item.status);
            if change.kind == ChangeKind::Added || before != Some(item.status) {
                turn.note(&item.id, item.status == Status::Completed, item.status != Status::Pending);
            }
        }
    }

    /// Notes how the agent ended at `time`, or that it works or waits.
    pub(crate) fn set_ending(&mut self, ending: Option<Ending>, time: Millis) {
        let Some(turn) = self.turns.last_mut() else { return };
        if ending == turn.ending {
            return;
        }
        if ending.is_none() {
            // A session that seemed to have ended, and goes on, had not; its turn may have ended before.
            let ended = turn.ending.filter(|ending| *ending != Ending::SessionEnded);
            self.ended_before = ended.or(self.ended_before);
        }
        turn.ending = ending;
        // When a session ended is known only later.
        if matches!(ending, Some(Ending::EndOfTurn | Ending::Denied | Ending::Error)) {
            turn.ended = turn.ended.max(time);
        }
    }
}

/// Whether observations of this type are no part of the agent's work on a prompt.
fn is_aside(kind: Type) -> bool {
    matches!(kind, Type::Title | Type::StateUpdate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(number: u64, text: String) -> Observation {
        let payload = Payload::new(Type::Intent, text.into());
        let title = String::new();
        Observation { number, payload, timestamp: number, title, trace_id: None, parent_id: None }
    }

    #[test]
    fn prompts_of_any_number_and_length_take_bounded_memory() {
        let mut turns = Turns::default();
        for number in 1..=MOST_TURNS as u64 + 5 {
            turns.add(&prompt(number, format!("{number} {}", "ä".repeat(10_000))), Vec::new());
        }
        let lengths: Vec<_> = turns.all().iter().map(|turn| turn.prompt.as_ref().map(String::len)).collect();
        assert_eq!(lengths.len(), MOST_TURNS);
        assert!(lengths.iter().all(|length| (Some(PROMPT - 4)..Some(PROMPT + 4)).contains(length)));
    }

    #[test]
    fn what_the_agent_said_is_a_field_or_all_of_the_content() {
        for content in [serde_json::json!("Raked."), serde_json::json!({"text": "Raked."})] {
            let mut turns = Turns::default();
            turns.add(&prompt(1, "Rake".into()), Vec::new());
            let payload = Payload::new(Type::Message, content);
            turns.add(&Observation { payload, ..prompt(2, String::new()) }, Vec::new());
            assert_eq!(turns.all()[0].said.as_deref(), Some("Raked."));
        }
    }

    #[test]
    fn a_turn_that_ended_stays_so_if_its_session_seems_to_end_before_the_next_prompt() {
        let mut turns = Turns::default();
        turns.add(&prompt(1, "Rake".into()), Vec::new());
        for ending in [Some(Ending::EndOfTurn), None, Some(Ending::SessionEnded), None] {
            turns.set_ending(ending, 2);
        }
        turns.add(&prompt(3, "Weed".into()), Vec::new());
        assert_eq!(turns.all()[0].ending, Some(Ending::EndOfTurn));
    }

    #[test]
    fn a_prompt_that_the_host_and_the_transcript_tell_is_one() {
        let mut turns = Turns::default();
        turns.add(&prompt(1, "Rake".into()), Vec::new());
        let mut told = prompt(2, "Rake".into());
        told.payload.metadata.uuid = Some("u".into());
        turns.add(&told, Vec::new());
        assert_eq!(turns.all().len(), 1);
        told.number = 3;
        turns.add(&told, Vec::new());
        assert_eq!(turns.all().len(), 2, "a line of its own is a prompt of its own");
    }
}
