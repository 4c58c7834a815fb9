//! The channel to the Emacs whose child this program is: a private socket, and a bell.
//!
//! Emacs reads the socket only when the bell on standard output rings, since a process filter would make Lisp
//! strings of all that comes. At most one ring is outstanding, and Emacs acknowledges the *total* of the bytes that
//! it has read: whatever the order of writes, rings and acknowledgements is, a ring follows while less is
//! acknowledged than written.

use std::fs::{DirBuilder, remove_dir_all};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::threads::lock;

/// The time between two rings for lines that can wait: Emacs takes about a millisecond for each.
const PACE: Duration = Duration::from_millis(100);
/// The number of unread bytes from which on Emacs is rung for at once, so that the socket does not fill up.
const MANY: u64 = 64 * 1024;

/// Rings for Emacs.
#[derive(Debug, Default)]
pub struct Bell {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The total of the bytes that were written, or are about to be, and of those that Emacs has read.
    written: u64,
    read: u64,
    /// Whether Emacs has not answered the last ring yet.
    is_outstanding: bool,
    /// Whether the next ring must not wait.
    is_urgent: bool,
    rang: Option<Instant>,
}

impl Bell {
    /// Notes that so many bytes are written next. That is said before: the writer may have to wait until Emacs
    /// reads, which it does not before it is rung for.
    pub(super) fn announce(&self, bytes: usize, is_urgent: bool) {
        let mut state = lock(&self.state);
        state.written += bytes as u64;
        state.is_urgent |= is_urgent;
        self.changed.notify_one();
    }

    /// Notes that Emacs has read so many bytes in all, and whether it stopped only for lack of time.
    pub(super) fn acknowledge(&self, bytes: u64, has_more: bool) {
        let mut state = lock(&self.state);
        state.read = bytes;
        state.is_outstanding = false;
        state.is_urgent |= has_more;
        self.changed.notify_one();
    }

    /// Writes a byte to `output` for each ring.
    pub fn run(&self, mut output: impl Write) -> io::Result<()> {
        let mut state = lock(&self.state);
        loop {
            match state.due(Instant::now()) {
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    state.ring();
                    drop(state);
                    output.write_all(b"!")?;
                    output.flush()?;
                    state = lock(&self.state);
                }
                Some(left) => {
                    state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

impl State {
    /// In how much time the bell rings; `None` if that is not due.
    fn due(&self, now: Instant) -> Option<Duration> {
        let unread = self.written.saturating_sub(self.read);
        // What Emacs has read and not applied yet is due, too.
        if self.is_outstanding || unread == 0 && !self.is_urgent {
            return None;
        }
        let may_wait = !self.is_urgent && unread < MANY;
        let due = self.rang.filter(|_| may_wait).map(|rang| rang + PACE);
        Some(due.map_or(Duration::ZERO, |due| due.saturating_duration_since(now)))
    }

    fn ring(&mut self) {
        (self.is_outstanding, self.is_urgent, self.rang) = (true, false, Some(Instant::now()));
    }
}

/// Makes a socket that only this user can reach, writes its name as a line to `output`, and waits for Emacs
/// to connect. Then nothing is left of its file.
pub fn connect(folder: &Path, mut output: impl Write) -> io::Result<UnixStream> {
    DirBuilder::new().mode(0o700).create(folder)?;
    let listener = UnixListener::bind(folder.join("socket"))?;
    writeln!(output, "{}", folder.join("socket").display())?;
    output.flush()?;
    let accepted = listener.accept();
    let _ = remove_dir_all(folder);
    Ok(accepted?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In how much time the bell rings, if it does.
    fn due(bell: &Bell) -> Option<Duration> {
        let state = lock(&bell.state);
        state.due(state.rang.unwrap_or_else(Instant::now))
    }

    #[test]
    fn no_order_of_writes_and_acknowledgements_loses_a_ring() {
        let bell = Bell::default();
        assert_eq!(due(&bell), None);
        bell.announce(10, false);
        assert_eq!(due(&bell), Some(Duration::ZERO));
        lock(&bell.state).ring();
        // It is written while Emacs reads, and before it acknowledges.
        bell.announce(5, false);
        assert_eq!(due(&bell), None, "one ring is outstanding");
        bell.acknowledge(10, false);
        assert_eq!(due(&bell), Some(PACE));
        lock(&bell.state).ring();
        bell.acknowledge(15, false);
        assert_eq!(due(&bell), None);
    }

    #[test]
    fn lines_ring_at_a_pace_and_calls_and_much_and_what_is_left_at_once() {
        let bell = Bell::default();
        let mut read = 0;
        let mut after = |bytes, is_urgent, has_more| {
            lock(&bell.state).ring();
            bell.acknowledge(read, has_more);
            read += bytes;
            bell.announce(bytes as usize, is_urgent);
            due(&bell)
        };
        assert_eq!(after(10, false, false), Some(PACE));
        assert_eq!(after(10, true, false), Some(Duration::ZERO));
        assert_eq!(after(0, false, true), Some(Duration::ZERO));
        assert_eq!(after(MANY, false, false), Some(Duration::ZERO));
        assert_eq!(after(0, false, false), None);
    }
}
