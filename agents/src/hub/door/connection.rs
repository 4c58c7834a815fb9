//! A connection of a program: a thread that reads its lines, and one that writes its answers.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::peers::{ConnectionId, Peers};
use crate::lines::{Line, Lines, Outbox};
use crate::threads;
use todo_write::wire::bounds::{CALL, WAIT};
use todo_write::wire::socket::{self as protocol, Message, Reply};

/// Serves a program that has connected.
pub(super) fn begin(peers: &Arc<Peers>, stream: UnixStream) -> io::Result<()> {
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
    let Some(id) = peers.begin(Box::new(send)) else {
        let text = "Too many programs are connected to this Emacs.".into();
        return (&*stream).write_all(&protocol::line(&Reply::Refused { text })?);
    };
    let ended = Ended { peers: Arc::clone(peers), id };
    let written = Arc::clone(&stream);
    threads::start("answers", move || {
        unsent.write(&*written);
        let _ = written.shutdown(Shutdown::Both);
    })?;
    threads::start("program", move || {
        if let Err(reason) = read(&ended.peers, id, &stream) {
            ended.peers.end(id, Some(&reason));
        }
    })?;
    Ok(())
}

/// Ends a connection, also after a panic.
struct Ended {
    peers: Arc<Peers>,
    id: ConnectionId,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.peers.end(self.id, None);
    }
}

/// Reads what a program says until it has closed the connection.
///
/// # Errors
/// A sentence for a program that does not keep to the protocol.
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
        let no_message = |error: &dyn std::fmt::Display| format!("This line is no message: {error}");
        let text = str::from_utf8(line).map_err(|error| no_message(&error))?;
        match Message::parse(text).map_err(|error| no_message(&error))? {
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
