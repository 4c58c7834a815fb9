//! The connection to the running Emacs: a socket with one JSON object a line each way.
//!
//! `doc/protocol.md` describes the messages. The agent's input is passed on as it is; nothing of it is
//! evaluated, or stands on a command line or in a file.

use std::fs::symlink_metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use todo_write::hub::door::{is_private_folder, is_private_socket, usual};
use todo_write::protocol::{
    Answer, Bye, Call, Hello, LARGEST, Message, NO_EMACS, PROTOCOL, Reply, Role, SessionActivity, Welcome,
    line,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

/// Time limit of what happens between calls: a message, or an attempt to reconnect.
const LIMIT_BETWEEN: Duration = Duration::from_secs(5);
/// How long an answer may take from Emacs to a program that waits for little.
const WAY: Duration = Duration::from_millis(50);
/// The number of doors that can be tried within a time limit if none answers.
const DOORS: u32 = 2;

#[derive(Debug, PartialEq)]
enum Failure {
    /// No Emacs listens.
    Absent,
    Silent,
    TooLarge,
    /// A sentence of Emacs, or about a socket that must not be used.
    Refused(String),
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Self {
        Failure::Absent
    }
}

impl Failure {
    fn answer(self) -> Answer {
        let text = match self {
            Failure::Absent => format!(
                "Emacs does not answer; go on without the list, and tell the user to run \
                 M-x todo-write-mcp-mode in Emacs. {NO_EMACS}"
            ),
            Failure::Silent => format!("Emacs does not answer; go on without the list. {NO_EMACS}"),
            Failure::TooLarge => "The list is larger than 1 MiB; send a shorter one.".into(),
            Failure::Refused(text) => text,
        };
        Answer { text, ..Answer::default() }
    }
}

/// The Emacs that listens, and what it is told of this program.
pub struct Emacs {
    /// The socket at which it listens, if the user named that.
    door: Option<PathBuf>,
    hello: std::sync::Mutex<Hello>,
    /// Serializes calls in the order of their arrival.
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
    connection: Option<Connection>,
    calls: u64,
    /// Sentences for the agent, to add to the next result.
    notes: Vec<String>,
    /// The time of the first call that did not reach Emacs since the last connection.
    lost: Option<u64>,
    /// The last message about the agent's activity.
    state: Option<SessionActivity>,
}

impl Emacs {
    /// The Emacs that listens at DOOR, or at a usual one, told of this program's ROLE.
    pub fn new(door: Option<PathBuf>, role: Role) -> Self {
        let hello = Hello {
            protocol: PROTOCOL,
            roles: vec![role],
            // Without it no connection is opened.
            id: random().unwrap_or_default(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            process: Some(std::process::id()),
            parent: Some(std::os::unix::process::parent_id()),
            pid_domain: std::fs::read_link("/proc/self/ns/pid")
                .ok()
                .and_then(|domain| Some(domain.to_str()?.to_owned())),
            started: Some(milliseconds(SystemTime::now())),
            claude_folder: std::env::var("CLAUDE_CONFIG_DIR").ok(),
            codex_folder: std::env::var("CODEX_HOME").ok(),
            ..Hello::default()
        };
        Emacs { door, hello: hello.into(), link: Link::default().into() }
    }

    /// Changes what Emacs is told when a connection begins.
    pub fn introduce(&self, change: impl FnOnce(&mut Hello)) {
        if let Ok(mut hello) = self.hello.lock() {
            change(&mut hello);
        }
    }

    /// Passes CALL to Emacs and returns the answer, or an error after LIMIT.
    pub async fn ask(&self, mut call: Call, limit: Duration) -> Answer {
        let begun = milliseconds(SystemTime::now());
        // Emacs drops a call after this time, because the agent already has an error.
        call.until = Some(begun.saturating_add(whole(limit)));
        // Emacs gives the same answer if the connection breaks, and the call is sent again.
        call.sent = random();
        let deadline = Instant::now() + limit;
        // Without the link in time, an earlier call waits for Emacs.
        let Ok(mut link) = timeout_at(deadline, self.link.lock()).await else {
            return Failure::Silent.answer();
        };
        let asked = timeout_at(deadline, self.exchange(&mut link, call, limit)).await;
        asked.unwrap_or(Err(Failure::Silent)).unwrap_or_else(|failure| {
            if failure != Failure::TooLarge {
                link.lost.get_or_insert(begun);
            }
            failure.answer()
        })
    }

    /// Passes CALL to Emacs, which must be reached within REACH. Returns the answer if it is not an error and
    /// comes within LIMIT.
    pub async fn ask_user(&self, mut call: Call, reach: Duration, limit: Duration) -> Option<Answer> {
        let until = SystemTime::now() + limit;
        // What Emacs answers too late is lost, though Emacs takes it for told.
        call.until = Some(milliseconds(until - WAY.min(limit / 2)));
        let mut link = self.link.lock().await;
        timeout(reach, self.connect(&mut link, reach)).await.ok()?.ok()?;
        let (line, number) = link.line_of(call).ok()?;
        let left = until.duration_since(SystemTime::now()).unwrap_or_default();
        timeout(left, link.call(&line, number)).await.ok()?.ok().filter(|answer| answer.ok)
    }

    /// Sends CALL, by a new connection if the old one has broken, and reads its answer. The caller waits
    /// for LIMIT.
    async fn exchange(
        &self,
        link: &mut MutexGuard<'_, Link>,
        call: Call,
        limit: Duration,
    ) -> Result<Answer, Failure> {
        let (line, number) = link.line_of(call)?;
        let is_new = self.connect(link, limit).await?;
        let mut answered = link.call(&line, number).await;
        if answered == Err(Failure::Absent) && !is_new {
            link.connection = None;
            self.connect(link, limit).await?;
            answered = link.call(&line, number).await;
        }
        if matches!(answered, Err(Failure::Absent | Failure::Refused(_))) {
            link.connection = None;
        }
        let mut answer = answered?;
        for note in std::mem::take(&mut link.notes) {
            answer.text.push('\n');
            answer.text.push_str(&note);
        }
        Ok(answer)
    }

    /// Connects unless there is a connection; returns whether it is new. The caller waits for LIMIT.
    async fn connect(&self, link: &mut Link, limit: Duration) -> Result<bool, Failure> {
        if let Some(connection) = &mut link.connection
            && connection.is_usable().await
        {
            return Ok(false);
        }
        link.connection = None;
        let mut hello = self.hello.lock().map(|hello| hello.clone()).unwrap_or_default();
        hello.lost = link.lost;
        let (mut connection, welcome) = Connection::first(self.doors(), &hello, limit / DOORS).await?;
        let (ours, theirs) = (env!("CARGO_PKG_VERSION"), welcome.version);
        if ours != theirs {
            let note = format!(
                "todo-write-mcp is version {ours}, and todo-write in Emacs is {theirs}: tell the user to run \
                 M-x todo-write-mcp-setup in Emacs again."
            );
            // Many connections may begin and end between two calls.
            if !link.notes.contains(&note) {
                link.notes.push(note);
            }
        }
        if let Some(state) = &link.state {
            connection.tell(&Message::Activity(state.clone())).await?;
        }
        link.lost = None;
        link.connection = Some(connection);
        Ok(true)
    }

    /// Tells what an agent does, if there is a connection. One that does not take it is given up, since
    /// calls wait for the link.
    pub async fn tell(&self, activity: SessionActivity) {
        let mut link = self.link.lock().await;
        if let Some(connection) = &mut link.connection {
            let told = timeout(LIMIT_BETWEEN, connection.tell(&Message::Activity(activity))).await;
            if !matches!(told, Ok(Ok(()))) {
                link.connection = None;
            }
        }
    }

    /// Tells STATE again whenever a connection begins.
    pub async fn remember(&self, state: SessionActivity) {
        self.link.lock().await.state = Some(state);
    }

    /// Reconnects if the connection broke or a call was lost.
    pub async fn keep_up(&self) {
        let mut link = self.link.lock().await;
        if link.calls > 0 {
            let _ = timeout(LIMIT_BETWEEN, self.connect(&mut link, LIMIT_BETWEEN)).await;
        }
    }

    /// Says that the sessions of this program have ended, and whether the agent was killed.
    pub async fn bye(&self, is_killed: bool, limit: Duration) {
        let _ = timeout(limit, async {
            let mut link = self.link.lock().await;
            if link.calls > 0
                && self.connect(&mut link, limit).await.is_ok()
                && let Some(connection) = &mut link.connection
            {
                let _ = connection.tell(&Message::Bye(Bye { killed: is_killed })).await;
            }
        })
        .await;
    }

    pub async fn check(&self, limit: Duration) -> Answer {
        let mut link = self.link.lock().await;
        let checked = timeout(limit, async {
            self.connect(&mut link, limit).await?;
            let (line, number) = link.line_of(Call::default())?;
            link.call(&line, number).await
        });
        checked.await.unwrap_or(Err(Failure::Silent)).unwrap_or_else(Failure::answer)
    }

    /// The sockets at which to look for Emacs, the likeliest first.
    pub fn doors(&self) -> Vec<PathBuf> {
        self.door.clone().map_or_else(usual, |door| vec![door])
    }
}

impl Link {
    /// Numbers a call; returns its line and number.
    fn line_of(&mut self, call: Call) -> Result<(Vec<u8>, u64), Failure> {
        self.calls += 1;
        let line = line_of(&Message::Call(Call { call: self.calls, ..call }))?;
        if line.len() > LARGEST { Err(Failure::TooLarge) } else { Ok((line, self.calls)) }
    }

    /// Sends LINE, the call NUMBER, and reads its answer.
    async fn call(&mut self, line: &[u8], number: u64) -> Result<Answer, Failure> {
        let connection = self.connection.as_mut().ok_or(Failure::Absent)?;
        connection.send(line).await?;
        loop {
            match connection.receive().await? {
                Reply::Answer(answer) if answer.call == number => return Ok(answer),
                Reply::Refused(refused) => return Err(Failure::Refused(refused.text)),
                // An answer to an earlier call came too late.
                _ => {}
            }
        }
    }
}

struct Connection {
    #[cfg(test)]
    door: PathBuf,
    stream: BufReader<UnixStream>,
    /// The incomplete current line: `receive` can be cancelled by a time limit.
    line: Vec<u8>,
    /// Whether a line may have been sent in part.
    is_sending: bool,
}

impl Connection {
    /// Connects at the first of DOORS where this user's Emacs takes HELLO, and returns its welcome, too.
    /// While a door does not answer, the next one is tried after PATIENCE.
    async fn first(
        doors: Vec<PathBuf>,
        hello: &Hello,
        patience: Duration,
    ) -> Result<(Self, Welcome), Failure> {
        let mut failure = Failure::Absent;
        let (mut doors, mut attempts) = (doors.into_iter(), JoinSet::new());
        loop {
            let next = doors.next();
            let wait = if next.is_some() { patience } else { Duration::MAX };
            if let Some(door) = next {
                attempts.spawn(Connection::open(door, hello.clone()));
            }
            match timeout(wait, attempts.join_next()).await {
                Ok(Some(Ok(Ok(opened)))) => return Ok(opened),
                Ok(Some(Ok(Err(other)))) if failure == Failure::Absent => failure = other,
                Ok(None) => return Err(failure),
                _ => {}
            }
        }
    }

    async fn open(door: PathBuf, mut hello: Hello) -> Result<(Self, Welcome), Failure> {
        if hello.id.is_empty() {
            return Err(Failure::Absent);
        }
        check(&door)?;
        let stream = UnixStream::connect(&door).await?;
        let mut connection = Connection {
            #[cfg(test)]
            door,
            stream: BufReader::new(stream),
            line: Vec::new(),
            is_sending: false,
        };
        hello.now = Some(milliseconds(SystemTime::now()));
        connection.tell(&Message::Hello(Box::new(hello))).await?;
        match connection.receive().await? {
            Reply::Welcome(welcome) => Ok((connection, welcome)),
            Reply::Refused(refused) => Err(Failure::Refused(refused.text)),
            _ => Err(Failure::Absent),
        }
    }

    /// Returns whether the connection can take another line, as far as is known.
    async fn is_usable(&mut self) -> bool {
        if self.is_sending {
            return false;
        }
        match timeout(Duration::ZERO, self.stream.fill_buf()).await {
            Ok(read) => read.is_ok_and(|bytes| !bytes.is_empty()),
            Err(_) => true,
        }
    }

    async fn tell(&mut self, message: &Message) -> io::Result<()> {
        self.send(&line_of(message)?).await
    }

    async fn send(&mut self, line: &[u8]) -> io::Result<()> {
        self.is_sending = true;
        self.stream.write_all(line).await?;
        self.is_sending = false;
        Ok(())
    }

    async fn receive(&mut self) -> Result<Reply, Failure> {
        let left = LARGEST.saturating_sub(self.line.len()) as u64;
        let read = (&mut self.stream).take(left).read_until(b'\n', &mut self.line).await?;
        if read == 0 || !self.line.ends_with(b"\n") {
            return Err(Failure::Absent);
        }
        serde_json::from_slice(&std::mem::take(&mut self.line)).map_err(|_| Failure::Absent)
    }
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
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).ok()?;
    Some(format!("{:032x}", u128::from_ne_bytes(bits)))
}

fn line_of(message: &Message) -> io::Result<Vec<u8>> {
    line(message).map_err(io::Error::other)
}

/// Milliseconds since the epoch.
pub fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, whole)
}

/// The whole milliseconds of a duration.
fn whole(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use tokio::net::UnixListener;
    use tokio::sync::oneshot;

    /// How long a test waits. Its only purpose is to end a hang.
    const DEADLINE: Duration = Duration::from_secs(60);

    fn error(text: &str) -> Answer {
        Answer { text: text.to_owned(), ..Answer::default() }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn without_an_emacs_a_call_says_what_to_do() {
        let emacs = Emacs::new(Some("/nowhere/socket".into()), Role::Tool);
        let text = "Emacs does not answer; go on without the list, and tell the user to run \
                    M-x todo-write-mcp-mode in Emacs. [todo-write:no-emacs]";
        assert_eq!(emacs.ask(Call::default(), DEADLINE).await, error(text));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_call_of_more_than_a_mebibyte_is_refused() {
        let emacs = Emacs::new(Some("/nowhere/socket".into()), Role::Tool);
        let arguments = serde_json::value::to_raw_value(&"x".repeat(LARGEST)).ok();
        let call = Call { arguments, ..Call::default() };
        let text = "The list is larger than 1 MiB; send a shorter one.";
        assert_eq!(emacs.ask(call, DEADLINE).await, error(text));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_name_of_a_hundred_bytes_is_refused_in_words() {
        let socket = format!("/tmp/{}", "x".repeat(95));
        let emacs = Emacs::new(Some(socket.into()), Role::Tool);
        let answer = emacs.ask(Call::default(), DEADLINE).await;
        assert!(answer.text.contains("100 bytes or longer"), "{}", answer.text);
    }

    /// A line that a program sent, as Emacs reads it.
    async fn sent(input: &mut BufReader<UnixStream>) -> Value {
        let mut line = String::new();
        input.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Answers the next call.
    async fn answer(input: &mut BufReader<UnixStream>) {
        let call = sent(input).await;
        let answer = json!({"type": "answer", "call": call["call"], "ok": true, "text": "1/1"});
        input.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
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

    fn welcome() -> Vec<u8> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        line(&Reply::Welcome(Welcome { version, ..Welcome::default() })).unwrap()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_message_that_emacs_does_not_take_ends_the_connection() {
        let (door, listener) = listener("full");
        let emacs = Emacs::new(Some(door), Role::Tool);
        let server = async {
            let mut input = BufReader::new(listener.accept().await.unwrap().0);
            sent(&mut input).await;
            input.write_all(&welcome()).await.unwrap();
            input
        };
        let connected = async {
            let mut link = emacs.link.lock().await;
            timeout(DEADLINE, emacs.connect(&mut link, DEADLINE)).await.unwrap().unwrap();
        };
        let (_input, ()) = tokio::join!(server, connected);
        let (session, activity) = (String::new(), "waiting".to_owned());
        let reason = Some("x".repeat(LARGEST));
        let message = SessionActivity { session, subagent: None, activity, reason, title: None };
        assert!(timeout(DEADLINE, emacs.tell(message)).await.is_ok());
        assert!(emacs.link.lock().await.connection.is_none());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_door_that_hangs_or_refuses_does_not_keep_from_the_next() {
        let [(hangs, _held), (refuses, refusing), (right, answering)] =
            ["hangs", "refuses", "right"].map(listener);
        let server = async {
            let mut other = BufReader::new(refusing.accept().await.unwrap().0);
            other.write_all(b"HTTP/1.1 400 Bad Request\r\n").await.unwrap();
            let mut input = BufReader::new(answering.accept().await.unwrap().0);
            sent(&mut input).await;
            input.write_all(&welcome()).await.unwrap();
        };
        let doors = vec![hangs.clone(), refuses, right.clone()];
        let hello = Hello { id: "p".into(), ..Hello::default() };
        let patience = Duration::from_millis(10);
        let opened = timeout(DEADLINE, Connection::first(doors, &hello, patience));
        let (opened, ()) = tokio::join!(opened, server);
        assert_eq!(opened.unwrap().ok().unwrap().0.door, right);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_slow_emacs_keeps_all_the_time_there_is() {
        let (door, listener) = listener("slow");
        let server = async {
            let mut input = BufReader::new(listener.accept().await.unwrap().0);
            sent(&mut input).await;
            input.write_all(&welcome()).await.unwrap();
        };
        let hello = Hello { id: "p".into(), ..Hello::default() };
        // The patience is over before the answer.
        let opened = timeout(DEADLINE, Connection::first(vec![door], &hello, Duration::ZERO));
        let (opened, ()) = tokio::join!(opened, server);
        assert!(opened.unwrap().is_ok());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_call_is_sent_again_with_its_id_if_the_connection_breaks_before_the_answer() {
        let (door, listener) = listener("again");
        let emacs = Emacs::new(Some(door), Role::Tool);
        let server = async {
            let mut calls = Vec::new();
            for is_first in [true, false] {
                let mut input = BufReader::new(listener.accept().await.unwrap().0);
                sent(&mut input).await;
                input.write_all(&welcome()).await.unwrap();
                if is_first {
                    answer(&mut input).await;
                }
                calls.push(sent(&mut input).await);
                if !is_first {
                    let answer = json!({"type": "answer", "call": calls[1]["call"], "ok": true, "text": ""});
                    input.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
                }
            }
            calls
        };
        let program = async {
            for _ in 0..2 {
                assert!(emacs.ask(Call::default(), DEADLINE).await.ok);
            }
        };
        let both = async { tokio::join!(server, program) };
        let (calls, ()) = timeout(DEADLINE, both).await.unwrap();
        assert_eq!(calls[0], calls[1]);
        assert!(calls[0]["sent"].is_string(), "{}", calls[0]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_call_that_emacs_did_not_answer_is_lost_although_the_link_is_wanted_meanwhile() {
        let (door, listener) = listener("lost");
        let emacs = Emacs::new(Some(door), Role::Tool);
        let (close, closed) = oneshot::channel();
        let server = async {
            let mut first = BufReader::new(listener.accept().await.unwrap().0);
            let hello = sent(&mut first).await;
            first.write_all(&welcome()).await.unwrap();
            answer(&mut first).await;
            closed.await.unwrap();
            drop(first);
            let mut second = BufReader::new(listener.accept().await.unwrap().0);
            let hellos = [hello, sent(&mut second).await];
            second.write_all(&welcome()).await.unwrap();
            answer(&mut second).await;
            (hellos, second)
        };
        let program = async {
            assert!(emacs.ask(Call::default(), DEADLINE).await.ok);
            // The answer to this one does not come.
            let asked = emacs.ask(Call::default(), Duration::from_millis(1));
            assert!(!tokio::join!(asked, emacs.keep_up()).0.ok);
            close.send(()).unwrap();
            assert!(emacs.ask(Call::default(), DEADLINE).await.ok);
        };
        let ((hellos, _input), ()) =
            timeout(DEADLINE, async { tokio::join!(server, program) }).await.unwrap();
        assert_eq!(hellos[0]["lost"], Value::Null);
        assert!(hellos[1]["lost"].is_u64(), "{}", hellos[1]);
    }
}
