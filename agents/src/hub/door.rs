//! The socket: the only way by which agents' programs reach Emacs.
//!
//! One thread accepts connections; each of these has a thread that reads and one that writes, as
//! `doc/protocol.md` describes. The owner of a [`Door`] gets whole messages and gives whole answers, and waits for
//! no program. What programs can make the owner keep is bounded: they are read on only while it has room.

mod peers;
pub(super) mod place;

use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::ops::Deref;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use crate::lines::{Line, Lines, Outbox};
use crate::threads;
use place::enter;
use todo_write::wire::bounds::{CALL, WAIT};
use todo_write::wire::socket::{self as protocol, Message, Reply};

pub(super) use peers::Connected;
pub use peers::{ConnectionId, Event, Finder, Out, Peers, Settings, State};
pub(crate) use peers::{QUESTIONS, QUESTIONS_OF_ONE};
pub use place::{beside, connection as connect, is_private_folder, is_private_socket, make_private, usual};

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
            Ok(stream) => drop(begin(peers, stream)),
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            // The system has no more files.
            Err(_) => drop(peers.wait(WAIT)),
        }
    }
}

/// Serves a program that has connected.
fn begin(peers: &Arc<Peers>, stream: UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(peers.settings.patience))?;
    stream.set_write_timeout(Some(WAIT))?;
    let stream = Arc::new(stream);
    let (outbox, unsent) = Outbox::new();
    let sent = Arc::clone(&stream);
    let send = move |reply: &Reply| {
        if protocol::line(reply).is_ok_and(|line| !outbox.send(line)) {
            // It does not read. The end of the stream ends both threads.
            let _ = sent.shutdown(Shutdown::Both);
        }
    };
    let Some(connected) = peers.begin(Box::new(send)) else {
        let text = "Too many programs are connected to this Emacs.".into();
        return (&*stream).write_all(&protocol::line(&Reply::Refused { text })?);
    };
    let written = Arc::clone(&stream);
    threads::start("answers", move || {
        unsent.write(&*written);
        let _ = written.shutdown(Shutdown::Both);
    })?;
    threads::start("program", move || {
        let Connected { peers, id } = &connected;
        if let Err(reason) = read(peers, *id, &stream) {
            peers.end(*id, Some(&reason));
        }
    })?;
    Ok(())
}

/// Reads what a program says until it has closed the connection.
/// The error is a sentence for a program that does not keep to the protocol.
fn read(peers: &Peers, id: ConnectionId, stream: &UnixStream) -> Result<(), String> {
    let mut lines = Lines::new(stream, CALL);
    let mut is_greeted = false;
    loop {
        let line = match lines.next_line() {
            Ok(Some(Line::Whole(line))) => line,
            Ok(Some(Line::TooLong)) => return Err("The line is longer than 1 MiB.".to_owned()),
            Ok(None) | Err(_) if is_greeted => return Ok(()),
            Ok(None) | Err(_) => return Err("The connection began without a hello.".to_owned()),
        };
        let message = serde_json::from_slice(line);
        match message.map_err(|error| format!("This line is no message: {error}"))? {
            Message::Hello(hello) if !is_greeted => {
                is_greeted = true;
                peers.greet(id, hello)?;
                stream.set_read_timeout(None).map_err(|error| error.to_string())?;
            }
            _ if !is_greeted => return Err("The first line must be a hello.".to_owned()),
            message => peers.receive(id, message)?,
        }
    }
}
