//! Questions of Codex, answered while its own dialog stands.
//!
//! The terminal interface of Codex starts a daemon, whose socket takes several clients. A thread of the hub
//! is one of them for each folder of Codex. Without joining any session it is told which sessions wait for
//! the user. While one does, a connection of its own joins that session, is told the open request, and closes
//! when the session no longer waits. The request goes to the door as that of a hook does, and the user's
//! answer back to the daemon. The first answer counts; the daemon says when another client has answered.
//!
//! Nothing here answers by itself, begins a daemon, or changes a session. What a request asks is passed on
//! only if its shape is known and nothing is hidden; else the user is told to answer in the terminal.

mod client;
mod guest;
mod place;
mod question;

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::bound::is_id;
use super::door::{Entrance, QUESTIONS};
use super::quiet::{self, Waker, Wakes};
use crate::protocol::Answer;
use client::{Client, Over, RequestId, Said};
use guest::{Guest, Outcome};
use question::{Change, Question};

/// The time between two looks for a daemon.
const LOOK: Duration = Duration::from_secs(2);
/// How long a daemon is left alone that does not keep to the protocol, or sends too much.
const PAUSE: Duration = Duration::from_secs(60);
/// Maximum number of sessions whose state is asked for on connecting.
const SESSIONS: usize = 200;
/// Maximum number of open requests of a session.
const REQUESTS: usize = 8;
/// Maximum number of questions of a daemon in each such time.
const ASKED: usize = 120;
const WHILE: Duration = Duration::from_secs(60);
/// Maximum number of sessions that wait.
const KNOWN: usize = 1_000;
/// Maximum size in bytes of a request.
const LARGEST: usize = 1 << 20;

/// What the user is told of a request that is too large.
const TOO_LARGE: &str = "Codex asks in its terminal about something that is too large to be shown";

/// A thread that watches the daemon of a folder of Codex. It ends with the door.
#[derive(Debug)]
pub(super) struct Codex {
    waker: Waker,
}

impl Codex {
    /// Starts the thread; `None` if this system gives none.
    pub(super) fn start(folder: &Path, entrance: Entrance) -> Option<Codex> {
        let (waker, wakes) = quiet::waker().ok()?;
        let mut server =
            Server { folder: folder.to_owned(), entrance, wakes, watch: None, retry: Instant::now() };
        let work = move || {
            // Without it, questions are answered in the terminal.
            let _ = catch_unwind(AssertUnwindSafe(move || server.run()));
        };
        thread::Builder::new().name("todo-write-codex".into()).spawn(work).ok()?;
        Some(Codex { waker })
    }
}

impl Drop for Codex {
    fn drop(&mut self) {
        self.waker.wake();
    }
}

struct Server {
    folder: PathBuf,
    entrance: Entrance,
    wakes: Wakes,
    watch: Option<Watch>,
    /// When a daemon is looked for next.
    retry: Instant,
}

/// The connection that is told which sessions wait, and those sessions.
struct Watch {
    client: Client,
    calls: HashMap<u64, Call>,
    waiting: BTreeMap<String, Session>,
    /// When the next of them is joined.
    join: Instant,
    /// The number of sessions that were joined, and of questions, since that time.
    count: usize,
    since: Instant,
}

/// What a call asked for.
enum Call {
    Initialize,
    Sessions,
    State,
}

/// A session that waits for the user.
struct Session {
    /// The connection that joins it, until that is lost.
    client: Option<Client>,
    is_begun: bool,
    calls: HashMap<u64, Join>,
    facts: Option<Facts>,
    requests: Vec<Request>,
    /// When it is said that the terminal must answer, unless a request comes before.
    patience: Instant,
}

/// What a call of a connection that joins asked for.
enum Join {
    Initialize,
    Resume,
    /// The history, which has the changes that a request is about.
    History(RequestId),
}

/// What is known of a session.
#[derive(Default)]
struct Facts {
    /// The session that the user knows: for a subagent that of the main agent.
    session: String,
    folder: Option<String>,
    /// The id and name of the subagent that it is.
    subagent: Option<(String, String)>,
}

/// A request of the daemon.
#[derive(Default)]
struct Request {
    /// Absent for one that is not known.
    id: Option<RequestId>,
    params: Map<String, Value>,
    /// What it asks, once that is known.
    question: Option<Question>,
    /// The question to the user, while it is open.
    guest: Option<Guest>,
    was_asked: bool,
    /// When the daemon was given the answer.
    answered: Option<Instant>,
}

#[derive(Deserialize)]
struct Loaded {
    data: Vec<String>,
}

#[derive(Deserialize)]
struct Read<T> {
    thread: T,
}

#[derive(Deserialize)]
struct State {
    id: String,
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    r#type: String,
    #[serde(default)]
    active_flags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    thread_id: String,
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resolved {
    thread_id: String,
    request_id: RequestId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    thread_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Joined {
    id: String,
    session_id: String,
    parent_thread_id: Option<String>,
    agent_nickname: Option<String>,
    cwd: String,
}

#[derive(Deserialize)]
struct History {
    turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    id: String,
    r#type: String,
    #[serde(default)]
    changes: Option<Vec<Change>>,
}

impl Status {
    fn waits(&self) -> bool {
        self.r#type == "active"
            && self
                .active_flags
                .iter()
                .any(|flag| flag == "waitingOnApproval" || flag == "waitingOnUserInput")
    }
}

/// Parses a value of the daemon, which must have that shape.
fn parse<'v, T: Deserialize<'v>>(value: &'v RawValue) -> Result<T, Over> {
    serde_json::from_str(value.get()).map_err(|_| Over::Wrong)
}

impl Server {
    fn run(&mut self) {
        while !self.entrance.is_closed() {
            if !self.entrance.is_open() {
                self.end(Instant::now());
            } else if self.watch.is_none() && Instant::now() >= self.retry {
                match Watch::begin(&self.folder, &self.entrance) {
                    Ok(watch) => self.watch = Some(watch),
                    Err(over) => self.retry = later(over),
                }
            }
            self.wait();
            self.wakes.take();
            if let Some(watch) = &mut self.watch
                && let Err(over) = watch.advance(&self.folder, &self.entrance)
            {
                self.end(later(over));
            }
        }
    }

    /// Ends the connection, with which the questions are withdrawn.
    fn end(&mut self, retry: Instant) {
        if self.watch.take().is_some() {
            self.retry = retry;
        }
    }

    /// Waits until something can be read or written, or for a while.
    fn wait(&self) {
        let mut fds = vec![PollFd::new(&self.wakes, PollFlags::IN)];
        let mut has_more = false;
        let mut end = LOOK;
        if let Some(watch) = &self.watch {
            fds.push(PollFd::new(&watch.client, PollFlags::IN));
            if let Some(time) = watch.next_join() {
                end = end.min(time.saturating_duration_since(Instant::now()));
            }
            has_more |= watch.client.has_more;
            for session in watch.waiting.values() {
                if session.is_begun && session.is_awaited() {
                    end = end.min(session.patience.saturating_duration_since(Instant::now()));
                }
                for time in session.requests.iter().filter_map(|request| request.answered) {
                    end = end.min(self.entrance.settings.answering.saturating_sub(time.elapsed()));
                }
                if let Some(client) = &session.client {
                    fds.push(PollFd::new(client, PollFlags::IN));
                    has_more |= client.has_more;
                }
                fds.extend(
                    session.requests.iter().filter_map(|request| request.guest.as_ref()).map(Guest::poll),
                );
            }
        }
        let end = if has_more { Duration::ZERO } else { end + Duration::from_millis(1) };
        if let Ok(timeout) = Timespec::try_from(end) {
            // After an error, all is looked at.
            let _ = poll(&mut fds, Some(&timeout));
        }
    }
}

fn later(over: Over) -> Instant {
    Instant::now() + if over == Over::Wrong { PAUSE } else { LOOK }
}

impl Watch {
    fn begin(folder: &Path, entrance: &Entrance) -> Result<Watch, Over> {
        let client = Client::connect(folder, &entrance.settings.welcome.version, entrance.settings.joining)?;
        let calls = HashMap::from([(1, Call::Initialize)]);
        Ok(Watch {
            client,
            calls,
            waiting: BTreeMap::new(),
            join: Instant::now(),
            count: 0,
            since: Instant::now(),
        })
    }

    /// Does what can be done.
    fn advance(&mut self, folder: &Path, entrance: &Entrance) -> Result<(), Over> {
        self.client.flush()?;
        for said in self.client.take()? {
            match said {
                Said::Result(call, result) => {
                    if let Some(call) = self.calls.remove(&call) {
                        self.take(call, result)?;
                    }
                }
                Said::Note(method, params) => self.note(&method, &params)?,
                // Those of subagents; a connection that has joined is told them, too.
                Said::Request(..) => {}
            }
        }
        // A daemon that does not take a connection keeps all of them waiting, so each time only one is made.
        if self.next_join().is_some_and(|time| time <= Instant::now())
            && let Some(session) = self.waiting.values_mut().find(|session| !session.is_begun)
        {
            self.count += 1;
            if !session.begin(folder, entrance) {
                self.join = Instant::now() + LOOK;
            }
        }
        for (id, session) in self.waiting.iter_mut().filter(|(_, session)| session.is_begun) {
            self.count += session.advance(id, entrance);
        }
        if self.since.elapsed() >= WHILE {
            (self.count, self.since) = (0, Instant::now());
        }
        if self.count > ASKED { Err(Over::Wrong) } else { Ok(()) }
    }

    /// When a further session is joined, if one waits and there is room for it.
    fn next_join(&self) -> Option<Instant> {
        let begun = self.waiting.values().filter(|session| session.is_begun).count();
        (begun < self.waiting.len() && begun < QUESTIONS).then_some(self.join)
    }

    fn take(&mut self, call: Call, result: Option<Box<RawValue>>) -> Result<(), Over> {
        match call {
            Call::Initialize => {
                result.ok_or(Over::Wrong)?;
                self.client.initialized()?;
                let call = self.client.call("thread/loaded/list", json!({}))?;
                self.calls.insert(call, Call::Sessions);
            }
            Call::Sessions => {
                let Loaded { data } = parse(&result.ok_or(Over::Wrong)?)?;
                for id in data.iter().filter(|id| is_id(id)).take(SESSIONS) {
                    let params = json!({"threadId": id, "includeTurns": false});
                    let call = self.client.call("thread/read", params)?;
                    self.calls.insert(call, Call::State);
                }
            }
            // It may have ended since.
            Call::State => {
                if let Some(result) = result {
                    let Read { thread: State { id, status } } = parse(&result)?;
                    self.set(id, &status);
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, method: &str, params: &RawValue) -> Result<(), Over> {
        match method {
            "thread/status/changed" => {
                let Changed { thread_id, status } = parse(params)?;
                self.set(thread_id, &status);
            }
            "thread/closed" => {
                let About { thread_id } = parse(params)?;
                self.waiting.remove(&thread_id);
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes the state of a session. The threads by which Codex finds titles never wait.
    fn set(&mut self, id: String, status: &Status) {
        if !status.waits() {
            self.waiting.remove(&id);
        } else if is_id(&id) && self.waiting.len() < KNOWN && !self.waiting.contains_key(&id) {
            self.waiting.insert(id, Session::new());
        }
    }
}

impl Session {
    fn new() -> Session {
        Session {
            client: None,
            is_begun: false,
            calls: HashMap::new(),
            facts: None,
            requests: Vec::new(),
            patience: Instant::now(),
        }
    }

    /// Whether the session is said to wait, and what for is not known yet.
    fn is_awaited(&self) -> bool {
        self.requests.is_empty()
    }

    /// Makes the connection; returns whether that succeeded.
    fn begin(&mut self, folder: &Path, entrance: &Entrance) -> bool {
        self.is_begun = true;
        self.calls.insert(1, Join::Initialize);
        self.client =
            Client::connect(folder, &entrance.settings.welcome.version, entrance.settings.joining).ok();
        self.patience = Instant::now() + entrance.settings.joining;
        self.client.is_some()
    }

    /// Does what can be done for the session of this id; returns the number of new questions. A connection that
    /// fails is given up: then the terminal must answer.
    fn advance(&mut self, id: &str, entrance: &Entrance) -> usize {
        let is_late = Instant::now() >= self.patience;
        if let Some(mut client) = self.client.take()
            && self.read(&mut client, id, entrance.settings.joining).is_ok()
            && (self.facts.is_some() || !is_late)
        {
            self.client = Some(client);
        } else {
            // Without the connection, no answer can be given.
            self.requests.retain(|request| request.id.is_none());
        }
        if self.is_awaited() && (self.client.is_none() || is_late) {
            self.requests.push(Request::elsewhere("Codex waits for an answer in its terminal"));
        }
        let unknown = Facts { session: id.to_owned(), ..Facts::default() };
        let facts = match &self.facts {
            Some(facts) => facts,
            None if self.client.is_some() => return 0,
            None => &unknown,
        };
        let mut client = self.client.as_mut();
        let ask = |request: &mut Request| request.advance(facts, client.as_deref_mut(), entrance);
        self.requests.iter_mut().map(ask).filter(|is_new| *is_new).count()
    }

    fn read(&mut self, client: &mut Client, id: &str, joining: Duration) -> Result<(), Over> {
        client.flush()?;
        for said in client.take()? {
            match said {
                Said::Result(call, result) => {
                    if let Some(call) = self.calls.remove(&call) {
                        self.take(client, id, call, result, joining)?;
                    }
                }
                Said::Request(request, method, params) => self.add(client, id, request, &method, &params)?,
                Said::Note(method, params) if method == "serverRequest/resolved" => {
                    let Resolved { thread_id, request_id } = parse(&params)?;
                    if thread_id == id {
                        // The next one may follow.
                        self.patience = Instant::now() + joining;
                        self.requests.retain(|known| known.id.as_ref() != Some(&request_id));
                    }
                }
                Said::Note(..) => {}
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        client: &mut Client,
        id: &str,
        call: Join,
        result: Option<Box<RawValue>>,
        joining: Duration,
    ) -> Result<(), Over> {
        match call {
            Join::Initialize => {
                result.ok_or(Over::Wrong)?;
                client.initialized()?;
                let call = client.call("thread/resume", json!({"threadId": id, "excludeTurns": true}))?;
                self.calls.insert(call, Join::Resume);
            }
            Join::Resume => {
                let Read { thread: joined } = parse::<Read<Joined>>(&result.ok_or(Over::Wrong)?)?;
                if joined.id != id {
                    return Err(Over::Wrong);
                }
                self.patience = Instant::now() + joining;
                self.facts = Some(Facts::of(joined));
            }
            Join::History(request) => {
                let Some(known) = self.requests.iter_mut().find(|known| known.id.as_ref() == Some(&request))
                else {
                    return Ok(());
                };
                let Read { thread: History { turns } } = parse(&result.ok_or(Over::Wrong)?)?;
                let item = known.params.get("itemId").and_then(Value::as_str);
                let is_it = |one: &&Item| one.r#type == "fileChange" && Some(one.id.as_str()) == item;
                let changes = turns.iter().rev().flat_map(|turn| turn.items.iter().rev()).find(is_it);
                let changes = changes.and_then(|item| item.changes.as_deref()).unwrap_or_default();
                let question = Question::of_change(&known.params, changes);
                known.params.clear();
                known.question = Some(question.unwrap_or_else(|| {
                    Question::elsewhere("Codex asks in its terminal whether it may change files")
                }));
            }
        }
        Ok(())
    }

    /// Adds a request of the daemon, unless it is of another session.
    fn add(
        &mut self,
        client: &mut Client,
        id: &str,
        request: RequestId,
        method: &str,
        params: &RawValue,
    ) -> Result<(), Over> {
        let Ok(About { thread_id }) = parse(params) else { return Ok(()) };
        let is_known = self.requests.iter().any(|known| known.id.as_ref() == Some(&request));
        if thread_id != id || is_known || self.requests.len() >= REQUESTS {
            return Ok(());
        }
        let is_too_large = params.get().len() > LARGEST;
        let Some(params) = (if is_too_large { Some(Map::new()) } else { parse(params).ok() }) else {
            return Ok(());
        };
        let question = match method {
            _ if is_too_large => Some(Question::elsewhere(TOO_LARGE)),
            question::COMMAND => Question::of_command(&params),
            question::QUESTIONS => Question::of_questions(&params),
            question::CHANGE => {
                let call = client.call("thread/resume", json!({"threadId": id, "excludeTurns": false}))?;
                self.calls.insert(call, Join::History(request.clone()));
                None
            }
            _ => None,
        };
        let is_due = method == question::CHANGE;
        let question = question
            .or_else(|| (!is_due).then(|| Question::elsewhere("Codex asks something in its terminal")));
        let params = if question.is_none() { params } else { Map::new() };
        // What was said for want of a request is no longer true.
        self.requests.retain(|known| known.id.is_some());
        self.requests.push(Request { id: Some(request), params, question, ..Request::default() });
        Ok(())
    }
}

impl Facts {
    fn of(joined: Joined) -> Facts {
        let Joined { id, session_id, parent_thread_id, agent_nickname, cwd } = joined;
        let is_subagent = parent_thread_id.is_some() && is_id(&session_id);
        Facts {
            session: if is_subagent { session_id } else { id.clone() },
            folder: Some(cwd),
            subagent: is_subagent.then(|| (id, agent_nickname.unwrap_or_default())),
        }
    }
}

impl Request {
    fn elsewhere(what: &str) -> Request {
        Request { question: Some(Question::elsewhere(what)), ..Request::default() }
    }

    /// Asks the user, once, and passes the answer on. Returns whether the question is new.
    fn advance(&mut self, facts: &Facts, client: Option<&mut Client>, entrance: &Entrance) -> bool {
        if self.answered.is_some_and(|time| time.elapsed() >= entrance.settings.answering) {
            self.answered = None;
            self.was_asked = false;
            self.question =
                Some(Question::elsewhere("Codex did not take the answer; give it in its terminal"));
        }
        let Some(question) = &mut self.question else { return false };
        let is_new = !self.was_asked;
        if is_new {
            self.was_asked = true;
            let subagent = facts.subagent.as_ref();
            let arguments = question.arguments(subagent).or_else(|| {
                *question = Question::elsewhere(TOO_LARGE);
                question.arguments(subagent)
            });
            self.guest = arguments.and_then(|arguments| {
                Guest::ask(entrance, &facts.session, facts.folder.as_deref(), arguments)
            });
        }
        let Some(guest) = &mut self.guest else { return is_new };
        guest.flush();
        let outcome = guest.read();
        if let Outcome::Answered(Answer { ok: true, decision: Some(decision), .. }) = &outcome
            && let (Some(client), Some(id)) = (client, &self.id)
            && let Some(result) = question.result(decision)
            // One that fails is noticed by reading.
            && client.answer(id, result).is_ok()
        {
            self.answered = Some(Instant::now());
        }
        if !matches!(outcome, Outcome::Open) {
            self.guest = None;
        }
        is_new
    }
}
