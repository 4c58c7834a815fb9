//! A connection to the daemon: JSON in the frames of a WebSocket.
//!
//! The size of a message is bounded, and so is what the daemon may send in a while. What goes beyond a
//! bound, or is no message, ends the connection.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{HandshakeError, Message, WebSocket, client::client_with_config};

use super::place;
use crate::hub::quiet::send_quietly;

/// Maximum size in bytes of a message. The history of a thread is one.
const LARGEST: usize = 16 << 20;
/// Maximum size in bytes of what is sent and not taken yet.
const UNSENT: usize = 4 << 20;
/// Maximum number of bytes in each such time.
const MOST: usize = 64 << 20;
const WHILE: Duration = Duration::from_secs(10);
/// Maximum number of messages that are taken at once.
const AT_ONCE: usize = 200;

/// The id of a request of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(untagged)]
pub(super) enum RequestId {
    Number(i64),
    Text(String),
}

/// What the daemon says.
#[derive(Debug)]
pub(super) enum Said {
    /// The result of the call of that number; `None` for an error.
    Result(u64, Option<Box<RawValue>>),
    /// A request, with its method.
    Request(RequestId, String, Box<RawValue>),
    /// A notification, with its method.
    Note(String, Box<RawValue>),
}

/// A message as it comes.
#[derive(Deserialize)]
struct Wire {
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The daemon has closed it, or did not take it in time.
    Closed,
    /// The daemon does not keep to the protocol, or sends too much.
    Wrong,
}

/// A connection to the daemon.
pub(super) struct Client {
    socket: WebSocket<Quiet>,
    /// The number of the last call.
    last: u64,
    /// Whether the daemon may have sent more than was taken.
    pub(super) has_more: bool,
}

impl Client {
    /// Connects to the daemon of a folder of Codex within that time, and makes the first call, `initialize`.
    pub(super) fn connect(folder: &Path, version: &str, time: Duration) -> Result<Client, Over> {
        let stream = place::connect(folder).ok_or(Over::Closed)?;
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(LARGEST);
        config.max_frame_size = Some(LARGEST);
        config.max_write_buffer_size = UNSENT;
        let end = Instant::now() + time;
        let fd = stream.try_clone().map_err(|_| Over::Closed)?;
        let mut shaken = client_with_config("ws://localhost/", Quiet::new(stream), Some(config));
        let socket = loop {
            match shaken {
                Ok((socket, _)) => break socket,
                Err(HandshakeError::Interrupted(half)) if wait(&fd, end) => shaken = half.handshake(),
                Err(HandshakeError::Interrupted(_)) => return Err(Over::Closed),
                Err(_) => return Err(Over::Wrong),
            }
        };
        let mut client = Client { socket, last: 0, has_more: false };
        let params = json!({
            "clientInfo": {"name": "todo-write", "title": "todo-write", "version": version},
            "capabilities": {"experimentalApi": true},
        });
        client.call("initialize", params)?;
        Ok(client)
    }

    /// Calls a method; returns the number of the call.
    pub(super) fn call(&mut self, method: &str, params: Value) -> Result<u64, Over> {
        self.last += 1;
        self.send(&json!({"id": self.last, "method": method, "params": params}))?;
        Ok(self.last)
    }

    /// Says that the first call was answered.
    pub(super) fn initialized(&mut self) -> Result<(), Over> {
        self.send(&json!({"method": "initialized"}))
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, id: &RequestId, result: Value) -> Result<(), Over> {
        self.send(&json!({"id": id, "result": result}))
    }

    fn send(&mut self, message: &Value) -> Result<(), Over> {
        self.settled(|socket| socket.send(Message::text(message.to_string())))
    }

    /// Sends what did not fit before.
    pub(super) fn flush(&mut self) -> Result<(), Over> {
        self.settled(WebSocket::flush)
    }

    fn settled(
        &mut self,
        act: impl FnOnce(&mut WebSocket<Quiet>) -> Result<(), tungstenite::Error>,
    ) -> Result<(), Over> {
        match act(&mut self.socket) {
            Err(error) if !is_blocked(&error) => Err(Over::Closed),
            _ => Ok(()),
        }
    }

    /// What the daemon has said; some may be left.
    pub(super) fn take(&mut self) -> Result<Vec<Said>, Over> {
        let mut all = Vec::new();
        self.has_more = true;
        for _ in 0..AT_ONCE {
            match self.socket.read() {
                Ok(Message::Text(text)) => all.extend(said(text.as_str())?),
                Ok(Message::Close(_)) => return Err(Over::Closed),
                Ok(Message::Binary(_)) => return Err(Over::Wrong),
                Ok(_) => {}
                Err(error) if is_blocked(&error) => {
                    self.has_more = false;
                    break;
                }
                Err(tungstenite::Error::Io(error)) if error.kind() != ErrorKind::FileTooLarge => {
                    return Err(Over::Closed);
                }
                Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed) => {
                    return Err(Over::Closed);
                }
                // The daemon was stopped.
                Err(tungstenite::Error::Protocol(
                    tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
                )) => return Err(Over::Closed),
                Err(_) => return Err(Over::Wrong),
            }
        }
        Ok(all)
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.get_ref().stream.as_fd()
    }
}

fn is_blocked(error: &tungstenite::Error) -> bool {
    matches!(error, tungstenite::Error::Io(error)
        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted))
}

/// What a message says; `None` for one that says nothing here.
fn said(text: &str) -> Result<Option<Said>, Over> {
    let wire: Wire = serde_json::from_str(text).map_err(|_| Over::Wrong)?;
    let params = wire.params.unwrap_or_else(|| RawValue::NULL.to_owned());
    Ok(match (wire.method, wire.id) {
        (Some(method), Some(id)) => Some(Said::Request(id, method, params)),
        (Some(method), None) => Some(Said::Note(method, params)),
        (None, Some(RequestId::Number(id))) => u64::try_from(id).ok().map(|id| Said::Result(id, wire.result)),
        (None, _) => None,
    })
}

/// Waits until something can be read; false if the time is over.
fn wait(stream: &UnixStream, end: Instant) -> bool {
    let left = end.saturating_duration_since(Instant::now());
    let Ok(timeout) = Timespec::try_from(left) else { return false };
    let mut fds = [PollFd::new(stream, PollFlags::IN)];
    !left.is_zero() && poll(&mut fds, Some(&timeout)).is_ok_and(|count| count > 0)
}

/// A stream that causes no signal, and ends when too much comes.
struct Quiet {
    stream: UnixStream,
    /// The number of bytes since that time.
    taken: usize,
    since: Instant,
}

impl Quiet {
    fn new(stream: UnixStream) -> Quiet {
        Quiet { stream, taken: 0, since: Instant::now() }
    }
}

impl Read for Quiet {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.elapsed() >= WHILE {
            (self.taken, self.since) = (0, Instant::now());
        }
        if self.taken > MOST {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let count = self.stream.read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}

impl Write for Quiet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send_quietly(&self.stream, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
