//! The end of the program by a signal.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use todo_write_mcp::threads;

/// Calls ACT at the first signal to terminate. Later ones are ignored, so that Emacs can still be notified.
pub fn on_signal(act: impl FnOnce() + Send + 'static) {
    // Without a handler, the signal ends the program at once.
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    let mut act = Some(act);
    let _ = threads::start("signals", move || {
        signals.forever().for_each(|_| act.take().into_iter().for_each(|act| act()));
    });
}
