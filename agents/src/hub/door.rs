//! The socket: the only way by which agents' programs reach Emacs.
//!
//! One thread accepts connections; each of these has a thread that reads and one that writes, as
//! `doc/protocol.md` describes. The owner of a [`Door`] gets whole messages and gives whole answers, and waits for
//! no program. What programs can make the owner keep is bounded: they are read on only while it has room.

mod connection;
mod peers;
pub(super) mod place;

use std::io::ErrorKind;
use std::ops::Deref;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use crate::threads;
use place::enter;
use todo_write::wire::bounds::WAIT;

pub(super) use peers::Asked;
pub(crate) use peers::{CONNECTIONS, QUESTIONS, QUESTIONS_OF_ONE};
pub use peers::{ConnectionId, Event, Finder, Out, Peers, Settings, State};
pub use place::{beside, connection as connect, is_private_folder, is_private_socket, make_private, usual};

/// How long nothing is accepted after the system refused to.
const PAUSE: Duration = Duration::from_millis(100);

/// A socket for programs. Dropping it closes all connections.
pub struct Door(Arc<Peers>);

impl Door {
    /// Opens a socket, or waits for it while another Emacs has it or it cannot be opened safely. The first event says
    /// which.
    pub fn open(settings: Settings, finder: Finder, out: Out) -> Door {
        let peers = Arc::new(Peers::new(settings, finder, out));
        let own = Arc::clone(&peers);
        // It alone waits for the socket's file system.
        if let Err(error) = threads::start("door", move || listen(&own)) {
            peers.set_state(State::Failed(format!("The socket cannot be served: {error}")));
        }
        Door(peers)
    }
}

impl Deref for Door {
    type Target = Arc<Peers>;

    fn deref(&self) -> &Arc<Peers> {
        &self.0
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Takes the socket, or says who has it or why it cannot be opened, and tries again; then serves programs until the
/// door is closed.
fn listen(peers: &Arc<Peers>) {
    loop {
        match enter(&peers.settings.socket, peers.settings.welcome.process) {
            Ok((listener, held)) => {
                if peers.open(held) {
                    accept(peers, &listener);
                }
                return;
            }
            Err(state) => peers.set_state(state),
        }
        if !peers.wait(WAIT) {
            return;
        }
    }
}

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
