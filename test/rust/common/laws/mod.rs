//! Laws that hold for any input: a law is a function that takes bytes and panics if they break it.
//!
//! The fuzzer searches for such bytes (`make fuzz`, a target for each law). `cargo test` tries each
//! law on seeds and on random bytes.
// A law reports by panicking.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod change;
pub mod input;
pub mod journal;
pub mod merge;
pub mod seeds;
pub mod shape;
pub mod stream;
pub mod thread;

pub mod lists;

use super::{acts, folder};

/// A law, which panics if the bytes break it.
pub type Law = fn(&[u8]);

/// The laws of the module, with the names of their targets. That of transcripts stands with their readers.
pub const LAWS: [(&str, Law); 7] = [
    ("input", input::holds),
    ("shape", shape::holds),
    ("change", change::holds),
    ("merge", merge::holds),
    ("thread", thread::holds),
    ("journal", journal::holds),
    ("stream", stream::holds),
];
