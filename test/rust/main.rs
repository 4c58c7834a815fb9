//! Tests of behavior, through the public API, in one program that is linked only once.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod common;

mod change;
mod change_laws;
#[cfg(unix)]
mod codex_daemon;
mod corpus;
#[cfg(unix)]
mod door;
mod edits;
mod faults;
mod hostile_files;
mod hostile_journal;
mod hub;
mod identity;
mod input;
mod input_limits;
mod journal;
mod laws;
#[cfg(unix)]
mod machine;
mod many;
mod many_files;
mod merge;
mod modules;
mod observations;
mod patch;
mod place_laws;
mod reports;
mod review;
mod text;
mod thread;
mod thread_laws;
mod transcript;
mod untyped;
mod users_items;
mod work_laws;
