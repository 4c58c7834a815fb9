//! The socket: the only way by which agents' programs reach Emacs.
//!
//! One thread accepts connections; each of these has a thread that reads and one that writes, as
//! `doc/protocol.md` describes. The owner of a [`Door`] gets whole messages and gives whole answers, and waits for
//! no program. What programs can make the owner keep is bounded: they are read on only while it has room.

mod connection;
mod listen;
mod peers;
pub(super) mod place;

use std::sync::Arc;

use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::socket::{Answer, Reply, Role, Tell};

pub(super) use peers::{Asked, Peers};
pub(crate) use peers::{CONNECTIONS, QUESTIONS, QUESTIONS_OF_ONE};
pub use peers::{ConnectionId, Event, Finder, Out, Settings, State};
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

    /// The way in for a thread of this process.
    pub(super) fn peers(&self) -> Arc<Peers> {
        Arc::clone(&self.0)
    }

    /// Who programs reach.
    pub fn state(&self) -> Option<State> {
        self.0.lock().state.clone()
    }

    /// Notes that the owner takes what happened next; returns false for what an earlier door left, and for a call for
    /// whose answer its program does not wait any more.
    pub fn take(&self, event: &Event) -> bool {
        if !self.0.is_own(event) {
            return false;
        }
        if let Event::Message(id, message) = event { self.0.take(*id, message) } else { true }
    }

    /// Answers a call; returns false if its connection has closed.
    pub fn answer(&self, id: ConnectionId, answer: Answer) -> bool {
        self.0.answer(id, answer)
    }

    /// Whether a connection can take an answer.
    pub fn is_live(&self, id: ConnectionId) -> bool {
        self.0.lock().is_live(id)
    }

    /// Says whether there is something to tell the agent of a session. Only then, the owner hears of the hook's
    /// question what to tell it.
    pub fn tell(&self, session: &str, has_news: bool) {
        let untold = &mut self.0.lock().untold;
        if !has_news {
            untold.remove(session);
        } else if untold.len() < ENTRIES {
            untold.insert(session.to_owned());
        }
    }

    /// Tells the programs that report sessions that there is something to say to the agent of this one.
    pub fn ring(&self, session: &str) {
        self.0.lock().send(Role::Plan, &Reply::Tell(Tell { session: session.to_owned() }));
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.0.close();
    }
}
