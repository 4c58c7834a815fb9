//! Writing to what its reader may have closed.
//!
//! In batch Emacs, the signal that tells of it would be fatal. Only sockets can be written to without it, so
//! threads write to nothing else. (The pipe of Emacs outlives the hub, see `todo-write-hub-end`.)

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{SendFlags, send};

/// Sends bytes; returns how many. A reader that is gone is an error, and no signal.
pub(super) fn send_quietly(stream: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    // The standard library has set the option for this there.
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    loop {
        match send(&stream, bytes, flags) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// Lets a thread look at its orders.
#[derive(Debug)]
pub(super) struct Waker(UnixStream);

impl Waker {
    pub(super) fn wake(&self) {
        // A full socket wakes it, too.
        let _ = send_quietly(&self.0, b"!");
    }
}

/// What a thread waits for to be woken.
#[derive(Debug)]
pub(super) struct Wakes(UnixStream);

impl Wakes {
    /// Takes all wakes, which mean the same.
    pub(super) fn take(&self) {
        while (&self.0).read(&mut [0; 256]).is_ok_and(|count| count > 0) {}
    }
}

impl AsFd for Wakes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(super) fn waker() -> io::Result<(Waker, Wakes)> {
    let (waker, wakes) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    wakes.set_nonblocking(true)?;
    Ok((Waker(waker), Wakes(wakes)))
}
