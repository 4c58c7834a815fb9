//! The thread that has a door's socket, or waits until the Emacs that has it ends.

use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use super::connection;
use super::peers::{Peers, State};
use super::place::{Entered, enter};
use crate::threads;
use todo_write::wire::bounds::WAIT;

/// How long nothing is accepted after the system refused to.
const PAUSE: Duration = Duration::from_millis(100);

/// Starts the thread, which ends when the door is closed. It alone waits for the socket's file system.
pub(super) fn start(peers: &Arc<Peers>) {
    let own = Arc::clone(peers);
    if let Err(error) = threads::start("door", move || run(&own)) {
        peers.set_state(State::Failed(format!("The socket cannot be served: {error}")));
    }
}

/// Takes the socket, or says who has it or why it cannot be opened, and tries again.
fn run(peers: &Arc<Peers>) {
    loop {
        match enter(&peers.settings.socket, peers.settings.welcome.process) {
            Ok(entered) => {
                if let Some(listener) = try_to_open(peers, entered) {
                    return accept(peers, &listener);
                }
            }
            Err(reason) => peers.set_state(State::Failed(reason)),
        }
        if !peers.wait(WAIT) {
            return;
        }
    }
}

/// Notes who has the socket. A door that was closed meanwhile has none.
fn try_to_open(peers: &Peers, entered: Entered) -> Option<UnixListener> {
    match entered {
        Entered::Open(listener, held) => {
            let mut inner = peers.lock();
            if inner.is_closed() {
                return None;
            }
            inner.held = Some(held);
            drop(inner);
            peers.set_state(State::Open);
            Some(listener)
        }
        Entered::Taken(process) => {
            peers.set_state(State::Client(process));
            None
        }
    }
}

/// Serves programs until the door is closed.
fn accept(peers: &Arc<Peers>, listener: &UnixListener) {
    for stream in listener.incoming() {
        match stream {
            _ if peers.lock().is_closed() => return,
            Ok(stream) => drop(connection::begin(peers, stream)),
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => drop(peers.wait(PAUSE)),
        }
    }
}
