//! Who speaks in a transcript: the sessions in it, and the subagents they sent out.
//!
//! Subagents are known by an id of their own where the version gives one, and by the chain of
//! their lines before that: each line names the one it answers, and the first one answers none.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::line::Line;
use super::tasks::Tasks;
use super::{Event, Events, What};
use crate::raw::Raw;
use crate::text::{excerpt, fnv1a};

/// Sessions, subagents, errands, lines of subagents and their events that are kept, at most.
const SESSIONS: usize = 64;
const AGENTS: usize = 256;
const ERRANDS: usize = 256;
const LINES: usize = 16_384;
const HELD: usize = 200;
const HELD_BY_ALL: usize = 4_000;

/// A session's agent, or a subagent of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speaker {
    /// The session's id.
    pub session: String,
    /// The subagent's id.
    pub agent: Option<String>,
    /// The folder at work.
    pub folder: String,
    /// What the subagent was sent out for, where that is known.
    pub errand: Option<Errand>,
}

/// A call that sent a subagent out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The id of the call.
    pub call: String,
    /// What it is about, in a few words.
    pub description: String,
    /// The key of the thread that sent it.
    pub from: String,
}

impl Speaker {
    /// The key of its thread.
    pub fn key(&self) -> String {
        match &self.agent {
            None => format!("claude:{}", self.session),
            Some(agent) => format!("claude:{}/{agent}", self.session),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Speakers {
    sessions: VecDeque<Session>,
    last: Option<Arc<Speaker>>,
    agents: VecDeque<Agent>,
    errands: VecDeque<(u64, Errand)>,
    /// Events that are held, of all subagents together.
    held: usize,
    /// The subagent of a line, by the hash of the line's name; and the hashes by age.
    lines: HashMap<u64, String>,
    lines_by_age: VecDeque<u64>,
}

#[derive(Debug)]
struct Session {
    speaker: Arc<Speaker>,
    has_title: bool,
    tasks: Tasks,
}

#[derive(Debug)]
struct Agent {
    speaker: Arc<Speaker>,
    has_list: bool,
    /// What it did before it had a list; few subagents ever have one.
    held: VecDeque<Event>,
}

impl Speakers {
    /// The session whose main agent spoke last.
    pub fn last(&self) -> Option<&Arc<Speaker>> {
        self.last.as_ref()
    }

    /// Who speaks in this line; none where it does not say so.
    pub fn of(&mut self, line: &Line<'_>) -> Option<Arc<Speaker>> {
        let session = line.session_id.filter(|session| !session.is_empty())?;
        if line.is_sidechain != Some(true) {
            let known = self.main(session);
            let speaker = known.unwrap_or_else(|| {
                let folder = line.cwd.as_ref().map(|cwd| cwd.0.clone()).unwrap_or_default();
                self.begin(Speaker { session: session.to_owned(), folder, ..Speaker::default() })
            });
            self.last = Some(speaker.clone());
            return Some(speaker);
        }
        let id = self.agent_of(line)?;
        let known = self.agents.iter().rev().map(|agent| &agent.speaker);
        let mut known = known.filter(|speaker| speaker.agent.as_ref() == Some(&id));
        if let Some(speaker) = known.find(|speaker| speaker.session == session) {
            return Some(speaker.clone());
        }
        let errand = self.errand_of(line, session);
        let folder = match self.main(session) {
            Some(main) => main.folder.clone(),
            None => line.cwd.as_ref().map(|cwd| cwd.0.clone()).unwrap_or_default(),
        };
        let speaker = Arc::new(Speaker { session: session.to_owned(), agent: Some(id), folder, errand });
        push(
            &mut self.agents,
            AGENTS,
            Agent { speaker: speaker.clone(), has_list: false, held: VecDeque::new() },
        );
        Some(speaker)
    }

    fn begin(&mut self, speaker: Speaker) -> Arc<Speaker> {
        let speaker = Arc::new(speaker);
        let session = Session { speaker: speaker.clone(), has_title: false, tasks: Tasks::default() };
        push(&mut self.sessions, SESSIONS, session);
        speaker
    }

    /// The main agent of a session that has spoken.
    pub fn main(&self, session: &str) -> Option<Arc<Speaker>> {
        let mut sessions = self.sessions.iter().rev().map(|known| &known.speaker);
        sessions.find(|speaker| speaker.session == session).cloned()
    }

    fn session_mut(&mut self, speaker: &Speaker) -> Option<&mut Session> {
        self.sessions.iter_mut().rev().find(|session| session.speaker.session == speaker.session)
    }

    /// The tasks of the speaker's session.
    pub fn tasks(&mut self, speaker: &Speaker) -> Option<&mut Tasks> {
        self.session_mut(speaker).map(|session| &mut session.tasks)
    }

    /// Whether there is a session, and each was asked for something.
    pub fn have_titles(&self) -> bool {
        !self.sessions.is_empty() && self.sessions.iter().all(|session| session.has_title)
    }

    /// Whether this is the first thing that a person asked of a main agent.
    pub fn entitle(&mut self, speaker: &Speaker) -> bool {
        let session = self.session_mut(speaker).filter(|_| speaker.agent.is_none());
        session.is_some_and(|session| !std::mem::replace(&mut session.has_title, true))
    }

    fn agent_of(&mut self, line: &Line<'_>) -> Option<String> {
        if let Some(id) = line.agent_id.filter(|id| !id.is_empty()) {
            return Some(excerpt(id, 100));
        }
        Some(self.link(line.uuid?, line.parent_uuid))
    }

    /// Adds a line to the chain of the one it answers, and returns the id of the chain.
    pub fn link(&mut self, uuid: &str, parent: Option<&str>) -> String {
        let before = parent.filter(|parent| !parent.is_empty());
        let known = before.and_then(|parent| self.lines.get(&fnv1a(parent.as_bytes())));
        let id = known.cloned().unwrap_or_else(|| excerpt(before.unwrap_or(uuid), 100));
        let hash = fnv1a(uuid.as_bytes());
        if self.lines.insert(hash, id.clone()).is_none() {
            self.lines_by_age.push_back(hash);
        }
        if self.lines_by_age.len() > LINES
            && let Some(oldest) = self.lines_by_age.pop_front()
        {
            self.lines.remove(&oldest);
        }
        id
    }

    /// Notes that a call sends a subagent out, so that its first line tells which call it was.
    pub fn send_out(&mut self, from: &Speaker, call: &str, input: &Raw<'_>) {
        let text = |key: &str| match input.get(key) {
            Some(Raw::Text(text)) => text.as_ref(),
            _ => "",
        };
        let errand = Errand {
            call: excerpt(call, 200),
            description: excerpt(text("description"), 200),
            from: from.key(),
        };
        push(&mut self.errands, ERRANDS, (mark(text("prompt"), &from.session), errand));
    }

    /// The errand of the subagent whose first line this is: that line is the call's prompt.
    fn errand_of(&mut self, line: &Line<'_>, session: &str) -> Option<Errand> {
        let first = line.message.as_ref()?.content.0.iter().find_map(|block| block.text.as_ref())?;
        let mark = mark(&first.0, session);
        let place = self.errands.iter().position(|(known, _)| *known == mark)?;
        self.errands.remove(place).map(|(_, errand)| errand)
    }

    /// The subagent that a call sent out, now that it has come back, where it keeps a list. Where
    /// it keeps none, what it did is let go.
    pub fn come_back(&mut self, call: &str) -> Option<Arc<Speaker>> {
        let is_sent_by =
            |agent: &&mut Agent| agent.speaker.errand.as_ref().is_some_and(|errand| errand.call == call);
        let agent = self.agents.iter_mut().rev().find(is_sent_by)?;
        self.held -= std::mem::take(&mut agent.held).len();
        agent.has_list.then(|| agent.speaker.clone())
    }

    /// Passes a subagent's event on once it keeps a list, and holds it until then.
    pub fn hold(&mut self, event: Event, events: &mut Events) {
        let known = self.agents.iter_mut().rev().find(|agent| agent.speaker == event.speaker);
        let Some(agent) = known else { return };
        if agent.has_list {
            return events.push(event);
        }
        if matches!(event.what, What::List(_)) {
            agent.has_list = true;
            let held = std::mem::take(&mut agent.held);
            self.held -= held.len();
            let speaker = agent.speaker.clone();
            if let Some(errand) = &agent.speaker.errand {
                let what = What::Title(errand.description.clone());
                events.push(Event { speaker, uuid: String::new(), time: event.time, what });
            }
            held.into_iter().for_each(|event| events.push(event));
            return events.push(event);
        }
        self.held += 1;
        if agent.held.len() == HELD {
            agent.held.pop_front();
            self.held -= 1;
        }
        agent.held.push_back(event);
        if self.held > HELD_BY_ALL
            && let Some(oldest) = self.agents.iter_mut().find(|agent| !agent.held.is_empty())
        {
            self.held -= std::mem::take(&mut oldest.held).len();
        }
    }
}

/// What tells a prompt from others. Only its beginning counts: the rest may have been cut.
fn mark(prompt: &str, session: &str) -> u64 {
    let start: String = prompt.trim().chars().take(1_000).collect();
    fnv1a(format!("{session}\n{start}").as_bytes())
}

/// Adds to a queue that keeps the newest.
fn push<T>(queue: &mut VecDeque<T>, most: usize, new: T) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(new);
}
