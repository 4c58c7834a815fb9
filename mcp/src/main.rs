//! An MCP server with the tool `todo_write`. It passes each call to the user's running Emacs, which
//! keeps the list.

#[cfg(unix)]
mod emacs;
#[cfg(unix)]
mod hook;
#[cfg(unix)]
mod note;
#[cfg(unix)]
mod permission;
#[cfg(unix)]
mod program;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod session;
#[cfg(unix)]
mod setup;
#[cfg(unix)]
mod transport;

// Emacs searches this file for the version, which ends at the semicolon.
const USAGE: &str = concat!(
    "todo-write-mcp version ",
    env!("CARGO_PKG_VERSION"),
    "; an MCP server with the tool todo_write. A running Emacs keeps the list.
Usage: todo-write-mcp [permission|note] [--check] [--socket FILE]
       todo-write-mcp serve
       todo-write-mcp setup AGENT

The socket of Emacs is by default todo-write/socket in /run/user/UID, else in
/tmp/todo-write-UID; M-x todo-write-mcp-mode opens it.
--check tests whether Emacs answers.
With permission or note, it is a hook of Claude Code: the user may answer its dialogs in Emacs,
or the agent hears what the user did there.
serve is what M-x todo-write-connect in an Emacs on another machine runs here.
setup gives an agent the tool; setup --help tells more.
"
);

#[cfg(unix)]
fn main() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "serve") {
        std::process::exit(serve::run())
    }
    program::run();
}

#[cfg(not(unix))]
fn main() {
    eprintln!("{USAGE}\nIt needs Unix sockets, which this system lacks.");
    std::process::exit(1)
}
