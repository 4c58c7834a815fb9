//! An MCP server with the tool `todo_write`. It passes each call to the user's running Emacs, which
//! keeps the list.

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

// Emacs searches this file for the version, which ends at the semicolon.
const USAGE: &str = concat!(
    "todo-write-mcp version ",
    env!("CARGO_PKG_VERSION"),
    "; an MCP server with the tool todo_write. A running Emacs keeps the list.
Usage: todo-write-mcp [--check] [--emacsclient PROGRAM] [EMACSCLIENT-OPTION]...

Options of emacsclient select the Emacs: --socket-name NAME or --server-file NAME.
NAME can be a file name. The default is EMACS_SOCKET_NAME or EMACS_SERVER_FILE in
the environment. --check tests whether that Emacs answers.
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
    // Returning would wait for the thread that reads stdin.
    exit(0)
}

/// Serves requests until the end of input.
async fn serve(server: Arc<Server>) {
    if let Ok(running) = server.serve(transport::Stdio::new()).await {
        let _ = running.waiting().await;
    }
}

/// Waits for a signal to terminate. Later ones are ignored, so that `end` can still notify Emacs.
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
