//! The Lisp function for the socket that agents' programs connect to.

use super::function::lisp;
use super::with_module;
use crate::wire::program::DoorState;

lisp! { env =>
    /// Return whom agents' programs reach, or nil if the socket is closed or about to be opened.
    ///
    /// It is "open" for this Emacs, (client PROCESS) for another one, whose process id may be nil, or (failed TEXT),
    /// for that reason.
    fn door_state() -> Option<DoorState> {
        with_module(|module| module.followed.door.clone())
    }
}
