//! The socket: the only way by which agents' programs reach Emacs.
//!
//! One thread accepts connections; each of these has a thread that reads and one that writes, as
//! `doc/protocol.md` describes. The owner of a [`Door`] gets whole messages and gives whole answers, and waits for
//! no program. What programs can make the owner keep is bounded: they are read on only while it has room.

mod connection;
mod listen;
mod peers;
pub(super) mod place;

use std::ops::Deref;
use std::sync::Arc;

pub(super) use peers::Asked;
pub(crate) use peers::{CONNECTIONS, QUESTIONS, QUESTIONS_OF_ONE};
pub use peers::{ConnectionId, Event, Finder, Out, Peers, Settings, State};
pub use place::{beside, connection as connect, is_private_folder, is_private_socket, make_private, usual};

/// A socket for programs. Dropping it closes all connections.
#[derive(Debug)]
pub struct Door(Arc<Peers>);

impl Door {
    /// Opens a socket, or waits for it while another Emacs has it or it cannot be opened safely. The first event says
    /// which.
    pub fn open(settings: Settings, finder: Finder, out: Out) -> Door {
        let peers = Arc::new(Peers::new(settings, finder, out));
        listen::start(&peers);
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
