//! A connection of a program: a thread that reads its lines, and one that writes its answers.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::event::ConnectionId;
use super::peers::{Link, Peers};
use crate::hub::bounds::{IN_FLIGHT, WAIT};
use crate::hub::lines::{Line, Lines};
use todo_write::wire::socket::{self as protocol, LARGEST, Message, Refused, Reply};

/// The way back to a program, by the thread that writes.
struct Socket {
    stream: Arc<UnixStream>,
    lines: Sender<Vec<u8>>,
    /// The size of the lines that are not written yet.
    unsent: Arc<AtomicUsize>,
}

impl Link for Socket {
    fn send(&self, reply: &Reply) {
        let Ok(line) = protocol::line(reply) else { return };
        if self.unsent.fetch_add(line.len(), Ordering::Relaxed) > IN_FLIGHT {
            // It does not read. The end of the stream ends both threads.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
        // A thread that has ended needs no line.
        let _ = self.lines.send(line);
    }

    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::new(&*self.stream, PollFlags::empty())];
        let is_done = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        is_done.is_ok() && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }
}

/// Serves a program that has connected.
pub(super) fn begin(peers: &Arc<Peers>, stream: UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(peers.settings.patience))?;
    stream.set_write_timeout(Some(WAIT))?;
    let stream = Arc::new(stream);
    let (sender, lines) = mpsc::channel();
    let unsent = Arc::new(AtomicUsize::new(0));
    let link = Socket { stream: Arc::clone(&stream), lines: sender, unsent: Arc::clone(&unsent) };
    let Some(id) = peers.begin(link) else {
        let text = "Too many programs are connected to this Emacs.".into();
        return (&*stream).write_all(&protocol::line(&Reply::Refused(Refused { text }))?);
    };
    let ended = Ended { peers: Arc::clone(peers), id };
    let written = Arc::clone(&stream);
    thread::Builder::new().name("todo-write-answers".into()).spawn(move || {
        write(&written, &lines, &unsent);
        let _ = written.shutdown(Shutdown::Both);
    })?;
    thread::Builder::new().name("todo-write-program".into()).spawn(move || {
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
    let mut lines = Lines::new(stream, LARGEST);
    let mut is_greeted = false;
    loop {
        let line = match lines.next_line() {
            Ok(Some(Line::Whole(line))) => line,
            Ok(Some(Line::TooLong)) => return Err("The line is longer than 1 MiB.".to_owned()),
            Ok(None) | Err(_) if is_greeted => return Ok(()),
            Ok(None) | Err(_) => return Err("The connection began without a hello.".to_owned()),
        };
        let no_message = |error: &dyn std::fmt::Display| format!("This line is no message: {error}");
        let text = str::from_utf8(&line).map_err(|error| no_message(&error))?;
        let message = Message::parse(text).map_err(|error| no_message(&error))?;
        match message {
            Message::Hello(hello) if !is_greeted => {
                is_greeted = true;
                peers.greet(id, hello, line.len())?;
                stream.set_read_timeout(None).map_err(|error| error.to_string())?;
            }
            _ if !is_greeted => return Err("The first line must be a hello.".to_owned()),
            message => peers.receive(id, message, line.len())?,
        }
    }
}

/// Writes lines until there are no more, or the program does not read them.
fn write(mut stream: &UnixStream, lines: &Receiver<Vec<u8>>, unsent: &AtomicUsize) {
    for line in lines {
        if stream.write_all(&line).is_err() {
            return;
        }
        unsent.fetch_sub(line.len(), Ordering::Relaxed);
    }
}
