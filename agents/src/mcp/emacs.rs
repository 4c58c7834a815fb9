//! The connection to the running Emacs: a socket with one JSON object a line each way.
//!
//! `doc/protocol.md` describes the messages. The agent's input is passed on as it is; nothing of it is
//! evaluated, or stands on a command line or in a file.

use std::fs::{read_link, symlink_metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use todo_write::events::millis_of;
use todo_write::wire::bounds::CALL;
use todo_write::wire::socket::{
    Answer, Call, Hello, Message, NO_EMACS, PROTOCOL, Reply, Role, SessionActivity, line,
};
use todo_write_mcp::hub::door::{connect, is_private_folder, is_private_socket, usual};
use todo_write_mcp::lines::{Line, Lines};

/// Time limit of what happens between calls: a message, or an attempt to reconnect.
const LIMIT_BETWEEN: Duration = Duration::from_secs(5);
/// How long an answer may take from Emacs to a program that waits for little.
const WAY: Duration = Duration::from_millis(50);

#[derive(Debug, PartialEq)]
enum Failure {
    /// No Emacs listens.
    Absent,
    /// Emacs does not answer in time.
    Silent,
    /// A sentence of Emacs, or about a socket that must not be used.
    Refused(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // The queue of a socket is full, or Emacs does not read it.
        if error.kind() == ErrorKind::WouldBlock { Failure::Silent } else { Failure::Absent }
    }
}

impl Failure {
    fn answer(self) -> Answer {
        let text = match self {
            Failure::Absent => format!(
                "Emacs does not answer; go on without the list, and tell the user to run \
                 M-x todo-write-agents-mode in Emacs. {NO_EMACS}"
            ),
            Failure::Silent => format!("Emacs does not answer; go on without the list. {NO_EMACS}"),
            Failure::Refused(text) => text,
        };
        Answer { text, ..Answer::default() }
    }
}

/// The answer to a call for which Emacs has no time.
pub fn no_time() -> Answer {
    Failure::Silent.answer()
}

/// The Emacs that listens, and what it is told of this program.
pub struct Emacs {
    /// The socket at which it listens, if the user named that.
    door: Option<PathBuf>,
    /// What Emacs is told when a connection begins.
    pub hello: Hello,
    /// What it is told next: what the agent does.
    pub activity: Option<SessionActivity>,
    connection: Option<Connection>,
    calls: u64,
}

impl Emacs {
    /// The Emacs that listens at DOOR, or at the usual one, told of this program's ROLE.
    pub fn new(door: Option<PathBuf>, role: Role) -> Self {
        let hello = Hello {
            protocol: PROTOCOL,
            roles: vec![role],
            // Without it no connection is opened.
            id: random().unwrap_or_default(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            process: Some(std::process::id()),
            pid_domain: read_link("/proc/self/ns/pid").ok().and_then(|name| Some(name.to_str()?.to_owned())),
            started: millis_of(SystemTime::now()),
            ..Hello::default()
        };
        Emacs { door, hello, activity: None, connection: None, calls: 0 }
    }

    /// Passes CALL to Emacs and returns the answer, or an error at END.
    pub fn ask(&mut self, mut call: Call, end: Instant) -> Answer {
        // Emacs drops a call after this time, because the agent already has an error.
        call.until = millis_of(SystemTime::now() + end.saturating_duration_since(Instant::now()));
        // Emacs gives the same answer if the connection breaks, and the call is sent again.
        call.sent = random();
        let Some(line) = self.line_of(call) else {
            return Failure::Refused("The list is larger than 1 MiB; send a shorter one.".into()).answer();
        };
        let mut exchange = || {
            let is_new = self.connect(end)?;
            match self.call(&line, end) {
                // It broke before, or now.
                Err(Failure::Absent) if !is_new => self.connect(end).and_then(|_| self.call(&line, end)),
                answered => answered,
            }
        };
        exchange().unwrap_or_else(Failure::answer)
    }

    /// Passes CALL to Emacs, which must be reached within REACH. Returns the answer if it is not an error and
    /// comes within LIMIT.
    pub fn ask_user(&mut self, mut call: Call, reach: Duration, limit: Duration) -> Option<Answer> {
        let begun = Instant::now();
        // What Emacs answers too late is lost, though Emacs takes it for told.
        call.until = millis_of(SystemTime::now() + limit - WAY.min(limit / 2));
        let line = self.line_of(call)?;
        self.connect(begun + reach).ok()?;
        self.call(&line, begun + limit).ok().filter(|answer| answer.ok)
    }

    /// Connects unless there is a connection; returns whether it is new.
    fn connect(&mut self, end: Instant) -> Result<bool, Failure> {
        if self.connection.as_mut().is_some_and(Connection::is_open) {
            return Ok(false);
        }
        self.connection = None;
        if self.hello.id.is_empty() {
            return Err(Failure::Absent);
        }
        let door = self.door();
        check(&door)?;
        let mut connection = Connection::new(connect(&door).map_err(io::Error::from)?)?;
        connection.tell(&Message::Hello(Box::new(self.hello.clone())), end)?;
        if !matches!(connection.receive(end)?, Reply::Welcome(_)) {
            return Err(Failure::Absent);
        }
        if let Some(activity) = &self.activity {
            connection.tell(&Message::Activity(activity.clone()), end)?;
        }
        self.connection = Some(connection);
        Ok(true)
    }

    /// Tells what an agent does, if there is a connection. One that does not take it is given up, since
    /// calls wait meanwhile.
    pub fn tell(&mut self, activity: SessionActivity) {
        let end = Instant::now() + LIMIT_BETWEEN;
        let message = Message::Activity(activity);
        self.connection.take_if(|connection| connection.tell(&message, end).is_err());
    }

    /// Reconnects if the connection broke.
    pub fn keep_up(&mut self) {
        if self.calls > 0 {
            // The next call says that there is none.
            let _ = self.connect(Instant::now() + LIMIT_BETWEEN);
        }
    }

    /// Says that the sessions of this program have ended, and whether the agent was killed.
    pub fn bye(&mut self, is_killed: bool, end: Instant) {
        if self.calls > 0 && self.connect(end).is_ok() {
            let bye = Message::Bye { killed: is_killed };
            self.connection.take_if(|connection| connection.tell(&bye, end).is_err());
        }
    }

    /// The socket at which to look for Emacs. The usual one changes when the user logs in or out.
    pub fn door(&self) -> PathBuf {
        self.door.clone().unwrap_or_else(usual)
    }

    /// Numbers a call; returns its line unless that is too large.
    fn line_of(&mut self, call: Call) -> Option<Vec<u8>> {
        self.calls += 1;
        let line = line(&Message::Call(Call { call: self.calls, ..call }));
        line.ok().filter(|line| line.len() <= CALL)
    }

    /// Sends LINE, the last call, and reads its answer. A connection that fails is given up, but not one whose
    /// answer may still come.
    fn call(&mut self, line: &[u8], end: Instant) -> Result<Answer, Failure> {
        let mut connection = self.connection.take().ok_or(Failure::Absent)?;
        connection.send(line, end)?;
        let answered = loop {
            match connection.receive(end) {
                Ok(Reply::Answer(answer)) if answer.call == self.calls => break Ok(answer),
                // The answer to an earlier call may have come too late.
                Ok(_) => {}
                Err(failure) => break Err(failure),
            }
        };
        if matches!(answered, Ok(_) | Err(Failure::Silent)) {
            self.connection = Some(connection);
        }
        answered
    }
}

/// A connection, and what Emacs says by it.
struct Connection {
    stream: UnixStream,
    lines: Lines<UnixStream>,
}

impl Connection {
    fn new(stream: UnixStream) -> io::Result<Self> {
        let lines = Lines::new(stream.try_clone()?, CALL);
        Ok(Connection { stream, lines })
    }

    /// Whether Emacs has not closed it, as far as is known. Answers that came too late are dropped.
    fn is_open(&mut self) -> bool {
        let rest = self.stream.set_nonblocking(true).and_then(|()| {
            while self.lines.next_line()?.is_some() {}
            Ok(())
        });
        let is_waiting = rest.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        is_waiting && self.stream.set_nonblocking(false).is_ok()
    }

    fn tell(&self, message: &Message, end: Instant) -> Result<(), Failure> {
        self.send(&line(message).map_err(io::Error::from)?, end)
    }

    /// Sends a line. If that fails, a part of it may have been sent.
    fn send(&self, mut line: &[u8], end: Instant) -> Result<(), Failure> {
        // A time limit of the system is one for each write.
        while !line.is_empty() {
            self.stream.set_write_timeout(Some(left(end)?))?;
            match (&self.stream).write(line) {
                Ok(length) => line = &line[length..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn receive(&mut self, end: Instant) -> Result<Reply, Failure> {
        self.stream.set_read_timeout(Some(left(end)?))?;
        let Some(Line::Whole(line)) = self.lines.next_line()? else { return Err(Failure::Absent) };
        match serde_json::from_slice(line).map_err(io::Error::from)? {
            Reply::Refused { text } => Err(Failure::Refused(text)),
            reply => Ok(reply),
        }
    }
}

/// The time until END.
fn left(end: Instant) -> Result<Duration, Failure> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Failure::Silent) } else { Ok(left) }
}

/// Checks that only this user can have made SOCKET.
fn check(socket: &Path) -> Result<(), Failure> {
    let name = socket.display();
    if socket.as_os_str().len() >= 100 {
        let text = format!("The socket's name {name} is 100 bytes or longer; go on without the list.");
        return Err(Failure::Refused(text));
    }
    if symlink_metadata(socket).is_err() {
        return Err(Failure::Absent);
    }
    if socket.parent().is_some_and(is_private_folder) && is_private_socket(socket) {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "The socket {name} or its folder is not the user's alone; go on without the list, and tell the user."
    )))
}

/// 128 random bits.
fn random() -> Option<String> {
    Some(format!("{:016x}{:016x}", getrandom::u64().ok()?, getrandom::u64().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::fs::Permissions;
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::sync::Barrier;
    use std::thread;
    use todo_write::wire::socket::Welcome;

    /// How long a test waits. Its only purpose is to end a hang.
    fn deadline() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_socket_with_a_long_name_is_refused_in_words() {
        let mut emacs = Emacs::new(Some(format!("/tmp/{}", "x".repeat(95)).into()), Role::Tool);
        let answer = emacs.ask(Call::default(), deadline());
        assert!(!answer.ok && answer.text.contains("100 bytes or longer"), "{}", answer.text);
    }

    /// A socket in a new folder, and who listens there.
    fn listener(name: &str) -> (PathBuf, UnixListener) {
        let folder = std::env::temp_dir().join(format!("emacs-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let socket = folder.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        std::fs::set_permissions(&socket, Permissions::from_mode(0o600)).unwrap();
        (socket, listener)
    }

    /// Emacs' side of a connection.
    struct Program(BufReader<UnixStream>);

    impl Program {
        /// Welcomes the next program; returns its hello, too.
        fn welcome(listener: &UnixListener) -> (Program, Value) {
            let mut program = Program(BufReader::new(listener.accept().unwrap().0));
            let hello = program.sent();
            let version = env!("CARGO_PKG_VERSION").to_owned();
            let welcome = line(&Reply::Welcome(Welcome { version, ..Welcome::default() })).unwrap();
            program.0.get_mut().write_all(&welcome).unwrap();
            (program, hello)
        }

        /// A line that the program sent.
        fn sent(&mut self) -> Value {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        }

        /// Answers CALL.
        fn answer(&mut self, call: &Value) {
            let answer = json!({"type": "answer", "call": call["call"], "ok": true, "text": "1/1"});
            self.0.get_mut().write_all(format!("{answer}\n").as_bytes()).unwrap();
        }
    }

    #[test]
    fn a_message_that_emacs_does_not_take_ends_the_connection() {
        let (door, listener) = listener("full");
        let mut emacs = Emacs::new(Some(door), Role::Tool);
        let server = thread::spawn(move || Program::welcome(&listener));
        assert_eq!(emacs.connect(deadline()), Ok(true));
        let _program = server.join().unwrap();
        let reason = Some("x".repeat(CALL));
        emacs.tell(SessionActivity { reason, ..SessionActivity::default() });
        assert!(emacs.connection.is_none());
    }

    #[test]
    fn a_line_that_a_time_limit_interrupts_is_read_on() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut connection = Connection::new(ours).unwrap();
        theirs.write_all(br#"{"type":"answer","call":1,"#).unwrap();
        let soon = Instant::now() + Duration::from_millis(20);
        assert_eq!(connection.receive(soon).err(), Some(Failure::Silent));
        theirs.write_all(b"\"ok\":true}\n").unwrap();
        let Ok(Reply::Answer(answer)) = connection.receive(deadline()) else { panic!() };
        assert!(answer.ok);
    }

    #[test]
    fn a_call_is_sent_again_with_its_id_if_the_connection_breaks_before_the_answer() {
        let (door, listener) = listener("again");
        let mut emacs = Emacs::new(Some(door), Role::Tool);
        let server = thread::spawn(move || {
            let mut program = Program::welcome(&listener).0;
            let first = program.sent();
            // That to an earlier call, which came too late, is skipped.
            program.answer(&json!({"call": 0}));
            program.answer(&first);
            let call = program.sent();
            drop(program);
            let mut program = Program::welcome(&listener).0;
            let again = program.sent();
            program.answer(&again);
            (call, again)
        });
        for number in 1..=2 {
            let answer = emacs.ask(Call::default(), deadline());
            assert!(answer.ok && answer.call == number);
        }
        let (call, again) = server.join().unwrap();
        assert_eq!(call, again);
        assert!(call["sent"].is_string(), "{call}");
    }

    #[test]
    fn the_next_connection_hears_of_what_the_agent_does() {
        let (door, listener) = listener("next");
        let mut emacs = Emacs::new(Some(door), Role::Tool);
        let broken = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut program = Program::welcome(&listener).0;
                let call = program.sent();
                program.answer(&call);
                broken.wait();
                drop(program);
                let mut program = Program::welcome(&listener).0;
                assert_eq!(program.sent()["activity"], "serving");
                let call = program.sent();
                program.answer(&call);
            });
            assert!(emacs.ask(Call::default(), deadline()).ok);
            let activity = "serving".to_owned();
            emacs.activity = Some(SessionActivity { activity, ..SessionActivity::default() });
            assert!(!emacs.ask(Call::default(), Instant::now()).ok);
            broken.wait();
            assert!(emacs.ask(Call::default(), deadline()).ok);
        });
    }
}
