//! Tests of behavior, through the public API, in one program that is linked only once.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod common;

mod activity;
mod change;
mod edits;
mod faults;
mod hostile_journal;
mod identity;
mod input;
mod input_limits;
mod journal;
mod laws;
mod many;
mod merge;
mod modules;
mod observations;
mod patch;
mod review;
mod text;
mod thread;
mod thread_laws;
mod trial;
mod untyped;
mod users_items;
