//! Questions of Codex through its daemon, for which a thread stands in that says what the genuine one said, and
//! what none should say.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use todo_write::wire::program::{Command, DoorEvent as Event, Message as News, Opening};
use todo_write::wire::socket::{Answer, Behavior, Decision, Hello, Message, Welcome};
use todo_write_mcp::hub::Hub;
use todo_write_mcp::hub::door::ConnectionId;
use tungstenite::protocol::WebSocket;
use tungstenite::{Error, Message as Frame};

use crate::common::{Folder, NEVER, wait};
use crate::door::{Program, hello};
use crate::hub::hub;

pub const THREAD: &str = "01a2-garden";
const SOCKET: &str = "app-server-control/app-server-control.sock";

fn folder(path: &Path, mode: u32) {
    fs::create_dir_all(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What the daemon does.
#[derive(Default)]
struct State {
    /// Requests that are not answered.
    pending: Vec<Value>,
    /// The history of the thread.
    turns: Value,
    parent: Option<String>,
    /// Results in place of the usual ones.
    shapes: BTreeMap<&'static str, Value>,
    /// Whether it takes no answers.
    is_deaf: bool,
    /// Whether it never tells the history.
    is_silent: bool,
    /// What clients said.
    received: Vec<Value>,
    clients: Vec<Client>,
    /// Sent in place of each answer, if it is there.
    instead: Option<Vec<Frame>>,
    is_over: bool,
}

#[derive(Default)]
struct Client {
    outgoing: VecDeque<Value>,
    is_joined: bool,
    is_gone: bool,
}

impl State {
    fn status(&self) -> Value {
        match self.pending.first() {
            None => json!({"type": "active", "activeFlags": []}),
            Some(request) if request["method"] == "item/tool/requestUserInput" => {
                json!({"type": "active", "activeFlags": ["waitingOnUserInput"]})
            }
            Some(_) => json!({"type": "active", "activeFlags": ["waitingOnApproval"]}),
        }
    }

    fn tell(&mut self, note: &Value, is_for_all: bool) {
        for client in self.clients.iter_mut().filter(|client| is_for_all || client.is_joined) {
            client.outgoing.push_back(note.clone());
        }
    }

    fn tell_status(&mut self) {
        let params = json!({"threadId": THREAD, "status": self.status()});
        let note = json!({"method": "thread/status/changed", "params": params, "emittedAtMs": 1});
        self.tell(&note, true);
    }

    /// Ends a request, which one of the clients has answered.
    fn resolve(&mut self, id: &Value) {
        self.pending.retain(|request| request["id"] != *id);
        let params = json!({"threadId": THREAD, "requestId": id});
        self.tell(&json!({"method": "serverRequest/resolved", "params": params}), false);
        self.tell_status();
    }

    fn take(&mut self, number: usize, message: Value) {
        let id = message["id"].clone();
        let params = &message["params"];
        let thread = json!({
            "id": THREAD, "sessionId": self.parent.as_deref().unwrap_or(THREAD), "parentThreadId": self.parent,
            "agentNickname": "Zeno", "cwd": "/garden", "status": self.status(), "ephemeral": false,
            "turns": if params["excludeTurns"] == false { self.turns.clone() } else { json!([]) },
        });
        let result = match message["method"].as_str() {
            Some(method) if self.shapes.contains_key(method) => self.shapes[method].clone(),
            Some("initialize") => json!({"userAgent": "codex-tui/0.171.0 (x)", "codexHome": "/x"}),
            Some("thread/loaded/list") => json!({"data": [THREAD], "nextCursor": null}),
            Some("thread/unsubscribe") => {
                self.clients[number].is_joined = false;
                json!({"status": "unsubscribed"})
            }
            Some("thread/read" | "thread/resume") => json!({"thread": thread, "model": "x"}),
            Some(_) => Value::Null,
            None => {
                self.received.push(message);
                if !self.is_deaf {
                    self.resolve(&id);
                }
                return;
            }
        };
        let is_resume = message["method"] == "thread/resume" && params["threadId"] == THREAD;
        let is_kept = self.is_silent && params["excludeTurns"] == false;
        self.received.push(message);
        if id.is_null() || is_kept {
            return;
        }
        let answer = match result {
            Value::Null => json!({"id": id, "error": {"code": -32600, "message": "no active turn to steer"}}),
            result => json!({"id": id, "result": result}),
        };
        self.clients[number].outgoing.push_back(answer);
        if is_resume && !self.clients[number].is_joined {
            self.clients[number].is_joined = true;
            self.clients[number].outgoing.extend(self.pending.clone());
        }
    }
}

/// A daemon, and a hub that is its client.
struct Garden {
    home: Folder,
    state: Arc<Mutex<State>>,
    hub: Hub,
}

impl Drop for Garden {
    fn drop(&mut self) {
        self.state.lock().unwrap().is_over = true;
    }
}

impl Garden {
    fn new(state: State) -> Garden {
        Garden::within(NEVER, state)
    }

    /// One that has this time for each answer.
    fn within(patience: Duration, state: State) -> Garden {
        let home = Folder::short();
        folder(home.path(), 0o700);
        let state = begin(home.path(), &home.path().join("run"), state);
        let hub = hub(home.path(), patience);
        let welcome = Welcome { version: "1.2.3".into(), ..Welcome::default() };
        let codex = Some(vec![home.path().to_owned()]);
        hub.obey(Command::Door(Some(Opening { welcome, codex, socket: None })));
        Garden { home, state, hub }
    }

    /// One whose thread waits for that request.
    fn asking(request: Value) -> Garden {
        Garden::new(State { pending: vec![request], ..State::default() })
    }

    fn event<T>(&self, what: &str, find: impl Fn(&Event) -> Option<T>) -> T {
        wait(what, || match self.hub.take(Duration::ZERO)? {
            News::Door(event) => find(&event),
            _ => None,
        })
    }

    /// Waits for a question, and returns its connection, who asks, and the input.
    fn question(&self) -> (ConnectionId, String, Hello, Value) {
        let (id, hello) = self.event("a greeting", |event| match event {
            Event::Message(id, Message::Hello(hello)) => Some((*id, (**hello).clone())),
            _ => None,
        });
        self.event("a question", |event| match event {
            Event::Message(of, Message::Call(call)) if *of == id => {
                let input = serde_json::from_str(call.arguments.as_ref().unwrap().get()).unwrap();
                Some((id, call.session.clone().unwrap(), hello.clone(), input))
            }
            _ => None,
        })
    }

    fn withdrawn(&self, id: ConnectionId) {
        self.event("the end of a question", |event| {
            matches!(event, Event::Closed(of) if *of == id).then_some(())
        });
    }

    fn answer(&self, id: ConnectionId, decision: Decision) {
        let answer = Answer { call: 1, ok: true, text: String::new(), decision: Some(decision) };
        self.hub.obey(Command::Answer(id, answer));
    }

    /// Checks that its question is answered in its terminal, and nothing of an answer here is passed on.
    fn is_for_the_terminal(&self, what: &str) {
        let (id, session, _, input) = self.question();
        assert_eq!((input["elsewhere"].as_bool(), session.as_str()), (Some(true), THREAD), "{what}");
        self.answer(id, decision(Behavior::Allow));
        self.withdrawn(id);
        let is_call = |one: &Value| !one["method"].is_null();
        assert!(self.with(|state| state.received.iter().all(is_call)), "{what}");
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap())
    }

    /// Waits for a message of a client.
    fn received(&self, what: &str, find: impl Fn(&Value) -> bool) -> Value {
        wait(what, || self.with(|state| state.received.iter().find(|one| find(one)).cloned()))
    }

    /// Waits for the answer to a request.
    fn result(&self) -> Value {
        self.received("a result", |one| one["method"].is_null())["result"].clone()
    }

    /// Waits until the hub has asked for the state of the thread.
    fn is_watched(&self) {
        self.received("a look at the thread", |one| one["method"] == "thread/read");
    }
}

/// Begins a daemon of the folder `home`, whose socket is in the folder `run`.
fn begin(home: &Path, run: &Path, state: State) -> Arc<Mutex<State>> {
    folder(&home.join("app-server-control"), 0o700);
    folder(run, 0o700);
    let file = run.join("5ha");
    let listener = UnixListener::bind(&file).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    symlink(&file, home.join(SOCKET)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let state = Arc::new(Mutex::new(state));
    let served = Arc::clone(&state);
    thread::spawn(move || accept(&listener, &served));
    state
}

/// Begins a daemon that asks whether a command may run; returns what tells how that was answered.
pub fn ask(home: &Path, run: &Path) -> impl Fn() -> Option<Value> + use<> {
    let state = begin(home, run, State { pending: vec![command()], ..State::default() });
    move || {
        let state = state.lock().unwrap();
        let result = state.received.iter().find(|one| one["method"].is_null());
        result.map(|one| one["result"].clone())
    }
}

fn accept(listener: &UnixListener, state: &Arc<Mutex<State>>) {
    while !state.lock().unwrap().is_over {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        stream.set_nonblocking(false).unwrap();
        let state = Arc::clone(state);
        thread::spawn(move || {
            let Ok(socket) = tungstenite::accept(stream) else { return };
            let number = {
                let mut state = state.lock().unwrap();
                state.clients.push(Client::default());
                state.clients.len() - 1
            };
            serve(socket, number, &state);
            let mut state = state.lock().unwrap();
            state.clients[number].is_gone = true;
            state.clients[number].is_joined = false;
        });
    }
}

fn serve(mut socket: WebSocket<UnixStream>, number: usize, state: &Arc<Mutex<State>>) {
    socket.get_ref().set_read_timeout(Some(Duration::from_millis(2))).unwrap();
    loop {
        match socket.read() {
            Ok(Frame::Text(text)) => {
                let message = serde_json::from_str(&text).unwrap();
                let mut state = state.lock().unwrap();
                if let Some(frames) = state.instead.clone() {
                    state.received.push(message);
                    drop(state);
                    for frame in frames {
                        if socket.send(frame).is_err() {
                            return;
                        }
                    }
                    continue;
                }
                state.take(number, message);
            }
            Ok(_) => {}
            Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
        let (outgoing, is_over) = {
            let mut state = state.lock().unwrap();
            let client = &mut state.clients[number];
            (std::mem::take(&mut client.outgoing), client.is_gone || state.is_over)
        };
        for message in outgoing {
            if socket.send(Frame::text(message.to_string())).is_err() {
                return;
            }
        }
        if is_over {
            return;
        }
    }
}

fn command() -> Value {
    let amendment = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["npm", "test"]}});
    json!({"method": "item/commandExecution/requestApproval", "id": 0, "params": {
        "threadId": THREAD, "turnId": "turn-1", "itemId": "call_1", "startedAtMs": 1, "kind": "command",
        "reason": "Run the tests?", "command": "npm test", "cwd": "/garden", "environmentId": null,
        "proposedExecpolicyAmendment": ["npm", "test"],
        "availableDecisions": ["accept", amendment, "cancel"],
    }})
}

fn with(mut request: Value, name: &str, value: Value) -> Value {
    request["params"][name] = value;
    request
}

fn change() -> Value {
    json!({"method": "item/fileChange/requestApproval", "id": 2, "params": {
        "threadId": THREAD, "turnId": "turn-1", "itemId": "call_2", "startedAtMs": 1, "reason": null,
        "grantRoot": null,
    }})
}

fn changes(files: Value) -> Value {
    json!([{"id": "turn-1", "items": [
        {"type": "agentMessage", "id": "m", "text": "x"},
        {"type": "fileChange", "id": "call_2", "changes": files, "status": "inProgress"},
    ]}])
}

fn decision(behavior: Behavior) -> Decision {
    Decision {
        behavior,
        suggestion: None,
        mode: None,
        plan: None,
        answers: None,
        message: None,
        interrupt: false,
    }
}

#[test]
fn a_command_is_asked_with_its_reason_and_runs_after_a_yes() {
    let garden = Garden::asking(command());
    let (id, session, hello, input) = garden.question();
    assert_eq!((session.as_str(), hello.project.as_deref()), (THREAD, Some("/garden")));
    assert_eq!(hello.client.as_deref(), Some("codex-mcp-client"));
    assert_eq!(
        input,
        json!({
            "hook_event_name": "CodexRequest", "tool_name": "Command", "elsewhere": false,
            "tool_input": {"command": "npm test", "reason": "Run the tests?", "cwd": "/garden"},
            "permission_suggestions": [{"type": "codexPrefix", "words": ["npm", "test"]}],
        })
    );
    garden.answer(id, decision(Behavior::Allow));
    assert_eq!(garden.result(), json!({"decision": "accept"}));
}

#[test]
fn always_gives_the_amendment_as_it_was_shown_and_a_no_declines_or_stops_the_turn() {
    let amendment = json!({"execpolicy_amendment": ["npm", "test"], "network": true});
    let offered = json!(["accept", {"acceptWithExecpolicyAmendment": amendment, "more": 1}]);
    let shown = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["npm", "test"]}});
    for (decision, expected) in [
        (Decision { suggestion: Some(0), ..decision(Behavior::Allow) }, shown),
        (decision(Behavior::Deny), json!("decline")),
        (Decision { interrupt: true, ..decision(Behavior::Deny) }, json!("cancel")),
    ] {
        let garden = Garden::asking(with(command(), "availableDecisions", offered.clone()));
        let (id, ..) = garden.question();
        garden.answer(id, decision);
        assert_eq!(garden.result(), json!({ "decision": expected }));
    }
}

#[test]
fn an_answer_that_the_daemon_does_not_take_is_given_in_the_terminal() {
    let state = State { pending: vec![command()], is_deaf: true, ..State::default() };
    let garden = Garden::within(Duration::from_secs(1), state);
    let (id, ..) = garden.question();
    garden.answer(id, decision(Behavior::Allow));
    garden.result();
    let (id, session, _, input) = garden.question();
    assert_eq!((input["elsewhere"].as_bool(), session.as_str()), (Some(true), THREAD));
    garden.with(|state| state.resolve(&json!(0)));
    garden.withdrawn(id);
}

/// A note that a session waits, or works on.
fn waits(session: &str, flags: Value) -> Value {
    json!({"method": "thread/status/changed", "params": {
        "threadId": session, "status": {"type": "active", "activeFlags": flags}}})
}

#[test]
fn a_session_for_which_there_is_no_room_is_joined_when_there_is() {
    let garden = Garden::new(State::default());
    garden.is_watched();
    garden.with(|state| {
        for number in 10..30 {
            state.tell(&waits(&format!("00-{number}"), json!(["waitingOnApproval"])), true);
        }
        state.pending.push(command());
        state.tell_status();
    });
    // The session and input of the next question, or `None` if one ends before.
    let next = || {
        garden.event("a question, or its end", |event| match event {
            Event::Message(_, Message::Call(call)) => {
                let input = call.arguments.as_ref().unwrap().get().to_owned();
                Some(Some((call.session.clone().unwrap(), input)))
            }
            Event::Closed(_) => Some(None),
            _ => None,
        })
    };
    for _ in 0..20 {
        assert!(next().unwrap().0.starts_with("00-"));
    }
    garden.with(|state| state.tell(&waits("00-10", json!([])), true));
    assert_eq!(next(), None);
    let (session, input) = next().unwrap();
    assert!(session == THREAD && input.contains("npm test"));
}

#[test]
fn an_answer_that_means_nothing_here_is_not_passed_on() {
    let garden = Garden::asking(command());
    let (id, ..) = garden.question();
    garden.answer(id, Decision { suggestion: Some(7), ..decision(Behavior::Allow) });
    garden.withdrawn(id);
    assert!(garden.with(|state| state.received.iter().all(|one| !one["method"].is_null())));
}

#[test]
fn nothing_is_joined_while_no_session_waits_and_nothing_is_left_behind() {
    let garden = Garden::new(State::default());
    garden.is_watched();
    let joins =
        |state: &mut State| state.received.iter().filter(|one| one["method"] == "thread/resume").count();
    assert_eq!(garden.with(joins), 0);
    garden.with(|state| {
        state.pending.push(command());
        state.tell_status();
    });
    let (id, ..) = garden.question();
    assert_eq!(garden.with(joins), 1);
    // The terminal answers.
    garden.with(|state| state.resolve(&json!(0)));
    garden.withdrawn(id);
    garden.received("that it leaves", |one| one["method"] == "thread/unsubscribe");
    wait("that it has left", || garden.with(|state| (!state.clients[0].is_joined).then_some(())));
    assert!(garden.with(|state| state.clients.len() == 1 && !state.clients[0].is_gone));
    // A method that changes a session, or begins a turn, was never called.
    let known = [
        "initialize",
        "initialized",
        "thread/loaded/list",
        "thread/read",
        "thread/resume",
        "thread/unsubscribe",
    ];
    let is_known = |one: &Value| one["method"].as_str().is_some_and(|method| known.contains(&method));
    assert!(garden.with(|state| state.received.iter().all(is_known)));
}

#[test]
fn a_question_ends_with_its_session_its_daemon_and_the_door() {
    let garden = Garden::asking(command());
    let (id, ..) = garden.question();
    garden
        .with(|state| state.tell(&json!({"method": "thread/closed", "params": {"threadId": THREAD}}), true));
    garden.withdrawn(id);

    let garden = Garden::asking(command());
    let (id, ..) = garden.question();
    garden.with(|state| state.is_over = true);
    garden.withdrawn(id);

    let garden = Garden::asking(command());
    garden.question();
    garden.hub.obey(Command::Door(None));
    wait("the end of all", || {
        garden.with(|state| state.clients.iter().all(|client| client.is_gone).then_some(()))
    });
}

#[test]
fn a_change_of_files_is_asked_with_its_diff() {
    let files = json!([
        {"path": "/garden/a.txt", "kind": {"type": "update", "move_path": null},
         "diff": "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"},
        {"path": "/garden/new.txt", "kind": {"type": "add"}, "diff": "hello\n"},
        {"path": "/garden/b", "kind": {"type": "update", "move_path": "/etc/b"}, "diff": "@@ -1 +1 @@\n-b\n+c\n"},
    ]);
    let state = State { pending: vec![change()], turns: changes(files), ..State::default() };
    let garden = Garden::new(state);
    let (id, _, _, input) = garden.question();
    assert_eq!(input["tool_name"], "Change");
    assert_eq!(
        input["tool_input"],
        json!({"file_path": "/garden/a.txt, /garden/new.txt, /garden/b", "diff": "--- /garden/a.txt\n+++ /garden/a.txt
@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n--- /dev/null\n+++ /garden/new.txt\n@@ -0,0 +1 @@\n+hello\n--- /garden/b\n+++ /etc/b\n@@ -1 +1 @@\n-b\n+c\n"})
    );
    let files = ["/garden/a.txt", "/garden/new.txt", "/garden/b", "/etc/b"];
    assert_eq!(input["permission_suggestions"], json!([{"type": "codexFiles", "files": files}]));
    garden.answer(id, Decision { suggestion: Some(0), ..decision(Behavior::Allow) });
    assert_eq!(garden.result(), json!({"decision": "acceptForSession"}));
}

#[test]
fn questions_are_answered_by_their_ids() {
    let garden = Garden::asking(json!({"method": "item/tool/requestUserInput", "id": 10, "params": {
        "threadId": THREAD, "turnId": "t", "itemId": "c", "isBlocking": true, "autoResolutionMs": null,
        "questions": [{"id": "colour", "header": "Colour", "question": "Which colour?", "isOther": true,
                       "isSecret": false, "options": [{"label": "Blue", "description": "cold"}]}],
    }}));
    let (id, _, _, input) = garden.question();
    assert_eq!(
        input["tool_input"],
        json!({"questions": [{"question": "Which colour?", "header": "Colour",
                              "options": [{"label": "Blue", "description": "cold"}]}]})
    );
    let answers = Some([("Which colour?".to_owned(), vec!["Blue".to_owned()])].into());
    garden.answer(id, Decision { answers, ..decision(Behavior::Allow) });
    assert_eq!(garden.result(), json!({"answers": {"colour": {"answers": ["Blue"]}}}));
}

#[test]
fn a_question_of_a_subagent_is_that_of_its_session() {
    let garden = Garden::new(State {
        pending: vec![command()],
        parent: Some("01a1-main".to_owned()),
        ..State::default()
    });
    let (_, session, _, input) = garden.question();
    assert_eq!(session, "01a1-main");
    assert_eq!((&input["agent_id"], &input["agent_type"]), (&json!(THREAD), &json!("Zeno")));
    // It leads to no other agent's.
    let parent = Some("a/../claude:s1".to_owned());
    let garden = Garden::new(State { pending: vec![command()], parent, ..State::default() });
    assert_eq!(garden.question().1, THREAD);
}

#[test]
fn what_has_another_shape_is_for_the_terminal() {
    let decisions = |decisions: Value| with(command(), "availableDecisions", decisions);
    let secret = json!([{"id": "k", "question": "The key?", "isSecret": true}]);
    let cases = [
        with(command(), "kind", json!("humanCommand")),
        with(command(), "kind", json!("writeStdin")),
        with(command(), "command", Value::Null),
        with(command(), "command", json!(["npm", "test"])),
        decisions(json!(["cancel"])),
        decisions(json!("accept")),
        json!({"method": "item/permissions/requestApproval", "id": 1, "params": {"threadId": THREAD}}),
        json!({"method": "item/tool/requestUserInput", "id": 1,
               "params": {"threadId": THREAD, "questions": secret}}),
        json!({"method": "item/tool/requestUserInput", "id": 1,
               "params": {"threadId": THREAD, "questions": [{"id": 1}]}}),
        // Its history has no such change.
        change(),
        with(command(), "command", json!("x".repeat(1 << 20))),
        with(change(), "reason", json!("x".repeat(1 << 20))),
    ];
    // No request follows one of another session.
    let other = with(command(), "threadId", json!("other"));
    let cases = cases.into_iter().map(|request| (request, NEVER)).chain([(other, Duration::from_secs(1))]);
    for (request, patience) in cases {
        let what: String = request.to_string().chars().take(400).collect();
        let garden = Garden::within(patience, State { pending: vec![request], ..State::default() });
        garden.is_for_the_terminal(&what);
    }
}

#[test]
fn what_a_daemon_of_another_version_tells_is_answered_in_its_terminal() {
    let resumed = [
        Value::Null,
        json!(7),
        json!({"session": {"id": THREAD}}),
        json!({"thread": {"id": 7, "cwd": "/garden"}}),
        json!({"thread": {"id": "other", "sessionId": "other", "cwd": "/garden"}}),
    ];
    let of_shape = |shape: Value| {
        let shapes = BTreeMap::from([("thread/resume", shape)]);
        (NEVER, State { pending: vec![command()], shapes, ..State::default() })
    };
    // Names of files that are no lines.
    let of_name = |name: &str| {
        let files = json!([{"path": name, "kind": {"type": "add"}, "diff": "x\n"}]);
        (NEVER, State { pending: vec![change()], turns: changes(files), ..State::default() })
    };
    let names = ["/a\n+++ /b", "", "/a\u{2028}b"];
    // It tells no more of a change.
    let silent = State { pending: vec![change()], is_silent: true, ..State::default() };
    let cases = resumed.into_iter().map(of_shape).chain(names.map(of_name));
    for (number, (patience, state)) in cases.chain([(Duration::from_secs(1), silent)]).enumerate() {
        Garden::within(patience, state).is_for_the_terminal(&format!("case {number}"));
    }
}

#[test]
fn all_that_a_yes_allows_is_shown() {
    let asked = json!({"network": {"enabled": true}});
    let garden = Garden::asking(with(command(), "additionalPermissions", asked.clone()));
    let (.., input) = garden.question();
    assert_eq!(input["tool_input"]["additionalPermissions"], asked);
    let files = json!([{"path": "/a", "kind": {"type": "delete"}, "diff": "one\ntwo"}]);
    let pending = vec![with(change(), "grantRoot", json!("/etc"))];
    let garden = Garden::new(State { pending, turns: changes(files), ..State::default() });
    let (.., input) = garden.question();
    assert_eq!(input["tool_input"]["grantRoot"], "/etc");
    assert_eq!(
        input["tool_input"]["diff"],
        "--- /a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n\\ No newline at end of file\n"
    );
}

#[test]
fn a_daemon_that_says_anything_harms_nobody_else() {
    let text = |text: &str| vec![Frame::text(text.to_owned())];
    let flood =
        json!({"method": "item/agentMessage/delta", "params": {"delta": "x".repeat(60_000)}}).to_string();
    let status = |id: usize| {
        json!({"method": "thread/status/changed", "params": {
            "threadId": format!("t{id}"), "status": {"type": "active", "activeFlags": ["waitingOnApproval"]}}})
    };
    let cases: Vec<(&str, Vec<Frame>)> = vec![
        ("no JSON", text("{")),
        ("another value", text("7")),
        ("a result of another shape", text(r#"{"id":1,"result":7}"#)),
        ("an error", text(r#"{"id":1,"error":{"code":-32600,"message":"Not initialized"}}"#)),
        ("deep nesting", text(&format!(r#"{{"id":1,"result":{}}}"#, "[".repeat(100_000)))),
        ("bytes", vec![Frame::binary(vec![0; 100])]),
        ("a large message", text(&"x".repeat(17 << 20))),
        ("a status of another shape", text(r#"{"method":"thread/status/changed","params":{"threadId":7}}"#)),
        ("a flood of text", vec![Frame::text(flood); 1_500]),
        ("sessions without end", (0..500).map(|id| Frame::text(status(id).to_string())).collect()),
    ];
    for (what, frames) in cases {
        let garden = Garden::new(State { instead: Some(frames), ..State::default() });
        garden.received("a greeting", |one| one["method"] == "initialize");
        // The door serves others meanwhile.
        let mut program = Program::connect(&garden.home.path().join("run/door"));
        program.send(&hello(&["tool"]));
        garden.event(what, |event| match event {
            Event::Message(_, Message::Hello(hello)) if hello.id == "p" => Some(()),
            _ => None,
        });
        // There are never more questions than a machine may have.
        assert!(garden.with(|state| state.clients.len()) <= 1, "{what}");
    }
}
