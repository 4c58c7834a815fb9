//! Lisp functions on the work of agents.

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::read::{self, Key};
use super::write::{self, Plist};
use super::{border, with_module};
use crate::events::Millis;
use crate::events::work::{FileWork, Part, Work, recorded_patches};

emacs::use_symbols! {
    k_files => ":files" k_path => ":path" k_added => ":added" k_removed => ":removed" k_edits => ":edits"
    k_created => ":created" k_deleted => ":deleted" k_commands => ":commands" k_run => ":run"
    k_failed => ":failed" k_refused => ":refused" k_background => ":background" k_unknown => ":unknown"
    k_responses => ":responses" k_tokens => ":tokens" k_input => ":input" k_output => ":output"
    k_cache_read => ":cacheRead" k_cache_write => ":cacheWrite" k_at_least => ":atLeast"
    k_models => ":models" k_shared => ":shared" k_since => ":since"
    outside
}

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
        let found = with_part(id, |part| {
            with_module(|module| {
                let Some(thread) = module.store.get(&thread)? else { return Ok(None) };
                let Some(work) = thread.work(part) else { return Ok(None) };
                Ok::<_, crate::error::Error>(Some((
                    work.clone(),
                    thread.work_sums().has_tokens(part),
                    thread.work_since(),
                )))
            })
        })??;
        found.map(|(work, has_tokens, since)| to_lisp(env, &work, has_tokens, since)).transpose()
    })
}

fn to_lisp<'e>(env: &'e Env, work: &Work, has_tokens: bool, since: Option<Millis>) -> Result<Value<'e>> {
    let commands = Plist::new(env)
        .set(k_run, work.commands.run)?
        .set(k_failed, work.commands.failed)?
        .set(k_refused, work.commands.refused)?
        .set(k_background, work.commands.background)?
        .set(k_unknown, work.commands.unknown)?
        .finish()?;
    let tokens = || {
        Plist::new(env)
            .set(k_input, work.tokens.input)?
            .set(k_output, work.tokens.output)?
            .set(k_cache_read, work.tokens.cache_read)?
            .set(k_cache_write, work.tokens.cache_write)?
            .set(k_at_least, work.lower_bounds > 0)?
            .finish()
    };
    Plist::new(env)
        .set(k_files, write::list_of(env, &work.files, Ok)?)?
        .set(k_added, work.added)?
        .set(k_removed, work.removed)?
        .set(k_edits, work.edits)?
        .set(k_commands, commands)?
        .set(k_responses, work.responses)?
        .set(k_tokens, has_tokens.then(tokens).transpose()?)?
        .set(k_models, write::texts(env, &work.models)?)?
        .set(k_shared, work.shared)?
        .set(k_since, since)?
        .finish()
}

impl<'e> IntoLisp<'e> for &FileWork {
    fn into_lisp(self, env: &'e Env) -> Result<Value<'e>> {
        Plist::new(env)
            .set(k_path, write::text(env, &self.path)?)?
            .set(k_added, self.added)?
            .set(k_removed, self.removed)?
            .set(k_edits, self.edits)?
            .set(k_created, self.created)?
            .set(k_deleted, self.deleted)?
            .finish()
    }
}

/// See `todo-write--patches'.
#[defun]
fn patches<'e>(env: &'e Env, thread: Key, id: Value<'e>, path: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = read::optional("path", path, read::text)?;
        let found =
            with_part(id, |part| with_module(|module| module.store.work_observations(&thread, part)))??;
        write::list_of(env, recorded_patches(&found, path.as_deref()), |(path, patch)| {
            env.cons(write::text(env, path)?, write::text(env, patch)?)
        })
    })
}
