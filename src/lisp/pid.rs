//! Lisp functions about the processes of agents.

use super::function::lisp;
use super::ser::Symbol;
use crate::pid::{self, ProcessState};

lisp! { env =>
    /// Return the state of the process ID: `alive', `suspended', `dead', or nil if it exists and this system
    /// does not tell more.  Any number can be asked for.  START, a string, is field 22 of the process's stat;
    /// another process is `dead'.  Without START, any process of that number counts.
    fn process_state(id: u64, start: Option<String>) -> Option<Symbol<ProcessState>> {
        // No process has a number that is too large.
        let state = u32::try_from(id).map_or(ProcessState::Dead, |id| pid::state(id, start.as_deref()));
        Some(state).filter(|state| *state != ProcessState::Unknown).map(Symbol)
    }
}
