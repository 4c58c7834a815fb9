//! Lisp functions about the processes of agents.

use emacs::{Env, Result, Value, defun};

use super::{border, names, read};
use crate::pid::{self, ProcessState};

/// Return the state of the process ID: `alive', `suspended', `dead', or nil if it exists and this system
/// does not tell more.  Any number can be asked for.  START, a string, is field 22 of the process's stat;
/// another process is `dead'.  Without START, any process of that number counts.
#[defun]
fn process_state<'e>(env: &'e Env, id: Value<'e>, start: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        // No process has a number that is too large.
        let Ok(id) = u32::try_from(read::whole_number::<i64>("id", id)?) else {
            return names::symbol(env, "dead").map(Some);
        };
        let start = read::optional("start", start, read::text)?;
        let name = match pid::state(id, start.as_deref()) {
            ProcessState::Alive => "alive",
            ProcessState::Suspended => "suspended",
            ProcessState::Dead => "dead",
            ProcessState::Unknown => return Ok(None),
        };
        names::symbol(env, name).map(Some)
    })
}
