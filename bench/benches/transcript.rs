//! Following the transcript of another program.
//!
//! `read` turns lines into events. `yardstick` parses the same lines with serde_json into plain structs with the whole texts, and `copied` copies their
//! bytes.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use todo_write::list::input::Options;
use todo_write_mcp::claude::ClaudeReader;

use todo_write_bench::session::{Line, Session};

fn main() {
    divan::main();
}

const CASES: [Session; 4] = [Session::Usual, Session::OneByOne, Session::LongAnswers, Session::OtherLines];
const TURNS: usize = 100;

fn run<T>(bencher: Bencher, case: Session, work: impl Fn(&[Vec<u8>]) -> T + Sync) {
    let lines = case.lines(TURNS);
    let bytes: usize = lines.iter().map(Vec::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench(|| work(black_box(&lines)));
}

fn transcript() -> ClaudeReader {
    ClaudeReader::new(Options::default())
}

#[divan::bench(args = CASES)]
fn read(bencher: Bencher, case: Session) {
    run(bencher, case, |lines| {
        let mut transcript = transcript();
        lines.iter().for_each(|line| transcript.read_line(line));
        transcript.take_events()
    });
}

#[divan::bench(args = CASES)]
fn yardstick(bencher: Bencher, case: Session) {
    run(bencher, case, |lines| {
        lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect::<Vec<Line>>()
    });
}

#[divan::bench(args = CASES)]
fn copied(bencher: Bencher, case: Session) {
    run(bencher, case, <[Vec<u8>]>::concat);
}
