//! Lisp functions on the work of agents.

use emacs::{Env, FromLisp, IntoLisp, Result, Value, defun};
use serde::{Deserialize, Serialize};

use super::read::{self, Key};
use super::ser::Symbol;
use super::threads::with_thread;
use super::{border, elsewhere, guarded, serialized, with_module};
use crate::error::Error;
use crate::events::Millis;
use crate::events::marks::Scope;
use crate::events::turns::{Commit, Ending, Turn};
use crate::events::work::{CommandWork, FileWork, Part, Tokens, Work, recorded_patches, runs_commands};
use crate::thread::Thread;

emacs::use_symbols! { outside whole_turn => "turn" }
emacs::use_functions! { car cdr }

/// The part of a thread that an ID names: an item's id, the symbol `outside`, or nil for all; or a cons of such a
/// part, where the symbol `turn` stands for all, and the number of a turn.
pub(super) struct PartId {
    item: Option<String>,
    is_outside: bool,
    /// The index of the turn.
    turn: Option<usize>,
}

impl PartId {
    fn part(&self) -> Part<'_> {
        if self.is_outside { Part::Outside } else { self.item.as_deref().map_or(Part::Whole, Part::Item) }
    }

    /// The changes of the part, perhaps only those of one file.
    pub(super) fn scope<'a>(&'a self, path: Option<&'a str>) -> Scope<'a> {
        Scope { part: self.part(), turn: self.turn, path, numbers: (0, u64::MAX) }
    }

    /// The work of the part in a thread.
    fn of<'t>(&self, thread: &'t Thread) -> Option<&'t Work> {
        match self.turn {
            Some(turn) => thread.work_in_turn(turn, self.part()),
            None => thread.work(self.part()),
        }
    }
}

impl FromLisp<'_> for PartId {
    fn from_lisp(value: Value<'_>) -> Result<PartId> {
        guarded(value.env, || {
            let (part, of_turn) = if read::is_cons(value)? {
                let number: usize = read::whole_number("turn", value.env.call(cdr, [value])?)?;
                let first = read::wrong("turn", value, "a number from 1 on");
                (value.env.call(car, [value])?, Some(number.checked_sub(1).ok_or(first)?))
            } else {
                (value, None)
            };
            let is_outside = part == *outside;
            let is_whole = is_outside || of_turn.is_some() && part == *whole_turn;
            let item = if is_whole { None } else { read::optional("id", part, read::text)? };
            Ok(PartId { item, is_outside, turn: of_turn })
        })
    }
}

/// See `todo-write-plan-refused'.
#[defun]
fn refused<'e>(env: &'e Env, thread: Key, time: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let time: Millis = read::whole_number("time", time)?;
        with_thread(env, &thread, |thread| thread.refused_after(time))
    })
}

/// Return t if the tool NAME runs commands, else nil.
#[defun]
fn runs_commands_p<'e>(env: &'e Env, name: Value<'e>) -> Result<Value<'e>> {
    border(env, || Ok(runs_commands(&read::text("tool", name)?)))
}

/// See `todo-write-work'.
#[defun]
fn work(env: &Env, thread: Key, id: PartId) -> Result<Value<'_>> {
    serialized(env, || {
        elsewhere::read(env, &thread)?;
        with_module(|module| {
            let Some(thread) = module.store.seen(&thread)? else { return Ok(None) };
            let Some(work) = id.of(thread) else { return Ok(None) };
            let has_tokens = thread.work_sums().has_tokens(id.part());
            Ok(Some(ShownWork::of(work, has_tokens)))
        })
    })
}

/// See `todo-write-turns'.
#[defun]
fn turns(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        with_thread(env, &thread, |thread| {
            let has_tokens = thread.work_sums().has_tokens(Part::Whole);
            let turns = thread.turns().iter().enumerate().map(|(place, turn)| ShownTurn {
                prompt: turn.prompt.clone(),
                said: turn.said.clone(),
                began: turn.began,
                ended: turn.ended,
                ending: Symbol(turn.ending),
                items: turn.items.clone(),
                commits: turn.commits.clone(),
                work: thread.work_in_turn(place, Part::Whole).map(|work| ShownWork::of(work, has_tokens)),
            });
            turns.collect::<Vec<_>>()
        })
    })
}

/// Return what a plan shows of the newest MOST turns of THREAD.
///
/// The value is a cons.  Its car is the number of all turns.  Its cdr is a list of plists, newest first:
/// `:turn`, its number from 1 on; `:prompt` and `:said`, one line of each, as in `todo-write-turns`; `:began`,
/// `:ended`, `:ending` and `:items`, as there; `:completed`, the number of items completed in it; `:added`,
/// `:removed`, `:failed` and `:refused`, as of its work; `:commits`, their number, and `:commit`, the id of the
/// last; and `:outside`, t if files were changed or commands run in it outside any item.
#[defun]
fn turn_headings<'e>(env: &'e Env, thread: Key, most: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let most = read::whole_number("most", most)?;
        with_thread(env, &thread, |thread| {
            let turns = thread.turns();
            let newest = turns.iter().enumerate().rev().take(most);
            (turns.len(), newest.map(|(place, turn)| Heading::of(thread, place, turn)).collect::<Vec<_>>())
        })
    })
}

/// Return the first line of the first prompt of THREAD that is known, or nil.
#[defun]
fn first_prompt(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        let prompt = with_thread(env, &thread, |thread| {
            let mut lines = thread.turns().iter().filter_map(|turn| turn.prompt.as_deref()).map(line);
            lines.find(|line| !line.is_empty())
        })?;
        prompt.into_lisp(env)
    })
}

/// A turn as a line.
#[derive(Serialize)]
struct Heading {
    turn: usize,
    prompt: Option<String>,
    said: Option<String>,
    began: Millis,
    ended: Millis,
    ending: Symbol<Option<Ending>>,
    items: Vec<String>,
    completed: usize,
    added: u64,
    removed: u64,
    failed: u64,
    refused: u64,
    commits: usize,
    commit: Option<String>,
    outside: bool,
}

impl Heading {
    fn of(thread: &Thread, place: usize, turn: &Turn) -> Heading {
        let work = thread.work_in_turn(place, Part::Whole);
        let aside = thread.work_in_turn(place, Part::Outside);
        let figures = |figure: fn(&Work) -> u64| work.map_or(0, figure);
        Heading {
            turn: place + 1,
            prompt: turn.prompt.as_deref().map(line),
            said: turn.said.as_deref().map(line),
            began: turn.began,
            ended: turn.ended,
            ending: Symbol(turn.ending),
            items: turn.items.clone(),
            completed: turn.completed(),
            added: figures(|work| work.added),
            removed: figures(|work| work.removed),
            failed: figures(|work| work.commands.failed),
            refused: figures(|work| work.refused),
            commits: turn.commits.len(),
            commit: turn.commits.last().map(|commit| commit.id.clone()),
            outside: aside.is_some_and(|work| work.edits > 0 || work.commands.run > 0),
        }
    }
}

/// The first line of a text that is not blank, or as much of it as a screen shows.
fn line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(LINE).collect()
}

/// The number of characters of a line that are shown at most.
const LINE: usize = 300;

/// A turn as Lisp has it.
#[derive(Serialize)]
struct ShownTurn {
    prompt: Option<String>,
    said: Option<String>,
    began: Millis,
    ended: Millis,
    ending: Symbol<Option<Ending>>,
    items: Vec<String>,
    commits: Vec<Commit>,
    work: Option<ShownWork>,
}

/// Work as Lisp and JSON have it.
#[derive(Serialize, Deserialize)]
pub(super) struct ShownWork {
    commands: CommandWork,
    #[serde(default)]
    files: Vec<FileWork>,
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    shared: bool,
    #[serde(default, rename = "sharedWith", skip_serializing_if = "is_zero")]
    shared_with: u64,
    #[serde(default, rename = "moreFiles", skip_serializing_if = "std::ops::Not::not")]
    more_files: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    refused: u64,
    added: u64,
    removed: u64,
    edits: u64,
    responses: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<ShownTokens>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde passes a reference.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The tokens of [`ShownWork`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownTokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    #[serde(default)]
    at_least: bool,
}

impl ShownWork {
    pub(super) fn of(work: &Work, has_tokens: bool) -> ShownWork {
        let Tokens { input, output, cache_read, cache_write } = work.tokens;
        let at_least = work.lower_bounds > 0;
        ShownWork {
            commands: work.commands,
            files: work.files.clone(),
            models: work.models.clone(),
            shared: work.sharers > 0,
            shared_with: work.sharers,
            more_files: work.more_files,
            refused: work.refused,
            added: work.added,
            removed: work.removed,
            edits: work.edits,
            responses: work.responses,
            tokens: has_tokens.then_some(ShownTokens { input, output, cache_read, cache_write, at_least }),
        }
    }
}

/// See `todo-write-plan-patches'.
#[defun]
fn patches<'e>(env: &'e Env, thread: Key, id: PartId, path: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let path = read::optional("path", path, read::text)?;
        elsewhere::read(env, &thread)?;
        let history = with_module(|module| module.store.history(&thread));
        let numbers = match id.turn {
            Some(turn) => {
                with_thread(env, &thread, |thread| thread.numbers_of_turn(turn))?.unwrap_or_default()
            }
            None => 0..u64::MAX,
        };
        Ok(elsewhere::ask(env, move |_| {
            let found = history.work(id.part(), numbers)?;
            let patches = recorded_patches(&found, path.as_deref());
            let owned = patches.map(|(path, patch)| (path.to_owned(), patch.to_owned()));
            Ok::<_, Error>(owned.collect::<Vec<_>>())
        })??)
    })
}
