//! What the live buffer asks of a thread, so that it need not walk the list in Lisp.

use std::collections::HashSet;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::read::{self, Text, WholeNumber, elements};
use super::threads::with_thread;
use super::{border, write};
use crate::revision::Revision;

/// See `todo-write-item-changes'.
#[defun]
fn item_changes<'e>(env: &'e Env, thread: Value<'e>, id: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let (key, id) = (read::thread(thread)?, Text::read("id", id)?.0);
        let found: Vec<Revision> = with_thread(&key, |thread| {
            let of_item = |revision: &Revision| {
                let changes: Vec<_> =
                    revision.changes.iter().filter(|change| change.item_id == id).cloned().collect();
                let (number, stamp) = (revision.number, || revision.stamp.clone());
                (!changes.is_empty()).then(|| Revision { number, stamp: stamp(), changes })
            };
            thread.revisions().iter().filter_map(of_item).collect()
        });
        write::list_of(env, &found, |revision| {
            let timestamp = revision.stamp.timestamp;
            let changes = write::list_of(env, &revision.changes, |one| write::change(env, one, timestamp))?;
            env.cons(write::revision(env, revision)?, changes)
        })
    })
}

/// Runs of at least LEAST completed items of THREAD that follow each other: a list of
/// (FIRST-ID LAST-ID . COUNT). Items with an id in BREAKS, a list, belong to none.
#[defun]
fn completed_runs<'e>(
    env: &'e Env,
    thread: Value<'e>,
    least: Value<'e>,
    breaks: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let least: usize = WholeNumber::read("least", least)?;
        let breaks: HashSet<String> = elements("breaks", breaks)?
            .into_iter()
            .map(|id| Ok(Text::read("break", id)?.0))
            .collect::<Result<_>>()?;
        let runs: Vec<(String, String, usize)> = with_thread(&key, |thread| {
            thread
                .list()
                .chunk_by(|a, b| {
                    [a, b].iter().all(|item| !item.status.is_open() && !breaks.contains(&item.id))
                })
                .filter(|run| run.len() >= least.max(2))
                .filter_map(|run| Some((run.first()?.id.clone(), run.last()?.id.clone(), run.len())))
                .collect()
        });
        write::list_of(env, &runs, |(first, last, count)| {
            env.cons(first.into_lisp(env)?, env.cons(last.into_lisp(env)?, *count as i64)?)
        })
    })
}
