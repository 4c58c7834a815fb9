//! Lisp functions on the work of agents.

use emacs::{Result, Value};
use serde::{Deserialize, Serialize};

use super::function::{Argument, lisp};
use super::read::{self, Key};
use super::threads::with_thread;
use super::{de, with_module};
use crate::error::{Error, Problem};
use crate::events::Millis;
use crate::events::marks::Scope;
use crate::events::turns::{Commit, Ending, Turn};
use crate::events::work::{CommandWork, FileWork, Part, Tokens, Work};
use crate::named::is_default;
use crate::thread::{Thread, first_line};

emacs::use_symbols! { outside whole_turn => "turn" }

/// The part of a thread that an ID names: an item's id, the symbol `outside`, or nil for all; or a cons of such a
/// part, where the symbol `turn` stands for all, and the number of a turn.
#[derive(Default)]
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

    /// The work of the part.
    fn of(&self, thread: &Thread) -> Option<ShownWork> {
        let (sums, part) = (&thread.work, self.part());
        let work = match self.turn {
            Some(turn) => sums.in_turn(turn, part),
            None => sums.get(part),
        };
        work.map(|work| ShownWork::of(work, sums.has_tokens(part)))
    }
}

impl Argument<'_> for PartId {
    fn read(name: &str, value: Value<'_>) -> Result<PartId> {
        let (part, of_turn) = match read::parts(value, 2)?.as_deref() {
            Some([part, number]) => {
                let number: usize = de::from_lisp("turn", *number)?;
                let wrong = || Error::Argument(Problem::new("turn", "0", "a number from 1 on"));
                (*part, Some(number.checked_sub(1).ok_or_else(wrong)?))
            }
            _ => (value, None),
        };
        let is_outside = part == *outside;
        let is_whole = is_outside || of_turn.is_some() && part == *whole_turn;
        let item = if is_whole { None } else { de::from_lisp(name, part)? };
        Ok(PartId { item, is_outside, turn: of_turn })
    }
}

/// A turn as a line.
#[derive(Serialize)]
struct Heading {
    turn: usize,
    prompt: Option<String>,
    said: Option<String>,
    began: Millis,
    ended: Millis,
    ending: Option<Ending>,
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
        let work = |part| thread.work.in_turn(place, part);
        let none = Work::default();
        let whole = work(Part::Whole).unwrap_or(&none);
        Heading {
            turn: place + 1,
            prompt: turn.prompt.as_deref().map(first_line),
            said: turn.said.as_deref().map(first_line),
            began: turn.began,
            ended: turn.ended,
            ending: turn.ending,
            items: turn.items(),
            completed: turn.completed(),
            added: whole.added,
            removed: whole.removed,
            failed: whole.commands.failed,
            refused: whole.refused,
            commits: turn.commits.len(),
            commit: turn.commits.last().map(|commit| commit.id.clone()),
            outside: work(Part::Outside).is_some_and(|aside| aside.edits + aside.commands.run > 0),
        }
    }
}

/// A turn as Lisp has it.
#[derive(Serialize)]
struct ShownTurn {
    prompt: Option<String>,
    said: Option<String>,
    began: Millis,
    ended: Millis,
    ending: Option<Ending>,
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
    #[serde(default, rename = "sharedWith", skip_serializing_if = "is_default")]
    shared_with: u64,
    #[serde(default, rename = "moreFiles", skip_serializing_if = "std::ops::Not::not")]
    more_files: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    refused: u64,
    added: u64,
    removed: u64,
    edits: u64,
    responses: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<ShownTokens>,
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

lisp! { env =>
    /// See `todo-write-work'.
    fn work(thread: Key, id: PartId) -> Option<ShownWork> {
        with_thread(env, &thread, |thread| id.of(thread))?
    }

    /// See `todo-write-turns'.
    fn turns(thread: Key) -> Vec<ShownTurn> {
        with_thread(env, &thread, |thread| {
            let turns = thread.turns().iter().enumerate().map(|(place, turn)| ShownTurn {
                prompt: turn.prompt.clone(),
                said: turn.said.clone(),
                began: turn.began,
                ended: turn.ended,
                ending: turn.ending,
                items: turn.items(),
                commits: turn.commits.clone(),
                work: PartId { turn: Some(place), ..PartId::default() }.of(thread),
            });
            turns.collect()
        })?
    }

    /// Return what a plan shows of the newest MOST turns of THREAD.
    ///
    /// The value is a cons.  Its car is the number of all turns.  Its cdr is a list of plists, newest first:
    /// `:turn`, its number from 1 on; `:prompt` and `:said`, one line of each, as in `todo-write-turns`; `:began`,
    /// `:ended`, `:ending` and `:items`, as there; `:completed`, the number of items completed in it; `:added`,
    /// `:removed`, `:failed` and `:refused`, as of its work; `:commits`, their number, and `:commit`, the id of the
    /// last; and `:outside`, t if files were changed or commands run in it outside any item.
    fn turn_headings(thread: Key, most: usize) -> (usize, Vec<Heading>) {
        with_thread(env, &thread, |thread| {
            let turns = thread.turns();
            let newest = turns.iter().enumerate().rev().take(most);
            (turns.len(), newest.map(|(place, turn)| Heading::of(thread, place, turn)).collect())
        })?
    }

    /// Return the recorded changes of THREAD as a list of (FILE . PATCH).
    ///
    /// FILE is the absolute name of a file, and PATCH a diff of it alone. ID and PATH are as in `todo-write-patch'.
    fn patches(thread: Key, id: PartId, path: Option<String>) -> Vec<(String, String)> {
        let numbers = with_thread(env, &thread, |thread| match id.turn {
            Some(turn) => thread.turns.numbers(turn),
            None => 0..u64::MAX,
        })?;
        let found = with_module(|module| module.store.work_recorded(&thread, id.part(), numbers))?;
        let files = found.iter().flat_map(|one| one.payload.files());
        let files = files.filter(|file| path.as_ref().is_none_or(|path| *path == file.path));
        files.filter_map(|file| Some((file.path.clone(), file.patch.clone()?))).collect()
    }
}
