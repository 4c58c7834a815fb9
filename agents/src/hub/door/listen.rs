//! The thread that has a door's socket, or waits until the Emacs that has it ends.

use std::io::{ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::connection;
use super::peers::{Peers, State};
use super::place::{Entered, Held, enter};
use crate::hub::bounds::WAIT;
use crate::hub::lines::{Line, Lines};
use todo_write::wire::socket::{self as protocol, Hello, LARGEST, Message, PROTOCOL, Reply, Role, Welcome};

/// How long nothing is accepted after the system refused to, and how long the socket of an Emacs that ends is
/// left to it.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes a place at the socket, and starts the thread, which ends when the door is closed.
pub(super) fn start(peers: &Arc<Peers>) -> Result<(), String> {
    let (entered, held) = enter(&peers.settings.socket)?;
    let mut inner = peers.lock();
    inner.held = held;
    if matches!(entered, Entered::Open(_)) {
        inner.state = State::Open;
    }
    drop(inner);
    let own = Arc::clone(peers);
    let thread = thread::Builder::new().name("todo-write-door".into()).spawn(move || run(&own, entered));
    thread.map(drop).map_err(|error| {
        peers.close();
        format!("The socket cannot be served: {error}")
    })
}

fn run(peers: &Arc<Peers>, mut entered: Entered) {
    loop {
        let pause = match entered {
            Entered::Open(listener) => return accept(peers, &listener),
            Entered::Client(stream) if follow(peers, &stream) => PAUSE,
            _ => peers.settings.patience,
        };
        entered = loop {
            if !peers.wait(pause) {
                return;
            }
            match enter(&peers.settings.socket) {
                Ok((entered, held)) => {
                    if !hold(peers, held) {
                        return;
                    }
                    break entered;
                }
                Err(reason) => peers.set_state(State::Failed(reason)),
            }
        };
        let is_open = matches!(entered, Entered::Open(_));
        peers.set_state(if is_open { State::Open } else { State::Client(None) });
    }
}

/// Notes what this process has of the socket; returns false if the door was closed meanwhile.
fn hold(peers: &Peers, held: Held) -> bool {
    let mut inner = peers.lock();
    if inner.is_closed {
        drop(inner);
        held.leave(&peers.settings.socket);
        return false;
    }
    inner.held = held;
    true
}

/// Serves programs until the door is closed.
fn accept(peers: &Arc<Peers>, listener: &UnixListener) {
    for stream in listener.incoming() {
        match stream {
            _ if peers.lock().is_closed => return,
            Ok(stream) => drop(connection::begin(peers, stream)),
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => drop(peers.wait(PAUSE)),
        }
    }
}

/// Waits until the Emacs that has the socket closes the connection; returns false if it refused it.
fn follow(peers: &Peers, mut stream: &UnixStream) -> bool {
    let Welcome { version, process, .. } = peers.settings.welcome.clone();
    let hello = Hello {
        protocol: PROTOCOL,
        roles: vec![Role::Check],
        id: format!("emacs-{}", process.unwrap_or_default()),
        version: Some(version),
        process,
        ..Hello::default()
    };
    let Ok(line) = protocol::line(&Message::Hello(Box::new(hello))) else { return false };
    // If it does not fit, that Emacs closes the connection after a while.
    let _ = stream.set_write_timeout(Some(WAIT)).and_then(|()| stream.write_all(&line));
    let mut lines = Lines::new(stream, LARGEST);
    while let Ok(Some(Line::Whole(line))) = lines.next_line() {
        match serde_json::from_slice(&line) {
            Ok(Reply::Welcome(welcome)) => peers.set_state(State::Client(welcome.process)),
            Ok(Reply::Refused(_)) => return false,
            _ => {}
        }
    }
    peers.set_state(State::Client(None));
    true
}
