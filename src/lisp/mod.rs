//! The border to Emacs. No other module depends on Lisp.
//!
//! Functions to which Lisp only forwards are documented there. `lisp!` defines them all; four rules hold here:
//!
//! - The store is not borrowed while Lisp runs, since Lisp may call back. Arguments are converted
//!   before the borrow, results after it.
//! - Journals are read and appended at once, since they are local and bounded. Emacs also waits for the other files
//!   that a command of the user needs.
//! - Arguments are deserialized and values serialized; `guarded` catches the panics of both and of the body.
//! - An error of this crate becomes a child of `todo-write-error`. A signal or throw of Lisp, such as
//!   quit, passes through.

mod agents;
mod de;
mod diffs;
#[cfg(feature = "panic-injection")]
mod faults;
mod feed;
mod function;
mod observations;
mod read;
mod requests;
mod review;
mod rows;
mod ser;
mod shown;
mod story;
mod streams;
mod threads;
mod work;

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, TryLockError};
use std::time::SystemTime;

use emacs::{Env, Result};
use once_cell::sync::Lazy;
use serde::Deserialize;
use serde_json::Map;

use self::agents::ShownAgent;
use crate::error::Error;
use crate::events::policy::Policy;
use crate::events::{Millis, millis_of};
use crate::fault::may_panic_here;
use crate::followed::Followed;
use crate::journal::Durability;
use crate::journal::plan::Plan;
use crate::journal::store::{Storage, Store};
use crate::list::input::{Options, SeveralInProgress};
use crate::wire::program::Command;
use function::lisp;

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
    let files = [
        define,
        agents::define,
        diffs::define,
        feed::define,
        observations::define,
        requests::define,
        review::define,
        rows::define,
        story::define,
        streams::define,
        threads::define,
        work::define,
    ];
    files.iter().try_for_each(|define| define(env))?;
    #[cfg(feature = "panic-injection")]
    faults::define(env)?;
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
    policy: Policy,
}

/// The state of the module: the settings, and a store for each journal folder used so far.
#[derive(Default)]
struct Module {
    settings: Settings,
    /// The store of the folder in the settings.
    store: Store,
    /// Those of other folders.
    others: HashMap<Option<PathBuf>, Store>,
    /// The sessions that are followed.
    followed: Followed,
    /// The agents of threads as Lisp asked for them last, and what it said was seen.
    shown_agents: HashMap<String, Option<(Millis, ShownAgent)>>,
}

impl Module {
    fn configure(&mut self, settings: Settings) {
        let storage = settings.storage.clone();
        let last = mem::replace(&mut self.settings, settings).storage.folder;
        if last != storage.folder {
            self.store.summarize();
            let next = self.others.remove(&storage.folder);
            let next = next.unwrap_or_else(|| Store::new(storage.clone()));
            self.others.insert(last, mem::replace(&mut self.store, next));
            self.shown_agents.clear();
        }
        self.store.set_storage(storage);
        self.followed.tell(&Command::Set(self.settings_there()));
    }

    /// Restores what a panic left half changed.
    fn recover(&mut self) {
        self.others.values_mut().chain([&mut self.store]).for_each(Store::recover);
    }

    /// The thread to write to, loaded or created if it is not in memory.
    fn open(&mut self, key: &str) -> &mut Plan {
        self.store.open(key, Map::new(), now())
    }
}

static MODULE: Lazy<Mutex<Module>> = Lazy::new(Mutex::default);

/// Runs `work` on the state of the module. `work` must not call Lisp.
///
/// # Panics
/// If another call has not left. It is below this one on the stack, so that waiting for it would hang Emacs. The
/// panic becomes a Lisp error.
fn with_module<T>(work: impl FnOnce(&mut Module) -> T) -> T {
    let mut module = match MODULE.try_lock() {
        Ok(module) => module,
        Err(TryLockError::Poisoned(poisoned)) => {
            MODULE.clear_poison();
            let mut module = poisoned.into_inner();
            module.recover();
            module
        }
        Err(TryLockError::WouldBlock) => panic!("a call within another one"),
    };
    may_panic_here();
    work(&mut module)
}

fn now() -> Millis {
    millis_of(SystemTime::now()).unwrap_or_default()
}

/// Runs `work` for Lisp, and turns panics and errors into Lisp errors.
///
/// The binding catches panics, too, but signals `rust-panic`, which every module shares and which is no
/// `todo-write-error`, without the place, and for a literal message without the message.
fn guarded<T>(env: &Env, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let (symbol, message) = match catch_unwind(AssertUnwindSafe(work)) {
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
        Error::NothingToUndo { .. } | Error::Door(_) => "todo-write-error",
        Error::Argument(_) | Error::NoItem { .. } | Error::NoRevision { .. } | Error::DuplicateId { .. } => {
            "todo-write-input-error"
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let words = panic.downcast_ref::<&str>().copied();
    words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

lisp! { env =>
    /// Set the options for all later calls.
    ///
    /// OPTIONS is a plist of the user options that the module uses, such as `todo-write-directory', and
    /// their values.  Signal `todo-write-input-error', which names the option, for a wrong value or another
    /// option.
    fn configure(options: UserOptions) {
        with_module(|module| module.configure(options.into()))
    }
}

/// The user's options as Lisp names them.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct UserOptions {
    todo_write_directory: Option<PathBuf>,
    todo_write_durability: Durability,
    todo_write_core_emacs: Option<String>,
    todo_write_history_limit: usize,
    todo_write_max_items: usize,
    todo_write_max_length: usize,
    todo_write_strict: bool,
    todo_write_several_in_progress: SeveralInProgress,
    todo_write_keep_completed: bool,
    todo_write_record_patches: bool,
    todo_write_record_excluded: Vec<String>,
}

impl From<UserOptions> for Settings {
    fn from(options: UserOptions) -> Settings {
        Settings {
            storage: Storage {
                folder: options.todo_write_directory,
                durability: options.todo_write_durability,
                history_limit: options.todo_write_history_limit,
                emacs: options.todo_write_core_emacs,
                ..Storage::default()
            },
            input: Options {
                max_items: options.todo_write_max_items,
                max_length: options.todo_write_max_length,
                strict: options.todo_write_strict,
                several_in_progress: options.todo_write_several_in_progress,
            },
            keep_completed: options.todo_write_keep_completed,
            policy: Policy {
                numbers_only: !options.todo_write_record_patches,
                excluded: options.todo_write_record_excluded,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_within_another_one_is_an_error_in_place_of_a_hang() {
        let nested = catch_unwind(|| with_module(|_| with_module(|_| ())));
        assert_eq!(nested.unwrap_err().downcast_ref(), Some(&"a call within another one"));
        with_module(|_| ());
    }
}
