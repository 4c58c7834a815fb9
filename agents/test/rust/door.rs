//! The socket for agents' programs, as programs use it, and as none should.

use std::collections::VecDeque;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use todo_write::wire::bounds::CALL;
use todo_write::wire::socket::{Answer, Message, Role, Welcome};
use todo_write_mcp::hub::door::{ConnectionId, Door, Event, Finder, Settings, State};

use crate::common::{DEADLINE, Folder, NEVER, wait, wait_until};

/// What happened at a door and was not taken.
type Events = Arc<Mutex<VecDeque<Event>>>;

/// A door in a folder of its own.
struct Opened {
    folder: Folder,
    door: Door,
    events: Events,
}

fn private() -> Folder {
    let folder = Folder::short();
    fs::create_dir(folder.path()).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    folder
}

fn settings(socket: &Path, patience: Duration) -> Settings {
    let welcome = Welcome { version: "1.2.3".into(), process: Some(4711), ..Welcome::default() };
    Settings { socket: socket.to_owned(), welcome, patience }
}

/// Opens a door; the error is why its first try failed.
fn open(settings: Settings, finder: Finder) -> Result<(Door, Events), String> {
    let events = Events::default();
    let added = Arc::clone(&events);
    let out = Box::new(move |event| added.lock().unwrap().push_back(event));
    let door = Door::open(settings, finder, out);
    let refused = wait("its state", || match events.lock().unwrap().front()? {
        Event::State(State::Failed(reason)) => Some(Err(reason.clone())),
        _ => Some(Ok(())),
    });
    refused.map(|()| (door, events))
}

fn open_at(socket: &Path) -> Result<Door, String> {
    Ok(open(settings(socket, NEVER), Box::new(|_| None))?.0)
}

impl Opened {
    fn new() -> Opened {
        Opened::with(NEVER, Box::new(|_| None))
    }

    fn with(patience: Duration, finder: Finder) -> Opened {
        let folder = private();
        let (door, events) = open(settings(&folder.path().join("socket"), patience), finder).unwrap();
        Opened { folder, door, events }
    }

    /// Takes what happened next.
    fn take(&self) -> Option<Event> {
        loop {
            let event = self.events.lock().unwrap().pop_front()?;
            if self.door.take(&event) {
                return Some(event);
            }
        }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn connect(&self) -> Program {
        Program::connect(&self.socket())
    }

    /// A program that has said hello in a role, and its number.
    fn hello(&self, role: &str) -> (Program, ConnectionId) {
        let mut program = self.connect();
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("p{}", NUMBER.fetch_add(1, Ordering::SeqCst));
        let mut greeting = hello(&[role]);
        greeting["id"] = name.as_str().into();
        program.send(&greeting);
        assert_eq!(program.receive().unwrap()["type"], "welcome");
        let id = self.wait(|event| match event {
            Event::Message(id, Message::Hello(hello)) if hello.id == name => Some(*id),
            _ => None,
        });
        (program, id)
    }

    /// Waits for an event that `find` accepts; drops the others.
    fn wait<T>(&self, find: impl Fn(&Event) -> Option<T>) -> T {
        wait("an event", || self.take().as_ref().and_then(&find))
    }

    fn wait_for_news(&self) {
        wait_until("news", || !self.events.lock().unwrap().is_empty());
    }

    fn wait_for_end(&self, id: ConnectionId) {
        wait_until("the end of a connection", || !self.door.is_live(id));
    }

    /// Waits for a call of a connection, and returns its number and arguments.
    fn call(&self, of: ConnectionId) -> (u64, String) {
        self.wait(|event| match event {
            Event::Message(id, Message::Call(call)) if *id == of => {
                Some((call.call, call.arguments.as_ref().map_or("", |arguments| arguments.get()).to_owned()))
            }
            _ => None,
        })
    }

    fn answer(&self, id: ConnectionId, call: u64, text: &str) -> bool {
        self.door.answer(id, Answer { call, ok: true, text: text.to_owned(), decision: None })
    }

    /// Waits until another program is welcome.
    fn wait_for_room(&self) {
        wait("room", || {
            let mut program = self.connect();
            let is_sent = program.write(format!("{}\n", hello(&["tool"])).as_bytes()).is_ok();
            while self.take().is_some() {}
            is_sent.then(|| program.receive())?.filter(|message| message["type"] == "welcome")
        });
    }

    /// Shows that the door still serves programs.
    fn assert_serves(&self) {
        let (mut program, id) = self.hello("tool");
        program.send(&json!({"type": "call", "call": 1}));
        assert_eq!(self.call(id).0, 1);
        assert!(self.answer(id, 1, "served"));
        assert_eq!(program.receive().unwrap()["text"], "served");
    }
}

pub fn hello(roles: &[&str]) -> Value {
    json!({"type": "hello", "protocol": 2, "roles": roles, "id": "p", "version": "1.2.3"})
}

/// A program that is connected to a door.
pub struct Program {
    input: BufReader<UnixStream>,
}

impl Program {
    pub fn connect(socket: &Path) -> Program {
        let stream = wait("a socket", || UnixStream::connect(socket).ok());
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        Program { input: BufReader::new(stream) }
    }

    fn stream(&self) -> &UnixStream {
        self.input.get_ref()
    }

    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).unwrap();
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream().write_all(bytes)
    }

    /// The next message; none once the connection is closed.
    pub fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
                    "{error}"
                );
                None
            }
        }
    }

    /// Checks that the connection ends with a sentence, which is returned.
    fn refusal(&mut self) -> String {
        let refused = self.receive().unwrap();
        assert_eq!(refused["type"], "refused");
        assert_eq!(self.receive(), None);
        refused["text"].as_str().unwrap().to_owned()
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

// Where it lies

#[test]
fn only_the_user_can_open_the_socket_and_it_goes_with_the_door() {
    let folder = private();
    let socket = folder.path().join("new/socket");
    let door = open_at(&socket).unwrap();
    assert_eq!((mode(&folder.path().join("new")), mode(&socket)), (0o700, 0o700));
    drop(door);
    assert!(!socket.exists());
}

#[test]
fn a_folder_or_socket_that_is_not_the_users_alone_is_refused_in_words() {
    let folder = private();
    for other in [0o755, 0o770, 0o701] {
        fs::set_permissions(folder.path(), Permissions::from_mode(other)).unwrap();
        let refused = open_at(&folder.path().join("socket")).err().unwrap();
        assert!(refused.contains("must be yours alone"), "{refused}");
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    let link = folder.path().join("link");
    symlink(folder.path(), &link).unwrap();
    assert!(open_at(&link.join("socket")).is_err());
    let file = folder.path().join("socket");
    fs::write(&file, "mine").unwrap();
    assert!(open_at(&file).err().unwrap().contains("not a socket of yours alone"));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    let long = folder.path().join("x".repeat(100));
    assert!(open_at(&long).err().unwrap().contains("100 bytes or longer"));
}

#[test]
fn a_folder_or_socket_of_another_user_is_refused() {
    let folder = private();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, Permissions::from_mode(0o700)).unwrap();
    for path in [&socket, folder.path()] {
        // Only root can give a file away.
        if std::os::unix::fs::lchown(path, Some(12_345), None).is_err() {
            return;
        }
        assert!(open_at(&socket).is_err());
        assert!(socket.exists());
    }
}

#[test]
fn a_stale_socket_is_replaced_and_only_the_lock_is_beside_it() {
    let folder = private();
    let socket = folder.path().join("socket");
    drop(UnixListener::bind(&socket).unwrap());
    fs::set_permissions(&socket, Permissions::from_mode(0o700)).unwrap();
    let door = open_at(&socket).unwrap();
    assert_eq!(door.state(), Some(State::Open));
    let names = fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["socket", "socket.lock"]);
}

#[test]
fn a_door_deletes_no_socket_that_another_process_made_since() {
    let opened = Opened::new();
    fs::remove_file(opened.socket()).unwrap();
    let _other = UnixListener::bind(opened.socket()).unwrap();
    let Opened { folder, door, .. } = opened;
    drop(door);
    assert!(folder.path().join("socket").exists());
}

// Another Emacs

#[test]
#[ignore = "thorough: a race between threads"]
fn no_process_meets_a_socket_that_is_not_private_yet() {
    let folder = private();
    let socket = folder.path().join("socket");
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut met = 0;
            while met < 1_000 {
                let Ok(data) = fs::symlink_metadata(&socket) else { continue };
                assert_eq!(data.mode() & 0o777, 0o700);
                met += 1;
            }
        });
        while !watcher.is_finished() {
            drop(open_at(&socket).unwrap());
        }
    });
}

/// The next state that a door tells.
fn told(events: &Events) -> State {
    wait("a state", || match events.lock().unwrap().pop_front() {
        Some(Event::State(state)) => Some(state),
        _ => None,
    })
}

#[test]
fn a_second_owner_says_who_has_the_socket_and_takes_over_when_that_ends() {
    let first = Opened::new();
    let another = || open(settings(&first.socket(), NEVER), Box::new(|_| None)).unwrap();
    let (second, said) = another();
    assert_eq!(told(&said), State::Client(Some(4711)));
    let (third, said) = another();
    assert_eq!(told(&said), State::Client(Some(4711)));
    let Opened { folder, door, .. } = first;
    drop(door);
    // One of them takes over, and the other one is its client.
    wait_until("a new owner and its client", || {
        let states = [second.state(), third.state()];
        states.contains(&Some(State::Open)) && states.contains(&Some(State::Client(Some(4711))))
    });
    assert!(Program::connect(&folder.path().join("socket")).stream().peer_addr().is_ok());
}

#[test]
fn a_door_that_cannot_take_over_says_so_once_and_tries_again() {
    let first = Opened::new();
    let patience = settings(&first.socket(), Duration::from_millis(1));
    let (_second, said) = open(patience, Box::new(|_| None)).unwrap();
    assert_eq!(told(&said), State::Client(Some(4711)));
    let set_mode = |mode| fs::set_permissions(first.folder.path(), Permissions::from_mode(mode)).unwrap();
    set_mode(0o777);
    drop(first.door);
    let reason = told(&said);
    assert!(matches!(reason, State::Failed(_)), "{reason:?}");
    let socket = first.folder.path().join("socket");
    fs::write(&socket, "").unwrap();
    set_mode(0o700);
    let another = told(&said);
    assert!(matches!(another, State::Failed(_)) && another != reason, "{another:?}");
    fs::remove_file(socket).unwrap();
    assert_eq!(told(&said), State::Open);
}

// Lines

#[test]
fn a_line_may_come_in_pieces_and_lines_together_and_arguments_pass_as_they_came() {
    let opened = Opened::new();
    let (mut program, id) = opened.hello("tool");
    let arguments = r#"{ "todos" :[],"a":1.50,"a":1e400, "é":"\u00e9" }"#;
    let line = format!("{{\"type\":\"call\",\"call\":7,\"arguments\":{arguments}}}\n");
    for byte in line.as_bytes() {
        program.write(&[*byte]).unwrap();
    }
    program.write(line.repeat(2).as_bytes()).unwrap();
    for _ in 0..3 {
        assert_eq!(opened.call(id), (7, arguments.to_owned()));
        assert!(opened.answer(id, 7, "ok"));
        let answer = json!({"type": "answer", "call": 7, "ok": true, "text": "ok"});
        assert_eq!(program.receive(), Some(answer));
    }
}

#[test]
fn an_invalid_line_ends_its_connection_with_a_short_sentence() {
    let opened = Opened::new();
    let deep = "[".repeat(100_000);
    let long = format!(r#"{{"type":"call","call":"{}"}}"#, "x".repeat(100_000));
    let open = format!("{{\"type\":{deep}");
    let lines: [&[u8]; 15] = [
        b"",
        b"(kill-emacs)",
        b"garbage",
        b"null",
        b"[]",
        b"{}",
        br#"{"type":7}"#,
        br#"{"type":"call"}"#,
        br#"{"type":"call","call":-1}"#,
        br#"{"type":"call","call":1,"session":{}}"#,
        br#"{"type":"call","call":1,"arguments":[}"#,
        b"{\"type\":\"call\",\"call\":1,\"session\":\"\xff\"}",
        deep.as_bytes(),
        open.as_bytes(),
        long.as_bytes(),
    ];
    for line in lines {
        let (mut program, id) = opened.hello("tool");
        program.write(line).unwrap();
        program.write(b"\n").unwrap();
        let text = program.refusal();
        assert!((10..400).contains(&text.len()), "{text}");
        opened.wait(|event| matches!(event, Event::Closed(closed) if *closed == id).then_some(()));
    }
    opened.assert_serves();
}

#[test]
fn deep_arguments_reach_the_owner() {
    let opened = Opened::new();
    let (mut program, id) = opened.hello("tool");
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    program.write(format!("{{\"type\":\"call\",\"call\":1,\"arguments\":{deep}}}\n").as_bytes()).unwrap();
    assert_eq!(opened.call(id), (1, deep));
}

#[test]
fn a_call_of_a_mebibyte_passes_and_a_longer_line_ends_its_connection() {
    let opened = Opened::new();
    let (mut program, id) = opened.hello("tool");
    let call = |size: usize| {
        let frame = r#"{"type":"call","call":1,"arguments":""}"#;
        format!("{}\n", frame.replace("\"\"", &format!("\"{}\"", "x".repeat(size - frame.len()))))
    };
    program.write(call(CALL).as_bytes()).unwrap();
    assert!(opened.call(id).1.len() > CALL - 100);
    opened.answer(id, 1, "");
    program.receive().unwrap();
    let _ = program.write(call(CALL + 1).as_bytes());
    assert!(program.refusal().contains("1 MiB"));
    let (mut program, _) = opened.hello("tool");
    // It is cut off long before its end.
    assert!(program.write(&vec![b'x'; 50 << 20]).is_err());
    opened.assert_serves();
}

#[test]
fn a_connection_begins_with_a_hello_in_time_of_a_known_role_and_version() {
    let opened = Opened::new();
    for (line, words) in [
        (json!({"type": "call", "call": 1}), "hello"),
        (json!({"type": "bye"}), "hello"),
        (hello(&["eval"]), "role"),
        (hello(&["tool", "eval"]), "role"),
        (hello(&[]), "role"),
        (json!({"type": "hello", "protocol": 1, "role": "tool", "id": "x"}), "M-x todo-write-setup"),
        (json!({"type": "hello", "protocol": 3, "roles": {"new": 1}}), "M-x todo-write-setup"),
    ] {
        let mut program = opened.connect();
        program.send(&line);
        let text = program.refusal();
        assert!(text.contains(words), "{text}");
    }
    opened.wait(|event| matches!(event, Event::Outdated).then_some(()));
    // That is said once, and no connection began.
    assert!(opened.take().is_none());
    let opened = Opened::with(Duration::from_millis(1), Box::new(|_| None));
    assert!(opened.connect().refusal().contains("without a hello"));
}

#[test]
fn unknown_types_and_fields_are_ignored() {
    let opened = Opened::new();
    let (mut program, id) = opened.hello("tool");
    program.send(&json!({"type": "kill-emacs"}));
    program.send(&json!({"type": "later", "form": "(kill-emacs)"}));
    program.send(&json!({"type": "call", "call": 2, "later": [1]}));
    assert_eq!(opened.call(id).0, 2);
}

/// A door that finds no project of /hangs before what this returns is told or dropped.
fn finding() -> (Opened, Sender<PathBuf>) {
    let (sender, found) = channel();
    let found = Mutex::new(found);
    let finder = move |folder: &Path| match folder.to_str() {
        Some("/hangs") => found.lock().unwrap().recv().ok(),
        Some("/none") => None,
        _ => Some("/garden".into()),
    };
    (Opened::with(NEVER, Box::new(finder)), sender)
}

impl Opened {
    /// A program that works in a folder, and calls at once.
    fn works_in(&self, folder: &str) -> Program {
        let mut program = self.connect();
        let mut greeting = hello(&["tool"]);
        // Only the door says what the root is.
        (greeting["id"], greeting["project"], greeting["root"]) =
            (folder.into(), folder.into(), "/etc".into());
        program.send(&greeting);
        program.send(&json!({"type": "call", "call": 1}));
        program
    }

    /// The folders and roots of the next greetings.
    fn roots(&self, count: usize) -> Vec<(String, Option<String>)> {
        let of_hello = |event: &Event| match event {
            Event::Message(_, Message::Hello(hello)) => Some((hello.id.clone(), hello.root.clone())),
            _ => None,
        };
        let mut roots: Vec<_> = (0..count).map(|_| self.wait(of_hello)).collect();
        roots.sort();
        roots
    }
}

fn root(folder: &str, root: Option<&str>) -> (String, Option<String>) {
    (folder.to_owned(), root.map(str::to_owned))
}

#[test]
fn a_greeting_waits_for_the_root_of_its_project_and_nobody_else_does() {
    let (opened, found) = finding();
    let mut hangs = opened.works_in("/hangs");
    assert_eq!(hangs.receive().unwrap()["type"], "welcome");
    let _others = ["/none", "/garden/bed", "garden"].map(|folder| opened.works_in(folder));
    let roots = opened.roots(3);
    assert_eq!(roots, [root("/garden/bed", Some("/garden")), root("/none", None), root("garden", None)]);
    found.send("/late".into()).unwrap();
    assert_eq!(opened.roots(1), [root("/hangs", Some("/late"))]);
    opened.wait(|event| matches!(event, Event::Message(_, Message::Call(_))).then_some(()));
    opened.assert_serves();
}

#[test]
fn a_program_that_left_while_its_project_was_looked_for_makes_no_call() {
    let (opened, found) = finding();
    let mut program = opened.works_in("/hangs");
    assert_eq!(program.receive().unwrap()["type"], "welcome");
    let is_live = || (1..10_000).any(|id| opened.door.is_live(id));
    assert!(is_live());
    drop(program);
    drop(found);
    wait_until("its end", || !is_live());
    assert_eq!(opened.roots(1), [root("/hangs", None)]);
    opened.wait(|event| match event {
        Event::Message(_, Message::Call(call)) => panic!("{call:?}"),
        Event::Closed(_) => Some(()),
        _ => None,
    });
}

#[test]
fn a_program_of_several_roles_names_that_of_each_call() {
    let opened = Opened::new();
    let mut program = opened.connect();
    program.send(&hello(&["tool", "note"]));
    program.receive().unwrap();
    opened.door.tell("s", true);
    program.send(&json!({"type": "call", "call": 1, "role": "note", "session": "s"}));
    let role = opened.wait(|event| match event {
        Event::Message(_, Message::Call(call)) => Some(call.role),
        _ => None,
    });
    assert_eq!(role, Some(Role::Note));
    for call in [json!({"type": "call", "call": 1}), json!({"type": "call", "call": 1, "role": "plan"})] {
        let mut program = opened.connect();
        program.send(&hello(&["tool", "note"]));
        program.receive().unwrap();
        program.send(&call);
        opened.wait(|event| matches!(event, Event::Message(_, Message::Hello(_))).then_some(()));
        assert!(program.refusal().contains("role"));
    }
}

// Time

/// In milliseconds.
const HOUR: u64 = 3_600_000;

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

#[test]
fn a_call_that_is_taken_too_late_is_dropped_and_the_connection_read_on() {
    let opened = Opened::new();
    let (mut program, id) = opened.hello("tool");
    program.send(&json!({"type": "call", "call": 1, "until": now() - 1}));
    program.send(&json!({"type": "call", "call": 2, "until": now() + HOUR}));
    assert_eq!(opened.call(id).0, 2);
}

// Order, and the ends of connections

#[test]
fn a_program_that_leaves_takes_its_untaken_call_back_and_its_goodbye_arrives() {
    let opened = Opened::new();
    let (mut program, id) = opened.hello("tool");
    program.send(&json!({"type": "call", "call": 1}));
    opened.wait_for_news();
    program.send(&json!({"type": "bye", "killed": true}));
    drop(program);
    opened.wait_for_end(id);
    let mut seen = Vec::new();
    wait("its end", || {
        match opened.take()? {
            Event::Message(of, Message::Bye { killed }) if of == id => seen.push(format!("bye {killed}")),
            Event::Closed(of) if of == id => return Some(()),
            other => panic!("{other:?}"),
        }
        None
    });
    assert_eq!(seen, ["bye true"]);
    assert!(!opened.answer(id, 1, ""));
}

#[test]
fn a_call_is_withdrawn_by_the_end_of_its_connection_and_a_question_by_a_cancel_too() {
    let opened = Opened::new();
    for role in ["tool", "permission"] {
        let (mut program, id) = opened.hello(role);
        program.send(&json!({"type": "call", "call": 1}));
        opened.call(id);
        if role == "permission" {
            program.send(&json!({"type": "cancel", "call": 1}));
            opened.wait(|event| matches!(event, Event::Message(_, Message::Cancel { .. })).then_some(()));
            program.send(&json!({"type": "call", "call": 2}));
            opened.call(id);
        }
        assert!(opened.door.is_live(id));
        drop(program);
        opened.wait_for_end(id);
        opened.wait(|event| matches!(event, Event::Closed(of) if *of == id).then_some(()));
        assert!(!opened.answer(id, 1, "news"));
    }
}

#[test]
fn a_connection_has_eight_open_questions_and_a_machine_twenty() {
    let opened = Opened::new();
    let mut programs: Vec<_> = (0..21).map(|_| opened.hello("permission")).collect();
    for (number, (program, id)) in programs.iter_mut().enumerate() {
        program.send(&json!({"type": "call", "call": 1}));
        if number < 20 {
            opened.call(*id);
        } else {
            let answer = program.receive().unwrap();
            assert_eq!(
                (&answer["ok"], &answer["text"]),
                (&json!(false), &json!("Too many questions are open in Emacs."))
            );
        }
    }
    for (program, id) in programs {
        drop(program);
        opened.wait(|event| matches!(event, Event::Closed(of) if *of == id).then_some(()));
    }
    let (mut first, id) = opened.hello("permission");
    for number in 1..9 {
        first.send(&json!({"type": "call", "call": number}));
        assert_eq!(opened.call(id).0, number);
    }
    first.send(&json!({"type": "call", "call": 9}));
    assert_eq!(first.receive().unwrap()["text"], "Its earlier questions are still open.");
    opened.answer(id, 5, "answered");
    assert_eq!(first.receive().unwrap()["call"], 5);
    first.send(&json!({"type": "call", "call": 10}));
    assert_eq!(opened.call(id).0, 10);
}

// What is answered or found before Emacs hears of it

#[test]
fn only_programs_that_report_sessions_hear_that_there_is_something_to_tell() {
    let opened = Opened::new();
    let (mut tool, id) = opened.hello("tool");
    let (mut plugin, plugin_id) = opened.hello("plan");
    opened.door.tell("ses_1", true);
    opened.door.ring("ses_2");
    let told = plugin.receive().unwrap();
    assert_eq!((&told["type"], &told["session"]), (&json!("tell"), &json!("ses_2")));
    tool.send(&json!({"type": "call", "call": 1}));
    opened.call(id);
    opened.answer(id, 1, "nothing before this");
    assert_eq!(tool.receive().unwrap()["text"], "nothing before this");
    assert!(opened.door.is_live(plugin_id));
}

#[test]
fn the_owner_hears_of_a_hook_only_while_there_is_something_to_tell_its_agent() {
    let opened = Opened::new();
    let ask = |session: Option<&str>| {
        let (mut hook, id) = opened.hello("note");
        hook.send(&json!({"type": "call", "call": 1, "session": session}));
        (hook, id)
    };
    let nothing = json!({"type": "answer", "call": 1, "ok": true, "text": ""});
    opened.door.tell("5e55", true);
    for session in [None, Some("another")] {
        assert_eq!(ask(session).0.receive().as_ref(), Some(&nothing));
    }
    let (mut hook, id) = ask(Some("5e55"));
    assert_eq!(opened.call(id).0, 1);
    opened.answer(id, 1, "The user says: stop");
    assert_eq!(hook.receive().unwrap()["text"], "The user says: stop");
    opened.door.tell("5e55", false);
    assert_eq!(ask(Some("5e55")).0.receive().as_ref(), Some(&nothing));
    while let Some(event) = opened.take() {
        assert!(!matches!(event, Event::Message(_, Message::Call(_))), "{event:?}");
    }
}

#[test]
fn a_note_is_answered_before_the_owner_takes_its_hello() {
    let opened = Opened::new();
    let mut hook = opened.connect();
    hook.send(&hello(&["note"]));
    hook.send(&json!({"type": "call", "call": 1, "session": "5e55"}));
    assert_eq!(hook.receive().unwrap()["type"], "welcome");
    let nothing = json!({"type": "answer", "call": 1, "ok": true, "text": ""});
    assert_eq!(hook.receive(), Some(nothing));
}

#[test]
fn the_owner_hears_of_a_program_in_the_agent_that_asks_what_to_tell_it() {
    let opened = Opened::new();
    let mut plugin = opened.connect();
    plugin.send(&hello(&["plan", "note"]));
    plugin.send(&json!({"type": "call", "call": 1, "role": "note", "session": "ses_1"}));
    opened.wait(|event| matches!(event, Event::Message(_, Message::Call(_))).then_some(()));
}

// Many, large and slow

#[test]
fn a_program_that_reads_nothing_is_left_and_nobody_waits_for_it() {
    let opened = Opened::new();
    let (mut program, id) = opened.hello("tool");
    let text = "x".repeat(100_000);
    let mut calls = 0;
    while opened.door.is_live(id) {
        calls += 1;
        assert!(calls < 1_000);
        if program.write(format!("{{\"type\":\"call\",\"call\":{calls}}}\n").as_bytes()).is_err() {
            break;
        }
        let taken = wait("a call", || match opened.take() {
            Some(Event::Message(_, Message::Call(call))) => Some(Some(call.call)),
            Some(Event::Closed(_)) => Some(None),
            _ => None,
        });
        let Some(call) = taken else { break };
        opened.answer(id, call, &text);
    }
    opened.wait_for_end(id);
    opened.assert_serves();
}

#[test]
fn a_thousand_connections_are_bounded_and_those_that_left_make_room() {
    let opened = Opened::new();
    let mut programs = Vec::new();
    let mut refused = 0;
    for _ in 0..400 {
        let mut program = opened.connect();
        if program.write(format!("{}\n", hello(&["tool"])).as_bytes()).is_err() {
            refused += 1;
            continue;
        }
        match program.receive() {
            Some(message) if message["type"] == "welcome" => programs.push(program),
            _ => refused += 1,
        }
        while opened.take().is_some() {}
    }
    assert_eq!((programs.len(), refused), (200, 200));
    programs.clear();
    for _ in 0..600 {
        drop(opened.connect());
    }
    opened.wait_for_room();
}
