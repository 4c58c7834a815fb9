//! Lisp functions for the rows of the plan's buffer. Written in Lisp, they would be slow.

use super::function::lisp;
use super::read::Key;
use super::ser::Sparse;
use super::shown::{self, ShownChange, ShownItem, ShownRevision};
use super::threads::{of_items, replacements, with_span, with_thread};
use crate::events::work::Part;
use crate::journal::segments::Span;
use crate::thread::Thread;
use crate::thread::revision::Revision;

/// The lines added and removed for an item, the commands that failed, 1 if more files changed, the refused calls,
/// and how many other items have the same work; none if all are 0.
fn row_figures(thread: &Thread, id: &str) -> Option<Vec<u64>> {
    let work = thread.work(Part::Item(id))?;
    let figures = [work.added, work.removed, work.commands.failed, u64::from(work.more_files), work.refused];
    (figures != [0; 5]).then(|| figures.iter().copied().chain([work.sharers]).collect())
}

lisp! { env =>
    /// See `todo-write-item-changes'.
    fn item_changes(thread: Key, id: String) -> Vec<(ShownRevision, Sparse<Vec<ShownChange<ShownItem>>>)> {
        let span = |thread: &Thread| Span::Since(thread.times(&id).map_or(0, |times| times.created));
        with_span(env, &thread, span, |thread| {
            let starts = replacements(thread);
            let of_item = |revision: &Revision| {
                let changes = revision.changes.iter().filter(|change| change.item_id == id);
                let time = revision.stamp.timestamp;
                let changes: Vec<_> = changes.map(|change| ShownChange::of(change, time)).collect();
                (!changes.is_empty()).then(|| (ShownRevision::of(revision, &starts), Sparse(changes)))
            };
            thread.revisions().iter().filter_map(of_item).collect()
        })?
    }

    /// See `todo-write-items-removed'.
    fn items_removed(thread: Key) -> Sparse<Vec<ShownItem>> {
        shown::items(&with_thread(env, &thread, Thread::removed)?)
    }

    /// See `todo-write-items-dropped'.
    fn items_dropped(thread: Key) -> Sparse<Vec<ShownItem>> {
        shown::items(&with_thread(env, &thread, Thread::dropped)?)
    }

    /// Return the completed items that the agent of THREAD took off its list, oldest first.
    fn items_cleared(thread: Key) -> Sparse<Vec<ShownItem>> {
        shown::items(&with_thread(env, &thread, Thread::cleared)?)
    }

    /// Return the lists that THREAD had before its current one, oldest first, as (FIRST . LAST).
    ///
    /// These are numbers of revisions, LAST the last one in which the list was not empty.
    fn earlier_lists(thread: Key) -> Vec<(u64, u64)> {
        with_thread(env, &thread, Thread::earlier_lists)?
    }

    /// Return what the row of item ID of THREAD shows of its work, or those of all items of the list if ID is nil.
    ///
    /// The value is an alist of (ID ADDED REMOVED FAILED MORE REFUSED SHARERS), without items that have none: numbers
    /// of lines and of failed commands, 1 if commands changed more files, else 0, the number of refused calls, and how
    /// many other items have the same work.
    fn row_work(thread: Key, id: Option<String>) -> Vec<(String, Vec<u64>)> {
        with_thread(env, &thread, |thread| of_items(thread, id, |id| row_figures(thread, id)))?
    }
}
