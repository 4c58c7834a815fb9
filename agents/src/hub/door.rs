//! The socket: the only way by which agents' programs reach Emacs.
//!
//! One thread accepts connections; each of these has a thread that reads and one that writes, as
//! `doc/protocol.md` describes. The owner of a [`Door`] gets whole messages and gives whole answers, and waits for
//! no program. What programs can make the owner keep is bounded: a program is read on only when the owner has taken
//! what it said before.

mod connection;
mod listen;
mod peers;
pub(super) mod place;

use std::sync::Arc;
use std::time::Duration;

use super::bounds::ENTRIES;
use peers::{Link, Peers};
use todo_write::wire::socket::{Answer, Call, Hello, Message, Reply, Role, Tell};

pub(crate) use peers::{CONNECTIONS, QUESTIONS, QUESTIONS_OF_ONE};
pub use peers::{ConnectionId, Event, Finder, Out, Settings, State};
pub use place::{connection as connect, is_private_folder, is_private_socket, usual};

/// A socket for programs. Dropping it closes all connections.
#[derive(Debug)]
pub struct Door(Arc<Peers>);

impl Door {
    /// Opens a socket, or becomes a client of the Emacs that has it, and takes over when that ends.
    ///
    /// # Errors
    /// A sentence that says why this cannot be done safely.
    pub fn open(settings: Settings, finder: Finder, out: Out) -> Result<Door, String> {
        let peers = Arc::new(Peers::new(settings, finder, out));
        listen::start(&peers)?;
        Ok(Door(peers))
    }

    /// A way in for a thread of this process.
    pub(super) fn entrance(&self) -> Entrance {
        Entrance(Arc::clone(&self.0))
    }

    /// Who programs reach.
    pub fn state(&self) -> State {
        self.0.lock().state.clone()
    }

    /// Tells the owner who programs reach. What changes later is told after it.
    pub(super) fn say_state(&self) {
        self.0.say_state();
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

/// A way in for a thread of this process.
pub(super) struct Entrance(Arc<Peers>);

impl Entrance {
    /// Whether programs reach the door.
    pub(super) fn is_open(&self) -> bool {
        let inner = self.0.lock();
        inner.state == State::Open && !inner.is_closed
    }

    /// Waits for some time; returns false if the door is closed.
    pub(super) fn wait(&self, time: Duration) -> bool {
        self.0.wait(time)
    }

    /// The version of todo-write.
    pub(super) fn version(&self) -> &str {
        &self.0.settings.welcome.version
    }

    /// Makes a call as a program does that has said hello; `None` if there is no room. `answer` gets the
    /// answer, and must return at once.
    pub(super) fn ask(
        &self,
        hello: Hello,
        call: Call,
        answer: impl Fn(Answer) + Send + 'static,
    ) -> Option<Asked> {
        let send = move |reply: &Reply| {
            if let Reply::Answer(given) = reply {
                answer(given.clone());
            }
        };
        let id = self.0.begin(Link { send: Box::new(send), stream: None })?;
        let asked = Asked { peers: Arc::clone(&self.0), id };
        self.0.greet(id, Box::new(hello)).ok()?;
        self.0.receive(id, Message::Call(call)).ok()?;
        Some(asked)
    }
}

/// What a thread of this process asks. Dropping it takes the call back.
pub(super) struct Asked {
    peers: Arc<Peers>,
    id: ConnectionId,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.peers.end(self.id, None);
    }
}
