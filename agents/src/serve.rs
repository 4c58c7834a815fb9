//! `todo-write-mcp serve`: what reads this machine for an Emacs. `serve --child` is for the Emacs that started it;
//! without that, it serves one on another machine, over standard input and output.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use todo_write::wire::bounds::SMALL_FILE;
use todo_write::wire::event::Agent;
use todo_write::wire::program::SILENCE;
use todo_write_mcp::hub::bell::{self, Bell};
use todo_write_mcp::hub::home::folder;
use todo_write_mcp::hub::serve::serve;
use todo_write_mcp::hub::{Local, codex, door};
use todo_write_mcp::threads;

/// How long the program that serves the same Emacs by an earlier connection has to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Serves until either stream ends; returns the status of the process.
pub fn run(is_child: bool) -> i32 {
    let socket = door::usual();
    let local = Local {
        homes: vec![
            (Agent::Claude, folder("CLAUDE_CONFIG_DIR", ".claude")),
            (Agent::Codex, folder("CODEX_HOME", ".codex")),
        ],
        socket: socket.clone(),
        silence: SILENCE,
        codex: codex::USUAL,
        home: folder("HOME", ""),
    };
    if is_child {
        return serve_parent(local).map_or_else(|reason| fail(&reason), |()| 0);
    }
    // The lock lives as long as the process.
    let mut lock = None;
    let admit = |id: &str, name: &str| {
        lock = Some(admit(&socket.with_file_name("serve"), id, name)?);
        Ok(())
    };
    let end = serve(local, std::io::stdin(), std::io::stdout(), None, admit);
    drop(lock);
    end.map_or_else(|reason| fail(&reason), |()| 0)
}

/// Serves the Emacs that started this process, by a private socket. The process ends with its standard input,
/// also before Emacs has connected.
fn serve_parent(local: Local) -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let start = |name: &str, run: Box<dyn FnOnce() + Send>| {
        let work = move || {
            run();
            std::process::exit(0)
        };
        threads::start(name, work).map(drop).map_err(said)
    };
    let name = getrandom::u64().map_err(|error| error.to_string())?;
    let folder = std::env::temp_dir().join(format!("todo-write-{name:x}"));
    let private = folder.clone();
    let wait_for_end = move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        // It is there until Emacs has connected.
        let _ = std::fs::remove_dir_all(private);
    };
    start("parent", Box::new(wait_for_end))?;
    let stream = bell::connect(&folder, std::io::stdout()).map_err(said)?;
    let bell = Arc::new(Bell::default());
    let rung = Arc::clone(&bell);
    start("bell", Box::new(move || drop(rung.run(std::io::stdout()))))?;
    serve(local, stream.try_clone().map_err(said)?, &stream, Some(bell), |_, _| Ok(()))
}

fn fail(reason: &str) -> i32 {
    eprintln!("todo-write-mcp serve: {reason}");
    1
}

/// Locks a file for the Emacs that has this id; the error is a sentence that says who has it. The program
/// that serves the same Emacs by a connection of which this machine has not noticed the end is ended.
///
/// A second file is locked for the moments in which the first is locked, read or written, so that it always tells
/// who has its lock.
fn admit(file: &Path, id: &str, name: &str) -> Result<File, String> {
    let said = |error: std::io::Error| format!("{} cannot be opened: {error}", file.display());
    file.parent().map_or(Ok(()), door::make_private)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut lock = options.open(file).map_err(said)?;
    let gate = options.open(door::beside(file, "gate")).map_err(said)?;
    let end = Instant::now() + PATIENCE;
    loop {
        gate.lock().map_err(said)?;
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(said(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        let holder = holder(file);
        gate.unlock().map_err(said)?;
        let is_other = holder.as_ref().is_some_and(|(holder, ..)| holder != id);
        if Instant::now() > end || is_other {
            let who = holder.map_or_else(
                || "another Emacs".to_owned(),
                |(_, process, name)| format!("{name} (by process {process} here)"),
            );
            return Err(format!("its agents already reach {who}"));
        }
        if let Some(process) = holder.and_then(|(_, process, _)| rustix::process::Pid::from_raw(process)) {
            // It has the lock, so it is no other process that got the number later.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let name: String = name.chars().filter(|c| !c.is_control()).take(200).collect();
    lock.set_len(0).map_err(said)?;
    write!(lock, "{id}\n{}\n{name}\n", std::process::id()).map_err(said)?;
    Ok(lock)
}

/// The id and the name of the Emacs that is served, and between them the process that serves it.
fn holder(file: &Path) -> Option<(String, i32, String)> {
    let text = todo_write::file::read_text(file, SMALL_FILE as u64).ok()?;
    let mut lines = text.lines().map(str::to_owned);
    Some((lines.next()?, lines.next()?.parse().ok()?, lines.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_serves_one_emacs_and_says_which() {
        let folder = std::env::temp_dir().join(format!("todo-write-serve-{}", std::process::id()));
        let file = folder.join("run/serve");
        let held = admit(&file, "first", "ann@laptop, process 7").unwrap();
        let refusal = admit(&file, "second", "bob@desk, process 8").unwrap_err();
        assert!(
            refusal.starts_with("its agents already reach ann@laptop, process 7 (by process "),
            "{refusal}"
        );
        drop(held);
        admit(&file, "second", "bob@desk").unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
