//! Writing a change to a journal, opening a plan, and listing plans.
//!
//! `appended_bytes` writes as many bytes as `appended` does. `opened_bytes` only reads the file that `opened`
//! replays.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::{Map, json};
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::journal::store::{Storage, Store};
use todo_write::journal::{folder_of, segment};
use todo_write::list::input::Plan;
use todo_write::list::item::Status;
use todo_write::thread::{Edit, WriteOptions};

use todo_write_bench::draft;
use todo_write_bench::folder::Folder;

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [12, 1_000, 10_000];
const KEY: &str = "bench";
/// The lengths of opened journals, in KB.
const LENGTHS: [u64; 3] = [1, 1_000, 4_000];
/// The number of plans in a list.
const PLANS: usize = 500;

fn store(folder: &Folder) -> Store {
    let folder = Some(folder.path().to_owned());
    Store::new(Storage { folder, history_limit: 1_000, ..Storage::default() })
}

fn file(folder: &Folder) -> PathBuf {
    segment(&folder_of(folder.path(), KEY), 1)
}

/// Writes a list of `size` tasks, with the middle one in progress.
fn begin(store: &mut Store, size: usize) {
    let drafts = (0..size).map(|n| draft(n, size / 2)).collect();
    store
        .open(KEY, Map::new(), 0)
        .change(|thread| thread.write(Plan { drafts, ..Plan::default() }, WriteOptions::default(), 0));
}

/// Toggles the status of the first task: one change.
fn turn(store: &mut Store, n: u64) {
    let status = if n.is_multiple_of(2) { Status::Pending } else { Status::Completed };
    let edit = Edit::Status { id: "t1".into(), status };
    let _ = black_box(store.open(KEY, Map::new(), n).change(|thread| thread.edit(edit, n)));
}

/// A status change of a plan with a journal, with the lock of the plan.
#[divan::bench(consts = SIZES)]
fn appended<const N: usize>(bencher: Bencher) {
    let folder = Folder::new();
    let mut store = store(&folder);
    begin(&mut store, N);
    let mut n = 0;
    bencher.bench_local(|| {
        n += 1;
        turn(&mut store, n);
    });
}

/// The same without a journal.
#[divan::bench(consts = SIZES)]
fn in_memory<const N: usize>(bencher: Bencher) {
    let mut store = Store::new(Storage { history_limit: 1_000, ..Storage::default() });
    begin(&mut store, N);
    let mut n = 0;
    bencher.bench_local(|| {
        n += 1;
        turn(&mut store, n);
    });
}

#[divan::bench]
fn appended_bytes(bencher: Bencher) {
    let folder = Folder::new();
    let _ = std::fs::create_dir(folder.path());
    let Ok(mut file) = OpenOptions::new().append(true).create(true).open(folder.path().join("bytes")) else {
        return;
    };
    let line = [b'x'; 400];
    bencher.counter(BytesCount::new(line.len())).bench_local(|| file.write_all(black_box(&line)));
}

/// A journal of a session of about so many KB: changes of a list, calls and their results.
fn journal(length: u64) -> Folder {
    let folder = Folder::new();
    let mut store = store(&folder);
    begin(&mut store, 5);
    let mut n = 0;
    while std::fs::metadata(file(&folder)).map_or(0, |data| data.len()) < length * 1_000 {
        n += 1;
        if n % 20 == 0 {
            turn(&mut store, n);
        }
        let content = json!({"id": n.to_string(), "name": "Bash", "content": "x".repeat(n as usize % 600)});
        store.open(KEY, Map::new(), n).change(|thread| {
            thread.observe(Payload::new(Type::ToolExecution, content), Details::default(), n);
        });
    }
    folder
}

fn bytes(folder: &Folder) -> BytesCount {
    BytesCount::new(File::open(file(folder)).and_then(|file| file.metadata()).map_or(0, |data| data.len()))
}

#[divan::bench(consts = LENGTHS)]
fn opened<const N: u64>(bencher: Bencher) {
    let folder = journal(N);
    bencher
        .counter(bytes(&folder))
        .bench(|| store(&folder).get(KEY).ok().flatten().map(|thread| thread.revisions().last()));
}

#[divan::bench(consts = LENGTHS)]
fn opened_bytes<const N: u64>(bencher: Bencher) {
    let folder = journal(N);
    let file = file(&folder);
    bencher.counter(bytes(&folder)).bench(|| std::fs::read(&file));
}

/// What a list of plans shows that an earlier session left.
#[divan::bench]
fn listed(bencher: Bencher) {
    let folder = Folder::new();
    let mut before = store(&folder);
    for n in 0..PLANS {
        let drafts = (0..5).map(|task| draft(task, 2)).collect();
        let plan = Plan { drafts, ..Plan::default() };
        before
            .open(&format!("claude:{n}"), Map::new(), 0)
            .change(|thread| thread.write(plan, WriteOptions::default(), n as u64));
    }
    before.summarize();
    bencher.bench(|| store(&folder).kept(5).0.len());
}
