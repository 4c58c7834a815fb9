//! How much memory a long history takes.
//!
//! A test of its own: the allocator counts for the whole process.
#![allow(missing_docs, unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Completed, InProgress, Pending, plan, thread};
use todo_write::item::Status;

struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's; only sizes are added up beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ITEMS: usize = 1_000;
const REVISIONS: usize = 10_000;

#[test]
fn ten_thousand_revisions_of_a_thousand_items_take_at_most_64_mib() {
    let names: Vec<String> =
        (0..ITEMS).map(|n| format!("Convert module {n} of the old code base to the new interface")).collect();
    let mut tasks: Vec<(&str, Status)> = names.iter().map(|name| (name.as_str(), Pending)).collect();
    let before = IN_USE.load(Ordering::Relaxed);
    let mut thread = thread();
    thread.write(plan(&tasks), None, false, 0);
    let first = IN_USE.load(Ordering::Relaxed) - before;
    for n in 0..REVISIONS {
        // One task is done and the next begun, round after round.
        let (this, next) = (n % ITEMS, (n + 1) % ITEMS);
        tasks[this].1 = if tasks[this].1 == Completed { Pending } else { Completed };
        tasks[next].1 = if tasks[next].1 == InProgress { Pending } else { InProgress };
        let outcome = thread.write(plan(&tasks), None, false, n as u64);
        assert_eq!(outcome.changes.len(), 2, "revision {n}");
    }
    let used = IN_USE.load(Ordering::Relaxed) - before;
    assert_eq!(thread.revisions().last(), 1 + REVISIONS as u64);
    let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    println!(
        "{REVISIONS} revisions of {ITEMS} items: {:.1} MiB, {} bytes a revision; the first list {:.1} MiB",
        mib(used),
        (used - first) / REVISIONS,
        mib(first)
    );
    assert!(used <= 64 << 20, "{:.1} MiB", mib(used));
    drop(thread);
    assert!(IN_USE.load(Ordering::Relaxed).saturating_sub(before) < 1 << 20);
}
