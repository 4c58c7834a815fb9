//! Runs the commands of agents, each for a bounded time.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Time limit of a command. Claude Code waits for the network when it installs a plugin.
const LIMIT: Duration = Duration::from_secs(120);
/// Time for output that a child of a command still holds open.
const REST: Duration = Duration::from_secs(1);
/// Maximum size of a command's output in bytes.
const LARGEST: u64 = 1 << 16;

/// Runs COMMANDS in FOLDER one after the other, until one fails. Returns what they print; the error ends
/// with what is wrong.
pub fn all(commands: &[Vec<String>], folder: &Path) -> Result<String, String> {
    let mut output = String::new();
    for command in commands {
        let (printed, result) = one(command, folder);
        output.push_str(&printed);
        if let Err(why) = result {
            return Err(format!("{output}{} {why}.", super::lines(std::slice::from_ref(command))));
        }
    }
    Ok(output)
}

/// What COMMAND prints, and whether it succeeded. The error is a clause.
fn one(command: &[String], folder: &Path) -> (String, Result<(), String>) {
    let failed = |error: std::io::Error| (String::new(), Err(format!("did not run: {error}")));
    let (reader, writer) = match std::io::pipe() {
        Ok(pipe) => pipe,
        Err(error) => return failed(error),
    };
    let errors = match writer.try_clone() {
        Ok(errors) => errors,
        Err(error) => return failed(error),
    };
    let spawned = Command::new(&command[0])
        .args(&command[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return failed(error),
    };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut reader = reader;
        let _ = reader.by_ref().take(LARGEST).read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let is_shown = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
        let _ = sender.send(text.chars().filter(is_shown).collect::<String>());
        // A full pipe would stop the command.
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    });
    let end = Instant::now() + LIMIT;
    let result = loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break Ok(()),
            Ok(Some(status)) => break Err(format!("failed: {status}")),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                break Err(format!("was ended after {} seconds", LIMIT.as_secs()));
            }
            Err(error) => break Err(format!("cannot be waited for: {error}")),
        }
    };
    let mut printed = receiver.recv_timeout(REST).unwrap_or_default();
    if !printed.is_empty() && !printed.ends_with('\n') {
        printed.push('\n');
    }
    (printed, result)
}
