//! The program: its arguments, and how it ends.

use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use todo_write::protocol::Role;

use crate::USAGE;
use crate::emacs::Emacs;
use crate::server::{LIMIT, Server};
use crate::setup;
use crate::transport;
use crate::{note, permission};

#[tokio::main(flavor = "current_thread")]
pub async fn run() {
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
    if let Some(hook) = hook {
        tokio::select! {
            _ = permission::run(door.clone()), if hook == "permission" => {}
            _ = note::run(door.clone()), if hook == "note" => {}
            _ = signal() => {}
        }
        exit(0)
    }
    if check {
        let answer = Emacs::new(door, Role::Check).check(LIMIT).await;
        println!("{}", answer.text);
        exit((!answer.ok).into());
    }
    let emacs = Emacs::new(door, Role::Tool);
    let server = Arc::new(Server::new(emacs));
    tokio::select! {
        _ = serve(server.clone()) => {}
        _ = server.keep_up() => {}
        _ = signal() => {}
    }
    server.end(Duration::from_millis(1500)).await;
    // Returning would wait for the thread that reads stdin.
    exit(0)
}

/// Ends the program because of arguments that cannot be meant. To Claude Code, the usual status 2
/// would be the hook's "no".
fn refuse(why: &str) -> ! {
    eprintln!("todo-write-mcp: {why}\n\n{USAGE}");
    exit(1)
}

async fn serve(server: Arc<Server>) {
    if let Ok(running) = server.serve(transport::Stdio::new()).await {
        let _ = running.waiting().await;
    }
}

/// Waits for a signal to terminate. Later ones are ignored, so that `end` can still notify Emacs.
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
