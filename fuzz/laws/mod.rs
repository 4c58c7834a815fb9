//! What must be true whatever comes in: a law is a function that takes any bytes and panics where
//! they break it.
//!
//! The fuzzer looks for such bytes (`make fuzz`, one target a law), and `cargo test` tries each law
//! on seeds and on random bytes.
// A law says how it was broken by panicking.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod change;
pub mod input;
pub mod journal;
pub mod merge;
pub mod seeds;
pub mod shape;
pub mod stream;
pub mod thread;
pub mod transcript;

#[path = "../../tests/all/common/folder.rs"]
mod folder;
mod lists;

/// A law: it panics where the bytes break it.
pub type Law = fn(&[u8]);

/// Every law under the name of its target.
pub const LAWS: [(&str, Law); 8] = [
    ("input", input::holds),
    ("shape", shape::holds),
    ("change", change::holds),
    ("merge", merge::holds),
    ("thread", thread::holds),
    ("journal", journal::holds),
    ("transcript", transcript::holds),
    ("stream", stream::holds),
];
