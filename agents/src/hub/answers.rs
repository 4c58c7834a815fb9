//! What several homes answer together: the sessions that were found, and those to choose from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::home::Home;
use super::queue::Queue;
use todo_write::wire::program::{Choice, Found, Message};

/// The sessions in a home, and the files whose names are no text.
pub(super) type Listed = (Vec<Found>, Vec<PathBuf>);

#[derive(Debug)]
pub(super) struct Answers {
    queue: Arc<Queue>,
    /// Held only for a moment: the queue takes an answer at once.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What each home that is searched has, once it answered. That of a machine has its name.
    found: BTreeMap<PathBuf, Option<Listed>>,
    rounds: HashMap<u64, Round>,
}

#[derive(Debug, Default)]
struct Round {
    awaited: HashSet<PathBuf>,
    choices: Vec<Choice>,
}

impl Answers {
    pub(super) fn new(queue: Arc<Queue>) -> Answers {
        Answers { queue, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Awaits what a home has, or nothing of it any more.
    pub(super) fn expect(&self, folder: &Path, is_searched: bool) {
        let mut state = self.lock();
        if is_searched {
            state.found.entry(folder.to_owned()).or_default();
        } else {
            state.found.remove(folder);
        }
    }

    /// A home was searched.
    pub(super) fn found(&self, home: &Home, listed: Listed) {
        let mut state = self.lock();
        if let Some(known) = state.found.get_mut(&home.folder) {
            *known = Some(listed);
            state.report(&self.queue);
        }
    }

    /// A machine was searched.
    pub(super) fn found_there(&self, machine: &str, listed: Listed) {
        let mut state = self.lock();
        state.found.insert(machine.into(), Some(listed));
        state.report(&self.queue);
    }

    /// Reports what is known, if no home is searched that would.
    pub(super) fn report_if_none(&self) {
        let state = self.lock();
        if state.found.is_empty() {
            state.report(&self.queue);
        }
    }

    /// Awaits what these homes have to choose from.
    pub(super) fn begin(&self, round: u64, homes: impl Iterator<Item = PathBuf>) {
        let mut state = self.lock();
        state.rounds.insert(round, Round { awaited: homes.collect(), choices: Vec::new() });
        state.end_rounds(&self.queue);
    }

    /// A home has these to choose from.
    pub(super) fn chosen(&self, round: u64, home: &Path, choices: Vec<Choice>) {
        let mut state = self.lock();
        if let Some(round) = state.rounds.get_mut(&round)
            && round.awaited.remove(home)
        {
            round.choices.extend(choices);
        }
        state.end_rounds(&self.queue);
    }

    /// Answers without homes that do not. One tells more when it answers a search.
    pub(super) fn give_up(&self, is_given_up: impl Fn(&Path) -> bool) {
        let mut state = self.lock();
        let mut is_any = false;
        for (folder, listed) in &mut state.found {
            if listed.is_none() && is_given_up(folder) {
                *listed = Some(Listed::default());
                is_any = true;
            }
        }
        if is_any {
            state.report(&self.queue);
        }
        state.rounds.values_mut().for_each(|round| round.awaited.retain(|home| !is_given_up(home)));
        state.end_rounds(&self.queue);
    }
}

impl State {
    /// Reports what the searched homes have, unless some are yet to answer.
    fn report(&self, queue: &Queue) {
        if self.found.values().any(Option::is_none) {
            return;
        }
        let known = self.found.values().flatten();
        let mut all: Vec<Found> = known.clone().flat_map(|(found, _)| found.clone()).collect();
        let unnamed = known.flat_map(|(_, unnamed)| unnamed.clone()).collect();
        all.sort_by_key(|one| Reverse(one.modified));
        queue.push(Message::Found(all, unnamed));
    }

    fn end_rounds(&mut self, queue: &Queue) {
        for (id, mut round) in self.rounds.extract_if(|_, round| round.awaited.is_empty()) {
            round.choices.sort_by_key(|one| Reverse(one.modified));
            queue.push(Message::Choices(id, round.choices));
        }
    }
}
