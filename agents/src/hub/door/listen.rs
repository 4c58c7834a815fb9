//! The thread that has a door's socket, or waits until the Emacs that has it ends.

use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use super::connection;
use super::peers::{Peers, State};
use super::place::{Entered, enter};
use crate::bounds::WAIT;
use crate::threads;

/// How long nothing is accepted after the system refused to.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes the socket, or says who has it, and starts the thread, which ends when the door is closed.
pub(super) fn start(peers: &Arc<Peers>) -> Result<(), String> {
    let listener = try_to_open(peers, enter(&peers.settings.socket, peers.settings.welcome.process)?);
    let own = Arc::clone(peers);
    let thread = threads::start("door", move || run(&own, listener));
    thread.map(drop).map_err(|error| {
        peers.close();
        format!("The socket cannot be served: {error}")
    })
}

fn run(peers: &Arc<Peers>, mut listener: Option<UnixListener>) {
    loop {
        if let Some(listener) = listener {
            return accept(peers, &listener);
        }
        if !peers.wait(WAIT) {
            return;
        }
        listener = match enter(&peers.settings.socket, peers.settings.welcome.process) {
            Ok(entered) => try_to_open(peers, entered),
            Err(reason) => {
                peers.set_state(State::Failed(reason));
                None
            }
        };
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
