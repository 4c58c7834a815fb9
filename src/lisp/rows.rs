//! Lisp functions for the rows of the plan's buffer. Written in Lisp, they would be slow.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use emacs::{Env, Result, Value, defun};

use super::read::{self, Id, Key};
use super::shown::{self, ShownRevision};
use super::threads::{replacements, with_span, with_thread};
use super::{border, items, ser, serialized};
use crate::events::work::Part;
use crate::journal::segments::Span;
use crate::list::item::Item;
use crate::thread::Thread;
use crate::thread::revision::Revision;

/// See `todo-write-item-changes'.
#[defun]
fn item_changes(env: &Env, thread: Key, id: Id) -> Result<Value<'_>> {
    border(env, || {
        let span = |thread: &Thread| Span::Since(thread.times(&id.0).map_or(0, |times| times.created));
        let (found, starts): (Vec<(Revision, Vec<_>)>, _) = with_span(env, &thread, span, |thread| {
            let of_item = |revision: &Revision| {
                let of_item = revision.changes.iter().filter(|change| change.item_id == id.0);
                let changes: Vec<_> = of_item.cloned().collect();
                (!changes.is_empty()).then(|| (revision.clone(), changes))
            };
            (thread.revisions().iter().filter_map(of_item).collect(), replacements(thread))
        })?;
        let shown = found.iter().map(|(revision, changes)| {
            (ShownRevision::of(revision, &starts), shown::changes_in(revision, changes))
        });
        ser::to_lisp(env, &shown.collect::<Vec<_>>())
    })
}

/// See `todo-write-items-removed'.
#[defun]
fn items_removed(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        let gone = with_thread(env, &thread, Thread::removed)?;
        ser::to_lisp(env, &items::shown(&gone))
    })
}

/// See `todo-write-items-dropped'.
#[defun]
fn items_dropped(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        let dropped = with_thread(env, &thread, Thread::dropped)?;
        ser::to_lisp(env, &items::shown(&dropped))
    })
}

/// See `todo-write-plan-items-cleared'.
#[defun]
fn items_cleared(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || {
        let cleared = with_thread(env, &thread, Thread::cleared)?;
        ser::to_lisp(env, &items::shown(&cleared))
    })
}

/// See `todo-write-plan-earlier-items'.
#[defun]
fn earlier_items<'e>(env: &'e Env, thread: Key, first: Value<'e>, last: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let first: u64 = read::whole_number("first", first)?;
        let last: u64 = read::whole_number("last", last)?;
        let span = |_: &Thread| Span::Revisions(first, last);
        let earlier = with_span(env, &thread, span, |thread| thread.earlier_items(first, last))??;
        ser::to_lisp(env, &items::shown(&earlier))
    })
}

/// See `todo-write-plan-earlier-lists'.
#[defun]
fn earlier_lists(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || with_thread(env, &thread, Thread::earlier_lists))
}

/// See `todo-write-plan-row-work'.
#[defun]
fn row_work(env: &Env, thread: Key, id: Option<Id>) -> Result<Value<'_>> {
    border(env, || {
        if let Some(Id(id)) = id {
            return ser::to_lisp(env, &with_thread(env, &thread, |thread| row_figures(thread, &id))?);
        }
        let all: Vec<(String, Vec<u64>)> = with_thread(env, &thread, |thread| {
            // Most plans have no work.
            let items = if thread.work(Part::Whole).is_some() { thread.list().as_slice() } else { &[] };
            items.iter().filter_map(|item| Some((item.id.clone(), row_figures(thread, &item.id)?))).collect()
        })?;
        ser::to_lisp(env, &all)
    })
}

/// The lines added and removed for an item, the commands that failed, 1 if more files changed, the refused calls,
/// and how many other items have the same work; none if all are 0.
fn row_figures(thread: &Thread, id: &str) -> Option<Vec<u64>> {
    let work = thread.work(Part::Item(id))?;
    let figures = [work.added, work.removed, work.commands.failed, u64::from(work.more_files), work.refused];
    (figures != [0; 5]).then(|| figures.iter().copied().chain([work.sharers]).collect())
}

/// See `todo-write-plan-header-work'.
#[defun]
fn header_work(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        with_thread(env, &thread, |thread| {
            let work = thread.work(Part::Whole)?;
            Some((work.added, work.removed, work.models.clone()))
        })
    })
}

/// See `todo-write-plan-completed-runs'.
#[defun]
fn completed_runs<'e>(
    env: &'e Env,
    thread: Key,
    least: Value<'e>,
    most: Value<'e>,
    breaks: Value<'e>,
) -> Result<Value<'e>> {
    serialized(env, || {
        let least: usize = read::whole_number("least", least)?;
        let most: usize = read::whole_number("most", most)?;
        let breaks: HashSet<String> = read::texts("breaks", breaks)?.into_iter().collect();
        with_thread(env, &thread, |thread| {
            let ends_run = |item: &Arc<Item>| item.status.is_open() || breaks.contains(&item.id);
            let mut runs: Vec<(usize, &[Arc<Item>])> = thread.list().split(ends_run).enumerate().collect();
            runs.retain(|(_, run)| run.len() >= least.max(2));
            runs.sort_by_key(|(place, run)| (Reverse(run.len()), *place));
            runs.truncate(most);
            runs.sort_by_key(|(place, _)| *place);
            let ends = |run: &[Arc<Item>]| Some((run.first()?.id.clone(), run.last()?.id.clone(), run.len()));
            runs.into_iter().filter_map(|(_, run)| ends(run)).collect::<Vec<_>>()
        })
    })
}
