//! The transcripts that Claude Code keeps of its sessions, as plain data: lines in, events out.
//!
//! A session is a file of JSON lines. A call of a tool is a line of the assistant, its answer a
//! line of the user. What counts here: `TodoWrite`, which passes a whole list; `TaskCreate` and
//! `TaskUpdate` of later versions, which build one; thoughts; every call and its answer; and the
//! tools that send a subagent out, whose lines are marked as a side chain.
//!
//! - A call takes effect when its answer comes, which is within milliseconds; where the answer
//!   is an error it takes none. Hooks of the user may delay the answer or refuse the call, so
//!   no clock decides: without an answer, the call takes effect when the same agent says
//!   something new, since it would not without an answer.
//! - A line that is not what we know is skipped. Everything kept here is bounded, whatever the
//!   file holds.
//!
//! [`tail`] reads files, [`line`] one line, [`tasks`] folds task calls; [`follower`] puts these
//! together for a session, and [`record`] brings events into the store.

pub mod follower;
pub mod line;
pub mod record;
pub mod skim;
mod speakers;
pub mod tail;
pub mod tasks;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::clock::Millis;
use crate::input::{self, Options, Plan, Problem, SeveralInProgress};
use crate::raw::Raw;
use crate::text::excerpt;
use line::{Block, Line};
use skim::Skim;
use speakers::Speakers;
pub use speakers::{Errand, Speaker};
use tasks::Says;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Whose it is.
    pub speaker: Arc<Speaker>,
    /// Names the line it comes from; empty where the line has no name.
    pub uuid: String,
    /// When the line says it happened.
    pub time: Option<Millis>,
    /// What it was.
    pub what: What,
}

/// See [`Event::what`].
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Fields as in the transcript.
pub enum What {
    /// What the session is called.
    Title(String),
    /// What a person asked for.
    Intent(String),
    /// A block of thoughts.
    Thoughts(String),
    /// A tool was called; the arguments are JSON, shortened, and absent where they are a list.
    Call { id: String, name: String, input: Option<String> },
    /// It answered.
    Answer { id: String, name: String, content: String, is_error: bool, duration: Option<Millis> },
    /// The whole list is this now, or was more than we take.
    List(Result<Plan<'static>, Vec<Problem>>),
    /// A person stopped the agent.
    Interrupted,
    /// A subagent has come back.
    Ended,
}

/// Calls of either kind that wait for their answer, at most.
const WAITING: usize = 512;

/// What is known of the sessions in a file and of their subagents.
#[derive(Debug)]
pub struct Transcript {
    options: Options,
    speakers: Speakers,
    /// Calls that wait for their answer and will change a list.
    lists: VecDeque<Waiting>,
    /// Those that will not.
    others: VecDeque<Waiting>,
    /// Calls whose subagents have come back.
    ended: VecDeque<String>,
    events: Events,
}

/// A call without an answer.
#[derive(Debug)]
struct Waiting {
    id: String,
    name: String,
    speaker: Arc<Speaker>,
    /// The message of the model that it is part of.
    message: String,
    time: Option<Millis>,
    asks: Asks,
}

/// What a call will do.
#[derive(Debug)]
enum Asks {
    List(Result<Plan<'static>, Vec<Problem>>),
    Create(Says),
    Update(Says),
    Agent,
    Other,
}

/// Where a line comes from; part of each of its events.
struct Place<'l> {
    speaker: Arc<Speaker>,
    uuid: &'l str,
    time: Option<Millis>,
}

impl Transcript {
    /// Nothing read yet. The user's limits apply; what a model may be taught to do better is
    /// taken as it is, since nobody here can tell it. The newest `history` events are kept
    /// until they are taken.
    pub fn new(options: Options, history: usize) -> Transcript {
        let options = Options { strict: false, several_in_progress: SeveralInProgress::Allow, ..options };
        Transcript {
            options,
            speakers: Speakers::default(),
            lists: VecDeque::new(),
            others: VecDeque::new(),
            ended: VecDeque::new(),
            events: Events { limit: history.max(1), ..Events::default() },
        }
    }

    /// The session that the last line of a main agent belongs to.
    pub fn session(&self) -> Option<&Arc<Speaker>> {
        self.speakers.last()
    }

    /// The events since the last time, oldest first.
    ///
    /// The ends of subagents come last: the file of a subagent is read after the one that tells
    /// of its end.
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut events = self.events.take();
        for call in std::mem::take(&mut self.ended) {
            if let Some(speaker) = self.speakers.come_back(&call) {
                events.push(Event { speaker, uuid: String::new(), time: None, what: What::Ended });
            }
        }
        events
    }

    /// Takes one line in, without its line feed.
    pub fn line(&mut self, bytes: &[u8]) {
        let Some(line) = Line::parse(bytes) else { return };
        let time = line.timestamp.and_then(line::millis);
        let uuid = line.uuid.unwrap_or_default();
        if let Some(title) = line.custom_title.as_ref().or(line.ai_title.as_ref())
            && let Some(speaker) = line.session_id.and_then(|session| self.speakers.main(session))
        {
            self.tell(&Place { speaker, uuid, time }, What::Title(excerpt(&title.0, 100)));
        }
        let by_person = match line.kind {
            Some("user") => true,
            Some("assistant") => false,
            _ => return,
        };
        let Some(speaker) = self.speakers.of(&line) else { return };
        let place = Place { speaker, uuid, time };
        let Some(message) = line.message else { return };
        if by_person {
            let is_prompt = line.is_meta != Some(true) && line.is_compact_summary != Some(true);
            message.content.0.into_iter().for_each(|block| self.user_block(&place, block, is_prompt));
        } else {
            let id = message.id.unwrap_or_default();
            self.settle_before(&place, id);
            message.content.0.into_iter().for_each(|block| self.assistant_block(&place, id, block));
        }
    }

    /// Takes a line of long ago in: lists come out as from [`Transcript::line`], but nothing that
    /// happened besides.
    pub fn skim(&mut self, bytes: &[u8]) {
        // An answer, or the first prompt, can be any line.
        if !self.lists.is_empty() || !self.speakers.have_titles() {
            return self.line(bytes);
        }
        match skim::skim(bytes) {
            Skim::Parse => self.line(bytes),
            Skim::Link { uuid, parent } => drop(self.speakers.link(uuid, Some(parent))),
            Skim::Nothing => {}
        }
    }

    fn tell(&mut self, place: &Place<'_>, what: What) {
        let event =
            Event { speaker: place.speaker.clone(), uuid: place.uuid.to_owned(), time: place.time, what };
        match event.speaker.agent {
            None => self.events.push(event),
            Some(_) => self.speakers.hold(event, &mut self.events),
        }
    }

    fn user_block(&mut self, place: &Place<'_>, block: Block<'_>, is_prompt: bool) {
        match (block.kind, block.tool_use_id, block.text) {
            (Some("tool_result"), Some(id), _) => {
                let content = block.content.map(|content| content.0).unwrap_or_default();
                self.answer(place, id, content, block.is_error == Some(true));
            }
            (Some("text"), _, Some(text)) if text.0.starts_with("[Request interrupted by user") => {
                self.tell(place, What::Interrupted);
            }
            (Some("text"), _, Some(text)) if is_prompt => {
                if let Some(prompt) = prompt(&text.0) {
                    if self.speakers.entitle(&place.speaker) {
                        self.tell(place, What::Title(excerpt(&prompt, 80)));
                    }
                    self.tell(place, What::Intent(prompt));
                }
            }
            _ => {}
        }
    }

    fn assistant_block(&mut self, place: &Place<'_>, message: &str, block: Block<'_>) {
        match (block.kind, block.id, block.name) {
            (Some("thinking"), ..) => {
                let text = block.thinking.map(|thinking| thinking.0).unwrap_or_default();
                if !text.trim().is_empty() {
                    self.tell(place, What::Thoughts(text));
                }
            }
            (Some("tool_use"), Some(id), Some(name)) => {
                let input = block.input.unwrap_or(Raw::Null);
                self.call(place, message, (id, name), &input);
            }
            _ => {}
        }
    }

    fn call(&mut self, place: &Place<'_>, message: &str, (id, name): (&str, &str), input: &Raw<'_>) {
        let asks = match name {
            "TodoWrite" => Asks::List(input::read(input, &self.options).map(Plan::into_owned)),
            "TaskCreate" => Asks::Create(Says::read(input)),
            "TaskUpdate" => Asks::Update(Says::read(input)),
            "Task" | "Agent" => {
                self.speakers.send_out(&place.speaker, id, input);
                Asks::Agent
            }
            _ => Asks::Other,
        };
        let (id, name) = (excerpt(id, 200), excerpt(name, 200));
        let text = (!matches!(asks, Asks::List(_))).then(|| line::shortened(input).to_string());
        self.tell(place, What::Call { id: id.clone(), name: name.clone(), input: text });
        let (speaker, time) = (place.speaker.clone(), place.time);
        let queue = match asks {
            Asks::Agent | Asks::Other => &mut self.others,
            _ => &mut self.lists,
        };
        if queue.len() == WAITING {
            queue.pop_front();
        }
        queue.push_back(Waiting { id, name, speaker, message: message.to_owned(), time, asks });
    }

    fn answer(&mut self, place: &Place<'_>, id: &str, content: String, is_error: bool) {
        let call = [&mut self.lists, &mut self.others]
            .into_iter()
            .find_map(|queue| queue.remove(queue.iter().rposition(|call| call.id == id)?));
        let (name, time) = call.as_ref().map_or((String::new(), None), |call| (call.name.clone(), call.time));
        match call.map(|call| call.asks) {
            // A subagent in the background has only begun.
            Some(Asks::Agent) if is_error || !content.starts_with("Async agent launched") => {
                if self.ended.len() == WAITING {
                    self.ended.pop_front();
                }
                self.ended.push_back(id.to_owned());
            }
            Some(asks) if !is_error => self.settle(place, asks, &content),
            _ => {}
        }
        let duration = place.time.zip(time).map(|(end, start)| end.saturating_sub(start));
        let id = excerpt(id, 200);
        self.tell(place, What::Answer { id, name, content, is_error, duration });
    }

    /// Lets take effect what a call asked for.
    fn settle(&mut self, place: &Place<'_>, asks: Asks, answer: &str) {
        let list = match asks {
            Asks::List(list) => return self.tell(place, What::List(list)),
            Asks::Create(says) => self.speakers.tasks(&place.speaker).map(|tasks| tasks.create(says, answer)),
            Asks::Update(says) => self.speakers.tasks(&place.speaker).map(|tasks| tasks.update(says)),
            Asks::Agent | Asks::Other => None,
        };
        // Subagents work on the tasks of their session: there is one list for all of them.
        if list.is_some()
            && let Some(speaker) = self.speakers.main(&place.speaker.session)
            && let Some(tasks) = self.speakers.tasks(&speaker)
        {
            let list = tasks.plan(&self.options);
            self.tell(&Place { speaker, ..*place }, What::List(list));
        }
    }

    /// Lets the calls of earlier messages take effect whose answer never came.
    fn settle_before(&mut self, place: &Place<'_>, message: &str) {
        if message.is_empty() {
            return;
        }
        let is_due = |call: &Waiting| call.speaker == place.speaker && call.message != message;
        while let Some(at) = self.lists.iter().position(is_due) {
            if let Some(call) = self.lists.remove(at) {
                self.settle(place, call.asks, "");
            }
        }
    }
}

/// What a person wrote, without the markup that Claude Code puts around its own commands; none
/// where nobody asked for anything.
fn prompt(text: &str) -> Option<String> {
    let inside = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
    };
    if let Some(command) = inside("command-name") {
        return Some(format!("{command} {}", inside("command-args").unwrap_or_default()).trim().to_owned());
    }
    let text = text.trim();
    let own = ["<local-command", "<bash-", "<system-reminder", "<task-notification", "Caveat: "];
    (!text.is_empty() && !own.iter().any(|start| text.starts_with(start))).then(|| text.to_owned())
}

/// The newest events. State comes first: of what has to go, the last list and the title of
/// each session stay.
#[derive(Debug, Default)]
struct Events {
    kept: VecDeque<Event>,
    limit: usize,
    aside: Vec<Event>,
}

impl Events {
    fn push(&mut self, event: Event) {
        self.kept.push_back(event);
        if self.kept.len() > self.limit
            && let Some(old) = self.kept.pop_front()
            && old.speaker.agent.is_none()
            && matches!(old.what, What::List(_) | What::Title(_))
        {
            let kind = std::mem::discriminant(&old.what);
            self.aside
                .retain(|other| other.speaker != old.speaker || std::mem::discriminant(&other.what) != kind);
            // A file with more sessions than this is no transcript.
            if self.aside.len() < 64 {
                self.aside.push(old);
            }
        }
    }

    fn take(&mut self) -> Vec<Event> {
        let aside = std::mem::take(&mut self.aside);
        aside.into_iter().chain(std::mem::take(&mut self.kept)).collect()
    }
}
