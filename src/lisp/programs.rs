//! Lisp functions of the programs whose agents are known.

use super::function::lisp;
use crate::program::{Identity, Program};

lisp! { env =>
    /// Return the program with NAME, or that calls itself NAME as an MCP client, or nil.
    ///
    /// It is a plist: `:name', what threads and transcripts call it, `:label', what users read, `:client', what it
    /// calls itself, and `:resume', the argument before the id of a session that it takes up again, or nil.
    /// Programs without that are not followed.
    fn program(name: String) -> Option<Program> {
        Program::find(&name)
    }

    /// Return whose the thread with KEY is, as that says, a plist.
    ///
    /// `:machine' is the name of the machine, or nil for this one, `:program' that of the program or host,
    /// `:session' the id of the session, `:subagent' that of the subagent, or nil, and `:resume' is as in
    /// `todo-write-dyn--program'.  The program and the session are nil for a key of another form.
    fn identity(key: String) -> Identity {
        Identity::of(&key)
    }
}
