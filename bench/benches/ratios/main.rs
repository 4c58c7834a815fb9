//! The rows of `make bench` that need no Emacs, one a line, tab-separated.
//!
//! A row is WORK, PLACE, UNIT, OURS, YARDSTICK, THEIRS, RATIO, its lower and upper QUARTILE, and
//! the BUDGET for the ratio, or nothing. Both sides are measured in turn, sample by sample, so
//! that other load on the machine affects both. A ratio compares two successive samples.

mod node;
mod row;

use std::hint::black_box;
use std::io;

use serde_json::Map;
use todo_write::journal::store::{Storage, Store};
use todo_write::journal::{folder_of, segment};
use todo_write::list::change::diff;
use todo_write::list::identity::recognize;
use todo_write::list::input::{Options, Plan, read_text};
use todo_write::list::item::{List, Status};
use todo_write::thread::{Edit, WriteOptions};
use todo_write_mcp::claude::ClaudeReader;

use node::Node;
use row::{Row, seconds, times};
use todo_write_bench::folder::Folder;
use todo_write_bench::session::{Line, Session};
use todo_write_bench::{Call, Rewrite, call_of, draft, found_by_text, seen, thread};

fn main() -> io::Result<()> {
    // `cargo test --benches` passes --test.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    json(12, None);
    json(1_000, Some(3.0));
    scaling();
    worst_recognition();
    transcript();
    journal_bytes();
    match Node::start() {
        Some(mut node) => against_node(&mut node)?,
        None => eprintln!("skipped: no node, so nothing to compare the diff with"),
    }
    Ok(())
}

/// From JSON text to the outcome of a write with two changes, against only parsing the text.
fn json(size: usize, budget: Option<f64>) {
    let texts = [call_of(size, size / 2), call_of(size, size / 2 + 1)];
    let (options, mut thread, mut now) = (Options::default(), thread(), 0);
    let mut write = || {
        now += 1;
        let plan = read_text(&texts[now as usize % 2], &options).unwrap_or_default();
        let outcome = thread.write(plan, WriteOptions::default(), now);
        assert!(outcome.ok && (outcome.changes.len() == 2 || outcome.changes.len() == size));
        outcome
    };
    let mut text = 0;
    let mut parse = || {
        text += 1;
        serde_json::from_str::<Call<Status>>(&texts[text % 2]).is_ok()
    };
    Row {
        work: format!("JSON text to outcome, 2 changes, {size} items"),
        unit: "s",
        yardstick: "serde_json into plain structs",
        budget,
    }
    .measure(|| seconds(times(size), &mut write), || seconds(times(size), &mut parse));
}

/// The time per item in a list of 100,000 items, against that in a list of 1,000.
fn scaling() {
    let held = (" as the store holds them", Some(2.0), Rewrite::AsHeld);
    for (words, budget, case) in [("", None, Rewrite::TwoChanges), held] {
        per_item_at_100000(&format!("diff by id{words}"), budget, case, |[before, after]| {
            diff(before, after)
        });
    }
    // The effect of the machine's memory on any function that reads all texts.
    per_item_at_100000("read all texts", None, Rewrite::TwoChanges, |[before, after]| {
        before.iter().zip(after).filter(|(old, new)| old.as_ref() == new.as_ref()).count()
    });
}

fn per_item_at_100000<T>(words: &str, budget: Option<f64>, case: Rewrite, work: impl Fn(&[List; 2]) -> T) {
    let (many, few) = (100_000, 1_000);
    let lists = [many, few].map(|size| case.lists(size));
    let one = |lists, size| seconds(times(size), || work(black_box(lists))) / size as f64;
    Row {
        work: format!("{words}, {many} items: one item"),
        unit: "s",
        yardstick: "one item of 1000",
        budget,
    }
    .measure(|| one(&lists[0], many), || one(&lists[1], few));
}

/// The cost of recognition in its worst cases.
fn worst_recognition() {
    let size = 10_000;
    let cases = [
        ("all renamed", Rewrite::Renamed),
        ("all replaced", Rewrite::Replaced),
        ("order reversed", Rewrite::Reversed),
        ("all texts alike", Rewrite::AllAlike),
    ];
    for (words, case) in cases {
        let lists = case.lists(size);
        let [old, new] = lists.each_ref().map(|list| seen(list));
        Row {
            work: format!("recognize, {words}, {size} items: one item"),
            unit: "s",
            yardstick: "a table of the texts",
            budget: None,
        }
        .measure(
            || seconds(times(size), || recognize(black_box(&old), black_box(&new))) / size as f64,
            || seconds(times(size), || found_by_text(black_box(&old), black_box(&new))) / size as f64,
        );
        per_item_at_100000(&format!("recognize, {words}"), None, case, |[old, new]| {
            recognize(&seen(old), &seen(new))
        });
    }
}

/// From a session's lines to events, against only parsing the lines.
fn transcript() {
    let lines = Session::Usual.lines(100);
    let read = || {
        let mut transcript = ClaudeReader::new(Options::default());
        lines.iter().for_each(|line| transcript.read_line(line));
        transcript.take_events()
    };
    let parse =
        || -> Vec<Line> { lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect() };
    Row {
        work: format!("transcript to events, {} lines", lines.len()),
        unit: "s",
        yardstick: "serde_json into plain structs",
        budget: None,
    }
    .measure(|| seconds(1, read), || seconds(1, parse));
}

/// The bytes that a status change adds to the journal of a long list, against a short one.
fn journal_bytes() {
    let bytes = |size: usize| {
        let folder = Folder::new();
        let folder_of_all = Some(folder.path().to_owned());
        let storage = Storage { folder: folder_of_all, history_limit: 1_000, ..Storage::default() };
        let mut store = Store::new(storage);
        let length = || {
            let file = segment(&folder_of(folder.path(), "bench"), 1);
            std::fs::metadata(file).map_or(0, |data| data.len())
        };
        let thread = store.open("bench", Map::new(), 0);
        let drafts = (0..size).map(|n| draft(n, size / 2)).collect();
        thread.change(|thread| thread.write(Plan { drafts, ..Plan::default() }, WriteOptions::default(), 0));
        let before = length();
        let edit = Edit::Status { id: "t1".into(), status: Status::Pending };
        let _ = thread.change(|thread| thread.edit(edit, 1));
        (length() - before) as f64
    };
    Row {
        work: "journal of a status change, 10000 items".into(),
        unit: "B",
        yardstick: "12 items",
        budget: Some(1.05),
    }
    .print(&[(bytes(10_000), bytes(12))]);
}

fn against_node(node: &mut Node) -> io::Result<()> {
    let budget = 1.0 / 10.0;
    for size in [1_000, 10_000, 100_000] {
        let [two, held, edited] =
            [Rewrite::TwoChanges, Rewrite::AsHeld, Rewrite::Edited].map(|case| case.lists(size));
        let by_id = |[before, after]: &[List; 2]| diff(black_box(before), black_box(after)).len();
        let mut row = |case, words: &str, budget, work: &dyn Fn() -> usize| {
            let ours = || seconds(times(size), work) / size as f64;
            node.row(format!("diff {words}, {size} items: one item"), budget, size, case, ours)
        };
        row("two", "by id, 2 changes", None, &|| by_id(&two))?;
        row("two", "by id, as the store holds them", Some(budget), &|| by_id(&held))?;
        row("edited", "by id, 12 % changed", None, &|| by_id(&edited))?;
        row("two", "without ids, 2 changes", None, &|| without_ids(&two))?;
        node.must_agree(size, "two", &diff(&two[0], &two[1]))?;
        node.must_agree(size, "edited", &diff(&edited[0], &edited[1]))?;
    }
    Ok(())
}

/// The cost of a call without ids: recognition and then the diff.
fn without_ids([before, after]: &[List; 2]) -> usize {
    let same = recognize(&seen(before), &seen(after));
    same.iter().flatten().count() + diff(black_box(before), black_box(after)).len()
}
