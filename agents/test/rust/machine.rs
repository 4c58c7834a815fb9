//! The hub and machines: this program, which is started again, serves as the program on a machine.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::transcript_law::read_all;
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use todo_write::journal::store::Store;
use todo_write::list::input::Options;
use todo_write::recorder::Recorder;
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::event::{Agent, Event};
use todo_write::wire::program::{Command, Connection, Lost, Machine, Message, Opening, Piece, Settings};
use todo_write::wire::socket::{Answer, Message as Said, PROTOCOL, Welcome};
use todo_write_mcp::follower::Follower;
use todo_write_mcp::hub::{Hub, Local, codex, door, serve};

use crate::codex_daemon;
use crate::common::session::list;
use crate::common::{Folder, NEVER, store, wait, wait_until};
use crate::door::Program;
use crate::hub::local;

const NOW: u64 = 4_000_000_000_000;
/// Names the home of the machine that this program serves.
const HOME: &str = "TODO_WRITE_TEST_MACHINE";

#[test]
fn this_program_serves_as_a_machine() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else { return };
    let local = Local {
        homes: vec![(Agent::Claude, home.join(".claude")), (Agent::Codex, home.join(".codex"))],
        socket: home.join("run/socket"),
        silence: NEVER,
        codex: NEVER,
        home,
    };
    let admit = |_: &str, name: &str| match name {
        "a stranger" => Err("it serves another Emacs".to_owned()),
        _ => Ok(()),
    };
    let end = serve::serve(local, std::io::stdin(), std::io::stdout(), None, admit);
    std::process::exit(end.is_err().into());
}

/// A machine with a home of its own.
struct There {
    name: &'static str,
    home: Folder,
}

impl There {
    fn new(name: &'static str) -> There {
        let home = Folder::new();
        for folder in [".claude/projects/-garden", ".claude/sessions"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        There { name, home }
    }

    /// How it is reached: `shell` runs before the program.
    fn connection(&self, shell: &str) -> Connection {
        let program = std::env::current_exe().unwrap();
        let script = format!(
            "{shell}\nexec env {HOME}={} {} --exact machine::this_program_serves_as_a_machine --nocapture",
            self.home.path().display(),
            program.display()
        );
        Connection {
            machine: Machine { name: self.name.into(), prefix: format!("/ssh:{}:", self.name) },
            command: ["/bin/sh", "-c", &script].map(str::to_owned).to_vec(),
            environment: vec![("PATH".into(), std::env::var("PATH").unwrap())],
            id: "this Emacs".into(),
            name: "a test".into(),
            homes: None,
            door: None,
        }
    }

    fn write(&self, session: &str, text: &str) -> PathBuf {
        let file = self.home.path().join(format!(".claude/projects/-garden/{session}.jsonl"));
        OpenOptions::new().append(true).create(true).open(&file).unwrap().write_all(text.as_bytes()).unwrap();
        file
    }

    fn name_here(&self, file: &Path) -> PathBuf {
        format!("/ssh:{}:{}", self.name, file.display()).into()
    }
}

/// This side: a hub, and the store into which it reads.
struct Here {
    hub: Hub,
    store: Store,
    recorders: Vec<(u64, Recorder)>,
    taken: VecDeque<Message>,
    _folder: Folder,
}

impl Here {
    fn new() -> Here {
        Here::with_silence(NEVER)
    }

    /// One that takes a machine for lost after that silence.
    fn with_silence(silence: Duration) -> Here {
        let folder = Folder::new();
        let settings = Settings { interval: Duration::from_millis(20), ..Settings::default() };
        let hub = Hub::new(Local { silence, ..local(folder.path(), codex::USUAL) });
        hub.obey(Command::Set(settings));
        Here {
            hub,
            store: store(folder.path()),
            recorders: Vec::new(),
            taken: VecDeque::new(),
            _folder: folder,
        }
    }

    fn connect(&mut self, there: &There, shell: &str) {
        self.hub.obey(Command::Connect(Box::new(there.connection(shell))));
        self.connected(there.name);
    }

    fn connected(&mut self, machine: &str) {
        assert_eq!(self.state(machine), None);
    }

    /// The next news of a connection: how it was lost, or that it was made.
    fn state(&mut self, machine: &str) -> Option<Lost> {
        self.wait(|message| match message {
            Message::Connection(name, lost) if name == machine => Some(lost.clone()),
            _ => None,
        })
    }

    fn lost(&mut self, machine: &str) -> (String, bool) {
        let Lost { reason, is_missing } = self.state(machine).unwrap();
        (reason, is_missing)
    }

    fn follow(&mut self, there: &There, file: &Path) -> u64 {
        let id = self.recorders.len() as u64 + 1;
        let follow = Command::Follow { session: id, file: there.name_here(file), is_asked: true };
        self.tell(there.name, follow);
        let machine = there.connection("").machine;
        self.recorders.push((id, Recorder::new(None, Some(machine))));
        id
    }

    fn tell(&self, machine: &str, command: Command) {
        self.hub.obey(Command::There(machine.to_owned(), Box::new(command)));
    }

    fn disconnect(&self, machine: &str) {
        self.hub.obey(Command::Disconnect(machine.to_owned()));
    }

    /// Takes and applies messages until `find` accepts one that was not found before.
    fn wait<T>(&mut self, mut find: impl FnMut(&Message) -> Option<T>) -> T {
        let mut looked_at = 0;
        loop {
            for at in looked_at..self.taken.len() {
                if let Some(found) = find(&self.taken[at]) {
                    self.taken.remove(at);
                    return found;
                }
            }
            looked_at = self.taken.len();
            self.take();
        }
    }

    /// Takes the next message, and applies or keeps it.
    fn take(&mut self) {
        match wait("a message", || self.hub.take(Duration::ZERO)) {
            Message::Events(id, piece) => self.apply(id, piece),
            message => self.taken.push_back(message),
        }
    }

    fn apply(&mut self, id: u64, piece: Piece) {
        let recorder = &mut self.recorders.iter_mut().find(|(known, _)| *known == id).unwrap().1;
        recorder.apply(piece, &mut self.store, false, NOW);
    }

    fn ready(&mut self, id: u64) {
        self.wait(|message| {
            matches!(message, Message::Ready { session, .. } if *session == id).then_some(())
        });
    }

    /// Waits until the list of a thread has this task alone.
    fn shows(&mut self, thread: &str, task: &str) {
        while self.tasks(thread) != [task] {
            self.take();
        }
    }

    fn tasks(&mut self, thread: &str) -> Vec<String> {
        let thread = self.store.get_mut(thread);
        thread.map_or_else(Vec::new, |thread| thread.list().iter().map(|item| item.content.clone()).collect())
    }
}

#[test]
fn a_session_there_is_a_thread_of_that_machine_here() {
    let (there, mut here) = (There::new("build"), Here::new());
    let garden = there.home.path().join("garden");
    fs::create_dir_all(garden.join(".git")).unwrap();
    fs::create_dir_all(garden.join("beds")).unwrap();
    let list = |n, task| list("s", n, task).replace("/garden", &garden.join("beds").display().to_string());
    let file = there.write("s", &list(1, "Dig"));
    here.connect(&there, "");
    let id = here.follow(&there, &file);
    here.ready(id);
    here.shows("build/claude:s", "Dig");
    let about = here.store.get_mut("build/claude:s").unwrap().about().clone();
    assert_eq!(
        about["project"],
        format!("/ssh:build:{}/", garden.display()),
        "the one that its folder is in"
    );
    there.write("s", &list(2, "Plant"));
    here.shows("build/claude:s", "Plant");
}

#[test]
fn machines_with_the_same_session_keep_apart() {
    let (build, test, mut here) = (There::new("build"), There::new("test"), Here::new());
    for (there, task) in [(&build, "Dig"), (&test, "Rake")] {
        here.connect(there, "");
        let file = there.write("s", &list("s", 1, task));
        here.follow(there, &file);
    }
    here.shows("build/claude:s", "Dig");
    here.shows("test/claude:s", "Rake");
    here.disconnect("test");
    build.write("s", &list("s", 2, "Plant"));
    here.shows("build/claude:s", "Plant");
    assert_eq!(here.tasks("test/claude:s"), ["Rake"]);
}

#[test]
fn the_sessions_and_processes_of_a_machine_have_its_names() {
    let (there, mut here) = (There::new("build"), Here::new());
    let file = there.write("s", &list("s", 1, "Dig"));
    let process = json!({"pid": std::process::id(), "sessionId": "s", "cwd": "/garden", "status": "busy"});
    let name = there.home.path().join(format!(".claude/sessions/{}.json", std::process::id()));
    fs::write(name, process.to_string()).unwrap();
    here.connect(&there, "");
    let expected = there.name_here(&file);
    here.wait(|message| match message {
        Message::Found { sessions: found, .. } => found.contains(&expected).then_some(()),
        _ => None,
    });
    let live = here.wait(|message| match message {
        Message::Processes { machine, live, .. } if !live.is_empty() => Some((machine.clone(), live.clone())),
        _ => None,
    });
    assert_eq!(live.0.as_deref(), Some("build"));
    assert_eq!(live.1[0].folder.as_deref(), Some("/ssh:build:/garden"));
    let round = 7;
    here.tell("build", Command::Choose(round, vec!["/garden".into()]));
    let choices = here.wait(|message| match message {
        Message::Choices(answered, choices) if *answered == round => Some(choices.clone()),
        _ => None,
    });
    assert_eq!(choices.len(), 1);
    assert!(choices[0].is_of_project && choices[0].path == expected);
}

#[test]
fn a_connection_that_is_taken_up_again_loses_and_doubles_nothing() {
    let (there, mut here) = (There::new("build"), Here::new());
    let file = there.write("s", &list("s", 1, "Dig"));
    // Its number is the one by which it can be killed: `exec` keeps it.
    here.connect(&there, &format!("echo $$ >{}/pid", there.home.path().display()));
    let id = here.follow(&there, &file);
    here.ready(id);
    let pid = fs::read_to_string(there.home.path().join("pid")).unwrap();
    std::process::Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap();
    assert!(!here.lost("build").1);
    there.write("s", &list("s", 2, "Plant"));
    here.connect(&there, "");
    here.ready(id);
    here.shows("build/claude:s", "Plant");
    let thread = here.store.get_mut("build/claude:s").unwrap();
    assert_eq!(thread.revisions().last(), 2);
}

#[test]
fn no_process_stays_that_an_earlier_connection_told_of() {
    let (there, mut here) = (There::new("build"), Here::new());
    let process = json!({"pid": std::process::id(), "sessionId": "s", "cwd": "/garden", "status": "busy"});
    let name = there.home.path().join(format!(".claude/sessions/{}.json", std::process::id()));
    fs::write(name, process.to_string()).unwrap();
    here.connect(&there, &format!("echo $$ >{}/pid", there.home.path().display()));
    let told = here.wait(|message| match message {
        Message::Processes { home, live, .. } if !live.is_empty() => Some(home.clone()),
        _ => None,
    });
    let pid = fs::read_to_string(there.home.path().join("pid")).unwrap();
    std::process::Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap();
    here.lost("build");
    // This one ends before it tells of any process.
    let mut silent = there.connection("");
    silent.command[2] = "echo todo-write-serve 2; cat".into();
    here.hub.obey(Command::Connect(Box::new(silent)));
    here.disconnect("build");
    here.wait(|message| match message {
        Message::Processes { home, live, .. } => (*home == told && live.is_empty()).then_some(()),
        _ => None,
    });
}

#[test]
fn what_a_login_shell_prints_is_skipped_and_shown_only_if_the_program_fails() {
    let (there, mut here) = (There::new("build"), Here::new());
    here.connect(&there, "echo 'Welcome to build'; printf 'no line feed'; echo oops >&2");
    let mut failing = there.connection("");
    failing.machine.name = "other".into();
    failing.command[2] = "echo 'Welcome to build'; no-such-program serve".into();
    here.hub.obey(Command::Connect(Box::new(failing.clone())));
    let (reason, is_missing) = here.lost("other");
    assert!(
        is_missing && reason.contains("Welcome to build") && reason.contains("no-such-program"),
        "{reason}"
    );
    failing.command[2] = "cat /dev/zero".into();
    here.hub.obey(Command::Connect(Box::new(failing)));
    assert!(here.lost("other").0.contains("said too much"));
}

#[test]
fn another_protocol_and_a_refusal_are_said_in_a_sentence() {
    let (there, mut here) = (There::new("build"), Here::new());
    let mut to = there.connection("");
    to.command[2] = "echo todo-write-serve 7; cat".into();
    here.hub.obey(Command::Connect(Box::new(to)));
    assert!(here.lost("build").0.contains("speaks version 7 of the protocol, and this Emacs 2"));
    let mut to = there.connection("");
    to.name = "a stranger".into();
    here.hub.obey(Command::Connect(Box::new(to)));
    assert_eq!(here.lost("build").0, "it serves another Emacs");
}

#[test]
fn a_machine_that_is_reached_in_another_way_has_no_process_of_the_first_one() {
    let (there, mut here) = (There::new("build"), Here::new());
    let file = there.home.path().join("pid");
    here.connect(&there, &format!("echo $$ >{}", file.display()));
    let first = fs::read_to_string(file).unwrap().trim().parse().ok().and_then(Pid::from_raw).unwrap();
    let mut to = there.connection("");
    to.machine.prefix = "/ssh:me@build:".into();
    here.hub.obey(Command::Connect(Box::new(to)));
    assert!(here.lost("build").0.contains("another way"));
    here.connected("build");
    wait_until("its end", || test_kill_process(first).is_err());
}

#[test]
fn a_machine_that_hangs_is_lost_and_nothing_waits_for_it() {
    let (there, mut here) = (There::new("build"), Here::with_silence(Duration::from_millis(300)));
    let mut to = there.connection("");
    let file = there.home.path().join("pid");
    to.command[2] = format!("echo $$ >{}; echo todo-write-serve 2; kill -STOP $$", file.display());
    here.hub.obey(Command::Connect(Box::new(to)));
    assert!(here.lost("build").0.contains("said nothing"));
    let process = fs::read_to_string(file).unwrap().trim().parse().ok().and_then(Pid::from_raw).unwrap();
    wait_until("its end", || test_kill_process(process).is_err());
}

#[test]
fn a_machine_that_takes_no_commands_is_lost_and_nobody_waits_for_it() {
    let (there, mut here) = (There::new("build"), Here::new());
    let mut to = there.connection("");
    let welcome = r#"echo todo-write-serve 2; echo '{"welcome":{"version":"0.0.0"}}'"#;
    to.command[2] = format!("{welcome}; exec tail -f /dev/null");
    here.hub.obey(Command::Connect(Box::new(to)));
    here.connected("build");
    let command = Command::Ring("s".repeat(10_000));
    let is_lost = |message: &Message| matches!(message, Message::Connection(..));
    while here.taken.iter().all(|message| !is_lost(message)) {
        here.tell("build", command.clone());
        here.taken.extend(here.hub.take(Duration::ZERO));
    }
    assert!(here.lost("build").0.contains("takes no more commands"));
}

#[test]
fn a_call_of_a_program_there_is_answered_from_here() {
    let (there, mut here) = (There::new("build"), Here::new());
    let socket = there.home.path().join("run/socket");
    let mut to = there.connection("");
    let welcome = Welcome { protocol: PROTOCOL, version: "1".into(), process: None };
    to.door = Some(Opening { welcome, ..Opening::default() });
    here.hub.obey(Command::Connect(Box::new(to)));
    here.connected("build");
    let mut program = Program::connect(&socket);
    program.send(&json!({"type": "hello", "protocol": PROTOCOL, "roles": ["tool"], "id": "p",
        "project": "/garden", "process": 1}));
    assert_eq!(program.receive().unwrap()["type"], "welcome");
    program.send(&json!({"type": "call", "call": 7, "session": "../s", "arguments": {"todos": []}}));
    let hello = here.wait(|message| match message {
        Message::DoorThere(name, door::Event::Message(_, Said::Hello(hello))) if name == "build" => {
            Some(hello.clone())
        }
        _ => None,
    });
    assert_eq!((hello.project.as_deref(), hello.process), (Some("/ssh:build:/garden"), None));
    let (connection, call) = here.wait(|message| match message {
        Message::DoorThere(_, door::Event::Message(id, Said::Call(call))) => Some((*id, call.clone())),
        _ => None,
    });
    assert_eq!((call.session, call.arguments.unwrap().get()), (None, r#"{"todos":[]}"#));
    let answer = Answer { call: 7, ok: true, text: "Noted".into(), decision: None };
    here.tell("build", Command::Answer(connection, answer));
    assert_eq!(program.receive().unwrap()["text"], "Noted");
    drop(program);
    here.wait(|message| match message {
        Message::DoorThere(_, door::Event::Closed(id)) if *id == connection => Some(()),
        _ => None,
    });
    here.disconnect("build");
    wait_until("the end of the program", || std::os::unix::net::UnixStream::connect(&socket).is_err());
}

#[test]
fn a_call_of_a_machine_whose_clock_is_behind_is_judged_by_that_clock_only() {
    let (there, mut here) = (There::new("build"), Here::new());
    let mut late = call(1, 7, "tool", "");
    late["door"]["message"][1]["until"] = 1.into();
    let mut unknown = hello(2);
    unknown["door"]["message"][1]["roles"] = json!(["tool", "later"]);
    forge(&mut here, &there, |_| vec![unknown, hello(1), late]);
    let until = here.wait(|message| match message {
        Message::DoorThere(_, door::Event::Message(1, Said::Call(call))) => Some(call.until),
        Message::DoorThere(_, door::Event::Message(2, said)) => panic!("{said:?}"),
        _ => None,
    });
    assert_eq!(until, None);
}

#[test]
fn a_question_of_codex_there_is_answered_here() {
    let (there, mut here, run) = (There::new("build"), Here::new(), Folder::short());
    let answered = codex_daemon::ask(&there.home.path().join(".codex"), run.path());
    let mut to = there.connection("");
    let welcome = Welcome { protocol: PROTOCOL, version: "1".into(), process: None };
    to.door = Some(Opening { welcome, ..Opening::default() });
    here.hub.obey(Command::Connect(Box::new(to)));
    here.connected("build");
    let (id, call) = here.wait(|message| match message {
        Message::DoorThere(_, door::Event::Message(id, Said::Call(call))) => Some((*id, call.clone())),
        _ => None,
    });
    assert!(call.arguments.unwrap().get().contains("npm test"));
    let decision = serde_json::from_value(json!({"behavior": "allow"})).unwrap();
    let answer = Answer { call: call.call, ok: true, text: String::new(), decision: Some(decision) };
    here.tell("build", Command::Answer(id, answer));
    assert_eq!(wait("the answer", answered), json!({"decision": "accept"}));
}

/// Connects to a program that prints what `reports` makes of the number of a session that it was told to
/// follow; returns that.
fn forge(here: &mut Here, there: &There, reports: impl FnOnce(u64) -> Vec<Value>) -> u64 {
    let file = there.home.path().join("forged");
    let mut to = there.connection("");
    let welcome = json!({"welcome": {"version": "6"}});
    to.command[2] = format!(
        "echo todo-write-serve 2; echo '{welcome}'; while read line; do case $line in *follow*) \
         while ! [ -e {file} ]; do sleep 0.01; done; cat {file};; esac; done",
        file = file.display()
    );
    here.hub.obey(Command::Connect(Box::new(to)));
    here.connected(there.name);
    let id = here.follow(there, Path::new("/home/.claude/projects/-garden/s.jsonl"));
    let lines: Vec<String> = reports(id).iter().map(Value::to_string).collect();
    fs::write(file.with_extension("new"), lines.join("\n") + "\n").unwrap();
    fs::rename(file.with_extension("new"), file).unwrap();
    id
}

#[test]
fn a_machine_reaches_no_session_or_file_that_is_not_its_own() {
    let (there, other, mut here) = (There::new("build"), There::new("test"), Here::new());
    let file = other.write("s", &list("s", 1, "Rake"));
    here.connect(&other, "");
    let followed = here.follow(&other, &file);
    here.ready(followed);
    let piece = |key: &str| {
        json!({"events": [], "is_last": true, "is_restart": false, "bytes": 1, "skipped": 0, "size": 0,
        "thread": key, "project": "../../etc", "warning": null, "grew": null, "since": null})
    };
    let process = json!({"pid": 1, "machine": null, "is_suspended": false, "file": "/ssh:test:/x",
        "started_at": null, "session": "../s", "status": "busy", "waiting_for": null, "folder": "/ssh:test:/x",
        "start": null});
    let reports = |own: u64| {
        vec![
            json!({"unreadable": [followed, "forged"]}),
            json!({"events": [followed, piece("claude:s")]}),
            json!({"moved": [own, "/ssh:test:/etc/passwd"]}),
            json!({"events": [own, piece("../../test/claude:s")]}),
            json!({"processes": {"home": "/home/.claude", "machine": "test", "live": [process], "killed": []}}),
            json!({"connection": ["test", {"reason": "forged", "is_missing": false}]}),
            json!({"ready": {"session": own, "has_processes": false}}),
        ]
    };
    let own = forge(&mut here, &there, reports);
    let process = here.wait(|message| match message {
        Message::Processes { home, live, .. } if home.starts_with("/ssh:build:") => live.first().cloned(),
        _ => None,
    });
    assert_eq!(process.machine.as_deref(), Some("build"));
    assert_eq!(process.session, None);
    assert_eq!(process.file, Path::new("/ssh:build:/:/ssh:test:/x"));
    here.ready(own);
    let said = format!("{:?}", here.taken);
    assert!(said.contains(&format!("Moved({own}, \"/ssh:build:/:/ssh:test:/etc/passwd\")")), "{said}");
    assert!(!said.contains("forged"), "{said}");
    assert_eq!(here.store.loaded().count(), 1);
}

/// What the hub of a machine says of the program `id` at its socket.
fn said(id: u64, message: &Value) -> Value {
    json!({"door": {"message": [id, message]}})
}

fn hello(id: u64) -> Value {
    said(
        id,
        &json!({"type": "hello", "protocol": PROTOCOL, "roles": ["tool", "permission"], "id": id.to_string()}),
    )
}

fn call(id: u64, number: u64, role: &str, arguments: &str) -> Value {
    let session = number.to_string();
    said(
        id,
        &json!({"type": "call", "call": number, "role": role, "session": session, "arguments": arguments}),
    )
}

#[test]
fn a_machine_that_passes_a_bound_is_disconnected_with_the_reason() {
    const TOLD: &str = "more than 5000 plans, processes, programs and questions";
    let programs = |count| (0..count).map(hello);
    // Each is in a session of its own.
    let questions = |id: u64, count| (0..count).map(move |number| call(id, number, "permission", ""));
    let plans = (0..5_000).map(|number| call(1, number, "tool", ""));
    let works = (0..5_000).map(|number| {
        said(1, &json!({"type": "activity", "session": number.to_string(), "activity": "working"}))
    });
    let hello_of = |id: u64, client: String| {
        said(
            id,
            &json!({"type": "hello", "protocol": PROTOCOL, "roles": ["tool"], "id": "x", "client": client}),
        )
    };
    let call_of = |id: u64, session: Option<&str>| {
        said(id, &json!({"type": "call", "call": 1, "role": "tool", "session": session, "arguments": ""}))
    };
    let closed = |id: u64| json!({"door": {"closed": id}});
    let clients = |session: Option<&'static str>| {
        (1..=5_001).flat_map(move |id| [hello_of(id, id.to_string()), call_of(id, session), closed(id)])
    };
    let large = "x".repeat(1 << 20);
    let home = |number: u64| {
        let home = format!("/{number}");
        json!({"processes": {"home": home, "machine": null, "live": [], "killed": []}})
    };
    let cases: Vec<(Vec<Value>, &str)> = vec![
        (vec![json!({"welcome": {"version": "6"}})], "it began twice"),
        (programs(5_001).collect(), TOLD),
        ([hello(1)].into_iter().chain(questions(1, 2_500)).collect(), TOLD),
        // A second greeting leaves the first one's questions open.
        (
            [hello(1)]
                .into_iter()
                .chain(questions(1, 2_499))
                .chain([hello(1), call(1, 2_499, "permission", "")])
                .collect(),
            TOLD,
        ),
        (vec![hello(1), call(1, 1, "tool", &large)], "would not take"),
        ([hello(1)].into_iter().chain(plans).collect(), TOLD),
        ([hello(1)].into_iter().chain(works).collect(), TOLD),
        (clients(None).collect(), TOLD),
        (clients(Some("s")).collect(), TOLD),
        ((0..5_001).map(home).collect(), TOLD),
    ];
    let (there, mut here) = (There::new("build"), Here::new());
    for (reports, words) in cases {
        forge(&mut here, &there, |_| reports);
        let reason = here.lost("build").0;
        assert!(reason.contains(words), "{reason}");
        here.disconnect("build");
        here.taken.clear();
        fs::remove_file(there.home.path().join("forged")).unwrap();
    }
    // As many as may be are no reason.
    let ready = |id: u64| json!({"ready": {"session": id, "has_processes": false}});
    let id = forge(&mut here, &there, |id| {
        [hello(1)].into_iter().chain(questions(1, 2_499)).chain([hello(1), ready(id)]).collect()
    });
    here.ready(id);
}

#[test]
fn large_calls_of_a_machine_wait_there_and_another_one_goes_on() {
    const LARGE: usize = 900_000;
    let (build, test, mut here) = (There::new("build"), There::new("test"), Here::new());
    let file = test.write("s", &list("s", 1, "Rake"));
    here.connect(&test, "");
    here.follow(&test, &file);
    let arguments = "x".repeat(LARGE);
    let calls = (0..20).flat_map(|id| [hello(id), call(id, 1, "tool", &arguments)]);
    forge(&mut here, &build, |_| calls.collect());
    wait_until("a call", || here.hub.waiting_bytes() >= LARGE);
    let mut count = 0;
    while count < 20 {
        let waiting = here.hub.waiting_bytes();
        assert!(waiting < 3 * LARGE, "{waiting}");
        match wait("a message", || here.hub.take(Duration::ZERO)) {
            Message::Events(id, piece) => here.apply(id, piece),
            Message::DoorThere(_, door::Event::Message(_, Said::Call(_))) => count += 1,
            _ => {}
        }
    }
    here.shows("test/claude:s", "Rake");
}

/// The events of a transcript, as far as one read has them.
fn events(file: &Path) -> Vec<Event> {
    let mut follower = Follower::new(file.to_owned(), Options::default());
    read_all(&mut follower).unwrap().events
}

#[test]
fn an_event_is_the_same_after_it_came_through_a_pipe() {
    let mut count = 0;
    for entry in fs::read_dir(crate::common::root().join("test/fixtures/transcripts")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for event in events(&path) {
                let text = serde_json::to_string(&event).unwrap();
                assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn a_list_that_no_call_could_have_sent_is_dropped() {
    let (there, mut here) = (There::new("build"), Here::new());
    let file = there.write("s", &list("s", 1, "Dig"));
    let good = serde_json::to_string(&events(&file)).unwrap();
    let long = "x".repeat(Options::default().max_length + 1);
    let report = |id: u64, n: usize, task: &str| {
        let (old, new) = ("\"session\":\"s\"", format!("\"session\":\"s{n}\""));
        let events: Value = serde_json::from_str(&good.replace("Dig", task).replace(old, &new)).unwrap();
        let piece = json!({"events": events, "is_last": true, "is_restart": false, "bytes": 1, "skipped": 0, "size": 0,
            "thread": format!("claude:s{n}"), "project": null, "warning": null, "grew": null, "since": null});
        let report = json!({"events": [id, piece]});
        assert!(serde_json::from_value::<Message>(report.clone()).is_ok());
        report
    };
    forge(&mut here, &there, |id| {
        let tasks = ["two\\nlines", "\\u0007", "", &long, "Dig"];
        let reports = tasks.into_iter().enumerate().map(|(n, task)| report(id, n, task));
        let mut reports: Vec<Value> = reports.collect();
        // As the work of a subagent, one would be written unchecked.
        let mut nested = report(id, 5, "\\u0007");
        for event in nested["events"][1]["events"].as_array_mut().unwrap() {
            let kind = event["kind"].take();
            event["kind"] = json!({"OfSubagent": {"subagent": "a", "call": null, "kind": kind}});
        }
        assert!(serde_json::from_value::<Message>(nested.clone()).is_ok());
        let mut many = report(id, 6, "Dig");
        for event in many["events"][1]["events"].as_array_mut().unwrap() {
            if let Some(plan) = event["kind"].pointer_mut("/List/Ok") {
                plan["notices"] = vec!["repaired"; ENTRIES + 1].into();
            }
        }
        reports.splice(0..0, [nested, many]);
        reports
    });
    here.shows("build/claude:s4", "Dig");
    for n in [0, 1, 2, 3, 5, 6] {
        assert!(here.tasks(&format!("build/claude:s{n}")).is_empty(), "{n}");
    }
}
