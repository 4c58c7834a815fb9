//! Questions of Codex, answered while its own dialog stands.
//!
//! The terminal interface of Codex starts a daemon, whose socket takes several clients. A thread of the hub
//! is one of them for each folder of Codex. Without joining any session, it is told which of them wait for
//! the user. It joins such a session, is told the open request, and leaves when the session no longer waits.
//! The request goes to the door as that of a hook does, and the user's answer back to the daemon. The first
//! answer counts; the daemon says when another client has answered.
//!
//! Nothing here answers by itself, begins a daemon, or changes a session. What a request asks is passed on
//! only if its shape is known and nothing is hidden; else the user is told to answer in the terminal.

mod client;
mod question;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Error;

use super::door::{Connected, Peers, QUESTIONS, QUESTIONS_OF_ONE};
use crate::field::is_id;
use crate::threads;
use client::{Client, Said};
use question::Question;
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::socket::{Answer, Call, Hello, PROTOCOL, Role};

/// How long a daemon may take to accept a connection, to send what a session waits for, and to say that a question is
/// answered.
pub const USUAL: Duration = Duration::from_secs(2);

/// The time between two looks for a daemon.
const LOOK: Duration = Duration::from_secs(2);
/// The time between two looks for an answer of the user, and whether a daemon that owes something is late.
const TICK: Duration = Duration::from_millis(50);

/// Starts a thread that watches the daemon of a folder of Codex until the door is closed.
pub(super) fn start(folder: PathBuf, door: Arc<Peers>, patience: Duration) {
    let work = move || {
        while door.wait_until_open() {
            // A daemon that ends, or says what is not known here, is answered in its terminal.
            let _ = watch(&folder, &door, patience);
            door.wait(LOOK);
        }
    };
    // Without the thread, all are.
    let _ = threads::start("codex", work);
}

/// A connection to the daemon, and the sessions that wait for the user.
struct Watch {
    patience: Duration,
    client: Client,
    /// The number of the last call.
    last: u64,
    /// The calls without a result, and of which sessions they are.
    calls: HashMap<u64, (Purpose, String)>,
    waiting: BTreeMap<String, Session>,
}

/// The user's answer to the request with that id of a session.
type Answered = (String, Value, Answer);

#[derive(Clone, Copy)]
enum Purpose {
    Initialize,
    Sessions,
    State,
    Join,
    /// The history has the changes that requests are about.
    History,
    Leave,
}

/// A session that waits for the user.
struct Session {
    /// The session of which the user knows: for a subagent, that of the main agent.
    main: String,
    folder: Option<String>,
    /// The id and name of the subagent that it is.
    subagent: Option<(String, String)>,
    joined: Joined,
    requests: Vec<Request>,
    /// When it is said that the terminal must answer, unless what is awaited comes before: a request, its history, or
    /// that it is answered.
    until: Instant,
}

#[derive(Clone, Copy, PartialEq)]
enum Joined {
    No,
    Asked,
    Yes,
    /// The daemon says what is not known here.
    Failed,
}

struct Request {
    /// Null for one that is not known.
    id: Value,
    question: Question,
    stage: Stage,
}

enum Stage {
    /// The history is awaited, for a request with these parameters.
    Unknown(Value),
    New,
    /// The user is asked. Dropping the call withdraws it.
    Asked {
        _call: Connected,
    },
    /// The daemon was given the answer.
    Answered,
    /// The terminal answers.
    Left,
}

/// Watches a daemon until the connection is over. Its questions are withdrawn then.
fn watch(folder: &Path, door: &Arc<Peers>, patience: Duration) -> Result<(), Error> {
    let (sender, answers) = mpsc::channel::<Answered>();
    let client = Client::connect(folder, patience)?;
    let (calls, waiting) = (HashMap::new(), BTreeMap::new());
    let mut watch = Watch { patience, client, last: 0, calls, waiting };
    let info = json!({
        "clientInfo": {"name": "todo-write", "title": "todo-write", "version": door.settings.welcome.version},
        "capabilities": {"experimentalApi": true},
    });
    watch.call(Purpose::Initialize, "", "initialize", info)?;
    while door.is_open() {
        if let Some(message) = watch.client.next(if watch.waiting.is_empty() { LOOK } else { TICK })? {
            watch.take(message)?;
        }
        for (session, id, answer) in answers.try_iter() {
            watch.pass(&session, &id, &answer)?;
        }
        watch.join()?;
        for (id, session) in &mut watch.waiting {
            session.advance(id, door, &sender);
        }
    }
    Ok(())
}

impl Watch {
    fn call(&mut self, purpose: Purpose, session: &str, method: &str, params: Value) -> Result<(), Error> {
        self.last += 1;
        self.calls.insert(self.last, (purpose, session.to_owned()));
        self.client.send(&json!({"id": self.last, "method": method, "params": params}))
    }

    fn resume(&mut self, purpose: Purpose, session: &str) -> Result<(), Error> {
        let params = json!({"threadId": session, "excludeTurns": matches!(purpose, Purpose::Join)});
        self.call(purpose, session, "thread/resume", params)
    }

    fn take(&mut self, Said { id, method, params, result }: Said) -> Result<(), Error> {
        let session = params["threadId"].as_str().unwrap_or_default();
        match method.as_str() {
            "" => {
                if let Some((purpose, session)) = id.as_u64().and_then(|id| self.calls.remove(&id)) {
                    self.take_result(purpose, &session, &result)?;
                }
            }
            "thread/status/changed" => self.set(session, &params["status"])?,
            "thread/closed" => drop(self.waiting.remove(session)),
            "serverRequest/resolved" => {
                if let Some(session) = self.waiting.get_mut(session) {
                    session.requests.retain(|known| known.id != params["requestId"]);
                    // The next one may follow.
                    session.until = Instant::now() + self.patience;
                }
            }
            _ if id.is_null() => {}
            // Those of a subagent come unasked, and again when its session is joined.
            _ => {
                let Some(known) = self.waiting.get_mut(session) else { return Ok(()) };
                let is_known = known.requests.iter().any(|request| request.id == id);
                if is_known || known.joined == Joined::Failed || known.requests.len() > QUESTIONS_OF_ONE {
                    return Ok(());
                }
                // What was said for want of a request is no longer true.
                known.requests.retain(|request| !request.id.is_null());
                if method == question::CHANGE {
                    let question =
                        Question::elsewhere("Codex asks in its terminal whether it may change files");
                    let session = session.to_owned();
                    known.requests.push(Request { id, question, stage: Stage::Unknown(params) });
                    known.until = Instant::now() + self.patience;
                    return self.resume(Purpose::History, &session);
                }
                let question = Question::of(&method, &params);
                known.requests.push(Request { id, question, stage: Stage::New });
            }
        }
        Ok(())
    }

    fn take_result(&mut self, purpose: Purpose, session: &str, result: &Value) -> Result<(), Error> {
        let thread = &result["thread"];
        match purpose {
            Purpose::Initialize if !result.is_null() => {
                self.client.send(&json!({"method": "initialized"}))?;
                self.call(Purpose::Sessions, "", "thread/loaded/list", json!({}))?;
            }
            Purpose::Sessions => {
                let ids = result["data"].as_array().into_iter().flatten().filter_map(Value::as_str);
                for id in ids.take(ENTRIES) {
                    let params = json!({"threadId": id, "includeTurns": false});
                    self.call(Purpose::State, id, "thread/read", params)?;
                }
            }
            Purpose::State => self.set(session, &thread["status"])?,
            Purpose::Join => {
                let known = self.waiting.get_mut(session).filter(|known| known.joined == Joined::Asked);
                let Some(known) = known else { return Ok(()) };
                known.until = Instant::now() + self.patience;
                if known.learn(session, thread).is_none() {
                    known.fail();
                }
            }
            Purpose::History => {
                let requests = self.waiting.get_mut(session).map(|known| &mut known.requests);
                for request in requests.into_iter().flatten() {
                    if let Stage::Unknown(params) = &request.stage {
                        if let Some(known) = Question::of_change(params, &thread["turns"]) {
                            request.question = known;
                        }
                        request.stage = Stage::New;
                    }
                }
            }
            // With the connection, all sessions are left.
            Purpose::Initialize | Purpose::Leave if result.is_null() => return Err(Error::ConnectionClosed),
            Purpose::Initialize | Purpose::Leave => {}
        }
        Ok(())
    }

    /// Notes the state of a session, and leaves it if it no longer waits. Those by which Codex finds titles never
    /// wait.
    fn set(&mut self, id: &str, status: &Value) -> Result<(), Error> {
        let flags = status["activeFlags"].as_array().into_iter().flatten();
        let waits = flags.into_iter().any(|flag| flag == "waitingOnApproval" || flag == "waitingOnUserInput");
        if waits && status["type"] == "active" {
            if is_id(id) && self.waiting.len() < ENTRIES && !self.waiting.contains_key(id) {
                let (main, folder, subagent) = (id.to_owned(), None, None);
                let (joined, requests, until) = (Joined::No, Vec::new(), Instant::now());
                let session = Session { main, folder, subagent, joined, requests, until };
                self.waiting.insert(id.to_owned(), session);
            }
        } else if self.waiting.remove(id).is_some_and(|session| session.joined != Joined::No) {
            self.call(Purpose::Leave, id, "thread/unsubscribe", json!({"threadId": id}))?;
        }
        Ok(())
    }

    /// Joins sessions that wait while there is room.
    fn join(&mut self) -> Result<(), Error> {
        let joined = self.waiting.values().filter(|session| session.joined != Joined::No).count();
        let mut ids = Vec::new();
        for (id, session) in &mut self.waiting {
            if joined + ids.len() < QUESTIONS && session.joined == Joined::No {
                session.joined = Joined::Asked;
                session.until = Instant::now() + self.patience;
                ids.push(id.clone());
            }
        }
        ids.into_iter().try_for_each(|id| self.resume(Purpose::Join, &id))
    }

    /// Passes the user's answer to a request on.
    fn pass(&mut self, session: &str, id: &Value, answer: &Answer) -> Result<(), Error> {
        let Some(known) = self.waiting.get_mut(session) else { return Ok(()) };
        let Some(request) = known.requests.iter_mut().find(|one| one.id == *id) else { return Ok(()) };
        request.stage = Stage::Left;
        if let Answer { ok: true, decision: Some(decision), .. } = answer
            && let Some(result) = request.question.result(decision)
        {
            self.client.send(&json!({"id": id, "result": result}))?;
            request.stage = Stage::Answered;
            known.until = Instant::now() + self.patience;
        }
        Ok(())
    }
}

impl Session {
    /// Notes what the daemon says of the session, which has that id; `None` if that is not known here.
    fn learn(&mut self, id: &str, thread: &Value) -> Option<()> {
        let (main, folder) = (thread["sessionId"].as_str()?, thread["cwd"].as_str()?);
        (thread["id"] == id).then_some(())?;
        if !thread["parentThreadId"].is_null() && is_id(main) {
            let name = thread["agentNickname"].as_str().unwrap_or_default();
            (self.main, self.subagent) = (main.to_owned(), Some((id.to_owned(), name.to_owned())));
        }
        (self.folder, self.joined) = (Some(folder.to_owned()), Joined::Yes);
        Some(())
    }

    /// Notes that the daemon says of the session what is not known here.
    fn fail(&mut self) {
        (self.joined, self.until) = (Joined::Failed, Instant::now());
        self.requests.clear();
    }

    /// Asks the user what is new.
    fn advance(&mut self, id: &str, door: &Arc<Peers>, sender: &Sender<Answered>) {
        let is_late = Instant::now() >= self.until;
        if is_late && self.joined == Joined::Asked {
            self.fail();
        }
        if !matches!(self.joined, Joined::Yes | Joined::Failed) {
            return;
        }
        if is_late && self.requests.is_empty() {
            let question = Question::elsewhere("Codex waits for an answer in its terminal");
            self.requests.push(Request { id: Value::Null, question, stage: Stage::New });
        }
        for Request { id: request, question, stage } in &mut self.requests {
            if is_late && matches!(stage, Stage::Unknown(_)) {
                *stage = Stage::New;
            }
            if is_late && matches!(stage, Stage::Answered) {
                *question = Question::elsewhere("Codex did not take the answer; give it in its terminal");
                *stage = Stage::New;
            }
            if matches!(stage, Stage::New) {
                let hello = Hello {
                    protocol: PROTOCOL,
                    roles: vec![Role::Permission],
                    id: format!("codex-{}", self.main),
                    version: Some(door.settings.welcome.version.clone()),
                    client: Some("codex-mcp-client".to_owned()),
                    project: self.folder.clone(),
                    ..Hello::default()
                };
                let call = Call {
                    call: 1,
                    session: Some(self.main.clone()),
                    // The daemon tells when the terminal has answered.
                    source: Some("process".to_owned()),
                    arguments: question.arguments(self.subagent.as_ref()),
                    ..Call::default()
                };
                let (sender, id, request) = (sender.clone(), id.to_owned(), request.clone());
                let answer = move |answer| drop(sender.send((id.clone(), request.clone(), answer)));
                let asked = door.ask(hello, call, answer);
                *stage = asked.map_or(Stage::Left, |call| Stage::Asked { _call: call });
            }
        }
    }
}
