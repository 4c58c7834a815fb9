#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| common::laws::shape::holds(data));
