//! The border to Emacs. No other module depends on Lisp.
//!
//! Three rules hold here:
//!
//! - The store is not borrowed while Lisp runs, since Lisp may call back. Arguments are converted
//!   before the borrow, results after it.
//! - `border` catches panics.
//! - An error of this crate becomes a child of `todo-write-error`. A signal or throw of Lisp, such as
//!   quit, passes through.

mod diffs;
#[cfg(feature = "panic-injection")]
mod faults;
mod observations;
mod processes;
mod read;
mod rows;
mod socket;
mod streams;
mod threads;
mod transcripts;
mod work;
mod write;

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use emacs::{Env, Result, Value, defun};
use serde_json::Map;

use crate::clock::Millis;
use crate::error::Error;
use crate::fault::may_panic_here;
use crate::input::{Options, SeveralInProgress};
use crate::journal::Durability;
use crate::recording::Recording;
use crate::store::{Storage, Store};
use crate::thread::{State, Thread};
use crate::transcript::claude::processes::Processes;
use crate::transcript::follower::Beside;
use crate::transcript::listing::Listings;
use read::wrong;

emacs::plugin_is_GPL_compatible!();

/// The Lisp files search the module file for this text before they load it, because Emacs cannot
/// unload a module of another version.
#[used]
static VERSION_MARK: &str = concat!("todo-write-dyn version ", env!("CARGO_PKG_VERSION"), ";");

#[emacs::module(name = "todo-write-dyn", separator = "--", mod_in_name = false)]
fn init(env: &Env) -> Result<()> {
    // The default hook prints to standard error, which may be the user's terminal.
    std::panic::set_hook(Box::new(|info| {
        let place =
            info.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
        PANIC_PLACE.with_borrow_mut(|last| *last = place);
    }));
    env.call("set", (env.intern("todo-write-module--loaded-version")?, env!("CARGO_PKG_VERSION")))?;
    Ok(())
}

thread_local! {
    static PANIC_PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The user's options.
#[derive(Default)]
struct Settings {
    storage: Storage,
    input: Options,
    keep_completed: bool,
    recording: Recording,
}

/// The state of the module: the settings, and a store for each journal folder used so far.
#[derive(Default)]
struct Module {
    settings: Settings,
    /// The store of the folder in the settings.
    store: Store,
    /// The stores of other folders.
    others: HashMap<Option<PathBuf>, Store>,
    /// The processes of Claude Code.
    processes: Processes,
    /// The transcripts in folders.
    listings: Listings,
    /// The files of subagents in folders.
    beside: Arc<Mutex<Beside>>,
}

impl Module {
    fn configure(&mut self, settings: Settings) {
        let storage = settings.storage.clone();
        let last = mem::replace(&mut self.settings, settings).storage.folder;
        if last != storage.folder {
            self.store.close_journals();
            let next = self.others.remove(&storage.folder).unwrap_or_else(|| Store::new(storage.clone()));
            self.others.insert(last, mem::replace(&mut self.store, next));
        }
        self.store.set_storage(storage);
    }

    /// The thread to write to, loaded or created if it is not in memory.
    fn open(&mut self, key: &str) -> &mut Thread {
        self.store.open(key, Map::new(), now())
    }

    /// The state of a thread, which is empty if the thread does not exist.
    fn state(&mut self, key: &str) -> State {
        self.store.get(key).map_or(State::Empty, Thread::state)
    }
}

static MODULE: LazyLock<Mutex<Module>> = LazyLock::new(Mutex::default);

/// Runs `work` on the state of the module. `work` must not call Lisp.
fn with_module<T>(work: impl FnOnce(&mut Module) -> T) -> T {
    // A poisoned lock is safe: `Thread::recover` repairs a thread that a panic left half changed.
    let mut module = MODULE.lock().unwrap_or_else(PoisonError::into_inner);
    may_panic_here();
    work(&mut module)
}

fn now() -> Millis {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Runs the body of a Lisp function, and turns panics and errors into Lisp errors.
fn border<T>(env: &Env, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let (symbol, message) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => match error.downcast_ref() {
            Some(own) => (error_symbol(own), own.to_string()),
            // A signal or throw of Lisp.
            None => return Err(error),
        },
        Err(panic) => {
            let (what, place) = (panic_message(panic.as_ref()), PANIC_PLACE.with_borrow_mut(mem::take));
            let message = format!(
                "internal error of todo-write: {what} at {place}. The list is as before or as after the \
                 call; please report this"
            );
            ("todo-write-panic", message)
        }
    };
    env.signal(env.intern(symbol)?, (message,))
}

fn error_symbol(error: &Error) -> &'static str {
    match error {
        Error::Journal { .. } => "todo-write-journal-error",
        Error::NothingToUndo { .. } => "todo-write-error",
        Error::Argument(_) | Error::NoItem { .. } | Error::NoRevision { .. } | Error::DuplicateId { .. } => {
            "todo-write-input-error"
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let words = panic.downcast_ref::<&str>().copied();
    words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

/// Set the options for all later calls.
///
/// FOLDER is the journal folder, a string, or nil for none.  DURABILITY is `process' or `disk'.
/// HISTORY-LIMIT, MAX-ITEMS and MAX-LENGTH are whole numbers.  STRICT and KEEP-COMPLETED are flags.
/// SEVERAL is nil (accept several tasks in progress with a notice), `allow' or `refuse'.
/// RECORD-PATCHES is a flag, RECORD-EXCLUDED a list of strings, globs.  Signal
/// `todo-write-input-error', which names the user option, for any other value.
#[defun]
#[allow(clippy::too_many_arguments)] // One for each user option.
fn configure<'e>(
    env: &'e Env,
    folder: Value<'e>,
    durability: Value<'e>,
    history_limit: Value<'e>,
    max_items: Value<'e>,
    max_length: Value<'e>,
    strict: Value<'e>,
    several: Value<'e>,
    keep_completed: Value<'e>,
    record_patches: Value<'e>,
    record_excluded: Value<'e>,
) -> Result<()> {
    border(env, || {
        let storage = Storage {
            folder: read::optional("todo-write-directory", folder, read::text)?.map(PathBuf::from),
            durability: match read::name("todo-write-durability", durability)?.as_deref() {
                Some("process") => Durability::Process,
                Some("disk") => Durability::Disk,
                _ => return Err(wrong("todo-write-durability", durability, "process or disk")),
            },
            history_limit: read::whole_number("todo-write-history-limit", history_limit)?,
        };
        let several_in_progress = match read::name("todo-write-several-in-progress", several)?.as_deref() {
            None => SeveralInProgress::Notice,
            Some("allow") => SeveralInProgress::Allow,
            Some("refuse") => SeveralInProgress::Refuse,
            _ => return Err(wrong("todo-write-several-in-progress", several, "nil, allow or refuse")),
        };
        let input = Options {
            max_items: read::whole_number("todo-write-max-items", max_items)?,
            max_length: read::whole_number("todo-write-max-length", max_length)?,
            strict: strict.is_not_nil(),
            several_in_progress,
        };
        let keep_completed = keep_completed.is_not_nil();
        let globs = read::elements("todo-write-record-excluded", record_excluded)?;
        let globs = globs.into_iter().map(|glob| read::text("todo-write-record-excluded", glob));
        let recording = Recording {
            numbers_only: !record_patches.is_not_nil(),
            excluded: globs.collect::<Result<_>>()?,
            ..Recording::default()
        };
        with_module(|module| module.configure(Settings { storage, input, keep_completed, recording }));
        Ok(())
    })
}
