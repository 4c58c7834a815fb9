//! The rows of `make bench` that need no Emacs, one a line, tab-separated.
//!
//! A row is WORK, PLACE, UNIT, OURS, YARDSTICK, THEIRS, RATIO, its lower and upper QUARTILE, and
//! the BUDGET for the ratio, or nothing. Both sides are measured in turn, sample by sample, so
//! that whatever else the machine does hits both; a ratio is that of two neighbouring samples.

mod common;

use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde_json::Map;
use todo_write::change::{Change, Entry, Kind, diff};
use todo_write::identity::{Seen, recognise};
use todo_write::input::{Options, Plan, read_text};
use todo_write::item::{List, Status};
use todo_write::journal::{Durability, files_of};
use todo_write::store::{Keeping, Store};
use todo_write::thread::Edit;

use common::{Folder, call_of, draft, edited, list, thread};

fn main() -> io::Result<()> {
    // Cargo passes --bench; with --test there is nothing to show.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    json(12, None);
    json(1_000, Some(2.0));
    flatness();
    journal_bytes();
    match Node::start() {
        Some(mut node) => against_node(&mut node)?,
        None => eprintln!("skipped: no node, so nothing to compare the diff with"),
    }
    Ok(())
}

/// Samples of either side.
fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(15)
}

/// A row of the table, all but its figures.
struct Row {
    work: String,
    unit: &'static str,
    yardstick: &'static str,
    budget: Option<f64>,
}

impl Row {
    /// Measures both sides in turn, and prints what came of it.
    fn measure(&self, mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) {
        let samples: Vec<(f64, f64)> = (0..=rounds()).map(|_| (ours(), theirs())).collect();
        // The first one warmed up.
        self.print(&samples[1..]);
    }

    fn print(&self, samples: &[(f64, f64)]) {
        let mut ours: Vec<f64> = samples.iter().map(|(ours, _)| *ours).collect();
        let mut theirs: Vec<f64> = samples.iter().map(|(_, theirs)| *theirs).collect();
        let mut ratios: Vec<f64> = samples.iter().map(|(ours, theirs)| ours / theirs).collect();
        println!(
            "{}\tRust\t{}\t{:e}\t{}\t{:e}\t{:e}\t{:e}\t{:e}\t{}",
            self.work,
            self.unit,
            quantile(&mut ours, 0.5),
            self.yardstick,
            quantile(&mut theirs, 0.5),
            quantile(&mut ratios, 0.5),
            quantile(&mut ratios, 0.25),
            quantile(&mut ratios, 0.75),
            self.budget.map(|budget| budget.to_string()).unwrap_or_default(),
        );
    }
}

fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * at).round() as usize]
}

/// Seconds that one of `times` calls takes.
fn seconds<T>(times: usize, mut work: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        black_box(work());
    }
    start.elapsed().as_secs_f64() / times as f64
}

/// How often to call work on `size` items, so that a sample lasts some milliseconds.
fn times(size: usize) -> usize {
    (20_000 / size).max(1)
}

#[derive(Deserialize)]
#[allow(dead_code)] // It is only to be parsed.
struct Call {
    todos: Vec<Todo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)]
struct Todo {
    content: String,
    status: Status,
    active_form: String,
}

/// From JSON text to the outcome of a write with two changes, against parsing the text alone.
fn json(size: usize, budget: Option<f64>) {
    let texts = [call_of(size, size / 2), call_of(size, size / 2 + 1)];
    let (options, mut thread, mut now) = (Options::default(), thread(), 0);
    let mut write = || {
        now += 1;
        let plan = read_text(&texts[now as usize % 2], &options).unwrap_or_default();
        let outcome = thread.write(plan, None, false, now);
        assert!(outcome.ok && (outcome.changes.len() == 2 || outcome.changes.len() == size));
        outcome
    };
    let mut text = 0;
    let mut parse = || {
        text += 1;
        serde_json::from_str::<Call>(&texts[text % 2]).is_ok()
    };
    Row {
        work: format!("JSON text to outcome, 2 changes, {size} items"),
        unit: "s",
        yardstick: "serde_json into plain structs",
        budget,
    }
    .measure(|| seconds(times(size), &mut write), || seconds(times(size), &mut parse));
}

/// The time an item takes at a hundred thousand against that at a thousand.
fn flatness() {
    for (words, lists) in [("", lists as fn(usize) -> [List; 2]), (" as the store holds them", shared)] {
        let (many, few) = (100_000, 1_000);
        let ([a, b], [c, d]) = (lists(many), lists(few));
        Row {
            work: format!("diff by id, {many} items{words}: one item"),
            unit: "s",
            yardstick: "one item of 1000",
            budget: Some(1.5),
        }
        .measure(
            || seconds(times(many), || diff(black_box(&a), black_box(&b))) / many as f64,
            || seconds(times(few), || diff(black_box(&c), black_box(&d))) / few as f64,
        );
    }
}

/// Two lists with two changes between them and no object in common.
fn lists(size: usize) -> [List; 2] {
    [list(size, size / 2), list(size, size / 2 + 1)]
}

/// The same where unchanged items are one object: recognising them has compared them already.
fn shared(size: usize) -> [List; 2] {
    let [before, mut after] = lists(size);
    for (n, item) in after.iter_mut().enumerate().filter(|(n, _)| n.abs_diff(size / 2) > 1) {
        *item = Arc::clone(&before[n]);
    }
    [before, after]
}

/// What a status change adds to the journal of a long list and of a short one.
fn journal_bytes() {
    let bytes = |size: usize| {
        let folder = Folder::new("ratios");
        let keeping = Keeping {
            folder: Some(folder.path().to_owned()),
            durability: Durability::Process,
            history_limit: 1_000,
        };
        let mut store = Store::new(keeping);
        let length = || {
            let file = files_of(folder.path(), "bench").next().unwrap_or_default();
            std::fs::metadata(file).map_or(0, |data| data.len())
        };
        let thread = store.open("bench", Map::new(), 0);
        let drafts = (0..size).map(|n| draft(n, size / 2)).collect();
        thread.write(Plan { drafts, notices: Vec::new() }, None, false, 0);
        let before = length();
        let _ = thread.edit(Edit::Status { id: "t1".into(), status: Status::Pending }, 1);
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

/// Added, modified (the status included) and removed items.
type Counts = [usize; 3];

fn counts<T: Entry>(changes: &[Change<T>]) -> Counts {
    let of = |kind| changes.iter().filter(|change| change.kind == kind).count();
    [of(Kind::Added), of(Kind::Modified) + of(Kind::StatusChanged), of(Kind::Removed)]
}

fn against_node(node: &mut Node) -> io::Result<()> {
    for (size, budget) in [(1_000, 1.0 / 10.0), (10_000, 1.0 / 15.0), (100_000, 1.0 / 20.0)] {
        let [before, after] = lists(size);
        let [held, written] = shared(size);
        let edited = edited(size, size / 2);
        let by_id = |before: &List, after: &List| diff(black_box(before), black_box(after)).len();
        let mut row = |case, words: &str, budget, work: &dyn Fn() -> usize| {
            let ours = || seconds(times(size), work) / size as f64;
            node.row(format!("diff {words}, {size} items: one item"), budget, size, case, ours)
        };
        row("two", "by id, 2 changes", Some(budget), &|| by_id(&before, &after))?;
        row("two", "by id, as the store holds them", Some(budget), &|| by_id(&held, &written))?;
        row("edited", "by id, 12 % changed", Some(budget), &|| by_id(&before, &edited))?;
        row("two", "without ids, 2 changes", None, &|| without_ids(&before, &after))?;
        node.must_agree(size, "two", &diff(&before, &after))?;
        node.must_agree(size, "edited", &diff(&before, &edited))?;
    }
    Ok(())
}

/// What a call without ids costs: to find out which item is which, and then what changed.
fn without_ids(before: &List, after: &List) -> usize {
    let same = recognise(&seen(before), &seen(after));
    same.iter().flatten().count() + diff(black_box(before), black_box(after)).len()
}

fn seen(list: &List) -> Vec<Seen<'_>> {
    list.iter().map(|item| Seen::from(item.as_ref())).collect()
}

/// `bench/diff.mjs` at work.
struct Node {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Node {
    /// None where there is no node.
    fn start() -> Option<Node> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/bench/diff.mjs");
        let mut command = Command::new("node");
        let mut child = command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (input, output) = (child.stdin.take()?, child.stdout.take()?);
        Some(Node { child, input, output: BufReader::new(output) })
    }

    /// Seconds that a diff takes, and what it found.
    fn ask(&mut self, size: usize, case: &str, rounds: usize) -> io::Result<(f64, Counts)> {
        writeln!(self.input, "{size} {case} {rounds}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let figures: Vec<f64> = line.split_whitespace().filter_map(|figure| figure.parse().ok()).collect();
        match figures.as_slice() {
            [nanoseconds, added, modified, removed] => {
                Ok((nanoseconds / 1e9, [*added as usize, *modified as usize, *removed as usize]))
            }
            _ => Err(io::Error::other(format!("node said: {line:?}"))),
        }
    }

    fn must_agree<T: Entry>(&mut self, size: usize, case: &str, changes: &[Change<T>]) -> io::Result<()> {
        assert_eq!(self.ask(size, case, 1)?.1, counts(changes), "both find the same changes");
        Ok(())
    }

    fn row(
        &mut self,
        work: String,
        budget: Option<f64>,
        size: usize,
        case: &str,
        mut ours: impl FnMut() -> f64,
    ) -> io::Result<()> {
        // Warm, as a program is that has run for a while.
        self.ask(size, case, times(size) * 20)?;
        let mut samples = Vec::new();
        for _ in 0..=rounds() {
            let theirs = self.ask(size, case, times(size))?.0 / size as f64;
            samples.push((ours(), theirs));
        }
        Row { work, unit: "s", yardstick: "maps by id in node", budget }.print(&samples[1..]);
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
