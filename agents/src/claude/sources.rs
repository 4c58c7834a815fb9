//! The sessions and subagents in a transcript.
//!
//! Later versions give subagents an id. In earlier ones, the chain of lines identifies a subagent:
//! each line has the id of the line that it follows.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::line::{blocks, message, text_of};
use super::tasks::Tasks;
use crate::events::{Events, Held, push_recent};
use crate::field::{self, is_true, text};
use todo_write::events::push_bounded;
use todo_write::list::raw::Raw;
use todo_write::text::{excerpt, fnv1a};
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::event::{Agent, Event, Source, SubagentCall};

/// Maximum number of subagents: the calls that lead to one are followed up through all of them.
const SUBAGENTS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Sources {
    sessions: VecDeque<SessionState>,
    last: Option<Arc<Source>>,
    subagents: VecDeque<Subagent>,
    calls: VecDeque<(u64, SubagentCall)>,
    /// The ids of subagents and of the calls that started them, from the subagents' files.
    named: VecDeque<(String, String)>,
    /// The subagent of a line by the hash of the line's id, and the hashes by age.
    lines: HashMap<u64, String>,
    lines_by_age: VecDeque<u64>,
}

/// The source of a session's title, in ascending priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TitleSource {
    /// There is no title yet.
    None,
    Prompt,
    /// The agent.
    Own,
    /// The user.
    Custom,
}

#[derive(Debug)]
struct SessionState {
    source: Arc<Source>,
    title: TitleSource,
    tasks: Tasks,
    /// Whether the agent used its own tasks later than `todo_write`.
    uses_own_tasks: bool,
}

#[derive(Debug)]
struct Subagent {
    source: Arc<Source>,
    /// The hash of its prompt, its first line.
    prompt: Option<u64>,
    held: Held,
}

impl Sources {
    /// The session of the last line of a main agent.
    pub(super) fn last(&self) -> Option<&Arc<Source>> {
        self.last.as_ref()
    }

    /// The source of a line; `None` if the line has no session id.
    pub(super) fn of(&mut self, line: &Raw<'_>) -> Option<Arc<Source>> {
        let session = Some(text(line, "sessionId")).filter(|session| !session.is_empty())?;
        let folder = || field::folder(line, "cwd");
        if !is_true(line, "isSidechain") {
            let known = self.main(session);
            let source = known.unwrap_or_else(|| {
                let is_unattended = text(line, "entrypoint") == "sdk-cli";
                let main = Source::main(Agent::Claude, session, folder());
                let source = Arc::new(Source { is_unattended, ..main });
                let session = SessionState {
                    source: source.clone(),
                    title: TitleSource::None,
                    tasks: Tasks::default(),
                    uses_own_tasks: true,
                };
                push_recent(&mut self.sessions, session);
                source
            });
            self.last = Some(source.clone());
            return Some(source);
        }
        let id = self.subagent_of(line)?;
        let is_it =
            |known: &Subagent| known.source.subagent.as_ref() == Some(&id) && known.source.session == session;
        if let Some(place) = self.subagents.iter().rposition(is_it) {
            return Some(self.known(place, &id));
        }
        let prompt = blocks(message(line)).iter().map(text_of).find(|text| !text.is_empty());
        let prompt = prompt.map(|text| prompt_hash(&text, session));
        let call = self.take_call(&id, prompt);
        let folder = self.main(session).map_or_else(folder, |main| main.folder.clone());
        let main = Source::main(Agent::Claude, session, folder);
        let source = Arc::new(Source { subagent: Some(id), call, ..main });
        let subagent = Subagent { source: source.clone(), prompt, held: Held::default() };
        push_bounded(&mut self.subagents, SUBAGENTS, subagent);
        Some(source)
    }

    pub(crate) fn has_subagent(&self, id: &str) -> bool {
        self.subagents.iter().any(|known| known.source.subagent.as_deref() == Some(id))
    }

    /// The call of the main agent that led to a subagent, perhaps by other subagents.
    pub(crate) fn root_call(&self, source: &Source) -> Option<String> {
        let mut call = source.call.as_ref()?;
        for _ in 0..SUBAGENTS {
            let caller = self.subagents.iter().map(|known| &known.source).find(|one| one.key() == call.from);
            match caller.and_then(|caller| caller.call.as_ref()) {
                Some(above) => call = above,
                None => break,
            }
        }
        Some(call.id.clone())
    }

    /// A session's main agent, if one of its lines was read.
    pub(super) fn main(&self, session: &str) -> Option<Arc<Source>> {
        let mut sessions = self.sessions.iter().rev().map(|known| &known.source);
        sessions.find(|source| source.session == session).cloned()
    }

    fn session_mut(&mut self, source: &Source) -> Option<&mut SessionState> {
        self.sessions.iter_mut().rev().find(|session| session.source.session == source.session)
    }

    pub(super) fn tasks(&mut self, source: &Source) -> Option<&mut Tasks> {
        self.session_mut(source).map(|session| &mut session.tasks)
    }

    /// Records whether the main agent used its own tasks or `todo_write`.
    pub(crate) fn use_own_tasks(&mut self, source: &Source, own: bool) {
        if let Some(session) = self.session_mut(source).filter(|_| source.subagent.is_none()) {
            session.uses_own_tasks = own;
        }
    }

    /// Whether the main agent used its own tasks later than `todo_write`.
    pub(crate) fn uses_own_tasks(&mut self, source: &Source) -> bool {
        self.session_mut(source).is_some_and(|session| session.uses_own_tasks)
    }

    /// Records a session's title; returns whether it replaces the previous one.
    pub(crate) fn set_title(&mut self, source: &Source, title: TitleSource) -> bool {
        let session = self.session_mut(source).filter(|_| source.subagent.is_none());
        let Some(session) = session else { return false };
        let is_better = session.title < title || session.title == title && title > TitleSource::Prompt;
        session.title = session.title.max(title);
        is_better
    }

    fn subagent_of(&mut self, line: &Raw<'_>) -> Option<String> {
        match (text(line, "agentId"), text(line, "uuid")) {
            ("", "") => None,
            ("", uuid) => Some(self.link(uuid, text(line, "parentUuid"))),
            (id, _) => Some(excerpt(id, 100)),
        }
    }

    /// Adds a line to the chain of the line that it follows; returns the id of the chain.
    fn link(&mut self, uuid: &str, parent: &str) -> String {
        let before = Some(parent).filter(|parent| !parent.is_empty());
        let known = before.and_then(|parent| self.lines.get(&fnv1a(parent.as_bytes())));
        let id = known.cloned().unwrap_or_else(|| excerpt(before.unwrap_or(uuid), 100));
        let hash = fnv1a(uuid.as_bytes());
        if self.lines.insert(hash, id.clone()).is_none()
            && let Some(oldest) = push_recent(&mut self.lines_by_age, hash)
        {
            self.lines.remove(&oldest);
        }
        id
    }

    /// Records a call that starts a subagent. The subagent's first line is the call's prompt.
    pub(super) fn start(&mut self, from: &Source, call: &str, input: &Raw<'_>) {
        let description = excerpt(text(input, "description"), 200);
        let call = SubagentCall { id: excerpt(call, 200), description, from: from.key() };
        push_recent(&mut self.calls, (prompt_hash(text(input, "prompt"), &from.session), call));
    }

    pub(crate) fn set_call(&mut self, subagent: &str, call: &str) {
        push_recent(&mut self.named, (excerpt(subagent, 100), call.to_owned()));
    }

    /// The call that started a subagent: that which the subagent's file names, or the one with its prompt.
    fn take_call(&mut self, subagent: &str, prompt: Option<u64>) -> Option<SubagentCall> {
        let named = self.named.iter().rev().find(|(named, _)| named == subagent);
        let named = named.and_then(|(_, id)| self.calls.iter().position(|(_, call)| call.id == *id));
        let place = named.or_else(|| self.calls.iter().position(|(known, _)| Some(*known) == prompt))?;
        self.calls.remove(place).map(|(_, call)| call)
    }

    /// The source of a subagent that is known. Until it has a list, its call is looked for: the subagent's
    /// file may be ahead of the main agent's.
    fn known(&mut self, place: usize, id: &str) -> Arc<Source> {
        let Subagent { source, prompt, held } = &self.subagents[place];
        if source.call.is_none() && !held.has_list {
            let prompt = *prompt;
            if let Some(call) = self.take_call(id, prompt) {
                let subagent = &mut self.subagents[place];
                subagent.source = Arc::new(Source { call: Some(call), ..Source::clone(&subagent.source) });
                subagent.held.events.iter_mut().for_each(|event| event.source = Arc::clone(&subagent.source));
            }
        }
        Arc::clone(&self.subagents[place].source)
    }

    /// Ends a subagent, given by its id or by that of the call that started it. Returns it if it has
    /// a list; otherwise drops its events.
    pub(crate) fn end_subagent(&mut self, id: &str) -> Option<Arc<Source>> {
        let is_of = |subagent: &&mut Subagent| {
            let source = &subagent.source;
            source.subagent.as_deref() == Some(id) || source.call.as_ref().is_some_and(|call| call.id == id)
        };
        let subagent = self.subagents.iter_mut().rev().find(is_of)?;
        subagent.held.events.clear();
        subagent.held.has_list.then(|| subagent.source.clone())
    }

    /// Passes on a subagent's event if the subagent has a list; otherwise holds it until then.
    pub(super) fn hold(&mut self, event: Event, events: &mut Events) {
        let known = self.subagents.iter_mut().rev().find(|subagent| subagent.source == event.source);
        let Some(subagent) = known else { return };
        subagent.held.pass(event, events);
        let held: usize = self.subagents.iter().map(|subagent| subagent.held.events.len()).sum();
        if held > ENTRIES
            && let Some(oldest) = self.subagents.iter_mut().find(|subagent| !subagent.held.events.is_empty())
        {
            oldest.held.events.clear();
        }
    }
}

/// A hash of the beginning of a prompt. The rest may have been cut.
fn prompt_hash(prompt: &str, session: &str) -> u64 {
    let start: String = prompt.trim().chars().take(1_000).collect();
    fnv1a(format!("{session}\n{start}").as_bytes())
}
