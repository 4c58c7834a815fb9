//! Reads what the processes of a home say.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::Message;
use super::roots::{Key, Next};
use super::state::State;
use super::watch::Watches;
use super::workers::Shared;
use crate::agents::claude::process_files::{Process, Processes};

/// The live processes, and the sessions and ids of those that were killed.
type Told = (Vec<Process>, Vec<(String, u32)>);

/// Reads the process files of a home of Claude Code.
#[derive(Debug)]
pub(super) struct ProcessesTask {
    home: PathBuf,
    processes: Processes,
    told: Option<Told>,
    /// Whether the sessions of processes that changed are read before these are told.
    is_held: bool,
    is_watched: bool,
}

impl ProcessesTask {
    pub(super) fn new(home: PathBuf) -> ProcessesTask {
        let processes = Processes::new(home.join("sessions"));
        ProcessesTask { home, processes, told: None, is_held: false, is_watched: false }
    }

    pub(super) fn run(&mut self, shared: &Arc<Shared>, watches: &mut Watches) -> Next {
        let mut state = shared.lock();
        let interval = state.settings.interval;
        if !state.homes.contains_key(&self.home) {
            return Next::Over;
        }
        let here = state.sessions.values().filter(|one| one.root == self.home);
        let sessions: HashSet<String> = here.flat_map(|one| one.ids().map(str::to_owned)).collect();
        drop(state);
        let path = self.home.join("sessions");
        if !self.is_watched {
            self.is_watched = path.is_dir();
            watches.set(&Key::Processes, &[if self.is_watched { path.clone() } else { self.home.clone() }]);
        }
        self.processes.read();
        let now = (self.processes.live().to_vec(), self.processes.left_behind(&sessions));
        state = shared.lock();
        state.elsewhere.insert(self.home.clone(), self.processes.elsewhere());
        let is_changed = self.told.as_ref() != Some(&now);
        if is_changed && !self.is_held && self.hurry_sessions(&mut state, &now.0) {
            // Transcripts are read first, so that the process has the last word.
            self.is_held = true;
            return Next::At(Instant::now());
        }
        self.is_held = false;
        if !state.homes.contains_key(&self.home) {
            return Next::Over;
        }
        if is_changed {
            state.live.insert(self.home.clone(), now.0.clone());
            self.told = Some(now.clone());
            let message =
                Message::Processes { home: self.home.clone(), machine: None, live: now.0, killed: now.1 };
            state.queue.push(message, false);
            state.roots.hurry(&self.home, &Key::Search);
        }
        state.report_caught_up(&self.home);
        Next::At(Instant::now() + interval)
    }

    /// Lets the sessions be read of which a process changed; returns whether there are any.
    fn hurry_sessions(&self, state: &mut State, live: &[Process]) -> bool {
        let before: &[Process] = self.told.as_ref().map_or(&[], |(before, _)| before);
        let is_new = |process: &&Process| !before.contains(process);
        let is_gone = |process: &&Process| !live.contains(process);
        let changed = live.iter().filter(is_new).chain(before.iter().filter(is_gone));
        let changed: HashSet<&str> = changed.filter_map(|process| process.session.as_deref()).collect();
        let ids: Vec<_> = state
            .sessions
            .iter()
            .filter(|(_, one)| one.root == self.home && one.ids().any(|session| changed.contains(session)))
            .map(|(id, _)| *id)
            .collect();
        ids.iter().for_each(|id| state.hurry_session(*id));
        !ids.is_empty()
    }
}
