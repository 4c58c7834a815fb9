//! Where code of ours is unsafe: in one test, which counts what is allocated.
//!
//! The compiler denies `unsafe` (`Cargo.toml`); this test denies what would let it through.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// An allocator has no safe form in Rust.
const EXCEPTIONS: [&str; 1] = ["tests/memory.rs"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

#[test]
fn only_the_exceptions_may_be_unsafe() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["src", "tests", "benches", "examples", "fuzz/laws", "fuzz/fuzz_targets"];
    let keyword = concat!("uns", "afe");
    let waives = |line: &str| line.contains("allow(") && line.contains(keyword);
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let uses =
        |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == keyword);
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| sources(&project.join(folder))).collect();
    assert!(files.len() > 50);
    let mut found: Vec<String> = files
        .iter()
        .filter(|path| {
            fs::read_to_string(path).unwrap().lines().filter(is_code).any(|line| uses(line) || waives(line))
        })
        .map(|path| path.strip_prefix(project).unwrap().to_str().unwrap().replace('\\', "/"))
        .collect();
    found.sort();
    assert_eq!(found, EXCEPTIONS);
}
