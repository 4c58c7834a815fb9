//! Tests of behavior, through the public API, in one program that is linked only once.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[path = "../../../test/rust/common/mod.rs"]
mod common;
#[path = "../../../test/rust/trial.rs"]
mod trial;

#[cfg(unix)]
mod codex_daemon;
#[cfg(unix)]
mod door;
mod hostile_files;
mod hub;
#[cfg(unix)]
mod machine;
mod many_files;
mod modules;
mod place_laws;
mod transcript;
mod transcript_law;
mod work_laws;

#[test]
fn a_transcript_reads_the_same_in_one_piece_and_in_two() {
    trial::try_law("transcript", transcript_law::holds);
}
