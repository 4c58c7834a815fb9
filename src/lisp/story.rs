//! Lisp functions on the story of an agent's work.

use super::function::lisp;
use super::observations::span_of;
use super::read::Key;
use super::ser::Sparse;
use super::threads::with_span;
use crate::events::observation::{Filter, number_of};
use crate::journal::segments::Span;
use crate::thread::Thread;
use crate::thread::story::{self, Entry, WholeEntry, entries};
use serde_json::Value as Json;

lisp! { env =>
    /// Return the entries of the story of THREAD, of the observations that FILTER admits, oldest first.
    ///
    /// FILTER is as for `todo-write-observations', without `:types' of all types that the story has.  The value is a
    /// list of plists; see `todo-write-story-entries'.
    fn story(thread: Key, filter: Filter) -> Sparse<Vec<Entry>> {
        let mut filter = filter;
        if filter.kinds.is_empty() {
            filter.kinds = story::TYPES.to_vec();
        }
        let span = |thread: &Thread| span_of(thread, &filter);
        Sparse(with_span(env, &thread, span, |thread| entries(thread, &thread.observed(&filter)))?)
    }

    /// Return all of an entry of the story of THREAD, whose `:call' and `:result' are CALL and RESULT.
    ///
    /// The value is a plist `:text', `:patches', an alist of files and their recorded patches, and `:output', what
    /// the call returned.
    fn story_whole(thread: Key, call: Option<String>, result: Option<String>) -> Sparse<WholeEntry> {
        let [call, result] = [call, result].map(|id| id.and_then(|id| number_of(&id)));
        let known = || call.into_iter().chain(result);
        let span = Span::Observations(known().min().unwrap_or(1), known().max().unwrap_or(1));
        Sparse(with_span(env, &thread, |_| span, |thread| {
            let find = |number: Option<u64>| {
                let mut all = thread.observations().reported();
                all.find(|one| Some(one.number) == number).map(|one| &**one)
            };
            WholeEntry::of(find(call), find(result))
        })?)
    }

    /// Return entries of the tasks of THREAD in its turn TURN, a number from 1 on, oldest first.
    ///
    /// A task began, was completed, or left the list unfinished, perhaps before it began.  Non-nil NEWEST means only
    /// those of the newest so many tasks and lists.
    fn story_tasks(thread: Key, turn: usize, newest: Option<usize>) -> Sparse<Vec<Entry>> {
        let most = newest.unwrap_or(usize::MAX);
        let began = |thread: &Thread| {
            let turns = thread.turns();
            Span::Since(turns.get(turn.wrapping_sub(1)).filter(|_| turn > 1).map_or(0, |turn| turn.began))
        };
        let mut tasks = with_span(env, &thread, began, |thread| thread.turn_tasks(turn, most))?;
        for (first, last, time) in std::mem::take(&mut tasks.replaced) {
            let span = |_: &Thread| Span::Revisions(first, last);
            let items = with_span(env, &thread, span, |thread| thread.earlier_items(first, last))??;
            tasks.add_replaced(&items, last, time, turn);
        }
        Sparse(tasks.entries())
    }

    /// Return the text of CONTENT, that of an observation: of a call, its most telling argument.
    fn story_text(content: Json) -> String {
        story::text_of(&content).0
    }

    /// Return t if the tool NAME, perhaps one of an MCP server, only changes the plan, else nil.
    fn plan_tool_p(name: String) -> bool {
        story::is_plan_tool(&name)
    }
}
