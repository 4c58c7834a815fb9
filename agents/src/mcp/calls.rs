//! The thread that has the connection to Emacs: it passes calls on, and tells what the agent does.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use todo_write::events::millis_of;
use todo_write::wire::bounds::WAIT;
use todo_write::wire::socket::{Answer, Call, SessionActivity};

use super::emacs::Emacs;
use super::session::{Agent, CLAUDE, Subagent, subagent};
use super::transport::{send, success};

/// Time limit of a call from its arrival, including all waiting.
const LIMIT: Duration = Duration::from_secs(5);
const BYE_LIMIT: Duration = Duration::from_millis(1500);
/// Time between polls of the agent's process, and between attempts to reconnect.
const PAUSE: Duration = Duration::from_millis(500);

/// Environment variables with the ids of sessions, by client. Other clients ignore them, because an
/// agent started by another one inherits its environment.
const SESSION_VARIABLES: [(&str, &str); 2] =
    [(CLAUDE, "CLAUDE_CODE_SESSION_ID"), ("copilot-cli", "COPILOT_AGENT_SESSION_ID")];

/// Where Claude Code says in a call's metadata which id the call has in the transcript. The others do not.
const CALL_ID: &str = "claudecode/toolUseId";

/// The client, as it introduced itself.
#[derive(Clone, Debug)]
pub struct Client {
    pub name: String,
    pub has_roots: bool,
}

/// A call of the tool.
#[derive(Debug)]
pub struct ToolCall {
    pub client: Client,
    pub arrival: Instant,
    pub time: SystemTime,
    pub meta: Value,
    pub arguments: Option<Box<RawValue>>,
    pub id: Value,
}

pub struct Calls {
    emacs: Emacs,
    /// The URI of the client's first root, or that it has none.
    roots: Receiver<Option<String>>,
    /// The process of Claude Code, if that started this program.
    claude: Option<Agent>,
    last_activity: Option<SessionActivity>,
    /// The subagents that called and have not returned, with their sessions.
    subagents: Vec<(String, Subagent)>,
}

impl Calls {
    pub fn new(emacs: Emacs, roots: Receiver<Option<String>>) -> Self {
        Calls { emacs, roots, claude: None, last_activity: None, subagents: Vec::new() }
    }

    /// Answers the calls in QUEUE until the first `None`. Between them, it reconnects whenever Emacs
    /// comes back, and reports what the agent does.
    pub fn run(mut self, queue: &Receiver<Option<ToolCall>>) {
        let mut next = Instant::now() + PAUSE;
        loop {
            match queue.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Some(call)) => self.answer(call),
                Ok(None) | Err(RecvTimeoutError::Disconnected) => return self.end(),
                Err(RecvTimeoutError::Timeout) => {
                    self.emacs.keep_up();
                    self.tell_activity();
                    next = Instant::now() + PAUSE;
                }
            }
        }
    }

    /// Notifies Emacs that the sessions of this process have ended.
    fn end(mut self) {
        let is_killed = self.claude.as_ref().is_some_and(|agent| {
            // A killed process closes its files just before it is dead.
            (0..10).any(|_| {
                sleep(Duration::from_millis(10));
                agent.is_killed()
            })
        });
        self.emacs.bye(is_killed, Instant::now() + BYE_LIMIT);
    }

    fn answer(&mut self, mut call: ToolCall) {
        if self.emacs.hello.client.is_none() {
            self.introduce(&call.client);
        }
        let passed_on = Call {
            time: millis_of(call.time),
            id: given(&call, CALL_ID),
            arguments: call.arguments.take(),
            ..self.caller(&call)
        };
        // Of a process, `tell_activity` tells more.
        let served = passed_on.session.clone().filter(|_| passed_on.source.as_deref() != Some("process"));
        let answer = self.emacs.ask(passed_on, call.arrival + LIMIT);
        send(&success(call.id, result(&answer)));
        // Emacs takes the agent of a call to be working, but the turn may be over since. So the next poll
        // tells the activity again, also if it is the same.
        self.last_activity = None;
        if let Some(session) = served {
            let activity = "serving".to_owned();
            self.emacs.activity = Some(SessionActivity { session, activity, ..SessionActivity::default() });
        }
    }

    /// Tells Emacs which agent this is, and where it works: in the client's first root, or in the working
    /// directory of this process.
    fn introduce(&mut self, client: &Client) {
        let told = client.has_roots.then(|| self.roots.recv_timeout(WAIT).ok()?);
        let root = told.flatten().and_then(|uri| percent_decoded(uri.strip_prefix("file://")?));
        let folder = || Some(std::env::current_dir().ok()?.to_str()?.to_owned());
        let hello = &mut self.emacs.hello;
        hello.project = Some(root.or_else(folder).unwrap_or_default());
        hello.client = Some(client.name.clone());
    }

    /// A call of the session and the subagent that make CALL.
    fn caller(&mut self, call: &ToolCall) -> Call {
        let of = |session: String, source: &str| Call {
            session: Some(session),
            source: Some(source.to_owned()),
            ..Call::default()
        };
        let client = call.client.name.as_str();
        if client == CLAUDE
            && let Some(SessionActivity { session, .. }) = self.activity()
        {
            let Some(found) = given(call, CALL_ID).and_then(|id| subagent(&session, &id, call.arrival))
            else {
                return of(session, "process");
            };
            let known = (session.clone(), found.clone());
            if !self.subagents.contains(&known) {
                self.subagents.push(known);
            }
            return Call { subagent: Some(found.id), task: found.task, ..of(session, "process") };
        }
        // Codex gives each subagent a thread of its own.
        let parent = call.meta["x-codex-turn-metadata"]["parent_thread_id"].as_str();
        if let (Some(parent), Some(thread)) = (parent, given(call, "threadId")) {
            return Call { subagent: Some(thread), ..of(parent.to_owned(), "call") };
        }
        if let Some(session) = ["threadId", "sessionId"].into_iter().find_map(|key| given(call, key)) {
            return of(session, "call");
        }
        let variable = SESSION_VARIABLES.iter().find(|(name, _)| *name == client);
        let session = variable.and_then(|(_, variable)| std::env::var(variable).ok());
        session.map_or_else(Call::default, |session| of(session, "environment"))
    }

    /// What the session of the process above this one does.
    fn activity(&mut self) -> Option<SessionActivity> {
        if self.claude.is_none() {
            self.claude = Agent::find();
        }
        self.claude.as_ref()?.state()
    }

    /// Tells Emacs what the agent and its subagents do, if that changed since the last time.
    fn tell_activity(&mut self) {
        // Which agent this is, the first call shows.
        if self.claude.is_none() {
            return;
        }
        if let Some(activity) = self.activity().filter(|now| self.last_activity.as_ref() != Some(now)) {
            self.last_activity = Some(activity.clone());
            self.emacs.tell(activity.clone());
            self.emacs.activity = Some(activity);
        }
        for (session, subagent) in self.subagents.extract_if(.., |(_, subagent)| subagent.is_finished()) {
            let (subagent, activity) = (Some(subagent.id), "idle".to_owned());
            self.emacs.tell(SessionActivity { session, subagent, activity, ..SessionActivity::default() });
        }
    }
}

/// The result of a call of the tool.
pub fn result(answer: &Answer) -> Value {
    json!({"content": [{"type": "text", "text": answer.text}], "isError": !answer.ok})
}

/// A text in the metadata of a call.
fn given(call: &ToolCall, key: &str) -> Option<String> {
    Some(call.meta[key].as_str()?.to_owned())
}

/// The path of a URI; none unless it is UTF-8.
fn percent_decoded(path: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digit = |place| after.get(place).and_then(|digit| char::from(*digit).to_digit(16));
        let (byte, after) = match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => ((high * 16 + low) as u8, &after[2..]),
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::percent_decoded;

    #[test]
    fn the_path_of_a_uri_is_decoded() {
        for (given, expected) in [
            ("/g%C3%a4rten%201", Some("/gärten 1")),
            ("/50%/%+1/%2", Some("/50%/%+1/%2")),
            ("/ä", Some("/ä")),
            ("/%ff", None),
        ] {
            assert_eq!(percent_decoded(given).as_deref(), expected);
        }
    }
}
