//! Lisp functions on review: what an agent changed since the user last looked.

use std::time::Instant;

use serde::Serialize;

use super::function::lisp;
use super::read::Key;
use super::threads::{load, wake, with_thread};
use super::work::{PartId, ShownWork};
use super::{now, with_module};
use crate::events::Millis;
use crate::events::comments::{Comment, Telling};
use crate::events::marks::{Marks, Unseen};
use crate::events::observation::{id_of, number_of};
use crate::events::work::Part;
use crate::review::FileToReview;

emacs::use_symbols! {
    say_wait => "todo-write-core-say-wait"
}

/// What the header of a plan shows: the lines of all work, and what is not reviewed.
#[derive(Serialize)]
struct Header {
    added: u64,
    removed: u64,
    files: Option<usize>,
    items: Vec<String>,
    turns: Vec<usize>,
}

#[derive(Serialize)]
struct ShownComment {
    id: String,
    number: u64,
    timestamp: Millis,
    #[serde(flatten)]
    comment: Comment,
    told: bool,
    copied: bool,
}

lisp! { env =>
    /// See `todo-write-new'.
    fn new_work(thread: Key, id: PartId, path: Option<String>) -> Option<ShownWork> {
        with_thread(env, &thread, |thread| {
            let work = thread.review.new_work(id.scope(path.as_deref()));
            work.map(|work| ShownWork::of(&work, false))
        })?
    }

    /// Mark changes of THREAD as reviewed if REVIEWED is non-nil, else as new; return the number of those that
    /// were not.
    ///
    /// ID and PATH are as in `todo-write-new'.
    fn mark_changes(thread: Key, id: PartId, path: Option<String>, reviewed: bool) -> usize {
        wake(env, &thread)?;
        with_module(|module| {
            let plan = module.store.get_mut(&thread);
            let scope = id.scope(path.as_deref());
            plan.map_or(0, |plan| plan.change(|thread| thread.mark(scope, reviewed, now())))
        })
    }

    /// Mark FILES of THREAD as reviewed up to an observation each; return the former marks of those that changed.
    ///
    /// FILES and the value are lists of conses, the name of a file and the number of an observation, or 0. If RAISES
    /// is non-nil, files that are reviewed further stay so.
    fn mark_files(thread: Key, files: Vec<(String, u64)>, raises: bool) -> Vec<(String, u64)> {
        load(env, &thread, serde_json::Map::new())?;
        let files: Marks = files.into_iter().collect();
        with_module(|module| {
            module.open(&thread).change(|thread| thread.mark_files(files, raises, now()))
        })
        .into_iter()
        .collect()
    }

    /// Return how many lines the agent of THREAD changed, and what of its changes was not reviewed.
    ///
    /// The value is a plist: `:added` and `:removed`, numbers of lines, and of the changes since THREAD was begun that
    /// were not reviewed `:files`, the number of files, or nil, `:items`, the ids of the items in progress, and
    /// `:turns`, the numbers of the turns.
    fn header(thread: Key) -> Header {
        with_thread(env, &thread, |thread| {
            let (added, removed) =
                thread.work(Part::Whole).map_or((0, 0), |work| (work.added, work.removed));
            let Unseen { files, items, turns } = thread.review.unseen();
            let files = Some(files.len()).filter(|files| *files > 0);
            let items = items.into_iter().map(str::to_owned).collect();
            Header { added, removed, files, items, turns: turns.into_iter().map(|turn| turn + 1).collect() }
        })?
    }

    /// Return what the user said to the agent of THREAD, oldest first, a list of plists.
    ///
    /// Their keys are `:id`, that of the observation, `:number`, its number, `:timestamp`, `:text`, `:path`, `:line`
    /// and `:quote`, those of the lines that it is about, or nil, `:told`, t if the agent was told, and `:copied`, t if
    /// it was copied, since no message reaches the agent.
    fn comments(thread: Key) -> Vec<ShownComment> {
        with_thread(env, &thread, |thread| {
            let all = thread.comments.all();
            all.map(|kept| ShownComment {
                id: id_of(kept.number),
                number: kept.number,
                timestamp: kept.timestamp,
                comment: kept.comment.clone(),
                told: kept.telling == Telling::Told,
                copied: kept.telling == Telling::Copied,
            })
            .collect()
        })?
    }

    /// Return the new changes of THREAD, file by file, up to the last one that is meant.
    ///
    /// ID and PATH are as in `todo-write-new'. ENTRY is the id of an observation, whose changes are meant then, or
    /// nil. If ALL is non-nil, reviewed ones of those meant are among them.
    ///
    /// The value is a list of plists: `:path`; `:patch`, the net difference, empty if all cancels out; `:reason`, why
    /// that is not one difference, a string or nil; `:until`, the number of the last observation with one that is new,
    /// or nil; and `:items`, the ids of the items in progress at all of them.
    fn review_files(
        thread: Key,
        id: PartId,
        path: Option<String>,
        entry: Option<String>,
        all: bool,
    ) -> Vec<FileToReview> {
        let mut of = id.scope(path.as_deref());
        if let Some(entry) = entry {
            let number = number_of(&entry).unwrap_or(0);
            of.numbers = (number, number);
        }
        let mut files = with_module(|module| FileToReview::all_of(&mut module.store, &thread, of, all))?;
        let (count, begun) = (files.len(), Instant::now());
        for (done, file) in files.iter_mut().enumerate() {
            // `C-g' ends it here.
            env.call(say_wait, (begun.elapsed().as_secs_f64(), done * 100 / count))?;
            file.compare();
        }
        files
    }
}
