//! Lisp functions about the processes of agents.

use emacs::{Env, Result, Value, defun};

use super::ser::Symbol;
use super::{read, serialized};
use crate::pid::{self, ProcessState};

/// Return the state of the process ID: `alive', `suspended', `dead', or nil if it exists and this system
/// does not tell more.  Any number can be asked for.  START, a string, is field 22 of the process's stat;
/// another process is `dead'.  Without START, any process of that number counts.
#[defun]
fn process_state<'e>(env: &'e Env, id: Value<'e>, start: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        // No process has a number that is too large.
        let Ok(id) = u32::try_from(read::whole_number::<i64>("id", id)?) else {
            return Ok(Some(Symbol("dead")));
        };
        let start = read::optional("start", start, read::text)?;
        Ok(match pid::state(id, start.as_deref()) {
            ProcessState::Alive => Some(Symbol("alive")),
            ProcessState::Suspended => Some(Symbol("suspended")),
            ProcessState::Dead => Some(Symbol("dead")),
            ProcessState::Unknown => None,
        })
    })
}
