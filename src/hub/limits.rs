//! How much a machine may say in one connection.
//!
//! A program that keeps to `doc/protocol.md` never gets near these bounds. What goes beyond one ends the connection,
//! with the reason; the user may connect again.

use std::collections::{BTreeMap, HashSet};

use super::bound::HOMES;
use super::door::{self, ConnectionId};
use super::{Message, Piece};
use crate::protocol::{self, Role};

/// Maximum number of plans that a machine writes.
const PLANS: usize = 5_000;
/// Maximum number of problems that the user is told of.
const PROBLEMS: usize = 500;
/// Maximum number of live processes in all homes of a machine.
const PROCESSES: usize = 500;

/// What a machine has said so far.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// The programs that are connected to its socket.
    programs: BTreeMap<ConnectionId, Program>,
    door: Option<door::State>,
    /// The keys of its threads that it wrote to.
    plans: HashSet<String>,
    problems: usize,
    /// The number of live processes in each home.
    homes: BTreeMap<std::path::PathBuf, usize>,
}

/// A program that is connected to the socket there.
#[derive(Debug)]
struct Program {
    client: Option<String>,
    started: Option<u64>,
    /// Its calls that have no answer.
    calls: Vec<(u64, Role)>,
}

impl Program {
    /// A name of the thread of a session, or of the program's own.
    fn thread(&self, session: Option<&str>, subagent: Option<&str>) -> String {
        let own = session.map_or_else(|| format!("{:?}", self.started), str::to_owned);
        format!("{}:{own}/{}", self.client.as_deref().unwrap_or_default(), subagent.unwrap_or_default())
    }
}

impl Limits {
    /// Counts a message, of which it cuts what is too much. Returns false for one that is not passed on.
    ///
    /// # Errors
    /// A phrase that says which bound was passed.
    pub(super) fn count(&mut self, message: &mut Message) -> Result<bool, String> {
        match message {
            Message::Events(_, piece) => self.count_piece(piece).map(|()| true),
            Message::Stuck(..) | Message::Broken(_) | Message::Unreadable(..) | Message::Failed(_) => {
                self.count_problem().map(|()| true)
            }
            Message::Processes { home, live, killed, .. } => {
                let others: usize =
                    self.homes.iter().filter(|(known, _)| *known != home).map(|(_, count)| count).sum();
                live.truncate(PROCESSES.saturating_sub(others));
                killed.truncate(PROCESSES);
                let is_new = !self.homes.contains_key(home);
                if is_new && self.homes.len() >= HOMES {
                    return Ok(false);
                }
                self.homes.insert(home.clone(), live.len());
                Ok(true)
            }
            Message::DoorThere(_, event) => self.count_event(event),
            _ => Ok(true),
        }
    }

    /// The homes whose processes it told.
    pub(super) fn homes(&self) -> impl Iterator<Item = &std::path::PathBuf> {
        self.homes.keys()
    }

    /// Notes that a call at the machine's socket was answered.
    pub(super) fn answered(&mut self, id: ConnectionId, call: u64) {
        if let Some(program) = self.programs.get_mut(&id) {
            program.calls.retain(|(open, _)| *open != call);
        }
    }

    fn count_piece(&mut self, piece: &Piece) -> Result<(), String> {
        for event in &piece.events {
            self.count_plan(event.source.key())?;
        }
        if piece.warning.is_some() { self.count_problem() } else { Ok(()) }
    }

    fn count_plan(&mut self, key: String) -> Result<(), String> {
        self.plans.insert(key);
        if self.plans.len() > PLANS {
            return Err(format!("it wrote more than {PLANS} plans"));
        }
        Ok(())
    }

    fn count_problem(&mut self) -> Result<(), String> {
        self.problems += 1;
        if self.problems > PROBLEMS {
            return Err(format!("it reported more than {PROBLEMS} problems"));
        }
        Ok(())
    }

    fn count_event(&mut self, event: &door::Event) -> Result<bool, String> {
        match event {
            door::Event::Message(id, message) => self.count_said(*id, message),
            door::Event::Closed(id) => Ok(self.programs.remove(id).is_some()),
            door::Event::Outdated => self.count_problem().map(|()| true),
            door::Event::State(state) => {
                let is_new = self.door.as_ref() != Some(state);
                self.door = Some(state.clone());
                if is_new { self.count_problem().map(|()| true) } else { Ok(false) }
            }
        }
    }

    fn count_said(&mut self, id: ConnectionId, message: &protocol::Message) -> Result<bool, String> {
        if let protocol::Message::Hello(hello) = message {
            // The calls of one that greets again stay open.
            if self.programs.contains_key(&id) {
                return Ok(false);
            }
            if self.programs.len() >= door::CONNECTIONS {
                return Err(format!("more than {} programs are connected there", door::CONNECTIONS));
            }
            let (client, started) = (hello.client.clone(), hello.started);
            self.programs.insert(id, Program { client, started, calls: Vec::new() });
            return Ok(true);
        }
        let calls = self.programs.values().flat_map(|program| &program.calls);
        let questions = calls.filter(|(_, role)| *role == Role::Permission).count();
        // One that this Emacs closed may have said something before.
        let Some(program) = self.programs.get_mut(&id) else { return Ok(false) };
        match message {
            protocol::Message::Call(call) => {
                let role = call.role.unwrap_or(Role::Unknown);
                let is_question = role == Role::Permission;
                let same =
                    program.calls.iter().filter(|(_, open)| (*open == Role::Permission) == is_question);
                let is_too_much = same.count() >= if is_question { door::QUESTIONS_OF_ONE } else { 1 }
                    || (is_question && questions >= door::QUESTIONS)
                    || call.arguments.as_ref().is_some_and(|text| text.get().len() > protocol::LARGEST);
                if is_too_much {
                    return Err("it sends calls that its socket would not take".to_owned());
                }
                program.calls.push((call.call, role));
                if call.session.is_some() || matches!(role, Role::Tool | Role::Plan | Role::Unknown) {
                    let thread = program.thread(call.session.as_deref(), call.subagent.as_deref());
                    self.count_plan(thread)?;
                }
            }
            protocol::Message::Activity(told) => {
                let thread = program.thread(Some(&told.session), told.subagent.as_deref());
                self.count_plan(thread)?;
            }
            protocol::Message::Cancel(cancel) => program.calls.retain(|(open, _)| *open != cancel.call),
            _ => {}
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::claude::process_files::Process;

    #[test]
    fn the_processes_of_a_home_count_as_they_were_told_last() {
        let mut limits = Limits::default();
        let mut told = |home: &str, count| {
            let (live, killed) = (vec![Process::default(); count], Vec::new());
            let mut message = Message::Processes { home: home.into(), machine: None, live, killed };
            assert_eq!(limits.count(&mut message), Ok(true));
            let Message::Processes { live, .. } = message else { return 0 };
            live.len()
        };
        let counts = [("/a", 300), ("/a", 300), ("/b", 300), ("/a", 100), ("/b", 300)];
        assert_eq!(counts.map(|(home, count)| told(home, count)), [300, 300, 200, 100, 300]);
    }
}
