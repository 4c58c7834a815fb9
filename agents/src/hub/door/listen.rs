//! The thread that has a door's socket, or waits until the Emacs that has it ends.

use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::connection;
use super::event::State;
use super::peers::Peers;
use super::place::{self, Entered, enter};
use crate::hub::bounds::WAIT;
use crate::hub::lines::{Line, Lines};
use todo_write::wire::socket::{self as protocol, Hello, LARGEST, Message, PROTOCOL, Reply, Role, Welcome};

/// How long nothing is accepted after the system refused to, and how long the socket of an Emacs that ends is
/// left to it.
const PAUSE: Duration = Duration::from_millis(100);

/// The thread. Dropping this ends it.
#[derive(Debug)]
pub(super) struct Listening {
    peers: Arc<Peers>,
    held: Held,
}

/// What the thread has of the socket: its file, or the connection to the Emacs that has it.
type Held = Arc<Mutex<Place>>;

#[derive(Debug)]
enum Place {
    /// The device and number of the file.
    File((u64, u64)),
    Holder(UnixStream),
    Nothing,
}

impl Listening {
    /// Takes a place at the socket, and starts the thread.
    pub(super) fn start(peers: Arc<Peers>) -> Result<Listening, String> {
        let held: Held = Arc::new(Mutex::new(Place::Nothing));
        let entered = enter(&peers.settings.socket)?;
        let own = Own { peers: Arc::clone(&peers), held: Arc::clone(&held) };
        let listening = Listening { peers: Arc::clone(&peers), held };
        own.settle(&entered, false);
        let failed = |error| format!("The socket cannot be served: {error}");
        thread::Builder::new()
            .name("todo-write-door".into())
            .spawn(move || own.run(entered))
            .map_err(failed)?;
        Ok(listening)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        match &*self.held.lock().unwrap_or_else(PoisonError::into_inner) {
            Place::File(made) => place::leave(&self.peers.settings.socket, *made),
            Place::Holder(stream) => drop(stream.shutdown(Shutdown::Both)),
            Place::Nothing => {}
        }
    }
}

struct Own {
    peers: Arc<Peers>,
    held: Held,
}

impl Own {
    fn run(&self, mut entered: Entered) {
        let patience = self.peers.settings.patience;
        loop {
            let pause = match entered {
                Entered::Open(listener, _) => return self.accept(&listener),
                Entered::Client(stream) if self.follow(&stream) => PAUSE,
                _ => patience,
            };
            entered = loop {
                if !self.peers.wait(pause) {
                    return;
                }
                match enter(&self.peers.settings.socket) {
                    Ok(entered) => break entered,
                    Err(reason) => {
                        let state = State::Failed(reason);
                        let is_news = self.peers.lock().state != state;
                        self.peers.set_state(state, is_news);
                    }
                }
            };
            self.settle(&entered, true);
        }
    }

    /// Notes what this process has of the socket; `is_news` if the owner does not know that yet.
    fn settle(&self, entered: &Entered, is_news: bool) {
        let (place, state) = match entered {
            Entered::Open(_, made) => (Place::File(*made), State::Open),
            Entered::Client(stream) => {
                (stream.try_clone().map_or(Place::Nothing, Place::Holder), State::Client(None))
            }
            Entered::Busy => (Place::Nothing, State::Client(None)),
        };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // The owner does not look at it any more.
        if self.peers.lock().is_closed {
            if let Place::File(made) = place {
                place::leave(&self.peers.settings.socket, made);
            }
            return;
        }
        *held = place;
        drop(held);
        let is_open = state == State::Open;
        self.peers.set_state(state, is_news && is_open);
    }

    /// Serves programs until the door is closed.
    fn accept(&self, listener: &UnixListener) {
        for stream in listener.incoming() {
            match stream {
                _ if self.peers.lock().is_closed => return,
                Ok(stream) => drop(connection::begin(&self.peers, stream)),
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => drop(self.peers.wait(PAUSE)),
            }
        }
    }

    /// Waits until the Emacs that has the socket closes the connection; returns false if it refused it.
    fn follow(&self, mut stream: &UnixStream) -> bool {
        let Welcome { version, process, .. } = self.peers.settings.welcome.clone();
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
                Ok(Reply::Welcome(welcome)) => self.peers.set_state(State::Client(welcome.process), true),
                Ok(Reply::Refused(_)) => return false,
                _ => {}
            }
        }
        self.peers.set_state(State::Client(None), false);
        true
    }
}
