//! The memory of a long history, and of threads that are forgotten.
//!
//! These tests are a separate program, because its allocator counts for each thread what it uses.
#![allow(missing_docs, unreachable_pub, unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{Completed, Folder, InProgress, PLAN, Pending, plan, store, thread, write};
use serde_json::{Map, json};
use todo_write::events::observation::{Details, Payload, Type};
use todo_write::events::stream::StreamKind;
use todo_write::journal::store::Store;
use todo_write::list::item::Status;
use todo_write::thread::{Edit, StreamEvent, WriteOptions};

struct Counting;

thread_local! {
    /// What the harness allocates in its own thread, or another test in another one, does not count.
    static IN_USE: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: all calls go to the system allocator; only their sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.set(IN_USE.get() + layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.set(IN_USE.get() - layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of the system allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ITEMS: usize = 1_000;
const REVISIONS: usize = 10_000;

fn in_use() -> isize {
    IN_USE.get()
}

#[test]
fn ten_thousand_revisions_of_a_thousand_items_take_at_most_64_mib() {
    let names: Vec<String> =
        (0..ITEMS).map(|n| format!("Convert module {n} of the old code base to the new interface")).collect();
    let mut tasks: Vec<(&str, Status)> = names.iter().map(|name| (name.as_str(), Pending)).collect();
    let before = in_use();
    let mut thread = thread();
    thread.write(plan(&tasks), WriteOptions::default(), 0);
    let first = in_use() - before;
    for n in 0..REVISIONS {
        // Completes one task and starts the next, over and over through the whole list.
        let (this, next) = (n % ITEMS, (n + 1) % ITEMS);
        tasks[this].1 = if tasks[this].1 == Completed { Pending } else { Completed };
        tasks[next].1 = if tasks[next].1 == InProgress { Pending } else { InProgress };
        let outcome = thread.write(plan(&tasks), WriteOptions::default(), n as u64);
        assert_eq!(outcome.changes.len(), 2, "revision {n}");
    }
    let used = in_use() - before;
    assert_eq!(thread.revisions().last(), 1 + REVISIONS as u64);
    let mib = |bytes: isize| bytes as f64 / f64::from(1 << 20);
    println!(
        "{REVISIONS} revisions of {ITEMS} items: {:.1} MiB, {} bytes a revision; the first list {:.1} MiB",
        mib(used),
        (used - first) / REVISIONS.cast_signed(),
        mib(first)
    );
    assert!(used <= 64 << 20, "{:.1} MiB", mib(used));
    drop(thread);
    assert!(in_use().saturating_sub(before) < 1 << 20);
}

/// Opens a thread, performs each operation on it, and forgets it.
fn use_one(store: &mut Store, key: &str) {
    let thread = store.open(key, Map::new(), 1);
    write(thread, &PLAN, 2);
    let renamed = Edit::Rename { id: "t2".into(), content: "Mend the lexer".into() };
    assert!(thread.change(|thread| thread.edit(renamed, 3)).is_ok_and(|outcome| outcome.ok));
    assert!(thread.change(|thread| thread.undo(4)).is_ok_and(|outcome| outcome.ok));
    let token = StreamEvent {
        kind: StreamKind::Token,
        thinking: true,
        call_context: None,
        step_id: None,
        step_description: None,
        trace_id: None,
        session_id: None,
    };
    thread.change(|thread| {
        thread.observe(Payload::new(Type::Thoughts, json!("It was the lexer")), Details::default(), 5);
        thread.stream(&token, "a word", 6);
    });
    write(thread, &PLAN[1..], 7);
    assert!(store.forget(key).is_ok());
}

#[test]
fn forgetting_a_thread_frees_its_memory() {
    let folder = Folder::new();
    let mut store = store(folder.path());
    let mut use_all =
        |numbers: std::ops::Range<u32>| numbers.for_each(|n| use_one(&mut store, &format!("thread {n:04}")));
    use_all(0..10);
    let before = in_use();
    use_all(10..1_000);
    let more = in_use().abs_diff(before);
    assert!(more < 990, "{more} bytes, one for each thread or more");
}
