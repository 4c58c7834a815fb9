//! Writing a change to a journal, and replaying a journal.
//!
//! `appended_bytes` writes as many bytes as `appended` does. `replayed_bytes` only reads the file
//! that `replayed` replays, and `replayed_json` also parses its lines.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::{Map, Value};
use todo_write::journal::store::{Storage, Store};
use todo_write::journal::{Durability, files_of};
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
/// The number of revisions in a replayed journal.
const REVISIONS: u64 = 100;

fn store(folder: &Folder) -> Store {
    let folder = Some(folder.path().to_owned());
    Store::new(Storage { folder, durability: Durability::Process, history_limit: 1_000 })
}

fn file(folder: &Folder) -> PathBuf {
    files_of(folder.path(), KEY).next().unwrap_or_default()
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

/// A status change of a thread with a journal, including the periodic full records.
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

/// A journal of some revisions, closed.
fn journal(size: usize) -> Folder {
    let folder = Folder::new();
    let mut store = store(&folder);
    begin(&mut store, size);
    (1..=REVISIONS).for_each(|n| turn(&mut store, n));
    folder
}

fn length(folder: &Folder) -> BytesCount {
    BytesCount::new(File::open(file(folder)).and_then(|file| file.metadata()).map_or(0, |data| data.len()))
}

#[divan::bench(consts = SIZES)]
fn replayed<const N: usize>(bencher: Bencher) {
    let folder = journal(N);
    bencher.counter(length(&folder)).bench(|| store(&folder).open(KEY, Map::new(), 0).revisions().last());
}

#[divan::bench(consts = SIZES)]
fn replayed_json<const N: usize>(bencher: Bencher) {
    let folder = journal(N);
    let file = file(&folder);
    bencher.counter(length(&folder)).bench(|| {
        let bytes = std::fs::read(&file).unwrap_or_default();
        bytes
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect::<Vec<Value>>()
    });
}

#[divan::bench(consts = SIZES)]
fn replayed_bytes<const N: usize>(bencher: Bencher) {
    let folder = journal(N);
    let file = file(&folder);
    bencher.counter(length(&folder)).bench(|| std::fs::read(&file));
}
