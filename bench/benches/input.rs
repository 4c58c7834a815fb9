//! Reading input: accepted, repaired, refused, and the worst cases.
//!
//! `yardstick` parses the same text with serde_json into plain structs, without checks. `copied` copies
//! its bytes, the minimum for any reader.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::{Value, json};
use todo_write::list::input::{Options, read_text};

use todo_write_bench::{Call, call, call_of, draft, sent};

fn main() {
    divan::main();
}

const CASES: [Case; 8] = [
    Case::Usual,
    Case::Accepted,
    Case::Repaired,
    Case::Refused,
    Case::LongTexts,
    Case::ControlCharacters,
    Case::UnknownKeys,
    Case::Nested,
];

/// The input. All cases but the first have a thousand tasks.
#[derive(Clone, Copy, Debug)]
enum Case {
    /// A dozen tasks in the schema's shape.
    Usual,
    /// The schema's shape.
    Accepted,
    /// The array as a string, with synonyms, another key for the content, and no activeForm.
    Repaired,
    /// An unknown status in every task.
    Refused,
    /// Texts of 2,000 characters, which is the limit.
    LongTexts,
    /// A control character and a line break in every text.
    ControlCharacters,
    /// Twenty unknown keys in every task.
    UnknownKeys,
    /// An array in an array, a hundred deep, as an unknown key of every task.
    Nested,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

const SIZE: usize = 1_000;

impl Case {
    fn text(self) -> String {
        match self {
            Case::Usual => call_of(12, 6),
            Case::Accepted => call_of(SIZE, SIZE / 2),
            Case::Repaired => json!({ "todos": Value::from(tasks(repairable)).to_string() }).to_string(),
            Case::Refused => call(tasks(|task| task["status"] = "blocked".into())),
            Case::LongTexts => call(tasks(|task| task["content"] = "words and ".repeat(200).into())),
            Case::ControlCharacters => call(tasks(|task| {
                let text = format!("{}\n\u{7}twice", task["content"]);
                task["content"] = text.into();
            })),
            Case::UnknownKeys => call(tasks(|task| {
                for n in 0..20 {
                    task[format!("unknown {n}")] = n.into();
                }
            })),
            Case::Nested => call(tasks(|task| {
                task["nested"] = (0..100).fold(Value::Null, |inner, _| json!([inner]));
            })),
        }
    }
}

fn tasks(mut change: impl FnMut(&mut Value)) -> Vec<Value> {
    let mut tasks: Vec<Value> = (0..SIZE).map(|n| sent(&draft(n, SIZE / 2))).collect();
    tasks.iter_mut().for_each(&mut change);
    tasks
}

fn repairable(task: &mut Value) {
    let status = if task["status"] == "completed" { "Done" } else { "todo" };
    *task = json!({ "description": task["content"], "status": status });
}

#[divan::bench(args = CASES)]
fn read(bencher: Bencher, case: Case) {
    let (text, options) = (case.text(), Options::default());
    bencher.counter(BytesCount::of_str(&text)).bench(|| read_text(black_box(&text), &options));
}

/// The cases that plain structs accept.
#[divan::bench(args = [Case::Usual, Case::Accepted, Case::Refused, Case::LongTexts, Case::ControlCharacters,
    Case::UnknownKeys, Case::Nested])]
fn yardstick(bencher: Bencher, case: Case) {
    let text = case.text();
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| serde_json::from_str::<Call<String>>(black_box(&text)).is_ok());
}

#[divan::bench(args = CASES)]
fn copied(bencher: Bencher, case: Case) {
    let text = case.text();
    bencher.counter(BytesCount::of_str(&text)).bench(|| black_box(&text).clone());
}
