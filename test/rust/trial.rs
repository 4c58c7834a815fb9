//! Tries a law that `make fuzz` tries to break, on seeds and on a few hundred random inputs.

use crate::common::laws::{self, Law};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

/// The number of seeds and inputs tried here. The fuzzer searches for more.
const SEEDS: usize = 20;
const CASES: u32 = 200;

/// Random bytes, and seeds with some bytes changed.
fn input(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let flips = prop::collection::vec((any::<Index>(), any::<u8>()), 0..8);
    let mutated = (prop::sample::select(seeds), flips).prop_map(|(mut bytes, flips)| {
        let length = bytes.len();
        flips.iter().for_each(|(at, byte)| bytes[at.index(length)] = *byte);
        bytes
    });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..1_000), mutated]
}

pub fn try_law(name: &str, law: Law) {
    let mut seeds = laws::seeds::seeds(name);
    seeds.truncate(SEEDS);
    seeds.iter().for_each(|seed| law(seed));
    law(&[]);
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let law = |bytes: Vec<u8>| {
        law(&bytes);
        Ok(())
    };
    TestRunner::new(config).run(&input(seeds), law).unwrap();
}
