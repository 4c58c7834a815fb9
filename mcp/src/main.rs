//! `todo_write` for any MCP client, handed to the Emacs that the user has open.
//!
//! An agent starts this program as an MCP server. The list itself is kept in Emacs.

mod emacs;
mod server;
mod transport;

use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use emacs::Emacs;
use rmcp::ServiceExt;
use serde_json::json;
use server::Server;

// Emacs finds the version in the file, up to the semicolon.
const USAGE: &str = concat!(
    "todo-write-mcp version ",
    env!("CARGO_PKG_VERSION"),
    "; an MCP server with one tool, todo_write, whose list a running Emacs keeps.
Usage: todo-write-mcp [--check] [--emacsclient PROGRAM] [EMACSCLIENT-OPTION]...

Options of emacsclient say which Emacs: --socket-name NAME or --server-file NAME,
where the name may be a file's. Without one, EMACS_SOCKET_NAME and
EMACS_SERVER_FILE count. --check says whether that Emacs answers.
"
);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (mut program, mut options, mut check) = ("emacsclient".into(), Vec::new(), false);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--check") => check = true,
            Some("--emacsclient") => program = arguments.next().unwrap_or(program),
            Some("--help") => return print!("{USAGE}"),
            Some("--version") => return println!("todo-write-mcp {}", env!("CARGO_PKG_VERSION")),
            _ => options.push(argument),
        }
    }
    let emacs = Emacs::new(program, options);
    if check {
        let answer = emacs.ask(json!({ "check": true }), server::LIMIT).await;
        println!("{}", answer.text);
        exit(answer.is_error.into());
    }
    let server = Arc::new(Server::new(emacs));
    tokio::select! {
        _ = serve(server.clone()) => {}
        _ = signal() => {}
    }
    server.end(Duration::from_millis(1500)).await;
    // A return would wait for the thread that reads stdin.
    exit(0)
}

/// Serves until the end of input.
async fn serve(server: Arc<Server>) {
    if let Ok(running) = server.serve(transport::Stdio::new()).await {
        let _ = running.waiting().await;
    }
}

/// Waits for a signal that asks this process to end. From then on such signals are ignored, so that
/// Emacs still hears of the end.
#[cfg(unix)]
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

#[cfg(not(unix))]
async fn signal() {
    let _ = tokio::signal::ctrl_c().await;
}
