//! The hub behind two streams: commands come in, and reports go out. `todo-write-mcp serve` is this function,
//! for the Emacs whose child it is and, over ssh, for one on another machine.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::bell::Bell;
use super::handle::{Hub, Local};
use crate::lines::{Line, Lines};
use crate::threads;
use todo_write::wire::bounds::LINE;
use todo_write::wire::program::{self, Command, Message};
use todo_write::wire::socket::line;

/// Serves a hub that reads commands from `input` and writes reports to `output` until either ends. `bell` rings
/// for the Emacs that reads them; another program reads by itself.
///
/// `admit` decides by the name of the Emacs, which no other has, and its name for a person whether it is
/// served, or the reason why not.
/// The error is a sentence.
pub fn serve(
    local: Local,
    input: impl Read + Send + 'static,
    mut output: impl Write,
    bell: Option<Arc<Bell>>,
    admit: impl FnOnce(&str, &str) -> Result<(), String>,
) -> Result<(), String> {
    let rung = bell.clone();
    let mut write = |line: &[u8], is_urgent| {
        if let Some(bell) = &rung {
            bell.announce(line.len(), is_urgent);
        }
        output.write_all(line).and_then(|()| output.flush()).map_err(|error| error.to_string())
    };
    if bell.is_none() {
        // The line feed ends what a login shell printed without one.
        write(format!("\n{}\n", program::greeting()).as_bytes(), false)?;
    }
    // All messages are short, since pieces are cut where they are read and tables are bounded; a name that is not text
    // cannot be sent.
    let mut report = |message: &Message| {
        let is_urgent = !matches!(message, Message::Events(..) | Message::Pulse);
        match line(message) {
            Ok(line) if line.len() <= LINE + 1 => write(&line, is_urgent),
            _ => Ok(()),
        }
    };
    let mut lines = Lines::new(input, LINE);
    let Ok(Some(Command::Hello { id, name })) = next_command(&mut lines) else {
        return Err("the first line is no greeting of Emacs".to_owned());
    };
    if let Err(reason) = admit(&id, &name) {
        report(&Message::Refused(reason.clone()))?;
        return Err(reason);
    }
    report(&Message::Welcome { version: env!("CARGO_PKG_VERSION").to_owned() })?;
    let hub = Arc::new(Hub::new(local));
    let own = Arc::clone(&hub);
    let obey = move || {
        let obey_all = AssertUnwindSafe(|| {
            loop {
                match (next_command(&mut lines), &bell) {
                    (Ok(Some(Command::Ack { bytes, more })), Some(bell)) => bell.acknowledge(bytes, more),
                    (Ok(Some(command)), _) => own.obey(command),
                    (Ok(None), _) => return None,
                    (Err(error), _) => return Some(error),
                }
            }
        });
        let failed = |_| Some("the reader of commands failed, which is a defect".to_owned());
        let failure = catch_unwind(obey_all).unwrap_or_else(failed);
        own.close();
        failure
    };
    // It takes what comes, since Emacs bounds what it sends: a reader that waited for the writer would not read
    // that Emacs has read, for which the writer may wait.
    let reader = threads::start("input", obey).map_err(|error| error.to_string())?;
    let mut last = Instant::now();
    while !hub.is_closed() {
        let message = hub.take(program::PULSE.saturating_sub(last.elapsed()));
        let message = match message {
            Some(message) => message,
            None if last.elapsed() >= program::PULSE => Message::Pulse,
            None => continue,
        };
        last = Instant::now();
        report(&message)?;
    }
    // That thread has closed the hub, and ends.
    reader.join().ok().flatten().map_or(Ok(()), Err)
}

/// The next command; `None` at the end of the input. A later version of Emacs may know more.
fn next_command(lines: &mut Lines<impl Read>) -> Result<Option<Command>, String> {
    loop {
        match lines.next_line().map_err(|error| error.to_string())? {
            Some(Line::Whole(line)) => {
                if let Ok(command) = serde_json::from_slice(line) {
                    return Ok(Some(command));
                }
            }
            Some(Line::TooLong) => {}
            None => return Ok(None),
        }
    }
}
