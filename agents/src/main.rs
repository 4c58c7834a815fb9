//! The program `todo-write-mcp`: an MCP server with the tool `todo_write`, which passes each call to the user's
//! running Emacs; the hooks of Claude Code; and what reads this machine for Emacs.

// Nothing else can reach the items of a program.
#![allow(unreachable_pub)]

mod hooks;
mod mcp;
mod serve;
mod setup;
mod signal;

use std::process::exit;

use todo_write::wire::socket::Role;

use hooks::{note, permission};
use mcp::emacs::Emacs;
use mcp::server;
use signal::on_signal;

#[cfg(not(unix))]
compile_error!("todo-write-mcp needs Unix sockets, which this system lacks.");

// Emacs searches this file for the version, which ends at the semicolon.
const USAGE: &str = concat!(
    "todo-write-mcp version ",
    env!("CARGO_PKG_VERSION"),
    "; an MCP server with the tool todo_write. A running Emacs keeps the list.
Usage: todo-write-mcp [permission|note] [--socket FILE]
       todo-write-mcp serve
       todo-write-mcp setup AGENT

The socket of Emacs is by default todo-write/socket in /run/user/UID, else in
/tmp/todo-write-UID; M-x todo-write-agents-mode opens it.
With permission or note, it is a hook of Claude Code: the user may answer its dialogs in Emacs,
or the agent hears what the user did there.
serve is what an Emacs runs here: this one (--child), or, by M-x todo-write-connect, one on another machine.
setup gives an agent the tool; setup --help tells more.
"
);

fn main() {
    let mut door = None;
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == "serve").is_some() {
        exit(serve::run(arguments.next().is_some_and(|argument| argument == "--child")))
    }
    if arguments.next_if(|argument| argument == "setup").is_some() {
        exit(setup::run(arguments))
    }
    let hook = arguments.next_if(|argument| ["permission", "note"].iter().any(|name| argument == name));
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--socket") => match arguments.next() {
                Some(file) => door = Some(file.into()),
                None => refuse("--socket FILE lacks its value"),
            },
            Some("--help") => return print!("{USAGE}"),
            Some("--version") => return println!("todo-write-mcp {}", env!("CARGO_PKG_VERSION")),
            _ => refuse(&format!("{} is no option", argument.display())),
        }
    }
    match hook {
        Some(hook) => {
            on_signal(|| exit(0));
            if hook == "permission" { permission::run(door) } else { note(door) }
        }
        None => server::run(Emacs::new(door, Role::Tool)),
    }
    exit(0)
}

/// Ends the program because of arguments that cannot be meant. To Claude Code, the usual status 2
/// would be the hook's "no".
fn refuse(why: &str) -> ! {
    eprintln!("todo-write-mcp: {why}\n\n{USAGE}");
    exit(1)
}
