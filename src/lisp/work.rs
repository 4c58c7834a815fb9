//! Lisp functions on the work of agents.

use emacs::{Env, Result, Value, defun};
use serde::{Deserialize, Serialize};

use super::read::{self, Key};
use super::{border, elsewhere, ser, with_module, write};
use crate::error::Error;
use crate::events::work::{CommandWork, FileWork, Part, Tokens, Work, recorded_patches};

emacs::use_symbols! { outside }

/// Calls `work` with the part that ID names: an item's id, the symbol `outside`, or nil for all.
fn with_part<T>(id: Value<'_>, work: impl FnOnce(Part<'_>) -> T) -> Result<T> {
    if id == *outside {
        return Ok(work(Part::Outside));
    }
    let id = read::optional("id", id, read::text)?;
    Ok(work(id.as_deref().map_or(Part::Whole, Part::Item)))
}

/// See `todo-write-work'.
#[defun]
fn work<'e>(env: &'e Env, thread: Key, id: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        elsewhere::read(env, &thread)?;
        let found = with_part(id, |part| {
            with_module(|module| {
                let Some(thread) = module.store.seen(&thread)? else { return Ok(None) };
                let Some(work) = thread.work(part) else { return Ok(None) };
                let has_tokens = thread.work_sums().has_tokens(part);
                Ok::<_, Error>(Some(ShownWork::of(work, has_tokens)))
            })
        })??;
        found.map(|work| ser::to_lisp(env, &work)).transpose()
    })
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
    fn of(work: &Work, has_tokens: bool) -> ShownWork {
        let Tokens { input, output, cache_read, cache_write } = work.tokens;
        let at_least = work.lower_bounds > 0;
        ShownWork {
            commands: work.commands,
            files: work.files.clone(),
            models: work.models.clone(),
            shared: work.shared,
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

/// See `todo-write--patches'.
#[defun]
fn patches<'e>(env: &'e Env, thread: Key, id: Value<'e>, path: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = read::optional("path", path, read::text)?;
        elsewhere::read(env, &thread)?;
        let recorded = with_module(|module| module.store.recorded(&thread));
        let id = if id == *outside { None } else { Some(read::optional("id", id, read::text)?) };
        let patches = elsewhere::ask(env, move |_| {
            let part = match &id {
                None => Part::Outside,
                Some(None) => Part::Whole,
                Some(Some(id)) => Part::Item(id),
            };
            let found = recorded.work(part)?;
            let patches = recorded_patches(&found, path.as_deref());
            Ok::<_, Error>(patches.map(|(path, patch)| (path.to_owned(), patch.to_owned())).collect())
        })?;
        let patches: Vec<(String, String)> = patches?;
        write::list_of(env, &patches, |(path, patch)| {
            env.cons(write::text(env, path)?, write::text(env, patch)?)
        })
    })
}
