//! The program: its arguments, and how it ends.

use std::process::exit;
use std::time::Instant;

use todo_write::wire::socket::{Call, Role};

use crate::USAGE;
use crate::hooks::{note, permission};
use crate::mcp::calls::LIMIT;
use crate::mcp::emacs::Emacs;
use crate::mcp::server;
use crate::setup;
use crate::signal::on_signal;

pub fn run() {
    let (mut door, mut check) = (None, false);
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == "setup").is_some() {
        exit(setup::run(arguments))
    }
    let hook = arguments.next_if(|argument| ["permission", "note"].iter().any(|name| argument == name));
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--check") => check = true,
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
            if hook == "permission" { permission::run(door) } else { note::run(door) }
        }
        None if check => {
            let answer = Emacs::new(door, Role::Check).ask(Call::default(), Instant::now() + LIMIT);
            println!("{}", answer.text);
            exit((!answer.ok).into());
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
