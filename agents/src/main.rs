//! The program `todo-write-mcp`: an MCP server with the tool `todo_write`, which passes each call to the user's
//! running Emacs; the hooks of Claude Code; and what reads this machine for Emacs.

// Nothing else can reach the items of a program.
#![allow(unreachable_pub)]

mod hooks;
mod mcp;
mod program;
mod serve;
mod setup;
mod signal;

#[cfg(not(unix))]
compile_error!("todo-write-mcp needs Unix sockets, which this system lacks.");

// Emacs searches this file for the version, which ends at the semicolon.
const USAGE: &str = concat!(
    "todo-write-mcp version ",
    env!("CARGO_PKG_VERSION"),
    "; an MCP server with the tool todo_write. A running Emacs keeps the list.
Usage: todo-write-mcp [permission|note] [--check] [--socket FILE]
       todo-write-mcp serve
       todo-write-mcp setup AGENT

The socket of Emacs is by default todo-write/socket in /run/user/UID, else in
/tmp/todo-write-UID; M-x todo-write-agents-mode opens it.
--check tests whether Emacs answers.
With permission or note, it is a hook of Claude Code: the user may answer its dialogs in Emacs,
or the agent hears what the user did there.
serve is what an Emacs runs here: this one (--child), or, by M-x todo-write-connect, one on another machine.
setup gives an agent the tool; setup --help tells more.
"
);

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == "serve") {
        std::process::exit(serve::run(arguments.next().is_some_and(|argument| argument == "--child")))
    }
    program::run();
}
