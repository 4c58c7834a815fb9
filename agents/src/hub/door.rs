//! The socket: the only way by which agents' programs reach Emacs.
//!
//! One thread accepts connections; each of these has a thread that reads and one that writes, as
//! `doc/protocol.md` describes. The owner of a [`Door`] takes whole messages from it and gives whole
//! answers, and waits for no program.
//!
//! What programs can make the owner keep is bounded: a program that has sent much is read on only when the
//! owner has taken it.

#[cfg(unix)]
mod connection;
mod event;
#[cfg(unix)]
mod listen;
mod peers;
#[cfg(unix)]
pub(super) mod place;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::bounds::ENTRIES;
use peers::{Link, Peers};
use todo_write::events::millis_of;
use todo_write::wire::socket::{Answer, Call, Hello, Message, Reply, Role, Tell};

pub use event::{Bell, ConnectionId, Event, Finder, Found, JOINING, Settings, State};
#[cfg(unix)]
pub(crate) use event::{CONNECTIONS, QUESTIONS, QUESTIONS_OF_ONE};
#[cfg(unix)]
pub use place::{connection as connect, is_private_folder, is_private_socket, usual};

/// A socket for programs. Dropping it closes all connections.
#[derive(Debug)]
pub struct Door {
    peers: Arc<Peers>,
    #[cfg(unix)]
    _listening: listen::Listening,
}

impl Door {
    /// Opens a socket, or becomes a client of the Emacs that has it, and takes over when that ends.
    ///
    /// # Errors
    /// A sentence that says why this cannot be done safely.
    #[cfg(unix)]
    pub fn open(settings: Settings, finder: Finder, bell: Bell) -> Result<Door, String> {
        let peers = Arc::new(Peers::new(settings, finder, bell));
        let _listening = listen::Listening::start(Arc::clone(&peers))?;
        Ok(Door { peers, _listening })
    }

    /// Opens no socket: this system has none.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn open(_settings: Settings, _finder: Finder, _bell: Bell) -> Result<Door, String> {
        Err("This system has no Unix sockets".into())
    }

    /// A way in for a thread of this process.
    #[cfg(unix)]
    pub(super) fn entrance(&self) -> Entrance {
        Entrance { peers: Arc::clone(&self.peers) }
    }

    /// Who programs reach.
    pub fn state(&self) -> State {
        self.peers.lock().state.clone()
    }

    /// Whether something waits to be taken.
    pub fn has_news(&self) -> bool {
        self.peers.lock().next().is_some()
    }

    /// Takes what happened next. A call that its program does not wait for any more is dropped.
    pub fn take(&self) -> Option<Event> {
        let mut inner = self.peers.lock();
        loop {
            let place = inner.next()?;
            let (event, size) = inner.inbox.remove(place)?;
            let Event::Message(id, message) = &event else { return Some(event) };
            // A program that has left may have said goodbye.
            let Some(peer) = inner.all.get_mut(id) else { return Some(event) };
            peer.size -= size;
            self.peers.changed.notify_all();
            let Message::Call(call) = message else { return Some(event) };
            if is_late(call) || peer.link.is_gone() {
                peer.close_question(call.call);
                continue;
            }
            if call.role != Some(Role::Permission) {
                peer.busy = Some(call.call);
            }
            return Some(event);
        }
    }

    /// Answers a call; returns false if its connection has closed.
    pub fn answer(&self, id: ConnectionId, answer: Answer) -> bool {
        let mut inner = self.peers.lock();
        let Some(peer) = inner.all.get_mut(&id) else { return false };
        let is_live = !peer.link.is_gone();
        if peer.busy.take_if(|busy| *busy == answer.call).is_some() || peer.close_question(answer.call) {
            peer.link.send(&Reply::Answer(answer));
        }
        self.peers.ring(inner);
        is_live
    }

    /// Whether a connection can take an answer.
    pub fn is_live(&self, id: ConnectionId) -> bool {
        self.peers.lock().all.get(&id).is_some_and(|peer| peer.hello.is_some() && !peer.link.is_gone())
    }

    /// Says whether there is something to tell the agent of a session. Only then, the owner hears of the hook's
    /// question what to tell it.
    pub fn tell(&self, session: &str, has_news: bool) {
        let untold = &mut self.peers.lock().untold;
        if !has_news {
            untold.remove(session);
        } else if untold.len() < ENTRIES {
            untold.insert(session.to_owned());
        }
    }

    /// Tells the programs that report sessions that there is something to say to the agent of this one.
    pub fn ring(&self, session: &str) {
        let tell = Reply::Tell(Tell { session: session.to_owned() });
        let inner = self.peers.lock();
        let peers = inner.all.values().filter_map(|peer| Some((&peer.link, peer.hello.as_ref()?)));
        peers.filter(|(_, about)| about.roles.contains(&Role::Plan)).for_each(|(link, _)| link.send(&tell));
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let mut inner = self.peers.lock();
        inner.is_closed = true;
        inner.inbox.clear();
        let all: BTreeMap<_, _> = std::mem::take(&mut inner.all);
        drop(inner);
        drop(all);
        self.peers.changed.notify_all();
    }
}

/// Whether the program of a call no longer waits for the answer.
fn is_late(call: &Call) -> bool {
    let now = millis_of(SystemTime::now()).unwrap_or_default();
    call.until.is_some_and(|until| until < now)
}

/// A way in for a thread of this process.
#[cfg(unix)]
pub(super) struct Entrance {
    peers: Arc<Peers>,
}

/// What a thread of this process asks. Dropping it takes the call back.
#[cfg(unix)]
pub(super) struct Asked {
    peers: Arc<Peers>,
    id: ConnectionId,
}

#[cfg(unix)]
impl Entrance {
    /// Whether programs reach the door.
    pub(super) fn is_open(&self) -> bool {
        let inner = self.peers.lock();
        inner.state == State::Open && !inner.is_closed
    }

    /// Waits for some time; returns false if the door is closed.
    pub(super) fn wait(&self, time: Duration) -> bool {
        self.peers.wait(time)
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.peers.settings
    }

    /// Makes a call as a program does that has said hello; `None` if there is no room. `answer` gets the
    /// answer, and must return at once.
    pub(super) fn ask(
        &self,
        hello: Hello,
        call: Call,
        answer: impl Fn(Answer) + Send + 'static,
    ) -> Option<Asked> {
        let id = self.peers.begin(Guest(answer))?;
        let asked = Asked { peers: Arc::clone(&self.peers), id };
        let size = call.arguments.as_ref().map_or(0, |text| text.get().len());
        self.peers.greet(id, Box::new(hello), 0).ok()?;
        self.peers.receive(id, Message::Call(call), size).ok()?;
        Some(asked)
    }
}

#[cfg(unix)]
impl Drop for Asked {
    fn drop(&mut self) {
        self.peers.end(self.id, None);
    }
}

/// The way back to a thread of this process.
struct Guest<F>(F);

impl<F: Fn(Answer) + Send> Link for Guest<F> {
    fn send(&self, reply: &Reply) {
        if let Reply::Answer(answer) = reply {
            (self.0)(answer.clone());
        }
    }

    fn is_gone(&self) -> bool {
        false
    }
}
