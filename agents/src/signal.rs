//! The end of the program by a signal.

use std::io::Read;
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use todo_write_mcp::threads;

/// Calls ACT at the first signal to terminate. Later ones are ignored, so that Emacs can still be notified.
pub fn on_signal(act: impl FnOnce() + Send + 'static) {
    let Ok((mut signals, handler)) = UnixStream::pair() else { return };
    let waiter = threads::start("signals", move || {
        if signals.read_exact(&mut [0]).is_ok() {
            act();
        }
    });
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|_| waiter.is_ok()) {
        if let Ok(handler) = handler.try_clone() {
            // Without a handler, the signal ends the program at once.
            let _ = signal_hook::low_level::pipe::register(signal, handler);
        }
    }
}
