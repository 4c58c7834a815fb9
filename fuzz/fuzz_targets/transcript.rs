#![no_main]

// The law names it as the tests do.
extern crate common;

#[path = "../../agents/test/rust/transcript_law.rs"]
mod transcript_law;

libfuzzer_sys::fuzz_target!(|data: &[u8]| transcript_law::holds(data));
