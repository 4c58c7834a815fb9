//! Tokens through a thread.
//!
//! `thoughts`, `response` and `planning_thoughts` pass each token with the host's description; `next`
//! passes only its text. `yardstick` only joins the tokens into a text, as a block of thoughts does.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use todo_write::events::stream::StreamKind;
use todo_write::list::input::Plan;
use todo_write::thread::{StreamEvent, Thread, WriteOptions};

use todo_write_bench::{draft, thread};

fn main() {
    divan::main();
}

const TOKENS: u64 = 10_000;
const TOKEN: &str = "token ";
const SIZES: [usize; 3] = [0, 12, 10_000];

fn token(thinking: bool, call_context: Option<&str>) -> StreamEvent {
    StreamEvent {
        kind: StreamKind::Token,
        thinking,
        call_context: call_context.map(str::to_owned),
        step_id: None,
        step_description: None,
        trace_id: Some("request".to_owned()),
        session_id: Some("session".to_owned()),
    }
}

/// A thread with its second to last task in progress, the slowest to find.
fn working(size: usize) -> Thread {
    let mut thread = thread();
    let drafts = (0..size).map(|n| draft(n, size.saturating_sub(2))).collect();
    thread.write(Plan { drafts, ..Plan::default() }, WriteOptions::default(), 0);
    thread
}

fn run(bencher: Bencher, thread: &mut Thread, event: StreamEvent) {
    bencher.counter(ItemsCount::new(TOKENS)).bench_local(|| {
        for now in 0..TOKENS {
            black_box(thread.stream(black_box(&event), TOKEN, now));
        }
    });
}

#[divan::bench(consts = SIZES)]
fn thoughts<const N: usize>(bencher: Bencher) {
    run(bencher, &mut working(N), token(true, None));
}

#[divan::bench(consts = SIZES)]
fn response<const N: usize>(bencher: Bencher) {
    run(bencher, &mut working(N), token(false, None));
}

/// The host gives the call context, so the list is not searched.
#[divan::bench(consts = SIZES)]
fn planning_thoughts<const N: usize>(bencher: Bencher) {
    run(bencher, &mut working(N), token(true, Some("PLANNING_THOUGHTS")));
}

#[divan::bench(consts = SIZES)]
fn next<const N: usize>(bencher: Bencher) {
    let mut thread = working(N);
    bencher.counter(ItemsCount::new(TOKENS)).bench_local(|| {
        for now in 0..TOKENS {
            if !thread.stream_next(black_box(TOKEN)) {
                thread.stream(&token(true, None), TOKEN, now);
            }
        }
    });
}

#[divan::bench]
fn yardstick(bencher: Bencher) {
    bencher.counter(ItemsCount::new(TOKENS)).bench(|| {
        let mut text = String::new();
        (0..TOKENS).for_each(|_| text.push_str(black_box(TOKEN)));
        text
    });
}
