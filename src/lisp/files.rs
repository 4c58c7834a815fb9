//! Lisp functions that read files which agents name.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::{border, names, read};
use crate::error::Error;
use crate::file;

emacs::use_symbols! {
    wait_a_moment => "todo-write--wait-a-moment"
}

/// How long the first wait may take that nothing ends. Most files are read in less.
const PATIENCE: Duration = Duration::from_millis(8);

/// After how long a file system counts as one that hangs.
const STUCK: Duration = Duration::from_secs(10);

/// Lets a thread call `work` with the name of a file, which may be on a file system that hangs, and waits for its
/// value. Emacs goes on meanwhile: it runs timers and filters, and `C-g` ends the wait. `percent` is how much of all
/// is done.
///
/// # Errors
/// A quit, or a file system that does not answer.
pub(super) fn ask_of<T: Send + 'static>(
    env: &Env,
    file: PathBuf,
    percent: Option<usize>,
    work: impl FnOnce(&Path) -> T + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    let name = file.display().to_string();
    thread::spawn(move || drop(sender.send(work(&file))));
    let (begun, mut patience) = (Instant::now(), PATIENCE);
    loop {
        match receiver.recv_timeout(patience) {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Disconnected) => panic!("a thread that reads files has failed"),
            Err(RecvTimeoutError::Timeout) if begun.elapsed() > STUCK => {
                let reason = std::io::Error::other("its file system has not answered for 10 s");
                return Err(Error::Journal { file: name, reason }.into());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        patience = Duration::ZERO;
        env.call(wait_a_moment, (begun.elapsed().as_secs_f64(), percent))?;
    }
}

/// Return the first LIMIT bytes of FILE, or nil if it is no regular file that can be read.
///
/// The value is a string with a character for each byte.  Emacs waits for the file.
#[defun]
fn file_bytes<'e>(env: &'e Env, file: Value<'e>, limit: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = PathBuf::from(read::text("file", file)?);
        let bytes = file::read_start(&path, read::whole_number("limit", limit)?).ok();
        let text = bytes.map(|bytes| bytes.into_iter().map(char::from).collect::<String>());
        text.map(|text| text.into_lisp(env)).transpose()
    })
}

/// Return the text of FILE, which is in PROJECT, `new' if there is no file, or nil.
///
/// FILE and PROJECT are absolute names of this machine.  The value is nil for a file that a link leads out
/// of PROJECT to, for what is no regular file of at most LIMIT bytes, and for what is not UTF-8 or has a
/// NUL.
#[defun]
fn project_file<'e>(
    env: &'e Env,
    file: Value<'e>,
    project: Value<'e>,
    limit: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let file = PathBuf::from(read::text("file", file)?);
        let project = PathBuf::from(read::text("project", project)?);
        let limit = read::whole_number("limit", limit)?;
        match ask_of(env, file, None, move |file| file::text_below(&project, file, limit))? {
            Ok(Some(text)) => names::text(env, &text).map(Some),
            Ok(None) => names::symbol(env, "new").map(Some),
            Err(_) => Ok(None),
        }
    })
}
