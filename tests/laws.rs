//! The laws that `make fuzz` tries to break, on seeds and on a few hundred random inputs.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../fuzz/laws/mod.rs"]
mod laws;

use std::fs;
use std::path::Path;

use laws::{LAWS, Law};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

const PROJECT: &str = env!("CARGO_MANIFEST_DIR");
/// Seeds and inputs tried here; a search is the fuzzer's business.
const SEEDS: usize = 20;
const CASES: u32 = 200;

/// Random bytes, and seeds of which some bytes are others.
fn input(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let flips = prop::collection::vec((any::<Index>(), any::<u8>()), 0..8);
    let mutated = (prop::sample::select(seeds), flips).prop_map(|(mut bytes, flips)| {
        let length = bytes.len();
        flips.iter().for_each(|(at, byte)| bytes[at.index(length)] = *byte);
        bytes
    });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..1_000), mutated]
}

fn tries(name: &str, law: Law) {
    let mut seeds = laws::seeds::seeds(name, Path::new(PROJECT));
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

macro_rules! laws_hold {
    ($($name:ident)*) => {
        mod law_holds {
            $(#[test] fn $name() { super::tries(stringify!($name), super::laws::$name::holds); })*
        }

        #[test]
        fn every_law_is_a_target_and_every_target_a_law() {
            is_target_each(&[$(stringify!($name)),*]);
        }
    };
}

laws_hold!(input shape change merge thread journal transcript stream);

fn is_target_each(names: &[&str]) {
    assert!(LAWS.iter().map(|(name, _)| name).eq(names));
    let read = |path: &str| fs::read_to_string(Path::new(PROJECT).join("fuzz").join(path)).unwrap();
    let manifest = read("Cargo.toml");
    let (_, targets) = manifest.split_once("[[bin]]").unwrap();
    let targets = targets.lines().filter_map(|line| line.strip_prefix("name = "));
    assert!(targets.eq(names.iter().map(|name| format!("{name:?}"))));
    for name in names {
        let target = read(&format!("fuzz_targets/{name}.rs"));
        assert!(target.contains(&format!("laws::{name}::holds(data)")), "{target}");
    }
}
