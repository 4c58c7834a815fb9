//! Lisp functions on the rows of the live buffer, so that Lisp need not walk lists and histories.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::read::{self, Text, WholeNumber, elements};
use super::threads::with_thread;
use super::{border, write};
use crate::change::Kind;
use crate::item::Item;
use crate::revision::Revision;

/// Return what happened to item ID of THREAD, oldest first.
///
/// The value is a list of (REVISION . CHANGES), one for each revision that changed the item: a
/// plist as in `todo-write-dyn--revisions', and a list of change plists.
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
            let changes = write::list_of(env, &revision.changes, |one| {
                write::change(env, one, revision.stamp.timestamp, write::item)
            })?;
            env.cons(write::revision(env, revision)?, changes)
        })
    })
}

/// Return the items of THREAD that were begun and are no longer in the list.
///
/// The value is a list of item plists, each item as it last was, oldest removal first.
#[defun]
fn items_removed<'e>(env: &'e Env, thread: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let gone: Vec<Arc<Item>> = with_thread(&key, |thread| {
            let listed: HashSet<&str> = thread.list().iter().map(|item| item.id.as_str()).collect();
            let was_begun = |item: &Item| thread.times(&item.id).is_some_and(|times| times.started.is_some());
            let mut last: HashMap<&str, usize> = HashMap::new();
            let mut gone: Vec<&Arc<Item>> = Vec::new();
            for change in thread.revisions().iter().flat_map(|revision| &revision.changes) {
                if change.kind == Kind::Removed
                    && let Some(item) = &change.previous_item
                    && !listed.contains(item.id.as_str())
                    && was_begun(item)
                {
                    last.insert(&item.id, gone.len());
                    gone.push(item);
                }
            }
            let is_last = |(place, item): &(usize, &Arc<Item>)| last.get(item.id.as_str()) == Some(place);
            gone.into_iter().enumerate().filter(is_last).map(|(_, item)| item.clone()).collect()
        });
        write::list_of(env, &gone, |one| write::item(env, one))
    })
}

/// Return runs of at least LEAST successive completed items of THREAD, the MOST longest ones.
///
/// The value is a list of (FIRST-ID LAST-ID . COUNT) in list order.  No run has an item whose id
/// is in the list BREAKS.
#[defun]
fn completed_runs<'e>(
    env: &'e Env,
    thread: Value<'e>,
    least: Value<'e>,
    most: Value<'e>,
    breaks: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let key = read::thread(thread)?;
        let least: usize = WholeNumber::read("least", least)?;
        let most: usize = WholeNumber::read("most", most)?;
        let breaks: HashSet<String> = elements("breaks", breaks)?
            .into_iter()
            .map(|id| Ok(Text::read("break", id)?.0))
            .collect::<Result<_>>()?;
        let runs = with_thread(&key, |thread| {
            let mut runs: Vec<(usize, &[Arc<Item>])> = Vec::new();
            let mut start = 0;
            // Each item is looked at once: a list of thousands does not fit the cache.
            for (place, item) in thread.list().iter().enumerate() {
                if item.status.is_open() || breaks.contains(&item.id) {
                    runs.push((start, &thread.list()[start..place]));
                    start = place + 1;
                }
            }
            runs.push((start, &thread.list()[start..]));
            runs.retain(|(_, run)| run.len() >= least.max(2));
            runs.sort_by_key(|(place, run)| (Reverse(run.len()), *place));
            runs.truncate(most);
            runs.sort_by_key(|(place, _)| *place);
            let ends = |run: &[Arc<Item>]| Some((run.first()?.id.clone(), run.last()?.id.clone(), run.len()));
            runs.into_iter().filter_map(|(_, run)| ends(run)).collect::<Vec<_>>()
        });
        write::list_of(env, &runs, |(first, last, count)| {
            env.cons(first.into_lisp(env)?, env.cons(last.into_lisp(env)?, *count as i64)?)
        })
    })
}
