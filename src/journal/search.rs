//! Finds words in a thread: in its tasks, and in what its user and its agent said and ran.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::segments::records_of;
use crate::error::Error;
use crate::events::Millis;
use crate::events::observation::{Observation, Type};
use crate::events::payload::each_text;
use crate::list::item::Item;
use crate::text::{composed, excerpt};
use crate::thread::Thread;
use crate::thread::record::Record;

/// A place in a plan that has all the words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The key of the plan.
    pub thread: String,
    /// The title of the agent's session, if it has one.
    pub title: Option<String>,
    /// When it was written, said or run.
    pub timestamp: Millis,
    /// The type of the observation; none for a task.
    #[serde(rename = "type")]
    pub kind: Option<Type>,
    /// The line that has most of the words, cut to 200 characters.
    pub line: String,
    /// The id of the task itself, or of the one that the observation belongs to.
    pub item: Option<String>,
}

/// The most characters of a line.
const LINE: usize = 200;

/// The characters before the first word, if the line is longer than [`LINE`].
const BEFORE: usize = 40;

/// The words to search for. All must occur in a text, in any order and any case, composed or not.
#[derive(Clone, Debug)]
pub struct Query(Vec<String>);

impl Query {
    /// The words of a text; none if it is blank.
    ///
    /// ```
    /// # use todo_write::journal::search::Query;
    /// assert_eq!(Query::of("PARSER tests").unwrap().line_in("run\nthe tests of Parser"),
    ///            Some("the tests of Parser".into()));
    /// assert!(Query::of(" ").is_none());
    /// ```
    pub fn of(text: &str) -> Option<Query> {
        let words: Vec<String> = composed(text).split_whitespace().map(str::to_lowercase).collect();
        (!words.is_empty()).then_some(Query(words))
    }

    /// The line that has most of the words, if the text has all of them.
    pub fn line_in(&self, text: &str) -> Option<String> {
        let text = composed(text);
        let lower = text.to_lowercase();
        if !self.0.iter().all(|word| lower.contains(word)) {
            return None;
        }
        let count = |line: &&str| self.0.iter().filter(|word| line.to_lowercase().contains(*word)).count();
        // Of equal lines, `max_by_key` returns the last.
        let line = text.lines().rev().max_by_key(count)?;
        let lower = line.to_lowercase();
        let first = self.0.iter().filter_map(|word| lower.find(word)).min()?;
        let skipped = match line.chars().count() > LINE {
            true => characters_before(line, first).saturating_sub(BEFORE),
            false => 0,
        };
        let (start, _) = line.char_indices().nth(skipped)?;
        let found = excerpt(&line[start..], LINE);
        Some(if skipped > 0 { format!("…{found}") } else { found })
    }
}

/// The number of characters of `line` before the place `lower` of its lower case, which may be longer.
fn characters_before(line: &str, lower: usize) -> usize {
    let ends = line.chars().scan(0, |end, c| {
        *end += c.to_lowercase().map(char::len_utf8).sum::<usize>();
        Some(*end)
    });
    ends.take_while(|end| *end <= lower).count()
}

/// The search of one plan.
#[derive(Debug)]
pub struct Search {
    key: String,
    title: Option<String>,
    /// The files that are yet to be searched, the oldest first.
    segments: Vec<PathBuf>,
    query: Query,
    /// Ids and texts of tasks, since records repeat them.
    seen: HashSet<(String, String)>,
    places: Vec<Place>,
}

impl Search {
    pub(super) fn new(query: &Query, key: &str, title: Option<&str>, segments: Vec<PathBuf>) -> Search {
        let (key, title, query) = (key.to_owned(), title.map(str::to_owned), query.clone());
        Search { key, title, segments, query, seen: HashSet::new(), places: Vec::new() }
    }

    fn add(&mut self, timestamp: Millis, kind: Option<Type>, line: String, item: Option<String>) {
        let (thread, title) = (self.key.clone(), self.title.clone());
        self.places.push(Place { thread, title, timestamp, kind, line, item });
    }

    pub(super) fn add_record(&mut self, record: &Record) {
        match record {
            Record::Revision(made) => {
                for item in made.changes.iter().filter_map(|change| change.item.as_ref()) {
                    self.add_item(item, made.stamp.timestamp);
                }
            }
            Record::Observation(observation) => self.add_observation(observation),
            _ => {}
        }
    }

    /// Searches what a thread has in memory.
    pub(super) fn add_thread(&mut self, thread: &Thread) {
        thread.list().iter().for_each(|item| self.add_item(item, thread.last_time()));
        thread.observations().reported().for_each(|one| self.add_observation(one));
    }

    fn add_item(&mut self, item: &Arc<Item>, timestamp: Millis) {
        let Some(line) = self.query.line_in(&item.content) else { return };
        if self.seen.insert((item.id.clone(), item.content.clone())) {
            self.add(timestamp, None, line, Some(item.id.clone()));
        }
    }

    fn add_observation(&mut self, observation: &Observation) {
        if !is_searched(observation.kind()) {
            return;
        }
        let mut texts = Vec::new();
        each_text(&observation.payload.content, &mut |text| collect(text, &mut texts));
        let excluded = observation.payload.call().and_then(|call| call.excluded.as_ref()).into_iter();
        texts.extend(excluded.map(|name| format!("not recorded: names {name}")));
        // A command and its description, say, may have a word each.
        if let Some(line) = self.query.line_in(&texts.join("\n")) {
            let item = observation.parent_id.clone();
            self.add(observation.timestamp, Some(observation.kind()), line, item);
        }
    }
}

/// The newest `limit` places of plans, newest first, and why journals cannot be read.
///
/// # Errors
/// That of `step`, which is told before each segment how many were searched, and of how many.
pub fn search_plans<E>(
    plans: Vec<Search>,
    limit: usize,
    mut step: impl FnMut(usize, usize) -> Result<(), E>,
) -> Result<(Vec<Place>, Vec<Error>), E> {
    let all = plans.iter().map(|plan| plan.segments.len()).sum();
    let (mut done, mut places, mut unreadable) = (0, Vec::new(), Vec::new());
    for mut search in plans {
        for path in std::mem::take(&mut search.segments) {
            step(done, all)?;
            done += 1;
            match records_of(&path) {
                Ok(records) => records.iter().for_each(|record| search.add_record(record)),
                Err(reason) => unreadable.push(Error::Journal { file: path.display().to_string(), reason }),
            }
        }
        // Of those of one time, the newest comes first.
        places.extend(search.places.into_iter().rev());
        places.sort_by_key(|place: &Place| std::cmp::Reverse(place.timestamp));
        places.truncate(limit);
    }
    Ok((places, unreadable))
}

/// Whether observations of a type are something said, run or returned.
fn is_searched(kind: Type) -> bool {
    matches!(
        kind,
        Type::Intent
            | Type::Title
            | Type::Plan
            | Type::Thoughts
            | Type::ToolCall
            | Type::ToolExecution
            | Type::Synthesis
            | Type::Error
            | Type::FinalResponse
            | Type::Message
    )
}

/// Collects a text, which may be JSON, such as the arguments of a call.
fn collect(text: &str, texts: &mut Vec<String>) {
    let fields = text.starts_with('{').then(|| serde_json::from_str::<Value>(text));
    match fields {
        Some(Ok(fields)) => each_text(&fields, &mut |text| collect(text, texts)),
        _ => texts.push(text.to_owned()),
    }
}
